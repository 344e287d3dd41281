"""Charts of a comparison, as marks: curves of the forecasters, their risk profiles, and ratios of accuracies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from .._lib.errors import InputError, check_choice
from .._lib.formatting import at_floor_text, confidence_interval, percent, rule_text, short_name, short_names
from .._lib.typing import Floats
from ..comparison.result import Comparison, PairedComparison
from ..comparison.sequential import SequentialComparison
from ..report.chart import Chart, Line, Points, Reference, Role, percent_axis, percent_end, value_axis
from ..report.charts import Row, forest, identity
from ..report.document import Column, Table
from ..report.numbers import between, count, number, share
from ..report.tables import aside, ci
from ..scores.rules import rule_at_floor, score_named
from . import comparison_tables as tables
from .assessment_charts import Event, curve_of, profile_line, profiles_of

ROLES: tuple[Role, ...] = ("first", "second", "third", "fourth", "fifth", "sixth")
MOST_RATIOS, MOST_LINES = 30, 4
"""Ratios, and forecasters' curves, that a page shows."""


def reliability_chart(c: Comparison, most: int = MOST_LINES) -> Chart:
    """Calibration curves of the first forecasters."""
    events = {name: Event(each.assessment) for name, each in c.forecasters.items()}
    first, of = [*events.values()][:most], next(iter(events.values()))
    curves = [curve_of(event.assessment, event.pairs) for event in first]
    end = percent_end(*(event.pairs.reported for event in first), *(curve.observed for curve in curves))
    named = zip(short_names(events), curves, ROLES, strict=False)
    lines = [curve.line(role, name, label=name, end=end) for name, curve, role in named]
    more = f"; the first {len(lines)} of {len(events)} forecasters" if len(events) > len(lines) else ""
    level = percent(of.confidence)
    band = f", with {level} bands" if any(line.low is not None for line in lines) else ""
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
        references=(identity(end),),
        shape="square",
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
    return Table.of(
        "The diagram as a table",
        Column("predicted", [share(x) for x in at]),
        *(
            Column(
                line.name,
                [share(float(np.interp(x, line.x, line.y))) if line.x[0] <= x <= line.x[-1] else "–" for x in at],
            )
            for line in chart.lines
        ),
        folded=True,
    )


def profiles_chart(c: Comparison, most: int = MOST_LINES) -> Chart:
    """Risk profiles of the first forecasters."""
    confidence = c.confidence if c.assessed_for_sure else None
    lines = [
        profile_line(each.assessment.profile, confidence, role, name)
        for name, each, role in zip(short_names(c.forecasters), [*c.forecasters.values()][:most], ROLES, strict=False)
    ]
    return profiles_of(lines, "Risk profiles: average probability assigned to the outcomes from order")


def ratio_chart(c: Comparison) -> Chart:
    """Ratios of geometric accuracies with their confidence intervals, the best pair on top."""
    level = confidence_interval(c.confidence)
    rows = []
    for pair, name in _named(c, c.pairs[:MOST_RATIOS], "/"):
        ratio, interval = pair.accuracy_ratio, pair.accuracy_ratio_interval
        rows.append(Row(name, ratio, interval, f"{name}: {number(ratio)}{aside(ci(level, interval))}"))
    return forest(
        rows,
        title="Ratios of geometric accuracies",
        subtitle=f"Above 1 the first forecaster is ahead. Points with {level}",
        label=f"Ratios of geometric accuracies {at_floor_text(c.scored_floor)}",
        axis=f"Ratio {at_floor_text(c.scored_floor)}",
        at=1.0,
        within=[1.0],
    )


def _named(c: Comparison, pairs: Sequence[PairedComparison], sign: str) -> list[tuple[PairedComparison, str]]:
    """Name some pairs for the rows of a forest, a sign between both forecasters."""
    short = dict(zip(c.forecasters, short_names(c.forecasters, _IN_PAIRS), strict=True))
    return [(pair, f"{short[pair.first]} {sign} {short[pair.second]}") for pair in pairs]


_IN_PAIRS = 18
"""Characters of a forecaster's name in that of a pair."""


MOST_PAIRS = 30
"""Pairs that a forest shows."""

_MOST_ROWS = 300
"""Places along the rows at which a sequential difference is drawn."""


