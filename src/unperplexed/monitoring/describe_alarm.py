"""An alarm of `monitor` in words: what is wrong and since when, the numbers that show it, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from .._lib.formatting import number_of, percent, short_name
from ..report.numbers import between, evidence_text, number, share, signed
from ..statistics.intervals import Interval
from .control import ControlPoint
from .describe_over_time import at, began_text, groups_text, limit_text, range_text, when_text
from .monitored import Alarm, Monitored, Over
from .naming import TOP

_ENDED = 3
"""Errors that are over, which are named."""

_DISPERSED = 1.5, 0.001
"""Periods vary more than independent rows let them: by this ratio of variances at least, at this p-value."""


LATEST, _FEWER = 3, 0.7
"""The last periods may not be complete if they have fewer rows than any others, and less than this share of the median.
"""


def dispersed(m: Monitored) -> bool:
    """Whether periods vary more than independent rows let them, which were taken as the units."""
    ratio, p = m.dispersion
    least, level = _DISPERSED
    return m.units == "rows" and ratio > least and p < level


def usual_rows(m: Monitored) -> float:
    """Give the median number of forecasts, if those of the last periods are fewer than before; 0 if not."""
    earlier, latest = np.array(m.rows[:-LATEST]), max(m.rows[-LATEST:])
    if earlier.size < 2 * LATEST:
        return 0.0
    lowest = np.lib.stride_tricks.sliding_window_view(earlier, LATEST).max(axis=1).min()
    usual = float(np.median(m.rows))
    return usual if latest < min(lowest, _FEWER * usual) else 0.0


def going_on(m: Monitored) -> list[Alarm]:
    """Give the alarms whose errors go on, the strongest first."""
    return [each for each in m.alarms if each.over is None]


def alike(m: Monitored) -> list[str]:
    """Name the groups with evidence of their own that the alarm is not about, as groups do not differ."""
    own = m.log_limit + math.log(max(1, len(m.groups)))
    return [] if m.named or m.alarm is None else [name for name, highest in m.groups.items() if highest >= own]


def grew(a: Alarm) -> bool:
    """Whether the error grew from the first half of its periods to the second."""
    return a.halves is not None and _changed(a) == "grew"


def _changed(a: Alarm) -> str:
    one, two = (each.bias for each in a.halves or (a.since, a.since))
    return "changed" if one * two < 0 else "grew" if abs(two) > abs(one) else "fell"


def _what(a: Alarm) -> str:
    if a.verdict:
        return a.verdict
    return f"Mean prediction {share(a.since.predicted)}, observed frequency {share(a.since.observed)}"


def sentence(m: Monitored, a: Alarm, more: str = "") -> str:
    """Say for which group what is wrong, without a full stop."""
    groups, what = groups_text(m, a.groups), f"{_what(a)}{more}"
    return f"{groups}: {what[:1].lower()}{what[1:]}" if groups else what


def result_text(m: Monitored, name: str) -> str:
    """Say what became of a named group, in a few words."""
    own = [each for each in m.alarms if name in each.groups]
    a = next((each for each in own if each.over is None), own[0])
    what = a.verdict or "Miscalibrated"
    return f"{what[:1].lower()}{what[1:]} {f'since {a.began}' if a.over is None else f'until {a.until}'}"


def since_text(a: Alarm) -> str:
    """Say since when."""
    return f", most probably since {a.began}{range_text(a)}"


def span(a: Alarm) -> str:
    """Say during which periods an error lasted."""
    return f"most probably {_during(a)}{' only' if a.began == a.until else ''}"


def _during(a: Alarm) -> str:
    return at(a.began) if a.began == a.until else f"from {a.began} to {a.until}"


def after_text(m: Monitored, over: Over) -> str:
    """Say what is known of the periods after an error."""
    after = over.after
    if not after.rows:
        return f"No period has been looked at since {over.period}."
    limits = after.bias_interval
    ci = "" if math.isnan(limits.low) else f", 95% CI {between(*limits, _bias)}"
    size = "" if math.isnan(after.bias) else f"; bias {_bias(after.bias)}{ci}"
    return (
        f"Since then, from {after.first} to {after.last}, there is no evidence of miscalibration"
        f" ({evidence_text(over.log_evidence)} to 1; {number_of(after.rows, 'forecast')}{size})."
    )


def _bias(value: float) -> str:
    return signed(round(value, 2) + 0.0, 2)


def limits_text(interval: Interval) -> str:
    """Give the limits of an interval; "" for none."""
    return between(*interval, lambda value: number(value, 2))


def when(m: Monitored, a: Alarm) -> str:
    """Say when the alarm came, when its error began, and when that was over."""
    ended = ""
    if a.over is not None:
        ended = f" The evidence that the error is over reached {limit_text(m)} to 1 after {a.over.period}."
    slow = " An error that grows slowly began before it could be seen." if grew(a) else ""
    return when_text(a) + slow + ended


def ended_text(m: Monitored, ended: Sequence[Alarm]) -> str:
    """Name errors that are over, the last first."""
    told = [f"{sentence(m, each)}, {span(each)}." for each in ended[:_ENDED]]
    more = [f"{number_of(len(ended) - _ENDED, 'earlier error')} too."] if len(ended) > _ENDED else []
    return " ".join([*told, *more])


def change_text(a: Alarm, whose: str) -> str:
    """Give the numbers in which the error shows: means for a bias, the slope for confidence, else the log loss."""
    errors = () if a.diagnosis is None else a.diagnosis.errors
    parts = [(a.before, "before"), (a.since, "since" if a.over is None else _during(a))]
    if a.over is not None:
        parts.append((a.over.after, "after"))
    parts = [(point, when) for point, when in parts if point.rows]
    text = []
    if "confidence" in errors:
        text.append(f"calibration slope up to {a.until}: {_numbers(parts, _slope)}")
    if "bias" in errors or not {"confidence", "asymmetry", "tail", "noise", "shape"} & {*errors}:
        text.append(f"mean prediction and observed frequency up to {a.until}: {_numbers(parts, _frequencies)}")
    if not text:
        text.append(f"log loss up to {a.until}: {_numbers(parts, _loss)}")
    if a.over is not None:
        text = [each.replace(f" up to {a.until}", "", 1) for each in text]
    where = f"{whose}{f'for {_event(a)}, ' if a.event else ''}{text[0]}."
    return " ".join(f"{each[:1].upper()}{each[1:]}" for each in (where, *[f"{each}." for each in text[1:]])) + _trend(a)


def _numbers(parts: Sequence[tuple[ControlPoint, str]], value: Callable[[ControlPoint], tuple[str, str]]) -> str:
    """Give a number of some periods and what stands behind it, with their rows."""
    told = []
    for point, when in parts:
        shown, behind = value(point)
        more = f"{behind}; " if behind else ""
        told.append(f"{shown} ({more}{number_of(point.rows, 'forecast')}){'' if len(parts) == 1 else f' {when}'}")
    return ", ".join(told)


def _frequencies(point: ControlPoint) -> tuple[str, str]:
    return f"{share(point.predicted)} and {share(point.observed)}", ""


def _slope(point: ControlPoint) -> tuple[str, str]:
    ci = limits_text(point.slope_interval)
    return number(point.calibration_slope, 2), f"95% CI {ci}" if ci else ""


def _loss(point: ControlPoint) -> tuple[str, str]:
    return number(point.log_loss), ""


def _event(a: Alarm) -> str:
    return f"the {a.event}" if a.event == TOP else f"class '{short_name(a.event, 40)}'"


def _trend(a: Alarm) -> str:
    """Say that an error grew or fell, if it did."""
    if a.halves is None:
        return ""
    one, two = (each.bias for each in a.halves)
    return (
        f" The error {_changed(a)}: bias {_bias(one)} from {a.halves[0].first} to {a.halves[0].last} and"
        f" {_bias(two)} from then on."
    )


def rule_text(m: Monitored, a: Alarm) -> str:
    """Say how strong the evidence is, and what it guarantees."""
    if dispersed(m):
        return (
            f"{evidence_text(a.log_evidence)} to 1 against calibration; the alarm is at {limit_text(m)} to 1. This"
            " holds for independent rows, but periods vary more than such rows do, and the alarm may be false."
        )
    exact = "" if m.units == "rows" else " Periods are the independent units, which makes this approximate."
    anew = "" if a.number == 1 else " in each watch, and a new one begins when an error is over"
    stands = ", and an alarm stands if the evidence falls later" if a.number == 1 else ""
    if any(each.over is not None for each in m.alarms):
        exact += " Table and chart show the evidence since the first period, errors that are over included."
    return (
        f"{evidence_text(a.log_evidence)} to 1 against calibration; the alarm is at {limit_text(m)} to 1. The"
        f" probability of ever a false alarm is at most {percent(m.level)}{anew}, however often you"
        f" look{stands}.{exact}"
    )


def next_text(m: Monitored, a: Alarm, current: Sequence[Alarm]) -> str:
    """Say what to do about what holds now."""
    if dispersed(m):
        return (
            "Repeat this with periods as the units (--units periods): rows of a period may share a shock, such as the"
            " weather of a day."
        )
    if a.over is not None:
        begin = f" {a.over.after.first}" if a.over.after.rows else ""
        return (
            f"Look for what changed {began_text(a)}, and what ended it after {a.until}. Do not recalibrate on these"
            " forecasts, unless you expect the error again: those since need no remedy for it. Begin a new watch with"
            f" the first period after it (--since{begin})."
        )
    if len(current) > 1:
        return (
            "Look for what changed in each group. Recalibrate each group by itself on its own forecasts since its"
            " change, or fit the model anew: one remedy for all rows would not suit them. Begin a new watch with the"
            " first period after the repair (--since)."
        )
    begin = "begin a new watch with the first period after the repair (--since)"
    if usual_rows(m):
        begin += ". But first make sure that the last periods are complete"
    whose = " of the group" if a.groups else ""
    if grew(a):
        return (
            f"Look for what has been changing since about {a.began}. Recalibrate the model on the latest"
            f" forecasts{whose} only, as the error grew, and expect to repeat it, or fit it anew; {begin}."
        )
    first = not a.before.rows and a.number == 1
    change = "" if first else f"Look for what changed in the model or its inputs {began_text(a)}. "
    these = "these forecasts" if first else "the forecasts"
    since = "" if first else f" since {a.began}"
    return f"{change}Recalibrate the model on {these}{whose}{since} or fit it anew, and {begin}."
