"""Parts of a tally that are kept when asked for: what they are called, and the shards of the rows.

All have a size that does not grow with the rows. Their sums are of whole numbers, exact in any order unless there are
weights, or scores above 1e11.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.typing import AnyFloats, Floats, Ints
from ..forecasts.group_keys import N_SHARDS
from ..kernels.rows import Rows
from ..statistics.means import effective_number
from .class_tables import Coarse, DenseCoarse
from .tables import Keyed

PARTS = ("classes", "predictions", "shards", "surprises", "diagnosis")

_COARSE_BITS, _FINE_BITS, _HIT_BITS = 16, 42, 30
"""Bits of the units of a score's two limbs, and of parts of a tied row's hit: sums of whole units are exact."""

MAY_MISS = ("surprises", "diagnosis")
"""One of two tallies that add up may be without these; then the sum is."""


class ShardRows(Keyed):
    """Sums over the rows of each shard."""

    rows: Floats
    weight: Floats
    hits: Floats
    """Weight of the rows whose top class happened, split among ties."""


class ShardScores(Keyed):
    """Sums of one score over the rows of each shard, in two limbs: 2**-16 of the first and 2**-42 of the second."""

    coarse: Floats
    fine: Floats

    @property
    def sums(self) -> Floats:
        """Sum of the score in each shard, each row times its weight."""
        return np.asarray(self.coarse * 2.0**-_COARSE_BITS + self.fine * 2.0**-_FINE_BITS)


class Shards(Frozen):
    """N_SHARDS random parts of the rows, for intervals that keep the pairs of a row or a group together."""

    rows: ShardRows
    pairs: Coarse
    scores: Mapping[str, ShardScores]
    clustered: bool = False
    """Whether rows went into shards by their group, so that only rows of different shards are independent."""

    def __add__(self, other: Shards) -> Shards:
        """Count both."""
        scores = {name: sums + other.scores[name] for name, sums in self.scores.items() if name in other.scores}
        return Shards(self.rows + other.rows, self.pairs + other.pairs, scores, self.clustered or other.clustered)

    @property
    def independent(self) -> float:
        """Effective number of shards: (sum W)^2 / sum W^2."""
        return effective_number(self.rows.weight)

    def standard_error(self, sums: Floats) -> Floats:
        """Standard error of a mean over the rows, from its weighted sums by shard, along the first axis.

        NaN where all rows are of one shard, or a sum is infinite.
        """
        weight, n = self.rows.weight, np.float64(len(self.rows.key))
        share = (weight / weight.sum()).reshape(-1, *[1] * (sums.ndim - 1))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            off = sums - share * sums.sum(axis=0)
            return np.asarray(np.sqrt(n / (n - 1) * (off * off).sum(axis=0)) / weight.sum())


class ShardCounter:
    """Fills the shards of a tally."""

    def __init__(self, scores: tuple[str, ...]) -> None:
        self.cells = DenseCoarse(N_SHARDS)
        self.rows, self.weight, self.hits = np.zeros((3, N_SHARDS))
        self.scores = {name: np.zeros((2, N_SHARDS)) for name in scores}
        self.clustered = False

    def add(self, shard: Ints, p: AnyFloats, truth: Ints, rows: Rows, weights: Floats | None) -> None:
        """Count rows; with two classes the pairs of the positive one, which tell those of the other.

        Parameters
        ----------
        shard : ndarray of shape (n,)
            Shard of each row.
        p : ndarray of shape (n, C)
            Probabilities.
        truth : ndarray of shape (n,)
            Number of the observed class of each row, from 0.
        rows : Rows
            Primitives of the rows.
        weights : ndarray of shape (n,) or None
            Positive weights; None if all are 1.
        """
        hit = rows.hit
        w = np.ones(hit.size) if weights is None else weights
        two = rows.n_classes == 2
        happened = truth == 1 if two else np.ones(hit.size, dtype=bool)
        self.cells.add(p[:, 1:] if two else p, shard, True, weights)
        self.cells.add_happened(rows.correct[happened], shard[happened], w[happened])
        np.add.at(self.rows, shard, 1.0)
        np.add.at(self.weight, shard, w)
        unit = 2.0**-_HIT_BITS  # thirds would add up by their order
        np.add.at(self.hits, shard, w * (np.rint(hit / unit) * unit))

    def add_score(self, name: str, shard: Ints, x: Floats, weights: Floats | None) -> None:
        """Add a score's values; without weights in limbs of whole numbers, so that no order matters.

        Parameters
        ----------
        name : str
            The score.
        shard : ndarray of shape (n,)
            Shard of each row.
        x : ndarray of shape (n,)
            Value of the score in each row.
        weights : ndarray of shape (n,) or None
            Positive weights; None if all are 1.
        """
        high = (x if weights is None else x * weights) * 2.0**_COARSE_BITS
        if weights is None:
            whole = np.rint(high)
            with np.errstate(invalid="ignore"):
                rest = np.rint((high - whole) * 2.0 ** (_FINE_BITS - _COARSE_BITS))
            low = np.nan_to_num(rest, nan=0.0)  # infinity less itself
            np.add.at(self.scores[name][1], shard, low)
            high = whole
        np.add.at(self.scores[name][0], shard, high)

    def shards(self) -> Shards:
        """Keep the shards that have rows."""
        key = np.flatnonzero(self.rows)
        scores = {name: ShardScores(key, *sums[:, key]) for name, sums in self.scores.items()}
        rows = ShardRows(key, self.rows[key], self.weight[key], self.hits[key])
        return Shards(rows, self.cells.table(), scores, self.clustered)
