"""Assess predictive distributions of a number: outcomes and forecasts in, a frozen DistributionAssessment out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..calibration.diagnosis.distributions import WIDEST, Tested, diagnose_distributions
from ..calibration.diagnosis.pit_scored import PitScored
from ..calibration.diagnosis.pit_search import PARAMETERS
from ..calibration.diagnosis.row_groups import Windows
from ..calibration.distribution_rows import FEWEST, DistributionRows, read_distributions
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.distributions.quantiles import Quantiles
from ..forecasts.group_keys import columns_of, in_order, row_keys
from ..maps.pit import PitMap
from ..scores.distributions.rules import DistributionScore, crps_rows, distribution_score_named, scores_that_apply
from ..statistics.intervals import UNKNOWN, Interval, Metric, checked_sampling
from ..statistics.tails import normal_quantile
from .climatology import climatology_crps, climatology_quantiles
from .distribution_remedy import remedy_of_distributions
from .distribution_result import (
    DistributionAssessment,
    DistributionBreakdown,
    DistributionGroup,
    Skill,
    SurprisingForecasts,
)
from .pit_shares import PitShares, from_one

CLIMATOLOGY = "climatology"

_SURPRISING = 10
"""Rows whose forecasts are shown as the most surprising."""

_MOST_GROUPS = 500
"""More groups are refused: each is diagnosed."""


class Scored(NamedTuple):
    """Scores of each row, by the rules that are given of forecasts, and of a reference by the first of them."""

    values: Mapping[str, Floats]
    reference: str
    against: Floats | None
    """None of PIT values, which have no scores."""

    def only(self, rows: Ints) -> Scored:
        """Return those of some rows."""
        against = None if self.against is None else self.against[rows]
        return Scored({name: each[rows] for name, each in self.values.items()}, self.reference, against)


def assess_distributions(
    y_true: Any,
    forecast: Predictive,
    *,
    reference: Any = None,
    metrics: Sequence[str] = (),
    confidence: float = 0.95,
    reading: Mapping[str, Any],
) -> DistributionAssessment:
    """Assess predictive distributions; `assess` describes it."""
    rows, scored = _read(y_true, forecast, reference, metrics, confidence, reading)
    return _mendable(rows, _assessed(rows, scored, confidence))


def _mendable(rows: DistributionRows, found: DistributionAssessment) -> DistributionAssessment:
    """Return the assessment with a way to its remedy, if anything was found."""
    if not found.diagnosis.findings:
        return found
    score = next(iter(found.scores), "")
    before = found.scores[score].value if score else math.nan
    return replace(found, _remedy=partial(remedy_of_distributions, rows, score, before, found.confidence))


def assess_distributions_by(
    y_true: Any,
    forecast: Predictive,
    by: Any,
    *,
    reference: Any = None,
    metrics: Sequence[str] = (),
    confidence: float = 0.95,
    reading: Mapping[str, Any],
) -> DistributionBreakdown:
    """Assess predictive distributions by group; `assess_by` describes it. Groups of single rows are left out."""
    rows, scored = _read(y_true, forecast, reference, metrics, confidence, reading)
    if by is None:
        raise InputError("by: missing; name the columns whose values are the groups.")
    keys = row_keys({name: np.asarray(each)[rows.kept] for name, each in columns_of(by).items()}, rows.rows.n)
    if len(keys.keys) > _MOST_GROUPS:
        raise InputError(f"by: {len(keys.keys):,} groups, more than {_MOST_GROUPS:,}. Name a column with fewer values.")
    places = {key: some for key, some in keys.groups() if len(some) >= FEWEST}
    if not places:
        raise InputError(f"by: each of the {len(keys.keys):,} groups has one row. Name a column with fewer values.")
    groups = [
        DistributionGroup(key, _assessed(rows.only(places[key]), scored.only(places[key]), confidence))
        for key in in_order([*places])
    ]
    whole = _mendable(rows, _assessed(rows, scored, confidence))
    return DistributionBreakdown(whole, keys.names, tuple(groups))


def _read(
    y_true: Any,
    forecast: Predictive,
    reference: Any,
    metrics: Sequence[str],
    confidence: float,
    reading: Mapping[str, Any],
) -> tuple[DistributionRows, Scored]:
    """Read rows and score them."""
    checked_sampling(confidence, 0, 0)
    named = [distribution_score_named(name) for name in metrics]
    if isinstance(reference, Predictive) and len(reference) != len(forecast):
        raise InputError(f"reference: {len(reference):,} forecasts for {len(forecast):,} rows; each row needs one.")
    rows = read_distributions(y_true, forecast, reading)
    scores = [*scores_that_apply(rows.forecast, rows.y), *named]
    values = {score.name: score.rows(rows.y, rows.forecast) for score in scores}
    return rows, Scored(values, *(_reference(rows, scores[0], reference) if scores else ("", None)))


def _assessed(rows: DistributionRows, scored: Scored, confidence: float) -> DistributionAssessment:
    """Assess rows that were read and scored."""
    means, tested = rows.means, Tested.of(rows.rows, rows.groups)
    diagnosis = diagnose_distributions(rows.rows, rows.groups, tested)
    scored_rows = PitScored.of(rows.rows) if rows.rows.impossible.any() else tested.rows
    shares = PitShares(scored_rows, means, rows.forecast.edges, confidence)
    errors = {each.error: each.parameter for each in diagnosis.findings if each.error in PARAMETERS}
    bias, width = _joint(tested, confidence)
    first = next(iter(scored.values), None)
    return DistributionAssessment(
        diagnosis=diagnosis,
        form=rows.forecast.form,
        above_median=shares.above_median(),
        coverage=tuple(shares.coverage()),
        beyond=shares.beyond(),
        scores={name: means.metric(each, confidence) for name, each in scored.values.items()},
        skill=None if first is None else _skill(rows, scored, first, confidence),
        bias=bias,
        width=width,
        pit=shares.bars(PitMap(errors)),
        quantiles=shares.reliability(),
        surprises=None if first is None else _surprising(rows, first, scored.values[first]),
        n_rows=rows.rows.n,
        n_clusters=diagnosis.n_clusters,
        effective_rows=tested.rows.n / tested.gate.design_effect,
        confidence=confidence,
        weighted=rows.rows.weight is not None,
        windows=isinstance(rows.groups, Windows),
        notes=rows.notes,
        dependence=rows.search,
    )


def _joint(tested: Tested, confidence: float) -> tuple[Metric, Metric]:
    """Fit a bias, in spreads, and a factor of the width together, whatever is named."""
    search, errors = tested.search(most=0), ("bias", "spread")
    found = search.fit(errors).mapping.coefficients
    standard = np.sqrt(np.diag(search.sampled(errors).covariance))
    reach = normal_quantile((1 + confidence) / 2) * standard
    bias, wider = (found[name] for name in errors)
    with np.errstate(over="ignore"):
        factor = np.exp([wider, wider - reach[1], wider + reach[1]]).tolist()
    known = bool((standard < WIDEST).all())
    of_bias, of_width = Interval(bias - reach[0], bias + reach[0]), Interval(*factor[1:])
    return Metric(bias, math.nan, of_bias if known else UNKNOWN), Metric(
        factor[0], math.nan, of_width if known else UNKNOWN
    )


def _reference(rows: DistributionRows, score: DistributionScore, reference: Any) -> tuple[str, Floats]:
    """Score climatology, or other forecasts of the same rows."""
    if isinstance(reference, Predictive):
        return "the reference", score.rows(rows.y, reference.subset(rows.kept))
    if reference not in (None, CLIMATOLOGY):
        raise InputError(f"reference: expected {CLIMATOLOGY!r} or forecasts of the same rows, got {reference!r}.")
    if not isinstance(rows.forecast, Quantiles):
        return CLIMATOLOGY, climatology_crps(rows.y)
    levels = rows.forecast.levels
    return CLIMATOLOGY, crps_rows(rows.y, Quantiles(levels, climatology_quantiles(rows.y, levels)))


def _skill(rows: DistributionRows, scored: Scored, score: str, confidence: float) -> Skill:
    """Compare the mean score with that of the reference."""
    assert scored.against is not None
    ratio = rows.means.ratio(scored.values[score], scored.against)
    ends = ratio.interval(confidence)
    found = Metric(1 - ratio.ratio, math.nan, UNKNOWN if math.isnan(ends.low) else from_one(ends))
    return Skill(score, scored.reference, rows.means.mean(scored.against), found)


def _surprising(rows: DistributionRows, score: str, loss: Floats) -> SurprisingForecasts:
    """Take the rows with the largest losses."""
    worst = np.argsort(-loss, kind="stable")[:_SURPRISING]
    low, median, high = rows.forecast.subset(worst).quantile([0.1, 0.5, 0.9]).T
    return SurprisingForecasts(score, rows.kept[worst], rows.y[worst], median, low, high, loss[worst])
