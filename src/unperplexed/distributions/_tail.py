"""Probability beyond a point of the standard coupled Gaussian, and its inverse, right in their relative error.

In the deviate y with y^2 = ln(1 + kappa z^2)/kappa the density of every coupling is nearly normal:
exp(-A y^2/2) k(|kappa| y^2)/Z, with A = 1 + max(-kappa, 0) and k(m) = (m/(1 - e^-m))^(1/2). From |kappa| = 0.01 up
SciPy's incomplete beta function is right to the last digits. Nearer to 0, where its arguments grow without bound,
Gauss-Legendre quadrature of the smooth, positive integrand above is.
"""

from __future__ import annotations

import numpy as np
from scipy import special

from .._typing import Floats
from ..coupled import expm1_ratio
from ._elliptical import log_normalizer

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
    result = np.full(y.shape, -np.inf)
    small = (np.abs(k) < _SMALL) & (y < np.inf)
    if small.any():
        v, c = y[small], k[small]
        a = 1 + np.maximum(-c, 0)
        width = (2 * _CUT / a) / (v + np.sqrt(v * v + 2 * _CUT / a))
        result[small] = _log_density(v, c) + np.log(_integral(v, width, c))
    large = (np.abs(k) >= _SMALL) & (y < np.inf)
    if large.any():
        result[large] = _log_beta_tail(y[large], k[large])
    result[np.isnan(y)] = np.nan
    return result


def _log_beta_tail(y: Floats, k: Floats) -> Floats:
    a, m = _beta_shape(k), np.abs(k) * y * y
    w, v = np.exp(-m), -np.expm1(-m)
    with np.errstate(divide="ignore"):
        middle = np.log(np.where(v < 0.5, special.betaincc(0.5, a, v), special.betainc(a, 0.5, w)))
    # Half the mass less a little; betaincc loses digits next to 0.
    close = v * np.maximum(a, 1) < 0.05
    middle = np.where(close, np.log1p(-special.betainc(0.5, a, np.where(close, v, 0.0))), middle)
    # Far out the first terms of the hypergeometric series hold, in logarithms, where the values underflow.
    total, term = np.ones_like(w), np.ones_like(w)
    for n in range(1, 8):
        term = term * w * (n - 0.5) / n
        total = total + term * a / (a + n)
    far = -a * m - np.log(a) - special.betaln(a, 0.5) + np.log(total)
    return np.asarray(np.where(w < 1e-3, far, middle) - np.log(2))


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
    z[q == 0] = np.where(k[q == 0] < 0, 1 / np.sqrt(np.abs(np.minimum(k[q == 0], -1e-300))), np.inf)
    central = (q > 0.5 - _CENTRE) & (q <= 0.5)
    z[central] = _central_quantile(0.5 - q[central], k[central])
    outer = (q > 0) & (q <= 0.5 - _CENTRE)
    y = _outer_deviate(np.log(q[outer]), k[outer])
    z[outer] = _point(y, k[outer])
    return z


def _point(y: Floats, k: Floats) -> Floats:
    """The z >= 0 of a deviate, where its square overflows too."""
    t = k * y * y
    with np.errstate(all="ignore"):
        return np.where(t > 1, np.exp(t / 2) * np.sqrt(-np.expm1(-t) / k), np.sqrt(expm1_ratio(k, y * y)))


def _outer_deviate(log_q: Floats, k: Floats) -> Floats:
    """The deviate beyond which the mass is q. ln P is concave in it, so Newton's steps cannot leave the way."""
    y = -special.ndtri_exp(log_q)
    for _ in range(60):
        tail = log_tail(y, k)
        step = (tail - log_q) * np.exp(tail - _log_density(y, k))
        y = np.maximum(y + step, 0.0)
        if not np.any(np.abs(step) > _LAST_STEP * y):
            break
    return np.asarray(y)


def _central_quantile(mass: Floats, k: Floats) -> Floats:
    """z with P(0 < X < z) = mass: concave in z, so Newton's steps from 0 rise to it."""
    log_z = log_normalizer(k)
    z = mass * np.exp(log_z)
    for _ in range(100):
        with np.errstate(divide="ignore", invalid="ignore"):
            y2 = np.where(np.abs(k) * z * z < 1e-9, z * z * (1 - k * z * z / 2), np.log1p(k * z * z) / k)
        step = (mass - central_mass(np.sqrt(y2), k)) * np.exp(log_z + (1 + k) / 2 * y2)
        z = z + step
        if not np.any(np.abs(step) > _LAST_STEP * z):
            break
    return np.asarray(z)
