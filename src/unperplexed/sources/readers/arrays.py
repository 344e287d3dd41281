"""NumPy's files: NPZ archives and NPY."""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..._lib.errors import InputError
from . import (
    Batch,
    Format,
    Options,
    Source,
    Wanted,
    batch_rows,
    unreadable,
)
from .numbers import side_by_side

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, KeyError, NotImplementedError)


@dataclass(frozen=True)
class _Array:
    """An array in a file, or a field of one."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool
    """Fortran order: a row's values lie apart."""
    opened: Callable[[], AbstractContextManager[IO[bytes]]]
    """Give the bytes that begin with the array's header."""


def open_npz(path: Path, _: Options) -> Source:
    """Read the headers of an archive's arrays."""
    with _readable("NPZ"), zipfile.ZipFile(path) as archive:
        members = archive.namelist()

    @contextmanager
    def opened(member: str) -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield stream

    with _readable("NPZ"):
        arrays = {name.removesuffix(".npy"): _array(partial(opened, name)) for name in members}
    return _source("NPZ", path, arrays)


def open_npy(path: Path, options: Options) -> Source:
    """Read the header of an array file, and of those beside it that are asked for."""
    beside = {name: Path(name) for name in options.mentioned if name.lower().endswith(".npy") and Path(name).is_file()}
    files = {path.stem: path, **beside}
    with _readable("NPY"):
        arrays = {name: _array(partial(_opened, file)) for name, file in files.items()}
    return _source("NPY", path, arrays)


@contextmanager
def _readable(kind: str) -> Iterator[None]:
    try:
        yield
    except (InputError, FileNotFoundError, PermissionError):
        raise
    except _DAMAGE as error:
        raise unreadable(kind, error) from None


def _opened(file: Path) -> IO[bytes]:
    return file.open("rb")


def _array(opened: Callable[[], AbstractContextManager[IO[bytes]]]) -> _Array:
    with opened() as stream:
        shape, by_column, dtype = _read_header(stream)
    return _Array(shape, dtype, by_column, opened)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    first = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    shape, by_column, dtype = read(stream)
    if version == (3, 0) and dtype.names:  # the same header in UTF-8, which NumPy gives no name to read by
        dtype.names = tuple(name.encode("latin-1").decode() for name in dtype.names)
    return shape, by_column, dtype


def _source(kind: str, path: Path, arrays: dict[str, _Array]) -> Source:
    size = path.stat().st_size
    fields = {field: (name, field) for name, array in arrays.items() for field in array.dtype.names or ()}
    places: dict[str, tuple[str, str | None]] = {**{name: (name, None) for name in arrays}, **fields}
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        name: (array.shape, array.dtype.kind) for name, array in arrays.items() if not array.dtype.names
    }

    def batches(wanted: Wanted) -> Iterator[Batch]:
        used = {places[name][0]: arrays[places[name][0]] for name in wanted.names}
        n_rows = _n_rows(used)
        step = batch_rows(
            sum(math.prod(array.shape[1:]) * max(1, array.dtype.itemsize // 8) for array in used.values())
        )
        with _readable(kind), ExitStack() as stack:
            take = {name: _taker(array, stack) for name, array in used.items()}
            for start in range(0, max(1, n_rows), step):
                stop = min(start + step, n_rows)
                whole = {name: rows(stop - start) for name, rows in take.items()}
                data = {
                    name: whole[array] if field is None else whole[array][field]
                    for name, (array, field) in places.items()
                    if array in whole
                }
                yield Batch(
                    [side_by_side(data, names, start) for names in wanted.probabilities],
                    {name: data[name] for name in wanted.numbers},
                    {name: data[name] for name in wanted.raw},
                    start,
                    stop - start,
                    size * stop // max(1, n_rows),
                    stop == n_rows,
                )

    return Source(list(shapes) + list(fields), batches, size, shapes={} if fields else shapes)


def _n_rows(arrays: dict[str, _Array]) -> int:
    """Rows of arrays that can be read side by side."""
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise InputError(
                f"array {name!r} holds pickled Python objects, which can run code when read; refused. Save it as"
                " numbers or strings."
            )
        if not array.shape:
            raise InputError(f"array {name!r} is a single value, without rows.")
    (first, rows), *others = ((name, array.shape[0]) for name, array in arrays.items())
    for name, other in others:
        if other != rows:
            raise InputError(f"{first} has {rows:,} rows, {name} {other:,}; each forecast needs its outcome.")
    return rows


def _taker(array: _Array, stack: ExitStack) -> Callable[[int], NDArray[Any]]:
    """Give a function that gives the next rows."""
    stream = stack.enter_context(array.opened())
    _read_header(stream)
    if array.by_column and len(array.shape) == 2 and math.prod(array.shape) * array.dtype.itemsize:
        return _column_taker(array, stream, stack)
    left = array.shape[0]
    row_bytes = math.prod(array.shape[1:]) * array.dtype.itemsize

    def take(rows: int) -> NDArray[Any]:
        nonlocal left
        data = stream.read(rows * row_bytes)
        if len(data) < rows * row_bytes:
            raise EOFError(f"the data end {left - len(data) // row_bytes:,} rows too soon")
        left -= rows
        if not data:
            return np.zeros((rows, *array.shape[1:]), array.dtype)
        return np.frombuffer(data, array.dtype).reshape(rows, *array.shape[1:])

    return take


def _column_taker(array: _Array, stream: IO[bytes], stack: ExitStack) -> Callable[[int], NDArray[Any]]:
    """Read rows that lie scattered in the file, a run of each column at a time."""
    offset = stream.tell()
    if isinstance(stream, zipfile.ZipExtFile):
        unpacked = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # closed with the stack
        shutil.copyfileobj(stream, unpacked, 1 << 20)
        unpacked.flush()
        stream, offset = unpacked, 0
    n_rows, n_columns = array.shape
    size = array.dtype.itemsize
    start = 0

    def take(rows: int) -> NDArray[Any]:
        nonlocal start
        # A memory map would hold far more than is asked for: the pages around each run come with it.
        places = (offset + (column * n_rows + start) * size for column in range(n_columns))
        data = b"".join(os.pread(stream.fileno(), rows * size, place) for place in places)
        if len(data) < rows * n_columns * size:
            raise EOFError("the data end too soon")
        start += rows
        return np.ascontiguousarray(np.frombuffer(data, array.dtype).reshape(n_columns, rows).T)

    return take


FORMATS = (
    Format("npz", open_npz, (".npz",), magic=(b"PK",), rank=4),
    Format("npy", open_npy, (".npy",), magic=(b"\x93NUMPY",), rank=5),
)
