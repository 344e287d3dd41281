"""Curves of observed frequencies over predicted probabilities: logistic recalibration, and shrunk isotonic regression.

``calibration/estimators/smooth.py`` explains both. The compiled kernel fits many samples at once, else NumPy does.
"""

from __future__ import annotations

import numpy as np

from .._lib.arrays import run_starts
from .._lib.elementary import expit, logit, xlog1py, xlogy
from .._lib.typing import Floats, Ints
from .compiled import kernel as _kernel


def logistic_line(odds: Floats, happened: Floats, total: Floats, rising: bool = False) -> Floats:
    """Logistic regression on log-odds, which are its offset too, so that 0 and 0 mean as reported.

    Counts may be those of several samples, along the axes before the last. If only rising lines are wanted, the level
    one is given where the best one falls.

    Parameters
    ----------
    odds : ndarray of shape (k,)
        Log-odds, finite.
    happened, total : ndarray of shape (..., k)
        Weight of the pairs that happened, and of all, at each of the log-odds.
    rising : bool, default False
        Whether only lines that do not fall are wanted.

    Returns
    -------
    ndarray of shape (..., k)
        Recalibrated probabilities.
    """
    reported = expit(odds)
    weight = total * expit(-np.abs(odds)) * expit(np.abs(odds))
    weight += ~weight.any(axis=-1, keepdims=True)  # all may be so near 0 or 1 that the product is 0
    weight = weight / _sum(weight)
    centre = _sum(weight * odds)
    spread = np.sqrt(_sum(weight * (odds - centre) ** 2))
    spreads = spread > _ALIKE * (1 + np.abs(odds).max())
    place = np.divide(odds - centre, spread, out=np.zeros_like(weight), where=spreads)
    added = weight * (1 + place * place)
    happened, total = happened + added * reported, total + added
    start = np.zeros(2)
    if happened.ndim > 1:  # samples begin with the line of all together, which is near that of each
        start = np.array(_fitted(odds, odds, happened.mean(axis=0), total.mean(axis=0), *start))
    level, slope = _fitted(odds, place, happened, total, start[0] + start[1] * centre, start[1] * spread)
    line = expit(odds + level + slope * place)
    if rising:
        falls = slope < -spread  # beside the offset's slope of 1, over places that are in units of the spread
        return np.where(falls, _sum(happened) / _sum(total), line)
    return np.asarray(line)


def _fitted(
    odds: Floats, place: Floats, happened: Floats, total: Floats, level: Floats, slope: Floats
) -> tuple[Floats, Floats]:
    """Level and slope over the places that are to be added to the odds, by Newton's method."""
    line, loss = odds + level + slope * place, None
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
        size, slack = np.ones_like(loss), _SLACK * loss
        while True:
            line = odds + (level + size * rise) + (slope + size * turn) * place
            new = _loss(line, happened, total)
            worse = new > loss + slack
            if not worse.any() or size.min() < _SHORTEST:
                break
            size = np.where(worse, size / 2, size)
        level, slope, gained, loss = level + size * rise, slope + size * turn, loss - new, np.minimum(new, loss)
        if (gained <= slack).all():
            break
    return level, slope


_SLACK, _SHORTEST = 1e-13, 1e-12
"""Relative rise of the loss that rounding may make, and part of a step below which none is shortened."""

_ALIKE, _DEGENERATE = 1e-9, 1e-14
"""Log-odds whose relative spread is no more are one, and determinants that are a smaller part of the product are 0."""

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
    both = determinant > _DEGENERATE * a * c
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rise = np.where(both, (c * up - b * around) / determinant, up / np.maximum(a, np.finfo(float).tiny))
        turn = np.divide(a * around - b * up, determinant, out=np.zeros_like(a), where=both)
    return np.clip(rise, -_FARTHEST, _FARTHEST), np.clip(turn, -_FARTHEST, _FARTHEST)


def _sum(x: Floats) -> Floats:
    return np.asarray(x.sum(axis=-1, keepdims=True))


def _loss(odds: Floats, happened: Floats, total: Floats) -> Floats:
    return _sum(total * (np.maximum(odds, 0) + np.log1p(np.exp(-np.abs(odds)))) - happened * odds)


_SHRINKAGE = 4.0


def shrunk_isotonic_curve(reported: Floats, happened: Floats, total: Floats) -> tuple[Floats, Ints, float]:
    """Return the logistic line bent towards the isotonic regression, the blocks of this, and how much it counts."""
    line = _rising_line(reported, happened, total)
    bin_ = isotonic_bins(happened, total)
    blocks = frequencies(happened, total, bin_)
    between = (reported > 0) & (reported < 1)
    share = 1.0
    if between.any():
        weight = _weights_of_blocks(bin_, line, happened, total)
        bent = line + weight[bin_] * (blocks - line)
        counts = happened[between], total[between]
        now, before = (float(_log_likelihoods(each[between], *counts).sum()) for each in (bent, line))
        gain = now - before
        chance = float((weight * (2 - weight)).sum())
        share = max(1 - chance / (2 * gain), 0.0) if gain > 0 else 0.0
        line = line + share * (bent - line)
    found = np.where(between, line, blocks)
    # Line and blocks never fall, but from block to block the weight between them changes.
    measured = np.clip(isotonic_means(found, total), 0, 1)
    return measured, bin_, share


