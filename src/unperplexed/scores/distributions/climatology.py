"""Climatology: for each row the outcomes of the others, as a forecast to measure skill against."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from ..._lib.typing import Floats

_NEIGHBOURS = 10
"""Other outcomes by whose distance a density is estimated."""

_SAME = 1e-9
"""Distance of outcomes, as part of their range, that is a rounding error."""


def climatology_crps(y: Floats) -> Floats:
    """Return the CRPS of the other rows' outcomes as a forecast of each row's.

    It is E|X - y| - E|X - X'| / 2 of their empirical distribution (Gneiting and Raftery 2007), and takes one sort.

    Parameters
    ----------
    y : array of shape (n,)
        Outcomes, two or more.

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.scores.distributions.climatology import climatology_crps
    >>> climatology_crps(np.array([0.0, 1.0, 3.0]))
    array([1.5 , 0.75, 2.25])
    """
    n, order = y.size, np.argsort(y)
    ranked = y[order]
    below = np.cumsum(ranked) - ranked
    place = np.arange(n)
    apart = np.empty(n)
    apart[order] = (2 * place - n + 1) * ranked + ranked.sum() - ranked - 2 * below
    return np.asarray(apart / (n - 1) - (apart.sum() - 2 * apart) / (2 * (n - 1) ** 2))


def climatology_quantiles(y: Floats, levels: Floats) -> Floats:
    """Return quantiles of the other rows' outcomes, by Hyndman and Fan's (1996) definition 8, which is median-unbiased.

    Parameters
    ----------
    y : array of shape (n,)
        Outcomes, two or more.
    levels : array of shape (k,)
        In (0, 1).

    Returns
    -------
    array of shape (n, k)
    """
    n, order = y.size, np.argsort(y, kind="stable")
    ranked, rank = y[order], np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    place = np.clip((n - 1 + 1 / 3) * levels - 2 / 3, 0, n - 2)  # among the others, counted from 0
    found = np.empty((n, levels.size))
    for at, where in enumerate(place.tolist()):
        low = int(where)
        high = min(low + 1, n - 2)
        below, above = (np.where(rank <= each, ranked[each + 1], ranked[each]) for each in (low, high))
        found[:, at] = below + (where - low) * (above - below)
    return found


def climatology_log_density(y: Floats, *, atom: bool = False) -> Floats:
    """Return the log density of each outcome, estimated from the ten nearest of the others (Kozachenko, Leonenko 1987).

    Outcomes of a grid, such as counts, get the log probability of a place of the grid.

    Parameters
    ----------
    y : array of shape (n,)
        Outcomes, two or more.
    atom : bool, default False
        Whether 0 has a probability of its own, whose logarithm outcomes of 0 get.

    Returns
    -------
    array of shape (n,)
    """
    if atom and (zero := y == 0).any():
        share, found = np.count_nonzero(zero) / y.size, np.empty(y.size)
        found[zero] = np.log(share - 0.5 / y.size)
        found[~zero] = climatology_log_density(y[~zero]) + np.log1p(-share) if share < 1 else 0.0
        return found
    n, order = y.size, np.argsort(y, kind="stable")
    x, k = y[order], min(_NEIGHBOURS, y.size - 1)
    padded = np.concatenate([np.full(k, -np.inf), x, np.full(k, np.inf)])
    each = [np.maximum(x - padded[k - j :][:n], padded[2 * k - j :][:n] - x) for j in range(k + 1)]
    reach = np.min(each, axis=0, initial=np.inf)
    same = _SAME * (x[-1] - x[0])
    near = np.searchsorted(x, x + reach + same, side="right") - np.searchsorted(x, x - reach - same) - 1
    gaps = np.diff(x)
    step = gaps[gaps > same].min(initial=np.inf)
    found = np.empty(n)
    found[order] = digamma(np.maximum(near, k)) - digamma(n) - np.log(2 * reach + step)
    return found


def climatology_log_probability(y: Floats, low: Floats, high: Floats) -> Floats:
    """Return the log probability that the other outcomes give to a cell around each, ends of which count half.

    It is that of half an outcome more than there are.

    Parameters
    ----------
    y : array of shape (n,)
        Outcomes.
    low, high : array of shape (n,)
        Ends of the cells, below and above the outcomes.

    Returns
    -------
    array of shape (n,)
    """
    ranked = np.sort(y)
    return np.asarray(np.log((_up_to(ranked, high) - _up_to(ranked, low) - 0.5) / y.size))


def _up_to(ranked: Floats, ends: Floats) -> Floats:
    """Count outcomes up to each end, those that are equal to it half. Ends in order are looked up far faster."""
    order, found = np.argsort(ends), np.empty(ends.size)
    here = ends[order]
    found[order] = (np.searchsorted(ranked, here) + np.searchsorted(ranked, here, side="right")) / 2
    return found
