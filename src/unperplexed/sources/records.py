"""Arrow record batches as a source of columns: those of Parquet and Arrow files, of Dask and of Spark."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from .._lib.arrays import Columns
from .._lib.errors import InputError
from .readers import Batch, Column, Source, Wanted, batch_rows
from .readers import unreadable as unreadable_file
from .readers.numbers import Numbers, list_matrix

_FLOATS = {"halffloat": "float16", "float": "float32", "double": "float64"}

Widths = dict[str, int]
"""Lengths of the lists in each column of lists, as the first of them has it."""


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
        check_once(schema, wanted.names)
        with readable("Arrow"):
            widths = list_widths(schema, wanted, probe)
            items = sum(widths.values())
            gathered = gather(all_of(wanted.names), batch_rows(len(wanted.names) + items))
            yield from record_batches(with_lookahead(sliced(gathered, items)), schema, wanted, widths, lambda _: 0)

    return Source(schema.names, batches, 0, numbers=of_numbers(schema))


def with_paths(schema: Any) -> Any:
    """Add the fields inside of structs by their paths, such as result.p, behind the columns."""
    known = set(schema.names)
    inside = (field for column in schema for field in _fields_in(column.name, column.type))
    return pa.schema([*schema, *(field for field in inside if field.name not in known)])


def _fields_in(path: str, kind: Any) -> Iterator[Any]:
    for field in kind if pa.types.is_struct(kind) else ():
        yield pa.field(f"{path}.{field.name}", field.type)
        yield from _fields_in(f"{path}.{field.name}", field.type)


def root_of(schema: Any, name: str) -> str:
    """Name the column that a path leads into; a column has its own name, with a point in it or without."""
    if _is_column(schema, name):
        return name
    names: list[str] = schema.names
    return next(root for root in names if name.startswith(f"{root}.") and _holds(schema, root, name))


def _is_column(schema: Any, name: str) -> bool:
    return bool(schema.get_all_field_indices(name))  # `schema.names` makes a list of all of them each time


def _holds(schema: Any, root: str, name: str) -> bool:
    return any(field.name == name for field in _fields_in(root, schema.field(root).type))


def by_paths(record: Any, schema: Any, names: Sequence[str]) -> Any:
    """Select columns of a record batch of this schema, and fields inside of its structs."""
    if all(_is_column(schema, name) for name in names):
        return record.select(names)
    return pa.RecordBatch.from_arrays([_at_path(record, schema, name) for name in names], names=[*names])


def _at_path(record: Any, schema: Any, name: str) -> Any:
    root = root_of(schema, name)
    array, path = record.column(root), root
    while path != name:
        inner = next(at for at, field in enumerate(array.type) if f"{name}.".startswith(f"{path}.{field.name}."))
        path = f"{path}.{array.type.field(inner).name}"
        array = array.flatten()[inner]  # which has no value where the struct has none
    return array


def of_numbers(schema: Any) -> frozenset[str]:
    """Find the columns that hold numbers, or true and false."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    return frozenset(field.name for field in schema if any(is_one(field.type) for is_one in kinds))


