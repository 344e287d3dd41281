"""Tests of calibration for more than two classes, whose distribution is known were the forecasts calibrated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc, gammaincc, ndtr, ndtri, stdtr
from scipy.stats import chi2

from .._typing import Bools, Floats
from .class_statistics import ClassStatistics, ClusterSums

NEW = 0.03
"""A direction of which a smaller share is new beside those before it is left out."""
FLOOR = 0.3
"""The variance of a sum over clusters is at least this part of that of independent rows."""


@dataclass(frozen=True, eq=False)
class Gate:
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


def gate(s: ClassStatistics) -> Gate:
    """Test the calibration of all classes: biases by their spread and one by one, confidence and tail together."""
    variance = np.maximum(np.diag(s.covariance), 0)  # a difference of statistics may be just below
    score = s.observed - s.predicted
    used = variance > 1e-9
    by_class, units = _cluster_effects(s, variance, used)
    class_p = np.where(used, _class_p_values(s, score, variance * by_class, units), 1.0)
    statistic, spread = _spread(s, score, variance, by_class, units)
    holm = min(1.0, float(class_p.min(initial=1.0)) * max(int(used.sum()), 1))
    shape, shape_effect = _shape_test(s, units)
    smallest = min(spread, holm, shape)
    info = float(s.information.sum())
    of_weights = float(variance.sum()) / info if info > 0 else 1.0
    of_clusters = float(by_class @ variance) / float(variance.sum()) if variance.sum() > 0 else 1.0
    effect = max(1.0, of_weights) * max(1.0, of_clusters, shape_effect)
    return Gate(min(1.0, 3 * smallest), spread, holm, shape, statistic, class_p, effect, by_class * of_weights)


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
    return np.maximum(effect, FLOOR), max(1.0, float((s.clusters.sizes > 0).sum()))


def _through_t(z: Floats, units: float) -> Floats:
    """Normal deviates of deviates whose variance was estimated from so many clusters."""
    return z if math.isinf(units) else np.asarray(-ndtri(stdtr(max(units - 1, 1), -np.abs(z))))


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
    p_value = float(gammaincc(mean**2 / spread_of_squares, statistic * mean / spread_of_squares))
    return (statistic - mean) / math.sqrt(spread_of_squares), p_value


def _class_p_values(s: ClassStatistics, score: Floats, variance: Floats, units: float) -> Floats:
    """Two-sided p-values of the count of each class, by the saddlepoint of a Poisson-binomial distribution.

    Weights and clusters shrink the distance between count and expectation to that of as many independent rows.
    """
    n, p = s.cells, s.cell_sums / np.maximum(s.cells, 1)
    if s.squared_weight > 0:
        n = n * (s.weight**2 / s.squared_weight / max(s.rows, 1))
    expected, spread = (n * p).sum(axis=1), (n * p * (1 - p)).sum(axis=1)
    away = score * np.sqrt(spread / np.maximum(variance, 1e-300))
    count = np.clip(expected + away, 0, n.sum(axis=1))
    value = np.minimum(2 * np.minimum(_upper(count, n, p), _upper(n.sum(axis=1) - count, n, 1 - p)), 1)
    if math.isinf(units):
        return np.asarray(value)
    z = -ndtri(np.maximum(value, 1e-300) / 2)
    return np.asarray(2 * stdtr(max(units - 1, 1), -z))


def _upper(count: Floats, n: Floats, p: Floats) -> Floats:
    """P(sum of coins >= count), by Lugannani and Rice with Daniels's continuity correction; n coins a cell with p."""
    goal = count - 0.5
    expected = (n * p).sum(axis=1)
    total = n.sum(axis=1)
    solvable = (goal > 0) & (goal < total - 0.25)
    t = _saddlepoint(np.where(solvable, goal, expected), n, p)
    up = np.exp(t)[:, None]
    tilted = p * up / (1 - p + p * up)
    second = np.maximum((n * tilted * (1 - tilted)).sum(axis=1), 1e-300)
    cumulants = np.log1p(np.maximum(p * np.expm1(t)[:, None], -1 + 1e-16))
    exponent = t * goal - (n * cumulants).sum(axis=1)
    r = np.sign(t) * np.sqrt(2 * np.maximum(exponent, 0))
    u = 2 * np.sinh(t / 2) * np.sqrt(second)
    near = np.abs(r) < 1e-3  # at the mean the formula is 0/0
    safe_r, safe_u = np.where(near, 1.0, r), np.where(near, 1.0, u)
    density = np.exp(-0.5 * r * r) / math.sqrt(2 * math.pi)
    value = ndtr(-r) - np.where(near, 0.0, density * (1 / safe_r - 1 / safe_u))
    all_of_them = np.exp((n * np.log(np.maximum(p, 1e-300))).sum(axis=1))
    return np.asarray(np.where(goal <= 0, 1.0, np.where(solvable, np.clip(value, 0, 1), all_of_them)))


