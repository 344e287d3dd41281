"""Files, options and tallies in, what a command counts out: how the command line's words are read."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from .._lib.errors import InputError
from ..forecasts.forecasts import Forecasts
from ..sources.columns import Selection
from ..sources.engines import Engine
from ..sources.file_reading import FileReading
from ..sources.files import ForecastFiles
from ..sources.local import counted_files
from ..sources.map_reduce import Accumulator, Result, as_tally
from ..sources.readers import Column
from ..sources.readers.formats import matching
from ..sources.row_filter import RowFilter
from ..tally.class_sums import DIAGNOSED_UNASKED
from ..tally.tally import Tally
from .options import first_given
from .outputs import TALLY, sayer

_READING = (
    *("truth", "prob", "pair", "weight", "where", "clusters", "labels", "ignore_label", "scale", "invalid"),
    *("separator", "decimal_comma", "na", "encoding", "sheet", "metric", "parts", "cells", "engine", "jobs"),
)
"""What says how rows are read and counted."""
_PAIRED = ("compare", "skill", "pool")
"""Commands that choose rows, and say which depend on one another, once they are paired."""


def parts_of(arguments: argparse.Namespace) -> Sequence[str]:
    """Parts of a tally that the assessment is made from."""
    from ..assessment.assess import parts_for

    sections = arguments.show.parts if hasattr(arguments, "show") else []
    parts = parts_for(arguments.view, getattr(arguments, "cluster_columns", None) or None, arguments.weight)
    return [*dict.fromkeys([*sections, *parts])]


def naming_files(given: Sequence[str], error: InputError) -> InputError:
    """Name the files as they were given, unless the error names one."""
    named = any(str(error).startswith(f"{name}:") for name in matching(given))
    return error if named else error.reworded(f"{', '.join(given)}: {error}")


def tally_of(
    arguments: argparse.Namespace,
    parts: Sequence[str] = (),
    diagnosed: int = DIAGNOSED_UNASKED,
    change: Callable[[Forecasts], Forecasts] | None = None,
    without: list[str] | None = None,
) -> Tally:
    """Add up the tally files that are given, and count the others, with parts that the command needs.

    ``diagnosed`` is as in `Tally.count`; ``change`` makes other forecasts of those that are read; ``without`` collects
    the names of tallies that lack the part "diagnosis".
    """
    names = matching(arguments.files)
    tallies = tally_names(names, arguments)
    others = [name for name in names if name not in tallies]
    if not others:
        refuse_reading(arguments, tallies[0])
        return merged_tallies(tallies, without=without, mixed=getattr(arguments, "mixed", False))
    counted = counted_by(arguments, others, as_tally, {"parts": parts, "diagnosed": diagnosed}, change)
    return merged_tallies(tallies, counted, without, getattr(arguments, "mixed", False)) if tallies else counted


def tally_names(names: Sequence[str], arguments: argparse.Namespace) -> list[str]:
    """Names of tally files among those of files."""
    return [name for name in names if name.lower().endswith(TALLY) and arguments.format is None]


def refuse_reading(arguments: argparse.Namespace, name: str) -> None:
    """A tally's rows are counted: what says how to read or count them would be ignored."""
    option = first_given(arguments, _READING)
    if option:
        raise InputError(f"{name}: {option} is for the reading of rows; those of a tally are already counted.")


def merged_tallies(
    names: Sequence[str], start: Tally | None = None, without: list[str] | None = None, mixed: bool = False
) -> Tally:
    """Add up tally files; ``without`` collects the names of those that lack the part "diagnosis"."""

    def loaded() -> Iterator[Tally]:
        for name in names:
            found = Tally.load(name)
            if without is not None and found.diagnosis is None:
                without.append(name)
            yield found

    before = Tally() if start is None else start
    try:
        return Tally.merged(chain([before], loaded()), mixed=mixed)
    except InputError:  # one after the other, to see which of them it is
        for name in names:
            found = Tally.load(name)
            try:
                before = Tally.merged([before, found], mixed=mixed)
            except InputError as error:
                raise InputError(f"{name}: does not add up with those before it: {error}") from None
        raise


def tagged(arguments: argparse.Namespace, tally: Tally) -> Tally:
    """Tag a tally as the options say."""
    try:
        return tally.tagged(**arguments.tag)
    except InputError as error:
        raise InputError(f"--tag {error}") from None


