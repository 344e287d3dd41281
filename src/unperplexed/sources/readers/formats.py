"""Which reader reads a file, and standard input kept where it can be read twice."""

from __future__ import annotations

import difflib
import glob
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from ..._lib.errors import InputError
from . import Options, Source
from .chunks import head

_TEXT_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_SUFFIXES = {
    **_TEXT_SUFFIXES,
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".npz": "npz",
    ".npy": "npy",
}
_READERS = {
    "csv": ("delimited", "open_delimited"),
    "tsv": ("delimited", "open_delimited"),
    "jsonl": ("jsonl", "open_jsonl"),
    "parquet": ("columnar", "open_parquet"),
    "arrow": ("columnar", "open_arrow"),
    "npz": ("arrays", "open_npz"),
    "npy": ("arrays", "open_npy"),
}
FORMATS = tuple(_READERS)


_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow", b"PK": "npz", b"\x93NUMPY": "npy"}
_TALLY_MAGIC = b"\x89UPT"
_STANDARD_INPUT = "standard input"


@dataclass(frozen=True)
class File:
    """A file to read."""

    name: str
    """As given, for messages."""
    path: Path
    copied: bool = False
    """Whether the path is that of our copy, which is gone when nothing holds this object any more."""


def matching(names: Sequence[str]) -> list[str]:
    """Expand patterns such as ``data/*.parquet`` that the shell left alone; sorted, each file once."""
    found = []
    for name in names:
        pattern = glob.has_magic(name) and not Path(name).exists()
        # Path.glob knows no absolute patterns.
        matches = sorted(glob.glob(name, recursive=True)) if pattern else [name]  # noqa: PTH207
        if not matches:
            raise InputError(f"{name}: no file matches.")
        found += matches
    places = [name if name == "-" else str(Path(name).resolve()) for name in found]
    for at, place in enumerate(places):
        if place in places[:at]:
            raise InputError(f"{found[at]}: is named twice.")
    return found


def found_files(names: Sequence[str]) -> list[File]:
    """Find the files, and keep a copy of what can be read only once: standard input and named pipes."""
    return [_kept(name) if name == "-" or Path(name).is_fifo() else File(name, Path(name)) for name in matching(names)]


def _kept(name: str) -> File:
    said = _STANDARD_INPUT if name == "-" else name
    if name == "-" and sys.stdin is None:
        raise InputError(f"{said}: is closed.")
    copy = tempfile.NamedTemporaryFile(prefix="unperplexed-")  # noqa: SIM115  # closed when its File is gone
    try:
        if name == "-":
            stream: Any = sys.stdin.buffer
            while data := stream.read1(1 << 20):  # a full read would not notice signals until it is full
                copy.write(data)
        else:
            with Path(name).open("rb") as pipe:
                shutil.copyfileobj(pipe, copy, 1 << 20)
        copy.flush()
    except OSError as error:
        copy.close()
        place = f"the copy of it in {tempfile.gettempdir()} (set TMPDIR for another place)"
        raise InputError(f"{said}: cannot be read through {place}: {error.strerror}.") from None
    file = File(said, Path(copy.name), copied=True)
    weakref.finalize(file, copy.close)
    return file


def open_source(file: File, form: str | None, options: Options, say: Callable[[str], None]) -> Source:
    """Open a file by the format named, or else by its suffix; of a copy, by its first bytes."""
    path = file.path
    if path.is_dir():
        raise InputError("is a directory; name a file in it, or several with '*'.")
    if form is not None and form not in _READERS:
        raise InputError(f"--format {form}: known are {', '.join(FORMATS)}.")
    try:
        if path.stat().st_size == 0:
            raise InputError("is empty." if file.copied else "the file is empty.")
        if form is None and file.copied:
            form = _format_by_content(path)
            say(f"{file.name} read as {form}")
        module, name = _READERS[form := form or _format_of(path)]
        read: Any = getattr(import_module(f".{module}", __package__), name)
        source: Source = read(path, _checked(options, form))
    except FileNotFoundError:
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], 3)
        raise InputError("no such file." + (f" Near it: {', '.join(near)}." if near else "")) from None
    except PermissionError:
        raise InputError("no permission to read it.") from None
    return source


def _checked(options: Options, form: str) -> Options:
    """Options as they hold for a format."""
    if options.decimal_comma and form not in ("csv", "tsv"):
        raise InputError(f"--decimal-comma: only CSV and TSV spell numbers, this is read as {form}.")
    if form == "tsv" and options.separator == ",":
        options = replace(options, separator="\t")
    if options.decimal_comma and options.separator == ",":
        raise InputError("--decimal-comma: the comma cannot separate fields as well; name what does with --separator.")
    return options


def _format_by_content(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(8)
    if start.startswith(_TALLY_MAGIC):
        raise InputError("is a tally; name its file instead of piping it.")
    for magic, form in _MAGIC.items():
        if start.startswith(magic):
            return form
    return "jsonl" if head(path, 1 << 16).lstrip()[:1] == b"{" else "csv"


def _format_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    if suffixes[-1:] == [".gz"] and suffixes[0] in _TEXT_SUFFIXES:
        return _TEXT_SUFFIXES[suffixes[0]]
    suffix = path.suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    known = f"known: {', '.join(_SUFFIXES)}, and .gz after those of text. Name it with --format"
    raise InputError(f"cannot tell the format from {suffix or 'a name without suffix'!r}; {known}.")
