"""Groups made from a column's values, named COLUMN:HOW: parts of a date, and quantiles of a number."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from .._lib.errors import InputError, rows_text
from .._lib.typing import Floats, Ints

_DATE_PARTS = ("year", "quarter", "month", "weekday", "hour")
_PERIODS = {"date": "%Y-%m-%d", "iso-week": "%G-W%V", "year-month": "%Y-%m", "year-quarter": "%Y-Q"}
"""Successive periods, and how their names are written."""
_QUANTILES = {"halves": 2, "thirds": 3, "quartiles": 4, "quintiles": 5, "deciles": 10}

HOW = (*_DATE_PARTS, *_PERIODS, *_QUANTILES)
"""What can be made of a column; weekdays are numbered from 1, a Monday."""


class Quantiles(NamedTuple):
    """Groups of numbers between quantiles; equal numbers are in one group."""

    edges: Floats
    texts: list[str]
    """Of each group: which it is, and its least and largest number."""

    def groups(self, numbers: pl.Series) -> pl.Series:
        """Give the group of each number."""
        at = np.searchsorted(self.edges, numbers.to_numpy(), side="left")
        return pl.Series(self.texts, dtype=pl.String).gather(at)


class Derived(NamedTuple):
    """A column, and what is made of its values; nothing for ""."""

    column: str
    how: str = ""

    @property
    def name(self) -> str:
        """The text that the user named it with."""
        return f"{self.column}:{self.how}" if self.how else self.column

    @property
    def needs_all(self) -> bool:
        """Whether the groups are known only once the whole column is."""
        return self.how in _QUANTILES

    def groups(self, values: pl.Series, rows: Ints, quantiles: Quantiles | None = None) -> pl.Series:
        """Give the group of each row; rows are their numbers, for messages. The quantiles are those of these values."""
        if not self.how:
            return values
        if not self.needs_all:
            return _date_part(values, rows, self)
        numbers = self.numbers(values, rows)
        return (quantiles or self.quantiles(numbers.to_numpy())).groups(numbers)

    def numbers(self, values: pl.Series, rows: Ints) -> pl.Series:
        """Read the values as finite numbers."""
        numbers = values.cast(pl.Float64, strict=False)
        invalid = rows[~numbers.is_finite().fill_null(False).to_numpy()]
        if invalid.size:
            wrong = f"{self.name}: column {self.column!r} is no number in {rows_text(invalid)}. Repair them"
            blank = values.is_null() if values.dtype != pl.String else values.fill_null("").str.strip_chars() == ""
            some = f", or leave out rows without one: --where '\"{self.column}\" IS NOT NULL'" if blank.any() else ""
            raise InputError(f"{wrong}{some}.")
        return numbers

    def quantiles(self, x: Floats) -> Quantiles:
        """Cut all numbers of the column into groups of about equal size."""
        n = _QUANTILES[self.how]
        edges = np.quantile(x, np.arange(1, n) / n, method="inverted_cdf") if x.size else np.zeros(n - 1)
        at = np.searchsorted(edges, x, side="left")
        texts = [f"{k + 1} of {n}" for k in range(n)]
        for k in np.unique(at).tolist():
            texts[k] += f": {x[at == k].min():.6g} to {x[at == k].max():.6g}"
        return Quantiles(edges, texts)


def derived(text: str) -> Derived:
    """Read COLUMN or COLUMN:HOW; a text that ends in no such word is a column's name."""
    column, sign, how = text.rpartition(":")
    return Derived(column, how) if sign and column and how in HOW else Derived(text)


def _date_part(values: pl.Series, rows: Ints, asked: Derived) -> pl.Series:
    text = values.cast(pl.String)
    found = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    found = _periods(found, asked.how) if asked.how in _PERIODS else _part(found, text, asked.how)
    if found.null_count():
        hour = asked.how == "hour"
        wanted = "date with a time of day, such as 2026-11-23 18:00," if hour else "date such as 2026-11-23"
        remedy = "Choose another part, such as weekday" if hour else "Rewrite dates as year-month-day"
        raise InputError(
            f"{asked.name}: column {asked.column!r} is no {wanted} in"
            f" {rows_text(rows[found.is_null().to_numpy()])}. {remedy}."
        )
    return found


def _part(dates: pl.Series, text: pl.Series, how: str) -> pl.Series:
    part = getattr(dates.dt, how)() if how != "hour" else text.str.slice(11, 2)
    return part.cast(pl.Int64, strict=False)


def _periods(dates: pl.Series, how: str) -> pl.Series:
    names = dates.dt.strftime(_PERIODS[how])
    return names + dates.dt.quarter().cast(pl.String) if how == "year-quarter" else names
