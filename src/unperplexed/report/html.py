"""A document as one HTML page that needs nothing else: no network, no library, no script to be read.

Every text of the document is escaped. The policy in the page's head lets nothing run but the page's own script, by its
hash, and nothing be fetched; the script adds a cursor on charts, definitions on demand, sorting and copying.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from itertools import count, zip_longest

import numpy as np

from .._lib.formatting import printable, short_name, short_names
from .._version import __version__
from . import document as doc
from . import svg
from .chart import Chart, percent_end

MOST_ROWS = 1000
"""Rows of a table; its caption names where the others are."""

_LONG = 100
"""Rows of a table in which names are shorter, so that the page stays small whatever they are."""

_WIDE = 7
"""Columns of a table that scrolls by itself where the window is too narrow."""


def page(document: doc.Document) -> str:
    """Give the whole file.

    Parameters
    ----------
    document : Document
        What is shown.

    Returns
    -------
    str

    Examples
    --------
    >>> page(doc.Document("Rain", "365 forecasts", "Overconfident", "...")).startswith("<!doctype html>")
    True
    """
    d, tables = document, Tables()
    body = "".join(
        [
            '<a class="skip" href="#main">Skip to the verdict</a>',
            _header(d),
            '<main id="main">',
            _top(d, tables),
            f'<div class="below">{"".join(_section(each, tables) for each in _sections(d))}</div></main>',
            f"<footer>Made by unperplexed {__version__}. One file, complete: it makes no network request.</footer>",
            '<div id="tip" role="status" aria-live="polite" hidden></div>',
        ]
    )
    script = _asset("report.js")
    return (
        '<!doctype html>\n<html lang="en-GB"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(script)}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f'<meta name="generator" content="unperplexed {__version__}">'
        f"<title>{_text(d.title)}</title><style>{_asset('report.css')}{tables.style()}</style></head>\n"
        f"<body>{body}\n<script>{script}</script></body></html>\n"
    )


def _sections(d: doc.Document) -> Sequence[doc.Section]:
    """Give the sections; for a document without any, what short forms show."""
    if d.sections or not (d.summary or d.settings or d.warnings):
        return d.sections
    blocks = [*d.summary, *([doc.Prose(f"Settings: {d.settings}.", quiet=True)] if d.settings else [])]
    blocks += [doc.Notes("Warnings", d.warnings)] if d.warnings else []
    return [doc.Section("details", "Details", blocks)]


def card(document: doc.Document) -> str:
    """Give a document in short for a notebook: conclusion, actions, key figures and the tables of its summary.

    Parameters
    ----------
    document : Document
        What is shown.

    Returns
    -------
    str

    Examples
    --------
    >>> card(doc.Document("Rain", "365 forecasts", "Overconfident", "Observed in 70%."))
    '<div><p><b>Overconfident.</b></p><p>Observed in 70%.</p><p>365 forecasts</p></div>'
    """
    d, tables = document, Tables()
    actions = [_in_line(each) for each in d.actions]
    command = [] if d.command is None else [f"<pre>{_text_lines(d.command.text)}</pre>"]
    keys = [_table(doc.metrics_table(d.metrics, d.intervals), tables)] if d.metrics else []
    still = [each.short() if isinstance(each, doc.Table) else each for each in d.summary]
    blocks = [_block(each, tables) for each in still]
    settings = [f"<small>settings: {_text(d.settings)}</small>"] if d.settings else []
    warnings = [f"<b>warning:</b> {_text(each)}" for each in d.warnings]
    lines = [f"<b>{_text(d.headline)}.</b>", _text(d.lead), *actions]
    further = [] if d.further is None else [_in_line(d.further)]
    more = [*further, *map(_text, d.remarks), _text(d.facts)]
    return (
        f"<div>{_paragraphs(lines)}{''.join(command)}{_paragraphs(more)}{''.join([*keys, *blocks])}"
        f"{_paragraphs([*settings, *warnings])}</div>"
    )


def _in_line(action: doc.Action) -> str:
    return f"<b>{_text(action.title)}:</b> {_text(action.text)}"


def _paragraphs(lines: Iterable[str]) -> str:
    return "".join(f"<p>{line}</p>" for line in lines if line)


@cache
def _asset(name: str) -> str:
    return (files("unperplexed.report") / "assets" / name).read_text("utf-8").replace("\r\n", "\n")


def policy(script: str) -> str:
    """Let this script run and nothing else; styles are the page's own, and nothing is fetched."""
    found = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{found}'; style-src 'unsafe-inline'; base-uri 'none';"
        " form-action 'none'"
    )


def _text(text: str) -> str:
    """Give a text from anywhere as text of the page."""
    return escape(printable(text)).replace("&#x27;", "&#39;")


