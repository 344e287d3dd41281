"""What a command reads: its files, and how its options say that rows are read and counted. Read once."""

from __future__ import annotations

import argparse
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property, reduce
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError
from ..calibration.dependence_search import DECLARED, DECLINED, OF_A_TALLY, OF_ENGINE, OF_ROW, DependenceSearch
from ..forecasts.forecasts import Forecasts, Notes
from ..forecasts.gathered import GatheredRows, gathered_chunks
from ..sources.columns import ROW, Selection
from ..sources.engines import Engine
from ..sources.file_reading import FileReading
from ..sources.files import ForecastFiles
from ..sources.map_reduce import Accumulator, Result, as_tallies, as_tally, counted_files
from ..sources.readers import Column
from ..sources.readers.formats import File, found_files, matching, open_source, with_folders
from ..sources.row_filter import RowFilter, key_column
from ..tally.class_sums import DIAGNOSED_UNASKED
from ..tally.counter import jobs_of
from ..tally.periods import joined
from ..tally.serialization import of_distributions
from ..tally.tallies import Tallies
from ..tally.tally import Predictions, Tally
from .options import predicts_numbers
from .outputs import TALLY, sayer

Change = Callable[[Forecasts], Forecasts]
"""Makes other forecasts of those that are read, such as recalibrated ones."""

Added = TypeVar("Added", Tally, Predictions)

_READING = (
    *("truth", "prob", "pair", "weight", "where", "clusters", "labels", "ignore_label", "scale", "invalid"),
    *("separator", "decimal_comma", "na", "encoding", "sheet", "metric", "parts", "cells", "engine", "jobs"),
)
"""What says how rows are read and counted."""

_COUNTING = {"parts": "parts", "exact_limit": "exact_limit", "fraction_bits": "fraction_bits", "metric": "metrics"}
"""Options of counting, and the arguments of `Tally.count` that they are."""

_PAIRED = ("compare", "skill", "pool")
"""Commands that choose rows, and say which depend on one another, once they are paired."""


