"""JSON Lines: one object a line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._lib.errors import InputError
from . import Batch, Column, Format, Options, Source, Wanted
from .numbers import Numbers, check_lengths, list_matrix
from .text_streams import Chunk, chunks, head, not_utf8, refuse_utf16

_PROBED_BYTES = 1 << 24
_PROBED_ROWS = 100


_HALF = re.compile(rb"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F])")
"""An escape that may be half a character: one of a pair of surrogates without the other."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")

_Widths = dict[str, int | None]
"""Columns of which a value has been seen: the length of the first list, None for those of single values."""


def open_jsonl(path: Path, options: Options) -> Source:
    """Read the names in the first rows of a file."""
    names: dict[str, None] = {}
    seen: _Widths = {}
    paths: dict[str, None] = {}
    mentioned = frozenset(options.mentioned)
    for row in islice(_rows(_first_lines(path, options.encoding), 1), _PROBED_ROWS):
        names |= dict.fromkeys(row)
        for each in _paths_in(row):
            if len(paths) < _MOST_PATHS or each in mentioned:
                paths[each] = None
        _look(row, seen)
    inside = frozenset(paths.keys() - names.keys())

    def batches(wanted: Wanted) -> Iterator[Batch]:
        first_row = 0
        names_of_numbers = Wanted(wanted.probabilities, wanted.numbers).names
        known = _Known(_widths(path, options.encoding, seen, names_of_numbers, inside), inside)
        for chunk in chunks(path, _after_last_line, options.encoding):
            batch = _batch(chunk, known, wanted, first_row)
            first_row += batch.n_rows
            yield batch

    known = [*names, *(each for each in paths if each in inside)]
    return Source(known, batches, path.stat().st_size, inside, untyped=True)


def json_rows(path: Path, encoding: str = "utf-8") -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a file as they are, in the same batches as its source gives."""
    for chunk in chunks(path, _after_last_line, encoding):
        yield list(_rows(chunk.data, chunk.line))


def _first_lines(path: Path, encoding: str) -> bytes:
    """Give whole lines from the beginning, at least one, of whatever length is read."""
    start = head(path, _PROBED_BYTES, encoding)
    refuse_utf16(start)
    end = _after_last_line(start)
    return start[:end] if end else next(chunks(path, _after_last_line, encoding)).data


def _look(row: dict[str, Any], seen: _Widths) -> None:
    for name, value in row.items():
        if isinstance(value, list) and seen.get(name) is None:
            seen[name] = len(value)
        elif value is not None:
            seen.setdefault(name, None)


_DEEPEST, _LONGEST, _MOST_PATHS = 8, 1000, 100_000
"""Objects and lists are looked into so deep, and lists so far, for the paths that they offer, so many at most.
Those that are asked for count too, wherever they are."""


def _paths_in(value: Any, path: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths to what lies in objects and lists, such as resps.0.text."""
    if depth > _DEEPEST or not isinstance(value, dict | list):
        return
    items = value.items() if isinstance(value, dict) else enumerate(value[:_LONGEST])
    for step, inner in items:
        if depth:
            yield f"{path}{step}"
        yield from _paths_in(inner, f"{path}{step}.", depth + 1)


def _value(row: dict[str, Any], name: str, inside: frozenset[str]) -> Any:
    """Give the value of a field, or of a path; None where there is none."""
    if name not in inside:
        return row.get(name)
    value: Any = row
    for step in name.split("."):
        if isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return None
    return value


def _widths(path: Path, encoding: str, seen: _Widths, names: list[str], inside: frozenset[str]) -> _Widths:
    """Look on through the file for the first value of columns that hold nulls alone in the first rows."""
    found = dict(seen)
    unknown = [name for name in names if name not in found]
    for chunk in chunks(path, _after_last_line, encoding) if unknown else ():
        for row in _rows(chunk.data, chunk.line):
            _look({name: _value(row, name, inside) for name in unknown if name not in found}, found)
            if all(name in found for name in unknown):
                return found
    return found


def _after_last_line(block: bytes) -> int:
    return block.rfind(b"\n") + 1


def _rows(data: bytes, line: int) -> Iterator[dict[str, Any]]:
    """Parse line by line; slow, but it names the line that is wrong and knows NaN."""
    for number, text in enumerate(data.split(b"\n") if data.strip() else (), line):
        if not text.strip():
            continue
        try:
            row = json.loads(text, object_pairs_hook=_first_of_each, parse_int=_whole_number)
        except UnicodeDecodeError:
            raise not_utf8(number, text) from None
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} is not JSON: {error}.") from None
        if not isinstance(row, dict):
            raise InputError(f'line {number} holds {_kind(row)}, not an object such as {{"y": 1, "p": 0.5}}.')
        yield row