def _header(d: doc.Document) -> str:
    sections = [each for each in (d.first, *d.sections) if each is not None and each.link]
    links = "".join(f'<a href="#{each.id}">{_text(each.link)}</a>' for each in sections)
    return (
        f'<header><span class="mark">unperplexed</span><span class="meta">{_text(d.facts)}</span>'
        f'<nav aria-label="Sections">{links}</nav></header>'
    )


def _top(d: doc.Document, tables: Tables) -> str:
    """Give conclusion, cost, remedy, the chart and the key figures."""
    heading = (
        f'<div class="say{" calm" if d.calm else ""}"><h1>{_text(d.headline)}</h1><p class="lead">{_text(d.lead)}</p>'
        f"{_listed(d.actions)}{_code(d.command) if d.command else ''}{_listed([d.further] if d.further else [])}</div>"
    )
    chart = ""
    if d.figure is not None:
        table = "" if d.figure_table is None else _table(d.figure_table, tables)
        chart = svg.figure(d.figure, main=True, table=table)
    keys = "".join(_metric(each) for each in d.metrics)
    keys = f'<dl class="keys" aria-label="Key metrics">{keys}</dl>' if keys else ""
    several = " four" if any(each.readings for each in d.metrics) else "" if d.metrics else " bare"
    first = "" if d.first is None else _section(d.first, tables)
    return f'<div class="top{several}">{heading}{chart}{keys}{first}</div>'


def _listed(actions: Sequence[doc.Action]) -> str:
    items = "".join(f"<dt>{_text(each.title)}</dt><dd>{_text(each.text)}</dd>" for each in actions)
    return f"<dl class=act>{items}</dl>" if items else ""


def _metric(metric: doc.Metric) -> str:
    name = f"<dt>{_defined(metric.name, metric.meaning)}</dt>"
    if metric.readings:
        rows = "".join(map(_reading, metric.readings))
        return f'<div class="kf k3">{name}<dd>{rows}</dd></div>'
    after = f"<strong>{_text(metric.after)}</strong> after remedy" if metric.after else ""
    reference = "; ".join(part for part in (after, _text(metric.reference)) if part)
    return (
        f'<div class="kf">{name}<dd><b>{_text(metric.value)}</b><span class="ci">{_text(metric.interval)}</span>'
        f'<span class="ref">{reference}</span></dd></div>'
    )


def _reading(reading: doc.Reading) -> str:
    role = f" class=k-{reading.role}" if reading.role else ""
    return (
        f'<span class="kr"><span{role}>{_text(reading.name)}</span><b>{_text(reading.value)}</b>'
        f"<small>{_text(reading.interval)}</small></span>"
    )


def _defined(name: str, meaning: str) -> str:
    """Give a name with its definition on demand."""
    if not meaning:
        return _text(name)
    return f'<button type="button" class="tip" aria-expanded="false" data-tip="{_text(meaning)}">{_text(name)}</button>'


def _section(section: doc.Section, tables: Tables) -> str:
    halves = [[each for each in section.blocks if isinstance(each, doc.Code) == code] for code in (True, False)]
    if section.halved and all(halves):
        left, right = ("".join(_block(each, tables) for each in half) for half in halves)
        blocks = f'<div class="two"><div>{left}</div><div>{right}</div></div>'
    else:
        blocks = "".join(_block(each, tables) for each in section.blocks)
    kind = "" if section.width == 12 else f' class="s{section.width}"'
    return f'<section id="{section.id}"{kind}><h2>{_text(section.title)}</h2>{blocks}</section>'


def _block(block: doc.Block, tables: Tables) -> str:
    match block:
        case doc.Table():
            return _table(block, tables)
        case doc.Prose():
            return f"<p{' class=q' if block.quiet else ''}>{_text(block.text)}</p>"
        case doc.Code():
            return f"<h3>{_text(block.label)}</h3>{_code(block)}"
        case doc.Settings():
            items = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in block.items)
            title = f"<h3>{_text(block.title)}</h3>" if block.title else ""
            return f'{title}<dl class="set">{items}</dl>'
        case doc.Notes():
            lines = "".join(f"<li>{_text(line)}</li>" for line in block.lines)
            return f'<h3>{_text(block.title)}</h3><ul class="warn">{lines}</ul>'
        case doc.Folded():
            blocks = "".join(_block(each, tables) for each in block.blocks)
            return f"<details><summary>{_text(block.title)}</summary>{blocks}</details>"
        case Chart():
            return svg.figure(block)
        case _:
            return f'<div class="mini">{"".join(svg.small(each) for each in block.charts)}</div>'


_COMMAND = 62
"""Columns of a command beside the diagram; a narrower window wraps its lines."""


def _code(code: doc.Code) -> str:
    lines = _text_lines("\n".join(doc.command_lines(code.text, _COMMAND)))
    return (
        f'<div class="code"><pre tabindex="0" aria-label="{_text(code.label)}"><code>{lines}</code></pre>'
        '<button type="button" class="copy" hidden>Copy</button></div>'
    )


