"""Alarms from the evidence of all rows and of groups: how it is put together, when there is one, and whose it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.special import logsumexp

from .._lib.typing import Floats
from .event_counts import EventCounts
from .history import Events


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


def last_episode(evidence: Floats, limit: float) -> tuple[int, int] | None:
    """Find the last alarm: the period of its beginning, and the one with the strongest evidence before it faded."""
    above = np.flatnonzero(evidence >= limit)
    if not above.size:
        return None
    faded = np.flatnonzero(evidence[: above[-1]] < 0)
    first = int(above[above > faded[-1]][0]) if faded.size else int(above[0])
    return first, first + int(np.argmax(evidence[first:]))


def named_groups(of_groups: Mapping[str, Floats], limit: float) -> tuple[str, ...]:
    """Name the groups with evidence of their own, strongest first; the j-th of G needs G - j + 1 times the limit."""
    highest = {name: float(each.max()) for name, each in of_groups.items()}
    found: list[str] = []
    for name in sorted(highest, key=lambda name: -highest[name]):
        if highest[name] < limit + math.log(len(highest) - len(found)):
            break
        found.append(name)
    return tuple(found)


def of_groups_together(groups: Mapping[str, Events], names: Sequence[str]) -> Events | None:
    """Count some of the groups of a period together; None where it has none of them."""
    some = [groups[name] for name in names if name in groups]
    return tuple(EventCounts.together(parts) for parts in zip(*some, strict=True)) if some else None