class Input(Frozen):
    """The files of a command, and how rows are read and counted."""

    files: Sequence[str]
    """Names and patterns, as they were given."""
    selection: Selection
    reading: FileReading
    say: Callable[[str], None]
    progress: bool
    engine: Engine = field(default_factory=Engine)
    counting: Mapping[str, Any] = field(default_factory=dict)
    """What the options say of counting."""
    given: str = ""
    """The first option given of those that say how rows are read and counted; "" without any."""
    mixed: bool = False
    """Whether tallies of different data or models add up."""
    period: str = ""
    """The period that the sum is of, if it was named: tallies of its parts add up."""
    searched: bool = False
    """Whether dependence is looked for: nothing is said of clusters."""
    dependence: DependenceSearch = OF_A_TALLY
    """What was found, once the files were searched."""
    hub: bool = False
    """Whether folders are those of a hub, with files of several kinds."""
    found: Sequence[File] | ForecastFiles = ()
    """The files, once they were searched: a copy of what can be read only once is kept, and what is known of them."""

    @classmethod
    def of(cls, a: argparse.Namespace) -> Input:
        """Read the options of a command."""
        counting = {name: getattr(a, option, None) for option, name in _COUNTING.items()}
        counting["n_jobs"] = getattr(a, "jobs", None)
        return cls(
            a.files,
            _selection(a),
            _reading(a),
            sayer(a),
            not a.quiet,
            Engine(a.engine, a.address or None) if hasattr(a, "engine") else Engine(),
            {name: value for name, value in counting.items() if value is not None},
            next((a.given[name] for name in _READING if name in a.given), ""),
            getattr(a, "mixed", False),
            getattr(a, "tag", {}).get("period", ""),
            getattr(a, "searched", False),
            hub=bool(getattr(a, "hub", ())),
        )

    def looked(self) -> Input:
        """Return the same with what is found of dependence where nothing is said of clusters."""
        if self.tallies:
            return self
        if not self.searched or self.engine.name != "local":
            reason = OF_ENGINE if self.searched else DECLARED if self.selection.clustered else DECLINED
            return replace(self, dependence=DependenceSearch(reason=reason))
        from ..sources.dependence import search_files

        search, files = search_files(found_files(self.names), self.selection, self.reading)
        return replace(self, dependence=search, found=files)

    def settled(self) -> Input:
        """Return the same in the clusters that are found, or in which several forecasts of a row are."""
        made = self.looked()
        found = made.dependence.found if made.dependence.taken else None
        if found is None:
            if not (isinstance(made.found, ForecastFiles) and len(made.found.rows.plans.forecasts) > 1):
                return made
            self.say(f"{OF_ROW}; --clusters names others, or none")
            made = replace(made, dependence=DependenceSearch(reason=OF_ROW))
        clusters, block = ((), 1) if found is None or ROW in found.columns else (found.columns, found.block)
        return replace(made, selection=replace(self.selection, clusters=clusters, found=True, block=block))

    def quietly(self) -> Input:
        """Return the same, of which nothing is said."""
        return replace(self, say=lambda sentence: None, progress=False)

    def of_file(self, name: str) -> Input:
        """Return another file that is read likewise, quietly; how rows are read is not about a tally."""
        other = replace(self.quietly(), files=[name], found=(), dependence=OF_A_TALLY)
        tally = name.lower().endswith(TALLY)
        return replace(other, given="", reading=replace(self.reading, format=None)) if tally else other

    @property
    def paired(self) -> Input:
        """The same for rows that are chosen once they are paired with others."""
        chosen = replace(self.selection, clusters=(), keys=(), where=RowFilter(""), block=None)
        return replace(self, selection=chosen, found=())

    @cached_property
    def names(self) -> list[str]:
        """Names of the files."""
        return matching(self.files) if self.hub else with_folders(self.files)

    @cached_property
    def tallies(self) -> list[str]:
        """Names of those that are tallies."""
        return [name for name in self.names if name.lower().endswith(TALLY) and self.reading.format is None]

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns of the first file."""
        return open_source(found_files(self.names)[0], self.reading.format, self.reading.written(()), self.say).names

    @property
    def others(self) -> Sequence[str]:
        """Names of its columns that hold neither outcomes, probabilities nor weights."""
        plans = self.quietly()._batches().rows.plans
        used = {plans.weight, *(name for plan in plans.forecasts for name in (*plan.truth, *plan.prob))}
        return [name for name in self.columns if name not in used]

    @property
    def once(self) -> list[str]:
        """Names of those whose rows cannot be read again."""
        return [*self.tallies, *(name for name in self.names if name == "-")]

    def __enter__(self) -> None:
        """Let errors name the files as they were given, unless they name one."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Name the files."""
        if isinstance(error, InputError) and not any(str(error).startswith(f"{name}:") for name in self.names):
            raise error.reworded(f"{', '.join(self.files)}: {error}") from None

    def refuse_reading(self) -> None:
        """A tally's rows are counted: what says how to read or count them would be ignored."""
        if self.given:
            raise InputError(
                f"{self.tallies[0]}: {self.given} is for the reading of rows; those of a tally are already counted."
            )

    def refuse_outcomes(self, remedy: str) -> None:
        """Refuse groups of one outcome: no forecasts are calibrated there, so slope, cost and maps mean nothing."""
        for name in self.selection.keys:
            outcomes = [*self.selection.truth, *(pair.rpartition("=")[2] for pair in self.selection.pairs)]
            if any(fnmatchcase(name, outcome) for outcome in outcomes):
                raise InputError(
                    f"--by: column {name!r} holds the outcomes. Among rows of one outcome even the best forecasts look"
                    f" miscalibrated; {remedy}"
                )

    def merged(self, start: Tally | None = None, without: list[str] | None = None) -> Tally:
        """Add up the tallies; ``without`` collects the names of those that lack the part "diagnosis"."""

        def loaded() -> Iterator[Tally]:
            seen: list[Tally] = []
            for name in self.tallies:
                found = self.part(class_tally(name))
                if self.period and found in seen:
                    raise InputError(f"{name}: counts the same rows as another tally; leave one of them out.")
                seen += [found] * bool(self.period)
                if without is not None and found.diagnosis is None:
                    without.append(name)
                yield found

        before = Tally() if start is None else start
        try:
            return Tally.merged(chain([before], loaded()), mixed=self.mixed)
        except InputError:  # one after the other, to see which of them it is
            for name in self.tallies:
                found = self.part(class_tally(name))
                try:
                    before = Tally.merged([before, found], mixed=self.mixed)
                except InputError as error:
                    raise InputError(f"{name}: does not add up with those before it: {error}") from None
            raise

    def part(self, found: Added) -> Added:
        """Take the period off a tally of part of the period that --tag names: such parts add up."""
        inside = self.period and joined([*found.tags.periods, self.period]) == joined([self.period])
        return found.tagged(period="") if inside else found

    def tally(
        self,
        parts: Sequence[str] = (),
        diagnosed: int = DIAGNOSED_UNASKED,
        change: Change | None = None,
        without: list[str] | None = None,
    ) -> Tally:
        """Add up the tallies that are given, and count the other files, with parts that the command needs.

        Parameters
        ----------
        parts : sequence of str
            Parts of the tally, unless the options name some.
        diagnosed : int
            As in `Tally.count`.
        change : callable, optional
            Makes other forecasts of those that are read.
        without : list of str, optional
            Collects the names of tallies that lack the part "diagnosis".

        Returns
        -------
        Tally
        """
        others = [name for name in self.names if name not in self.tallies]
        if not others:
            self.refuse_reading()
            return self.merged(without=without)
        counted = self._counted(others, as_tally, {"parts": parts, "diagnosed": diagnosed}, change)
        return self.merged(counted, without) if self.tallies else counted

    def say_dropped(self, tallies: Iterable[Any]) -> None:
        """Say which rows are not in results that tell of no rows."""
        from ..describe.tally import notes_lines

        for line in notes_lines(reduce(operator.add, (each.notes for each in tallies), Notes())):
            self.say(line)

    def groups(self, counting: Mapping[str, Any], change: Change | None = None) -> Tallies:
        """Count each group of rows by itself."""
        self.refuse_outcomes("--view each-class assesses the classes.")
        if self.tallies:
            raise InputError(
                f"{self.tallies[0]}: --by needs rows, and those of a tally are counted without groups; give the file"
                " that they came from."
            )
        if jobs_of(self.counting.get("n_jobs", 1)) != 1:
            raise InputError("--jobs: groups are counted by one thread, and so are periods (--time); leave out --jobs.")
        with self:
            return self._counted(self.names, as_tallies, counting, change)

    def _counted(
        self,
        names: Sequence[str],
        counter: Callable[..., Accumulator[Result]],
        defaults: Mapping[str, Any],
        change: Change | None,
    ) -> Result:
        """Count files; what the options do not say of it, defaults do."""
        pairs = self.selection.pairs
        if (len(pairs) > 1 or any("*" in pair for pair in pairs)) and not self.selection.clustered:
            self.say("the forecasts of a row are taken to be independent; --clusters names clusters")
        counting = counter(**{**defaults, **self.counting})
        return counted_files(
            self.found or names, self.selection, self.reading, counting, self.say, self.progress, self.engine, change
        )

    def chunks(self, change: Change | None = None) -> Callable[[], Iterable[Forecasts]]:
        """Give what reads the forecasts of the files, each time from the first row."""

        def read() -> Iterator[Forecasts]:
            for forecasts, _ in self.grouped_chunks()():
                yield forecasts if change is None else change(forecasts)

        return read

    def grouped_chunks(self) -> Callable[[], Iterable[tuple[Forecasts, dict[str, Column]]]]:
        """Give what reads the forecasts of the files with the columns that --by names."""

        def read() -> Iterator[tuple[Forecasts, dict[str, Column]]]:
            for batch in self._batches():
                yield from ((forecasts, batch.keys) for forecasts in batch.forecasts)

        return read

    def _batches(self) -> ForecastFiles:
        """Open the files of a command that reads their rows itself."""
        return ForecastFiles(self.found or self.names, self.selection, self.reading, say=self.say)

    def gathered(self, name: str) -> tuple[GatheredRows, pl.DataFrame]:
        """Gather the rows of a forecaster called ``name``, and beside them the columns that --by names."""
        parts = [*self.grouped_chunks()()]
        frames = []
        for part, keys in parts:
            index = np.concatenate([np.empty(0, np.int64), *(block.weighing.index for block in part.blocks())])
            kept = np.searchsorted(part.index, index)
            frames.append(pl.DataFrame({each: key_column(column, each)[kept] for each, column in keys.items()}))
        return gathered_chunks((part for part, _ in parts), name), pl.concat(frames, how="vertical_relaxed")


