"""What was found in each group, as a chart: a cell for each group and kind of error."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._lib.formatting import number_of, printable
from ..assessment.breakdown import Breakdown
from ..assessment.groups import GroupAssessment
from ..calibration.diagnosis.kinds import KINDS
from ..calibration.diagnosis.result import Finding
from ..forecasts.group_keys import Value, in_order, key_text, key_texts
from ..report.chart import Cells, Chart
from ..report.charts import heat_map
from ..report.document import Column, Table
from ..report.numbers import count, number, small
from .diagnosis import short_verdict

MOST_DRAWN = 30
"""Groups that the chart shows."""

LEAST = 0.15
"""Strength of a finding whose cost is not known, or small."""


_OVER, _UNDER = KINDS["confidence"].names
SCALE = (f"overpredicted, {_OVER}, other", f"underpredicted, {_UNDER}")
"""What the two colours stand for, the darkest at either end."""


def findings_chart(b: Breakdown) -> Chart:
    """Make a heat map of the first groups' findings: the costlier an error in a group, the darker its cell."""
    groups = b.groups[:MOST_DRAWN]
    found = [(row, each) for row, group in enumerate(groups) for each in group.assessment.diagnosis.findings]
    seen = {finding.error for _, finding in found}
    kinds = [kind for kind in KINDS.values() if kind.plain or kind.error in seen]
    errors = [kind.error for kind in kinds]
    cells: dict[tuple[int, int], list[Finding]] = {}
    for row, finding in found:
        cells.setdefault((row, errors.index(finding.error)), []).append(finding)
    costs = np.array([_cost(each) for each in cells.values()])
    most = float(costs.max(initial=0)) or 1.0
    strength = np.array([sign_of(each) for each in cells.values()]) * np.maximum(costs / most, LEAST)
    places = np.array([*cells], dtype=np.float64).reshape(-1, 2)
    names = key_texts(group.key for group in groups)
    texts = [f"{names[row]}: {', '.join(f.words for f in each)}" for (row, _), each in cells.items()]
    miscalibrated = len({row for row, _ in found})
    shown = [number(cost) if cost > 0 else "found" for cost in costs.tolist()]
    scale = SCALE if found else ()
    more = f"; the first {len(groups)} of {len(b):,} groups" if len(b) > len(groups) else ""
    return heat_map(
        Cells(places[:, 1], len(groups) - places[:, 0], strength, shown, texts, scale),
        [f"{name} ({count(group.assessment.n_rows)})" for name, group in zip(names, groups, strict=True)],
        [kind.heading or kind.error for kind in kinds],
        title=f"Evidence of miscalibration in {miscalibrated:,} of {len(groups):,} groups",
        subtitle="Cost of each finding in nats a row; blank: no evidence, each group tested at 5%. Number of rows in"
        f" brackets{more}",
        label=f"Findings by group. {'; '.join(texts) if texts else 'No evidence of miscalibration in any group'}.",
        axis="Finding",
    )


def _cost(findings: list[Finding]) -> float:
    """Nats a row that findings of one kind cost; 0 where it is not known."""
    return sum(each.cost for each in findings if math.isfinite(each.cost))


def sign_of(findings: Sequence[Finding]) -> float:
    """Give 1 where probabilities are too low or too close to one another, and -1 for all else."""
    low = len(findings) == 1 and KINDS[findings[0].error].low_above and findings[0].parameter > 0
    return 1.0 if low else -1.0


MOST_ACROSS, MOST_DOWN = 12, 40
"""Columns and rows of a heat map; with more values either way there is none."""

_MOST_IN_TEXT = 8


