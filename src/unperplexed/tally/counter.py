"""Filling a tally, block by block.

Some of the rows, kept row by row: in which coarse cells their probabilities are.

Which pairs are of one row is lost where pairs are counted. A tally of more than two classes keeps it of as many rows as
there is room for: those whose probabilities have the lowest hashes, so that it depends on the rows alone which they
are, and not on their order or on how they are split (a bottom-k sketch: Cohen and Kaplan 2007).
"""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import as_array
from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, is_whole, rows_text
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from ..forecasts.forecasts import Block, Forecasts, Notes, complements
from ..forecasts.labels import Label
from ..kernels.devices import DeviceRows
from ..kernels.exact_sum import ExactSum, exact_sums_of_powers
from ..kernels.rows import COARSE, Grid, Rows, crowded, row_hashes, row_primitives
from ..kernels.softmax import LogitRows
from ..scores.rules import Score
from ..statistics.means import weighted_sum
from .binary import BinaryCounter
from .class_sums import DIAGNOSED_UNASKED, ClassSumsCounter
from .class_tables import ClassCounter, ClassPairCounter, top_classes
from .shards import ShardCounter
from .surprises import RUN_ROWS, ColumnCounter, SurpriseCounter
from .tables import Cells, DenseCells, ExactCounts, PairTable, grid_of

ROOM = 1 << 16
"""So many probabilities are kept, of whole rows."""


class RowSample(Frozen):
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


ScoreSums = tuple[ExactSum, ExactSum, ExactSum]
"""For a score x the sums of w x, w^2 x and w^2 x^2: over all rows; or what counts of two classes do not tell of it."""

NO_SUMS: ScoreSums = (ExactSum(), ExactSum(), ExactSum())


