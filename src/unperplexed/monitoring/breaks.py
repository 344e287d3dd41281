"""What broke in one watched series, one alarm after another: when it began, what is wrong, and whether it is over."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri

from .._lib.typing import Floats
from ..forecasts.labels import Label
from ..statistics.intervals import Interval
from ..statistics.rank_evidence import beginning, beginning_of_changing, log_begins, log_evidence
from .alarms import event_shares
from .control import NORMAL, ControlPoint, dispersion, mended, point_of
from .event_counts import EventCounts
from .history import WHOLE, Events
from .hypotheses import Weights, dating_ratios, period_factors, row_factors, spread
from .monitored import Alarm, Over
from .naming import event_name, named_error
from .pit_counts import PitCounts

_CHANGES = 0.0001
"""Probability of each period that an error becomes another one, when its beginning is dated."""
_TREND = 0.001
"""p-value below which the bias or slope of two halves differs: the error grows or falls."""
_VARIED = 0.01
"""p-value below which independent rows do not explain how much successive periods vary."""
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
    ratios: Floats
    """Log-likelihood ratios that date an error which the evidence has found, and what they weigh."""
    ratio_weights: Floats
    phases: int = 1
    """How many there are, each of every so many periods."""

    @classmethod
    def of(cls, group: str, events: Sequence[Events | None], shared: bool) -> Series:
        """Give the factors of all events' hypotheses: half of the bet for the most probable class, half for all.

        Where forecasts reach so many periods ahead, each of as many phases has an equal part of the bet: of every
        so many periods, whose forecasts do not overlap.
        """
        share, first = event_shares(events), [each[0] for each in events if each is not None]
        known, phases = Weights.of(first[0]), max(getattr(each, "ahead", 1) for each in first) if shared else 1

        def over_time(of: Callable[[Sequence[EventCounts]], Floats], weights: Floats) -> tuple[Floats, Floats]:
            found = np.zeros((len(events), share.size, phases, weights.size))
            for event, phase in np.ndindex(share.size, phases):
                there = [
                    at
                    for at, each in enumerate(events)
                    if at % phases == phase and each is not None and each[event].total.size
                ]
                if there:
                    found[there, event, phase] = of([events[at][event] for at in there])  # type: ignore[index]
            return found.reshape(len(events), -1), np.outer(share, np.tile(weights, phases) / phases).ravel()

        if not shared:
            factors, weights = over_time(lambda counts: np.array([row_factors(each) for each in counts]), known.rows)
            return cls(group, events, factors, weights, log_evidence(factors, weights), factors, weights)
        factors, weights = over_time(period_factors, known.periods)
        dating = over_time(dating_ratios, known.dating)
        return cls(group, events, factors, weights, log_evidence(factors, weights), *dating, phases)


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
    """Describe the alarms of a series, in order of time; the first of them comes in the earliest period or later.

    Parameters
    ----------
    series : Series
        All rows, or those of a group.
    names : tuple of str
        Names of the periods.
    labels : tuple of labels
        The classes.
    limit : float
        Natural logarithm of the evidence at which there is an alarm.
    earliest : int
        Number of the period before which there is no alarm.
    shared : bool
        Whether the rows of a period share a shock.
    """
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

    ratios, weights = series.ratios[there], series.ratio_weights
    dates = beginning_of_changing(ratios, weights, int((there <= link.first).sum()), _CHANGES)
    began, largest = int(there[dates.most_probable]), int(there[beginning(ratios, weights).most_probable])
    n = next(len(each) for each in series.events if each is not None)
    gained = series.factors[began : link.until + 1].sum(axis=0) + np.log(series.weights)
    event = int(np.argmax(logsumexp(gained.reshape(n, -1), axis=1)))  # with the strongest evidence

    def some(start: int, end: int) -> tuple[list[str], list[EventCounts]]:
        at = [each for each in range(start, end) if series.events[each] is not None]
        return [names[each] for each in at], [series.events[each][event] for each in at]  # type: ignore[index]

    during, limits = some(began, link.until + 1), not shared
    over = None
    if link.over is not None:
        over = Over(names[link.over], link.after, point_of(*some(link.until + 1, stop), limits=limits))
    trend, halves = _trend(*some(max(began, link.first), link.until + 1), limits=limits)
    return Alarm(
        number=number,
        period=names[link.first],
        began=names[began],
        probable=tuple(names[each] for each in there[dates.probable]),
        further=names[largest] if largest > link.first else "",
        until=names[link.until],
        log_evidence=link.log_evidence,
        groups=() if series.group == WHOLE else (series.group,),
        event=event_name(labels, event),
        diagnosis=named_error(during[1], labels, event, shared),
        before=point_of(*some(link.start, began), limits=limits),
        since=point_of(*during, limits=limits),
        trend=trend,
        halves=halves,
        over=over,
    )


def _trend(
    names: Sequence[str], counts: Sequence[EventCounts], *, limits: bool
) -> tuple[str, tuple[ControlPoint, ControlPoint] | None]:
    """Say whether bias or slope of both halves of the periods differs more than successive periods in each half do."""
    half = len(counts) // 2
    if 2 * half < _FEWEST or isinstance(counts[0], PitCounts):
        return "", None
    parts = [(names[:half], counts[:half]), (names[half:], counts[half:])]
    one, two = (point_of(*each, limits=True) for each in parts)
    alike = [each for _, some in parts for each in mended(some)]
    vary = spread(alike) if not limits or dispersion(alike, ())[1] < _VARIED else (1.0, 1.0)
    bias = _errors_apart(two.bias - one.bias, (one.bias_interval, two.bias_interval), vary[0])
    slope = _errors_apart(two.slope - one.slope, (one.slope_interval, two.slope_interval), vary[1])
    if not max(bias, slope) > -ndtri(_TREND / 4):  # two sides of two differences
        return "", None
    first, second = (point_of(*each, limits=limits) for each in parts)
    return "bias" if bias >= slope else "slope", (first, second)


def _errors_apart(difference: float, intervals: tuple[Interval, Interval], vary: float) -> float:
    """Give the size of a difference in standard errors; 0 where an estimate is not determined."""
    error = math.hypot(*(each.high - each.low for each in intervals)) / (2 * NORMAL) * math.sqrt(vary)
    return abs(difference) / error if error > 0 else 0.0
