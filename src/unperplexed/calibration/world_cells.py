"""Rows of a tally in the cells that worlds are drawn in, and the curves that are measured in them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from .._lib.arrays import run_starts
from .._lib.typing import Floats, Ints
from ..kernels.rows import COARSE
from ..statistics.means import Limit, apply_limit
from ..tally.tables import Pairs, grid_of
from ..tally.tally import Tally, View
from .estimators import Estimator, measured_of_samples
from .resampling import positive_pairs
from .worlds import Counts

MOST = 600
"""So many cells at most: some five times the blocks of an isotonic regression of 100,000 rows."""

Kind = Literal["one-sided", "folded", "pooled"]


@dataclass(frozen=True)
class WorldCells:
    """Cells of rows by increasing reported probability, in rows of equal weight.

    Three kinds. *One-sided*: the positive one of two classes. *Folded*: the less probable one of two, whose curve is
    measured together with its mirror image. *Pooled*: pairs of all classes, of which each row has several.
    """

    reported: Floats
    counted: Counts
    kind: Kind
    codes: Ints
    """Coarse cell of each."""
    entry: Pairs
    """What was counted before it was put into the cells."""
    cell: Ints
    """Which of the cells each entry is in."""
    floor: float
    limit: Limit

    @property
    def total(self) -> Floats:
        """Weight of all pairs in each cell."""
        return self.counted.happened + self.counted.missed

    def finest(self) -> WorldCells:
        """Give each entry a cell of its own."""
        p, happened, total = self.entry
        if p.size == self.reported.size:
            return self
        counted, codes = Counts(happened, np.maximum(total - happened, 0.0)), COARSE.places(p)[0]
        return replace(self, reported=p, counted=counted, codes=codes, cell=np.arange(p.size))

    def powers(self, orders: Floats) -> list[Floats]:
        """Means of p^r, or of ln p for order 0, of the observed class in each cell: one order a row.

        First where the cell's outcome occurred, then, unless cells are pooled, where it did not.
        """
        p, happened, total = self.entry
        sides = [(p, happened)] if self.kind == "pooled" else [(p, happened), (1 - p, total - happened)]
        found = []
        for side, seen in sides:
            value = apply_limit(side, self.floor, self.limit)
            of_cell = np.bincount(self.cell, seen)
            some = np.where(of_cell[self.cell] > 0, seen, total)
            weight = some / np.bincount(self.cell, some)[self.cell]
            with np.errstate(divide="ignore"):
                terms = [np.log(value) if r == 0 else value**r for r in orders.tolist()]
            # Powers of 0 are infinite. Outcomes predicted with 0 that never occurred would leave no figure but 0 in a
            # world in which they could; figures are those of the other rows. Those that did occur are kept finite.
            most = np.where(of_cell[self.cell] > 0, 1e300, 0.0)
            terms = [np.where(np.isfinite(each), each, np.copysign(most, each)) for each in terms]
            found.append(np.array([np.bincount(self.cell, weight * each) for each in terms]))
        return found

    def unfolded(self, counts: Counts) -> tuple[Floats, Floats, Floats]:
        """Pairs (reported, happened, total) that the curve is measured from, of one or of many samples."""
        happened, missed = counts
        total = happened + missed
        if self.kind != "folded":
            return self.reported, happened, total
        low = np.count_nonzero(self.reported < 0.5)
        p = np.concatenate([self.reported, 1 - self.reported[:low][::-1]])
        mirrored = missed[..., :low][..., ::-1], total[..., :low][..., ::-1]
        happened, total = happened.copy(), total.copy()
        happened[..., low:], total[..., low:] = total[..., low:], 2 * total[..., low:]  # both pairs are of one half
        happened, total = (np.concatenate(x, axis=-1) for x in zip((happened, total), mirrored, strict=True))
        return p, happened, total

    def values(self, curve: Floats) -> list[Floats]:
        """Give measured probabilities of the observed class, floored, from curves over the unfolded cells."""
        size = self.reported.size
        sides = [curve[..., :size]]
        if self.kind == "one-sided":
            sides.append(1 - curve)
        elif self.kind == "folded":
            low = np.count_nonzero(self.reported < 0.5)
            sides.append(np.concatenate([curve[..., size:][..., ::-1], curve[..., low:size]], axis=-1))
        return [apply_limit(side, self.floor, self.limit) for side in sides]

    def curves(self, estimator: Estimator, counts: Counts) -> Floats:
        """Measure each sample: measured probability of the unfolded cells."""
        return measured_of_samples(estimator, *self.unfolded(counts), self.floor)


def world_cells(tally: Tally, view: View, floor: float, limit: Limit, independent: float = 1.0) -> WorldCells:
    """Count a tally's rows in cells, as finely as there is room for: as many as are independent.

    Parameters
    ----------
    tally : Tally
    view : {"each-class", "all-classes", "top-label"}
        The positive one of two classes is by itself in the first.
    floor : float
        Probabilities below it count as this much in figures.
    limit : {"floor", "both"}
        Whether those above 1 - floor are lowered too.
    independent : float, default 1
        Share of the rows that would tell as much if they were independent.
    """
    rows = tally.weight / tally.weight_squared * independent
    one = positive_pairs(tally, view)
    kind: Kind = "one-sided" if one is not None else "folded" if tally.n_classes == 2 else "pooled"
    reported, happened, total = one if one is not None else tally.pairs()
    if kind == "folded":
        half = reported <= 0.5
        reported, happened, total = reported[half], happened[half], total[half]
        both = np.where(reported == 0.5, 0.5, 1.0)  # what was predicted with 1/2 is there twice
        happened, total = both * happened, both * total
    entry = Pairs(reported, happened * rows, total * rows)
    coarse = COARSE.places(reported)[0]
    cell = _cells(reported, coarse)
    weight, h = (np.bincount(cell, x).astype(np.float64) for x in (entry.total, entry.happened))
    return WorldCells(
        np.bincount(cell, entry.total * reported) / weight,
        Counts(h, np.maximum(weight - h, 0.0)),
        kind,
        coarse[run_starts(cell)],
        entry,
        cell,
        floor,
        limit,
    )


def _cells(reported: Floats, coarse: Ints) -> Ints:
    """Which cell each of increasing values is in: one of its own, or of the finest grid that has room."""
    cell = np.arange(reported.size)
    for bits in range(9, 2, -1):
        if cell.size == 0 or cell[-1] < MOST:
            break
        codes = grid_of(bits).codes(reported)
        cell = np.cumsum(np.diff(codes, prepend=codes[:1]) != 0)
    if cell.size and cell[-1] >= MOST:
        cell = np.cumsum(np.diff(coarse, prepend=coarse[:1]) != 0)
    # None is in two coarse cells, of which rows are kept, and one half is apart.
    apart = (np.diff(cell, prepend=cell[:1]) != 0) | (np.diff(coarse, prepend=coarse[:1]) != 0)
    apart |= np.diff((reported == 0.5).astype(np.int64), prepend=int(reported[0] == 0.5)) != 0
    return np.cumsum(apart)
