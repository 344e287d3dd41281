"""A SequentialComparison as text that fits a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._wording import number_of, percent, short_name
from .text import counted, figure, notes_lines

if TYPE_CHECKING:
    from ..sequential import SequentialComparison


def sequential_text(comparison: SequentialComparison) -> str:
    """Give who is better and since when, how sure that is after all rows, and what is guaranteed."""
    return "\n".join(_lines(comparison))


def _lines(c: SequentialComparison) -> Iterator[str]:
    difference, low, high = float(c.difference[-1]), *c.interval
    first, second = [(_name(c.first), c.e_first), (_name(c.second), c.e_second)]
    if c.second_ahead:  # the one that is ahead comes first
        difference, low, high = -difference, -high, -low
        first, second = second, first
    floor = "" if c.floor is None else f" at floor {c.floor:g}"
    yield f"{counted(c.n_rows, c.n_classes, c.labels)}, one after another"
    yield f"{c.score.replace('_', ' ')}{floor}, {'larger' if c.larger_is_better else 'smaller'} is better"
    yield ""
    yield _verdict(c)
    yield ""
    yield f"{'mean difference':22}{figure(difference):>9}   {first[0]} less {second[0]}"
    yield f"{'lower limit':22}{figure(low):>9}"
    yield f"{'upper limit':22}{figure(high):>9}"
    for (name, e), more in ((first, ""), (second, f"; {2 / c.level:,.4g} decides")):
        yield f"{'e-value':22}{_e_value(float(e[-1])):>9}   for {name} being better{more}"
    yield ""
    yield f"The limits hold at every row together, with a probability of at least {percent(1 - c.level)}:"
    yield "look as often as you like, and stop when you like."
    for name, notes in c.notes.items():
        for line in notes_lines(notes):
            yield f"{_name(name)}: {line}"


def _name(name: str) -> str:
    return short_name(name, 16)


def _verdict(c: SequentialComparison) -> str:
    if c.better is None or c.decided_after is None:
        return "not decided yet: the limits have always held 0"
    better, now = _name(c.better), c.better_now
    after = f"decided after {number_of(c.decided_after, 'row')}"
    if now == c.better:
        return f"{better} is better: {after}"
    over_all = "it is open again" if now is None else f"{_name(now)} is better"
    return f"{better} was better, {after}; over all rows {over_all}"


def _e_value(e: float) -> str:
    return figure(e) if e < 1000 else f"{e:,.0f}" if e < 1e6 else f"{e:.1e}"
