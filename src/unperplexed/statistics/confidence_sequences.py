"""What can be won by betting that an average lies above a number: evidence and limits that hold at every row.

Rows come one after another. A row's value has a mean m, given all that was known before it came, and it cannot be
below ``lowest`` or above ``highest``, which are known before it comes as well. For any rate and any centre known
beforehand for which the first factor cannot be negative,

    (1 + rate (value - centre)) exp(rate (centre - m))    has a mean of at most 1,

since the mean of the first factor is 1 + rate (m - centre), at most exp(rate (m - centre)). So a wealth of 1 that is
multiplied by it row after row is expected never to grow, and by Ville's inequality ever reaches 1/a with a
probability of at most a. It depends on the unknown m through their sum alone.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._lib.typing import Floats

_OCTAVES = np.arange(-14.0, 9.0)
RATES: Floats = 2.0**_OCTAVES
"""Wealth is spread over bets at these rates. The best of them is about mean/variance of the values."""

_WEIGHTS = 1 / (1 + np.abs(_OCTAVES + 2))
LOG_WEIGHTS: Floats = np.log(_WEIGHTS / _WEIGHTS.sum())
"""Largest at a rate of 1/4 and falling slowly, as one over the octaves from there, so that no rate has too little."""

_MOST_LOST = 0.5
"""Share of a bet that the worst value of a row can cost, as against a row whose value is the centre."""

_BLOCK = 1 << 13
_CLOSE = 1e-12


def bets(value: Floats, lowest: Floats, highest: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of rows, and the log wealth after each row of the bet at each rate if all means were 0.

    Were their sum s, the wealth would be less by ``RATES * s`` in logarithm.
    """
    earlier = np.concatenate([[0.0], np.cumsum(value)[:-1]]) / np.arange(1, value.size + 1)  # and one 0 among them
    carried = LOG_WEIGHTS
    for start in range(0, value.size, _BLOCK):
        here = slice(start, start + _BLOCK)
        x, low, high = value[here, None], lowest[here, None], highest[here, None]
        # The bound is nearly attained where the centre is the mean, which lies between lowest and highest.
        centre = np.clip(earlier[here, None], low, np.minimum(high, low + _MOST_LOST / RATES))
        wealth = np.log1p(RATES * (x - centre)) + RATES * centre
        wealth[0] += carried
        np.cumsum(wealth, axis=0, out=wealth)
        carried = wealth[-1]
        yield here, wealth


def log_wealth(wealth: Floats, total: Floats | float = 0.0) -> Floats:
    """Logarithm of the wealth of all bets together after each row, if the means up to it add up to ``total``."""
    return _log_sum(wealth - RATES * np.reshape(total, (-1, 1)))[0]


def _log_sum(exponent: Floats) -> tuple[Floats, Floats]:
    """Logarithm of each row's sum of exponentials, and the share that each has in it."""
    top = exponent.max(axis=1, keepdims=True)
    share = np.exp(exponent - top)
    whole = share.sum(axis=1, keepdims=True)
    return (top + np.log(whole))[:, 0], share / whole


def least_total(wealth: Floats, log_limit: float) -> Floats:
    """Sum of means after each row at which the wealth is at its limit; with any smaller sum it is above it."""
    # Newton's method on a convex function that falls: from the left, where one bet alone is at the limit, no step
    # goes past the root. Each row stops by itself, so that its root does not depend on the rows beside it.
    total: Floats = ((wealth - log_limit) / RATES).max(axis=1)
    going = np.ones(total.size, dtype=bool)
    while going.any():
        log_sum, share = _log_sum(wealth[going] - RATES * total[going, None])
        step = (log_sum - log_limit) / (share * RATES).sum(axis=1)
        total[going] += step
        going[going] = step > _CLOSE * np.maximum(np.abs(total[going]), 1 / RATES[-1])  # below 0 only by rounding
    return total


def evidence(value: Floats, lowest: Floats, highest: Floats, log_limit: float) -> tuple[Floats, Floats]:
    """Log e-value, after each row, that the average of the means up to it is above 0; and a lower limit of it.

    The probability that the limit is ever above the average is at most exp(-log_limit). The limit is above 0 where
    the log e-value is above log_limit.
    """
    logs, limits = np.empty(value.size), np.empty(value.size)
    for here, wealth in bets(value, lowest, highest):
        logs[here] = log_wealth(wealth)
        limits[here] = least_total(wealth, log_limit)
    return logs, limits / np.arange(1, value.size + 1)
