"""What broke in one watched series, one alarm after another: when it began, what is wrong, and whether it is over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from .._lib.typing import Floats
from ..forecasts.labels import Label
from ..statistics.evidence_of_change import Beginning, beginning, log_begins, log_evidence
from .alarms import dated, event_shares
from .control import NORMAL, ControlPoint, dispersion, point_of
from .event_counts import EventCounts
from .history import WHOLE, Events
from .hypotheses import PERIOD_WEIGHTS, ROW_WEIGHTS, period_factors, row_factors
from .monitored import Alarm, Over
from .naming import event_labels, event_name, named_error

_TREND = 0.001
"""p-value below which the bias of two halves differs: the error grows or falls."""
_FEWEST = 6
"""Periods that it takes to see that."""


class Series(NamedTuple):
    """What is watched: all rows, or those of a group."""

    group: str
    events: Sequence[Events | None]
    """Of each period; None where the group has no rows."""
    factors: Floats
    weights: Floats
    evidence: Floats
    """Natural logarithm of the evidence after each period."""

    @classmethod
    def of(cls, group: str, events: Sequence[Events | None], shared: bool) -> Series:
        """Give the factors of all events' hypotheses: half of the bet for the most probable class, half for all."""
        of_event = event_shares(events)
        n = of_event.size
        shares = PERIOD_WEIGHTS if shared else ROW_WEIGHTS
        found = np.zeros((len(events), n, shares.size))
        for event in range(n):
            there = [at for at, each in enumerate(events) if each is not None and each[event].total.size]
            counts = [events[at][event] for at in there]  # type: ignore[index]
            if there:
                found[there, event] = period_factors(counts) if shared else [row_factors(each) for each in counts]
        factors, weights = found.reshape(len(events), -1), np.outer(of_event, shares).ravel()
        return cls(group, events, factors, weights, log_evidence(factors, weights))


class _Link(NamedTuple):
    """One alarm, as numbers of periods."""

    start: int
    """Its error began in this period or later."""
    first: int
    until: int
    over: int | None
    log_evidence: float
    after: float
    """Evidence of another error at the end of the watch that begins when this one is over."""


def alarms_of(
    series: Series, names: tuple[str, ...], labels: tuple[Label | None, ...], limit: float, earliest: int, shared: bool
) -> list[Alarm]:
    """Describe the alarms of a series, in order of time; the first of them comes in the earliest period or later."""
    found: list[Alarm] = []
    for number, link in reversed(list(enumerate(_links(series, limit, earliest), 1))):
        stop = names.index(found[-1].began) if found else len(names)
        found.append(_alarm(series, number, link, stop, names, labels, shared))
    return found[::-1]


def _links(series: Series, limit: float, earliest: int) -> list[_Link]:
    """Find the alarms. When the error of one is known to be over, a new watch begins, with a level of its own."""
    found: list[_Link] = []
    start, over, evidence = 0, None, series.evidence
    while True:
        above = np.flatnonzero(evidence[max(0, earliest - start) :] >= limit)
        if found:
            found[-1] = found[-1]._replace(after=float(evidence[-1]) if evidence.size else 0.0)
        if not above.size:
            return found
        first = max(start, earliest) + int(above[0])
        over = _over(series.factors[start:], series.weights, first - start, limit)
        stop = len(evidence) if over is None else over + 1
        until = first + int(np.argmax(evidence[first - start : stop]))
        since = found[-1].until + 1 if found else 0
        over = None if over is None else start + over
        found.append(_Link(since, first, until, over, float(evidence[until - start]), 0.0))
        if over is None:
            return found
        start = over + 1
        evidence = log_evidence(series.factors[start:], series.weights)


def _over(factors: Floats, weights: Floats, first: int, limit: float) -> int | None:
    """Find the period after which the evidence that the error of an alarm is over reached the limit.

    Bets that began until the alarm say that the error goes on, and predict the outcomes of each period by what they
    have learned. If they are right, the inverse of the factor by which their worth changes has a mean of 1. Forecasts
    may be calibrated again from any period after the alarm on, as errors may begin in any.
    """
    since = np.cumsum(factors[first::-1], axis=0)[::-1]
    worth = logsumexp(log_begins(first + 1)[:, None] + np.log(weights) + since, axis=0)
    later = np.vstack([worth, worth + np.cumsum(factors[first + 1 :], axis=0)])
    ended = log_evidence(-np.diff(logsumexp(later, axis=1))[:, None], np.ones(1))
    above = np.flatnonzero(ended >= limit)
    return first + 1 + int(above[0]) if above.size else None


def _alarm(
    series: Series,
    number: int,
    link: _Link,
    stop: int,
    names: tuple[str, ...],
    labels: tuple[Label | None, ...],
    shared: bool,
) -> Alarm:
    """Say what broke, from the periods up to the strongest evidence: those after it speak against the error."""
    there = np.array([at for at in range(link.start, link.until + 1) if series.events[at] is not None])

    def began_by(last: int) -> Beginning:
        return beginning(series.factors[there[there <= last]], series.weights)

    dates = dated(there, link.first, link.until, began_by)
    n = next(len(each) for each in series.events if each is not None)
    event = _leading_event(series.factors[dates.began : link.until + 1].sum(axis=0), series.weights, n)

    def some(start: int, end: int) -> tuple[list[str], list[EventCounts]]:
        at = [each for each in range(start, end) if series.events[each] is not None]
        return [names[each] for each in at], [series.events[each][event] for each in at]  # type: ignore[index]

    during, limits = some(dates.began, link.until + 1), not shared
    over = None
    if link.over is not None:
        over = Over(names[link.over], link.after, point_of(*some(link.until + 1, stop), limits=limits))
    return Alarm(
        number=number,
        period=names[link.first],
        began=names[dates.began],
        probable=tuple(names[each] for each in dates.probable),
        further="" if dates.further is None else names[dates.further],
        until=names[link.until],
        log_evidence=link.log_evidence,
        groups=() if series.group == WHOLE else (series.group,),
        event=event_name(labels, event),
        diagnosis=named_error(during[1], event_labels(labels, event), shared),
        before=point_of(*some(link.start, dates.began), limits=limits),
        since=point_of(*during, limits=limits),
        halves=_trend(*some(max(dates.began, link.first), link.until + 1), limits=limits),
        over=over,
    )


def _leading_event(factors: Floats, weights: Floats, n: int) -> int:
    return int(np.argmax(logsumexp((factors + np.log(weights)).reshape(n, -1), axis=1)))


def _trend(
    names: Sequence[str], counts: Sequence[EventCounts], *, limits: bool
) -> tuple[ControlPoint, ControlPoint] | None:
    """Give both halves of the periods, if their biases differ beyond what successive periods do."""
    half = len(counts) // 2
    if 2 * half < _FEWEST:
        return None
    parts = [(names[:half], counts[:half]), (names[half:], counts[half:])]
    one, two = (point_of(*each, limits=True) for each in parts)
    error = math.hypot(*(each.bias_interval.high - each.bias_interval.low for each in (one, two))) / (2 * NORMAL)
    vary = dispersion(counts, ())[0]
    z = (two.bias - one.bias) / (error * math.sqrt(max(1.0, 0.0 if math.isnan(vary) else vary)))
    if not 2 * norm.sf(abs(z)) < _TREND:
        return None
    first, second = (point_of(*each, limits=limits) for each in parts)
    return first, second
