"""The risk profile, the generalized mean as a function of its order, and its three named points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats, ReadOnlyArrays
from ..calibration.clustered_test import independent_share
from ..calibration.resampling import coarse_counts
from ..forecasts.forecasts import Forecasts
from ..forecasts.reading import WeightedReading, reads
from ..report.result import Axes, Result, picture
from ..statistics.means import (
    DECISIVE,
    DEFAULT_FLOOR,
    DEFAULT_ORDERS,
    GEOMETRIC,
    ROBUST,
    Averages,
    Floor,
    Limit,
    apply_limit,
    averages,
    floor_and_limit,
    floor_for,
    log_apart,
    mean_of_points,
    means_of_points,
    order_blocks,
    t_quantile,
    unskewed,
)
from ..tally.tally import Tally
from ..theory.coupled import expm1_ratio, log1p_ratio

SENSITIVITY_FLOORS = (0.05, 0.01, 0.005, 0.001, 0.0)
"""Floors of [CM] Table 2."""

_EXPECTED = 2.0
"""With fewer expected rows behind a mean of an order below -2/3 an interval holds too rarely: the rows that would
decide may be missing, and no other tells. With more, `benchmarks/coverage.py` finds 93 %."""

_ROUNDING = 1e-9
"""Of effective numbers of rows."""

_FEW_LOST = 1e-3
"""An r x of this size loses three digits of sixteen to exp(r x) - 1; standard errors need six."""


class MeasuredProfile(ReadOnlyArrays):
    """Generalized mean of the measured probabilities of the observed classes, for many orders.

    Where the reported profile (`RiskProfile`) is above it, the forecasts claim more than their outcomes bear out.
    """

    orders: Floats
    values: Floats
    """NaN in the top-label view, whose pairs are of one class a row."""
    low: Floats
    high: Floats
    """Confidence limits at each order by itself, from the draws of the other intervals; NaN below order -2/3."""

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<MeasuredProfile at {number_of(self.orders.size, 'order')}>"


class DivergenceProfile(ReadOnlyArrays):
    """Logarithm of the reported over the measured generalized mean, v(r), for many orders. 0 is best.

    At order 0 it is the logarithm of the divergence probability. Above 0 at high orders and below 0 at low ones is
    overconfidence; the reverse is underconfidence (Nelson 2017, section 4).
    """

    orders: Floats
    values: Floats
    low: Floats
    high: Floats
    """Confidence limits at each order by itself; NaN below order 0."""

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<DivergenceProfile at {number_of(self.orders.size, 'order')}>"


class RiskProfile(ReadOnlyArrays, Result):
    """Generalized mean of the correct-class probabilities for many orders. Larger is better at each.

    Low orders are moved by the worst forecasts (risk-averse), high ones by the best (risk-seeking).
    """

    orders: Floats
    values: Floats
    standard_errors: Floats
    """Delta method with sandwich weights; NaN where undefined (a mean of 0, infinite orders)."""
    degrees_of_freedom: Floats
    """How well the standard errors are known (Satterthwaite): the fewer rows carry them, the less."""
    few_rows: Bools
    """True where there is no interval: below order -2/3, if of calibrated forecasts fewer than two rows are expected to
    decide the mean."""
    skewness: Floats
    """That of the mean of ((p / M)^r - 1) / r over the rows, M the generalized mean of order r."""
    floor: float
    limit: Limit = "floor"

    def __repr__(self) -> str:
        """Name it in one line."""
        low, high = self.orders.min(), self.orders.max()
        return f"<RiskProfile at {number_of(self.orders.size, 'order')} from {low:g} to {high:g}, floor {self.floor:g}>"

    def interval(self, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper limits at each order, kept from the floor to 1; NaN where few rows decide.

        They are those on the log scale. Below order 0 they also hold those of the mean of p^r, corrected for its
        skewness by the cubic transformation of Hall (1992): in part above order -2/3, so that no order jumps.
        """
        reach = t_quantile(confidence, self.degrees_of_freedom)
        skewness = self.skewness * np.clip(self.orders / ROBUST, 0, 1)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            error = self.standard_errors / self.values
            skewed = (log1p_ratio(np.minimum(self.orders, 0), -error * unskewed(z, skewness)) for z in (reach, -reach))
            low, high = np.exp(np.fmin(-reach * error, next(skewed))), np.exp(np.fmax(reach * error, next(skewed)))
        low, high = (np.where(self.few_rows, np.nan, limit) for limit in (low, high))
        return np.maximum(self.values * low, self.floor), np.minimum(self.values * high, 1.0)

    def plot(
        self, ax: Axes | None = None, *, label: str | None = None, measured: MeasuredProfile | None = None
    ) -> Axes:
        """Draw the profile with its 95 % band and the three named means; returns the Axes.

        ``measured`` is the measured profile of the same forecasts, ``Assessment.measured_profile``, to be drawn beside.
        """
        return picture(self, ax, label=label, measured=measured)


