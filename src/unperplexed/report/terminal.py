"""A document as text for a terminal: conclusion, cost and remedy, key figures, a few tables, settings, warnings.

Lines have at most 80 columns, fewer where the terminal has fewer: sentences are wrapped, and the columns of a table
that have no room stand below their row. Only commands and lines of Python keep
their length, so that they can be copied.
"""

from __future__ import annotations

import re
import shutil
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from .._lib.formatting import printable
from . import document as doc

WIDTH, _NARROWEST = 80, 40
"""Columns that lines have at most, and that they are not wrapped below."""

_LABEL = 8
"""Columns of the label before a cost or a remedy."""

_LINES = 3
"""Lines that a heading takes."""

_WIDEST = 34
"""Columns that the first column of a table, whose longer names are folded, takes from the others."""


_STOP = re.compile(r"[.!?]$")


_SECOND = "\ue000"
"""Stands behind each character that takes two columns while lines are made; no text from outside has it."""


def _shown(words: str) -> str:
    """Give a text in one line, as long as it is wide."""
    shown = printable(words)
    if shown.isascii():
        return shown
    return "".join(c + _SECOND if unicodedata.east_asian_width(c) in "WF" else c for c in shown)


def width() -> int:
    """Return the number of columns to write in: those of the terminal, between 40 and 80."""
    return max(_NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def text(document: doc.Document, columns: int | None = None, *, colour: bool = False) -> str:
    """Give a document as text.

    Parameters
    ----------
    document : Document
        What is shown: its conclusion, actions, metrics, and the blocks of its summary.
    columns : int, optional
        Width of the lines; by default that of the terminal, between 40 and 80.
    colour : bool, default False
        Whether the headline is yellow, or cyan where nothing calls for action: no evidence is no approval.

    Returns
    -------
    str

    Examples
    --------
    >>> print(text(doc.Document("Rain", "365 forecasts", "Overconfident", "Observed in 70%, predicted 80%.")))
    Overconfident.
    Observed in 70%, predicted 80%.
    <BLANKLINE>
    365 forecasts
    """
    columns = columns or width()
    parts = [
        [*_conclusion(document, columns, colour), *_actions(document, columns)],
        _wrapped(document.facts, columns),
        list(_metrics(document, columns)),
        *(list(_block(block, columns)) for block in document.summary),
        list(_ending(document, columns)),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines).replace(_SECOND, "")


def _wrapped(words: str, columns: int, first: str = "", later: str = "") -> list[str]:
    """Wrap a sentence; what comes from outside is made printable."""
    return textwrap.wrap(_shown(words), columns, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)


def _conclusion(d: doc.Document, columns: int, colour: bool) -> Iterator[str]:
    for line in _wrapped(f"{d.headline}.", columns):
        yield f"\x1b[{36 if d.calm else 33}m{line}\x1b[0m" if colour else line
    yield from _wrapped(d.lead, columns)


def _actions(d: doc.Document, columns: int) -> Iterator[str]:
    if d.actions or d.command or d.further:
        yield ""
    indent = " " * _LABEL
    for action in d.actions:
        yield from _action(action, columns)
    if d.command is not None:
        longest = max(len(line) for line in d.command.text.splitlines())
        room = max(columns - longest, 2) if isinstance(d.command.text, doc.Python) else columns
        yield from doc.command_lines(d.command.text, columns, f"{indent}  "[:room])
    if d.further is not None:
        yield from _action(d.further, columns)
    for remark in d.remarks:
        yield ""
        yield from _wrapped(remark, columns)


def _action(action: doc.Action, columns: int) -> list[str]:
    return _wrapped(action.text, columns, f"{action.label:{_LABEL}}", " " * _LABEL)


def _metrics(d: doc.Document, columns: int) -> Iterator[str]:
    """Give the key figures as one table, and below it which direction is better."""
    if d.metrics:
        table = doc.metrics_table(d.metrics, d.intervals)
        yield from _rows(_apart(table), columns, table.brief)
        yield from _wrapped(table.caption, columns)


def _block(block: doc.Block, columns: int) -> Iterator[str]:
    match block:
        case doc.Table():
            yield from _wrapped(block.caption, columns)
            yield from _rows(_apart(block.short()), columns, block.brief)
        case doc.Prose():
            yield from _wrapped(block.text, columns)
        case doc.Code():
            yield from doc.command_lines(block.text, columns, "  ")
        case doc.Settings():
            for name, value in block.items:
                yield from _wrapped(f"{name}: {value}", columns, later="  ")
        case doc.Notes():
            for line in block.lines:
                yield from _wrapped(line, columns, later="  ")
        case _:  # a chart is left to what can draw
            return


def _apart(table: doc.Table) -> Iterator[doc.Column]:
    """Give the notes of each column a column of their own."""
    for at, each in enumerate(table.columns):
        if each.strips:
            continue
        if at == 0:
            names = [f"{v}, {n}" if n else v for v, n in zip(each.values, [*each.notes, *each.values], strict=False)]
            yield doc.Column(each.heading, names if each.notes else each.values)
            continue
        yield each
        if any(each.notes):
            yield doc.Column(table.notes or "95% CI", each.notes)


def _rows(table: Iterable[doc.Column], columns: int, most: int) -> Iterator[str]:
    """Align the columns of a table; those without room stand below their row, each under its heading."""
    first, *others = table
    n = min(len(first.values), most)
    names = [_shown(each) for each in first.values[:n]]
    wide = {id(column): _least_width(column, n) for column in others}
    figures = sum(wide[id(column)] + 2 for column in others if not column.words)
    longest = max(map(len, [*names, *_stacked(first.heading, _WIDEST)]), default=0)
    widest = min(longest, max(columns - figures, min(_WIDEST, columns // 2)))
    beside: list[tuple[doc.Column, int]] = []
    below: list[doc.Column] = []
    room = columns - widest
    for column in others:
        needed = wide[id(column)]
        if needed + 2 <= room and not (column.words and needed > _WIDEST):
            beside.append((column, needed))
            room -= needed + 2
        else:
            below.append(column)
    yield from _headings(first.heading, widest, beside)
    for at in range(n):
        *above, last = textwrap.wrap(names[at], widest, subsequent_indent="  ") or [""]
        yield from above
        cells = (f"  {_shown(column.values[at]):{'<' if column.words else '>'}{needed}}" for column, needed in beside)
        yield f"{last:{widest}}{''.join(cells)}".rstrip()
        rest = (": ".join(filter(None, [each.heading, each.values[at]])) for each in below if each.values[at])
        yield from _wrapped("; ".join(rest), columns, "  ", "    ")
    if len(first.values) > n:
        yield f"... and {len(first.values) - n:,} more"


def _least_width(column: doc.Column, n: int) -> int:
    """Return the width of the longest value, or of the heading in two lines."""
    heading = _shown(column.heading)
    width = max([len(_shown(each)) for each in column.values[:n]] + [len(word) for word in heading.split()] + [1])
    while len(_stacked(heading, width)) > _LINES:
        width += 1
    return width


def _headings(first: str, widest: int, beside: Sequence[tuple[doc.Column, int]]) -> Iterator[str]:
    """Give the headings, each in as many lines as it needs, the last of them above the values."""
    stacks = [_stacked(first, widest), *(_stacked(column.heading, wide) for column, wide in beside)]
    if not any(map(any, stacks)):
        return
    most = max(map(len, stacks))
    stacks = [[""] * (most - len(stack)) + stack for stack in stacks]
    for line in zip(*stacks, strict=True):
        cells = (
            f"  {cell:{'<' if column.words else '>'}{wide}}"
            for cell, (column, wide) in zip(line[1:], beside, strict=True)
        )
        yield f"{line[0]:{widest}}{''.join(cells)}".rstrip()


def _stacked(heading: str, columns: int) -> list[str]:
    return textwrap.wrap(_shown(heading), max(columns, 1), break_long_words=False) or [""]


def _ending(d: doc.Document, columns: int) -> Iterator[str]:
    """Give settings, where to read more, and the warnings."""
    if d.settings:
        yield from _wrapped(f"settings: {d.settings}", columns, later="  ")
    if d.more:
        yield from _wrapped(f"more: {d.more}", columns, later="  ")
    for warning in d.warnings:
        yield from _wrapped(f"warning: {warning}{'' if _STOP.search(warning) else '.'}", columns, later="  ")
