"""Isotonic regression, by the compiled kernel where it is there, else by SciPy."""

from __future__ import annotations

import numpy as np

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


def shrunk_isotonic_samples(reported: Floats, happened: Floats, total: Floats) -> Floats | None:
    """Return shrunk isotonic regressions of samples, one a row, or None where no compiler was at hand.

    ``calibration/estimators/curves.py`` has them in NumPy, and says what they are.
    """
    if _kernel is None:
        return None
    measured = np.empty(happened.shape)
    _kernel.shrunk_isotonic(*(np.ascontiguousarray(x, dtype=np.float64) for x in (reported, happened, total)), measured)
    return measured
