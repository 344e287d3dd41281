"""A breakdown as a document: that of all rows, with a table of the groups and a chart of their accuracies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._lib.errors import InputError, check_choice
from .._lib.formatting import printable, short_name
from ..report.chart import Axis, Chart, Points, Reference, value_axis
from ..report.document import Column, Document, Section, SmallCharts, Table
from ..report.numbers import between, count, number, share
from .breakdown import Breakdown
from .breakdown_text import ORDERS, key_text
from .describe import assessment_document
from .describe_charts import MOST_CURVES, Event, reliability_chart, small_chart
from .findings_chart import MOST_DRAWN, findings_chart

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def breakdown_document(b: Breakdown, *, name: str = "", command: str = "", recalibrate: str = "") -> Document:
    """Describe all rows, and their groups.

    Parameters
    ----------
    b : Breakdown
        What is described.
    name, command, recalibrate : str, optional
        As in `describe.assessment_document`.

    Returns
    -------
    Document
    """
    whole = assessment_document(b.whole, name=name, command=command, recalibrate=recalibrate)
    title = f"Groups by {', '.join(map(printable, b.by))}"
    sections = [Section("by", title, [groups_table(b)], "Groups")]
    if len(b) > 1:
        curves = [
            small_chart(group.assessment, short_name(key_text(group.key), 28)) for group in b.groups[:MOST_CURVES]
        ]
        more = f": the first {len(curves)} of {len(b):,} groups" if len(b) > len(curves) else ""
        sections += [
            Section("by-accuracy", "Accuracy by group", [groups_chart(b)], width=6),
            Section("by-findings", "Findings by group", [findings_chart(b)], width=6),
            Section("by-curves", f"Reliability diagram of each group{more}", [SmallCharts(curves)], "Curves"),
        ]
    return replace(whole, sections=[*sections, *whole.sections])


def groups_table(b: Breakdown) -> Table:
    """Return the groups with their figures, as many as a page shows."""
    groups = [group.assessment for group in b.groups]
    columns = [
        Column("group", [_name(b, at) for at in range(len(b))]),
        Column("rows", [count(a.n_rows) for a in groups], ["few" if group.small else "" for group in b.groups]),
        Column("verdict", [a.diagnosis.headline for a in groups], words=True),
        Column("cost in nats", [number(group.cost) for group in b.groups], meaning="ln(calibrated / predicted geometric"
               " accuracy). Smaller is better."),
        Column("predicted geometric accuracy", [number(a.reported.geometric_accuracy) for a in groups]),
        Column("standard error", [number(group.standard_error) for group in b.groups]),
        Column("calibrated geometric accuracy", [number(a.measured.geometric_accuracy) for a in groups]),
        Column("slope", [number(a.slope) for a in groups]),
        Column("accuracy", [share(a.prediction_accuracy) for a in groups]),
    ]  # fmt: skip
    shrunken = [group.shrunken for group in b.groups if group.shrunken is not None]
    if b.shrinkage is not None and len(shrunken) == len(b):
        columns += [
            Column(
                "shrunken",
                [number(s.geometric_accuracy) for s in shrunken],
                [between(s.low, s.high) for s in shrunken],
            ),
            Column("own share", [share(s.own_share) for s in shrunken]),
        ]
    order = f"{ORDERS[b.sort].capitalize()}."
    more = f" {len(b.empty):,} groups without a row to assess are left out." if b.empty else ""
    return Table(f"{order}{more} All groups are in frame() and --json.", columns, sortable=True)


def _name(b: Breakdown, at: int) -> str:
    return short_name(key_text(b.groups[at].key), 200)


def groups_chart(b: Breakdown) -> Chart:
    """Geometric accuracy of each group with a 95% confidence interval, the first groups on top."""
    shown = b.groups[:MOST_DRAWN]
    values = np.array([group.assessment.reported.geometric_accuracy for group in shown])
    errors = np.array([group.standard_error for group in shown])
    low, high = values - 1.96 * errors, values + 1.96 * errors
    ends = np.concatenate([values, low[np.isfinite(low)], high[np.isfinite(high)]])
    axis = value_axis(float(ends.min()), float(ends.max()), "Geometric accuracy. Larger is better")
    rows = np.arange(len(shown), 0, -1).astype(np.float64)
    whole = b.whole.reported.geometric_accuracy
    more = f"; the first {len(shown)} of {len(b):,} groups" if len(b) > len(shown) else ""
    names = [short_name(key_text(group.key), 28) for group in shown]
    texts = [
        f"{name}: {number(group.assessment.reported.geometric_accuracy)} in {count(group.assessment.n_rows)} rows"
        + (f" (95% CI {limits})" if (limits := between(float(low[at]), float(high[at]))) else "")
        for at, (name, group) in enumerate(zip(names, shown, strict=True))
    ]
    return Chart(
        title="Geometric accuracy of each group",
        subtitle=f"Points with 95% CI; the dashed line is all rows{more}",
        label=f"Geometric accuracy by group. {'; '.join(texts)}",
        x=axis,
        y=Axis(0.5, len(shown) + 0.5, list(zip(rows.tolist(), names, strict=True))),
        points=(Points(values, rows, low, high, texts=texts),),
        references=(Reference((whole, whole), (0.5, len(shown) + 0.5)),),
        shape="forest",
        percent=False,
    )


def draw_groups(b: Breakdown, figure: Figure | None, most: int, kind: str) -> Figure:
    """Draw the reliability diagrams or the findings of the first groups, as `Breakdown.plot` describes it."""
    from ..report.matplotlib_draw import draw_alone
    from ..report.matplotlib_multiples import draw_multiples

    check_choice("kind", kind, ("reliability", "findings"))
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InputError(f"most: expected a whole number of groups from 1, got {most!r}.")
    if not b.groups:
        raise InputError("plot: the breakdown has no group with rows to draw.")
    if kind == "findings":
        return draw_alone(findings_chart(b), figure)
    charts = []
    for group in b.groups[:most]:
        a = group.assessment
        chart = reliability_chart(Event(a), after_remedy=False)
        charts.append((short_name(key_text(group.key), 24), f"{count(a.n_rows)} rows: {a.diagnosis.headline}", chart))
    left_out = f"The first {most} of {len(b):,} groups, {ORDERS[b.sort]}" if len(b) > most else ""
    return draw_multiples(charts, left_out, figure)
