"""How well maps of two classes fit: weights of outcomes at distinct log-odds, a likelihood for the fitter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, field, replace
from .._lib.elementary import expit
from .._lib.typing import Floats
from ..statistics.matrices import product
from .fit import Fit, Prior, fitted
from .parameters import LAPSE, LAPSES, LEAST_LAPSE, MOST_LAPSE
from .two import SMALLEST, TWO, BinaryMap, columns


class Counts(NamedTuple):
    """Weights at distinct log-odds: of all rows, and of those with a positive outcome."""

    s: Floats
    total: Floats
    positive: Floats


NO_PRIOR = Prior(dict.fromkeys((*TWO, LAPSE), math.inf))
"""For maximum likelihood."""

_SMALL = -7.0
"""Log-odds of a lapse of .001."""

_TINY = 1e-290
"""Probability that may be divided by."""

_STEEPER, _LARGE = 3.0, -0.8
"""The search for a lapse starts once more from log-odds so many times as large and a lapse of .3, by its log-odds. Few
rows may have a second optimum, a large lapse beside a steep line, even where a small lapse does not help. Of 640 fits
to 50 to 1,000 rows both starts together missed the highest known optimum in 4, the first alone in 24."""


_Line = tuple[Floats, Floats, Floats, Floats]
"""The first four of a place."""


class _Place(NamedTuple):
    """Calibrated log-odds with their probabilities and those of the other class, before a lapse, and this."""

    t: Floats
    small: Floats
    high: Floats
    low: Floats
    lapse: float

    @property
    def if_true(self) -> Floats:
        """Probability of a positive outcome."""
        return np.asarray(np.maximum((1 - self.lapse) * self.high + self.lapse / 2, _TINY))

    @property
    def if_false(self) -> Floats:
        """Probability of a negative outcome."""
        return np.asarray(np.maximum((1 - self.lapse) * self.low + self.lapse / 2, _TINY))


class Cells(Frozen, eq=False):
    """Likelihood of the parameters of a map of two classes, a lapse last and as its log-odds."""

    counts: Counts
    names: Sequence[str]
    """Parameters."""
    about: float = 0.0
    """Log-odds that the slope turns about."""

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Where each parameter is."""
        return {name: slice(at, at + 1) for at, name in enumerate(self.names)}

    @cached_property
    def _x(self) -> Floats:
        return columns([name for name in self.names if name != LAPSE], self.counts.s, self.about)

    @cached_property
    def _negative(self) -> Floats:
        return self.counts.total - self.counts.positive

    @cached_property
    def _lapses(self) -> bool:
        return LAPSE in self.names

    @cached_property
    def _last(self) -> dict[bytes, _Line]:
        return {}

    def _line(self, coefficients: Floats) -> _Line:
        """Return calibrated log-odds and probabilities: the last ones, as steps are limited, tried and taken there."""
        key = coefficients.tobytes()
        if key not in self._last:
            t = self.counts.s + product(coefficients, self._x)
            small = np.exp(-np.abs(t))  # one exponential for all: they take most of the time
            larger = 1 / (1 + small)
            smaller = small * larger
            rises = t >= 0
            self._last.clear()
            self._last[key] = t, small, np.where(rises, larger, smaller), np.where(rises, smaller, larger)
        return self._last[key]

    def _at(self, theta: Floats) -> _Place:
        e = float(1 / (1 + np.exp(-theta[-1]))) if self._lapses else 0.0
        return _Place(*self._line(theta[: len(self._x)]), e)

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        at, total, positive = self._at(theta), self.counts.total, self.counts.positive
        if not at.lapse:
            against = product(positive, np.minimum(at.t, 0)) - product(self._negative, np.maximum(at.t, 0))
            value = float(against - product(total, np.log1p(at.small)))
            gradient = product(self._x, positive - total * at.high)
            return value, np.append(gradient, 0.0) if self._lapses else gradient
        e, if_true, if_false = at.lapse, at.if_true, at.if_false
        of_true, of_false = positive / if_true, self._negative / if_false
        residual = of_true - of_false
        gradient = product(self._x, (1 - e) * at.high * at.low * residual)
        value = float(product(positive, np.log(if_true)) + product(self._negative, np.log(if_false)))
        return value, np.append(gradient, e * (1 - e) * float(product(residual, 0.5 - at.high)))

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information: products of the derivatives of the probability over its variance."""
        at = self._at(theta)
        rise = at.high * at.low
        if not self._lapses:
            return np.asarray(product(self._x * (self.counts.total * rise), self._x.T))
        e = at.lapse
        rises = np.vstack([self._x * ((1 - e) * rise), e * (1 - e) * (0.5 - at.high)])
        return np.asarray(product(rises / (at.if_true * at.if_false) * self.counts.total, rises.T))

    def within(self, theta: Floats) -> Floats:
        """Return the parameters with a lapse between its limits; a small one that does not help at its least."""
        if not self._lapses or not math.isfinite(theta[-1]):
            return theta
        lapse = min(max(theta[-1], LEAST_LAPSE), MOST_LAPSE)
        if LEAST_LAPSE < lapse < _SMALL and not self._helps(theta):
            # Given the line the likelihood is concave in the lapse: it rises all the way down, here in one step.
            lapse = LEAST_LAPSE
        moved = theta.copy()
        moved[-1] = lapse
        return moved

    def begun(self, theta: Floats) -> Floats | None:
        """Return the best lapse of a grid; None where none helps."""
        if not self._helps(theta):
            return None
        at, e = _Place(*self._line(theta[:-1]), 0.0), expit(LAPSES)[:, None]
        if_true, if_false = ((1 - e) * each + e / 2 for each in (at.high, at.low))
        heights = product(np.log(if_true), self.counts.positive) + product(np.log(if_false), self._negative)
        return np.append(theta[:-1], LAPSES[int(np.argmax(heights))])

    def _helps(self, theta: Floats) -> bool:
        """Return whether the likelihood of a line rises as a lapse begins: its slope is a sum of (1 / q - 2) / 2."""
        at = _Place(*self._line(theta[:-1]), 0.0)
        against = product(self.counts.positive, 1 / at.if_true) + product(self._negative, 1 / at.if_false)
        return bool(against > 2 * self.counts.total.sum())


class Directions(Cells, eq=False):
    """Likelihood of a sum of given directions, one a row, under names of their own."""

    directions: Floats = field(kw_only=True)

    @property
    def _x(self) -> Floats:
        return self.directions


def fitted_cells(of: Cells, prior: Prior, start: Floats | None = None) -> Fit:
    """Fit parameters: from a start, or from none, and then a lapse from two."""
    if start is not None or LAPSE not in of.names:
        return fitted(of, prior, start)
    line = fitted(replace(of, names=of.names[:-1]), prior).theta
    steep = _STEEPER * line + (_STEEPER - 1) * np.array([name == "slope" for name in of.names[:-1]], dtype=np.float64)
    found = (fitted(of, prior, np.append(*each)) for each in ((line, -np.inf), (steep, _LARGE)))
    return max(found, key=lambda each: each.value - each.penalty)


def map_of(found: Fit, name: str = "", zero: float = SMALLEST, about: float = 0.0) -> BinaryMap:
    """Return the map of fitted parameters, whose slope was fitted about some log-odds."""
    given = {each: float(found[each][0]) for each in found.places}
    lapse = float(expit(given.pop(LAPSE, -np.inf)))
    return BinaryMap(name, given, lapse, zero, about)
