"""The few points of a curve that describe all of it."""

from __future__ import annotations

import numpy as np

from .._lib.typing import Floats, Ints


def bend_points(x: Floats, y: Floats, tolerance: float) -> Ints:
    """Return places of points whose straight connections come within a tolerance of all points.

    Douglas and Peucker (1973): the point farthest from the line between two ends is kept, and so on for both sides.
    """
    kept = np.zeros(x.size, dtype=bool)
    kept[[0, -1]] = True
    spans = [(0, x.size - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        inner = slice(first + 1, last)
        line = np.interp(x[inner], x[[first, last]], y[[first, last]])
        off = np.abs(y[inner] - line)
        farthest = int(off.argmax())
        if off[farthest] > tolerance:
            middle = first + 1 + farthest
            kept[middle] = True
            spans += [(first, middle), (middle, last)]
    return np.flatnonzero(kept)
