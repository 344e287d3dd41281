"""Which groups of rows recalibration would help, corrected for the number of groups that were looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._lib.serialize import plain_values
from ..forecasts.group_keys import Key
from ..statistics.standard_errors import simultaneous
from .remedy import Remedy
from .result import Assessment

MOST_GROUPS = 50
"""Groups up to which text and JSON have remedies unasked: a fit takes a tenth of a second or more."""

_LEVEL = 0.05


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
        return self.remedy.significant and self.adjusted_p_value < _LEVEL

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


def group_remedies(groups: Sequence[tuple[Key, Assessment]]) -> dict[Key, GroupRemedy]:
    """Find the remedies of groups; one that was diagnosed and has none counts as looked at, with a p-value of 1."""
    remedies = [each.remedy if each.diagnosis.made else None for _, each in groups]
    looked = [1.0 if each.diagnosis.made else np.nan for _, each in groups]
    p = np.array([no if remedy is None else remedy.gain.p_value for no, remedy in zip(looked, remedies, strict=True)])
    adjusted, level = simultaneous(p, 1 - _LEVEL)
    return {
        key: GroupRemedy(key, remedy, remedy.gain.interval_at(level), each)
        for (key, _), remedy, each in zip(groups, remedies, adjusted.tolist(), strict=True)
        if remedy is not None
    }
