"""Tests of calibration for more than two classes, whose distribution is known were the forecasts calibrated."""

from __future__ import annotations

import math

import numpy as np

from ..._lib.dataclasses import Frozen
from ..._lib.typing import Bools, Floats
from ...statistics.matrices import in_turn, product
from ...statistics.tails import gamma_sf, normal_cdf, normal_quantile, weighted_chi2_sf
from .class_statistics import ClassStatistics, ClusterSums
from .class_tails import attained, hall, upper_tail
from .gate import LEAST_VARIANCE, cluster_covariance, cluster_shares, degrees_of_freedom, squares_tested

_PRIOR_VARIANCE = 20
"""The covariance within clusters of a class is drawn to the mean over classes as if this much variance had shown it."""

_TINY = 1e-300
"""What may be divided by, and has a logarithm."""


class ClassGate(Frozen, eq=False):
    """Whether anything is wrong."""

    p_value: float
    """That of the three below together."""
    spread: float
    """P-value of the spread of the classes' biases."""
    single: float
    """P-value of the most biased class among all."""
    shape: float
    """P-value of confidence and tail."""
    statistic: float
    """The spread, standardised."""
    effect: float
    """Design effect of the weights and clusters: likelihood ratios are divided by it."""
    class_effect: Floats
    """The same for each class by itself."""


def gate(s: ClassStatistics, level: float = 0.0) -> ClassGate:
    """Test the calibration of all classes: biases by their spread and one by one, confidence and tail together.

    Where the others reject at a level by themselves, classes are not tested one by one, which takes longest.
    """
    variance = np.maximum(np.diag(s.covariance), 0)  # a difference of statistics may be just below
    score = s.observed - s.predicted
    used = variance > 1e-9
    by_class, freedom = _cluster_effects(s, variance, used)
    statistic, spread = _spread(s, score, variance, by_class, freedom)
    shape, shape_effect = _shape_test(s)
    told = _together(spread, 1.0, shape) < level
    single = 1.0 if told else _single(s, score, variance * by_class, freedom, used)
    info = float(s.information.sum())
    of_weights = float(variance.sum()) / info if info > 0 else 1.0
    of_clusters = float(by_class @ variance) / float(variance.sum()) if variance.sum() > 0 else 1.0
    effect = max(1.0, of_weights) * max(1.0, of_clusters, shape_effect)
    p_value = _together(spread, single, shape)
    return ClassGate(p_value, spread, single, shape, statistic, effect, by_class * of_weights)


def _together(spread: float, single: float, shape: float) -> float:
    return combined(combined(spread, single), shape, 2 / 3)


def combined(p: float, q: float, weight: float = 0.5) -> float:
    """P-value of the weighted mean of 1 / p and 1 / q, were the two p-values independent.

    For dependent ones it is hardly larger (Wilson 2019, "The harmonic mean p-value", PNAS 116(4)).
    """
    other = 1 - weight
    mean = weight / max(p, _TINY) + other / max(q, _TINY)
    if mean <= 1:
        return 1.0
    logs = math.log(mean - weight) + math.log(mean - other) - math.log(weight) - math.log(other)
    return (1 + weight * other / mean * logs) / mean


def _cluster_effects(s: ClassStatistics, variance: Floats, used: Bools) -> tuple[Floats, Floats]:
    """Variance of each class's sum relative to that of independent rows, and its degrees of freedom.

    The rows' own variance is known; only the covariance within clusters is estimated, and drawn towards its mean over
    the classes where a class is rare, which adds degrees of freedom. Sums of clusters are not centred: beside few
    clusters a large bias then counts for less, and without it single classes are rejected too often.
    """
    if s.clusters is None:
        return np.ones_like(variance), np.full(len(variance), math.inf)
    between = np.einsum("ij,ij->j", s.clusters.shards[:, 2:], s.clusters.shards[:, 2:]) - s.clusters.own_classes
    mean = float(between[used].sum()) / max(float(variance[used].sum()), _TINY)
    effect = 1 + (between + _PRIOR_VARIANCE * max(mean, 0.0)) / (variance + _PRIOR_VARIANCE)
    clusters = float((s.clusters.sizes > 0).sum())
    freedom = (clusters - 1) * (1 + _PRIOR_VARIANCE / np.maximum(variance, 1e-9)) ** 2
    return np.maximum(effect, LEAST_VARIANCE), np.maximum(freedom, 1.0)


def _through_t(z: Floats, freedom: Floats) -> Floats:
    """Normal deviates of deviates whose variance was estimated with so many degrees of freedom."""
    if np.isinf(freedom).all():
        return z
    from scipy.special import ndtri, stdtr

    return np.where(np.isinf(freedom), z, -ndtri(stdtr(np.minimum(freedom, 1e9), -np.abs(z))))


# ---- biases of classes


