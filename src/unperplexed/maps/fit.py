"""The fitter of all maps: Fisher scoring under normal priors, some of whose variances are estimated from the data.

Those variances follow the fixed point of empirical Bayes (MacKay 1992): variance = sum of squares / number of
coefficients that the data determine. The information of many coefficients costs far more than the gradient. So it is
kept while steps gain as expected, and a fit may begin with that of a similar one: what it lacks is learned from the
steps (limited-memory BFGS, Nocedal 1980), and it decides how fast the maximum is found, not where.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.typing import Bools, Floats
from ..statistics.matrices import Factored, definite
from .parameters import LAPSE

ESTIMATED = math.nan
"""Standard deviation of a prior that is to be estimated: one for all coefficients of a parameter."""

ENOUGH = 1e-9
"""A step that was expected to gain less, in nats, was the last; and one that gained nothing to the last digit."""

_STEPS = 200
"""Steps at most."""
_SHORTEST = 1e-6
"""Part of a step below which none is tried: the maximum is there."""
_FARTHEST = 1e6
"""Length of a step in a coefficient: where the data say next to nothing of it, it would overflow."""
_ROUNDING = 1e-9
"""Share of a log-likelihood by which it may fall in a step: sums of rows in single precision are known no better."""
_FEW = 10
"""Coefficients whose information costs hardly more than the gradient: it is taken for each step up to near the maximum,
and there as well."""
_KEPT = 10
"""So many steps tell how the likelihood bends where the information is kept."""
_NEAR = 1.0
"""Once a step gains less, in nats, the information is taken anew for the last steps and the variances."""
_AS_EXPECTED = (0.7, 1.3)
"""The information is kept while steps gain about what it lets expect, as a share of this."""
_FIRST, _LEAST = 0.25, 1e-6
"""First and smallest value of an estimated variance."""
_CLOSE = 0.05
"""Estimated variances are looked for ahead where a step gained what it let expect, but for so large a share."""
_SMALL, _TURNS = 256, 30
"""Up to so many coefficients a matrix is factored faster than a likelihood is computed: so often for a step at most."""
_STILL = 1e-8
"""Estimated variances stay where the evidence, in nats, is to gain less by their change."""
_FASTEST = 16.0
"""So many times at most its change is taken at once, and no more than twice as many as the last time."""
_SEPARATED = 0.1
"""Share of the log loss that a step without the prior is to gain where outcomes are separated: then about a half."""
_WIDEST = 20.0
"""A standard error beyond all use, in log-odds."""


class Likelihood(Protocol):
    """What is to be climbed: the log-likelihood of a vector of coefficients, those of each parameter in one place."""

    @property
    def places(self) -> Mapping[str, slice]:
        """Where the coefficients of each parameter are; together they are all."""

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information."""

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients moved to where they may be: a lapse to minus infinity where none improves the fit."""

    def begun(self, theta: Floats) -> Floats | None:
        """Return the coefficients with a lapse to start from; None where a lapse does not help."""


class Prior(Frozen):
    """Independent normal priors around 0."""

    sd: Mapping[str, float | Floats]
    """Standard deviation by parameter: infinite for none, `ESTIMATED`, or one for each of its coefficients."""
    effect: float = 1.0
    """Design effect: the data count so many times less against the prior than independent rows would."""


class Fit(Frozen, eq=False):
    """The maximum of a penalized likelihood."""

    places: Mapping[str, slice]
    """Where the coefficients of each parameter are."""
    theta: Floats
    """A lapse is given by its log-odds: minus infinity where none improves the fit."""
    value: float
    """Log-likelihood."""
    penalty: float
    """That of the prior, in nats."""
    precision: Floats
    """Of each coefficient's prior, design effect included."""
    likelihood: Likelihood
    used: Floats
    """Information that the last steps used."""

    def __getitem__(self, name: str) -> Floats:
        """Coefficients of one parameter."""
        return self.theta[self.places[name]]

    @cached_property
    def information(self) -> Floats:
        """Fisher information: of few coefficients at the maximum, else near it; 0 where there is no lapse."""
        return self.likelihood.information(self.theta) if self.theta.size <= _FEW else self.used

    @property
    def at_maximum(self) -> Fit:
        """Return it with the information at the maximum, of many coefficients too."""
        few = self.theta.size <= _FEW
        return self if few else replace(self, used=self.likelihood.information(self.theta))

    @cached_property
    def covariance(self) -> Floats:
        """Covariance of the coefficients, as independent rows and the prior have it; NaN where there is no lapse."""
        free = np.isfinite(self.theta)
        at = np.ix_(free, free)
        found = np.full(self.information.shape, math.nan)
        found[at] = np.linalg.inv(definite(self.information[at] + np.diag(self.precision[free])))
        return found

    @cached_property
    def separated(self) -> bool:
        """Whether ever larger coefficients predict the outcomes ever better, so that the prior alone bounds some.

        Such a log loss falls to 0 exponentially: the next step without the prior is to gain half of all that is left.
        Where coefficients are determined it gains next to nothing.
        """
        free = np.isfinite(self.theta)
        pull = self.precision[free] * self.theta[free]
        gain = 0.5 * float(pull @ np.linalg.solve(definite(self.information[np.ix_(free, free)]), pull))
        wide = bool((np.diag(self.covariance)[free] > _WIDEST**2).any())
        return wide or gain + ENOUGH > _SEPARATED * -self.value


