"""Tail probabilities and quantiles of single numbers, by the standard library where it has them.

Each assessment needs a few. SciPy's functions of arrays take longer to load than all else that a small file needs, so
that they are left to degrees of freedom that these have no formula for.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from statistics import NormalDist

import numpy as np
from numpy.polynomial.polynomial import polyval

from .._lib.typing import Bools, Floats

_NORMAL = NormalDist()

_EPSILON, _LARGEST = 2.0**-53, 200.0
"""Terms that are smaller change nothing; gamma distributions of larger shapes would take many, and lose digits."""

_WIDTH, _EXPONENT = 12, 40
"""Standard deviations, and fall of the logarithm, beyond which a density adds nothing to an integral."""

_NODES = 48
"""Gauss-Legendre nodes of an integral."""

_FARTHEST_SHARE = 1e-4
"""Nearer to 0 and 1 quantiles of Student's t are left to SciPy."""

_NEAR_MEAN = 1e-3
"""So near to the mean, relatively, the saddlepoint is interpolated between points three times as far."""

_SERIES, _TERMS = 0.05, 14
"""The logarithm of 1 + u is taken by so many terms of its series where u is smaller."""

_BY_THEMSELVES = 200
"""SciPy computes more tails than these sooner, the time to load it included."""

_NO_SKEWNESS = 1e-4
"""Below, a gamma distribution is the normal one to four digits."""

_FEWEST, _MANY = 2.0, 2000.0
"""Degrees of freedom between which quantiles of Student's t are found by integration; above them by a series."""


