"""Tail probabilities: sums of coins, sums with known moments, weighted sums of squares."""

from __future__ import annotations

import math

import numpy as np

from ..._lib.typing import Floats
from ...statistics.tails import normal_cdf


def upper_tail(count: Floats, n: Floats, p: Floats) -> Floats:
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
    beyond = np.array([normal_cdf(each) for each in (-r).tolist()])
    value = beyond - np.where(near, 0.0, density * (1 / safe_r - 1 / safe_u))
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


def gamma_p_values(away: Floats, variance: Floats, third: Floats, step: float) -> Floats:
    """Two-sided p-values of counts so far from their expectation, as of a gamma distribution with these moments."""
    from scipy.special import gammainc, gammaincc

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
