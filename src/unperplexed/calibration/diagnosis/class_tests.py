"""Tests of calibration for more than two classes, whose distribution is known were the forecasts calibrated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._lib.typing import Bools, Floats
from ...statistics.tails import gamma_sf
from ...statistics.weighted_chi2 import weighted_chi2_sf
from .class_statistics import ClassStatistics, ClusterSums
from .class_tails import hall, upper_tail
from .clusters import (
    LEAST_VARIANCE,
    cluster_covariance,
    cluster_shares,
    degrees_of_freedom,
    squares_tested,
)

NEW = 0.03
"""A direction of which a smaller share is new beside those before it is left out."""


@dataclass(frozen=True, eq=False)
class ClassGate:
    """Whether anything is wrong."""

    p_value: float
    """Three times the smallest of the three below."""
    spread: float
    """P-value of the spread of the classes' biases."""
    holm: float
    """P-value of the most biased class, corrected for the number of classes."""
    shape: float
    """P-value of confidence and tail."""
    statistic: float
    """The spread, standardised."""
    class_p: Floats
    """P-value of each class by itself."""
    effect: float
    """Design effect of the weights and clusters: likelihood ratios are divided by it."""
    class_effect: Floats
    """The same for each class by itself."""


def gate(s: ClassStatistics) -> ClassGate:
    """Test the calibration of all classes: biases by their spread and one by one, confidence and tail together."""
    variance = np.maximum(np.diag(s.covariance), 0)  # a difference of statistics may be just below
    score = s.observed - s.predicted
    used = variance > 1e-9
    by_class, units = _cluster_effects(s, variance, used)
    class_p = np.where(used, _class_p_values(s, score, variance * by_class, units), 1.0)
    statistic, spread = _spread(s, score, variance, by_class, units)
    holm = min(1.0, float(class_p.min(initial=1.0)) * max(int(used.sum()), 1))
    shape, shape_effect = _shape_test(s)
    smallest = min(spread, holm, shape)
    info = float(s.information.sum())
    of_weights = float(variance.sum()) / info if info > 0 else 1.0
    of_clusters = float(by_class @ variance) / float(variance.sum()) if variance.sum() > 0 else 1.0
    effect = max(1.0, of_weights) * max(1.0, of_clusters, shape_effect)
    return ClassGate(min(1.0, 3 * smallest), spread, holm, shape, statistic, class_p, effect, by_class * of_weights)


def _cluster_effects(s: ClassStatistics, variance: Floats, used: Bools) -> tuple[Floats, float]:
    """Variance of each class's sum relative to that of independent rows, and the number of clusters.

    The rows' own variance is known; only the covariance within clusters is estimated, and drawn towards its mean over
    the classes where a class is rare.
    """
    if s.clusters is None:
        return np.ones_like(variance), math.inf
    between = np.einsum("ij,ij->j", s.clusters.shards[:, 2:], s.clusters.shards[:, 2:]) - s.clusters.own_classes
    mean = float(between[used].sum()) / max(float(variance[used].sum()), 1e-300)
    effect = 1 + (between + 20 * max(mean, 0.0)) / (variance + 20)
    return np.maximum(effect, LEAST_VARIANCE), max(1.0, float((s.clusters.sizes > 0).sum()))


def _through_t(z: Floats, units: float) -> Floats:
    """Normal deviates of deviates whose variance was estimated from so many clusters."""
    if math.isinf(units):
        return z
    from scipy.special import ndtri, stdtr

    return np.asarray(-ndtri(stdtr(max(units - 1, 1), -np.abs(z))))


# ---- biases of classes


def _spread(s: ClassStatistics, score: Floats, variance: Floats, by_class: Floats, units: float) -> tuple[float, float]:
    """Sum of squared biases in standard deviations, standardised, and its p-value by a gamma distribution.

    Classes with a variance far below 1 count in proportion to it: their squares are hardly ever anything but 0.
    """
    counts = s.weight**2 / max(s.squared_weight, 1e-300)
    events = np.maximum(s.information * (counts / max(s.weight, 1e-300)), 1e-30)
    share = events / (1 + events)
    sd = np.sqrt(np.maximum(variance * by_class, 1e-30))
    scale = np.sqrt(share) / sd
    squares = share * _through_t(score / sd, units) ** 2
    related = s.covariance * np.sqrt(by_class) * scale[:, None]
    related = related * np.sqrt(by_class) * scale
    spread_of_squares = 2 * float((related**2).sum()) + float((share / (1 + events)).sum())
    if s.clusters is not None:
        sums = s.clusters.shards[:, 2:] * scale
        sandwich = float(((sums @ sums.T if len(scale) > len(sums) else sums.T @ sums) ** 2).sum())
        chance = float(share.sum()) ** 2 / units
        spread_of_squares = max(spread_of_squares, 2 * (sandwich - chance) + float((share / (1 + events)).sum()))
    mean, statistic = float(share.sum()), float(squares.sum())
    if not mean > 1e-9:
        return 0.0, 1.0
    p_value = gamma_sf(mean**2 / spread_of_squares, statistic * mean / spread_of_squares)
    return (statistic - mean) / math.sqrt(spread_of_squares), p_value


def _class_p_values(s: ClassStatistics, score: Floats, variance: Floats, units: float) -> Floats:
    """Two-sided p-values of the count of each class, by the saddlepoint of a Poisson-binomial distribution.

    Weights and clusters shrink the distance between count and expectation to that of as many independent rows.
    """
    n, p = s.cells, s.cell_sums / np.maximum(s.cells, 1)
    if s.squared_weight > 0:
        n = n * (s.weight**2 / s.squared_weight / max(s.rows, 1))
    expected, spread = (n * p).sum(axis=1), (n * p * (1 - p)).sum(axis=1)
    away = score * np.sqrt(np.maximum(spread, 0) / np.maximum(variance, 1e-300))
    count = np.clip(expected + away, 0, n.sum(axis=1))
    value = np.minimum(2 * np.minimum(upper_tail(count, n, p), upper_tail(n.sum(axis=1) - count, n, 1 - p)), 1)
    if math.isinf(units):
        return np.asarray(value)
    from scipy.special import ndtri, stdtr

    z = -ndtri(np.maximum(value, 1e-300) / 2)
    return np.asarray(2 * stdtr(max(units - 1, 1), -z))


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
    return squares_tested(z, weights, degrees_of_freedom(shares, effect))[1], effect


def _orthonormal(covariance: Floats) -> Floats:
    """Rows: combinations of confidence and tail with variance 1, uncorrelated, in this order."""
    if not covariance[0, 0] > 1e-9:
        return np.empty((0, 2))
    slope = covariance[0, 1] / covariance[0, 0]
    new = covariance[1, 1] - slope * covariance[0, 1]
    first = np.array([1.0, 0.0]) / math.sqrt(covariance[0, 0])
    if not new > NEW**2 * covariance[1, 1]:
        return first[None]
    return np.stack([first, np.array([-slope, 1.0]) / math.sqrt(new)])
