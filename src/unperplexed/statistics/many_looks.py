"""Evidence that a mean is beyond a limit, from the rows so far, valid however often one looks while rows are added.

Over N independent units with a standard deviation of 1, the sum X of what exceeds the limit is, to the precision of the
central limit theorem, a Brownian motion at time N. Against a mean within the limit, bet on means beyond it whose prior
is a half-normal of variance 1/n0: what the bet is worth,

    e = 2 (1 + N/n0)^(-1/2) exp(X^2 / (2 (N + n0))) Phi(X / sqrt(N + n0)),

is then expected never to grow, and by Ville's inequality ever reaches 1/a with a probability of at most a. It depends
on the rows so far alone, so that nothing is kept between looks.

While few units are known and they are skewed, the sum over its estimated standard deviation is skewed the other way: of
values below a limit now and then by far, the first are often all above, and alike. X / sqrt(N) is therefore the value z
after Hall's (1992) monotone transformation, with g the skewness of the mean: z + g/6 + g z^2/3 + g^2 z^3/27.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from .intervals import Interval

PRIOR_ROWS, PRIOR_CLUSTERS = 1000.0, 20.0
"""n0, where units are rows, or clusters such as days: differences that show after about as many are found soonest."""

_FURTHEST = 37.0
"""Standard errors beyond which tail probabilities are no floats."""


class Spread(NamedTuple):
    """How precisely a mean is known."""

    standard_error: float
    degrees: float
    """Degrees of freedom of the standard error."""
    units: float
    """N: rows, or clusters of them; the variance of the mean is inversely proportional to it."""
    prior_units: float
    """n0, in the same units."""
    skewness: float = 0.0
    """Skewness of the mean; 0 where it is not known."""

    def mirrored(self) -> Spread:
        """Return the spread of minus the mean."""
        return self._replace(skewness=-self.skewness)

    def log_evidence(self, beyond: float) -> float:
        """Natural logarithm of the evidence against the limit, by which the mean lies so far beyond it."""
        t = beyond / self.standard_error
        return float(log_evidence(t, self.degrees, self.units, self.prior_units, self.skewness))

    def interval(self, mean: float, confidence: float) -> Interval:
        """Confidence sequence: limits beyond its ends have evidence of 2 / (1 - confidence) against them."""
        below, above = (_reach(each, math.log(2 / (1 - confidence))) for each in (self, self.mirrored()))
        return Interval(mean - self.standard_error * below, mean + self.standard_error * above)


def log_evidence(
    t: Floats | float,
    degrees: Floats | float,
    units: Floats | float,
    prior_units: float,
    skewness: Floats | float = 0.0,
) -> Floats:
    """Natural logarithm of e, from t statistics.

    z is the normal value whose tail probability is that of t, since with few units t varies more.
    """
    from scipy.special import log_ndtr, ndtri, stdtr

    tail = ndtri(stdtr(np.minimum(degrees, 1e10), -np.abs(t)))  # below 0, where floats tell probabilities apart
    z = np.copysign(np.minimum(-tail, _FURTHEST), t)
    z = z + skewness * (1 / 6 + z**2 / 3 + skewness * z**3 / 27)
    u = z * np.sqrt(units / (units + prior_units))
    return np.asarray(math.log(2) - np.log1p(units / prior_units) / 2 + u * u / 2 + log_ndtr(u))


def _reach(s: Spread, log_limit: float) -> float:
    """Number of standard errors beyond a limit at which its evidence is so large."""
    from scipy.special import log_ndtr, ndtr, stdtrit

    target = log_limit - math.log(2) + math.log1p(s.units / s.prior_units) / 2
    # Newton's method on a convex function that grows, from the right of its root.
    u, step = math.sqrt(2 * (target + math.log(2))), math.inf
    while step > 1e-13 * u:
        log_share = float(log_ndtr(u))
        slope = u + math.exp(-u * u / 2 - log_share) / math.sqrt(2 * math.pi)
        step = (u * u / 2 + log_share - target) / slope
        u -= step
    x = u * math.sqrt((s.units + s.prior_units) / s.units) - s.skewness / 6
    root = np.cbrt(1 + s.skewness * x)
    z = float(3 * x / (1 + root + root**2))
    return -float(stdtrit(min(s.degrees, 1e10), ndtr(-z))) if z < _FURTHEST else math.inf
