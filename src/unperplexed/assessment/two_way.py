"""Groups by two columns as rows and columns: what miscalibration costs in each cell, as a table and a heat map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._lib.formatting import number_of, printable
from ..calibration.diagnosis.describe import short_verdict
from ..forecasts.group_keys import Value, in_order, key_text, key_texts
from ..report.chart import Axis, Cells, Chart
from ..report.document import Column, Table
from ..report.numbers import count, number, small
from .breakdown import Breakdown, GroupAssessment
from .findings_chart import LEAST, SCALE, sign_of

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
    return Table(
        f"Cost of miscalibration in nats by {down} (rows) and {across} (columns). *: evidence of miscalibration,"
        f" Holm-adjusted for {number_of(len(t.breakdown), 'group')}.",
        [
            Column(down, _names(t.rows)),
            *(
                Column(name, [cell(row, column) for row in t.rows])
                for name, column in zip(_names(t.columns), t.columns, strict=True)
            ),
        ],
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
    return Chart(
        title=f"Evidence of miscalibration in {some:,} of {number_of(len(t.cells), 'group')}",
        subtitle=f"Cost in nats a row by {down} and {across}; dot: no evidence, Holm-adjusted for the number of groups",
        label=f"Cost of miscalibration by {down} and {across}. {'; '.join(texts)}",
        x=Axis(-0.5, len(t.columns) - 0.5, [*enumerate(_names(t.columns))], across),
        y=Axis(0.5, len(t.rows) + 0.5, [(len(t.rows) - k, name) for k, name in enumerate(_names(t.rows))]),
        cells=Cells(at[:, 0], at[:, 1], np.array(strength), shown, texts, scale=SCALE if some else ()),
        shape="forest",
        percent=False,
    )


def _names(values: Sequence[Value]) -> list[str]:
    return key_texts(((value,) for value in values), 20)
