"""Samples like the one at hand: what else could have been counted, in cells.

Two kinds. *Redrawn*: as often as each cell was said, what happens is drawn anew from the measured probability. So the
samples know that what did not happen could have, and the truth they vary around is a smooth curve; of the counts as
they are, isotonic regression would only find its own blocks again (Kosorok 2008; Sen, Banerjee and Woodroofe 2010).
*Resampled*: shards of the rows are drawn with replacement, which keeps together what belongs together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._kernels import COARSE, COARSE_CELLS
from ._parts import Shards
from ._tables import grid_of
from ._typing import Floats, Ints
from .means import ROBUST, Limit, apply_limit
from .tally import Tally

_MIDDLE = COARSE_CELLS // 2 - 1
"""The cell of 1/2, the mirror image of itself."""

_MIRROR = np.arange(COARSE_CELLS)[::-1].copy()
_MIRROR[[_MIDDLE, _MIDDLE + 1]] = _MIDDLE, _MIDDLE + 1

_FINE, _FINE_BITS = 4096, 9
"""So many values are counted one by one; more in cells of relative width 2**-9, those of most tallies."""


class Sample(NamedTuple):
    """Counts of one or, along the first axis, many samples; cells are along the last one."""

    happened: Floats
    total: Floats


@dataclass(frozen=True)
class CellCounts:
    """What was counted, in cells by increasing reported probability, in rows of equal weight."""

    reported: Floats
    """Mean of the probabilities in each cell."""
    counted: Sample
    mirrored: bool
    """Whether there are two classes, so that what is counted above 1/2 is what was counted below, turned round."""
    powers: Floats
    """Of what happened in each cell the mean of p, of ln p and of p^(-2/3), one a row."""
    shards: Sample | None = None
    """The same by shard of the rows, one a row; None if these were not kept."""
    codes: Ints | None = None
    """Coarse cells that these are; None of finer ones."""

    @property
    def rows(self) -> int:
        """How many rows of equal weight there are."""
        return max(round(float(self.counted.happened.sum())), 1)

    def redrawn(self, measured: Floats, n: int, rng: np.random.Generator, independent: float = 1.0) -> Sample:
        """Draw samples in which each cell happens as often as was measured.

        Rows of which only a part are independent are drawn as if so many fewer counted so many times more.
        """
        happened, total = self.counted.total * measured, self.counted.total
        if not self.mirrored:
            missed = total - happened
            return self._complete(
                *(_multinomial(rng, x.sum() * independent, x, n) / independent for x in (happened, missed))
            )
        low, middle, high = self.halves()
        k = low.size
        kinds = np.concatenate([happened[low], (total - happened)[low], total[middle] / 2])
        drawn = _multinomial(rng, self.rows * independent, kinds, n) / independent
        found = Sample(*np.zeros((2, n, total.size)))
        found.happened[:, low], found.happened[:, high] = drawn[:, :k], drawn[:, k : 2 * k]
        found.total[:, low] = found.total[:, high] = drawn[:, :k] + drawn[:, k : 2 * k]
        found.happened[:, middle], found.total[:, middle] = drawn[:, 2 * k :], 2 * drawn[:, 2 * k :]
        return found

    def _complete(self, happened: Floats, missed: Floats) -> Sample:
        """Put what happened and what did not together, so that the rows sum to what they did.

        Drawn apart, they would not: a row that gave much to what happened has less to give to what did not. The latter
        is weighted by a line over p that makes the numbers of pairs and the sums of p those that were counted.
        """
        p, total = self.reported, self.counted.total
        wanted = total.sum() - happened.sum(axis=1), total @ p - happened @ p
        zero, one, two = (missed @ p**k for k in range(3))
        determinant = zero * two - one * one
        with np.errstate(divide="ignore", invalid="ignore"):
            level = (two * wanted[0] - one * wanted[1]) / determinant
            slope = (zero * wanted[1] - one * wanted[0]) / determinant
            weight = level[:, None] + slope[:, None] * p
        weight = np.where(determinant[:, None] > 1e-12 * (zero * two)[:, None], np.maximum(weight, 0), 1.0)
        return Sample(happened, happened + missed * weight)

    def resampled(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw shards with replacement."""
        assert self.shards is not None
        size = len(self.shards.total)
        times = _multinomial(rng, size, np.ones(size), n)
        return Sample(times @ self.shards.happened, times @ self.shards.total)

    def halves(self) -> tuple[Ints, Ints, Ints]:
        """Cells below 1/2, at it, and above it in the order of the first."""
        size, k = self.reported.size, self.reported.size // 2
        return np.arange(k), np.arange(k, size - k), np.arange(size - 1, size - k - 1, -1)


