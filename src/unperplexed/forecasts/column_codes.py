"""Columns as whole numbers, equal ones for equal values: what dependence that nobody declared is looked for in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import as_array, library
from .._lib.typing import Bools, Ints
from .group_keys import columns_of

MISSING_CODE = -1
"""Code of a missing value, which is a value; also of whole numbers, of which it then is another."""


class ColumnCodes:
    """Codes of a column that is read in parts. Lists, and numbers with fractions, are no groups and have none."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.signedinteger[Any]]] | None = []
        self._words = self._fractions = False
        """Whether texts are not all numbers, and whether any is a number with a fraction."""

    def add(self, column: Any) -> None:
        """Read the next values: a polars column or an array."""
        if self._parts is None:
            return
        codes = self._codes(column)
        if codes is None:
            self._parts = None
            return
        small = not codes.size or (codes.min() >= -(2**31) and codes.max() < 2**31)
        self._parts.append(codes.astype(np.int32) if small else codes)

    def keep(self, some: Bools) -> None:
        """Forget the other values."""
        if self._parts is not None:
            self._parts = [np.concatenate(self._parts)[some]]

    def values(self) -> Ints | None:
        """Return the codes of all values; None for a column that has none."""
        if not self._parts or (self._fractions and not self._words):
            return None
        return np.concatenate(self._parts)

    def _codes(self, column: Any) -> Ints | None:
        import polars as pl

        try:
            values = column if isinstance(column, pl.Series) else pl.Series(np.asarray(column), strict=False)
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            return None
        if values.dtype in (pl.Binary, pl.Object) or values.dtype.is_nested():
            return None
        if values.dtype in (pl.String, pl.Categorical, pl.Enum):
            return self._of_texts(values)
        if values.dtype.is_float():
            values = values.fill_nan(None)
            if not (values == values.floor()).all():
                return None
        whole = values.to_physical().cast(pl.Int64, strict=False)
        return whole.fill_null(MISSING_CODE).to_numpy()

    def _of_texts(self, values: Any) -> Ints:
        import polars as pl

        texts = values.cast(pl.String).replace("", None).cast(pl.Categorical)  # of which all have one dictionary
        distinct = texts.unique().drop_nulls().cast(pl.String)
        numbers = distinct.cast(pl.Float64, strict=False)
        self._words |= numbers.null_count() > 0
        self._fractions |= bool((numbers != numbers.floor()).any())
        return np.asarray(texts.to_physical().cast(pl.Int64).fill_null(MISSING_CODE).to_numpy())


def codes_of(columns: Any) -> dict[str, Ints]:
    """Return the codes of a frame's columns, of those that have any; nothing for None."""
    found = {}
    for name, column in ({} if columns is None else columns_of(columns, "columns")).items():
        codes = ColumnCodes()
        codes.add(column if library(column) == "polars" else as_array(column))
        if (values := codes.values()) is not None:
            found[name] = values
    return found


def crossed(columns: Mapping[str, Ints]) -> Ints:
    """Number the rows' combinations of values."""
    number = np.zeros(len(next(iter(columns.values()))), dtype=np.int64)
    for codes in columns.values():
        values, inverse = np.unique(codes, return_inverse=True)
        number = np.unique(number * len(values) + inverse, return_inverse=True)[1]
    return number
