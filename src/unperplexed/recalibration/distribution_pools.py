"""Pools of predictive distributions: their quantiles averaged, or their distribution functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, cast

import numpy as np
from scipy.optimize import minimize

from .._lib.dataclasses import Frozen, field
from .._lib.errors import InputError, check_choice, check_whole
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from ..calibration.distribution_rows import DistributionRows, check_alike, read_distributions
from ..forecasts.distributions.partitions import Quantiles, Samples
from ..forecasts.distributions.predictive import Predictive
from ..maps.saved import number, require
from .distributions import FOLDS, dealt
from .files import Form, SavedFit

METHODS = ("quantiles", "median", "linear")

_ROUNDING = 1e-9
"""By how much the sum of saved weights may differ from 1."""

_POINTS = 200
"""Equally probable points by which a distribution enters the average of distribution functions."""

_BLOCK = 2_048
"""Rows at a time, which stay in cache."""


FORM = Form("unperplexed pool of distributions", "a pool of predictive distributions", "the pool has")


class DistributionPool(SavedFit, Frozen):
    """Several forecasters' predictive distributions combined into one. Made by `pool`; all fields are final.

    ``transform`` applies it to new forecasts, ``save`` and ``load`` keep it.
    """

    saved_as: ClassVar[str] = "pool"

    method: str
    """"quantiles", "median" or "linear", as in `pool`."""
    weights: dict[str, float]
    """By the forecaster's name, fitted to all rows or as they were given; they add up to 1."""
    forecast: Predictive = field(default=cast(Predictive, None), repr=False)
    """The pool of the rows that were given. With fitted weights each row's are those of the other folds (cross-fitted),
    so that `assess` and `compare` of these rows are fair. Not saved."""

    def transform(self, forecasts: Mapping[str, Predictive]) -> Predictive:
        """Combine new forecasts of the same forecasters."""
        if {*forecasts} != {*self.weights}:
            raise InputError(f"forecasts: expected those of {', '.join(self.weights)}, got {', '.join(forecasts)}.")
        check_alike(forecasts)
        return _pooled(self.method, np.array([*self.weights.values()]), [forecasts[name] for name in self.weights])

    def to_dict(self) -> dict[str, Any]:
        """Return what `save` writes, as plain Python values."""
        return {**FORM.head, "method": self.method, "weights": dict(self.weights)}

    @classmethod
    def from_dict(cls, data: Any) -> DistributionPool:
        """Make a pool of what `to_dict` gave; anything else is refused with the reason."""
        FORM.check(data, {"method", "weights"})
        method, given = data["method"], data["weights"]
        require(method in METHODS and isinstance(given, Mapping), "method")
        weights = {name: number(each, "weights", 0, 1) for name, each in given.items()}
        require(bool(weights) and abs(sum(weights.values()) - 1) < _ROUNDING, "weights")
        return cls(method, weights)


def pooled_distributions(
    y_true: Any,
    forecasts: Mapping[str, Any],
    given: Floats | None,
    *,
    method: str | None,
    folds: int | None,
    reading: Mapping[str, Any],
) -> DistributionPool:
    """Combine predictive distributions; `pool` describes it. Weights that are None are fitted where outcomes are."""
    each, n = [*forecasts.values()], len(forecasts)
    check_alike(forecasts)
    method = method or ("quantiles" if all(isinstance(forecast, Quantiles) for forecast in each) else "linear")
    check_choice("method", method, METHODS)
    equal = np.full(n, 1 / n) if given is None else given
    if method == "median" and np.ptp(equal) > 0:
        raise InputError("weights: the median of quantiles has none. Leave them out, or take method='quantiles'.")
    found = _pooled(method, equal, each)  # which refuses what does not go together
    fits = method == "quantiles" or (method == "linear" and isinstance(found, Quantiles))
    if y_true is not None and given is None and not fits:
        members = " of members" if method == "linear" else ""
        remedy = "Leave it out (None), or give weights."
        raise InputError(f"y_true: weights of method={method!r}{members} are not fitted. {remedy}")
    if y_true is None or given is not None:
        return DistributionPool(method, dict(zip(forecasts, equal.tolist(), strict=True)), found)
    rows = read_distributions(y_true, found, reading)
    folds, told = check_whole("folds", folds or FOLDS, 2), [rows.y, rows.rows.low, rows.rows.high]
    fold = dealt(told, rows.means.total, rows.groups, folds)
    own = [forecast.subset(rows.kept) for forecast in each]
    crps = (_crps_of_quantiles if method == "quantiles" else _crps_of_functions)(rows, own, fold)
    weights, levels = _best(n, crps(fold >= 0)), each[0].levels
    mixed = _pooled(method, weights, each).quantile(levels)
    for out in np.unique(fold):
        here = fold == out
        of_others = _pooled(method, _best(n, crps(~here)), [forecast.subset(here) for forecast in own])
        mixed[rows.kept[here]] = of_others.quantile(levels)
    named = dict(zip(forecasts, weights.tolist(), strict=True))
    return DistributionPool(method, named, Quantiles(levels, mixed))


Crps = Callable[[Floats], tuple[float, Floats]]
"""Mean CRPS of a pool, by its weights, and its slopes; it is convex in them."""


