"""plan(): how many rows a validation needs, for intervals of a width and for errors to be seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._lib.elementary import expit
from .._lib.errors import InputError
from .._lib.typing import ByValue, Floats
from ..report.result import JsonResult
from ..statistics.matrices import product

WIDTHS = {"oe": 0.2, "slope": 0.2, "auc": 0.1, "net_benefit": 0.2}
"""Widths of 95% confidence intervals that Riley et al. (2021) ask for, by the metrics."""

_SURE = 1.959963984540054
"""Standard normal quantile of 97.5%."""

_REACH, _NODES = 9.0, 20_001
"""Standard deviations that log-odds reach to either side of their mean, and the points in which they are summed."""


class Need(ByValue):
    """Rows that one question needs."""

    question: str
    """Such as "O/E, interval of width 0.2"."""
    rows: int
    events: int
    """Expected number of rows of the positive class."""


class Plan(JsonResult):
    """How many rows a study needs. Made by `plan`; ``print`` it, or take it as ``.to_dict()`` or ``.to_json()``."""

    rows: int
    """What the most demanding question needs; all others are then answered too."""
    events: int
    needs: tuple[Need, ...]
    """What each question needs."""
    rate: float
    """Frequency of the positive class."""
    auc: float | None
    """Area under the ROC curve of the forecasts; None where they are taken to be all alike."""
    power: float
    """Probability of seeing an error of the size that was asked for."""
    design_effect: float
    """Factor by which rows that depend on one another raise the numbers."""


def plan(
    y_prob: ArrayLike | None = None,
    *,
    rate: float | None = None,
    auc: float | None = None,
    bias: float | None = None,
    slope: float | None = None,
    precision: Mapping[str, float] | None = None,
    thresholds: ArrayLike = (),
    power: float = 0.8,
    design_effect: float = 1.0,
) -> Plan:
    """Say how many rows a validation needs, for intervals of a width, and to see errors of a size.

    Fewer is better, but for what you want to know; the number is what the most demanding of your questions needs.

    Parameters
    ----------
    y_prob : array_like of shape (n,), optional
        Predicted probabilities of the positive class like those to come, such as a pilot's. They stand for ``rate`` and
        ``auc``, and are taken to be calibrated.
    rate : float, optional
        Expected frequency of the positive class, in (0, 1).
    auc : float, optional
        Expected area under the ROC curve (c-statistic), in (0.5, 1). Log-odds are then normal for either outcome.
        Without it all predictions are taken to be alike, which suffices for the O/E ratio and for a bias.
    bias : float, optional
        A difference between mean prediction and observed frequency that should be seen, such as 0.02 for 2 points.
    slope : float, optional
        A calibration slope that should be told from 1, such as 0.8.
    precision : mapping from str to float, optional
        Widths of 95% confidence intervals, by "oe", "slope", "auc" and "net_benefit" (standardized, at each of the
        thresholds). Where neither ``bias`` nor ``slope`` is asked for: 0.2, 0.2, 0.1 and 0.2, as far as they can be
        computed.
    thresholds : array_like, default ()
        Probabilities in (0, 1) from which on one acts.
    power : float, default 0.8
        Probability of seeing the bias and the slope at the level of 5%, in (0.5, 1).
    design_effect : float, default 1.0
        Factor for rows that depend on one another, such as patients of a hospital: rows divided by effective rows.

    Returns
    -------
    Plan
        ``rows``, ``events``, and ``needs`` of each question.

    Raises
    ------
    InputError
        For numbers out of their range, for a question that takes ``auc``, and without a question.

    Notes
    -----
    Intervals are those of Riley et al. (2021): the standard error of ln O/E is sqrt((1 - rate) / (n rate)), that of the
    slope follows from Fisher's information, that of the AUC is Newcombe's (2006), and that of the standardized net
    benefit is Marsh et al.'s (2020). A bias and a slope are each tested alone, by a score test and a Wald test: the
    verdict, which looks for more, needs some more rows.

    R. D. Riley et al., *Statistics in Medicine* 40 (2021), 4230, doi:10.1002/sim.9025.

    Examples
    --------
    >>> from unperplexed import plan
    >>> plan(rate=0.1, bias=0.02).rows
    1856
    >>> [(need.question, need.rows) for need in plan(rate=0.1, precision={"oe": 0.2}).needs]
    [('O/E, interval of width 0.2', 3469)]
    """
    for name, value, low, high in (
        ("rate", rate, 0, 1), ("auc", auc, 0.5, 1), ("power", power, 0.5, 1), ("slope", slope, 0, math.inf),
    ):  # fmt: skip
        if value is not None and not low < value < high:
            raise InputError(f"{name}: expected a number {_between(low, high)}, got {value!r}.")
    if not 1 <= design_effect < math.inf:
        raise InputError(f"design_effect: expected 1 for independent rows, or more, got {design_effect!r}.")
    if slope == 1:
        raise InputError("slope: 1 is no error; name a slope to be told from 1, such as 0.8.")
    forecasts, at = _forecasts(y_prob, rate, auc), np.atleast_1d(np.asarray(thresholds, dtype=np.float64)).tolist()
    asked = _widths(precision, forecasts, at, bias is None and slope is None)
    exact = chain(_precise(forecasts, asked, at), _seen(forecasts, bias, slope, power))
    needs = tuple(
        Need(question, math.ceil(rows * design_effect), math.ceil(rows * design_effect * forecasts.rate))
        for question, rows in exact
    )
    largest = max(needs, key=lambda need: need.rows)
    return Plan(largest.rows, largest.events, needs, forecasts.rate, forecasts.auc, power, design_effect)


def _between(low: float, high: float) -> str:
    return f"above {low:.3g}" if math.isinf(high) else f"between {low:g} and {high:g}"


class _Expected(NamedTuple):
    """Calibrated forecasts that are to be expected: log-odds in increasing order with weights that add up to 1."""

    s: Floats
    w: Floats
    rate: float
    auc: float | None

    def mean(self, values: Floats) -> float:
        return float(product(self.w, values))

    def errors(self, q: Floats) -> Floats:
        """Variances of intercept and slope at one row, where q are the true probabilities."""
        moments = [self.mean(q * (1 - q) * self.s**power) for power in range(3)]
        return np.diag(np.linalg.inv([moments[:2], moments[1:]]))


def _forecasts(y_prob: ArrayLike | None, rate: float | None, auc: float | None) -> _Expected:
    if y_prob is not None:
        if rate is not None or auc is not None:
            raise InputError("rate: follows from y_prob, as auc does; leave these or y_prob out.")
        return _of_pilot(np.sort(np.asarray(y_prob, dtype=np.float64)))
    if rate is None:
        raise InputError("rate: missing; name the expected frequency of the positive class, such as 0.1.")
    middle = math.log(rate / (1 - rate))
    if auc is None:
        return _Expected(np.array([middle]), np.ones(1), rate, None)
    from scipy.special import ndtri

    spread = math.sqrt(2) * float(ndtri(auc))
    z = np.linspace(-_REACH, _REACH, _NODES)
    s = np.concatenate([spread * z + middle + sign * spread**2 / 2 for sign in (-1, 1)])
    w = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    order = np.argsort(s)
    return _Expected(s[order], np.concatenate([(1 - rate) * w, rate * w])[order], rate, auc)


def _of_pilot(p: Floats) -> _Expected:
    if p.ndim != 1 or not p.size or not ((p > 0) & (p < 1)).all():
        raise InputError("y_prob: expected probabilities between 0 and 1, both excluded, of one class.")
    rate, w = float(p.mean()), np.full(p.size, 1 / p.size)
    below = np.cumsum(1 - p) - (1 - p) / 2
    return _Expected(np.log(p / (1 - p)), w, rate, float(p @ below / (p.sum() * (1 - p).sum())))


def _widths(
    precision: Mapping[str, float] | None, of: _Expected, at: Sequence[float], usual: bool
) -> Mapping[str, float]:
    """Give the widths that are asked for, or the usual ones."""
    if not all(0 < t < 1 for t in at):
        raise InputError(f"thresholds: expected probabilities between 0 and 1, both excluded, got {at}.")
    if precision is None:
        known = WIDTHS if of.auc is not None else {"oe": WIDTHS["oe"]}
        return {name: width for name, width in known.items() if at or name != "net_benefit"} if usual else {}
    for name, width in precision.items():
        if name not in WIDTHS:
            raise InputError(f"precision: no metric {name!r}; they are {', '.join(WIDTHS)}.")
        if not 0 < width < math.inf:
            raise InputError(f"precision: the width of {name} must be above 0, got {width!r}.")
    if "net_benefit" in precision and not at:
        raise InputError("thresholds: missing; a net benefit has one, such as 0.2.")
    return precision


def _spread(of: _Expected, name: str) -> _Expected:
    """Refuse a question that takes predictions which differ."""
    if of.auc is None or of.s[0] == of.s[-1]:
        raise InputError(f"auc: missing; {name} depends on how far predictions differ. Name it, such as 0.75.")
    return of


def _precise(of: _Expected, widths: Mapping[str, float], at: Sequence[float]) -> Iterator[tuple[str, float]]:
    """Rows for intervals of these widths."""
    for name, width in widths.items():
        error = width / 2 / _SURE
        if name == "oe":
            rows = {"O/E": (1 - of.rate) / of.rate / (math.asinh(width / 2) / _SURE) ** 2}
        elif name == "slope":
            rows = {"calibration slope": _spread(of, "the slope").errors(expit(of.s))[1] / error**2}
        elif name == "auc":
            rows = {"AUC": _rows_of_auc(_spread(of, "the AUC"), error)}
        else:
            named = _spread(of, "the net benefit")
            rows = {f"net benefit at {t:.4g}": _benefit_variance(named, t) / error**2 for t in at}
        yield from ((f"{what}, interval of width {width:.4g}", n) for what, n in rows.items())


def _rows_of_auc(of: _Expected, error: float) -> float:
    """Solve Newcombe's variance of an AUC for the number of rows, in which it is nearly 1 / n."""
    c = of.auc or 0.5
    more = (1 - c) / (2 - c) + c / (1 + c)
    scale = c * (1 - c) / (of.rate * (1 - of.rate)) / error**2  # n^2 = scale (1 + (n / 2 - 1) more)
    return (scale * more / 2 + math.sqrt((scale * more / 2) ** 2 + 4 * scale * (1 - more))) / 2


