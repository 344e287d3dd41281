"""What the tests of more than two classes need, from rows or from a tally: sums of fixed size that add up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..._lib.arrays import run_starts
from ..._lib.dataclasses import fields
from ..._lib.typing import AnyFloats, Floats, Ints, ReadOnlyArrays
from ...statistics.matrices import product
from ...tally.class_sums import CELLS, FIRST_LEVEL, HALF, LEVELS, ClassSums
from .class_rows import CERTAIN, CHUNK_VALUES, MOST_SURPRISING, Certain, Chunk

WIDE_ROWS = 1024
"""Rows of which products of classes are made at a time, at the least: each is added to the square of their number."""
SHARDS = 1024
"""Clusters are summed in so many shards; several clusters may share one."""
_TOP_BITS = 0x3F000000 >> 22
"""Leading bits of 0.5 in single precision: those of the exponent and one of the fraction."""


class ClusterSums(ReadOnlyArrays):
    """Sums of scores by shard of clusters, and the rows' own squares."""

    shards: Floats
    """(SHARDS, 2 + classes): scores of confidence, of the tail and of each class."""
    sizes: Floats
    own_shape: Floats
    """Sum over rows of the products of the scores of confidence and tail."""
    own_classes: Floats
    """Sum over rows of the squared score of each class."""


class ClassStatistics(ReadOnlyArrays):
    """Scores of class biases, confidence and tail with their moments, were the forecasts calibrated.

    Its size does not depend on the number of rows. `ClassStatistics.none` is the identity of the sum. Two parts have
    the same classes. All moments are under the predicted probabilities: nothing in them is estimated.
    """

    rows: int
    weight: float
    squared_weight: float
    observed: Floats
    """Weight of the rows in which each class was observed."""
    predicted: Floats
    """Sum of w p."""
    information: Floats
    """Sum of w p (1 - p)."""
    shape_score: Floats
    """Sum of w (f_y - E f) for f = ln p and f = the tail's direction."""
    shape_information: Floats
    """(2, 2): sum of w Cov(f)."""
    shape_covariance: Floats
    """(2, 2): sum of w^2 Cov(f)."""
    shape_classes: Floats
    """(2, classes): sum of w^2 Cov(f, class)."""
    shape_third: Floats
    """Sums of w^3 E(a^3), E(a^2 b), E(a b^2), E(b^3) for a and b, the centred f."""
    cells: Floats
    """(classes, CELLS): how many probabilities lie in each cell."""
    cell_sums: Floats
    """(classes, CELLS): their sum."""
    covariance: Floats
    """(classes, classes): sum of w^2 (diag p - p p')."""
    clusters: ClusterSums | None = None

    @property
    def equal_weights(self) -> bool:
        """Whether the weights of all rows are the same, so that sums of them count rows."""
        return abs(self.squared_weight - self.weight) <= 1e-9 * self.weight

    def __add__(self, other: ClassStatistics) -> ClassStatistics:
        """Statistics of both parts."""
        found: ClassStatistics = _plus(self, other, 1)
        return found

    def __sub__(self, other: ClassStatistics) -> ClassStatistics:
        """Statistics of the rows that are not in the other part."""
        found: ClassStatistics = _plus(self, other, -1)
        return found

    @classmethod
    def none(cls, classes: int) -> ClassStatistics:
        """Statistics of no rows."""
        c, two, cells = classes, (2, 2), (classes, CELLS)
        shapes = (c, c, c, 2, two, two, (2, c), 4, cells, cells, (c, c))
        sums: list[Any] = [0, 0.0, 0.0, *(np.zeros(shape) for shape in shapes)]
        return cls(*sums)

    @classmethod
    def of(cls, *chunks: Chunk) -> ClassStatistics:
        """Statistics of chunks of rows, were their probabilities calibrated."""
        *moments, variance, scores = zip(*map(_moments, chunks), strict=True)
        p = np.concatenate([each.p for each in chunks])
        w, truth = (np.concatenate([getattr(each, name) for each in chunks]) for name in ("weights", "truth"))
        clusters = [each.cluster for each in chunks if each.cluster is not None]
        weighted = p * w[:, None].astype(p.dtype)
        covariance = -product(weighted.T, weighted).astype(np.float64, copy=False)
        np.fill_diagonal(covariance, sum(variance))
        by_shard = _by_shard(np.concatenate(clusters), truth, w, p, np.concatenate(scores)) if clusters else None
        sums: list[Any] = [*map(sum, moments), covariance, by_shard]
        return cls(*sums)


