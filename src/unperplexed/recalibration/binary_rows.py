"""Rows of two classes in folds: lots of rows that were counted by their log-odds, or rows in clusters one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.elementary import log_expit
from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Block, Forecasts
from ..kernels.logarithms import log_odds
from ..kernels.rows import DistinctValues
from ..maps.cells import Counts
from ..maps.families import MapOfTwo, Maps, fitted_two
from ..maps.parameters import LAPSE, TWO_CLASSES
from ..maps.two import finite, zero_of
from ..tally.binary import BinaryColumns
from ..tally.tally import Tally
from .folded_rows import FoldedRows, Kept, check_number, kept_rows
from .folds import folds_of_counts, number_of_folds


class DealtCounts(Frozen):
    """Folds of rows that were counted: those of one value and outcome are alike, and lie in folds one after another."""

    s: Floats
    weight: Floats
    """(folds, 2, m): of negative and of positive outcomes."""
    zero: float

    def _kind(self, s: Floats, truth: Ints) -> Ints:
        """Return which of the weights of a fold are of rows with these log-odds and outcomes."""
        near = np.searchsorted((self.s[1:] + self.s[:-1]) / 2, without_last_digits(finite(s, self.zero)))
        return np.asarray(truth * self.s.size + near)

    def shares(self, s: Floats, truth: Ints) -> Floats:
        """Return the share of rows with these log-odds and outcomes in each fold: (folds, n)."""
        weight = self.weight.reshape(len(self.weight), -1)[:, self._kind(s, truth)]
        weight[0, weight.sum(axis=0) == 0] = 1.0  # of a row that was counted in a cell, the nearest may be another
        return np.asarray(weight / weight.sum(axis=0))

    def folds_of(self, predicted: Floats, truth: Ints) -> Ints:
        """Return the fold of each row, which may be of any order."""
        kind = self._kind(predicted, truth)
        order = np.argsort(kind, kind="stable")
        kind, sizes = kind[order], np.bincount(kind, minlength=2 * self.s.size)
        first = np.cumsum(sizes) - sizes
        place = (np.arange(kind.size) - first[kind] + 0.5) / sizes[kind]
        fold = np.zeros(kind.size, dtype=np.int64)
        whole = self.weight.sum(axis=0).reshape(-1)[kind]
        for end in np.cumsum(self.weight, axis=0)[:-1]:
            fold[order] += place * whole > end.reshape(-1)[kind]
        return fold


class BinaryRows(FoldedRows[MapOfTwo], kw_only=True):
    """Rows of two classes by their log-odds, all finite."""

    certain: int = 0
    """Number of rows of a tally with a probability of exactly 0 or 1, whose log-odds it does not know."""

    @property
    def largest(self) -> float:
        """Largest log-odds up to which maps never fall."""
        return max(float(finite(np.inf, self.zero)), float(np.abs(self.predicted).max()))

    def fits(self, names: Sequence[str]) -> list[dict[str, MapOfTwo]]:
        """Fit maps to all rows, and then to those outside each fold, from those of all rows."""
        whole, *others = self._counts([None, *range(self.folds)])
        [maps] = fitted_two(names, [whole], self.largest, self.zero)
        return [maps, *fitted_two(names, others, self.largest, self.zero, maps)]

    def refits(self, maps: Maps) -> dict[str, MapOfTwo]:
        """Fit the families of maps of similar rows to all rows; a lapse, which may have two optima, from anew."""
        starts = {name: each for name, each in maps.items() if LAPSE not in TWO_CLASSES[name].parameters}
        [found] = fitted_two([*maps], self._counts([None]), self.largest, self.zero, starts)
        return found

    def _counts(self, folds: Sequence[int | None]) -> list[Counts]:
        """Count the rows outside folds by their log-odds."""
        values, entry = np.unique(self.predicted, return_inverse=True)

        def counts(some: Ints) -> Counts:
            of_rows = (np.bincount(entry[some], w[some], values.size) for w in (self.weight, self.weight * self.truth))
            return Counts(values, *(sums.astype(np.float64) for sums in of_rows))

        return [counts(self.outside(fold)) for fold in folds]


def rows_of_parts(parts: Iterable[Forecasts], folds: int | None, seed: int) -> BinaryRows:
    """Count rows by their log-odds, and deal the counts into folds: by default `number_of_folds`."""
    counter, n, zeros = BinaryCounter(), 0, 0
    for forecasts in parts:
        for block in forecasts.blocks():
            some = block.weighing
            counter.add(some.log_odds, some.truth, some.weights)
            n += len(some)
            zeros += zeros_of(some)
    return replace(rows_of_counts(counter.counts(), n, folds, seed), zeros=zeros)


def zeros_of(block: Block) -> int:
    """Count the rows whose observed class had probability 0; sums of weights do not tell how many they are."""
    return int(np.count_nonzero(block.log_odds == np.where(block.truth == 1, -np.inf, np.inf)))


def rows_of_tally(tally: Tally, folds: int | None, seed: int) -> BinaryRows:
    """Deal the counts of a tally into folds."""
    columns = tally.positive
    if columns is None:
        raise InputError("the tally does not keep the positive class apart, as those of earlier versions; count anew.")
    rows = rows_of_columns(columns, tally.n_weighing, folds, seed)
    certain = np.isin(columns.p, [0, 1])
    rows = replace(rows, certain=int(rows_alike(columns.total[certain], columns.squared[certain]).sum()))
    # Of two columns in single precision one may be 1 where the other is not 0.
    finite = "log_loss" in tally.scores and math.isfinite(tally.score("log_loss"))
    return replace(rows, zeros=0) if finite else rows


def rows_of_columns(columns: BinaryColumns, n_rows: int, folds: int | None, seed: int) -> BinaryRows:
    """Deal counts by the probability of the positive class into folds.

    Parameters
    ----------
    columns : BinaryColumns
        Weights at distinct probabilities.
    n_rows : int
        Number of rows of positive weight.
    folds : int or None
        Number of folds; by default as `number_of_folds` says.
    seed : int
        Random seed of the folds.
    """
    p, total, squared = columns.by_outcome
    some = total.sum(axis=0) > 0
    counts = BinaryCounts.of(log_odds(p[some, None], "probability"), total[:, some], squared[:, some])
    return rows_of_counts(counts, n_rows, folds, seed)


def rows_of_counts(counts: BinaryCounts, n_rows: int, folds: int | None, seed: int) -> BinaryRows:
    """Deal counts into folds: a lot has the rows of a fold with the same log-odds and outcome.

    Parameters
    ----------
    counts : BinaryCounts
        Weights at distinct log-odds.
    n_rows : int
        Number of rows of positive weight.
    folds : int or None
        Number of folds; by default as `number_of_folds` says.
    seed : int
        Random seed of the folds.
    """
    check_number(n_rows)
    zeros, zero = counts.zeros, zero_of(log_expit(-np.abs(counts.s)), 2, n_rows)
    counts = BinaryCounts.of(finite(counts.s, zero), counts.total, counts.squared)
    folds, rows = number_of_folds(folds, n_rows), counts.rows
    share = folds_of_counts(rows.reshape(-1), folds, seed).reshape(folds, *rows.shape) / np.maximum(rows, 1)
    scale = float(counts.total.sum() / counts.squared.sum())
    weight, squared = share * counts.total * scale, share * counts.squared * scale**2
    fold, truth, place = lots = np.nonzero(share)
    return BinaryRows(
        predicted=counts.s[place],
        truth=truth,
        weight=weight[lots],
        squared=squared[lots],
        first=np.searchsorted(fold, np.arange(folds + 1)),
        n_rows=n_rows,
        zero=zero,
        zeros=zeros,
        dealt=DealtCounts(counts.s, weight, zero),
    )


def rows_in_clusters(parts: Iterable[Forecasts], folds: int | None, seed: int) -> BinaryRows:
    """Deal clusters of rows into folds: by default `number_of_folds`, but no more than there are clusters."""
    return rows_of_kept(Kept.joined(kept_rows(parts)), folds, seed)


def rows_of_kept(kept: Kept, folds: int | None, seed: int) -> BinaryRows:
    """Deal the clusters of rows by their log-odds into folds."""
    rows = BinaryRows.of(kept, kept.n_rows, number_of_folds(folds, kept.n_rows), seed, clustered=True)
    return replace(rows, predicted=without_last_digits(finite(rows.predicted, rows.zero)))


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


class BinaryCounts(Frozen):
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


class _Cells(Frozen):
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
"""Bits of the fraction in double precision that do not name a cell."""

_FIRST = 1023 << _FRACTION_BITS
"""The leading bits of 1.0."""
