"""Columns as conditions: ranges of numbers and dates, one or two categories, and missing values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..._lib.dataclasses import Frozen, field, replace
from ..._lib.errors import InputError
from ..._lib.typing import AnyFloats, Bools, ByValue, Floats, Ints

CUTS = 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95
"""Quantiles at which numbers are cut. They are finer in the tails, where a group may be small."""

CATEGORIES, _UNITED, _LARGE, _LARGEST = 20, 10, 0.1, 1e300
"""Most frequent categories that are conditions; categories up to which two of them together are one; the share of the
rows from which "is not" is one; and what an infinite number counts as."""

_SHOWN, _APART = 6, 0.08
"""Categories that are shown by themselves; and how far apart, as a share of the rows, ranges that are shown begin."""

_DATES = "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"
"""How texts may write dates."""

PARTS = {"month": "%B", "weekday": "%A"}
"""What is also searched of dates, and how it is written."""


class Condition(ByValue):
    """What a rule asks of one column."""

    column: str
    low: float | None = None
    """Numbers from here on, of dates seconds since 1970; None without a limit."""
    high: float | None = None
    """Numbers below."""
    values: tuple[str, ...] = ()
    """Any of these categories."""
    negated: bool = False
    """Whether it asks for all other categories instead, unseen and missing ones too."""
    missing: bool = False
    """Whether it asks for missing values."""
    date: bool = False
    part: str = ""
    """What it asks of dates instead, such as "month"."""

    @property
    def text(self) -> str:
        """The condition as it is printed."""
        name = f"{self.part} of {self.column}" if self.part else self.column
        if self.missing:
            return f"{name} is missing"
        if self.values:
            return f"{name} {'is not' if self.negated else '='} {' or '.join(self.values)}"
        low, high = ("" if end is None else self.text_of(end) for end in self.ends)
        if not high:
            return f"{name} >= {low}"
        return f"{low} <= {name} < {high}" if low else f"{name} < {high}"

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """Its lower and its upper end."""
        return self.low, self.high

    def text_of(self, end: float) -> str:
        """Give an end as it is printed."""
        if not self.date:
            return f"{end:.12g}"
        return str(np.datetime64(int(end), "s").item()).removesuffix(" 00:00:00")

    def met_by(self, values: NDArray[Any]) -> Bools:
        """Whether new rows fulfil it, by their column as it came; unseen categories and missing values as named here.

        Raises
        ------
        InputError
            For values of another kind than it asks for, such as text where it asks for numbers.
        """
        given = _given(values)
        if self.missing:
            return given.is_null().to_numpy()
        dates = self.date or bool(self.part)
        read = _dates(given) if dates else given.cast(pl.String if self.values else pl.Float64, strict=False)
        if read.null_count() > given.null_count():
            other, wanted = given.filter(read.is_null() & given.is_not_null())[0], "dates" if dates else "numbers"
            raise InputError(f"among: column {self.column!r} holds {other!r}, where the groups found ask for {wanted}.")
        if self.values:
            texts = read.dt.strftime(PARTS[self.part]) if self.part else read
            texts = texts.str.to_lowercase() if {*self.values} <= {"true", "false"} else texts  # True, as pandas writes
            return np.asarray(texts.is_in(self.values).fill_null(False).to_numpy() != self.negated)
        return _numbers(self.column, read).holds(self)

    def moved(self, end: int, to: float | None) -> Condition:
        """Return it with another lower (0) or upper (1) end."""
        return replace(self, high=to) if end else replace(self, low=to)


class Column(Frozen, eq=False):
    """A column in bins, and all conditions on it. The first of them, None, is fulfilled by all rows."""

    name: str
    given: Floats
    """Numbers, seconds of dates, or places of categories; NaN where they are missing."""
    categories: tuple[str, ...] | None = None
    """None for numbers and dates."""
    date: bool = False
    codes: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    """Bin of each row."""
    conditions: tuple[Condition | None, ...] = (None,)
    sets: AnyFloats = field(default_factory=lambda: np.ones((1, 1), np.float32))
    """Whether a condition, one a row, holds in a bin."""
    rows: Ints | Bools | None = None
    """Rows that are meant; None for all."""

    @cached_property
    def values(self) -> Floats:
        """Those of the rows that are meant."""
        return self.given if self.rows is None else self.given[self.rows]

    def in_bins(self, codes: Ints, asked: Sequence[Condition], sets: Sequence[Sequence[bool]], bins: int) -> Column:
        """Add bins, of which the last is of missing values, and what may be asked of them."""
        conditions, missing = (None, *asked, Condition(self.name, missing=True)), [False] * (bins - 1) + [True]
        every = np.array([[True] * bins, *sets, missing], dtype=np.float32)
        return replace(self, codes=codes.astype(np.uint8), conditions=conditions, sets=every)

    def at(self, rows: Ints | Bools) -> Column:
        """Return it for some of the rows."""
        return replace(self, given=self.values, codes=self.codes[rows], rows=rows)

    def holds(self, condition: Condition) -> Bools:
        """Whether rows fulfil a condition."""
        if self.categories is not None and not condition.missing:
            named = [self.categories.index(value) for value in condition.values]
            return np.asarray(np.isin(self.values, named) != condition.negated)
        if condition.missing:
            return np.asarray(np.isnan(self.values))
        low, high = condition.ends
        within = ~np.isnan(self.values) if low is None else self.values >= low
        return np.asarray(within if high is None else within & (self.values < high))

    def parts(self, condition: Condition) -> tuple[list[str], Ints, tuple[int, int]]:
        """Cut the column into a few parts, so that those of a condition lie side by side.

        Returns
        -------
        list of str
            Names of the parts.
        array of int, shape (n,)
            Part of each row.
        (int, int)
            First part of the condition, and the one after its last.
        """
        names, part = self._ranges(condition) if self.categories is None else self._categories(condition)
        there, part = np.unique(part, return_inverse=True)
        own = part[self.holds(condition)]
        return [names[at] for at in there], part, (int(own.min()), int(own.max()) + 1)

    def _ranges(self, condition: Condition) -> tuple[list[str], Ints]:
        """Ranges from the ends of a condition and from round numbers that are not near one; and missing values."""
        known, ends = self.known[0], [end for end in condition.ends if end is not None]
        near = np.quantile(known, np.add.outer((-0.05, 0.05), (0.1, 0.3, 0.5, 0.7, 0.9)), method="higher")
        cuts = np.unique([self._round(low, high) if low < high else high for low, high in near.T.tolist()])
        apart = np.abs(np.subtract.outer(np.searchsorted(known, cuts), np.searchsorted(known, ends))) / len(known)
        cuts = np.unique([*cuts[(apart > _APART).all(axis=1)], *ends])
        texts = [Condition(self.name, date=self.date).text_of(cut) for cut in cuts.tolist()]
        names = [f"< {texts[0]}", *(f"from {each}" for each in texts), "missing"]
        missing = np.isnan(self.values)
        return names, np.where(missing, len(cuts) + 1, np.searchsorted(cuts, self.values, side="right"))

    def _categories(self, condition: Condition) -> tuple[list[str], Ints]:
        """Categories that a condition names, the most frequent others, all others and missing values; or backwards."""
        names, there = self.categories or (), ~np.isnan(self.values)
        counts = np.bincount(self.values[there].astype(np.int64), minlength=len(names))
        order = sorted(range(len(names)), key=lambda at: (names[at] not in condition.values, -counts[at]))[:_SHOWN]
        place, part = np.full(len(names), len(order)), np.full(len(there), len(order) + 1)
        place[order] = np.arange(len(order))
        part[there] = place[self.values[there].astype(np.int64)]
        shown = [*(names[at] for at in order), "others", "missing"]
        return (shown[::-1], len(order) + 1 - part) if condition.negated else (shown, part)

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """Numbers that are there, sorted, and the distinct ones among them."""
        found = pl.Series(self.values[~np.isnan(self.values)]).sort().to_numpy()
        new = found[1:] != found[:-1]
        return found, found if new.all() else found[np.append(True, new)]

    def cuts_at(self, near: Floats) -> Floats:
        """Return the roundest numbers above the next smaller values and at most these: the same rows are below."""
        distinct = self.known[1]
        between = (distinct[np.searchsorted(distinct, cut) - 1 :][:2].tolist() for cut in near if cut > distinct[0])
        return np.unique([self._round(low, high) for low, high in between])

    def _round(self, low: float, high: float) -> float:
        """Return the roundest number above one and at most another."""
        return (_round_date if self.date else _round_number)(low, high)

    def cuts_near(self, end: float, steps: int) -> Floats:
        """Return numbers within the neighbouring bins of an end of a condition, to which it may be moved."""
        known = self.known[0]
        at = np.searchsorted(known, end) / len(known)
        low = max([0.01, *(q for q in CUTS if q < at - 0.01)])
        high = min([0.99, *(q for q in CUTS if q > at + 0.01)])
        return self.cuts_at(np.unique(_quantiles(known, np.linspace(low, high, steps + 1))))


def _quantiles(known: Floats, q: AnyFloats) -> Floats:
    """Return quantiles of sorted numbers: of two that one lies between the higher."""
    return known[np.ceil((len(known) - 1) * q).astype(np.int64)]


def _round_number(low: float, high: float) -> float:
    digits = range(int(-np.floor(np.log10(high - low))) - 1, 17)
    rounded = (float(np.floor(high * 10.0**each) / 10.0**each) for each in digits)
    return next((found for found in rounded if low < found <= high), high)


def _round_date(low: float, high: float) -> float:
    date = np.datetime64(int(high), "s")
    units = (float(date.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64)) for unit in "YMDhm")
    return next((found for found in units if low < found <= high), high)


def columns_of_values(name: str, values: NDArray[Any]) -> Iterator[Column]:
    """Bin a column, and of dates their month and weekday too.

    Parameters
    ----------
    name : str
    values : array of shape (n,)
        Numbers, dates, truth values or text; texts that all spell numbers, or dates, are these, unless one begins with
        a 0 that is none of a number, as codes do ("06").
    """
    if values.dtype == np.float64 and not (np.abs(values) > _LARGEST).any():
        yield _of_numbers(Column(name, values))
        return
    series = _series(values)
    if not series.dtype.is_numeric() and not series.dtype.is_temporal():
        yield _of_categories(name, series.cast(pl.String))
        return
    yield _of_numbers(_numbers(name, series))
    for part, form in PARTS.items() if series.dtype.is_temporal() else ():
        made = _of_categories(f"{part} of {name}", series.dt.strftime(form))
        asked = (condition and replace(condition, column=name, part=part) for condition in made.conditions)
        yield replace(made, conditions=tuple(asked))


def _numbers(name: str, series: pl.Series) -> Column:
    """Give numbers or dates as a column that is not yet in bins."""
    date = series.dtype.is_temporal()
    numbers = (series.dt.epoch("s") if date else series).cast(pl.Float64).fill_null(np.nan)
    return Column(name, numbers.clip(-_LARGEST, _LARGEST).to_numpy(), date=date)


def _given(values: NDArray[Any]) -> pl.Series:
    """Take values as they are: numbers, dates, truth values, or texts, of which an empty one is missing."""
    if values.dtype.kind == "M":
        return pl.Series(values.astype("M8[ms]"))
    if values.dtype.kind == "m":
        return pl.Series(values / np.timedelta64(1, "s"))
    given: Any = values.tolist() if values.dtype.kind in "OUS" else values
    if values.dtype.kind == "O":
        given = [None if isinstance(each, float) and math.isnan(each) else each for each in given]
    series = pl.Series(given, strict=False)
    if series.dtype == pl.Duration:
        return series.dt.total_seconds(fractional=True)
    if series.dtype == pl.Time:
        return series.cast(pl.Int64) / 1e9
    if series.dtype == pl.String:
        return series.replace("", None)
    series = series.cast(pl.Float64) if series.dtype == pl.Null else series
    return series.fill_nan(None) if series.dtype.is_float() else series


def _dates(series: pl.Series) -> pl.Series:
    """Read dates, which texts may write in one way."""
    if series.dtype.is_temporal():
        return series
    tried = [series.cast(pl.String).str.to_datetime(form, strict=False) for form in _DATES]
    return min(tried, key=lambda each: each.null_count())


def _series(values: NDArray[Any]) -> pl.Series:
    """Read what all values are: numbers, dates, or texts, such as codes that begin with 0."""
    series = _given(values)
    if series.dtype != pl.String or series.str.contains(r"^0\d").any():
        return series
    tried = series.cast(pl.Float64, strict=False), _dates(series)
    return next((each for each in tried if each.null_count() == series.null_count()), series)


def _of_numbers(column: Column) -> Column:
    known, distinct = column.known
    few = len(distinct) <= len(CUTS) + 1
    cuts = column.cuts_at(distinct if few else _quantiles(known, np.array(CUTS)))
    m, ends = len(cuts) + 1, [None, *cuts.tolist(), None]
    ranges = [(a, b) for b in range(m + 1) for a in range(b) if b - a < m]
    conditions = [Condition(column.name, ends[a], ends[b], date=column.date) for a, b in ranges]
    sets = [[a <= k < b for k in range(m + 1)] for a, b in ranges]
    codes = np.where(np.isnan(column.values), m, bins_of(column.values, cuts))
    return column.in_bins(codes, conditions, sets, m + 1)


def bins_of(values: Floats, cuts: Floats) -> NDArray[np.uint8]:
    """Return how many of a few cuts are at most as large as each value, 0 of a missing one."""
    found = np.zeros(values.shape, np.uint8)
    for cut in cuts.tolist():
        found += values >= cut
    return found


def _of_categories(name: str, texts: pl.Series) -> Column:
    """Bin categories: the most frequent, then others, and missing ones."""
    names = texts.drop_nulls().unique().sort()
    values = texts.cast(pl.Enum(names)).to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    there, categories = ~np.isnan(values), tuple(names.to_list())
    counts = np.bincount(values[there].astype(np.int64), minlength=len(categories))
    order = np.argsort(-counts, kind="stable")
    m, place = min(order.size, CATEGORIES), np.empty(order.size, dtype=np.int64)
    place[order] = np.minimum(np.arange(order.size), m)
    codes = np.full(values.size, m + 1)
    codes[there] = place[values[there].astype(np.int64)]
    two = [(a, b) for a in range(m) for b in range(a)] if 3 < m <= _UNITED else []
    large = [(a,) for a in range(m) if m > 2 and counts[order[a]] >= _LARGE * values.size]
    asked = [(each, False) for each in [*((a,) for a in range(m)), *two]] + [(each, True) for each in large]
    sets = [[(k in each) != negated for k in range(m + 2)] for each, negated in asked]
    named = [(tuple(categories[order[a]] for a in each), negated) for each, negated in asked]
    conditions = [Condition(name, values=those, negated=negated) for those, negated in named]
    return Column(name, values, categories).in_bins(codes, conditions, sets, m + 2)
