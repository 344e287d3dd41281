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

_FRACTION_BITS, _PLACE_BITS = 9, 20
"""Bits of 1 + |s|, that of log-odds s, after the first: those that name its cell, and those that say where it is there.
Sums of places are whole numbers, so that their order does not matter. In a cell log-odds up to 1 differ by .002, up to
31 by .06: at their mean, the log-likelihood of its rows is as good as at each."""


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
        self._cells = _Cells(np.empty(0, dtype=np.int64), np.empty((3, 0)))

    def add(self, s: Floats, truth: Ints, weights: Floats | None) -> None:
        """Count rows of positive weight by their log-odds and outcomes."""
        if self._values is not None:
            left = np.ones(s.size, dtype=bool)
            for outcome, values in enumerate(self._values):
                here = np.flatnonzero(truth == outcome)
                some = s[here, None] + 0.0  # -0.0 is 0
                left[here[: values.add(some, None if weights is None else weights[here])]] = False
            if not left.any():
                return
            for outcome, values in enumerate(self._values):
                self._cells += _Cells.of(values.columns()[0], outcome, *values.columns()[1:])
            s, truth, weights = s[left], truth[left], None if weights is None else weights[left]
            self._values = None
        self._cells += _Cells.of(s, truth, weights, None if weights is None else weights**2)

    def counts(self) -> BinaryCounts:
        """Return what was counted."""
        if self._values is None:
            return self._cells.counts()
        columns = zip(*(values.columns() for values in self._values), strict=True)
        (negative, positive), *sums = columns
        zeros = np.zeros(negative.size), np.zeros(positive.size)
        total, squared = (
            np.stack([np.append(of_negative, zeros[1]), np.append(zeros[0], of_positive)])
            for of_negative, of_positive in sums
        )
        return BinaryCounts.of(np.append(negative, positive), total, squared)


@dataclass(frozen=True)
class _Cells:
    """Sums over the rows with each outcome in each cell of the log-odds."""

    key: Ints
    """Twice the number of the cell, 0, 1 ... upwards from log-odds of 0 and -1, -2 ... downwards, plus the outcome."""
    sums: Floats
    """(3, keys): of weights, of squared weights, and of places in the cell."""

    @staticmethod
    def of(s: Floats, truth: Ints | int, weight: Floats | None, squared: Floats | None) -> _Cells:
        """Sum over rows, which weigh 1 where there are no weights."""
        bits = (1 + np.abs(s)).view(np.int64)
        number, place = (bits >> _SHIFT) - _FIRST, (bits >> _SHIFT - _PLACE_BITS & (1 << _PLACE_BITS) - 1).astype(float)
        key: Ints = np.asarray(2 * np.where(s < 0, -1 - number, number) + truth, dtype=np.int64)
        return _Cells.summed(key, (weight, squared, place if weight is None else weight * place))

    @staticmethod
    def summed(key: Ints, columns: Iterable[Floats | None]) -> _Cells:
        """Sum columns by their keys; one that is None is 1 everywhere."""
        low = int(key.min(initial=0))
        some = np.flatnonzero(np.bincount(key - low))
        return _Cells(some + low, np.stack([np.bincount(key - low, column)[some] for column in columns]).astype(float))

    def __add__(self, other: _Cells) -> _Cells:
        return _Cells.summed(np.append(self.key, other.key), np.concatenate([self.sums, other.sums], axis=1))

    def counts(self) -> BinaryCounts:
        """Return the weights in each cell, at the mean of its log-odds."""
        number, cell = np.unique(self.key >> 1, return_inverse=True)
        sums = np.zeros((3, 2, number.size))
        sums[:, self.key & 1, cell] = self.sums
        (weight, place), size = sums[[0, 2]].sum(axis=1), np.where(number < 0, -1 - number, number)
        step = np.rint(place / weight * 2.0 ** (_SHIFT - _PLACE_BITS)).astype(np.int64)
        s = ((size + _FIRST << _SHIFT) + step).view(np.float64) - 1
        return BinaryCounts.of(np.where(number < 0, -s, s), *sums[:2])


_SHIFT = 52 - _FRACTION_BITS
_FIRST = 1023 << _FRACTION_BITS  # the leading bits of 1.0
