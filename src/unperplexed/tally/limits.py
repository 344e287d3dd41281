"""What the counts of a tally can be: limits, and how they must go together. What is not so was not counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats
from ..kernels.rows import HALF_BITS, Grid
from .tables import Cells, PairTable

MOST_PAIRS = 1 << 53
"""Rows times classes of a tally: up to here every count is exact, and so the sum of tallies the same in any order."""

MOST_LABELS, MOST_LABEL_BYTES = 1_000_000, 1 << 26
"""Different labels of a file, and bytes of all of them together: they are held in memory."""

_TEXT_OR_COMMA = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|,', re.DOTALL)
"""A text ends with the JSON if nothing else ends it, so that none is read twice."""

_MOST_WEIGHT = 1e140
"""More than any 2^53 rows weigh, whose weights are at most 1e100."""

ROUNDED = 1 + 1e-9
"""A sum of parts may be so many times the whole by rounding."""

MOST_WHOLE = 1 << 62
"""Whole numbers in a file are below this: two of them add up within 64 bits."""

_LOOSE = 1e-6
"""Relative room for the last digits of sums with weights."""


def refuse_too_many(n_rows: int, n_classes: int, left_out: int) -> None:
    """Refuse counts that would no longer be exact."""
    if max(n_rows * max(1, n_classes), left_out) > MOST_PAIRS:
        raise InputError(
            f"{max(n_rows, left_out):,} rows of {n_classes:,} classes: a tally counts up to 2^53 (9.0e15) pairs, rows"
            " times classes, beyond which counts are not exact."
        )


def require(holds: bool | np.bool_, what: str) -> None:
    """Refuse a file that cannot be."""
    if not holds:
        raise ValueError(what)


def check_values(text: bytes, most: int, what: str) -> None:
    """Refuse JSON of more values than there can be before it is read: each takes more memory than its text."""
    if text.count(b",") < most:
        return
    commas = (1 for found in _TEXT_OR_COMMA.finditer(text) if text[found.start()] == ord(","))
    require(next(islice(commas, most, None), None) is None, f"{what} have more than {most:,} values")


def require_close(found: float, expected: float, what: str) -> None:
    """Refuse sums that differ by more than their last digits."""
    require(abs(found - expected) <= _LOOSE * expected, what)


def check_weights(state: Mapping[str, Any]) -> None:
    """Hold the sums of weights against the number of rows."""
    refuse_too_many(state["n_rows"], state["n_classes"], state["notes"].ignored)
    n, weight, squared = state["n_weighing"], state["weight"], state["weight_squared"]
    require((n > 0) == (weight > 0), "rows have no weight")
    if not state["weighted"]:
        require(weight == squared == state["n_rows"] == n, "the weight is not the number of rows")
    square = weight * weight
    possible = square <= n * squared * (1 + _LOOSE) and squared <= square * (1 + _LOOSE) and np.isfinite(square)
    require(possible, "squared weights do not go with weights")


def check_counts(name: str, table: PairTable, grid: Grid, weighted: bool, whole: Callable[[Floats], bool]) -> None:
    """Hold the columns of a table, none of them negative, against one another.

    Parameters
    ----------
    name : str
        What errors call the table.
    table : PairTable
        Counts by value or by cell.
    grid : Grid
        The cells.
    weighted : bool
        Whether rows have weights of their own; else all counts are whole numbers.
    whole : callable
        Whether all numbers of a column are whole.

    Raises
    ------
    ValueError
        For columns that no rows give.
    """
    happened, squared, some = table.happened, table.squared, table.happened > 0
    require((table.total > 0).all(), f"{name!r}: an entry counts nothing")
    if weighted:
        require(((squared > 0) == some).all(), f"{name!r}: squared weights where there are none")
        with np.errstate(over="ignore"):
            possible = (squared <= happened * happened * (1 + _LOOSE)) & (happened < _MOST_WEIGHT)
        require(possible.all(), f"{name!r}: squared weights do not go with weights")
    else:
        same = squared is happened or (squared == happened).all()
        require(same, f"{name!r}: squared weights of rows that all weigh 1")
        require(whole(happened) and (table.total is happened or whole(table.total)), f"{name!r}: parts of rows")
    if isinstance(table, Cells):
        _check_cells(name, table, grid, some)


def _check_cells(name: str, table: Cells, grid: Grid, some: Any) -> None:
    w, low, high, key, first = table.happened, table.low, table.high, table.key, table.first
    inside = (low <= high) & (grid.codes(low) == key) & (grid.codes(high) == key)
    if not some.all():
        empty = some | ((low == np.inf) & (high == -np.inf))
        require(empty.all(), f"{name!r}: a cell in which nothing happened has values")
        inside |= ~some
    require(inside.all(), f"{name!r}: values lie outside their cell")
    # Where nothing happened, this says that the sums of places and of their squares are 0. They are bounded by the
    # weight, which is bounded.
    last = ((1 << grid.shift) - 1) * (1 + _LOOSE)
    with np.errstate(over="ignore", invalid="ignore"):
        second = table.second_high * (1 << HALF_BITS) + table.second_low
        possible = (first <= w * last) & (first * first <= w * second * (1 + _LOOSE)) & (second <= first * last)
    require(possible.all(), f"{name!r}: places lie outside their cell")
