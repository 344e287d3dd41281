"""Files of forecasts and outcomes in, checked forecasts out, batch by batch.

A batch of rows as forecasts, with outcomes and labels of the kind that all of them have.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from .._lib.arrays import Columns
from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError
from .._lib.progress import in_turn
from .._lib.typing import Floats, Ints
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.labels import Label, plain
from ..forecasts.outcomes import ClassSet, LabelSettings, class_set
from ..forecasts.problems import Values, refuse_mixed, with_text
from ..forecasts.unobserved import unobserved
from .columns import BLOCK, OUTCOME, PAIR, PROB, ROW, Plan, Plans, Selection, check_column, plans
from .derived_columns import Derived, Known, derived
from .file_reading import FileReading, Partition, named
from .outcomes import Kind, Seen, Settled, Spelling, kind_of, outcomes
from .readers import Batch, Batches, Column, Options, Source, Wanted
from .readers.formats import File, found_files, open_source
from .readers.numbers import refuse_text
from .row_filter import group_columns, key_column, known_of, refuse_empty, standing_in


class ForecastBatch(Frozen):
    """Successive rows of a file."""

    forecasts: list[Forecasts]
    """One, or one for each forecaster; each pair has batches of its own."""
    source: str
    """The file's name as given."""
    first_row: int
    before: int
    """Rows of the files before this one, wanted or not."""
    keys: dict[str, Column]
    """The columns that were to be given along, or what is made of them."""
    stretch: Ints | None = None
    """Of a sample, which stretch of successive rows each row is in."""


