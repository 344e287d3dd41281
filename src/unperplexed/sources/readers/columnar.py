"""Parquet and Arrow files, read through pyarrow."""

from __future__ import annotations

import mmap
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from ..._lib.arrays import Columns
from ..._lib.errors import InputError
from . import (
    Batch,
    Column,
    Options,
    Source,
    Wanted,
    batch_rows,
    unreadable,
)
from .numbers import as_numbers, list_matrix, side_by_side

_ARROW_FILE_MAGIC = b"ARROW1"

_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}

_LARGEST = 2**63 - 1

_PROBED_ROWS = 64
"""Rows read at a time while looking for the first list of a column, which may be of any length."""

_CONTINUED = b"\xff\xff\xff\xff"
_END = _CONTINUED + bytes(4)

_Widths = dict[str, int]
"""Lengths of the lists in each column of lists, as the first of them has it."""


def open_parquet(path: Path, _: Options) -> Source:
    """Read the footer of a Parquet file."""
    from pyarrow.parquet import ParquetFile

    def opened(columns: int) -> Any:
        # Without pre-buffering and with small buffers a row group is decoded page by page, not held whole.
        buffer = max(1 << 12, min(1 << 16, (1 << 22) // columns))
        return ParquetFile(path, pre_buffer=False, buffer_size=buffer, page_checksum_verification=True)

    with _readable("Parquet"), opened(1) as file:
        schema, footer = file.schema_arrow, file.metadata
    n_rows = footer.num_rows
    size = path.stat().st_size

    def batches(wanted: Wanted) -> Iterator[Batch]:
        _check_once(schema, wanted.names)
        with _readable("Parquet"), opened(len(wanted.names)) as file:
            widths = _widths(schema, wanted, lambda names: file.iter_batches(_PROBED_ROWS, columns=names))
            rows = batch_rows(len(wanted.names) + sum(widths.values()))
            records = _until(_gathered(file.iter_batches(rows, columns=wanted.names), rows), n_rows)
            yield from _batches(records, schema, wanted, widths, lambda done: size * done // max(1, n_rows))

    return Source(
        schema.names, batches, size, numbers=_of_numbers(schema), values=lambda name: _two_values(footer, schema, name)
    )


def _two_values(footer: Any, schema: Any, name: str) -> Column | None:
    """Values of a column of whole numbers, or of true and false, where by its statistics there are two next to another.

    The smallest and the largest value of a row group are in it.
    """
    if schema.names.count(name) != 1:
        return None
    kind = schema.field(name).type
    places = [at for at in range(footer.num_columns) if footer.schema.column(at).path == name]
    if len(places) != 1 or not (pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        return None
    found = set[Any]()
    for group in range(footer.num_row_groups):
        column = footer.row_group(group).column(places[0])
        if not column.num_values:
            continue
        known = column.statistics
        if known is None or not (known.has_min_max and known.has_null_count) or known.null_count:
            return None
        if known.min < 0 or known.max - known.min > 1 or known.max > _LARGEST:
            return None
        found |= {known.min, known.max}
    return pl.Series(name, sorted(found), pl.Boolean if pa.types.is_boolean(kind) else pl.Int64)


def open_arrow(path: Path, _: Options) -> Source:
    """Read the schema of an Arrow IPC file, of the file or the stream format."""
    with _readable("Arrow"), _mapped(path) as (_pages, memory):
        schema = _arrow_reader(memory).schema
    size = path.stat().st_size

    def batches(wanted: Wanted) -> Iterator[Batch]:
        _check_once(schema, wanted.names)
        with _readable("Arrow"), _mapped(path) as (pages, memory):
            widths = _widths(schema, wanted, lambda names: _arrow_records(memory, schema, names, _Given()))
            items, given = sum(widths.values()), _Given()
            rows = batch_rows(len(wanted.names) + items)
            records = _sliced(_gathered(_arrow_records(memory, schema, wanted.names, given), rows), items)

            def position(_: int) -> int:
                return memory.tell() if given.of is None else size * given.records // max(1, given.of)

            for batch in _batches(_with_lookahead(records), schema, wanted, widths, position):
                yield batch
                pages.madvise(mmap.MADV_DONTNEED)  # what was read may leave memory; the file still has it

    return Source(schema.names, batches, size, numbers=_of_numbers(schema))


def records_source(schema: Any, records: Iterable[Any]) -> Source:
    """Record batches at hand or still to come, such as those of a partition, which can be gone through only once."""
    coming = iter(records)
    probed = deque[Any]()

    def probe(names: list[str]) -> Iterator[Any]:
        for record in coming:
            probed.append(record)
            yield record.select(names)

    def all_of(names: list[str]) -> Iterator[Any]:
        while probed:
            yield probed.popleft().select(names)
        for record in coming:
            yield record.select(names)

    def batches(wanted: Wanted) -> Iterator[Batch]:
        _check_once(schema, wanted.names)
        with _readable("Arrow"):
            widths = _widths(schema, wanted, probe)
            items = sum(widths.values())
            gathered = _gathered(all_of(wanted.names), batch_rows(len(wanted.names) + items))
            yield from _batches(_with_lookahead(_sliced(gathered, items)), schema, wanted, widths, lambda _: 0)

    return Source(schema.names, batches, 0, numbers=_of_numbers(schema))


def _of_numbers(schema: Any) -> frozenset[str]:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return frozenset(field.name for field in schema if any(is_one(field.type) for is_one in kinds))


@dataclass
class _Given:
    """How many record batches a file has given so far, and of how many, if it says."""

    records: int = 0
    of: int | None = None


@contextmanager
def _readable(kind: str) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except (pa.ArrowException, OSError) as error:
        raise unreadable(kind, error) from None


@contextmanager
def _mapped(path: Path) -> Iterator[tuple[mmap.mmap, Any]]:
    with path.open("rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield pages, pa.BufferReader(pa.py_buffer(pages))


def _arrow_reader(memory: Any, fields: Sequence[int] | None = None) -> Any:
    memory.seek(0)
    is_file = memory.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC
    memory.seek(0)
    if is_file:  # asked for some fields only, the reader of this format would copy what it can leave mapped
        return pa.ipc.open_file(memory)
    options = pa.ipc.IpcReadOptions(included_fields=None if fields is None else sorted(fields))
    return pa.ipc.open_stream(memory, options=options)


def _arrow_records(memory: Any, schema: Any, names: Sequence[str], given: _Given) -> Iterator[Any]:
    reader = _arrow_reader(memory, [schema.get_field_index(name) for name in names])
    if not hasattr(reader, "get_batch"):
        yield from reader
        _check_end(memory)
        return
    given.of = reader.num_record_batches
    for at in range(reader.num_record_batches):
        given.records = at + 1
        yield reader.get_batch(at).select(names)


def _check_end(memory: Any) -> None:
    """Refuse a stream that was cut between two record batches, which its reader takes for the end."""
    memory.seek(0)
    marked = memory.read(len(_CONTINUED)) == _CONTINUED  # streams of before 2019 have no such marks
    memory.seek(max(0, memory.size() - len(_END)))
    if marked and memory.read(len(_END)) != _END:
        raise InputError(
            "an Arrow stream whose end is not marked, perhaps truncated. Write it anew, and close its writer."
        )


def _check_once(schema: Any, names: Sequence[str]) -> None:
    counts = Counter(schema.names)
    twice = [name for name in names if counts[name] > 1]
    if twice:
        raise InputError(f"the file has column {twice[0]!r} {counts[twice[0]]} times; rename one.")


def _widths(schema: Any, wanted: Wanted, read: Callable[[list[str]], Iterator[Any]]) -> _Widths:
    """Find the length of each column's lists before any batch is made: it settles how many rows make one."""
    kinds = {name: _plain_type(schema.field(name).type) for name in wanted.names}
    lists = [name for name, kind in kinds.items() if _is_list(kind)]
    widths = {name: kinds[name].list_size for name in lists if pa.types.is_fixed_size_list(kinds[name])}
    unknown = [name for name in lists if name not in widths]
    for record in read(unknown) if unknown else ():
        found = {name: _first_length(_plain(record.column(name))) for name in unknown if name not in widths}
        widths |= {name: length for name, length in found.items() if length is not None}
        if len(widths) == len(lists):
            break
    return dict.fromkeys(lists, 1) | widths


def _first_length(array: Any) -> int | None:
    """Length of the first list that is there."""
    if array.null_count == len(array):
        return None
    first = array.slice(int(_is_valid(array).argmax()) if array.null_count else 0, 1)
    first.validate()
    return int(_lengths(first)[0])


def _gathered(records: Iterable[Any], rows: int) -> Iterator[Any]:
    """Join short record batches, each of which would cost as much as a long one."""
    kept: list[Any] = []
    for record in records:
        kept.append(record)
        if sum(part.num_rows for part in kept) >= rows // 2:
            yield _joined(kept)
            kept = []
    if kept:
        yield _joined(kept)


def _joined(records: list[Any]) -> Any:
    if len(records) == 1:
        return records[0]
    table = pa.Table.from_batches(records).combine_chunks()
    return table.to_batches()[0] if table.num_rows else records[0]


def _sliced(records: Iterable[Any], list_items: int = 0) -> Iterator[Any]:
    """Cut long record batches, of so many items in the lists of a row."""
    for record in records:
        rows = batch_rows(record.num_columns + list_items)
        yield from (record.slice(start, rows) for start in range(0, max(1, record.num_rows), rows))


def _until(records: Iterable[Any], n_rows: int) -> Iterator[tuple[Any, bool]]:
    """Tell the last record batch by the number of rows."""
    done = 0
    for record in records:
        done += record.num_rows
        yield record, done >= n_rows


def _with_lookahead(records: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
    """Tell the last record batch by looking for one more."""
    record = next(records, None)
    while record is not None:
        following = next(records, None)
        yield record, following is None
        record = following


def _batches(
    records: Iterator[tuple[Any, bool]],
    schema: Any,
    wanted: Wanted,
    widths: _Widths,
    position: Callable[[int], int],
) -> Iterator[Batch]:
    first_row, last = 0, False
    for record, last in records:
        yield _batch(record, wanted, first_row, widths, position(first_row + record.num_rows), last)
        first_row += record.num_rows
    if not last:  # a file of no rows may have no record batch either
        empty = schema.empty_table().select(wanted.names)
        arrays = [column.combine_chunks() for column in empty.columns]
        record = pa.RecordBatch.from_arrays(arrays, schema=empty.schema)
        yield _batch(record, wanted, first_row, widths, position(first_row), True)


def _batch(record: Any, wanted: Wanted, first_row: int, widths: _Widths, position: int, last: bool) -> Batch:
    return Batch(
        [_side_by_side(record, names, first_row, widths) for names in wanted.probabilities],
        {name: _numbers(record.column(name), name, first_row, widths) for name in wanted.numbers},
        {name: _raw(record.column(name), name) for name in wanted.raw},
        first_row,
        record.num_rows,
        position,
        last,
    )


def _side_by_side(record: Any, names: Sequence[str], first_row: int, widths: _Widths) -> Columns:
    group = record.select(names)
    kinds = set(group.schema.types)
    if len(names) > 1 and len(kinds) == 1 and kinds <= {pa.float32(), pa.float64()}:
        tensor = group.to_tensor(null_to_nan=True, row_major=True)
        return Columns((np.asarray(tensor),), tuple(names))
    columns = {name: _numbers(record.column(name), name, first_row, widths) for name in names}
    return side_by_side(columns, names, first_row)


def _raw(array: Any, name: str) -> pl.Series:
    array = _plain(array)
    array.validate(full=True)  # offsets and UTF-8 are believed from here on
    try:
        if pa.types.is_decimal256(array.type):  # at which polars ends the program
            raise TypeError
        series = pl.from_arrow(array)
    except (pl.exceptions.PolarsError, TypeError):
        raise InputError(
            f"column {name!r} holds {array.type}, a type that is not read. Save it as numbers, text or plain lists."
        ) from None
    assert isinstance(series, pl.Series)
    return series.alias(name)


def _numbers(array: Any, name: str, first_row: int, widths: _Widths) -> Column:
    array = _plain(array)
    return (
        _matrix(array, name, first_row, widths)
        if _is_list(array.type)
        else as_numbers(_raw(array, name), name, first_row)
    )


def _plain(array: Any) -> Any:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _plain_type(kind: Any) -> Any:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _matrix(array: Any, name: str, first_row: int, widths: _Widths) -> NDArray[Any]:
    """Lists as the rows of a matrix, without copying where none is missing."""
    array.validate(full=bool(array.null_count))
    present = None if not array.null_count else _is_valid(array)
    return list_matrix(_values(array.flatten(), name), _lengths(array), present, widths[name], name, first_row)


def _lengths(array: Any) -> NDArray[Any]:
    if pa.types.is_fixed_size_list(array.type):
        return np.full(len(array), array.type.list_size)
    kind = np.int64 if pa.types.is_large_list(array.type) else np.int32
    offsets = np.frombuffer(array.buffers()[1] or b"", kind)[array.offset : array.offset + len(array) + 1]
    return np.diff(offsets)


def _is_valid(array: Any) -> NDArray[np.bool_]:
    return np.asarray(pl.Series(pl.from_arrow(array.is_valid())).to_numpy())


def _values(array: Any, name: str) -> NDArray[Any]:
    """Numbers of an array as NumPy; its own conversion would load pandas where there is one."""
    if not (pa.types.is_floating(array.type) or pa.types.is_integer(array.type)):
        raise InputError(f"column {name!r} holds lists of {array.type}, not of numbers.")
    dtype = np.dtype(_FLOATS.get(str(array.type), str(array.type)))
    if not len(array):
        return np.empty(0, dtype)
    values = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)
    if array.null_count:
        values = np.where(_is_valid(array), values, np.asarray(np.nan, np.result_type(dtype, np.float32)))
    return values
