"""plan(): how many rows a validation needs, for intervals of a width and for errors to be seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._lib.elementary import expit
from .._lib.errors import InputError, check_choice, is_number
from .._lib.typing import Floats
from ..report.result import JsonResult
from ..statistics.matrices import product
from .decision_curve import checked_thresholds

WIDTHS = {"oe": 0.2, "slope": 0.2, "auc": 0.1, "net_benefit": 0.2}
"""Widths of 95% confidence intervals that Riley et al. (2021) ask for, by the metrics."""

_SURE = 1.959963984540054
"""Standard normal quantile of 97.5%."""

_MOST = 2**53
"""Rows of which more are past all use."""

_REACH, _NODES = 9.0, 20_001
"""Standard deviations that log-odds reach to either side of their mean, and the points in which they are summed."""


class Plan(JsonResult):
    """How many rows a study needs. Made by `plan`; ``print`` it, or take it as ``.to_dict()`` or ``.to_json()``."""

    rows: int
    """What the most demanding question needs; all others are then answered too."""
    needs: dict[str, int]
    """Rows that each question needs, by its words."""
    rate: float
    """Frequency of the positive class."""
    auc: float | None
    """Area under the ROC curve of the forecasts; None where they are taken to be all alike."""
    design_effect: float
    """Factor by which rows that depend on one another raise the numbers."""


def plan(
    *,
    rate: float,
    auc: float | None = None,
    bias: float | None = None,
    slope: float | None = None,
    precision: Mapping[str, float] | None = None,
    thresholds: ArrayLike = (),
    power: float = 0.8,
    design_effect: float = 1.0,
) -> Plan:
    """Find how many rows a validation needs, before you collect them.

    Returns a `Plan`: ``rows`` is the number that your most demanding question
    needs, and ``needs`` has the number for each question.

    Parameters
    ----------
    rate : float
        Expected frequency of the positive class, in (0, 1).
    auc : float, optional
        Expected area under the ROC curve (c-statistic), in (0.5, 1). Log-odds
        are then normal for either outcome. Without it all predictions are taken
        to be alike, which suffices for the O/E ratio and for a bias.
    bias : float, optional
        A difference between mean prediction and observed frequency that should
        be seen, such as 0.02 for 2 points.
    slope : float, optional
        A calibration slope that should be told from 1, such as 0.8.
    precision : mapping from str to float, optional
        Widths of 95% confidence intervals, by "oe", "slope", "auc" and
        "net_benefit" (standardized, at each of the thresholds). Where neither
        ``bias`` nor ``slope`` is asked for: 0.2, 0.2, 0.1 and 0.2, as far as
        they can be computed.
    thresholds : array_like, default ()
        Probabilities in (0, 1) from which on one acts: they ask for the net
        benefit, which takes ``auc``.
    power : float, default 0.8
        Probability of seeing the bias and the slope at the level of 5%, in
        (0.5, 1).
    design_effect : float, default 1.0
        Factor for rows that depend on one another, such as patients of a
        hospital: the square of that by which clusters widen an interval.

    Returns
    -------
    Plan
        ``rows``, and ``needs`` of each question.

    Raises
    ------
    InputError
        For numbers out of their range, for a question that takes ``auc``, and
        without a question.

    Notes
    -----
    Intervals are those of Riley et al. (2021): the standard error of ln O/E is
    sqrt((1 - rate) / (n rate)), that of the slope follows from Fisher's
    information, that of the AUC is Newcombe's (2006), and that of the
    standardized net benefit is Marsh et al.'s (2020). A bias and a slope are
    each tested alone; the verdict, which looks for more, needs some more rows.
    A bias has the number of rows of predictions that are all alike, which is
    the largest.

    R. D. Riley et al., *Statistics in Medicine* 40 (2021), 4230,
    doi:10.1002/sim.9025.

    Examples
    --------
    >>> from unperplexed import plan
    >>> found = plan(rate=0.1, bias=0.02)
    >>> print(found.to_text().splitlines()[0])
    You need 1,856 rows, with about 186 events among them.
    >>> plan(rate=0.1, precision={"oe": 0.2}).needs
    {'O/E, interval of width 0.2': 3469}
    """
    for name, value, low, high in (
        ("rate", rate, 0, 1), ("auc", auc, 0.5, 1), ("power", power, 0.5, 1), ("slope", slope, 0, 100),
    ):  # fmt: skip
        if value is not None and not (is_number(value) and low < value < high):
            raise InputError(f"{name}: expected a number between {low:g} and {high:g}, got {value!r}.")
    if slope == 1 or not (is_number(design_effect, 1) and design_effect < math.inf):
        raise InputError(f"slope is to differ from 1, design_effect to be 1 or more; got {slope} and {design_effect}.")
    at = [] if thresholds is None or not np.size(thresholds) else checked_thresholds(thresholds).tolist()
    forecasts = _Expected(*_log_odds(rate, auc), float(rate), auc or 0.5)
    asked = _widths(precision, at, auc is not None, bias is None and slope is None)
    exact = chain(_precise(forecasts, asked, at), _seen(forecasts, bias, slope, power))
    if auc is None and (slope is not None or {*asked} - {"oe"}):
        raise InputError("auc: missing; slope, AUC and net benefit depend on it. Name what you expect, such as 0.75.")
    try:
        needs = {question: math.ceil(rows * design_effect) if rows < _MOST else _MOST for question, rows in exact}
    except ArithmeticError:
        needs = {"": _MOST}
    if max(needs.values()) >= _MOST:
        raise InputError("plan: more rows than can be counted. Name a larger error or width, or a less extreme rate.")
    return Plan(max(needs.values()), needs, rate, auc, design_effect)


class _Expected(NamedTuple):
    """Calibrated forecasts that are to be expected: log-odds in increasing order with weights that add up to 1."""

    s: Floats
    w: Floats
    rate: float
    auc: float

    def mean(self, values: Floats) -> float:
        return float(product(self.w, values))

    def slope_variance(self) -> float:
        """Variance of the calibration slope at one row, beside an intercept."""
        v = expit(self.s) * (1 - expit(self.s))
        one, first, second = (self.mean(v * self.s**power) for power in range(3))
        return one / (one * second - first**2)


def _log_odds(rate: float, auc: float | None) -> tuple[Floats, Floats]:
    """Give log-odds and their weights: normal for either outcome, and calibrated; all alike without an AUC."""
    from scipy.special import ndtri

    middle, spread = math.log(rate / (1 - rate)), math.sqrt(2) * float(ndtri(auc or 0.5))
    z = np.linspace(-_REACH, _REACH, _NODES)
    w = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    s = [spread * z + middle + sign * spread**2 / 2 for sign in (-1, 1)]
    return np.concatenate(s), np.concatenate([(1 - rate) * w, rate * w])


def _widths(precision: Mapping[str, float] | None, at: list[float], spread: bool, usual: bool) -> Mapping[str, float]:
    """Give the widths that are asked for, or the usual ones."""
    benefit = {"net_benefit": WIDTHS["net_benefit"]} if at else {}
    if precision is None:
        known = ("oe", "slope", "auc") if spread else ("oe",)
        return {name: WIDTHS[name] for name in known if usual} | benefit
    if not isinstance(precision, Mapping) or not precision:
        raise InputError(f"precision: expected widths by metric, such as {{'oe': 0.2}}, got {precision!r}.")
    for name, width in precision.items():
        check_choice("precision", name, [*WIDTHS])
        if not (is_number(width) and 0 < width < math.inf):
            raise InputError(f"precision: the width of {name} must be above 0, got {width!r}.")
    if "net_benefit" in precision and not at:
        raise InputError("thresholds: missing; a net benefit has one, such as 0.2.")
    return {**precision, **benefit, **precision}


def _precise(of: _Expected, widths: Mapping[str, float], at: list[float]) -> Iterator[tuple[str, float]]:
    """Rows for intervals of these widths."""
    for name, width in widths.items():
        error = width / 2 / _SURE
        if name == "oe":
            rows = {"O/E": (1 - of.rate) / of.rate / (math.asinh(width / 2) / _SURE) ** 2}
        elif name == "slope":
            rows = {"calibration slope": of.slope_variance() / error**2}
        elif name == "auc":
            rows = {"AUC": _rows_of_auc(of, error)}
        else:
            rows = {f"net benefit at {t:.4g}": _benefit_variance(of, t) / error**2 for t in at}
        yield from ((f"{what}, interval of width {width:.4g}", n) for what, n in rows.items())


def _rows_of_auc(of: _Expected, error: float) -> float:
    """Solve Newcombe's variance of an AUC for the number of rows, in which it is nearly 1 / n; two of each outcome."""
    c = of.auc
    more = (1 - c) / (2 - c) + c / (1 + c)
    scale = c * (1 - c) / (of.rate * (1 - of.rate)) / error**2  # n^2 = scale (1 + (n / 2 - 1) more)
    rows = (scale * more / 2 + math.sqrt((scale * more / 2) ** 2 + 4 * scale * (1 - more))) / 2
    return max(rows, 2 / of.rate, 2 / (1 - of.rate))