def fitted(of: Likelihood, prior: Prior, start: Floats | None = None, known: Floats | None = None) -> Fit:
    """Fit by maximum likelihood with a prior.

    Parameters
    ----------
    of : Likelihood
    prior : Prior
        With a standard deviation for each parameter.
    start : array of shape (k,), optional
        Coefficients near the maximum; by default 0. A lapse of log-odds minus infinity begins from there, by default
        from the maximum without one.
    known : array of shape (k, k), optional
        Information of a similar likelihood near its maximum, which serves here too.

    Returns
    -------
    Fit
        The maximum, to some 1e-9 nats or to the last digits of the likelihood.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.maps.fit import Prior, fitted
    >>> class Normal:
    ...     places = {"mean": slice(0, 1)}
    ...     def ascent(self, theta): return -2.0 * float((theta[0] - 3) ** 2), -4 * (theta - 3)
    ...     def information(self, theta): return np.array([[4.0]])
    ...     def within(self, theta): return theta
    ...     def begun(self, theta): return None
    >>> fitted(Normal(), Prior({"mean": 0.5})).theta
    array([1.5])
    """
    lapse = of.places.get(LAPSE, slice(0))
    if start is None:
        theta = np.zeros(max(each.stop for each in of.places.values()) if of.places else 0)
        theta[lapse] = -math.inf
        found = _climbed(of, prior, theta, known)
        begun = of.begun(found.theta) if np.isneginf(theta).any() else None
        return found if begun is None else _climbed(of, prior, begun, known)
    begun = of.begun(start) if np.isneginf(start[lapse]).any() else None
    return _climbed(of, prior, start if begun is None else begun, known)


def _climbed(of: Likelihood, prior: Prior, theta: Floats, known: Floats | None) -> Fit:
    """Climb from some coefficients; one that is infinite stays so."""
    free = np.isfinite(theta)
    square, whole_is_free = np.ix_(free, free), bool(free.all())

    def full(x: Floats) -> Floats:
        if whole_is_free:
            return x
        moved = theta.copy()
        moved[free] = x
        return moved

    def within(x: Floats) -> Floats:
        return of.within(full(x))[free]

    def ascent(x: Floats) -> tuple[float, Floats]:
        value, gradient = of.ascent(full(x))
        return value, gradient[free]

    precisions = _Precisions(prior, of.places, theta)
    x = theta[free]
    value, gradient = ascent(x)
    near = known is not None
    information = np.zeros((0, 0)) if not x.size else (of.information(theta) if known is None else known)[square]
    precision, factored = precisions.each, None
    seen: list[_Step] = []
    for number in range(_STEPS if x.size else 0):
        if precisions.each is not precision or factored is None:
            precision = precisions.each
            factored = _factored(information, precision)
        pull = gradient - precision * x
        held = (pull != 0) & (within(x + pull) == x)
        step = _beside(held, pull, information, precision) if held.any() else _unbent(pull, seen, precision, factored)
        step = np.minimum(np.maximum(step, -_FARTHEST), _FARTHEST)
        expected, now, size = 0.5 * float(step @ pull), value - 0.5 * float(precision @ x**2), 1.0
        while size > _SHORTEST:
            new = within(x + size * step)
            found, slope = ascent(new)
            gained = found - 0.5 * float(precision @ np.where(np.isfinite(new), new, 0.0) ** 2) - now
            if gained >= -_ROUNDING * abs(now):
                break
            size /= 4
        else:
            break
        if not np.isfinite(new).all():
            return _climbed(of, prior, full(new), known)
        seen = [*seen, _Step(new - x, gradient - slope)][-_KEPT:]
        x, value, gradient = new, found, slope
        still = precisions.estimated(x, factored)
        surprising = expected > _NEAR and not _AS_EXPECTED[0] <= gained / expected <= _AS_EXPECTED[1]
        foreseen = abs(gained - expected) <= _CLOSE * expected
        if not still and foreseen and precisions.one and x.size <= _SMALL:
            _look_ahead(precisions, information, x, gradient)
        if near and still and (expected < ENOUGH or gained <= 0):
            break
        came_near = expected < _NEAR and not near
        near = near or came_near
        cheap = x.size <= _FEW and not near
        if surprising or cheap or (came_near and number):  # a start that is near has the information asked for
            information, factored, seen = of.information(full(x))[square], None, []
    whole, precision = np.zeros((theta.size, theta.size)), np.zeros(theta.size)
    whole[square], precision[free] = information, precisions.each
    return Fit(of.places, full(x), value, 0.5 * float(precisions.each @ x**2), precision, of, whole)


