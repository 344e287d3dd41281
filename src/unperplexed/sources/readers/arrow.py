"""Arrow IPC files, of the file or the stream format, read through pyarrow."""

from __future__ import annotations

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
        by_paths,
        check_once,
        gather,
        list_widths,
        of_numbers,
        readable,
        record_batches,
        root_of,
        sliced,
        with_lookahead,
        with_paths,
    )

    with readable("Arrow"), _opened(path) as file:
        schema = _arrow_reader(file).schema
        paths = with_paths(schema)
    size = path.stat().st_size

    def batches(wanted: Wanted) -> Iterator[Batch]:
        check_once(schema, wanted.names)
        with readable("Arrow"), _opened(path) as file:

            def read(names: list[str], given: _Given) -> Iterator[Any]:
                roots = [*dict.fromkeys(root_of(schema, name) for name in names)]
                return (by_paths(each, schema, names) for each in _arrow_records(file, schema, roots, given))

            widths = list_widths(paths, wanted, lambda names: read(names, _Given()))
            items, given = sum(widths.values()), _Given()
            rows = batch_rows(len(wanted.names) + items)
            records = sliced(gather(read(wanted.names, given), rows), items)

            def position(_: int) -> int:
                return file.tell() if given.of is None else size * given.records // max(1, given.of)

            yield from record_batches(with_lookahead(records), paths, wanted, widths, position)

    inside = frozenset(paths.names[len(schema.names) :])
    return Source(list(paths.names), batches, size, inside, numbers=of_numbers(paths))


@dataclass
class _Given:
    """How many record batches a file has given so far, and of how many, if it says."""

    records: int = 0
    of: int | None = None


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a file, not mapped into memory: where another program cuts a mapped file, reading it ends the process."""
    import pyarrow as pa

    with pa.OSFile(str(path)) as file:
        yield file


def _arrow_reader(file: Any, fields: Sequence[int] | None = None) -> Any:
    from pyarrow import ipc

    file.seek(0)
    is_file = file.read(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC
    file.seek(0)
    options = ipc.IpcReadOptions(included_fields=None if fields is None else sorted(fields))
    return (ipc.open_file if is_file else ipc.open_stream)(file, options=options)


def _arrow_records(file: Any, schema: Any, names: Sequence[str], given: _Given) -> Iterator[Any]:
    reader = _arrow_reader(file, [schema.get_field_index(name) for name in names])
    if not hasattr(reader, "get_batch"):
        yield from reader
        _check_end(file)
        return
    given.of = reader.num_record_batches
    for at in range(reader.num_record_batches):
        given.records = at + 1
        yield reader.get_batch(at).select(names)


def _check_end(file: Any) -> None:
    """Refuse a stream that was cut between two record batches, which its reader takes for the end."""
    file.seek(0)
    marked = file.read(len(_CONTINUED)) == _CONTINUED  # streams of before 2019 have no such marks
    file.seek(max(0, file.size() - len(_END)))
    if marked and file.read(len(_END)) != _END:
        raise InputError(
            "an Arrow stream whose end is not marked, perhaps truncated. Write it anew, and close its writer."
        )


FORMATS = (Format("arrow", open_arrow, (".arrow", ".feather", ".ipc"), magic=(_ARROW_FILE_MAGIC, _CONTINUED), rank=3),)
