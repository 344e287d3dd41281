"""decide(): the threshold of least expected cost, what decisions there cost, and what miscalibration adds to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .._lib.arrays import as_array
from .._lib.dataclasses import field, replace
from .._lib.errors import InputError, is_whole, rows_text
from .._lib.formatting import confidence_interval, short_name
from .._lib.serialize import plain_values
from .._lib.typing import AnyFloats, Bools, ByValue, Floats, Ints
from .._version import __version__
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..forecasts.reading import RowReading, reads
from ..report.document import Python
from ..report.numbers import between, number
from ..report.result import JsonResult
from ..statistics.intervals import UNKNOWN, Interval, checked_sampling, wilson
from ..statistics.matrices import product
from ..statistics.means import t_quantile
from ..statistics.threshold_cells import FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_NEGATIVE, TRUE_POSITIVE, ThresholdCells
from ..tally.tally import Tally
from .counted_rows import CountedRows, Recalibrated, recalibrated_beside
from .decision_curve import MODEL, AtCapacity, MeanCost, Share, rows_for_decisions
from .remedy import PythonLine


class Costs(ByValue):
    """What each kind of row costs, in units of the user's own; benefits are negative costs."""

    false_positive: float
    false_negative: float
    true_positive: float = 0.0
    true_negative: float = 0.0

    @property
    def threshold(self) -> float:
        """Probability from which on acting has the smaller expected cost."""
        return float(threshold_of(self.by_kind))

    @property
    def by_kind(self) -> Floats:
        """Costs of true negatives, false negatives, false positives and true positives, as cells have them."""
        return np.array([self.true_negative, self.false_negative, self.false_positive, self.true_positive], np.float64)


def threshold_of(prices: Floats) -> Floats:
    """Probability from which on acting has the smaller expected cost, by the costs of the kinds of rows, (..., 4)."""
    saved = _saved(prices)
    return np.asarray(saved[..., 0] / (saved[..., 0] - saved[..., 1]))


def _saved(prices: Floats) -> Floats:
    """Give what not acting saves on a negative row, and on a positive one, which is below 0."""
    return np.asarray(prices[..., 2:] - prices[..., :2])


class Confusion(ByValue):
    """Rows by decision and outcome, as sums of their weights (numbers of rows where these have none)."""

    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float
    acted_on: Share
    """Share of the rows that are acted on."""
    sensitivity: Share
    """Share of the positive rows that are acted on (recall). Larger is better."""
    specificity: Share
    """Share of the negative rows that are not acted on. Larger is better."""
    positive_predictive_value: Share
    """Share of the rows acted on that are positive (precision). Larger is better."""
    negative_predictive_value: Share
    """Share of the rows not acted on that are negative. Larger is better."""

    def shares(self) -> dict[str, Share]:
        """Return the shares by their names in words."""
        return {name.replace("_", " "): each for name, each in vars(self).items() if isinstance(each, Share)}


