"""What a command prints and writes: refused before any work is done, written when all of it has been made."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .._lib.errors import InputError
from .._lib.formatting import command_line, number_of
from .._lib.output_files import PICTURES, REPORTS, check_output, whole_files
from ..report import terminal
from ..report.chart import Style
from ..report.document import Document, Python
from ..report.result import Naming, Result, document, picture_size
from ..sources.readers import ARRAYS
from ..sources.readers.formats import matching, with_folders
from .terminal import drop_output, print_error, shows_colour

TALLY = ".tally"
DEMO = "handwritten digits"
"""Name of the forecasts that no file holds."""


def sayer(arguments: argparse.Namespace) -> Callable[[str], None]:
    """Give what says a sentence to the user, once however often files are read; they may want to hear none."""
    told = vars(arguments).setdefault("told", set())

    def say(sentence: str) -> None:
        if not arguments.quiet and sentence not in told:
            print_error(sentence)
        told.add(sentence)

    return say


_ANY_SUFFIX = ("json", "summary", "junit", "history", "save_reading")

MAPS = (".json",)
"""Suffixes of what `recalibrate` and `pool` fit."""


class Outputs:
    """What a command prints and writes, refused before any work is done where it cannot be written."""

    def __init__(self, a: argparse.Namespace, suffixes: Sequence[str] = (TALLY,)) -> None:
        """Read the options of a command; ``suffixes`` are those of ``--output``."""
        _check(a, suffixes)
        self._quiet, self._json = a.quiet, getattr(a, "json", None)
        self._plot, self._report = getattr(a, "plot", None), getattr(a, "report", None)
        self._style = getattr(a, "style", None) or Style()
        where = f" where {a.where}" if getattr(a, "where", None) else ""
        self.naming = Naming(
            called(getattr(a, "files", [DEMO])) + where,
            command_line(["unperplexed", *a.words]),
            report="" if self._report is None else self._report.name,
        )
        """The names of the forecasts' files, and the command as it was typed."""

    def print(self, text: str) -> None:
        """Print the text, if it is wanted, and see that all of it leaves."""
        if not self._quiet:
            _print_all(text)

    def text(self, found: Result, added: Callable[[Document], Document] = lambda document: document) -> str:
        """Give a result as text, under the names of the files; ``added`` adds to its document."""
        return terminal.text(added(document(found, self.naming, brief=True)), colour=shows_colour(sys.stdout))

    def page(self, found: Result, recalibrate: str = "") -> dict[Path, bytes]:
        """Give the report's bytes by its path, if it is wanted.

        ``recalibrate`` is the command that recalibrates, where the result does not name it.
        """
        if self._report is None:
            return {}
        command = recalibrate or _remedy_command(found)
        page = found.to_html(name=self.naming.name, command=self.naming.command, recalibrate=command)
        return {self._report: page.encode()}

    def picture(self, found: Any) -> dict[Path, bytes]:
        """Draw a result, if that is wanted; give the picture's bytes by its path."""
        if self._plot is None:
            return {}
        os.environ["MPLBACKEND"] = "agg"  # a file needs no window, whatever is set
        from ..report.axes import picture_bytes

        return {self._plot: picture_bytes(found, self._plot, self._style, picture_size(found))}

    def show(self, found: Any, recalibrate: str = "") -> None:
        """Write a result in every way that is wanted."""
        self.write(found.to_json, lambda: self.text(found), self.picture(found) | self.page(found, recalibrate))

    def write(self, as_json: Callable[[], str], as_text: Callable[[], str], more: Mapping[Path, bytes]) -> None:
        """Make what is wanted of JSON and text, which may take samples and fits; print and write when all is made."""
        outputs = dict(more)
        printed = as_json() if self._json == "-" else "" if self._quiet else as_text()
        if self._json not in (None, "-"):
            outputs[Path(self._json)] = (as_json() + "\n").encode()
        with whole_files(outputs):  # where any of it fails no file is written
            show_while_read(lambda: _print_all(printed) if self._json == "-" else self.print(printed))


def _print_all(text: str) -> None:
    print(text)
    if sys.stdout is not None:  # closed by the caller
        sys.stdout.flush()


