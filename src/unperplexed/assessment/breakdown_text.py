"""A Breakdown as text that fits a terminal of 80 columns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._lib.formatting import (
    number_of,
    percent,
    printable,
    short_name,
)
from ..calibration.diagnosis.describe import CODES, code
from ..report.numbers import figure
from ..report.terminal import text
from ..tally.describe import notes_lines
from .describe import Described
from .group_remedies import MOST_GROUPS as REMEDIED
from .group_remedies import remedy_lines

if TYPE_CHECKING:
    from ..forecasts.group_keys import Key, Value
    from .breakdown import Breakdown, GroupAssessment

_MOST_GROUPS = 20
_MOST_EMPTY = 3

_WHOLE, _MISSING = "whole", "(missing)"

ORDERS = {
    "geometric_accuracy": "the lowest reported geometric accuracy first",
    "cost": "the highest cost of miscalibration first",
    "prediction_accuracy": "the lowest prediction accuracy first",
    "rows": "the most rows first",
    "group": "in order",
}
_COLUMNS = {"rows": 9, "reported": 9, "s.e.": 7, "measured": 9, "verdict": 16, "cost": 7, "right": 6}
_SHRUNKEN = {"rows": 10, "reported": 10, "shrunken": 10, "interval": 17, "own": 6, "cost": 7}
_WIDTH = 80


def breakdown_text(b: Breakdown) -> str:
    """Give the groups as a table below the whole, and what its columns mean."""
    columns = _COLUMNS if b.shrinkage is None else _SHRUNKEN
    name = _WIDTH - sum(columns.values())

    def line(first: str, cells: dict[str, str], mark: str = "") -> str:
        room = name - len(mark)
        shown = short_name(first, room) + mark
        return (f"{shown:{name}}" + "".join(f"{cells.get(c, ''):>{width}}" for c, width in columns.items())).rstrip()

    shown = b.groups[:_MOST_GROUPS]
    heads = {column: column for column in columns}
    if b.shrinkage is not None:
        heads["interval"] = f"{percent(b.shrinkage.confidence)} interval"
    lines = [
        text(Described(b.whole).conclusion(), _WIDTH),
        *_header(b),
        "",
        line(", ".join(map(printable, b.by)), heads),
    ]
    for first, group in [(_WHOLE, b.total), *((key_text(group.key), group) for group in shown)]:
        lines.append(line(first, _cells(group), "*" if group.small else ""))
    if len(b) > len(shown):
        lines.append(f"... and {len(b) - len(shown):,} more: --json")
    return "\n".join([*lines, "", *_remedies(b), *_footnotes(b), *notes_lines(b.whole.notes)])


def key_text(key: Key) -> str:
    """Name a group in one line."""
    return ", ".join(map(_value_text, key))


def _value_text(value: Value) -> str:
    """Give a value as it is; quoted where it has spaces at its ends, or reads like a word of the table's own."""
    if value is None:
        return _MISSING
    text = printable(str(value))
    return f'"{text}"' if text != text.strip() or text in (_WHOLE, _MISSING) else text


def _header(b: Breakdown) -> Iterator[str]:
    order = ORDERS[b.sort]
    if b.shrinkage is not None:
        order = order.replace("reported", "shrunken")
    if b.small_last:
        order += ", small ones last"
    groups = f"{number_of(len(b), 'group')} by {', '.join(map(printable, b.by))}, {order}"
    yield from textwrap.wrap(groups, _WIDTH)


def _cells(group: GroupAssessment) -> dict[str, str]:
    a, s = group.assessment, group.shrunken
    cells = {
        "rows": f"{a.n_rows:,}",
        "reported": figure(a.reported.geometric_accuracy),
        "s.e.": _three_decimals(group.standard_error),
        "measured": figure(a.measured.geometric_accuracy),
        "cost": _three_decimals(group.cost),
        "right": figure(a.prediction_accuracy),
    }
    if s is None:
        return cells | {"verdict": code(a.diagnosis)}
    return cells | {
        "shrunken": figure(s.geometric_accuracy),
        "interval": f"{figure(s.low)} to {figure(s.high)}",
        "own": f"{s.own_share:.0%}",
    }


def _remedies(b: Breakdown) -> Iterator[str]:
    """Say which groups recalibration would help."""
    if len(b) > REMEDIED:
        return
    found = [part for line in remedy_lines(b.remedies, len(b)) for part in _wrapped(line)]
    yield from [*found, ""] if found else []


def _wrapped(line: str) -> list[str]:
    return textwrap.wrap(line, _WIDTH, subsequent_indent="  ")


def _three_decimals(value: float) -> str:
    return figure(0.0 if abs(value) < 0.0005 else value)


def _footnotes(b: Breakdown) -> Iterator[str]:
    yield "reported, measured: geometric accuracy; cost: ln(measured / reported), in nats"
    if b.shrinkage is None:
        yield "s.e.: standard error of the reported one; right: prediction accuracy"
        yield from textwrap.wrap(CODES, _WIDTH)
    else:
        centre, spread = figure(b.shrinkage.centre), math.exp(b.shrinkage.between)
        yield f"shrunken: the own share of reported, the rest {centre}, the centre of all groups"
        more = f"beyond chance, groups differ by a factor of {spread:.{2 if spread > 1.1 else 3}f} (standard deviation)"
        yield more if spread > 1 else "groups differ by no more than chance makes them"
    if any(group.small for group in (b.total, *b.groups)):
        yield "* small: fewer than 100 rows whose most probable class was observed, or was not"
    if b.empty:
        named = ", ".join(map(key_text, b.empty[:_MOST_EMPTY])) + (", ..." if len(b.empty) > _MOST_EMPTY else "")
        yield from textwrap.wrap(f"{len(b.empty):,} without rows to assess, left out: {named}", _WIDTH)
    if b.shrinkage is None:
        yield from (f"({warning})" for warning in b.whole.uncertainty.warnings)
