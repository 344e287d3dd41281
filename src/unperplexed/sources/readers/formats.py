"""Which reader reads a file, and standard input kept where it can be read twice."""

from __future__ import annotations

import difflib
import glob
import json
import os
import re
import select
import sys
import tempfile
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from shlex import quote
from typing import Any
from urllib.parse import unquote

from ..._lib.dataclasses import Frozen, replace
from ..._lib.errors import InputError
from ..._lib.json_files import LARGEST_FILE, refuse_result
from ..._lib.output_files import PREFIX, clear, hold
from ..._lib.signals import end_waiting
from . import Batch, Batches, Format, Options, Source, Wanted, array_files
from .text_streams import COMPRESSIONS, head

_TALLY_MAGIC = b"\x89UPT"
_STANDARD_INPUT = "standard input"
_OPERATOR = re.compile(r"[<>]|\s(=|!=|in|is|like|between)\s", re.IGNORECASE)


_PICKLES = (".pkl", ".pickle", ".p", ".joblib")


@cache
def formats() -> dict[str, Format]:
    """Find the formats by name: those in ``FORMATS`` of each module of this folder."""
    modules = (import_module(f".{module.name}", __package__) for module in iter_modules([str(Path(__file__).parent)]))
    found: list[Format] = [each for module in modules for each in getattr(module, "FORMATS", ())]
    return {each.name: each for each in sorted(found, key=lambda each: each.rank)}


class File(Frozen):
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
        pattern = glob.has_magic(name) and not os.path.lexists(name)
        # Path.glob knows no absolute patterns.
        matches = sorted(glob.glob(name, recursive=True)) if pattern else [name]  # noqa: PTH207
        if not matches:
            raise InputError(f"{name}: no file matches.")
        found += matches
    places: dict[object, str] = {}
    for name in found:
        place = place_of(name)
        if place in places:
            also = "" if places[place] == name else f", as {places[place]} too"
            raise InputError(f"{name}: is named twice{also}; its rows would be counted twice.")
        places[place] = name
    return found


def with_folders(names: Sequence[str]) -> list[str]:
    """Expand patterns, and folders into the files in them and in their folders."""
    each = matching(names)
    return matching([file for name in each for file in (_inside(Path(name)) if Path(name).is_dir() else [name])])


def _inside(folder: Path) -> list[str]:
    """Find the files of a folder, which have one suffix; names that begin with . or _ are none of data."""
    found = files_in(folder)
    if not found:
        raise InputError(f"{folder}: no file in this folder.")
    kinds = {each.suffix: each for each in reversed(found)}
    if kinds.keys() - {found[0].suffix}:
        examples = ", ".join(str(each.relative_to(folder)) for each in [*kinds.values()][::-1][:3])
        pattern = quote(str(folder / "**" / f"*{found[0].suffix}"))
        raise InputError(
            f"{folder}: the folder has files of {len(kinds)} kinds, such as {examples}. Name those to read: {pattern}."
        )
    return [*map(str, found)]


def files_in(folder: Path, hidden: bool = False) -> list[Path]:
    """Find the files of a folder and of those in it, also by links; each once, by its name without links if it has one.

    Names that begin with . or _ are left out unless hidden ones are asked for.
    """
    waiting, linked, found, seen = deque([folder]), deque[Path](), [], set[object]()
    while waiting or linked:
        path = (waiting or linked).popleft()
        if not (path.is_dir() or path.is_file()) or (place := place_of(str(path))) in seen:
            continue
        seen.add(place)
        if path.is_file():
            found.append(path)
            continue
        for each in sorted(path.glob("*"), key=lambda entry: ("=" not in entry.name, entry)):  # partitions first
            if hidden or not each.name.startswith((".", "_")):
                (linked if each.is_symlink() else waiting).append(each)
    return sorted(found)


def place_of(name: str) -> object:
    """Tell files apart however they are named: by hard or symbolic links, as standard input, or by a descriptor."""
    try:
        if name == "-":
            state = os.fstat(sys.stdin.fileno())
        else:
            state = Path(name).stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return os.path.realpath(name)
    except (OSError, ValueError, AttributeError) as error:
        if name == "-":  # closed, or no file, as in a notebook
            return name
        raise unreadable_name(name, error) from None
    return state.st_dev, state.st_ino


