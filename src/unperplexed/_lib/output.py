"""Outputs: refused before any work is done, or written whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError

REPORTS = (".html", ".htm")
"""Suffixes of reports."""


def check_output(path: Path, suffixes: Sequence[str] = ()) -> Path:
    """Refuse an output that could not be written, before any work is done."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: cannot write this format; known: {', '.join(suffixes)}.")
    if path.is_dir():
        raise InputError(f"{path}: is a directory; name a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a regular file.")
    if path.exists() and not os.access(path, os.W_OK):
        raise InputError(f"{path}: no permission to write it.")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no directory {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path}: no permission to write in {path.parent}.")
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a killed run leaves the old one or none, never a part."""
    with whole_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give the name of a temporary file beside ``path``, which it replaces at the end, unless there is an error."""
    path = path.resolve()  # what a link points to is replaced, not the link
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".unperplexed-")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