def normal_cdf(x: float) -> float:
    """Probability that a standard normal value is at most x, as accurately in the lower tail as elsewhere."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


def normal_quantile(share: float) -> float:
    """Value below which a standard normal one lies with a probability (Wichura 1988, AS 241)."""
    return -math.inf if share <= 0 else math.inf if share >= 1 else _NORMAL.inv_cdf(share)


def gamma_sf(shape: float, x: float) -> float:
    """Probability that a gamma value of scale 1 exceeds x."""
    return _gamma_tail(shape, x, above=True)


def gamma_tails(shape: Floats, x: Floats, above: Bools) -> Floats:
    """Probabilities that gamma values of scale 1 exceed x, or, where not ``above``, that they do not."""
    if shape.size > _BY_THEMSELVES:
        from scipy.special import gammainc, gammaincc

        return np.asarray(np.where(above, gammaincc(shape, x), gammainc(shape, x)))
    found, large = np.empty(shape.size), (shape > _LARGEST) & (x > 0) & (x < math.inf)
    found[large] = _gamma_by_integration(shape[large], x[large], above[large])
    others = zip(*(each[~large].tolist() for each in (shape, x, above)), strict=True)
    found[~large] = [_gamma_tail(a, at, above=up) for a, at, up in others]
    return found


def skewed_sf(z: Floats, skewness: Floats) -> Floats:
    """Probabilities that gamma values, shifted to mean 0, scaled to variance 1 and so skewed, exceed z."""
    above, shape = ~(skewness < 0), 4 / np.maximum(skewness**2, _NO_SKEWNESS**2)
    return gamma_tails(shape, np.maximum(shape + np.where(above, 1.0, -1.0) * z * np.sqrt(shape), 0), above)


def poisson_sf(count: float, expected: float) -> float:
    """Probability that a Poisson value exceeds a count of at least 0."""
    return _gamma_tail(count + 1, expected, above=False)


def _gamma_tail(shape: float, x: float, *, above: bool) -> float:
    """One side of a gamma distribution, as accurately where it is small.

    By a series below the mean, and by a continued fraction above (Abramowitz and Stegun 6.5.29 and 6.5.31, the latter
    evaluated by Lentz's method); for large shapes, of which these take many terms, by integration.
    """
    if x <= 0 or math.isinf(x):
        return float((x <= 0) == above)
    if shape > _LARGEST:
        return float(_gamma_by_integration(np.array([shape]), np.array([x]), np.array([above]))[0])
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    if x < shape + 1:
        term = total = 1 / shape
        at = shape
        while term > total * _EPSILON:
            at += 1
            term *= x / at
            total += term
        return 1 - front * total if above else front * total
    at = x + 1 - shape
    c, d = math.inf, 1 / at
    found, k, change = d, 0, 0.0
    while abs(change - 1) > _EPSILON:
        k += 1
        by, at = k * (shape - k), at + 2
        d = 1 / (by * d + at)
        c = at + by / c
        change = c * d
        found *= change
    return front * found if above else 1 - front * found


def _gamma_by_integration(shape: Floats, x: Floats, above: Bools) -> Floats:
    """The same by Gauss-Legendre nodes over the smaller side, as far as there is any density to speak of.

    The density at t = shape (1 + u) is that of a normal value where u is small: exp(-shape (u - ln(1 + u))) / (1 + u).
    """
    sd, (nodes, weights) = 1 / np.sqrt(shape), _legendre()
    first, side = x / shape - 1, np.where(x > shape, 1.0, -1.0)
    width = np.minimum(_WIDTH * sd, _EXPONENT * (1 + first) / np.maximum(shape * np.abs(first), 1e-9))
    u = first[:, None] + (side * width)[:, None] * (nodes + 1) / 2
    inside = u > -1
    small = np.abs(u) < _SERIES
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = u - np.log1p(u)
    fall = np.where(small, _less_logarithm(np.where(small, u, 0.0)), exact)
    density = np.where(inside, np.exp(-shape[:, None] * fall) / np.where(inside, 1 + u, 1.0), 0.0)
    stirling = (1 / 12 - (1 / 360 - 1 / (1260 * shape**2)) / shape**2) / shape
    beyond = width / 2 * (density @ weights) * np.exp(-stirling) / (sd * math.sqrt(2 * math.pi))
    return np.where((side > 0) == above, beyond, 1 - beyond)


@cache
def _legendre() -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights."""
    return np.polynomial.legendre.leggauss(_NODES)


def _less_logarithm(u: Floats) -> Floats:
    """Series of u - ln(1 + u) for small u, whose difference would lose digits."""
    return np.asarray(u * u * polyval(u, [(-1) ** k / k for k in range(2, _TERMS + 1)]))


def chi2_sf(freedom: float, x: float) -> float:
    """Probability that a chi-squared value exceeds x."""
    return gamma_sf(freedom / 2, x / 2)


def squared_normal_isf(share: float) -> float:
    """Value that a chi-squared one of one degree of freedom exceeds with a probability."""
    return normal_quantile(share / 2) ** 2


@lru_cache(maxsize=256)
def student_quantile(freedom: float, share: float) -> float:
    """Value below which one of Student's t distribution lies with a probability; to some 11 digits."""
    if freedom >= _MANY:
        return _far(freedom, normal_quantile(share))
    if freedom < _FEWEST or not _FARTHEST_SHARE < share < 1 - _FARTHEST_SHARE:
        from scipy.special import stdtrit

        return float(stdtrit(freedom, share))
    return math.copysign(_between(freedom, abs(share - 0.5)), share - 0.5)


def _far(freedom: float, z: float) -> float:
    """Series in 1 / freedom (Abramowitz and Stegun 26.7.5)."""
    v, y = freedom, z * z
    return z * (
        1
        + (y + 1) / (4 * v)
        + ((5 * y + 16) * y + 3) / (96 * v**2)
        + (((3 * y + 19) * y + 17) * y - 15) / (384 * v**3)
        + ((((79 * y + 776) * y + 1482) * y - 1920) * y - 945) / (92160 * v**4)
    )


def _between(freedom: float, beyond: float) -> float:
    """Upper limit of the integral of the density from 0 that is so large, by Newton's method.

    Over the angle atan(t / sqrt(freedom)) the density is a power of its cosine, which Gauss-Legendre nodes integrate.
    """
    power, root, (nodes, weights) = freedom - 1, math.sqrt(freedom), _legendre()
    constant = _gamma_ratio(freedom) / math.sqrt(math.pi)
    angle = math.atan(min(_far(freedom, normal_quantile(0.5 + beyond)), 30.0) / root)
    for _ in range(60):
        cosines: Floats = np.cos((nodes + 1) * (angle / 2))
        found = constant * angle / 2 * float(weights @ cosines**power)
        step = (found - beyond) / (constant * math.cos(angle) ** power)
        angle = min(max(angle - step, angle / 4), (angle + math.pi / 2) / 2)
        if abs(step) < 1e-15 + 1e-13 * angle:
            break
    return root * math.tan(angle)


def _gamma_ratio(v: float) -> float:
    """Gamma((v + 1) / 2) / Gamma(v / 2), for large v by its series."""
    if v < 300:
        return math.gamma((v + 1) / 2) / math.gamma(v / 2)
    return math.sqrt(v / 2) * (1 - (1 / 4 - (1 / 32 + (5 / 128 - 21 / 2048 / v) / v) / v) / v)


def weighted_chi2_sf(x: float, weights: Floats, freedom: float = math.inf) -> float:
    """Return P(sum w_k Z_k^2 > x) by the saddlepoint of Lugannani and Rice (Kuonen 1999).

    With degrees of freedom the sum is over an independent chi-squared, divided by these: P(sum w_k Z_k^2 - x chi^2 /
    freedom > 0).
    """
    w = weights[weights > 0]
    if not w.size or x <= 0:
        return 1.0
    if np.ptp(w) < 1e-12:
        if math.isinf(freedom):
            return chi2_sf(w.size, float(x / w[0]))
        from scipy.special import fdtrc

        return float(fdtrc(w.size, freedom, x / w.sum()))
    if abs(x - w.sum()) < _NEAR_MEAN * w.sum():  # at the mean the formula is 0/0
        return (weighted_chi2_sf(w.sum() * 1.003, w, freedom) + weighted_chi2_sf(w.sum() * 0.997, w, freedom)) / 2
    part = x / freedom
    low, high = -w.size / (2 * x) - 1, (1 - 1e-12) / (2 * w.max())
    if part > 0:
        low = max(low, -(1 - 1e-12) / (2 * part))
    for _ in range(200):
        before, middle = (low, high), (low + high) / 2
        slope = (w / (1 - 2 * middle * w)).sum() - x / (1 + 2 * middle * part)
        low, high = (middle, high) if slope < 0 else (low, middle)
        if (low, high) == before:  # two neighbouring numbers
            break
    t = (low + high) / 2
    below = t * x if part == 0 else freedom / 2 * math.log1p(2 * t * part)
    r = np.sign(t) * np.sqrt(2 * (below + 0.5 * np.log1p(-2 * t * w).sum()))
    u = t * np.sqrt((2 * w**2 / (1 - 2 * t * w) ** 2).sum() + 2 * x * part / (1 + 2 * t * part) ** 2)
    return normal_cdf(float(-(r + np.log(u / r) / r)))