def differences_chart(c: Comparison, score: str = "log_loss") -> Chart:
    """Make a forest of the paired differences by a score with their confidence intervals, the best pair on top.

    Parameters
    ----------
    c : Comparison
        What is drawn.
    score : str, default "log_loss"
        Name of a score of the comparison.

    Returns
    -------
    Chart

    Raises
    ------
    InputError
        For a score that the comparison does not have, and where no difference is finite.
    """
    check_choice("score", score, [*c.pairs[0].differences])
    pairs = [pair for pair in c.pairs if math.isfinite(pair.differences[score].difference)][:MOST_PAIRS]
    if not pairs:
        raise InputError(f"score: no difference by {rule_text(score)} is finite; choose another score.")
    larger = score_named(score).larger_is_better
    rows = []
    for pair, name in _named(c, pairs, "−"):
        d = pair.differences[score]
        text = f"{name}: {number(d.difference)}{tables.about_difference(c, d, between(*d.interval))}"
        rows.append(Row(name, d.difference, d.interval, text))
    rule = rule_text(score) + (f" {at_floor_text(c.scored_floor)}" if score_named(score).surprisal else "")
    more = f"; the first {len(pairs)} of {len(c.pairs):,} pairs" if len(pairs) < len(c.pairs) else ""
    return forest(
        rows,
        title=_found(c, score, larger),
        subtitle=f"Points with {confidence_interval(c.confidence, len(c.pairs))};"
        f" {'above' if larger else 'below'} 0 the first forecaster is better{more}",
        label=f"Paired differences in {rule}",
        axis=f"Difference in {rule}",
        at=0.0,
        within=[0.0],
    )


def _found(c: Comparison, score: str, larger: bool) -> str:
    """State which pairs differ, as far as it was tested."""
    rule, level = rule_text(score), 1 - c.confidence
    apart: list[PairedComparison] = [pair for pair in c.pairs if pair.differences[score].adjusted_p_value < level]
    if len(c.pairs) > 1:
        return f"{len(apart):,} of {len(c.pairs):,} pairs differ significantly by {rule}"
    if not apart:
        return f"No significant difference by {rule}"
    [pair] = apart
    ahead = pair.first if (pair.differences[score].difference > 0) == larger else pair.second
    return f"{short_name(ahead)} is better by {rule}"


def sides_of(c: SequentialComparison) -> tuple[str, str, Floats, Floats, Floats]:
    """Return both forecasters, the one that is ahead over all rows first, their mean difference and its ends."""
    if c.second_ahead:
        return c.second, c.first, -c.difference, -c.high, -c.low
    return c.first, c.second, c.difference, c.low, c.high


def sequential_chart(c: SequentialComparison) -> Chart:
    """Make the mean difference over the rows with its confidence sequence, and where it was decided.

    The first intervals are wide, so the axis ends at those after a tenth of the rows, or of those until the decision.
    """
    first, second, difference, below, above = sides_of(c)
    rows = np.unique(np.linspace(1, c.n_rows, _MOST_ROWS).astype(np.int64))
    rule = rule_at_floor(c.score, c.floor or 0.0)
    start = max(1, (c.decided_after or c.n_rows) // 10) - 1
    ends = min(0.0, float(below[start:].min())), max(0.0, float(above[start:].max()))
    y = value_axis(*ends, f"Difference in {rule}, {' − '.join(short_names((first, second)))}")
    mean, low, high = (np.clip(column[rows - 1], y.low, y.high) for column in (difference, below, above))
    side = "larger" if c.larger_is_better else "smaller"
    title = f"Not decided after {c.n_rows:,} rows"
    points: tuple[Points, ...] = ()
    if c.decided_after is not None:
        title = f"{short_name(str(c.better))} has the {side} {rule} (decided after {c.decided_after:,} rows)"
        if c.better_now != c.better:
            after = f"after {c.decided_after:,} rows, but not over all rows"
            title = f"{short_name(str(c.better))} had the {side} {rule} {after}"
        at = (np.array([float(c.decided_after)]), difference[[c.decided_after - 1]])
        points = (Points(*at, role="second", labels=(f"Decided after {c.decided_after:,}",)),)
    level = percent(c.confidence)
    last = f"{number(float(difference[-1]))} ({between(float(below[-1]), float(above[-1]))})"
    return Chart(
        title=title,
        subtitle=f"Mean so far, with its {level} confidence sequence, valid at all rows together;"
        f" {'above' if c.larger_is_better else 'below'} 0 {short_name(first)} is better",
        label=f"Mean difference in {rule} between {short_name(first)} and {short_name(second)} over the rows. {title}."
        f" After all rows: {last}.",
        x=value_axis(0.0, float(c.n_rows), "Rows", lambda value, _: count(value)),
        y=y,
        lines=(Line(rows.astype(np.float64), mean, "observed", "Mean so far", low, high),),
        points=points,
        references=(Reference((0.0, float(c.n_rows)), (0.0, 0.0)),),
    )


ChartKind = Literal["differences", "ratios", "profiles", "reliability"]

MOST_CURVES = 6
"""Forecasters whose curves can be told apart."""


def comparison_chart(c: Comparison, kind: ChartKind = "differences", score: str | None = None) -> Chart:
    """Make the chart of a kind."""
    check_choice("kind", kind, ("differences", "ratios", "profiles", "reliability"))
    if kind == "differences":
        return differences_chart(c, score or "log_loss")
    if score is not None:
        raise InputError(f"score: {score!r} needs kind='differences'.")
    if kind == "ratios":
        return ratio_chart(c)
    if kind == "profiles":
        return profiles_chart(c, MOST_CURVES)
    return reliability_chart(c, MOST_CURVES)
