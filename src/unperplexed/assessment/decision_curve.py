"""decision_curve(): net benefit over thresholds, compared with acting on all rows and on none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Bools, ByValue, Floats, ReadOnlyArrays
from .._version import __version__
from ..forecasts.forecasts import Notes
from ..forecasts.gathered import GatheredRows, gathered
from ..forecasts.group_keys import row_keys
from ..forecasts.labels import Label
from ..forecasts.reading import RowReading, reads
from ..report.result import Axes, JsonResult, frame_like_input, frames_as_input, picture
from ..statistics.intervals import Interval, checked_sampling
from ..statistics.threshold_cells import FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_NEGATIVE, TRUE_POSITIVE, ThresholdCells
from ..tally.tally import Tally, refuse_rows
from .counted_rows import (
    RECALIBRATED,
    CountedRows,
    Reader,
    Recalibrated,
    recalibrated_beside,
    rows_of_tally,
    rows_one_by_one,
    same_rows,
)

MODEL, ALL, NONE = "model", "all", "none"
"""What a single forecaster is called, and the two rules that need none."""


_WIDE = 0.9
"""Range of thresholds from which on all are drawn."""


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


class AtCapacity(ByValue):
    """Acting on the rows with the highest probabilities, as many as a capacity allows, or as many in each period.

    With costs, only where acting saves, first where it saves the most. Rows that tie for the last places count in part.
    """

    capacity: int
    periods: int | None
    """Number of periods; None without any."""
    acted_on: float
    """Number of rows acted on, as the sum of their weights."""
    precision: Share
    """Share of positive rows among those acted on (precision at k). Larger is better."""
    recall: Share
    """Share of the positive rows that are acted on (recall at k). Larger is better."""
    threshold: float
    """Smallest probability acted on; NaN where acting saves nothing anywhere."""
    cost: MeanCost | None
    """Cost a row; None without costs."""


class DecisionCurve(ReadOnlyArrays, JsonResult):
    """Net benefit over thresholds. Made by `decision_curve`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.frame()``, ``.to_dict()`` or ``.to_json()``.
    """

    thresholds: Floats
    models: dict[str, NetBenefit]
    """By the forecaster's name, "model" for a single one; recalibrated ones are "recalibrated" or "NAME recalibrated".
    """
    all: NetBenefit
    """Acting on all rows."""
    none: NetBenefit
    """Acting on none."""
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
    """What was left out or rescaled on the way in, by forecaster."""
    bounds: Floats
    """By at most how much a net benefit of the predicted probabilities differs from that of the rows at each threshold,
    where a tally counts in cells; else 0."""
    capacity: AtCapacity | None = None
    """Decisions where only so many rows can be acted on."""
    warnings: tuple[str, ...] = ()
    version: str = __version__

    @property
    def rules(self) -> dict[str, NetBenefit]:
        """All rules: the models, acting on all rows and acting on none."""
        return {**self.models, ALL: self.all, NONE: self.none}

    @property
    def drawn(self) -> tuple[float, float]:
        """Range of thresholds that is drawn: from 0 to 1 unless a part of it was asked for."""
        low, high = float(self.thresholds[0]), float(self.thresholds[-1])
        return (low, high) if 0 < high - low < _WIDE else (0.0, 1.0)

    def frame(self) -> Any:
        """Return one row for each rule and threshold, as a data frame: pandas for pandas input, else polars."""
        import polars as pl

        at = self.thresholds
        frames = (
            pl.DataFrame({"rule": [name] * at.size, "threshold": at, **vars(rule)}) for name, rule in self.rules.items()
        )
        return frame_like_input(self, pl.concat(frames))

    def plot(self, ax: Axes | None = None, *, standardized: bool = False) -> Axes:
        """Draw the net benefit over the thresholds, with the models' pointwise intervals; returns the Axes."""
        return picture(self, ax, standardized=standardized)

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<DecisionCurve of {', '.join(self.models)} at {number_of(self.thresholds.size, 'threshold')}>"


