"""What was counted, in at most 256 cells: pairs of all classes, and those of each shard of the rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.typing import Floats, Ints
from ..kernels.rows import COARSE, COARSE_CELLS
from ..tally.shards import Shards
from ..tally.tables import Pairs
from ..tally.tally import Tally, View

_MIDDLE = COARSE_CELLS // 2 - 1
"""The cell of 1/2, the mirror image of itself."""

_MIRROR = np.arange(COARSE_CELLS)[::-1].copy()
_MIRROR[[_MIDDLE, _MIDDLE + 1]] = _MIDDLE, _MIDDLE + 1


class Sample(NamedTuple):
    """Counts of one or, along the first axis, many samples; cells are along the last one."""

    happened: Floats
    total: Floats


class CellCounts(Frozen):
    """What was counted, in cells by increasing reported probability, in rows of equal weight."""

    reported: Floats
    """Mean of the probabilities in each cell."""
    counted: Sample
    mirrored: bool
    """Whether there are two classes, so that what is counted above 1/2 is what was counted below, turned round."""
    shards: Sample | None = None
    """The same by shard of the rows, one a row; None if these were not kept."""
    codes: Ints | None = None
    """Coarse cells that these are."""
    one_sided: bool = False
    """Whether pairs are those of the positive one of two classes alone: one a row."""

    @property
    def weight(self) -> float:
        """Weight of all rows, of each of which one class occurred."""
        happened, total = self.counted
        return float((total if self.one_sided else happened).sum())

    @property
    def rows(self) -> int:
        """How many rows of equal weight there are."""
        return max(round(self.weight), 1)

    def halves(self) -> tuple[Ints, Ints, Ints]:
        """Cells below 1/2, at it, and above it in the order of the first."""
        size, k = self.reported.size, self.reported.size // 2
        return np.arange(k), np.arange(k, size - k), np.arange(size - 1, size - k - 1, -1)


def coarse_counts(tally: Tally) -> CellCounts:
    """Count a tally's pairs of all classes in at most 256 cells, and those of its shards if it has these."""
    return _in_cells(tally, tally.pairs(), mirrored=tally.n_classes == 2)


def shown_counts(tally: Tally, view: View) -> CellCounts:
    """Count likewise what a view shows: for two classes by themselves, the pairs of the positive one alone."""
    positive = positive_pairs(tally, view)
    if positive is None:
        return coarse_counts(tally)
    return replace(_in_cells(tally, positive, mirrored=False), one_sided=True)


def positive_pairs(tally: Tally, view: View) -> Pairs | None:
    """Pairs of the positive one of two classes, in a view of it; None for a tally that did not count them."""
    if view != "each-class" or tally.n_classes != 2:
        return None
    if (pairs := tally.positive_pairs()) is not None:
        return pairs
    label = tally.labels[1]
    return None if tally.classes is None or label is None else tally.class_pairs(label)


def _in_cells(tally: Tally, pairs: Pairs, *, mirrored: bool) -> CellCounts:
    rows = tally.weight / tally.weight_squared
    code = _with_image(COARSE.places(pairs.reported)[0], mirrored)
    columns = pairs.total, pairs.happened, pairs.total * pairs.reported
    total, happened, sums = (np.bincount(code, each, COARSE_CELLS).astype(np.float64) for each in columns)
    shards = None if tally.shards is None else _by_shard(tally.shards, rows, mirrored)
    if mirrored:
        happened, sums, total = _folded(happened, total), _folded(sums, total), (total + total[_MIRROR]) / 2
        if shards is not None:
            shards = Sample(_folded(*shards), (shards.total + shards.total[:, _MIRROR]) / 2)
    kept = np.flatnonzero(total)
    reported = sums[kept] / total[kept]
    return CellCounts(
        reported,
        Sample(happened[kept] * rows, total[kept] * rows),
        mirrored,
        None if shards is None else Sample(shards.happened[:, kept], shards.total[:, kept]),
        kept,
    )


def _by_shard(shards: Shards, rows: float, mirrored: bool) -> Sample:
    """Dense counts of each shard, in the order of its rows, times a factor."""
    row = np.searchsorted(shards.rows.key, shards.pairs.key // COARSE_CELLS)
    code = _with_image(shards.pairs.key % COARSE_CELLS, mirrored)
    at, shape = row * COARSE_CELLS + code, (len(shards.rows.key), COARSE_CELLS)
    happened, total = (
        np.bincount(at, x * rows, shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for x in (shards.pairs.happened, shards.pairs.total)
    )
    if mirrored:  # of two classes the positive one was counted
        happened, total = happened + (total - happened)[:, _MIRROR], total + total[:, _MIRROR]
    return Sample(happened, total)


def _with_image(code: Ints, mirrored: bool) -> Ints:
    """Cells that have a mirror image if they are to be mirrored: what is next above 1/2 has none but that of 1/2."""
    return np.where(code == _MIDDLE + 1, _MIDDLE, code) if mirrored else code


def _folded(happened: Floats, total: Floats) -> Floats:
    """Average the events in a cell with the non-events in its mirror image, which differ by rounding."""
    return np.asarray((happened + (total - happened)[..., _MIRROR]) / 2)
