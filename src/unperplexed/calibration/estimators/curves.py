"""Estimators that take the order of the reported probabilities, or their log-odds, for what matters.

Isotonic regression bends wherever the data do, logistic recalibration nowhere, and the third lies between the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._lib.typing import Floats, Ints
from ...kernels.isotonic import isotonic_blocks, isotonic_means, shrunk_isotonic_samples
from ...statistics.elementary import expit, logit, xlog1py, xlogy
from .bins import equal_population
from .estimate import Estimate, estimator, frequencies, with_ends_apart


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
    bin_ = isotonic_blocks(happened / total, total)
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


@estimator("logistic")
def logistic(reported: Floats, happened: Floats, total: Floats, *, floor: float = 0.0) -> Estimate:
    """Measure by logistic recalibration: the log-odds of the measured are a line over those of the reported.

    Cox (1958): two numbers, calibration intercept and slope, by maximum likelihood, which are in the ``settings`` of
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
    measured = with_ends_apart(reported, happened, total, _recalibrated)
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
    return {"calibration_intercept": intercept, "calibration_slope": slope}


def _recalibrated(odds: Floats, happened: Floats, total: Floats, rising: bool = False) -> Floats:
    """Logistic regression on log-odds, which are its offset too, so that 0 and 0 mean as reported.

    Counts may be those of several samples, along the axes before the last. If only rising lines are wanted, the level
    one is given where the best one falls.
    """
    reported = expit(odds)
    weight = total * expit(-np.abs(odds)) * expit(np.abs(odds))
    weight = np.where(
        weight.any(axis=-1, keepdims=True), weight, 1.0
    )  # all may be so near 0 or 1 that the product is 0
    weight = weight / _sum(weight)
    centre = _sum(weight * odds)
    spread = np.sqrt(_sum(weight * (odds - centre) ** 2))
    place = np.where(spread > 1e-9 * (1 + np.abs(odds).max()), (odds - centre) / np.maximum(spread, 1e-300), 0.0)
    added = weight * (1 + place * place)
    happened, total = happened + added * reported, total + added
    # Samples begin with the line of all together, which is near that of each.
    start = (0.0, 0.0) if happened.ndim == 1 else _fitted(odds, odds, happened.mean(axis=0), total.mean(axis=0))
    level, slope = _fitted(odds, place, happened, total, start[0] + start[1] * centre, start[1] * spread)
    line = expit(odds + level + slope * place)
    if rising:
        falls = slope < -spread  # beside the offset's slope of 1, over places that are in units of the spread
        return np.where(falls, _sum(happened) / _sum(total), line)
    return np.asarray(line)


def _fitted(
    odds: Floats, place: Floats, happened: Floats, total: Floats, level: Any = 0.0, slope: Any = 0.0
) -> tuple[Floats, Floats]:
    """Level and slope over the places that are to be added to the odds, by Newton's method."""
    line = odds + level + slope * place
    loss = None
    for _ in range(100):
        rise, turn = _newton_step(place, happened, total, expit(line))
        change = np.abs(rise + turn * place).max()
        if change <= _SAFE:  # curvatures change by less than twice: the loss must fall
            level, slope, loss = level + rise, slope + turn, None
            if change < _SAME:
                break
            line = odds + level + slope * place
            continue
        loss = _loss(line, happened, total) if loss is None else loss
        size = np.ones_like(loss)
        while True:
            line = odds + (level + size * rise) + (slope + size * turn) * place
            new = _loss(line, happened, total)
            worse = new > loss + 1e-13 * np.abs(loss)
            if not worse.any() or size.min() < 1e-12:
                break
            size = np.where(worse, size / 2, size)
        level, slope, gained, loss = level + size * rise, slope + size * turn, loss - new, np.minimum(new, loss)
        if (gained <= 1e-13 * np.abs(loss)).all():
            break
    return level, slope


_SAFE, _SAME = 0.5, 1e-7
"""Steps in log-odds that take a curve nearer in any case, and that leave it where it is: the next is their square."""

_FARTHEST = 100.0
"""A step of so much in log-odds goes from any number to 0 or 1; where curvature vanishes, steps would be infinite."""


def _newton_step(place: Floats, happened: Floats, total: Floats, now: Floats) -> tuple[Floats, Floats]:
    """How far level and slope are to go, by the gradient and the curvature of the likelihood."""
    residual, curvature = happened - total * now, total * now * (1 - now)
    up, around = _sum(residual), _sum(residual * place)
    a, b, c = _sum(curvature), _sum(curvature * place), _sum(curvature * place * place)
    determinant = a * c - b * b
    both = determinant > 1e-14 * a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = np.where(both, (c * up - b * around) / determinant, np.where(a > 0, up / a, 0.0))
        turn = np.where(both, (a * around - b * up) / determinant, 0.0)
    return np.clip(rise, -_FARTHEST, _FARTHEST), np.clip(turn, -_FARTHEST, _FARTHEST)


def _sum(x: Floats) -> Floats:
    return np.asarray(x.sum(axis=-1, keepdims=True))


def _loss(odds: Floats, happened: Floats, total: Floats) -> Floats:
    return _sum(total * (np.maximum(odds, 0) + np.log1p(np.exp(-np.abs(odds)))) - happened * odds)


