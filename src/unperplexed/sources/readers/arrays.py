"""Arrays in files: NPZ archives and NPY of NumPy, tensors of PyTorch."""

from __future__ import annotations

import io
import lzma
import math
import os
import pickle
import struct
import sys
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..._lib.dataclasses import Frozen
from ..._lib.errors import InputError, listed
from . import ARRAYS, Batch, Column, Format, Options, Source, Wanted, array_files, batch_rows, unreadable
from .numbers import Numbers

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError),
    *(TokenError, SyntaxError, ArithmeticError, LookupError, OSError, RuntimeError, TypeError, ValueError),
)

_LONGEST_HEADER = 1 << 16
_LARGEST_ROW = 1 << 27
"""Bytes of a row; one batch holds at least one."""


class _Array(Frozen):
    """An array in a file, or a field of one."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_column: bool
    """Fortran order: a row's values lie apart."""
    opened: Callable[[], AbstractContextManager[IO[bytes]]] | NDArray[Any]
    """Give the bytes that begin with the array's header; or the array itself, where it is in memory."""
    room: int
    """Bytes that are there for its values."""

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize


def _in_npz(path: Path) -> dict[str, _Array]:
    """Read the headers of an archive's arrays."""

    @contextmanager
    def opened(member: str) -> Iterator[IO[bytes]]:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            yield stream

    with zipfile.ZipFile(path) as archive:
        arrays = {}
        for name, size in {info.filename: info.file_size for info in archive.infolist()}.items():
            with archive.open(name) as stream:
                arrays[name.removesuffix(".npy")] = _array(stream, size, partial(opened, name))
    return arrays


def _in_npy(path: Path) -> dict[str, _Array]:
    """Read the header of an array."""
    with _opened(path) as stream:
        return {path.stem: _array(stream, path.stat().st_size, partial(_opened, path))}


def _in_pt(path: Path) -> dict[str, _Array]:
    """Read tensors, whole, and nothing that could run code."""
    try:
        import torch
    except ImportError:
        raise InputError("tensors need PyTorch: pip install 'unperplexed[torch]', or save them as NPZ.") from None
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise InputError(
            "is damaged, or holds pickled Python objects, which can run code when read; refused. If you trust it, save"
            " its tensors alone, so that torch.load(PATH, weights_only=True) reads them: torch.save({'logits': logits,"
            " 'labels': labels}, PATH)."
        ) from None
    named = found if isinstance(found, dict) else {path.stem: found}
    tensors = {str(name): each.detach() for name, each in named.items() if isinstance(each, torch.Tensor)}
    if not tensors:
        raise InputError("holds no tensor, or only inside of other objects. Save it by its name: {'logits': logits}.")
    return {name: _of_tensor(name, each) for name, each in tensors.items()}


