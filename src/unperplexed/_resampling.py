"""Samples like the one at hand: what else could have been counted, in coarse cells.

Three kinds. *Redrawn*: as often as each cell was said, what happens is drawn anew from the measured probability. So the
samples know that what did not happen could have, and the truth they vary around is a smooth curve; of the counts as
they are, isotonic regression would only find its own blocks again (Kosorok 2008; Sen, Banerjee and Woodroofe 2010).
*Resampled*: shards of the rows are drawn with replacement, which keeps together what belongs together. *Calibrated*:
what happens is drawn from the reported probability; that is what a calibrated forecaster would have seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._kernels import COARSE, COARSE_CELLS
from ._parts import Shards
from ._tables import Points
from ._typing import Floats, Ints
from .means import ROBUST, Limit, apply_limit
from .tally import Tally

_MIDDLE = COARSE_CELLS // 2 - 1
"""The cell of 1/2, the mirror image of itself."""

_MIRROR = np.arange(COARSE_CELLS)[::-1].copy()
_MIRROR[[_MIDDLE, _MIDDLE + 1]] = _MIDDLE, _MIDDLE + 1


class Sample(NamedTuple):
    """Counts of one or, along the first axis, many samples; cells are along the last one."""

    happened: Floats
    total: Floats


@dataclass(frozen=True)
class CoarseCounts:
    """What was counted, in at most 256 cells, in rows of equal weight."""

    code: Ints
    reported: Floats
    """Mean of the probabilities in each occupied cell, in increasing order."""
    counted: Sample
    mirrored: bool
    """Whether there are two classes, so that what is counted above 1/2 is what was counted below, turned round."""
    shards: Sample | None
    """The same by shard of the rows, one a row; None if these were not kept."""
    powers: Floats
    """Of what happened in each cell the mean of p, of ln p and of p^(-2/3), one a row."""

    @property
    def rows(self) -> int:
        """How many rows of equal weight there are."""
        return max(round(float(self.counted.happened.sum())), 1)

    def redrawn(self, measured: Floats, n: int, rng: np.random.Generator) -> Sample:
        """Draw samples in which each cell happens as often as was measured."""
        happened, total = self.counted.total * measured, self.counted.total
        if not self.mirrored:
            missed = total - happened
            return _sample(
                _multinomial(rng, self.rows, happened, n),
                _multinomial(rng, max(round(float(missed.sum())), 1), missed, n),
            )
        low, middle, high = self._halves()
        k = low.size
        kinds = np.concatenate([happened[low], (total - happened)[low], total[middle] / 2])
        drawn = _multinomial(rng, self.rows, kinds, n)
        found = Sample(*np.zeros((2, n, total.size)))
        found.happened[:, low], found.happened[:, high] = drawn[:, :k], drawn[:, k : 2 * k]
        found.total[:, low] = found.total[:, high] = drawn[:, :k] + drawn[:, k : 2 * k]
        found.happened[:, middle], found.total[:, middle] = drawn[:, 2 * k :], 2 * drawn[:, 2 * k :]
        return found

    def resampled(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw shards with replacement."""
        assert self.shards is not None
        size = len(self.shards.total)
        times = _multinomial(rng, size, np.ones(size), n)
        return Sample(times @ self.shards.happened, times @ self.shards.total)

    def calibrated(self, n: int, rng: np.random.Generator) -> Sample:
        """Draw what happens from the reported probability, as often as each cell was said."""
        total = np.rint(self.counted.total).astype(np.int64)
        if not self.mirrored:
            happened = rng.binomial(total, self.reported, size=(n, total.size)).astype(np.float64)
        else:
            low, middle, high = self._halves()
            happened = np.zeros((n, total.size))
            happened[:, low] = rng.binomial(total[low], self.reported[low], size=(n, low.size))
            happened[:, high] = total[low] - happened[:, low]
            happened[:, middle] = total[middle] / 2
        return Sample(happened, np.broadcast_to(total.astype(np.float64), happened.shape))

    def _halves(self) -> tuple[Ints, Ints, Ints]:
        """Entries below 1/2, at it, and above it in the order of the first."""
        low, middle = np.flatnonzero(self.code < _MIDDLE), np.flatnonzero(self.code == _MIDDLE)
        return low, middle, np.flatnonzero(self.code > _MIDDLE)[::-1]


def _sample(happened: Floats, missed: Floats) -> Sample:
    return Sample(happened, happened + missed)


def _multinomial(rng: np.random.Generator, rows: int, shares: Floats, n: int) -> Floats:
    if not shares.sum() > 0:
        return np.zeros((n, shares.size))
    return rng.multinomial(rows, shares / shares.sum(), size=n).astype(np.float64)


def coarse_counts(tally: Tally, floor: float, limit: Limit) -> CoarseCounts:
    """Count a tally's pairs of all classes in coarse cells, and those of its shards if it has these."""
    pairs, points = tally.pairs(), tally.points()
    rows = tally.weight / tally.weight_squared
    code = COARSE.places(pairs.reported)[0]
    total, happened, said = (_dense(code, x) for x in (pairs.total, pairs.happened, pairs.total * pairs.reported))
    shards = None if tally.shards is None else _by_shard(tally.shards, rows)
    mirrored = tally.n_classes == 2
    if mirrored:
        happened, said, total = _folded(happened, total), _folded(said, total), (total + total[_MIRROR]) / 2
        if shards is not None:
            shards = Sample(_folded(*shards), (shards.total + shards.total[:, _MIRROR]) / 2)
    kept = np.flatnonzero(total)
    reported = said[kept] / total[kept]
    return CoarseCounts(
        kept,
        reported,
        Sample(happened[kept] * rows, total[kept] * rows),
        mirrored,
        None if shards is None else Sample(shards.happened[:, kept], shards.total[:, kept]),
        _powers(points, code[points.entry], kept, reported, floor, limit),
    )


def _by_shard(shards: Shards, rows: float) -> Sample:
    """Dense counts of each shard, in the order of its rows, times a factor."""
    row = np.searchsorted(shards.rows.key, shards.pairs.key // COARSE_CELLS)
    at, shape = row * COARSE_CELLS + shards.pairs.key % COARSE_CELLS, (len(shards.rows.key), COARSE_CELLS)
    happened, total = (
        np.bincount(at, x * rows, shape[0] * shape[1]).reshape(shape).astype(np.float64)
        for x in (shards.pairs.happened, shards.pairs.total)
    )
    return Sample(happened, total)


def _dense(code: Ints, column: Floats) -> Floats:
    return np.bincount(code, column, COARSE_CELLS).astype(np.float64)


def _folded(happened: Floats, total: Floats) -> Floats:
    """Average what happened in a cell with what did not in its mirror image, which rounding can tell apart."""
    return np.asarray((happened + (total - happened)[..., _MIRROR]) / 2)


def _powers(points: Points, code: Ints, kept: Ints, reported: Floats, floor: float, limit: Limit) -> Floats:
    """Means over what happened in each cell; where nothing did, of what was reported."""
    p, mean = apply_limit(points.p, floor, limit), apply_limit(reported, floor, limit)
    seen = _dense(code, points.weight)[kept]
    found = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for power in (lambda x: x, np.log, lambda x: x**ROBUST):
            found.append(np.where(seen > 0, _dense(code, points.weight * power(p))[kept] / seen, power(mean)))
    return np.stack(found)
