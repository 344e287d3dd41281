"""What results of monitoring have in common, in words and pictures: evidence, beginning, groups, charts over time.

Drift of the predictions alone, as a document, and its charts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._lib.formatting import capital, number_of, p_value_text, percent, short_name, short_names
from .._lib.typing import Floats
from ..monitoring.alarms import Began
from ..monitoring.drifted import Drift, Shift
from ..monitoring.measures import PredictionSummary
from ..monitoring.monitored import Monitored
from ..monitoring.naming import TOP
from ..report.chart import Axis, Chart, Line, Points, Reference, value_axis
from ..report.document import LONGEST_NAME, Action, Column, Document, Notes, Prose, Section, Table
from ..report.numbers import MOST_EVIDENCE, between, count, evidence_text, number, share, signed
from ..report.result import Figure, Naming, document, picture_size, pictures
from ..statistics.intervals import alpha_of
from ..tally.periods import at

MOST_GROUPS = 5
"""Groups that text names."""

LAST = 12
"""Rows of the table over time that text shows."""

_TICKS = 5
"""Periods that are named on the axis, at most."""

_ABOVE = 0.25
"""Room above the evidence, in powers of ten."""
_INCHES = (6.8, 2.5)
"""Width of a chart over time, and height of each of its parts."""


Watched = Monitored | Drift

_NUMBERS = re.compile(r"[-+.\d]+(, [-+.\d]+)*")
"""Names of groups that are numbers."""


def limit_text(m: Watched) -> str:
    """Give the evidence of the alarm."""
    limit = 1 / alpha_of(m.confidence)
    return f"{round(limit):,}" if limit >= 100 else f"{limit:.3g}"


def range_text(a: Began) -> str:
    """Give the periods in which it probably began; "" for one."""
    if len(a.probable) == 1:
        return ""
    return f" (95% range {a.probable[0]} to {a.probable[-1]})"


def began_text(a: Began) -> str:
    """Say where to look for what changed."""
    again = f", and again {at(a.further)}" if a.further else ""
    if len(a.probable) == 1:
        return at(a.began) + again
    return f"between {a.probable[0]} and {a.probable[-1]}, most probably {at(a.began)}{again}"


def when_text(a: Began) -> str:
    """Say when the alarm came, and when it began, inside a sentence."""
    many = len(a.probable)
    which = "the alarm" if a.number == 1 else f"Alarm {a.number}"
    spread = f" With 95% probability it began in one of {many} periods: {_periods(a)}." if many > 1 else ""
    further = f" The periods since then show a further change, most probably {at(a.further)}." if a.further else ""
    over = "" if a.until == a.period else f" The evidence was strongest after {a.until}."
    return f"{which} came after {a.period}.{spread}{further}{over}"


def _periods(a: Began) -> str:
    names = a.probable if len(a.probable) <= 4 else (*a.probable[:3], "...", a.probable[-1])
    return ", ".join(names)


def event_text(a: Began) -> str:
    """Name the event that an alarm is of."""
    return f"the {a.event}" if a.event == TOP else f"class '{short_name(a.event)}'"


def facts(m: Watched, naming: Naming, what: str) -> str:
    """Count the forecasts and the periods, and name the first and the last of these."""
    named = f"{naming.name}: " if naming.name else ""
    ends = f"{m.periods[0]} to {m.periods[-1]}" if len(m.periods) > 1 else m.periods[0]
    return f"{named}{number_of(m.n_rows, what)} in {number_of(len(m.periods), 'period')}, {ends}"


def groups_text(m: Watched, names: Sequence[str]) -> str:
    """Name groups; "" for none."""
    if not names:
        return ""
    if len(names) == len(m.groups) > 1:
        return f"all {len(names)} groups"
    named = names_text(m, names)
    return f"group{'s' * (len(names) > 1)} {named}" if named.startswith("'") else named


def names_text(m: Watched, names: Sequence[str]) -> str:
    """Name the first of some groups, and say how many more there are; a number says nothing without its column."""
    by = short_name(", ".join(getattr(m, "by", ())))
    bare = by and all(map(_NUMBERS.fullmatch, names))
    some = ", ".join(f"{by} {each}" if bare else f"'{short_name(each)}'" for each in names[:MOST_GROUPS])
    return some + (f" and {len(names) - MOST_GROUPS} more" if len(names) > MOST_GROUPS else "")


def groups_table(m: Watched, results: Mapping[str, str]) -> Table:
    """Give the evidence of each group by itself, and what became of those with alarms."""
    names = sorted(m.groups, key=lambda name: -m.groups[name])
    return Table.of(
        "Groups",
        Column(short_name(", ".join(getattr(m, "by", ()))) or "group", short_names(names, LONGEST_NAME)),
        Column("largest evidence", [evidence_text(m.groups[name]) for name in names]),
        Column("result", [results.get(name, "no alarm") for name in names], words=True),
    )


def details(settings: str, warnings: Sequence[str]) -> Section:
    """Give settings and warnings as the last part of a page."""
    notes = [Notes("Warnings", warnings)] if warnings else []
    return Section("details", "Details", [Prose(f"Settings: {settings}.", quiet=True), *notes], "Details")


def evidence_chart(m: Watched, title: str, headline: str, marked: Marks) -> Chart:
    """Draw the evidence after each period, by powers of ten, with the limit of the alarm.

    Parameters
    ----------
    m : Monitored or Drift
        What has the evidence.
    title, headline : str
        What the evidence is of, and what was found.
    marked : Marks
        Periods with a vertical line.

    Returns
    -------
    Chart
    """
    tens = np.clip(m.log_evidence / math.log(10), -1.0, MOST_EVIDENCE)
    limit = m.log_limit / math.log(10)
    top = max(2.0, min(float(tens.max()) + 0.2, MOST_EVIDENCE), limit + 0.5) + _ABOVE
    ticks = [(float(at), f"{10**at:,}" if at >= 0 else f"{10.0**at:g}") for at in range(-1, int(top) + 1)]
    x = np.arange(len(m.periods), dtype=np.float64)
    return Chart(
        title=title,
        subtitle=f"After each period; dashed, the alarm at {limit_text(m)} to 1{marked.meaning}",
        label=f"Evidence after each of {number_of(len(m.periods), 'period')}; {headline}.",
        x=_time_axis(m),
        y=Axis(-1.0, top, ticks, "Evidence"),
        lines=[Line(x, tens, "first", "Evidence")] if x.size > 1 else [],
        points=[] if x.size > 1 else [Points(x, tens, None, None, "first")],
        references=(Reference(_ends(m), (limit, limit)), *_verticals(m, marked, -1.0, top)),
    )


def chart_over_time(
    m: Watched,
    title: str,
    better: str,
    x: Floats,
    values: Floats,
    marked: Marks,
    ideal: float | None = None,
    limits: Floats | None = None,
) -> Chart:
    """Draw numbers of periods, with what is ideal and their limits, where there are any.

    Parameters
    ----------
    m : Monitored or Drift
        What has the periods.
    title, better : str
        What the numbers are, and of what or which of them are better.
    x, values : array of shape (n,)
        Places on the axis of periods, and the numbers; NaN where one is not known.
    marked : Marks
        Periods with a vertical line.
    ideal : float, optional
        Value of a dashed line.
    limits : array of shape (2, n), optional
        Lower and upper confidence limits. They are drawn if all are known.

    Returns
    -------
    Chart
    """
    there = np.isfinite(values)
    x, values = x[there], values[there]
    shown = [values, np.array([] if ideal is None else [ideal])]
    band = np.empty((2, 0)) if limits is None else limits[:, there]
    known = band.size > 0 and bool(np.isfinite(band[0]).all())
    if known:
        most = np.quantile(band, [0.05, 0.95])
        shown.append(band.ravel() if np.ptp(band) < 2 * np.ptp(most) else most)  # those of few rows would flatten it
    every = np.concatenate(shown) if values.size else np.array([0.0, 1.0])
    axis = value_axis(float(every.min()), float(every.max()), title)
    low, high = np.clip(band, axis.low, axis.high) if known else (None, None)
    return Chart(
        title=title,
        subtitle=capital(better) + ("" if values.size else "; not determined"),
        label=f"{title} over time ({better}): {number(float(values[0]), 2)} at first and {number(float(values[-1]), 2)}"
        " at the end."
        if values.size
        else f"{title}: not determined.",
        x=_time_axis(m),
        y=axis,
        points=[Points(x, values, low, high, "first")] if values.size else [],
        references=(
            *(() if ideal is None else (Reference(_ends(m), (ideal, ideal)),)),
            *_verticals(m, marked, axis.low, axis.high),
        ),
    )


class Marks(NamedTuple):
    """Periods that charts mark, and what they are."""

    periods: tuple[str, ...] = ()
    meaning: str = ""


def marks(going_on: Sequence[Began], over: Sequence[Began] = ()) -> Marks:
    """Mark the most probable beginnings of errors that go on; else beginning and end of the first that is over."""
    ends = [end for a in over[:1] for end in (a.began, a.until)]
    periods = tuple(dict.fromkeys([each.began for each in going_on] or ends))
    many = "s" * (len(periods) > 1)
    what = f"beginning{many}" if going_on else "beginning and end" if many else "period of the error"
    return Marks(periods, f"; vertical line{many}, most probable {what}") if periods else Marks()


def _verticals(m: Watched, marked: Marks, low: float, high: float) -> tuple[Reference, ...]:
    places = [float(m.periods.index(each)) for each in marked.periods]
    return tuple(Reference((each, each), (low, high)) for each in places)


def _ends(m: Watched) -> tuple[float, float]:
    return (-0.5, len(m.periods) - 0.5)


def _time_axis(m: Watched) -> Axis:
    n = len(m.periods)
    at = range(0, n, math.ceil(n / _TICKS))
    return Axis(*_ends(m), [(float(each), short_name(m.periods[each], 12)) for each in at], "Period (equally spaced)")


def drawn_over_time(kind: type, charts_of: Callable[[Any], Sequence[Chart]]) -> None:
    """Let matplotlib draw results of a type as charts one below the other, at the size that suits these."""

    @picture_size.register(kind)
    def size(m: Watched) -> tuple[float, float]:
        return _INCHES[0], _INCHES[1] * len(charts_of(m))

    @pictures.register(kind)
    def draw_over_time(m: Watched, figure: Figure | None) -> Figure:
        from ..report.matplotlib_chart import draw_below

        return draw_below(charts_of(m), size(m), figure)


_RESEMBLING = 0.2, 0.001
"""Successive periods resemble each other: by this correlation at least, at this p-value."""

_WEAKER = "This says nothing about calibration, which needs outcomes"


@document.register(Drift)
def drift_document(m: Drift, naming: Naming, *, brief: bool) -> Document:
    """Describe whether the predictions changed."""
    changed = dict.fromkeys(m.alarm.groups if m.alarm else (), "changed")
    tables = [_table(m, brief), *([groups_table(m, changed)] if m.groups else [])]
    charts = [] if brief else drift_charts(m)
    about = f"; mean and spread: of the {TOP}" if len(m.labels) > 2 else ""
    settings, warnings = f"clusters: period; confidence: {percent(m.confidence)}{about}", list(_warnings(m))
    sections = [
        *([Section("control", "Mean and spread over time", charts[1:], "Over time", 6)] if charts[1:] else []),
        *([] if brief else [Section("periods", "Periods", tables, "Periods"), details(settings, warnings)]),
    ]
    return Document(
        title="Drift of the predictions",
        facts=facts(m, naming, "prediction"),
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
    return f"The predictions changed: most probably {at(m.alarm.began)}{range_text(m.alarm)}"


def _lead(m: Drift) -> str:
    if m.alarm is None:
        now = evidence_text(float(m.log_evidence[-1]))
        few = f"Even a clear change halfway is seen only from {m.enough_periods} periods on. " if m.too_few else ""
        return f"{few}Evidence of a change: {now} to 1; the alarm is at {limit_text(m)} to 1. {_WEAKER}."
    what, groups = _what(m.alarm), groups_text(m, m.alarm.groups)
    return f"{capital(f'{groups}: {what}' if groups else what)}. {_WEAKER}."


def _what(a: Shift) -> str:
    """Say what changed by the measure by which it was seen most clearly."""
    about = f" of {event_text(a)}" if a.event else ""
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
    yield Action("When", capital(when_text(a)), "When")
    yield Action("What changed", _change(a), "Change")
    yield Action(
        "Evidence",
        f"{evidence_text(a.log_evidence)} to 1 against an unchanged distribution; the alarm is at"
        f" {limit_text(m)} to 1. If periods are exchangeable, the probability of ever a false alarm is at"
        f" most {percent(alpha_of(m.confidence))}, however often you look.",
        "Rule",
    )
    yield Action(
        "What to do",
        f"Look for what changed {began_text(a)}: the cases, a season, or the model's inputs. Monitor"
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
    shown = list(zip(m.points, evidence, strict=True))[-LAST if brief else 0 :]
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
    marked = marks([m.alarm] if m.alarm else [])
    return [
        evidence_chart(m, "Evidence that the predictions changed", _headline(m), marked),
        chart_over_time(m, "Mean log-odds", "of the predictions", x, mean, marked),
        chart_over_time(m, "Standard deviation", "of the log-odds", x, spread, marked),
    ]


drawn_over_time(Drift, drift_charts)
