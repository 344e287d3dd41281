"""Outcomes that stand in a file of their own, such as the target data of a hub, matched to forecasts once each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from .._lib.dataclasses import replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats
from .file_reading import FileReading, Partition, named
from .hub import PLACE, numbers_of
from .predictive_columns import TARGET_DATE, PredictiveSelection
from .predictive_rows import Rows, opened
from .readers import Wanted
from .readers.formats import found_files
from .row_filter import ALL_ROWS, key_column
from .tables import Table, read_table

_VALUES = ("observation", "value", "oracle_value")
"""Columns of outcomes, as hubs name them."""

_VERSION = "as_of"
"""Column of hubs that says when an outcome was published, of which the last counts."""


def with_outcomes(rows: Rows, selection: PredictiveSelection, reading: FileReading) -> tuple[Rows, PredictiveSelection]:
    """Add the outcome of each forecast; those that have none are left out."""
    file = str(selection.target_data)
    reading = replace(reading, format=None, sheet=None)
    parts = opened(found_files([file]), replace(selection, words=()), reading, lambda _: None)
    names = parts[0].source.names
    truth = selection.truth or next((each for each in _VALUES if each in names), None)
    if truth is None:
        raise InputError(f"{file}: no column {' or '.join(_VALUES)}; --truth names that of the outcomes.")
    keys = _keys(rows.frame, names, selection, truth)
    if not keys:
        have = f"forecasts have {listed(rows.frame.columns, 12)}, outcomes {listed(names, 12)}"
        raise InputError(f"{file}: no column to match by; {have}. Rename them alike, or name them with --on.")
    versions = [_VERSION] if _VERSION in names else []
    known = _outcomes(parts, truth, [*keys.values(), *versions], rows.labels, reading)
    known = known[np.isfinite(known.numbers[truth])]
    if versions:
        known = known[known.frame[_VERSION].arg_sort(descending=True).to_numpy()]
        last = _first(known.frame, keys)
        earlier, known = int(np.count_nonzero(~last)), known[last]
        note = (earlier, f"{number_of(earlier, 'outcome')} of an earlier {_VERSION} left out: the last one counts.")
        rows = replace(rows, notes=[*rows.notes, *[note] * bool(earlier)])
    by = " and ".join(keys.values())
    remedy = "Leave one of them out, or match by more columns (--on)."
    known.refuse(~_first(known.frame, keys), f"a second outcome of the same {by}", remedy)
    y, lost = _looked_up(rows.frame, known.frame, keys, known.numbers[truth])
    rows = replace(rows, notes=[*rows.notes, *((len(y), f"{name}: {_LOST_ZEROS}") for name in lost)])
    with named(file):
        if unknown := int(np.count_nonzero(y < 0)) if rows.labels else 0:
            raise InputError(f"{number_of(unknown, 'outcome')} of forecasts are none of {listed(rows.labels)}.")
        kept = rows.only(~np.isnan(y), f"no outcome has the same {by}")
    return replace(kept, numbers={**kept.numbers, truth: y[~np.isnan(y)]}), replace(selection, truth=truth)


def _outcomes(
    parts: Sequence[Partition], truth: str, beside: Sequence[str], labels: Sequence[str], reading: FileReading
) -> Table:
    """Read outcomes: numbers, or those of categories, which stand in a column or have a line each, with a 1."""
    if not labels:
        return read_table(parts, Wanted([], [truth], beside), ALL_ROWS, reading)
    if PLACE not in parts[0].source.names:
        known = read_table(parts, Wanted([], [], [*beside, truth]), ALL_ROWS, reading)
        return replace(known, numbers={truth: numbers_of(known.frame[truth], labels)})
    known = read_table(parts, Wanted([], [truth], [*beside, PLACE]), ALL_ROWS, reading)
    category = numbers_of(known.frame[PLACE], labels)
    so = (known.numbers[truth] == 1) & (category >= 0)
    return replace(known, numbers={truth: np.where(so, category, np.nan)})


def _keys(frame: pl.DataFrame, names: list[str], selection: PredictiveSelection, truth: str) -> dict[str, str]:
    """Name the columns of forecasts that outcomes are matched by, and what these columns are called there."""
    shared = [name for name in frame.columns if name in names and name not in (truth, _VERSION)]
    keys = {name: name for name in selection.on or shared}
    date, there = selection.target_date, next((name for name in (*TARGET_DATE, "date") if name in names), None)
    if date is not None and date not in names and there is not None and date in (selection.on or [date]):
        keys[date] = there
    return keys


def _first(frame: pl.DataFrame, keys: dict[str, str]) -> Bools:
    """Say of each row whether none before it has the same keys."""
    return np.asarray(frame.select(pl.struct(keys.values()).is_first_distinct()).to_series().to_numpy())


_LOST_ZEROS = "leading zeros are in one of the files only, so that '06' and '6' were taken as the same."


def _looked_up(
    frame: pl.DataFrame, known: pl.DataFrame, keys: dict[str, str], values: Floats
) -> tuple[Floats, list[str]]:
    """Give the outcome of each row, NaN where there is none; and the keys of which one side has lost leading zeros."""
    left = frame.select(_spelled(frame[name]).alias(str(at)) for at, name in enumerate(keys))
    right = known.select(_spelled(known[name]).alias(str(at)) for at, name in enumerate(keys.values()))
    lost = [at for at in left.columns if _lost_zeros(left[at].unique(), right[at].unique())]
    left, right = (side.with_columns(pl.col(lost).str.replace(*_ZEROS)) for side in (left, right))
    found = left.join(right.with_columns(y=pl.Series(values)), on=left.columns, how="left", maintain_order="left")
    return np.asarray(found["y"].fill_null(np.nan).to_numpy()), [[*keys][int(at)] for at in lost]


_ZEROS = r"^0+(\d+)$", "$1"


def _lost_zeros(*sides: pl.Series) -> bool:
    """Whether numbers have leading zeros on one side only, and differ by more than these."""
    bare = [side.str.replace(*_ZEROS) for side in sides]
    zeros = [short.filter(short != side) for short, side in zip(bare, sides, strict=True)]
    if sum(not each.is_empty() for each in zeros) != 1 or not all(short.is_unique().all() for short in bare):
        return False
    return any(each.is_in(other.implode()).any() for each, other in zip(zeros, sides[::-1], strict=True))


def _spelled(column: pl.Series) -> pl.Series:
    """Spell keys alike whatever the format, such as CSV, in which all is text."""
    return key_column(column, column.name).cast(pl.String)
