"""Some of the rows, kept row by row: in which coarse cells their probabilities are.

Which pairs are of one row is lost where pairs are counted. A tally of more than two classes keeps it of as many rows as
there is room for: those whose probabilities have the lowest hashes, so that it depends on the rows alone which they
are, and not on their order or on how they are split (a bottom-k sketch: Cohen and Kaplan 2007).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._lib.dataclasses import dataclass
from .._lib.typing import AnyFloats, Floats, Ints
from ..kernels.devices import DeviceRows
from ..kernels.rows import COARSE, Rows, row_hashes
from ..kernels.softmax import LogitRows

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
    def of(rows: Rows, p: AnyFloats | DeviceRows | LogitRows, highest: int) -> RowSample:
        """Hash rows, and keep those whose hash is at most so high and for which there is room; in no order."""
        key, some = row_hashes(rows, highest)
        room = ROOM // p.shape[1]
        if some.size > room:
            some = some[key[some] <= _nth_distinct(key[some], room)]
        code, _ = COARSE.places(np.ascontiguousarray(np.asarray(p[some])).reshape(-1))
        cells = np.sort(code.astype(np.uint8).reshape(-1, p.shape[1]), axis=1, kind="stable")
        return RowSample(key[some], np.ones(some.size), cells)

    def __add__(self, other: RowSample) -> RowSample:
        """Take both together."""
        if not self.key.size or not other.key.size:
            return self if self.key.size else other
        return together([self, other])

    def lowest(self) -> RowSample:
        """Add up equal rows, and keep as many as there is room for."""
        key, first, number = np.unique(self.key, return_index=True, return_inverse=True)
        if key.size < self.key.size:  # of rows that only share the hash, the lowest stands for all
            order = np.lexsort((*self.cells.T[::-1], self.key))
            first = order[np.unique(self.key[order], return_index=True)[1]]
        count = np.bincount(number, self.count, key.size).astype(np.float64)
        room = slice(ROOM // self.cells.shape[1])
        return RowSample(key[room], count[room], self.cells[first[room]])


def together(samples: Sequence[RowSample]) -> RowSample:
    """Take several together."""
    return RowSample(
        *(np.concatenate([getattr(x, name) for x in samples]) for name in ("key", "count", "cells"))
    ).lowest()


def _nth_distinct(key: Ints, n: int) -> int:
    """Give the nth lowest of distinct keys, or the highest if there are fewer; most keys need not be sorted."""
    few = np.partition(key, 2 * n)[: 2 * n] if key.size > 2 * n else key
    distinct = np.unique(few)
    if distinct.size < n and few is not key:
        distinct = np.unique(key)
    return int(distinct[:n][-1])


class RowSampleCounter:
    """Keeps some rows of a tally. Of two classes either tells the other: there is nothing to keep."""

    def __init__(self, n_classes: int) -> None:
        none = RowSample(np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, n_classes), dtype=np.uint8))
        self._kept = none if 2 < n_classes <= ROOM else None
        self._waiting: list[RowSample] = []

    def add(self, rows: Rows, p: AnyFloats | DeviceRows | LogitRows) -> None:
        """Keep what belongs among the rows kept, or may: that is found out when as many wait as there is room for."""
        if self._kept is not None:
            room = ROOM // p.shape[1]
            full = len(self._kept.key) == room
            self._waiting.append(RowSample.of(rows, p, int(self._kept.key[-1]) if full else _HIGHEST))
            if not full or sum(len(some.key) for some in self._waiting) > room:
                self._keep()

    def _keep(self) -> None:
        if self._kept is not None and self._waiting:
            self._kept, self._waiting = together([self._kept, *self._waiting]), []

    @property
    def sample(self) -> RowSample | None:
        """The rows kept."""
        self._keep()
        return self._kept


_HIGHEST = (1 << 63) - 1
"""No hash is higher."""
