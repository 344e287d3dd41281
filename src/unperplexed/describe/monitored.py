"""What monitoring found, as a document, and its control chart."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._lib.formatting import capital, number_of, percent
from ..calibration.diagnosis.kinds import KINDS
from ..calibration.diagnosis.words import terms
from ..monitoring.control import ControlPoint
from ..monitoring.history import WHOLE
from ..monitoring.monitored import Alarm, Impossible, Monitored, monitored_warnings
from ..monitoring.naming import TOP
from ..monitoring.pit_counts import PitPoint
from ..report.chart import Chart
from ..report.document import Action, Column, Document, Section, Table, lookup
from ..report.numbers import count, evidence_text, number, share
from ..report.result import Naming, document
from ..tally.periods import at
from . import alarm, over_time
from .assessment_words import TITLES

_SHOWN = 3
"""Groups of which tables and charts are shown."""


@document.register(Monitored)
def monitored_document(m: Monitored, naming: Naming, *, brief: bool) -> Document:
    """Describe what monitoring found."""
    shown = _shown(m)
    results = {name: alarm.result_text(m, name) for name in m.named} | dict.fromkeys(alarm.alike(m), "as all rows")
    tables = [
        *([_requirements(m)] if m.kept else []),
        *[_table(m, each, brief) for each in (shown if brief or not m.named else (WHOLE, *shown))],
        *([over_time.groups_table(m, results)] if m.groups else []),
    ]
    chart = None if brief else _evidence_chart(m)
    top = "; mean prediction, calibration intercept and slope: of the most probable class" * (len(m.labels) > 2)
    settings = f"clusters: {m.clusters}; confidence: {percent(m.confidence)}{top}"
    warnings = list(monitored_warnings(m))
    sections = []
    if not brief:
        headings = ("Bias and slope", "Log loss and skill") if m.labels else ("Bias and width", "Coverage")
        charts = [_panels(m, each) for each in shown]
        control, scores = ([chart for each in charts for chart in each[part]] for part in (slice(2), slice(2, None)))
        sections = [
            *([Section("control", f"{headings[0]} over time", control, "Control chart", 6)] if control else []),
            *([Section("scores", f"{headings[1]} over time", scores, "", 6)] if scores else []),
            Section("periods", "Periods", tables, "Periods"),
            over_time.details(settings, warnings),
        ]
    return Document(
        title="Monitoring",
        facts=over_time.facts(m, naming, "forecast"),
        headline=_headline(m),
        lead=_lead(m),
        calm=bool(m),
        actions=list(_actions(m)),
        further=_to_look_up(m),
        figure=chart,
        sections=sections,
        summary=tables,
        settings=settings,
        more="" if not brief else "--report PAGE.html, or to_html() in Python: the control chart; --plot: the same",
        warnings=warnings,
    )


def _shown(m: Monitored) -> tuple[str, ...]:
    """Name the groups whose numbers are shown: those of the first alarms; all rows together where no group is named."""
    names = dict.fromkeys(name for each in m.alarms for name in each.groups)
    return tuple(names)[:_SHOWN] or (WHOLE,)


def _headline(m: Monitored) -> str:
    if m.alarm is not None:
        told = alarm.about(m)
        a = told[0]
        if len(told) > 1:
            n, of = len(told), len(m.groups)
            over = "" if a.over is None else ", and these errors are over"
            return f"Calibration broke in {f'all {n}' if n == of else f'{n} of {of}'} groups{over}"
        if a.over is not None:
            return f"Calibration broke, and that error is over: {alarm.span(a)}"
        if alarm.from_first(a):
            return f"Miscalibrated{'' if len(a.probable) == 1 else ','} {alarm.first_text(a)}"
        if alarm.grew(a):
            return f"Calibration broke, and the error grew: seen since {a.began}{over_time.range_text(a)}"
        where = f" in 1 of {len(m.groups)} groups" if a.groups and len(m.groups) > 1 else ""
        if m.periods[0] in a.probable:
            first = f"Miscalibrated{where}, perhaps from the first period on"
            return f"{first}: most probably since {a.began}{over_time.range_text(a)}"
        return f"Calibration broke{where}: most probably {at(a.began)}{over_time.range_text(a)}"
    if m.impossible is not None:
        whose = _of_groups(m, m.impossible)
        what = "Predictions of exactly 0 or 1 were wrong" if m.labels else "Outcomes were held impossible"
        return f"{what}, first {at(m.impossible.period)}{whose}"
    if not m:
        failed = [each.requirement for each in m.kept if not each.passed]
        return f"Failed: {', '.join(failed)}"
    none = f"No alarm in {number_of(len(m.periods), 'period')}"
    if not (m.in_phases or m.sees_little):
        return none
    reach = f"forecasts reach {m.phases} periods ahead, so " if m.in_phases else ""
    little = ", but this watch sees little: " if m.sees_little else "; "
    return f"{none}{little}{reach}even a gross error takes about {m.earliest} periods to show"


def _lead(m: Monitored) -> str:
    if m.alarm is None:
        if m.impossible is not None:
            return ""
        now = f"{evidence_text(float(m.log_evidence[-1]))} to 1; the alarm is at {over_time.limit_text(m)} to 1"
        if m.earliest:
            return f"The evidence is {now}. {_all_forecasts(m)}"
        return f"No evidence of miscalibration ({now}). This is no proof of calibration."
    current = alarm.about(m)
    if len(current) > 1:
        told = [f"{alarm.sentence(m, each, alarm.since_text(each))}." for each in current[: over_time.MOST_GROUPS]]
        further = len(current) - over_time.MOST_GROUPS
        more = [f"{further} more: see the groups."] * (further > 0)
    else:
        told = [f"{alarm.sentence(m, m.alarm)}."]
        more = ["The groups do not differ beyond chance."] * bool(alarm.alike(m))
        if m.alarm.over is not None:
            more.append(alarm.after_text(m.alarm, m.alarm.over))
    failed = [f"Failed after {each.failed}: {each.requirement}." for each in m.kept if not each.passed]
    return " ".join([*told, *more, *failed])


def _all_forecasts(m: Monitored) -> str:
    """Say what all forecasts together show, and where that is tested."""
    p, by_step = m.whole, ", and --by horizon watches each step ahead by itself" * m.in_phases
    if math.isnan(p.bias + p.width):
        return f"assess tests all forecasts at once{by_step}."
    return (
        f"All forecasts together look {abs(p.bias):.2f} spreads too {'low' if p.bias > 0 else 'high'}, and intervals"
        f" should be {p.width:.2f} times as wide: assess tests whether that is chance{by_step}."
    )


def _actions(m: Monitored) -> Iterator[Action]:
    a = m.alarm
    if m.impossible is not None:
        n, first = m.impossible.rows, f"first {at(m.impossible.period)}{_of_groups(m, m.impossible)}"
        were = "was" if n == 1 else "were"
        what = f"{number_of(n, 'prediction')} of exactly 0 or 1 {were} wrong, {first}"
        remedy = "keep predictions away from 0 and 1"
        if not m.labels:
            what = f"{number_of(n, 'outcome')} {were} outside of all that was held possible, {first}"
            remedy = "let the distributions reach further"
        text = f"{what}. Calibrated forecasts have none; look at these rows, and {remedy}."
        yield Action("Certain and wrong", text, "Certain")
    if a is None:
        return
    told = alarm.about(m)
    if len(told) > 1:
        for each in told[: over_time.MOST_GROUPS]:
            group = over_time.names_text(m, each.groups)
            after = "" if each.over is None else f" {alarm.after_text(each, each.over)}"
            text = f"{group}: {alarm.when(m, each)} {alarm.change_text(each, whose='')}{after}"
            yield Action(capital(over_time.groups_text(m, each.groups)), text, "Group")
    else:
        yield Action("When", capital(alarm.when(m, a)), "When")
        size = alarm.change_text(a, "in the group, " if a.groups else "")
        yield Action("What is wrong", size, "Size") if alarm.from_first(a) else Action("What changed", size, "Change")
    ended = [each for each in m.others if each.over is not None and each not in told]
    if ended:
        yield Action("Errors that are over", alarm.ended_text(m, ended), "Over")
    yield Action("Evidence", alarm.rule_text(m, a), "Rule")
    yield Action("What to do", alarm.next_text(m, told), "Next")


def _of_groups(m: Monitored, found: Impossible) -> str:
    """Name the groups with such predictions, behind a comma."""
    named = over_time.groups_text(m, found.groups)
    return f", in {named}" if named else ""


def _to_look_up(m: Monitored) -> Action | None:
    """Name the command that explains what broke, and predictions of 0 or 1 that were wrong."""
    shown = alarm.about(m)[: over_time.MOST_GROUPS]
    broke = [term for each in shown if each.diagnosis is not None for term in terms(each.diagnosis)]
    return lookup([*broke, *KINDS["certainty"].terms[: m.impossible is not None]])


def _requirements(m: Monitored) -> Table:
    results = ["pass" if each.passed else f"FAIL after {each.failed}" for each in m.kept]
    return Table.of(
        "Requirements",
        Column("requirement", [each.requirement for each in m.kept]),
        Column("value", [number(each.value) for each in m.kept]),
        Column("evidence against it", [evidence_text(each.log_evidence) for each in m.kept]),
        Column("result", results, words=True),
    )


def _over_time(m: Monitored, group: str) -> tuple[Sequence[float], tuple[Any, ...]]:
    """Give the evidence after each period, and the control points, of a group or of all rows."""
    if group == WHOLE:
        return m.log_evidence.tolist(), m.control
    return m.named[group].log_evidence, m.named[group].control


def _table(m: Monitored, group: str, brief: bool) -> Table:
    evidence, control = _over_time(m, group)
    after = dict(zip(m.periods, evidence, strict=True))
    chosen = _some(m, group, control) if brief else range(len(control))
    points = [control[k] for k in chosen]
    name, names = _names(m, control, points)
    caption = "Over time" if group == WHOLE else f"{capital(over_time.groups_text(m, [group]))} over time"
    if len(m.labels) > 2:
        caption += f", {TOP}"
    if any(getattr(each, "by", "") == "cells" for each in points):
        caption += " (from cells: approximate)"
    elif len(m.labels) > 2 and not brief:
        caption += "; log loss and skill of all classes"
    limits = not brief and any(not math.isnan(each.bias_interval.low) for each in points)
    biases = [alarm.limits_text(each.bias_interval) for each in points] if limits else ()
    shown = alarm.shown_in(told[0])[0] if (told := _told(m, group)) else "bias"
    figures = _of_classes(points, biases, brief, shown) if m.labels else _of_numbers(points, biases, brief)
    columns = [
        Column(name, names),
        Column("forecasts", [count(each.rows) for each in points]),
        *figures,
        Column("evidence", [evidence_text(after[each.last]) for each in points]),
    ]
    return Table(
        f"{caption}: {len(points)} of {len(control)} rows" if len(points) < len(control) else caption,
        [_with_gaps(each, chosen, "..." if each is columns[0] else "") for each in columns],
        notes="95% CI" if limits else "",
    )


def _of_classes(points: Sequence[ControlPoint], biases: Sequence[str], brief: bool, shown: str) -> list[Column]:
    slopes = () if brief else [alarm.limits_text(each.slope_interval) for each in points]
    return [
        Column("mean prediction", [share(each.predicted) for each in points]),
        Column("observed frequency", [share(each.observed) for each in points]),
        Column("calibration intercept", [_log_odds(each.bias) for each in points], biases, detail=shown != "bias"),
        Column("calibration slope", [number(each.slope, 2) for each in points], slopes, detail=shown != "slope"),
        Column("log loss", [number(each.log_loss) for each in points], detail=shown != "loss"),
        Column("skill", [number(each.skill) for each in points], detail=True),
    ]


def _of_numbers(points: Sequence[PitPoint], biases: Sequence[str], brief: bool) -> list[Column]:
    widths = () if brief else [alarm.limits_text(each.width_interval) for each in points]
    return [
        Column("held by 80% intervals", [share(each.held) for each in points]),
        Column("too low by (spreads)", [_log_odds(each.bias) for each in points], biases),
        Column("width factor needed", [number(each.width, 2) for each in points], widths),
    ]


def _some(m: Monitored, group: str, control: Sequence[ControlPoint]) -> Sequence[int]:
    """Choose rows by number: those nearest to the beginnings, alarms and ends of errors and to the last row."""
    ends = [m.periods.index(each.last) for each in control]
    places = [len(control)]
    for each in _told(m, group):
        places += [bisect_left(ends, m.periods.index(period)) for period in (each.began, each.period)]
        if each.over is not None:
            places.append(bisect_left(ends, m.periods.index(each.until)) + 1)

    def distance(row: int) -> tuple[float, int]:
        return min((abs(row + 0.5 - place), number) for number, place in enumerate(places))

    return sorted(sorted(range(len(control)), key=distance)[: over_time.LAST])


def _with_gaps(column: Column, rows: Sequence[int], sign: str) -> Column:
    """Put a sign between rows that are no neighbours."""
    gaps = [k for k in range(1, len(rows)) if rows[k] > rows[k - 1] + 1]
    values, notes = [*column.values], [*column.notes]
    for k in reversed(gaps):
        values.insert(k, sign)
        if notes:
            notes.insert(k, "")
    return replace(column, values=values, notes=notes)


def _own(m: Monitored, group: str) -> tuple[list[Alarm], list[Alarm]]:
    """Give the alarms of a group, or of all rows together: those of errors that go on, and all."""
    own = [each for each in m.alarms if group in (each.groups or (WHOLE,))]
    return [each for each in own if each.over is None], own


def _told(m: Monitored, group: str) -> list[Alarm]:
    """Give those of errors that go on, or else all."""
    current, own = _own(m, group)
    return current or own


def _together(m: Monitored, control: Sequence[ControlPoint]) -> int:
    """Say how many periods are together in each row and point; 1 where that differs."""
    numbers = {m.periods.index(each.last) - m.periods.index(each.first) + 1 for each in control[:-1]}
    return numbers.pop() if len(numbers) == 1 else 1


def _names(m: Monitored, control: Sequence[ControlPoint], points: Sequence[ControlPoint]) -> tuple[str, list[str]]:
    """Head the column of periods, and name them: where as many are together in each row, the first of them."""
    if (together := _together(m, control)) > 1:
        return f"{together} periods from", [each.first for each in points]
    return "period", [each.first if each.first == each.last else f"{each.first} to {each.last}" for each in points]


def _log_odds(value: float) -> str:
    """Write what is nearer to 0 than two decimals show as 0."""
    return number(0.0 if abs(value) < 0.005 else value, 2)


def _evidence_chart(m: Monitored) -> Chart:
    return over_time.evidence_chart(
        m, "Evidence that calibration broke", _headline(m), over_time.marks(alarm.going_on(m), m.alarms)
    )


def control_charts(m: Monitored) -> list[Chart]:
    """Draw evidence, bias, calibration slope, log loss and skill over time, one chart each.

    All but the evidence are those of the group with the strongest alarm, if there is one; bias and slope of others
    follow.
    """
    first, *others = (_panels(m, each) for each in _shown(m))
    return [_evidence_chart(m), *first, *[chart for each in others for chart in each[:2]]]


def _panels(m: Monitored, group: str) -> list[Chart]:
    """Draw bias, calibration slope, log loss and skill of a group or of all rows."""
    control = _over_time(m, group)[1]
    if not control:
        return []
    place = {name: float(at) for at, name in enumerate(m.periods)}
    x = np.array([(place[each.first] + place[each.last]) / 2 for each in control])
    together = _together(m, control)
    each_of = f"; {together} periods a point" if together > 1 else ""
    marked = over_time.marks(*_own(m, group))
    whose = "" if group == WHOLE else f", {over_time.groups_text(m, [group])}"
    charts = []
    for title, better, name, ideal, limits in _CHARTS if m.labels else _CHARTS_OF_NUMBERS:
        values = np.array([getattr(each, name) for each in control])
        band = np.array([getattr(each, limits) for each in control]).T if limits else None
        whole, about = f"{title}{whose}", f"{better}{each_of}"
        charts.append(over_time.chart_over_time(m, whole, about, x, values, marked, ideal, band))
    return charts


_CHARTS: Sequence[tuple[str, str, str, float | None, str]] = (
    (TITLES["intercept"], "to be added to the log-odds; 0 is best", "bias", 0.0, "bias_interval"),
    (TITLES["slope"], "1 is best, below 1 is overconfident", "slope", 1.0, "slope_interval"),
    ("Log loss", "nats, smaller is better", "log_loss", None, ""),
    ("Skill", "log loss against the frequencies in the same periods, larger is better", "skill", 0.0, ""),
)
_CHARTS_OF_NUMBERS: Sequence[tuple[str, str, str, float | None, str]] = (
    ("Too low by", "in predicted spreads; 0 is best", "bias", 0.0, "bias_interval"),
    ("Width factor needed", "1 is best, above 1 is too narrow", "width", 1.0, "width_interval"),
    ("Held by 80% intervals", "share of the outcomes; 0.8 is expected", "held", 0.8, ""),
)

over_time.drawn_over_time(Monitored, control_charts)
