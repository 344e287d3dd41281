"""Which groups the cost of miscalibration comes from, corrected for the number of groups that were looked at."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._lib.formatting import number_of, printable, short_name
from ..forecasts.group_keys import Key, key_text
from ..report.numbers import share
from ..statistics.standard_errors import holm
from .groups import LEVEL, GroupAssessment
from .result import Assessment

_COMMON = 0.8
"""Groups of whose cost all rows together have less have different errors, which cancel."""
_NAMED = 3
"""Groups that the sentence names."""
_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_SPREAD = 1.5
"""Groups that carry less than so many times their share of the rows do not stand out."""


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
    p = np.array([_p_value(group.assessment) for group in groups], dtype=np.float64)
    columns = shares, weight / weight.sum(), p, holm(p)
    return {
        group.key: CostShare(*map(float, values))
        for group, values in zip(groups, zip(*columns, strict=True), strict=True)
    }


def _p_value(a: Assessment) -> float:
    """p-value of a group's diagnosis, which is to be compared with a small part of 5%.

    The test is asymptotic: at 5% it keeps its level in a hundred rows, but far below it rejects too often in so few. So
    its p-value, as one of chi2 with 2 degrees of freedom, is replaced by that of F with so many degrees of freedom
    below as there are rows whose top class was wrong (or right, if these are fewer). benchmarks/cost_shares.py has
    the levels.
    """
    d = a.diagnosis
    if not d.made:
        return math.nan
    few = a.effective_rows * min(a.prediction_accuracy, 1 - a.prediction_accuracy)
    certain = [finding.p_value for finding in d.findings if finding.error == "certainty"]
    tested = [p for p in (_with_few(d.p_value, few), *certain) if not math.isnan(p)]
    return min(1.0, len(tested) * min(tested)) if tested else 1.0


def _with_few(p: float, few: float) -> float:
    if not 0 < p < 1:
        return p
    return (1 - 2 * math.log(p) / few) ** (-few / 2) if few > 0 else 1.0


def common_share(whole: GroupAssessment, groups: Sequence[GroupAssessment]) -> float:
    """Cost of all rows together as a share of the sum of the groups' costs: small where their errors differ."""
    total = float(np.nansum([group.weight * group.cost for group in groups]))
    return whole.weight * whole.cost / total if total > 0 else math.nan


def drivers_text(found: dict[Key, CostShare], common: float, by: Sequence[str]) -> str:
    """Say which groups the cost comes from, beyond chance, and what to do; "" where there is nothing to compare."""
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
    if cost < _SPREAD * rows and common > _COMMON:
        return f"{carried} Their rows explain about as much: recalibrate all rows together first."
    if all_named:
        return f"{carried} Their errors differ: recalibrate each group by itself."
    one = "this group by itself" if alone else "these groups by themselves"
    return f"{carried} Recalibrate {one} first; in the others there is no such evidence."
