"""Quantile losses of rows of predicted quantiles."""

from __future__ import annotations

import numpy as np

from .._lib.typing import AnyFloats, Floats
from .compiled import kernel as _kernel

_BLOCK = 2_048
"""Rows at a time, which stay in cache."""


def quantile_losses(y: Floats, values: AnyFloats, levels: Floats) -> Floats:
    """Return the sums over levels of the quantile losses of values of shape (n, k), which are float32 or float64."""
    total = np.zeros(len(y))
    if _kernel is not None:
        _kernel.quantile_losses(np.ascontiguousarray(y), np.ascontiguousarray(values), levels, total)
        return total
    for at in range(0, len(y), _BLOCK):
        distances = y[at : at + _BLOCK] - np.ascontiguousarray(values[at : at + _BLOCK].T, dtype=np.float64)
        for level, distance in zip(levels, distances, strict=True):
            total[at : at + _BLOCK] += np.maximum(level * distance, (level - 1) * distance)
    return total
