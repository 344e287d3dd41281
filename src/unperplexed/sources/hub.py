"""Forecasts of a hub in the form of hubverse: a line for each output type and its id, in files of teams and rounds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from .._lib.dataclasses import replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Bools, Floats
from ..forecasts.distributions.ordered import Ordered
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.predictive import Predictive
from .file_reading import FileReading, named
from .predictive_columns import MODEL, TARGET_DATE, Long, PredictiveSelection
from .predictive_rows import Lines, MakeOfLevels, OpenFiles, Rows, opened
from .readers import Wanted
from .readers.formats import files_in, formats, found_files
from .row_filter import ALL_ROWS, key_column
from .tables import Table

_TYPE, PLACE, _VALUE = "output_type", "output_type_id", "value"
"""Columns of every hub."""

_ASSESSED = ("quantile", "sample", "cdf")
"""Output types that are distributions of a number; the first of them that a hub has is read."""

_OTHERS = {
    "mean": "a mean is no distribution",
    "median": "a median is no distribution",
    "pmf": "--ordered assesses the probabilities of categories that have an order",
}
"""Why the others are not assessed."""


def hub_files(paths: Sequence[str], target_data: str | None = None) -> list[str]:
    """Find the files of a hub, those in a team's folder, or as named; outcomes may stand in the same folder."""
    target = None if target_data is None else Path(target_data).resolve()
    found = [name for path in paths for name in (_inside(Path(path)) if Path(path).is_dir() else [path])]
    return [name for name in found if Path(name).resolve() != target]


def _inside(folder: Path) -> list[str]:
    root = folder / "model-output" if (folder / "model-output").is_dir() else folder
    suffixes = tuple(suffix for each in formats().values() for suffix in each.suffixes)
    found = [str(each) for each in files_in(root) if each.name.lower().endswith(suffixes)]
    if not found:
        raise InputError(f"{folder}: no file of forecasts in this folder.")
    return found


def hub_lines(of: OpenFiles) -> Lines:
    """Read the lines of one output type of one target."""
    selection, file, numbers = of.selection, of.source, [_VALUE, *of.selection.of_rows]
    every = [name for name in file.names if name not in (*numbers, *file.inside)]
    beside = [name for name in selection.beside(file) if name != MODEL[0]]  # which folders may name
    table = _with_models(of.table(Wanted([], numbers, [_TYPE, PLACE, *every, *beside])))
    table, chosen, others = _one_type(table, ("pmf",) if selection.ordered else _ASSESSED)
    every = [name for name in table.frame.columns if name not in (_TYPE, PLACE)]
    keys = [*dict.fromkeys([*selection.on, MODEL[0]])] if selection.on else every
    left = {each: f"{number_of(n, 'line')} of output type {each}" for each, n in others.items()}
    notes = [f"Not assessed: {lines}; {_why(each, chosen)}." for each, lines in left.items()]
    lines = Lines(table, Long(PLACE, _VALUE), keys, chosen, others=others, notes=notes)
    if chosen == "sample":
        return lines
    labels = _categories(table.frame[PLACE], of.parts[0].name, of.reading) if selection.ordered else ()
    table = replace(table, numbers={**table.numbers, PLACE: numbers_of(table.frame[PLACE], labels)})
    makers: dict[str, MakeOfLevels] = {"cdf": _cells, "pmf": lambda _, values, y: Ordered(values, labels)}
    return replace(lines, table=table, labels=labels, make=makers.get(chosen, lines.make))


def numbers_of(column: pl.Series, labels: Sequence[str]) -> Floats:
    """Return a column's numbers, or those of the labels in it, which are -1 for others; NaN where there is nothing."""
    if not labels:
        return column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    number = {label: float(at) for at, label in enumerate(labels)}
    found = column.cast(pl.String).replace_strict(number, default=-1.0, return_dtype=pl.Float64)
    return np.where(column.is_null().to_numpy(), np.nan, found.to_numpy())


def _categories(column: pl.Series, file: str, reading: FileReading) -> list[str]:
    """Put categories in order: as they are named, or as the hub's configuration has them."""
    present = column.cast(pl.String).drop_nulls().unique().sort().to_list()
    known = [reading.labels] if reading.labels else _configured(Path(file).absolute())
    labels = next((each for each in known if {*present} <= {*each}), None)
    if labels is None:
        remedy = "Name all from the lowest to the highest with --labels."
        raise InputError(f"output type pmf: categories {listed(present)}. {remedy}")
    return [label for label in labels if label in present]


