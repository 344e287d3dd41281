"""Arrow IPC files, of the file or the stream format, read through pyarrow."""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._lib.errors import InputError
from . import Batch, Format, Options, Source, Wanted, batch_rows

_ARROW_FILE_MAGIC = b"ARROW1"
_CONTINUED = b"\xff\xff\xff\xff"
_END = _CONTINUED + bytes(4)


def open_arrow(path: Path, _: Options) -> Source:
    """Read the schema of an Arrow IPC file, of the file or the stream format."""
    from ..records import (
        check_once,
        gather,
        list_widths,
        of_numbers,
        readable,
        record_batches,
        sliced,
        with_lookahead,
    )

    with readable("Arrow"), _mapped(path) as (_pages, memory):
        schema = _arrow_reader(memory).schema
    size = path.stat().st_size

    def batches(wanted: Wanted) -> Iterator[Batch]:
        check_once(schema, wanted.names)
        with readable("Arrow"), _mapped(path) as (pages, memory):
            widths = list_widths(schema, wanted, lambda names: _arrow_records(memory, schema, names, _Given()))
            items, given = sum(widths.values()), _Given()
            rows = batch_rows(len(wanted.names) + items)
            records = sliced(gather(_arrow_records(memory, schema, wanted.names, given), rows), items)

            def position(_: int) -> int:
                return memory.tell() if given.of is None else size * given.records // max(1, given.of)

            for batch in record_batches(with_lookahead(records), schema, wanted, widths, position):
                yield batch
                pages.madvise(mmap.MADV_DONTNEED)  # what was read may leave memory; the file still has it

    return Source(schema.names, batches, size, numbers=of_numbers(schema))


@dataclass
class _Given:
    """How many record batches a file has given so far, and of how many, if it says."""

    records: int = 0
    of: int | None = None


@contextmanager
def _mapped(path: Path) -> Iterator[tuple[mmap.mmap, Any]]:
    import pyarrow as pa

    with path.open("rb") as file:
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        yield pages, pa.BufferReader(pa.py_buffer(pages))


def _arrow_reader(memory: Any, fields: Sequence[int] | None = None) -> Any:
    from pyarrow import ipc

    memory.seek(0)
    is_file = memory.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC
    memory.seek(0)
    if is_file:  # asked for some fields only, the reader of this format would copy what it can leave mapped
        return ipc.open_file(memory)
    options = ipc.IpcReadOptions(included_fields=None if fields is None else sorted(fields))
    return ipc.open_stream(memory, options=options)


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


FORMATS = (Format("arrow", open_arrow, (".arrow", ".feather", ".ipc"), magic=(_ARROW_FILE_MAGIC, _CONTINUED), rank=3),)
