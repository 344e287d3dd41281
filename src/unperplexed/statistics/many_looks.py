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
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from .intervals import Interval

PRIOR_ROWS, PRIOR_CLUSTERS = 1000.0, 20.0
"""n0, where units are rows, or clusters such as days: differences that show after about as many are found soonest."""

_NORMAL_FROM = 1e10
"""Degrees of freedom from which Student's t is taken to be normal."""

_STEP = 1e-13
"""Relative step at which the reach of an interval is found."""

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

    Parameters
    ----------
    t : float or ndarray
        How far the mean lies beyond the limit, in standard errors.
    degrees : float or ndarray
        Degrees of freedom of the standard error.
    units : float or ndarray
        N: rows, or clusters of them.
    prior_units : float
        n0, in the same units.
    skewness : float or ndarray, default 0
        Skewness of the mean.
    """
    from scipy.special import log_ndtr, ndtri, stdtr

    tail = ndtri(stdtr(np.minimum(degrees, _NORMAL_FROM), -np.abs(t)))  # below 0, where floats tell probabilities apart
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
    while step > _STEP * u:
        log_share = float(log_ndtr(u))
        slope = u + math.exp(-u * u / 2 - log_share) / math.sqrt(2 * math.pi)
        step = (u * u / 2 + log_share - target) / slope
        u -= step
    x = u * math.sqrt((s.units + s.prior_units) / s.units) - s.skewness / 6
    root = np.cbrt(1 + s.skewness * x)
    z = float(3 * x / (1 + root + root**2))
    return -float(stdtrit(min(s.degrees, _NORMAL_FROM), ndtr(-z))) if z < _FURTHEST else math.inf


_OCTAVES = np.arange(-14.0, 9.0)
"""Binary logarithms of the rates."""

RATES: Floats = 2.0**_OCTAVES
"""Wealth is spread over bets at these rates. The best of them is about mean/variance of the values."""

_WEIGHTS = 1 / (1 + np.abs(_OCTAVES + 2))
LOG_WEIGHTS: Floats = np.log(_WEIGHTS / _WEIGHTS.sum())
"""Largest at a rate of 1/4 and falling slowly, as one over the octaves from there, so that no rate has too little."""

_MOST_LOST = 0.5
"""Share of a bet that the worst value of a row can cost, as against a row whose value is the centre."""

_BLOCK = 1 << 13
"""Rows that are taken at once."""

_CLOSE = 1e-12
"""Relative step at which a root is found."""


def bets(value: Floats, lowest: Floats, highest: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of rows, and the log wealth after each row of the bet at each rate if all means were 0.

    Were their sum s, the wealth would be less by ``RATES * s`` in logarithm.
    """
    earlier = np.concatenate([[0.0], np.cumsum(value)[:-1]]) / np.arange(1, value.size + 1)  # and one 0 among them
    carried = LOG_WEIGHTS
    for start in range(0, value.size, _BLOCK):
        here = slice(start, start + _BLOCK)
        x, low, high = value[here, None], lowest[here, None], highest[here, None]
        # The bound is nearly attained where the centre is the mean, which lies between lowest and highest.
        centre = np.clip(earlier[here, None], low, np.minimum(high, low + _MOST_LOST / RATES))
        wealth = np.log1p(RATES * (x - centre)) + RATES * centre
        wealth[0] += carried
        np.cumsum(wealth, axis=0, out=wealth)
        carried = wealth[-1]
        yield here, wealth


def log_wealth(wealth: Floats, total: Floats | float = 0.0) -> Floats:
    """Logarithm of the wealth of all bets together after each row, if the means up to it add up to ``total``."""
    return _log_sum(wealth - RATES * np.reshape(total, (-1, 1)))[0]


def _log_sum(exponent: Floats) -> tuple[Floats, Floats]:
    """Logarithm of each row's sum of exponentials, and the share that each has in it."""
    top = exponent.max(axis=1, keepdims=True)
    share = np.exp(exponent - top)
    whole = share.sum(axis=1, keepdims=True)
    return (top + np.log(whole))[:, 0], share / whole


def least_total(wealth: Floats, log_limit: float) -> Floats:
    """Sum of means after each row at which the wealth is at its limit; with any smaller sum it is above it."""
    # Newton's method on a convex function that falls: from the left, where one bet alone is at the limit, no step
    # goes past the root. Each row stops by itself, so that its root does not depend on the rows beside it.
    total: Floats = ((wealth - log_limit) / RATES).max(axis=1)
    going = np.ones(total.size, dtype=bool)
    while going.any():
        log_sum, share = _log_sum(wealth[going] - RATES * total[going, None])
        step = (log_sum - log_limit) / (share * RATES).sum(axis=1)
        total[going] += step
        going[going] = step > _CLOSE * np.maximum(np.abs(total[going]), 1 / RATES[-1])  # below 0 only by rounding
    return total


def evidence(value: Floats, lowest: Floats, highest: Floats, log_limit: float) -> tuple[Floats, Floats]:
    """Log e-value, after each row, that the average of the means up to it is above 0; and a lower limit of it.

    The probability that the limit is ever above the average is at most exp(-log_limit). The limit is above 0 where
    the log e-value is above log_limit.

    Parameters
    ----------
    value : ndarray of shape (n,)
        Value of each row, in order.
    lowest, highest : ndarray of shape (n,)
        What each value could have been at least and at most.
    log_limit : float
        Natural logarithm of the e-value at which the average is taken to be above 0.

    Returns
    -------
    (ndarray, ndarray) of shape (n,)
        The natural logarithm, and the lower limit.
    """
    logs, limits = np.empty(value.size), np.empty(value.size)
    for here, wealth in bets(value, lowest, highest):
        logs[here] = log_wealth(wealth)
        limits[here] = least_total(wealth, log_limit)
    return logs, limits / np.arange(1, value.size + 1)
