"""Metrics of recalibrated forecasts, each row recalibrated by maps that were fitted to other rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._lib.by_value import ByValue
from .._lib.elementary import logit
from ..calibration.diagnosis.line import calibration_line
from ..calibration.diagnosis.scored import Scored
from ..recalibration.averaging import HeldOut
from ..statistics.averages import averages
from ..statistics.means import Limit, apply_limit
from ..tally.tables import Pairs
from .familiar import ECE_GROUPS
from .group_error import expected_error, probability_groups


@dataclass(frozen=True)
class AfterRemedy(ByValue):
    """Metrics after recalibration (cross-fitted). Made as ``Assessment.remedy.after``.

    With more than two classes calibration slope and ECE are those of the most probable class.
    """

    log_loss: float
    """Mean log loss in nats. Smaller is better."""
    brier_score: float
    """Mean Brier score. Smaller is better."""
    accuracy: float
    """Share of rows whose most probable class is the observed one. Larger is better."""
    decisiveness: float
    """Arithmetic mean of the probabilities assigned to the observed classes. Larger is better."""
    geometric_accuracy: float
    """Their geometric mean. Larger is better. All three means have the floor of the assessment."""
    robustness: float
    """Their mean of order -2/3. Larger is better."""
    slope: float
    """Slope of a logistic regression of the outcome on the recalibrated log-odds. 1 is best; NaN if there is none."""
    ece: float
    """Expected calibration error in 15 groups of equal size. Smaller is better; NaN for a constant forecast."""


def after_remedy(found: HeldOut, floor: float, limit: Limit, *, two: bool) -> AfterRemedy:
    """Compute the metrics; floor and limit are those of the three means, and ``two`` tells forecasts of two classes."""
    means = averages(apply_limit(found.correct, floor, limit), found.weights)
    pairs = Pairs(found.predicted, found.happened, found.total)
    return AfterRemedy(
        log_loss=-float(found.weights @ np.log(found.correct)) / float(found.weights.sum()),
        brier_score=found.brier_score,
        accuracy=_accuracy(pairs, two=two),
        decisiveness=means.decisiveness,
        geometric_accuracy=means.geometric_accuracy,
        robustness=means.robustness,
        slope=math.nan if found.constant else _slope(pairs),
        ece=math.nan if found.constant else expected_error(probability_groups(pairs, ECE_GROUPS)),
    )


def _accuracy(pairs: Pairs, *, two: bool) -> float:
    """Count the rows that are right; a probability of one half is right half of the time."""
    p, happened, total = pairs
    right = np.where(p > 0.5, happened, np.where(p < 0.5, total - happened, total / 2)) if two else happened
    return float(right.sum() / total.sum())


def _slope(pairs: Pairs) -> float:
    p, happened, total = pairs
    return calibration_line(Scored(logit(p), total, happened, total, happened, total)).slope.value
