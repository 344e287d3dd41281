"""Columns of any kind as numbers, and columns side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._lib.arrays import Columns, Unreadable, as_array, as_columns
from ..._lib.arrays import numbers as array_numbers
from ..._lib.errors import InputError
from ..._lib.typing import Bools, Ints
from ...forecasts.problems import text_hints
from . import Batch, Cells, Column, Wanted

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


def stripped(column: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """Text of a column without the usual signs of a missing value, and without others that the user names."""
    text = column.str.strip_chars()
    return text.set(text.is_in([*MISSING_TEXTS, *missing]), None)


class Numbers:
    """Columns of a batch as numbers; text that is none is set aside, so that it matters only in rows that are used."""

    def __init__(self, first_row: int = 0, cells: Cells = Cells(), decimal_comma: bool = False) -> None:  # noqa: B008
        self._first_row, self._cells, self._decimal_comma = first_row, cells, decimal_comma
        self._texts: dict[str, NDArray[np.object_]] = {}

    def of(self, column: Column, name: str) -> Column:
        """Numbers of a column; NaN for text, of which the usual signs of a missing value are not set aside."""
        if isinstance(column, np.ndarray):
            if column.dtype.kind not in "US" or column.ndim != 1:
                return column
            column = text_of(column)
        if column.dtype == pl.Boolean:
            return column
        if column.dtype.is_numeric():
            return self._without_marks(column)
        if column.dtype == pl.Null:
            return column.cast(pl.Float64)
        if column.dtype != pl.String:
            raise InputError(f"column {name!r} holds {column.dtype}, not numbers.")
        text = stripped(column, self._cells.missing)
        if self._cells.percent:
            text = text.str.replace(r"\s*%$", "")
        if self._decimal_comma:
            text = text.str.replace(",", ".", literal=True)
        numbers = text.cast(pl.Float64, strict=False)
        points = column.str.contains(".", literal=True).fill_null(False) if self._decimal_comma else False
        wrong = (numbers.is_null() | points) & text.is_not_null()
        if wrong.any():
            self._texts[name] = column.set(~wrong, None).to_numpy()
            numbers = numbers.set(wrong, None)
        return self._without_marks(numbers)

    def _without_marks(self, numbers: pl.Series) -> pl.Series:
        marks = self._cells.missing_numbers
        return numbers.set(numbers.is_in(marks), None) if marks else numbers

    def of_items(self, items: pl.Series, name: str, present: Bools, width: int) -> NDArray[Any]:
        """Numbers of the items of lists of one length, laid end to end; text in an item is that of its row."""
        numbers = self.of(items, name)
        if name in self._texts:
            texts = self._texts[name].reshape(-1, width)
            rows = np.full(present.size, None, dtype=object)
            rows[present] = texts[np.arange(len(texts)), (texts != None).argmax(axis=1)]  # noqa: E711
            self._texts[name] = rows
        return np.asarray(numbers)

    def side_by_side(self, data: Mapping[str, Column], names: Sequence[str]) -> Columns:
        """Columns as a matrix of probabilities; a column that is a matrix stands alone."""
        return replace(_side_by_side(data, names, self._first_row), unreadable=self.unreadable(names))

    def batch(
        self, wanted: Wanted, data: Mapping[str, Column], raw: dict[str, Column], n_rows: int, position: int, last: bool
    ) -> Batch:
        """Columns that were made numbers, and others as they are, as a batch."""
        columns = [self.side_by_side(data, names) for names in wanted.probabilities]
        numbers = {name: data[name] for name in wanted.numbers}
        unreadable = self.unreadable(wanted.numbers)
        return Batch(columns, numbers, raw, self._first_row, n_rows, position, last, unreadable)

    def unreadable(self, names: Sequence[str]) -> Unreadable | None:
        """Text that was set aside in some columns, if there is any."""
        texts = {name: self._texts[name] for name in names if name in self._texts}
        return Unreadable(texts, self._decimal_comma) if texts else None


def refuse_text(unreadable: Unreadable | None, first_row: int, places: Ints | None = None) -> None:
    """Refuse text in some rows, or in any, where they cannot be left out for it, as among weights."""
    if unreadable is None:
        return
    for name, texts in unreadable.texts.items():
        rows = np.flatnonzero(texts != None)  # noqa: E711
        rows = rows if places is None else np.intersect1d(rows, places)
        if rows.size:
            raise not_a_number(name, first_row + int(rows[0]), texts[rows[0]], unreadable.decimal_comma)


def not_a_number(name: str, row: int, value: object, decimal_comma: bool = False) -> InputError:
    """Return the error of a value that is not a number."""
    hints = " ".join(hint.sentence for hint in text_hints([str(value)], decimal_comma))
    return InputError(f"column {name!r} is not a number at row {row} (counted from 0): {value!r:.80}. {hints}".strip())


def text_of(array: NDArray[Any]) -> pl.Series:
    """Text of an array of text, or of bytes that are text."""
    texts = array if array.dtype.kind == "U" else np.char.decode(array, "utf-8", "backslashreplace")
    return pl.Series(texts.ravel(), dtype=pl.String)


def _side_by_side(data: Mapping[str, Column], names: Sequence[str], first_row: int) -> Columns:
    if len(names) == 1:
        return as_columns(data[names[0]], names[0], first_row)
    arrays = [array_numbers(as_array(data[name]), f"column {name!r}", first_row) for name in names]
    lengths = {name: array.shape for name, array in zip(names, arrays, strict=True)}
    if any(len(shape) != 1 for shape in lengths.values()) or len(set(lengths.values())) > 1:
        raise InputError(f"--prob: arrays to be put side by side need one dimension and one length, got {lengths}.")
    return Columns(tuple(arrays), tuple(names))


def list_matrix(
    values: NDArray[Any], lengths: Ints, present: NDArray[np.bool_] | None, width: int, name: str, first_row: int
) -> NDArray[Any]:
    """Lists of one length, laid end to end, as rows; NaN where there is no list."""
    check_lengths(lengths, present, width, name, first_row)
    if present is None:
        return values.reshape(lengths.size, width)
    matrix = np.full((lengths.size, width), np.nan, dtype=np.result_type(values.dtype, np.float32))
    matrix[present] = values.reshape(int(present.sum()), width)
    return matrix


def check_lengths(lengths: Ints, present: Bools | None, width: int, name: str, first_row: int) -> None:
    """Refuse lists that are not as long as the first; where there is none, it has no length."""
    wrong = lengths != width
    if present is not None:
        wrong &= present
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"column {name!r}: the list in row {first_row + row} (counted from 0) has {lengths[row]:,} values, those"
            f" before it have {width:,}. Each row needs one probability for each class."
        )
