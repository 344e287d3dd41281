"""One row for each forecast, from tables that have its numbers side by side or below one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from ..forecasts.distributions.partitions import Quantiles, Samples
from ..forecasts.distributions.predictive import Predictive
from .file_reading import FileReading, Partition, named
from .predictive_columns import ISSUED, TARGET_DATE, Long, PredictiveSelection, Wide
from .readers import Source, Wanted
from .readers.formats import File, open_source
from .tables import Table, read_table

_TOLD_APART = "Remove it, or name columns that tell forecasts apart (--on)."

Make = Callable[[AnyFloats, Floats], Predictive]
"""Makes forecasts of a matrix, and of their outcomes where these tell which cell was hit."""

MakeOfLevels = Callable[[Floats, AnyFloats, Floats], Predictive]
"""Makes forecasts of levels, the values at them, and outcomes."""


class Rows(Table, eq=False):
    """One row for each forecast, on the way from files to forecasts; numbers are outcomes, weights and limits."""

    make: Make
    notes: Sequence[str] = ()
    labels: Sequence[str] = ()
    """Categories, the lowest first, whose numbers the outcomes are; empty of other forecasts."""

    def only(self, kept: Bools, reason: str) -> Rows:
        """Leave out the other rows, for a reason that is noted."""
        out = int(np.count_nonzero(~kept))
        if not out:
            return self
        said = f"{number_of(out, 'forecast')} of {len(kept):,} left out: {reason}"
        if out == len(kept):
            raise InputError(f"{said}. None is left.")
        return replace(self[kept], notes=[*self.notes, f"{said}."])


class Lines(Frozen, eq=False):
    """A long table: each line is a level or a member of a forecast."""

    table: Table
    form: Long
    keys: Sequence[str]
    """Columns that tell forecasts apart."""
    kind: str
    """What lines hold: quantiles, samples, or an output type of a hub."""
    make: MakeOfLevels = lambda levels, values, _: Quantiles(levels, values)
    labels: Sequence[str] = ()
    """Categories of ordered classes, the lowest first."""
    others: Mapping[str, int] = field(default_factory=dict)
    """How many lines there are of each other output type."""
    notes: Sequence[str] = ()


class OpenFiles(Frozen):
    """Files that are open, what their columns hold, and how they are read."""

    parts: Sequence[Partition]
    selection: PredictiveSelection
    reading: FileReading
    say: Callable[[str], None]
    """Takes each sentence that says what was read off names."""

    @property
    def source(self) -> Source:
        """The first of them, whose columns all have."""
        return self.parts[0].source

    def table(self, wanted: Wanted, drop: bool = False) -> Table:
        """Read columns of the wanted rows."""
        return read_table(self.parts, wanted, self.selection.where, self.reading, drop)

    def dated(self) -> OpenFiles:
        """Take dates of issue and target from columns of the usual names, if neither is named and both are there."""
        selection, names = self.selection, self.source.names
        if selection.issued is not None or selection.target_date is not None:
            return self
        issued, target = (next((name for name in usual if name in names), None) for usual in (ISSUED, TARGET_DATE))
        if issued is None or target is None:
            return self
        self.say(f"forecasts issued on {issued!r} for {target!r}")
        return replace(self, selection=replace(selection, issued=issued, target_date=target))


def opened(
    files: Sequence[File], selection: PredictiveSelection, reading: FileReading, say: Callable[[str], None]
) -> OpenFiles:
    """Open files, whose headers are read."""
    parts, written = [], reading.written(selection.mentioned)
    for file in files:
        with named(file.name):
            source = open_source(file, reading.format, written, say)
            parts.append(Partition(file.name, source, file.name, file))
    return OpenFiles(parts, selection, reading, say)


def drops(reading: FileReading) -> bool:
    """Whether rows in which something is missing are left out."""
    return "drop" in (reading.options.get("invalid") or ())


def missing(column: AnyFloats) -> Bools:
    """Say of each row whether a number is not there, or is infinite."""
    return np.asarray(~np.isfinite(column) if column.ndim == 1 else ~np.isfinite(column).all(axis=1))


def of_columns(table: Table, form: Wide, reading: FileReading) -> Rows:
    """Make rows of a wide table, of which each has all that it needs."""
    rows = Rows(**vars(table), make=lambda matrix, _: form.make(matrix))
    return rows.only(complete(table, reading), "a number is missing")


def complete(table: Table, reading: FileReading) -> Bools:
    """Say which rows of a wide table have all that they need. Others are refused, unless they may be dropped."""
    gone = {"the forecast": missing(table.matrix), **{f"column {n!r}": missing(x) for n, x in table.numbers.items()}}
    for called, wrong in {} if drops(reading) else gone.items():
        table.refuse(wrong, f"{called} has a number missing", "--invalid drop leaves such rows out.")
    return np.asarray(~np.logical_or.reduce([*gone.values()]))


def of_lines(lines: Lines, reading: FileReading) -> Rows:
    """Make rows of a long table: each line is a level or a member of a forecast.

    Places are numbers if they are levels, which ``make`` makes forecasts of. Lines in which something is missing are
    refused, unless they may be dropped.
    """
    table, place = lines.table, lines.form.place
    levels = place in table.numbers
    place_missing = np.isnan(table.numbers[place]) if levels else table.frame[place].is_null().to_numpy()
    blank = place_missing & np.isnan(table.numbers[lines.form.value])  # outcomes may be listed that have no forecast
    gone = {place: place_missing} | {name: missing(x) for name, x in table.numbers.items() if name != place}
    for name, wrong in {} if drops(reading) else gone.items():
        table.refuse(wrong & ~blank, f"column {name!r} has nothing", "--invalid drop leaves such forecasts out.")
    counts = {"without a forecast": blank, f"without {place}": place_missing & ~blank}
    notes = [f"{number_of(n, 'line')} {what} left out." for what, x in counts.items() if (n := int(x.sum()))]
    if place_missing.all():
        raise InputError(f"{table.names[0]}: no line has a forecast.")
    rows = _by_forecast(replace(lines, table=table[~place_missing] if place_missing.any() else table))
    whole = ~np.logical_or.reduce([missing(rows.matrix), *map(missing, rows.numbers.values())])
    unlike = "a number is missing, or they have not as many members as most"
    reason = "a level or a number is missing" if levels else unlike
    return replace(rows, notes=[*lines.notes, *notes]).only(np.asarray(whole), reason)


def _by_forecast(of: Lines) -> Rows:
    """Lay levels side by side, or members, which have no numbers that tell them apart."""
    table, lines = of.table, LineRows.of(of.table.frame, of.keys)
    others = {name: column for name, column in table.numbers.items() if name not in of.form}
    beside = [name for name in table.frame.columns if name not in {*of.keys, of.form.place}]
    checked: dict[str, Floats | pl.Series] = {**others, **{name: table.frame[name] for name in beside}}
    for name, column in checked.items():
        wrong = lines.differing(column)
        table.refuse(wrong, f"column {name!r} has another value than lines of the same forecast before", _TOLD_APART)
    value, place = table.numbers[of.form.value], table.numbers.get(of.form.place)
    if place is None:
        matrix, again = lines.by_member(table.frame[of.form.place], value)
        made: Make = lambda values, _: Samples(values)  # noqa: E731
    else:
        levels, matrix, again = lines.by_level(place, value)
        made = partial(of.make, levels)
    table.refuse(again, f"a {'member' if place is None else 'level'} of a forecast for the second time", _TOLD_APART)
    kept = replace(table, numbers=others, frame=table.frame.select([*of.keys, *beside]))[lines.first]
    return Rows(**vars(replace(kept, matrix=matrix)), make=made, labels=of.labels)


LEAST_FILLED = 0.25
"""Share of forecasts and levels of which there must be a line. Where there are fewer, columns vary within forecasts,
so that almost each line passes for a forecast of its own, and the matrix of all would not fit in memory."""

_RUN = "\nrun"
"""Name of the column of runs, which no file has."""


class LineRows(Frozen, eq=False):
    """Which forecast each line belongs to."""

    keys: Sequence[str]
    """Columns that tell forecasts apart."""
    of_line: Ints
    """Number of the forecast, in the order in which they begin."""
    first: Ints
    """The first line of each."""

    @classmethod
    def of(cls, frame: pl.DataFrame, keys: Sequence[str]) -> LineRows:
        """Tell forecasts apart; lines of one that stand together are looked up once."""
        if not keys:
            return cls((), np.zeros(frame.height, np.int64), np.zeros(1, np.int64))
        columns = frame.select(keys)
        new = columns.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))).to_series().to_numpy().copy()
        new[:1] = True
        starts = np.flatnonzero(new)
        runs = columns[starts].with_row_index(_RUN)
        first = runs.select(pl.col(_RUN).first().over(keys)).to_series().to_numpy()
        begins = first == np.arange(len(starts))
        of_run = (np.cumsum(begins) - 1)[first]
        return cls(keys, np.repeat(of_run, np.diff(np.append(starts, len(new)))), starts[begins])

    @property
    def n(self) -> int:
        """Number of forecasts."""
        return len(self.first)

    @cached_property
    def place(self) -> Ints:
        """Place of each line among those of its forecast, from 0."""
        order, counts = np.argsort(self.of_line, kind="stable"), np.bincount(self.of_line, minlength=self.n)
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        return place

    def differing(self, column: Floats | pl.Series) -> Bools:
        """Say of each line whether it has another value than the first of its forecast."""
        if isinstance(column, pl.Series):
            return np.asarray(column.ne_missing(column[self.first][self.of_line]).to_numpy())
        first = column[self.first][self.of_line]
        return np.asarray((column != first) & ~(np.isnan(column) & np.isnan(first)))

    def by_level(self, level: Floats, value: Floats) -> tuple[Floats, Floats, Bools]:
        """The levels, a matrix of values that is NaN where there is no line, and lines met before."""
        levels = pl.Series(level).unique().sort().to_numpy()
        n, k = self.n, len(levels)
        if len(level) < LEAST_FILLED * n * k:
            raise InputError(self._sparse(len(level), f"{k} different levels"))
        cell = self.of_line * k + np.searchsorted(levels, level)
        filled = np.zeros(n * k, dtype=bool)
        filled[cell] = True
        matrix = np.full(n * k, np.nan)
        matrix[cell] = value
        once = np.count_nonzero(filled) == len(cell)
        again = np.zeros(len(cell), dtype=bool) if once else ~pl.Series(cell).is_first_distinct().to_numpy()
        return levels, matrix.reshape(n, k), again

    def by_member(self, member: pl.Series, value: Floats) -> tuple[Floats, Bools]:
        """Lay members side by side, NaN in forecasts that have another number than most; and lines met before."""
        counts = np.bincount(self.of_line, minlength=self.n)
        members = int(np.bincount(counts).argmax())
        if members < 2:
            raise InputError(self._sparse(len(value), f"{number_of(member.n_unique(), 'different member')}"))
        matrix = np.full((self.n, members), np.nan)
        some = (counts == members)[self.of_line]
        matrix[self.of_line[some], self.place[some]] = value[some]
        pairs = pl.DataFrame({"forecast": self.of_line, "member": member})
        return matrix, ~pairs.to_struct().is_first_distinct().to_numpy()

    def _sparse(self, lines: int, of: str) -> str:
        many = f"{number_of(lines, 'line')} of {of} are {number_of(self.n, 'forecast')} by {listed(self.keys, 12)}"
        why = "a column among these differs within a forecast. Name those that identify one with --on."
        return f"{many}: {why}"
