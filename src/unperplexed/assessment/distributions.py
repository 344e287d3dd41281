"""Assess predictive distributions of a number: outcomes and forecasts in, a frozen DistributionAssessment out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from .._lib.dataclasses import replace
from .._lib.errors import InputError, check_choice, listed
from .._lib.formatting import number_of
from .._lib.typing import Floats, Ints
from ..calibration.diagnosis.distributions import Tested, diagnose_distributions
from ..calibration.diagnosis.pit_search import PARAMETERS, PitScored
from ..calibration.diagnosis.row_groups import Windows
from ..calibration.distribution_rows import FEWEST, DistributionRows, RowMeans, read_distributions
from ..forecasts.distributions.distribution import Distribution
from ..forecasts.distributions.ordered import Ordered
from ..forecasts.distributions.partitions import Quantiles, Samples
from ..forecasts.distributions.pit_rows import PitRows
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.group_keys import columns_of, in_order, row_keys
from ..maps.pit import PitGains, PitMap
from ..pairing.distribution_skill import Against, DistributionSettings, reference_scores, skill_against
from ..recalibration.distributions import fit_distributions
from ..scores.distributions.climatology import climatology_log_density, climatology_log_probability
from ..scores.distributions.rules import distribution_score_named, scores_that_apply
from ..statistics.intervals import Interval, Metric, alpha_of, checked_sampling, holm
from .distribution_result import (
    DistributionAssessment,
    DistributionBreakdown,
    DistributionGroup,
    DistributionRemedy,
    SurprisingForecasts,
    Threshold,
)
from .pit_shares import PitShares

if TYPE_CHECKING:
    from ..tally.distributions import DistributionTally

_SURPRISING = 10
"""Rows whose forecasts are shown as the most surprising."""

_ALMOST_ALL, _OTHER_UNITS = 0.9, ("Almost all outcomes lie beyond the forecasts. Have both the same unit?",)
"""Share of outcomes beyond the forecasts from which on something else is wrong than calibration, and what to ask."""

_OF_A_TALLY = "A tally knows no clusters, surprising rows, climatology or groups: its rows count as independent."

DistributionSort = Literal["group", "rows", "cost", "coverage", "bias", "width", "score", "skill"]

_WORST: dict[DistributionSort, Callable[[DistributionAssessment], float]] = {
    "group": lambda a: 0,
    "rows": lambda a: a.n_rows,
    "cost": lambda a: a.cost,
    "coverage": lambda a: math.nan if a.told is None else abs(a.told.held.value - a.told.expected),
    "bias": lambda a: abs(a.bias.value),
    "width": lambda a: abs(math.log(a.width.value)) if a.width.value else math.inf,
    "score": lambda a: next((each.value for each in a.scores.values()), math.nan),
    "skill": lambda a: math.nan if a.skill is None else -a.skill.value.value,
}
"""What is largest in the group that comes first."""

_MOST_GROUPS = 500
"""More groups are refused: each is diagnosed."""


class Scored(NamedTuple):
    """Scores of each row, by the rules that are given of forecasts, and of a reference by the first of them."""

    values: Mapping[str, Floats]
    against: Against | None
    """None of PIT values, which have no scores."""
    ratio: Floats | None = None
    """Log of each forecast's density, or probability of the cell, divided by climatology's."""

    def only(self, rows: Ints) -> Scored:
        """Return those of some rows."""
        against = self.against and self.against._replace(scores=self.against.scores[rows])
        ratio = None if self.ratio is None else self.ratio[rows]
        return Scored({name: each[rows] for name, each in self.values.items()}, against, ratio)


def assess_distributions(
    y_true: Any, forecast: Predictive, settings: DistributionSettings, among: Any = None
) -> DistributionAssessment:
    """Assess predictive distributions; `assess` describes it."""
    rows, scored = _read(y_true, forecast, settings)
    found = _mendable(rows, assessed(rows, scored, settings.confidence))
    if among is None:
        return found
    from .find_groups import columns_among, groups_of_distributions

    return replace(found, groups_found=groups_of_distributions(rows, columns_among(among, len(forecast))))


def _mendable(rows: DistributionRows, found: DistributionAssessment) -> DistributionAssessment:
    """Return the assessment with a way to its remedy, if anything was found."""
    if not found.diagnosis.findings:
        return found
    score, before = next(iter(found.scores.items()), ("", Metric()))
    return replace(found, _remedy=partial(remedy_of_distributions, rows, score, before.value, found.confidence))


def assess_distributions_by(
    y_true: Any, forecast: Predictive, by: Any, sort: DistributionSort, settings: DistributionSettings
) -> DistributionBreakdown:
    """Assess predictive distributions by group; `assess_by` describes it. Groups of single rows are left out."""
    check_choice("sort", sort, get_args(DistributionSort))
    (rows, scored), confidence = _read(y_true, forecast, settings), settings.confidence
    if by is None:
        raise InputError("by: missing; name the columns whose values are the groups.")
    keys = row_keys({name: np.asarray(each)[rows.kept] for name, each in columns_of(by).items()}, rows.rows.n)
    if len(keys.keys) > _MOST_GROUPS:
        raise InputError(f"by: {len(keys.keys):,} groups, more than {_MOST_GROUPS:,}. Name a column with fewer values.")
    places = {key: some for key, some in keys.groups() if len(some) >= FEWEST}
    if not places:
        raise InputError(f"by: each of the {len(keys.keys):,} groups has one row. Name a column with fewer values.")
    keyed = in_order([*places])
    found = [assessed(rows.only(places[key]), scored.only(places[key]), confidence) for key in keyed]
    adjusted = holm(np.array([each.diagnosis.overall_p_value for each in found])).tolist()
    order = np.argsort([-_WORST[sort](each) for each in found], kind="stable")  # which has NaN last
    groups = tuple(DistributionGroup(keyed[at], found[at], adjusted[at]) for at in order)
    return DistributionBreakdown(_mendable(rows, assessed(rows, scored, confidence)), keys.names, groups, sort)


def _read(y_true: Any, forecast: Predictive, settings: DistributionSettings) -> tuple[DistributionRows, Scored]:
    """Read rows and score them."""
    checked_sampling(settings.confidence, 0, 0)
    named, reference = settings.rules(), settings.reference
    if isinstance(reference, Predictive) and len(reference) != len(forecast):
        raise InputError(f"reference: {len(reference):,} forecasts for {len(forecast):,} rows; each row needs one.")
    if isinstance(forecast, Ordered) and isinstance(reference, Ordered) and forecast.labels != reference.labels:
        raise InputError(f"reference: its classes are {listed(reference.labels)}, not {listed(forecast.labels)}.")
    rows = read_distributions(y_true, forecast, settings.reading)
    scores = [*scores_that_apply(rows.forecast, rows.y), *named]
    values = {score.name: score.rows(rows.y, rows.forecast) for score in scores}
    ratio = None if settings.reading.get("censored") else _log_ratio(rows, values)
    return rows, Scored(values, reference_scores(rows, scores[0], reference) if scores else None, ratio)


def _log_ratio(rows: DistributionRows, values: Mapping[str, Floats]) -> Floats | None:
    """Return the log of each forecast's density divided by climatology's; of cells those of their probabilities."""
    y, forecast = rows.y, rows.forecast
    if isinstance(forecast, Distribution):
        return -values["log_score"] - climatology_log_density(y, atom="zero" in forecast.parameters)
    if isinstance(forecast, Quantiles):
        return -values["log_score"] - climatology_log_probability(y, *forecast.cell_ends(rows.rows))
    if isinstance(forecast, Ordered):
        return -values["log_score"] - climatology_log_probability(y, y - 0.5, y + 0.5)
    return None


def assessed(rows: DistributionRows, scored: Scored, confidence: float) -> DistributionAssessment:
    """Assess rows that were read and scored."""
    means, first = rows.means, next(iter(scored.values), "")
    values, against = scored.values.get(first), scored.against
    skill = None if values is None or against is None else skill_against(rows, first, values, against, confidence)
    found = _described(
        rows.rows,
        means,
        rows.forecast.edges,
        confidence,
        rows.widths,
        form=rows.forecast.form,
        scores={name: means.metric(each, confidence) for name, each in scored.values.items()},
        skill=skill,
        density_ratio=None if scored.ratio is None else _density_ratio(rows, scored.ratio, confidence),
        surprises=None if values is None else _surprising(rows, first, values),
        thresholds=_thresholds(rows, confidence) if isinstance(rows.forecast, Ordered) else (),
        dependence=rows.search,
    )
    beyond, n = found.beyond, found.n_rows
    almost_all = beyond.count > _ALMOST_ALL * n and beyond.expected < n / 2
    return replace(found, notes=(*rows.notes, *(skill.notes if skill else ()), *_OTHER_UNITS * almost_all))


def assess_distribution_tally(tally: DistributionTally, confidence: float = 0.95) -> DistributionAssessment:
    """Assess what a tally has counted; `assess` describes it."""
    checked_sampling(confidence, 0, 0)
    rows = tally.rows()
    if tally.n_rows < FEWEST or rows.impossible.all() or not float(tally.weights[0]):
        known = "one of them of positive weight with an outcome that its forecast holds possible"
        have = number_of(tally.n_rows, "row")
        raise InputError(f"the tally has {have}; there are to be at least {FEWEST}, {known}.")
    found = ((name, tally.score(name)) for name in tally.scores)
    scores = {name: Metric(x.mean, x.standard_error, x.interval(confidence)) for name, x in found}
    form = "PIT intervals" if tally.form == "PIT values" and (~rows.point).any() else tally.form
    edges, notes = None if tally.own is None else np.array(tally.own), (*tally.notes, _OF_A_TALLY)
    return _described(rows, RowMeans.of(rows), edges, confidence, form=form, scores=scores, notes=notes)


def _described(
    rows: PitRows,
    means: RowMeans,
    edges: Floats | None,
    confidence: float,
    widths: Callable[[Sequence[tuple[float, float]]], Floats] | None = None,
    **known: Any,
) -> DistributionAssessment:
    """Say of rows, or of cells of like rows, what is wrong and where outcomes fell, beside what is known."""
    tested, of_classes = Tested.of(rows, means.groups), bool(known.get("thresholds"))
    diagnosis = diagnose_distributions(rows, means.groups, tested)
    scored_rows = PitScored.of(rows) if rows.impossible.any() else tested.rows
    shares = PitShares(scored_rows, means, edges, confidence, widths)
    errors = {each.error: each.parameter for each in diagnosis.findings if each.error in PARAMETERS}
    bias, width, joint = bias_and_width(tested, confidence)
    log_spread = None if of_classes or widths is None else rows.log_spread
    return DistributionAssessment(
        diagnosis=diagnosis,
        above_median=shares.above_median(),
        coverage=tuple(shares.coverage()),
        beyond=shares.beyond(),
        bias=bias,
        width=width,
        median_spread=math.nan if log_spread is None else math.exp(float(np.median(log_spread))),
        cost_interval=_cost_interval(rows, means, tested, errors or joint, diagnosis.cost, confidence),
        pit=shares.bars(PitMap({} if of_classes else errors)),
        quantiles=shares.reliability(),
        n_rows=diagnosis.n_rows,
        n_clusters=diagnosis.n_clusters,
        effective_rows=tested.rows.n / tested.gate.design_effect,
        confidence=confidence,
        weighted=rows.weight is not None,
        windows=isinstance(means.groups, Windows),
        **known,
    )


def bias_and_width(tested: Tested, confidence: float) -> tuple[Metric, Metric, Mapping[str, float]]:
    """Fit a bias, in spreads, and a factor of the width together, whatever is named; also return the map of both."""
    search, errors = tested.search(most=0), ("bias", "spread")
    found = search.fit(errors).mapping.coefficients
    bias, width = (each.interval(confidence) for each in search.estimates(errors).values())
    with np.errstate(over="ignore"):
        factor, *ends = np.exp([found["spread"], *width]).tolist()
    return Metric(found["bias"], math.nan, bias), Metric(factor, math.nan, Interval(*ends)), found


def _cost_interval(
    rows: PitRows, means: RowMeans, tested: Tested, errors: Mapping[str, float], cost: float, confidence: float
) -> Interval:
    """Take the mean gain of the rows by the map of some errors, with its standard error, less what chance gains."""
    gains, scored = np.zeros(rows.n), tested.rows
    fitted = PitGains(scored.cells, [*errors]).each(np.array([*errors.values()]))[0]
    gains[~rows.impossible] = fitted if scored.at is None else fitted[scored.at]
    low, high = means.metric(gains, confidence).interval
    chance = means.mean(gains) - cost if cost else 0.0
    return Interval(max(low - chance, 0.0) if cost else 0.0, max(high - chance, cost))


def _density_ratio(rows: DistributionRows, ratio: Floats, confidence: float) -> Metric:
    """Return the geometric mean of ratios given by their logarithms."""
    found = rows.means.uncertain(ratio)
    with np.errstate(over="ignore"):
        value, low, high = np.exp([found.mean, *found.interval(confidence)]).tolist()
    return Metric(value, value * found.standard_error, Interval(low, high))


def _surprising(rows: DistributionRows, score: str, loss: Floats) -> SurprisingForecasts:
    """Take the rows with the largest losses."""
    worst = np.argsort(-loss, kind="stable")[:_SURPRISING]
    quantiles = rows.forecast.subset(worst).quantile([0.1, 0.5, 0.9]).T
    outcome, low, median, high = map(rows.forecast.named, (rows.y[worst], *quantiles))
    return SurprisingForecasts(score, rows.kept[worst], outcome, median, low, high, loss[worst])


def _thresholds(rows: DistributionRows, confidence: float) -> tuple[Threshold, ...]:
    """Compare each exceedance probability of ordered classes with the observed frequency of its event."""
    assert isinstance(rows.forecast, Ordered)
    labels, predicted = rows.forecast.labels[1:], rows.forecast.exceedance().T
    events = rows.y > np.arange(len(labels))[:, None]
    excess = [rows.means.uncertain(each) for each in events - predicted]
    adjusted = holm(np.array([each.p_value() for each in excess])).tolist()
    level = 1 - alpha_of(confidence) / len(labels)
    names = [*(f"{label} or above" for label in labels[:-1]), str(labels[-1])]
    means = (map(rows.means.mean, each) for each in (predicted, events))
    intervals = [each.interval(level) for each in excess]
    return tuple(map(Threshold, labels, names, *means, [each.mean for each in excess], intervals, adjusted))


_SCORED = 20_000
"""Rows at most by which the change of the score is told; of more, so many in even steps."""


def remedy_of_distributions(
    rows: DistributionRows, score: str, before: float, confidence: float
) -> DistributionRemedy | None:
    """Fit the remedy; None of too few rows or clusters.

    Parameters
    ----------
    rows : DistributionRows
        Outcomes and forecasts.
    score : str
        Name of the score that is told first, or "".
    before : float
        Its mean.
    confidence : float
        Confidence level of the interval of its change.
    """
    possible = rows.only(np.flatnonzero(~rows.rows.impossible))
    try:
        found = fit_distributions(possible)
    except InputError:  # a single quantile, or fewer clusters than folds
        return None
    if found.gain is None or found.held_out is None:
        return None
    saved, n = Metric(math.nan), possible.rows.n
    if isinstance(rows.forecast, Samples):
        score = "plain_crps"
        before = rows.means.mean(distribution_score_named(score).rows(rows.y, rows.forecast))
    if score:
        some = np.unique(np.linspace(0, n - 1, min(n, _SCORED)).astype(np.int64))
        part, rule = possible.only(some), distribution_score_named(score).rows
        change = rule(part.y, part.forecast) - found.held_out.scored(rule, possible.y, possible.forecast, some)
        saved = part.means.metric(change, confidence)
    advised = found.gain.significant and found.identity <= 0.5
    return DistributionRemedy(found.words, advised, found.gain, score, before - saved.value, saved)
