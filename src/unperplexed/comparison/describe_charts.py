"""Charts of a comparison, as marks: curves of the forecasters, their risk profiles, and ratios of accuracies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .._lib.formatting import at_floor_text, confidence_interval, percent, short_name, short_names
from ..assessment.describe_charts import Event, curve_of, order_axis
from ..report.chart import Axis, Chart, Line, Points, Reference, Role, percent_axis, percent_end, thinned, value_axis
from ..report.document import Column, Table
from ..report.numbers import between, number, share
from .result import Comparison

ROLES: tuple[Role, ...] = ("first", "second", "third", "fourth", "fifth", "sixth")
MOST_RATIOS, MOST_LINES = 30, 3
"""Ratios, and forecasters' curves, that a page shows."""
_REPLICATES = 100


def reliability_chart(events: Mapping[str, Event], most: int = MOST_LINES) -> Chart:
    """Calibration curves of the first forecasters."""
    lines, ends, of = [], [], next(iter(events.values()))
    for name, event, role in zip(short_names(events), [*events.values()][:most], ROLES, strict=False):
        curve = curve_of(event.assessment, event.pairs, min(event.assessment.source.sampling.resamples, _REPLICATES))
        x, y, low, high = thinned(curve.predicted, curve.observed, curve.low, curve.high)
        limits = (low, high) if np.isfinite(low).any() else (None, None)
        ends.append(percent_end(event.pairs.reported, curve.observed, curve.high))
        lines.append(Line(x, y, role, name, limits[0], limits[1], name))
    more = f"; the first {len(lines)} of {len(events)} forecasters" if len(events) > len(lines) else ""
    level = percent(of.confidence)
    band = f", with {level} bands" if any(line.low is not None for line in lines) else ""
    end = max(ends)
    return Chart(
        title=_title(list(events.items())[:most]),
        subtitle=f"Curves of {of.name}{band}{more}",
        label=f"Reliability diagram of {', '.join(line.name for line in lines)}: the closer to the identity line, the"
        " better calibrated.",
        x=percent_axis(f"Predicted probability of {of.name}", end),
        y=percent_axis(
            f"Observed frequency of {of.name}" if of.two else "Share of rows whose top class is observed", end
        ),
        lines=lines,
        references=(Reference((0.0, end), (0.0, end), "Identity line"),),
    )


def _title(events: Sequence[tuple[str, Event]]) -> str:
    """State which curves depart from the identity line, as far as it was tested."""
    found = {name: event.assessment.diagnosis for name, event in events}
    if not all(d.made for d in found.values()):
        return "Calibration curve of each forecaster"
    off = [short_name(name) for name, d in found.items() if d.findings]
    if len(off) == len(found):
        return "All curves differ from the identity line"
    return f"Evidence of miscalibration: {', '.join(off)}" if off else "No evidence of miscalibration"


def curves_table(chart: Chart) -> Table:
    """Return the curves of a chart as numbers, at each tenth of the predicted probability that a curve reaches."""
    at = [chart.x.high * tenth / 10 for tenth in range(11)]
    at = [x for x in at if any(line.x[0] <= x <= line.x[-1] for line in chart.lines)]
    return Table(
        "The diagram as a table",
        [
            Column("predicted", [share(x) for x in at]),
            *(
                Column(
                    line.name,
                    [share(float(np.interp(x, line.x, line.y))) if line.x[0] <= x <= line.x[-1] else "–" for x in at],
                )
                for line in chart.lines
            ),
        ],
        folded=True,
    )


def profiles_chart(c: Comparison, most: int = MOST_LINES) -> Chart:
    """Risk profiles of the first forecasters."""
    lines = []
    for name, each, role in zip(short_names(c.forecasters), [*c.forecasters.values()][:most], ROLES, strict=False):
        profile = each.assessment.profile
        finite = np.isfinite(profile.orders)
        limits = [x[finite] for x in profile.interval(c.confidence)] if c.assessed_for_sure else [None, None]
        orders, values = profile.orders[finite], profile.values[finite]
        lines.append(Line(orders, values, role, name, limits[0], limits[1], name))
    ends = (float(lines[0].x.min()), float(lines[0].x.max())) if lines[0].x.size else (0.0, 1.0)
    spoken = "; ".join(
        f"{line.name} {number(float(line.y[0]))} to {number(float(line.y[-1]))}" for line in lines if line.y.size
    )
    return Chart(
        title="",
        label=f"Risk profiles: average probability assigned to the outcomes from order {ends[0]:g} to {ends[1]:g}."
        f" {spoken}.",
        x=order_axis(*ends),
        y=Axis(0.0, 1.0, [(at / 5, f"{at / 5:g}") for at in range(6)], "Average probability assigned to the outcomes"),
        lines=lines,
        shape="wide",
        percent=False,
    )


def ratio_chart(c: Comparison) -> Chart:
    """Ratios of geometric accuracies with their confidence intervals, the best pair on top."""
    pairs = c.pairs[:MOST_RATIOS]
    short = dict(zip(c.forecasters, short_names(c.forecasters, 18), strict=True))
    names = [f"{short[pair.first]} / {short[pair.second]}" for pair in pairs]
    ratios, low, high = (
        np.array(x)
        for x in (
            [pair.accuracy_ratio for pair in pairs],
            [pair.accuracy_ratio_interval.low for pair in pairs],
            [pair.accuracy_ratio_interval.high for pair in pairs],
        )
    )
    finite = np.concatenate([x[np.isfinite(x)] for x in (ratios, low, high)] + [np.ones(1)])
    rows = np.arange(len(pairs), 0, -1).astype(np.float64)
    level = confidence_interval(c.confidence)
    texts = [
        f"{name}: {number(pair.accuracy_ratio)}" + (f" ({level} {limits})" if limits else "")
        for name, pair in zip(names, pairs, strict=True)
        for limits in [between(*pair.accuracy_ratio_interval)]
    ]
    return Chart(
        title="Ratios of geometric accuracies",
        subtitle=f"Above 1 the first forecaster is ahead. Points with {level}",
        label=f"Ratios of geometric accuracies {at_floor_text(c.scored_floor)}. {'; '.join(texts)}",
        x=value_axis(float(finite.min()), float(finite.max()), f"Ratio {at_floor_text(c.scored_floor)}"),
        y=Axis(0.5, len(pairs) + 0.5, list(zip(rows.tolist(), names, strict=True))),
        points=(Points(ratios, rows, low, high, texts=texts),),
        references=(Reference((1.0, 1.0), (0.5, len(pairs) + 0.5)),),
        shape="forest",
        percent=False,
    )
