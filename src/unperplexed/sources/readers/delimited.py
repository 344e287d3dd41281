"""CSV and its kin."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._lib.errors import InputError
from ..._lib.typing import Bools
from ...kernels.compiled import kernel as _kernel
from . import Batch, Column, Format, Options, Source, Wanted
from .numbers import Numbers, not_a_number
from .text_streams import Chunk, check_utf8, chunks, head

_SLICE = 1 << 20

_PARTS, _SHORTEST = 64, 1 << 17
"""Parts of a file, or more, of each of which a sample has the first rows: enough to hold groups from all over. A part
has so many bytes or more, for some of its rows to be in the sample."""

_QUOTE, _NEWLINE, _RETURN = b'"\n\r'
_LINE_ENDS = b"\r\n"
_QUOTE_WELL = "Quote whole fields only, and write a quote inside them twice."

_MOST_COLUMNS = 1 << 18
"""Each takes a kilobyte of memory, though it is not read."""

_Words = dict[str, tuple[int, str] | None]
"""Columns seen so far to hold numbers (None), or true and false: the first row with such a word, and the word."""


def open_delimited(path: Path, options: Options) -> Source:
    """Read the header of a text file."""
    header, header_lines = _header(path, options)
    known = ";\t|," + " " * bool({*options.mentioned} & {*" ".join(header).split()})
    others = [other for other in known if other != options.separator and len(header) == 1 and other in header[0]]
    if others:
        other = others[0]
        comma = (
            ", or --decimal-comma if its numbers are written like 0,5"
            if other == ";" and not options.decimal_comma
            else ""
        )
        if other == "," and options.decimal_comma:
            raise InputError(
                f"has one column, {header[0]!r}. With --decimal-comma fields are separated by {options.separator!r};"
                " --separator , reads those that are quoted, or leave out --decimal-comma."
            )
        named = "tab" if other == "\t" else repr(other)
        raise InputError(
            f"has one column, {header[0]!r}; separated by {other!r}? --separator {named} reads it so{comma}."
        )

    checked: set[int] = set()  # chunks whose lines were looked at: a file may be gone through twice

    def batches(wanted: Wanted) -> Iterator[Batch]:
        twice = [name for name in wanted.names if header.count(name) > 1]
        if twice:
            raise InputError(f"the header has column {twice[0]!r} {header.count(twice[0])} times; rename one.")
        first_row = 0
        words: _Words = {}
        for number, chunk in enumerate(chunks(path, _after_last_record, options.encoding)):
            rows = _without_header(replace(chunk, data=_single(chunk.data, options)), header_lines)
            if len(header) > 1:
                rows = _without_blank_end(rows)
            count = None
            if number not in checked:
                count = _check_lines(rows, options.separator, len(header))
                if count is None:
                    checked.add(number)
            batch = _batch(rows, count, header, wanted, options, first_row, words)
            first_row += batch.n_rows
            yield batch

    def sampled(wanted: Wanted, share: float) -> Iterator[Batch]:
        parts, n_bytes = [], max(_SHORTEST, path.stat().st_size // _PARTS)
        for chunk in chunks(path, _after_last_record, options.encoding, n_bytes):
            data = _single(_without_header(chunk, header_lines).data, options)
            parts.append(data[: _after_last_record(data[: math.ceil(share * len(data))])])
        batch = _batch(Chunk(b"".join(parts), 1, path.stat().st_size, True), None, header, wanted, options, 0, {})
        ends = np.cumsum([*map(_count_lines, parts)])
        yield replace(batch, stretch=np.searchsorted(ends[:-1], np.arange(batch.n_rows), side="right"))

    size = path.stat().st_size
    return Source(header, batches, size, untyped=True, rows=_rows(path, size, options.encoding), sampled=sampled)


def _rows(path: Path, size: int, encoding: str) -> int:
    """Estimate the number of rows by the first lines; less of a compressed file."""
    start = head(path, _SLICE, encoding)
    return size * _count_lines(start) // max(len(start), 1)


def _header(path: Path, options: Options) -> tuple[list[str], int]:
    """Names in the header, and the number of lines it takes."""
    start = _single(head(path, None, options.encoding), options)
    if b"\n" not in start and b"\r" in start:
        raise InputError("its lines end in carriage returns alone. Save it with the line ends of Unix or Windows.")
    check_utf8(start[: start.find(b"\n") + 1 or None], 1)
    try:
        lines = (line.decode("utf-8", "replace") for line in io.BytesIO(start))  # of which one or two are wanted
        reader = csv.reader(lines, delimiter=options.separator)
        header = next(reader, [])
    except csv.Error as error:
        raise InputError(f"not readable as CSV: {error}.") from None
    if len(header) > _MOST_COLUMNS:
        raise InputError(f"the header names more than {_MOST_COLUMNS:,} columns.")
    return header, reader.line_num


_BLANKS = re.compile(rb'("[^"]*")|^ +| +(?=\r?$)|( ) *', re.MULTILINE)
"""What is quoted, blanks around a line, and blanks between fields."""


def _single(data: bytes, options: Options) -> bytes:
    """Separate fields by one blank where blanks separate them, however many: they align columns."""
    return _BLANKS.sub(rb"\1\2", data) if options.separator == " " else data


def _without_header(chunk: Chunk, lines: int) -> Chunk:
    if chunk.line > 1:
        return chunk
    end = 0
    for _ in range(lines):
        end = chunk.data.find(b"\n", end) + 1 or len(chunk.data)
    return Chunk(chunk.data[end:], chunk.line + lines, chunk.position, chunk.last)


def _without_blank_end(chunk: Chunk) -> Chunk:
    if not chunk.last:
        return chunk
    end = _without_line_ends(chunk.data, len(chunk.data))
    if chunk.data[end:] == b"\n" and end:
        return chunk
    return Chunk(chunk.data[:end] + b"\n" if end else b"", chunk.line, chunk.position, chunk.last)


def _without_line_ends(data: bytes, end: int) -> int:
    """Where the text before ``end`` ends, but for line ends."""
    while end and data[end - 1] in _LINE_ENDS:
        end -= 1
    return end


def _batch(
    chunk: Chunk,
    rows: int | None,
    header: list[str],
    wanted: Wanted,
    options: Options,
    first_row: int,
    words: _Words,
) -> Batch:
    """Read a chunk; ``rows`` is their number where quotes could be read in several ways."""
    frame = _frame(chunk, header, wanted, options)
    if rows is not None and rows != frame.height:
        line = _stray_quote_line(chunk, options.separator)
        raise InputError(
            f"the quotes in it can be read as {rows:,} rows or as {frame.height:,}; see line {line}. {_QUOTE_WELL}"
        )
    read = Numbers(first_row, wanted.cells, options.decimal_comma)
    numeric = {name: _numbers(frame[_place(header, name)], name, first_row, words, read) for name in wanted.numeric}
    raw: dict[str, Column] = {name: frame[_place(header, name)].alias(name) for name in wanted.raw}
    return read.batch(wanted, numeric, raw, frame.height, chunk.position, chunk.last)


def _place(header: list[str], name: str) -> str:
    """Our name of a column: a header with quotes in it is not spelled the same by every reader."""
    return f"c{header.index(name)}"


def _frame(chunk: Chunk, header: list[str], wanted: Wanted, options: Options) -> pl.DataFrame:
    """Read columns as numbers if that can be, else as text."""
    places = {name: _place(header, name) for name in wanted.names}
    data = (options.separator.join(f"c{i}" for i in range(len(header))) + "\n").encode() + chunk.data
    text = dict.fromkeys((f"c{i}" for i in range(len(header))), pl.String)
    numbers = {places[name]: pl.Float64 for name in wanted.names if name not in wanted.raw}
    # What has a decimal point is read as a number with decimal commas too, so that there the text is looked at.
    for schema in (text | numbers, text) if numbers and not options.decimal_comma else (text,):
        try:
            return pl.read_csv(
                data,
                columns=list(places.values()),
                schema=schema,
                separator=options.separator,
            )
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
    line = _stray_quote_line(chunk, options.separator)
    if line is not None:
        raise InputError(f"line {line} has a quote inside a field that is not quoted as a whole. {_QUOTE_WELL}")
    raise InputError(f"not readable as CSV: {reason}.")


def _numbers(column: pl.Series, name: str, first_row: int, words: _Words, read: Numbers) -> Column:
    """Numbers of a column, which may be spelled true and false from its first row to its last."""
    column = column.alias(name)
    spelled = column.drop_nulls().filter(column.drop_nulls() != "") if column.dtype == pl.String else column
    if column.dtype == pl.String and spelled.len() and spelled.str.to_lowercase().is_in(["true", "false"]).all():
        row = int(column.is_in(spelled.head(1).to_list()).arg_true()[0])
        if words.setdefault(name, (first_row + row, spelled[0])) is not None:
            return column.str.to_lowercase().replace_strict({"true": 1.0, "false": 0.0}, default=None)
    elif column.null_count() < column.len():
        word = words.setdefault(name, None)
        if word is not None:
            raise not_a_number(name, *word)
    return read.of(column, name)


def _after_last_record(block: bytes) -> int:
    """Where the last record ends, at a line end outside quotes; 0 for nowhere.

    Blank lines go with what follows, so that those at the end of the file are seen to be.
    """
    end = _after_last_line_end(block)
    record = _without_line_ends(block, end)
    return block.find(b"\n", record) + 1 if record else 0


def _after_last_line_end(block: bytes) -> int:
    """Where the last line end outside quotes lies; 0 for nowhere."""
    if b'"' not in block:
        return block.rfind(b"\n") + 1
    end, odd = 0, False
    for start in range(0, len(block), _SLICE):
        text = np.frombuffer(block, np.uint8, min(_SLICE, len(block) - start), start)
        inside, odd = _inside_quotes(text, odd)
        ends = np.flatnonzero((text == _NEWLINE) & ~inside)
        end = start + int(ends[-1]) + 1 if ends.size else end
    return end


def _inside_quotes(text: NDArray[np.uint8], odd: bool) -> tuple[Bools, bool]:
    """Whether each byte lies after an odd number of quotes, and whether what follows does."""
    inside = np.logical_xor.accumulate(text == _QUOTE) ^ odd
    return inside, bool(inside[-1])


def _count_lines(data: bytes) -> int:
    """Count line ends outside quotes."""
    if b'"' not in data:
        return data.count(b"\n")
    text = np.frombuffer(data, np.uint8)
    return int(np.count_nonzero((text == _NEWLINE) & ~_inside_quotes(text, odd=False)[0]))


def _check_lines(chunk: Chunk, separator: str, width: int) -> int | None:
    """Refuse lines with too many or too few fields: the fast reader passes over what is not wanted, and fills in.

    Returns the number of rows where quotes stand in such places that readers may take them differently; else None.
    """
    data, mark = np.frombuffer(chunk.data, np.uint8), ord(separator)
    quoted = b'"' in chunk.data
    if not quoted and separator.isascii() and _kernel is not None:
        line, fields = _kernel.line_of_other_width(chunk.data, separator, width)
        if line >= 0:
            raise _other_width(chunk.line + line, fields, width)
        return None
    if quoted and _stray_quote(data, mark) is not None:
        return _count_quoted(chunk, separator, width)
    fields, odd = 0, False
    for start in range(0, data.size, _SLICE):
        text = data[start : start + _SLICE]
        found = (text == mark) | (text == _NEWLINE)
        if quoted:
            inside, odd = _inside_quotes(text, odd)
            found &= ~inside
        marks = np.flatnonzero(found)
        ends = np.flatnonzero(text[marks] == _NEWLINE)
        if not ends.size:
            fields += marks.size
            continue
        counts = np.diff(ends, prepend=-1)
        counts[0] += fields
        other = np.flatnonzero(counts != width)
        if other.size:
            before = chunk.data.count(b"\n", 0, start + int(marks[ends[other[0]]]))
            raise _other_width(chunk.line + before, int(counts[other[0]]), width)
        fields = marks.size - 1 - int(ends[-1])
    if data.size and data[-1] != _NEWLINE and fields + 1 != width:
        raise _other_width(chunk.line + chunk.data.count(b"\n"), fields + 1, width)
    return None


def _stray_quote(data: NDArray[np.uint8], mark: int) -> int | None:
    """Where the first quote lies that does not enclose a whole field and is not one of two inside; None for nowhere."""
    odd, last = 0, 0
    for start in range(0, data.size, _SLICE):
        quotes = start + np.flatnonzero(data[start : start + _SLICE] == _QUOTE)
        opening, closing = quotes[odd::2], quotes[1 - odd :: 2]
        opening, closing = opening[opening > 0], closing[closing < data.size - 1]
        wrong = np.concatenate(
            [
                opening[~np.isin(data[opening - 1], (mark, _NEWLINE, _QUOTE))],
                closing[~np.isin(data[closing + 1], (mark, _NEWLINE, _RETURN, _QUOTE))],
            ]
        )
        if wrong.size:
            return int(wrong.min())
        odd = (odd + quotes.size) % 2
        last = int(quotes[-1]) if quotes.size else last
    return last if odd else None


def _stray_quote_line(chunk: Chunk, separator: str) -> int | None:
    place = _stray_quote(np.frombuffer(chunk.data, np.uint8), ord(separator))
    return None if place is None else chunk.line + chunk.data.count(b"\n", 0, place)


def _other_width(line: int, fields: int, width: int) -> InputError:
    remedy = "Quote fields that contain the separator, or repair" if fields > width else "Repair"
    return InputError(f"line {line} has {fields} field{'s' * (fields != 1)}, the header {width}. {remedy} the line.")


def _count_quoted(chunk: Chunk, separator: str, width: int) -> int:
    """Count rows with a reader that minds quotes as most writers mean them; refuse the first line it cannot read."""
    reader = csv.reader(io.StringIO(chunk.data.decode(), newline=""), delimiter=separator, strict=True)
    rows = behind = 0
    try:
        for fields in reader:
            rows, behind = rows + 1, reader.line_num
            if max(1, len(fields)) != width:
                raise _other_width(chunk.line + behind - 1, max(1, len(fields)), width)
    except csv.Error as trouble:
        raise _badly_quoted(str(trouble), chunk, chunk.line + behind, chunk.line + reader.line_num - 1) from None
    return rows


def _badly_quoted(trouble: str, chunk: Chunk, first: int, line: int) -> InputError:
    """Say what is wrong in a record that begins in one line and cannot be read from another on."""
    if "unexpected end" in trouble and chunk.last:
        return InputError(f"a quote opened in the record of line {first} is never closed.")
    if "unexpected end" in trouble:
        return InputError(f"line {first} begins a record whose quotes can be read in two ways. {_QUOTE_WELL}")
    if "expected after" in trouble:
        begun = f", in a record that begins in line {first}" if first < line else ""
        return InputError(f"line {line} has other text after a closing quote{begun}. {_QUOTE_WELL}")
    return InputError(f"line {line} is not readable as CSV: {trouble}.")


FORMATS = (
    Format("csv", open_delimited, (".csv", ".txt"), text=True, separator=",", rank=0),
    Format("tsv", open_delimited, (".tsv",), text=True, separator="\t", rank=0),
)
