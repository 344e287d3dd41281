"""Means of rows that may depend on one another, how sure they are, and p-values of several of them together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from ._typing import Floats, Ints


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
        """About how many independent rows of equal weight the rows are worth."""
        weight = w if self.groups is None else np.bincount(self.groups, w)
        return float(weight.sum()) ** 2 / float(weight @ weight) / (self.lag + 1)


class UncertainMean(NamedTuple):
    """A mean with its standard error, and what is known of that."""

    mean: float
    standard_error: float
    degrees: int
    carried_by: float
    """How many rows' or groups' worth carry the standard error: the fewer, the less is known of it."""

    def half_width(self, confidence: float) -> float:
        """Distance from the mean to the ends of its interval, by Student's t."""
        if not self.standard_error > 0:
            return self.standard_error
        return self.standard_error * float(stdtrit(self.degrees, (1 + confidence) / 2))

    def p_value(self) -> float:
        """Probability, were the mean 0, of one at least as far from it."""
        if self.mean == 0 and self.standard_error == 0:
            return 1.0
        if not self.standard_error >= 0:
            return math.nan
        return 2 * float(stdtr(self.degrees, -abs(self.mean) / self.standard_error)) if self.standard_error else 0.0


def uncertain_mean(x: Floats, w: Floats, dependence: Dependence) -> UncertainMean:
    """Weighted mean of rows of positive weight, and its sandwich standard error.

    Of independent rows of equal weight it is that of the t-test. Sums of groups are such rows. With a lag it is that of
    the Diebold-Mariano test with Bartlett's kernel and the factor of Harvey, Leybourne and Newbold (1997), which is
    (n - 1)/n without.
    """
    units, weight = dependence.units(x.size), float(w.sum())
    with np.errstate(invalid="ignore"):  # infinity less itself
        mean = float((w * x).sum()) / weight
    if not np.isfinite(x).all():
        return UncertainMean(mean, math.nan, units - 1, math.nan)
    if not x.any():
        return UncertainMean(0.0, 0.0, units - 1, math.inf)
    rows = w / weight * (x - mean)
    # Sorted, so that the names of groups change no digit.
    u = rows if dependence.groups is None else np.sort(np.bincount(dependence.groups, rows))
    squares = u * u
    total = float(squares.sum())
    fourth = float(squares @ squares)
    carried_by = total**2 / fourth if fourth else math.inf
    horizon = dependence.lag + 1
    for lag in range(1, horizon):
        total += 2 * (1 - lag / horizon) * float(u[lag:] @ u[:-lag])
    factor = (units + 1 - 2 * horizon + horizon * (horizon - 1) / units) / units
    error = math.sqrt(max(total, 0.0) / factor) if factor > 0 else math.nan
    return UncertainMean(mean, error, units - 1, carried_by)


def holm(p: Floats) -> Floats:
    """p-values of tests made together, adjusted so that none true is rejected but by the level (Holm 1979).

    Those that are NaN were no tests.
    """
    adjusted = np.full(p.size, np.nan)
    order = np.argsort(p, kind="stable")[: np.count_nonzero(~np.isnan(p))]
    steps = (order.size - np.arange(order.size)) * p[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
