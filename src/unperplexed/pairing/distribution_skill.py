"""Skill of predictive distributions: how much better they score than climatology, or than other forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import p_value_text
from .._lib.typing import Floats
from ..calibration.distribution_rows import DistributionRows, RowMeans, read_distributions
from ..forecasts.distributions.partitions import Quantiles
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.group_keys import columns_of, row_keys
from ..forecasts.reading import is_predictive
from ..report.result import JsonResult
from ..scores.distributions.climatology import climatology_crps, climatology_quantiles
from ..scores.distributions.rules import DistributionScore, crps_rows, distribution_score_named, scores_that_apply
from ..statistics.intervals import UNKNOWN, Interval, Metric, checked_sampling

CLIMATOLOGY = "climatology"
"""The distribution of the other outcomes, as a forecast of each."""


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
    """What forecasts are compared with: its name, and its score of each row."""

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
    degrees: float
    """Degrees of freedom: how many independent rows, clusters or windows tell of the difference, less 1."""
    confidence: float

    @property
    def verdict(self) -> str:
        """Whether the forecasts are better than the reference, or worse."""
        title, p = distribution_score_named(self.score).title, p_value_text(self.p_value)
        if not self.p_value < 1 - self.confidence:
            return f"No evidence that the forecasts differ from {self.reference} by {title} ({p})"
        return f"{'Better' if self.value.value > 0 else 'Worse'} than {self.reference} by {title} ({p})"

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        return {"verdict": self.verdict, **super().to_dict()}


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
    return skill_against(rows.means, rules[0].name, values, against, settings.confidence)


def reference_scores(rows: DistributionRows, score: DistributionScore, reference: Any) -> Against:
    """Score climatology, that of the rows with the same values of some columns, or other forecasts of the same rows."""
    if isinstance(reference, Predictive):
        return Against("the reference", score.rows(rows.y, reference.subset(rows.kept)))
    if isinstance(reference, Mapping) and set(reference) == {CLIMATOLOGY}:
        columns = {name: np.asarray(each)[rows.kept] for name, each in columns_of(reference[CLIMATOLOGY]).items()}
        keys, scores = row_keys(columns, rows.y.size), np.empty(rows.y.size)
        for key, some in keys.groups():
            if len(some) < 2:
                raise InputError(f"reference: one row alone has {key}; a climatology takes two. Name fewer columns.")
            scores[some] = _climatology(rows.y[some], rows.forecast)
        return Against(f"climatology by {', '.join(columns)}", scores)
    if reference not in (None, CLIMATOLOGY):
        known = f"{CLIMATOLOGY!r} or forecasts of the same rows; the name of another forecaster is for compare"
        raise InputError(f"reference: {reference!r} is none. Take {known}.")
    return Against(CLIMATOLOGY, _climatology(rows.y, rows.forecast))


def _climatology(y: Floats, forecast: Predictive) -> Floats:
    """Score the other rows' outcomes as a forecast of each row, at the levels of quantiles."""
    if not isinstance(forecast, Quantiles):
        return climatology_crps(y)
    return crps_rows(y, Quantiles(forecast.levels, climatology_quantiles(y, forecast.levels)))


def skill_against(means: RowMeans, score: str, values: Floats, against: Against, confidence: float) -> ScoreSkill:
    """Compare the mean of a score with that of a reference."""
    ratio = means.ratio(values, against.scores)
    ends = ratio.interval(confidence)
    interval = UNKNOWN if math.isnan(ends.low) else Interval(1 - ends.high, 1 - ends.low)
    known = Metric(1 - ratio.ratio, math.nan, interval), ratio.top.mean, ratio.p_value
    return ScoreSkill(score, against.name, ratio.bottom.mean, *known, values.size, ratio.apart.degrees, confidence)