class BlockCounter:
    """Counts blocks: exact tables first, dense cells once there are too many distinct values."""

    def __init__(
        self,
        n_classes: int,
        counts_tell: bool,
        exact_limit: int,
        fraction_bits: int,
        scores: Sequence[Score],
        parts: Sequence[str],
        diagnosed: int = DIAGNOSED_UNASKED,
    ) -> None:
        self.counts_tell = counts_tell
        self.exact_limit, self.grid = exact_limit, grid_of(fraction_bits)
        self.pairs: ExactCounts | DenseCells = ExactCounts(exact_limit)
        self.top: dict[int, ExactCounts | DenseCells | Cells] = {}
        self.n_rows = self.n_weighing = 0
        self.weighted = False
        self.weight = self.weight_squared = 0.0
        self.scores = scores
        self.score_sums = {score.name: NO_SUMS for score in scores}
        self.columns = ColumnCounter(exact_limit, self.grid) if set(parts) <= {"surprises", "diagnosis"} else None
        self.notes = Notes()
        self.sources = Counter[str]()
        self.row_sample = RowSampleCounter(n_classes)
        self.classes = ClassCounter(n_classes, exact_limit) if "classes" in parts else None
        self.predictions = ClassPairCounter(exact_limit) if "predictions" in parts else None
        self.shards = ShardCounter(tuple(score.name for score in scores)) if "shards" in parts else None
        self.surprises = SurpriseCounter() if "surprises" in parts else None
        self.binary = BinaryCounter(self.grid) if n_classes == 2 else None
        self.n_classes, self.diagnosis, self._asked = n_classes, None, "diagnosis" in parts
        if self._asked or 2 < n_classes <= diagnosed:
            self.diagnosis = ClassSumsCounter.of(n_classes, "shards" in parts)

    def add(self, forecasts: Forecasts) -> None:
        """Count forecasts."""
        if self.shards is not None:
            self.shards.clustered |= forecasts.clustered
        elif forecasts.clustered:
            raise InputError(
                "clusters (--clusters): a tally keeps them only in its shards. Add these with parts=['shards'] (--parts"
                " shards), or leave the clusters out."
            )
        rows_before = self.n_rows
        for part in self._without_columns(forecasts):
            self._add_rows(part)
        if forecasts.source:
            self.sources[forecasts.source] += self.n_rows - rows_before

    def _without_columns(self, forecasts: Forecasts) -> Iterator[Forecasts]:
        """Count what can be counted as a column, and give the rest."""
        if self.columns is None or not self.columns.takes(forecasts):
            yield forecasts
            return
        for p, truth, start in forecasts.runs(RUN_ROWS):
            odd, least = self.columns.add(p, truth)
            if self.surprises is not None:
                self.surprises.add_column(forecasts, p, truth, start, odd, least)
            rows = p.size - odd.size
            self.n_rows += rows
            self.n_weighing += rows
            self.weight += rows
            self.weight_squared += rows
            if odd.size:
                yield forecasts[start + odd]

    def _add_rows(self, forecasts: Forecasts) -> None:
        for block in forecasts.blocks(lambda: self.pairs.totals if isinstance(self.pairs, DenseCells) else None):
            self.notes += block.notes
            self.n_rows += len(block)
            self.weighted = self.weighted or block.weights is not None
            if block.weights is not None and not block.weights.all():  # a row of weight 0 is as if absent
                block = block[block.weights > 0]  # noqa: PLW2901
            if len(block):
                self._add_block(block, forecasts)

    def _add_block(self, block: Block, forecasts: Forecasts) -> None:
        rows, weights = block.rows, block.weights
        self.n_weighing += len(block)
        self.weight += len(block) if weights is None else float(weights.sum())
        self.weight_squared += len(block) if weights is None else weighted_sum(weights, weights)
        self._count_pairs(block)
        self._count_happened(rows, weights)
        self.row_sample.add(rows, block.reported)
        if self.binary is not None:
            self.binary.add(block)
        if self.classes is not None:
            self.classes.add(block.probabilities, block.truth, rows.correct, weights)
        if self.diagnosis is not None and not self._asked and isinstance(block.reported, DeviceRows):
            self.diagnosis = None  # whole rows would have to leave the device
        if self.surprises is not None:
            self.surprises.add(block, forecasts.source)
        if self.predictions is not None:
            w = np.ones(len(block)) if weights is None else weights
            self.predictions.add(top_classes(block.probabilities, rows, block.truth, w))
        shard = None if self.shards is None else forecasts.shards(block.index)
        if self.diagnosis is not None:
            self.diagnosis.add(block.probabilities, block.truth, weights, shard)
        if self.shards is not None and shard is not None:
            self.shards.add(shard, block.probabilities, block.truth, rows, weights)
        self._add_scores(block, forecasts.one_column, shard)

    def _add_scores(self, block: Block, one_column: bool, shard: Ints | None) -> None:
        summed: slice | Bools = slice(None)
        told: list[Block] = []
        if self.counts_tell:  # but for a few rows, and those that are no complements
            rows = block.rows
            unlike = np.zeros(len(block), bool) if one_column else ~complements(block.probabilities)
            told = [*_as_told(block, unlike, self.grid)] if unlike.any() else []
            summed = untold = unlike | (self.grid.undetermined(rows.correct) & (rows.ties == 1))
            if shard is None and 2 * np.count_nonzero(untold) < len(block):
                block, summed = block[untold], slice(None)
        for score in self.scores if len(block) else ():
            x = score.rows(block)
            sums = _sums(x[summed], None if block.weights is None else block.weights[summed])
            for like in told:
                y = score.rows(like)
                some = np.isfinite(y)  # an infinite sum stays so
                sums = added(sums, _sums(y[some], None if like.weights is None else like.weights[some], -1))
            self.score_sums[score.name] = added(self.score_sums[score.name], sums)
            if self.shards is not None and shard is not None:
                self.shards.add_score(score.name, shard, x, block.weights)

    def _count_pairs(self, block: Block) -> None:
        if not block.counted:
            p, weights = block.reported, block.weights
            if isinstance(p, DeviceRows):
                p, weights = p.distinct(weights)
            p = np.asarray(p)
            if self.n_rows == len(block) and crowded(p, self.exact_limit):
                self._to_cells()  # at once: counting a first block value by value would cost more than all the others
            taken = self.pairs.add(p, weights)
            if taken < p.size:
                self._to_cells()
                rest = None if weights is None else np.repeat(weights, p.shape[1])[taken:]
                self.pairs.add(p.ravel()[taken:], rest)

    def _count_happened(self, rows: Rows, weights: Floats | None) -> None:
        """Count what happened, and the top-label pairs."""
        if isinstance(self.pairs, DenseCells) and weights is None:
            if 1 not in self.top:
                self.top[1] = DenseCells(self.grid, None)
            top = self.top[1]
            assert isinstance(top, DenseCells)
            rows = rows[self.pairs.add_rows(rows, top)]
        else:
            self.pairs.add_happened(rows.correct + 0.0, weights)  # -0.0 is 0
        for ties in np.flatnonzero(np.bincount(rows.ties)).tolist():
            here = rows.ties == ties
            self._count_top(ties, rows.highest[here], rows.hit[here] > 0, None if weights is None else weights[here])

    def _count_top(self, ties: int, highest: Floats, hit: NDArray[np.bool_], weights: Floats | None) -> None:
        counts = self.top.get(ties)
        if isinstance(counts, ExactCounts | DenseCells):
            found = counts
        elif isinstance(self.pairs, ExactCounts) or ties > 1:
            found = ExactCounts(_ANY)
        else:
            found = DenseCells(self.grid, None)
        found.add(highest[:, None], weights)
        found.add_happened(highest[hit], None if weights is None else weights[hit])
        if ties > 1 and isinstance(self.pairs, DenseCells):
            assert isinstance(found, ExactCounts)
            cells = found.table().in_cells(self.grid)
            self.top[ties] = counts + cells if isinstance(counts, Cells) else cells
        else:
            self.top[ties] = found

    def _to_cells(self) -> None:
        if self.binary is not None:
            self.binary.to_cells()
        pairs, top = self.tables()
        self.pairs = DenseCells(self.grid, pairs.in_cells(self.grid))
        # Room for every cell where most rows are, those with one top class; ties come in many sizes and few rows.
        tables = {ties: table.in_cells(self.grid) for ties, table in top.items()}
        self.top = {ties: DenseCells(self.grid, table) if ties == 1 else table for ties, table in tables.items()}

    def tables(self) -> tuple[PairTable, dict[int, PairTable]]:
        """Pairs of all classes, and top-label pairs by the size of the tie."""
        top = sorted(self.top.items())
        tables = {ties: x if isinstance(x, Cells) else x.table() for ties, x in top}
        return self.pairs.table(), {ties: table for ties, table in tables.items() if table.key.size}


