"""Newton's method for likelihoods that are infinite outside of an open set."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..._lib.typing import Floats


def minimize(
    value: Callable[[Floats], float],
    gradient: Callable[[Floats], Floats],
    curvature: Callable[[Floats, Floats], Floats],
    start: Floats,
) -> tuple[Floats, bool]:
    """Minimum near a feasible start, by conjugate gradients on the Hessian and steps cut back until they descend.

    The logarithms of densities with compact support are self-concordant, for which this is the method of proof:
    steps keep to the inside by themselves, in any coordinates. A trust region would be a ball, which the inside is
    not; SciPy's line searches do not take infinite values. The second result is whether it converged, by the decrease
    that the last step promised, which no choice of coordinates changes.
    """
    x, f, promised = start, value(start), np.inf
    for _ in range(100):
        g = gradient(x)
        step = _direction(partial(curvature, x), g)
        promised, size = -float(g @ step), 1.0
        if promised <= 1e-15:
            break
        while size > 1e-12:
            trial = value(x + size * step)
            if trial <= f - 1e-4 * size * promised:
                break
            size /= 2
        else:
            break  # no step descends any more: the digits are used up
        x, f = x + size * step, trial
    return x, promised <= 1e-8


def _direction(curvature: Callable[[Floats], Floats], g: Floats) -> Floats:
    """Newton's step, or what conjugate gradients had of it on meeting negative curvature; downhill in any case."""
    step, residual = np.zeros_like(g), -g
    if not g.any():
        return step
    p, enough = residual, min(0.1, np.sqrt(np.linalg.norm(g))) * np.linalg.norm(g) * 1e-3
    for _ in range(2 * len(g)):
        hp = curvature(p)
        bend = float(p @ hp)
        if bend <= 0:
            return step if step.any() else -g
        squared = float(residual @ residual)
        step = step + squared / bend * p
        residual = residual - squared / bend * hp
        if np.linalg.norm(residual) <= enough:
            break
        p = residual + float(residual @ residual) / squared * p
    return step
