"""Types of columns of a text file, found by reading all of them: whole numbers, numbers, true and false, or text.

CSV has no types of columns, Parquet has. A column becomes numbers only if nothing is lost by it: codes such as 007 and
whole numbers of more than 15 digits stay text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

_WHOLE = r"^-?(0|[1-9][0-9]{0,14})$"
_NUMBER = r"^[+-]?(0|[1-9][0-9]{0,14})?(\.[0-9]*)?([eE][+-]?[0-9]+)?$"
_BOOLEAN = r"(?i)^(true|false)$"


class TextKinds:
    """Types of text columns, which are seen part by part before they are converted."""

    def __init__(self, names: Iterable[str]) -> None:
        self._left: dict[str, list[pl.DataType]] = {name: [pl.Int64(), pl.Float64(), pl.Boolean()] for name in names}
        self._empty = set(self._left)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._left)

    def add(self, columns: Mapping[str, pl.Series]) -> None:
        """See a part of each column."""
        for name, column in columns.items():
            text = column.drop_nulls()
            if len(text):
                self._empty.discard(name)
                self._left[name] = [kind for kind in self._left[name] if _all_are(text, kind)]

    def of(self, name: str) -> pl.DataType:
        """Type of a column; one without any value is text."""
        left = [] if name in self._empty else self._left[name]
        return left[0] if left else pl.String()

    def typed(self, column: pl.Series) -> pl.Series:
        """Convert a part of a column to its type."""
        kind = self.of(column.name)
        return column.str.to_lowercase() == "true" if isinstance(kind, pl.Boolean) else column.cast(kind)


def _all_are(text: pl.Series, kind: pl.DataType) -> bool:
    if isinstance(kind, pl.Boolean):
        return bool(text.str.contains(_BOOLEAN).all())
    spelled = text.str.contains(_WHOLE if isinstance(kind, pl.Int64) else _NUMBER)
    return bool(spelled.all()) and not text.cast(kind, strict=False).null_count()