_NUMBERS = ("a tally of predictive distributions", "assess")


def class_tally(name: str) -> Tally:
    """Load a tally of classes; others are refused."""
    found = Tally.load(name)
    if not isinstance(found, Tally):
        alone = isinstance(found, Predictions)
        kind, taken = ("predictions without outcomes", "monitor --drift") if alone else _NUMBERS
        raise InputError(f"{name}: {kind}, which only {taken} and tally take.")
    return found


def of_numbers(a: argparse.Namespace) -> bool:
    """Whether options name predictive distributions of a number, or the first tally is of them."""
    return predicts_numbers(a) or any(map(of_distributions, Input.of(a).tallies[:1]))


def _selection(a: argparse.Namespace) -> Selection:
    """Columns as the options name them."""
    of_rows = a.command not in _PAIRED
    return Selection(
        a.truth,
        a.prob,
        a.pair,
        a.weight,
        getattr(a, "cluster_columns", ()) if of_rows else (),
        getattr(a, "by", ()) if of_rows else (),
        where=RowFilter((getattr(a, "where", None) or "") if of_rows else ""),
        named=getattr(a, "named", None) if a.command == "assess" else None,
        outcomes=not getattr(a, "drift", False),
    )


def _reading(a: argparse.Namespace) -> FileReading:
    """How rows are read, as the options say."""
    return FileReading(
        _labels(a.labels),
        None,
        a.ignore_label,
        {"\\t": "\t", "tab": "\t"}.get(a.separator, a.separator),
        {"scale": a.scale, "invalid": a.invalid},
        a.decimal_comma,
        a.format,
        a.encoding,
        a.na,
        a.sheet,
        whole=a.command != "tally",
    )


def _labels(labels: list[str] | None) -> list[str] | None:
    """Read the labels: as they are named, or one a line of a file that @ names."""
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


def rivals_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Read NAME=COLUMN,COLUMN,..."""
    named = values_by_name("--forecaster", texts, "NAME=COLUMN[,COLUMN...], each name once")
    return {name: columns.split(",") for name, columns in named.items()}


def values_by_name(flag: str, texts: Sequence[str], expected: str) -> dict[str, str]:
    """Read NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not name or not value or name in found:
            raise InputError(f"{flag} {text}: expected {expected}.")
        found[name] = value
    return found
