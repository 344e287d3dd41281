"""Choice among maps by cross-validation: their weights in the average, and what the average gains on held-out rows.

Nothing here knows what a map is: binary forecasts and those of many classes share it. They differ in their `Penalty`.
That of two classes was chosen by simulation, together with 20 folds for up to 1,000 rows. With n = 50, 100, 300 rows of
calibrated forecasts of another seed the average loses .0014, .0007 and .0002 nats a row on fresh forecasts; on
miscalibrated ones it gains .0074, .0091 and .0144 (`benchmarks/recalibration.py`). With the penalty of more classes and
five folds it lost .0020, .0013 and .0005, and gained .0044, .0073 and .0148.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from .._lib.typing import Floats
from .cross_fitted import CrossFitted, Dealt, RecalibratedFold
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS, Baseline, Gain, errors_to_limit, gain_of

IDENTITY = "identity"

LEAST_WEIGHT = 1e-6
"""Maps that weigh less have no part in the average, and are not stored."""


@dataclass(frozen=True)
class Penalty:
    """How a held-out log loss becomes a weight: ``w ~ exp(-loss L - parameter r - change [not identity])``."""

    loss: float
    """Share of the total held-out log loss L in nats. Below 1 the weights follow chance less."""
    parameter: float
    """Nats for each parameter."""
    change: float
    """Nats for any map but the identity."""

    def costs(self, losses: Floats, parameters: Sequence[float], names: Sequence[str]) -> Floats:
        """Return the negative logarithm of the weight of each map, up to a constant."""
        changes = np.array([name != IDENTITY for name in names])
        return np.asarray(self.loss * losses + self.parameter * np.array(parameters) + self.change * changes)


BINARY_PENALTY = Penalty(0.7, 1.0, 1.0)
CLASS_PENALTY = Penalty(1.0, 0.5, 2.0)
"""More than two classes."""

SINGLE_PENALTY = Penalty(1.0, 0.5, 1.0)
"""Choice of one map."""


class FittedMap(Protocol):
    """A map that was fitted."""

    @property
    def complexity(self) -> float:
        """Effective number of parameters."""


Map = TypeVar("Map", bound=FittedMap)


class FoldedRows(Protocol[Map]):
    """Rows in folds, or their counts: all that the choice among maps needs."""

    @property
    def folds(self) -> int:
        """Number of folds."""

    @property
    def penalty(self) -> Penalty:
        """How losses become weights."""

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""

    @property
    def clusters(self) -> int | None:
        """Number of clusters of dependent rows; None for independent rows."""

    def fit(self, names: Sequence[str], without: int | None, starts: Mapping[str, Map] | None) -> dict[str, Map]:
        """Fit maps to all rows, or to those outside a fold."""

    def likelihoods(self, fitted: Map, fold: int | None) -> Floats:
        """Return the probability of each observed outcome in a fold, or in all rows."""

    @property
    def zeros(self) -> int:
        """Number of rows whose observed class had probability 0."""

    @property
    def dealt(self) -> Dealt | None:
        """How they were dealt into folds; None where they are a sample of the rows that came."""

    def recalibrated(self, maps: Mapping[str, Map], weights: Mapping[str, float], fold: int) -> RecalibratedFold:
        """Recalibrate the rows of a fold by an average of maps."""

    def constant(self, fold: int) -> Floats:
        """Return the same by a constant forecast of the frequencies in the other folds."""

    def weights(self, fold: int | None) -> Floats:
        """Return the weight of each of them; all weights sum to the effective number of rows."""

    def standard_error(self, differences: Sequence[Floats], mean: float) -> float:
        """Return the standard error of the weighted mean of differences, listed by fold."""


class Part(NamedTuple, Generic[Map]):
    """Maps fitted to the rows outside a fold."""

    maps: dict[str, Map]
    weights: dict[str, float]
    """Those of any weight, which sum to 1; by the held-out losses of the other folds."""


@dataclass(frozen=True)
class Average(Generic[Map]):
    """Maps fitted to all rows, with their weights in the average."""

    maps: dict[str, Map]
    weights: dict[str, float]
    losses: dict[str, float]
    """Held-out log loss of each map, in nats a row."""
    gain: Gain | None
    """None where there are fewer than 100 rows, or fewer than 10 clusters of dependent rows."""
    baseline: Baseline | None
    """None where the gain is."""
    cross_fitted: CrossFitted | None
    """None where the gain is."""
    without: tuple[Part[Map], ...]
    """The average without each fold, by which its rows are recalibrated."""
    dealt: Dealt | None
    """Which rows these are."""


def average(rows: FoldedRows[Map], names: Sequence[str], single: bool = False, only: str | None = None) -> Average[Map]:
    """Fit maps and weigh them by their cross-validated log loss.

    ``only`` names a map that has all the weight. ``single`` gives it to the map with the best penalised loss.
    """
    tried = list(dict.fromkeys([IDENTITY, *names]))
    maps = rows.fit(tried, None, None)
    likelihoods, sums, of_folds = [], [], []
    for fold in range(rows.folds):
        fitted, w = rows.fit(tried, fold, maps), rows.weights(fold)
        of_folds.append(fitted)
        of_fold = np.stack([rows.likelihoods(fitted[name], fold) for name in tried])
        likelihoods.append(of_fold)
        sums.append([-float(w @ np.log(each)) for each in of_fold])
    losses = np.array(sums)

    def weights_of(total: Floats) -> Floats:
        if only is not None:
            return np.array([float(name == only) for name in tried])
        parameters = [maps[name].complexity for name in tried]
        cost = (SINGLE_PENALTY if single else rows.penalty).costs(total, parameters, tried)
        unscaled = np.exp(cost.min() - cost) if not single else np.arange(len(tried)) == int(np.argmin(cost))
        return np.asarray(unscaled / unscaled.sum())

    weights = weights_of(losses.sum(axis=0))
    whole = sum(float(rows.weights(fold).sum()) for fold in range(rows.folds))
    per_row = dict(zip(tried, (losses.sum(axis=0) / whole).tolist(), strict=True))
    in_folds = (_shares(tried, weights_of(losses.sum(axis=0) - of_fold)) for of_fold in losses)
    without = tuple(
        Part({name: fitted[name] for name in share}, share) for fitted, share in zip(of_folds, in_folds, strict=True)
    )
    gain = baseline = cross_fitted = None
    if rows.n_rows >= FEWEST_ROWS and (rows.clusters is None or rows.clusters >= FEWEST_CLUSTERS):
        recalibrated = [rows.recalibrated(each.maps, each.weights, fold) for fold, each in enumerate(without)]
        before, after = [p[0] for p in likelihoods], [each.correct for each in recalibrated]
        gain = _gain(rows, before, after, _in_sample(rows, maps, weights))
        baseline = _baseline(rows, before, after)
        cross_fitted = CrossFitted.of(recalibrated)
    kept = {name: float(w) for name, w in zip(tried, weights.tolist(), strict=True)}
    if only is not None:
        maps, kept, per_row = {only: maps[only]}, {only: 1.0}, {only: per_row[only]}
    return Average(maps, kept, per_row, gain, baseline, cross_fitted, without, rows.dealt)


def _shares(names: Sequence[str], weights: Floats) -> dict[str, float]:
    """Return the weights of the maps that have any to speak of, made to sum to 1."""
    kept = {name: w for name, w in zip(names, weights.tolist(), strict=True) if w >= LEAST_WEIGHT}
    return {name: w / sum(kept.values()) for name, w in kept.items()}


def _in_sample(rows: FoldedRows[Map], maps: Mapping[str, Map], weights: Floats) -> float:
    """Return the mean gain on the rows of the fit."""
    p = np.stack([rows.likelihoods(each, None) for each in maps.values()])
    w = rows.weights(None)
    return float(w @ np.log((weights @ p) / p[0]) / w.sum())


def _gain(rows: FoldedRows[Map], before: Sequence[Floats], after: Sequence[Floats], in_sample: float) -> Gain:
    loss, mean, error = _compared(rows, before, after)
    return gain_of(loss, mean, error, in_sample, rows.n_rows, rows.clusters)


def _baseline(rows: FoldedRows[Map], before: Sequence[Floats], after: Sequence[Floats]) -> Baseline:
    """Compare a constant forecast with the recalibrated ones on the rows held out of both."""
    loss, mean, error = _compared(rows, [rows.constant(fold) for fold in range(rows.folds)], after)
    half = errors_to_limit(rows.clusters) * error
    zeros_as = min(float(p.min()) for p in before if p.size) if rows.zeros else 0.0
    return Baseline(loss, (mean - half, mean + half), rows.zeros, zeros_as)


def _compared(rows: FoldedRows[Map], one: Sequence[Floats], other: Sequence[Floats]) -> tuple[float, float, float]:
    """Return the log loss of one forecast, by how much it exceeds that of another, and the error of this mean."""
    w = [rows.weights(fold) for fold in range(rows.folds)]
    whole = sum(float(each.sum()) for each in w)
    differences = [np.log(q / p) for p, q in zip(one, other, strict=True)]
    mean = math.fsum(float(each @ d) for each, d in zip(w, differences, strict=True)) / whole
    loss = -math.fsum(float(each @ np.log(p)) for each, p in zip(w, one, strict=True)) / whole
    return loss, mean, rows.standard_error(differences, mean)