def _benefit_variance(of: _Expected, threshold: float) -> float:
    """Variance of a standardized net benefit at one row (Marsh et al. 2020, as Riley et al. 2021 have it)."""
    q, acted = expit(of.s), expit(of.s) >= threshold
    sensitivity, specificity = of.mean(q * acted) / of.rate, of.mean((1 - q) * ~acted) / (1 - of.rate)
    weight = (1 - of.rate) / of.rate * threshold / (1 - threshold)
    false = weight**2 * (1 - specificity)
    return (
        sensitivity * (1 - sensitivity) / of.rate
        + false * specificity / (1 - of.rate)
        + false * (1 - specificity) / (of.rate * (1 - of.rate))
    )


def _seen(of: _Expected, bias: float | None, slope: float | None, power: float) -> Iterator[tuple[str, float]]:
    """Rows to see errors of these sizes with a power."""
    from scipy.special import ndtri

    beyond, with_power = float(ndtri(power)), f"power {100 * power:.3g}%"
    if bias is not None:
        changes = [change for change in (abs(bias), -abs(bias)) if bias and 0 < of.rate + change < 1]
        if not changes:
            raise InputError(f"bias: expected a share of 1 such as 0.02 for 2 points, got {bias!r}.")
        yield (
            f"a bias of {100 * abs(bias):.3g} percentage points, {with_power}",
            max(_rows_of_bias(of, c, beyond) for c in changes),
        )
    if slope is not None:
        true = _spread(of, "the slope").s * slope
        true = true + _root(lambda level: of.mean(expit(true + level)) - of.rate)
        rows = of.errors(expit(true))[1] * ((_SURE + beyond) / (slope - 1)) ** 2
        yield f"a calibration slope of {slope:.4g}, {with_power}", rows


def _rows_of_bias(of: _Expected, change: float, beyond: float) -> float:
    """Rows for a sum of outcomes minus predictions p to leave its bounds, where true probabilities q are higher."""
    p = expit(of.s)
    q = expit(of.s + _root(lambda shift: of.mean(expit(of.s + shift)) - of.rate - change))
    variance = of.mean(q * (1 - q) + (q - p - change) ** 2)
    return ((_SURE * math.sqrt(of.mean(p * (1 - p))) + beyond * math.sqrt(variance)) / change) ** 2


def _root(function: Callable[[float], float]) -> float:
    from scipy.optimize import brentq

    return float(brentq(function, -50, 50, xtol=1e-12))
