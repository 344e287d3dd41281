"""One row for each forecast, from tables that have its numbers side by side or below one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import AnyFloats, Bools, Floats
from ..forecasts.distributions.partitions import Quantiles, Samples
from ..forecasts.distributions.predictive import Predictive
from .file_reading import FileReading, Partition, named
from .lines import LineRows
from .predictive_columns import Long, PredictiveSelection, Wide
from .readers.formats import File, open_source
from .tables import Table, picked

_TOLD_APART = "Remove it, or name columns that tell forecasts apart (--on)."

Note = tuple[int, str]
"""How many rows something was seen in, and a sentence that says so."""

Make = Callable[[AnyFloats, Floats], Predictive]
"""Makes forecasts of a matrix, and of their outcomes where these tell which cell was hit."""

MakeOfLevels = Callable[[Floats, AnyFloats, Floats], Predictive]
"""Makes forecasts of levels, the values at them, and outcomes."""


class Rows(Frozen, eq=False):
    """One row for each forecast, on the way from files to forecasts."""

    matrix: AnyFloats
    make: Make
    numbers: Mapping[str, Floats]
    """Outcomes, weights and limits by column."""
    frame: pl.DataFrame
    notes: Sequence[Note] = ()
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
        numbers = {name: column[kept] for name, column in self.numbers.items()}
        notes = [*self.notes, (out, f"{said}.")]
        return replace(self, matrix=self.matrix[kept], numbers=numbers, frame=picked(self.frame, kept), notes=notes)


def opened(
    files: Sequence[File], selection: PredictiveSelection, reading: FileReading, say: Callable[[str], None]
) -> list[Partition]:
    """Open files, whose headers are read."""
    parts, written = [], reading.written(selection.mentioned)
    for file in files:
        with named(file.name):
            source = open_source(file, reading.format, written, say)
            parts.append(Partition(file.name, source, file.name, file))
    return parts


def drops(reading: FileReading) -> bool:
    """Whether rows in which something is missing are left out."""
    return "drop" in (reading.options.get("invalid") or ())


def missing(column: AnyFloats) -> Bools:
    """Say of each row whether a number is not there, or is infinite."""
    return np.asarray(~np.isfinite(column) if column.ndim == 1 else ~np.isfinite(column).all(axis=1))


def of_columns(table: Table, form: Wide, reading: FileReading) -> Rows:
    """Make rows of a wide table, of which each has all that it needs."""
    rows = Rows(table.matrix, lambda matrix, _: form.make(matrix), table.numbers, table.frame)
    return rows.only(complete(table, reading), "a number is missing")


def complete(table: Table, reading: FileReading) -> Bools:
    """Say which rows of a wide table have all that they need. Others are refused, unless they may be dropped."""
    gone = {"the forecast": missing(table.matrix), **{f"column {n!r}": missing(x) for n, x in table.numbers.items()}}
    for called, wrong in {} if drops(reading) else gone.items():
        table.refuse(wrong, f"{called} has a number missing", "--invalid drop leaves such rows out.")
    return np.asarray(~np.logical_or.reduce([*gone.values()]))


def of_lines(
    table: Table, form: Long, keys: Sequence[str], reading: FileReading, make: MakeOfLevels | None = None
) -> Rows:
    """Make rows of a long table: each line is a level or a member of a forecast.

    Parameters
    ----------
    table : Table
        The lines; places are numbers if they are levels.
    form : Long
        The columns of places and values.
    keys : sequence of str
        Columns that tell forecasts apart.
    reading : FileReading
        Whether lines in which something is missing are left out.
    make : callable, optional
        Makes forecasts of levels; by default these are of quantiles.
    """
    levels = form.place in table.numbers
    place_missing = np.isnan(table.numbers[form.place]) if levels else table.frame[form.place].is_null().to_numpy()
    blank = place_missing & np.isnan(table.numbers[form.value])  # outcomes may be listed that have no forecast
    gone = {form.place: place_missing} | {name: missing(x) for name, x in table.numbers.items() if name != form.place}
    for name, wrong in {} if drops(reading) else gone.items():
        table.refuse(wrong & ~blank, f"column {name!r} has nothing", "--invalid drop leaves such forecasts out.")
    counts = {"without a forecast": blank, f"without {form.place}": place_missing & ~blank}
    notes = [(n, f"{number_of(n, 'line')} {what} left out.") for what, x in counts.items() if (n := int(x.sum()))]
    if place_missing.all():
        raise InputError(f"{table.names[0]}: no line has a forecast.")
    table = table[~place_missing] if place_missing.any() else table
    rows = _by_forecast(table, form, keys, (make or _quantiles) if levels else None)
    whole = ~np.logical_or.reduce([missing(rows.matrix), *map(missing, rows.numbers.values())])
    reason = (
        "a level or a number is missing" if levels else "a number is missing, or they have not as many members as most"
    )
    return replace(rows, notes=notes).only(np.asarray(whole), reason)


def _by_forecast(table: Table, form: Long, keys: Sequence[str], make: MakeOfLevels | None) -> Rows:
    """Lay levels side by side, or without what makes forecasts of them members."""
    lines = LineRows.of(table.frame, keys)
    others = {name: column for name, column in table.numbers.items() if name not in form}
    beside = [name for name in table.frame.columns if name not in {*keys, form.place}]
    checked: dict[str, Floats | pl.Series] = {**others, **{name: table.frame[name] for name in beside}}
    for name, column in checked.items():
        wrong = lines.differing(column)
        table.refuse(wrong, f"column {name!r} has another value than lines of the same forecast before", _TOLD_APART)
    value = table.numbers[form.value]
    if make is None:
        matrix, again = lines.by_member(table.frame[form.place], value)
        made: Make = _samples
    else:
        levels, matrix, again = lines.by_level(table.numbers[form.place], value)
        made = partial(make, levels)
    table.refuse(again, f"a {'member' if make is None else 'level'} of a forecast for the second time", _TOLD_APART)
    numbers = {name: column[lines.first] for name, column in others.items()}
    return Rows(matrix, made, numbers, picked(table.frame.select([*keys, *beside]), lines.first))


def _samples(values: AnyFloats, _: Floats) -> Predictive:
    return Samples(values)


def _quantiles(levels: Floats, values: AnyFloats, _: Floats) -> Predictive:
    return Quantiles(levels, values)
