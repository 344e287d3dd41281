"""Generalized (power) means of probabilities: the averages everything else is read from.

`Averages` are the three headline means; functions of two sets of them compare what is reported and measured.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._lib.arrays import check_indexes, floats
from .._lib.errors import InputError, rows_text
from .._lib.typing import ByValue, Floats, Ints
from .matrices import product
from .tails import normal_quantile, student_quantile

Limit = Literal["floor", "both"]

Auto = Literal["auto"]

Floor = float | tuple[float, float] | Auto
"""Lower probabilities are clipped to it before averaging; with a pair (low, 1 - low) higher ones to its second too."""

DEFAULT_FLOOR: Floor = "auto"
"""0.01 / C for C classes: 0.005 for two, as in the classifier paper; clipping adds at most 1% to the sum of a row."""

GEOMETRIC, DECISIVE, ROBUST = 0.0, 1.0, -2.0 / 3.0
"""Orders of the three headline means: geometric accuracy, decisiveness, robustness."""

_WEIGHTS = (1e-100, 1e100)
"""Weights whose squares and sums neither vanish nor overflow."""

NO_ORDER = 1e-20
"""Orders closer to 0 than this change no digit of a mean of positive floats."""

_TAKEN_AGAIN = 1e-6
"""Orders closer to 0 than this are left to the second pass: 1/r times the rounding errors of the first is large."""

_NEAR_ZERO, _WIDE = 1e-2, 100.0
"""Orders so close to 0, and logarithms so far apart, that a mean taken once would lose digits."""

_ENTRIES_AT_ONCE = 1 << 15
"""Entries of a matrix of orders and points."""

DEFAULT_ORDERS: Floats = np.linspace(-3.0, 3.0, 121)
"""Default orders of a risk profile: evenly spaced, except that one is moved to the order of robustness."""
DEFAULT_ORDERS[np.abs(DEFAULT_ORDERS - ROBUST).argmin()] = ROBUST
DEFAULT_ORDERS.setflags(write=False)


def generalized_mean(
    p: ArrayLike, r: float, sample_weight: ArrayLike | None = None, floor: float | tuple[float, float] = 0.0
) -> float:
    """Weighted generalized mean of order r of probabilities or densities. For those of the outcomes larger is better.

    Order 0 is the geometric mean, 1 the arithmetic (*decisiveness*), -2/3 the *robustness* mean, -1 the
    harmonic, +inf the largest and -inf the smallest probability of positive weight. It grows with r.

    Parameters
    ----------
    p : array_like of shape (n,)
        Probabilities in [0, 1], or densities.
    r : float
        Order, from -inf to +inf.
    sample_weight : array_like of shape (n,), optional
        Weights, 0 or more; only their ratios matter. Rows of weight 0 have no effect.
    floor : float or (float, float), default 0
        Lower probabilities are clipped to this value first; in [0, 1]. A pair ``(low, 1 - low)`` also clips those
        above its second number, as [N17] does.

    Returns
    -------
    float
        Between the smallest and the largest; 0 for r <= 0 if a probability of positive weight is 0.

    Raises
    ------
    InputError
        For NaN, a number below 0 or infinite, a negative or non-finite weight, zero total weight,
        different lengths, an order that is NaN or a floor out of its range.

    Notes
    -----
    ``M_r = (sum w p^r)^(1/r)``, ``M_0 = exp(sum w ln p)``, with w summing to 1 ([N17] eq. 13, whose outer
    power [RP] eq. 2.6 lacks). The relative error is below 2e-13 wherever every p and the result are normal
    floats, for any r between -1e6 and 1e6, however small.

    Examples
    --------
    >>> from unperplexed.statistics import generalized_mean
    >>> round(generalized_mean([0.9, 0.4], 0), 12)
    0.6
    >>> generalized_mean([0.9, 0.4, 0.0], -2 / 3)
    0.0
    """
    values, weights = checked_points(p, sample_weight, densities=True)
    low, limit = floor_and_limit(floor)
    return mean_of_points(apply_limit(values, floor_for(low, 2), limit), weights, r)


def checked_points(p: ArrayLike, sample_weight: ArrayLike | None, *, densities: bool = False) -> tuple[Floats, Floats]:
    """Probabilities, or densities, and weights as float64 vectors without rows of weight 0, or an InputError."""
    check_indexes(p=p, sample_weight=sample_weight)
    values = np.atleast_1d(floats(p, "p"))
    if values.ndim != 1:
        raise InputError(f"p: expected one probability a row, got an array of shape {values.shape}.")
    bad = np.flatnonzero(~((values >= 0) & (np.isfinite(values) if densities else values <= 1)))
    if bad.size:
        what = "no probability or density" if densities else "not a probability in [0, 1]"
        raise InputError(f"p: {what} at row {bad[0]} (counted from 0): {values[bad[0]]}.")
    weights = np.ones_like(values) if sample_weight is None else checked_weights(sample_weight, values.size)
    if not weights.sum() > 0:
        raise InputError("sample_weight: the total weight is 0; nothing is left to average.")
    if not weights.all():
        values, weights = values[weights > 0], weights[weights > 0]
    return values, weights


def checked_weights(sample_weight: Any, n: int, name: str = "sample_weight", first_row: int = 0) -> Floats:
    """Weights as a float64 vector of length n, finite and non-negative, or an InputError.

    Parameters
    ----------
    sample_weight : array_like of shape (n,)
        Weights.
    n : int
        Number of rows.
    name : str, default "sample_weight"
        What errors call the weights.
    first_row : int, default 0
        What errors call the first row.
    """
    weights = floats(sample_weight, name, first_row)
    if weights.shape != (n,):
        raise InputError(f"{name}: expected one weight for each of {n} rows, got shape {weights.shape}.")
    bad = np.flatnonzero(~((weights == 0) | ((weights >= _WEIGHTS[0]) & (weights <= _WEIGHTS[1]))))
    if bad.size:
        value = float(weights[bad[0]])
        what = "no weight" if np.isnan(value) else "a negative weight" if value < 0 else "a weight out of scale"
        raise InputError(
            f"{name}: {what} in {rows_text(first_row + bad)}, for example {value:g}. Weights are 0 or from"
            f" {_WEIGHTS[0]:g} to {_WEIGHTS[1]:g}; only their ratios matter."
        )
    return weights


def apply_limit(p: Floats, floor: float, limit: Limit = "floor") -> Floats:
    """Raise probabilities below the floor to it; with the limit "both" also lower those above 1 - floor."""
    highest = 1.0 if limit == "floor" else 0.5
    if not isinstance(floor, int | float | np.number) or not 0 <= floor <= highest:
        raise InputError(f"floor: expected a probability from 0 to {highest:g}, got {floor!r}; or 'auto'.")
    if floor == 0:
        return p
    return np.maximum(p, floor) if limit == "floor" else np.clip(p, floor, 1.0 - floor)


def floor_and_limit(floor: Floor) -> tuple[float | Auto, Limit]:
    """Read a floor, or a floor and a ceiling, which is as far from 1 as the floor from 0."""
    if not isinstance(floor, tuple | list):
        return floor, "floor"
    symmetric = len(floor) == 2 and all(isinstance(each, int | float | np.number) for each in floor)
    if not symmetric or not math.isclose(floor[1], 1 - floor[0]):
        raise InputError(f"floor: expected one number, or two of which the second is 1 minus the first, got {floor!r}.")
    return floor[0], "both"


def check_floor(floor: Floor, limit: Limit = "floor") -> None:
    """Refuse a floor that is none, before any row is read."""
    apply_limit(np.empty(0), floor_for(floor, 2), limit)


def floor_for(floor: Floor, n_classes: int) -> float:
    """Return the floor for forecasts of so many classes: that of `DEFAULT_FLOOR`, or the one that was chosen.

    Raising C probabilities to a floor adds up to C times the floor to a row, which a forecaster who puts them below it
    gets for nothing. With a floor of 0.005 for all C an overconfident forecaster of 1000 classes beats the truth.
    """
    return 0.01 / n_classes if isinstance(floor, str) and floor == "auto" else floor  # type: ignore[return-value]


def mean_of_points(p: Floats, w: Floats, r: float) -> float:
    """Generalized mean of checked float64 points of positive weight."""
    return float(means_of_points(p, w, np.array([r], dtype=np.float64))[0])


def means_of_points(p: Floats, w: Floats, orders: Floats) -> Floats:
    """Generalized means of checked float64 points of positive weight, one an order: the heart of the module."""
    if np.isnan(orders).any():
        raise InputError("r: the order of a generalized mean cannot be NaN.")
    lowest, highest = p.min(), p.max()
    means: Floats = np.where(orders == np.inf, highest, lowest)
    if lowest == highest:
        return means
    inner = np.isfinite(orders) & ((lowest > 0) | (orders > 0))
    factor = 1.0
    if lowest == 0:
        # Zeros add nothing to sum w p^r but stay in the total weight: M_r = share^(1/r) * M_r of the rest.
        # log1p keeps the share's logarithm right when the zeros weigh next to nothing and 1/r is large.
        with np.errstate(over="ignore"):
            factor = np.exp(np.log1p(-w[p == 0].sum() / w.sum()) / orders[inner])
        p, w = p[p > 0], w[p > 0]
    means[inner] = factor * _inner_means(p, w, orders[inner])
    return means


def order_blocks(n_orders: int, n_points: int) -> list[slice]:
    """Orders to be taken at once, so that a matrix of them and the points stays in a processor's cache."""
    step = -(-_ENTRIES_AT_ONCE // n_points)
    return [slice(at, at + step) for at in range(0, n_orders, step)]


def _inner_means(p: Floats, w: Floats, orders: Floats) -> Floats:
    """Means of finite orders of positive points."""
    lowest, highest, share = p.min(), p.max(), w / w.sum()
    r = np.where(np.abs(orders) < NO_ORDER, 0.0, orders)[:, None]
    centre = np.clip(np.exp(weighted_sum(share, np.log(p))), lowest, highest)
    x = log_apart(p, centre)
    means = np.empty(r.shape)
    for some in order_blocks(r.size, p.size):
        means[some] = np.clip(centre * np.exp(_log_means(x, share, r[some])), lowest, highest)
    again = np.flatnonzero((np.abs(orders) < _NEAR_ZERO) | (x.max() - x.min() > _WIDE))
    for some in order_blocks(again.size, p.size):
        # Recentred: with x = ln(p / mean) the sums nearly cancel, so their rounding errors stay relative to
        # the small spread instead of to ln p (up to 708) or, near r = 0, to 1/r.
        order, mean = r[again[some]], means[again[some]]
        x = log_apart(p, mean)
        correction = (share * np.where(order == 0, x, np.expm1(order * x))).sum(axis=1, keepdims=True)
        correction = np.divide(np.log1p(correction), order, out=correction, where=order != 0)
        means[again[some]] = np.clip(mean * np.exp(correction), lowest, highest)
    return np.asarray(means[:, 0])


def log_apart(p: Floats, centre: float | Floats) -> Floats:
    """ln(p / centre), the centre positive."""
    with np.errstate(over="ignore"):
        apart = p / centre
    x: Floats = np.log(apart)
    if np.isinf(apart).any():  # a subnormal centre
        x = np.where(np.isinf(apart), np.log(p) - np.log(centre), x)
    return x


def means_of_runs(p: Floats, w: Floats, first: Ints) -> Floats:
    """Decisiveness, geometric accuracy and robustness of each run of points of positive weight, as three rows.

    A run is from one index in ``first`` to the next. The three orders are far enough from 0, or 0, to need no
    recentring: the relative error stays below 2e-13.
    """
    share = w / np.repeat(np.add.reduceat(w, first), np.diff(first, append=p.size))
    with np.errstate(divide="ignore"):
        arithmetic = np.add.reduceat(share * p, first)
        geometric = np.exp(np.add.reduceat(share * np.log(p), first))
        robust = np.add.reduceat(share * p**ROBUST, first) ** (1 / ROBUST)
    means = np.stack([arithmetic, geometric, robust])
    return np.asarray(np.clip(means, np.minimum.reduceat(p, first), np.maximum.reduceat(p, first)))


def weighted_sum(w: Floats, x: Floats) -> float:
    """Sum of w x: pairwise, so more exact than a BLAS dot product, and free of its threads' waiting."""
    return float((w * x).sum())


def mean_of_rows(values: Floats, weights: Floats | None) -> float:
    """Weighted mean of scores; a row of weight 0 is as if absent, even where its score is infinite."""
    if weights is None:
        return float(values.mean())
    positive = weights > 0
    return weighted_sum(values[positive], weights[positive]) / float(weights[positive].sum())


def _log_means(x: Floats, share: Floats, r: Floats) -> Floats:
    """Logarithms of the generalized means of exp(x), which are centred: right to a few ulp of the spread and of 1/r."""
    largest = np.maximum(r * x.min(), r * x.max())  # taken out, so that nothing overflows
    terms = r * x
    terms -= largest
    np.exp(terms, out=terms)
    terms *= share
    sums = terms.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(largest + np.log(sums), r, out=np.zeros(r.shape), where=np.abs(r) >= _TAKEN_AGAIN))


