"""Which shard a row is in: by a hash that is the same on every machine and in every version."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import as_array
from ._typing import Ints
from .errors import InputError, rows_text
from .labels import distinct_labels

N_SHARDS = 1000


def shards_of_rows(source: str, rows: Ints) -> Ints:
    """Shard of each row by its number in a source."""
    start = _mixed(np.array([zlib.crc32(source.encode(errors="surrogatepass"))], dtype=np.uint64))
    return _shard(_mixed(rows.astype(np.uint64) + start))


def shards_of_groups(groups: Any, name: str = "groups", first_row: int = 0) -> Ints:
    """Shard of each row by its group, a number or a text; 3, 3.0 and "3" are the same group."""
    array = as_array(groups)
    if array.ndim != 1:
        raise InputError(f"{name}: expected one group a row, got shape {array.shape}.")
    if array.dtype.kind in "iub":
        return _shard(_mixed(array.astype(np.int64).view(np.uint64)))
    values, inverse = distinct_labels(array)
    missing = [at for at, value in enumerate(values) if value is None]
    if missing:
        rows = first_row + np.flatnonzero(np.isin(inverse, missing))
        raise InputError(f"{name}: no group in {rows_text(rows)}. Repair them.")
    shards: Ints = _shard(_mixed(np.array([_hash(value) for value in values], dtype=np.uint64)))[inverse]
    return shards


_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def _hash(value: Any) -> int:
    text = str(value)
    if _WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text) % 2**64
    return zlib.crc32(text.encode(errors="surrogatepass")) | 1 << 40


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread numbers over all 64 bits: the finalizer of splitmix64 (Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _shard(x: NDArray[np.uint64]) -> Ints:
    return (x % np.uint64(N_SHARDS)).astype(np.int64)
