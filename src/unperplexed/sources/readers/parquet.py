"""Parquet files, read through pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from . import Batch, Column, Format, Options, Source, Wanted, batch_rows

_LARGEST = 2**63 - 1

_PROBED_ROWS = 64
"""Rows read at a time while looking for the first list of a column, which may be of any length."""


def open_parquet(path: Path, _: Options) -> Source:
    """Read the footer of a Parquet file."""
    from pyarrow.parquet import ParquetFile

    from ..records import (
        by_paths,
        check_once,
        gather,
        list_widths,
        of_numbers,
        readable,
        record_batches,
        until,
        with_paths,
    )

    def opened(columns: int) -> Any:
        # Without pre-buffering and with small buffers a row group is decoded page by page, not held whole.
        buffer = max(1 << 12, min(1 << 16, (1 << 22) // columns))
        return ParquetFile(path, pre_buffer=False, buffer_size=buffer, page_checksum_verification=True)

    with readable("Parquet"), opened(1) as file:
        schema, footer = file.schema_arrow, file.metadata
        paths = with_paths(schema)
    n_rows = footer.num_rows
    size = path.stat().st_size

    def batches(wanted: Wanted) -> Iterator[Batch]:
        check_once(schema, wanted.names)
        with readable("Parquet"), opened(len(wanted.names)) as file:

            def read(names: list[str], rows: int = _PROBED_ROWS) -> Iterator[Any]:
                return (by_paths(each, schema, names) for each in file.iter_batches(rows, columns=names))

            widths = list_widths(paths, wanted, read)
            rows = batch_rows(len(wanted.names) + sum(widths.values()))
            records = until(gather(read(wanted.names, rows), rows), n_rows)
            yield from record_batches(records, paths, wanted, widths, lambda done: size * done // max(1, n_rows))

    return Source(
        list(paths.names),
        batches,
        size,
        numbers=of_numbers(paths),
        values=lambda name: _two_values(footer, schema, name),
    )


def _two_values(footer: Any, schema: Any, name: str) -> Column | None:
    """Values of a column of whole numbers, or of true and false, where by its statistics there are two next to another.

    The smallest and the largest value of a row group are in it.
    """
    if schema.names.count(name) != 1:
        return None
    from pyarrow import types

    kind = schema.field(name).type
    places = [at for at in range(footer.num_columns) if footer.schema.column(at).path == name]
    if len(places) != 1 or not (types.is_integer(kind) or types.is_boolean(kind)):
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
    return pl.Series(name, sorted(found), pl.Boolean if types.is_boolean(kind) else pl.Int64)


FORMATS = (Format("parquet", open_parquet, (".parquet",), magic=(b"PAR1",), rank=2),)