def _benefit_variance(of: _Expected, threshold: float) -> float:
    """Variance of a standardized net benefit at one row (Marsh et al. 2020, as Riley et al. 2021 have it)."""
    q, acted = expit(of.s), expit(of.s) >= threshold
    sensitivity, specificity = of.mean(q * acted) / of.rate, of.mean((1 - q) * ~acted) / (1 - of.rate)
    weight = (1 - of.rate) / of.rate * threshold / (1 - threshold)
    false = weight**2 * (1 - specificity)
    own = sensitivity * (1 - sensitivity) / of.rate + false * specificity / (1 - of.rate)
    return own + false * (1 - specificity) / (of.rate * (1 - of.rate))


def _seen(of: _Expected, bias: float | None, slope: float | None, power: float) -> Iterator[tuple[str, float]]:
    """Rows to see errors of these sizes with a power."""
    from scipy.special import ndtri

    beyond, with_power = float(ndtri(power)), f"power {100 * power:.3g}%"
    if bias is not None:
        size = abs(bias) if is_number(bias) else 0.0
        changes = [change for change in (size, -size) if size and 0 < of.rate + change < 1]
        if not changes:
            raise InputError(f"bias: expected a share of 1 such as 0.02 for 2 points, got {bias!r}.")
        spreads = [math.sqrt(p * (1 - p)) for p in (of.rate, *(of.rate + change for change in changes))]
        rows = ((_SURE * spreads[0] + beyond * max(spreads[1:])) / bias) ** 2
        yield f"a bias of {100 * abs(bias):.3g} percentage points, {with_power}", rows
    if slope is not None:
        rows = of.slope_variance() * ((_SURE + beyond) / (slope - 1)) ** 2
        yield f"a calibration slope of {slope:.4g}, {with_power}", rows
