"""Elementary functions without the cancellation that their textbook forms have next to coupling 0."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from ..._lib.typing import Floats
from ..coupled import log1p_ratio

NEAR_END = 0.75
"""Below it, 1 + kappa z^a is near the end of compact support, and its logarithm is taken of itself."""

FAR_OUT = 1e100
"""Deviates beyond it are taken in logarithms: their squares may overflow."""

_ASYMPTOTIC = 16.0
"""From here up the asymptotic series of the gamma function below are right to the last digit."""

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_DIGAMMA = (-1 / 12, 1 / 120, -1 / 252, 1 / 240, -1 / 132, 691 / 32760, -1 / 12)
"""Coefficients of the asymptotic series of ln Gamma and digamma, from Bernoulli's numbers."""


def log_gamma_step(v: Any, s: float) -> Floats:
    """ln Gamma(x + s) - ln Gamma(x) - s ln x at x = 1/v; it vanishes with v, where the parts of it grow."""
    v = np.asarray(v, dtype=np.float64)
    small = np.minimum(v, 1 / _ASYMPTOTIC)
    grown = small / (1 + s * small)  # 1 / (x + s)
    series = log1p_ratio(small, s) - s + (s - 0.5) * np.log1p(s * small)
    series = series + _odd_powers(grown) - _odd_powers(small)
    x = 1 / np.maximum(v, 1 / _ASYMPTOTIC)
    direct = special.gammaln(x + s) - special.gammaln(x) - s * np.log(x)
    return np.asarray(np.where(v <= 1 / _ASYMPTOTIC, series, direct))


def _odd_powers(v: Floats) -> Floats:
    """Stirling's series of ln Gamma(1/v)."""
    return np.asarray(v * np.polynomial.polynomial.polyval(v * v, _STIRLING))


def digamma_step(v: Any, s: float) -> Floats:
    """x (psi(x + s) - psi(x)) at x = 1/v; s at v = 0."""
    v = np.asarray(v, dtype=np.float64)
    small = np.minimum(v, 1 / _ASYMPTOTIC)
    grown = small / (1 + s * small)
    # The differences of the powers of 1/(x + s) and 1/x, divided by 1/x before they can cancel.
    a, b = grown * grown, small * small
    slope = -s * grown * (grown + small)
    total, power, mixed = log1p_ratio(small, s) + s * grown / 2, 1.0, np.ones_like(v)
    for c in _DIGAMMA:
        total = total + c * slope * mixed
        power = power * a
        mixed = power + b * mixed
    x = 1 / np.maximum(v, 1 / _ASYMPTOTIC)
    direct = x * (special.digamma(x + s) - special.digamma(x))
    return np.asarray(np.where(v <= 1 / _ASYMPTOTIC, total, direct))


def base_of_power(coupling: Floats, x: Floats, loc: Floats, scale: Floats, power: int) -> Floats:
    """1 + coupling ((x - loc)/scale)^power, for power 1 or 2, right in its relative error also next to 0.

    Compact support ends where it is 0. There the rounding of (x - loc)/scale alone would leave no digit, so sums
    and products keep what they round away (Dekker 1971; Knuth).

    Parameters
    ----------
    coupling, x, loc, scale : arrays that broadcast
        Coupling, points, location and scale (above 0).
    power : {1, 2}
        The power.
    """
    z = (x - loc) / scale
    plain = 1 + coupling * z**power
    near = (coupling < 0) & (np.abs(plain) < NEAR_END)
    if not near.any():
        return np.asarray(plain)
    result = np.array(plain)
    k, s, *ends = (np.broadcast_to(a, plain.shape)[near] for a in (coupling, scale, x, loc))
    # Powers of two are taken out without rounding, so that no square overflows.
    exponent = -np.frexp(s)[1]
    s, x, loc = (np.ldexp(a, exponent) for a in (s, *ends))
    h, low = _two_sum(x, -loc)
    unit, unit_low = s, np.zeros_like(s)
    if power == 2:
        square, error = _two_product(h, h)
        h, low = square, error + 2 * h * low
        unit, unit_low = _two_product(s, s)
    product, error = _two_product(k, h)
    total, rest = _two_sum(unit, product)
    result[near] = (total + (rest + (error + k * low + unit_low))) / unit
    return result


def _two_sum(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    total = a + b
    t = total - a
    return total, (a - (total - t)) + (b - t)


def _two_product(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    product = a * b
    (ah, al), (bh, bl) = _split(a), _split(b)
    return product, ((ah * bh - product) + ah * bl + al * bh) + al * bl


_SPLIT = 2.0**27 + 1
"""Factor that parts a float into halves of 26 bits each."""


def _split(a: Floats) -> tuple[Floats, Floats]:
    t = _SPLIT * a
    high = t - (t - a)
    return high, a - high
