"""Spreadsheets of Excel and LibreOffice, read through fastexcel. A sheet is in memory while it is read."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from shlex import quote
from typing import Any

from ..._lib.errors import InputError, listed
from . import Batch, Format, Options, Source, Wanted, sheet_process, unreadable

_SPARE, _PER_BYTE = 1 << 28, 8
"""Bytes that reading may take: 256 MB whatever the file, and more for each byte of its unpacked parts. A cell takes 24
bytes or more of XML, and some 150 while it is read."""

_SECONDS, _BYTES_A_SECOND = 10, 1 << 20
"""Seconds of a processor that reading may take whatever the file, and bytes for each one more; one reads 20 MB."""

_UNPACKED, _PACKED_TO = 1 << 26, 100
"""Parts of more than 64 MB altogether that are packed to less than a hundredth are no table; those of tables are packed
to a tenth."""


def open_spreadsheet(path: Path, options: Options) -> Source:
    """Read the header of a sheet: the row with the columns that are named, else the first with two filled cells."""
    if find_spec("fastexcel") is None:
        raise InputError("spreadsheets need fastexcel: pip install 'unperplexed[excel]', or save it as CSV.")
    from ..records import of_numbers, records_source

    record = _record(_read(path, options), options.sheet)

    def batches(wanted: Wanted) -> Iterator[Batch]:
        yield from records_source(record.schema, [record]).batches(wanted)

    return Source(record.schema.names, batches, path.stat().st_size, untyped=True, numbers=of_numbers(record.schema))


def _read(path: Path, options: Options) -> subprocess.CompletedProcess[bytes]:
    """Run the process that reads the sheet."""
    asked = json.dumps([str(path), options.sheet, [*options.mentioned], *bounds(path)])
    return subprocess.run([sys.executable, "-P", sheet_process.__file__, asked], capture_output=True, check=False)


def bounds(path: Path) -> tuple[int, int]:
    """Give the bytes and the seconds that reading a file may take."""
    size = _unpacked(path)
    return _SPARE + _PER_BYTE * size, _SECONDS + size // _BYTES_A_SECOND


def _unpacked(path: Path) -> int:
    """Count the bytes of a file's parts, before any is unpacked."""
    size = packed = path.stat().st_size
    with suppress(zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError), zipfile.ZipFile(path) as archive:
        size = sum(part.file_size for part in archive.infolist())
    if size > max(_UNPACKED, _PACKED_TO * packed):
        raise InputError(f"holds {size:,} bytes packed into {packed:,}, which no table does; save it as CSV.")
    return size


def _record(done: subprocess.CompletedProcess[bytes], wanted: str | None) -> Any:
    """Take the sheet, or say why there is none."""
    import pyarrow

    if done.returncode == sheet_process.REFUSED:
        raise _refusal(json.loads(done.stdout), wanted)
    said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    if done.returncode > 0 and "MemoryError" not in said:
        raise InputError(f"the process that reads spreadsheets failed: {said or done.returncode}")
    if done.returncode:
        raise InputError(
            "the spreadsheet is damaged, or asks for more memory or time than its cells need, as one with a stray cell"
            " far from its table. Delete the rows and columns around the table, or save it as CSV."
        )
    stream = pyarrow.ipc.open_stream(done.stdout)
    record = stream.read_next_batch()
    if not record.num_columns:
        name = stream.schema.metadata[b"sheet"].decode()
        raise InputError(f"sheet {name!r} is empty; its first row must hold the names of the columns.")
    return record


def _refusal(reason: dict[str, Any], wanted: str | None) -> InputError:
    """Say which sheets there are, or what the reader found."""
    if "error" in reason:
        return unreadable("spreadsheet", ValueError(reason["error"]))
    names: list[str] = reason["sheets"]
    if not names:
        return unreadable("spreadsheet", ValueError("it has no sheets"))
    if wanted is not None:
        return InputError(f"no sheet {wanted!r}; sheets: {listed(names, 20)}.")
    one = f"sheet={names[-1]!r} (--sheet {quote(names[-1])})"
    return InputError(f"has {len(names)} sheets: {listed(names, 20)}. Name one, such as {one}.")


FORMATS = (Format("spreadsheet", open_spreadsheet, (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), rank=6),)
