"""Climatology of a number: for each row the outcomes of the others, as a forecast to measure skill against."""

from __future__ import annotations

import numpy as np

from ..._lib.typing import Floats


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
