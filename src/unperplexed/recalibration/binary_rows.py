"""Rows of two classes in folds, as weights at distinct log-odds: from a tally, or from rows in clusters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..statistics.log_odds_maps import Counted
from ..tally.binary import BinaryColumns
from ..tally.tally import Tally
from .averaging import BINARY_PENALTY, Penalty
from .binary_fit import fit_binary_maps
from .binary_maps import BinaryMap
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
    floor: float

    def folds_of(self, p: AnyFloats, truth: Ints) -> Ints:
        """Return the fold of each row, which may be of any order."""
        s = log_odds(p[:, 1].astype(np.float64), self.floor)
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
    floor: float
    """Probabilities are clipped to this and to 1 minus this."""
    clustered: ClusteredRows | None = None
    zeros: int = 0
    """Number of rows whose observed class had probability 0."""

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
        return DealtCounts(self.s, self.weight, self.floor) if self.clustered is None else self.clustered.dealt

    @property
    def largest(self) -> float:
        """Largest log-odds."""
        return largest_log_odds(self.floor)

    @cached_property
    def _whole(self) -> Floats:
        return np.asarray(self.weight.sum(axis=0))

    @property
    def observed(self) -> tuple[float, float]:
        """Observed frequency of the negative and of the positive class."""
        by_class = self._whole.sum(axis=1) / self._whole.sum()
        return float(by_class[0]), float(by_class[1])

    def fit(
        self, names: Sequence[str], without: int | None, starts: Mapping[str, BinaryMap] | None
    ) -> dict[str, BinaryMap]:
        """Fit maps to all rows, or to those outside a fold."""
        rows = self._whole if without is None else np.delete(self.weight, without, axis=0).sum(axis=0)
        return fit_binary_maps(names, Counted(self.s, rows.sum(axis=0), rows[1]), self.largest, starts)

    def likelihoods(self, fitted: BinaryMap, fold: int | None) -> Floats:
        """Return the probability of the negative class at each log-odds, then that of the positive class."""
        q = fitted.probabilities(self.s)
        return np.concatenate([1 - q, q])

    def recalibrated(self, maps: Mapping[str, BinaryMap], weights: Mapping[str, float], fold: int) -> RecalibratedFold:
        """Recalibrate the rows of a fold by an average of maps."""
        q = np.sum([share * maps[name].probabilities(self.s) for name, share in weights.items()], axis=0)
        negative, positive = self.weight[fold]
        squares = 2 * float(negative @ q**2 + positive @ (1 - q) ** 2)
        total = negative + positive
        return RecalibratedFold(np.concatenate([1 - q, q]), self.weights(fold), squares, q, positive, total)

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


def largest_log_odds(floor: float) -> float:
    """Return the log-odds of 1 minus the floor."""
    return math.log1p(-floor) - math.log(floor)


def log_odds(p: Floats, floor: float) -> Floats:
    """Return log-odds of probabilities, clipped where one of the two classes is below the floor."""
    with np.errstate(divide="ignore"):
        s = np.log(p) - np.log1p(-p)
    return np.asarray(np.clip(s, -largest_log_odds(floor), largest_log_odds(floor)))


def rows_of_tally(tally: Tally, folds: int | None, seed: int) -> BinaryRows:
    """Deal the counts of a tally into folds: by default `number_of_folds`."""
    columns = tally.positive
    if columns is None:
        raise InputError("the tally does not keep the positive class apart, as those of earlier versions; count anew.")
    rows = rows_of_columns(columns, tally.n_weighing, folds, seed)
    # Of two columns in single precision one may be 1 where the other is not 0.
    finite = "log_loss" in tally.scores and math.isfinite(tally.score("log_loss"))
    return replace(rows, zeros=0) if finite else rows


def rows_of_columns(columns: BinaryColumns, n_rows: int, folds: int | None, seed: int) -> BinaryRows:
    """Deal counts by the probability of the positive class into folds."""
    folds = number_of_folds(folds, n_rows)
    p = columns.p
    total = np.stack([columns.total - columns.positive, columns.positive])
    squared = np.stack([columns.squared - columns.squared_positive, columns.squared_positive])
    some = total.sum(axis=0) > 0
    floor = _floor(p[some], n_rows)
    missed = np.stack([p == 1, p == 0]) & (squared > 0)
    zeros = int(np.rint(total[missed] ** 2 / squared[missed]).sum())
    scale = float(total.sum() / squared.sum())
    values, entry = np.unique(log_odds(p[some], floor), return_inverse=True)
    total, squared = (np.maximum(_joined(x[:, some], entry.reshape(-1), values.size), 0) for x in (total, squared))
    # Rows of one value and outcome are taken to weigh the same.
    with np.errstate(divide="ignore", invalid="ignore"):
        counts = np.where(squared > 0, np.maximum(np.rint(total**2 / squared), 1), 0).astype(np.int64)
    dealt = folds_of_counts(counts.reshape(-1), folds, seed).reshape(folds, *counts.shape)
    share = dealt / np.maximum(counts, 1)
    return BinaryRows(values, share * total * scale, share * squared * scale**2, n_rows, floor, zeros=zeros)


def _joined(x: Floats, entry: Ints, size: int) -> Floats:
    return np.stack([np.bincount(entry, each, size) for each in x])


def rows_in_clusters(parts: Iterable[Forecasts], folds: int | None, seed: int) -> BinaryRows:
    """Deal clusters of rows into folds: by default `number_of_folds`, but no more than there are clusters."""
    p, y, w, cluster = (np.concatenate(column) for column in zip(*_columns(parts), strict=True))
    n, clusters = p.size, np.unique(cluster).size
    if clusters < 2:
        raise InputError("groups: all rows are in one cluster; rows can be held out only from two clusters up.")
    floor, zeros = _floor(p, n), int(np.count_nonzero(p == 1 - y))
    values, entry = np.unique(log_odds(p, floor), return_inverse=True)
    folds = min(number_of_folds(folds, n), clusters)
    dealt = folds_of_clusters(cluster, contents_of_rows(p[:, None], y, w), folds, seed)
    # Sums over rows in one order, whatever the order of the rows.
    order = np.lexsort((w, cluster, y, entry.reshape(-1)))
    kind = (y * values.size + entry.reshape(-1))[order]
    cluster, w = cluster[order], w[order]
    w = w * (w.sum() / (w @ w))
    rows = ClusteredRows(kind, dealt[order], cluster, w, DealtRows(dealt))
    place, shape = rows.fold * (2 * values.size) + kind, (folds, 2, values.size)
    weight, squared = (np.bincount(place, x, math.prod(shape)).astype(np.float64).reshape(shape) for x in (w, w * w))
    return BinaryRows(values, weight, squared, n, floor, rows, zeros)


def _columns(parts: Iterable[Forecasts]) -> Iterable[tuple[Floats, Ints, Floats, Ints]]:
    """Read probability of the positive class, outcome, weight and cluster of rows of positive weight."""
    for forecasts in parts:
        for block in forecasts.blocks():
            some = block if block.weights is None else block[block.weights > 0]
            cluster = forecasts.clusters(some.index)
            assert cluster is not None
            w = np.ones(len(some)) if some.weights is None else some.weights
            yield some.probabilities[:, 1].astype(np.float64), some.truth.astype(np.int64), w, cluster


def _floor(p: Floats, n: int) -> float:
    """Return the floor: it keeps log-odds finite, and leaves probabilities other than 0 and 1 as they are.

    It is the smallest probability of a class, but not above .01 / (2 n), so that clipping costs at most .005 / n nats a
    row, and not below 1e-12.
    """
    either = np.minimum(p, 1 - p)
    return max(_LOWEST, min(0.005 / n, float(either[either > 0].min(initial=1.0))))


_LOWEST = 1e-12
