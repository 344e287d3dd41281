"""An alarm of `monitor` in words: what is wrong and since when, the numbers that show it, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from .._lib.formatting import capital, number_of, percent, short_name
from ..calibration.diagnosis.kinds import KINDS
from ..monitoring.control import ControlPoint
from ..monitoring.monitored import LATEST, Alarm, Monitored, Over, dispersed, usual_rows
from ..monitoring.pit_counts import PitPoint
from ..report.numbers import between, evidence_text, number, share, signed
from ..statistics.intervals import Interval, alpha_of
from ..tally.periods import at
from .over_time import began_text, event_text, groups_text, limit_text, names_text, range_text, when_text

_INTERCEPT, _SLOPE, _WIDTH = "calibration intercept", "calibration slope", "width factor needed"
_ENDED = 3
"""Errors that are over, which are named."""


def going_on(m: Monitored) -> list[Alarm]:
    """Give the alarms whose errors go on, the strongest first."""
    return [each for each in m.alarms if each.over is None]


def about(m: Monitored) -> list[Alarm]:
    """Give the alarms that the text is about: of errors that go on; if none does, the last one of each group."""
    last: dict[tuple[str, ...], Alarm] = {}
    for each in m.alarms:
        last.setdefault(each.groups, each)
    return going_on(m) or list(last.values())


def alike(m: Monitored) -> list[str]:
    """Name the groups with evidence of their own that the alarm is not about, as groups do not differ."""
    own = m.log_limit + math.log(max(1, len(m.groups)))
    return [] if m.named or m.alarm is None else [name for name, highest in m.groups.items() if highest >= own]


def grew(a: Alarm) -> bool:
    """Whether the error grew from the first half of its periods to the second."""
    return a.halves is not None and _changed(a) == "grew"


def from_first(a: Alarm) -> bool:
    """Whether forecasts were wrong from the first period on, so that nothing changed."""
    return not a.before.rows and a.number == 1


def _gone(m: Monitored, a: Alarm) -> str:
    """Give the last period of a group that has had no forecasts for longer than ever before; "" for others."""
    for name in a.groups:
        first = [m.periods.index(each.first) for each in m.named[name].control]
        last: str = m.named[name].control[-1].last
        longest = max((later - before for before, later in pairwise(first)), default=0)
        if len(m.periods) - 1 - m.periods.index(last) > max(LATEST, longest):
            return last
    return ""


def _halves(a: Alarm) -> tuple[str, float, float, float]:
    """Name the number in which both halves of an error differ most, and give its best value and both values."""
    one, two = a.halves or (a.since, a.since)
    if a.trend == "slope":
        return _SLOPE, 1.0, one.slope, two.slope
    return _INTERCEPT, 0.0, one.bias, two.bias


def _changed(a: Alarm) -> str:
    _, best, one, two = _halves(a)
    one, two = one - best, two - best
    return "changed" if one * two < 0 else "grew" if abs(two) > abs(one) else "fell"


def _what(a: Alarm) -> str:
    if isinstance(a.since, PitPoint):
        return a.in_brief or f"80% intervals held {share(a.since.held)} of the outcomes"
    return a.in_brief or f"mean prediction {share(a.since.predicted)}, observed frequency {share(a.since.observed)}"


def sentence(m: Monitored, a: Alarm, more: str = "") -> str:
    """Say for which group what is wrong, without a full stop."""
    groups, what = groups_text(m, a.groups), f"{_what(a)}{more}"
    return capital(f"{groups}: {what}" if groups else what)


def result_text(m: Monitored, name: str) -> str:
    """Say what became of a named group, in a few words."""
    own = [each for each in m.alarms if name in each.groups]
    a = next((each for each in own if each.over is None), own[0])
    return f"{a.in_brief or 'miscalibrated'} {f'since {a.began}' if a.over is None else f'until {a.until}'}"


def changed_text(m: Monitored, by: str) -> str:
    """Say when calibration changed, by a column of dates: an error goes on that surely began after the first period."""
    a = m.alarm
    if a is None or a.over is not None or m.periods[0] in a.probable or dispersed(m):
        return ""
    began = f"By {short_name(by)!r} calibration changed, most probably {at(a.began)}{range_text(a)}."
    return f"{began} The verdict since then is: {_what(a)}."


def since_text(a: Alarm) -> str:
    """Say since when, or during which periods."""
    if a.over is not None:
        return f", {span(a)}"
    return f", {first_text(a)}" if from_first(a) else f", most probably since {a.began}{range_text(a)}"


def first_text(a: Alarm) -> str:
    """Say that an error was there from the first period on."""
    surely, whose = "" if len(a.probable) == 1 else "perhaps ", "its" if a.groups else "the"
    return f"{surely}from {whose} first period on, {a.began}{range_text(a)}"


def span(a: Alarm) -> str:
    """Say during which periods an error lasted."""
    return f"most probably {_from_to(a.began, a.until)}{' only' if a.began == a.until else ''}"


def _from_to(first: str, last: str) -> str:
    return at(first) if first == last else f"from {first} to {last}"


def after_text(a: Alarm, over: Over) -> str:
    """Say what is known of the periods after an error."""
    after = over.after
    if not after.rows:
        return f"No period has been looked at since {over.period}."
    size = "".join(f"; {name} {text}{f', 95% CI {ci}' if ci else ''}" for name, text, ci, _ in _sizes(a, after) if text)
    known = f"({evidence_text(over.log_evidence)} to 1; {number_of(after.rows, 'forecast')}{size})"
    since, small = f"Since then, from {after.first} to {after.last},", _remains(a)
    if small:
        return f"{since} evidence of miscalibration is below the alarm {known}, but {small} may remain."
    return f"{since} there is no evidence of miscalibration {known}."


def _sizes(a: Alarm, point: ControlPoint) -> list[tuple[str, str, str, bool]]:
    """Give the calibration intercept of some periods, and the calibration slope if the error shows in it.

    Each has its name, value and interval as texts, and whether this excludes the best value.
    """
    sizes = [(_INTERCEPT, point.bias, point.bias_interval, 0, _bias)] * (shown_in(a) != ["slope"])
    if isinstance(point, PitPoint):
        sizes = [("bias", *sizes[0][1:]), (_WIDTH, point.width, point.width_interval, 1, _two)]
    elif "confidence" in _errors(a):
        sizes += [(_SLOPE, point.slope, point.slope_interval, 1, _two)]
    found = []
    for name, value, limits, best, form in sizes:
        ci = between(*limits, form)
        excluded = bool(ci) and not limits.low <= best <= limits.high
        found.append((name, "" if math.isnan(value) else form(value), ci, excluded))
    return found


def _remains(a: Alarm) -> str:
    """Name the small errors that may remain after one that is over; "" for none."""
    if a.over is None or not a.over.after.rows:
        return ""
    words = {_INTERCEPT: "bias", "bias": "bias", _SLOPE: "error of the slope", _WIDTH: "error of the width"}
    left = [words[name] for name, *_, excluded in _sizes(a, a.over.after) if excluded]
    return f"a small {' and a small '.join(left)}" if left else ""


def _errors(a: Alarm) -> tuple[str, ...]:
    return () if a.diagnosis is None else tuple(a.diagnosis.errors)


def shown_in(a: Alarm) -> list[str]:
    """Name the numbers in which the error shows: "slope" for confidence, "bias", else "loss" where it is known."""
    shown = {KINDS[error].shown_in for error in _errors(a)}
    numbers = ["slope"] * ("slope" in shown) + ["bias"] * ("bias" in shown)
    known = not math.isnan(getattr(a.since, "log_loss", math.nan))
    return numbers or ["loss" if "loss" in shown and known else "bias"]


def _bias(value: float) -> str:
    return signed(round(value, 2) + 0.0, 2)


def _two(value: float) -> str:
    return number(value, 2)


def limits_text(interval: Interval) -> str:
    """Give the limits of an interval; "" for none."""
    return between(*interval, _two)


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
    parts = [(a.before, "before, "), (a.since, "since, " if a.over is None else "")]
    if a.over is not None:
        parts.append((a.over.after, "after, "))
    parts = [(point, when) for point, when in parts if point.rows]
    numbers: dict[str, tuple[str, Callable[[Any], tuple[str, str]]]] = {
        "slope": (_SLOPE, _slope),
        "bias": ("mean prediction and observed frequency", _frequencies),
        "loss": (f"log loss{' of all classes' if a.event else ''}", lambda point: (number(point.log_loss), "")),
    }
    shown = [numbers[each] for each in shown_in(a)]
    if isinstance(a.since, PitPoint):
        shown = [(f"bias in spreads, {_WIDTH}, and share in 80% intervals", _of_numbers)]
    event = f"for {event_text(a)}, " if a.event and shown_in(a) != ["loss"] else ""
    first, *more = (f"{name}: {_numbers(parts, value)}." for name, value in shown)
    where = f"{whose}{event}{first}"
    return " ".join(map(capital, (where, *more))) + _trend(a)


def _numbers(parts: Sequence[tuple[Any, str]], value: Callable[[Any], tuple[str, str]]) -> str:
    """Give a number of some periods and what stands behind it, with their rows, in a clause each."""
    told = []
    for point, when in parts:
        shown, behind = value(point)
        more = f"{behind}; " if behind else ""
        during = f"{when if len(parts) > 1 else ''}{_from_to(point.first, point.last)}"
        told.append(f"{during}, {shown} ({more}{number_of(point.rows, 'forecast')})")
    return "; ".join(told)


def _frequencies(point: ControlPoint) -> tuple[str, str]:
    return f"{share(point.predicted)} and {share(point.observed)}", ""


def _of_numbers(point: PitPoint) -> tuple[str, str]:
    return f"{_bias(point.bias)}, {_two(point.width)} and {share(point.held)}", ""


def _slope(point: ControlPoint) -> tuple[str, str]:
    ci = limits_text(point.slope_interval)
    return _two(point.slope), f"95% CI {ci}" if ci else ""


def _trend(a: Alarm) -> str:
    """Say that an error grew or fell, if it did."""
    if a.halves is None:
        first = from_first(a) and not a.further
        return " No period came before, and no change of the error since then is shown." * first
    name, _, *values = _halves(a)
    one, two = map(_bias if name == _INTERCEPT else _two, values)
    return (
        f" The error {_changed(a)}: {name} {one} from {a.halves[0].first} to {a.halves[0].last} and {two} from then on."
    )


def rule_text(m: Monitored, a: Alarm) -> str:
    """Say how strong the evidence is, and what it guarantees."""
    if dispersed(m):
        return (
            f"{evidence_text(a.log_evidence)} to 1 against calibration; the alarm is at {limit_text(m)} to 1. This"
            " holds for independent rows, but periods vary more than such rows do, and the alarm may be false."
        )
    exact = "" if m.clusters == "none" else " Periods are the independent units, which makes this approximate."
    anew = "" if a.number == 1 else " in each watch, and a new one begins when an error is over"
    stands = ", and an alarm stands if the evidence falls later" if a.number == 1 else ""
    if any(each.over is not None for each in m.alarms):
        exact += " Table and chart show the evidence since the first period, errors that are over included."
    return (
        f"{evidence_text(a.log_evidence)} to 1 against calibration; the alarm is at {limit_text(m)} to 1. The"
        f" probability of ever a false alarm is at most {percent(alpha_of(m.confidence))}{anew}, however often you"
        f" look{stands}.{exact}"
    )


def next_text(m: Monitored, told: Sequence[Alarm]) -> str:
    """Say what to do about the errors that the text is about."""
    a = told[0]
    if dispersed(m):
        return (
            "Repeat this with periods as the units (--clusters period): rows of a period may share a shock, such as the"
            " weather of a day."
        )
    if a.over is not None:
        return _next_after(m, told)
    if len(told) > 1:
        return _next_of_groups(m, told)
    begin = "begin a new watch with the first period after the repair (--restart)"
    if usual_rows(m):
        begin += ". But first make sure that the last periods are complete"
    whose = " of the group" if a.groups else ""
    if last := _gone(m, a):
        return (
            f"The group has no forecasts after {last}. If it may return, look for what was wrong, recalibrate the model"
            f" on its forecasts or fit it anew, and {begin}."
        )
    if grew(a):
        return (
            f"Look for what has been changing since about {a.began}. Recalibrate the model on the latest"
            f" forecasts{whose} only, as the error grew, and expect to repeat it, or fit it anew; {begin}."
        )
    first = from_first(a)
    change = "" if first else f"Look for what changed in the model or its inputs {began_text(a)}. "
    these = "these forecasts" if first else "the forecasts"
    since = "" if first else f" since {a.began}"
    return f"{change}Recalibrate the model on {these}{whose}{since} or fit it anew, and {begin}."


def _next_after(m: Monitored, told: Sequence[Alarm]) -> str:
    """Say what to do when all errors are over."""
    a, many = told[0], len(told) > 1
    next_one = max(m.periods.index(each.until) for each in told) + 1
    begin = f" {m.periods[next_one]}" if next_one < len(m.periods) else ""
    look = f"{began_text(a)}, and what ended it after {a.until}" if not many else "in each group, and what ended it"
    left = [(each, small) for each in told if (small := _remains(each))]
    if not left:
        since = f": those since need no remedy for {'them' if many else 'it'}"
    else:
        whose = f" of {_names(m, [each for each, _ in left])}" if many else ""
        small = left[0][1] if len(left) == 1 else "a small error"
        since = f". In those since then{whose} {small} may remain: if it stays, recalibrate on them alone"
    return (
        f"Look for what changed {look}. Do not recalibrate on these forecasts, unless you expect the"
        f" error{'s' * many} again{since}. Begin a new watch with the first period after {'them' if many else 'it'}"
        f" (--restart{begin})."
    )


def _next_of_groups(m: Monitored, told: Sequence[Alarm]) -> str:
    """Say what to do about errors of several groups that go on."""

    def each_of(some: Sequence[Alarm]) -> str:
        return "each group" if len(some) == len(told) else f"{'each of ' * (len(some) > 1)}{_names(m, some)}"

    changed = [each for each in told if not from_first(each)]
    here = [each for each in told if not _gone(m, each)]
    gone = [each for each in told if each not in here]
    growing = [each for each in here if grew(each)]
    text = [f"Look for what changed in {each_of(changed)}."] if changed else []
    if here:
        text.append(
            f"Recalibrate {each_of(here)} by itself on its own forecasts since its error began, or fit the model anew:"
            " one remedy for all rows would not do."
        )
    if growing:
        text.append(f"As errors grew, take only the latest forecasts of {_names(m, growing)}, and expect to repeat it.")
    if gone:
        text.append(f"There are no more forecasts of {_names(m, gone)}: recalibrate only if they return.")
    return f"{' '.join(text)} Begin a new watch with the first period after the repair (--restart)."


def _names(m: Monitored, alarms: Sequence[Alarm]) -> str:
    return names_text(m, [name for each in alarms for name in each.groups])
