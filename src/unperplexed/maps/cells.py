"""How well maps of two classes fit: weights of outcomes at distinct log-odds, a likelihood for the fitter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._lib.elementary import expit, log_expit
from .._lib.typing import Floats
from .directions import TWO, columns
from .fit import Fit, Prior, fitted
from .parameters import LAPSE
from .two import SMALLEST, BinaryMap


class Counts(NamedTuple):
    """Weights at distinct log-odds: of all rows, and of those with a positive outcome."""

    s: Floats
    total: Floats
    positive: Floats


NO_PRIOR = Prior(dict.fromkeys((*TWO, LAPSE), math.inf))
"""For maximum likelihood."""

_LAPSES = (-16.0, 4.0)
"""Log-odds between which a lapse is: shares from 1e-7 to .98."""

_GRID = np.linspace(-9, 0.5, 20)

_STEEPER, _LARGE = 3.0, -0.8
"""The search for a lapse starts once more from log-odds so many times as large and a lapse of .3, by its log-odds. Few
rows may have a second optimum, a large lapse beside a steep line, even where a small lapse does not help. Of 640 fits
to 50 to 1,000 rows both starts together missed the highest known optimum in 4, the first alone in 24."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Likelihood of the parameters of a map of two classes, a lapse last and as its log-odds."""

    counts: Counts
    names: Sequence[str]
    """Parameters."""

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Where each parameter is."""
        return {name: slice(at, at + 1) for at, name in enumerate(self.names)}

    @cached_property
    def _x(self) -> Floats:
        return columns([name for name in self.names if name != LAPSE], self.counts.s)

    def _mixed(self, theta: Floats) -> tuple[Floats, float, Floats, Floats]:
        """Return calibrated log-odds before the lapse, the lapse, and the probabilities of either outcome."""
        t = self.counts.s + theta[: len(self._x)] @ self._x
        e = float(expit(theta[-1])) if LAPSE in self.names else 0.0
        return t, e, *(np.maximum((1 - e) * expit(side * t) + e / 2, SMALLEST) for side in (1, -1))

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        positive = self.counts.positive
        negative = self.counts.total - positive
        t, e, if_true, if_false = self._mixed(theta)
        logs = [np.log(if_true), np.log(if_false)] if e else [log_expit(t), log_expit(-t)]
        # The shares of the outcomes that are no lapses, were they known, are 1 - (e / 2) / probability.
        residual = positive * (1 - e / 2 / if_true) * expit(-t) - negative * (1 - e / 2 / if_false) * expit(t)
        gradient = self._x @ residual
        if LAPSE in self.names:
            of_lapse = (positive / if_true - negative / if_false) @ (0.5 - expit(t)) if e else 0.0
            gradient = np.append(gradient, e * (1 - e) * of_lapse)
        return float(positive @ logs[0] + negative @ logs[1]), gradient

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information: products of the derivatives of the probability over its variance."""
        t, e, if_true, if_false = self._mixed(theta)
        high = expit(t)
        rises = self._x * ((1 - e) * high * expit(-t))
        if LAPSE in self.names:
            rises = np.vstack([rises, e * (1 - e) * (0.5 - high)])
        return np.asarray((rises / (if_true * if_false) * self.counts.total) @ rises.T)

    def within(self, theta: Floats) -> Floats:
        """Return the parameters with a lapse between its limits."""
        if LAPSE in self.names and np.isfinite(theta[-1]):
            theta = np.append(theta[:-1], np.clip(theta[-1], *_LAPSES))
        return theta

    def begun(self, theta: Floats) -> Floats | None:
        """Return the best lapse of a grid; None where the likelihood, concave in it, falls as it begins."""
        positive = self.counts.positive
        negative = self.counts.total - positive
        _, _, if_true, if_false = self._mixed(np.append(theta[:-1], -np.inf))
        if positive @ (1 / if_true) + negative @ (1 / if_false) <= 2 * self.counts.total.sum():
            return None
        e = expit(_GRID)[:, None]
        heights = np.log((1 - e) * if_true + e / 2) @ positive + np.log((1 - e) * if_false + e / 2) @ negative
        return np.append(theta[:-1], _GRID[int(np.argmax(heights))])


def fitted_cells(of: Cells, prior: Prior, start: Floats | None = None) -> Fit:
    """Fit parameters: from a start, or from none, and then a lapse from two."""
    if start is not None or LAPSE not in of.names:
        return fitted(of, prior, start)
    line = fitted(Cells(of.counts, of.names[:-1]), prior).theta
    steep = _STEEPER * line + (_STEEPER - 1) * np.array([name == "slope" for name in of.names[:-1]], dtype=np.float64)
    found = (fitted(of, prior, np.append(*each)) for each in ((line, -np.inf), (steep, _LARGE)))
    return max(found, key=lambda each: each.value - each.penalty)


def map_of(found: Fit, name: str = "", zero: float = SMALLEST) -> BinaryMap:
    """Return the map of fitted parameters."""
    given = {each: float(found[each][0]) for each in found.places}
    lapse = float(expit(given.pop(LAPSE, -np.inf)))
    return BinaryMap(name, given, lapse, zero)
