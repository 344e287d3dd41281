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


Known = Quantiles | str
"""Of a whole column: its quantiles, or how the parts of its dates are put in order, year, month, day."""

YEAR_FIRST = ""
"""The order of dates such as 2026-11-23."""

_YEAR_LAST = r"^(\d{1,2})[/.](\d{1,2})[/.](\d{4})"


def _year_last(text: pl.Series) -> pl.Series:
    """Give the dates that do not begin with the year, such as 23/11/2026, each once."""
    return text.filter(text.str.contains(_YEAR_LAST)).unique(maintain_order=True)


def _order(dates: pl.Series, name: str) -> str:
    """Find the order of day and month in dates that do not begin with the year: a number above 12 is a day."""
    if dates.is_empty():
        return YEAR_FIRST
    numbers = dates.str.extract_groups(_YEAR_LAST).struct.unnest().cast(pl.Int64)
    day_first, month_first = ((numbers[:, at] > 12).any() for at in (0, 1))
    if day_first == month_first:
        reason = "both orders of day and month" if day_first else "no day above 12, which would tell it from the month"
        raise InputError(f"column {name!r}: dates such as {dates[0]} have {reason}. Rewrite them as year-month-day.")
    return "${3}-${2}-${1}" if day_first else "${3}-${1}-${2}"


def year_first(text: pl.Series, order: str | None = None) -> pl.Series:
    """Write dates as year-month-day, from an order or else from that which this whole column shows."""
    order = _order(_year_last(text), text.name) if order is None else order
    if order == YEAR_FIRST:
        return text
    long = text.str.replace(r"^(\d)[/.]", "0${1}/").str.replace(r"^(\d\d)[/.](\d)[/.]", "${1}/0${2}/")
    return long.str.replace(_YEAR_LAST, order)


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

    def groups(self, values: pl.Series, rows: Ints, known: Known | None = None) -> pl.Series:
        """Give each row's group, of blanks None; rows are numbers for messages. If none is known, values are all."""
        if not self.how:
            return values
        known = self.known(self.seen(values, rows)) if known is None else known
        there = ~_blank(values)
        values, rows = values.filter(there), rows[there.to_numpy()]
        if isinstance(known, Quantiles):
            found = known.groups(self.numbers(values, rows))
        else:
            found = _date_part(values, rows, self, known)
        return found.gather((there.cum_sum() - 1).set(~there, None))

    def seen(self, values: pl.Series, rows: Ints) -> pl.Series:
        """Give what of these values is needed to know of all: the numbers, or dates that do not begin with the year."""
        if self.needs_all:
            there = ~_blank(values)
            return self.numbers(values.filter(there), rows[there.to_numpy()])
        return _year_last(values.cast(pl.String))

    def known(self, seen: pl.Series) -> Known:
        """Give what is known of a whole column by what was seen of its parts."""
        return self.quantiles(seen.to_numpy()) if self.needs_all else _order(seen, self.column)

    def numbers(self, values: pl.Series, rows: Ints) -> pl.Series:
        """Read the values as finite numbers."""
        numbers = values.cast(pl.Float64, strict=False)
        invalid = rows[~numbers.is_finite().fill_null(False).to_numpy()]
        if invalid.size:
            wrong = f"{self.name}: column {self.column!r} is no number in {rows_text(invalid)}. Repair them"
            some = f", or leave out rows without one: --where '\"{self.column}\" IS NOT NULL'"
            some *= _blank(values).any()
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


def _blank(values: pl.Series) -> pl.Series:
    """Whether each value is missing, or a text of blanks only."""
    return values.is_null() if values.dtype != pl.String else values.fill_null("").str.strip_chars() == ""


def derived(text: str) -> Derived:
    """Read COLUMN or COLUMN:HOW; a text that ends in no such word is a column's name."""
    column, sign, how = text.rpartition(":")
    return Derived(column, how) if sign and column and how in HOW else Derived(text)


def _date_part(values: pl.Series, rows: Ints, asked: Derived, order: str) -> pl.Series:
    text = year_first(values.cast(pl.String), order)
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
