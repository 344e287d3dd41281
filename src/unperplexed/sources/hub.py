"""Forecasts of a hub in the form of hubverse: a line for each output type and its id, in files of teams and rounds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Floats
from ..forecasts.distributions.ordered import Ordered
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.predictive import Predictive
from .file_reading import FileReading, Partition
from .predictive_columns import MODEL, Long, PredictiveSelection
from .predictive_rows import MakeOfLevels, Note, Rows, of_lines
from .readers import Wanted
from .readers.formats import formats
from .tables import Table, read_table

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
    found = sorted(str(each) for each in root.rglob("*") if each.name.lower().endswith(suffixes) and each.is_file())
    if not found:
        raise InputError(f"{folder}: no file of forecasts in this folder.")
    return found


class HubLines(Frozen, eq=False):
    """The lines of one output type of one target."""

    table: Table
    output_type: str
    keys: Sequence[str]
    """Columns that tell forecasts apart."""
    others: Mapping[str, int]
    """How many lines there are of each other output type."""
    labels: Sequence[str] = ()
    """Categories of ordered classes, the lowest first."""
    form = Long(PLACE, _VALUE)

    @property
    def notes(self) -> list[Note]:
        """What is not assessed, and why."""
        return [
            (n, f"Not assessed: {number_of(n, 'line')} of output type {each}; {_why(each, self.output_type)}.")
            for each, n in self.others.items()
        ]


def hub_lines(parts: Sequence[Partition], selection: PredictiveSelection, reading: FileReading) -> HubLines:
    """Read the lines of one output type of one target."""
    file, numbers = parts[0].source, [_VALUE, *selection.of_rows]
    every = [name for name in file.names if name not in (*numbers, *file.inside)]
    beside = [name for name in selection.beside(file) if name != MODEL[0]]  # which folders may name
    wanted = Wanted([], numbers, [_TYPE, PLACE, *every, *beside])
    table = _with_models(read_table(parts, wanted, selection.where, reading))
    table, chosen, others = _one_type(table, ("pmf",) if selection.ordered else _ASSESSED)
    every = [name for name in table.frame.columns if name not in (_TYPE, PLACE)]
    keys = [*dict.fromkeys([*selection.on, MODEL[0]])] if selection.on else every
    if chosen == "sample":
        return HubLines(table, chosen, keys, others)
    labels = _categories(table.frame[PLACE], parts[0].name, reading) if selection.ordered else ()
    places = numbers_of(table.frame[PLACE], labels)
    return HubLines(replace(table, numbers={**table.numbers, PLACE: places}), chosen, keys, others, labels)


def hub_rows(parts: Sequence[Partition], selection: PredictiveSelection, reading: FileReading) -> Rows:
    """Read the forecasts of one output type of one target; the others are named in notes."""
    lines = hub_lines(parts, selection, reading)
    makers: dict[str, MakeOfLevels] = {"cdf": _cells, "pmf": partial(_classes, lines.labels)}
    rows = of_lines(lines.table, lines.form, lines.keys, reading, makers.get(lines.output_type))
    return replace(rows, labels=lines.labels, notes=[*lines.notes, *rows.notes])


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
        raise InputError(
            f"output type pmf: categories {listed(present)}. Name all from the lowest to the highest with --labels."
        )
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
        raise InputError(
            f"{number_of(len(targets), 'target')} ({listed(targets)}): scores of different ones do not add up. Choose"
            f" one: --where \"target = '{targets[0]}'\"."
        )
    return table, chosen, {each: n for each, n in counts.items() if each != chosen}


def _why(output_type: str, assessed: str) -> str:
    usual = f"--where \"{_TYPE} = '{output_type}'\" assesses these"
    usual = usual if assessed in _ASSESSED else "without --ordered these may be assessed"
    return _OTHERS.get(output_type, usual if output_type in _ASSESSED else "it is not known")


def _classes(labels: Sequence[str], _: Floats, values: AnyFloats, y: Floats) -> Predictive:
    return Ordered(values, labels)


def _cells(thresholds: Floats, values: AnyFloats, y: Floats) -> Predictive:
    """Take the cell between thresholds that each outcome is in: F at one is the probability of at most that."""
    bounds = np.column_stack([np.zeros(len(y)), values, np.ones(len(y))])
    at, rows = np.searchsorted(thresholds, y, side="left"), np.arange(len(y))
    return PIT(bounds[rows, at], bounds[rows, at + 1])
