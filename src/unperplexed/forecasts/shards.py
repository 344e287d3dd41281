"""Which shard a row is in: by a hash that is the same on every machine and in every version."""

from __future__ import annotations

import re
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.typing import Ints
from .group_keys import cluster_columns, distinct_clusters, value_of

N_SHARDS = 1000


def shards_of_rows(source: str, rows: Ints) -> Ints:
    """Shard of each row by its number in a source."""
    start = _mixed(np.array([zlib.crc32(source.encode(errors="surrogatepass"))], dtype=np.uint64))
    return shard_of(_mixed(rows.astype(np.uint64) + start))


def shards_of_clusters(clusters: Any, first_row: int = 0) -> Ints:
    """Shard of each row by its cluster."""
    return shard_of(hashes_of_clusters(clusters, first_row))


def hashes_of_clusters(clusters: Any, first_row: int = 0) -> NDArray[np.uint64]:
    """Hash of each row's cluster: numbers or texts in one column or several; 3, 3.0, "3" and "3.0" are the same."""
    first, *others = cluster_columns(clusters)
    mixed = _mixed(_hashes(first, first_row))
    for column in others:
        mixed = _mixed(mixed + _hashes(column, first_row))
    return mixed


def _hashes(column: NDArray[Any], first_row: int) -> NDArray[np.uint64]:
    """Hash of each row's value in a column."""
    if column.dtype.kind in "iub":
        return column.astype(np.int64).view(np.uint64)
    values, inverse = distinct_clusters(column, first_row)
    hashes: NDArray[np.uint64] = np.array([_hash(value) for value in values], dtype=np.uint64)[inverse]
    return hashes


_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def _hash(value: Any) -> int:
    text = str(value_of(value))
    if _WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text) % 2**64
    return zlib.crc32(text.encode(errors="surrogatepass")) | 1 << 40


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread numbers over all 64 bits: the finalizer of splitmix64 (Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def shard_of(x: NDArray[np.uint64]) -> Ints:
    """Shard that a hash is in."""
    return (x % np.uint64(N_SHARDS)).astype(np.int64)
