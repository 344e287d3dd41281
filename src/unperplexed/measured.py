"""Measured probability: how often events given a probability happened.

An estimator is a function of pairs sorted by reported probability and a line in `ESTIMATORS`. It works on exact
values and on cells alike, and never sees rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from ._typing import Bools, Floats, Ints
from .errors import InputError

Bins = int | None

_A_LITTLE_MORE = 1 + 1e-9
"""Weights that should be equal need not be to the last digit; where such sums meet a bound, they are taken as equal."""


class Estimate(NamedTuple):
    """Measured probability of each entry of the pairs, and the bin it was measured in."""

    measured: Floats
    bin: Ints
    """Index of each entry's bin, from 0, non-decreasing."""


Estimator = Callable[[Floats, Floats, Floats, Bins, float], Estimate]


def isotonic(reported: Floats, happened: Floats, total: Floats, bins: Bins = None, floor: float = 0.0) -> Estimate:
    """Measure by isotonic regression: the best non-decreasing curve, with no bins to choose.

    The pool-adjacent-violators algorithm on tie-pooled pairs: CORP (Dimitriadis, Gneiting and Jordan, PNAS 2021).
    Its blocks of equal measured probability are the bins.

    Parameters
    ----------
    reported : array of shape (m,)
        Distinct reported probabilities in increasing order.
    happened, total : arrays of shape (m,)
        Weight of the pairs that happened, and of all pairs, at each.
    bins : None
        Isotonic regression chooses its own blocks.
    floor : float
        Not used: the curve is measured on the probabilities as reported.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        When bins are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.measured import isotonic
    >>> isotonic(np.array([0.2, 0.4, 0.8]), np.array([1.0, 0, 2]), np.array([2.0, 2, 2])).measured
    array([0.25, 0.25, 1.  ])
    """
    if bins is not None:
        raise InputError(
            "bins: isotonic regression finds its own; choose another estimator to set them, such as"
            " measured='equal-population' (--measured equal-population)."
        )
    blocks = isotonic_regression(happened / total, weights=total).blocks
    sizes = np.diff(blocks)
    bin_ = np.repeat(np.arange(sizes.size), sizes)
    # From the counts again: the regression's own averages carry rounding that depends on its pooling order.
    return _frequencies(happened, total, _joined_where_equal(bin_, happened, total))


def _joined_where_equal(bin_: Ints, happened: Floats, total: Floats) -> Ints:
    """Join neighbouring blocks whose frequencies rounding has told apart or put out of order."""
    while bin_.size:
        frequency = np.bincount(bin_, happened) / np.bincount(bin_, total)
        keep = np.append(True, frequency[1:] > frequency[:-1] * (1 + 1e-14))
        if keep.all():
            break
        bin_ = (np.cumsum(keep) - 1)[bin_]
    return bin_


def equal_population(
    reported: Floats, happened: Floats, total: Floats, bins: Bins = None, floor: float = 0.0
) -> Estimate:
    """Measure in bins that hold equally many of the probabilities given to what happened.

    The classifier paper's procedure ([CM] section 4), with what it leaves open settled. Three kinds of bin are set
    apart: [0, floor], always; [1 - floor, 1] if it holds more than its share; and any single value that does, with
    width floor around it. Ties are never split, every pair is in a bin, and a stretch without any correct-class
    probability between bins set apart is a bin of its own.

    Parameters
    ----------
    reported : array of shape (m,)
        Distinct reported probabilities in increasing order.
    happened, total : arrays of shape (m,)
        Weight of the pairs that happened, and of all pairs, at each.
    bins : int, optional
        How many bins B set the share 1/B; by default (2N)^(1/3) rounded up (Terrell and Scott 1985), N the total
        weight of what happened.
    floor : float
        Width of the bins set apart.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        For fewer than one bin.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.measured import equal_population
    >>> p = np.array([0.1, 0.2, 0.6, 0.7])
    >>> equal_population(p, np.array([0.0, 1, 1, 1]), np.array([2.0, 1, 1, 1]), bins=2).bin
    array([0, 0, 1, 1])
    """
    n = float(happened.sum())
    wanted = int(np.ceil(round((2 * n) ** (1 / 3), 9))) if bins is None else _checked_bins(bins)
    apart = _set_apart(reported, happened, n / wanted, floor)
    # Number what lies in bins set apart and between them, from the left: odd in such a bin, even between.
    stretch = np.zeros(reported.size, dtype=np.int64)
    inside = np.zeros(reported.size, dtype=bool)
    for low, high in apart:
        here = (reported >= low) & (reported <= high)
        inside |= here
        stretch += (reported >= low).astype(np.int64) + (reported > high)
    rest = float(happened[~inside].sum())
    group = _equal_groups(happened, inside, max(int(rest / (n / wanted) * _A_LITTLE_MORE + 0.5), 1))
    change = np.diff(stretch, prepend=stretch[:1]) != 0
    return _frequencies(happened, total, np.cumsum(change | _starts(reported, happened, group, stretch)))


def _set_apart(reported: Floats, happened: Floats, share: float, floor: float) -> list[tuple[float, float]]:
    """Intervals set apart as bins of their own, overlapping ones merged."""
    intervals = [(0.0, floor)]
    upper = reported >= 1 - floor
    if happened[upper].sum() > share * _A_LITTLE_MORE:
        intervals.append((1 - floor, 1.0))
    for value in reported[happened > share * _A_LITTLE_MORE]:
        intervals.append((value - floor / 2, value + floor / 2))
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


def equal_width(reported: Floats, happened: Floats, total: Floats, bins: Bins = None, floor: float = 0.0) -> Estimate:
    """Measure in bins of equal width, 0.01 by default as in [N17]'s discussion.

    Parameters
    ----------
    reported : array of shape (m,)
        Distinct reported probabilities in increasing order.
    happened, total : arrays of shape (m,)
        Weight of the pairs that happened, and of all pairs, at each.
    bins : int, default 100
        How many bins divide [0, 1]; each holds its lower edge, the last one both.
    floor : float
        Not used.

    Returns
    -------
    Estimate

    Raises
    ------
    InputError
        For fewer than one bin.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.measured import equal_width
    >>> equal_width(np.array([0.1, 0.12, 1.0]), np.array([0.0, 1, 1]), np.array([1.0, 1, 1]), bins=10).measured
    array([0.5, 0.5, 1. ])
    """
    number = 100 if bins is None else _checked_bins(bins)
    bin_ = np.floor(reported * number)
    # Compared with k / number, not multiplied alone: 0.29 * 100 is below 29.
    bin_ += (bin_ + 1) / number <= reported
    bin_ -= bin_ / number > reported
    bin_ = np.minimum(bin_, number - 1)
    return _frequencies(happened, total, np.unique(bin_, return_inverse=True)[1])


def _checked_bins(bins: int) -> int:
    if isinstance(bins, bool) or not isinstance(bins, int | np.integer) or not 1 <= bins < 2**53:
        raise InputError(f"bins: expected a whole number of at least 1, got {bins!r}.")
    return int(bins)


def _frequencies(happened: Floats, total: Floats, bin_: Ints) -> Estimate:
    return Estimate((np.bincount(bin_, happened) / np.bincount(bin_, total))[bin_], bin_)


ESTIMATORS: Mapping[str, Estimator] = MappingProxyType(
    {"isotonic": isotonic, "equal-population": equal_population, "equal-width": equal_width}
)
"""Estimators of the measured probability by name: (reported, happened, total, bins, floor) -> Estimate."""
