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
from ..._lib.typing import Bools
from ...maps.cells import NO_PRIOR, Cells, fitted_cells
from ...maps.two import columns, finite, zero_of
from ...statistics.intervals import LEAST_WORTH, Interval, Metric
from ...statistics.means import effective_number, t_quantile
from ...statistics.products import product
from .scored import ClusterSums, Scored, in_cells


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

    def inverse(self, confidence: float = 0.95) -> Metric:
        """Return 1 over it, a temperature; its interval is NaN where that has no bounds."""
        slope, error, (low, high) = self.metric(confidence)
        limits = Interval(1 / high, 1 / low) if low > 0 else Interval(math.nan, math.nan)
        return Metric(1 / slope, error / slope**2, limits) if slope > 0 else Metric()


class CalibrationLine(NamedTuple):
    """Slope (1 is best) and intercept at slope 1 (0 is best); NaN where the data determine none."""

    slope: Coefficient = Coefficient()
    intercept: Coefficient = Coefficient()

    def size_of(self, error: str, together: Sequence[str]) -> Metric | None:
        """Return the size that the line gives an error, as its distance from none; None beside errors of other kinds.

        Confidence has the slope, beside a bias too, and a bias alone the intercept.
        """
        if error == "confidence" and {*together} <= {"bias", "confidence"}:
            return self.slope._replace(value=self.slope.value - 1).metric()
        return self.intercept.metric() if [*together] == ["bias"] else None

    def without_errors(self) -> CalibrationLine:
        """Return the values alone, where rows depend on one another in a way that is not known."""
        return CalibrationLine(Coefficient(self.slope.value), Coefficient(self.intercept.value))


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
    clusters the squared sums over clusters, times G / (G - 1). The model alone holds the slope of a curve that is
    no line in 92% of the samples, that of clusters in 75 to 83%, and the intercept in 88 to 91% where the slope is
    not 1; the sandwich alone is too small where events are rare. The larger holds both in 94 to 97%
    (benchmarks/coverage_line.py).

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
    slope = _coefficient(("bias", "slope"), some, sums) if np.ptp(some.s) >= _ONE_VALUE else Coefficient()
    return CalibrationLine(slope._replace(value=1 + slope.value), _coefficient(("bias",), some, sums))


def power_alone(rows: Scored, n_rows: float, clusters: Callable[[Bools], ClusterSums] | None = None) -> Coefficient:
    """Estimate the slope without an intercept, of which a temperature fitted alone is the inverse.

    No rows stay out: predictions of exactly 0 count as `zero_of` says. Otherwise as `calibration_line`.
    """
    some = rows._replace(s=finite(rows.s, zero_of(log_expit(-np.abs(rows.s)), 2, n_rows)))
    if not some.s.any():
        return Coefficient()
    slope = _coefficient(("slope",), some, None if clusters is None else clusters(np.isfinite(some.s)))
    return slope._replace(value=1 + slope.value)


_ONE_VALUE = 1e-9
"""Log-odds that differ less are one, and have no slope."""

_SINGULAR = 1e15
"""Condition of an information matrix beyond which doubles cannot invert it."""


def _coefficient(names: tuple[str, ...], rows: Scored, clusters: ClusterSums | None) -> Coefficient:
    """Fit a line of some coefficients, where rows are many in cells and with a step over all rows; return the last."""
    found = fitted_cells(Cells(in_cells(rows), names), NO_PRIOR)
    if found.separated:
        return Coefficient()
    x = columns(names, rows.s)
    q = expit(rows.s + product(found.theta, x))
    v = q * (1 - q)
    information = product(x * (rows.total * v), x.T)
    if np.linalg.cond(information) > _SINGULAR:  # one row outweighs all others
        return Coefficient(float(found.theta[-1]))
    inverse = np.linalg.inv(information)
    direction = product(inverse[-1], x)  # what a row's residual adds to the coefficient
    value = float(found.theta[-1]) + float(product(direction, rows.positive - rows.total * q))
    model = float(product(direction**2 * rows.squared, v))
    if clusters is None:
        leverage = (product(inverse, x) * x).sum(axis=0) * v * rows.squared / rows.total
        robust = float(product(direction**2 / np.maximum(1 - leverage, _LEAST_FREE), rows.own_squares(q)))
        return judged(value, max(model, robust), float(rows.total.sum() ** 2 / rows.squared.sum()))
    off = clusters.scores(direction[None]) + clusters.totals((direction * (expit(rows.s) - q))[None])
    weights, off = clusters.totals(np.ones((1, rows.s.size)))[:, 0], off[:, 0] - off.mean()  # 0 but in cells
    robust = float(off @ off) * off.size / max(off.size - 1, 1)
    independent = effective_number(weights)
    return judged(value, max(model, robust), independent, independent - 1)


_LEAST_FREE = 1e-6
"""Least part of a row's own residual that its leverage leaves it."""


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