class Decision(JsonResult):
    """Decisions by a forecast at the threshold of least expected cost. Made by `decide`; all fields are final."""

    costs: Costs
    threshold: float
    """From this probability on one acts; the median where costs differ by row."""
    thresholds: Interval
    """The smallest and the largest one, where costs differ by row."""
    cost: MeanCost
    """Cost a row of deciding by the predicted probabilities at the threshold."""
    cost_all: MeanCost
    """Cost a row of acting on all rows."""
    cost_none: MeanCost
    """Cost a row of acting on none."""
    confusion: Confusion
    best_threshold: float
    """Threshold with the smallest cost on these very rows; above 1 where acting on none is cheapest, NaN where costs
    differ by row."""
    best_cost: float
    """Its cost a row: too optimistic, since the threshold was chosen on the same rows."""
    best_cost_cross_fitted: MeanCost | None
    """Cost a row with each row's threshold chosen on the other folds; None for too few rows."""
    recalibrated: MeanCost | None
    """Cost a row of deciding by recalibrated probabilities at the threshold; None without any."""
    miscalibration: MeanCost | None
    """What miscalibration costs a row at the threshold: cost by the predicted minus cost by the recalibrated
    probabilities, with the interval of the paired difference."""
    frequency: float
    """Observed frequency of the positive class."""
    n_rows: int
    labels: tuple[Label | None, ...]
    """The negative and the positive class."""
    confidence: float
    n_clusters: int | None
    """Number of clusters; None for independent rows."""
    weighted: bool
    notes: dict[str, Notes]
    """What was left out or rescaled on the way in."""
    capacity: AtCapacity | None = None
    """Decisions where only so many rows can be acted on."""
    bound: float = 0.0
    """By at most how much the cost at the threshold differs from that of the rows, where a tally counts in cells."""
    warnings: tuple[str, ...] = ()
    version: str = __version__
    _code: str = field(default="", repr=False, compare=False)
    """Commands or lines of Python that recalibrate and decide again."""

    @property
    def optimism(self) -> float:
        """By how much the best threshold's cost on its own rows is below its cross-fitted cost; NaN without one."""
        return math.nan if self.best_cost_cross_fitted is None else self.best_cost_cross_fitted.value - self.best_cost

    @property
    def verdict(self) -> str:
        """What to do, in words."""
        return "{}. {}".format(*conclusion(self))

    def advising(self, code: str) -> Decision:
        """Return the same decision with these commands that recalibrate and decide again."""
        return replace(self, _code=code)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        return {"verdict": self.verdict, **plain_values(self), "optimism": self.optimism}


def conclusion(d: Decision) -> tuple[str, str]:
    """Say from which probability on to act, then what that costs and what miscalibration adds."""
    positive = short_name(str(d.labels[1]))
    low, high = d.thresholds
    least = f"{d.threshold:.3g}" if math.isnan(low) else f"the row's threshold, {low:.3g} to {high:.3g}"
    where = f"where the probability of {positive!r} is at least {least}"
    m = d.miscalibration
    words = (
        f"By the predicted probabilities the cost is {number(d.cost.value)} a row"
        f" ({number(d.cost_all.value)} for acting on all rows and"
        f" {number(d.cost_none.value)} for never acting)."
    )
    cheaper = min(("acting on all rows", d.cost_all), ("never acting", d.cost_none), key=lambda each: each[1].value)
    if cheaper[1].value <= d.cost.value:
        words += f" On these rows {cheaper[0]} costs no more."
    if m is None:
        return f"Act {where}", words
    limits = between(*m.interval)
    interval = f" ({confidence_interval(d.confidence)} {limits})" * bool(limits)
    if d.recalibrated is not None and m.interval.low > 0:
        costs = f"cost {number(d.recalibrated.value)} a row instead of {number(d.cost.value)}"
        first = f"Recalibrate, then act {where} ({costs})"
        return first, f"{words} Miscalibration costs {number(m.value)} of it{interval}."
    words += f" No evidence that recalibration would lower it: difference {number(m.value)}{interval}."
    return f"Act {where}", words


_LEAST_FREEDOM = 1e-3
"""Degrees of freedom of a single cluster, whose interval then reaches from 0 to 1."""

_ROUNDING = 1e-12
"""Costs that differ by less than this share of all of them are equal."""


