"""Estimators that take the order of the reported probabilities, or their log-odds, for what matters.

Isotonic regression bends wherever the data do, logistic recalibration nowhere, and the third lies between the two.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import expit, logit, xlog1py, xlogy

from .._typing import Floats, Ints
from ._bins import equal_population
from ._estimate import Estimate, frequencies, with_ends_apart


def isotonic(reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
    """Measure by isotonic regression: the best non-decreasing curve, with no bins to choose.

    The pool-adjacent-violators algorithm on tie-pooled pairs: CORP (Dimitriadis, Gneiting and Jordan, PNAS 2021).
    Its blocks of equal measured probability are the bins.

    Parameters
    ----------
    reported : array of shape (m,)
        Distinct reported probabilities in increasing order.
    happened, total : arrays of shape (m,)
        Weight of the pairs that happened, and of all pairs, at each.
    floor : float
        Not used: the curve is measured on the probabilities as reported.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.measured import isotonic
    >>> isotonic(np.array([0.2, 0.4, 0.8]), np.array([1.0, 0, 2]), np.array([2.0, 2, 2])).measured
    array([0.25, 0.25, 1.  ])
    """
    blocks = isotonic_regression(happened / total, weights=total).blocks
    sizes = np.diff(blocks)
    bin_ = np.repeat(np.arange(sizes.size), sizes)
    # From the counts again: the regression's own averages carry rounding that depends on its pooling order.
    bin_ = _joined_where_equal(bin_, happened, total)
    return Estimate(frequencies(happened, total, bin_), bin_, {})


def _joined_where_equal(bin_: Ints, happened: Floats, total: Floats) -> Ints:
    """Join neighbouring blocks whose frequencies rounding has told apart or put out of order."""
    while bin_.size:
        frequency = np.bincount(bin_, happened) / np.bincount(bin_, total)
        keep = np.append(True, frequency[1:] > frequency[:-1] * (1 + 1e-14))
        if keep.all():
            break
        bin_ = (np.cumsum(keep) - 1)[bin_]
    return bin_


def logistic(reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
    """Measure by logistic recalibration: the log-odds of the measured are a line over those of the reported.

    Cox (1958): two numbers, level and slope, by maximum likelihood; the slope may be negative. Exact 0 and 1 are groups
    of their own. It is steady with few rows, and wrong where the truth is not a line, however many rows there are.

    Parameters
    ----------
    reported : array of shape (m,)
        Distinct reported probabilities in increasing order.
    happened, total : arrays of shape (m,)
        Weight of the pairs that happened, and of all pairs, at each.
    floor : float
        Not used, but for the bins that the result is read in, those of `equal_population`.

    Returns
    -------
    Estimate

    Notes
    -----
    So that few rows, or rows that a line separates, have an answer, two pairs are added that happened as often as was
    reported, spread over the entries by their leverage: as much as the two numbers of the line are worth. To a
    constant forecast, whose line is its level alone, one is added.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.measured import logistic
    >>> p = np.array([0.1, 0.5, 0.9])
    >>> logistic(p, np.array([20.0, 50, 80]), np.array([100.0, 100, 100])).measured.round(3)
    array([0.199, 0.5  , 0.801])
    """
    measured = with_ends_apart(reported, happened, total, _recalibrated)
    return Estimate(measured, equal_population(reported, happened, total, floor=floor).bin, {})


def _recalibrated(odds: Floats, happened: Floats, total: Floats, rising: bool = False) -> Floats:
    """Logistic regression on log-odds, which are its offset too, so that 0 and 0 mean as reported.

    If only rising lines are wanted, the level one is given where the best one falls.
    """
    reported = expit(odds)
    weight = total * expit(-np.abs(odds)) * expit(np.abs(odds))
    if not weight.any():  # all so near 0 or 1 that the product is 0
        weight = np.ones_like(odds)
    weight = weight / weight.sum()
    place = odds - weight @ odds
    spread = np.sqrt(weight @ (place * place))
    place = place / spread if spread > 1e-9 * (1 + np.abs(odds).max()) else np.zeros_like(odds)
    added = weight * (1 + place * place)
    happened, total = happened + added * reported, total + added
    level, slope = 0.0, 0.0
    loss = _loss(odds, happened, total)
    for _ in range(100):
        now = expit(odds + level + slope * place)
        residual, curvature = happened - total * now, total * now * (1 - now)
        gradient = np.array([residual.sum(), residual @ place])
        first, second = curvature @ place, curvature @ (place * place)
        hessian = np.array([[curvature.sum(), first], [first, second]])
        step = np.linalg.lstsq(hessian, gradient)[0]
        size = 1.0
        while (
            new := _loss(odds + (level + size * step[0]) + (slope + size * step[1]) * place, happened, total)
        ) > loss:
            size /= 2
            if size < 1e-12:
                break
        level, slope, gained, loss = level + size * step[0], slope + size * step[1], loss - new, min(new, loss)
        if gained <= 1e-13 * abs(loss):
            break
    if rising and slope < -spread:  # the slope beside the offset's 1, over places that are in units of the spread
        return np.full(odds.size, happened.sum() / total.sum())
    found: Floats = expit(odds + level + slope * place)
    return found


def _loss(odds: Floats, happened: Floats, total: Floats) -> float:
    return float(total @ np.logaddexp(0, odds) - happened @ odds)


_SHRINKAGE = 4.0


def shrunk_isotonic(reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
    """Measure by isotonic regression, shrunk towards logistic recalibration as far as the data do not speak against it.

    With few rows it is the line of `logistic`, which follows chance less; with many it is the curve of `isotonic`,
    which can have any shape that never falls. A line that falls is taken as level; exact 0 and 1 are left to the curve.

    Parameters
    ----------
    reported : array of shape (m,)
        Distinct reported probabilities in increasing order.
    happened, total : arrays of shape (m,)
        Weight of the pairs that happened, and of all pairs, at each.
    floor : float
        Not used.

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
    >>> from unperplexed.measured import shrunk_isotonic
    >>> p = np.array([0.2, 0.4, 0.8])
    >>> shrunk_isotonic(p, np.array([1.0, 0, 2]), np.array([2.0, 2, 2])).measured.round(3)
    array([0.213, 0.43 , 0.831])
    """
    blocks = isotonic(reported, happened, total)
    between = (reported > 0) & (reported < 1)
    line, share = reported.copy(), 1.0
    if between.any():
        line[between] = _recalibrated(logit(reported[between]), happened[between], total[between], rising=True)
        weight = _weights_of_blocks(blocks.bin, line, happened, total)
        bent = line + weight[blocks.bin] * (blocks.measured - line)
        counts = happened[between], total[between]
        gain = _log_likelihood(bent[between], *counts) - _log_likelihood(line[between], *counts)
        chance = float((weight * (2 - weight)).sum())
        share = max(1 - chance / (2 * gain), 0.0) if gain > 0 else 0.0
        line += share * (bent - line)
    found = np.where(between, line, blocks.measured)
    # Line and blocks never fall, but from block to block the weight between them changes.
    measured = np.clip(isotonic_regression(found, weights=total).x, 0, 1)
    return Estimate(measured, blocks.bin, {"share_of_isotonic": share})


def _weights_of_blocks(bin_: Ints, line: Floats, happened: Floats, total: Floats) -> Floats:
    """How much each block counts against the line: by how often its rarer outcome was seen, or was to be seen."""
    n, seen, expected = (np.bincount(bin_, x) for x in (total, happened, total * line))
    rarer, awaited = np.minimum(seen, n - seen), np.minimum(expected, n - expected)
    counted = np.maximum(rarer, awaited - _SHRINKAGE)
    return np.asarray(counted / (counted + _SHRINKAGE))


def _log_likelihood(measured: Floats, happened: Floats, total: Floats) -> float:
    return float((xlogy(happened, measured) + xlog1py(total - happened, -measured)).sum())
