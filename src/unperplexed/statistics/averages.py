"""The three headline means of probabilities, and what they tell when two sets of them are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._lib.typing import Floats
from .means import DECISIVE, GEOMETRIC, ROBUST, means_of_points

HEADLINE_ORDERS = np.array([DECISIVE, GEOMETRIC, ROBUST])
HEADLINE_ORDERS.setflags(write=False)
HEADLINE_ORDERS.setflags(write=False)


@dataclass(frozen=True)
class Averages:
    """The three headline means of one set of probabilities. Larger is better."""

    decisiveness: float
    """Arithmetic mean, order 1: moved by what is said with confidence."""
    geometric_accuracy: float
    """Geometric mean, order 0: exp of minus the log loss, 1/perplexity."""
    robustness: float
    """Mean of order -2/3: moved by the smallest probabilities given to what happened."""

    @property
    def spread(self) -> float:
        """Decisiveness minus robustness; 0 where only rounding tells them apart."""
        difference = self.decisiveness - self.robustness
        return 0.0 if abs(difference) < 1e-14 * self.decisiveness else difference


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
