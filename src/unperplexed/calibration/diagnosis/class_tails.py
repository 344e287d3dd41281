"""Tail probabilities: sums of coins, sums with known moments, weighted sums of squares."""

from __future__ import annotations

import math

import numpy as np

from ..._lib.typing import Floats
from ...statistics.tails import normal_cdf, normal_quantile, skewed_sf


def upper_tail(count: Floats, n: Floats, p: Floats, step: float = 1.0) -> Floats:
    """P(sum of coins >= count), by Lugannani and Rice with Daniels's continuity correction; n coins a cell with p.

    Sums are spaced by ``step``; 0 for continuous ones. At counts of 1 and 2 and of all coins it is exact: there the
    saddlepoint misses rare events, of which less than one is expected.

    Parameters
    ----------
    count : array of shape (C,)
        One sum of coins a class.
    n, p : arrays of shape (C, cells)
        Number of coins in each cell, and their probability.
    step : float, default 1
        Distance between possible sums; 0 for continuous ones.
    """
    goal, expected, total = count - step / 2, (n * p).sum(axis=1), n.sum(axis=1)
    solvable = (goal > 0) & (goal < total - 0.6 * step)
    goal_or_mean = np.where(solvable, goal, expected)
    value = _tail(_saddlepoint(goal_or_mean, n, p), goal_or_mean, n, p, step)
    all_of_them = np.exp((n * np.log(np.maximum(p, 1e-300))).sum(axis=1))
    value = np.where(goal <= 0, 1.0, np.where(solvable, value, all_of_them))
    if not step:
        return np.asarray(value)
    log_none = (n * np.log1p(-np.minimum(p, 1 - 1e-16))).sum(axis=1)
    once = np.exp(log_none) * (n * p / np.maximum(1 - p, 1e-16)).sum(axis=1)
    value = np.where((np.abs(count - 2) < 0.5) & (total > 2.5), -np.expm1(log_none) - once, value)
    return np.asarray(np.where(np.abs(count - 1) < 0.5, -np.expm1(log_none), value))


def attained(level: float, n: Floats, p: Floats) -> Floats:
    """Return the largest of the values P(sum of coins >= count), one a class, that are at most the level."""
    low, high, level = np.zeros(len(n)), np.full(len(n), _FURTHEST), max(level, 1e-290)
    t = np.log1p(-normal_quantile(min(level, 0.49)) / np.sqrt(np.maximum(_tilted(low, n, p)[1], 1e-30)))
    mean = low
    for _ in range(40):  # Newton steps: the logarithm of the tail falls by about t times the variance
        mean, variance = _tilted(t, n, p)
        off = np.log(np.maximum(_tail(t, mean, n, p, 1.0), 1e-300) / level)
        low, high = np.where(off > 0, t, low), np.where(off > 0, high, t)
        with np.errstate(over="ignore"):
            new = t + off / np.maximum(t * variance, 1e-300)
        new = np.where((new > low) & (new < high) & (off > -300), new, (low + high) / 2)
        if not (np.abs(off) > 0.2 * t).any():  # the count is then known to 1
            break
        t = new
    near = np.ceil(mean + 0.5)
    count = np.concatenate([near + 1, near, near - 1])
    value = upper_tail(count, np.tile(n, (3, 1)), np.tile(p, (3, 1)))
    possible = (value <= level * (1 + 1e-9)) & (count <= np.tile(n.sum(axis=1), 3))
    return np.asarray(np.where(possible, value, 0).reshape(3, -1).max(axis=0))


def _tilted(t: Floats, n: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of the sum of coins, tilted."""
    up = p * np.exp(t)[:, None]
    tilted = up / (1 - p + up)
    mean = n * tilted
    return np.asarray(mean.sum(axis=1)), np.asarray(mean.sum(axis=1) - (mean * tilted).sum(axis=1))


def _tail(t: Floats, goal: Floats, n: Floats, p: Floats, step: float) -> Floats:
    """P(sum of coins >= goal), the tilt at which it is expected being known."""
    second = np.maximum(_tilted(t, n, p)[1], 1e-300)
    cumulants = np.log1p(np.maximum(p * np.expm1(t)[:, None], -1 + 1e-16))
    exponent = t * goal - (n * cumulants).sum(axis=1)
    r = np.sign(t) * np.sqrt(2 * np.maximum(exponent, 0))
    u = (2 * np.sinh(t * step / 2) / step if step else t) * np.sqrt(second)
    near = np.abs(r) < 1e-3  # at the mean the formula is 0/0
    safe_r, safe_u = np.where(near, 1.0, r), np.where(near, 1.0, u)
    density = np.exp(-0.5 * r * r) / math.sqrt(2 * math.pi)
    beyond = np.array([normal_cdf(each) for each in (-r).tolist()])
    return np.asarray(np.clip(beyond - np.where(near, 0.0, density * (1 / safe_r - 1 / safe_u)), 0, 1))


_FURTHEST = 40.0
"""Tilts beyond it would leave no more than one coin in e^40 on its other side."""


def _saddlepoint(goal: Floats, n: Floats, p: Floats) -> Floats:
    """Tilt at which the coins' expected sum is the goal: Newton steps between bounds, for all classes at once."""
    low, high = np.full(len(goal), -_FURTHEST), np.full(len(goal), _FURTHEST)
    t = np.zeros(len(goal))
    for _ in range(60):
        mean, variance = _tilted(t, n, p)
        low, high = np.where(mean < goal, t, low), np.where(mean < goal, high, t)
        with np.errstate(over="ignore"):  # a step beyond the bounds is not taken
            new = t + (goal - mean) / np.maximum(variance, 1e-300)
        new = np.where((new > low) & (new < high), new, (low + high) / 2)
        if not (np.abs(new - t) > 1e-12 * (1 + np.abs(t))).any():
            break
        t = new
    return np.asarray(t)


def gamma_p_values(away: Floats, variance: Floats, third: Floats, step: float) -> Floats:
    """Two-sided p-values of counts so far from their expectation, as of a gamma distribution with these moments.

    Parameters
    ----------
    away : array of shape (C,)
        Counts minus their expectations.
    variance, third : arrays of shape (C,)
        Second and third central moments.
    step : float
        Distance between possible counts; 0 for continuous ones.
    """
    sd = np.sqrt(np.maximum(variance, 1e-12))
    z = np.maximum(np.abs(away) - step / 2, 0) / sd
    return np.minimum(2 * skewed_sf(z, np.sign(away) * third / sd**3), 1)


def hall(z: Floats, skewness: Floats) -> Floats:
    """Transform standardised sums of known skewness towards the normal distribution (Hall, monotone)."""
    return z - skewness / 6 * (z**2 - 1) + skewness**2 * z**3 / 108