class ForecastFiles:
    """Forecasts of one or more files, row after row, in memory that does not grow with them.

    Kinds and classes of the outcomes never depend on how the rows fall into batches: where the first batch is not
    all there is, the outcomes are gone through once by themselves before any forecast is given.

    Parameters
    ----------
    paths : sequence of str or of File, or ForecastFiles
        Names of files, patterns such as ``data/*.parquet``, or ``-`` for standard input; or files that were found, or
        opened before: what is known of them is used again.
    selection : Selection
        Which columns hold what.
    reading : FileReading
        How they are to be read.
    progress : callable, optional
        Called after each batch with the number of rows given so far, and how many bytes of how many are behind.
    jobs : int, default 1
        How many threads read; the batches are the same.
    say : callable, optional
        Called with each sentence that says what was chosen unasked, or read off names.

    Raises
    ------
    InputError
        On construction and while iterating, and by ``Forecasts.blocks`` of what is given; its message names the file.
    """

    files: list[File]
    rows: ForecastRows
    """How their rows are read."""
    _sources: list[Source]
    _opening: list[str]
    """Sentences that were said when they were opened."""

    def __init__(
        self,
        paths: Paths,
        selection: Selection,
        reading: FileReading,
        progress: Callable[[int, int, int | None], None] | None = None,
        jobs: int = 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._progress, self._jobs, self.say = progress, jobs, say
        self._options = reading.written(_mentioned(selection))
        if isinstance(paths, ForecastFiles):
            self.files, self._sources, self._opening = paths.files, paths._sources, paths._opening
            known = paths.rows.known
        else:
            self.files, self._sources, self._opening, known = found_files(paths), [], [], dict[str, Settled]()
            for file in self.files:
                with named(file.name):
                    self._sources.append(open_source(file, reading.format, self._options, self._opening.append))
        with named(self.files[0].name):
            found, messages = plans(selection, self._sources[0], reading.labels is not None)
        for sentence in [*self._opening, *messages]:
            say(sentence)
        for file, source in zip(self.files[1:], self._sources[1:], strict=True):
            with named(file.name, f" The first file, {self.files[0].name}, has it."):
                for name in found.wanted.names:
                    check_column(name, source)
        untyped = all(source.untyped for source in self._sources)
        spelling = Spelling(untyped, reading.decimal_comma, reading.cells.missing)
        numbers = frozenset.intersection(*(source.numbers for source in self._sources))
        self.rows = ForecastRows(found, reading, spelling, numbers, known=known)

    def __iter__(self) -> Iterator[ForecastBatch]:
        """Yield the rows of all files in batches."""
        parts = [
            Partition(file.name, source, file.name) for file, source in zip(self.files, self._sources, strict=True)
        ]
        size = sum(source.size for source in self._sources)
        progress = self._progress or (lambda *_: None)
        rows = replace(self.rows, known_keys=self.rows.known_of(parts))
        found = read = 0

        def report(n: int, behind: float) -> None:
            nonlocal read
            read = n
            progress(n, int(behind), size)

        values, of_each = dict[str, Values](), dict[str, Values]()
        column = rows.plans.named
        for batch in rows.batches(parts, None, report, self._jobs, self.say):
            found += batch.forecasts[0].n_rows
            for forecasts in batch.forecasts:
                forecasts.show(values)
            for name, places in places_of_each(key_column(batch.keys[column], column)) if column else ():
                batch.forecasts[0][places].show(of_each, name)
            yield batch
        refuse_mixed(of_each)
        for each in values.values():
            each.check(self.say)
        if not found and rows.plans.where.columns:
            raise rows.plans.where.none_of(read)

    @property
    def further(self) -> list[str]:
        """Columns of all files that are not used yet, and arrays with a value for each row, but not fractions."""
        used = {*self.rows.plans.wanted.names}.union(*(source.fractions() for source in self._sources))
        first = self._sources[0]
        every = [name for name in first.names if all(_has_rows(source, name, used) for source in self._sources)]
        return [name for name in every if name not in used and name not in first.inside]

    @property
    def n_rows(self) -> int:
        """Number of rows, nearly; 0 where it is not known before they are read, or no sample can be read for less."""
        known = all(source.rows and source.sampled for source in self._sources)
        return sum(source.rows for source in self._sources) if known else 0

    def with_keys(self, columns: Sequence[str], share: float = 1.0) -> ForecastFiles:
        """Return the same files, whose rows, or a share of them, are given along with these columns too."""
        made = copy(self)
        keys = [*self.rows.plans.keys, *map(Derived, columns)]
        made.rows = replace(self.rows, plans=replace(self.rows.plans, keys=keys), share=share)
        return made

    def openers(self) -> list[Opener]:
        """What opens each file in another process."""
        return openers(self.files, self.rows.reading.format, self._options)


def places_of_each(named: pl.Series) -> Iterator[tuple[str, Ints]]:
    """Give each forecaster that a column names, in the order of their first rows, with the places of its rows."""
    for (name,), rows in named.to_frame("").with_row_index("row").group_by("", maintain_order=True):
        yield str(name), rows["row"].to_numpy().astype(np.int64)


Paths = Sequence[str] | Sequence[File] | ForecastFiles
"""Of files: their names, or what was found or opened."""


def _has_rows(source: Source, name: str, used: Container[str]) -> bool:
    """Whether a file has a column, or an array with a value for each row of those that are used."""
    shapes = source.shapes
    rows = {shape[:1] for each, (shape, _) in shapes.items() if each in used}
    return name in source.names and (name not in shapes or rows == {shapes[name][0]})


Opener = Callable[[], Source]


def openers(files: Sequence[File], form: str | None, options: Options) -> list[Opener]:
    """What opens each file in another process, which may run elsewhere: it can be pickled."""
    for file in files:
        if file.copied:
            raise InputError(f"{file.name}: only the engine local reads it; workers of others open files by name.")
    return [partial(_opened, replace(file, path=file.path.absolute()), form, options) for file in files]


def _opened(file: File, form: str | None, options: Options) -> Source:
    if not file.path.exists():
        raise InputError(
            f"no such file on {platform.node()}. Workers open files by name: put it where each finds it at {file.path}."
        )
    return open_source(file, form, options, lambda _: None)


class ForecastRows(Frozen):
    """How rows become forecasts: the same for all parts of the data, wherever they are read. It can be pickled."""

    plans: Plans
    reading: FileReading
    spelling: Spelling
    numbers: frozenset[str]
    """Columns of which it is known beforehand that they hold numbers or true and false."""
    known_keys: Mapping[str, Known] = field(default_factory=dict)
    """Of clusters and keys that are made of columns: what is known of these columns in all the rows."""
    known: dict[str, Settled] = field(default_factory=dict)
    """What the outcomes of all the data have settled, once they were gone through."""
    share: float = 1.0
    """Which share of the rows is read, if all sources can read a sample."""

    @property
    def unsettled(self) -> list[str]:
        """Outcomes of which only all the data tell what they stand for, or which classes there are."""
        known = {
            plan.truth[0]
            for plan in self.plans.forecasts
            if len(plan.truth) == 1
            and plan.truth[0] in self.numbers
            and (plan.labels or self.reading.labels) is not None
        }
        return [name for name in self.plans.outcomes if name not in known]

    def seen(
        self,
        parts: Sequence[Partition],
        report: Callable[[int, float], None] = lambda *_: None,
        jobs: int = 1,
    ) -> dict[str, Seen]:
        """Go through the unsettled outcomes alone."""
        seen = {name: Seen(name, self.spelling) for name in self.unsettled}
        where, left = self.plans.where.columns, list[tuple[Partition, Wanted]]()
        for part in parts if seen else ():
            shortcuts = [] if where else seen
            known = {name: values for name in shortcuts if (values := part.source.values(name)) is not None}
            for name, values in known.items():
                seen[name].add(values)
            if unknown := [name for name in seen if name not in known]:
                left.append((part, self._telling(unknown)))
        sizes, shares = _array(p.source.size for p, _ in left), _array(1 - self._share(p.source) for p, _ in left)
        behind = np.cumsum(shares * sizes) - shares * sizes
        with closing(_read(left, jobs)) as batches:
            for at, batch in batches:
                part = left[at][0]
                with named(part.name):
                    for view, forecasts in self._views(batch):
                        places = self.plans.where.places(view.raw)
                        for name in {plan.truth[0] for plan in forecasts} & seen.keys() & view.raw.keys():
                            seen[name].add(view.raw[name] if places is None else view.raw[name][places])
                report(0, behind[at] + shares[at] * batch.position)
        return seen

    def _telling(self, columns: Iterable[str]) -> Wanted:
        """Say what is read to learn something of these columns in the wanted rows."""
        if self.plans.paired and self.plans.where.columns:
            return replace(self.plans.wanted, cells=self.reading.cells)
        return Wanted(raw=[*dict.fromkeys([*columns, *self.plans.where.columns])])

    def _views(self, batch: Batch, before: int = 0) -> Iterator[tuple[Batch, Sequence[Plan]]]:
        """Give a batch of rows as it is; of pairs once for each, with the columns that each has of its own."""
        if not self.plans.paired:
            yield batch, self.plans.forecasts
            return
        rows = before + np.arange(batch.n_rows)
        for at, plan in enumerate(self.plans.forecasts):
            prob = batch.probabilities[at : at + 1]
            own: dict[str, Column] = {PAIR: pl.repeat(plan.prob[0], batch.n_rows, eager=True), ROW: rows}
            if plan.truth[0] in batch.raw:
                own[OUTCOME] = batch.raw[plan.truth[0]]
            if prob:
                own[PROB] = prob[0].rows(slice(None)).ravel()
            yield replace(batch, probabilities=prob, raw=own | batch.raw), [plan]

    def _chosen(self, view: Batch) -> tuple[Ints | None, dict[str, Column], dict[str, Column]]:
        """Find the wanted rows of a batch; give their places, None for all, their clusters and their keys."""
        plans, places = self.plans, self.plans.where.places(view.raw)
        refuse_text(view.unreadable, view.first_row, places)
        if plans.paired and PROB in plans.where.columns:
            refuse_text(view.probabilities[0].unreadable, view.first_row)
        clusters, keys = (group_columns(view, each, self.known_keys, places) for each in (plans.clusters, plans.keys))
        if plans.named is not None:
            numbers = view.first_row + (np.arange(view.n_rows) if places is None else places)
            refuse_empty(key_column(keys[plans.named], plans.named), plans.named, numbers)
        if plans.found:
            clusters = {name: pl.Series(each).cast(pl.String).fill_null("") for name, each in clusters.items()}
        return places, clusters, keys

    def batches(
        self,
        parts: Sequence[Partition],
        settled: Mapping[str, Settled] | None = None,
        report: Callable[[int, float], None] = lambda *_: None,
        jobs: int = 1,
        say: Callable[[str], None] = lambda _: None,
    ) -> Iterator[ForecastBatch]:
        """Yield the rows of parts in batches, and say once what was read off the names of columns.

        What the outcomes of all the data have settled is given where these are only some of its parts.
        """
        wanted, where = replace(self.plans.wanted, cells=self.reading.cells), self.plans.where.columns
        with closing(_read([(part, wanted) for part in parts], jobs, self.share)) as batches:
            first = next(batches)
            whole = settled is None and first[1].last and len(parts) == 1 and not where and self.share == 1
            if settled is None and not whole:
                if not self.known:
                    self.known.update(settle(self.seen(parts, report, jobs)))
                settled = self.known
            sizes = _array(part.source.size for part in parts)
            shares = _array(self._share(part.source) if settled else 1.0 for part in parts)
            behind = np.cumsum(shares * sizes) + sum(sizes) - shares * sizes - sum(shares * sizes)
            builders = {
                id(plan): Builder(plan, self.plans, self.reading, self.spelling) for plan in self.plans.forecasts
            }
            resumed = _resumed([first], batches)
            del first
            rows, wanted_rows, told = 0, 0, set[str]()
            for at, batch in resumed:
                if not batch.n_rows and not whole:
                    continue
                part = parts[at]
                rows += batch.n_rows
                report(rows, behind[at] + shares[at] * batch.position)
                for view, forecasts in self._views(batch, rows - batch.n_rows):
                    with named(part.name):
                        places, clusters, keys = self._chosen(view)
                    if places is not None and not places.size:
                        continue
                    size = view.n_rows if places is None else places.size
                    if self.plans.block is not None:
                        number = np.arange(wanted_rows, wanted_rows + size)
                        if self.plans.paired:
                            number = np.asarray(view.raw[ROW][slice(None) if places is None else places])
                        clusters[BLOCK] = number // self.plans.block
                    wanted_rows += size
                    place = Place(part, standing_in(view, places, clusters))
                    makers = [builders[id(plan)] for plan in forecasts]
                    given = [maker.forecasts(number, place, settled) for number, maker in enumerate(makers)]
                    for sentence in dict.fromkeys(maker.said for maker in makers if maker.said not in ("", *told)):
                        say(sentence)
                        told.add(sentence)
                    if places is not None:
                        given = [each.chosen(places - places[0]) for each in given]
                    stretch = batch.stretch if batch.stretch is None or places is None else batch.stretch[places]
                    before = rows - batch.n_rows - batch.first_row
                    yield ForecastBatch(given, part.name, batch.first_row, before, keys, stretch)

    def known_of(self, parts: Sequence[Partition]) -> dict[str, Known]:
        """Go through the columns alone whose groups depend on all of them: of dates with the year first not far."""
        wanted = self._telling(key.column for key in self.plans.made)
        with closing(_read([(part, wanted) for part in parts], 1)) as batches:
            views = (view for _, batch in batches for view, _ in self._views(batch))
            return known_of(self.plans.made, ((view, self.plans.where.places(view.raw)) for view in views))

    def _share(self, source: Source) -> float:
        """How much of the work on a part is left when its outcomes are settled: text is read from end to end."""
        return 0.5 if source.untyped and self.unsettled else 1.0


def settle(seen: Mapping[str, Seen]) -> dict[str, Settled]:
    """What outcomes have settled once all of them were seen; one-hot rows settle nothing."""
    return {name: found.settled() for name, found in seen.items() if not found.one_hot}


def _array(numbers: Iterable[float]) -> Floats:
    return np.fromiter(numbers, dtype=np.float64)


_AHEAD = 4
"""So many batches at most are read ahead of each stretch that a thread reads."""


def _read(parts: Sequence[tuple[Partition, Wanted]], jobs: int, share: float = 1.0) -> Generator[tuple[int, Batch]]:
    """Yield the batches of parts in order, each with the place of its part."""
    streams = (
        partial(_named_stream, part.name, at, stream)
        for at, (part, wanted) in enumerate(parts)
        for stream in part.source.streams(wanted, share)
    )
    if jobs > 1:
        yield from in_turn(streams, jobs, _AHEAD)
    else:
        for stream in streams:
            yield from stream()


def _named_stream(name: str, at: int, stream: Batches) -> Generator[tuple[int, Batch]]:
    with named(name):
        for batch in stream():
            yield at, batch


def _resumed(held: list[tuple[int, Batch]], rest: Iterator[tuple[int, Batch]]) -> Iterator[tuple[int, Batch]]:
    """Give the batch in hand, which nothing else may hold on to, and the others."""
    yield held.pop()
    yield from rest


def _mentioned(selection: Selection) -> list[str]:
    prob = [*selection.prob, *(name for rival in selection.rivals for name in rival)]
    pairs = [name for pair in selection.pairs for name in pair.split("=")]
    made = [name for text in (*selection.clusters, *selection.keys) for name in {text, derived(text).column}]
    columns = [*selection.truth, *prob, *pairs, selection.weight, *made]
    return [name for name in [*columns, *selection.where.columns] if name is not None]


class Place(Frozen):
    """Where rows come from."""

    part: Partition
    batch: Batch

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors name the part, and how far it was looked at."""
        unseen = f" Rows from {self.batch.first_row + self.batch.n_rows:,} on were not checked."
        with named(self.part.name, "" if self.batch.last else unseen):
            yield


class Builder:
    """Makes forecasts of batches; keeps the class set once it is settled."""

    def __init__(self, plan: Plan, plans: Plans, reading: FileReading, spelling: Spelling) -> None:
        """Take one of the plans, and how rows are read."""
        self._plan, self._weight = plan, plans.weight
        self._groups = [*(each.name for each in plans.clusters), *([] if plans.block is None else [BLOCK])]
        self._reading, self._spelling = reading, spelling
        self._known: tuple[Label | None, ...] | None = None
        self.said = ""
        """What is to be said of the labels, once they are settled."""
        self._width: int | None = None

    def forecasts(self, number: int, place: Place, settled: Mapping[str, Settled] | None) -> Forecasts:
        """Make the forecasts of a batch; the plan has this number among all."""
        batch = place.batch
        columns = batch.probabilities[number]
        if len(self._plan.prob) > 2 and self._plan.labels not in (None, self._plan.truth):
            # They are given with each column, and tell more than its name, which may be that of another class.
            columns = replace(columns, names=None)
        found = (settled or {}).get("".join(self._plan.truth[:1]))
        with named(place.part.name):
            if self._width not in (None, columns.n_columns):
                raise InputError(f"{self._names[1]}: {columns.n_columns} in a row, {self._width} in the file before.")
            self._width = columns.n_columns
            if found is not None and self._known is None:
                try:
                    classes = self._class_set(found, columns)
                    self._known, self.said = classes.labels, classes.said
                except InputError as error:
                    raise with_text(error, self._names[1], columns, batch.first_row) from None
        with place.named():
            made = _FileForecasts(
                place,
                self._plan.at_star,
                y_prob=columns,
                sample_weight=None if self._weight is None else batch.numbers[self._weight],
                **self._observed(batch, columns, found),
                whole=settled is None and self._reading.whole,
                first_row=batch.first_row,
                clusters={name: batch.raw[name] for name in self._groups} or None,
                source=place.part.origin,
                names=self._names,
                **self._reading.options,
            )
        self.said = self.said or made.said
        return made

    def _observed(self, batch: Batch, columns: Columns, found: Settled | None) -> dict[str, Any]:
        """Give the outcomes, and the labels that they have."""
        if not self._plan.truth:
            return unobserved(columns, self._unobserved_labels, self._pos_label)
        y_true = self._outcomes(batch, found)
        labels = self._labels(kind_of(y_true)) if found is None else self._settled_labels(found)
        return {"y_true": y_true, **labels}

    def _class_set(self, found: Settled, columns: Columns) -> ClassSet:
        n, name, at_star = columns.n_columns, self._names[0], self._plan.at_star
        options: dict[str, Any] = {**self._labels(found.kind), "whole": self._reading.whole, "name": name}
        return class_set(found.labels, LabelSettings(max(2, n), n == 1, columns.names, **options, at_star=at_star))

    def _settled_labels(self, found: Settled) -> dict[str, Any]:
        return {"ignore_label": self._labels(found.kind)["ignore_label"], "known_labels": self._known}

    @property
    def _names(self) -> tuple[str, str, str]:
        truth, prob = self._plan.truth, self._plan.prob
        return (
            ", ".join(truth[:3]) + (", ..." if len(truth) > 3 else ""),
            prob[0] if len(prob) == 1 else "probabilities",
            self._weight or "",
        )

    def _outcomes(self, batch: Batch, settled: Settled | None) -> Any:
        truth = self._plan.truth
        if len(truth) > 1:
            return pl.DataFrame([pl.Series(name, batch.numbers[name]) for name in truth])
        return outcomes(batch.raw[truth[0]], self._spelling, None if settled is None else settled.kind)

    @property
    def _unobserved_labels(self) -> Sequence[str] | None:
        """Give the labels of classes that no outcome tells: as given, or what stood for * in the names of columns."""
        several = self._plan.at_star if len(self._plan.at_star) > 1 else None
        return self._plan.labels or self._reading.labels or several

    @property
    def _pos_label(self) -> str | None:
        return self._plan.pos_label if self._reading.pos_label is None else self._reading.pos_label

    def _labels(self, kind: Kind) -> dict[str, Any]:
        """Labels given as text, as values of the kind the outcomes have."""
        texts = self._plan.labels or self._reading.labels
        pos_label, name = self._pos_label, self._names[0]
        return {
            "labels": None if texts is None else _typed(texts, kind, name),
            "pos_label": None if pos_label is None else _typed([pos_label], kind, name)[0],
            "ignore_label": None
            if self._reading.ignore_label is None
            else _typed(self._reading.ignore_label, kind, name),
        }


class _FileForecasts(Forecasts):
    """Forecasts whose errors name the file, or the part of a frame."""

    def __init__(self, place: Place, at_star: Sequence[str], **settings: Any) -> None:
        self._place, self._at_star = place, at_star
        super().__init__(**settings)

    def blocks(self, *settings: Any) -> Iterator[Block]:
        with self._place.named():
            yield from super().blocks(*settings)


def _typed(texts: Sequence[str], kind: Kind, name: str) -> list[Label]:
    words: dict[str, Label] = {"true": True, "false": False} if kind == "booleans" else {}
    labels = []
    for text in texts:
        try:
            labels.append(text if kind == "texts" else words[text.lower()] if text.lower() in words else _number(text))
        except ValueError:
            kinds = "true/false" if kind == "booleans" else "numbers"
            raise InputError(f"label {text!r}: the outcomes in {name} are {kinds}.") from None
    return labels


def _number(text: str) -> Label:
    try:
        return int(text)  # of any size, which floats would round
    except ValueError:
        number: Label = plain(float(text))
        return number