def _first_of_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Take the first of values of one name, as the fast reader does."""
    row = dict(pairs)
    return row if len(row) == len(pairs) else row | dict(reversed(pairs))


def _whole_number(digits: str) -> int | str:
    """Leave a number of more digits than Python reads as text, which it can only be as a label."""
    try:
        return int(digits)
    except ValueError:
        return digits


def _kind(value: object) -> str:
    kinds = {list: "a list", str: "a text", dict: "an object", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


class _Known(NamedTuple):
    """What is known of the fields."""

    widths: _Widths
    inside: frozenset[str]
    """Names that are paths into objects and lists."""


def _batch(chunk: Chunk, known: _Known, wanted: Wanted, first_row: int) -> Batch:
    numeric = wanted.numeric
    lists = {name: width for name, width in known.widths.items() if width is not None}
    nested = [name for name in wanted.raw if name in lists]
    if nested:
        raise InputError(f"column {nested[0]!r} holds lists, not labels. {_one_value(nested[0])}")
    kinds: dict[str, Any] = dict.fromkeys(wanted.raw, pl.String)
    kinds |= {name: pl.List(pl.Float64) if name in lists else pl.Float64 for name in numeric if name not in wanted.raw}
    frame = None if known.inside.intersection(kinds) or _HALF.search(chunk.data) else _frame(chunk.data, kinds)
    if frame is None or any(frame[name].str.contains(r"^[\[{]").any() for name in wanted.raw):
        frame = _frame_by_line(chunk, wanted, lists, known.inside, first_row)
    read = Numbers(first_row, wanted.cells)
    data = {
        name: _matrix(frame[name], lists[name], first_row, read) if name in lists else read.of(frame[name], name)
        for name in numeric
    }
    raw: dict[str, Column] = {name: frame[name] for name in wanted.raw}
    return read.batch(wanted, data, raw, frame.height, chunk.position, chunk.last)


def _frame(data: bytes, kinds: dict[str, Any]) -> pl.DataFrame | None:
    """Read rows fast where all values are spelled as expected; lists and objects among texts become texts here."""
    if not data.strip():
        return None
    try:
        return pl.read_ndjson(data, schema=kinds)
    except pl.exceptions.PolarsError:
        return None


def _frame_by_line(
    chunk: Chunk, wanted: Wanted, lists: dict[str, int], inside: frozenset[str], first_row: int
) -> pl.DataFrame:
    """Read values that are spelled in more than one way, and name what cannot be read."""
    rows = list(_rows(chunk.data, chunk.line))
    columns: list[pl.Series] = []
    for name in wanted.names:
        values = [_value(row, name, inside) for row in rows]
        if name in wanted.raw:
            texts = [_text(value, name, first_row + at) for at, value in enumerate(values)]
            spelled = _as_fast_reader({repr(value) for value in values if isinstance(value, float)})
            alike = [spelled.get(repr(value), text) for value, text in zip(values, texts, strict=True)]
            columns.append(pl.Series(name, alike, dtype=pl.String))
        elif name in lists:
            items = [_items(value, name, first_row + at) for at, value in enumerate(values)]
            columns.append(pl.Series(name, items, dtype=pl.List(pl.String)))
        else:
            columns.append(pl.Series(name, [*map(_cell, values)], dtype=pl.String))
    return pl.DataFrame(columns)


def _text(value: object, name: str, row: int) -> str | None:
    if isinstance(value, list | dict):
        remedy = f" {_one_value(name)}" if isinstance(value, list) else ""
        raise InputError(f"column {name!r} holds {_kind(value)} at row {row} (counted from 0), not a label.{remedy}")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and _HALF_CHARACTER.search(value):
        raise InputError(
            f"column {name!r} holds half a character, {value!r:.40}, at row {row} (counted from 0): a surrogate"
            " without its other half. Write the text anew with whole characters."
        )
    return None if value is None else str(value)


def _as_fast_reader(numbers: set[str]) -> dict[str, str]:
    """Spell fractional numbers as the fast reader does, so that one label has one spelling: 1.0 is 1."""
    finite = [number for number in numbers if math.isfinite(float(number))]
    if not finite:
        return {}
    lines = "".join(f'{{"number": {number}}}\n' for number in finite)
    texts = pl.read_ndjson(lines.encode(), schema={"number": pl.String})["number"]
    return dict(zip(finite, texts, strict=True))


def _one_value(name: str) -> str:
    return f"Name one of their values by its place, as in {name}.0."


def _cell(value: object) -> str | None:
    """Give a value as the text of a cell, as it would stand in a file of text."""
    if isinstance(value, bool):
        return str(int(value))
    return value if value is None or isinstance(value, str) else repr(value)


def _items(value: object, name: str, row: int) -> list[str | None] | None:
    if value is None:
        return None
    if not isinstance(value, list):
        raise InputError(f"column {name!r} holds {_kind(value)} at row {row} (counted from 0), lists before it.")
    return [*map(_cell, value)]


def _matrix(column: pl.Series, width: int, first_row: int, read: Numbers) -> NDArray[Any]:
    lengths = column.list.len().fill_null(0).to_numpy().astype(np.int64)
    present = column.is_not_null().to_numpy()
    check_lengths(lengths, present, width, column.name, first_row)
    kept = column.filter(column.list.len() > 0)
    values = read.of_items(kept.explode(), column.name, present, width)
    return list_matrix(values, lengths, present if column.null_count() else None, width, column.name, first_row)


FORMATS = (Format("jsonl", open_jsonl, (".jsonl", ".ndjson"), magic=(b"{",), text=True, rank=1),)