def _crps_of_quantiles(rows: DistributionRows, each: list[Quantiles], _: Ints) -> Callable[[Bools], Crps]:
    """Give the mean CRPS, by quantiles, of averaged quantiles, in some of the rows."""
    levels, values = each[0].levels, np.stack([forecast.values for forecast in each]).astype(np.float64)

    def of(some: Bools) -> Crps:
        y, own = rows.y[some, None], values[:, some]
        share = rows.means.total[some] / rows.means.total[some].sum() / levels.size

        def crps(weights: Floats) -> tuple[float, Floats]:
            q = np.tensordot(weights, own, 1)
            slope = share[:, None] * ((y < q) - levels)
            return float((slope * (q - y)).sum()), np.tensordot(own, slope, 2)

        return crps

    return of


def _crps_of_functions(rows: DistributionRows, each: list[Quantiles], fold: Ints) -> Callable[[Bools], Crps]:
    """Give the mean CRPS of averaged distribution functions, in the rows of some folds."""
    tables = np.zeros((fold.max() + 1, len(each), len(each)))
    for at in range(0, len(fold), _BLOCK // 8):
        here = slice(at, at + _BLOCK // 8)
        np.add.at(tables, fold[here], rows.means.total[here, None, None] * _products(rows.y[here], each, here))

    def of(some: Bools) -> Crps:
        table = tables[np.unique(fold[some])].sum(axis=0)
        return lambda weights: (float(weights @ table @ weights), 2 * table @ weights)

    return of


def _products(y: Floats, each: list[Quantiles], rows: slice) -> Floats:
    """Integrate the products of two forecasters' F(x) - 1{y <= x}, (n, k, k), of which w'Pw is the CRPS of w'F."""
    points = _points(each, np.arange(len(each[0]))[rows])
    points = np.concatenate([points, y[:, None]], axis=1)
    order = np.argsort(points, axis=1)
    gaps = np.diff(np.take_along_axis(points, order, 1), axis=1)
    of = order[None, :, :-1] // _POINTS == np.arange(len(each) + 1)[:, None, None]
    reached = np.cumsum(of, axis=2)
    beside = reached[:-1] / _POINTS - reached[-1]
    return np.asarray(np.einsum("irp,jrp,rp->rij", beside, beside, gaps, optimize=True))


def _best(n: int, crps: Crps) -> Floats:
    """Find the weights of the smallest mean CRPS."""
    start = np.full(n, 1 / n)
    unit = crps(start)[0] or 1.0
    whole = {"type": "eq", "fun": lambda weights: weights.sum() - 1, "jac": lambda _: np.ones(n)}

    def loss(weights: Floats) -> tuple[Any, ...]:
        return tuple(each / unit for each in crps(weights))

    found = minimize(loss, start, jac=True, method="SLSQP", bounds=[(0, 1)] * n, constraints=whole)
    return np.asarray(np.clip(found.x, 0, 1) / np.clip(found.x, 0, 1).sum())


def _pooled(method: str, weights: Floats, each: list[Any]) -> Predictive:
    """Combine forecasts: quantiles level by level, members all together, distribution functions by many points."""
    if method == "linear" and all(isinstance(forecast, Samples) for forecast in each):
        members = [forecast.members for forecast in each]
        if np.ptp(weights) > 0 or len({found.shape[1] for found in members}) > 1:
            raise InputError("forecasts: members of equal numbers and weights go together; draw as many of each.")
        return Samples(np.concatenate(members, axis=1))
    levels = [forecast.levels if isinstance(forecast, Quantiles) else np.zeros(0) for forecast in each]
    if levels[0].size == 0 or not all(np.array_equal(levels[0], own) for own in levels):
        remedy = "Of others take quantiles: Quantiles(levels, forecast.quantile(levels))."
        raise InputError(f"forecasts: pool takes Quantiles at the same levels, or Samples. {remedy}")
    if method == "linear":
        return Quantiles(levels[0], _mixed(levels[0], weights, each))
    values = np.stack([forecast.values for forecast in each])
    return Quantiles(levels[0], np.median(values, axis=0) if method == "median" else np.tensordot(weights, values, 1))


def _points(each: list[Quantiles], rows: Ints) -> Floats:
    """Give equally probable points of the rows' distributions, one forecaster's after another's."""
    levels = (np.arange(_POINTS) + 0.5) / _POINTS
    return np.concatenate([forecast.subset(rows).quantile(levels) for forecast in each], axis=1)


def _mixed(levels: Floats, weights: Floats, each: list[Quantiles]) -> AnyFloats:
    """Give quantiles of the weighted mean of distribution functions."""
    found, mass = np.empty((len(each[0]), levels.size)), np.repeat(weights / _POINTS, _POINTS)
    for at in range(0, len(found), _BLOCK):
        rows = np.arange(at, min(at + _BLOCK, len(found)))
        points = _points(each, rows)
        order = np.argsort(points, axis=1)
        ranked, below = np.take_along_axis(points, order, 1), np.cumsum(mass[order], axis=1) - mass[order] / 2
        for row, where in enumerate(rows):
            found[where] = np.interp(levels, below[row], ranked[row])
    return found
