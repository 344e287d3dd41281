"""decide(): the threshold of least expected cost, what decisions there cost, and what miscalibration adds to it."""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Floats, Ints
from ..forecasts.gathered import GatheredRows, gathered
from ..forecasts.reading import RowReading
from ..recalibration.held_out import held_out, independent_units
from ..statistics.intervals import Interval, checked_sampling, wilson
from ..statistics.means import t_quantile
from ..statistics.standard_errors import Dependence, uncertain_mean
from ..statistics.threshold_cells import (
    FALSE_NEGATIVE,
    FALSE_POSITIVE,
    TRUE_NEGATIVE,
    TRUE_POSITIVE,
    ThresholdCells,
    threshold_cells,
)
from .decision_curve import MODEL, refuse_classes
from .decision_result import Confusion, Costs, Decision, MeanCost, Share
from .recalibrated import FEWEST_UNITS, FOLDS, recalibrated_beside


def decide(
    y_true: Any,
    y_prob: Any,
    *,
    cost_false_positive: float,
    cost_false_negative: float,
    benefit_true_positive: float = 0.0,
    benefit_true_negative: float = 0.0,
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
    y_true : array_like of shape (n,) or (n, 2)
        Outcomes of two classes.
    y_prob : array_like of shape (n,) or (n, 2)
        Predicted probabilities of the positive class, or of both.
    cost_false_positive, cost_false_negative : float
        Costs of acting on a negative row, and of not acting on a positive one, in any unit.
    benefit_true_positive, benefit_true_negative : float, default 0
        Benefits of acting on a positive row, and of not acting on a negative one, in the same unit.
    recalibrated : True, None, array_like or object with ``transform``, default True
        Recalibrated probabilities, to see what miscalibration costs: True for cross-fitted ones (each row's from the
        other folds), probabilities, or a `Recalibrator` that was fitted on other rows; None for none.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).
    seed : int, default 0
        Random seed of the folds.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``, ``pos_label``, ``ignore_label``,
        ``renormalize``, ``drop_invalid``, ``percent``, ``from_logits``, ``from_log_probs``, and ``groups``, the
        clusters of rows that may depend on one another.

    Returns
    -------
    Decision
        ``threshold``, ``cost``, ``cost_all``, ``cost_none``, ``confusion`` (with Wilson intervals), ``best_threshold``
        with its ``optimism``, ``recalibrated`` and ``miscalibration``.

    Raises
    ------
    InputError
        As `Forecasts`; for more than two classes; for costs by which acting, or not acting, would never be right.

    Notes
    -----
    With costs and benefits the threshold is ``(c_fp + b_tn) / (c_fp + b_tn + c_fn + b_tp)`` (Elkan 2001). Mean costs
    have sandwich standard errors, of clusters where there are ``groups``. The threshold that is best on the rows
    themselves looks better than it is; its optimism is the cross-fitted cost minus that cost.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import decide
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 4, 2000)
    >>> fraud = rng.random(2000) < p
    >>> found = decide(fraud, p, cost_false_positive=1, cost_false_negative=4, recalibrated=None)
    >>> found.threshold
    0.2
    >>> found.cost.value < min(found.cost_all.value, found.cost_none.value)
    True
    """
    checked_sampling(confidence, 0, seed)
    costs = checked_costs(cost_false_positive, cost_false_negative, benefit_true_positive, benefit_true_negative)
    rows = gathered("decide", {MODEL: y_prob}, y_true, reading)
    refuse_classes(rows)
    beside, warnings = recalibrated_beside(recalibrated, y_true, rows, reading, single=True, seed=seed)
    return decided(rows, costs, beside.get(MODEL), confidence, seed, warnings)


def decided(
    rows: GatheredRows,
    costs: Costs,
    recalibrated: Floats | None,
    confidence: float,
    seed: int,
    warnings: tuple[str, ...] = (),
) -> Decision:
    """Decide by gathered rows of a single forecaster, with recalibrated probabilities of the positive class or none."""
    return _Deciding(rows, costs, confidence).decision(recalibrated, seed, warnings)


def checked_costs(false_positive: float, false_negative: float, true_positive: float, true_negative: float) -> Costs:
    """Return costs, benefits being given for right decisions; refuse those by which one would always or never act."""
    given = {
        "cost_false_positive": false_positive,
        "cost_false_negative": false_negative,
        "benefit_true_positive": true_positive,
        "benefit_true_negative": true_negative,
    }
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise InputError(f"{name}: expected a finite number, got {value!r}.")
    for cost, benefit, rows, act in (
        ("cost_false_positive", "benefit_true_negative", "negative", "always"),
        ("cost_false_negative", "benefit_true_positive", "positive", "never"),
    ):
        if not given[cost] + given[benefit] > 0:
            raise InputError(
                f"{cost} + {benefit}: a wrong decision on a {rows} row has to cost more than a right one, got"
                f" {given[cost] + given[benefit]:g}; with these costs one would {act} act."
            )
    costs = (float(false_positive), float(false_negative), 0.0 - float(true_positive), 0.0 - float(true_negative))
    return Costs(*costs)


class _Deciding:
    """What all figures of a decision are made from."""

    def __init__(self, rows: GatheredRows, costs: Costs, confidence: float) -> None:
        self.rows, self.costs, self.confidence = rows, costs, confidence
        self.p: AnyFloats = rows.probabilities[MODEL][:, 1]
        self.dependence = Dependence(rows.groups)

    def decision(self, recalibrated: Floats | None, seed: int, warnings: tuple[str, ...]) -> Decision:
        rows, at = self.rows, self.costs.threshold
        cost = self.row_costs(self.acts(self.p, at))
        best = best_threshold(self.p, rows.truth, rows.weights, self.costs)
        changed = None if recalibrated is None else self.row_costs(recalibrated >= at)
        return Decision(
            costs=self.costs,
            threshold=at,
            cost=self.mean(cost),
            cost_all=self.mean(self.row_costs(np.ones(rows.n_rows, dtype=np.bool_))),
            cost_none=self.mean(self.row_costs(np.zeros(rows.n_rows, dtype=np.bool_))),
            confusion=self.confusion(at),
            best_threshold=best,
            best_cost=self.mean(self.row_costs(self.acts(self.p, best))).value,
            best_cost_cross_fitted=self.cross_fitted(seed),
            recalibrated=None if changed is None else self.mean(changed),
            miscalibration=None if changed is None else self.mean(cost - changed),
            frequency=float(rows.weights @ rows.truth / rows.weights.sum()),
            n_rows=rows.n_rows,
            labels=rows.labels,
            confidence=self.confidence,
            n_clusters=None if rows.groups is None else self.dependence.units(rows.n_rows),
            weighted=rows.weighted,
            notes=rows.notes,
            warnings=warnings,
        )

    @staticmethod
    def acts(p: AnyFloats, threshold: float) -> np.ndarray:
        """Rows to act on; the threshold is compared in the probabilities' precision."""
        return np.asarray(p >= p.dtype.type(threshold))

    def row_costs(self, acted: np.ndarray) -> Floats:
        """Cost of each row."""
        return np.asarray(self.costs.by_kind[2 * acted + self.rows.truth])

    def mean(self, x: Floats) -> MeanCost:
        """Mean cost with its interval."""
        found = uncertain_mean(x, self.rows.weights, self.dependence)
        half = found.half_width(self.confidence)
        return MeanCost(found.mean, Interval(found.mean - half, found.mean + half))

    def cross_fitted(self, seed: int) -> MeanCost | None:
        """Cost with thresholds chosen on other folds."""
        rows = self.rows
        if independent_units(rows) < FEWEST_UNITS:
            return None
        acted = np.zeros(rows.n_rows, dtype=np.bool_)
        for out in held_out(rows, FOLDS, seed):
            chosen = best_threshold(self.p[~out], rows.truth[~out], rows.weights[~out], self.costs)
            acted[out] = self.acts(self.p[out], chosen)
        return self.mean(self.row_costs(acted))

    def confusion(self, threshold: float) -> Confusion:
        """Count decisions by outcome."""
        rows = self.rows
        cells = threshold_cells(self.p, rows.truth, rows.weights, np.array([threshold]), rows.groups)
        totals = cells.shares[0] * rows.weights.sum()
        if not rows.weighted:
            totals = totals.round()
        return Confusion(
            true_positives=float(totals[TRUE_POSITIVE]),
            false_positives=float(totals[FALSE_POSITIVE]),
            false_negatives=float(totals[FALSE_NEGATIVE]),
            true_negatives=float(totals[TRUE_NEGATIVE]),
            acted_on=self.acted_on(cells),
            sensitivity=self.share(cells, TRUE_POSITIVE, (TRUE_POSITIVE, FALSE_NEGATIVE)),
            specificity=self.share(cells, TRUE_NEGATIVE, (TRUE_NEGATIVE, FALSE_POSITIVE)),
            positive_predictive_value=self.share(cells, TRUE_POSITIVE, (TRUE_POSITIVE, FALSE_POSITIVE)),
            negative_predictive_value=self.share(cells, TRUE_NEGATIVE, (TRUE_NEGATIVE, FALSE_NEGATIVE)),
        )

    def acted_on(self, cells: ThresholdCells) -> Share:
        """Share of all rows that are acted on."""
        return self.share(cells, (TRUE_POSITIVE, FALSE_POSITIVE), range(4))

    def share(self, cells: ThresholdCells, kinds: int | tuple[int, ...], among: Any) -> Share:
        """Share of some kinds of rows among others, with its Wilson interval."""
        value, rows = cells.share_of(kinds if isinstance(kinds, tuple) else (kinds,), tuple(among))
        if math.isnan(value):
            return Share(value, Interval(math.nan, math.nan))
        freedom = max(cells.worth - 1, 1e-3) if cells.clustered else math.inf
        return Share(value, wilson(value, rows, float(t_quantile(self.confidence, freedom))))


def best_threshold(p: AnyFloats, truth: Ints, weights: Floats, costs: Costs) -> float:
    """Return the threshold with the smallest cost on these rows: midway between two probabilities that occur.

    It is 0 where acting on all rows is cheapest, and infinite where acting on none is. If several are best, the first
    from above.
    """
    saved = costs.by_kind[:2] - costs.by_kind[2:]  # by acting, on negative and positive rows
    values, place = np.unique(p, return_inverse=True)
    sums = np.bincount(place.reshape(-1), weights * saved[truth], values.size)[::-1]
    gained = np.concatenate([[0.0], np.cumsum(sums)])
    acted = int(np.argmax(gained > gained.max() - 1e-12 * np.abs(sums).sum()))  # values acted on, the highest first
    if acted in (0, values.size):
        return 0.0 if acted else math.inf
    lowest, next_lower = (float(each) for each in values[::-1][acted - 1 : acted + 1])
    midway = (lowest + next_lower) / 2
    # Between neighbours the midpoint can round down, in the precision in which the threshold is compared.
    return midway if float(p.dtype.type(midway)) > next_lower else lowest