def _plus(one: Any, other: Any, sign: int) -> Any:
    """Sums over both parts, or without the other one; parts without clusters have None."""
    if one is None or other is None:
        return other if one is None else one
    if isinstance(one, ClassStatistics | ClusterSums):
        return type(one)(*(_plus(getattr(one, f.name), getattr(other, f.name), sign) for f in fields(one)))
    return one + sign * other


def _moments(chunk: Chunk) -> tuple[Any, ...]:
    """Sums of a few rows in the order of `ClassStatistics`, up to its covariance; variances, and each row's scores."""
    p, w, own, directions = np.asarray(chunk.p, dtype=np.float64), chunk.weights, [], []
    mine, weighted = (np.arange(len(p)), chunk.truth), p * w[:, None]
    predicted = weighted.sum(axis=0)
    classes = np.bincount(chunk.truth, w, p.shape[1]), predicted, predicted - np.einsum("ij,ij->j", weighted, p)
    for values in (chunk.log_p, chunk.curve("tail")):
        f = values.astype(np.float64)
        f -= np.einsum("ij,ij->i", p, f)[:, None]
        directions.append(f)
        own.append(w * f[mine])
    a, b = directions
    pa, pb = p * a, p * b
    ab = [np.einsum("ij,ij->i", x, y) for x, y in ((pa, a), (pa, b), (pb, b))]
    cov, info = (product(power, np.stack(ab, 1))[[0, 1, 1, 2]].reshape(2, 2) for power in (w * w, w))
    with_classes = np.stack([product(w * w, pa), product(w * w, pb)])  # Cov(f, 1[y = c]) = p_c (f_c - E f)
    pa, pb = pa * a, pb * b
    third = np.stack([np.einsum("ij,ij->i", *each) for each in ((pa, a), (pa, b), (pb, a), (pb, b))], 1)
    scores = np.stack(own, 1)
    shapes = scores.sum(axis=0), info, cov, with_classes, product(w**3, third)
    variance = product(w, weighted) - np.einsum("ij,ij->j", weighted, weighted)
    return len(w), float(w.sum()), float(product(w, w)), *classes, *shapes, *_cells(chunk.p), variance, scores


def information_of(statistics: ClassStatistics) -> Floats:
    """Information on slope, tail and class biases, were the forecasts calibrated."""
    s, variance = statistics, float(np.trace(statistics.covariance))
    ratio = float(s.information.sum()) / variance if variance > 0 else 1.0
    return ratio * np.block([[s.shape_covariance, s.shape_classes], [s.shape_classes.T, s.covariance]])


class SummedStatistics:
    """Statistics of rows that are read chunk by chunk."""

    def __init__(self, classes: int) -> None:
        self._sum, self._waiting = ClassStatistics.none(classes), list[Chunk]()
        self._enough = max(CHUNK_VALUES, WIDE_ROWS * classes)

    def read(self, chunk: Chunk) -> None:
        """Add rows; many at a time, as products of matrices are faster so, and few in one, however they are read."""
        if self._waiting and self._waiting[-1].log_p.size + chunk.log_p.size <= CHUNK_VALUES:
            chunk = Chunk.joined([self._waiting.pop(), chunk])
        self._waiting.append(chunk)
        if sum(each.log_p.size for each in self._waiting) >= self._enough:
            self._add()

    def _add(self) -> None:
        self._sum += ClassStatistics.of(*self._waiting)
        self._waiting = []

    def total(self) -> ClassStatistics:
        """Return those of all rows."""
        if self._waiting:
            self._add()
        return self._sum


def _cells(p: AnyFloats) -> tuple[Floats, Floats]:
    """Count and add up the probabilities of each class in cells that are narrow in their log-odds."""
    classes, flat = p.shape[1], p.ravel()
    size = classes * CELLS
    above = np.flatnonzero(flat > 0.5)
    bits: Any = flat.astype(np.float32, copy=False).view(np.int32) >> 22
    bits[above] = (1 - flat[above]).astype(np.float32).view(np.int32) >> 22
    cell = np.minimum(np.maximum(_TOP_BITS - bits, 0), HALF - 1)
    cell[above] += HALF
    key = (cell.reshape(p.shape) + np.arange(0, size, CELLS)).ravel()
    counts = np.bincount(key, minlength=size).astype(np.float64)
    sums = np.bincount(key, flat, size).astype(np.float64)
    return counts.reshape(classes, CELLS), sums.reshape(classes, CELLS)