def _configured(file: Path) -> Iterator[list[str]]:
    """Give the categories of each target, in the order of the hub's own configuration, where it is beside the file."""
    found = (folder / "hub-config" / "tasks.json" for folder in file.parents)
    tasks = next((each for each in found if each.is_file()), None)
    for of_round in json.loads(tasks.read_text("utf-8"))["rounds"] if tasks else ():
        for task in of_round["model_tasks"]:
            ids = task["output_type"].get("pmf", {}).get("output_type_id", {})
            yield [str(each) for part in ("required", "optional") for each in ids.get(part) or ()]


def _with_models(table: Table) -> Table:
    """Name the forecaster of each row by its folder, where no column does."""
    if MODEL[0] in table.frame.columns:
        return table
    folders = pl.Series(MODEL[0], [Path(name).absolute().parent.name for name in table.names], dtype=pl.String)
    return replace(table, frame=table.frame.with_columns(folders[table.file]))


def _one_type(table: Table, assessed: Sequence[str]) -> tuple[Table, str, dict[str, int]]:
    """Choose the lines of the output type that is assessed, and count those of others."""
    counts = {str(each): int(n) for each, n in table.frame[_TYPE].value_counts(sort=True).iter_rows()}
    chosen = next((each for each in assessed if each in counts), None)
    if chosen is None:
        what = "a distribution of a number" if assessed is _ASSESSED else "pmf"
        reasons = " ".join(f"{each}: {_why(each, assessed[0])}." for each in counts)
        raise InputError(f"output types {listed(list(counts))}: none is {what}. {reasons}")
    table = table[(table.frame[_TYPE] == chosen).fill_null(False).to_numpy()]
    targets = table.frame["target"].unique().sort().to_list() if "target" in table.frame.columns else []
    if len(targets) > 1:
        several = f"{number_of(len(targets), 'target')} ({listed(targets)}): scores of different ones do not add up"
        raise InputError(f"{several}. Choose one: --where \"target = '{targets[0]}'\".")
    return table, chosen, {each: n for each, n in counts.items() if each != chosen}


def _why(output_type: str, assessed: str) -> str:
    usual = f"--where \"{_TYPE} = '{output_type}'\" assesses these"
    usual = usual if assessed in _ASSESSED else "without --ordered these may be assessed"
    return _OTHERS.get(output_type, usual if output_type in _ASSESSED else "it is not known")


def _cells(thresholds: Floats, values: AnyFloats, y: Floats) -> Predictive:
    """Take the cell between thresholds that each outcome is in: F at one is the probability of at most that."""
    bounds = np.column_stack([np.zeros(len(y)), values, np.ones(len(y))])
    at, rows = np.searchsorted(thresholds, y, side="left"), np.arange(len(y))
    return PIT(bounds[rows, at], bounds[rows, at + 1])


_VALUES = ("observation", "value", "oracle_value")
"""Columns of outcomes, as hubs name them."""

_VERSION = "as_of"
"""Column of hubs that says when an outcome was published, of which the last counts."""


def with_outcomes(rows: Rows, of: OpenFiles) -> tuple[Rows, PredictiveSelection]:
    """Add the outcome of each forecast; those that have none are left out."""
    selection, file = of.selection, str(of.selection.target_data)
    anew = replace(selection, words=(), where=ALL_ROWS), replace(of.reading, format=None, sheet=None)
    outcomes = opened(found_files([file]), *anew, lambda _: None)
    names = outcomes.source.names
    truth = selection.truth or next((each for each in _VALUES if each in names), None)
    if truth is None:
        raise InputError(f"{file}: no column {' or '.join(_VALUES)}; --truth names that of the outcomes.")
    keys = _keys(rows.frame, names, selection, truth)
    if not keys:
        have = f"forecasts have {listed(rows.frame.columns, 12)}, outcomes {listed(names, 12)}"
        raise InputError(f"{file}: no column to match by; {have}. Rename them alike, or name them with --on.")
    versions = [_VERSION] if _VERSION in names else []
    known = _outcomes(outcomes, truth, [*keys.values(), *versions], rows.labels)
    known = known[np.isfinite(known.numbers[truth])]
    if versions:
        known = known[known.frame[_VERSION].arg_sort(descending=True).to_numpy()]
        last = _first(known.frame, keys)
        earlier, known = int(np.count_nonzero(~last)), known[last]
        note = f"{number_of(earlier, 'outcome')} of an earlier {_VERSION} left out: the last one counts."
        rows = replace(rows, notes=[*rows.notes, *[note] * bool(earlier)])
    by = " and ".join(keys.values())
    remedy = "Leave one of them out, or match by more columns (--on)."
    known.refuse(~_first(known.frame, keys), f"a second outcome of the same {by}", remedy)
    y, lost = _looked_up(rows.frame, known.frame, keys, known.numbers[truth])
    rows = replace(rows, notes=[*rows.notes, *(f"{name}: {_LOST_ZEROS}" for name in lost)])
    with named(file):
        if unknown := int(np.count_nonzero(y < 0)) if rows.labels else 0:
            raise InputError(f"{number_of(unknown, 'outcome')} of forecasts are none of {listed(rows.labels)}.")
        kept = rows.only(~np.isnan(y), f"no outcome has the same {by}")
    return replace(kept, numbers={**kept.numbers, truth: y[~np.isnan(y)]}), replace(selection, truth=truth)