@reads(RowReading)
def decide(
    y_true: Any,
    y_prob: Any = None,
    *,
    cost_fp: ArrayLike,
    cost_fn: ArrayLike,
    cost_tp: ArrayLike = 0.0,
    cost_tn: ArrayLike = 0.0,
    capacity: int | None = None,
    period: Any = None,
    recalibrated: Any = True,
    confidence: float = 0.95,
    seed: int = 0,
    **reading: Unpack[RowReading],
) -> Decision:
    """Find the threshold of least expected cost, and what decisions there cost.

    Returns a `Decision`. Print it, or read its ``verdict``, ``threshold`` and
    ``cost`` (smaller is better). For calibrated probabilities the threshold
    follows from the costs alone: acting from ``c_fp / (c_fp + c_fn)`` on has
    the least expected cost, so no search is needed. Miscalibrated probabilities
    cost more there, and the result says how much.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, 2), or Tally
        Outcomes of two classes. Or a `Tally` of independent rows, with nothing
        beside.
    y_prob : array_like of shape (n,) or (n, 2)
        Predicted probabilities of the positive class, or of both.
    cost_fp, cost_fn : float, or array_like of shape (n,)
        Costs of a false positive, acting on a negative row, and of a false
        negative, not acting on a positive one, in any unit: of all rows, or of
        each. Each row then has a threshold of its own.
    cost_tp, cost_tn : float, or array_like of shape (n,), default 0
        Costs of a true positive and of a true negative, in the same unit;
        benefits are negative costs.
    capacity : int, optional
        Number of rows that can be acted on at most, in all or in each period:
        precision and recall at k. Rows where acting saves nothing are left out;
        of rows that tie for the last places the expectation is taken.
    period : array_like of shape (n,), optional
        Period of each row, such as its day, each of which has this capacity.
    recalibrated : True, None, array_like, object with ``transform``, default True
        Recalibrated probabilities, to see what miscalibration costs: True for
        cross-fitted ones (each row's from the other folds), probabilities, or a
        `Recalibrator` that was fitted on other rows; None for none. For a tally
        there are no rows to pass probabilities of.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).
    seed : int, default 0
        Random seed of the folds.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
        ``pos_label``, ``ignore_label``, ``scale``, ``invalid``, and
        ``clusters``, the clusters of rows that may depend on one another.

    Returns
    -------
    Decision
        ``threshold``, ``cost``, ``cost_all``, ``cost_none``, ``confusion``
        (with Wilson intervals), ``best_threshold`` with its ``optimism``,
        ``recalibrated`` and ``miscalibration``, ``capacity``.

    Raises
    ------
    InputError
        As `Forecasts`; for more than two classes; for costs by which acting, or
        not acting, would never be right; for a tally of rows in clusters.

    Notes
    -----
    The threshold is ``(c_fp - c_tn) / (c_fp - c_tn + c_fn - c_tp)`` (Elkan
    2001). Mean costs have sandwich standard errors, of clusters where there are
    ``clusters``. The threshold that is best on the rows themselves looks better
    than it is; its optimism is the cross-fitted cost minus that cost. A tally
    gives what its rows would, or where it counts in cells, costs within
    ``bound`` of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import decide
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 4, 2000)
    >>> fraud = rng.random(2000) < p
    >>> found = decide(fraud, p, cost_fp=1, cost_fn=4, recalibrated=None)
    >>> print(found.to_text().splitlines()[0])
    Act where the probability of 'True' is at least 0.2.
    >>> round(found.cost.value, 2), round(found.cost_all.value, 2)
    (0.48, 0.8)
    >>> found.threshold
    0.2
    """
    checked_sampling(confidence, 0, seed)
    if period is not None and capacity is None:
        raise InputError("period: goes with a capacity, of which each period has its own; name capacity too.")
    costs, prices = checked_costs(cost_fp, cost_fn, cost_tp, cost_tn)
    columns, read = rows_for_decisions(y_true, y_prob, {MODEL: y_prob}, reading, (prices, period))
    beside, warnings = recalibrated_beside(recalibrated, columns, read, seed)
    decision = Deciding(columns[MODEL], costs, confidence).decision(beside.get(MODEL), seed, warnings, capacity)
    return decision.advising(_lines(y_true, y_prob, reading, decision)) if recalibrated is True else decision


def _lines(y_true: Any, y_prob: Any, reading: Mapping[str, Any], found: Decision) -> Python:
    """Give lines of Python that fit a map to these rows, and decide by it on new ones."""
    if isinstance(y_true, Tally):
        fit = Python("recalibrated = Recalibrator().fit(tally).transform(new_y_prob)")
    else:
        fit = PythonLine.reading(reading).text
    column = "[:, 1]" if np.ndim(y_prob) == 2 else ""
    least = f"{found.threshold:.6g}" if math.isnan(found.thresholds.low) else _THRESHOLD
    return Python(f"{fit}\nact = recalibrated{column} >= {least}")


_THRESHOLD = "(cost_fp - cost_tn) / (cost_fp - cost_tn + cost_fn - cost_tp)"
"""The threshold of each row, in Python."""


