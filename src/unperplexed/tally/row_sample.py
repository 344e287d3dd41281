"""Some of the rows, kept row by row: in which coarse cells their probabilities are.

Which pairs are of one row is lost where pairs are counted. A tally of more than two classes keeps it of as many rows as
there is room for: those whose probabilities have the lowest hashes, so that it depends on the rows alone which they
are, and not on their order or on how they are split (a bottom-k sketch: Cohen and Kaplan 2007).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._lib.typing import AnyFloats, Floats, Ints
from ..kernels.devices import DeviceRows
from ..kernels.rows import COARSE, Rows

ROOM = 1 << 16
"""So many probabilities are kept, of whole rows."""


@dataclass(frozen=True)
class RowSample:
    """Distinct rows by their hash, in increasing order."""

    key: Ints
    count: Floats
    """How many rows are the same."""
    cells: NDArray[np.uint8]
    """Cells of the probabilities of each row, in increasing order."""

    @staticmethod
    def of(rows: Rows, p: AnyFloats | DeviceRows, highest: int) -> RowSample:
        """Hash rows, and keep those whose hash is at most so high and for which there is room."""
        key, room = _hashes(rows), ROOM // p.shape[1]
        some = np.flatnonzero(key <= highest)
        if some.size > room:
            distinct = np.unique(key[some])
            some = some[key[some] <= distinct[:room][-1]]
        code, _ = COARSE.places(np.ascontiguousarray(np.asarray(p[some])).reshape(-1))
        cells = np.sort(code.astype(np.uint8).reshape(-1, p.shape[1]), axis=1, kind="stable")
        return RowSample(key[some], np.ones(some.size), cells).lowest()

    def __add__(self, other: RowSample) -> RowSample:
        """Take both together."""
        if not self.key.size or not other.key.size:
            return self if self.key.size else other
        both = [np.concatenate([getattr(x, name) for x in (self, other)]) for name in ("key", "count", "cells")]
        return RowSample(*both).lowest()

    def lowest(self) -> RowSample:
        """Add up equal rows, and keep as many as there is room for."""
        key, first, number = np.unique(self.key, return_index=True, return_inverse=True)
        if key.size < self.key.size:  # of rows that only share the hash, the lowest stands for all
            order = np.lexsort((*self.cells.T[::-1], self.key))
            first = order[np.unique(self.key[order], return_index=True)[1]]
        count = np.bincount(number, self.count, key.size).astype(np.float64)
        room = slice(ROOM // self.cells.shape[1])
        return RowSample(key[room], count[room], self.cells[first[room]])


class RowSampleCounter:
    """Keeps some rows of a tally. Of two classes either tells the other: there is nothing to keep."""

    def __init__(self, n_classes: int) -> None:
        none = RowSample(np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, n_classes), dtype=np.uint8))
        self.sample = none if 2 < n_classes <= ROOM else None

    def add(self, rows: Rows, p: AnyFloats | DeviceRows) -> None:
        """Keep what belongs among the rows kept."""
        if self.sample is not None:
            full = len(self.sample.key) == ROOM // p.shape[1]
            self.sample += RowSample.of(rows, p, int(self.sample.key[-1]) if full else _HIGHEST)


_HIGHEST = (1 << 63) - 1


def _hashes(rows: Rows) -> Ints:
    """Hash of each row by its highest probability and the sum of squares, from 0 to 2**63 - 1."""
    x = rows.highest.view(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(29)
    x ^= rows.squares.view(np.uint64)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(1)).view(np.int64)