def _saddlepoint(goal: Floats, n: Floats, p: Floats) -> Floats:
    """Tilt at which the coins' expected sum is the goal: bisection of a monotone function, for all classes at once."""
    low, high = np.full(len(goal), -40.0), np.full(len(goal), 40.0)
    for _ in range(60):
        middle = (low + high) / 2
        up = np.exp(middle)[:, None]
        short = (n * p * up / (1 - p + p * up)).sum(axis=1) < goal
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray((low + high) / 2)


def third_moments(s: ClassStatistics) -> Floats:
    """Third central moment of each class's count."""
    p = s.cell_sums / np.maximum(s.cells, 1)
    return np.asarray((s.cells * p * (1 - p) * (1 - 2 * p)).sum(axis=1))


def gamma_p_values(away: Floats, variance: Floats, third: Floats, step: float) -> Floats:
    """Two-sided p-values of counts so far from their expectation, as of a gamma distribution with these moments."""
    sd = np.sqrt(np.maximum(variance, 1e-12))
    z = np.maximum(np.abs(away) - step / 2, 0) / sd
    skewness = np.sign(away) * third / sd**3
    shape = 4 / np.maximum(skewness**2, 1e-8)  # below 1e-4 the gamma distribution is the normal one to four digits
    side = np.where(skewness < 0, -1.0, 1.0)
    at = np.maximum(shape + side * z * np.sqrt(shape), 0)
    return np.asarray(np.minimum(2 * np.where(side > 0, gammaincc(shape, at), gammainc(shape, at)), 1))


def hall(z: Floats, skewness: Floats) -> Floats:
    """Transform standardised sums of known skewness towards the normal distribution (Hall, monotone)."""
    return z - skewness / 6 * (z**2 - 1) + skewness**2 * z**3 / 108


# ---- confidence and tail


def _shape_test(s: ClassStatistics, units: float) -> tuple[float, float]:
    """P-value of Z1^2 + Z2^2 / 2, Z1 of confidence and Z2 of what is new in the tail; and the design effect."""
    directions = _orthonormal(s.shape_covariance)
    if not len(directions):
        return 1.0, 1.0
    z, effect = directions @ s.shape_score, 1.0
    if s.clusters is None:
        a, b = directions.T
        terms = np.stack([a**3, 3 * a**2 * b, 3 * a * b**2, b**3], 1)
        z = hall(z, terms @ s.shape_third)
    else:
        within = _within(s.clusters, directions)
        z = _through_t(np.linalg.solve(np.linalg.cholesky(within), z), units)
        effect = float(np.diag(within).mean())
    weights = np.array([1.0, 0.5])[: len(z)]
    return weighted_chi2(float(weights @ z**2), weights), effect


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


def _within(clusters: ClusterSums, directions: Floats) -> Floats:
    """Covariance of the sums: that of independent rows, which is known, and what rows of a cluster share."""
    sums = clusters.shards[:, :2] @ directions.T
    own = directions @ clusters.own_shape @ directions.T
    values, vectors = np.linalg.eigh(np.eye(len(directions)) + sums.T @ sums - own)
    return np.asarray((vectors * np.maximum(values, FLOOR)) @ vectors.T)


def weighted_chi2(x: float, weights: Floats) -> float:
    """P(sum of w_k Z_k^2 > x) for independent normal Z_k: the saddlepoint of Lugannani and Rice (Kuonen 1999)."""
    if len(weights) == 1 or x <= 0:
        return float(chi2.sf(x / weights[0], 1)) if x > 0 else 1.0
    mean = float(weights.sum())
    if abs(x - mean) < 1e-3 * mean:  # at the mean the formula is 0/0
        return (weighted_chi2(1.003 * mean, weights) + weighted_chi2(0.997 * mean, weights)) / 2
    low, high = -len(weights) / (2 * x) - 1, (1 - 1e-12) / (2 * float(weights.max()))
    for _ in range(100):
        t = (low + high) / 2
        low, high = (t, high) if float((weights / (1 - 2 * t * weights)).sum()) < x else (low, t)
    t = (low + high) / 2
    exponent = t * x + 0.5 * float(np.log1p(-2 * t * weights).sum())
    r = math.copysign(math.sqrt(max(2 * exponent, 1e-300)), t)
    v = t * math.sqrt(float((2 * weights**2 / (1 - 2 * t * weights) ** 2).sum()))
    return float(np.clip(ndtr(-(r + math.log(v / r) / r)), 0, 1))
