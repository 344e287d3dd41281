"""Estimators that smooth over the log-odds of the reported probabilities."""

from __future__ import annotations

import numpy as np

from ..._lib.errors import check_whole
from ..._lib.typing import Floats
from .bins import equal_population
from .estimate import Estimate, checked_positive, estimator, with_ends_apart


@estimator("nearest-neighbors", neighbors=check_whole)
def nearest_neighbors(
    reported: Floats, happened: Floats, total: Floats, *, neighbors: int | None = None, floor: float = 0.0
) -> Estimate:
    """Measure among the nearest neighbours in log-odds ([N17]).

    For each probability, the pairs within the smallest distance that holds so many correct-class probabilities: their
    number decides how well a measured probability is known. Exact 0 and 1 are groups of their own.

    Parameters
    ----------
    neighbors : int, optional
        How many correct-class probabilities; by default the square root of their number, rounded up (Silverman 1986,
        section 5.2).

    Raises
    ------
    InputError
        For fewer than one neighbour.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import nearest_neighbors
    >>> p = np.array([0.1, 0.2, 0.8, 0.9])
    >>> nearest_neighbors(neighbors=2).measure(p, np.array([1.0, 1, 3, 3]), np.full(4, 4.0)).measured
    array([0.25, 0.25, 0.75, 0.75])
    """
    wanted = int(np.ceil(np.sqrt(round(float(happened.sum()), 9)))) if neighbors is None else neighbors
    measured = with_ends_apart(
        reported, happened, total, lambda odds, some, all_: _among_neighbors(odds, some, all_, max(wanted, 1))
    )
    return Estimate(
        measured, equal_population.measure(reported, happened, total, floor=floor).bin, {"neighbors": wanted}
    )


def _among_neighbors(odds: Floats, happened: Floats, total: Floats, wanted: int) -> Floats:
    seen = happened > 0
    if not seen.any():
        return np.zeros(odds.size)
    of_seen, sums = odds[seen], np.concatenate([[0.0], np.cumsum(happened[seen])])
    # Windows that hold as many as wanted: from each place to the first that completes them.
    last = np.searchsorted(sums, sums[:-1] + wanted * (1 - 1e-9)) - 1
    first = np.flatnonzero(last < of_seen.size)
    if not first.size:
        return np.full(odds.size, happened.sum() / total.sum())
    low, high = of_seen[first], of_seen[last[first]]
    # Ends move up together, so the nearest window lies where their middle passes the entry.
    at = np.searchsorted(low + high, 2 * odds)
    beside = np.stack([np.maximum(at - 1, 0), np.minimum(at, first.size - 1)])
    reach = np.maximum(odds - low[beside], high[beside] - odds).min(axis=0) * (1 + 1e-12) + 1e-12
    start, stop = np.searchsorted(odds, odds - reach), np.searchsorted(odds, odds + reach, side="right")
    within = [np.concatenate([[0.0], np.cumsum(x)]) for x in (happened, total)]
    some, all_ = (x[stop] - x[start] for x in within)
    found: Floats = np.clip(some / all_, 0, 1)
    return found


_STEPS, _MOST_PLACES = 8, 1 << 16
"""Places of the grid in a bandwidth, and at most in all."""


@estimator("kernel", bandwidth=checked_positive)
def kernel(
    reported: Floats, happened: Floats, total: Floats, *, bandwidth: float | None = None, floor: float = 0.0
) -> Estimate:
    """Measure by a Gaussian kernel in log-odds ([N17]): the weighted observed frequency nearby.

    Nadaraya-Watson regression (1964), on a grid of at most 65,536 places, so that its cost does not grow with the
    number of pairs. Exact 0 and 1 are groups of their own.

    Parameters
    ----------
    bandwidth : float, optional
        Standard deviation of the kernel, in log-odds; by default Silverman's rule (1986, eq. 3.31) for the N
        correct-class probabilities: 0.9 N^(-1/5) times the smaller of standard deviation and interquartile range/1.34
        (the former alone where the latter is less than a tenth of it).

    Raises
    ------
    InputError
        For a bandwidth that is not above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import kernel
    >>> p = np.array([0.2, 0.25, 0.8])
    >>> kernel(bandwidth=0.2).measure(p, np.array([1.0, 1, 3]), np.array([4.0, 6, 4])).measured.round(3)
    array([0.221, 0.183, 0.75 ])
    """

    def curve(odds: Floats, happened: Floats, total: Floats) -> Floats:
        nonlocal bandwidth
        if not happened.any():
            return np.zeros(odds.size)
        bandwidth = _silverman(odds, happened) if bandwidth is None else bandwidth
        return _smoothed(odds, happened, total, bandwidth)

    measured = with_ends_apart(reported, happened, total, curve)
    bin_ = equal_population.measure(reported, happened, total, floor=floor).bin
    return Estimate(measured, bin_, {"bandwidth": bandwidth or 0.0})


def _silverman(odds: Floats, weight: Floats) -> float:
    n = float(weight.sum())
    mean = weight @ odds / n
    deviation = np.sqrt(weight @ (odds - mean) ** 2 / n)
    lower, upper = np.interp([0.25, 0.75], (np.cumsum(weight) - weight / 2) / n, odds)
    between = (upper - lower) / 1.34
    # Where most predictions are the same, the middle half spans nothing, or their rounding.
    return float(0.9 * n**-0.2 * (min(deviation, between) if between > 0.1 * deviation else deviation))


def _smoothed(odds: Floats, happened: Floats, total: Floats, bandwidth: float) -> Floats:
    """Spread counts over the two nearest places of a grid, smooth them there, and divide what is read back."""
    reach = odds[-1] - odds[0]
    if bandwidth <= 1e-9 * reach or reach == 0:
        return happened / total
    if bandwidth > 1e4 * reach:  # all weights are 1 to eight digits
        return np.full(odds.size, happened.sum() / total.sum())
    places = int(min(np.ceil(reach / bandwidth * _STEPS), _MOST_PLACES)) + 1
    position = (odds - odds[0]) * ((places - 1) / reach)
    left = np.minimum(position.astype(np.int64), places - 2)
    from scipy.ndimage import gaussian_filter1d

    right_share = position - left
    smooth = []
    for counts in (happened, total):
        on_grid = np.bincount(left, counts * (1 - right_share), places) + np.bincount(
            left + 1, counts * right_share, places
        )
        width = bandwidth / reach * (places - 1)
        spread = gaussian_filter1d(on_grid, width, mode="constant", radius=min(int(6 * width) + 1, places))
        smooth.append(spread[left] * (1 - right_share) + spread[left + 1] * right_share)
    found: Floats = np.clip(smooth[0] / smooth[1], 0, 1)
    return found
