"""Rows in folds, for maps of two classes and of more: one by one, or in lots of rows that are alike."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.elementary import log_expit
from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..maps.two import zero_of
from ..statistics.matrices import product
from .folds import DECIMALS, FARTHEST, contents_of_rows, folds_of_clusters, folds_of_places, hashed


class FittedMap(Protocol):
    """A map that was fitted."""

    def probabilities(self, predicted: Floats, /) -> Floats:
        """Return calibrated probabilities (n, C) at log-odds (n,) of two classes, or log-probabilities (n, C)."""


Map = TypeVar("Map", bound=FittedMap)


class Dealt(Protocol):
    """How the rows of a fit were dealt into folds."""

    def folds_of(self, predicted: Floats, truth: Ints) -> Ints:
        """Return the fold of each of them, in the order in which they came, by what was predicted and observed."""


class DealtRows(Frozen):
    """Folds of rows that were kept."""

    fold: Ints

    def folds_of(self, predicted: Floats, truth: Ints) -> Ints:
        """Return the fold of each row."""
        return self.fold


class FoldedRows(ABC, Generic[Map], Frozen, kw_only=True):
    """Rows sorted by fold: all that the choice among maps needs."""

    predicted: Floats
    """Log-odds (n,) of two classes, log-probabilities (n, C) of more."""
    truth: Ints
    weight: Floats
    """They sum to the effective number of rows."""
    squared: Floats
    """Squared weights, of a lot their sum."""
    cluster: Ints | None = None
    """Number of each row's cluster, from 0; None for independent rows."""
    first: Ints
    """Place of the first row of each fold, and how many there are in all."""
    n_rows: int
    """Number of rows of positive weight, whether kept or not."""
    zero: float
    """What a probability of exactly 0 counts as."""
    zeros: int
    """Number of rows whose observed class had probability 0."""
    dealt: Dealt | None
    """How the rows were dealt into folds; None where they are a sample of the rows that came."""

    @classmethod
    def of(cls, kept: Kept, n_rows: int, folds: int, seed: int, *, clustered: bool) -> Self:
        """Deal rows into folds, no more than there are clusters, which stay together; ``n_rows`` are they with others.

        Their order depends on their contents alone, so that folds do not depend on how they came.

        Parameters
        ----------
        kept : Kept
            The rows.
        n_rows : int
            Number of all rows of positive weight.
        folds : int
            Number of folds.
        seed : int
            Random seed of the folds.
        clustered : bool
            Whether the rows of a cluster stay together.

        Raises
        ------
        InputError
            For rows that are all in one cluster.
        """
        logs = kept.predicted if kept.predicted.ndim == 2 else log_expit(np.stack([-kept.predicted, kept.predicted], 1))
        zero = zero_of(logs, logs.shape[1], kept.n_rows)
        zeros = int(np.isneginf(logs[np.arange(kept.n_rows), kept.truth]).sum())
        canonical = canonical_order(kept)
        kept = kept.at(canonical)
        if clustered:
            names, cluster = np.unique(kept.cluster, return_inverse=True)
            if names.size < 2:
                raise InputError(
                    "clusters: all rows are in one cluster; rows can be held out only from two clusters up."
                )
            kept, folds = kept._replace(cluster=cluster.reshape(-1)), min(folds, names.size)
            fold = folds_of_clusters(kept.cluster, contents_of_rows(kept.logs, kept.truth, kept.weight), folds, seed)
        else:
            folds = min(folds, kept.n_rows)
            fold = folds_of_places(kept.n_rows, folds, seed)
        dealt = np.empty_like(fold)
        dealt[canonical] = fold
        order = np.argsort(fold, kind="stable")
        kept = kept.at(order)
        weight = kept.weight * (kept.weight.sum() / product(kept.weight, kept.weight))
        return cls(
            predicted=kept.predicted,
            truth=kept.truth,
            weight=weight,
            squared=weight * weight,
            cluster=kept.cluster if clustered else None,
            first=np.searchsorted(fold[order], np.arange(folds + 1)),
            n_rows=n_rows,
            zero=zero,
            zeros=zeros,
            dealt=DealtRows(dealt) if kept.n_rows == n_rows else None,
        )

    @abstractmethod
    def fits(self, names: Sequence[str]) -> list[dict[str, Map]]:
        """Fit maps to all rows, and then to those outside each fold."""

    @property
    def sampled(self) -> int:
        """Number of rows of the sample; 0 where all rows were kept."""
        return self.truth.size if self.dealt is None else 0

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2 if self.predicted.ndim == 1 else self.predicted.shape[1]

    @property
    def folds(self) -> int:
        """Number of folds."""
        return self.first.size - 1

    @cached_property
    def clusters(self) -> int | None:
        """Number of clusters of dependent rows; None for independent rows."""
        return None if self.cluster is None else int(self.cluster.max()) + 1

    @property
    def observed(self) -> tuple[float, ...]:
        """Observed frequency of each class."""
        sums = self._by_class(slice(None))
        return tuple((sums / sums.sum()).tolist())

    def _by_class(self, here: slice) -> Floats:
        return np.bincount(self.truth[here], self.weight[here], self.n_classes).astype(np.float64)

    def here(self, fold: int | None) -> slice:
        """Return the places of the rows of a fold, or of all."""
        return slice(None) if fold is None else slice(self.first[fold], self.first[fold + 1])

    def outside(self, fold: int | None) -> Ints:
        """Return the places of the rows outside a fold, or of all."""
        places = np.arange(self.truth.size)
        return places if fold is None else np.delete(places, self.here(fold))

    def likelihoods(self, fitted: Map, fold: int | None) -> Floats:
        """Return the probability of each observed outcome in a fold, or in all rows."""
        q, truth = fitted.probabilities(self.predicted[self.here(fold)]), self.truth[self.here(fold)]
        return np.asarray(q[np.arange(truth.size), truth])

    @property
    def constant(self) -> Floats:
        """The same by a constant forecast of the frequencies in the other folds (and half a row a class)."""
        found = []
        for fold in range(self.folds):
            sums = self._by_class(slice(None)) - self._by_class(self.here(fold)) + 0.5
            found.append((sums / sums.sum())[self.truth[self.here(fold)]])
        return np.concatenate(found)

    def mean(self, x: Floats) -> tuple[float, float]:
        """Return the weighted mean of a number for each row, and its standard error, between rows or clusters."""
        whole = float(self.weight.sum())
        mean = float(product(self.weight, x)) / whole
        away, n = x - mean, self.n_rows if self.clusters is None else self.clusters
        if self.cluster is None:
            variance = float(product(self.squared, away * away))
        else:
            sums = np.bincount(self.cluster, self.weight * away)
            variance = float(sums @ sums)
        return mean, math.sqrt(variance * n / (n - 1)) / whole


