"""Reads one sheet in a process of its own, whose memory and time are bounded; a script that imports nothing of ours.

A damaged or hostile spreadsheet makes its reader ask for any amount of memory, work without end, or abort. Then this
process ends, and `spreadsheet` says so. It writes the sheet as an Arrow stream, or ends with `REFUSED` and says why, in
JSON.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

REFUSED = 3
"""The exit status that comes with a reason."""

_TITLE_ROWS = 20
"""Among so many rows the header is looked for."""


def main(path: str, sheet: str | None, mentioned: list[str], memory: int, seconds: int) -> None:
    """Write the sheet that is named, or the only one."""
    import fastexcel
    import pyarrow as pa

    bound(memory, seconds)
    try:
        book = fastexcel.read_excel(path)
        names = book.sheet_names
        if sheet not in names and (sheet is not None or len(names) != 1):
            refuse(sheets=names)
        name = names[0] if sheet is None else sheet
        read = book.load_sheet(name, header_row=_header_row(book, name, mentioned), schema_sample_rows=None)
        record = pa.record_batch(read)
    except fastexcel.FastExcelError as error:
        refuse(error=str(error))
    with pa.ipc.new_stream(sys.stdout.buffer, record.schema.with_metadata({"sheet": name})) as stream:
        stream.write_batch(record)


def refuse(**reason: Any) -> None:
    """Say why there is no sheet."""
    sys.stdout.write(json.dumps(reason))
    sys.exit(REFUSED)


def bound(memory: int, seconds: int) -> None:
    """Let this process take so many bytes more than it has and so much of a processor, where the system counts them."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
        taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (taken + memory, resource.RLIM_INFINITY))


def _header_row(book: Any, name: str, mentioned: list[str]) -> int:
    """Find the header among the first rows: that with the most of the columns named, the first of these.

    A row with one filled cell is a title where another has two, as forecasts take two columns.
    """
    import pyarrow as pa

    top = book.load_sheet(name, header_row=None, skip_rows=0, n_rows=_TITLE_ROWS, dtypes="string")
    columns = {*mentioned, *(text.partition("=")[2] for text in mentioned)}
    cells = (column.to_pylist() for column in pa.record_batch(top).columns)
    rows = [[cell for cell in row if cell not in (None, "")] for row in zip(*cells, strict=True)]
    return max(range(len(rows)), key=lambda at: (min(len(rows[at]), 2), len(columns & {*rows[at]})), default=0)


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
