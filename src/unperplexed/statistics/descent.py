"""Minima of smooth functions of many parameters, by their gradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._lib.typing import Floats

_KEPT = 10
"""So many steps tell how the function bends."""

_ENOUGH, _SHORTEST = 1e-4, 1e-10
"""Share of the fall that the slope promises, which a step must bring; steps that are shorter are not tried."""


def minimized(
    objective: Callable[[Floats], tuple[float, Floats]], start: Floats, *, gain: float, slope: float, steps: int = 60
) -> Floats:
    """Find a minimum by limited-memory BFGS (Nocedal 1980), in coordinates that are about equally curved.

    Parameters
    ----------
    objective : function of an array of shape (k,)
        Value and gradient.
    start : array of shape (k,)
    gain, slope : float
        It ends where a step gains less, as a share of the value or of 1, or no slope is larger.
    steps : int
        At most so many.
    """
    x = start
    value, gradient = objective(x)
    moved: list[tuple[Floats, Floats]] = []
    for _ in range(steps):
        if np.abs(gradient).max(initial=0.0) <= slope:
            break
        direction = -_unbent(gradient, moved)
        down = float(direction @ gradient)
        if not down < 0:
            direction, down, moved = -gradient, -float(gradient @ gradient), []
        size = 1.0
        while True:
            found, new = objective(x + size * direction)
            if found <= value + _ENOUGH * size * down or size < _SHORTEST:
                break
            # The minimum of the parabola through both values and the slope, but no farther than half the way.
            bend = 2 * (found - value - size * down)
            size *= min(max(-size * down / bend, 0.1), 0.5) if np.isfinite(bend) and bend > 0 else 0.1
        if not found < value:
            break
        change, turn = size * direction, new - gradient
        if float(change @ turn) > 1e-12 * float(turn @ turn):
            moved = [*moved, (change, turn)][-_KEPT:]
        small = value - found <= gain * max(abs(value), abs(found), 1.0)
        x, value, gradient = x + change, found, new
        if small:
            break
    return x


def _unbent(gradient: Floats, moved: list[tuple[Floats, Floats]]) -> Floats:
    """Multiply a gradient by the inverse curvature that steps and what the gradient changed in them tell."""
    left, shares = gradient, []
    for change, turn in reversed(moved):
        share = float(change @ left) / float(change @ turn)
        left = left - share * turn
        shares.append(share)
    for (change, turn), share in zip(moved, reversed(shares), strict=True):
        left = left + (share - float(turn @ left) / float(change @ turn)) * change
    return left
