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
from ..statistics.matrices import cross_products, product
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


class Cells(Frozen, eq=False):
    """Likelihood of the parameters of a map of two classes, a lapse last and as its log-odds."""

    counts: Counts
    names: Sequence[str]
    """Parameters."""
    about: float = 0.0
    """Log-odds that the slope turns about."""
    directions: Floats | None = None
    """What parameters of other names multiply, one a row."""
    _last: dict[bytes, tuple[Floats, Floats, Floats, Floats]] = field(init=False, default_factory=dict)

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Where each parameter is."""
        return {name: slice(at, at + 1) for at, name in enumerate(self.names)}

    @cached_property
    def _x(self) -> Floats:
        names = [name for name in self.names if name != LAPSE]
        return columns(names, self.counts.s, self.about) if self.directions is None else self.directions

    @cached_property
    def _negative(self) -> Floats:
        return self.counts.total - self.counts.positive

    def _line(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return calibrated log-odds, the smaller odds, and the probabilities of both outcomes, before a lapse.

        The last ones are kept, as steps are limited, tried and taken there.
        """
        key = theta[: len(self._x)].tobytes()
        if key not in self._last:
            t = self.counts.s + product(theta[: len(self._x)], self._x)
            small = np.exp(-np.abs(t))  # one exponential for all: they take most of the time
            larger = 1 / (1 + small)
            smaller, rises = small * larger, t >= 0
            self._last.clear()
            self._last[key] = t, small, np.where(rises, larger, smaller), np.where(rises, smaller, larger)
        return self._last[key]

    def _lapse(self, theta: Floats) -> float:
        return float(1 / (1 + np.exp(-theta[-1]))) if LAPSE in self.names else 0.0

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        (t, small, high, low), e, (_, total, positive) = self._line(theta), self._lapse(theta), self.counts
        if not e:
            against = product(positive, np.minimum(t, 0)) - product(self._negative, np.maximum(t, 0))
            value = float(against - product(total, np.log1p(small)))
            gradient = product(self._x, positive - total * high)
            return value, np.append(gradient, 0.0) if LAPSE in self.names else gradient
        if_true, if_false = _after(e, high), _after(e, low)
        residual = positive / if_true - self._negative / if_false
        gradient = product(self._x, (1 - e) * high * low * residual)
        value = float(product(positive, np.log(if_true)) + product(self._negative, np.log(if_false)))
        return value, np.append(gradient, e * (1 - e) * float(product(residual, 0.5 - high)))

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information: products of the derivatives of the probability over its variance."""
        (_, _, high, low), e = self._line(theta), self._lapse(theta)
        rise = high * low
        if LAPSE not in self.names:
            return cross_products(self._x, self.counts.total * rise)
        rises = np.vstack([self._x * ((1 - e) * rise), e * (1 - e) * (0.5 - high)])
        return np.asarray(product(rises / (_after(e, high) * _after(e, low)) * self.counts.total, rises.T))

    def within(self, theta: Floats) -> Floats:
        """Return the parameters with a lapse between its limits, or without a small one that does not help.

        Given the line the likelihood is concave in the lapse: it rises all the way down, here in one step.
        """
        if LAPSE not in self.names or not math.isfinite(theta[-1]):
            return theta
        none = theta[-1] < _SMALL and not self._helps(theta)
        return np.append(theta[:-1], -math.inf if none else min(max(theta[-1], LEAST_LAPSE), MOST_LAPSE))

    def begun(self, theta: Floats) -> Floats | None:
        """Return the best lapse of a grid; None where none helps."""
        if not self._helps(theta):
            return None
        if_true, if_false = (_after(expit(LAPSES)[:, None], each) for each in self._line(theta)[2:])
        heights = product(np.log(if_true), self.counts.positive) + product(np.log(if_false), self._negative)
        return np.append(theta[:-1], LAPSES[int(np.argmax(heights))])

    def _helps(self, theta: Floats) -> bool:
        """Return whether the likelihood of a line rises as a lapse begins: its slope is a sum of (1 / q - 2) / 2."""
        if_true, if_false = (_after(0.0, each) for each in self._line(theta)[2:])
        against = product(self.counts.positive, 1 / if_true) + product(self._negative, 1 / if_false)
        return bool(against > 2 * self.counts.total.sum())


def _after(lapse: Floats | float, q: Floats) -> Floats:
    """Return the probability of an outcome after a lapse."""
    return np.asarray(np.maximum((1 - lapse) * q + lapse / 2, _TINY))


def fitted_cells(of: Cells, prior: Prior, start: Floats | None = None, line: Floats | None = None) -> Fit:
    """Fit parameters: from a start, or from none, and then a lapse from two beside a line, which may be known."""
    if start is not None or LAPSE not in of.names:
        return fitted(of, prior, start)
    line = fitted(replace(of, names=of.names[:-1]), prior).theta if line is None else line
    steep = _STEEPER * line + (_STEEPER - 1) * np.array([name == "slope" for name in of.names[:-1]], dtype=np.float64)
    found = (fitted(of, prior, np.append(*each)) for each in ((line, -np.inf), (steep, _LARGE)))
    return max(found, key=lambda each: each.value - each.penalty)


def map_of(found: Fit, name: str = "", zero: float = SMALLEST, about: float = 0.0) -> BinaryMap:
    """Return the map of fitted parameters, whose slope was fitted about some log-odds."""
    given = {each: float(found[each][0]) for each in found.places}
    lapse = float(expit(given.pop(LAPSE, -np.inf)))
    return BinaryMap(name, given, lapse, zero, about)
