"""Parquet files, read through pyarrow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from . import Batch, Batches, Column, Format, Options, Source, Wanted, batch_rows, unreadable

_LARGEST = 2**63 - 1

_PROBED_ROWS = 64
"""Rows read at a time while looking for the first list of a column, which may be of any length."""

_PLACE, _PARTS, _STRETCH = 1 << 15, 4, 2000
"""Rows of a place of a file, of each of whose parts a sample has a stretch, and about how many rows that has. Places
are fewer than stretches, as pages are read whole."""

_AT = "\nstretch"
"""Name of the column of stretches, which no file has."""

_BATCHES = 4
"""Row groups of at least so many batches together are a stretch, whose end is the end of a batch."""


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
        root_of,
        until,
        with_paths,
    )

    def opened(columns: int, footer: Any = None) -> Any:
        # Without pre-buffering and with small buffers a row group is decoded page by page, not held whole.
        how: dict[str, Any] = {"pre_buffer": False, "page_checksum_verification": True, "metadata": footer}
        return ParquetFile(path, buffer_size=max(1 << 12, min(1 << 16, (1 << 22) // columns)), **how)

    with readable("Parquet"), opened(1) as file:
        schema, footer = file.schema_arrow, file.metadata
        paths = with_paths(schema)
    n_rows = footer.num_rows
    size = path.stat().st_size

    def read(file: Any, names: list[str], rows: int, groups: range | None = None) -> Iterator[Any]:
        batches = file.iter_batches(rows, row_groups=groups, columns=names)
        return (by_paths(each, schema, names) for each in batches)

    def widths_of(wanted: Wanted) -> dict[str, int]:
        with opened(len(wanted.names), footer) as file:
            return list_widths(paths, wanted, lambda names: read(file, names, _PROBED_ROWS))

    def stretches(wanted: Wanted) -> Iterator[Batches]:
        @cache
        def widths() -> dict[str, int]:
            return widths_of(wanted)

        def batches(first_row: int, groups: range) -> Iterator[Batch]:
            check_once(schema, wanted.names)
            with readable("Parquet"), opened(len(wanted.names), footer) as file:
                rows = batch_rows(len(wanted.names) + sum(widths().values()))
                records = until(gather(read(file, wanted.names, rows, groups), rows), n_rows - first_row)
                yield from record_batches(
                    records, paths, wanted, widths(), lambda done: size * done // max(1, n_rows), first_row
                )

        return (partial(batches, *each) for each in _stretches(footer, wanted.names))

    def batches(wanted: Wanted) -> Iterator[Batch]:
        for stretch in stretches(wanted):
            yield from stretch()

    def sampled(wanted: Wanted, share: float) -> Iterator[Batch]:
        check_once(schema, wanted.names)
        n_places = max(1, round(share * n_rows / (_PARTS * _STRETCH)))
        length, chosen = min(_PLACE, n_rows // n_places), math.ceil(share * n_rows / (n_places * _PARTS))
        part, row = -(-length // _PARTS), pl.int_range(pl.len(), dtype=pl.Int64)
        rows = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        rows = rows.select({root_of(schema, name) for name in wanted.names})
        random = np.random.default_rng(0).random((2, n_places))  # so that no period of the rows is that of the sample
        first = (np.arange(n_places) * n_rows + random[0] * (n_rows - n_places * length)) // n_places
        places = [
            rows.slice(int(start), length)
            .with_columns((at * _PARTS + row // part).alias(_AT))
            .filter((row % part - int(shift)).is_between(0, chosen, "left"))
            for at, (start, shift) in enumerate(zip(first, random[1] * (part - chosen), strict=True))
        ]
        try:
            frame = pl.concat([each.collect() for each in places])
        except pl.exceptions.PolarsError as error:
            raise unreadable("Parquet", error) from None
        raw = {name: frame[name] for name in wanted.raw if name in frame.columns}
        others = replace(wanted, raw=[name for name in wanted.raw if name not in raw])
        with readable("Parquet"):
            table = frame.select({root_of(schema, name) for name in others.names}).to_arrow()
            record = by_paths(table.combine_chunks().to_batches()[0], schema, others.names)
            batch = next(record_batches(iter([(record, True)]), paths, others, widths_of(others), lambda _: size))
        yield replace(batch, raw={**batch.raw, **raw}, stretch=frame[_AT].to_numpy())

    return Source(
        list(paths.names),
        batches,
        size,
        frozenset(paths.names[len(schema.names) :]),
        numbers=of_numbers(paths),
        values=lambda name: _two_values(footer, schema, name),
        fractions=lambda: _fractions(footer),
        stretches=stretches,
        rows=n_rows,
        sampled=sampled,
    )


def _stretches(footer: Any, names: Sequence[str]) -> list[tuple[int, range]]:
    """Put row groups together, the same however many threads read them; give the first row and the groups of each."""
    groups = [footer.row_group(at) for at in range(footer.num_row_groups)]
    first = next((group for group in groups if group.num_rows), None)
    if first is None:
        return [(0, range(len(groups)))]
    wanted, values = {*names}, 0
    for at in range(footer.num_columns):
        parts = footer.schema.column(at).path.split(".")
        if any(".".join(parts[:length]) in wanted for length in range(1, len(parts) + 1)):
            values += first.column(at).num_values
    most = _BATCHES * batch_rows(-(-values // first.num_rows))
    found, start, rows, done = [], 0, 0, 0
    for at, group in enumerate(groups, 1):
        rows += group.num_rows
        if rows >= most or at == len(groups):
            found.append((done, range(start, at)))
            start, rows, done = at, 0, done + rows
    return found


def _fractions(footer: Any) -> frozenset[str]:
    """Find columns of numbers with fractions by the smallest and the largest value of the first row group."""
    group = footer.row_group(0) if footer.num_row_groups else None
    columns = [] if group is None else [group.column(at) for at in range(footer.num_columns)]
    floats = [each for each in columns if each.physical_type in ("FLOAT", "DOUBLE") and each.is_stats_set]
    limits = {each.path_in_schema: each.statistics for each in floats if each.statistics.has_min_max}
    return frozenset(name for name, known in limits.items() if known.min % 1 or known.max % 1)


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
