"""Rows of two classes of which one column is given: counted by the compiled kernel, both classes in one step.

The probability of the other class is 1 - p, so that no matrix is made. The tables are those that `BlockCounter` would
give. Scores are not summed here: for such rows they are functions of the probability of what happened, and are read off
its counts.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.typing import AnyFloats, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..kernels.compiled import kernel as _kernel
from ..kernels.rows import Grid
from .binary import BinaryRows
from .tables import Cells, PairTable

RUN_ROWS = 1 << 18
"""Rows are counted so many at a time."""

LEAST_ROWS = 1 << 14
"""And of each so many of these it is said what the least probable outcome was given."""


class ColumnCounter:
    """Counts by value while there are at most exact_limit of them, in cells beyond."""

    def __init__(self, exact_limit: int, grid: Grid) -> None:
        self._exact_limit, self._grid = exact_limit, grid
        self._counted: dict[np.dtype[Any], Any] = {}  # 1 - p depends on the precision in which p came

    @staticmethod
    def takes(forecasts: Forecasts) -> bool:
        """Whether these can be counted so."""
        return _kernel is not None and forecasts.plain_column

    def add(self, p: AnyFloats, truth: NDArray[np.int8 | np.int64]) -> tuple[Ints, NDArray[np.float32]]:
        """Count rows, and say which are left out: those that are invalid, not there, or next to 1/2 or 0.

        And the lowest probability that any outcome of each `LEAST_ROWS` rows was given, of those that are counted: in
        single precision, and 1/2 if it is not less.
        """
        odd, least = np.empty(p.size, dtype=bool), np.empty(-(-p.size // LEAST_ROWS), dtype=np.float32)
        if p.dtype not in self._counted:
            kernel: Any = _kernel
            kind = kernel.Column32 if p.dtype == np.float32 else kernel.Column64
            self._counted[p.dtype] = kind(self._exact_limit, self._grid.fraction_bits)
        some_odd = self._counted[p.dtype].add(p, truth, odd, least)
        return np.flatnonzero(odd) if some_odd else _NONE, least

    def tables(self) -> list[tuple[PairTable, dict[int, PairTable], BinaryRows]]:
        """Pairs of both classes, top-label pairs by the size of the tie, and rows by outcome; for each precision."""
        return [self._by_value(x, kind) if x.exact else self._by_cell(x) for kind, x in self._counted.items()]

    def _by_value(self, counted: Any, kind: np.dtype[Any]) -> tuple[PairTable, dict[int, PairTable], BinaryRows]:
        p, negative, positive = counted.values()
        order = np.argsort(p)  # once, in vectors; of what is in order already, or backwards, sorting is a merge
        p, negative, positive = p[order], negative[order], positive[order]
        q = (1 - p.astype(kind)).astype(np.float64)
        n = negative + positive
        pairs = PairTable(p, n, positive, positive).beside(PairTable(q, n, negative, negative)).merged()
        tied, hits = p == q, np.where(p > q, positive, negative)
        top = {1: PairTable(np.maximum(p, q), n, hits, hits), 2: PairTable(p, n, n, n)}
        tops = {ties: top[ties].only(here).merged() for ties, here in ((1, ~tied), (2, tied)) if here.any()}
        rows = BinaryRows(*(PairTable(p, w, w, w).only(w > 0).merged() for w in (negative, positive)))
        return pairs, tops, rows

    def _by_cell(self, counted: Any) -> tuple[PairTable, dict[int, PairTable], BinaryRows]:
        pairs = _cells(counted.cells())
        rows = BinaryRows(*(_cells(counted.cells_of_outcome(positive)) for positive in (False, True)))
        # Above 1/2 a probability is that of the top class. The cell at 1/2 has nothing but that, twice of each row.
        half = self._grid.half + 1
        one, two = pairs.only(pairs.key > half), pairs.only(pairs.key == half)
        top = {1: one, 2: replace(two, total=two.happened)}
        return pairs, {ties: table for ties, table in top.items() if table.key.size}, rows


_NONE = np.empty(0, dtype=np.int64)


def _cells(columns: Floats) -> Cells:
    key, *others = np.ascontiguousarray(columns.reshape(-1, len(fields(Cells))).T)
    return Cells(key.astype(np.int64), *others)
