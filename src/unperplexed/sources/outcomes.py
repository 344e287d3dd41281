"""Outcomes of a file's columns: what text in them stands for, which only the whole column tells."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from ..forecasts.labels import Coded, Label, coded, distinct_labels, plain
from ..tally.sections import MOST_LABEL_BYTES, MOST_LABELS
from .readers import Column
from .readers.numbers import stripped, text_of

Kind = Literal["numbers", "booleans", "texts"]

_MOST_DIGITS = sys.int_info.default_max_str_digits
"""Longer text is no number: Python refuses to read it as one, or to write it."""

_WHOLE_NUMBER = re.compile(r"[-+]?[0-9]+")


class Spelling(Frozen):
    """How text is spelled where a format has no types, such as CSV."""

    untyped: bool = False
    """Whether text may stand for true and false, and empty text for nothing."""
    decimal_comma: bool = False
    missing: Sequence[str] = ()
    """Texts that mark a missing value."""


class Settled(Frozen):
    """What all of a file's outcomes have settled: what text stands for, and which labels there are."""

    kind: Kind
    labels: list[Label | None]


def kind_of_texts(texts: Sequence[str | None], spelling: Spelling) -> Kind:
    """Say what texts stand for: all numbers, all true or false, else themselves; missing values aside."""
    present_texts = (text for text in texts if text is not None and text.strip() not in spelling.missing)
    given = pl.Series(present_texts, dtype=pl.String)
    present = stripped(_with_points(given, spelling)).drop_nulls()
    short = bool((present.str.len_bytes() <= _MOST_DIGITS).all())
    if present.len() and short and not present.cast(pl.Float64, strict=False).null_count():
        return "numbers"
    words = given.filter(given != "").str.to_lowercase()
    return "booleans" if spelling.untyped and words.len() and words.is_in(["true", "false"]).all() else "texts"


def labels_of_texts(texts: Sequence[str | None], kind: Kind, spelling: Spelling) -> list[Label | None]:
    """Give texts as the labels they stand for."""
    if spelling.missing:
        texts = [None if text is None or text.strip() in spelling.missing else text for text in texts]
    if kind == "texts":
        return [None if spelling.untyped and text == "" else text for text in texts]
    if kind == "booleans":
        return [text.lower() == "true" if text else None for text in texts]
    text = stripped(_with_points(pl.Series(texts, dtype=pl.String), spelling))
    rounded = text.cast(pl.Float64, strict=False)
    return [
        int(word) if word is not None and _WHOLE_NUMBER.fullmatch(word) else plain(number)  # floats round large ones
        for word, number in zip(text, rounded, strict=True)
    ]


def _with_points(texts: pl.Series, spelling: Spelling) -> pl.Series:
    return texts.str.replace(",", ".", literal=True) if spelling.decimal_comma else texts


def kind_of(outcomes: Any) -> Kind:
    """Say what kind of labels outcomes are."""
    if isinstance(outcomes, Coded):
        return _kind_of_labels(outcomes.labels)
    if isinstance(outcomes, pl.Series):
        return "numbers" if outcomes.dtype.is_numeric() else "booleans" if outcomes.dtype == pl.Boolean else "texts"
    if isinstance(outcomes, pl.DataFrame) or outcomes.ndim == 2:  # one-hot
        return "texts"
    return "numbers" if outcomes.dtype.kind in "iuf" else "booleans" if outcomes.dtype.kind == "b" else "texts"


def _kind_of_labels(labels: Sequence[Label | None]) -> Kind:
    present = [label for label in labels if label is not None]
    if present and all(isinstance(label, bool) for label in present):
        return "booleans"
    return "numbers" if present and all(isinstance(label, int | float) for label in present) else "texts"


def outcomes(column: Column, spelling: Spelling, kind: Kind | None = None) -> Column | Coded:
    """Outcomes of a column, text as what it stands for; kind is what the whole column has settled, if it has."""
    text = _text(column)
    if text is None:
        return column if isinstance(column, np.ndarray) else _typed_outcomes(column)
    texts = coded(text)
    if kind is None:
        kind = kind_of_texts(texts.labels, spelling)  # type: ignore[arg-type]
    return Coded(labels_of_texts(texts.labels, kind, spelling), texts.inverse)  # type: ignore[arg-type]


