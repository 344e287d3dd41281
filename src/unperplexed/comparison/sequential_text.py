"""A SequentialComparison as text that fits a terminal of 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._lib.formatting import (
    at_floor_text,
    number_of,
    rule_text,
    short_name,
)
from ..report.numbers import figure
from ..tally.describe import counted, notes_lines

if TYPE_CHECKING:
    from .sequential import SequentialComparison


def sequential_text(comparison: SequentialComparison) -> str:
    """Give the decision, the difference with its confidence limits after all rows, and the guarantee."""
    return "\n".join(_lines(comparison))


def _lines(c: SequentialComparison) -> Iterator[str]:
    difference, low, high = float(c.difference[-1]), *c.interval
    first, second = [(_name(c.first), c.e_first), (_name(c.second), c.e_second)]
    if c.second_ahead:  # the one that is ahead comes first
        difference, low, high = -difference, -high, -low
        first, second = second, first
    floor = "" if c.floor is None else f" {at_floor_text(c.floor)}"
    yield _verdict(c)
    yield ""
    yield f"{counted(c.n_rows, c.n_classes, c.labels)}, one after another"
    yield f"{rule_text(c.score)}{floor}, {'larger' if c.larger_is_better else 'smaller'} is better"
    yield ""
    yield f"{'mean difference':22}{figure(difference):>9}   {first[0]} minus {second[0]}"
    yield f"{'lower limit':22}{figure(low):>9}"
    yield f"{'upper limit':22}{figure(high):>9}"
    for (name, e), more in ((first, ""), (second, f"; {2 / c.level:,.4g} decides")):
        yield f"{'e-value':22}{_e_value(float(e[-1])):>9}   evidence that {name} is better{more}"
    yield ""
    yield f"The probability of ever deciding for the worse forecaster is at most {c.level:.10g},"
    yield "however often you look and whenever you stop."
    for name, notes in c.notes.items():
        for line in notes_lines(notes):
            yield f"{_name(name)}: {line}"


def _name(name: str) -> str:
    return short_name(name, 16)


def _verdict(c: SequentialComparison) -> str:
    if c.better is None or c.decided_after is None:
        return "not decided: the confidence limits contained 0 after every row"
    better, now = _name(c.better), c.better_now
    after = f"decided after {number_of(c.decided_after, 'row')}"
    if now == c.better:
        return f"{better} is better: {after}"
    over_all = "neither is significantly better" if now is None else f"{_name(now)} is better"
    return f"{better} was better ({after}); over all rows {over_all}"


def _e_value(e: float) -> str:
    return figure(e) if e < 1000 else f"{e:,.0f}" if e < 1e6 else f"{e:.1e}"