def profile_of_rows(tally: Tally, orders: Floats, floor: float, limit: Limit = "floor") -> RiskProfile:
    """Find the risk profile of a tally as if its rows were independent."""
    points = tally.points()
    p = apply_limit(points.p, floor, limit)
    values, errors, _, freedom, skewness = _moments(p, points.weight, points.weight_squared, orders)
    few = _few_expected(tally, orders, floor, limit)
    return RiskProfile(orders, values, errors, freedom, few, skewness, float(floor), limit)


def _few_expected(tally: Tally, orders: Floats, floor: float, limit: Limit) -> Bools:
    """Say at which orders few rows decide a mean, by how many would be expected if the forecasts were calibrated.

    The rows that occurred do not tell: they carry a mean most evenly where those that would decide it are missing.
    """
    few = orders < ROBUST
    if few.any():
        counts = coarse_counts(tally)
        rows = tally.effective_rows * (independent_share(counts) if tally.clustered else 1.0)
        weight = counts.reported * counts.counted.total
        some = weight > 0
        p, share = apply_limit(counts.reported[some], floor, limit), weight[some] / weight.sum()
        few[few] = _moments(p, share, share / rows, orders[few])[2] < _EXPECTED
    return few


def _moments(p: Floats, w: Floats, w2: Floats, orders: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Give the means of points, and with them what `_errors` gives."""
    values = means_of_points(p, w, orders)
    w, w2 = w / w.sum(), w2 / float(w.sum()) ** 2  # so that no scale of weights makes squares vanish or overflow
    errors, effective, freedom, skewness = np.full((4, orders.size), np.nan)
    effective[:] = np.inf
    known = np.flatnonzero((values > 0) & np.isfinite(orders))
    highest = p.max() or 1.0  # of zeros alone no mean has an error
    with np.errstate(divide="ignore"):
        x = log_apart(p, highest)
    near_zero = np.abs(orders[known]) * min(1.0, -x.min()) < _FEW_LOST
    for ratio, at_all in ((expm1_ratio, known[near_zero]), (_exp_ratio, known[~near_zero])):
        for some in order_blocks(at_all.size, p.size):
            at = at_all[some]
            r, means = orders[at, None], values[at]
            ratios = ratio(r, x - np.log(means / highest)[:, None])
            errors[at], effective[at], freedom[at], skewness[at] = _errors(ratios, w, w2, means)
    return values, errors, effective, freedom, skewness


def _errors(ratios: Floats, w: Floats, w2: Floats, means: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Standard errors of means, the effective number of rows behind each, its degrees of freedom, and its skewness.

    A row of ratios has, for one mean M of order r, ((p/M)^r - 1)/r of all points, which is 0 on average:
    se(M) = M^(1-r)/|r| se(mean p^r) is M times its error.
    """
    squares = ratios * ratios
    total = (w2 * squares).sum(axis=1)
    size = np.sqrt(np.where(total > 0, total, 1.0))[:, None]
    skewness = (w2 * (ratios / size) ** 2 * (w2 / w * (ratios / size))).sum(axis=1)
    squares *= w2 / w  # before squared, which may be too much for a float
    squares *= squares
    squares *= w2
    fourth = squares.sum(axis=1)
    rows = float(1 / w2.sum())
    # For weights too far apart the fourth powers are less than a float can be.
    effective = np.divide(total * total, fourth, out=np.full(means.size, rows), where=fourth > 0)
    effective = np.minimum(effective, rows)
    uneven = 1 / effective - 1 / rows  # 0 where all rows carry as much
    freedom = np.divide(2, uneven, out=np.full(means.size, np.inf), where=uneven > 0)
    correction = math.sqrt(rows / (rows - 1)) if rows > 1 + _ROUNDING else math.nan
    return means * np.sqrt(total) * correction, effective, np.minimum(freedom, rows - 1), skewness


def _exp_ratio(r: Floats, x: Floats) -> Floats:
    """(exp(r x) - 1)/r by `exp`, which takes a fifth of the time of `expm1`, where few digits are lost."""
    with np.errstate(over="ignore"):
        terms: Floats = r * x
        np.exp(terms, out=terms)
    terms -= 1
    terms /= r
    return terms


@reads(WeightedReading)
def risk_profile(
    y_true: Any,
    y_prob: Any,
    *,
    orders: ArrayLike | None = None,
    floor: Floor = DEFAULT_FLOOR,
    **reading: Unpack[WeightedReading],
) -> RiskProfile:
    """Generalized mean of the probabilities assigned to the outcomes, for many orders. Larger is better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: labels or one-hot rows.
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities of the positive class, or of each class.
    orders : array_like, optional
        Orders of the mean; 121 of them from -3 to 3 by default.
    floor : float, (float, float) or "auto", default "auto"
        Probabilities below it are raised to it, and those above the second of a
        pair lowered; as in `assess`.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight`` of shape (n,),
        ``labels`` and ``pos_label``.

    Returns
    -------
    RiskProfile
        With ``orders``, ``values``, ``standard_errors``, ``few_rows``,
        ``interval()`` and ``plot()``.

    Raises
    ------
    InputError
        As `Forecasts`.

    Notes
    -----
    ``se(M_r) = M_r^(1-r)/|r| se(mean p^r)``, ``se(M_0) = M_0 se(mean ln p)``;
    it needs a finite second moment of p^r.

    Examples
    --------
    >>> from unperplexed import risk_profile
    >>> profile = risk_profile([1, 0, 1], [0.8, 0.3, 0.4], orders=[-2 / 3, 0, 1])
    >>> profile.values.round(3)
    array([0.589, 0.607, 0.633])
    """
    tally = _counted(y_true, y_prob, reading)
    low, limit = floor_and_limit(floor)
    return profile_of_rows(tally, checked_orders(orders), floor_for(low, tally.n_classes), limit)


def checked_orders(orders: ArrayLike | None) -> Floats:
    """Orders of a profile as a vector, the default ones for None, or an InputError."""
    if orders is None:
        return DEFAULT_ORDERS
    try:
        vector = np.array(orders, dtype=np.float64, ndmin=1)  # a copy: the profile closes its arrays
    except (TypeError, ValueError):
        vector = np.empty(0)
    if vector.ndim != 1 or not vector.size or np.isnan(vector).any():
        raise InputError(f"orders: expected at least one order, none of them NaN, got {orders!r}.")
    return vector


@reads(WeightedReading)
def geometric_accuracy(
    y_true: Any, y_prob: Any, *, floor: Floor = DEFAULT_FLOOR, **reading: Unpack[WeightedReading]
) -> float:
    """Geometric mean of the probabilities assigned to the outcomes. Larger is better.

    With floor 0 it is exp(-log loss) = 1/perplexity: 1/C for a forecaster who
    knows nothing of C classes.

    Parameters
    ----------
    y_true, y_prob, **reading
        As in `risk_profile`.
    floor : float or "auto", default "auto"
        Probabilities below it are raised to it; "auto" as in `assess`.

    Returns
    -------
    float
        In [floor, 1].

    Raises
    ------
    InputError
        As `Forecasts`.

    Notes
    -----
    The generalized mean of order 0 ([N17] section 3).

    Examples
    --------
    >>> from unperplexed import geometric_accuracy
    >>> round(geometric_accuracy([1, 0], [0.9, 0.6]), 12)
    0.6
    """
    return _mean_of(GEOMETRIC, y_true, y_prob, floor, reading)


@reads(WeightedReading)
def decisiveness(
    y_true: Any, y_prob: Any, *, floor: Floor = DEFAULT_FLOOR, **reading: Unpack[WeightedReading]
) -> float:
    """Arithmetic mean of the probabilities assigned to the outcomes. Larger is better.

    It depends most on confident forecasts and little on the worst ones.

    Parameters
    ----------
    y_true, y_prob, **reading
        As in `risk_profile`.
    floor : float or "auto", default "auto"
        Probabilities below it are raised to it; "auto" as in `assess`.

    Returns
    -------
    float
        In [floor, 1].

    Raises
    ------
    InputError
        As `Forecasts`.

    Notes
    -----
    The generalized mean of order 1 ([N17] section 3). Not proper: it rewards
    overconfidence.

    Examples
    --------
    >>> from unperplexed import decisiveness
    >>> round(decisiveness([1, 0], [0.9, 0.6]), 12)
    0.65
    """
    return _mean_of(DECISIVE, y_true, y_prob, floor, reading)


@reads(WeightedReading)
def robustness(y_true: Any, y_prob: Any, *, floor: Floor = DEFAULT_FLOOR, **reading: Unpack[WeightedReading]) -> float:
    """Mean of order -2/3 of the probabilities assigned to the outcomes. Larger is better.

    It depends most on the smallest of them: on outcomes that were assigned a
    low probability. With floor 0 a single 0 makes it 0.

    Parameters
    ----------
    y_true, y_prob, **reading
        As in `risk_profile`.
    floor : float or "auto", default "auto"
        Probabilities below it are raised to it; "auto" as in `assess`.

    Returns
    -------
    float
        In [floor, 1].

    Raises
    ------
    InputError
        As `Forecasts`.

    Notes
    -----
    The order conjugate to 1 under kappa -> -kappa/(1 + kappa) ([N17] section
    3).

    Examples
    --------
    >>> from unperplexed import robustness
    >>> round(robustness([1, 0], [0.9, 0.6]), 4)
    0.5684
    """
    return _mean_of(ROBUST, y_true, y_prob, floor, reading)


@reads(WeightedReading)
def floor_sensitivity(
    y_true: Any, y_prob: Any, *, floors: Sequence[float] = SENSITIVITY_FLOORS, **reading: Unpack[WeightedReading]
) -> dict[float, Averages]:
    """The three averages at several floors, to see how much the floor decides ([CM] Table 2).

    Parameters
    ----------
    y_true, y_prob, **reading
        As in `risk_profile`.
    floors : sequence of float, default (.05, .01, .005, .001, 0)
        Floors to try.

    Returns
    -------
    dict of float to Averages
        For each floor ``decisiveness``, ``geometric_accuracy`` and
        ``robustness``; larger is better.

    Raises
    ------
    InputError
        As `Forecasts`.

    Notes
    -----
    [CM] Table 2.

    Examples
    --------
    >>> from unperplexed import floor_sensitivity
    >>> table = floor_sensitivity([1, 0], [0.9, 1.0])
    >>> [round(table[floor].geometric_accuracy, 4) for floor in (0.01, 0.0)]
    [0.0949, 0.0]
    """
    points = _counted(y_true, y_prob, reading).points()
    return sensitivity_of_points(points.p, points.weight, floors)


def sensitivity_of_points(p: Floats, w: Floats, floors: Sequence[float] = SENSITIVITY_FLOORS) -> dict[float, Averages]:
    """Headline means of points at each floor."""
    own, raised = averages(p, w), {floor: apply_limit(p, floor) for floor in floors}
    return {floor: averages(q, w) if q.min() > p.min() else own for floor, q in raised.items()}


def _counted(y_true: Any, y_prob: Any, reading: WeightedReading) -> Tally:
    """Count rows, of which there has to be one."""
    tally = Tally.count(Forecasts(y_true, y_prob, **reading), diagnosed=0)
    if not tally.weight > 0:
        raise InputError("y_true: no rows to average.")
    return tally


def _mean_of(r: float, y_true: Any, y_prob: Any, floor: Floor, reading: WeightedReading) -> float:
    tally = _counted(y_true, y_prob, reading)
    points = tally.points()
    return mean_of_points(apply_limit(points.p, floor_for(floor, tally.n_classes)), points.weight, r)
