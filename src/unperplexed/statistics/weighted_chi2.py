"""Tail of a weighted sum of squares of standard normal values, over a chi-squared where their scale is estimated."""

from __future__ import annotations

import math

import numpy as np

from .._lib.typing import Floats
from .tails import chi2_sf, normal_cdf


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
    if abs(x - w.sum()) < 1e-3 * w.sum():  # at the mean the formula is 0/0
        return (weighted_chi2_sf(w.sum() * 1.003, w, freedom) + weighted_chi2_sf(w.sum() * 0.997, w, freedom)) / 2
    part = x / freedom
    low, high = -w.size / (2 * x) - 1, (1 - 1e-12) / (2 * w.max())
    if part > 0:
        low = max(low, -(1 - 1e-12) / (2 * part))
    for _ in range(200):
        middle = (low + high) / 2
        slope = (w / (1 - 2 * middle * w)).sum() - x / (1 + 2 * middle * part)
        low, high = (middle, high) if slope < 0 else (low, middle)
    t = (low + high) / 2
    below = t * x if part == 0 else freedom / 2 * math.log1p(2 * t * part)
    r = np.sign(t) * np.sqrt(2 * (below + 0.5 * np.log1p(-2 * t * w).sum()))
    u = t * np.sqrt((2 * w**2 / (1 - 2 * t * w) ** 2).sum() + 2 * x * part / (1 + 2 * t * part) ** 2)
    return normal_cdf(float(-(r + np.log(u / r) / r)))
