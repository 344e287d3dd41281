"""Estimators that smooth over the log-odds of the reported probabilities."""

from __future__ import annotations

import numpy as np

from ..._lib.elementary import logit
from ..._lib.errors import check_whole
from ..._lib.typing import Floats
from ...kernels.curves import frequencies, isotonic_bins, logistic_line, shrunk_isotonic_curve
from ...statistics.matrices import product
from ...tally.tables import Pairs
from .bins import equal_population
from .estimate import Estimate, checked_positive, estimator, with_ends_apart


@estimator("isotonic")
def isotonic(pairs: Pairs, *, floor: float = 0.0) -> Estimate:
    """Measure by isotonic regression: the best non-decreasing curve, with no bins to choose.

    The pool-adjacent-violators algorithm on tie-pooled pairs: CORP (Dimitriadis, Gneiting and Jordan, PNAS 2021).
    Its blocks of equal measured probability are the bins.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import isotonic
    >>> isotonic.measure(np.array([0.2, 0.4, 0.8]), np.array([1.0, 0, 2]), np.array([2.0, 2, 2])).measured
    array([0.25, 0.25, 1.  ])
    """
    bin_ = isotonic_bins(pairs.happened, pairs.total)
    return Estimate(frequencies(pairs.happened, pairs.total, bin_), bin_, {})


@estimator("logistic")
def logistic(pairs: Pairs, *, floor: float = 0.0) -> Estimate:
    """Measure by logistic recalibration: the log-odds of the measured are a line over those of the reported.

    Cox (1958): two numbers, the intercept and slope of a line, by maximum likelihood, which are in the ``settings`` of
    the result; the slope may be negative. Exact 0 and 1 are groups of their own. It is steady with few rows, and wrong
    where the truth is not a line, however many rows there are.

    Notes
    -----
    So that few rows, or rows that a line separates, have an answer, two pairs are added that happened as often as was
    reported, spread over the entries by their leverage: as much as the two numbers of the line are worth. To a
    constant forecast, whose line is its level alone, one is added.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import logistic
    >>> p = np.array([0.1, 0.5, 0.9])
    >>> logistic.measure(p, np.array([20.0, 50, 80]), np.array([100.0, 100, 100])).measured.round(3)
    array([0.199, 0.5  , 0.801])
    """
    measured = with_ends_apart(pairs, logistic_line)
    return Estimate(measured, equal_population.measure(*pairs, floor=floor).bin, _line(pairs.reported, measured))


def _line(reported: Floats, measured: Floats) -> dict[str, float]:
    """Give intercept and slope of the line that points of log-odds lie on, if there are two to tell."""
    inner = (reported > 0) & (reported < 1) & (measured > 0) & (measured < 1)  # what is next to 1 may be measured as 1
    x, y = logit(reported[inner]), logit(measured[inner])
    if x.size < 2 or x[0] == x[-1]:
        return {}
    slope = float((y[-1] - y[0]) / (x[-1] - x[0]))
    middle = np.abs(x).argmin()  # where the line is known best
    intercept = round(float(y[middle] - slope * x[middle]), 9) + 0.0  # of symmetric pairs 0, but for rounding
    return {"line_intercept": intercept, "line_slope": slope}


@estimator("shrunk-isotonic")
def shrunk_isotonic(pairs: Pairs, *, floor: float = 0.0) -> Estimate:
    """Measure by isotonic regression, shrunk towards logistic recalibration as far as the data do not speak against it.

    With few rows it is the line of `logistic`, which follows chance less; with many it is the curve of `isotonic`,
    which can have any shape that never falls. A line that falls is taken as level; exact 0 and 1 are left to the curve.

    Returns
    -------
    Estimate
        Its bins are the blocks of the isotonic regression.

    Notes
    -----
    Two shrinkages follow one another. A block whose rarer outcome was seen m times has the weight m / (m + 4)
    against the line: four pairs is the z^2 that makes Wilson's interval (Agresti and Coull 1998), and a block in which
    only one of the two outcomes was seen says little of how rare the other is. It does say something where the line
    expected the other E > 4 times: m is at least E - 4. Then the curve as a whole counts
    1 - chance / LR, or 0, as in Stein's rule (1956): LR is twice what it gains in log-likelihood over the line, and
    chance what it would gain if the line were the truth, 2w - w^2 for a block of weight w. Blocks are the degrees of
    freedom of isotonic regression (Meyer and Woodroofe 2000).

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import shrunk_isotonic
    >>> p = np.array([0.2, 0.4, 0.8])
    >>> shrunk_isotonic.measure(p, np.array([1.0, 0, 2]), np.array([2.0, 2, 2])).measured.round(3)
    array([0.213, 0.43 , 0.831])
    """
    measured, bin_, share = shrunk_isotonic_curve(*pairs)
    return Estimate(measured, bin_, {"share_of_isotonic": share})


@estimator("nearest-neighbors", neighbors=check_whole)
def nearest_neighbors(pairs: Pairs, *, neighbors: int | None = None, floor: float = 0.0) -> Estimate:
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
    wanted = int(np.ceil(np.sqrt(round(float(pairs.happened.sum()), 9)))) if neighbors is None else neighbors
    measured = with_ends_apart(pairs, lambda odds, some, all_: _among_neighbors(odds, some, all_, max(wanted, 1)))
    return Estimate(measured, equal_population.measure(*pairs, floor=floor).bin, {"neighbors": wanted})


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
    return np.asarray(np.clip(some / all_, 0, 1))


_STEPS, _MOST_PLACES = 8, 1 << 16
"""Places of the grid in a bandwidth, and at most in all."""

_REACH = 6
"""Bandwidths beyond which the kernel is taken as 0: its weight there is 1e-8."""

_NARROWEST, _WIDEST = 1e-9, 1e4
"""Bandwidths, as shares of the range of the log-odds, up to which each value is alone, and from which all are alike."""


@estimator("kernel", bandwidth=checked_positive)
def kernel(pairs: Pairs, *, bandwidth: float | None = None, floor: float = 0.0) -> Estimate:
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

    measured = with_ends_apart(pairs, curve)
    bin_ = equal_population.measure(*pairs, floor=floor).bin
    return Estimate(measured, bin_, {"bandwidth": bandwidth or 0.0})


def _silverman(odds: Floats, weight: Floats) -> float:
    n = float(weight.sum())
    mean = product(weight, odds) / n
    deviation = np.sqrt(product(weight, (odds - mean) ** 2) / n)
    lower, upper = np.interp([0.25, 0.75], (np.cumsum(weight) - weight / 2) / n, odds)
    between = (upper - lower) / 1.34
    # Where most predictions are the same, the middle half spans nothing, or their rounding.
    return float(0.9 * n**-0.2 * (min(deviation, between) if between > 0.1 * deviation else deviation))


def _smoothed(odds: Floats, happened: Floats, total: Floats, bandwidth: float) -> Floats:
    """Spread counts over the two nearest places of a grid, smooth them there, and divide what is read back."""
    reach = odds[-1] - odds[0]
    if bandwidth <= _NARROWEST * reach or reach == 0:
        return happened / total
    if bandwidth > _WIDEST * reach:  # all weights are 1 to eight digits
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
        spread = gaussian_filter1d(on_grid, width, mode="constant", radius=min(int(_REACH * width) + 1, places))
        smooth.append(spread[left] * (1 - right_share) + spread[left + 1] * right_share)
    return np.asarray(np.clip(smooth[0] / smooth[1], 0, 1))