class Kept(NamedTuple):
    """Columns of rows of positive weight."""

    predicted: Floats
    """As of `FoldedRows`, as they came: infinite for an exact zero."""
    truth: Ints
    weight: Floats
    cluster: Ints
    """0 where clusters are not known."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.truth.size

    @property
    def logs(self) -> Floats:
        """What was predicted, in one column or more."""
        return self.predicted.reshape(self.n_rows, -1)

    def at(self, places: Ints) -> Kept:
        """Select rows."""
        return Kept(self.predicted[places], self.truth[places], self.weight[places], self.cluster[places])

    @staticmethod
    def joined(parts: Iterable[Kept]) -> Kept:
        """Put rows together; refuse so few that none can be held out."""
        held = [*parts]
        check_number(sum(part.n_rows for part in held))
        return Kept(*map(np.concatenate, zip(*held, strict=True)))


def check_number(n: int) -> None:
    """Refuse so few rows that none can be held out."""
    if n < 2:
        raise InputError("y_true: a recalibration needs at least two rows of positive weight.")


def kept_rows(parts: Iterable[Forecasts]) -> Iterator[Kept]:
    """Read the rows of positive weight."""
    for forecasts in parts:
        for block in forecasts.blocks():
            some = block.weighing
            if not len(some):
                continue
            cluster = forecasts.clusters(some.index)
            yield Kept(
                some.log_odds if forecasts.n_classes == 2 else some.log_probabilities,
                some.truth.astype(np.int64),
                np.ones(len(some)) if some.weights is None else some.weights.astype(np.float64),
                np.zeros(len(some), dtype=np.int64) if cluster is None else cluster,
            )


def canonical_order(kept: Kept) -> Ints:
    """Return an order of rows that depends on their contents alone, so that folds do not depend on how they came.

    Rows are sorted by a hash of their logarithms to nine decimals: last digits depend on the form they came in.
    """
    rounded = np.rint(np.clip(kept.logs, -FARTHEST, FARTHEST) * DECIMALS).astype(np.int64)
    exact = np.ascontiguousarray(kept.logs + 0.0)  # -0.0 is 0
    by = hashed(exact.view(np.uint64)), kept.weight, kept.cluster, kept.truth, hashed(rounded.view(np.uint64))
    return np.lexsort(by)
