"""Means of rows that may depend on one another, their standard errors, and adjusted p-values of several of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats, Ints
from .means import effective_number, t_quantile

_ROUNDING, _ROUNDING_32 = 2.0**-48, 2.0**-20
"""Rounding errors of double precision and of single, with room to spare."""

LEAST_WORTH = 2 - _ROUNDING_32
"""Independent units that a standard error takes."""


@dataclass(frozen=True)
class Dependence:
    """Which rows may depend on one another: none, those of a group, or those up to ``lag`` places apart."""

    groups: Ints | None = None
    """Number of each row's group, from 0; every number occurs."""
    lag: int = 0

    def units(self, n_rows: int) -> int:
        """How many groups there are, or rows where these are not grouped."""
        return n_rows if self.groups is None else int(self.groups.max(initial=-1)) + 1

    def independent(self, w: Floats) -> float:
        """Effective number of independent units.

        Kish's size of the groups' weights, or the rows'. With a lag it is divided by the sum of the kernel's squares,
        so that it gives the equivalent degrees of freedom of Lazarus, Lewis, Stock and Watson (2018).
        """
        weight = w if self.groups is None else np.bincount(self.groups, w).astype(np.float64)
        horizon = self.lag + 1
        squares = (2 * horizon**2 + 1) / (3 * horizon)  # of 1 - |j|/horizon, summed
        return effective_number(weight) / squares


class UncertainMean(NamedTuple):
    """A mean with its standard error, and what is known of that."""

    mean: float
    standard_error: float
    degrees: float
    """Degrees of freedom: the effective number of independent units minus 1."""
    carried_by: float
    """Effective number of rows or clusters behind the standard error; with few it is uncertain itself."""

    @property
    def judged(self) -> bool:
        """Whether the standard error is known: not where all are the same, nor of fewer than two units."""
        return self.standard_error > 0 and self.degrees >= LEAST_WORTH - 1

    def half_width(self, confidence: float) -> float:
        """Distance from the mean to the ends of its interval, by Student's t; NaN where nothing tells."""
        return self.standard_error * float(t_quantile(confidence, self.degrees)) if self.judged else math.nan

    def p_value(self) -> float:
        """Probability, were the mean 0, of one at least as far from it; NaN where nothing tells."""
        from scipy.special import stdtr

        return 2 * float(stdtr(self.degrees, -abs(self.mean) / self.standard_error)) if self.judged else math.nan


def uncertain_mean(x: Floats, w: Floats, dependence: Dependence) -> UncertainMean:
    """Weighted mean of rows of positive weight, and its sandwich standard error.

    For independent rows of equal weight it is that of the t-test. Sums of groups are such rows. With a lag it is that
    of the Diebold-Mariano test with Bartlett's kernel and the factor of Harvey, Leybourne and Newbold (1997), which is
    (n - 1)/n without.
    """
    units, weight, degrees = dependence.units(x.size), float(w.sum()), dependence.independent(w) - 1
    with np.errstate(invalid="ignore"):  # infinity less itself
        mean = float((w * x).sum()) / weight
    if not np.isfinite(x).all():
        return UncertainMean(mean, math.nan, degrees, math.nan)
    rows = w / weight * (x - mean)
    # Sorted, so that the names of groups change no digit.
    u = rows if dependence.groups is None else np.sort(np.bincount(dependence.groups, rows))
    if np.abs(u).sum() <= max(_ROUNDING, _ROUNDING_32 * abs(mean)):  # the same in every unit
        return UncertainMean(mean, 0.0 if units > 1 else math.nan, degrees, math.inf)
    squares = u * u
    total = float(squares.sum())
    fourth = float(squares @ squares)
    carried_by = total**2 / fourth if fourth else math.inf
    horizon = dependence.lag + 1
    for lag in range(1, horizon):
        total += 2 * (1 - lag / horizon) * float(u[lag:] @ u[:-lag])
    factor = (units + 1 - 2 * horizon + horizon * (horizon - 1) / units) / units
    error = math.sqrt(max(total, 0.0) / factor) if factor > 0 else math.nan
    return UncertainMean(mean, error, degrees, carried_by)


def holm(p: Floats) -> Floats:
    """p-values of tests made together, adjusted so that none true is rejected but by the level (Holm 1979).

    Those that are NaN were no tests.
    """
    adjusted = np.full(p.size, np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = (order.size - np.arange(order.size)) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
