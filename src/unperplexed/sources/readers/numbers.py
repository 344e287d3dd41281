"""Columns of any kind as numbers, and columns side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._lib.arrays import Columns, as_array, as_columns
from ..._lib.arrays import numbers as array_numbers
from ..._lib.errors import InputError
from ..._lib.typing import Bools, Ints
from ...forecasts.labels import USUAL_MARKS
from . import Cells, Column

MISSING_TEXTS = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")


_PLAIN = Cells()

Unreadable = dict[str, Bools]
"""By column the rows whose text is no number, where these are to be left out."""


def stripped(column: pl.Series, missing: Sequence[str] = ()) -> pl.Series:
    """Text of a column without the usual signs of a missing value, and without others that the user names."""
    text = column.str.strip_chars()
    return text.set(text.is_in([*MISSING_TEXTS, *missing]), None)


def as_numbers(
    column: Column,
    name: str,
    first_row: int = 0,
    decimal_comma: bool = False,
    cells: Cells = _PLAIN,
    unreadable: Unreadable | None = None,
) -> Column:
    """Numbers of a column; text only where it is one of the usual signs of a missing value.

    Where rows are to be left out for other text, it becomes missing, and ``unreadable`` collects the rows.
    """
    if isinstance(column, np.ndarray) or column.dtype == pl.Boolean:
        return column
    if column.dtype.is_numeric():
        return column.set(column.is_in(cells.missing_numbers), None) if cells.missing_numbers else column
    if column.dtype == pl.Null:
        return column.cast(pl.Float64)
    if column.dtype != pl.String:
        raise InputError(f"column {name!r} holds {column.dtype}, not numbers.")
    text = stripped(column, cells.missing)
    if cells.percent:
        text = text.str.replace(r"\s*%$", "")
    if decimal_comma:
        text = text.str.replace(",", ".", literal=True)
    numbers = text.cast(pl.Float64, strict=False)
    points = column.str.contains(".", literal=True).fill_null(False) if decimal_comma else False
    wrong = (numbers.is_null() | points) & text.is_not_null()
    if not wrong.any():
        return numbers
    if cells.drop and unreadable is not None:
        unreadable[name] = wrong.to_numpy()
        return numbers.set(wrong, None)
    row = int(wrong.arg_true()[0])
    raise not_a_number(name, first_row + row, column[row], decimal_comma)


def not_a_number(name: str, row: int, value: object, decimal_comma: bool = False) -> InputError:
    """Return the error of a value that is not a number."""
    return InputError(
        f"column {name!r} is not a number at row {row} (counted from 0): {value!r:.80}."
        f" {_spelling(str(value), decimal_comma)}"
    )


_WITH_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*%?\s*")


def _spelling(text: str, decimal_comma: bool) -> str:
    """Say how the text would have to be spelled, or read, to be a number."""
    remedies = []
    if not decimal_comma and _WITH_COMMA.fullmatch(text):
        remedies.append("Numbers like 0,5 in a text file are read with decimal_comma=True (--decimal-comma).")
    if text.rstrip().endswith("%"):
        remedies.append("Percentages are read with percent=True (--percent).")
    mark = "comma, no mark between thousands" if decimal_comma else "point"
    usual = text.strip() in USUAL_MARKS
    other = f"If this marks a missing value: na={text.strip()!r} (--na) and drop_invalid=True (--drop-invalid)."
    return " ".join(remedies) or (other if usual else f"Numbers have a decimal {mark}. {_LEFT_OUT}")


_LEFT_OUT = "Repair such rows, or leave them out with drop_invalid=True (--drop-invalid)."


def side_by_side(
    data: Mapping[str, Column], names: Sequence[str], first_row: int, unreadable: Unreadable | None = None
) -> Columns:
    """Columns as a matrix of probabilities; a column that is a matrix stands alone."""
    wrong = [unreadable[name] for name in names if unreadable and name in unreadable]
    columns = _side_by_side(data, names, first_row)
    return replace(columns, unreadable=np.logical_or.reduce(wrong)) if wrong else columns


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
    wrong = lengths != width
    if present is not None:
        wrong &= present
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"column {name!r}: the list in row {first_row + row} (counted from 0) has {lengths[row]:,} values, those"
            f" before it have {width:,}. Each row needs one probability for each class."
        )
    if present is None:
        return values.reshape(lengths.size, width)
    matrix = np.full((lengths.size, width), np.nan, dtype=np.result_type(values.dtype, np.float32))
    matrix[present] = values.reshape(int(present.sum()), width)
    return matrix