def log_std_factor(p: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """exp(-standard deviation of ln p), in [0, 1]: 1 when all probabilities are equal, smaller when they vary.

    The geometric mean times and divided by it are the one-standard-deviation points of the log score.

    Parameters
    ----------
    p : array_like of shape (n,)
        Probabilities in [0, 1].
    sample_weight : array_like of shape (n,), optional
        Non-negative weights; pass p itself for a distribution's own factor.

    Returns
    -------
    float
        0 when a probability of positive weight is 0 beside positive ones.

    Raises
    ------
    InputError
        As `generalized_mean`.

    Notes
    -----
    The deviation is the weighted population one (ddof 0): [N17] eq. 10.

    Examples
    --------
    >>> from unperplexed.statistics import log_std_factor
    >>> round(log_std_factor([0.2, 0.8]), 6)
    0.5
    """
    values, weights = checked_points(p, sample_weight)
    if values.min() == values.max():
        return 1.0
    if values.min() == 0:
        return 0.0
    x = np.log(values / mean_of_points(values, weights, 0.0))
    return float(np.exp(-np.sqrt(weighted_sum(weights, x * x) / weights.sum())))


def order_from_coupling(coupling: float, *, d: int = 1, alpha: float = 2.0) -> float:
    """Order of the generalized mean that belongs to a coupling: r = -alpha*kappa / (1 + d*kappa).

    Parameters
    ----------
    coupling : float
        Coupling kappa > -1/d; 1/kappa is the degrees of freedom of a Student's t.
    d : int, default 1
        Dimension.
    alpha : float, default 2
        2 for the Gaussian family, 1 for the exponential.

    Returns
    -------
    float
        The order, in (-alpha/d, inf).

    Raises
    ------
    InputError
        For a coupling at or below -1/d, d < 1 or alpha <= 0.

    Examples
    --------
    >>> from unperplexed.statistics import order_from_coupling
    >>> round(order_from_coupling(0.5), 6)
    -0.666667
    """
    _check_family(d, alpha)
    if not -1 / d < coupling < np.inf:
        raise InputError(f"coupling: must be finite and above -1/d = {-1 / d:g}, got {coupling}.")
    return 0.0 - alpha * coupling / (1 + d * coupling)  # from 0.0, so that coupling 0 gives no -0.0


def coupling_from_order(r: float, *, d: int = 1, alpha: float = 2.0) -> float:
    """Coupling that belongs to an order of the generalized mean: kappa = -r / (alpha + d*r).

    Parameters
    ----------
    r : float
        Order, above -alpha/d.
    d : int, default 1
        Dimension.
    alpha : float, default 2
        2 for the Gaussian family, 1 for the exponential.

    Returns
    -------
    float
        The coupling, above -1/d.

    Raises
    ------
    InputError
        For r at or below -alpha/d, which no coupling reaches, or d < 1, or alpha <= 0.

    Examples
    --------
    >>> from unperplexed.statistics import coupling_from_order
    >>> round(coupling_from_order(1.0), 6)
    -0.333333
    """
    _check_family(d, alpha)
    if not -alpha / d < r < np.inf:
        raise InputError(f"r: the orders of couplings are finite and above -alpha/d = {-alpha / d:g}, got {r}.")
    return 0.0 - r / (alpha + d * r)


def _check_family(d: int, alpha: float) -> None:
    if not (d >= 1 and 0 < alpha < np.inf):
        raise InputError(f"d must be at least 1 and alpha positive, got d = {d}, alpha = {alpha}.")


def suggested_floor(n: int) -> float:
    """Floor that follows from the number of forecasts, 1/(2n): an option to pass on, never applied silently.

    [N17] asks that the precision of reported probabilities follow from how much data there is.

    Parameters
    ----------
    n : int
        Number of forecasts, at least 1.

    Returns
    -------
    float
        In (0, 0.5].

    Raises
    ------
    InputError
        For n below 1.

    Examples
    --------
    >>> from unperplexed.statistics import suggested_floor
    >>> suggested_floor(100)
    0.005
    """
    if not n >= 1:
        raise InputError(f"n: expected at least one forecast, got {n}.")
    return 1 / (2 * n)


def effective_number(weights: Floats) -> float:
    """Effective sample size: (sum w)^2 / sum w^2 (Kish 1965); 0 for none."""
    largest = weights.max(initial=0.0)
    if not largest > 0:
        return 0.0
    w = weights / largest  # so that no scale of weights makes squares vanish or overflow
    return float(w.sum() ** 2 / product(w, w))


def t_quantile(confidence: float, degrees_of_freedom: ArrayLike) -> Floats:
    """How many standard errors reach from a figure to the limits of its interval (Student's t)."""
    freedom = np.maximum(np.asarray(degrees_of_freedom, dtype=np.float64), _FEWEST_DEGREES)
    share = (1 + confidence) / 2
    if freedom.size < _QUANTILES_AT_ONCE:
        return np.array([student_quantile(each, share) for each in freedom.ravel().tolist()]).reshape(freedom.shape)
    from scipy.special import stdtrit

    found = stdtrit(np.minimum(freedom, _MOST_DEGREES), share)
    return np.asarray(np.where(freedom < _MOST_DEGREES, found, normal_quantile(share)))


_FEWEST_DEGREES, _MOST_DEGREES = 1e-3, 1e10
"""Degrees of freedom that are told apart: with fewer, limits are infinite; with more, the distribution is normal."""

_QUANTILES_AT_ONCE = 33
"""SciPy computes this many or more; fewer are found one by one in less time than it takes to load SciPy."""


def unskewed(z: ArrayLike, skewness: ArrayLike) -> Floats:
    """Where a studentised mean of so skewed rows lies that Hall's (1992) cubic takes to so many standard errors.

    The cubic T + b T^2 / 3 + b^2 T^3 / 27 + b / 6, with b the skewness of the mean, rises and is nearly normal.
    """
    b = np.asarray(skewness, dtype=np.float64)
    some = np.abs(b) > _NOT_SKEWED
    a = np.where(some, b, 1.0) / 3
    return np.where(some, (np.cbrt(1 + 3 * a * (np.asarray(z) - a / 2)) - 1) / a, z)


_NOT_SKEWED = 1e-6
"""Skewness up to which a mean has none to six digits."""


HEADLINE_ORDERS = np.array([DECISIVE, GEOMETRIC, ROBUST])
HEADLINE_ORDERS.setflags(write=False)

EQUAL = 1e-14
"""Decisiveness and robustness closer than this, relative to the first, are equal: only rounding tells them apart."""


def spread(decisiveness: Floats | float, robustness: Floats | float) -> Floats:
    """Return decisiveness minus robustness, 0 where only rounding tells them apart; NaN where one of them is."""
    difference = decisiveness - robustness
    return np.where(np.abs(difference) < EQUAL * decisiveness, 0.0, difference)


def log_spread(decisiveness: Floats, robustness: Floats) -> Floats:
    """Return the logarithm of `spread` from the logarithms of both means; minus infinity where it is 0."""
    apart = -np.expm1(robustness - decisiveness)
    with np.errstate(divide="ignore"):
        return np.asarray(decisiveness + np.log(np.where(apart < EQUAL, 0.0, apart)))


class Averages(ByValue):
    """The three headline means of one set of probabilities. Larger is better."""

    decisiveness: float
    """Arithmetic mean, order 1: depends most on confident predictions."""
    geometric_accuracy: float
    """Geometric mean, order 0: exp of minus the log loss, 1/perplexity."""
    robustness: float
    """Mean of order -2/3: depends most on the smallest probabilities assigned to observed classes."""

    @property
    def spread(self) -> float:
        """Decisiveness minus robustness; 0 if they differ by rounding only."""
        return float(spread(self.decisiveness, self.robustness))


def slope(reported: Averages, measured: Averages) -> float:
    """(measured D - R) / (reported D - R): 1 is best, below 1 overconfident; NaN if all reported means are equal."""
    return measured.spread / reported.spread if reported.spread else math.nan


def orientation(reported: Averages, measured: Averages) -> float:
    """Angle in degrees of the line from robustness to decisiveness, measured along x: above 45 overconfident."""
    if not reported.spread and not measured.spread:
        return math.nan
    return math.degrees(math.atan2(reported.spread, measured.spread))


def divergence_probability(reported: Averages, measured: Averages) -> float:
    """Reported / measured geometric accuracy. 1 is best; NaN if the measured one is 0."""
    below = measured.geometric_accuracy
    return reported.geometric_accuracy / below if below else math.nan


def averages(p: Floats, w: Floats) -> Averages:
    """Headline means of float64 points of positive weight."""
    return Averages(*means_of_points(p, w, HEADLINE_ORDERS).tolist())
