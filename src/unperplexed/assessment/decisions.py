"""decide(): the threshold of least expected cost, what decisions there cost, and what miscalibration adds to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

import numpy as np

from .._lib.dataclasses import field, replace
from .._lib.errors import InputError, is_number
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
from ..statistics.means import t_quantile
from ..statistics.threshold_cells import FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_NEGATIVE, TRUE_POSITIVE, ThresholdCells
from ..tally.tally import Tally
from .counted_rows import CountedRows, Recalibrated, recalibrated_beside
from .decision_curve import MODEL, rows_for_decisions
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
        needless = self.false_positive - self.true_negative
        return needless / (needless + self.false_negative - self.true_positive)

    @property
    def by_kind(self) -> Floats:
        """Costs of true negatives, false negatives, false positives and true positives, as cells have them."""
        return np.array([self.true_negative, self.false_negative, self.false_positive, self.true_positive], np.float64)


class MeanCost(ByValue):
    """A mean cost a row. Smaller is better."""

    value: float
    interval: Interval
    """Confidence interval; NaN where all rows cost the same, or are too few."""


class Share(ByValue):
    """A share of rows."""

    value: float
    interval: Interval
    """Wilson (1927), with the effective number of rows where these have weights or are in clusters."""


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
    """From this probability on one acts."""
    cost: MeanCost
    """Cost a row of deciding by the predicted probabilities at the threshold."""
    cost_all: MeanCost
    """Cost a row of acting on all rows."""
    cost_none: MeanCost
    """Cost a row of acting on none."""
    confusion: Confusion
    best_threshold: float
    """Threshold with the smallest cost on these very rows; above 1 where acting on none is cheapest."""
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
    where = f"where the probability of {positive!r} is at least {d.threshold:.3g}"
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
    cost_fp: float,
    cost_fn: float,
    cost_tp: float = 0.0,
    cost_tn: float = 0.0,
    recalibrated: Any = True,
    confidence: float = 0.95,
    seed: int = 0,
    **reading: Unpack[RowReading],
) -> Decision:
    """Find the threshold of least expected cost, and what decisions there cost. Smaller cost is better.

    For calibrated probabilities the threshold follows from the costs alone. It needs no search: acting from
    ``c_fp / (c_fp + c_fn)`` on has the least expected cost. Miscalibrated probabilities cost more there, and the result
    says how much.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, 2), or Tally
        Outcomes of two classes. Or a `Tally` of independent rows, with nothing beside.
    y_prob : array_like of shape (n,) or (n, 2)
        Predicted probabilities of the positive class, or of both.
    cost_fp, cost_fn : float
        Costs of a false positive, acting on a negative row, and of a false negative, not acting on a positive one, in
        any unit.
    cost_tp, cost_tn : float, default 0
        Costs of a true positive and of a true negative, in the same unit; benefits are negative costs.
    recalibrated : True, None, array_like or object with ``transform``, default True
        Recalibrated probabilities, to see what miscalibration costs: True for cross-fitted ones (each row's from the
        other folds), probabilities, or a `Recalibrator` that was fitted on other rows; None for none. For a tally
        there are no rows to pass probabilities of.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).
    seed : int, default 0
        Random seed of the folds.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``, ``pos_label``, ``ignore_label``,
        ``scale``, ``invalid``, and ``clusters``, the
        clusters of rows that may depend on one another.

    Returns
    -------
    Decision
        ``threshold``, ``cost``, ``cost_all``, ``cost_none``, ``confusion`` (with Wilson intervals), ``best_threshold``
        with its ``optimism``, ``recalibrated`` and ``miscalibration``.

    Raises
    ------
    InputError
        As `Forecasts`; for more than two classes; for costs by which acting, or not acting, would never be right; for a
        tally of rows in clusters.

    Notes
    -----
    The threshold is ``(c_fp - c_tn) / (c_fp - c_tn + c_fn - c_tp)`` (Elkan 2001). Mean costs
    have sandwich standard errors, of clusters where there are ``clusters``. The threshold that is best on the rows
    themselves looks better than it is; its optimism is the cross-fitted cost minus that cost. A tally gives what its
    rows would, or where it counts in cells, costs within ``bound`` of theirs.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import decide
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 4, 2000)
    >>> fraud = rng.random(2000) < p
    >>> found = decide(fraud, p, cost_fp=1, cost_fn=4, recalibrated=None)
    >>> found.threshold
    0.2
    >>> found.cost.value < min(found.cost_all.value, found.cost_none.value)
    True
    """
    checked_sampling(confidence, 0, seed)
    costs = checked_costs(cost_fp, cost_fn, cost_tp, cost_tn)
    columns, read = rows_for_decisions(y_true, y_prob, {MODEL: y_prob}, reading)
    beside, warnings = recalibrated_beside(recalibrated, columns, read, seed)
    decision = Deciding(columns[MODEL], costs, confidence).decision(beside.get(MODEL), seed, warnings)
    return decision.advising(_lines(y_true, y_prob, reading, decision)) if recalibrated is True else decision


def _lines(y_true: Any, y_prob: Any, reading: Mapping[str, Any], found: Decision) -> Python:
    """Give lines of Python that fit a map to these rows, and decide by it on new ones."""
    if isinstance(y_true, Tally):
        fit = Python("recalibrated = Recalibrator().fit(tally).transform(new_y_prob)")
    else:
        fit = PythonLine.reading(reading).text
    column = "[:, 1]" if np.ndim(y_prob) == 2 else ""
    return Python(f"{fit}\nact = recalibrated{column} >= {found.threshold:.6g}")


def checked_costs(cost_fp: float, cost_fn: float, cost_tp: float, cost_tn: float) -> Costs:
    """Return costs; refuse those by which one would always or never act.

    Parameters
    ----------
    cost_fp, cost_fn, cost_tp, cost_tn : float
        Cost of a false positive, a false negative, a true positive and a true negative, in one unit; benefits are
        negative.

    Returns
    -------
    Costs

    Raises
    ------
    InputError
        For a cost that is no finite number, and for a wrong decision that costs no more than a right one.
    """
    given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "cost_tp": cost_tp, "cost_tn": cost_tn}
    for name, value in given.items():
        if not is_number(value) or not math.isfinite(value):
            raise InputError(f"{name}: expected a finite number, got {value!r}.")
    for wrong, right, rows, act in (
        ("cost_fp", "cost_tn", "negative", "always"),
        ("cost_fn", "cost_tp", "positive", "never"),
    ):
        if not given[wrong] > given[right]:
            raise InputError(
                f"{wrong} and {right}: a wrong decision on a {rows} row has to cost more than a right one, got"
                f" {given[wrong]:g} and {given[right]:g}; with these costs one would {act} act."
            )
    return Costs(*map(float, given.values()))


class Deciding(NamedTuple):
    """What all figures of a decision are made from: the rows of a forecaster, costs, and a confidence level."""

    rows: CountedRows
    costs: Costs
    confidence: float

    def decision(self, recalibrated: Recalibrated | None, seed: int, warnings: tuple[str, ...]) -> Decision:
        """Decide, with recalibrated probabilities or none."""
        rows, at = self.rows, self.costs.threshold
        cells = rows.at(np.array([at]))
        every = np.ones(rows.p.size, dtype=np.bool_)
        best = best_threshold(rows.p, rows.positive, rows.weight, self.costs)
        after, difference = (None, None) if recalibrated is None else self.compared(recalibrated)
        bound, of_cell = self.bound(at)
        return Decision(
            costs=self.costs,
            threshold=at,
            cost=self.mean(rows, rows.acts(at)),
            cost_all=self.mean(rows, every),
            cost_none=self.mean(rows, ~every),
            confusion=self.confusion(cells),
            best_threshold=best,
            best_cost=self.mean(rows, rows.acts(best)).value,
            best_cost_cross_fitted=self.cross_fitted(seed),
            recalibrated=after,
            miscalibration=difference,
            frequency=rows.frequency,
            n_rows=rows.n_rows,
            labels=rows.labels,
            confidence=self.confidence,
            n_clusters=rows.n_clusters,
            weighted=rows.weighted,
            notes={MODEL: rows.notes},
            bound=bound,
            warnings=(*warnings, *of_cell),
        )

    def costs_of(self, rows: CountedRows, acted: Bools) -> Floats:
        """Cost of a row of each lot."""
        return np.asarray(self.costs.by_kind[2 * acted + rows.positive])

    def mean(self, rows: CountedRows, acted: Bools) -> MeanCost:
        """Mean cost of acting on some lots, with its interval."""
        return self.interval(rows, self.costs_of(rows, acted))

    def interval(self, rows: CountedRows, x: Floats) -> MeanCost:
        """Mean of one value a lot, with its interval."""
        found = rows.mean(x)
        return MeanCost(found.mean, found.interval(self.confidence))

    def compared(self, recalibrated: Recalibrated) -> tuple[MeanCost, MeanCost]:
        """Cost by the recalibrated probabilities, and the paired difference from that by the predicted ones."""
        rows, at = recalibrated.rows, self.costs.threshold
        before, after = (self.costs_of(rows, acted) for acted in (rows.acts(at), recalibrated.p >= at))
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
    saved = costs.by_kind[:2] - costs.by_kind[2:]  # by acting, on negative and positive rows
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
