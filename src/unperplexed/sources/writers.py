"""Tables written batch by batch: Parquet, CSV, TSV and JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from .._lib.errors import InputError

Rows = pl.DataFrame | Sequence[Mapping[str, Any]]
"""Successive rows: a frame, or for JSON Lines the objects themselves."""

TABLES = {".parquet": "parquet", ".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
"""Formats of tables by suffix."""


@contextmanager
def table_writer(
    path: Path, form: str, separator: str = ",", decimal_comma: bool = False, schema: Any = None
) -> Iterator[Callable[[Rows], None]]:
    """Give a function that writes successive rows to a file.

    Parameters
    ----------
    path : Path
        The file.
    form : str
        One of the formats in `TABLES`.
    separator : str, default ","
        Character between the fields of CSV.
    decimal_comma : bool, default False
        Whether numbers in CSV are written like 0,5.
    schema : pyarrow.Schema, optional
        Types of columns of a Parquet file, where they are known, and the file's metadata.

    Yields
    ------
    callable
        Called with rows, all of the same columns.
    """
    try:
        if form == "parquet":
            yield from _parquet(path, schema)
        elif form == "jsonl":
            yield from _jsonl(path)
        else:
            yield from _delimited(path, "\t" if form == "tsv" else separator, decimal_comma)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"a column cannot be written as {form}: {reason}. Write .parquet instead.") from None


def _delimited(path: Path, separator: str, decimal_comma: bool) -> Iterator[Callable[[Rows], None]]:
    with path.open("wb") as stream:
        first = True

        def write(rows: Rows) -> None:
            nonlocal first
            assert isinstance(rows, pl.DataFrame)
            rows.write_csv(stream, include_header=first, separator=separator, decimal_comma=decimal_comma)
            first = False

        yield write


def _jsonl(path: Path) -> Iterator[Callable[[Rows], None]]:
    with path.open("wb") as stream:

        def write(rows: Rows) -> None:
            if isinstance(rows, pl.DataFrame):
                rows.write_ndjson(stream)
            else:
                stream.writelines(_lines(rows))

        yield write


def _lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    for row in rows:
        yield json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _parquet(path: Path, schema: Any) -> Iterator[Callable[[Rows], None]]:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    known = {} if schema is None else {field.name: field.type for field in schema}
    writer: Any = None

    def write(rows: Rows) -> None:
        nonlocal writer
        assert isinstance(rows, pl.DataFrame)
        table = rows.to_arrow()
        if writer is None:
            fields = [pa.field(field.name, known.get(field.name, field.type)) for field in table.schema]
            writer = ParquetWriter(path, pa.schema(fields, None if schema is None else schema.metadata))
        writer.write_table(table.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
