"""The rows whose outcomes were assigned the lowest probabilities: a part of a tally that is kept when asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._lib.dataclasses import fields, replace
from .._lib.typing import AnyFloats, Codes, Floats, Ints, ReadOnlyArrays
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.labels import Label
from ..kernels.compiled import kernel as _kernel
from ..kernels.rows import Grid
from .binary import BinaryRows
from .tables import Cells, PairTable

MOST = 20
"""So many rows are kept."""


class Surprise(NamedTuple):
    """A row. They go by the probability of the outcome, then by where they are, so that no order of counting
    matters."""

    probability: float
    """Probability assigned to the outcome."""
    source: str
    row: int
    """Its number in the source, from 0."""
    happened: int
    """Number of the class that happened."""
    predicted: int
    """Number of the most probable class, the first of those that tie."""
    highest: float
    """Probability assigned to that class."""
    weight: float


class SurpriseTable(ReadOnlyArrays):
    """The rows whose outcomes were assigned the lowest probabilities, the lowest first: at most twenty."""

    source: tuple[str, ...]
    """Name of where each row comes from; empty for arrays."""
    row: Ints
    """Its number there, from 0."""
    happened: tuple[Label | None, ...]
    """Observed class; None for a class whose label is not known."""
    probability: Floats
    """Probability assigned to the outcome, without the floor."""
    predicted: tuple[Label | None, ...]
    """The most probable class, the first of those that tie."""
    highest: Floats
    """Probability assigned to that class."""
    share: Floats
    """Share of the log loss at the floor: what this row makes up of it; NaN where that is 0 or infinite."""

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.source)


def surprise_table(rows: Sequence[Surprise], labels: Sequence[Label | None], losses: Floats) -> SurpriseTable:
    """Make a table of rows, whose parts of the log loss are given."""
    return SurpriseTable(
        source=tuple(row.source for row in rows),
        row=np.array([row.row for row in rows], dtype=np.int64),
        happened=tuple(labels[row.happened] for row in rows),
        probability=np.array([row.probability for row in rows]),
        predicted=tuple(labels[row.predicted] for row in rows),
        highest=np.array([row.highest for row in rows]),
        share=losses,
    )


def least(rows: Iterable[Surprise]) -> tuple[Surprise, ...]:
    """Keep the rows that were given least."""
    return tuple(sorted(rows)[:MOST])


class SurpriseCounter:
    """Keeps the most surprising rows of those that it sees."""

    def __init__(self) -> None:
        """Begin with none."""
        self.rows: tuple[Surprise, ...] = ()

    def add(self, block: Block, source: str) -> None:
        """See checked rows, none of weight 0."""
        some = self._candidates(block.rows.correct)
        if some.size:
            chosen = block[some]
            weights = np.ones(some.size) if block.weights is None else block.weights[some]
            predicted = chosen.probabilities.argmax(axis=1)
            correct, highest = chosen.rows.correct, chosen.rows.highest
            self._keep(source, correct, chosen.index, chosen.truth, predicted, highest, weights)

    def add_column(
        self, forecasts: Forecasts, p: AnyFloats, truth: Codes, start: int, odd: Ints, least_given: NDArray[np.float32]
    ) -> None:
        """See rows of one column from a place on, but for those that the kernel left out, as odd ones.

        Of each `LEAST_ROWS` rows the lowest probability of an outcome is given, in single precision and up to 1/2: most
        need not be looked at.

        Parameters
        ----------
        forecasts : Forecasts
            What the rows are of.
        p : ndarray of shape (n,)
            Probabilities of the positive class.
        truth : ndarray of shape (n,)
            Outcomes, 0 or 1.
        start : int
            Place of the first row among the forecasts.
        odd : ndarray
            Places of the rows that were left out, in order.
        least_given : ndarray of shape (ceil(n / LEAST_ROWS),)
            Lowest probability of an outcome in each run of rows.
        """
        for run, lowest in enumerate(least_given):
            if len(self.rows) < MOST or lowest <= np.float32(self.rows[-1].probability):
                here = slice(run * LEAST_ROWS, (run + 1) * LEAST_ROWS)
                left_out = odd[slice(*np.searchsorted(odd, [here.start, here.stop]))] - here.start
                self._add_run(forecasts, p[here], truth[here], start + here.start, left_out)

    def _add_run(self, forecasts: Forecasts, p: AnyFloats, truth: Codes, start: int, odd: Ints) -> None:
        other = 1 - p
        correct = np.where(truth == 1, p, other)
        correct[odd] = np.inf
        some = self._candidates(correct)
        some = some[correct[some] < np.inf]
        if some.size:
            highest = np.maximum(p[some], other[some])
            index = forecasts.numbers_of(start + some)
            predicted = (p[some] > other[some]).astype(np.int64)
            self._keep(forecasts.source, correct[some], index, truth[some], predicted, highest, np.ones(some.size))

    def _candidates(self, correct: AnyFloats) -> Ints:
        """Places of the rows that may belong among those kept: at most so many, of equals the first."""
        full = len(self.rows) == MOST
        bound = self.rows[-1].probability if full else np.inf
        if correct.size > _FEW and not full:
            bound = np.partition(correct, MOST)[MOST]
        some = np.flatnonzero(correct <= bound)
        return some if some.size <= MOST else some[np.argsort(correct[some], kind="stable")[:MOST]]

    def _keep(self, source: str, correct: AnyFloats, *columns: NDArray[np.generic]) -> None:
        found = zip(correct.tolist(), *(column.tolist() for column in columns), strict=True)
        self.rows = least([*self.rows, *(Surprise(p + 0.0, source, *row) for p, *row in found)])


_FEW = 64 * MOST
"""Among more rows than these the lowest are bounded by a partition first."""


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

    def add(self, p: AnyFloats, truth: Codes) -> tuple[Ints, NDArray[np.float32]]:
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
        pairs = PairTable.beside([PairTable(p, n, positive, positive), PairTable(q, n, negative, negative)]).merged()
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