def checked_costs(*given: ArrayLike) -> tuple[Costs, Floats | None]:
    """Return costs, and where they differ by row those of each; refuse those by which one would always or never act.

    Parameters
    ----------
    *given : float, or array_like of shape (n,)
        Cost of a false positive, a false negative, a true positive and a true negative, in one unit; benefits are
        negative.

    Returns
    -------
    costs : Costs
        The means, where costs differ by row.
    prices : ndarray of shape (n, 4), or None
        Costs of each row in the order of the kinds of rows; None where all rows cost the same.

    Raises
    ------
    InputError
        For a cost that is no finite number, and for a wrong decision that costs no more than a right one.
    """
    costs = dict(zip(("cost_fp", "cost_fn", "cost_tp", "cost_tn"), given, strict=True))
    values = [_numbers(name, value) for name, value in costs.items()]
    if len({each.size for each in values if each.ndim}) > 1:
        raise InputError(f"{', '.join(costs)}: of different lengths; give one cost, or one for each row.")
    fp, fn, tp, tn = np.broadcast_arrays(*values)
    for names, wrong, right, rows, act in (
        ("cost_fp and cost_tn", fp, tn, "negative", "always"),
        ("cost_fn and cost_tp", fn, tp, "positive", "never"),
    ):
        bad = np.flatnonzero(~(wrong > right))
        if bad.size:
            where = f" in {rows_text(bad)}" if fp.ndim else ""
            raise InputError(
                f"{names}: a wrong decision on a {rows} row has to cost more than a right one, got"
                f" {wrong.flat[bad[0]]:g} and {right.flat[bad[0]]:g}{where}; with these costs one would {act} act."
            )
    return Costs(*(float(each.mean()) for each in values)), np.stack([tn, fn, fp, tp], axis=1) if fp.ndim else None


def _numbers(name: str, value: Any) -> Floats:
    """Read a cost, or one of each row."""
    found = as_array(value)
    numeric = found.ndim < 2 and found.size and found.dtype.kind in "iuf"
    if not numeric or not np.isfinite(found).all():
        shown = rows_text(np.flatnonzero(~np.isfinite(found))) if numeric and found.ndim else f"{value!r:.40}"
        raise InputError(f"{name}: expected a finite number, or one for each row, got {shown}.")
    return found