def _text(column: Column) -> pl.Series | None:
    """Text of a column of text, however it is encoded; None for a column of anything else."""
    if isinstance(column, pl.Series):
        is_text = column.dtype in (pl.String, pl.Categorical, pl.Enum)
        return column.cast(pl.String) if is_text else None
    if column.dtype.kind not in "US" or column.ndim > 2 or (column.ndim == 2 and column.shape[1] != 1):
        return None
    return text_of(column)


def _typed_outcomes(column: pl.Series) -> Column | Coded:
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary, pl.Duration):
        raise InputError(f"column {column.name!r} holds {column.dtype}, not labels.")
    return distinct_labels(column.to_numpy()) if column.dtype.is_temporal() else column


class Seen:
    """Gathers the different outcomes of a column from its batches."""

    def __init__(self, name: str, spelling: Spelling) -> None:
        self._name, self._spelling = name, spelling
        self._texts: dict[str, None] = {}
        self._bytes = 0
        self._labels: dict[Label | None, None] = {}
        self.one_hot = False
        """Whether the column holds rows that say the class by themselves."""

    def add(self, column: Column) -> None:
        """Add a batch."""
        text = _text(column)
        if text is not None:
            texts = text.unique(maintain_order=True).drop_nulls()
            self._check(texts.len())
            self._remember(texts)
        else:
            found = outcomes(column, self._spelling)
            if getattr(found, "ndim", 1) != 1:
                self.one_hot = True
                return
            labels = found.labels if isinstance(found, Coded) else self._distinct(found)
            self._labels.update(dict.fromkeys(labels))
        self._check(len(self._texts) + len(self._labels))

    def __add__(self, other: Seen) -> Seen:
        """Outcomes of both, those of the first before those of the other."""
        both = Seen(self._name, self._spelling)
        both._texts, both._bytes = dict(self._texts), self._bytes
        both._remember(pl.Series(list(other._texts), dtype=pl.String))
        both._labels = self._labels | other._labels
        both.one_hot = self.one_hot or other.one_hot
        both._check(len(both._texts) + len(both._labels))
        return both

    def _remember(self, texts: pl.Series) -> None:
        """Add different texts, unless they take too much memory."""
        for text, size in zip(texts, texts.str.len_bytes(), strict=True):
            if text not in self._texts:
                self._texts[text] = None
                self._bytes += size
        if self._bytes > MOST_LABEL_BYTES:
            raise InputError(
                f"{self._name}: different values of more than {MOST_LABEL_BYTES >> 20} MB together. Is that the"
                " outcome? Name its column with --truth."
            )

    def _distinct(self, column: Column) -> Sequence[Label | None]:
        if isinstance(column, pl.Series):
            if column.dtype.is_integer() and column.len() and not column.null_count():
                numbers = column.to_numpy()
                low, high = int(numbers.min()), int(numbers.max())
                if high - low <= 1:  # found in a tenth of the time of looking for different ones
                    return [low, high]
            column = column.unique()
            self._check(column.len())
        return distinct_labels(np.asarray(column)).labels

    def _check(self, number: int) -> None:
        if number > MOST_LABELS:
            raise InputError(
                f"{self._name}: more than {MOST_LABELS:,} different values. Is that the outcome? Name its column with"
                " --truth."
            )

    def settled(self) -> Settled:
        """What all of them say together."""
        texts = list(self._texts)
        kind = kind_of_texts(texts, self._spelling)
        read = labels_of_texts(texts, kind, self._spelling)
        labels = list(dict.fromkeys([*self._labels, *read]))
        if _kind_of_labels(labels) == "numbers":
            labels.sort(key=lambda label: -np.inf if label is None else label)
        return Settled(_kind_of_labels(labels) if not texts else kind, labels)
