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
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from ..._lib.errors import InputError
from . import Format, Options, Source
from .chunks import head
from .text_streams import COMPRESSIONS

_TALLY_MAGIC = b"\x89UPT"
_STANDARD_INPUT = "standard input"


@cache
def formats() -> dict[str, Format]:
    """Find the formats by name: those in ``FORMATS`` of each module of this folder."""
    modules = (import_module(f".{module.name}", __package__) for module in iter_modules([str(Path(__file__).parent)]))
    found: list[Format] = [each for module in modules for each in getattr(module, "FORMATS", ())]
    return {each.name: each for each in sorted(found, key=lambda each: each.rank)}


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
    if form is not None and form not in formats():
        raise InputError(f"--format {form}: known are {', '.join(formats())}.")
    try:
        if path.stat().st_size == 0:
            raise InputError("is empty." if file.copied else "the file is empty.")
        if form is None and file.copied:
            say(f"{file.name} read as {format_of(file)}")
        chosen = formats()[form or format_of(file)]
        source = chosen.open(path, _checked(options, chosen))
    except FileNotFoundError:
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], 3)
        raise InputError("no such file." + (f" Near it: {', '.join(near)}." if near else "")) from None
    except PermissionError:
        raise InputError("no permission to read it.") from None
    return source


def _checked(options: Options, chosen: Format) -> Options:
    """Options as they hold for a format."""
    if options.encoding != "utf-8" and not chosen.text:
        raise InputError(f"--encoding: only text files have one, this is read as {chosen.name}.")
    if options.sheet is not None and chosen.name != "spreadsheet":
        raise InputError(f"--sheet: only spreadsheets have sheets, this is read as {chosen.name}.")
    if options.decimal_comma and chosen.separator is None:
        raise InputError(f"--decimal-comma: only CSV and TSV spell numbers, this is read as {chosen.name}.")
    if chosen.separator is not None and options.separator == ",":
        options = replace(options, separator=chosen.separator)
    if options.decimal_comma and options.separator == ",":
        return replace(options, separator=";")
    return options


def format_of(file: File) -> str:
    """Name a file's format by its suffix; that of a copy by its first bytes."""
    return _format_by_content(file.path) if file.copied else _format_of(file.path)


def _format_by_content(path: Path) -> str:
    with path.open("rb") as stream:
        start = stream.read(8)
    if start.startswith(_TALLY_MAGIC):
        raise InputError("is a tally; name its file instead of piping it.")
    text = head(path, 1 << 16).lstrip()
    for each in formats().values():
        if (text if each.text else start).startswith(tuple(each.magic)):
            return each.name
    return "csv"


def _format_of(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes[-2:]]
    packed = [each.suffix for each in COMPRESSIONS]
    zipped = len(suffixes) == 2 and suffixes[1] in packed
    for each in formats().values():
        if path.suffix.lower() in each.suffixes or (zipped and each.text and suffixes[0] in each.suffixes):
            return each.name
    ranked = sorted((each.rank, suffix) for each in formats().values() for suffix in each.suffixes)
    known = ", ".join(suffix for _, suffix in ranked)
    what = repr(path.suffix.lower() or "a name without suffix")
    raise InputError(
        f"cannot tell the format from {what}; known: {known}, and {', '.join(packed)} after those of text. Name it"
        " with --format."
    )