def counters_of(stream: Iterator[Forecasts], jobs: int, new: Callable[[Forecasts], BlockCounter]) -> list[BlockCounter]:
    """Count parts, each of so many threads its own: those it counts depend on nothing but their order."""
    found: dict[tuple[int, bool], BlockCounter] = {}

    def add(job: int, part: Forecasts) -> None:
        if (job, part.counts_tell) not in found:
            found[job, part.counts_tell] = new(part)
        found[job, part.counts_tell].add(part)

    if jobs == 1:
        for part in stream:
            add(0, part)
    else:
        at_work = deque[Future[None]]()
        with ThreadPoolExecutor(jobs, "unperplexed-counter") as threads:
            try:
                for number, part in enumerate(stream):
                    if len(at_work) == jobs:
                        _wait_for_first(at_work)  # which the thread counted that counts this part
                    at_work.append(threads.submit(add, number % jobs, part))
            except InputError:  # of the stream; what is wrong with a part before it comes first
                while at_work:
                    _wait_for_first(at_work)
                raise
            while at_work:
                _wait_for_first(at_work)
    return [found[key] for key in sorted(found)]


def _wait_for_first(at_work: deque[Future[None]]) -> None:
    """Wait for the first of the parts; where it is in error, no later one matters."""
    try:
        at_work.popleft().result()
    except BaseException:
        at_work.clear()
        raise


def jobs_of(n_jobs: int | None) -> int:
    """How many threads: None is one, -1 as many as there are processors that this process may use, -2 one less."""
    if n_jobs is None:
        return 1
    if not is_whole(n_jobs) or n_jobs == 0:
        raise InputError(f"n_jobs (--jobs): expected how many threads, or -1 for one a processor, got {n_jobs!r}.")
    if n_jobs > 0:
        return int(n_jobs)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable + 1 + int(n_jobs))


_ANY = 1 << 62
"""Room for any number of values: of those of a block, or no more than all pairs have."""


def _as_told(block: Block, some: Bools, grid: Grid) -> Iterator[Block]:
    """Rows as counts tell their scores: by the probability of the outcome and 1 minus it, or 1/2 where both tie."""
    rows = block.rows
    half = np.full(len(block), 0.5)
    for p, told in ((rows.correct, ~grid.undetermined(rows.correct)), (half, rows.ties == 2)):
        here = some & told
        w = None if block.weights is None else block.weights[here]
        both = np.stack([1 - p[here], p[here]], axis=1)
        ones = np.ones(len(both), dtype=np.int64)
        yield replace(block, reported=both, truth=ones, weights=w, rows=row_primitives(both, ones))


def _sums(x: Floats, weights: Floats | None, sign: int = 1) -> ScoreSums:
    """Sums of a score's values, exact without weights, or minus them."""
    if weights is not None:
        return weighted_sums(x, sign * weights, sign * weights * weights)
    mean, square = exact_sums_of_powers(x)
    return sign * mean, sign * mean, sign * square


def weighted_sums(x: Floats, w: Floats, w2: Floats) -> ScoreSums:
    """Sums of a score's values with weights, of which the squares are given too."""
    with np.errstate(over="ignore"):
        square = x * x
    first, second, third = (ExactSum(rest=weighted_sum(*each)) for each in ((w, x), (w2, x), (w2, square)))
    return first, second, third


def added(a: ScoreSums, b: ScoreSums) -> ScoreSums:
    """Sums of both parts."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


_MOST = 1 << 52
"""Rows of two classes whose pairs a tally can count."""


def digits_of_counts(
    reported: Any, happened: Any, total: Any, labels: Sequence[Label]
) -> Iterator[tuple[NDArray[np.object_], AnyFloats]]:
    """Give outcomes and predictions of the rows of each binary digit of the counts, from the highest one.

    A tally of each, doubled as often as the digit says, adds up to that of every row.

    Parameters
    ----------
    reported : array_like of shape (k,)
        Predicted probabilities of the positive class.
    happened, total : array_like of shape (k,)
        How often the positive class was observed, and how many rows have the prediction.
    labels : sequence of two labels
        The negative class and the positive one.

    Yields
    ------
    (ndarray, ndarray)
        Outcomes and predictions of the rows of one digit, of equal length.

    Raises
    ------
    InputError
        For counts that are not whole, negative, above the total, or too many.
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
