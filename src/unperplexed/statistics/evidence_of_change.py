"""Evidence that something changed, at an unknown period: it may be looked at after every period.

Each of several hypotheses says how it changed, and multiplies what is bet on it by a factor in each period, whose mean
is at most 1 as long as nothing has changed. A share of the bet begins in each period. What all bets are worth together
is then expected never to grow, and by Ville's inequality ever reaches 1/a with a probability of at most a.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._lib.typing import Floats, Ints

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


def beginning(factors: Floats, weights: Floats, level: float = 0.95) -> Beginning:
    """Find when a change began, from the factors of all periods since counting began; shape (periods, hypotheses)."""
    return beginning_of(log_begins(len(factors)) + _log_worth(factors, weights), level)


def beginning_of_changing(
    factors: Floats, weights: Floats, begun: int, changes: float, level: float = 0.95
) -> Beginning:
    """Find the same of a change that may become another one, and began in one of the first ``begun`` periods.

    The prior probability is half for changes that stay as they are, which begin as bets do, and half for those that
    become another one with the probability ``changes`` in each later period, which begin in any period alike. One that
    grows is then dated to when it became visible, and not to when it was as large as it is on average.
    """
    stays = log_begins(len(factors)) + _log_worth(factors, weights)
    becomes = _log_worth(factors, weights, changes) - math.log(len(factors))
    return beginning_of(np.logaddexp(stays, becomes)[:begun], level)


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


def beginning_of(posterior: Floats, level: float = 0.95) -> Beginning:
    """Find when a change began, from the logarithm of what the bets that began in each period are worth."""
    share = np.exp(posterior - logsumexp(posterior))
    order = np.argsort(-share, kind="stable")
    enough = int(np.searchsorted(np.cumsum(share[order]), level)) + 1
    return Beginning(int(order[0]), np.sort(order[:enough]))
