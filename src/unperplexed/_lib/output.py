"""Outputs: refused before any work is done, and reports."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from .errors import InputError
from .output_files import write_whole

REPORTS = (".html", ".htm")
"""Suffixes of reports."""


class Reported(ABC):
    """A result that has a report."""

    @abstractmethod
    def _page(self, name: str, command: str, recalibrate: str) -> str:
        """Make the page."""

    def to_html(self, *, name: str = "", command: str = "", recalibrate: str = "") -> str:
        """Give the report: one HTML page that opens in any browser and needs nothing else, no network either.

        Parameters
        ----------
        name : str, optional
            What the forecasts are called, such as their file: the page's title begins with it.
        command : str, optional
            Command that makes the same report again; the page shows it.
        recalibrate : str, optional
            Command that fits the remedy on held-out rows; the page shows it beside the remedy.

        Returns
        -------
        str
        """
        return self._page(name, command, recalibrate)

    def report(self, path: str | Path, *, name: str = "", command: str = "", recalibrate: str = "") -> None:
        """Write `to_html` to a file, whole or not at all; one that is there is replaced.

        Parameters
        ----------
        path : str or Path
            The file, ``.html`` or ``.htm``.
        name, command, recalibrate : str, optional
            As in `to_html`.

        Raises
        ------
        InputError
            For another suffix, or a file that cannot be written.
        """
        write_whole(
            check_output(Path(path), REPORTS),
            self.to_html(name=name, command=command, recalibrate=recalibrate).encode(),
        )


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