def _multinomial(rng: np.random.Generator, rows: float, shares: Floats, n: int) -> Floats:
    if not shares.sum() > 0:
        return np.zeros((n, shares.size))
    return rng.multinomial(max(round(rows), 1), shares / shares.sum(), size=n).astype(np.float64)


def fine_counts(tally: Tally, floor: float, limit: Limit) -> CellCounts:
    """Count a tally's pairs of all classes about as finely as they are measured: by value, or in cells."""
    rows = tally.weight / tally.weight_squared
    reported, happened, total = tally.pairs()
    mirrored, middle = tally.n_classes == 2, np.empty((3, 0))
    if mirrored:  # above 1/2 what lies next to 1 may be one value that below is several
        below, at = reported < 0.5, reported == 0.5
        middle = np.stack([reported[at], happened[at], total[at]])
        reported, happened, total = reported[below], happened[below], total[below]
    if reported.size > _FINE:
        _, cell = np.unique(grid_of(_FINE_BITS).codes(reported), return_inverse=True)
        said, happened, total = (np.bincount(cell, x).astype(np.float64) for x in (reported * total, happened, total))
        reported = said / total
    if mirrored:
        reported = np.concatenate([reported, middle[0], 1 - reported[::-1]])
        happened = np.concatenate([happened, middle[1], (total - happened)[::-1]])
        total = np.concatenate([total, middle[2], total[::-1]])
    powers = np.stack(_three(apply_limit(reported, floor, limit)))
    return CellCounts(reported, Sample(happened * rows, total * rows), mirrored, powers)


def coarse_counts(tally: Tally, floor: float, limit: Limit) -> CellCounts:
    """Count a tally's pairs of all classes in at most 256 cells, and those of its shards if it has these."""
    pairs, points = tally.pairs(), tally.points()
    rows = tally.weight / tally.weight_squared
    mirrored = tally.n_classes == 2
    code = _with_image(COARSE.places(pairs.reported)[0], mirrored)
    total, happened, said = (_dense(code, x) for x in (pairs.total, pairs.happened, pairs.total * pairs.reported))
    shards = None if tally.shards is None else _by_shard(tally.shards, rows, mirrored)
    if mirrored:
        happened, said, total = _folded(happened, total), _folded(said, total), (total + total[_MIRROR]) / 2
        if shards is not None:
            shards = Sample(_folded(*shards), (shards.total + shards.total[:, _MIRROR]) / 2)
    kept = np.flatnonzero(total)
    reported = said[kept] / total[kept]
    p, of_point = apply_limit(points.p, floor, limit), code[points.entry]
    seen = _dense(of_point, points.weight)[kept]
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = [
            np.where(seen > 0, _dense(of_point, points.weight * x)[kept] / seen, of_mean)
            for x, of_mean in zip(_three(p), _three(apply_limit(reported, floor, limit)), strict=True)
        ]
    return CellCounts(
        reported,
        Sample(happened[kept] * rows, total[kept] * rows),
        mirrored,
        np.stack(powers),
        None if shards is None else Sample(shards.happened[:, kept], shards.total[:, kept]),
        kept,
    )


def _three(p: Floats) -> tuple[Floats, Floats, Floats]:
    """What the means of order 1, 0 and -2/3 are the means of."""
    with np.errstate(divide="ignore"):
        return p, np.log(p), p**ROBUST


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


def _dense(code: Ints, column: Floats) -> Floats:
    return np.bincount(code, column, COARSE_CELLS).astype(np.float64)


def _folded(happened: Floats, total: Floats) -> Floats:
    """Average what happened in a cell with what did not in its mirror image, which rounding can tell apart."""
    return np.asarray((happened + (total - happened)[..., _MIRROR]) / 2)
