"""Files whose columns can be named and read: CSV, Parquet and NPZ."""

from __future__ import annotations

import csv
import difflib
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .errors import InputError

Column = pl.Series | NDArray[Any]


@dataclass(frozen=True)
class Source:
    """A file whose columns are known and can be read by name."""

    names: list[str]
    read: Callable[[list[str]], dict[str, Column]]
    shapes: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    """Shape and dtype kind of each array, where the file says (NPZ)."""


def open_source(path: Path, separator: str) -> Source:
    suffix = path.suffix.lower()
    openers = {
        ".csv": _open_csv,
        ".tsv": _open_csv,
        ".txt": _open_csv,
        ".parquet": _open_parquet,
        ".npz": _open_npz,
    }
    if path.is_dir():
        raise InputError("is a directory; name a file in it.")
    if suffix not in openers:
        raise InputError(
            f"cannot tell the format from {suffix or 'a name without suffix'!r}; known: {', '.join(openers)}."
        )
    try:
        if path.stat().st_size == 0:
            raise InputError("the file is empty.")
        return openers[suffix](path, "\t" if suffix == ".tsv" and separator == "," else separator)
    except FileNotFoundError:
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], 3)
        raise InputError("no such file." + (f" Near it: {', '.join(near)}." if near else "")) from None
    except PermissionError:
        raise InputError("no permission to read it.") from None


def _open_csv(path: Path, separator: str) -> Source:
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            header = next(csv.reader(stream, delimiter=separator), [])
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    twice = [name for name, count in Counter(header).items() if count > 1]
    if len(header) == 1 and any(other in header[0] for other in ";\t|,"):
        other = next(other for other in ";\t|," if other in header[0])
        raise InputError(f"has one column, {header[0]!r}; separated by {other!r}? Say so with --separator.")

    def read(names: list[str]) -> dict[str, Column]:
        wrong = [name for name in names if name in twice]
        if wrong:
            raise InputError(f"the header has column {wrong[0]!r} {header.count(wrong[0])} times; rename one.")
        rows = _check_widths(path, separator, len(header))
        try:
            # By position: a header with quotes in it is not spelled the same by every reader.
            places = sorted(header.index(name) for name in names)
            frame = pl.read_csv(path, columns=places, separator=separator, infer_schema_length=None)
        except pl.exceptions.PolarsError as error:
            if "utf-8" in str(error).lower():
                raise _not_utf8(path) from None
            raise InputError(f"not readable as CSV: {str(error).splitlines()[0]}.") from None
        if rows is not None and rows != frame.height:
            raise InputError(
                f"the quotes in it can be read as {rows:,} rows or as {frame.height:,}. Quote whole fields only, and"
                " write a quote inside them twice."
            )
        return {header[place]: frame.to_series(at).alias(header[place]) for at, place in enumerate(places)}

    return Source(header, read)


def _check_widths(path: Path, separator: str, width: int) -> int | None:
    """Refuse lines with too many fields, which the fast reader lets pass where the surplus is not wanted.

    Returns the number of rows where the file has quotes, which readers may take differently; else None.
    """
    number, rest = 1, b""
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 24):
            if b'"' in chunk:
                return _count_quoted(path, separator, width)
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            text = np.frombuffer(whole + newline, dtype=np.uint8)
            ends = np.flatnonzero(text == ord("\n"))
            fields = 1 + np.diff(np.cumsum(text == ord(separator))[ends], prepend=0)
            wide = np.flatnonzero(fields > width)
            if wide.size:
                raise _too_many(number + int(wide[0]), int(fields[wide[0]]), width)
            number += ends.size
    if rest.count(separator.encode()) >= width:
        raise _too_many(number, rest.count(separator.encode()) + 1, width)
    return None


def _too_many(line: int, fields: int, width: int) -> InputError:
    return InputError(
        f"line {line} has {fields} fields, the header {width}. Quote fields that contain the separator, or repair the"
        " line."
    )


def _count_quoted(path: Path, separator: str, width: int) -> int:
    """Count the rows below the header with a reader that minds quotes; refuse the first line it cannot read."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, delimiter=separator)
            rows = -1
            for fields in reader:
                rows += 1
                if len(fields) > width:
                    raise _too_many(reader.line_num, len(fields), width)
            return rows
    except UnicodeDecodeError:
        raise _not_utf8(path) from None
    except csv.Error as trouble:
        raise InputError(f"not readable as CSV: {trouble}.") from None


def _not_utf8(path: Path) -> InputError:
    with path.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return InputError(f"line {number} is not UTF-8. Save the file as UTF-8 (with iconv, or an editor).")
    return InputError("not UTF-8 text. Save the file as UTF-8 (with iconv, or an editor).")


def _open_parquet(path: Path, _: str) -> Source:
    try:
        names = list(pl.read_parquet_schema(path))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _unreadable("Parquet", error) from None

    def read(wanted: list[str]) -> dict[str, Column]:
        try:
            frame = pl.read_parquet(path, columns=wanted)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _unreadable("Parquet", error) from None
        return {name: frame[name] for name in wanted}

    return Source(names, read)


def _unreadable(kind: str, error: Exception) -> InputError:
    if isinstance(error, PermissionError):
        return InputError("no permission to read it.")
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return InputError(f"not a readable {kind} file, perhaps truncated or of another format: {reason}.")


def _open_npz(path: Path, _: str) -> Source:
    damage = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, KeyError, NotImplementedError)
    try:
        shapes = _npz_shapes(path)
    except PermissionError:
        raise
    except damage as error:
        raise _unreadable("NPZ", error) from None

    def read(wanted: list[str]) -> dict[str, Column]:
        pickled = [name for name in wanted if shapes[name][1] == "O"]
        if pickled:
            raise InputError(
                f"array {pickled[0]!r} holds pickled Python objects, which can run code when read; refused. Save it"
                " as numbers or strings."
            )
        try:
            with np.load(path, allow_pickle=False) as archive:
                return {name: archive[name] for name in wanted}
        except damage as error:
            raise _unreadable("NPZ", error) from None

    return Source(list(shapes), read, shapes)


def _npz_shapes(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shapes and dtype kinds from the headers alone."""
    shapes: dict[str, tuple[tuple[int, ...], str]] = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as stream:
                version = np.lib.format.read_magic(stream)
                header = (
                    np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                )
                shape, _, dtype = header(stream)
                shapes[member.removesuffix(".npy")] = (shape, dtype.kind)
    return shapes
