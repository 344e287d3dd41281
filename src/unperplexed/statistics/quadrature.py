"""Integrals over the whole line by double-exponential substitution, panel by panel."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from .._lib.typing import Floats

_STEP = 1 / 16
_FINITE = _STEP * np.arange(-51, 52)
"""At their ends a panel of length 1 is met to 1e-17."""


def line_nodes(breaks: Floats, unit: float, reach: float) -> tuple[Floats, Floats]:
    """Nodes and weights for integrals from -reach to reach of functions analytic between sorted breaks.

    Both substitutions (tanh-sinh; exp-sinh beyond the outermost breaks) crowd nodes towards the breaks, where
    functions may have kinks, roots and infinite slopes, and towards reach in powers, as heavy tails want it.
    """
    panels = [_finite_panel(a, b) for a, b in pairwise(breaks.tolist())]
    x, weight = _tail(unit, reach - np.abs(breaks).max())
    panels += [(breaks[0] - x, weight), (breaks[-1] + x, weight)]
    xs, weights = zip(*panels, strict=True)
    return np.concatenate(xs), np.concatenate(weights)


def _finite_panel(a: float, b: float) -> tuple[Floats, Floats]:
    share = 1 / (1 + np.exp(-np.pi * np.sinh(_FINITE)))
    x = np.where(_FINITE < 0, a + (b - a) * share, b - (b - a) * share[::-1])
    return x, (b - a) * _STEP * np.pi * np.cosh(_FINITE) * share * share[::-1]


def _tail(unit: float, reach: float) -> tuple[Floats, Floats]:
    """Distances from the outermost break, and weights."""
    last = np.arcsinh(np.log(reach / unit) * 2 / np.pi)
    t = _STEP * np.arange(-62, int(last / _STEP) + 1)
    x = unit * np.exp(np.pi / 2 * np.sinh(t))
    return x, x * _STEP * np.pi / 2 * np.cosh(t)
