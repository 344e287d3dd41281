"""How the columns of a tally are written: first to be read fast, and then in few bytes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

TYPES = {name: np.dtype(name) for name in ("<f8", "<i8", "|u1")}
_NARROW = tuple(np.dtype(name) for name in ("|u1", "<u2", "<u4"))
STORED = TYPES | {kind.str: kind for kind in _NARROW}
"""Types of columns, and those of their numbers in a file."""


def repeated(columns: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Name the columns that equal an earlier one of their table, as the weights of rows that all weigh 1."""
    found: dict[str, str] = {}
    before: dict[tuple[str, str, bytes], str] = {}
    for name, column in columns.items():
        first = before.setdefault((name.rpartition("/")[0], column.dtype.str, column.tobytes()), name)
        if first != name and column.size:
            found[name] = first
    return found


def narrow(column: NDArray[Any]) -> np.dtype[Any]:
    """Give the narrowest type that holds a column: that of whole numbers where they are."""
    own = column.dtype.newbyteorder("<")
    if own.itemsize == 1 or not column.size or np.signbit(column).any() or not np.isfinite(column).all():
        return own
    if (column != np.floor(column)).any():
        return own
    return next((kind for kind in _NARROW if column.max() <= np.iinfo(kind).max), own)


def compact(column: NDArray[Any]) -> tuple[bytes, dict[str, Any]]:
    """Give a column in few bytes, and how they are to be read: their type, and whether they are steps from a number."""
    kind, how = narrow(column), dict[str, Any]()
    if column.dtype == np.int64 and column.size > 1 and (column[1:] >= column[:-1]).all():  # keys in order
        steps = np.diff(column, prepend=column[:1])
        if (of_steps := narrow(steps)).itemsize < kind.itemsize:
            kind, how, column = of_steps, {"from": int(column[0])}, steps
    if kind != column.dtype:
        how["as"] = kind.str
    return column.astype(kind).tobytes(), how


def summed(steps: NDArray[Any], start: Any) -> NDArray[np.int64]:
    """Give the column that is written in these steps."""
    if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start < 1 << 62:
        raise ValueError("steps begin nowhere")
    return np.cumsum(steps, dtype=np.int64) + start


_PIECE, _EVERY = 1 << 10, 1 << 13
"""Pieces this long, at these intervals of a long section, show whether it is worth compressing."""


def packed(body: bytes) -> bytes:
    """Compress a section, or leave it as it is where that saves less than half: then its length is what is stored.

    Tallies of 10^5 to 10^7 rows of two classes are a quarter to a third larger than if all were compressed, and read
    in less than half the time.
    """
    if len(body) > 2 * _EVERY:
        sample = b"".join(body[at : at + _PIECE] for at in range(0, len(body), _EVERY))
        if len(zlib.compress(sample, 1)) > 0.7 * len(sample):
            return body
    found = zlib.compress(body, 1)
    return found if 2 * len(found) < len(body) else body