@dataclass(frozen=True)
class TwoWay:
    """The groups of a breakdown by two columns, by row and column of a table."""

    breakdown: Breakdown
    down: int
    """Which of the two columns the rows are of."""
    rows: Sequence[Value]
    columns: Sequence[Value]
    cells: dict[tuple[Value, Value], GroupAssessment]

    @property
    def names(self) -> tuple[str, str]:
        """Names of the columns that rows and columns are of."""
        by = self.breakdown.by
        return printable(by[self.down]), printable(by[1 - self.down])

    def found(self, group: GroupAssessment) -> bool:
        """Whether there is evidence of miscalibration in a group after correction for the number of groups."""
        return self.breakdown.cost_shares[group.key].significant


def two_way(b: Breakdown) -> TwoWay | None:
    """Arrange groups by two columns, the one with fewer values across if the other has too many; None for others."""
    if len(b.by) != 2 or not b.groups:
        return None
    values = [[value for (value,) in in_order([*{(group.key[at],) for group in b.groups}])] for at in (0, 1)]
    down = 0 if len(values[1]) <= MOST_ACROSS else 1
    if min(map(len, values)) < 2 or len(values[1 - down]) > MOST_ACROSS or len(values[down]) > MOST_DOWN:
        return None
    cells = {(group.key[down], group.key[1 - down]): group for group in b.groups}
    return TwoWay(b, down, values[down], values[1 - down], cells)


def two_way_table(t: TwoWay) -> Table:
    """Return the cost in each cell, with a mark where there is evidence of miscalibration."""

    def cell(row: Value, column: Value) -> str:
        group = t.cells.get((row, column))
        if group is None:
            return ""
        return small(group.cost) + "*" * t.found(group)

    down, across = t.names
    return Table.of(
        f"Cost of miscalibration in nats by {down} (rows) and {across} (columns). *: evidence of miscalibration,"
        f" Holm-adjusted for {number_of(len(t.breakdown), 'group')}.",
        Column(down, _names(t.rows)),
        *(
            Column(name, [cell(row, column) for row in t.rows])
            for name, column in zip(_names(t.columns), t.columns, strict=True)
        ),
    )


def two_way_blocks(t: TwoWay | None) -> list[Table]:
    """Give the table where it has room in a text."""
    return [] if t is None or len(t.columns) > _MOST_IN_TEXT else [two_way_table(t)]


def two_way_chart(t: TwoWay) -> Chart:
    """Make a heat map: the more miscalibration costs in a cell, the darker; a dot where there is no evidence of it."""
    down, across = t.names
    places, strength, shown, texts = [], [], [], []
    most = max((group.cost for group in t.cells.values() if t.found(group)), default=0.0)
    for (row, column), group in t.cells.items():
        a, found = group.assessment, t.found(group)
        depth = max(min(group.cost / most, 1.0), LEAST) if found and most > 0 else 0.0
        places.append((t.columns.index(column), len(t.rows) - t.rows.index(row)))
        strength.append(depth * sign_of(a.diagnosis.findings))
        shown.append(number(group.cost, 2) if found and len(t.columns) <= _MOST_IN_TEXT else "" if found else "·")
        words = short_verdict(a.diagnosis) if found else "no evidence of miscalibration"
        cost = f", cost {number(group.cost)} nats" if math.isfinite(group.cost) else ""
        texts.append(f"{key_text(group.key)}: {words}{cost}, {count(a.n_rows)} rows")
    at = np.array(places, dtype=np.float64)
    some = sum(map(t.found, t.cells.values()))
    return heat_map(
        Cells(at[:, 0], at[:, 1], np.array(strength), shown, texts, scale=SCALE if some else ()),
        _names(t.rows),
        _names(t.columns),
        title=f"Evidence of miscalibration in {some:,} of {number_of(len(t.cells), 'group')}",
        subtitle=f"Cost in nats a row by {down} and {across}; dot: no evidence, Holm-adjusted for the number of groups",
        label=f"Cost of miscalibration by {down} and {across}. {'; '.join(texts)}",
        axis=across,
    )


def _names(values: Sequence[Value]) -> list[str]:
    return key_texts(((value,) for value in values), 20)
