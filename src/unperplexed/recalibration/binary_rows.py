"""Rows of two classes in folds, as weights at distinct log-odds: of rows, of rows in clusters, or of a tally."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._lib.elementary import log_expit
from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Block, Forecasts
from ..kernels.logarithms import log_odds
from ..maps.cells import Counts
from ..maps.families import MapOfTwo, fitted_two
from ..maps.two import finite, zero_of
from ..tally.binary import BinaryColumns
from ..tally.tally import Tally
from .averaging import BINARY_PENALTY, Penalty
from .binary_counts import BinaryCounter, BinaryCounts, rows_alike, without_last_digits
from .cross_fitted import Dealt, DealtRows, RecalibratedFold
from .folds import contents_of_rows, folds_of_clusters, folds_of_counts, number_of_folds


@dataclass(frozen=True)
class ClusteredRows:
    """Each row's kind (negatives by value, then positives), fold, cluster and weight."""

    kind: Ints
    fold: Ints
    cluster: Ints
    weight: Floats
    dealt: DealtRows
    """Fold of each row as the rows came."""


@dataclass(frozen=True)
class DealtCounts:
    """Folds of rows that were counted: those of one value and outcome are alike, and lie in folds one after another."""

    s: Floats
    weight: Floats
    """(folds, 2, m), as of `BinaryRows`."""
    zero: float

    def folds_of(self, log_p: Floats, truth: Ints) -> Ints:
        """Return the fold of each row, which may be of any order."""
        s = without_last_digits(finite(log_p[:, 1] - log_p[:, 0], self.zero))
        kind = truth * self.s.size + np.searchsorted((self.s[1:] + self.s[:-1]) / 2, s)
        order = np.argsort(kind, kind="stable")
        kind, sizes = kind[order], np.bincount(kind, minlength=2 * self.s.size)
        first = np.cumsum(sizes) - sizes
        place = (np.arange(kind.size) - first[kind] + 0.5) / sizes[kind]
        fold = np.zeros(kind.size, dtype=np.int64)
        whole = self.weight.sum(axis=0).reshape(-1)[kind]
        for end in np.cumsum(self.weight, axis=0)[:-1]:
            fold[order] += place * whole > end.reshape(-1)[kind]
        return fold


@dataclass(frozen=True)
class BinaryRows:
    """Weights of rows at distinct log-odds, by outcome and fold."""

    s: Floats
    weight: Floats
    """(folds, 2, m): of negative and of positive outcomes."""
    squared: Floats
    """The same of squared weights."""
    n_rows: int
    zero: float
    """What a probability of exactly 0 counts as."""
    clustered: ClusteredRows | None = None
    zeros: int = 0
    """Number of rows whose observed class had probability 0."""
    certain: int = 0
    """Number of rows of a tally with a probability of exactly 0 or 1, whose log-odds it does not know."""

    @property
    def folds(self) -> int:
        """Number of folds."""
        return len(self.weight)

    @property
    def penalty(self) -> Penalty:
        """How losses become weights."""
        return BINARY_PENALTY

    @cached_property
    def clusters(self) -> int | None:
        """Number of clusters of dependent rows; None for independent rows."""
        return None if self.clustered is None else np.unique(self.clustered.cluster).size

    @property
    def dealt(self) -> Dealt:
        """How they were dealt into folds."""
        return DealtCounts(self.s, self.weight, self.zero) if self.clustered is None else self.clustered.dealt

    @property
    def largest(self) -> float:
        """Largest log-odds up to which maps never fall."""
        return max(float(finite(np.inf, self.zero)), float(np.abs(self.s).max()))

    @cached_property
    def _whole(self) -> Floats:
        return np.asarray(self.weight.sum(axis=0))

    @property
    def observed(self) -> tuple[float, float]:
        """Observed frequency of the negative and of the positive class."""
        by_class = self._whole.sum(axis=1) / self._whole.sum()
        return float(by_class[0]), float(by_class[1])

    def fit(
        self, names: Sequence[str], without: int | None, starts: Mapping[str, MapOfTwo] | None
    ) -> dict[str, MapOfTwo]:
        """Fit maps to all rows, or to those outside a fold."""
        rows = self._whole if without is None else np.delete(self.weight, without, axis=0).sum(axis=0)
        return fitted_two(names, Counts(self.s, rows.sum(axis=0), rows[1]), self.largest, self.zero, starts)

    def likelihoods(self, fitted: MapOfTwo, fold: int | None) -> Floats:
        """Return the probability of the negative class at each log-odds, then that of the positive class."""
        return fitted.both(self.s).reshape(-1)

    def recalibrated(self, maps: Mapping[str, MapOfTwo], weights: Mapping[str, float], fold: int) -> RecalibratedFold:
        """Recalibrate the rows of a fold by an average of maps."""
        q = np.sum([share * maps[name].both(self.s) for name, share in weights.items()], axis=0)
        of_fold = self.weight[fold]
        squares = 2 * float((of_fold * q[::-1] ** 2).sum())
        return RecalibratedFold(q.reshape(-1), self.weights(fold), squares, q[1], of_fold[1], of_fold.sum(axis=0))

    def constant(self, fold: int) -> Floats:
        """Return the same by a constant forecast of the frequencies in the other folds (and half a row a class)."""
        sums = (self._whole - self.weight[fold]).sum(axis=1) + 0.5
        return np.repeat(sums / sums.sum(), self.s.size)

    def weights(self, fold: int | None) -> Floats:
        """Return the weight of the rows with each outcome, in a fold or in all."""
        return np.asarray((self._whole if fold is None else self.weight[fold]).reshape(-1))

    def standard_error(self, differences: Sequence[Floats], mean: float) -> float:
        """Return the standard error of the weighted mean of differences between rows, or between clusters."""
        whole = float(self._whole.sum())
        away = np.stack(differences) - mean
        if self.clustered is None:
            variance = float((self.squared.reshape(self.folds, -1) * away * away).sum())
            return math.sqrt(variance * self.n_rows / (self.n_rows - 1)) / whole
        rows = self.clustered
        _, number = np.unique(rows.cluster, return_inverse=True)
        sums = np.bincount(number.reshape(-1), rows.weight * away[rows.fold, rows.kind])
        return math.sqrt(float(sums @ sums) * sums.size / (sums.size - 1)) / whole