class Deciding(NamedTuple):
    """What all figures of a decision are made from: the rows of a forecaster, costs, and a confidence level."""

    rows: CountedRows
    costs: Costs
    confidence: float

    def decision(
        self, recalibrated: Recalibrated | None, seed: int, warnings: tuple[str, ...], capacity: int | None = None
    ) -> Decision:
        """Decide, with recalibrated probabilities or none, and at a capacity or none."""
        rows, at = self.rows, self.costs.threshold
        limits, acted = UNKNOWN, self.acts(rows, rows.p)
        cells = rows.with_probabilities(acted.astype(np.float64)).at(np.array([0.5]))
        every = np.ones(rows.p.size, dtype=np.bool_)
        best, tuned = math.nan, None
        if rows.prices is None:
            best, tuned = best_threshold(rows.p, rows.positive, rows.weight, self.costs), self.cross_fitted(seed)
        else:
            each = threshold_of(rows.prices)
            at, limits = float(np.median(each)), Interval(float(each.min()), float(each.max()))
        after, difference = (None, None) if recalibrated is None else self.compared(recalibrated)
        bound, of_cell = self.bound(at)
        return Decision(
            costs=self.costs,
            threshold=at,
            thresholds=limits,
            cost=self.mean(rows, acted),
            cost_all=self.mean(rows, every),
            cost_none=self.mean(rows, ~every),
            confusion=self.confusion(cells),
            best_threshold=best,
            best_cost=math.nan if math.isnan(best) else self.mean(rows, rows.acts(best)).value,
            best_cost_cross_fitted=tuned,
            recalibrated=after,
            miscalibration=difference,
            frequency=rows.frequency,
            n_rows=rows.n_rows,
            labels=rows.labels,
            confidence=self.confidence,
            n_clusters=rows.n_clusters,
            weighted=rows.weighted,
            notes={MODEL: rows.notes},
            capacity=None if capacity is None else at_capacity(rows, capacity, self.confidence, self.costs),
            bound=bound,
            warnings=(*warnings, *of_cell),
        )

    def costs_of(self, rows: CountedRows, acted: Bools) -> Floats:
        """Cost of a row of each lot."""
        kind = 2 * acted + rows.positive
        return np.asarray(self.costs.by_kind[kind] if rows.prices is None else rows.prices[np.arange(kind.size), kind])

    def acts(self, rows: CountedRows, p: AnyFloats) -> Bools:
        """Lots that are acted on by their probabilities, or by others, in the precision of these."""
        at = self.costs.threshold if rows.prices is None else threshold_of(rows.prices)
        return np.asarray(p >= np.asarray(at, p.dtype))

    def mean(self, rows: CountedRows, acted: Bools) -> MeanCost:
        """Mean cost of acting on some lots, with its interval."""
        return self.interval(rows, self.costs_of(rows, acted))

    def interval(self, rows: CountedRows, x: Floats) -> MeanCost:
        """Mean of one value a lot, with its interval."""
        found = rows.mean(x)
        return MeanCost(found.mean, found.interval(self.confidence))

    def compared(self, recalibrated: Recalibrated) -> tuple[MeanCost, MeanCost]:
        """Cost by the recalibrated probabilities, and the paired difference from that by the predicted ones."""
        rows = recalibrated.rows
        before, after = (self.costs_of(rows, self.acts(rows, p)) for p in (rows.p, recalibrated.p))
        return self.interval(rows, after), self.interval(rows, before - after)

    def bound(self, at: float) -> tuple[float, tuple[str, ...]]:
        """By how much counting in cells may change the cost at the threshold, and a warning if it may."""
        c, (negative, positive) = self.costs, self.rows.in_cell_of(np.array([at]))[0].tolist()
        bound = max(negative * (c.false_positive - c.true_negative), positive * (c.false_negative - c.true_positive))
        if not bound:
            return 0.0, ()
        return bound, (
            f"the tally counted probabilities in cells, and that of the threshold has {negative + positive:.2%} of the"
            f" rows: the cost is exact to ±{bound:.2g}; decide by the rows for more digits",
        )

    def cross_fitted(self, seed: int) -> MeanCost | None:
        """Cost with thresholds chosen on other folds."""
        dealt = self.rows.in_folds(seed)
        if dealt is None:
            return None
        lots = dealt.lots
        acted = np.zeros(dealt.fold.size, dtype=np.bool_)
        for out in dealt.in_turn():
            chosen = best_threshold(lots.p[~out], lots.positive[~out], lots.weight[~out], self.costs)
            acted[out] = lots.acts(chosen)[out]
        return self.mean(lots, acted)

    def confusion(self, cells: ThresholdCells) -> Confusion:
        """Count decisions by outcome."""
        totals = cells.shares[0] * self.rows.weight.sum()
        if not self.rows.weighted:
            totals = totals.round()
        acted_on, positive = (TRUE_POSITIVE, FALSE_POSITIVE), (TRUE_POSITIVE, FALSE_NEGATIVE)
        passed_over, negative = (TRUE_NEGATIVE, FALSE_NEGATIVE), (TRUE_NEGATIVE, FALSE_POSITIVE)
        return Confusion(
            true_positives=float(totals[TRUE_POSITIVE]),
            false_positives=float(totals[FALSE_POSITIVE]),
            false_negatives=float(totals[FALSE_NEGATIVE]),
            true_negatives=float(totals[TRUE_NEGATIVE]),
            acted_on=self.share(cells, acted_on, tuple(range(4))),
            sensitivity=self.share(cells, (TRUE_POSITIVE,), positive),
            specificity=self.share(cells, (TRUE_NEGATIVE,), negative),
            positive_predictive_value=self.share(cells, (TRUE_POSITIVE,), acted_on),
            negative_predictive_value=self.share(cells, (TRUE_NEGATIVE,), passed_over),
        )

    def share(self, cells: ThresholdCells, kinds: tuple[int, ...], among: tuple[int, ...]) -> Share:
        """Share of some kinds of rows among others, with its Wilson interval."""
        value, rows = cells.share_of(kinds, among)
        if math.isnan(value):
            return Share(value, UNKNOWN)
        freedom = max(cells.worth - 1, _LEAST_FREEDOM) if cells.clustered else math.inf
        return Share(value, wilson(value, rows, float(t_quantile(self.confidence, freedom))))