@frames_as_input
@reads(RowReading)
def decision_curve(
    y_true: Any,
    y_prob: Any = None,
    *,
    thresholds: ArrayLike | None = None,
    recalibrated: Any = None,
    confidence: float = 0.95,
    **reading: Unpack[RowReading],
) -> DecisionCurve:
    """Net benefit over thresholds (decision curve analysis). Larger is better.

    Returns a `DecisionCurve`. Print it to see from which thresholds a forecast
    is useful, that is, where its net benefit is above the net benefit of acting
    on all rows and of acting on none. At a threshold of 0.1 you act on every
    row with a probability of at least 0.1, so you accept nine false positives
    for one true positive. Miscalibration lowers the net benefit, whatever the
    ranking.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, 2), or Tally
        Outcomes of two classes. Or a `Tally` of independent rows, with nothing
        beside.
    y_prob : array_like of shape (n,) or (n, 2), or mapping from name to such
        Predicted probabilities of one forecaster, or of several on the same
        rows.
    thresholds : array_like, optional
        Probabilities in (0, 1) from which on one acts; 0.01, 0.02, ..., 0.99 by
        default.
    recalibrated : True, array_like, object with ``transform``, mapping, optional
        Recalibrated probabilities to show as well: True for cross-fitted ones
        (each row's from the other folds), probabilities, or a `Recalibrator`
        that was fitted on other rows.
    confidence : float, default 0.95
        Confidence level of the pointwise intervals, in (0, 1).
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
        ``pos_label``, ``ignore_label``, ``scale``, ``invalid``, and
        ``clusters``, the clusters of rows that may depend on one another.

    Returns
    -------
    DecisionCurve
        ``thresholds``, ``models``, ``all`` and ``none``, each with net benefit,
        standardized net benefit and net interventions avoided, with intervals;
        ``frame()``, ``plot()``, ``to_json()``.

    Raises
    ------
    InputError
        As `Forecasts`; for more than two classes; for a threshold outside (0,
        1); for recalibrated probabilities of other rows; for a tally of rows in
        clusters.

    Notes
    -----
    Vickers and Elkin (2006): ``NB = TP/n - FP/n * t/(1 - t)`` with a row acted
    on where ``p >= t``. Standardized: NB divided by the observed frequency. Net
    interventions avoided: ``(NB - NB of acting on all) / (t/(1 - t))``. Each is
    a share minus a multiple of another. Its interval joins their Wilson limits
    (MOVER, Zou and Donner 2008), so that it stays honest where false positives,
    or false negatives, are rare; effective numbers of rows stand for weights
    and clusters. Intervals are pointwise, not simultaneous. A tally gives what
    its rows would, or where it counts in cells, net benefits within ``bounds``
    of theirs.

    Examples
    --------
    >>> from unperplexed import decision_curve
    >>> y, p = [0, 0, 1, 0, 1] * 100, [0.1, 0.3, 0.4, 0.6, 0.9] * 100
    >>> curve = decision_curve(y, p, thresholds=[0.2, 0.5])
    >>> for line in curve.to_text().splitlines()[:2]:
    ...     print(line)
    The model is significantly better than acting on all rows and on none at
    threshold 0.2.
    >>> curve.models["model"].net_benefit
    array([0.3, 0. ])
    >>> curve.all.net_benefit
    array([ 0.25, -0.2 ])
    """
    checked_sampling(confidence, 0, 0)
    at, single = checked_thresholds(thresholds), not isinstance(y_prob, Mapping)
    columns, read = rows_for_decisions(y_true, y_prob, {MODEL: y_prob} if single else y_prob, reading)
    beside, warnings = recalibrated_beside(recalibrated, columns, read)
    return curve_of(columns, beside, at, confidence, warnings, single=single)


Beside = tuple[Floats | None, Any]
"""Costs of each row by kind, and its period; None where all rows have the same."""


