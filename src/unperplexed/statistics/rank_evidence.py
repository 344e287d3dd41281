"""Evidence that a number changed its distribution at an unknown period, from ranks: for exchangeable periods, exact.

As long as nothing has changed, the number of a period is equally likely to fall into each of the gaps between those of
the d - 1 periods before it. A hypothesis, "larger from period k on", weighs the gaps between the numbers before k.
Those since then fall into them and divide them. The factor of a period is the weight of its gap over the mean weight of
all gaps, so that its mean is 1. Ranks do not depend on how numbers are distributed, or how much periods vary.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .._lib.typing import Floats
from .evidence_of_change import log_begins, log_not_begun

_SHIFTS = np.array([0.7, 1.5, 3.0])
"""Changes on which is bet, in standard deviations of a period's number."""

_AT_ONCE = 64
"""Periods that are taken together."""

_TRIFLE = -8.0
"""Logarithm of what is left of a bet that is given up."""


class RankEvidence(NamedTuple):
    """Evidence that numbers changed."""

    log_evidence: Floats
    """Logarithm of the evidence after each period; larger is stronger."""
    log_worth: Floats
    """Logarithm of what the bets that began in each period are worth after the last one."""


def rank_evidence(values: Floats, *, upward_only: bool = False) -> RankEvidence:
    """Weigh whether numbers of successive periods became larger or smaller at some period.

    Parameters
    ----------
    values : ndarray of shape (periods,)
        One number a period; NaN where there is none.
    upward_only : bool, default False
        Whether only larger numbers are a change.

    Returns
    -------
    RankEvidence
        If periods are exchangeable, its evidence ever reaches 1/a with a probability of at most a.
    """
    there = np.flatnonzero(~np.isnan(values))
    x, n = values[there], there.size
    begins = _shares(there, values.size)
    found, worth = np.full(n, -np.inf), np.full(n, -np.inf)
    for k in range(1, n):
        gained = _gains(x, k, upward_only)
        found[k : k + gained.size] = np.logaddexp(found[k : k + gained.size], begins[k] + gained)
        if k + gained.size == n:
            worth[k] = begins[k] + gained[-1]
    left = 1 - np.cumsum(np.exp(begins))
    found = np.logaddexp(found, np.log(np.maximum(left, 1e-300)))
    every = np.zeros(values.size)
    at = np.searchsorted(there, np.arange(values.size), side="right")
    every[at > 0] = found[at[at > 0] - 1]
    of_period = np.full(values.size, -np.inf)
    of_period[there] = worth
    return RankEvidence(every, of_period)


def _shares(there: np.ndarray, periods: int) -> Floats:
    """Give the logarithm of the share that begins with each number; none begins with the first, and it is not lost.

    A bet that begins in a period without a number begins with the next one.
    """
    if not there.size:
        return np.empty(0)
    share = np.exp(log_begins(periods) - log_not_begun(np.array([1])))
    share[: there[0] + 1] = 0.0
    sums = np.concatenate([[0.0], np.cumsum(share)])[there + 1]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.diff(sums, prepend=0.0)))


def _gains(x: Floats, k: int, upward_only: bool) -> Floats:
    """Give the logarithm of the mean worth of the bets that began with number k, after it and each later one.

    It ends where they have lost all but a trifle: what is left of them is given up, which costs evidence only. Ties are
    broken against the bet: the lighter one of the gaps counts for it, the heavier one among all gaps.
    """
    before, weight = np.sort(x[:k]), gap_weights(k + 1)
    if not upward_only:
        weight = np.concatenate([weight, weight[:, ::-1]])
    n_bets = len(weight)
    log_worth, total, found = np.zeros((n_bets, 1)), np.full((n_bets, 1), k + 1.0), []
    for start in range(k, x.size, _AT_ONCE):
        since = x[start : start + _AT_ONCE]
        below, up_to = (weight[:, before.searchsorted(since, side)] for side in ("left", "right"))
        lighter, heavier = np.minimum(below, up_to), np.maximum(below, up_to)
        totals = total + np.cumsum(heavier, axis=1)
        factors = np.arange(start + 1, start + 1 + since.size) * lighter / (totals - heavier)
        log_worth = log_worth[:, -1:] + np.cumsum(np.log(factors), axis=1)
        total = totals[:, -1:]
        top = log_worth.max(axis=0)
        found.append(top + np.log(np.exp(log_worth - top).sum(axis=0) / n_bets))
        if top[-1] < _TRIFLE:
            break
    return np.concatenate(found)


@lru_cache(1 << 10)
def gap_weights(gaps: int) -> Floats:
    """Weigh the gaps between normal numbers in order by how probable they are once these are larger; their mean is 1.

    Shape (shifts, gaps).
    """
    ends = ndtri(np.arange(gaps + 1) / gaps) - _SHIFTS[:, None]
    return np.asarray(gaps * np.diff(ndtr(ends), axis=1))
