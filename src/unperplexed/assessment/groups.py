"""Groups of rows: which the cost comes from and which a remedy would help, of so many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._lib.dataclasses import dataclass, field
from .._lib.formatting import number_of, printable, short_name
from .._lib.serialize import plain_values
from ..forecasts.group_keys import Key, key_text
from ..report.numbers import share
from ..statistics.intervals import holm, simultaneous
from .group_figures import GroupAssessment
from .remedy import Remedy

REMEDIED = 50
"""Groups up to which text and JSON have remedies unasked: a fit takes a tenth of a second or more."""

LEVEL = 0.05
"""Largest adjusted p-value of what is significant among groups."""

_COMMON = 0.8
"""Groups of whose cost all rows together have less have different errors, which cancel."""
_NAMED = 3
"""Groups that the sentence names."""
_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_SPREAD = 1.5
"""Groups that carry less than so many times their share of the rows do not stand out."""


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
        """Give map, gain, its simultaneous interval and its p-values as plain Python values."""
        return {
            "map": self.remedy.map,
            "gain": plain_values(self.remedy.gain),
            "interval": list(self.interval),
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "significant": self.significant,
        }


def group_remedies(groups: Sequence[GroupAssessment]) -> dict[Key, GroupRemedy]:
    """Find the remedies of groups; one that was diagnosed and has none counts as looked at, with a p-value of 1."""
    diagnosed = [group for group in groups if group.diagnosis.made]
    remedies = [group.assessment.remedy for group in diagnosed]
    p = np.array([1.0 if remedy is None else remedy.gain.p_value for remedy in remedies])
    adjusted, level = simultaneous(p, 1 - LEVEL)
    return {
        group.key: GroupRemedy(group.key, remedy, remedy.gain.interval_at(level), each)
        for group, remedy, each in zip(diagnosed, remedies, adjusted.tolist(), strict=True)
        if remedy is not None
    }


@dataclass(frozen=True)
class CostShare:
    """Part of the total cost of miscalibration that one group carries."""

    share: float
    """The group's cost times its rows' weight, divided by the sum over all groups; the shares add up to 1. NaN where
    there is no diagnosis, and where nothing costs anything."""
    row_share: float
    """The group's share of the weight of all rows: what ``share`` would be if all rows cost the same."""
    p_value: float
    """p-value of the group's test of miscalibration, certain rows included, with an allowance for few rows; NaN where
    no diagnosis could be made."""
    adjusted_p_value: float
    """Adjusted for the number of groups that were tested (Holm)."""

    @property
    def significant(self) -> bool:
        """Whether the group is miscalibrated beyond what the best of so many calibrated groups may seem to be."""
        return self.adjusted_p_value < LEVEL


def cost_shares(groups: Sequence[GroupAssessment]) -> dict[Key, CostShare]:
    """Share the total cost among the groups, and adjust the p-values of their tests."""
    weight = np.array([group.weight for group in groups], dtype=np.float64)
    cost = weight * np.array([group.cost for group in groups])
    total = float(np.nansum(cost))
    shares = cost / total if total > 0 else np.full(weight.size, math.nan)
    p = np.array([group.p_value for group in groups], dtype=np.float64)
    columns = shares, weight / weight.sum(), p, holm(p)
    return {
        group.key: CostShare(*map(float, values))
        for group, values in zip(groups, zip(*columns, strict=True), strict=True)
    }


def _common_share(whole: GroupAssessment, groups: Sequence[GroupAssessment]) -> float:
    """Cost of all rows together as a share of the sum of the groups' costs: small where their errors differ."""
    total = float(np.nansum([group.weight * group.cost for group in groups]))
    return whole.weight * whole.cost / total if total > 0 else math.nan


def drivers_text(
    found: dict[Key, CostShare], whole: GroupAssessment, groups: Sequence[GroupAssessment], by: Sequence[str]
) -> str:
    """Say which groups the cost comes from, beyond chance, and what to do; "" where there is nothing to compare.

    Parameters
    ----------
    found : dict of tuple to CostShare
        Share of each group, by key.
    whole : GroupAssessment
        All rows.
    groups : sequence of GroupAssessment
        The groups.
    by : sequence of str
        Names of the columns that they are grouped by.
    """
    tested = sum(not math.isnan(each.p_value) for each in found.values())
    if len(found) < 2 or not tested:
        return ""
    all_of_them = number_of(tested, "group")
    named = sorted((key for key, each in found.items() if each.significant), key=lambda key: -found[key].share)
    if any(math.isnan(found[key].share) for key in named):  # errors that no map mends
        return ""
    adjusted = f"p-values Holm-adjusted for {all_of_them}"
    if not named:
        return f"No group drives the cost: in none is there evidence of miscalibration ({adjusted})."
    cost, rows = (sum(getattr(found[key], name) for key in named) for name in ("share", "row_share"))
    all_named, alone, columns = len(named) == tested, len(named) == 1, ", ".join(map(printable, by))
    first = [short_name(key_text(key)) + f" ({share(found[key].share)})" * (not alone) for key in named[:_NAMED]]
    listed = ", ".join(first) + (f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else "")
    many = _WORDS[len(named)] if len(named) < len(_WORDS) else f"{len(named):,}"
    carried = (
        f"All {all_of_them} by {columns} are miscalibrated; their shares of the groups' cost: {listed} ({adjusted})."
        if all_named
        else f"{many} of {all_of_them} by {columns} {'carries' if alone else 'carry'} {share(cost)} of the"
        f" groups' cost, with {share(rows)} of all rows: {listed} ({adjusted})."
    )
    if cost < _SPREAD * rows and _common_share(whole, groups) > _COMMON:
        return f"{carried} Their rows explain about as much: recalibrate all rows together first."
    if all_named:
        return f"{carried} Their errors differ: recalibrate each group by itself."
    one = "this group by itself" if alone else "these groups by themselves"
    return f"{carried} Recalibrate {one} first; in the others there is no such evidence."