def rows_for_decisions(
    y_true: Any, y_prob: Any, forecasters: Mapping[str, Any], reading: Mapping[str, Any], beside: Beside = (None, None)
) -> tuple[dict[str, CountedRows], Reader | None]:
    """Read the rows of forecasters, and give what reads further probabilities of them; or take those of a tally.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, 2), or Tally
        Outcomes of two classes, or what was counted.
    y_prob : object
        What was passed as probabilities, which a tally refuses.
    forecasters : mapping of str to array_like
        The probabilities of each forecaster.
    reading : mapping
        Options of `Forecasts`.
    beside : tuple of ndarray of shape (n, 4) or None, and array_like of shape (n,) or None
        Costs of each row by kind, where these differ, and the period of each row.

    Returns
    -------
    rows : dict of str to CountedRows
        By the forecaster's name.
    read : callable or None
        Reads further probabilities of the same rows; None for a tally.

    Raises
    ------
    InputError
        As `Forecasts`; for more than two classes, and for a forecaster named as another rule is.
    """
    prices, period = beside
    if isinstance(y_true, Tally):
        refuse_rows({"y_prob": y_prob, "costs": prices, "period": period, **reading})
        return {MODEL: rows_of_tally(y_true)}, None
    for name in (ALL, NONE):
        if name in forecasters:
            raise InputError(f"y_prob: {name!r} names the rule of acting on {name} of the rows; rename the forecaster.")
    found = gathered(forecasters, y_true, reading)
    refuse_classes(found)
    if prices is not None and len(prices) != len(y_true):
        raise InputError(
            f"costs: of {len(prices):,} rows, for {len(y_true):,} outcomes; give one, or one for each row."
        )
    number = None if period is None else row_keys(period, len(y_true)).group[found.index]
    priced = None if prices is None else prices[found.index]
    rows = {name: rows_one_by_one(found, name, priced, number) for name in found.values}
    return rows, same_rows(y_true, found, reading)


