"""Calibration slope, intercept and temperature with their intervals: one computation, wherever they are shown.

The slope is that of the logistic regression of the outcome on the predicted log-odds, with an intercept (Cox 1958); the
intercept is that of the same regression at slope 1, calibration in the large. Rows predicted as exactly 0 or 1 have no
log-odds and stay out of both. The temperature is 1 over the slope without an intercept, of all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit, log_expit
from ..._lib.typing import Bools, Floats
from ...maps.cells import NO_PRIOR, Cells, fitted_cells
from ...maps.two import columns, finite, zero_of
from ...statistics.intervals import LEAST_WORTH, Interval, Metric
from ...statistics.matrices import product
from ...statistics.means import effective_number, t_quantile
from .gate import ClusterSums, Scored, in_cells


class Coefficient(NamedTuple):
    """A coefficient of the line, with its standard error where there is one."""

    value: float = math.nan
    standard_error: float = math.nan
    degrees: float = math.inf
    """Degrees of freedom: the effective number of clusters minus 1; infinite for independent rows."""

    def metric(self, confidence: float = 0.95) -> Metric:
        """Return it with the interval of Wald at a confidence level, by Student's t."""
        half = self.standard_error * float(t_quantile(confidence, self.degrees))
        return Metric(self.value, self.standard_error, Interval(self.value - half, self.value + half))

    def p_value(self, value: float) -> float:
        """Return the p-value of a value of the coefficient being 0."""
        from scipy.special import stdtr

        return float(2 * stdtr(min(self.degrees, _NORMAL), -abs(value) / self.standard_error))

    def inverse(self, confidence: float = 0.95) -> Metric:
        """Return 1 over it, a temperature; its interval is NaN where that has no bounds."""
        slope, error, (low, high) = self.metric(confidence)
        limits = Interval(1 / high, 1 / low) if low > 0 else Interval(math.nan, math.nan)
        return Metric(1 / slope, error / slope**2, limits) if slope > 0 else Metric()


class CalibrationLine(NamedTuple):
    """Slope (1 is best) and intercept at slope 1 (0 is best); NaN where the data determine none."""

    slope: Coefficient = Coefficient()
    intercept: Coefficient = Coefficient()
    level: Coefficient = Coefficient()
    """Intercept beside the slope, at the `Scored.centre` of the log-odds."""

    def size_of(self, error: str, together: Sequence[str]) -> Metric | None:
        """Return the size that the line gives an error, as its distance from none; None beside errors of other kinds.

        Confidence has the slope, beside a bias too, and a bias alone the intercept.
        """
        if not {*together} <= {"bias", "confidence"}:
            return None
        if error == "confidence":
            return self.slope._replace(value=self.slope.value - 1).metric()
        return (self.intercept if len(together) == 1 else self.level).metric()

    def without_errors(self) -> CalibrationLine:
        """Return the values alone, where rows depend on one another in a way that is not known."""
        return CalibrationLine(*(Coefficient(each.value) for each in self))


def calibration_line(rows: Scored, clusters: Callable[[Bools], ClusterSums] | None = None) -> CalibrationLine:
    """Estimate slope and intercept, each by maximum likelihood.

    Parameters
    ----------
    rows : Scored
        Weights of rows and of outcomes at distinct predicted log-odds; those at infinite ones are left out.
    clusters : callable, optional
        Given which entries are kept, sums over clusters of dependent rows.

    Returns
    -------
    CalibrationLine

    Notes
    -----
    The variance is the larger of the model's, J^-1 for equal weights, and a sandwich J^-1 M J^-1. For independent
    rows M sums the squared scores of rows, each divided by 1 less its leverage (HC2; MacKinnon and White 1985); for
    clusters the squared sums over clusters, each divided by 1 less its share of the information (HC3). The
    model alone is too small for a curve that is no line and for clusters, the sandwich alone where events are rare.

    Examples
    --------
    >>> import numpy as np
    >>> s, one = np.array([-2.0, 0.0, 2.0]), np.full(3, 100.0)
    >>> line = calibration_line(Scored(s, one, np.array([20.0, 50, 80]), one, np.array([20.0, 50, 80]), one))
    >>> round(line.slope.value, 3), [round(end, 2) for end in line.slope.metric().interval]
    (0.693, [0.52, 0.87])
    """
    finite = np.isfinite(rows.s)
    some = rows.only(finite)
    if not 0 < some.positive.sum() < some.total.sum():
        return CalibrationLine()
    sums = None if clusters is None else clusters(finite)
    level, slope = Coefficient(), Coefficient()
    if np.ptp(some.s) >= ONE_VALUE:
        level, slope = _fitted(("bias", "slope"), some, sums, some.centre)
    return CalibrationLine(slope._replace(value=1 + slope.value), _fitted(("bias",), some, sums)[0], level)


