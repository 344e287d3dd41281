"""Predictive distributions of numbers, and their outcomes, read from files in any of the forms that they come in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .._lib.dataclasses import dataclass, field, replace
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.group_keys import cluster_numbers
from .derived_columns import Derived, derived
from .file_reading import FileReading, Partition, named
from .hub import hub_files, hub_rows
from .predictive_columns import ISSUED, MODEL, TARGET_DATE, Long, PredictiveSelection, form_of
from .predictive_rows import Note, Rows, drops, of_columns, of_lines, opened
from .readers import Source, Wanted
from .readers.formats import found_files
from .row_filter import key_column
from .tables import Table, read_table
from .target_data import with_outcomes


@dataclass(frozen=True, eq=False)
class ReadDistributions:
    """Forecasts that are read and checked, with what stands beside them."""

    y: Any
    """Outcomes: numbers, or labels of ordered classes."""
    forecast: Predictive
    frame: pl.DataFrame
    """Further columns of each forecast: all of a long table, and those that were asked for, by the names given."""
    weight: Floats | None = None
    censored: Mapping[str, Floats] = field(default_factory=dict)
    """Limits above, or below, which outcomes are not observed."""
    issued: NDArray[Any] | None = None
    """When each was issued, if it is known: dates, times or numbers of steps."""
    target: NDArray[Any] | None = None
    """The time that each is about."""
    clusters: Ints | None = None
    """Number of each row's cluster, if columns of clusters were named."""
    notes: Sequence[Note] = ()
    """What was left out, and what was not assessed."""

    def only(self, rows: Ints) -> ReadDistributions:
        """Return some of the forecasts, in their order."""
        beside = ("y", "weight", "issued", "target", "clusters")
        some = {name: each[rows] for name in beside if (each := getattr(self, name)) is not None}
        censored = {side: each[rows] for side, each in self.censored.items()}
        return replace(self, forecast=self.forecast.subset(rows), frame=self.frame[rows], censored=censored, **some)

    def by(self, column: str) -> dict[str, ReadDistributions]:
        """Return the forecasts of each forecaster that a column names."""
        names = self.frame[column].cast(pl.String)
        return {name: self.only((names == name).arg_true().to_numpy()) for name in names.unique(maintain_order=True)}


def read_distributions(
    paths: Sequence[str],
    selection: PredictiveSelection,
    reading: FileReading,
    say: Callable[[str], None] = lambda _: None,
) -> ReadDistributions:
    """Read forecasts and outcomes from files.

    Parameters
    ----------
    paths : sequence of str
        Names of files or patterns; of a hub also its folders.
    selection : PredictiveSelection
        Which columns hold what.
    reading : FileReading
        How files are to be read; with ``invalid`` "drop" rows are left out in which a number is missing.
    say : callable, optional
        Called with each sentence that says what was read off names.

    Returns
    -------
    ReadDistributions

    Raises
    ------
    InputError
        Its message names the file, the rows and the remedy.
    """
    hub = selection.form == "hub"
    if selection.truth is None and selection.target_data is None:
        raise InputError("which column holds the outcome? Name it with --truth, or its file with --target-data.")
    if selection.ordered and selection.target_data is None:
        raise InputError("--ordered takes the categories that happened from a file; name it with --target-data.")
    parts = opened(found_files(hub_files(paths, selection.target_data) if hub else paths), selection, reading, say)
    selection = dated(selection, parts[0].source, say)
    rows = hub_rows(parts, selection, reading) if hub else _of_table(parts, selection, reading, say)
    if selection.target_data is not None:
        rows, selection = with_outcomes(rows, selection, reading)
    return _finished(rows, selection)


def dated(selection: PredictiveSelection, file: Source, say: Callable[[str], None]) -> PredictiveSelection:
    """Take the dates of issue and target from columns of the usual names, where both are there and neither is named."""
    if selection.issued is not None or selection.target_date is not None:
        return selection
    issued, target = (next((name for name in usual if name in file.names), None) for usual in (ISSUED, TARGET_DATE))
    if issued is None or target is None:
        return selection
    say(f"forecasts issued on {issued!r} for {target!r}")
    return replace(selection, issued=issued, target_date=target)