def rows_of_parts(parts: Iterable[Forecasts], folds: int | None, seed: int) -> BinaryRows:
    """Count rows by their log-odds, and deal the counts into folds: by default `number_of_folds`."""
    counter, n = BinaryCounter(), 0
    for _, block in _blocks(parts):
        counter.add(block.log_odds, block.truth, block.weights)
        n += len(block)
    check_number(n)
    return _rows_of_counts(counter.counts(), n, folds, seed)


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
    """Deal counts by the probability of the positive class into folds."""
    p, total, squared = columns.by_outcome
    some = total.sum(axis=0) > 0
    counts = BinaryCounts.of(log_odds(p[some, None], "probability"), total[:, some], squared[:, some])
    return _rows_of_counts(counts, n_rows, folds, seed)


def _rows_of_counts(counts: BinaryCounts, n_rows: int, folds: int | None, seed: int) -> BinaryRows:
    zeros, zero = counts.zeros, zero_of(log_expit(-np.abs(counts.s)), 2, n_rows)
    counts = BinaryCounts.of(finite(counts.s, zero), counts.total, counts.squared)
    folds, rows = number_of_folds(folds, n_rows), counts.rows
    share = folds_of_counts(rows.reshape(-1), folds, seed).reshape(folds, *rows.shape) / np.maximum(rows, 1)
    scale = float(counts.total.sum() / counts.squared.sum())
    weight, squared = share * counts.total * scale, share * counts.squared * scale**2
    return BinaryRows(counts.s, weight, squared, n_rows, zero, zeros=zeros)


def rows_in_clusters(parts: Iterable[Forecasts], folds: int | None, seed: int) -> BinaryRows:
    """Deal clusters of rows into folds: by default `number_of_folds`, but no more than there are clusters."""
    read = [_columns(*each) for each in _blocks(parts)]
    check_number(n := sum(s.size for s, *_ in read))
    s, y, w, cluster = (np.concatenate(column) for column in zip(*read, strict=True))
    clusters = np.unique(cluster).size
    if clusters < 2:
        raise InputError("groups: all rows are in one cluster; rows can be held out only from two clusters up.")
    zero, zeros = zero_of(log_expit(-np.abs(s)), 2, n), int(np.count_nonzero(s == np.where(y, -np.inf, np.inf)))
    values, entry = np.unique(without_last_digits(finite(s, zero)), return_inverse=True)
    folds = min(number_of_folds(folds, n), clusters)
    dealt = folds_of_clusters(cluster, contents_of_rows(s[:, None], y, w), folds, seed)
    # Sums over rows in one order, whatever the order of the rows.
    order = np.lexsort((w, cluster, y, entry.reshape(-1)))
    kind = (y * values.size + entry.reshape(-1))[order]
    cluster, w = cluster[order], w[order]
    w = w * (w.sum() / (w @ w))
    rows = ClusteredRows(kind, dealt[order], cluster, w, DealtRows(dealt))
    place, shape = rows.fold * (2 * values.size) + kind, (folds, 2, values.size)
    weight, squared = (np.bincount(place, x, math.prod(shape)).astype(np.float64).reshape(shape) for x in (w, w * w))
    return BinaryRows(values, weight, squared, n, zero, rows, zeros)


def check_number(n: int) -> None:
    """Refuse so few rows that none can be held out."""
    if n < 2:
        raise InputError("y_true: a recalibration needs at least two rows of positive weight.")


def _blocks(parts: Iterable[Forecasts]) -> Iterator[tuple[Forecasts, Block]]:
    """Read the rows of positive weight of each part."""
    for forecasts in parts:
        for block in forecasts.blocks():
            yield forecasts, block if block.weights is None else block[block.weights > 0]


def _columns(forecasts: Forecasts, block: Block) -> tuple[Floats, Ints, Floats, Ints]:
    """Return log-odds, outcome, weight and cluster of rows in clusters."""
    cluster = forecasts.clusters(block.index)
    assert cluster is not None
    w = np.ones(len(block)) if block.weights is None else block.weights
    return block.log_odds, block.truth.astype(np.int64), w, cluster