def power_alone(rows: Scored, n_rows: float, clusters: Callable[[Bools], ClusterSums] | None = None) -> Coefficient:
    """Estimate the slope without an intercept, of which a temperature fitted alone is the inverse.

    No rows stay out: predictions of exactly 0 count as `zero_of` says. Otherwise as `calibration_line`.
    """
    some = rows._replace(s=finite(rows.s, zero_of(log_expit(-np.abs(rows.s)), 2, n_rows)))
    if not some.s.any():
        return Coefficient()
    [slope] = _fitted(("slope",), some, None if clusters is None else clusters(np.isfinite(some.s)))
    return slope._replace(value=1 + slope.value)


ONE_VALUE = 1e-9
"""Log-odds that differ less are one, and have no slope."""

_SINGULAR = 1e15
"""Condition of an information matrix beyond which doubles cannot invert it."""


_NORMAL = 1e9
"""Degrees of freedom at which Student's distribution is the normal one."""


def _fitted(
    names: tuple[str, ...], rows: Scored, clusters: ClusterSums | None, about: float = 0.0
) -> list[Coefficient]:
    """Fit a line of some coefficients, where rows are many in cells and with a step over all rows."""
    found = fitted_cells(Cells(in_cells(rows), names, about), NO_PRIOR)
    if found.separated:
        return [Coefficient()] * len(names)
    x = columns(names, rows.s, about)
    return judged_coefficients(found.theta, x, expit(rows.s + product(found.theta, x)), rows, clusters)


def judged_coefficients(
    values: Floats, x: Floats, q: Floats, rows: Scored, clusters: ClusterSums | None
) -> list[Coefficient]:
    """Move coefficients by a step of Newton, and give them standard errors, where the rows determine them.

    Parameters
    ----------
    values : array of shape (k,)
        Coefficients near the maximum of the likelihood.
    x : array of shape (k, m)
        Derivatives of the probabilities q, divided by q (1 - q).
    q : array of shape (m,)
        Probabilities of the positive class, mended.
    rows : Scored
        Rows at m log-odds.
    clusters : ClusterSums or None
        Sums over clusters of these entries.
    """
    v = q * (1 - q)
    information = product(x * (rows.total * v), x.T)
    if not np.isfinite(information).all() or np.linalg.cond(information) > _SINGULAR:  # one row outweighs all others
        return [Coefficient(value) for value in values.tolist()]
    moved = product(np.linalg.inv(information), x)  # what a row's residual adds to each coefficient
    values = values + product(moved, rows.positive - rows.total * q)
    model = product(moved**2, rows.squared * v)
    if clusters is None:
        leverage = (moved * x).sum(axis=0) * v * rows.squared / rows.total
        robust = product(moved**2 / np.maximum(1 - leverage, _LEAST_FREE), rows.own_squares(q))
        independent, degrees = float(rows.total.sum() ** 2 / rows.squared.sum()), math.inf
    else:
        off = clusters.scores(moved) + clusters.totals(moved * (expit(rows.s) - q))
        off = off - off.mean(axis=0)  # 0 but in cells
        robust = jackknifed(off, clusters.totals(moved * x * v))
        independent = effective_number(clusters.totals(np.ones((1, rows.s.size)))[:, 0])
        degrees = independent - 1
    variances = np.maximum(model, robust).tolist()
    return [judged(*each, independent, degrees) for each in zip(values.tolist(), variances, strict=True)]


_LEAST_FREE = 1e-6
"""Least part of a row's own residual that its leverage leaves it."""


def jackknifed(sums: Floats, shares: Floats) -> Floats:
    """Variances of coefficients from what each cluster adds to them, and has of the information on them.

    Without a cluster a coefficient moves by its sum divided by 1 less its share (HC3; MacKinnon and White 1985).
    """
    return np.asarray(((sums / np.maximum(1 - shares, _LEAST_FREE)) ** 2).sum(axis=0))


def judged(value: float, variance: float, independent: float, degrees: float = math.inf) -> Coefficient:
    """Leave out the standard error of fewer than two independent rows or clusters, and one that is 0 or overflows.

    Parameters
    ----------
    value : float
        The coefficient.
    variance : float
        Square of its standard error.
    independent : float
        Effective number of independent rows or clusters.
    degrees : float, default inf
        Degrees of freedom.
    """
    known = 0 < variance < math.inf and independent >= LEAST_WORTH
    return Coefficient(value, math.sqrt(variance), degrees) if known else Coefficient(value)