def counted_by(
    arguments: argparse.Namespace,
    names: Sequence[str],
    counting: Callable[..., Accumulator[Result]],
    defaults: dict[str, Any],
    change: Callable[[Forecasts], Forecasts] | None = None,
) -> Result:
    """Count files; what the user does not say of it, defaults do. ``change`` makes other forecasts of those read."""
    say = sayer(arguments)
    asked = {name: getattr(arguments, name, None) for name in ("parts", "exact_limit", "fraction_bits")}
    asked |= {"metrics": getattr(arguments, "metric", None), "n_jobs": arguments.jobs}
    given = defaults | {name: value for name, value in asked.items() if value is not None}
    if len(getattr(arguments, "pair", None) or ()) > 1 and not getattr(arguments, "cluster_columns", ()):
        say(f"the {len(arguments.pair)} forecasts of a row are taken to be independent; --clusters names clusters")
    progress = not arguments.quiet
    engine = Engine(arguments.engine, arguments.address or None)
    return counted_files(
        names,
        selection_of(arguments),
        reading_of(arguments),
        counting(**given),
        say,
        progress,
        engine,
        change,
    )


def selection_of(arguments: argparse.Namespace) -> Selection:
    """Columns as the options name them."""
    shards_by = () if arguments.command in _PAIRED else getattr(arguments, "cluster_columns", ())
    keys = () if arguments.command in _PAIRED else getattr(arguments, "by", ())
    where = "" if arguments.command in _PAIRED else getattr(arguments, "where", None) or ""
    columns = (arguments.truth, arguments.prob, arguments.pair, arguments.weight, shards_by, keys)
    return Selection(*columns, where=RowFilter(where), outcomes=not getattr(arguments, "drift", False))


def reading_of(arguments: argparse.Namespace) -> FileReading:
    """How rows are read, as the options say."""
    return FileReading(
        labels_of(arguments),
        None,
        arguments.ignore_label,
        {"\\t": "\t", "tab": "\t"}.get(arguments.separator, arguments.separator),
        _checks(arguments),
        arguments.decimal_comma,
        arguments.format,
        arguments.encoding,
        arguments.na,
        arguments.sheet,
        whole=arguments.command != "tally",
    )


def _checks(arguments: argparse.Namespace) -> dict[str, Any]:
    """Give the scale of probabilities, and what is done with invalid ones, as `Forecasts` takes them."""
    return {"scale": arguments.scale, "invalid": arguments.invalid}


def labels_of(arguments: argparse.Namespace) -> list[str] | None:
    """Read the labels: as they are named, or one a line of a file that @ names."""
    labels: list[str] | None = arguments.labels
    if labels is None or len(labels) != 1 or not labels[0].startswith("@"):
        return labels
    try:
        lines = Path(labels[0][1:]).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise InputError(
            f"--labels {labels[0]}: cannot be read: {reason}. Name a text file, one label a line."
        ) from None
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"--labels {labels[0]}: holds no label. Write one on each line.")
    return found


def file_chunks(
    arguments: argparse.Namespace, change: Callable[[Forecasts], Forecasts] | None = None
) -> Callable[[], Iterable[Forecasts]]:
    """Give what reads the forecasts of files, each time from the first row."""

    def chunks() -> Iterator[Forecasts]:
        for batch in _batches(arguments):
            yield from batch.forecasts if change is None else map(change, batch.forecasts)

    return chunks


def _batches(arguments: argparse.Namespace) -> ForecastFiles:
    """Open the files of a command that reads their rows itself."""
    files, say = matching(arguments.files), sayer(arguments)
    return ForecastFiles(files, selection_of(arguments), reading_of(arguments), say=say)


def refuse_outcomes(arguments: argparse.Namespace, remedy: str) -> None:
    """Refuse groups of one outcome: no forecasts are calibrated there, so slope, cost and maps would mean nothing."""
    for name in arguments.by:
        if name in arguments.truth or any(pair.endswith(f"={name}") for pair in arguments.pair):
            raise InputError(
                f"--by: column {name!r} holds the outcomes. Among rows of one outcome even the best forecasts look"
                f" miscalibrated; {remedy}"
            )


def grouped_chunks(arguments: argparse.Namespace) -> Callable[[], Iterable[tuple[Forecasts, dict[str, Column]]]]:
    """Give what reads the forecasts of files with the columns that --by names."""

    def chunks() -> Iterator[tuple[Forecasts, dict[str, Column]]]:
        for batch in _batches(arguments):
            yield from ((forecasts, batch.keys) for forecasts in batch.forecasts)

    return chunks


def rivals_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Read NAME=COLUMN,COLUMN,..."""
    rivals: dict[str, list[str]] = {}
    for text in texts:
        name, _, columns = text.partition("=")
        if not name or not columns or name in rivals:
            raise InputError(f"--forecaster {text}: expected NAME=COLUMN[,COLUMN...], each name once.")
        rivals[name] = columns.split(",")
    return rivals