def _of_table(
    parts: Sequence[Partition], selection: PredictiveSelection, reading: FileReading, say: Callable[[str], None]
) -> Rows:
    """Read forecasts of a wide or a long table."""
    file = parts[0].source
    with named(parts[0].name):
        form = form_of(selection, file)
        of_forecasts = (form.place, form.value) if isinstance(form, Long) else form.columns
        if selection.form != "pit" and selection.target_data is None and selection.truth in of_forecasts:
            raise InputError(
                f"--truth {selection.truth}: this column is one of the forecasts. Name that of the outcome, or its file"
                " with --target-data."
            )
    if isinstance(form, Long):
        table, keys = long_table(parts, form, selection, reading)
        return of_lines(table, form, keys, reading)
    if form.said:
        say(form.said)
    beside = [*selection.beside(file), *selection.on]
    wanted = Wanted([form.columns] if form.columns else [], selection.of_rows, beside)
    return of_columns(read_table(parts, wanted, selection.where, reading, drops(reading)), form, reading)


def long_table(
    parts: Sequence[Partition], form: Long, selection: PredictiveSelection, reading: FileReading
) -> tuple[Table, list[str]]:
    """Read the lines of a long table, and which columns tell its forecasts apart."""
    file, numbers = parts[0].source, selection.of_rows
    taken = {form.place, form.value, *numbers, *file.inside}
    keys = list(selection.on) or [name for name in file.names if name not in taken]
    places, ids = ([form.place], []) if selection.form == "quantiles" else ([], [form.place])
    wanted = Wanted([], [*places, form.value, *numbers], [*keys, *selection.beside(file), *ids])
    return read_table(parts, wanted, selection.where, reading), keys


def _finished(rows: Rows, selection: PredictiveSelection) -> ReadDistributions:
    """Make the forecasts, and read what stands beside them."""
    rows = rows.only(ahead(rows.frame, selection), "they are about a time before they were issued")
    y = rows.numbers[str(selection.truth)]
    forecast = rows.make(rows.matrix, y)
    frame = rows.frame.select(key_column(column, column.name) for column in rows.frame)
    made = {text: _made(text, frame) for text in (*selection.keys, *selection.clusters)}
    issued, target = _dates(rows.frame, selection)
    return ReadDistributions(
        forecast.named(y),
        forecast,
        frame.with_columns(column.alias(name) for name, column in made.items()),
        None if selection.weight is None else rows.numbers[selection.weight],
        {side: rows.numbers[name] for side, name in selection.censored.items()},
        issued,
        target,
        cluster_numbers({name: made[name] for name in selection.clusters}, len(y)) if selection.clusters else None,
        rows.notes,
    )


def _dates(frame: pl.DataFrame, selection: PredictiveSelection) -> list[NDArray[Any] | None]:
    """When forecasts were issued, and the times that they are about, as far as their columns are known."""
    return [None if name is None else _moments(frame[name]) for name in (selection.issued, selection.target_date)]


def ahead(frame: pl.DataFrame, selection: PredictiveSelection) -> Bools:
    """Say which rows are not about a time before they were issued, which may be known by then; all if none is."""
    issued, target = _dates(frame, selection)
    if issued is None or target is None:
        return np.ones(frame.height, dtype=bool)
    if issued.dtype.kind != target.dtype.kind:
        raise InputError(
            f"columns {selection.issued!r} and {selection.target_date!r}: one has dates, the other numbers."
        )
    found: Bools = target >= issued
    return found if found.any() else ~found


def several(frame: pl.DataFrame) -> list[Note]:
    """Say so where forecasts that are assessed together are of several forecasters."""
    name = next((name for name in MODEL if name in frame.columns), None)
    n = 0 if name is None else frame[name].n_unique()
    return [(n, f"{n} forecasters are assessed together; --by {name} tells them apart.")] if n > 1 else []


def _made(text: str, frame: pl.DataFrame) -> pl.Series:
    """Give a column, or what is made of it."""
    asked = Derived(text) if text in frame.columns else derived(text)
    return asked.groups(frame[asked.column], np.arange(frame.height))


_MOMENTS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")


def _moments(column: pl.Series) -> NDArray[Any]:
    """Read dates, times or numbers of steps."""
    if column.dtype == pl.String:
        text = column.str.replace("T", " ", literal=True).str.slice(0, 19)
        tried = [text.str.to_datetime(form, strict=False) for form in _MOMENTS] + [text.cast(pl.Float64, strict=False)]
        column = min(tried, key=lambda each: each.null_count())
        if (wrong := text.filter(column.is_null()).drop_nulls()).len():
            raise InputError(f"column {text.name!r}: {wrong[0]!r} is no date such as 2026-11-23. Rewrite it.")
    if column.null_count():
        rows = number_of(column.null_count(), "row")
        raise InputError(f"column {column.name!r} has no date in {rows}. --where may leave these out.")
    return column.to_numpy()
