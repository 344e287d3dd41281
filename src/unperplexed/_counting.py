"""Filling a tally, block by block."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._grouped import ClassCounter, GroupCounter, top_classes
from ._parts import ShardCounter
from ._row_sample import RowSampleCounter
from ._sums import ExactSum, exact_sum
from ._tables import Cells, DenseCells, Table, distinct_values, grid_of
from ._typing import Floats
from .errors import InputError
from .forecasts import Block, Forecasts, Notes
from .means import weighted_sum
from .scores import Score

ScoreSums = tuple[ExactSum, ExactSum, ExactSum]
"""Of a score x the sums of w x, w^2 x and w^2 x^2."""

NO_SUMS: ScoreSums = (ExactSum(), ExactSum(), ExactSum())


class Counter:
    """Counts blocks: exact tables first, dense cells once there are too many distinct values."""

    def __init__(
        self, n_classes: int, exact_limit: int, fraction_bits: int, scores: Sequence[Score], parts: Sequence[str]
    ) -> None:
        self.exact_limit, self.grid = exact_limit, grid_of(fraction_bits)
        self.pairs: Table | DenseCells = Table.empty()
        self.top: dict[int, Table | DenseCells] = {}
        self.n_rows = self.n_weighing = 0
        self.weighted = False
        self.weight = self.weight_squared = 0.0
        self.scores = scores
        self.score_sums = {score.name: NO_SUMS for score in scores}
        self.notes = Notes()
        self.sources = Counts[str]()
        self.row_sample = RowSampleCounter(n_classes)
        self.classes = ClassCounter(n_classes, exact_limit) if "classes" in parts else None
        self.predictions = GroupCounter(exact_limit) if "predictions" in parts else None
        self.shards = ShardCounter(tuple(score.name for score in scores)) if "shards" in parts else None

    def add(self, forecasts: Forecasts) -> None:
        """Count forecasts."""
        if forecasts.grouped and self.shards is None:
            raise InputError(
                "groups (--groups): only shards go by them; ask for these with parts=['shards'] (--parts shards)."
            )
        if forecasts.grouped and self.shards is not None:
            self.shards.grouped = True
        rows_before = self.n_rows
        for block in forecasts.blocks():
            self.notes += block.notes
            self.n_rows += len(block)
            self.weighted = self.weighted or block.weights is not None
            if block.weights is not None and not block.weights.all():  # a row of weight 0 is as if absent
                block = block[block.weights > 0]  # noqa: PLW2901
            if len(block):
                self._add_block(block, forecasts)
        if forecasts.source:
            self.sources[forecasts.source] += self.n_rows - rows_before

    def _add_block(self, block: Block, forecasts: Forecasts) -> None:
        p, rows, weights = block.probabilities, block.rows, block.weights
        w = np.ones(len(p)) if weights is None else weights
        self.n_weighing += len(p)
        self.weight += float(w.sum())
        self.weight_squared += weighted_sum(w, w)
        self._count_pairs(p, rows.correct, w, weights is None)
        self.row_sample.add(rows, p)
        for ties in np.flatnonzero(np.bincount(rows.ties)).tolist():
            here = rows.ties == ties
            self._count_top(ties, rows.highest[here], rows.hit[here] > 0, w[here])
        if self.classes is not None:
            self.classes.add(p, block.truth, rows.correct, weights)
        if self.predictions is not None:
            self.predictions.add(top_classes(p, rows, block.truth, w))
        shard = None
        if self.shards is not None:
            shard = forecasts.shards(block.index)
            self.shards.add(shard, p, block.truth, rows.hit, weights)
        for score in self.scores:
            x = score.rows(block)
            self._add_score(score.name, x, weights)
            if self.shards is not None and shard is not None:
                self.shards.add_score(score.name, shard, x, weights)

    def _add_score(self, name: str, x: Floats, weights: Floats | None) -> None:
        with np.errstate(over="ignore"):
            square = x * x
        if weights is None:
            mean = exact_sum(x)
            found = (mean, mean, exact_sum(square, bits=20, limbs=4))
        else:
            w2 = weights * weights
            found = (
                ExactSum(rest=weighted_sum(weights, x)),
                ExactSum(rest=weighted_sum(w2, x)),
                ExactSum(rest=weighted_sum(w2, square)),
            )
        self.score_sums[name] = added(self.score_sums[name], found)

    def _count_pairs(self, p: NDArray[Any], correct: Floats, w: Floats, unweighted: bool) -> None:
        if isinstance(self.pairs, Table):
            values, counts = distinct_values(p, None if unweighted else w)
            if values.size <= self.exact_limit:
                self.pairs += Table.of(values, counts, correct + 0.0, w)
                if self.pairs.key.size <= self.exact_limit:
                    return
                self._to_cells()
                return
            self._to_cells()
        assert isinstance(self.pairs, DenseCells)
        self.grid.count(p, self.pairs.total, None if unweighted else w)
        self.pairs.add_happened(correct + 0.0, w)  # -0.0 is 0

    def _count_top(self, ties: int, highest: Floats, hit: NDArray[np.bool_], w: Floats) -> None:
        cells = self.top.get(ties)
        if isinstance(cells, DenseCells):
            np.add.at(cells.total, self.grid.codes(highest), w)
            cells.add_happened(highest[hit], w[hit])
            return
        found = Table.of(highest + 0.0, w, highest[hit] + 0.0, w[hit])
        if isinstance(self.pairs, DenseCells):
            found = found.in_cells(self.grid)
        self.top[ties] = found if cells is None else cells + found

    def _to_cells(self) -> None:
        assert isinstance(self.pairs, Table)
        self.pairs = DenseCells(self.grid, self.pairs.in_cells(self.grid))
        # Room for every cell where most rows are, those with one top class; ties come in many sizes and few rows.
        tables = {ties: table.in_cells(self.grid) for ties, table in self.top.items() if isinstance(table, Table)}
        self.top = {**tables, 1: DenseCells(self.grid, tables.get(1))}

    def tables(self) -> tuple[Table, dict[int, Table]]:
        """Pairs of all classes, and top-label pairs by the size of the tie."""
        found = {ties: _kept(cells) for ties, cells in sorted(self.top.items())}
        return _kept(self.pairs), {ties: table for ties, table in found.items() if table.key.size}


def added(a: ScoreSums, b: ScoreSums) -> ScoreSums:
    """Sums of both parts."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _kept(cells: Table | DenseCells) -> Table | Cells:
    return cells if isinstance(cells, Table) else cells.table()