@contextmanager
def readable(kind: str) -> Iterator[None]:
    """Refuse a file that Arrow cannot read."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except UnicodeDecodeError as error:
        raise unreadable_file(kind, ValueError(f"a name in it is not UTF-8: {error.object!r:.80}")) from None
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(kind, error) from None


def check_once(schema: Any, names: Sequence[str]) -> None:
    """Refuse columns whose name occurs more than once."""
    counts = Counter(schema.names)
    twice = [name for name in names if counts[name] > 1]
    if twice:
        raise InputError(f"the file has column {twice[0]!r} {counts[twice[0]]} times; rename one.")


def list_widths(schema: Any, wanted: Wanted, read: Callable[[list[str]], Iterator[Any]]) -> Widths:
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


def gather(records: Iterable[Any], rows: int) -> Iterator[Any]:
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


def sliced(records: Iterable[Any], list_items: int = 0) -> Iterator[Any]:
    """Cut long record batches, of so many items in the lists of a row."""
    for record in records:
        rows = batch_rows(record.num_columns + list_items)
        yield from (record.slice(start, rows) for start in range(0, max(1, record.num_rows), rows))


def until(records: Iterable[Any], n_rows: int) -> Iterator[tuple[Any, bool]]:
    """Tell the last record batch by the number of rows."""
    done = 0
    for record in records:
        done += record.num_rows
        yield record, done >= n_rows


def with_lookahead(records: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
    """Tell the last record batch by looking for one more."""
    record = next(records, None)
    while record is not None:
        following = next(records, None)
        yield record, following is None
        record = following


def record_batches(
    records: Iterator[tuple[Any, bool]],
    schema: Any,
    wanted: Wanted,
    widths: Widths,
    position: Callable[[int], int],
    first_row: int = 0,
) -> Iterator[Batch]:
    """Convert record batches, each with whether it is the last; at least one batch, of no rows if there are none."""
    found = False
    for record, last in records:
        found = True
        yield _batch(record, wanted, first_row, widths, position(first_row + record.num_rows), last)
        first_row += record.num_rows
    if not found:  # a file of no rows may have no record batch either
        empty = schema.empty_table().select(wanted.names)
        arrays = [column.combine_chunks() for column in empty.columns]
        record = pa.RecordBatch.from_arrays(arrays, schema=empty.schema)
        yield _batch(record, wanted, first_row, widths, position(first_row), True)


def _batch(record: Any, wanted: Wanted, first_row: int, widths: Widths, position: int, last: bool) -> Batch:
    read = Numbers(first_row, wanted.cells)
    return Batch(
        [_side_by_side(record, names, first_row, widths, read) for names in wanted.probabilities],
        {name: _numbers(record.column(name), name, first_row, widths, read) for name in wanted.numbers},
        {name: _raw(record.column(name), name) for name in wanted.raw},
        first_row,
        record.num_rows,
        position,
        last,
        read.unreadable(wanted.numbers),
    )


def _side_by_side(record: Any, names: Sequence[str], first_row: int, widths: Widths, read: Numbers) -> Columns:
    group = record.select(names)
    kinds = set(group.schema.types)
    if len(names) > 1 and len(kinds) == 1 and kinds <= {pa.float32(), pa.float64()}:
        tensor = group.to_tensor(null_to_nan=True, row_major=True)
        return Columns((np.asarray(tensor),), tuple(names))
    columns = {name: _numbers(record.column(name), name, first_row, widths, read) for name in names}
    return read.side_by_side(columns, names)


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


def _numbers(array: Any, name: str, first_row: int, widths: Widths, read: Numbers) -> Column:
    array = _plain(array)
    return _matrix(array, name, first_row, widths) if _is_list(array.type) else read.of(_raw(array, name), name)


def _plain(array: Any) -> Any:
    return array.storage if isinstance(array, pa.ExtensionArray) else array


def _plain_type(kind: Any) -> Any:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _is_list(kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _matrix(array: Any, name: str, first_row: int, widths: Widths) -> NDArray[Any]:
    """Lists as the rows of a matrix, without copying where none is missing."""
    array.validate(full=bool(array.null_count))
    present = None if not array.null_count else _is_valid(array)
    return list_matrix(_values(array.flatten(), name), _lengths(array), present, widths[name], name, first_row)


def _lengths(array: Any) -> NDArray[Any]:
    if pa.types.is_fixed_size_list(array.type):
        return np.full(len(array), array.type.list_size)
    if not len(array):
        return np.zeros(0, np.int64)
    kind = np.dtype(np.int64 if pa.types.is_large_list(array.type) else np.int32)
    offsets = np.frombuffer(array.buffers()[1], kind, len(array) + 1, array.offset * kind.itemsize)  # more may follow
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
