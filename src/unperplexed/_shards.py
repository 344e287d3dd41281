"""Which shard a row is in: by a hash that is the same on every machine and in every version."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._arrays import as_array
from ._typing import Ints
from .errors import InputError, rows_text
from .labels import plain

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
    values, inverse = np.unique(array, return_inverse=True) if array.dtype.kind == "f" else _factorized(array)
    plain_values = [plain(value) for value in values.tolist()]
    missing = [at for at, value in enumerate(plain_values) if value is None]
    if missing:
        rows = first_row + np.flatnonzero(np.isin(inverse, missing))
        raise InputError(f"{name}: no group in {rows_text(rows)}. Repair them.")
    return _shard(_mixed(np.array([_hash(value) for value in plain_values], dtype=np.uint64)))[inverse]


def _factorized(array: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    seen: dict[Any, int] = {}
    inverse = np.array([seen.setdefault(value, len(seen)) for value in array.tolist()], dtype=np.int64)
    values = np.empty(len(seen), dtype=object)
    values[:] = list(seen)
    return values, inverse


def _hash(value: Any) -> int:
    text = str(value)
    if text.lstrip("-").isdecimal() and text == str(int(text)) and -(2**63) <= int(text) < 2**63:
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
