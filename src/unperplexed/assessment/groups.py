"""Groups of rows: the assessment of each, and which recalibration would help, corrected for their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._lib.by_value import ByValue
from .._lib.serialize import plain_values
from ..forecasts.group_keys import Key
from ..statistics.standard_errors import simultaneous
from .remedy import Remedy
from .result import Assessment

MOST_GROUPS = 50
"""Groups up to which text and JSON have remedies unasked: a fit takes a tenth of a second or more."""

LEVEL = 0.05
"""Largest adjusted p-value of what is significant among groups."""

_ROUNDING = 1e-9
"""Relative rounding of sums of weights."""

FEW = 100
"""A group is small with fewer rows than this whose top class happened, or fewer in which it did not."""


@dataclass(frozen=True)
class ShrunkenAccuracy(ByValue):
    """Geometric accuracy of a group, shrunk. Larger is better."""

    geometric_accuracy: float
    low: float
    high: float
    """Limits of its interval."""
    own_share: float
    """Weight of the group's own rows in it, from 0 to 1; the rest is that of all groups."""


@dataclass(frozen=True)
class GroupAssessment(ByValue):
    """Rows with the same values in the columns that were grouped by."""

    key: Key
    """These values."""
    assessment: Assessment
    weight: float
    """Total weight of its rows."""
    shrunken: ShrunkenAccuracy | None = None

    @property
    def standard_error(self) -> float:
        """Standard error of the predicted geometric accuracy; NaN for an effective sample size below two."""
        return self.assessment.geometric_accuracy_standard_error

    @property
    def small(self) -> bool:
        """Whether the rows are too few to assess calibration: less than 100 whose top class happened, or did not.

        A slope of such a group says next to nothing.
        """
        rows, hits = self.assessment.effective_rows, self.assessment.prediction_accuracy
        return min(hits, 1 - hits) * rows < FEW * (1 - _ROUNDING)

    @property
    def cost(self) -> float:
        """What the errors found cost, in nats a row (`Diagnosis.cost`). Smaller is better; NaN without a diagnosis."""
        return self.assessment.cost

    def metrics(self, shares: Mapping[str, float]) -> dict[str, Any]:
        """Give the group's metrics by name, in the order of the frame; its shares of the cost are given."""
        a = self.assessment
        errors = {f"{name}_standard_error": error for name, error in a.score_standard_errors.items()}
        shrunken = {} if self.shrunken is None else plain_values(self.shrunken)
        return {
            "n_rows": a.n_rows,
            "verdict": a.verdict,
            "effective_rows": a.effective_rows,
            "small": self.small,
            "geometric_accuracy_standard_error": self.standard_error,
            **{f"shrunken_{name}": value for name, value in shrunken.items()},
            "cost": self.cost,
            **shares,
            **a.metrics(),
            **errors,
        }


@dataclass(frozen=True)
class GroupRemedy:
    """Recalibration of one group of rows, and whether its gain is significant among those of all groups."""

    key: Key
    """Values of the group in the columns that were grouped by."""
    remedy: Remedy = field(repr=False)
    """As ``Assessment.remedy`` of the group; the interval of its gain is of the group alone."""
    interval: tuple[float, float]
    """Simultaneous 95% confidence interval of the gain, for all groups that were diagnosed (Bonferroni)."""
    adjusted_p_value: float
    """p-value of the gain, adjusted in the same way: it is below 0.05 just where the interval excludes 0 below."""

    @property
    def p_value(self) -> float:
        """p-value of the gain, cross-fitted (two-sided)."""
        return self.remedy.gain.p_value

    @property
    def significant(self) -> bool:
        """Whether the remedy is advised and its adjusted p-value below 0.05."""
        return self.remedy.significant and self.adjusted_p_value < LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Give method, map, gain, its simultaneous interval and its p-values as plain Python values."""
        return {
            "method": self.remedy.method,
            "map": self.remedy.map,
            "gain": plain_values(self.remedy.gain),
            "interval": list(self.interval),
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "significant": self.significant,
        }


def group_remedies(groups: Sequence[GroupAssessment]) -> dict[Key, GroupRemedy]:
    """Find the remedies of groups; one that was diagnosed and has none counts as looked at, with a p-value of 1."""
    diagnosed = [group for group in groups if group.assessment.diagnosis.made]
    remedies = [group.assessment.remedy for group in diagnosed]
    p = np.array([1.0 if remedy is None else remedy.gain.p_value for remedy in remedies])
    adjusted, level = simultaneous(p, 1 - LEVEL)
    return {
        group.key: GroupRemedy(group.key, remedy, remedy.gain.interval_at(level), each)
        for group, remedy, each in zip(diagnosed, remedies, adjusted.tolist(), strict=True)
        if remedy is not None
    }