def unreadable_name(name: str, error: Exception) -> InputError:
    """Return the error of a name by which no file can be looked for."""
    return InputError(f"{name:.80}{'...' * (len(name) > 80)}: cannot be read: {reason_of(error)}.")


def reason_of(error: Exception) -> str:
    """Say why the system did not do what was asked."""
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")


def found_files(names: Sequence[str] | Sequence[File]) -> list[File]:
    """Find the files, and keep a copy of what can be read only once: standard input and named pipes."""
    found = [each for each in names if isinstance(each, File)]
    texts = [each for each in names if not isinstance(each, File)]
    return found + [
        _kept(name) if name == "-" or Path(name).is_fifo() else File(name, Path(name)) for name in with_folders(texts)
    ]


def _kept(name: str) -> File:
    shown = _STANDARD_INPUT if name == "-" else name
    if name == "-" and sys.stdin is None:
        raise InputError(f"{shown}: is closed.")
    clear(Path(tempfile.gettempdir()))
    copy = tempfile.NamedTemporaryFile(prefix=PREFIX)  # noqa: SIM115  # closed when its File is gone
    try:
        hold(copy.fileno())
        end_waiting()
        with nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb") as stream:
            while data := _next_bytes(stream):
                copy.write(data)
        copy.flush()
    except OSError as error:
        copy.close()
        place = f"the copy of it in {tempfile.gettempdir()} (set TMPDIR for another place)"
        raise InputError(f"{shown}: cannot be read through {place}: {error.strerror}.") from None
    file = File(shown, Path(copy.name), copied=True)
    weakref.finalize(file, copy.close)
    return file


def _next_bytes(stream: Any) -> bytes:
    """Read what comes next, and nothing only at the end: a pipe that does not block gives nothing while it is idle."""
    with suppress(OSError, ValueError):  # of what is no file, or is on Windows
        select.select([stream], [], [])
    found: bytes = stream.read1(1 << 20)
    return found


def open_source(file: File, form: str | None, options: Options, say: Callable[[str], None]) -> Source:
    """Open a file by the format named, or else by its suffix; of a copy, by its first bytes."""
    path = file.path
    if form is not None and form not in formats():
        raise InputError(f"--format {form}: known are {', '.join(formats())} (of output: --json -).")
    try:
        before = {each: _state(each) for each in (path, *array_files(options.mentioned).values())}
        if path.stat().st_size == 0:
            raise InputError("is empty." if file.copied else "the file is empty.")
        if form is None and file.copied:
            say(f"{file.name} read as {format_of(file)}")
        chosen = formats()[form or format_of(file)]
        source = chosen.open(path, _checked(options, chosen))
    except (FileNotFoundError, NotADirectoryError):
        near = difflib.get_close_matches(path.name, [p.name for p in path.parent.glob("*")], 3)
        also = f" Near it: {', '.join(near)}." if near else ""
        also += f" A condition on rows is --where {quote(str(file.name))}." if _OPERATOR.search(str(file.name)) else ""
        raise InputError(f"no such file.{also}") from None
    except PermissionError:
        raise InputError("no permission to read it.") from None
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}.") from None
    stretches = None if source.stretches is None else partial(_all_unchanged, source.stretches, before)
    sampled = None if source.sampled is None else partial(_unchanged, source.sampled, before)
    source = replace(source, batches=partial(_unchanged, source.batches, before), stretches=stretches, sampled=sampled)
    return _in_folders(source, {} if file.copied else _of_folders(file.name, source))


_EMPTY = "__HIVE_DEFAULT_PARTITION__"
"""What writers of partitions call the folder of rows without a value."""


def _of_folders(name: str, source: Source) -> dict[str, str | None]:
    """Read the columns that folders such as dt=2026-10-09 name; a column of the file itself has its own values."""
    pairs = (part.partition("=") for part in Path(name).parent.parts)
    named = {unquote(key): None if value == _EMPTY else unquote(value) for key, sign, value in pairs if key and sign}
    return {key: value for key, value in named.items() if key not in source.names}