def _look_ahead(precisions: _Precisions, information: Floats, x: Floats, gradient: Floats) -> None:
    """Move estimated variances to where they will be if the information tells how the likelihood bends."""
    for _ in range(_TURNS):
        factored = _factored(information, precisions.each)
        if precisions.estimated(x + factored.solve(gradient - precisions.each * x), factored):
            break


class _Step:
    """A step, and by how much the gradient of the log-likelihood fell in it."""

    def __init__(self, change: Floats, fell: Floats) -> None:
        self.change, self._fell = change, fell
        self._of: Floats | None = None

    def under(self, precision: Floats) -> _Step:
        """Know by how much the gradient fell with a prior, and what that is along the step."""
        if precision is not self._of:
            self._of, self.turn = precision, self._fell + precision * self.change
            self.bend = float(self.change @ self.turn)
            self.tells = self.bend > 1e-12 * float(self.turn @ self.turn)
        return self


def _unbent(pull: Floats, seen: list[_Step], precision: Floats, factored: _Factored) -> Floats:
    """Return the step that the information and what the gradient changed in earlier steps let expect to be the last."""
    steps = [step for step in seen if step.under(precision).tells]
    left, shares = pull, []
    for step in reversed(steps):
        share = float(step.change @ left) / step.bend
        left = left - share * step.turn
        shares.append(share)
    left = factored.solve(left)
    for step, share in zip(steps, reversed(shares), strict=True):
        left = left + (share - float(step.turn @ left) / step.bend) * step.change
    return left


def _beside(held: Bools, pull: Floats, information: Floats, precision: Floats) -> Floats:
    """Return the step of the other coefficients where some are held at their bounds."""
    step, rest = np.zeros(pull.size), ~held
    step[rest] = _factored(information[np.ix_(rest, rest)], precision[rest]).solve(pull[rest])
    return step


class _Precisions:
    """Precision of each coefficient's prior, of which some are estimated: those of a parameter are one."""

    def __init__(self, prior: Prior, places: Mapping[str, slice], theta: Floats) -> None:
        sd, self._kind = np.empty(theta.size), np.zeros(theta.size, dtype=np.int64)
        for kind, (name, place) in enumerate(places.items()):
            sd[place], self._kind[place] = prior.sd[name], kind
        free = np.isfinite(theta)
        self.each: Floats = prior.effect * sd[free] ** -2.0
        self.free, self.one = np.isnan(self.each), False
        if self.free.any():
            _, self._kind = np.unique(self._kind[free][self.free], return_inverse=True)
            self._size = np.bincount(self._kind)
            self.one = self._size.size == 1
            start = np.bincount(self._kind, theta[free][self.free] ** 2) / self._size
            self._log = np.log(np.where(start > _LEAST, start, _FIRST))
            self._last, self._pace = (self._log, np.zeros(self._log.size)), np.full(self._log.size, 0.5)
            self._set(self._log)

    def _set(self, log_variance: Floats) -> None:
        self._log, self.each = log_variance, self.each.copy()
        self.each[self.free] = np.exp(-log_variance)[self._kind]

    def estimated(self, x: Floats, factored: _Factored) -> bool:
        """Take a step to the fixed point, which suits coefficients and their covariance; return whether it is there.

        The logarithm of each variance is moved to where its change would vanish, by this change and the last one: where
        a variance is to vanish the fixed point alone approaches it slowly.
        """
        if not self.free.any():
            return True
        variance, log = np.exp(self._log), self._log
        covariance = factored.diagonal_of_inverse()[self.free]
        determined = np.maximum(self._size - np.bincount(self._kind, covariance) / variance, 1e-3 * self._size)
        found = np.maximum(np.bincount(self._kind, x[self.free] ** 2) / determined, _LEAST)
        change = np.log(found) - log
        moved, less = log - self._last[0], self._last[1] - change
        sensible, pace = moved * less > 0, np.where(change * self._last[1] > 0, _FASTEST, 1.0)
        pace[sensible] = moved[sensible] / less[sensible]
        self._pace = np.clip(pace, 1 / _FASTEST, np.minimum(2 * self._pace, _FASTEST))
        self._last = log, change
        self._set(np.maximum(log + self._pace * change, math.log(_LEAST)))
        return bool((0.5 * determined * change**2 < _STILL).all())


class _Factored(Frozen, eq=False):
    """A factored matrix, in units in which its diagonal is 1: coefficients may differ in size by any power of ten."""

    scale: Floats
    matrix: Factored

    def solve(self, right: Floats) -> Floats:
        return np.asarray(self.matrix.solve(right / self.scale) / self.scale)

    def diagonal_of_inverse(self) -> Floats:
        return np.asarray(self.matrix.diagonal_of_inverse() / self.scale**2)


def _factored(information: Floats, precision: Floats) -> _Factored:
    matrix = information + np.diag(precision)
    scale = np.sqrt(np.maximum(matrix.diagonal(), 1e-200))
    found = Factored(matrix / scale / scale[:, None])
    try:
        _ = found.back
    except np.linalg.LinAlgError:
        found = Factored(definite(found.matrix))
    return _Factored(scale, found)
