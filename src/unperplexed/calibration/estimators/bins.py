"""Estimators that measure in bins: how often what a bin speaks of happened."""

from __future__ import annotations

import numpy as np

from ..._lib.elementary import logit
from ..._lib.errors import check_whole
from ..._lib.typing import Bools, Floats, Ints
from ...kernels.curves import frequencies
from ...tally.tables import Pairs
from .estimate import Estimate, checked_positive, ends_apart, estimator, number_of_bins

_A_LITTLE_MORE = 1 + 1e-9
"""Weights that should be equal need not be to the last digit; where such sums meet a bound, they are taken as equal."""


@estimator("equal-population", bins=check_whole)
def equal_population(pairs: Pairs, *, bins: int | None = None, floor: float = 0.0) -> Estimate:
    """Measure in bins that hold equally many of the probabilities assigned to the outcomes.

    The classifier paper's procedure ([CM] section 4), with what it leaves open settled. Three kinds of bin are set
    apart: [0, floor], always; [1 - floor, 1] if it holds more than its share; and any single value that does, with
    width floor around it. Ties are never split, every pair is in a bin, and a stretch without any correct-class
    probability between bins set apart is a bin of its own.

    Parameters
    ----------
    bins : int, optional
        How many bins B set the share 1/B; by default (2N)^(1/3) rounded up (Terrell and Scott 1985), N the total
        weight of the events.

    Raises
    ------
    InputError
        For fewer than one bin.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import equal_population
    >>> p = np.array([0.1, 0.2, 0.6, 0.7])
    >>> equal_population(bins=2).measure(p, np.array([0.0, 1, 1, 1]), np.array([2.0, 1, 1, 1])).bin
    array([0, 0, 1, 1])
    """
    reported, happened, total = pairs
    n = float(happened.sum())
    wanted = number_of_bins(bins, happened)
    share = n / wanted
    apart = _set_apart(reported, happened, share, floor)
    # Number what lies in bins set apart and between them, from the left: odd in such a bin, even between.
    lows, highs = np.array(apart).T
    stretch = np.searchsorted(lows, reported, side="right") + np.searchsorted(highs, reported)
    inside = stretch % 2 == 1
    rest = float(happened[~inside].sum())
    group = _equal_groups(happened, inside, max(int(rest / share * _A_LITTLE_MORE + 0.5), 1) if share else 1)
    change = np.diff(stretch, prepend=stretch[:1]) != 0
    bin_ = np.cumsum(change | _starts(reported, happened, group, stretch))
    return Estimate(frequencies(happened, total, bin_), bin_, {"bins": wanted})


def _set_apart(reported: Floats, happened: Floats, share: float, floor: float) -> list[tuple[float, float]]:
    """Intervals set apart as bins of their own, overlapping ones merged."""
    intervals = [(0.0, floor)]
    upper = reported >= 1 - floor
    if happened[upper].sum() > share * _A_LITTLE_MORE:
        intervals.append((1 - floor, 1.0))
    many = reported[happened > share * _A_LITTLE_MORE]
    intervals += zip(many - floor / 2, many + floor / 2, strict=True)
    merged: list[tuple[float, float]] = []
    for low, high in sorted(intervals):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _equal_groups(happened: Floats, inside: Bools, m: int) -> Ints:
    """For each entry, which of m equal groups of the remaining correct-class probabilities it belongs to."""
    weight = np.where(inside, 0.0, happened)
    total = weight.sum()
    if not total > 0:
        return np.zeros(weight.size, dtype=np.int64)
    middle = np.cumsum(weight) - weight / 2
    group: Ints = (middle * m / total * _A_LITTLE_MORE).astype(np.int64)
    return np.minimum(group, m - 1)


def _starts(reported: Floats, happened: Floats, group: Ints, stretch: Ints) -> Bools:
    """Mark the entries at which a bin starts inside a stretch.

    The edge lies midway between the last correct-class probability of one group and the first of the next.
    """
    starts = np.zeros(reported.size, dtype=bool)
    occupied = np.flatnonzero((happened > 0) & (stretch % 2 == 0))
    left, right = occupied[:-1], occupied[1:]
    cut = (group[left] != group[right]) & (stretch[left] == stretch[right])
    edges = (reported[left[cut]] + reported[right[cut]]) / 2
    # Between neighbouring floats the midpoint is one of them; the left one stays where it is.
    starts[np.maximum(np.searchsorted(reported, edges, side="left"), left[cut] + 1)] = True
    return starts


