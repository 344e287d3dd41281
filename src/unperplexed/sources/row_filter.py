"""Which rows are wanted: an SQL expression of columns, which polars parses; no code of the user's is run."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from .._lib.errors import InputError
from .._lib.typing import Bools


class RowFilter:
    """Rows for which an SQL expression is true; where it is null they are not wanted."""

    def __init__(self, expression: str) -> None:
        """Take the expression; "" wants all rows."""
        self._text = expression

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns that the expression speaks of."""
        if not self._text:
            return []
        names = [*dict.fromkeys(self._parsed.meta.root_names())]
        if not names:
            raise self._refused("it names no column")
        return names

    @cached_property
    def _parsed(self) -> pl.Expr:
        try:
            return pl.sql_expr(self._text)
        except PolarsError as error:
            raise self._refused(str(error).partition("\n")[0]) from None

    def rows(self, frame: pl.DataFrame) -> Bools:
        """Say of each row of the named columns whether it is wanted; texts that are all numbers are numbers."""
        try:
            found = frame.with_columns(map(_as_numbers, frame)).select(self._parsed.alias("wanted"))["wanted"]
        except PolarsError as error:
            raise self._refused(str(error).partition("\n")[0]) from None
        if found.dtype != pl.Boolean or found.len() != frame.height:
            raise self._refused("it is not true or false of each row")
        wanted = found.fill_null(False).to_numpy()
        if not wanted.any():
            raise InputError(f"--where {self._text}: true of none of {frame.height:,} rows.")
        return np.asarray(wanted)

    def _refused(self, reason: str) -> InputError:
        return InputError(
            f"--where {self._text}: {reason}. Write an SQL condition of columns, such as"
            " \"season >= 2016 AND round = 'final'\", with texts in single quotes."
        )


def _as_numbers(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String:
        return column
    numbers = column.replace("", None).cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.replace("", None).null_count() else column
