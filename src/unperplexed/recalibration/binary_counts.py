"""Rows of two classes counted by their log-odds: by value while these are few, then in cells that keep their mean.

Nothing depends on the order of the rows, or on how they are split into parts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._lib.typing import Floats, Ints
from ..kernels.rows import DistinctValues

MOST_VALUES = 1 << 15
"""Log-odds of each outcome that are counted by value."""

_FRACTION_BITS, _PLACE_BITS = 10, 20
"""Bits of 1 + |s|, that of log-odds s, after the first: those that name its cell, and those that say where it is there.
Sums of places are whole numbers, so that their order does not matter. In a cell log-odds up to 1 differ by .001, up to
31 by .03: at their mean, the log-likelihood of its rows is as good as at each."""


def without_last_digits(s: Floats) -> Floats:
    """Leave out last digits, which owe more to the form that log-odds came in than to the forecaster."""
    rounded = s + 0.0  # -0.0 is 0
    some = np.abs(s) < 100  # beyond there are no more decimals
    rounded[some] = np.round(rounded[some], 12)
    return rounded


@dataclass(frozen=True)
class BinaryCounts:
    """Weights of rows at distinct log-odds, which increase; by outcome."""

    s: Floats
    """-inf and inf for probabilities of exactly 0 and 1."""
    total: Floats
    """(2, m): of negative and of positive outcomes."""
    squared: Floats
    """The same of squared weights."""

    @classmethod
    def of(cls, s: Floats, total: Floats, squared: Floats) -> BinaryCounts:
        """Count together what only last digits tell apart."""
        values, entry = np.unique(without_last_digits(s), return_inverse=True)
        if values.size == s.size:
            order = np.argsort(s)
            return cls(values, total[:, order], squared[:, order])
        total, squared = (
            np.stack([np.bincount(entry.reshape(-1), each, values.size) for each in x]).astype(np.float64)
            for x in (total, squared)
        )
        return cls(values, total, squared)

    @property
    def rows(self) -> Ints:
        """Number of rows: (2, m)."""
        return rows_alike(self.total, self.squared)

    @property
    def zeros(self) -> int:
        """Number of rows whose observed class had probability 0."""
        return int(self.rows[np.stack([np.isposinf(self.s), np.isneginf(self.s)])].sum())


def rows_alike(total: Floats, squared: Floats) -> Ints:
    """Return the number of rows from the sums of their weights and squared weights, as if they weighed the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.maximum(np.rint(total**2 / squared), 1)
    return np.where(squared > 0, rows, 0).astype(np.int64)


class BinaryCounter:
    """Counts rows of two classes part by part."""

    def __init__(self) -> None:
        self._values: list[DistinctValues] | None = [DistinctValues(MOST_VALUES) for _ in range(2)]
        self._cells = [_Cells.empty(), _Cells.empty()]

    def add(self, s: Floats, truth: Ints, weights: Floats | None) -> None:
        """Count rows of positive weight by their log-odds and outcomes."""
        for outcome in (0, 1):
            here = truth == outcome
            of_outcome, w = s[here] + 0.0, None if weights is None else weights[here]  # -0.0 is 0
            counted = 0 if self._values is None else self._values[outcome].add(of_outcome[:, None], w)
            if counted == of_outcome.size:
                continue
            if self._values is not None:
                self._cells = [_Cells.of(*values.columns()) for values in self._values]
                self._values = None
            w = np.ones(of_outcome.size) if w is None else w
            self._cells[outcome] += _Cells.of(of_outcome[counted:], w[counted:], w[counted:] ** 2)

    def counts(self) -> BinaryCounts:
        """Return what was counted."""
        if self._values is None:
            return _in_cells(*self._cells)
        negative, positive = (values.columns() for values in self._values)
        s, sides = np.concatenate([negative[0], positive[0]]), (np.zeros(negative[0].size), np.zeros(positive[0].size))
        total, squared = (
            np.stack([np.append(negative[x], sides[1]), np.append(sides[0], positive[x])]) for x in (1, 2)
        )
        return BinaryCounts.of(s, total, squared)


@dataclass(frozen=True)
class _Cells:
    """Sums over the rows in each cell of the log-odds."""

    key: Ints
    """Cells that have rows, increasing: 1, 2 ... upwards from 0, and -1, -2 ... downwards."""
    sums: Floats
    """(3, cells): of weights, of squared weights, and of places in the cell."""

    @staticmethod
    def empty() -> _Cells:
        return _Cells(np.empty(0, dtype=np.int64), np.empty((3, 0)))

    @staticmethod
    def of(s: Floats, weight: Floats, squared: Floats) -> _Cells:
        bits = (1 + np.abs(s)).view(np.int64)
        key, rest = (bits >> _SHIFT) - _FIRST + 1, bits & (1 << _SHIFT) - 1
        place = (rest >> _SHIFT - _PLACE_BITS).astype(np.float64)
        return _Cells.summed(np.where(s < 0, -key, key), (weight, squared, weight * place))

    @staticmethod
    def summed(key: Ints, columns: Iterable[Floats]) -> _Cells:
        low = int(key.min(initial=0))
        some = np.flatnonzero(np.bincount(key - low))
        return _Cells(some + low, np.stack([np.bincount(key - low, column)[some] for column in columns]))

    def __add__(self, other: _Cells) -> _Cells:
        return _Cells.summed(np.append(self.key, other.key), np.concatenate([self.sums, other.sums], axis=1))


_SHIFT = 52 - _FRACTION_BITS
_FIRST = 1023 << _FRACTION_BITS  # the leading bits of 1.0


def _in_cells(negative: _Cells, positive: _Cells) -> BinaryCounts:
    both = negative + positive
    start = np.abs(both.key) + _FIRST - 1 << _SHIFT
    place = np.rint(both.sums[2] / both.sums[0] * 2.0 ** (_SHIFT - _PLACE_BITS)).astype(np.int64)
    size = (start + place).view(np.float64) - 1
    total, squared = np.zeros((2, 2, both.key.size))
    for outcome, each in enumerate((negative, positive)):
        at = np.searchsorted(both.key, each.key)
        total[outcome, at], squared[outcome, at] = each.sums[:2]
    return BinaryCounts.of(np.where(both.key < 0, -size, size), total, squared)