def _text_lines(text: str) -> str:
    return "\n".join(_text(line) for line in text.split("\n"))


def _table(table: doc.Table, tables: Tables) -> str:
    """Give the first thousand rows."""
    number = tables.add(table)
    n = min(table.n_rows, MOST_ROWS)
    kind = "sort" if table.sortable else "stack"
    heads = "".join(_head(each, table.sortable) for each in table.columns)
    columns = [_cells(each, at == 0, n, table.n_rows > _LONG) for at, each in enumerate(table.columns)]
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    caption = table.caption
    if table.notes:
        caption += f" The small type is the {table.notes}."
    if table.sortable and not table.folded:
        caption += " Click a heading to sort."
    if table.n_rows > n:
        caption += f" The first {n:,} of {table.n_rows:,} rows."
    whole = (
        f'<table id="t{number}" class="{kind}"><caption>{_text(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
    )
    if table.sortable or len(table.columns) >= _WIDE:
        whole = f'<div class="scroll" tabindex="0" role="region" aria-label="{_text(table.caption)}">{whole}</div>'
    return f"<details><summary>{_text(table.caption)}</summary>{whole}</details>" if table.folded else whole


def _head(column: doc.Column, sortable: bool) -> str:
    kind = " class=w" if column.words else ""
    meaning = f' title="{_text(column.meaning)}"' if column.meaning else ""
    name = _text(column.heading)
    if column.strips:
        reach = _end(column.strips)
        scale = f", 0 to {100 * reach:g}%" if reach < 1 else ""
        name = f'<span class="k-p">○</span> predicted <span class="k-o">●</span> observed{scale}'
    elif sortable and name:
        name = f'<button type="button"{meaning}>{name}</button>'
    return f'<th scope="col"{kind}>{name}</th>'


def _cells(column: doc.Column, first: bool, n: int, long: bool) -> list[str]:
    if column.strips:
        reach = _end(column.strips)
        return [f"<td>{_strip(each, reach)}</td>" for each in column.strips[:n]]
    tag = '<th scope="row">' if first else "<td class=w>" if column.words else "<td>"
    end = "</th>" if first else "</td>"
    found, values = [], column.values[:n]
    shown = _brief(values) if long and (first or column.words) else values
    for value, note, meaning in zip_longest(shown, column.notes[:n], column.meanings[:n], fillvalue=""):
        small = f" <small>{_text(note)}</small>" if note else ""
        text = _defined(value, meaning).replace("&lt; ", "&lt;&nbsp;", not column.words)
        found.append(f"{tag}{text}{small}{end}")
    return found


def _brief(names: Sequence[str]) -> list[str]:
    """Give names in sixty characters, and in fewer where these take many bytes."""
    size = max((len(escape(short_name(name, 60)).encode()) for name in names), default=0)
    return short_names(names, 60 if size <= 120 else max(60 * 120 // size, 8))


def _end(strips: Sequence[doc.Strip]) -> float:
    """Find where the common scale of strips ends: before 1 where all are small."""
    return percent_end(np.array([(each.predicted, each.observed, each.high) for each in strips]))


def _strip(strip: doc.Strip, end: float) -> str:
    predicted, observed, limit, reach = (100 * x / end for x in strip)
    low, high = sorted((predicted, observed))
    band = f'<u style="left:{limit:.3g}%;width:{reach - limit:.3g}%"></u>' if reach > limit else ""
    return (
        f'<span class="dumb" aria-hidden="true"><s style="left:{low:.3g}%;width:{high - low:.3g}%"></s>'
        f'{band}<b style="left:{predicted:.3g}%"></b><em style="left:{observed:.3g}%"></em>'
        "</span>"
    )


class Tables:
    """Numbers the tables of a page, and writes their headings beside the cells where columns have no room."""

    def __init__(self) -> None:
        """Begin with none."""
        self._numbers = count(1)
        self._rules: list[str] = []

    def add(self, table: doc.Table) -> int:
        """Number a table. One that can be sorted keeps its columns, and scrolls."""
        number = next(self._numbers)
        for at, column in enumerate(() if table.sortable else table.columns[1:], start=1):
            if column.heading and not column.strips:
                self._rules.append(f'#t{number} td:nth-of-type({at})::before{{content:"{_css(column.heading)}"}}')
        return number

    def style(self) -> str:
        """Give the rules of all tables, which concern narrow screens."""
        return f"@media (max-width:599px){{{''.join(self._rules)}}}"


def _css(text: str) -> str:
    """Give a text from anywhere as a string of a style sheet: nothing in it ends the string, or the element."""
    return "".join(c if c.isascii() and (c.isalnum() or c == " ") else f"\\{ord(c):x} " for c in printable(text))
