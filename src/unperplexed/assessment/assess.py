"""assess(): forecasts or a tally in, a frozen Assessment out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from .._lib.errors import InputError
from ..calibration.clustered_test import independent_rows
from ..calibration.diagnosis.diagnose import diagnosis_of_rows, rows_of
from ..calibration.diagnosis.result import Diagnosis
from ..calibration.estimators import Estimate, Estimator
from ..calibration.undeclared import read_rows
from ..forecasts.forecasts import Forecasts
from ..forecasts.labels import Label
from ..forecasts.reading import SEARCHED, AssessedReading, PredictiveOptions, is_predictive, reads
from ..report.result import frames_as_input
from ..statistics.means import (
    DEFAULT_FLOOR,
    HEADLINE_ORDERS,
    Averages,
    Floor,
    Limit,
    apply_limit,
    averages,
    divergence_probability,
    floor_for,
    orientation,
    slope,
)
from ..tally.class_tables import ClassPairs
from ..tally.surprises import SurpriseTable, surprise_table
from ..tally.tables import Pairs
from ..tally.tally import CLASS_PARTS, Tally, View, counts_distributions, refuse_rows
from .bins import bin_table, curve_of, distribution
from .classes import ClassTables, Measure, bias_of, class_average, class_table, measured_each, predicted_table
from .intervals import profile_of_tally
from .remedy import PythonLine
from .result import Assessment
from .risk_profile import sensitivity_of_points
from .settings import AssessmentSettings, AssessOptions, Auto, Source, skill_against

if TYPE_CHECKING:
    from ..forecasts.distributions.predictive import Predictive
    from .distribution_result import DistributionAssessment

_SAME = 1e-6
"""Relative difference of two means of the same rows at most: counting in cells rounds them."""


@overload
def assess(
    y_true: Any, y_prob: Predictive, *, among: Any = None, **options: Unpack[PredictiveOptions]
) -> DistributionAssessment: ...
@overload
def assess(
    y_true: Any, y_prob: Any = None, *, n_jobs: int | None = None, among: Any = None, **options: Unpack[AssessOptions]
) -> Assessment: ...
@frames_as_input
@reads(AssessedReading, SEARCHED)
def assess(
    y_true: Any,
    y_prob: Any = None,
    *,
    reference: Any = None,
    metrics: Sequence[str] = (),
    measured: str | Estimator = "shrunk-isotonic",
    view: View | Auto = "auto",
    floor: Floor = DEFAULT_FLOOR,
    confidence: float = 0.95,
    resamples: int = 400,
    seed: int = 0,
    n_jobs: int | None = None,
    among: Any = None,
    **reading: Unpack[AssessedReading],
) -> Any:
    """Assess forecasts against outcomes: how good they are, and what is wrong.

    Returns an `Assessment`. Print it, or read its ``verdict`` (a sentence), its
    ``cost`` (log loss due to miscalibration, in nats; smaller is better) and
    its ``remedy``. The printed table says of each metric which direction is
    better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C), or Tally
        Outcomes: class labels (ints, bools, strings) or one-hot rows. Or a
        `Tally`, which already holds forecasts and outcomes; then the arguments
        that concern the reading of rows are not accepted.
    y_prob : array_like (n,) or (n, C), frame, or predictive distributions
        Predicted probabilities: of the positive class, or of each class. Or
        `Quantiles`, `Samples`, `Distribution` or `PIT` of a number, or
        `Ordered` classes; then ``y_true`` holds numbers or labels, the
        reference is that of `skill`, climatology by default, and only
        ``metrics``, ``confidence`` and the reading are options beside it.
    reference : "base-rate", mapping or array_like (n,) or (n, C), optional
        Also give skill scores, as `skill` does: against a constant forecast of
        the observed frequencies, against these probabilities for the same rows,
        or ``{"climatology": months}``: the observed frequencies among the rows
        with the same values.
    metrics : sequence of str, default ()
        Scoring rules to compute beside those of `SCORES`, by names that
        `score_named` knows.
    measured : str or Estimator, default "shrunk-isotonic"
        Estimator of the measured probability: a key of `ESTIMATORS`, or one of
        them with settings, as in ``ESTIMATORS["equal-width"](bins=20)`` or
        ``"equal-width:bins=20"``.
    view : {"auto", "all-classes", "top-label", "each-class"}, default "auto"
        Which pairs are measured: those of all classes together, of each row's
        most probable class, or of each class by itself, which adds ``classes``,
        ``class_average`` and ``predicted``. "auto" is each-class for two
        classes, which have one curve, that of the positive class, and
        all-classes for more. The top-label view has a curve, but no measured
        means, slope or divergence. A tally of more than two classes needs the
        part "classes" for the each-class view, and "predictions" for
        ``predicted``.
    floor : float, (float, float) or "auto", default "auto"
        Probabilities below it are raised to it before averaging; "auto" is 0.01
        / C for C classes, which for two is the 0.005 of [CM]. A pair
        ``(low, 1 - low)`` also lowers those above its second number, as [N17]
        does.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).
    resamples : int, default 400
        How many samples the intervals of what is measured and the band of
        calibrated forecasts are made from; 0 for neither. They are drawn when
        first asked for.
    seed : int, default 0
        Random seed of the bootstrap replicates.
    n_jobs : int, optional
        As in `Tally.of`.
    among : mapping from str to array_like (n,), or data frame, optional
        Columns in which groups of rows are searched where forecasts are wrong,
        as `find_groups` does with its defaults: ``groups_found`` of the result.
        A `Tally` has no rows to search.
    **reading
        How rows are read: options of `Forecasts`, which describes them, among
        them ``labels``, ``pos_label``, ``scale`` ("percent", "logits",
        "log-probs"), ``invalid``, ``sample_weight`` and ``clusters``, rows that
        may depend on one another (those of a match, a document); intervals then
        take only clusters to be independent. By default, "auto", such clusters
        are looked for in the order of the rows and in ``columns``, a data frame
        or mapping of what else is known of each row; ``dependence`` of the
        result says what was found. None declines. Of predictive distributions
        also ``censored`` (``{"above": limits}``, "below": beyond them outcomes
        are not observed), and ``issued`` with ``target_date``, the times
        between which forecasts that overlap may depend.

    Returns
    -------
    Assessment
        For predictive distributions, a `DistributionAssessment`.

    Raises
    ------
    InputError
        For input that cannot be assessed as it stands, naming rows (counted
        from 0), column and remedy.

    Notes
    -----
    Reported means are generalized means of order 1, 0 and -2/3 of the
    probabilities assigned to the outcomes; measured means are the same of the
    estimated frequencies. Sources: Nelson 2017 [N17]; the
    classifier-metrics-at-scale paper [CM].

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import assess
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(0, 2, 2000)
    >>> rain = rng.random(2000) < 1 / (1 + np.exp(-truth))
    >>> result = assess(rain, 1 / (1 + np.exp(-2 * truth)))
    >>> print(result.verdict)
    Overconfident (calibration slope 0.54, 95% CI 0.49 to 0.59).
    >>> round(result.cost, 2), round(result.auc.value, 2)
    (0.06, 0.87)
    """
    if is_predictive(y_prob):
        from ..pairing.distribution_skill import DistributionSettings
        from .distributions import assess_distributions

        asked = DistributionSettings(reading, reference, metrics, confidence)
        return assess_distributions(y_true, y_prob, asked, among)
    if among is not None and y_prob is None:
        raise InputError("among: groups are searched in rows; a tally has none.")
    if is_predictive(y_true):
        raise InputError("y_true: got forecasts. Outcomes come first, then forecasts.")
    if counts_distributions(y_true):
        from .distributions import assess_distribution_tally

        refuse_rows({"y_prob": y_prob, "reference": reference, "metrics": metrics, "n_jobs": n_jobs, **reading})
        return assess_distribution_tally(y_true, confidence)
    settings = AssessmentSettings(floor, measured, view, None, confidence, resamples, seed, metrics)
    counting: dict[str, Any] = {"metrics": metrics, "n_jobs": n_jobs}
    if isinstance(y_true, Tally):
        refuse_rows({"y_prob": y_prob, "reference": reference, "metrics": metrics, "n_jobs": n_jobs, **reading})
        return assess_tally(y_true, settings)
    if y_prob is None:
        raise InputError("y_prob: missing; assess takes outcomes and probabilities, or a Tally.")
    if among is None:
        forecasts, known, dependence = read_rows(y_true, y_prob, reading)
    else:
        from .find_groups import groups_of_rows, read_searched

        forecasts, known, dependence = read_searched(y_true, y_prob, reading, among)
    parts = parts_for(view, known.get("clusters"), known.get("sample_weight"))
    tally = Tally.count(forecasts, parts=parts, diagnosed=0, **counting)
    result = replace(
        assess_tally(tally, settings).advising(PythonLine.reading(reading)),
        skill=skill_against(reference, forecasts, settings, y_true, known, dependence=dependence),
        dependence=dependence,
    )
    if among is not None:
        result = replace(result, groups_found=groups_of_rows([(forecasts, among)], dependence, seed=seed))
    if tally.n_classes == 2 and not tally.clustered and tally.tells_log_odds(lambda: [forecasts]):
        return result.with_rows(lambda: [forecasts])
    result = result.diagnosed_by(partial(diagnosed_rows, forecasts, tally), lambda: [forecasts])
    if tally.n_classes > 2 and result.view != "each-class":
        result = result.with_classes(partial(_each_class, forecasts, tally, replace(settings, view="each-class")))
    return result


def diagnosed_rows(forecasts: Forecasts, tally: Tally) -> Diagnosis:
    """Diagnose rows in memory, which are still those that were assessed."""
    _check_unchanged(forecasts, tally)
    return diagnosis_of_rows(rows_of(lambda: [forecasts]), forecasts.labels, tally)


def _each_class(forecasts: Forecasts, tally: Tally, settings: AssessmentSettings) -> Assessment:
    """Assess each class of rows in memory, which are still those that were assessed."""
    _check_unchanged(forecasts, tally)
    parts = [*CLASS_PARTS, *(["shards"] if tally.shards is not None else [])]
    return assess_tally(Tally.count(forecasts, parts=parts, diagnosed=0), settings)


def _check_unchanged(forecasts: Forecasts, tally: Tally) -> None:
    """Refuse rows in memory that are no longer those that were counted."""
    p, w = forecasts.correct_class_probabilities()
    points = tally.points()
    before, now = (np.average(each, weights=weight) for each, weight in ((points.p, points.weight), (p, w)))
    if not math.isclose(before, now, rel_tol=_SAME):
        raise InputError("y_prob: the array was changed after it was assessed. Pass a copy, or ask for .verdict first.")


def parts_for(view: str | None, clusters: Any, weights: Any) -> list[str]:
    """Parts of a tally that an assessment is made from, given its view and what rows have, None being nothing."""
    shards = ["shards"] if clusters is not None or weights is not None else []
    return [*(CLASS_PARTS if view == "each-class" else ()), *shards, "surprises"]


def assess_tally(tally: Tally, settings: AssessmentSettings) -> Assessment:
    """Assess what a tally has counted.

    Raises
    ------
    InputError
        For a tally without weight, and for a view that it does not know.
    """
    view = _view_of(tally, settings.view)
    _check_assessable(tally, view)
    low, limit = settings.limits
    floor = floor_for(low, tally.n_classes)
    # Counted in rows of equal weight, so that what an estimator makes of their number depends on the weights' ratios.
    rows = independent_rows(tally, view)

    estimator = settings.estimator

    def measure(pairs: Pairs) -> Estimate:
        return estimator.measure(pairs.reported, pairs.happened * rows, pairs.total * rows, floor=floor)

    points = tally.points()

    headline = profile_of_tally(tally, HEADLINE_ORDERS, floor, limit)
    reported = Averages(*headline.values.tolist())
    labels: tuple[Label | None, ...] = ()
    two = tally.n_classes == 2
    if view == "each-class":
        each, labels = tally.each_class(), tally.labels
    else:
        pairs = tally.pairs(view)
        shown = points if view == "all-classes" else tally.points(view)
        each = ClassPairs(pairs, shown, np.array([0, pairs.total.size]))
    estimate = measured_each(each, measure, mirrored=two and bool(labels))
    found, occurred = Averages(math.nan, math.nan, math.nan), None
    if view != "top-label":
        seen = each.pairs.happened > 0
        occurred = apply_limit(estimate.measured[seen], floor, limit), each.pairs.happened[seen]
        found = averages(*occurred)
    return Assessment(
        reported=reported,
        measured=found,
        prediction_accuracy=tally.prediction_accuracy,
        averages_slope=slope(reported, found),
        orientation=orientation(reported, found),
        divergence_probability=divergence_probability(reported, found),
        scores={name: tally.score(name) for name in tally.scores},
        score_standard_errors={name: tally.score_standard_error(name) for name in tally.scores},
        bins=bin_table(each, estimate, apply_limit(each.points.p, floor, limit), labels),
        curve=curve_of(each, estimate, labels),
        distribution=distribution(points),
        floor_sensitivity=sensitivity_of_points(points.p, points.weight),
        n_rows=tally.n_rows,
        n_classes=tally.n_classes,
        labels=tally.labels,
        weighted=tally.weighted,
        effective_rows=tally.effective_rows,
        independent_rows=tally.independent_rows,
        clustered=tally.clustered,
        zero_given=float(points.weight[points.p == 0].sum()),
        notes=tally.notes,
        floor=float(floor),
        limit=limit,
        view=view,
        estimator=estimator.name,
        estimator_settings=dict(estimate.settings),
        exact=tally.exact,
        exact_limit=tally.exact_limit,
        fraction_bits=tally.fraction_bits,
        bias=bias_of(tally),
        surprises=_surprises(tally, reported, floor, limit),
        _source=Source(
            tally,
            view,
            headline,
            settings.profile_orders,
            estimator,
            settings.sampling,
            measured=occurred,
            asked=settings.asked,
            class_tables=partial(_by_class, tally, each, estimate, measure, floor, limit) if labels else ClassTables,
        ),
    )


def _view_of(tally: Tally, view: View | Auto) -> View:
    """Return the view that is meant: by default each class for two classes, if the tally knows them, else all."""
    if view != "auto":
        return view
    return "each-class" if tally.n_classes == 2 and tally.knows_classes else "all-classes"


def _check_assessable(tally: Tally, view: View) -> None:
    if not tally.weight > 0:
        if tally.n_rows:
            raise InputError("the total weight is 0; nothing is left to assess.")
        left_out = sum(tally.notes.dropped.values()) + tally.notes.ignored
        raise InputError(
            "no rows to assess" + (f": all {left_out:,} were left out as invalid or ignored." if left_out else ".")
        )
    if view == "each-class" and not tally.knows_classes:
        raise InputError(
            "view: 'each-class' is made from the part 'classes', which this tally was counted without; count it with"
            f" parts={[*CLASS_PARTS]} (--parts {' '.join(CLASS_PARTS)})."
        )


def _by_class(
    tally: Tally, each: ClassPairs, estimate: Estimate, measure: Measure, floor: float, limit: Limit
) -> ClassTables:
    """Tables of the each-class view."""
    independent = not tally.weighted and not tally.clustered
    table = class_table(each, estimate, tally.labels, tally.weight, floor, limit, independent)
    found = ClassTables(table, class_average(table))
    if tally.predictions is None and tally.binary is None:
        return found
    tops = tally.each_class("predictions")
    return found._replace(predicted=predicted_table(tops, measured_each(tops, measure), tally.labels, tally.weight))


def _surprises(tally: Tally, reported: Averages, floor: float, limit: Limit) -> SurpriseTable | None:
    if tally.surprises is None:
        return None
    p, weight = (np.array([getattr(row, name) for row in tally.surprises]) for name in ("probability", "weight"))
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = weight * np.log(apply_limit(p, floor, limit)) / (tally.weight * np.log(reported.geometric_accuracy))
    return surprise_table(tally.surprises, tally.labels, losses)
