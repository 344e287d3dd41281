"""Which groups of rows recalibration would help, corrected for the number of groups that were looked at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._lib.formatting import number_of, p_value_cell, short_name
from .._lib.serialize import plain_values
from ..forecasts.group_keys import Key, key_text
from ..report.document import Block, Code, Column, Prose, Table
from ..report.numbers import number
from ..sources.row_filter import condition_of
from ..statistics.standard_errors import simultaneous
from .remedy import Commands, PythonLine, Remedy
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


def remedy_blocks(
    found: dict[Key, GroupRemedy], by: Sequence[str], keys: Sequence[Key], commands: Commands | PythonLine, n_rows: int
) -> Iterator[Block]:
    """Say which groups recalibration would help, the largest gain first, and how; and which it only seems to help.

    ``n_rows`` counts all rows, in whichever group.
    """
    n_groups = len(keys)
    helped = sorted((each for each in found.values() if each.significant), key=lambda each: -each.remedy.gain.value)
    doubtful = [_name(each.key) for each in found.values() if each.remedy.significant and not each.significant]
    if helped:
        yield Table(
            "Groups that a recalibration map of their own would help. Log losses are cross-fitted. p-values are"
            f" Bonferroni-adjusted for {number_of(n_groups, 'group')}.",
            [
                Column("group", [_name(each.key) for each in helped]),
                Column("log loss", [number(each.remedy.gain.before) for each in helped]),
                Column("recalibrated", [number(each.remedy.gain.after) for each in helped]),
                Column(
                    "adjusted p-value",
                    [p_value_cell(each.adjusted_p_value) for each in helped],
                ),
                Column("map", [each.remedy.map for each in helped], words=True),
            ],
        )
        first = helped[0].key
        if code := commands.of_rows(condition_of(by, first, keys)):
            yield Prose(f"For one group, here {_name(first)}. The rows of other groups are left as they are.")
            yield Code(code, "Commands or line of Python that recalibrates one group")
        else:
            yield Prose("Fit a map to the rows of one group: recalibrate --where CONDITION.")
        if n_groups > 1 and (code := commands.of_groups(by)):
            gained = sum(each.remedy.gain.value * each.remedy.gain.n_rows for each in helped)
            yield Prose(
                f"For all groups at once. The maps of the groups above reduce the log loss of all rows by"
                f" {gained / n_rows:.2g} nats (cross-fitted). The fit compares maps of groups with one map, and keeps"
                " the one map unless they gain significantly."
            )
            yield Code(code, "Commands or line of Python that recalibrates each group")
    if doubtful:
        yield Prose(
            f"Not significant after correction for {number_of(n_groups, 'group')}, though it would be alone:"
            f" {', '.join(doubtful)}."
        )


def _name(key: Key) -> str:
    return short_name(key_text(key))
