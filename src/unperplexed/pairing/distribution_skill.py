"""Skill of predictive distributions: how much better they score than climatology, or than other forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import dataclass
from .._lib.errors import InputError
from .._lib.typing import ByValue, Floats
from ..calibration.dependent_means import RowMeans
from ..calibration.distribution_rows import DistributionRows
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.distributions.quantiles import Quantiles
from ..forecasts.group_keys import columns_of, row_keys
from ..scores.distributions.climatology import climatology_crps, climatology_quantiles
from ..scores.distributions.rules import DistributionScore, crps_rows
from ..statistics.intervals import UNKNOWN, Interval, Metric

CLIMATOLOGY = "climatology"
"""The distribution of the other outcomes, as a forecast of each."""


class Against(NamedTuple):
    """What forecasts are compared with: its name, and its score of each row."""

    name: str
    scores: Floats


@dataclass(frozen=True)
class ScoreSkill(ByValue):
    """How much better forecasts score than a reference."""

    score: str
    """Name of the score."""
    reference: str
    reference_score: float
    value: Metric
    """1 minus the ratio of the score to the reference's: 1 is perfect, 0 no better."""


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
        raise InputError(f"reference: expected {CLIMATOLOGY!r} or forecasts of the same rows, got {reference!r}.")
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
    return ScoreSkill(score, against.name, means.mean(against.scores), Metric(1 - ratio.ratio, math.nan, interval))