@estimator("equal-width", bins=check_whole)
def equal_width(pairs: Pairs, *, bins: int | None = None, floor: float = 0.0) -> Estimate:
    """Measure in bins of equal width, 0.01 by default as in [N17]'s discussion.

    Parameters
    ----------
    bins : int, default 100
        How many bins divide [0, 1]; each holds its lower edge, the last one both.

    Raises
    ------
    InputError
        For fewer than one bin.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import equal_width
    >>> equal_width(bins=10).measure(np.array([0.1, 0.12, 1.0]), np.array([0.0, 1, 1]), np.array([1.0, 1, 1])).measured
    array([0.5, 0.5, 1. ])
    """
    number = 100 if bins is None else bins
    reported, happened, total = pairs
    bin_ = np.floor(reported * number)
    # Compared with k / number, not multiplied alone: 0.29 * 100 is below 29.
    bin_ += (bin_ + 1) / number <= reported
    bin_ -= bin_ / number > reported
    bin_ = np.minimum(bin_, number - 1)
    bin_ = np.unique(bin_, return_inverse=True)[1]
    return Estimate(frequencies(happened, total, bin_), bin_, {"bins": number})


@estimator("cluster", bins=check_whole)
def cluster(pairs: Pairs, *, bins: int | None = None, floor: float = 0.0) -> Estimate:
    """Measure in clusters of similar probabilities ([N17] step 2).

    Clusters of the log-odds of the correct-class probabilities by Lloyd's algorithm (1982), started from groups of
    equal population; every other pair goes to the nearest cluster. Exact 0 and 1 are bins of their own.

    Parameters
    ----------
    bins : int, optional
        How many clusters at most; by default (2N)^(1/3) rounded up, as for `equal_population`.

    Raises
    ------
    InputError
        For fewer than one bin.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import cluster
    >>> p = np.array([0.1, 0.11, 0.5, 0.8, 0.82])
    >>> cluster(bins=3).measure(p, np.array([1.0, 0, 1, 1, 1]), np.array([4.0, 4, 2, 1, 1])).bin
    array([0, 0, 1, 2, 2])
    """
    reported, happened, total = pairs
    number = number_of_bins(bins, happened)
    bin_ = ends_apart(reported, lambda between: _clusters(logit(reported[between]), happened[between], number))
    return Estimate(frequencies(happened, total, bin_), bin_, {"bins": number})


def _clusters(odds: Floats, weight: Floats, number: int) -> Ints:
    """Nearest of so many centres to each entry; centres are means of the weighted entries nearest to them."""
    if not weight.any():
        return np.zeros(odds.size, dtype=np.int64)
    sums = np.concatenate([[0.0], np.cumsum(weight)])
    moments = np.concatenate([[0.0], np.cumsum(weight * odds)])
    middles = (np.arange(number) + 0.5) / number * sums[-1]
    centres = np.unique(odds[np.searchsorted(sums[1:], middles)])
    for _ in range(1000):
        edges = np.concatenate([[0], np.searchsorted(odds, (centres[1:] + centres[:-1]) / 2), [odds.size]])
        held = np.diff(sums[edges])
        moved = (np.diff(moments[edges])[held > 0]) / held[held > 0]
        if np.array_equal(moved, centres):
            break
        centres = moved
    return np.searchsorted((centres[1:] + centres[:-1]) / 2, odds, side="right")


@estimator("bayesian", bins=check_whole, prior=checked_positive)
def bayesian(pairs: Pairs, *, bins: int | None = None, prior: float = 1.0, floor: float = 0.0) -> Estimate:
    """Measure in bins of equal population, each with a beta prior centred on its mean prediction ([N17]).

    The measured probability of a bin is the posterior mean, (happened + prior * mean reported) / (total + prior).

    Parameters
    ----------
    bins : int, optional
        As for `equal_population`.
    prior : float, default 1
        Strength of the prior, as a number of pairs.

    Raises
    ------
    InputError
        For fewer than one bin, or a prior that is not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import bayesian
    >>> bayesian.measure(np.array([0.2]), np.array([1.0]), np.array([3.0])).measured
    array([0.3])
    """
    reported, happened, total = pairs
    _, bin_, settings = equal_population(bins="auto" if bins is None else bins).measure(*pairs, floor=floor)
    given, predicted, weight = (np.bincount(bin_, x) for x in (happened, total * reported, total))
    share = weight / (weight + prior)
    measured = share * (given / weight) + (1 - share) * (predicted / weight)  # which no prior is too strong for
    return Estimate(measured[bin_], bin_, {**settings, "prior": prior})
