"""Probability beyond a point of the standard coupled Gaussian, and its inverse, right in their relative error.

In the deviate y with y^2 = ln(1 + kappa z^2)/kappa the density of every coupling is nearly normal:
exp(-A y^2/2) k(|kappa| y^2)/Z, with A = 1 + max(-kappa, 0) and k(m) = (m/(1 - e^-m))^(1/2). From |kappa| = 0.01 up
SciPy's incomplete beta function is right to the last digits, and at 0 its normal distribution. Between, where the
arguments of the beta function grow without bound, Gauss-Legendre quadrature of the smooth, positive integrand is.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from ..._lib.typing import Floats
from ..coupled import expm1_ratio, log1p_ratio
from .elliptical_fit import log_normalizer

_SMALL = 0.01
_NODES, _WEIGHTS = (a / 2 for a in np.polynomial.legendre.leggauss(36))
_NODES = _NODES + 0.5
_CUT = 42.0
"""The integrand is left off where it has fallen by exp(-42)."""

_LAST_STEP = 1e-9
"""Newton's method squares the error: after a relative step this small none is left."""

_CENTRE = 0.1
"""Quantiles this near to 1/2 are found from the probability between them and the median."""


def _log_k(m: Floats) -> Floats:
    safe = np.where(m < 1e-8, 1.0, m)
    return np.where(m < 1e-8, m / 4, np.log(-safe / np.expm1(-safe)) / 2)


def _log_density(y: Floats, k: Floats) -> Floats:
    """ln of the density of the deviate y."""
    return np.asarray(-(1 + np.maximum(-k, 0)) * y * y / 2 + _log_k(np.abs(k) * y * y) - log_normalizer(k))


def _integral(y: Floats, width: Floats, k: Floats) -> Floats:
    """Integral of the density of the deviate from y to y + width, divided by the density at y."""
    a, size, start = 1 + np.maximum(-k, 0), np.abs(k), _log_k(np.abs(k) * y * y)
    total = np.zeros_like(y)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        u = width * node
        total += weight * np.exp(-a * u * (y + u / 2) + _log_k(size * (y + u) ** 2) - start)
    return total * width


def _beta_shape(k: Floats) -> Floats:
    return np.asarray(np.where(k > 0, 0.5, (k - 1) / 2) / k)


def log_tail(y: Floats, k: Floats) -> Floats:
    """ln P(X > z) for z >= 0, given the deviate y of z."""
    result = np.asarray(special.log_ndtr(-y))  # that of the normal; the end of the support, and NaN
    small = (np.abs(k) < _SMALL) & (k != 0) & (y < np.inf)
    if small.any():
        v, c = y[small], k[small]
        a = 1 + np.maximum(-c, 0)
        width = (2 * _CUT / a) / (v + np.sqrt(v * v + 2 * _CUT / a))
        result[small] = _log_density(v, c) + np.log(_integral(v, width, c))
    large = (np.abs(k) >= _SMALL) & (y < np.inf)
    if large.any():
        result[large] = _log_beta_tail(y[large], k[large])
    return result


def _log_beta_tail(y: Floats, k: Floats) -> Floats:
    a, m = _beta_shape(k), np.abs(k) * y * y
    w, v = np.exp(-m), -np.expm1(-m)
    result = np.empty_like(y)
    # Half the mass less a little; betaincc loses digits next to 0.
    close = v * np.maximum(a, 1) < 0.05
    result[close] = np.log1p(-special.betainc(0.5, a[close], v[close]))
    # Far out the first terms of the hypergeometric series hold, in logarithms, where the values underflow.
    far = w < 1e-3
    result[far] = _log_beta_series(w[far], m[far], a[far])
    near = ~close & ~far & (v < 0.5)
    result[near] = np.log(special.betaincc(0.5, a[near], v[near]))
    rest = ~close & ~far & ~near
    result[rest] = np.log(special.betainc(a[rest], 0.5, w[rest]))
    return np.asarray(result - np.log(2))


def _log_beta_series(w: Floats, m: Floats, a: Floats) -> Floats:
    """ln of the regularized incomplete beta function I_w(a, 1/2), w = e^-m small."""
    total, term = np.ones_like(w), np.ones_like(w)
    for n in range(1, 8):
        term = term * w * (n - 0.5) / n
        total += term * a / (a + n)
    return np.asarray(-a * m - np.log(a) - special.betaln(a, 0.5) + np.log(total))


def central_mass(y: Floats, k: Floats) -> Floats:
    """P(0 < X < z), given the deviate y of z, which is not far from 0."""
    result = np.empty_like(y)
    small = np.abs(k) < _SMALL
    result[small] = np.exp(-log_normalizer(k[small])) * _integral(np.zeros_like(y[small]), y[small], k[small])
    a, m = _beta_shape(k[~small]), np.abs(k[~small]) * y[~small] ** 2
    mass = np.where(m < 1, special.betainc(0.5, a, -np.expm1(-m)), special.betaincc(a, 0.5, np.exp(-m)))
    result[~small] = mass / 2
    return result


def quantile(q: Floats, k: Floats) -> Floats:
    """z >= 0 with P(X > z) = q, for q <= 1/2."""
    z = np.full(q.shape, np.nan)
    z[q == 0] = _point(np.full_like(k[q == 0], np.inf), k[q == 0])
    central = (q > 0.5 - _CENTRE) & (q <= 0.5)
    z[central] = _central_quantile(0.5 - q[central], k[central])
    outer = (q > 0) & (q <= 0.5 - _CENTRE)
    y = _outer_deviate(np.log(q[outer]), k[outer])
    z[outer] = _point(y, k[outer])
    return z


def _point(y: Floats, k: Floats) -> Floats:
    """The z >= 0 of a deviate, where its square overflows too."""
    t = k * y * y
    return np.where(t > 1, np.exp(t / 2) * np.sqrt(-np.expm1(-t) / k), np.sqrt(expm1_ratio(k, y * y)))


def _outer_deviate(log_q: Floats, k: Floats) -> Floats:
    """The deviate beyond which the mass is q. ln P is concave in it, so Newton's steps cannot leave the way."""
    y = -special.ndtri_exp(log_q)
    large = np.abs(k) >= _SMALL
    w = special.betaincinv(_beta_shape(k[large]), 0.5, 2 * np.exp(log_q[large]))
    usable = (w > 1e-300) & (w < 1)  # else the normal deviate does
    y[large] = np.where(usable, np.sqrt(-np.log(np.where(usable, w, 0.5)) / np.abs(k[large])), y[large])
    left = np.arange(y.size)
    for _ in range(60):
        at, c = y[left], k[left]
        tail = log_tail(at, c)
        step = (tail - log_q[left]) * np.exp(tail - _log_density(at, c))
        y[left] = np.maximum(at + step, 0.0)
        left = left[np.abs(step) > _LAST_STEP * y[left]]
        if not left.size:
            break
    return np.asarray(y)


def _central_quantile(mass: Floats, k: Floats) -> Floats:
    """z with P(0 < X < z) = mass: concave in z, so Newton's steps from 0 rise to it."""
    log_z = log_normalizer(k)
    z = mass * np.exp(log_z)
    left = np.arange(z.size)
    for _ in range(100):
        at, c = z[left], k[left]
        y2 = log1p_ratio(c, at * at)
        z[left] += (mass[left] - central_mass(np.sqrt(y2), c)) * np.exp(log_z[left] + (1 + c) / 2 * y2)
        left = left[z[left] - at > _LAST_STEP * at]
        if not left.size:
            break
    return z
