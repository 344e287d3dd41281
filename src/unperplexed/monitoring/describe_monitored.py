"""What monitoring found, as a document, and its control chart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from .._lib.formatting import number_of, p_value_text, percent, short_name
from ..calibration.diagnosis.words import CERTAIN, terms
from ..report.chart import Chart
from ..report.commands import lookup
from ..report.document import Action, Column, Document, Section, Table
from ..report.numbers import between, count, evidence_text, number, share
from ..report.result import Naming
from ..statistics.intervals import Interval
from .control import ControlPoint
from .describe_over_time import (
    LAST,
    began_text,
    chart_over_time,
    evidence_chart,
    groups_tables,
    groups_text,
    limit_text,
    range_text,
    when_text,
)
from .monitored import Alarm, Monitored

_DISPERSED = 1.5, 0.001
"""Periods vary more than independent rows let them: by this ratio of variances at least, at this p-value."""


def monitored_document(m: Monitored, naming: Naming, *, brief: bool) -> Document:
    """Describe what monitoring found."""
    named = f"{naming.name}: " if naming.name else ""
    ends = f"{m.periods[0]} to {m.periods[-1]}" if len(m.periods) > 1 else m.periods[0]
    tables = [*_requirements(m), _table(m, brief), *groups_tables(m, "calibration broke")]
    chart = None if brief else _evidence_chart(m)
    sections = []
    if not brief:
        charts = control_charts(m)[1:]
        sections = [
            *([Section("control", "Bias and slope over time", charts[:2], "Control chart", 6)] if charts else []),
            *([Section("scores", "Log loss and skill over time", charts[2:], "", 6)] if charts else []),
            Section("periods", "Periods", tables, "Periods"),
        ]
    return Document(
        title="Monitoring",
        facts=f"{named}{number_of(m.n_rows, 'forecast')} in {number_of(len(m.periods), 'period')}, {ends}",
        headline=_headline(m),
        lead=_lead(m),
        calm=bool(m),
        actions=list(_actions(m)),
        further=_to_look_up(m),
        figure=chart,
        sections=sections,
        summary=tables,
        settings=f"independent: {m.units}; level: {percent(m.level)}{_top_class(m)}",
        more="" if not brief else "--report PAGE.html, or to_html() in Python: the control chart; --plot: the same",
        warnings=list(_warnings(m)),
    )


def _top_class(m: Monitored) -> str:
    return "; mean prediction, bias and slope: of the most probable class" if len(m.labels) > 2 else ""


def _headline(m: Monitored) -> str:
    if m.alarm is not None:
        a = m.alarm
        if a.began == m.periods[0]:
            surely = "" if len(a.probable) == 1 else ", perhaps"
            return f"Miscalibrated{surely} from the first period on, {a.began}{range_text(a)}"
        return f"Calibration broke: most probably in {a.began}{range_text(a)}"
    if m.impossible is not None:
        return f"Predictions of exactly 0 or 1 were wrong, first in {m.impossible.period}"
    if not m:
        failed = [each.requirement for each in m.kept if not each.passed]
        return f"Failed: {', '.join(failed)}"
    return f"No alarm in {number_of(len(m.periods), 'period')}"


def _lead(m: Monitored) -> str:
    if m.alarm is None:
        if m.impossible is not None:
            return ""
        now = evidence_text(float(m.log_evidence[-1]))
        return (
            f"No evidence of miscalibration ({now} to 1; the alarm is at {limit_text(m)} to 1). This is no proof of"
            " calibration."
        )
    what = _what(m.alarm)
    groups = groups_text(m.alarm)
    failed = "".join(f" Failed after {each.failed}: {each.requirement}." for each in m.kept if not each.passed)
    return (f"{groups}: {what[:1].lower()}{what[1:]}." if groups else f"{what}.") + failed


def _what(a: Alarm) -> str:
    if a.verdict:
        return a.verdict
    return f"mean prediction {share(a.since.predicted)}, observed frequency {share(a.since.observed)}"


def _actions(m: Monitored) -> Iterator[Action]:
    a = m.alarm
    if m.impossible is not None:
        rows = number_of(m.impossible.rows, "prediction")
        yield Action(
            "Certain and wrong",
            f"{rows} of exactly 0 or 1 {'was' if m.impossible.rows == 1 else 'were'} wrong, first in"
            f" {m.impossible.period}. Calibrated forecasts have none; look at these rows, and keep predictions away"
            " from 0 and 1.",
            "Certain",
        )
    if a is None:
        return
    yield Action("When", when_text(a), "When")
    yield Action("What changed", _change(a), "Change")
    yield Action("Evidence", _evidence(m, a), "Rule")
    yield Action("What to do", _next(m, a), "Next")


def _to_look_up(m: Monitored) -> Action | None:
    """Name the command that explains what broke, and predictions of 0 or 1 that were wrong."""
    broke = [] if m.alarm is None or m.alarm.diagnosis is None else terms(m.alarm.diagnosis)
    return lookup([*broke, *[CERTAIN] * (m.impossible is not None)])


def _change(a: Alarm) -> str:
    where = "in the groups, " if len(a.groups) > 1 else "in the group, " if a.groups else ""
    about = f"{where}for {_event(a)}, " if a.event else where
    now = f"{share(a.since.predicted)} and {share(a.since.observed)} ({number_of(a.since.rows, 'forecast')})"
    then = f"{share(a.before.predicted)} and {share(a.before.observed)} ({number_of(a.before.rows, 'forecast')})"
    moved = f"{then} before, {now} since" if a.before.rows else now
    text = f"{about}mean prediction and observed frequency up to {a.until}: {moved}."
    return text[0].upper() + text[1:]


def _event(a: Alarm) -> str:
    return f"the {a.event}" if a.event == "most probable class" else f"class '{short_name(a.event, 40)}'"


def _evidence(m: Monitored, a: Alarm) -> str:
    risk = percent(m.level)
    exact = "" if m.units == "rows" else " Periods are the independent units, which makes this approximate."
    if _dispersed(m):
        return (
            f"{evidence_text(a.log_evidence)} to 1 against calibration; the alarm is at {limit_text(m)} to 1. This"
            " holds for independent rows, but periods vary more than such rows do, and the alarm may be false."
        )
    return (
        f"{evidence_text(a.log_evidence)} to 1 against calibration; the alarm is at {limit_text(m)} to 1. The"
        f" probability of ever a false alarm is at most {risk}, however often you look, and an alarm stands if the"
        f" evidence falls later.{exact}"
    )


def _next(m: Monitored, a: Alarm) -> str:
    if _dispersed(m):
        return (
            "Repeat this with periods as the units (--units periods): rows of a period may share a shock, such as the"
            " weather of a day."
        )
    change = f"Look for what changed in the model or its inputs {began_text(a)}. "
    these = "these forecasts" if a.began == m.periods[0] else f"the forecasts since {a.began}"
    return (
        f"{'' if a.began == m.periods[0] else change}Recalibrate the model on {these} or fit it anew, and begin a new"
        " watch with the first period after the repair (--since)."
    )


def _warnings(m: Monitored) -> Iterator[str]:
    ratio, p = m.dispersion
    if _dispersed(m):
        yield (
            f"periods vary more than independent rows do (the variance of their bias is {ratio:.1f} times as large,"
            f" {p_value_text(p)}), so that alarms may be false. If the rows of a period share a shock, such as the"
            " weather of a day, take periods as the units: --units periods."
        )


def _requirements(m: Monitored) -> list[Table]:
    if not m.kept:
        return []
    return [
        Table(
            "Requirements",
            [
                Column("requirement", [each.requirement for each in m.kept]),
                Column("value", [number(each.value) for each in m.kept]),
                Column("evidence against it", [evidence_text(each.log_evidence) for each in m.kept]),
                Column(
                    "result", ["pass" if each.passed else f"FAIL after {each.failed}" for each in m.kept], words=True
                ),
            ],
        )
    ]


def _dispersed(m: Monitored) -> bool:
    ratio, p = m.dispersion
    least, level = _DISPERSED
    return m.units == "rows" and ratio > least and p < level


def _table(m: Monitored, brief: bool) -> Table:
    after = dict(zip(m.periods, m.log_evidence.tolist(), strict=True))
    points = _some(m) if brief else m.control
    name, shown = _names(m, points)
    left_out = f": {len(points)} of {len(m.control)} rows" if len(points) < len(m.control) else ""
    limits = not brief and any(not math.isnan(each.bias_interval.low) for each in points)
    biases = [_limits(each.bias_interval) for each in points] if limits else ()
    return Table(
        f"Over time{left_out}",
        [
            Column(name, shown),
            Column("forecasts", [count(each.rows) for each in points]),
            Column("mean prediction", [share(each.predicted) for each in points]),
            Column("observed frequency", [share(each.observed) for each in points]),
            Column("bias (log-odds)", [_log_odds(each.bias) for each in points], biases),
            Column(
                "calibration slope",
                [number(each.calibration_slope, 2) for each in points],
                [_limits(each.slope_interval) for each in points],
                detail=True,
            ),
            Column("log loss", [number(each.log_loss) for each in points], detail=True),
            Column("skill", [number(each.skill) for each in points], detail=True),
            Column("evidence", [evidence_text(after[each.last]) for each in points]),
        ],
        notes="95% CI" if limits else "",
    )


def _some(m: Monitored) -> Sequence[ControlPoint]:
    """Choose rows: those around the beginning, where there is an alarm, and the last ones."""
    points = m.control
    if len(points) <= LAST or m.alarm is None:
        return points[-LAST:]
    at = m.periods.index(m.alarm.began)
    row = next((k for k, each in enumerate(points) if m.periods.index(each.last) >= at), len(points))
    around = range(max(0, row - LAST // 4), min(len(points), row + LAST // 4))
    last = range(len(points) - LAST + len(around), len(points))
    return [points[k] for k in sorted({*around, *last})]


def _together(m: Monitored) -> int:
    """Say how many periods are together in each row and point; 1 where that differs."""
    numbers = {m.periods.index(each.last) - m.periods.index(each.first) + 1 for each in m.control[:-1]}
    return numbers.pop() if len(numbers) == 1 else 1


def _names(m: Monitored, points: Sequence[ControlPoint]) -> tuple[str, list[str]]:
    """Head the column of periods, and name them: where as many are together in each row, the first of them."""
    if (together := _together(m)) > 1:
        return f"{together} periods from", [each.first for each in points]
    return "period", [each.first if each.first == each.last else f"{each.first} to {each.last}" for each in points]


def _log_odds(value: float) -> str:
    """Write what is nearer to 0 than two decimals show as 0."""
    return number(0.0 if abs(value) < 0.005 else value, 2)


def _limits(interval: Interval) -> str:
    return between(*interval, _log_odds)


def _evidence_chart(m: Monitored) -> Chart:
    return evidence_chart(m, "Evidence that calibration broke", _headline(m))


def control_charts(m: Monitored) -> list[Chart]:
    """Draw evidence, bias, calibration slope, log loss and skill over time, one chart each."""
    place = {name: float(at) for at, name in enumerate(m.periods)}
    x = np.array([(place[each.first] + place[each.last]) / 2 for each in m.control])
    charts, together = [_evidence_chart(m)], _together(m)
    each_of = f"; {together} periods a point" if together > 1 else ""
    if not m.control:
        return charts
    for title, better, name, ideal, limits in (
        ("Bias", "log-odds to be added to the predictions; 0 is best", "bias", 0.0, "bias_interval"),
        ("Calibration slope", "1 is best, below 1 is overconfident", "calibration_slope", 1.0, "slope_interval"),
        ("Log loss", "nats, smaller is better", "log_loss", None, ""),
        ("Skill", "log loss against the frequency in all periods, larger is better", "skill", 0.0, ""),
    ):
        values = np.array([getattr(each, name) for each in m.control])
        ends = [getattr(each, limits) for each in m.control] if limits else []
        low, high = (np.array([each[side] for each in ends]) for side in (0, 1)) if ends else (None, None)
        charts.append(chart_over_time(m, title, better + each_of, x, values, ideal, low, high))
    return charts
