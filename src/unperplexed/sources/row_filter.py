"""Which rows are wanted: an SQL expression of columns, which polars parses; no code of the user's is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from .._lib.errors import InputError, rows_text
from .._lib.typing import Bools, Ints
from .derived_columns import YEAR_FIRST, Derived, Known, derived
from .readers import Batch, Column


class RowFilter:
    """Rows for which an SQL expression is true; where it is null they are not wanted."""

    def __init__(self, expression: str) -> None:
        """Take the expression; "" wants all rows."""
        self.text = expression

    @cached_property
    def columns(self) -> list[str]:
        """Names of the columns that the expression speaks of."""
        if not self.text:
            return []
        names = [*dict.fromkeys(self._parsed.meta.root_names())]
        if not names:
            raise self._refused("it names no column")
        return names

    @cached_property
    def _parsed(self) -> pl.Expr:
        try:
            return pl.sql_expr(self.text)
        except PolarsError as error:
            raise self._refused(str(error).partition("\n")[0]) from None

    def rows(self, frame: pl.DataFrame) -> Bools:
        """Say of each row of the named columns whether it is wanted; texts that are all numbers are numbers."""
        wanted = self.matches(frame)
        if not wanted.any():
            raise self.none_of(frame.height)
        return wanted

    def places(self, columns: Mapping[str, Column]) -> Ints | None:
        """Return the places of the rows of a batch that are wanted, which may be none; None where all are."""
        if not self.columns:
            return None
        chosen = {name: columns[name] for name in self.columns}
        times = any(isinstance(each, pl.Series) and isinstance(each.dtype, pl.Datetime) for each in chosen.values())
        if times and re.search(r"'\d{4}-\d\d-\d\d \d", self.text):
            raise self._refused("a T stands between date and time")
        frame = pl.DataFrame({name: condition_column(each, name) for name, each in chosen.items()})
        return np.flatnonzero(self.matches(frame))

    def matches(self, frame: pl.DataFrame) -> Bools:
        """Say of each row whether it is wanted, which none may be."""
        numbers = frame.with_columns(map(_as_numbers, frame))
        filled = numbers.with_columns(each for each in frame if numbers[each.name].is_null().all())
        refused: list[str] = []
        for read in (numbers, filled, frame):  # "site = 'a'" where no site is known; "code = '007'" of numbers
            try:
                found = self._evaluated(read)
                break
            except PolarsError as error:
                refused.append(str(error).partition("\n")[0].rstrip("."))
        else:
            kinds = ", ".join(f"{name!r} holds {_kind(numbers[name])}" for name in self.columns)
            raise self._refused(f"{refused[0]}; column {kinds}")
        if found.dtype != pl.Boolean or found.len() != frame.height:
            raise self._refused("it is not true or false of each row")
        return np.asarray(found.fill_null(False).to_numpy())

    def _evaluated(self, frame: pl.DataFrame) -> pl.Series:
        return frame.select(self._parsed.alias("wanted"))["wanted"]

    def none_of(self, rows: int) -> InputError:
        """Return the error for a condition that no row meets."""
        return InputError(f"--where {self.text}: true of none of {rows:,} rows.")

    def _refused(self, reason: str) -> InputError:
        return InputError(
            f"--where {self.text}: {reason}. Write an SQL condition of columns, such as"
            " \"season >= 2016 AND round = 'final'\", with texts and dates in single quotes, '2024-02-01T06:00:00', and"
            ' names with blanks or signs in double ones, "amount €".'
        )


ALL_ROWS = RowFilter("")


def condition_column(column: Column, name: str) -> pl.Series:
    """Give truth values as they are, and anything else as keys are spelled."""
    if isinstance(column, pl.Series) and column.dtype == pl.Boolean:
        return column
    return key_column(column, name)


def _kind(column: pl.Series) -> str:
    return "text" if column.dtype == pl.String else "true and false" if column.dtype == pl.Boolean else "numbers"


def _as_numbers(column: pl.Series) -> pl.Series:
    if column.dtype != pl.String:
        return column
    numbers = column.replace("", None).cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.replace("", None).null_count() else column


def condition_of(columns: Sequence[str], key: Sequence[Any], keys: Sequence[Sequence[Any]]) -> str:
    """Write the condition for the rows of one of some groups; "" where a value has no sure spelling, such as a date."""
    parts = []
    if any(derived(name).how for name in columns):  # a month, or a quantile, is no column of the file
        return ""
    for at, (name, value) in enumerate(zip(columns, key, strict=True)):
        values = [each[at] for each in keys if each[at] is not None]
        texts = all(isinstance(each, str) for each in values)
        if not texts and not all(isinstance(each, int | float) and not isinstance(each, bool) for each in values):
            return ""
        if value is None or (texts and all(map(_is_number, values))):
            return ""
        named = name if re.fullmatch(r"[a-z_][a-z0-9_]*", name) else '"' + name.replace('"', '""') + '"'
        parts.append(f"{named} = " + ("'" + value.replace("'", "''") + "'" if texts else repr(value)))
    return " AND ".join(parts)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def key_column(column: Column, name: str) -> pl.Series:
    """Whole numbers of 64 bits as they are, anything else as text: "3.0" as "3", so that no format hides equal ids."""
    if isinstance(column, np.ndarray):
        if column.ndim > 2 or (column.ndim == 2 and column.shape[1] != 1):
            raise InputError(f"column {name!r}: expected one value a row, got shape {column.shape}.")
        column = column.ravel()
        if column.dtype.kind == "S":
            column = np.char.decode(column, "utf-8", "backslashreplace")
        native = np.float64 if column.dtype.kind == "f" else column.dtype.newbyteorder("=")
        column = pl.Series(column.astype(native, copy=False))
    if column.dtype.is_nested() or column.dtype in (pl.Object, pl.Binary):
        raise InputError(f"column {name!r} holds {column.dtype}, not numbers or texts.")
    if isinstance(column.dtype, pl.Datetime):
        return column.dt.strftime("%Y-%m-%dT%H:%M:%S%.f" + "%:z" * (column.dtype.time_zone is not None))
    if column.dtype.is_float():
        column = column.fill_nan(None)
        whole = column.cast(pl.Int64, strict=False)
        is_whole = (whole.cast(pl.Float64) == column).fill_null(False) | column.is_null()
        column = whole if is_whole.all() else whole.cast(pl.String).zip_with(is_whole, column.cast(pl.String))
    if column.dtype.is_integer() and column.dtype != pl.UInt64:
        return column.cast(pl.Int64)
    return column.cast(pl.String).str.replace(r"^(-?(?:0|[1-9][0-9]*))\.0$", "$1")


def refuse_empty(key: pl.Series, name: str, rows: Ints) -> None:
    """Refuse rows of these numbers where a column that tells rows or forecasters apart is empty, or blank."""
    empty = key.is_null() | (key.str.strip_chars() == "" if key.dtype == pl.String else key.is_null())
    if empty.any():
        raise InputError(f"column {name!r} is empty in {rows_text(rows[empty.to_numpy()])}. Repair them.")


def standing_in(batch: Batch, places: Ints | None, made: Mapping[str, Column]) -> Batch:
    """Put the last wanted row in place of those after it that are not, and nothing in place of those before the first.

    Nothing of these is read then, and rows keep their numbers. Columns made of the wanted rows are added.
    """
    if places is None:
        return replace(batch, raw={**batch.raw, **made})
    first = int(places[0])
    at = np.zeros(batch.n_rows - first, dtype=np.int64)
    at[places - first] = places
    at = np.maximum.accumulate(at)
    return replace(
        batch,
        first_row=batch.first_row + first,
        n_rows=at.size,
        probabilities=[columns[at] for columns in batch.probabilities],
        numbers={name: column[at] for name, column in batch.numbers.items()},
        raw={name: column[at] for name, column in batch.raw.items()}
        | {name: column[np.searchsorted(places, at)] for name, column in made.items()},
        unreadable=None if batch.unreadable is None else batch.unreadable[at],
    )


def group_columns(
    batch: Batch, keys: Sequence[Derived], known: Mapping[str, Known], places: Ints | None
) -> dict[str, Column]:
    """Give the columns that make the groups of the wanted rows."""
    rows = slice(None) if places is None else places
    found: dict[str, Column] = {}
    for key in keys:
        column = batch.raw[key.column][rows]
        if key.how:
            numbers = batch.first_row + (np.arange(batch.n_rows) if places is None else places)
            column = key.groups(key_column(column, key.column), numbers, known.get(key.name, YEAR_FIRST))
        found[key.name] = column
    return found


def known_of(keys: Sequence[Derived], batches: Iterable[tuple[Batch, Ints | None]]) -> dict[str, Known]:
    """Find the quantiles of whole columns, in eight bytes a row, and the order of dates that begin without a year."""
    keys = unsettled = [key for key in keys if key.how]
    read: dict[str, list[pl.Series]] = {key.name: [] for key in keys}
    for batch, places in batches if unsettled else ():
        numbers = batch.first_row + (np.arange(batch.n_rows) if places is None else places)
        for key in unsettled:
            column = key_column(batch.raw[key.column][slice(None) if places is None else places], key.column)
            read[key.name].append(key.seen(column, numbers))
        unsettled = [key for key in unsettled if key.needs_all or not numbers.size or read[key.name][-1].len()]
        if not unsettled:
            break
    return {key.name: key.known(pl.concat(read[key.name])) for key in keys if read[key.name]}
