"""Fisher scoring with normal priors, some of whose variances are estimated from the data.

Those variances follow the fixed point of empirical Bayes (MacKay 1992): variance = sum of squares / number of
coefficients that the data determine. The information of C classes costs C times as much as the gradient. So it is kept
while steps gain as expected, and a fit may begin with that of a similar one: it decides how fast the maximum is found,
and hardly where.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from .._lib.typing import Floats, Ints
from ..statistics.definite import Factored

FIXED = -1
"""Kind of a coefficient whose prior is fixed."""

FEWEST = 1e-6
"""Smallest variance of a prior."""

_STEPS = 30
_STILL = 0.1
"""Variances stay where their logarithms change by less."""
_FASTEST = 16.0
_NEAR = 1.0
"""Once a step gains less, in nats, the information is taken anew for the last steps and the variances."""
_AS_EXPECTED = (0.7, 1.3)
"""The information is kept while steps gain about what it lets expect, as a share of this."""


class Ascent(NamedTuple):
    """Log-likelihood with its gradient."""

    value: float
    gradient: Floats


class Likelihood(Protocol):
    """What is to be maximized, by a vector of coefficients."""

    def ascent(self, theta: Floats) -> Ascent:
        """Return the log-likelihood and its gradient."""

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information."""

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients moved to where they may be."""


@dataclass(frozen=True)
class Prior:
    """Normal prior of each coefficient: a fixed precision, or one for all coefficients of a kind."""

    kind: Ints
    fixed: Floats
    """Precision of coefficients of the kind `FIXED`."""
    variances: Floats
    """Of each other kind."""
    pace: Floats | float = 0.0
    """By how many of its steps the fixed point of each variance was last approached; below 0 downwards."""

    @property
    def precision(self) -> Floats:
        """Precision of each coefficient."""
        given = self.kind == FIXED
        return np.where(given, self.fixed, 1.0 if given.all() else (1 / self.variances)[self.kind])

    def estimated(self, theta: Floats, covariance: Floats) -> tuple[Prior, bool]:
        """Return the prior that suits coefficients and the diagonal of their covariance; and whether it changes little.

        The fixed point is approached slowly, above all where a variance is to vanish. So a step in the direction of the
        last one is made twice as long as that.
        """
        free = self.kind != FIXED
        if not free.any():
            return self, True
        kind = self.kind[free]
        counts = np.bincount(kind)
        determined = counts - np.bincount(kind, covariance[free]) / self.variances
        found = np.bincount(kind, theta[free] ** 2) / np.maximum(determined, 1e-3 * counts)
        change = np.log(np.maximum(found, FEWEST) / self.variances)
        still = bool((np.abs(change) < _STILL).all())
        pace = np.sign(change) * np.where(change * self.pace > 0, np.minimum(2 * np.abs(self.pace), _FASTEST), 1)
        variances = np.maximum(self.variances * np.exp(np.abs(pace) * change), FEWEST)
        return replace(self, variances=variances, pace=pace), still


def maximized(
    of: Likelihood, theta: Floats, prior: Prior, enough: float, known: Floats | None = None
) -> tuple[Floats, Floats]:
    """Climb until a step gains little and variances stay; return coefficients and the information used last.

    Parameters
    ----------
    of : Likelihood
    theta : array of shape (k,)
        Where to start.
    prior : Prior
        That of the start.
    enough : float
        Gain in nats below which a step is the last.
    known : array of shape (k, k), optional
        Information of a similar likelihood near its maximum, which serves here too.
    """
    at, near = of.ascent(theta), known is not None
    information = of.information(theta) if known is None else known
    for _ in range(_STEPS):
        precision = prior.precision
        factored = Factored(information + np.diag(precision))
        pull = at.gradient - precision * theta
        step = factored.solve(pull)
        expected, now = 0.5 * float(step @ pull), at.value - 0.5 * float(precision @ theta**2)
        theta, at = _line_search(of, theta, step, at, precision)
        gained = at.value - 0.5 * float(precision @ theta**2) - now
        prior, still = prior.estimated(theta, factored.diagonal_of_inverse())
        if near and expected < enough and still:
            break
        surprising = expected >= enough and not _AS_EXPECTED[0] <= gained / expected <= _AS_EXPECTED[1]
        if surprising or (expected < _NEAR and not near):
            information, near = of.information(theta), near or expected < _NEAR
    return theta, information


def _line_search(of: Likelihood, theta: Floats, step: Floats, at: Ascent, precision: Floats) -> tuple[Floats, Ascent]:
    now, size = at.value - 0.5 * float(precision @ theta**2), 1.0
    while size > 1e-3:
        new = of.within(theta + size * step)
        found = of.ascent(new)
        if found.value - 0.5 * float(precision @ new**2) >= now - 1e-9:
            return new, found
        size /= 4
    return theta, at
