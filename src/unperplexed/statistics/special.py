"""Special functions by the names that SciPy has for them, so that a command need not load `scipy.special`.

That takes longer than all that a small assessment computes. Elementary functions are NumPy's, and fast. Distributions
of few values are computed one at a time, those of more by SciPy, which the tests hold all of them against.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np


def expit(x: Any) -> Any:
    """Return 1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-np.asarray(x, dtype=np.float64)))


def log_expit(x: Any) -> Any:
    """Return the logarithm of `expit`."""
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


def logit(p: Any) -> Any:
    """Return the log-odds of a probability."""
    with np.errstate(divide="ignore"):
        return np.log(p) - np.log1p(-np.asarray(p, dtype=np.float64))


def xlogy(x: Any, y: Any) -> Any:
    """Return x ln(y); 0 where x is 0."""
    with np.errstate(divide="ignore"):
        return x * np.log(np.where(x == 0, 1.0, y))


def xlog1py(x: Any, y: Any) -> Any:
    """Return x ln(1 + y); 0 where x is 0."""
    with np.errstate(divide="ignore"):
        return x * np.log1p(np.where(x == 0, 0.0, y))


_FEW = 100
"""SciPy takes over where there are more values."""


def _elementwise(function: Callable[..., float]) -> Callable[..., Any]:
    each = np.frompyfunc(function, function.__code__.co_argcount, 1)

    def of_arrays(*arguments: Any) -> Any:
        if max(map(np.size, arguments)) > _FEW:
            import scipy.special

            return getattr(scipy.special, function.__name__[1:])(*arguments)
        return np.asarray(each(*arguments), dtype=np.float64)[()]

    of_arrays.__doc__ = function.__doc__
    return of_arrays


def _ndtr(x: float) -> float:
    """Return the distribution function of the standard normal distribution."""
    return 0.5 * math.erfc(-x / _ROOT2)


def _ndtri(p: float) -> float:
    """Return the quantile of the standard normal distribution, by Halley's method."""
    if not 0 < p < 1:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    if p > 0.5:
        return -_ndtri(1 - p)
    t = math.sqrt(-2 * math.log(p))
    x = -t + (2.30753 + 0.27061 * t) / (1 + t * (0.99229 + 0.04481 * t))  # Abramowitz and Stegun 26.2.22
    for _ in range(4):
        step = (_ndtr(x) - p) * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
        x -= step / (1 + x * step / 2)
    return x


def _gammaln(x: float) -> float:
    """Return the logarithm of the gamma function of positive numbers."""
    return math.lgamma(x)


def _gammaincc(a: float, x: float) -> float:
    """Return the upper regularized incomplete gamma function."""
    return _gamma(a, x)[1]


def _gammainc(a: float, x: float) -> float:
    """Return the lower regularized incomplete gamma function."""
    return _gamma(a, x)[0]


def _gamma(a: float, x: float) -> tuple[float, float]:
    """Return both incomplete gamma functions: by series or continued fraction, or for large shapes uniformly."""
    if math.isnan(a + x):
        return math.nan, math.nan
    if x <= 0 or math.isinf(x):
        return (0.0, 1.0) if x <= 0 else (1.0, 0.0)
    if a > _LARGE:
        return _gamma_of_large(a, x)
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        while term > _SMALL * total:
            a += 1
            term *= x / a
            total += term
        return min(scale * total, 1.0), max(1 - scale * total, 0.0)
    upper = scale / _fraction(x + 1 - a, ((k * (a - k), x + 2 * k + 1 - a) for k in range(1, _MOST)))
    return 1 - upper, upper


def _gamma_of_large(a: float, x: float) -> tuple[float, float]:
    """Return both for large shapes: two terms of Temme's (1979) uniform expansion."""
    off = (x - a) / a
    half = off - math.log1p(off) if abs(off) > 1e-2 else sum((-off) ** k / k for k in range(2, 12))
    eta = math.copysign(math.sqrt(2 * half), off)
    first, second = (sum(c * eta**k for k, c in enumerate(series)) for series in _TEMME)
    rest = 0.0 if abs(eta) > 1 else math.exp(-a * half) / math.sqrt(2 * math.pi * a) * (first + second / a)
    z = eta * math.sqrt(a)
    return _ndtr(z) - rest, _ndtr(-z) + rest


