"""Rows of two classes by their outcome: the probability of the positive class, which pairs of both classes hide.

Pooled, a row is the pair (p, y) and its mirror image (1 - p, 1 - y), so that a bias cancels. Here each row is counted
once, by the probability of the positive class, apart for either outcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import Frozen
from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Block
from ..kernels.rows import DistinctValues, Grid
from .class_tables import ClassPairs
from .tables import Cells, Pairs, PairTable, Points, points_of, without_last_digits


class BinaryRows(Frozen):
    """Rows by the probability of the positive class: those with a negative and those with a positive outcome.

    In both tables all rows count as happened: of each value or cell their weights, squared weights and moments.
    """

    negative: PairTable
    positive: PairTable

    @staticmethod
    def together(parts: Sequence[BinaryRows]) -> BinaryRows:
        """Count all of one or more."""
        outcomes = ([rows.negative for rows in parts], [rows.positive for rows in parts])
        return BinaryRows(*map(PairTable.together, outcomes))

    def in_cells(self, grid: Grid) -> BinaryRows:
        """Count by cell what was counted by value."""
        return BinaryRows(self.negative.in_cells(grid), self.positive.in_cells(grid))


class BinaryCounter:
    """Counts rows: by value, in cells once the tally does."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._values = [DistinctValues(_ANY) for _ in range(2)]
        self._cells: list[Floats] | None = None

    def add(self, block: Block) -> None:
        """Count checked rows."""
        reported = block.probabilities
        for outcome in (0, 1):
            here = np.flatnonzero(block.truth == outcome)
            p, w = reported[here, 1] + 0.0, None if block.weights is None else block.weights[here]  # -0.0 is 0
            if self._cells is None:
                self._values[outcome].add(p[:, None], w)
            else:
                self._grid.count_happened(p.astype(np.float64), w, self._cells[outcome])

    def to_cells(self) -> None:
        """Go on in cells."""
        self._cells = []
        for table in self._tables():
            cells, columns = table.in_cells(self._grid), self._grid.happened_columns()
            columns[:, cells.key] = [getattr(cells, name) for name in _COUNTED]
            self._cells.append(columns)

    def rows(self) -> BinaryRows:
        """Return what was counted."""
        if self._cells is None:
            return BinaryRows(*self._tables())
        found = []
        for columns in self._cells:
            key = np.flatnonzero(columns[0])
            found.append(Cells(key, columns[0, key], *columns[:, key]))
        return BinaryRows(*found)

    def _tables(self) -> list[PairTable]:
        counted = (values.columns() for values in self._values)
        return [PairTable(values, weight, weight, squared) for values, weight, squared in counted]


_COUNTED = ("happened", "squared", "first", "second_high", "second_low", "low", "high")
"""Columns of cells, in the order of `Grid.count_happened`."""

_ANY = 1 << 62
"""Room for any number of values: there are no more than the pairs of both classes have."""


class ByOutcome(NamedTuple):
    """Rows with a negative and with a positive outcome, by the probability of the positive class."""

    p: Floats
    """Increasing; of a cell the mean."""
    total: Floats
    """(2, m) weights."""
    squared: Floats
    """The same of squared weights."""


class BinaryColumns(Frozen):
    """Rows of two classes by the probability of the positive one, in increasing order."""

    rows: BinaryRows
    grid: Grid

    @cached_property
    def _both(self) -> PairTable:
        return self.rows.negative + self.rows.positive

    @cached_property
    def _values(self) -> Floats:
        if isinstance(self._both, Cells):
            return self._both.centre_and_spread(self.grid, np.arange(self._both.key.size))[0]
        return self._both.values

    @cached_property
    def by_outcome(self) -> ByOutcome:
        """Weights at each probability as it was counted, to its last digit."""
        total, squared = np.zeros((2, 2, self._both.key.size))
        for outcome, table in enumerate((self.rows.negative, self.rows.positive)):
            at = np.searchsorted(self._both.key, table.key)
            total[outcome, at], squared[outcome, at] = table.happened, table.squared
        return ByOutcome(self._values, total, squared)

    @cached_property
    def _entry(self) -> Ints:
        """Number of each value among those that more than last digits tell apart."""
        shown = without_last_digits(self._values)
        return np.cumsum(np.diff(shown, prepend=shown[:1]) != 0)

    def _summed(self, column: Floats) -> Floats:
        return np.bincount(self._entry, column).astype(np.float64)

    @cached_property
    def p(self) -> Floats:
        """Probability of the positive class; of a cell the mean."""
        first = run_starts(self._entry)
        return without_last_digits(self._values[first])

    @cached_property
    def positive(self) -> Floats:
        """Weight of the rows with a positive outcome."""
        return self._summed(self.by_outcome.total[1])

    @cached_property
    def total(self) -> Floats:
        """Weight of all rows."""
        return self._summed(self.by_outcome.total.sum(axis=0))

    @cached_property
    def squared(self) -> Floats:
        """Sum of the squared weights of all rows."""
        return self._summed(self.by_outcome.squared.sum(axis=0))

    @cached_property
    def squared_positive(self) -> Floats:
        """Sum of the squared weights of the rows with a positive outcome."""
        return self._summed(self.by_outcome.squared[1])

    @property
    def mean(self) -> float:
        """Mean probability of the positive class."""
        return float((self._values * self._both.happened).sum() / self._both.happened.sum())

    @property
    def frequency(self) -> float:
        """Share of the rows with a positive outcome."""
        return float(self.rows.positive.happened.sum() / self._both.happened.sum())

    def pairs(self) -> Pairs:
        """Return the pairs of the positive class."""
        return Pairs(self.p, self.positive, self.total)

    def _points(self, table: PairTable) -> Points:
        """Values of one outcome, by entry of the pairs."""
        points = points_of(table, self.grid)
        return points._replace(entry=self._entry[np.searchsorted(self._both.key, table.key)][points.entry])

    def each_class(self) -> ClassPairs:
        """Return the pairs of both classes, those of the negative one being the mirror images, and their points."""
        pairs, size = self.pairs(), self.p.size
        positive, negative = map(self._points, (self.rows.positive, self.rows.negative))
        mirrored = negative._replace(p=1 - negative.p, entry=size - 1 - negative.entry)
        positive = positive._replace(entry=positive.entry + size)
        both = Points(*(np.concatenate([a[::-1], b]) for a, b in zip(mirrored, positive, strict=True)))
        of_both = Pairs(*(np.concatenate(column) for column in zip(mirror(pairs), pairs, strict=True)))
        return ClassPairs(of_both, both, np.array([0, size, 2 * size]))

    def each_prediction(self) -> ClassPairs:
        """Return the top-label pairs of the rows that predict each class; a tie is shared between both."""
        pairs, points, first = self.each_class()
        share = np.where(pairs.reported > 0.5, 1.0, np.where(pairs.reported == 0.5, 0.5, 0.0))
        of_points = share[points.entry]
        kept, some = np.flatnonzero(share), np.flatnonzero(of_points)
        pairs = Pairs(*(column[kept] for column in (pairs.reported, pairs.happened * share, pairs.total * share)))
        p, weight, squared = points.p, points.weight * of_points, points.weight_squared * of_points**2
        entry = np.searchsorted(kept, points.entry[some])
        return ClassPairs(pairs, Points(p[some], weight[some], squared[some], entry), np.searchsorted(kept, first))


def mirror(pairs: Pairs) -> Pairs:
    """Return pairs of the opposite: that it did not happen."""
    reported, happened, total = (column[::-1] for column in pairs)
    return Pairs(without_last_digits(1 - reported), total - happened, total)
