"""Skill of predictive distributions: how much better they score than climatology, persistence, others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._lib.errors import InputError, listed
from .._lib.formatting import p_value_text
from .._lib.typing import Floats
from ..calibration.distribution_rows import FEWEST, DistributionRows, read_distributions
from ..forecasts.distributions.partitions import Quantiles
from ..forecasts.distributions.predictive import Predictive, of_rows
from ..forecasts.group_keys import RowKeys, columns_of, row_keys
from ..forecasts.reading import is_predictive
from ..report.result import JsonResult
from ..scores.distributions.climatology import climatology_crps, climatology_quantiles
from ..scores.distributions.rules import DistributionScore, distribution_score_named, scores_that_apply
from ..statistics.intervals import UNKNOWN, Interval, Metric, checked_sampling

REFERENCES = CLIMATOLOGY, PERSISTENCE = "climatology", "persistence"
"""The other outcomes as a forecast of each; the last outcome of its series that was known when it was issued."""


class DistributionSettings(NamedTuple):
    """What is asked of predictive distributions, as in `assess`, and how their rows are read."""

    reading: Mapping[str, Any]
    reference: Any = None
    metrics: Sequence[str] = ()
    confidence: float = 0.95

    def rules(self) -> list[DistributionScore]:
        """Find the scores that are named."""
        return [distribution_score_named(name) for name in self.metrics]


class Against(NamedTuple):
    """What forecasts are compared with: its name, and its score of each row, NaN where it has no forecast."""

    name: str
    scores: Floats


class ScoreSkill(JsonResult):
    """How much better predictive distributions score than a reference. Made by `skill` and `assess`; all is final."""

    score: str
    """Name of the score."""
    reference: str
    reference_score: float
    value: Metric
    """1 minus the ratio of the score to the reference's: 1 is perfect, 0 no better."""
    forecast_score: float
    """Mean score of the forecasts. Smaller is better."""
    p_value: float
    """Probability of a difference from the reference at least as large if the expected one is 0 (two-sided)."""
    n_rows: int
    """Rows that are compared: those of which the reference has a forecast."""
    degrees: float
    """Degrees of freedom: how many independent rows, clusters or windows tell of the difference, less 1."""
    confidence: float
    left_out: int = 0
    """Rows without an earlier outcome of their series, of which persistence has no forecast."""

    @property
    def notes(self) -> tuple[str, ...]:
        """How many rows were left out."""
        of = f"{self.left_out:,} of {self.n_rows + self.left_out:,} forecasts, whose series has no earlier outcome"
        return (f"Skill against {self.reference} leaves out {of}.",) * bool(self.left_out)

    @property
    def verdict(self) -> str:
        """Whether the forecasts are better than the reference, or worse."""
        title, p = distribution_score_named(self.score).title, p_value_text(self.p_value)
        if not self.p_value < 1 - self.confidence:
            return f"No evidence that the forecasts differ from {self.reference} by {title} ({p})"
        return f"{'Better' if self.value.value > 0 else 'Worse'} than {self.reference} by {title} ({p})"


def skill_of_distributions(y_true: Any, forecast: Any, settings: DistributionSettings) -> ScoreSkill:
    """Compare predictive distributions with a reference, by CRPS (WIS of quantiles) or the rule that is named."""
    checked_sampling(settings.confidence, 0, 0)
    if not is_predictive(forecast):
        raise InputError("forecasts: skill takes one forecaster's distributions; compare gives the skill of several.")
    rows = read_distributions(y_true, forecast, settings.reading)
    rules = settings.rules() or scores_that_apply(rows.forecast, rows.y)
    if not rules:
        raise InputError(f"forecasts: {forecast.form} have no scores. Give Quantiles, Samples or Distribution.")
    against, values = reference_scores(rows, rules[0], settings.reference), rules[0].rows(rows.y, rows.forecast)
    return skill_against(rows, rules[0].name, values, against, settings.confidence)


