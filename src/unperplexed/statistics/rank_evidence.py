"""Evidence that a number changed its distribution at an unknown period, from ranks: for exchangeable periods, exact.

As long as nothing has changed, the number of a period is equally likely to fall into each of the gaps between those of
the d - 1 periods before it. A hypothesis, "larger from period k on", weighs the gaps between the numbers before k.
Those since then fall into them and divide them. The factor of a period is the weight of its gap over the mean weight of
all gaps, so that its mean is 1. Ranks do not depend on how numbers are distributed, or how much periods vary.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtr, ndtri

from .._lib.typing import Floats, Ints

_SHIFTS = np.array([0.7, 1.5, 3.0])
"""Changes on which is bet, in standard deviations of a period's number."""

_AT_ONCE = 32
"""Periods that are taken together."""

_NOTHING = 1e-300
"""Least share whose logarithm is taken."""

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
        left = np.log(np.maximum(1 - np.cumsum(np.exp(begins)), _NOTHING))
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


_HALF_LIFE = 100.0
"""Periods: the share that has not begun yet falls slowly, by the logarithm of periods in this unit."""


def log_not_begun(periods: Ints) -> Floats:
    """Give the logarithm of the share of the bet that begins after so many periods: 1, then 1/2 and slowly less."""
    later = 0.5 / (1 + np.log2(1 + periods / _HALF_LIFE))
    return np.asarray(np.log(np.where(periods == 0, 1.0, later)))


def log_begins(periods: int) -> Floats:
    """Give the logarithm of the share that begins in each of the first periods."""
    left = np.exp(log_not_begun(np.arange(periods + 1)))
    return np.asarray(np.log(left[:-1] - left[1:]))


def log_evidence(factors: Floats, weights: Floats) -> Floats:
    """Logarithm of the evidence of a change, after each period.

    Parameters
    ----------
    factors : ndarray of shape (periods, ..., hypotheses)
        Logarithms of the factors by which bets change.
    weights : ndarray of shape (hypotheses,)
        Shares of the bet, which add up to 1.

    Returns
    -------
    ndarray of shape (periods, ...)
        Larger is stronger evidence; 0 before anything is known.
    """
    periods = len(factors)
    begins, left, log_weights = log_begins(periods), log_not_begun(np.arange(1, periods + 1)), np.log(weights)
    worth = np.full(factors.shape[1:], -np.inf)
    found = np.empty(factors.shape[:-1])
    for d in range(periods):
        worth = np.logaddexp(worth, begins[d] + log_weights) + factors[d]
        found[d] = np.logaddexp(logsumexp(worth, axis=-1), left[d])
    return found


class Beginning(NamedTuple):
    """When a change began."""

    most_probable: int
    """Number of the period, from 0."""
    probable: Ints
    """The smallest set of periods that has 95% of the posterior probability, in order."""


_PROBABLE = 0.95
"""Posterior probability of the periods in which a change may have begun."""


def beginning(factors: Floats, weights: Floats) -> Beginning:
    """Find when a change began, from the factors of all periods since counting began; shape (periods, hypotheses)."""
    return beginning_of(log_begins(len(factors)) + _log_worth(factors, weights))


def beginning_of_changing(factors: Floats, weights: Floats, begun: int, changes: float) -> Beginning:
    """Find the same of a change that may become another one, and began in one of the first ``begun`` periods.

    The prior probability is half for changes that stay as they are, which begin as bets do, and half for those that
    become another one with the probability ``changes`` in each later period, which begin in any period alike. One that
    grows is then dated to when it became visible, and not to when it was as large as it is on average.

    Parameters
    ----------
    factors : ndarray of shape (periods, hypotheses)
        Logarithms of the factors by which bets change.
    weights : ndarray of shape (hypotheses,)
        Shares of the bet, which add up to 1.
    begun : int
        Number of periods in one of which the change began.
    changes : float
        Probability with which a change becomes another one in a period.
    """
    stays = log_begins(len(factors)) + _log_worth(factors, weights)
    becomes = _log_worth(factors, weights, changes) - math.log(len(factors))
    return beginning_of(np.logaddexp(stays, becomes)[:begun])


def _log_worth(factors: Floats, weights: Floats, changes: float = 0.0) -> Floats:
    """Give the logarithm of what bets that begin in each period are worth at the end, by backward recursion."""
    log_weights, worth = np.log(weights), np.zeros(factors.shape[1:])
    found = np.empty(len(factors))
    for d in range(len(factors) - 1, -1, -1):
        if changes and d + 1 < len(factors):
            worth = np.logaddexp(worth + math.log1p(-changes), math.log(changes) + found[d + 1])
        worth = worth + factors[d]
        found[d] = logsumexp(worth + log_weights)
    return found


def beginning_of(posterior: Floats) -> Beginning:
    """Find when a change began, from the logarithm of what the bets that began in each period are worth."""
    share = np.exp(posterior - logsumexp(posterior))
    order = np.argsort(-share, kind="stable")
    enough = int(np.searchsorted(np.cumsum(share[order]), _PROBABLE)) + 1
    return Beginning(int(order[0]), np.sort(order[:enough]))
