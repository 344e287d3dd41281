"""Drift of the predictions alone, as a document, and its charts."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._lib.formatting import capital, number_of, p_value_text, percent
from ..monitoring.drifted import Drift, Shift
from ..monitoring.measures import PredictionSummary
from ..monitoring.naming import TOP
from ..report.chart import Chart
from ..report.document import Action, Column, Document, Section, Table
from ..report.numbers import between, count, evidence_text, number, share, signed
from ..report.result import Naming, document
from ..statistics.intervals import alpha_of
from ..tally.periods import at
from . import over_time

_RESEMBLING = 0.2, 0.001
"""Successive periods resemble each other: by this correlation at least, at this p-value."""

_WEAKER = "This says nothing about calibration, which needs outcomes"


@document.register(Drift)
def drift_document(m: Drift, naming: Naming, *, brief: bool) -> Document:
    """Describe whether the predictions changed."""
    changed = dict.fromkeys(m.alarm.groups if m.alarm else (), "changed")
    tables = [_table(m, brief), *([over_time.groups_table(m, changed)] if m.groups else [])]
    charts = [] if brief else drift_charts(m)
    about = f"; mean and spread: of the {TOP}" if len(m.labels) > 2 else ""
    settings, warnings = f"clusters: period; confidence: {percent(m.confidence)}{about}", list(_warnings(m))
    sections = [
        *([Section("control", "Mean and spread over time", charts[1:], "Over time", 6)] if charts[1:] else []),
        *([] if brief else [Section("periods", "Periods", tables, "Periods"), over_time.details(settings, warnings)]),
    ]
    return Document(
        title="Drift of the predictions",
        facts=over_time.facts(m, naming, "prediction"),
        headline=_headline(m),
        lead=_lead(m),
        calm=bool(m),
        actions=list(_actions(m)),
        figure=charts[0] if charts else None,
        sections=sections,
        summary=tables,
        settings=settings,
        more="--report PAGE.html, or to_html() in Python: mean and spread over time; --plot: the same" if brief else "",
        warnings=warnings,
    )


def _headline(m: Drift) -> str:
    if m.too_few:
        return f"Too few periods to tell: {count(len(m.periods))}"
    if m.alarm is None:
        return f"No change of the predictions in {number_of(len(m.periods), 'period')}"
    return f"The predictions changed: most probably {at(m.alarm.began)}{over_time.range_text(m.alarm)}"


def _lead(m: Drift) -> str:
    if m.alarm is None:
        now = evidence_text(float(m.log_evidence[-1]))
        few = f"Even a clear change halfway is seen only from {m.enough_periods} periods on. " if m.too_few else ""
        return f"{few}Evidence of a change: {now} to 1; the alarm is at {over_time.limit_text(m)} to 1. {_WEAKER}."
    what, groups = _what(m.alarm), over_time.groups_text(m, m.alarm.groups)
    return f"{capital(f'{groups}: {what}' if groups else what)}. {_WEAKER}."


def _what(a: Shift) -> str:
    """Say what changed by the measure by which it was seen most clearly."""
    about = f" of {over_time.event_text(a)}" if a.event else ""
    if a.measure == "mean":
        return f"mean log-odds{about} {signed(a.since.log_odds - a.before.log_odds, 2)}"
    if a.measure == "spread":
        spreads = f"{number(a.since.spread, 2)} instead of {number(a.before.spread, 2)}"
        return f"standard deviation of the log-odds{about} {spreads}"
    low, high, before, since = a.moved
    where = "of exactly 0 or 1" if low == high else f"from {between(low, high, share)}"
    return f"predictions {where}{about} are {share(since)} instead of {share(before)}"


def _actions(m: Drift) -> Iterator[Action]:
    a = m.alarm
    if a is None:
        return
    yield Action("When", capital(over_time.when_text(a)), "When")
    yield Action("What changed", _change(a), "Change")
    yield Action(
        "Evidence",
        f"{evidence_text(a.log_evidence)} to 1 against an unchanged distribution; the alarm is at"
        f" {over_time.limit_text(m)} to 1. If periods are exchangeable, the probability of ever a false alarm is at"
        f" most {percent(alpha_of(m.confidence))}, however often you look.",
        "Rule",
    )
    yield Action(
        "What to do",
        f"Look for what changed {over_time.began_text(a)}: the cases, a season, or the model's inputs. Monitor"
        " calibration once outcomes are known. If the change is intended, begin a new watch with its first period"
        " (--restart).",
        "Next",
    )


def _change(a: Shift) -> str:
    where = "" if not a.groups else f"In the group{'s' * (len(a.groups) > 1)}: "
    return capital(f"{where}{_summary(a.before)} before, {_summary(a.since)} since, up to {a.until}.")


def _summary(of: PredictionSummary) -> str:
    rows = number_of(of.rows, "prediction")
    if math.isnan(of.log_odds):
        return f"{rows} of exactly 0 or 1"
    spread = number(of.spread, 2)
    return (
        f"mean prediction {share(of.mean)}, mean log-odds {number(of.log_odds, 2)} and standard deviation {spread}"
        f" ({rows})"
    )


def _warnings(m: Drift) -> Iterator[str]:
    if all(math.isnan(each.mean) for each in m.points):
        yield (
            "all predictions are exactly 0 or 1. How many there are is tested, but not how many of them are 1: a change"
            " from one to the other is not seen."
        )
    correlation, p = m.resemblance
    which = "the" if m.alarm is not None else "an"
    if correlation > _RESEMBLING[0] and p < _RESEMBLING[1]:
        yield (
            f"successive periods resemble each other (correlation of their means {number(correlation, 2)},"
            f" {p_value_text(p)}), so that {which} alarm may be false. Take longer periods, such as weeks:"
            " --time COLUMN:week."
        )


def _table(m: Drift, brief: bool) -> Table:
    evidence = m.log_evidence.tolist()
    shown = list(zip(m.points, evidence, strict=True))[-over_time.LAST if brief else 0 :]
    earlier = len(m.points) - len(shown)
    points = [each for each, _ in shown]
    return Table.of(
        f"Over time, the last {len(points)} of {len(m.points)} periods" if earlier else "Over time",
        Column("period", [each.period for each in points]),
        Column("predictions", [count(each.rows) for each in points]),
        Column("mean prediction", [share(each.mean) for each in points]),
        Column("mean log-odds", [number(each.log_odds, 2) for each in points]),
        Column("standard deviation", [number(each.spread, 2) for each in points]),
        Column("evidence", [evidence_text(each) for _, each in shown]),
    )


def drift_charts(m: Drift) -> list[Chart]:
    """Draw evidence, and mean and spread of the log-odds over time, one chart each."""
    x = np.arange(len(m.points), dtype=np.float64)
    mean, spread = (np.array([getattr(each, name) for each in m.points]) for name in ("log_odds", "spread"))
    marked = over_time.marks([m.alarm] if m.alarm else [])
    return [
        over_time.evidence_chart(m, "Evidence that the predictions changed", _headline(m), marked),
        over_time.chart_over_time(m, "Mean log-odds", "of the predictions", x, mean, marked),
        over_time.chart_over_time(m, "Standard deviation", "of the log-odds", x, spread, marked),
    ]


over_time.drawn_over_time(Drift, drift_charts)