def _fraction(first: float, terms: Any) -> float:
    """Return first + a1 / (b1 + a2 / (b2 + ...)), by Lentz's method as Thompson and Barnett (1986) have it."""
    found = upper = first or 1e-300
    lower = 0.0
    for a, b in terms:
        lower, upper = 1 / (b + a * lower or 1e-300), b + a / upper or 1e-300
        found *= upper * lower
        if abs(upper * lower - 1) < _SMALL:
            break
    return found


def _stdtr(freedom: float, t: float) -> float:
    """Return the distribution function of Student's t."""
    if math.isnan(freedom + t) or freedom <= 0:
        return math.nan
    if t > 0:
        return 1 - _stdtr(freedom, -t)
    if math.isinf(freedom) or math.isinf(t):
        return _ndtr(t)
    if freedom > _LARGE:  # Hill (1970)
        a = freedom - 0.5
        y, b = a * math.log1p(t * t / freedom), 48 * a * a
        bend = ((((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b) + y + 3) / b + 1
        return _ndtr(-bend * math.sqrt(y))
    a, x = freedom / 2, freedom / (freedom + t * t)
    log = math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5) - a * math.log1p(t * t / freedom)
    if x < (a + 1) / (a + 2.5):
        return 0.5 * math.exp(log + 0.5 * math.log1p(-x)) / (a * _beta(a, 0.5, x))
    return 0.5 - math.exp(log) * math.sqrt(t * t / (freedom + t * t)) / _beta(0.5, a, t * t / (freedom + t * t))


def _beta(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function."""

    def terms() -> Any:
        for m in range(_MOST):
            yield -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0
            yield (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2)), 1.0

    return _fraction(1.0, terms())


def _stdtrit(freedom: float, p: float) -> float:
    """Return the quantile of Student's t, by Newton's method in its logarithm."""
    if freedom < 1 or not 0 < p < 1:
        from scipy.special import stdtrit as by_scipy

        return float(by_scipy(freedom, p))
    if p <= 0.5:
        return 0.0 if p == 0.5 else -_stdtrit(freedom, 1 - p)
    tail, z = 1 - p, -_ndtri(1 - p)
    log_t = math.log(z) if freedom > 2 else math.log(1 / (math.pi * tail)) / freedom
    density = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    for _ in range(100):
        t = math.exp(log_t)
        slope = math.exp(density - (freedom + 1) / 2 * math.log1p(t * t / freedom)) * t
        step = (_stdtr(freedom, -t) - tail) / slope
        log_t += max(min(step, 1.0), -1.0)
        if abs(step) < 1e-14:
            break
    return math.exp(log_t)


ndtr, ndtri = _elementwise(_ndtr), _elementwise(_ndtri)
gammainc, gammaincc, gammaln = _elementwise(_gammainc), _elementwise(_gammaincc), _elementwise(_gammaln)
stdtr, stdtrit = _elementwise(_stdtr), _elementwise(_stdtrit)


def chdtrc(freedom: Any, x: Any) -> Any:
    """Return the share of a chi-squared distribution above x."""
    return gammaincc(np.asarray(freedom) / 2, np.asarray(x) / 2)


def pdtrc(k: Any, mean: Any) -> Any:
    """Return the share of a Poisson distribution above k."""
    return gammainc(np.asarray(k) + 1, mean)


_ROOT2 = math.sqrt(2)
_LARGE, _MOST, _SMALL = 1000.0, 2000, 1e-16

_TEMME = (
    (
        *(-3.3333333333333333e-1, 8.3333333333333333e-2, -1.4814814814814815e-2, 1.1574074074074074e-3),
        *(3.527336860670194e-4, -1.7875514403292181e-4, 3.9192631785224378e-5, -2.1854485106799922e-6),
        *(-1.85406221071516e-6, 8.296711340953086e-7),
    ),
    (-1.8518518518518519e-3, -3.4722222222222222e-3, 2.6455026455026455e-3, -9.9022633744855967e-4),
)
"""Coefficients of the expansion, by powers of eta."""
