"""Outputs: refused before any work is done, and reports."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from .errors import InputError

REPORTS = (".html", ".htm")
"""Suffixes of reports."""


def check_output(path: Path, suffixes: Sequence[str] = ()) -> Path:
    """Refuse an output that could not be written, before any work is done."""
    if suffixes and path.suffix.lower() not in suffixes:
        raise InputError(f"{path}: cannot write this format; known: {', '.join(suffixes)}.")
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path!s:.80}{'...' * (len(str(path)) > 80)}: cannot be written: {reason}.") from None
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