def shrunk_isotonic_of_samples(reported: Floats, happened: Floats, total: Floats) -> Floats:
    """Return the curve of each sample of the same entries, one a row; NaN where a sample has no pairs."""
    if _kernel is None:
        return _shrunk_isotonic_of_samples(reported, happened, total)
    measured = np.empty(happened.shape)
    _kernel.shrunk_isotonic(*(np.ascontiguousarray(x, dtype=np.float64) for x in (reported, happened, total)), measured)
    return measured


def _shrunk_isotonic_of_samples(reported: Floats, happened: Floats, total: Floats) -> Floats:
    some = total > 0
    sample, at = np.nonzero(some)
    line = _rising_line(reported, happened, total)[some]
    h, t = happened[some], total[some]
    between = ((reported > 0) & (reported < 1))[at]
    block = isotonic_bins(h, t, sample)
    of_block = sample[run_starts(block)]
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
    measured[some] = np.clip(frequencies(found * t, t, isotonic_bins(found * t, t, sample)), 0, 1)
    return measured


def _rising_line(reported: Floats, happened: Floats, total: Floats) -> Floats:
    """Logistic recalibration that does not fall, of what lies between 0 and 1; the rest as reported."""
    between = (reported > 0) & (reported < 1)
    line = np.broadcast_to(reported, happened.shape).copy()
    if between.any():
        counts = happened[..., between], total[..., between]
        line[..., between] = logistic_line(logit(reported[between]), *counts, rising=True)
    return line


def _weights_of_blocks(bin_: Ints, line: Floats, happened: Floats, total: Floats) -> Floats:
    """How much each block counts against the line: by how often its rarer outcome was seen, or was to be seen."""
    n, seen, expected = (np.bincount(bin_, x) for x in (total, happened, total * line))
    rarer, awaited = np.minimum(seen, n - seen), np.minimum(expected, n - expected)
    counted = np.maximum(rarer, awaited - _SHRINKAGE)
    return np.asarray(counted / (counted + _SHRINKAGE))


def _log_likelihoods(measured: Floats, happened: Floats, total: Floats) -> Floats:
    return np.asarray(xlogy(happened, measured) + xlog1py(total - happened, -measured))


def isotonic_blocks(values: Floats, weights: Floats) -> Ints:
    """Return which block of the isotonic regression each value is in: pool-adjacent-violators.

    Values that differ by rounding alone may be in one block or in several.
    """
    if _kernel is not None:
        block = np.empty(values.size, dtype=np.int64)
        _kernel.isotonic_blocks(np.ascontiguousarray(values), np.ascontiguousarray(weights), block)
        return block
    from scipy.optimize import isotonic_regression

    sizes = np.diff(isotonic_regression(values, weights=weights).blocks)
    return np.repeat(np.arange(sizes.size), sizes)


def isotonic_means(values: Floats, weights: Floats) -> Floats:
    """Return the isotonic regression: the best non-decreasing values."""
    block = isotonic_blocks(values, weights)
    means = np.bincount(block, values * weights) / np.bincount(block, weights)
    return np.asarray(np.maximum.accumulate(means)[block])


_EQUAL = 1e-14
"""Frequencies of blocks that differ by no more, relatively, are equal but for rounding."""


def isotonic_bins(happened: Floats, total: Floats, sample: Ints | None = None) -> Ints:
    """Return which block of the isotonic regression of frequencies each entry is in; no two blocks have the same.

    Entries may be those of several samples that follow one another; then ``sample`` numbers these from 0.
    """
    # Frequencies of one sample are put above all those of the one before, so that no block holds both.
    bin_ = isotonic_blocks(happened / total if sample is None else happened / total + 2.0 * sample, total)
    while bin_.size:
        # From the counts again: the regression's own averages carry rounding that depends on its pooling order.
        frequency = np.bincount(bin_, happened) / np.bincount(bin_, total)
        keep = frequency[1:] > frequency[:-1] * (1 + _EQUAL)
        if sample is not None:
            of = sample[run_starts(bin_)]
            keep |= of[1:] != of[:-1]
        if keep.all():
            break
        bin_ = np.append(0, np.cumsum(keep))[bin_]
    return bin_


def frequencies(happened: Floats, total: Floats, bin_: Ints) -> Floats:
    """Return how often the events of each entry's bin happened."""
    return np.asarray((np.bincount(bin_, happened) / np.bincount(bin_, total))[bin_])


def isotonic_of_samples(happened: Floats, total: Floats) -> Floats:
    """Return the isotonic regression of each sample, one a row; NaN where a sample has no pairs."""
    some = total > 0
    h, t = happened[some], total[some]
    measured = np.full(happened.shape, np.nan)
    measured[some] = frequencies(h, t, isotonic_bins(h, t, np.nonzero(some)[0]))
    return measured