def at_capacity(rows: CountedRows, capacity: int, confidence: float, costs: Costs | None = None) -> AtCapacity:
    """Act on at most as many rows as a capacity allows, in all or in each period: those where acting saves the most.

    Where all rows cost the same these are the most probable ones. With costs, rows where acting saves nothing are left
    out. Rows that tie for the last places each count with the share of these places.
    """
    if rows.p.size != rows.n_rows:
        raise InputError("capacity (--capacity): the rows of a tally are not known one by one; decide by the rows.")
    if not is_whole(capacity, 1, rows.n_rows):
        raise InputError(f"capacity (--capacity): expected a number of rows, 1 to {rows.n_rows:,}, got {capacity!r}.")
    p, deciding = rows.p.astype(np.float64), Deciding(rows, costs or Costs(1.0, 1.0), confidence)
    able = np.ones(p.size, dtype=np.bool_) if costs is None else deciding.acts(rows, rows.p)
    spent = -p if rows.prices is None else (np.stack([1 - p, p], axis=1) * _saved(rows.prices)).sum(axis=1)
    period = np.zeros(p.size, np.int64) if rows.period is None else rows.period
    share = able * _taken(period, np.where(able, spent, math.inf), capacity)
    cells, some = rows.in_part(share), share > 0
    never, always = (deciding.costs_of(rows, each) for each in (np.zeros_like(some), np.ones_like(some)))
    return AtCapacity(
        capacity,
        None if rows.period is None else np.unique(period).size,
        round(float(product(rows.weight, share)), 9),
        deciding.share(cells, (TRUE_POSITIVE,), (TRUE_POSITIVE, FALSE_POSITIVE)),
        deciding.share(cells, (TRUE_POSITIVE,), (TRUE_POSITIVE, FALSE_NEGATIVE)),
        float(p[some].min()) if some.any() else math.nan,
        deciding.interval(rows, never + share * (always - never)) if costs else None,
    )


def _taken(period: Ints, spent: Floats, room: int) -> Floats:
    """Share of each row, from 0 to 1, that is among so many with the least in its period; equal ones share places."""
    order = np.lexsort((spent, period))
    ordered, least = period[order], spent[order]
    first = np.flatnonzero(np.append(True, (np.diff(ordered) != 0) | (least[1:] != least[:-1])))
    size = np.diff(np.append(first, order.size))
    before = first - np.searchsorted(ordered, ordered[first])
    share = np.repeat(np.clip((room - before) / size, 0.0, 1.0), size)
    return np.asarray(share[np.argsort(order)])


def best_threshold(p: AnyFloats, truth: Ints, weights: Floats, costs: Costs) -> float:
    """Return the threshold with the smallest cost on these rows: midway between two probabilities that occur.

    It is 0 where acting on all rows is cheapest, and infinite where acting on none is. If several are best, the first
    from above.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probabilities of the positive class.
    truth : ndarray of int of shape (n,)
        Outcomes, 0 or 1.
    weights : ndarray of shape (n,)
        Weights of the rows.
    costs : Costs
        Cost of each kind of row.
    """
    saved = -_saved(costs.by_kind)  # by acting, on negative and positive rows
    values, place = np.unique(p, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights * saved[truth], values.size)[::-1]
    gained = np.concatenate([[0.0], np.cumsum(sums)])
    acted = int(np.argmax(gained > gained.max() - _ROUNDING * np.abs(sums).sum()))  # values acted on, the highest first
    if acted in (0, values.size):
        return 0.0 if acted else math.inf
    lowest, next_lower = (float(each) for each in values[::-1][acted - 1 : acted + 1])
    midway = (lowest + next_lower) / 2
    # Between neighbours the midpoint can round down, in the precision in which the threshold is compared.
    return midway if float(p.dtype.type(midway)) > next_lower else lowest
