"""Predictive distributions of numbers, and their outcomes, read from files in any of the forms that they come in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.group_keys import cluster_numbers
from ..tally.distributions import DistributionTally
from ..tally.tally import Tally
from .derived_columns import Derived, derived, year_first
from .engines import Engine
from .file_reading import FileReading, Partition, named
from .files import openers, places_of_each
from .hub import hub_files, hub_lines, with_outcomes
from .map_reduce import Found, Work, counts_added, total
from .predictive_columns import MODEL, Long, PredictiveSelection, Wide, form_of
from .predictive_rows import Lines, OpenFiles, Rows, complete, drops, of_columns, of_lines, opened
from .readers import Wanted
from .readers.formats import found_files
from .row_filter import key_column
from .tables import read_batches


class ReadDistributions(Frozen, eq=False):
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
    notes: Sequence[str] = ()
    """What was left out, and what was not assessed."""

    def only(self, rows: Ints) -> ReadDistributions:
        """Return some of the forecasts, in their order."""
        beside = ("y", "weight", "issued", "target", "clusters")
        some = {name: each[rows] for name in beside if (each := getattr(self, name)) is not None}
        censored = {side: each[rows] for side, each in self.censored.items()}
        return replace(self, forecast=self.forecast.subset(rows), frame=self.frame[rows], censored=censored, **some)

    def by(self, column: str) -> dict[str, ReadDistributions]:
        """Return the forecasts of each forecaster that a column names."""
        return {name: self.only(places) for name, places in places_of_each(self.frame[column])}


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
    return _read(_opened(paths, selection, reading, say))


def read_forecasts(
    paths: Sequence[str], selection: PredictiveSelection, reading: FileReading, say: Callable[[str], None]
) -> Predictive:
    """Read forecasts of wide or long tables without outcomes; arguments are those of `read_distributions`."""
    rows = _of_table(opened(found_files(paths), selection, reading, say))
    return rows.make(rows.matrix, np.zeros(len(rows.matrix)))


def _opened(
    paths: Sequence[str], selection: PredictiveSelection, reading: FileReading, say: Callable[[str], None]
) -> OpenFiles:
    """Find and open files."""
    if selection.truth is None and selection.target_data is None:
        raise InputError("which column holds the outcome? Name it with --truth, or its file with --target-data.")
    if selection.ordered and selection.target_data is None:
        raise InputError("--ordered takes the categories that happened from a file; name it with --target-data.")
    hub = selection.form == "hub"
    return opened(found_files(hub_files(paths, selection.target_data) if hub else paths), selection, reading, say)


def _read(of: OpenFiles) -> ReadDistributions:
    """Read forecasts and outcomes of files that are open."""
    of = of.dated()
    rows = of_lines(hub_lines(of), of.reading) if of.selection.form == "hub" else _of_table(of)
    return _finished(*(with_outcomes(rows, of) if of.selection.target_data is not None else (rows, of.selection)))


def count_distributions(
    paths: Sequence[str],
    selection: PredictiveSelection,
    reading: FileReading,
    metrics: Sequence[str] = (),
    engine: Engine = Engine(),  # noqa: B008
    say: Callable[[str], None] = lambda _: None,
) -> DistributionTally:
    """Count forecasts and outcomes of files, each by itself: wide tables batch by batch, others whole; a hub together.

    Parameters
    ----------
    paths, selection, reading, say
        As in `read_distributions`.
    metrics : sequence of str
        Scores that are counted besides, as in `Tally.of`.
    engine : Engine
        What counts them, a file at a time on each of its workers.

    Returns
    -------
    DistributionTally
        The same whichever engine counts.

    Raises
    ------
    InputError
        As `read_distributions`; for a hub and another engine than "local".
    """
    parts, hub = _opened(paths, selection, reading, say).parts, selection.form == "hub"
    if engine.name != "local" and selection.target_data is not None:  # which workers may not run beside
        selection = replace(selection, target_data=str(Path(selection.target_data).absolute()))
    counted = partial(_counted, selection, reading, metrics)
    work: Work[tuple[DistributionTally, list[str]]] = Work(counted, partial(counts_added, add))
    if engine.name == "local":
        each = (Found(some[0].name, work.of(*some)) for some in ([parts] if hub else [[part] for part in parts]))
        tally, said = total(work, each)
    elif hub:
        how = "files of a hub are read together, by the engine local"
        raise InputError(f"--engine {engine.name}: {how}. Leave it out.")
    else:
        files = found_files(paths)
        with engine.running(files, openers(files, reading.format, reading.written(selection.mentioned))) as run:
            tally, said = total(work, run(work, ()))
    for sentence in said:
        say(sentence)
    return tally


def _counted(
    selection: PredictiveSelection, reading: FileReading, metrics: Sequence[str], *parts: Partition
) -> tuple[DistributionTally, list[str]]:
    said, tallies, left_out = list[str](), list[DistributionTally](), 0
    for read, lost in _batches(OpenFiles(parts, selection, reading, said.append)):
        left_out += lost
        if read is not None:
            said += [*read.notes] + [_DEPENDENT] * (read.issued is not None)
            one = Tally.of(read.y, read.forecast, metrics=metrics, sample_weight=read.weight, censored=read.censored)
            tallies = [Tally.merged([*tallies, one])]
    if not tallies:
        raise InputError(f"{parts[0].name}: a number is missing in all of {left_out:,} rows. None is left.")
    return replace(tallies[0], left_out=left_out + tallies[0].left_out), [*dict.fromkeys(said)]


_DEPENDENT = "forecasts may depend on one another where their times overlap; a tally counts their rows as independent"


def _batches(of: OpenFiles) -> Iterator[tuple[ReadDistributions | None, int]]:
    """Read wide tables batch by batch, and say how many rows were left out of each; others, or with dates, together."""
    of = of.dated()
    selection, reading = of.selection, of.reading
    form = None if selection.form == "hub" or selection.issued or selection.target_data else _form(of)
    if not isinstance(form, Wide):
        yield _read(of), 0
        return
    for table in read_batches(of.parts, _wanted(form, of), selection.where, reading, drops(reading)):
        whole = complete(table, reading)
        try:
            some = _finished(of_columns(table[whole], form, reading), selection) if whole.any() else None
        except InputError:
            _read(replace(of, say=list[str]().append))  # which refuses the same, by numbers of all rows
            raise
        yield some, int(np.count_nonzero(~whole))


def _of_table(of: OpenFiles) -> Rows:
    """Read forecasts of a wide or a long table."""
    form, reading = _form(of), of.reading
    if isinstance(form, Long):
        return of_lines(long_lines(of, form), reading)
    return of_columns(of.table(_wanted(form, of), drops(reading)), form, reading)


def _form(of: OpenFiles) -> Wide | Long:
    """Find the columns of the forecasts, none of which may be that of the outcome."""
    selection = of.selection
    with named(of.parts[0].name):
        form = form_of(selection, of.source)
        of_forecasts = (form.place, form.value) if isinstance(form, Long) else form.columns
        if selection.form != "pit" and selection.target_data is None and selection.truth in of_forecasts:
            remedy = "Name that of the outcome, or its file with --target-data."
            raise InputError(f"--truth {selection.truth}: this column is one of the forecasts. {remedy}")
    if isinstance(form, Wide) and form.said:
        of.say(form.said)
    return form


def _wanted(form: Wide, of: OpenFiles) -> Wanted:
    """Say which columns of a wide table are read."""
    beside = [*of.selection.beside(of.source), *of.selection.on]
    return Wanted([form.columns] if form.columns else [], of.selection.of_rows, beside)


def long_lines(of: OpenFiles, form: Long) -> Lines:
    """Read the lines of a long table, and which columns tell its forecasts apart."""
    selection, file, numbers = of.selection, of.source, of.selection.of_rows
    taken = {form.place, form.value, *numbers, *file.inside}
    keys = list(selection.on) or [name for name in file.names if name not in taken]
    places, ids = ([form.place], []) if selection.form == "quantiles" else ([], [form.place])
    wanted = Wanted([], [*places, form.value, *numbers], [*keys, *selection.beside(file), *ids])
    return Lines(of.table(wanted), form, keys, selection.form)


def _finished(rows: Rows, selection: PredictiveSelection) -> ReadDistributions:
    """Make the forecasts, and read what stands beside them."""
    rows = rows.only(ahead(rows.frame, selection), "they are about a time before they were issued")
    y = rows.numbers[str(selection.truth)]
    forecast = rows.make(rows.matrix, y)
    frame = rows.frame.select(key_column(column, column.name) for column in rows.frame)
    made = {text: _made(text, frame) for text in (*selection.keys, *selection.clusters)}
    issued, target = _dates(rows.frame, selection)
    known = frame.with_columns(column.alias(name) for name, column in made.items())
    weight = None if selection.weight is None else rows.numbers[selection.weight]
    limits = {side: rows.numbers[name] for side, name in selection.censored.items()}
    grouped = {name: made[name] for name in selection.clusters}
    clusters = cluster_numbers(grouped, len(y)) if grouped else None
    beside = weight, limits, issued, target, clusters, rows.notes
    return ReadDistributions(forecast.named(y), forecast, known, *beside)


def _dates(frame: pl.DataFrame, selection: PredictiveSelection) -> list[NDArray[Any] | None]:
    """When forecasts were issued, and the times that they are about, as far as their columns are known."""
    return [None if name is None else _moments(frame[name]) for name in (selection.issued, selection.target_date)]


def ahead(frame: pl.DataFrame, selection: PredictiveSelection) -> Bools:
    """Say which rows are not about a time before they were issued, which may be known by then; all if none is."""
    issued, target = _dates(frame, selection)
    if issued is None or target is None:
        return np.ones(frame.height, dtype=bool)
    if issued.dtype.kind != target.dtype.kind:
        both = f"columns {selection.issued!r} and {selection.target_date!r}"
        raise InputError(f"{both}: one has dates, the other numbers.")
    found: Bools = target >= issued
    return found if found.any() else ~found


def several(frame: pl.DataFrame) -> list[str]:
    """Say so where forecasts that are assessed together are of several forecasters."""
    n, name = len(models_of(frame)), next((name for name in MODEL if name in frame.columns), None)
    return [f"{n} forecasters are assessed together; --by {name} tells them apart."] if n > 1 else []


def models_of(frame: pl.DataFrame) -> list[str]:
    """Name the forecasters of the rows, where a column does."""
    name = next((name for name in MODEL if name in frame.columns), None)
    return [] if name is None else frame[name].cast(pl.String).unique(maintain_order=True).to_list()


def _made(text: str, frame: pl.DataFrame) -> pl.Series:
    """Give a column, or what is made of it."""
    asked = Derived(text) if text in frame.columns else derived(text)
    return asked.groups(frame[asked.column], np.arange(frame.height))


_MOMENTS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M")


def _moments(column: pl.Series) -> NDArray[Any]:
    """Read dates, times or numbers of steps."""
    if column.dtype == pl.String:
        text = year_first(column).str.replace("T", " ", literal=True).str.slice(0, 19)
        tried = [text.str.to_datetime(form, strict=False) for form in _MOMENTS] + [text.cast(pl.Float64, strict=False)]
        column = min(tried, key=lambda each: each.null_count())
        if (wrong := text.filter(column.is_null()).drop_nulls()).len():
            raise InputError(f"column {text.name!r}: {wrong[0]!r} is no date such as 2026-11-23. Rewrite it.")
    if column.null_count():
        rows = number_of(column.null_count(), "row")
        raise InputError(f"column {column.name!r} has no date in {rows}. --where may leave these out.")
    return column.to_numpy()