def _spread(
    s: ClassStatistics, score: Floats, variance: Floats, by_class: Floats, freedom: Floats
) -> tuple[float, float]:
    """Sum of squared biases in standard deviations, standardised, and its p-value by a gamma distribution.

    Classes with a variance far below 1 count in proportion to it: their squares are hardly ever anything but 0.
    """
    rows = s.weight**2 / max(s.squared_weight, _TINY)
    events = np.maximum(s.information * (rows / max(s.weight, _TINY)), 1e-30)
    share = events / (1 + events)
    sd = np.sqrt(np.maximum(variance * by_class, 1e-30))
    scale = np.sqrt(share) / sd
    squares = share * _through_t(score / sd, freedom) ** 2
    unit = np.sqrt(by_class) * scale
    squared = float(((s.covariance * np.outer(unit, unit)) ** 2).sum())
    # Fourth cumulants: those of single classes, and of pairs of which one occurs at most.
    ratio = share / events
    both = product(product(ratio, s.covariance), ratio) - product(ratio**2, variance)
    pairs = both * rows / max(s.squared_weight, _TINY)
    fourth = float((share * ratio).sum() + pairs)
    if s.clusters is not None:
        sums = s.clusters.shards[:, 2:] * scale
        sandwich = float(((product(sums, sums.T) if len(scale) > len(sums) else product(sums.T, sums)) ** 2).sum())
        chance = float(share.sum()) ** 2 / float((s.clusters.sizes > 0).sum())
        squared = max(squared, sandwich - chance)
    mean, statistic = float(share.sum()), float(squares.sum())
    if not mean > 1e-9:
        return 0.0, 1.0
    spread_of_squares = max(2 * squared + fourth, 1e-9 * mean**2)
    p_value = gamma_sf(mean**2 / spread_of_squares, statistic * mean / spread_of_squares)
    return (statistic - mean) / math.sqrt(spread_of_squares), p_value


def _single(s: ClassStatistics, score: Floats, variance: Floats, freedom: Floats, used: Bools) -> float:
    """P-value of the most biased class, as if the counts of classes were independent.

    The count of each class is Poisson-binomial. Rows of equal weight have whole counts, of which only some p-values are
    possible: the chance of one as small as the smallest is added up over the classes. Weights and clusters shrink the
    distance between count and expectation to that of as many independent rows; then every p-value is possible.
    """
    if not used.any():
        return 1.0
    score, variance, freedom = score[used], variance[used], freedom[used]
    some = s.cells[used].any(axis=0)
    n = s.cells[used][:, some]
    p = s.cell_sums[used][:, some] / np.maximum(n, 1)
    whole = s.clusters is None and s.equal_weights
    if s.squared_weight > 0:
        n = n * (s.weight**2 / s.squared_weight / max(s.rows, 1))
    expected, spread = (n * p).sum(axis=1), (n * p * (1 - p)).sum(axis=1)
    away = score * np.sqrt(np.maximum(spread, 0) / np.maximum(variance, _TINY))
    count = np.clip(expected + away, 0, n.sum(axis=1))
    both, step = (np.concatenate([n, n]), np.concatenate([p, 1 - p])), float(whole)
    count = np.round(count) if whole else count
    tails = np.minimum(*np.split(upper_tail(np.concatenate([count, n.sum(axis=1) - count]), *both, step), 2))
    if whole:
        chance = np.add(*np.split(attained(min(float(tails.min()), 0.5), *both), 2))
    else:
        z = _through_t(np.array([-normal_quantile(each) for each in np.clip(tails, _TINY, 0.5).tolist()]), freedom)
        chance = np.full(len(n), 2 * normal_cdf(-float(z.max())))
    return -math.expm1(float(np.log1p(-np.minimum(chance, 1 - 1e-16)).sum()))


def third_moments(s: ClassStatistics) -> Floats:
    """Third central moment of each class's count."""
    p = s.cell_sums / np.maximum(s.cells, 1)
    return np.asarray((s.cells * p * (1 - p) * (1 - 2 * p)).sum(axis=1))


# ---- confidence and tail


def _shape_test(s: ClassStatistics) -> tuple[float, float]:
    """P-value of Z1^2 + Z2^2 / 2, Z1 of confidence and Z2 of what is new in the tail; and the design effect."""
    directions = _orthonormal(s.shape_covariance)
    if not len(directions):
        return 1.0, 1.0
    weights = np.array([1.0, 0.5])[: len(directions)]
    if s.clusters is not None:
        return _shape_test_of_clusters(s.clusters, directions, weights)
    a, b = directions.T
    terms = np.stack([a**3, 3 * a**2 * b, 3 * a * b**2, b**3], 1)
    z = hall(directions @ s.shape_score, terms @ s.shape_third)
    return weighted_chi2_sf(float(weights @ z**2), weights), 1.0


def _shape_test_of_clusters(clusters: ClusterSums, directions: Floats, weights: Floats) -> tuple[float, float]:
    """Do the same for dependent rows."""
    some = clusters.sizes > 0
    sums, shares = clusters.shards[some, :2] @ directions.T, cluster_shares(clusters.sizes[some])
    covariance = cluster_covariance(sums, directions @ clusters.own_shape @ directions.T, shares)
    z = np.linalg.solve(np.linalg.cholesky(covariance), sums.sum(axis=0))
    effect = float(np.diag(covariance).mean())
    # One less for the second: few clusters show less of a covariance than these degrees of freedom say.
    freedom = max(degrees_of_freedom(shares, effect) - len(z) + 1, 1.0)
    return squares_tested(z, weights, freedom)[1], effect


def _orthonormal(covariance: Floats) -> Floats:
    """Rows: combinations of confidence and tail with variance 1, uncorrelated, in order; none without the first."""
    found = in_turn(covariance, 1e-9)
    return found[: int(np.logical_and.accumulate(found.any(axis=1)).sum())]
