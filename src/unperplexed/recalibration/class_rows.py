"""Rows of more than two classes in folds: their log-probabilities in memory, in an order that is theirs alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..maps.class_families import Known, MapOfClasses, fitted_classes
from ..maps.two import zero_of
from .averaging import CLASS_PENALTY, Penalty
from .cross_fitted import DealtRows, RecalibratedFold
from .folds import FARTHEST, contents_of_rows, folds_of_clusters, folds_of_places, hashed

MOST_VALUES = 20_000_000
"""Probabilities kept in memory; with more, a random sample of rows is."""


@dataclass(frozen=True)
class Kept:
    """Columns of rows of positive weight."""

    log_p: Floats
    """(n, C) log-probabilities as they came; -inf for an exact zero."""
    truth: Ints
    weight: Floats
    cluster: Ints
    """0 where clusters are not known."""

    def __len__(self) -> int:
        """Count the rows."""
        return self.truth.size

    def at(self, places: Ints) -> Kept:
        """Select rows."""
        return Kept(self.log_p[places], self.truth[places], self.weight[places], self.cluster[places])

    @staticmethod
    def joined(parts: Sequence[Kept]) -> Kept:
        """Put rows together."""
        names = ("log_p", "truth", "weight", "cluster")
        return Kept(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True)
class ClassRows:
    """Rows sorted by fold."""

    log_p: Floats
    truth: Ints
    weight: Floats
    cluster: Ints | None
    first: Ints
    """Place of the first row of each fold, and the number of rows."""
    n_rows: int
    """Number of rows of positive weight, whether kept or not."""
    dealt: DealtRows | None = None
    """Fold of each row as the rows came; None where they are a sample."""
    known: Known = field(default_factory=dict, repr=False, compare=False)
    """Fisher information of the maps fitted to all rows, by which those of the folds are fitted fast."""

    @property
    def folds(self) -> int:
        """Number of folds."""
        return self.first.size - 1

    @property
    def penalty(self) -> Penalty:
        """How losses become weights."""
        return CLASS_PENALTY

    @cached_property
    def clusters(self) -> int | None:
        """Number of clusters of dependent rows; None for independent rows."""
        return None if self.cluster is None else np.unique(self.cluster).size

    @property
    def observed(self) -> tuple[float, ...]:
        """Observed frequency of each class."""
        sums = np.bincount(self.truth, self.weight, self.log_p.shape[1])
        return tuple((sums / sums.sum()).tolist())

    def _places(self, fold: int | None) -> slice:
        return slice(None) if fold is None else slice(self.first[fold], self.first[fold + 1])

    def fit(
        self, names: Sequence[str], without: int | None, starts: Mapping[str, MapOfClasses] | None
    ) -> dict[str, MapOfClasses]:
        """Fit maps to all rows, or to those outside a fold."""
        # Fits do not start from the maps of all rows: where one ends early, it would know of the rows held out.
        some = slice(None) if without is None else np.delete(np.arange(self.truth.size), self._places(without))
        rows = self.log_p[some], self.truth[some], self.weight[some]
        return fitted_classes(names, *rows, self.known, self._zero)

    @cached_property
    def _zero(self) -> float:
        """What a probability of 0 counts as, the same in all folds."""
        return zero_of(self.log_p, self.log_p.shape[1], max(float(self.weight.sum()), 1.0))

    def likelihoods(self, fitted: MapOfClasses, fold: int | None) -> Floats:
        """Return the probability of the observed class of each row."""
        here = self._places(fold)
        q, truth = fitted.probabilities(self.log_p[here]), self.truth[here]
        return np.asarray(q[np.arange(truth.size), truth])

    def recalibrated(
        self, maps: Mapping[str, MapOfClasses], weights: Mapping[str, float], fold: int
    ) -> RecalibratedFold:
        """Recalibrate the rows of a fold by an average of maps."""
        here = self._places(fold)
        z, truth, w = self.log_p[here], self.truth[here], self.weight[here]
        q: Floats = np.zeros_like(z)
        for name, share in weights.items():
            q += share * maps[name].probabilities(z)
        correct, top = q[np.arange(truth.size), truth], q.max(axis=1)
        squares = float(w @ ((q * q).sum(axis=1) - 2 * correct + 1))
        right = (correct == top) / (q == top[:, None]).sum(axis=1)
        return RecalibratedFold(correct, w, squares, top, w * right, w)

    @property
    def zeros(self) -> int:
        """Number of rows whose observed class had probability 0."""
        return int(np.isneginf(self.log_p[np.arange(self.truth.size), self.truth]).sum())

    def constant(self, fold: int) -> Floats:
        """Return the same by a constant forecast of the frequencies in the other folds (and half a row a class)."""
        here, classes = self._places(fold), self.log_p.shape[1]
        sums = np.bincount(self.truth, self.weight, classes) + 0.5
        sums -= np.bincount(self.truth[here], self.weight[here], classes)
        return np.asarray((sums / sums.sum())[self.truth[here]])

    def weights(self, fold: int | None) -> Floats:
        """Return the weight of each row, in a fold or in all."""
        return self.weight[self._places(fold)]

    def standard_error(self, differences: Sequence[Floats], mean: float) -> float:
        """Return the standard error of the weighted mean of differences between rows, or between clusters."""
        sums = self.weight * (np.concatenate(differences) - mean)
        if self.cluster is not None:
            _, number = np.unique(self.cluster, return_inverse=True)
            sums = np.bincount(number.reshape(-1), sums).astype(np.float64)
        return math.sqrt(float(sums @ sums) * sums.size / (sums.size - 1)) / float(self.weight.sum())


def rows_of_chunks(
    parts: Iterable[Forecasts], folds: int, seed: int, clustered: bool, most: int = MOST_VALUES
) -> tuple[ClassRows, int]:
    """Deal rows into folds; return them and, where they are a sample, its size, else 0."""
    kept, n = _read(parts, most, seed)
    canonical = canonical_order(kept)
    kept = kept.at(canonical)
    clusters = np.unique(kept.cluster).size if clustered else len(kept)
    if clustered and clusters < 2:
        raise InputError("groups: all rows are in one cluster; rows can be held out only from two clusters up.")
    folds = min(folds, clusters)
    if clustered:
        fold = folds_of_clusters(kept.cluster, contents_of_rows(kept.log_p, kept.truth, kept.weight), folds, seed)
    else:
        fold = folds_of_places(len(kept), folds, seed)
    dealt = np.empty_like(fold)
    dealt[canonical] = fold
    order = np.argsort(fold, kind="stable")
    kept = kept.at(order)
    first = np.searchsorted(fold[order], np.arange(folds + 1))
    weight = kept.weight * (kept.weight.sum() / (kept.weight @ kept.weight))
    cluster = kept.cluster if clustered else None
    whole = len(kept) == n
    rows = ClassRows(kept.log_p, kept.truth, weight, cluster, first, n, DealtRows(dealt) if whole else None)
    return rows, 0 if whole else len(kept)


def _read(parts: Iterable[Forecasts], most: int, seed: int) -> tuple[Kept, int]:
    """Read rows, or a random sample of them: those with the smallest random numbers."""
    rng = np.random.default_rng(seed)
    held: list[Kept] = []
    numbers: list[Floats] = []
    n = 0
    for part in _columns(parts):
        n += len(part)
        held.append(part)
        numbers.append(rng.random(len(part)))
        room = max(2, most // part.log_p.shape[1])
        if sum(map(len, held)) > room + room // 4:
            held, numbers = _smallest(held, numbers, room)
    if n < 2:
        raise InputError("y_true: a recalibration needs at least two rows of positive weight.")
    room = max(2, most // held[0].log_p.shape[1])
    if n > room:
        held, numbers = _smallest(held, numbers, room)
    return Kept.joined(held), n


def _smallest(held: list[Kept], numbers: list[Floats], room: int) -> tuple[list[Kept], list[Floats]]:
    number = np.concatenate(numbers)
    some = np.sort(np.argsort(number, kind="stable")[:room])
    return [Kept.joined(held).at(some)], [number[some]]


def _columns(parts: Iterable[Forecasts]) -> Iterator[Kept]:
    for forecasts in parts:
        for block in forecasts.blocks():
            some = block if block.weights is None else block[block.weights > 0]
            if not len(some):
                continue
            cluster = forecasts.clusters(some.index)
            yield Kept(
                some.log_probabilities,
                some.truth.astype(np.int64),
                np.ones(len(some)) if some.weights is None else some.weights.astype(np.float64),
                np.zeros(len(some), dtype=np.int64) if cluster is None else cluster,
            )


def canonical_order(kept: Kept) -> Ints:
    """Return an order of rows that depends on their contents alone, so that folds do not depend on how they came.

    Rows are sorted by a hash of their log-probabilities to nine decimals: last digits depend on the form they came in.
    """
    rounded = np.rint(np.maximum(kept.log_p, -FARTHEST) * 1e9).astype(np.int64)
    exact = np.ascontiguousarray(kept.log_p + 0.0)  # -0.0 is 0
    by = hashed(exact.view(np.uint64)), kept.weight, kept.cluster, kept.truth, hashed(rounded.view(np.uint64))
    return np.lexsort(by)