def _outcomes(of: OpenFiles, truth: str, beside: Sequence[str], labels: Sequence[str]) -> Table:
    """Read outcomes: numbers, or those of categories, which stand in a column or have a line each, with a 1."""
    if not labels:
        return of.table(Wanted([], [truth], beside))
    if PLACE not in of.source.names:
        known = of.table(Wanted([], [], [*beside, truth]))
        return replace(known, numbers={truth: numbers_of(known.frame[truth], labels)})
    known = of.table(Wanted([], [truth], [*beside, PLACE]))
    category = numbers_of(known.frame[PLACE], labels)
    so = (known.numbers[truth] == 1) & (category >= 0)
    return replace(known, numbers={truth: np.where(so, category, np.nan)})


def _keys(frame: pl.DataFrame, names: list[str], selection: PredictiveSelection, truth: str) -> dict[str, str]:
    """Name the columns of forecasts that outcomes are matched by, and what these columns are called there."""
    shared = [name for name in frame.columns if name in names and name not in (truth, _VERSION)]
    keys = {name: name for name in selection.on or shared}
    date, there = selection.target_date, next((name for name in (*TARGET_DATE, "date") if name in names), None)
    if date is not None and date not in names and there is not None and date in (selection.on or [date]):
        keys[date] = there
    return keys


def _first(frame: pl.DataFrame, keys: dict[str, str]) -> Bools:
    """Say of each row whether none before it has the same keys."""
    return np.asarray(frame.select(pl.struct(keys.values()).is_first_distinct()).to_series().to_numpy())


_LOST_ZEROS = "leading zeros are in one of the files only, so that '06' and '6' were taken as the same."


def _looked_up(
    frame: pl.DataFrame, known: pl.DataFrame, keys: dict[str, str], values: Floats
) -> tuple[Floats, list[str]]:
    """Give the outcome of each row, NaN where there is none; and the keys of which one side has lost leading zeros."""
    left = frame.select(_spelled(frame[name]).alias(str(at)) for at, name in enumerate(keys))
    right = known.select(_spelled(known[name]).alias(str(at)) for at, name in enumerate(keys.values()))
    lost = [at for at in left.columns if _lost_zeros(left[at].unique(), right[at].unique())]
    left, right = (side.with_columns(pl.col(lost).str.replace(*_ZEROS)) for side in (left, right))
    found = left.join(right.with_columns(y=pl.Series(values)), on=left.columns, how="left", maintain_order="left")
    return np.asarray(found["y"].fill_null(np.nan).to_numpy()), [[*keys][int(at)] for at in lost]


_ZEROS = r"^0+(\d+)$", "$1"


def _lost_zeros(*sides: pl.Series) -> bool:
    """Whether numbers have leading zeros on one side only, and differ by more than these."""
    bare = [side.str.replace(*_ZEROS) for side in sides]
    zeros = [short.filter(short != side) for short, side in zip(bare, sides, strict=True)]
    if sum(not each.is_empty() for each in zeros) != 1 or not all(short.is_unique().all() for short in bare):
        return False
    return any(each.is_in(other.implode()).any() for each, other in zip(zeros, sides[::-1], strict=True))


def _spelled(column: pl.Series) -> pl.Series:
    """Spell keys alike whatever the format, such as CSV, in which all is text."""
    return key_column(column, column.name).cast(pl.String)
