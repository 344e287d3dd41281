"""Class labels as plain values, and a column of them as codes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import as_array, is_missing
from .._lib.errors import InputError

if TYPE_CHECKING:
    import polars as pl

Label = bool | int | float | str

USUAL_MARKS = ("NA", "N/A", "n/a", "#N/A", "#NV", "NaN", "nan", "null", "NULL", "None", "-", "?", ".", "")
"""How programs write a missing value: what --na without marks stands for."""

ROWS_AT_ONCE = 1 << 20
"""Rows whose labels are told apart at once."""

_CACHED_AT_ONCE = 1 << 16
"""And of which both ends are found while they are in cache."""

_LABELS_AT_ONCE = 1 << 17
"""Integer labels within such a range are looked up in a table of it."""


class Coded(NamedTuple):
    """Outcomes already told apart: the labels, and which of them each row has."""

    labels: list[Label | None]
    inverse: NDArray[np.integer[Any]]

    def distinct(self) -> Coded:
        """The same with each label once."""
        places = {label: place for place, label in enumerate(dict.fromkeys(self.labels))}
        if len(places) == len(self.labels):
            return self
        return Coded(list(places), np.array([places[label] for label in self.labels], dtype=np.int32)[self.inverse])


_PLAIN = (int, str, bool)


def plain(value: Any) -> Any:
    """Give a label as a plain Python value: 1.0 and numpy's 1 become 1; None, NaN and NA become None."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.datetime64):
        return _date_text(value)
    if isinstance(value, np.generic):
        value = value.item()
    if is_missing(value):
        return None
    if isinstance(value, Decimal) and not value.is_finite():
        value = math.nan if value.is_nan() else float(value)
    elif isinstance(value, Decimal | Fraction):
        value = int(value) if value.as_integer_ratio()[1] == 1 else float(value)
    if isinstance(value, float):
        if math.isnan(value):
            return None
        return int(value) if value.is_integer() else value
    if isinstance(value, date | time):
        return _without_zeros(value.isoformat())
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def _date_text(value: np.datetime64) -> str | None:
    """Spell a moment as Python's own dates and times do."""
    if np.isnat(value):
        return None
    short = np.datetime_data(value)[0] in ("h", "m")
    return _without_zeros(str(value.astype("datetime64[s]") if short else value))


def _without_zeros(moment: str) -> str:
    """Drop the zeros at the end of a fraction of a second, of which each type writes its own number."""
    return moment.rstrip("0").rstrip(".") if "." in moment else moment


def coded(column: pl.Series) -> Coded:
    """Tell the texts of a polars column apart, without making one Python object a row."""
    import polars as pl

    texts = column.unique(maintain_order=True).drop_nulls()
    codes = column.cast(pl.Enum(texts)).to_physical()
    labels: list[Label | None] = texts.to_list()
    if column.null_count():
        codes = codes.cast(pl.UInt32).fill_null(len(labels))
        labels.append(None)
    return Coded(labels, codes.to_numpy())


def label_array(data: Any) -> NDArray[Any]:
    """Read labels as an array, a matrix of one column as a vector."""
    array = as_array(data)
    if array.dtype.kind in "US" and isinstance(data, list | tuple):
        array = np.array(data, dtype=object)  # NumPy would spell a missing label or a number among texts as text
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def distinct_labels(array: NDArray[Any]) -> Coded:
    """Distinct labels and, for each row, which of them it has: by parts, to make nothing the size of the input."""
    if array.dtype == np.bool_:
        found, places_of_them = distinct_labels(array.view(np.int8))
        return Coded([bool(value) for value in found], places_of_them)
    parts = [array[start : start + ROWS_AT_ONCE] for start in range(0, array.size, ROWS_AT_ONCE)] or [array]
    if array.dtype.kind in "iu" and array.size:
        lowest, highest = _ends(array)
        if highest - lowest < _LABELS_AT_ONCE:
            return _distinct_close(array, parts, lowest, highest)
    if array.dtype.kind in "iuf":
        values = np.unique(np.concatenate([np.unique(part) for part in parts]))
        kind = smallest_type(values.size)
        places = [np.searchsorted(values, part).astype(kind) for part in parts]
        return Coded([plain(v) for v in values], np.concatenate(places))
    if array.dtype.kind == "M":
        native = array.astype(array.dtype.newbyteorder("="), copy=False)
        moments, places_of_them = distinct_labels(native.view(np.int64))
        return Coded([plain(v) for v in np.array(moments, dtype=np.int64).view(native.dtype)], places_of_them)
    if array.dtype.kind not in "OUS":
        raise InputError(f"labels are numbers or texts, not {array.dtype}.")
    seen: dict[Any, int] = {}
    places = []
    for part in parts:
        try:
            found = [seen.setdefault(plain(value), len(seen)) for value in part.tolist()]
        except TypeError:
            _check_plain([plain(value) for value in part.tolist()])
            raise
        places.append(np.array(found, dtype=np.int32))
    _check_plain(seen)
    return Coded(list(seen), np.concatenate(places))


def _check_plain(labels: Iterable[Any]) -> None:
    for label in labels:
        if not isinstance(label, bool | int | float | str | None):
            raise InputError(f"labels are numbers or texts, not {type(label).__name__}.")


def _ends(array: NDArray[Any]) -> tuple[int, int]:
    """Give the lowest and the highest of integers, by parts that are in cache when they are read again."""
    parts = (array[start : start + _CACHED_AT_ONCE] for start in range(0, array.size, _CACHED_AT_ONCE))
    lowest, highest = zip(*((part.min(), part.max()) for part in parts), strict=True)
    return int(min(lowest)), int(max(highest))


def _distinct_close(array: NDArray[Any], parts: Sequence[NDArray[Any]], lowest: int, highest: int) -> Coded:
    """Distinct labels of integers that lie close together, by a table instead of a search.

    Those of 0, 1, 2, ... name themselves: then the array itself says which each row has.
    """
    if (lowest, highest) == (0, 1):
        return Coded([0, 1], array)
    wide = np.uint64 if array.dtype == np.uint64 else np.int64
    offsets = [(part.astype(wide) - wide(lowest)).astype(np.int64) for part in parts] if lowest else parts
    present = np.zeros(highest - lowest + 1, dtype=bool)
    for part in offsets:
        present[part] = True
    if lowest == 0 and present.all():
        return Coded(list(range(present.size)), array)
    values = np.flatnonzero(present)
    place = np.zeros(present.size, dtype=smallest_type(values.size))
    place[values] = np.arange(values.size)
    return Coded([lowest + value for value in values.tolist()], np.concatenate([place[part] for part in offsets]))


def smallest_type(number: int) -> type[np.signedinteger[Any]]:
    """Smallest integer type that holds class indexes below number, and the negative codes."""
    return next(t for t in (np.int8, np.int16, np.int32) if number <= np.iinfo(t).max)
