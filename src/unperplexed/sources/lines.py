"""Long tables, which have a line for each level or member of a forecast, as one row for each forecast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats, Ints

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
        return (
            f"{number_of(lines, 'line')} of {of} are {number_of(self.n, 'forecast')} by {listed(self.keys, 12)}: a"
            " column among these differs within a forecast. Name those that identify one with --on."
        )
