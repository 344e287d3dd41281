"""Files of forecasts and outcomes in, checked forecasts out, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from ._arrays import Columns
from ._outcomes import Kind, Seen, Settled, Spelling, kind_of, outcomes
from ._readers import Batch, Column, Options, Source, Wanted
from ._readers.formats import found_files, open_source
from ._selection import Plan, Plans, Selection, check_column, plans
from .errors import InputError
from .forecasts import Block, Forecasts
from .labels import Label, LabelSettings, class_set, plain

__all__ = ["ForecastBatch", "ForecastFiles", "Reading", "Selection"]


@dataclass(frozen=True)
class Reading:
    """How rows are to be read: the options of `Forecasts`, with labels still as text."""

    labels: Sequence[str] | None = None
    pos_label: str | None = None
    ignore_label: Sequence[str] | None = None
    separator: str = ","
    options: dict[str, bool] = field(default_factory=dict)
    """renormalize, drop_invalid, percent, from_logits, from_log_probs."""
    decimal_comma: bool = False
    format: str | None = None
    """One of `FORMATS`; None to go by the file's name."""
    whole: bool = True
    """Whether the class set may be read off the data: of a part of them it may not."""

    def __post_init__(self) -> None:
        """Refuse a separator that no reader knows."""
        if len(self.separator.encode()) != 1:
            raise InputError(f"separator (--separator): expected one character, or tab, got {self.separator!r}.")


@dataclass(frozen=True)
class ForecastBatch:
    """Successive rows of a file."""

    forecasts: list[Forecasts]
    """One, or one for each pair."""
    source: str
    """The file's name as given."""
    first_row: int
    keys: dict[str, Column]
    """The columns that were to be given along."""


class ForecastFiles:
    """Forecasts of one or more files, row after row, in memory that does not grow with them.

    Kinds and classes of the outcomes never depend on how the rows fall into batches: where the first batch is not
    all there is, the outcomes are gone through once by themselves before any forecast is given.

    Parameters
    ----------
    paths : sequence of str
        Names of files, patterns such as ``data/*.parquet``, or ``-`` for standard input.
    selection : Selection
        Which columns hold what.
    reading : Reading
        How they are to be read.
    progress : callable, optional
        Called after each batch with the number of rows given so far, and how many bytes of how many are behind.

    Raises
    ------
    InputError
        On construction and while iterating, and by ``Forecasts.blocks`` of what is given; its message names the file.
    """

    def __init__(
        self,
        paths: Sequence[str],
        selection: Selection,
        reading: Reading,
        progress: Callable[[int, int, int | None], None] | None = None,
    ) -> None:
        self._reading, self._progress = reading, progress
        self._files = found_files(paths)
        options = Options(reading.separator, reading.decimal_comma, _mentioned(selection))
        self._sources: list[Source] = []
        self.said: list[str] = []
        """Sentences that say what was chosen unasked."""
        for file in self._files:
            with _named(file.name):
                self._sources.append(open_source(file, reading.format, options, self.said.append))
        with _named(self._files[0].name):
            self._plans, said = plans(selection, self._sources[0], reading.labels is not None)
            self.said += said
        for file, source in zip(self._files[1:], self._sources[1:], strict=True):
            with _named(file.name):
                for name in self._plans.wanted.names:
                    check_column(name, source)
        self._spelling = Spelling(all(source.untyped for source in self._sources), reading.decimal_comma)

    def __iter__(self) -> Iterator[ForecastBatch]:
        """Yield the rows of all files in batches."""
        batches = self._read(0, self._plans.wanted)
        first = next(batches)
        whole = first.last and len(self._files) == 1
        settled = None if whole else self._settled()
        builders = [_Builder(plan, self._plans, self._reading, self._spelling) for plan in self._plans.forecasts]
        resumed = _resumed([first], batches)
        del first
        rows, behind = 0, 0.0
        for at, (file, source) in enumerate(zip(self._files, self._sources, strict=True)):
            share = self._share(source) if settled else 1.0
            behind += (1 - share) * source.size
            for batch in resumed if at == 0 else self._read(at, self._plans.wanted):
                if not batch.n_rows and not whole:
                    continue
                place = _Place(file.name, batch)
                given = [builder.forecasts(number, batch, place, settled) for number, builder in enumerate(builders)]
                rows += batch.n_rows
                self._report(rows, behind + share * batch.position)
                keys = {name: batch.raw[name] for name in self._plans.keys}
                yield ForecastBatch(given, file.name, batch.first_row, keys)
            behind += share * source.size

    def _read(self, at: int, wanted: Wanted) -> Iterator[Batch]:
        with _named(self._files[at].name):
            yield from self._sources[at].batches(wanted)

    def _share(self, source: Source) -> float:
        """How much of the work on a file is left when its outcomes are settled: text is read from end to end."""
        return 0.5 if source.untyped and self._plans.outcomes else 1.0

    def _report(self, rows: int, behind: float) -> None:
        if self._progress is not None:
            self._progress(rows, int(behind), sum(source.size for source in self._sources))

    def _settled(self) -> dict[str, Settled]:
        """Go through the outcomes alone. What holds one-hot rows needs no settling and is left out."""
        seen = {name: Seen(name, self._spelling) for name in self._plans.outcomes}
        behind = 0.0
        for at, (file, source) in enumerate(zip(self._files, self._sources, strict=True)):
            share = 1 - self._share(source)
            for batch in self._read(at, Wanted(raw=list(seen))) if seen else ():
                for name, column in batch.raw.items():
                    with _named(file.name):
                        seen[name].add(column)
                self._report(0, behind + share * batch.position)
            behind += share * source.size
        return {name: found.settled() for name, found in seen.items() if not found.one_hot}