def _by_shard(cluster: Ints, truth: Ints, w: Floats, p: AnyFloats, shape: Floats) -> ClusterSums:
    """Sums of the scores of rows by shard of clusters."""
    shard: Ints = cluster % SHARDS
    residual = -w[:, None] * p
    residual[np.arange(len(p)), truth] += w
    order = np.argsort(shard, kind="stable")
    first = run_starts(shard[order])
    sums = np.zeros((SHARDS, 2 + p.shape[1]))
    scores = np.concatenate([shape, residual], axis=1)
    if len(order):
        sums[shard[order][first]] = np.add.reduceat(scores[order], first, axis=0)
    sizes = np.bincount(shard, minlength=SHARDS).astype(np.float64)
    return ClusterSums(sums, sizes, product(shape.T, shape), np.einsum("ij,ij->j", residual, residual))


def certain_level(sums: ClassSums) -> int:
    """Return the level from which on rows are certain."""
    return min(max(math.ceil(-math.log2(CERTAIN / float(sums["rows"][0]))), FIRST_LEVEL), LEVELS)


def surprising_levels(sums: ClassSums) -> list[tuple[int, int]]:
    """Return levels below the certain ones with how many wrong rows there are from there on, at most a few.

    Each of these rows predicted its outcome, and those no more probable, with less than 1 / n.
    """
    wrong, certain = sums["wrong"], certain_level(sums)
    first = math.ceil(math.log2(float(sums["rows"][0])))
    levels = [level for level in range(certain - 1, max(first, FIRST_LEVEL) - 1, -1) if wrong[level]]
    counts = [(level, int(wrong[level:certain].sum())) for level in levels]
    return [(level, count) for level, count in counts if count <= MOST_SURPRISING]


def statistics_of_sums(
    sums: ClassSums, level: int | None = None, clustered: bool = False
) -> tuple[ClassStatistics, Certain]:
    """Return the statistics without the rows that were wrong from a level on, those certain by default, and these.

    Where a row is certain is known to a power of two. Rows that were certain and right stay in: they add next to
    nothing to any sum. Those that were wrong leave the scores; their variances, were they calibrated, stay in.
    """
    n = float(sums["rows"][0])
    scale = n / float(sums["observed"].sum())  # weights have mean 1
    level = certain_level(sums) if level is None else level
    wrong, right = (int(sums[name][level:].sum()) for name in ("wrong", "right"))
    out, score_out = (scale * sums[name][level:].sum(axis=0) for name in ("wrong_residual", "wrong_score"))
    cells, cell_sums = sums["cells"], sums["cell_sums"]
    statistics = ClassStatistics(
        rows=round(n),
        weight=n,
        squared_weight=scale**2 * float(sums["squared_weight"][0]),
        observed=scale * sums["observed"] - out,
        predicted=scale * sums["predicted"],
        information=scale * sums["information"],
        covariance=scale**2 * _covariance(sums),
        shape_score=scale * sums["shape_score"] - score_out,
        shape_information=scale * _square(sums["shape_information"]),
        shape_covariance=scale**2 * _square(sums["shape_covariance"]),
        shape_classes=scale**2 * sums["shape_classes"],
        shape_third=scale**3 * sums["shape_third"],
        cells=cells,
        cell_sums=cell_sums,
        clusters=_clusters(sums, scale) if clustered else None,
    )
    # An outcome that is certain not to occur has at most 2**-level; all such together are expected so often at most.
    unlikely = float(cell_sums[:, min(2 * (level - 1), HALF - 1) : HALF].sum())
    return statistics, Certain(wrong + right, wrong, expected=min(unlikely, CERTAIN), observed=out)


def _clusters(sums: ClassSums, scale: float) -> ClusterSums:
    """Sums by shard, each of one cluster or several; rows that were certain and wrong are among them."""
    return ClusterSums(
        scale * np.concatenate([sums["shard_score"], sums["shard_residual"]], axis=1),
        sums["shard_rows"],
        scale**2 * _square(sums["own_score"]),
        scale**2 * sums["own_residual"],
    )


def _square(three: Floats) -> Floats:
    return three[[0, 1, 1, 2]].reshape(2, 2)


def _covariance(sums: ClassSums) -> Floats:
    lower = np.zeros((sums.classes, sums.classes))
    lower[np.tril_indices(sums.classes)] = -sums["products"]
    whole = np.tril(lower, -1) + np.tril(lower, -1).T
    # p (1 - p) is kept more finely than products are, which matters where p is near 1.
    exact = sums["information"] if not sums.rest.any() else sums["squared_predicted"] + np.diag(lower)
    return np.asarray(whole + np.diag(exact))
