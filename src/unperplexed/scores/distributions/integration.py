"""The continuous ranked probability score (CRPS) of any distributions, over all numbers or those between thresholds."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Protocol

import numpy as np
from scipy import special

from ..._lib.typing import Floats

_SHARES = (0.001, 0.1, 0.5, 0.9, 0.999)
"""Quantiles between which is integrated, so that no piece is much wider than what happens in it."""

_STEP = 0.15
"""Step of the double-exponential rules: errors are of the order of 1e-9, also where densities are infinite."""

_INSIDE = np.arange(-21, 22) * _STEP
"""Nodes of a finite piece, up to shares of 1e-16 from its ends."""

_OUTSIDE = np.arange(-24, 31) * _STEP
"""Nodes of a tail, to exp(70) times the spread."""

_TAIL = 1e-12
"""Counts beyond these quantiles are left out; what they add is of the order of its square."""


class Law(Protocol):
    """Distributions, one a row, whose functions take arrays of shape (n,) or (k, n)."""

    def cdf(self, x: Floats) -> Floats:
        """Return the probability up to x."""

    def sf(self, x: Floats) -> Floats:
        """Return the probability of more than x."""

    def ppf(self, q: Floats) -> Floats:
        """Return quantiles."""


def integrated_crps(law: Law, y: Floats, above: Floats, below: Floats) -> Floats:
    """Integrate (F(x) - [y <= x])^2 over x from ``above`` to ``below``.

    Parameters
    ----------
    law : Law
        Continuous but for jumps at 0 and at outcomes.
    y : array of shape (n,)
        Outcomes.
    above, below : arrays of shape (n,)
        Thresholds, which may be infinite.
    """
    y = np.clip(y, above, below)
    quantiles = [law.ppf(np.full(len(y), share)) for share in _SHARES]
    points = np.sort(np.clip([*quantiles, y, np.zeros_like(y)], above, below), axis=0)
    total = sum((_inside(law, y, low, high) for low, high in pairwise(points)), np.zeros_like(y))
    spread = quantiles[-1] - quantiles[0]
    total += _tail(law.cdf, points[0], -spread) - _tail(law.cdf, above, -spread)
    total += _tail(law.sf, points[-1], spread) - _tail(law.sf, below, spread)
    return total


def _inside(law: Law, y: Floats, low: Floats, high: Floats) -> Floats:
    """Integrate over pieces that do not contain y."""
    total, width, over = np.zeros_like(y), high - low, low >= y
    for node in _INSIDE:
        share, rest = special.expit(np.pi * np.sinh(node)), special.expit(-np.pi * np.sinh(node))
        error = law.cdf(low + width * share) - over
        total += np.pi * np.cosh(node) * share * rest * error * error
    return np.asarray(total * width * _STEP)


def _tail(share: Callable[[Floats], Floats], start: Floats, spread: Floats) -> Floats:
    """Integrate the square of a share from where it starts to infinity, on the side that the spread's sign tells."""
    finite, total = np.isfinite(start), np.zeros_like(start)
    start = np.where(finite, start, 0)
    for node in _OUTSIDE:
        distance = np.exp(np.pi / 2 * np.sinh(node))
        total += np.pi / 2 * np.cosh(node) * distance * share(start + spread * distance) ** 2
    return np.asarray(np.where(finite, total * np.abs(spread) * _STEP, 0))


def summed_crps(law: Law, y: Floats, above: Floats, below: Floats) -> Floats:
    """Integrate (F(x) - [y <= x])^2 over x from ``above`` to ``below`` where only whole numbers are possible.

    Parameters are as in `integrated_crps`.
    """
    first, last = (law.ppf(np.full(len(y), share)) for share in (_TAIL, 1 - _TAIL))
    total = np.maximum(np.minimum(first, below) - np.maximum(y, above), 0)
    total += np.maximum(np.minimum(y, below) - np.maximum(last + 1, above), 0)
    for number in range(int((last - first).max()) + 1):
        k = np.minimum(first + number, last + 1)
        left = np.maximum(k, above)
        right = np.maximum(np.minimum(np.minimum(k, last) + 1, below), left)
        cut = np.clip(y, left, right)
        total += law.cdf(k) ** 2 * (cut - left) + law.sf(k) ** 2 * (right - cut)
    return np.asarray(total)
