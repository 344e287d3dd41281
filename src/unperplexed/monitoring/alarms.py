"""What `monitor` and `drift` share: the periods, and alarms from the evidence of all rows and of groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.special import logsumexp

from .._lib.errors import InputError
from .._lib.typing import ByValue, Floats, ReadOnlyArrays
from ..report.result import Figure, JsonResult, pictures
from ..statistics.intervals import alpha_of
from .event_counts import EventCounts
from .history import Events, History


class Watched(ReadOnlyArrays, JsonResult):
    """What became of a watch; of the fields each has, one is the confidence."""

    @property
    def log_limit(self) -> float:
        """Natural logarithm of the evidence at which there is an alarm."""
        return -math.log(alpha_of(self.confidence))  # type: ignore[attr-defined]

    def plot(self, figure: Figure | None = None) -> Figure:
        """Draw the evidence and what was watched over time."""
        return pictures(self, figure)


class Began(ByValue):
    """An alarm: when it came, when that of which it warns most probably began, and whose it is."""

    number: int
    """Which of the alarms of its group, or of all rows, it is; 1 is the first."""
    period: str
    """The period after which the evidence reached its limit."""
    began: str
    """The period in which it most probably began, by the periods up to ``until``; not after the alarm."""
    probable: tuple[str, ...]
    """The smallest set of periods in which it began with a posterior probability of 95%."""
    further: str
    """The most probable beginning of what the periods show together, where that is after the alarm, else "": something
    changed further there."""
    until: str
    """The period after which the evidence was strongest."""
    log_evidence: float
    """Natural logarithm of the evidence after that period."""
    groups: tuple[str, ...]
    """Groups with evidence of their own that it is about, the strongest first; () for all rows."""
    event: str
    """With more than two classes, the one that it is about: a class, or "most probable class"."""


def watched_periods(history: History, confidence: float, restart: str | None) -> History:
    """Give the periods that are watched; refuses none of them, and a confidence that is no probability."""
    if not 0 < confidence < 1:
        raise InputError(f"confidence: {confidence!r} is not between 0 and 1.")
    watched = history if restart is None else history.since(restart)
    if not watched.periods:
        raise InputError("there are no periods to monitor.")
    return watched


def event_shares(series: Sequence[Events | None]) -> Floats:
    """Give the share of the bet on each event: half for the most probable class, half for all classes."""
    n = max(len(events) for events in series if events is not None)
    return np.array([1.0]) if n == 1 else np.array([0.5, *[0.5 / (n - 1)] * (n - 1)])


def entered(series: Iterable[Sequence[Events | None]]) -> list[int]:
    """Number of the period in which each group entered."""
    return [next(at for at, events in enumerate(each) if events is not None) for each in series]


def together(whole: Floats, groups: Sequence[Floats], came_in: Sequence[int]) -> Floats:
    """Put half of the bet on all rows together, and half on the groups, each from the period in which it entered.

    A group that enters takes an equal share of what the bet on the groups is worth by then from the others.
    """
    if not groups:
        return whole
    gains = np.diff(np.stack(groups), axis=1, prepend=0.0)
    came = np.asarray(came_in)
    worth, found = np.full(len(groups), -np.inf), np.empty(whole.size)
    for d in range(whole.size):
        new, here = came == d, came <= d
        if new.any():
            total = logsumexp(worth) if (came < d).any() else 0.0
            worth = worth + math.log(max(int((came < d).sum()), 1) / int(here.sum()))
            worth[new] = total - math.log(int(here.sum()))
        worth = worth + gains[:, d]
        found[d] = logsumexp(worth)
    return np.asarray(np.logaddexp(whole, found) - math.log(2))


def last_alarm(evidence: Floats, limit: float) -> tuple[int, int, int] | None:
    """Find the last alarm: its number, its period, and the one with the strongest evidence before it faded.

    It is another one if the evidence was below 1 in between.
    """
    above = np.flatnonzero(evidence >= limit)
    if not above.size:
        return None
    part = np.searchsorted(np.flatnonzero(evidence < 0), above)
    first = int(above[part == part[-1]][0])
    return np.unique(part).size, first, first + int(np.argmax(evidence[first:]))


def named_groups(of_groups: Mapping[str, Floats], limit: float) -> dict[str, float]:
    """Name the groups with evidence of their own, strongest first, with the limit of each.

    That is G - j + 1 times the limit for the j-th of G groups.
    """
    highest = {name: float(each.max()) for name, each in of_groups.items()}
    found: dict[str, float] = {}
    for name in sorted(highest, key=lambda name: -highest[name]):
        own = limit + math.log(len(highest) - len(found))
        if highest[name] < own:
            break
        found[name] = own
    return found


def of_groups_together(groups: Mapping[str, Events], names: Sequence[str]) -> Events | None:
    """Count some of the groups of a period together; None where it has none of them."""
    some = [groups[name] for name in names if name in groups]
    return tuple(EventCounts.together(parts) for parts in zip(*some, strict=True)) if some else None
