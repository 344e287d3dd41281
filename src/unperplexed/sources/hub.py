"""Forecasts of a hub in the form of hubverse: a line for each output type and its id, in files of teams and rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from .._lib.dataclasses import dataclass, replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Floats
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.predictive import Predictive
from .file_reading import FileReading, Partition
from .predictive_columns import MODEL, Long, PredictiveSelection
from .predictive_rows import Note, Rows, of_lines
from .readers import Wanted
from .readers.formats import formats
from .tables import Table, read_table

_TYPE, _PLACE, _VALUE = "output_type", "output_type_id", "value"
"""Columns of every hub."""

_ASSESSED = ("quantile", "sample", "cdf")
"""Output types that are distributions of a number; the first of them that a hub has is read."""

_OTHERS = {
    "mean": "a mean is no distribution",
    "median": "a median is no distribution",
    "pmf": "the probabilities of categories are assessed with --prob",
}
"""Why the others are not assessed."""


def hub_files(paths: Sequence[str]) -> list[str]:
    """Find the files of a hub, those in a team's folder, or as named."""
    return [name for path in paths for name in (_inside(Path(path)) if Path(path).is_dir() else [path])]


def _inside(folder: Path) -> list[str]:
    root = folder / "model-output" if (folder / "model-output").is_dir() else folder
    suffixes = tuple(suffix for each in formats().values() for suffix in each.suffixes)
    found = sorted(str(each) for each in root.rglob("*") if each.name.lower().endswith(suffixes) and each.is_file())
    if not found:
        raise InputError(f"{folder}: no file of forecasts in this folder.")
    return found


@dataclass(frozen=True, eq=False)
class HubLines:
    """The lines of one output type of one target."""

    table: Table
    output_type: str
    keys: Sequence[str]
    """Columns that tell forecasts apart."""
    notes: Sequence[Note]
    """What the others are."""
    form = Long(_PLACE, _VALUE)


def hub_lines(parts: Sequence[Partition], selection: PredictiveSelection, reading: FileReading) -> HubLines:
    """Read the lines of one output type of one target."""
    file, numbers = parts[0].source, [_VALUE, *selection.of_rows]
    every = [name for name in file.names if name not in (*numbers, *file.inside)]
    wanted = Wanted([], numbers, [_TYPE, _PLACE, *every, *selection.beside(file)])
    table = _with_models(read_table(parts, wanted, selection.where, reading))
    table, chosen, notes = _one_type(table)
    keys = list(selection.on) or [name for name in table.frame.columns if name not in (_TYPE, _PLACE)]
    if chosen != "sample":
        places = table.frame[_PLACE].cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
        table = replace(table, numbers={**table.numbers, _PLACE: places})
    return HubLines(table, chosen, keys, notes)


def hub_rows(parts: Sequence[Partition], selection: PredictiveSelection, reading: FileReading) -> Rows:
    """Read the forecasts of one output type of one target; the others are named in notes."""
    lines = hub_lines(parts, selection, reading)
    rows = of_lines(lines.table, lines.form, lines.keys, reading, _cells if lines.output_type == "cdf" else None)
    return replace(rows, notes=[*lines.notes, *rows.notes])


def _with_models(table: Table) -> Table:
    """Name the forecaster of each row by its folder, where no column does."""
    if MODEL[0] in table.frame.columns:
        return table
    folders = pl.Series(MODEL[0], [Path(name).absolute().parent.name for name in table.names], dtype=pl.String)
    return replace(table, frame=table.frame.with_columns(folders[table.file]))


def _one_type(table: Table) -> tuple[Table, str, list[Note]]:
    """Choose the lines of the output type that is assessed, and say which others there are."""
    counts = {str(each): int(n) for each, n in table.frame[_TYPE].value_counts(sort=True).iter_rows()}
    chosen = next((each for each in _ASSESSED if each in counts), None)
    if chosen is None:
        reasons = " ".join(f"{each}: {_why(each)}." for each in counts)
        raise InputError(f"output types {listed(list(counts))}: none is a distribution of a number. {reasons}")
    notes = [
        (n, f"Not assessed: {number_of(n, 'line')} of output type {each}; {_why(each)}.")
        for each, n in counts.items()
        if each != chosen
    ]
    table = table[(table.frame[_TYPE] == chosen).fill_null(False).to_numpy()]
    targets = table.frame["target"].unique().sort().to_list() if "target" in table.frame.columns else []
    if len(targets) > 1:
        raise InputError(
            f"{number_of(len(targets), 'target')} ({listed(targets)}): scores of different ones do not add up. Choose"
            f" one: --where \"target = '{targets[0]}'\"."
        )
    return table, chosen, notes


def _why(output_type: str) -> str:
    usual = f"--where \"{_TYPE} = '{output_type}'\" assesses these"
    return _OTHERS.get(output_type, usual if output_type in _ASSESSED else "it is not known")


def _cells(thresholds: Floats, values: AnyFloats, y: Floats) -> Predictive:
    """Take the cell between thresholds that each outcome is in: F at one is the probability of at most that."""
    bounds = np.column_stack([np.zeros(len(y)), values, np.ones(len(y))])
    at, rows = np.searchsorted(thresholds, y, side="left"), np.arange(len(y))
    return PIT(bounds[rows, at], bounds[rows, at + 1])