def _of_tensor(name: str, tensor: Any) -> _Array:
    """Take a tensor as NumPy has it; one that repeats its values may be of any size, whatever the file's."""
    held = tensor.untyped_storage().nbytes()
    if tensor.nbytes > held:
        raise InputError(
            f"tensor {name!r} repeats {held:,} bytes as {tensor.nbytes:,}. Save it in full: .contiguous()."
        )
    array: NDArray[Any] = (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    return _Array(array.shape, array.dtype, False, array, array.nbytes)


_READERS = dict(zip(ARRAYS, (("NPZ", _in_npz), ("NPY", _in_npy), *[("PyTorch", _in_pt)] * 2), strict=True))
"""By suffix, what a file is called and what reads it."""


def _opening(suffix: str) -> Callable[[Path, Options], Source]:
    """Give what opens a file of arrays with those beside it that are asked for."""

    def opened(path: Path, options: Options) -> Source:
        beside = {name: _only(each) for name, each in array_files(options.mentioned).items()}
        return _source(_READERS[suffix][0], path, _arrays(path, suffix) | beside)

    return opened


def _arrays(path: Path, suffix: str) -> dict[str, _Array]:
    kind, read = _READERS[suffix]
    with _readable(kind), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that PyTorch will change, or that a type of it is unfinished
        return read(path)


def _only(path: Path) -> _Array:
    """Read the one array of a file."""
    arrays = _arrays(path, path.suffix.lower())
    if len(arrays) != 1:
        names = listed([*arrays])
        raise InputError(f"{path}: holds {len(arrays)} arrays ({names}), but a column is one. Name another.")
    [array] = arrays.values()
    return array


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


def _array(stream: IO[bytes], size: int, opened: Callable[[], AbstractContextManager[IO[bytes]]]) -> _Array:
    """Read the header of an array that takes so many bytes with it, and that is opened again for its values."""
    shape, by_column, dtype, length = _read_header(stream)
    if any(isinstance(n, bool) or n < 0 for n in shape):
        raise ValueError(f"an array of shape {shape}")
    return _Array(shape, dtype, by_column, opened, size - length)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order and type of an array, and the bytes that its header takes."""
    version = np.lib.format.read_magic(stream)
    first = version == (1, 0)
    form = "<H" if first else "<I"
    stated = stream.read(struct.calcsize(form))
    (length,) = struct.unpack(form, stated)
    if length > _LONGEST_HEADER:
        raise ValueError(f"a header of {length:,} bytes")
    header = io.BytesIO(stated + stream.read(length))
    read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a file is of Python 2
        shape, by_column, dtype = read(header, max_header_size=_LONGEST_HEADER)
    if version == (3, 0) and dtype.names:  # the same header in UTF-8, which NumPy gives no name to read by
        dtype.names = tuple(name.encode("latin-1").decode() for name in dtype.names)
    return shape, by_column, dtype, np.lib.format.MAGIC_LEN + len(stated) + length


def _source(kind: str, path: Path, arrays: dict[str, _Array]) -> Source:
    size = path.stat().st_size
    fields = {field: (name, field) for name, array in arrays.items() for field in array.dtype.names or ()}
    places: dict[str, tuple[str, str | None]] = {**{name: (name, None) for name in arrays}, **fields}
    shapes: dict[str, tuple[tuple[int, ...], str]] = {
        name: (array.shape, array.dtype.kind) for name, array in arrays.items() if not array.dtype.names
    }

    def batches(wanted: Wanted) -> Iterator[Batch]:
        used = {places[name][0]: arrays[places[name][0]] for name in wanted.names}
        with _readable(kind):
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
                for name, values in data.items():
                    _check_text(values, name, start)
                read = Numbers(start, wanted.cells)
                numbers = {name: read.of(data[name], name) for name in wanted.numeric}
                raw: dict[str, Column] = {name: data[name] for name in wanted.raw}
                position = size * stop // max(1, n_rows)
                yield read.batch(wanted, numbers, raw, stop - start, position, stop == n_rows)

    return Source(list(shapes) + list(fields), batches, size, shapes={} if fields else shapes)


def _check_text(values: NDArray[Any], name: str, first_row: int) -> None:
    """Refuse text whose numbers are no characters, which no other library reads."""
    if values.dtype.kind != "U" or not values.size or not values.dtype.itemsize:
        return
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    codes = native.view(np.uint32).reshape(len(values), -1)
    wrong = (codes > sys.maxunicode) | (codes >> 11 == 0x1B)  # the latter: halves of a pair of UTF-16
    if wrong.any():
        row, at = np.argwhere(wrong)[0]
        raise InputError(
            f"array {name!r} holds damaged text at row {first_row + row} (counted from 0): {codes[row, at]:#x} is no"
            " character. Write the file again."
        )


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
        _check_size(name, array)
    (first, rows), *others = ((name, array.shape[0]) for name, array in arrays.items())
    for name, other in others:
        if other != rows:
            raise InputError(f"{first} has {rows:,} rows, {name} {other:,}; each forecast needs its outcome.")
    return rows


def _check_size(name: str, array: _Array) -> None:
    """Hold what a header says against the bytes that are there, before any loop over rows or columns."""
    rows = array.shape[0]
    if rows and not array.row_bytes:
        raise InputError(f"array {name!r} has {rows:,} rows of no values: its shape is {array.shape}.")
    if array.row_bytes > _LARGEST_ROW:
        raise InputError(
            f"array {name!r} has rows of {array.row_bytes:,} bytes: its shape is {array.shape}. Rows of up to"
            f" {_LARGEST_ROW >> 20} MB are read."
        )
    missing = rows - array.room // array.row_bytes if rows else 0
    if missing > 0:
        raise EOFError(f"the data end {missing:,} rows too soon")


def _taker(array: _Array, stack: ExitStack) -> Callable[[int], NDArray[Any]]:
    """Give a function that gives the next rows."""
    if isinstance(array.opened, np.ndarray):
        return _held_taker(array.opened)
    stream = stack.enter_context(array.opened())
    _read_header(stream)
    if array.by_column and len(array.shape) == 2 and array.shape[0]:
        return _column_taker(array, stream, stack)
    left, row_bytes = array.shape[0], array.row_bytes

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


def _held_taker(array: NDArray[Any]) -> Callable[[int], NDArray[Any]]:
    """Give a function that copies the next rows, which may be views of what others share."""
    start = 0

    def take(rows: int) -> NDArray[Any]:
        nonlocal start
        start += rows
        return array[start - rows : start].copy()

    return take


def _column_taker(array: _Array, stream: IO[bytes], stack: ExitStack) -> Callable[[int], NDArray[Any]]:
    """Read rows that lie scattered in the file, a run of each column at a time."""
    offset = stream.tell()
    if isinstance(stream, zipfile.ZipExtFile):
        unpacked = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  # closed with the stack
        left = array.shape[0] * array.row_bytes
        while left:
            data = stream.read(min(left, 1 << 20))
            if not data:
                raise EOFError("the data end too soon")
            unpacked.write(data)
            left -= len(data)
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
    Format("npz", _opening(".npz"), (".npz",), magic=(b"PK",), rank=4),
    Format("npy", _opening(".npy"), (".npy",), magic=(b"\x93NUMPY",), rank=5),
    Format("pt", _opening(".pt"), (".pt", ".pth"), rank=6),
)
