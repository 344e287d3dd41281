"""Tallies of counts that are grouped already, such as those of a database: how often each prediction came true."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import as_array
from .._lib.errors import InputError, rows_text
from .._lib.typing import AnyFloats, Bools, Ints
from ..forecasts.labels import Label

_MOST = 1 << 52
"""Rows of two classes whose pairs a tally can count."""


def digits_of_counts(
    reported: Any, happened: Any, total: Any, labels: Sequence[Label]
) -> Iterator[tuple[NDArray[np.object_], AnyFloats]]:
    """Give outcomes and predictions of the rows of each binary digit of the counts, from the highest one.

    A tally of each, doubled as often as the digit says, adds up to that of every row.
    """
    p = as_array(reported)
    positive, n = _whole("happened", happened, p.size), _whole("total", total, p.size)
    _refuse("happened", positive > n, "is above total")
    if len(labels) != 2:
        raise InputError(f"labels: expected two, the negative class first, got {list(labels)!r}.")
    if int(n.sum()) > _MOST:
        raise InputError(f"total: {int(n.sum()):,} rows; a tally of two classes counts up to {_MOST:,}.")
    outcome = np.repeat(np.asarray(labels, dtype=object), p.size)
    both, counts = np.concatenate([p, p]), np.concatenate([n - positive, positive])
    for digit in range(int(counts.max(initial=0)).bit_length() - 1, -1, -1):
        here = (counts >> digit & 1).astype(bool)
        yield outcome[here], both[here]


def _whole(name: str, values: Any, size: int) -> Ints:
    """Read counts: whole numbers from 0, one for each prediction."""
    found = np.asarray(as_array(values), dtype=np.float64)
    if found.shape != (size,):
        raise InputError(f"{name}: {found.size} counts for {size} predictions; each needs one.")
    _refuse(name, ~((found >= 0) & (found < _MOST) & (found == np.floor(found))), "is no whole number from 0")
    return found.astype(np.int64)


def _refuse(name: str, wrong: Bools, what: str) -> None:
    at = np.flatnonzero(wrong)
    if at.size:
        raise InputError(f"{name}: {what} in {rows_text(at)}. Repair the counts.")