class _Builder:
    """Makes forecasts of batches; keeps the class set once it is settled."""

    def __init__(self, plan: Plan, plans: Plans, reading: Reading, spelling: Spelling) -> None:
        self._plan, self._weight, self._groups = plan, plans.weight, plans.groups
        self._reading, self._spelling = reading, spelling
        self._known: tuple[Label | None, ...] | None = None
        self._width: int | None = None

    def forecasts(self, number: int, batch: Batch, place: _Place, settled: dict[str, Settled] | None) -> Forecasts:
        columns = batch.probabilities[number]
        found = (settled or {}).get(self._plan.truth[0])
        with _named(place.source):
            if self._width not in (None, columns.n_columns):
                raise InputError(f"{self._names[1]}: {columns.n_columns} in a row, {self._width} in the file before.")
            self._width = columns.n_columns
            if found is not None and self._known is None:
                self._known = self._class_set(found, columns)
        with place.named():
            y_true = self._outcomes(batch, found)
            return _FileForecasts(
                place,
                y_true,
                columns,
                sample_weight=None if self._weight is None else batch.numbers[self._weight],
                **self._labels(kind_of(y_true)) if found is None else self._settled_labels(found),
                whole=settled is None and self._reading.whole,
                first_row=batch.first_row,
                groups={name: batch.raw[name] for name in self._groups} or None,
                source=place.source,
                names=self._names,
                **self._reading.options,
            )

    def _class_set(self, found: Settled, columns: Columns) -> tuple[Label | None, ...]:
        settings = LabelSettings(**self._labels(found.kind), whole=self._reading.whole, name=self._names[0])
        one = columns.n_columns == 1
        return class_set(found.labels, max(2, columns.n_columns), one, columns.names, settings)

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

    def _labels(self, kind: Kind) -> dict[str, Any]:
        """Labels given as text, as values of the kind the outcomes have."""
        texts = self._plan.labels or self._reading.labels
        pos_label = self._plan.pos_label if self._reading.pos_label is None else self._reading.pos_label
        name = self._names[0]
        return {
            "labels": None if texts is None else _typed(texts, kind, name),
            "pos_label": None if pos_label is None else _typed([pos_label], kind, name)[0],
            "ignore_label": None
            if self._reading.ignore_label is None
            else _typed(self._reading.ignore_label, kind, name),
        }


@dataclass(frozen=True)
class _Place:
    """Where rows come from."""

    source: str
    batch: Batch

    @contextmanager
    def named(self) -> Iterator[None]:
        """Let errors name the file, and how far it was looked at."""
        unseen = f" Rows from {self.batch.first_row + self.batch.n_rows:,} on were not looked at."
        with _named(self.source, "" if self.batch.last else unseen):
            yield


class _FileForecasts(Forecasts):
    """Forecasts whose errors name the file."""

    def __init__(self, place: _Place, *arguments: Any, **settings: Any) -> None:
        self._place = place
        super().__init__(*arguments, **settings)

    def blocks(self, *settings: Any) -> Iterator[Block]:
        with self._place.named():
            yield from super().blocks(*settings)


def _resumed(held: list[Batch], rest: Iterator[Batch]) -> Iterator[Batch]:
    """Give the batch in hand, which nothing else may hold on to, and the others."""
    yield held.pop()
    yield from rest


@contextmanager
def _named(source: str, end: str = "") -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}{end}") from None
    except MemoryError:
        raise InputError(f"{source}: does not fit in memory.") from None


def _mentioned(selection: Selection) -> list[str]:
    names = [*selection.truth, *selection.prob, selection.weight, *selection.groups, *selection.keys]
    return [name for name in names if name is not None]


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