def _check(arguments: argparse.Namespace, suffixes: Sequence[str]) -> None:
    """Refuse outputs that cannot be written, or that would overwrite what is read or each other."""
    known = {"plot": PICTURES, "report": REPORTS, "output": suffixes, **dict.fromkeys(_ANY_SUFFIX, ())}
    named = {name: getattr(arguments, name, None) for name in known}
    if getattr(arguments, "style", None) and arguments.plot is None:
        raise InputError("--style: is for pictures; name one with --plot, such as chart.svg.")
    printed = next((name for name, path in named.items() if str(path) == "-" and name != "json"), None)
    if printed:
        raise InputError(f"--{printed.replace('_', '-')} -: only --json writes to standard output; name a file.")
    output = getattr(arguments, "output", None)
    if suffixes == MAPS and output is not None and output.suffix.lower() not in MAPS:
        raise InputError(
            f"-o {output}: the fit is a file of its own ({MAPS[0]}), which is then applied to rows:"
            f" FILE --apply fit.json -o {output}."
        )
    outputs = [check_output(Path(path), known[name]) for name, path in named.items() if path not in (None, "-")]
    several_kinds = getattr(arguments, "command", "") == "lm" or getattr(arguments, "hub", None)  # in their folders
    named_places = matching(getattr(arguments, "files", []))
    read = named_places if several_kinds else with_folders(named_places)
    places = [os.path.realpath(path) for path in (*map(str, outputs), *read)]
    if len(set(places)) < len(places):
        raise InputError(f"{outputs[0]}: would overwrite the input or the other output; name another file.")
    folders = [] if several_kinds else [*map(os.path.realpath, filter(os.path.isdir, named_places))]
    named_files = filter(os.path.exists, _files_of_options(arguments))  # other words may be anything
    also = {os.path.realpath(path): path for path in named_files}
    for path, place in zip(outputs, places, strict=False):
        if any(Path(place).is_relative_to(folder) for folder in folders):
            raise InputError(f"{path}: would be read with the folder that it lies in; name a place outside it.")
        if place in also:
            raise InputError(f"{path}: would overwrite {also[place]}, which this command reads; name another file.")
        for name, state in _streams() if path.exists() else ():
            if os.path.samestat(path.stat(), state):
                raise InputError(f"{path}: would overwrite this command's standard {name}; name another file.")


def _streams() -> Iterator[tuple[str, os.stat_result]]:
    """Give the states of the standard streams by name, as far as they are open."""
    for number, name in enumerate(("input", "output", "error")):
        with suppress(OSError):
            yield name, os.fstat(number)


_FILE_OPTIONS = ("apply", "earlier", "labels", "phrases", "reading", "target_data")
_COLUMN_OPTIONS = ("truth", "prob", "pair", "forecast", "weight", "clusters", "by", "on")
"""Options whose values may name a file that is read, perhaps behind a name or an @, and an array file as a column."""


def _files_of_options(arguments: argparse.Namespace) -> Iterator[str]:
    """Name what may be files that are read besides those of FILE."""
    for option in (*_FILE_OPTIONS, *_COLUMN_OPTIONS):
        value = getattr(arguments, option, None) or []
        for word in value if isinstance(value, list) else [value]:
            yield from (
                name for name in _names_in(str(word)) if option in _FILE_OPTIONS or name.lower().endswith(ARRAYS)
            )


def _names_in(word: str) -> Iterator[str]:
    """Name what a word may name: itself, its pieces, and all behind a piece, since a name may hold such marks too."""
    yield word
    yield from re.split("[=,@]", word)
    yield from (word[found.end() :] for found in re.finditer("[=,@]", word))


def show_while_read(show: Callable[[], None]) -> None:
    """Show it to a reader who may have seen enough, such as head: files and exit code are the same then."""
    try:
        show()
    except BrokenPipeError:
        drop_output()


def _remedy_command(found: Any) -> str:
    """Give the commands that recalibrate what was assessed; "" where there are none."""
    remedy = getattr(getattr(found, "whole", found), "remedy", None)
    return "" if remedy is None or isinstance(remedy.code, Python) else remedy.code


_MOST_CALLED = 3


def called(files: Sequence[str]) -> str:
    """Name files in a few words: without their folders, but patterns as they are."""
    names = ["standard input" if file == "-" else Path(file).name if Path(file).is_file() else file for file in files]
    more = len(names) - _MOST_CALLED
    return ", ".join(names[:_MOST_CALLED]) + (f" and {more:,} more" if more > 0 else "")


def recalibrated_of(changed: int, rows: int) -> str:
    """Say how many rows were recalibrated, and that others are still there."""
    if changed == rows:
        return f"{number_of(rows, 'row')} recalibrated"
    return f"{changed:,} of {number_of(rows, 'row')} recalibrated, the other {rows - changed:,} are as they were"