def checked_thresholds(thresholds: ArrayLike | None) -> Floats:
    """Return thresholds in ascending order, or an InputError."""
    if thresholds is None:
        return np.arange(1, 100) / 100
    try:
        at = np.array(thresholds, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        at = np.empty(0)
    if at.ndim != 1 or not at.size or not ((at > 0) & (at < 1)).all():
        raise InputError(f"thresholds: expected probabilities between 0 and 1, both excluded, got {thresholds!r}.")
    return np.unique(at)


def refuse_classes(rows: GatheredRows) -> None:
    """Refuse forecasts of more than two classes."""
    if rows.n_classes != 2:
        raise InputError(
            f"y_prob: a decision at a threshold needs two classes, got {rows.n_classes}. Pass the probability of one"
            " class, and whether it occurred."
        )


def curve_of(
    columns: Mapping[str, CountedRows],
    beside: Mapping[str, Recalibrated],
    at: Floats,
    confidence: float,
    warnings: tuple[str, ...] = (),
    single: bool = True,
) -> DecisionCurve:
    """Return the decision curve of the same rows by several forecasters, each followed by its recalibrated one.

    Parameters
    ----------
    columns : mapping of str to CountedRows
        Rows with the probabilities of each forecaster.
    beside : mapping of str to Recalibrated
        Recalibrated probabilities of some of them.
    at : ndarray of shape (t,)
        Thresholds in (0, 1), ascending.
    confidence : float
        Confidence level of the pointwise intervals, in (0, 1).
    warnings : tuple of str, default ()
        What the recalibration said.
    single : bool, default True
        Whether the only forecaster has no name of its own.

    Returns
    -------
    DecisionCurve
    """

    def rule(rows: CountedRows) -> NetBenefit:
        return net_benefit(rows.at(at), at, confidence)

    models = {}
    for name, rows in columns.items():
        models[name] = rule(rows)
        if after := beside.get(name):
            called = RECALIBRATED if single else f"{name} {RECALIBRATED}"
            models[called] = rule(after.rows.with_probabilities(after.p))
    rows = next(iter(columns.values()))
    ones = np.ones(rows.p.size)
    everything, nothing = (rule(rows.with_probabilities(p)) for p in (ones, 0 * ones))
    negative, positive = rows.in_cell_of(at).T
    bounds = np.maximum(negative * at / (1 - at), positive)
    return DecisionCurve(
        thresholds=at,
        models=models,
        all=exactly_zero(everything, "avoided_low", "avoided_high"),
        none=exactly_zero(nothing, "low", "high", "standardized_low", "standardized_high"),
        frequency=rows.frequency,
        n_rows=rows.n_rows,
        labels=rows.labels,
        confidence=confidence,
        n_clusters=rows.n_clusters,
        weighted=rows.weighted,
        notes={name: each.notes for name, each in columns.items()},
        bounds=bounds,
        warnings=(*warnings, *_of_cells(bounds, at)),
    )


def _of_cells(bounds: Floats, at: Floats) -> tuple[str, ...]:
    """Warn of what counting in cells may change."""
    if not bounds.any():
        return ()
    worst = int(np.argmax(bounds))
    return (
        f"the tally counted probabilities in cells: net benefits are exact to ±{bounds[worst]:.2g} (at threshold"
        f" {at[worst]:.3g}; bounds has each); use the rows for more digits",
    )


class NetBenefit(ReadOnlyArrays):
    """Net benefit of one rule for acting. Each array has one value a threshold."""

    net_benefit: Floats
    """Share of true positives minus share of false positives times t / (1 - t). Larger is better."""
    low: Floats
    high: Floats
    """Pointwise confidence interval."""
    standardized: Floats
    """Net benefit divided by the observed frequency: 1 for perfect decisions. Larger is better."""
    standardized_low: Floats
    standardized_high: Floats
    avoided: Floats
    """Net interventions avoided a row, compared with acting on all rows, at no loss in true positives. Larger is
    better."""
    avoided_low: Floats
    avoided_high: Floats
    acted_on: Floats
    """Share of the rows that are acted on."""
    true_positives: Floats
    """Share of all rows that are acted on and positive."""
    false_positives: Floats
    """Share of all rows that are acted on and negative."""

    def band(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Cut limits where no row is acted on: the net benefit is 0 there, whatever the forecasts."""
        some = self.acted_on > 0
        return np.where(some, low, np.nan), np.where(some, high, np.nan)

    @property
    def useful(self) -> Bools:
        """Where the net benefit is significantly above both that of acting on all rows and that of acting on none."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.low > 0) & (self.avoided_low > 0))


def net_benefit(cells: ThresholdCells, at: Floats, confidence: float) -> NetBenefit:
    """Return the net benefit of counted decisions."""
    odds = at / (1 - at)
    worth, spared, positive = np.zeros((3, at.size, 4))
    worth[:, TRUE_POSITIVE], worth[:, FALSE_POSITIVE] = 1.0, -odds
    spared[:, TRUE_NEGATIVE], spared[:, FALSE_NEGATIVE] = 1.0, -1 / odds
    positive[:, [FALSE_NEGATIVE, TRUE_POSITIVE]] = 1.0
    mean, avoided, frequency = (cells.means(values) for values in (worth, spared, positive))
    limits = cells.limits(TRUE_POSITIVE, FALSE_POSITIVE, odds, confidence)
    avoided_limits = cells.limits(TRUE_NEGATIVE, FALSE_NEGATIVE, 1 / odds, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(frequency > 0, mean / frequency, np.nan)
        # A ratio of two means varies as the mean of (numerator - ratio * denominator) / mean denominator.
        errors = cells.standard_errors(worth - ratio[:, None] * positive)
        wider = np.where(errors > 0, errors / cells.standard_errors(worth), 1.0)
        low, high = (ratio + wider * (limit - mean) / frequency for limit in limits)
    return NetBenefit(
        net_benefit=mean,
        low=limits[0],
        high=limits[1],
        standardized=ratio,
        standardized_low=low,
        standardized_high=high,
        avoided=avoided,
        avoided_low=avoided_limits[0],
        avoided_high=avoided_limits[1],
        acted_on=cells.shares[:, [FALSE_POSITIVE, TRUE_POSITIVE]].sum(axis=1),
        true_positives=cells.shares[:, TRUE_POSITIVE].copy(),
        false_positives=cells.shares[:, FALSE_POSITIVE].copy(),
    )


def exactly_zero(rule: NetBenefit, *fields: str) -> NetBenefit:
    """Return a rule with limits of 0 where its definition says 0."""
    return replace(rule, **{field: np.zeros_like(rule.low) for field in fields})
