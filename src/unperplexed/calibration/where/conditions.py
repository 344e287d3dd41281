"""Columns as conditions: ranges of numbers and dates, one or two categories, and missing values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._lib.dataclasses import dataclass, replace
from ..._lib.typing import AnyFloats, Bools, ByValue, Floats, Ints
from ...forecasts.group_keys import row_keys

CUTS = 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95
"""Quantiles at which numbers are cut. They are finer in the tails, where a group may be small."""

_CATEGORIES, _UNITED, _LARGE = 20, 10, 0.1
"""Most frequent categories that are conditions; categories up to which two of them together are one; and the share of
the rows from which "is not" is one."""


@dataclass(frozen=True)
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

    @property
    def text(self) -> str:
        """The condition as it is printed."""
        if self.missing:
            return f"{self.column} is missing"
        if self.values:
            return f"{self.column} {'is not' if self.negated else '='} {' or '.join(self.values)}"
        low, high = (None if end is None else self._end(end) for end in (self.low, self.high))
        if high is None:
            return f"{self.column} >= {low}"
        return f"{self.column} < {high}" if low is None else f"{low} <= {self.column} < {high}"

    def _end(self, end: float) -> str:
        if not self.date:
            return f"{end:.12g}"
        return str(np.datetime64(int(end), "s").item()).removesuffix(" 00:00:00")

    def moved(self, end: int, to: float | None) -> Condition:
        """Return it with another lower (0) or upper (1) end."""
        return replace(self, high=to) if end else replace(self, low=to)

    @property
    def empty(self) -> bool:
        """Whether all numbers fulfil it."""
        return not (self.values or self.missing) and self.low is None and self.high is None


@dataclass(frozen=True, eq=False)
class Column:
    """A column in bins, and all conditions on it. The first of them, None, is fulfilled by all rows."""

    name: str
    values: NDArray[Any]
    """Numbers with NaN where they are missing, or numbers of categories, -1 for a missing one."""
    codes: Ints
    """Bin of each row."""
    conditions: tuple[Condition | None, ...]
    sets: AnyFloats
    """Whether a condition, one a row, holds in a bin."""
    categories: tuple[str, ...] | None = None
    """Names of the categories; None for numbers."""
    date: bool = False

    @property
    def size(self) -> int:
        """Number of bins."""
        return self.sets.shape[1]

    def at(self, rows: Ints | Bools) -> Column:
        """Return it for some of the rows."""
        return replace(self, values=self.values[rows], codes=self.codes[rows])

    def holds(self, condition: Condition) -> Bools:
        """Whether rows fulfil a condition."""
        if condition.missing:
            return np.asarray(self._missing)
        if self.categories is not None:
            named = [self.categories.index(value) for value in condition.values]
            return np.asarray(np.isin(self.values, named) != condition.negated)
        found = ~self._missing
        if condition.low is not None:
            found &= self.values >= condition.low
        if condition.high is not None:
            found &= self.values < condition.high
        return np.asarray(found)

    @property
    def _missing(self) -> Bools:
        return np.isnan(self.values) if self.categories is None else self.values < 0

    @cached_property
    def known(self) -> tuple[Floats, Floats]:
        """Numbers that are there, sorted, and the distinct ones among them."""
        found = np.sort(self.values[~np.isnan(self.values)])
        return found, found[np.append(True, found[1:] != found[:-1])] if found.size else found

    def rounded(self, cut: float) -> float:
        """Return the roundest number above the next smaller value and at most the cut: the same rows are below."""
        distinct = self.known[1]
        low, high = distinct[np.searchsorted(distinct, cut) - 1 :][:2].tolist()
        return (_round_date if self.date else _round_number)(low, high)

    def cuts_near(self, end: float, steps: int) -> Floats:
        """Return numbers within the neighbouring bins of an end of a condition, to which it may be moved."""
        known, distinct = self.known
        at = np.searchsorted(known, end) / len(known)
        low = max([0.01, *(q for q in CUTS if q < at - 0.01)])
        high = min([0.99, *(q for q in CUTS if q > at + 0.01)])
        near = np.unique(np.quantile(known, np.linspace(low, high, steps + 1), method="higher"))
        return np.unique([self.rounded(cut) for cut in near if cut > distinct[0]])


def _round_number(low: float, high: float) -> float:
    for digits in range(int(-np.floor(np.log10(high - low))) - 1, 17):
        found = float(np.floor(high * 10.0**digits) / 10.0**digits)
        if low < found <= high:
            return found
    return high


def _round_date(low: float, high: float) -> float:
    date = np.datetime64(int(high), "s")
    units = (float(date.astype(f"M8[{unit}]").astype("M8[s]").astype(np.int64)) for unit in "YMDhm")
    return next((found for found in units if low < found <= high), high)


def columns_of_values(name: str, array: NDArray[Any]) -> Iterator[Column]:
    """Bin a column, and of dates their month and weekday too.

    Parameters
    ----------
    name : str
    array : array of shape (n,)
        Numbers, dates, truth values or text; a text that spells a number is one where all do.
    """
    numbers = _numbers(array)
    if numbers is not None:
        yield _of_numbers(name, numbers)
        return
    rows = row_keys({name: array}, array.size)
    labels = [key[0] for key in rows.keys]
    if (dates := _dates(labels)) is not None:
        yield from _of_dates(name, dates[rows.group])
        return
    texts = ["" if label is None else str(label) for label in labels]
    there = np.array([label is not None for label in labels])
    yield _of_categories(name, texts, np.where(there, np.arange(len(labels)), -1)[rows.group])


def _numbers(array: NDArray[Any]) -> Floats | None:
    """Read all values as numbers, NaN for a missing one; None if there are others, or none at all."""
    import polars as pl

    if array.dtype.kind in "iuf":
        return array.astype(np.float64)
    if array.dtype.kind not in "OUS":
        return None
    values = pl.Series(array.tolist(), strict=False)
    if values.dtype == pl.String:
        values = values.replace("", None)
    if values.dtype != pl.String and not values.dtype.is_numeric():
        return None
    numbers = values.cast(pl.Float64, strict=False)
    return None if numbers.null_count() > values.null_count() else numbers.fill_null(np.nan).to_numpy().copy()


def _dates(labels: Sequence[Any]) -> NDArray[Any] | None:
    """Read all of them as dates, such as 2024-05-31; None if one is no date."""
    some = next((str(label) for label in labels if label is not None), "")
    if len(some) < _DATE or some[4] != "-":
        return None
    try:
        return np.array(["NaT" if label is None else str(label) for label in labels], dtype="M8[s]")
    except ValueError:
        return None


_DATE = len("2024-05-31")


def _of_dates(name: str, dates: NDArray[Any]) -> Iterator[Column]:
    seconds, missing = dates.astype("M8[s]"), np.isnat(dates)
    yield replace(_of_numbers(name, np.where(missing, np.nan, seconds.astype(np.int64)), date=True), date=True)
    month = dates.astype("M8[M]").astype(np.int64) % 12
    weekday = (dates.astype("M8[D]").astype(np.int64) + 3) % 7
    for part, number, names in (("month", month, _MONTHS), ("weekday", weekday, _WEEKDAYS)):
        yield _of_categories(f"{part} of {name}", names, np.where(missing, -1, number))


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"


def _of_numbers(name: str, x: Floats, date: bool = False) -> Column:
    bare = Column(name, x, np.zeros(0, np.int64), (), np.zeros((0, 0)), date=date)
    known, distinct = bare.known
    if not known.size:
        cuts = known
    else:
        every = len(distinct) <= len(CUTS) + 1
        at = distinct if every else np.quantile(known, CUTS, method="higher")
        cuts = np.unique([bare.rounded(cut) for cut in at if cut > distinct[0]])
    m = len(cuts) + 1
    ends = [None, *cuts.tolist(), None]
    ranges = [(a, b) for b in range(m + 1) for a in range(b) if b - a < m]
    sets = [[a <= k < b for k in range(m)] + [False] for a, b in ranges] + [[False] * m + [True]]
    conditions = [Condition(name, ends[a], ends[b], date=date) for a, b in ranges] + [Condition(name, missing=True)]
    codes = np.where(np.isnan(x), m, np.searchsorted(cuts, x, side="right"))
    return replace(bare, codes=codes, conditions=(None, *conditions), sets=_with_all(sets, m + 1))


def _of_categories(name: str, names: Sequence[str], number: Ints) -> Column:
    """Bin categories: the most frequent, others, and missing ones."""
    counts = np.bincount(number[number >= 0], minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    m = min(order.size, _CATEGORIES)
    place = np.full(len(names) + 1, m + 1)  # of the last, which is -1, missing
    place[order] = np.minimum(np.arange(order.size), m)
    sets, conditions = [], []
    unions = [(a,) for a in range(m)] + ([(a, b) for b, a in combinations(range(m), 2)] if 3 < m <= _UNITED else [])
    large = [(a,) for a in range(m) if m > 2 and counts[order[a]] >= _LARGE * number.size]
    for negated, each in [(False, union) for union in unions] + [(True, one) for one in large]:
        sets.append([(k in each) != negated for k in range(m + 2)])
        conditions.append(Condition(name, values=tuple(names[order[a]] for a in each), negated=negated))
    sets.append([False] * (m + 1) + [True])
    conditions.append(Condition(name, missing=True))
    categories = tuple(map(str, names))
    return Column(name, number, place[number], (None, *conditions), _with_all(sets, m + 2), categories)


def _with_all(sets: Sequence[Sequence[bool]], size: int) -> AnyFloats:
    """Add the condition that all rows fulfil."""
    return np.array([[True] * size, *sets], dtype=np.float32)
