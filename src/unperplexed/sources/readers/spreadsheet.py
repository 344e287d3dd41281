"""Spreadsheets of Excel and LibreOffice, read through fastexcel. A sheet is in memory while it is read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from ..._lib.errors import InputError, listed
from . import Batch, Format, Options, Source, Wanted, unreadable

_LOG = "fastexcel.types.dtype"
"""Where it says that a column is empty, which is said here by its rows."""


_TITLE_ROWS = 20
"""Among so many rows the header is looked for."""


def open_spreadsheet(path: Path, options: Options) -> Source:
    """Read the header of a sheet: the row with the columns that are named, else the first with two filled cells."""
    try:
        import fastexcel
    except ImportError:
        raise InputError("spreadsheets need fastexcel: pip install 'unperplexed[excel]', or save it as CSV.") from None
    from ..records import of_numbers, records_source

    logging.getLogger(_LOG).setLevel(logging.ERROR)
    try:
        book = fastexcel.read_excel(path)
        name = _sheet(book, options.sheet)
        record = _record(
            book.load_sheet(name, header_row=_header_row(book, name, options.mentioned), schema_sample_rows=None)
        )
    except fastexcel.FastExcelError as error:
        raise unreadable("spreadsheet", error) from None
    if not record.num_columns:
        raise InputError(f"sheet {name!r} is empty; its first row must hold the names of the columns.")

    def batches(wanted: Wanted) -> Iterator[Batch]:
        yield from records_source(record.schema, [record]).batches(wanted)

    return Source(record.schema.names, batches, path.stat().st_size, untyped=True, numbers=of_numbers(record.schema))


def _header_row(book: Any, name: str, mentioned: Sequence[str]) -> int:
    """Find the header among the first rows: that with the most of the columns named, the first of these.

    A row with one filled cell is a title where another has two, as forecasts take two columns.
    """
    top = book.load_sheet(name, header_row=None, skip_rows=0, n_rows=_TITLE_ROWS, dtypes="string").to_polars()
    columns = {*mentioned, *(text.partition("=")[2] for text in mentioned)}
    rows = [[cell for cell in row if cell not in (None, "")] for row in top.rows()]
    return max(range(len(rows)), key=lambda at: (min(len(rows[at]), 2), len(columns & {*rows[at]})), default=0)


def _record(sheet: Any) -> Any:
    import pyarrow

    return pyarrow.record_batch(sheet)


def _sheet(book: Any, wanted: str | None) -> str:
    """Name the sheet to read: the one that is named, or the only one."""
    names: list[str] = book.sheet_names
    if wanted is not None and wanted not in names:
        raise InputError(f"no sheet {wanted!r}; sheets: {listed(names, 20)}.")
    if wanted is None and len(names) > 1:
        one = f"sheet={names[-1]!r} (--sheet {quote(names[-1])})"
        raise InputError(f"has {len(names)} sheets: {listed(names, 20)}. Name one, such as {one}.")
    return names[0] if wanted is None else wanted


FORMATS = (Format("spreadsheet", open_spreadsheet, (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), rank=6),)
