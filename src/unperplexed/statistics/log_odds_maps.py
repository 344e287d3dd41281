"""Maps from predicted to calibrated log-odds, one for each named error, and their maximum-likelihood fit.

With s the predicted log-odds of the positive class, t = s + a + c s + d |s| + k h(s) are the calibrated ones, and with
a lapse e the probability is (1 - e) sigmoid(t) + e/2. Errors are additive, so that for any e the fit is convex.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from .._lib.elementary import expit, log_expit
from .._lib.typing import Floats
from .log_odds_tail import tail

FEATURES: dict[str, Callable[[Floats], Floats]] = {
    "bias": np.ones_like,
    "confidence": lambda s: s,
    "asymmetry": np.abs,
    "tail": tail,
}
"""What each error adds to the log-odds, times its coefficient."""

NOISE = "noise"
"""The lapse e: a share of the outcomes as if drawn at random."""

NAMES = (*FEATURES, NOISE)


@dataclass(frozen=True)
class Counted:
    """Weights at distinct log-odds: of all rows, and of those with a positive outcome."""

    s: Floats
    total: Floats
    positive: Floats


@dataclass(frozen=True)
class FittedMap:
    """A map with its parameters, by maximum likelihood."""

    names: tuple[str, ...]
    """Errors with a coefficient, in the order of ``coefficients``; the lapse is apart."""
    coefficients: Floats
    log_likelihood: float
    information: Floats
    """Fisher information of the coefficients."""
    lapse: float = 0.0
    separated: bool = False
    """Whether the data determine no coefficients: outcomes are predicted ever better by ever larger ones."""

    def log_odds(self, s: Floats) -> Floats:
        """Return calibrated log-odds, before the lapse."""
        return s + features(self.names, s) @ self.coefficients

    def probability(self, s: Floats) -> Floats:
        """Return calibrated probabilities."""
        return np.asarray((1 - self.lapse) * expit(self.log_odds(s)) + self.lapse / 2)

    def parameter(self, name: str) -> float:
        """Return one parameter."""
        return self.lapse if name == NOISE else float(self.coefficients[self.names.index(name)])

    def standard_error(self, name: str) -> float:
        """Return its standard error; NaN for the lapse and for what the data do not determine."""
        if name == NOISE or self.separated:
            return math.nan
        at = self.names.index(name)
        return math.sqrt(max(float(np.linalg.inv(self.information)[at, at]), 0.0))


def features(names: Sequence[str], s: Floats) -> Floats:
    """Return the directions of errors as columns."""
    return np.stack([FEATURES[name](s) for name in names], axis=1) if names else np.empty((s.size, 0))


def log_likelihood(t: Floats, counted: Counted, lapse: float = 0.0) -> float:
    """Return the log-likelihood of log-odds t at the counted places."""
    positive, negative = counted.positive, counted.total - counted.positive
    if not lapse:
        return float(positive @ log_expit(t) + negative @ log_expit(-t))
    if_true, if_false = ((1 - lapse) * expit(side * t) + lapse / 2 for side in (1, -1))
    return float(positive @ np.log(if_true) + negative @ np.log(if_false))


_FARTHEST = 50.0
"""Largest coefficient; what the data do not bound ends there."""

_LEAST_VARIANCE = 0.5
"""Least variance of all outcomes together, in events: with less left the outcomes are separated."""


def fit(
    names: Sequence[str], counted: Counted, lapse: float = 0.0, steps: int = 40, start: Floats | None = None
) -> FittedMap:
    """Fit coefficients by Fisher scoring with step halving, from a start or from none."""
    x, s = features(names, counted.s), counted.s
    positive, negative = counted.positive, counted.total - counted.positive
    b = np.zeros(len(names)) if start is None else start
    now = log_likelihood(s + x @ b, counted, lapse)
    information, left = np.zeros((0, 0)), math.inf
    for _ in range(steps if names else 0):
        t = s + x @ b
        q, other = expit(t), expit(-t)
        if_true, if_false = (1 - lapse) * q + lapse / 2, (1 - lapse) * other + lapse / 2
        rise = (1 - lapse) * q * other
        both = if_true * if_false
        ratio = np.divide(rise, both, out=np.zeros_like(rise), where=both > 0)
        gradient = x.T @ ((positive * if_false - negative * if_true) * ratio)
        information = (x * (counted.total * rise * ratio)[:, None]).T @ x
        information.flat[:: b.size + 1] *= 1 + 1e-9  # the diagonal
        information += 1e-10 * np.eye(b.size)
        left = float(counted.total @ rise)
        move, size, new = np.linalg.solve(information, gradient), 1.0, now
        while size > 1e-4:
            new = log_likelihood(s + x @ np.clip(b + size * move, -_FARTHEST, _FARTHEST), counted, lapse)
            if new >= now:
                break
            size /= 2
        if size <= 1e-4:
            break
        b, gained, now = np.clip(b + size * move, -_FARTHEST, _FARTHEST), new - now, new
        if gained < 1e-7:
            break
    separated = left < _LEAST_VARIANCE or bool((np.abs(b) >= _FARTHEST).any())
    return FittedMap(tuple(names), b, now, information, lapse, separated)


_GRID = np.linspace(-9, -0.5, 9)
_GOLDEN = (math.sqrt(5) - 1) / 2


def fit_with_lapse(names: Sequence[str], counted: Counted) -> FittedMap:
    """Fit coefficients and a lapse: its logarithm on a grid, refined by golden section."""

    start = None

    def height(log_lapse: float) -> float:
        nonlocal start
        found = fit(names, counted, math.exp(log_lapse), 12, start)
        start = found.coefficients
        return found.log_likelihood

    best = int(np.argmax([height(at) for at in _GRID.tolist()]))
    low, high = float(_GRID[max(0, best - 1)]), float(_GRID[min(_GRID.size - 1, best + 1)])
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = height(left), height(right)
    for _ in range(10):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = height(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = height(right)
    return fit(names, counted, math.exp((low + high) / 2), start=start)
