"""Estimators that take the order of the reported probabilities, or their log-odds, for what matters.

Isotonic regression bends wherever the data do, logistic recalibration nowhere, and the third lies between the two. The
curves themselves are fitted in `kernels`.
"""

from __future__ import annotations

import numpy as np

from ..._lib.elementary import logit
from ..._lib.typing import Floats
from ...kernels.curves import logistic_line, shrunk_isotonic_curve
from ...kernels.isotonic import frequencies, isotonic_bins
from .bins import equal_population
from .estimate import Estimate, estimator, with_ends_apart


@estimator("isotonic")
def isotonic(reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
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
    bin_ = isotonic_bins(happened, total)
    return Estimate(frequencies(happened, total, bin_), bin_, {})


@estimator("logistic")
def logistic(reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
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
    measured = with_ends_apart(reported, happened, total, logistic_line)
    return Estimate(
        measured, equal_population.measure(reported, happened, total, floor=floor).bin, _line(reported, measured)
    )


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
def shrunk_isotonic(reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
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
    measured, bin_, share = shrunk_isotonic_curve(reported, happened, total)
    return Estimate(measured, bin_, {"share_of_isotonic": share})
