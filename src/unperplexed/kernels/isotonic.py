"""Isotonic regression, by the compiled kernel where it is there, else by SciPy."""

from __future__ import annotations

import numpy as np

from .._lib.arrays import run_starts
from .._lib.typing import Floats, Ints
from .compiled import kernel as _kernel


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


def isotonic_bins(happened: Floats, total: Floats, sample: Ints | None = None) -> Ints:
    """Return which block of the isotonic regression of frequencies each entry is in; no two blocks have the same.

    Entries may be those of several samples that follow one another; then ``sample`` numbers these from 0.
    """
    # Frequencies of one sample are put above all those of the one before, so that no block holds both.
    bin_ = isotonic_blocks(happened / total if sample is None else happened / total + 2.0 * sample, total)
    while bin_.size:
        # From the counts again: the regression's own averages carry rounding that depends on its pooling order.
        frequency = np.bincount(bin_, happened) / np.bincount(bin_, total)
        keep = frequency[1:] > frequency[:-1] * (1 + 1e-14)
        if sample is not None:
            of = sample[run_starts(bin_)]
            keep |= of[1:] != of[:-1]
        if keep.all():
            break
        bin_ = np.append(0, np.cumsum(keep))[bin_]
    return bin_


def frequencies(happened: Floats, total: Floats, bin_: Ints) -> Floats:
    """Return how often the events of each entry's bin happened."""
    found: Floats = (np.bincount(bin_, happened) / np.bincount(bin_, total))[bin_]
    return found


def isotonic_of_samples(happened: Floats, total: Floats) -> Floats:
    """Return the isotonic regression of each sample, one a row; NaN where a sample has no pairs."""
    some = total > 0
    h, t = happened[some], total[some]
    measured = np.full(happened.shape, np.nan)
    measured[some] = frequencies(h, t, isotonic_bins(h, t, np.nonzero(some)[0]))
    return measured
