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
from typing import Generic, Protocol, TypeVar

import numpy as np

from .._lib.typing import Floats
from ..statistics.means import t_quantile
from .cross_fitted import CrossFitted, RecalibratedFold
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS, Baseline, Gain

IDENTITY = "identity"

TOWARDS_IN_SAMPLE = 0.75
"""Share of the in-sample gain's excess over the cross-fitted gain by which the interval reaches higher. Chosen by
simulation: with n = 100, 300, 1000 rows the interval held the true gain in 96 to 97% of 930 samples, with the whole
excess in 97 to 98%, and without it in 74 to 86%: then it misses mostly gains that are larger."""

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

    def recalibrated(self, maps: Mapping[str, Map], weights: Mapping[str, float], fold: int) -> RecalibratedFold:
        """Recalibrate the rows of a fold by an average of maps."""

    def constant(self, fold: int) -> Floats:
        """Return the same by a constant forecast of the frequencies in the other folds."""

    def weights(self, fold: int | None) -> Floats:
        """Return the weight of each of them; all weights sum to the effective number of rows."""

    def standard_error(self, differences: Sequence[Floats], mean: float) -> float:
        """Return the standard error of the weighted mean of differences, listed by fold."""


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
    gain = baseline = cross_fitted = None
    if rows.n_rows >= FEWEST_ROWS and (rows.clusters is None or rows.clusters >= FEWEST_CLUSTERS):
        in_folds = [weights_of(losses.sum(axis=0) - of_fold) for of_fold in losses]
        after = [each @ p for each, p in zip(in_folds, likelihoods, strict=True)]
        gain = _gain(rows, [p[0] for p in likelihoods], after, _in_sample(rows, maps, weights))
        baseline = _baseline(rows, [p[0] for p in likelihoods], after)
        shares = (_shares(tried, each) for each in in_folds)
        cross_fitted = CrossFitted.of([rows.recalibrated(of_folds[fold], of, fold) for fold, of in enumerate(shares)])
    kept = {name: float(w) for name, w in zip(tried, weights.tolist(), strict=True)}
    if only is not None:
        return Average({only: maps[only]}, {only: 1.0}, {only: per_row[only]}, gain, baseline, cross_fitted)
    return Average(maps, kept, per_row, gain, baseline, cross_fitted)


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
    half = _errors_to_limit(rows) * error
    more = TOWARDS_IN_SAMPLE * max(0.0, in_sample - mean)
    return Gain(loss, loss - mean, mean, (mean - half, mean + more + half), rows.n_rows)


def _baseline(rows: FoldedRows[Map], before: Sequence[Floats], after: Sequence[Floats]) -> Baseline:
    """Compare a constant forecast with the recalibrated ones on the rows held out of both."""
    loss, mean, error = _compared(rows, [rows.constant(fold) for fold in range(rows.folds)], after)
    half = _errors_to_limit(rows) * error
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


def _errors_to_limit(rows: FoldedRows[Map]) -> float:
    return 1.96 if rows.clusters is None else float(t_quantile(0.95, rows.clusters - 1))