def reference_scores(rows: DistributionRows, score: DistributionScore, reference: Any) -> Against:
    """Score climatology or persistence, within the rows with the same values of some columns, or other forecasts."""
    if isinstance(reference, Predictive):
        return Against("the reference", score.rows(rows.y, reference.subset(rows.kept)))
    reference = CLIMATOLOGY if reference is None else reference
    asked = reference if isinstance(reference, Mapping) else {str(reference): None}
    name, given = next(iter(asked.items()), ("", None))
    if name not in REFERENCES or len(asked) > 1:
        known = f"{' or '.join(REFERENCES)}, or forecasts of the same rows; names of forecasters are for compare"
        raise InputError(f"reference: {name!r} is none. Take {known}.")
    of = rows.forecast if isinstance(rows.forecast, Quantiles) else None
    if score.name == "log_score" or (of is None and score.name not in _CRPS):
        raise InputError(f"metrics: {score.name} of {name} is not known by {rows.forecast.form}. Take crps.")
    named = {} if given is None else columns_of(given)
    columns = {key: of_rows(each, rows.kept, rows.n_given, f"reference: {key}") for key, each in named.items()}
    keys = row_keys(columns, rows.y.size) if columns else RowKeys((), [()], np.zeros(rows.y.size, dtype=np.int64))
    if name == PERSISTENCE:
        return Against(name, _persistence(rows, score, keys))
    scores = np.empty(rows.y.size)
    for key, some in keys.groups():
        if len(some) < 2:
            fewer = f"Name fewer columns, of a time a part, such as {keys.names[0]}:hour or {keys.names[0]}:month."
            raise InputError(f"reference: one row alone has {key}; a climatology takes two. {fewer}")
        y = rows.y[some]
        scores[some] = climatology_crps(y) if of is None else score.rows(y, of.at(climatology_quantiles(y, of.levels)))
    return Against(f"{name} by {', '.join(columns)}" if columns else name, scores)


_CRPS = ("crps", "plain_crps", "ranked_probability_score")
"""Scores that are the expected distance of a number from the outcome, if this number is predicted for certain."""


def _persistence(rows: DistributionRows, score: DistributionScore, series: RowKeys) -> Floats:
    """Score the last outcome of each series that was known when a forecast was issued; NaN where there is none.

    Outcomes of the time of issue are known, unless some forecasts are about it, or about earlier times.
    """
    if rows.windows is None:
        how = "issued and target_date (--reading issued=COLUMN target-date=COLUMN)"
        raise InputError(f"reference: persistence takes the times of each row, {how}.")
    (issued, target), last = rows.windows.times(), np.full(rows.y.size, np.nan)
    until = issued if (target > issued).all() else np.nextafter(issued + (target - issued).min(), -math.inf)
    for key, some in series.groups():
        times, first, place = np.unique(target[some], return_index=True, return_inverse=True)
        y = rows.y[some]
        if (wrong := y != y[first][place]).any():
            whose, when = f" of {listed(key)}" if key else "", rows.windows.target[some[int(np.argmax(wrong))]]
            remedy = "Name the columns that tell series apart, such as persistence:location."
            raise InputError(f"reference: two outcomes{whose} at {when} differ. {remedy}")
        before = np.minimum(np.searchsorted(times, until[some], side="right"), np.searchsorted(times, target[some]))
        last[some] = np.where(before > 0, y[first][before - 1], np.nan)
    there = np.flatnonzero(~np.isnan(last))
    if there.size < FEWEST:
        raise InputError("reference: hardly any row has an earlier outcome of its series, which is what persists.")
    y, known, of = rows.y[there], last[there], rows.forecast
    last[there] = np.abs(y - known)
    if isinstance(of, Quantiles):
        last[there] = score.rows(y, of.at(known[:, None].repeat(len(of.levels), 1)))
    return last


def skill_against(rows: DistributionRows, score: str, own: Floats, against: Against, confidence: float) -> ScoreSkill:
    """Compare the mean of a score with that of a reference, in the rows of which this has a forecast."""
    known = np.flatnonzero(~np.isnan(against.scores))
    if left_out := own.size - known.size:
        own, rows = own[known], rows.only(known)
    ratio = rows.means.ratio(own, against.scores[known])
    ends = ratio.interval(confidence)
    interval = UNKNOWN if math.isnan(ends.low) else Interval(1 - ends.high, 1 - ends.low)
    found = Metric(1 - ratio.ratio, math.nan, interval), ratio.top.mean, ratio.p_value
    degrees = ratio.apart.degrees
    return ScoreSkill(score, against.name, ratio.bottom.mean, *found, known.size, degrees, confidence, left_out)