def _in_folders(source: Source, values: Mapping[str, str | None]) -> Source:
    """Add columns of which all rows of the file have the same value."""
    if not values:
        return source
    import polars as pl

    def inside(wanted: Wanted) -> Wanted:
        if numeric := values.keys() & {*wanted.numeric}:
            raise InputError(f"column {min(numeric)!r} is the name of a folder; it holds no probabilities or weights.")
        own = [name for name in wanted.raw if name not in values]
        return replace(wanted, raw=own if own or wanted.numeric else source.names[:1])  # which has the rows

    def added(wanted: Wanted, batches: Batches) -> Iterator[Batch]:
        named = [name for name in wanted.raw if name in values]
        for batch in batches():
            columns = {name: pl.repeat(values[name], batch.n_rows, dtype=pl.String, eager=True) for name in named}
            yield replace(batch, raw={**batch.raw, **columns})

    def read(wanted: Wanted, *share: float, batches: Callable[..., Iterator[Batch]]) -> Iterator[Batch]:
        return added(wanted, partial(batches, inside(wanted), *share))

    def read_apart(wanted: Wanted, stretches: Callable[[Wanted], Iterable[Batches]]) -> Iterable[Batches]:
        return [partial(added, wanted, each) for each in stretches(inside(wanted))]

    return replace(
        source,
        names=[*source.names, *values],
        folders=frozenset(values),
        batches=partial(read, batches=source.batches),
        stretches=source.stretches and partial(read_apart, stretches=source.stretches),
        sampled=source.sampled and partial(read, batches=source.sampled),
    )


_State = tuple[int, int]


def _state(path: Path) -> _State:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


def _all_unchanged(
    stretches: Callable[[Wanted], Iterable[Batches]], before: dict[Path, _State], wanted: Wanted
) -> list[Batches]:
    return [partial(_unchanged, stretch, before) for stretch in stretches(wanted)]


def _unchanged(batches: Callable[..., Iterator[Batch]], before: dict[Path, _State], *wanted: Any) -> Iterator[Batch]:
    """Yield batches of files that stay as they were when they were opened."""
    try:
        yield from batches(*wanted)
    except (InputError, OSError) as error:
        _refuse_changed(before)
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot be read: {reason_of(error)}.") from None
    _refuse_changed(before)


def _refuse_changed(before: dict[Path, _State]) -> None:
    try:
        same = before == {path: _state(path) for path in before}
    except OSError:
        same = False
    if not same:
        raise InputError("another program changed the file while it was read. Read it when it is written whole.")


def _checked(options: Options, chosen: Format) -> Options:
    """Options as they hold for a format."""
    if options.encoding != "utf-8" and not chosen.text:
        raise InputError(f"--encoding: only text files have one, this is read as {chosen.name}.")
    if options.sheet is not None and chosen.name != "spreadsheet":
        raise InputError(f"--sheet: only spreadsheets have sheets, this is read as {chosen.name}.")
    if options.decimal_comma and chosen.separator is None:
        raise InputError(f"--decimal-comma: only CSV and TSV spell numbers, this is read as {chosen.name}.")
    return replace(options, separator=separator_of(options, chosen))


def separator_of(options: Options, chosen: Format) -> str:
    """Character between the fields of a text file: as the user says, or else the format's own."""
    usual = chosen.separator or ","
    return options.separator or (";" if options.decimal_comma and usual == "," else usual)


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


def _refuse_result(path: Path) -> None:
    """Say so where a file holds a result."""
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(LARGEST_FILE))
    except (OSError, ValueError, RecursionError):
        return
    refuse_result(found)


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
    if path.suffix.lower() in _PICKLES:
        raise InputError(
            "a pickle can run code when it is read; refused. If you trust it, read it in Python and save its arrays:"
            " numpy.savez('forecasts.npz', probs=..., labels=...), or its table as Parquet or CSV."
        )
    if path.suffix.lower() == ".json":
        _refuse_result(path)
    raise InputError(
        f"cannot tell the format from {what}; known: {known}, and {', '.join(packed)} after those of text. Name it,"
        " such as --format csv."
    )
