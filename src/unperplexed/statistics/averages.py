"""The three headline means of probabilities, and the metrics that compare two sets of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._lib.by_value import ByValue
from .._lib.typing import Floats
from .means import DECISIVE, GEOMETRIC, ROBUST, means_of_points

HEADLINE_ORDERS = np.array([DECISIVE, GEOMETRIC, ROBUST])
HEADLINE_ORDERS.setflags(write=False)

EQUAL = 1e-14
"""Decisiveness and robustness closer than this, relative to the first, are equal: only rounding tells them apart."""


def spread(decisiveness: Floats | float, robustness: Floats | float) -> Floats:
    """Return decisiveness minus robustness, 0 where only rounding tells them apart; NaN where one of them is."""
    difference = decisiveness - robustness
    return np.where(np.abs(difference) < EQUAL * decisiveness, 0.0, difference)


def log_spread(decisiveness: Floats, robustness: Floats) -> Floats:
    """Return the logarithm of `spread` from the logarithms of both means; minus infinity where it is 0."""
    apart = -np.expm1(robustness - decisiveness)
    with np.errstate(divide="ignore"):
        return np.asarray(decisiveness + np.log(np.where(apart < EQUAL, 0.0, apart)))


@dataclass(frozen=True)
class Averages(ByValue):
    """The three headline means of one set of probabilities. Larger is better."""

    decisiveness: float
    """Arithmetic mean, order 1: depends most on confident predictions."""
    geometric_accuracy: float
    """Geometric mean, order 0: exp of minus the log loss, 1/perplexity."""
    robustness: float
    """Mean of order -2/3: depends most on the smallest probabilities assigned to observed classes."""

    @property
    def spread(self) -> float:
        """Decisiveness minus robustness; 0 if they differ by rounding only."""
        return float(spread(self.decisiveness, self.robustness))


def slope(reported: Averages, measured: Averages) -> float:
    """(measured D - R) / (reported D - R): 1 is best, below 1 overconfident; NaN if all reported means are equal."""
    return measured.spread / reported.spread if reported.spread else math.nan


def orientation(reported: Averages, measured: Averages) -> float:
    """Angle in degrees of the line from robustness to decisiveness, measured along x: above 45 overconfident."""
    if not reported.spread and not measured.spread:
        return math.nan
    return math.degrees(math.atan2(reported.spread, measured.spread))


def divergence_probability(reported: Averages, measured: Averages) -> float:
    """Reported / measured geometric accuracy. 1 is best; NaN if the measured one is 0."""
    below = measured.geometric_accuracy
    return reported.geometric_accuracy / below if below else math.nan


def averages(p: Floats, w: Floats) -> Averages:
    """Headline means of float64 points of positive weight."""
    return Averages(*means_of_points(p, w, HEADLINE_ORDERS).tolist())