_SHRINKAGE = 4.0


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
    line = _rising_line(reported, happened, total)
    measured, bin_, share = _bent(reported, happened, total, line)
    return Estimate(measured, bin_, {"share_of_isotonic": share})


def isotonic_of_samples(happened: Floats, total: Floats) -> Floats:
    """Measure samples of the same entries, one a row, as `isotonic` does; NaN where a sample has no pairs."""
    some = total > 0
    h, t = happened[some], total[some]
    block = _blocks_of_samples(np.nonzero(some)[0], h, t)
    measured = np.full(happened.shape, np.nan)
    measured[some] = frequencies(h, t, block)
    return measured


def _blocks_of_samples(sample: Ints, happened: Floats, total: Floats) -> Ints:
    """Blocks of the isotonic regressions of many samples, whose entries follow one another, in a single pass."""
    # Frequencies of one sample lie above all those of the one before, so that no block holds both.
    bin_ = isotonic_blocks(happened / total + 2.0 * sample, total)
    while bin_.size:
        frequency = np.bincount(bin_, happened) / np.bincount(bin_, total)
        of = sample[np.flatnonzero(np.diff(bin_, prepend=-1))]
        keep = np.append(True, (frequency[1:] > frequency[:-1] * (1 + 1e-14)) | (of[1:] != of[:-1]))
        if keep.all():
            break
        bin_ = (np.cumsum(keep) - 1)[bin_]
    return bin_


def shrunk_isotonic_of_samples(reported: Floats, happened: Floats, total: Floats) -> Floats:
    """Measure samples of the same entries, one a row, as `shrunk_isotonic` does; NaN where a sample has no pairs."""
    measured = shrunk_isotonic_samples(reported, happened, total)
    return _shrunk_isotonic_of_samples(reported, happened, total) if measured is None else measured


def _shrunk_isotonic_of_samples(reported: Floats, happened: Floats, total: Floats) -> Floats:
    some = total > 0
    sample, at = np.nonzero(some)
    line = _rising_line(reported, happened, total)[some]
    h, t = happened[some], total[some]
    between = ((reported > 0) & (reported < 1))[at]
    block = _blocks_of_samples(sample, h, t)
    of_block = sample[np.flatnonzero(np.diff(block, prepend=-1))]
    curve = frequencies(h, t, block)
    weight = _weights_of_blocks(block, line, h, t)
    bent = line + weight[block] * (curve - line)
    inner = h[between], t[between]
    gained = _log_likelihoods(bent[between], *inner) - _log_likelihoods(line[between], *inner)
    gain = np.bincount(sample[between], gained, len(total))
    chance = np.bincount(of_block, weight * (2 - weight), len(total))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(gain > 0, np.maximum(1 - chance / (2 * gain), 0.0), 0.0)
    found = np.where(between, line + share[sample] * (bent - line), curve)
    measured = np.full(happened.shape, np.nan)
    measured[some] = np.clip(frequencies(found * t, t, _blocks_of_samples(sample, found * t, t)), 0, 1)
    return measured


def _rising_line(reported: Floats, happened: Floats, total: Floats) -> Floats:
    """Logistic recalibration that does not fall, of what lies between 0 and 1; the rest as reported."""
    between = (reported > 0) & (reported < 1)
    line = np.broadcast_to(reported, happened.shape).copy()
    if between.any():
        counts = happened[..., between], total[..., between]
        line[..., between] = _recalibrated(logit(reported[between]), *counts, rising=True)
    return line


def _bent(reported: Floats, happened: Floats, total: Floats, line: Floats) -> tuple[Floats, Ints, float]:
    """Bend the line towards the isotonic regression: the curve, its blocks, and how much the latter counts."""
    blocks = isotonic.measure(reported, happened, total)
    between = (reported > 0) & (reported < 1)
    share = 1.0
    if between.any():
        weight = _weights_of_blocks(blocks.bin, line, happened, total)
        bent = line + weight[blocks.bin] * (blocks.measured - line)
        counts = happened[between], total[between]
        gain = _log_likelihood(bent[between], *counts) - _log_likelihood(line[between], *counts)
        chance = float((weight * (2 - weight)).sum())
        share = max(1 - chance / (2 * gain), 0.0) if gain > 0 else 0.0
        line = line + share * (bent - line)
    found = np.where(between, line, blocks.measured)
    # Line and blocks never fall, but from block to block the weight between them changes.
    measured = np.clip(isotonic_means(found, total), 0, 1)
    return measured, blocks.bin, share


def _weights_of_blocks(bin_: Ints, line: Floats, happened: Floats, total: Floats) -> Floats:
    """How much each block counts against the line: by how often its rarer outcome was seen, or was to be seen."""
    n, seen, expected = (np.bincount(bin_, x) for x in (total, happened, total * line))
    rarer, awaited = np.minimum(seen, n - seen), np.minimum(expected, n - expected)
    counted = np.maximum(rarer, awaited - _SHRINKAGE)
    return np.asarray(counted / (counted + _SHRINKAGE))


def _log_likelihood(measured: Floats, happened: Floats, total: Floats) -> float:
    return float(_log_likelihoods(measured, happened, total).sum())


def _log_likelihoods(measured: Floats, happened: Floats, total: Floats) -> Floats:
    return np.asarray(xlogy(happened, measured) + xlog1py(total - happened, -measured))
