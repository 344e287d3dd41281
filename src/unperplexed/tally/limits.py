"""What the counts of a tally can be: limits, and how they must go together. What is not so was not counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._lib.errors import InputError
from ..kernels.rows import HALF_BITS, Grid
from .tables import Cells, PairTable

MOST_PAIRS = 1 << 53
"""Rows times classes of a tally: up to here every count is exact, and so the sum of tallies the same in any order."""

MOST_LABEL_BYTES = 1 << 26
"""Bytes of all labels together in a file."""

_MOST_WEIGHT = 1e140
"""More than any 2^53 rows weigh, whose weights are at most 1e100."""

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


def check_counts(name: str, table: PairTable, grid: Grid, weighted: bool) -> None:
    """Hold the columns of a table, none of them negative, against one another."""
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
        whole = (x == np.floor(x) for x in (happened, *([] if table.total is happened else [table.total])))
        require(all(each.all() for each in whole), f"{name!r}: parts of rows")
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
    moments = (w, first, table.second_high, table.second_low)
    require(all((column < _MOST_WEIGHT).all() for column in moments), f"{name!r}: places lie outside their cell")
    # Where nothing happened, this says that the sums of places and of their squares are 0.
    last = ((1 << grid.shift) - 1) * (1 + _LOOSE)
    second = table.second_high * (1 << HALF_BITS) + table.second_low
    possible = (first <= w * last) & (first * first <= w * second * (1 + _LOOSE)) & (second <= first * last)
    require(possible.all(), f"{name!r}: places lie outside their cell")
