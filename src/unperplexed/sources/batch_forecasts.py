"""A batch of rows as forecasts, with outcomes and labels of the kind that all of them have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import polars as pl

from .._lib.arrays import Columns
from .._lib.dataclasses import dataclass, replace
from .._lib.errors import InputError
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.labels import Label, plain
from ..forecasts.outcomes import ClassSet, LabelSettings, class_set
from ..forecasts.problems import with_text
from ..forecasts.unobserved import unobserved
from .columns import BLOCK, Plan, Plans
from .file_reading import FileReading, Partition, named
from .outcomes import Kind, Settled, Spelling, kind_of, outcomes
from .readers import Batch


@dataclass(frozen=True)
class Place:
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
