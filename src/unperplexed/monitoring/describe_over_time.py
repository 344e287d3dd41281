"""What results of monitoring have in common, in words and pictures: evidence, beginning, groups, charts over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import number_of, short_name
from .._lib.typing import Floats
from ..report.chart import Axis, Chart, Line, Points, Reference, value_axis
from ..report.document import Column, Table
from ..report.numbers import MOST_EVIDENCE, evidence_text, number
from .alarms import Began
from .drifted import Drift
from .monitored import Monitored

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAST = 12
"""Rows of the table over time that text shows."""

_TICKS = 5
_ABOVE = 0.25
"""Room above the evidence, in powers of ten."""
_INCHES = (6.8, 2.5)
"""Width of a chart over time, and height of each of its parts."""


Watched = Monitored | Drift


def limit_text(m: Watched) -> str:
    """Give the evidence of the alarm."""
    limit = 1 / m.level
    return f"{round(limit):,}" if limit >= 100 else f"{limit:.3g}"


def range_text(a: Began) -> str:
    """Give the periods in which it probably began; "" for one."""
    if len(a.probable) == 1:
        return ""
    return f" (95% range {a.probable[0]} to {a.probable[-1]})"


def began_text(a: Began) -> str:
    """Say where to look for what changed."""
    if len(a.probable) == 1:
        return f"in {a.began}"
    return f"between {a.probable[0]} and {a.probable[-1]}, most probably in {a.began}"


def when_text(a: Began) -> str:
    """Say when the alarm came, and when it began."""
    many = len(a.probable)
    spread = f" With 95% probability it began in one of {many} periods: {_periods(a)}." if many > 1 else ""
    over = "" if a.until == a.period else f" The evidence was strongest after {a.until}."
    return f"The alarm came after {a.period}.{spread}{over}"


def _periods(a: Began) -> str:
    names = a.probable if len(a.probable) <= 4 else (*a.probable[:3], "...", a.probable[-1])
    return ", ".join(names)


def groups_text(a: Began) -> str:
    """Name the groups that have evidence of their own; "" for none."""
    if not a.groups:
        return ""
    names = ", ".join(f"'{short_name(each, 40)}'" for each in a.groups[:5])
    more = f" and {len(a.groups) - 5} more" if len(a.groups) > 5 else ""
    return f"Group{'s' * (len(a.groups) > 1)} {names}{more}"


def groups_tables(m: Watched, broke: str) -> list[Table]:
    """Give the evidence of each group by itself, if there are any."""
    if not m.groups:
        return []
    names = sorted(m.groups, key=lambda name: -m.groups[name])
    named = () if m.alarm is None else m.alarm.groups
    return [
        Table(
            "Groups",
            [
                Column("group", [short_name(name, 40) for name in names]),
                Column("largest evidence", [evidence_text(m.groups[name]) for name in names]),
                Column("result", [broke if name in named else "no alarm" for name in names], words=True),
            ],
        )
    ]


def evidence_chart(m: Watched, title: str, headline: str) -> Chart:
    """Draw the evidence after each period, by powers of ten, with the limit of the alarm."""
    tens = np.clip(m.log_evidence / math.log(10), -1.0, MOST_EVIDENCE)
    limit = m.log_limit / math.log(10)
    top = max(2.0, min(float(tens.max()) + 0.2, MOST_EVIDENCE), limit + 0.5) + _ABOVE
    ticks = [(float(at), f"{10**at:,}" if at >= 0 else f"{10.0**at:g}") for at in range(-1, int(top) + 1)]
    x = np.arange(len(m.periods), dtype=np.float64)
    began = "" if m.alarm is None else "; upright, where it most probably began"
    return Chart(
        title=title,
        subtitle=f"After each period; dashed, the alarm at {limit_text(m)}{began}",
        label=f"Evidence after each of {number_of(len(m.periods), 'period')}; {headline}.",
        x=_time_axis(m),
        y=Axis(-1.0, top, ticks, "Evidence"),
        lines=[Line(x, tens, "first", "Evidence")] if x.size > 1 else [],
        points=[] if x.size > 1 else [Points(x, tens, None, None, "first")],
        references=(Reference(_ends(m), (limit, limit)), *_beginning(m, -1.0, top)),
        shape="wide",
        percent=False,
    )


def chart_over_time(
    m: Watched,
    title: str,
    better: str,
    x: Floats,
    values: Floats,
    ideal: float | None,
    low: Floats | None,
    high: Floats | None,
) -> Chart:
    """Draw numbers of periods, with what is ideal and their limits, where there are any."""
    there = np.isfinite(values)
    x, values = x[there], values[there]
    shown = [values, np.array([] if ideal is None else [ideal])]
    below = above = None
    if low is not None and high is not None and values.size and np.isfinite(low[there]).all():
        below, above = low[there], high[there]
        ends = np.concatenate([below, above])
        most = np.quantile(ends, [0.05, 0.95])
        shown.append(ends if np.ptp(ends) < 2 * np.ptp(most) else most)  # those of few rows would flatten it
    every = np.concatenate(shown) if values.size else np.array([0.0, 1.0])
    axis = value_axis(float(every.min()), float(every.max()), title)
    if below is not None and above is not None:
        below, above = np.clip(below, axis.low, axis.high), np.clip(above, axis.low, axis.high)
    return Chart(
        title=title,
        subtitle=better[0].upper() + better[1:] + ("" if values.size else "; not determined"),
        label=f"{title} over time ({better}): {number(float(values[0]), 2)} at first and {number(float(values[-1]), 2)}"
        " at the end."
        if values.size
        else f"{title}: not determined.",
        x=_time_axis(m),
        y=axis,
        points=[Points(x, values, below, above, "first")] if values.size else [],
        references=(
            *(() if ideal is None else (Reference(_ends(m), (ideal, ideal)),)),
            *_beginning(m, axis.low, axis.high),
        ),
        shape="wide",
        percent=False,
    )


def _beginning(m: Watched, low: float, high: float) -> tuple[Reference, ...]:
    """Mark where it most probably began."""
    if m.alarm is None:
        return ()
    at = float(m.periods.index(m.alarm.began))
    return (Reference((at, at), (low, high)),)


def _ends(m: Watched) -> tuple[float, float]:
    return (-0.5, len(m.periods) - 0.5)


def _time_axis(m: Watched) -> Axis:
    n = len(m.periods)
    at = range(0, n, math.ceil(n / _TICKS))
    return Axis(*_ends(m), [(float(each), short_name(m.periods[each], 12)) for each in at], "Period (equally spaced)")


def charts_size(charts: Sequence[Chart]) -> tuple[float, float]:
    """Width and height, in inches, that suit charts one below the other."""
    return _INCHES[0], _INCHES[1] * len(charts)


def draw_charts(charts: Sequence[Chart], figure: Figure | None = None) -> Figure:
    """Draw charts over time, one below the other, by matplotlib."""
    from matplotlib.figure import Figure as MatplotlibFigure

    from ..report.matplotlib_draw import draw

    if figure is None:
        import matplotlib.pyplot as plt  # only a new figure needs a display

        figure = plt.figure(figsize=charts_size(charts), layout="constrained")
    if not isinstance(figure, MatplotlibFigure):
        raise InputError(f"figure: expected a matplotlib Figure, got {type(figure).__name__}.")
    axes = figure.subplots(len(charts), 1, squeeze=False).ravel()
    for ax, chart in zip(axes, charts, strict=True):
        draw(chart, ax)
    for ax in axes[:-1]:
        ax.set_xlabel("")
        ax.tick_params(labelbottom=False)
    return figure
