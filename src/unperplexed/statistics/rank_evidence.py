"""Evidence that a number changed its distribution at an unknown period, from ranks: for exchangeable periods, exact.

As long as nothing has changed, the number of a period is equally likely to fall into each of the gaps between those of
the d - 1 periods before it. A hypothesis, "larger from period k on", weighs the gaps between the numbers before k.
Those since then fall into them and divide them. The factor of a period is the weight of its gap over the mean weight of
all gaps, so that its mean is 1. Ranks do not depend on how numbers are distributed, or how much periods vary.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from .._lib.typing import Floats
from .evidence_of_change import log_begins, log_not_begun

_SHIFTS = np.array([0.7, 1.5, 3.0])
"""Changes on which is bet, in standard deviations of a period's number."""

_AT_ONCE = 32
"""Periods that are taken together."""

_TRIFLE = -8.0
"""Logarithm of what is left of a bet that is given up."""


class RankEvidence(NamedTuple):
    """Evidence that numbers changed, of shape (series, periods)."""

    log_evidence: Floats
    """Logarithm of the evidence after each period; larger is stronger."""
    log_worth: Floats
    """Logarithm of what the bets that began in each period are worth after the last one."""


def rank_evidence(values: Floats, *, upward_only: bool = False) -> RankEvidence:
    """Weigh whether numbers of successive periods became larger or smaller at some period.

    Parameters
    ----------
    values : ndarray of shape (series, periods)
        One number a period; NaN where there is none.
    upward_only : bool, default False
        Whether only larger numbers are a change.

    Returns
    -------
    RankEvidence
        If periods are exchangeable, the evidence of a series ever reaches 1/a with a probability of at most a.
    """
    evidence, log_worth = np.zeros(values.shape), np.full(values.shape, -np.inf)
    patterns, of_series = np.unique(~np.isnan(values), axis=0, return_inverse=True)
    for number, there in enumerate(patterns):
        rows, at = np.flatnonzero(of_series.ravel() == number), np.flatnonzero(there)
        begins = _shares(at, there.size)
        found, worth = _bets(values[np.ix_(rows, at)], begins, upward_only)
        left = np.log(np.maximum(1 - np.cumsum(np.exp(begins)), 1e-300))
        after = np.concatenate([np.zeros((rows.size, 1)), np.logaddexp(found, left)], axis=1)
        evidence[rows] = after[:, np.cumsum(there)]
        log_worth[np.ix_(rows, at)] = worth
    return RankEvidence(evidence, log_worth)


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


def _bets(x: Floats, begins: Floats, upward_only: bool) -> tuple[Floats, Floats]:
    """Give the logarithm of what all bets are worth after each number, and of what each one is after the last.

    A bet ends where it has lost all but a trifle: what is left is given up, which costs evidence only. Ties are broken
    against the bet: the lighter one of the gaps counts for it, the heavier one among all gaps.
    """
    n = x.shape[1]
    found, last = np.full(x.shape, -np.inf), np.full(x.shape, -np.inf)
    below, up_to = np.zeros(x.shape, dtype=np.intp), np.zeros(x.shape, dtype=np.intp)
    for k in range(1, n):
        below += x[:, k - 1 : k] < x
        up_to += x[:, k - 1 : k] <= x
        weight, series = gap_weights(k + 1, upward_only), np.arange(len(x))
        worth, log_scale = np.ones((len(weight), series.size, 1)), np.zeros((series.size, 1))
        total = np.full_like(worth, k + 1)
        for start in range(k, n, _AT_ONCE):
            here = slice(start, min(start + _AT_ONCE, n))
            low, high = below[series, here], up_to[series, here]
            lighter = heavier = weight[:, low]
            if (low != high).any():
                lighter, heavier = np.minimum(lighter, weight[:, high]), np.maximum(lighter, weight[:, high])
            totals = total + heavier.cumsum(axis=-1)
            gaps = np.arange(start, here.stop) + 1
            worth = worth * (gaps * lighter / (totals - heavier)).cumprod(axis=-1)
            mean = worth.mean(axis=0)
            gained = log_scale + np.log(mean)
            found[series, here] = np.logaddexp(found[series, here], begins[k] + gained)
            if here.stop == n:
                last[series, k] = begins[k] + gained[:, -1]
            on = gained[:, -1] >= _TRIFLE
            if not on.any():
                break
            series, log_scale, total = series[on], gained[on, -1:], totals[:, on, -1:]
            worth = worth[:, on, -1:] / mean[on, -1:]
    return found, last


def gap_weights(gaps: int, upward_only: bool) -> Floats:
    """Weigh the gaps between normal numbers in order by how probable they are once these have shifted; their mean is 1.

    Shape (shifts, gaps).
    """
    ends = ndtri(np.arange(gaps + 1) / gaps) - _SHIFTS[:, None]
    upward = gaps * np.diff(ndtr(ends), axis=1)
    return upward if upward_only else np.concatenate([upward, upward[:, ::-1]])
