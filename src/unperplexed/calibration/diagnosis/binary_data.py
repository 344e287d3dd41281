"""What the diagnosis of two classes is made from: rows in memory, or the counts of a tally."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..._lib.arrays import distinct, run_starts
from ..._lib.elementary import expit
from ..._lib.typing import Floats, Ints
from ...forecasts.labels import Label
from ...kernels.logarithms import log_odds
from ...kernels.rows import COARSE, COARSE_CELLS
from ...tally.tables import without_last_digits
from ...tally.tally import Tally
from ..resampling import positive_pairs
from .binary import BinaryData
from .class_rows import CERTAIN, MOST_NAMED, RowBlock
from .gate import FEWEST_CLUSTERS, ClusterSums, Scored, gate
from .line import CalibrationLine, calibration_line


def data_of_rows(blocks: Iterable[RowBlock], labels: tuple[Label | None, ...]) -> BinaryData | None:
    """Count rows of the same log-odds together; None for no rows."""
    read = [_columns_of(block, *_of_second(block)) for block in blocks]
    if not read:
        return None
    s, p, y, w, cluster, index = _joined(read)
    entry, rows, clusters = _counted(s, y, w, cluster)

    def rows_at(at: np.ndarray, outcome: bool) -> tuple[int, ...]:
        return tuple(index[np.isin(entry, at) & (y == outcome)][:MOST_NAMED].tolist())

    return BinaryData(
        rows,
        counts=np.bincount(entry).astype(np.float64),
        counts_positive=np.bincount(entry, y).astype(np.float64),
        n=float(s.size),
        labels=labels,
        mean=float((w * p).sum() / w.sum()),
        frequency=float((w * y).sum() / w.sum()),
        clusters=clusters,
        rows_at=rows_at if (index >= 0).all() else None,
    )


def line_of_top_class(blocks: Iterable[RowBlock]) -> CalibrationLine:
    """Estimate the calibration line of the most probable class of rows: whether it is the observed one."""
    s, _, y, w, cluster, _ = _joined([_columns_of(block, *_of_top(block)) for block in blocks])
    return calibration_line(*_counted(s, y, w, cluster)[1:])


def p_values_in_clusters(happened: np.ndarray, s: Floats, weight: Floats | None, cluster: Ints) -> tuple[float, float]:
    """Test calibration by clusters, and of independent rows, given log-odds and outcomes; NaN where these are few."""
    n = len(s)
    w = np.ones(n) if weight is None else np.asarray(weight, dtype=np.float64) * (n / np.sum(weight))
    some = np.abs(s) <= math.log(n / CERTAIN)
    _, rows, sums = _counted(s[some], happened[some].astype(np.float64), w[some], cluster[some])
    if sums is None or len(distinct(cluster[some])) < FEWEST_CLUSTERS:
        return math.nan, math.nan
    return gate(rows, sums(np.ones(rows.s.size, dtype=bool))).p_value, gate(rows).p_value


def _joined(read: Sequence[tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
    """Put the columns of all blocks together, with weights of mean 1."""
    s, p, y, w, cluster, index = (np.concatenate(column) for column in zip(*read, strict=True))
    return s, p, y, w * (s.size / w.sum()), cluster, index


def _counted(
    s: Floats, y: Floats, w: Floats, cluster: Ints
) -> tuple[Ints, Scored, Callable[[np.ndarray], ClusterSums] | None]:
    """Count rows of the same log-odds together; tell the place of each row, and how to sum over clusters, if any."""
    values, entry = np.unique(s, return_inverse=True)

    def summed(x: Floats) -> Floats:
        return np.bincount(entry, x, values.size).astype(np.float64)

    rows = Scored(values, summed(w), summed(w * y), summed(w * w), summed(w * w * y), summed(w**3))
    clustered = bool((cluster >= 0).all()) and len(distinct(cluster)) < cluster.size  # of one row: independent
    sums = sums_over_clusters(entry, w, w * (y - expit(s)), cluster) if clustered else None
    return entry, rows, sums


def _columns_of(block: RowBlock, s: Floats, p: Floats, y: Floats) -> tuple[np.ndarray, ...]:
    """Return log-odds and probability of a class, outcome, weight, cluster and number of each row."""
    n = len(block.truth)
    w = np.ones(n) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    none = np.full(n, -1)
    cluster, index = (none if column is None else column for column in (block.cluster, block.number))
    return s, p, y, w, cluster, index


def _of_second(block: RowBlock) -> tuple[Floats, Floats, Floats]:
    return block.log_odds(), np.asarray(block.p[:, 1], dtype=np.float64), (block.truth == 1).astype(np.float64)


def _of_top(block: RowBlock) -> tuple[Floats, Floats, Floats]:
    """Of classes that tie at the top the observed one counts in part."""
    p = np.asarray(block.p.max(axis=1), dtype=np.float64)
    top = block.p == block.p.max(axis=1, keepdims=True)
    return log_odds(p[:, None], "probability"), p, top[np.arange(p.size), block.truth] / top.sum(axis=1)


def sums_over_clusters(
    entry: Ints, weight: Floats, residual: Floats, cluster: Ints
) -> Callable[[np.ndarray], ClusterSums]:
    """Sum over the clusters of rows, or of other parts of entries, given which entries are kept.

    Parameters
    ----------
    entry : array of int, shape (n,)
        Place of each row among the entries.
    weight, residual : arrays of shape (n,)
        Weight of each row, and its outcome minus its prediction, times the weight.
    cluster : array of int, shape (n,)
        Number of each row's cluster.

    Returns
    -------
    callable
        From a mask of entries to the `ClusterSums` of those.
    """

    def of(kept: np.ndarray) -> ClusterSums:
        some = np.flatnonzero(kept[entry])
        _, number = np.unique(cluster[some], return_inverse=True)
        at = (np.cumsum(kept) - 1)[entry[some]]
        return ClusterSums.of(number, residual[some], weight[some], lambda values: values[at])

    return of


def data_of_tally(tally: Tally) -> BinaryData | None:
    """Return what a tally of two classes knows; None if it does not keep rows by their outcome."""
    columns = tally.positive
    if columns is None:
        return None
    scale = tally.n_weighing / tally.weight
    s = log_odds(columns.p[:, None], "probability")
    total, positive = columns.total * scale, columns.positive * scale
    squared, squared_positive = columns.squared * scale**2, columns.squared_positive * scale**2
    # Rows of one value or cell are taken to weigh the same, which matters to a correction for skewness alone.
    rows = Scored(s, total, positive, squared, squared_positive, squared**2 / total)
    counts, counts_positive = np.zeros_like(total), np.zeros_like(total)
    some, some_positive = squared > 0, squared_positive > 0  # weights of 1e-90 beside those of 1e90 have no squares
    counts[some] = total[some] ** 2 / squared[some]
    counts_positive[some_positive] = positive[some_positive] ** 2 / squared_positive[some_positive]
    clusters = _sums_over_shards(tally, s, rows.total) if tally.clustered else None
    return BinaryData(
        rows,
        counts=counts,
        counts_positive=counts_positive,
        n=float(tally.n_weighing),
        labels=tally.labels,
        mean=columns.mean,
        frequency=columns.frequency,
        clusters=clusters,
        by="values" if tally.exact else "cells",
        weighted_counts=tally.uneven,
        wrong_rows=_wrong_rows(tally) if tally.uneven else None,
    )


def rows_of_values(p: Floats, positive: np.ndarray) -> Scored:
    """Return what a tally would know of rows of weight 1, given their probabilities and outcomes."""
    order = np.argsort(p)
    shown = without_last_digits(p[order])
    first = run_starts(shown)
    total, happened = (np.add.reduceat(x, first) for x in (np.ones(p.size), positive[order].astype(np.float64)))
    return Scored(log_odds(shown[first, None], "probability"), total, happened, total, happened, total)


def line_of_tally(tally: Tally) -> CalibrationLine:
    """Estimate the calibration line of what a tally counted, of more than two classes that of the most probable one.

    Clusters are those of its shards, of two classes alone: it does not keep the most probable class by shard.
    """
    data = data_of_tally(tally) if tally.n_classes == 2 else None
    if data is not None:
        return calibration_line(data.rows, data.clusters)
    pairs = positive_pairs(tally, "each-class") or tally.pairs("top-label")
    s = log_odds(pairs.reported[:, None], "probability")
    scale, each = tally.n_weighing / tally.weight, tally.weight_squared / tally.weight
    total, happened = pairs.total * scale, np.minimum(pairs.happened, pairs.total) * scale
    # Weights of the rows of a top class are taken to be spread as those of all rows.
    squared, squared_happened = (x * each * scale for x in (total, happened))
    line = calibration_line(Scored(s, total, happened, squared, squared_happened, squared**2 / total))
    return line.without_errors() if tally.clustered else line


def _wrong_rows(tally: Tally) -> int | None:
    """Count the rows that were certain and wrong among the most surprising ones; None where these may not be all."""
    if tally.surprises is None:
        return None
    wrong = sum(row.probability * tally.n_weighing < CERTAIN for row in tally.surprises)
    return wrong if 0 < wrong < len(tally.surprises) else None


def _sums_over_shards(tally: Tally, s: Floats, total: Floats) -> Callable[[np.ndarray], ClusterSums]:
    """Sum functions of the log-odds over the shards of a tally, in whose coarse cells they are taken as constant."""
    shards, columns = tally.shards, tally.positive
    assert shards is not None
    assert columns is not None
    scale = tally.n_weighing / tally.weight
    row = np.searchsorted(shards.rows.key, shards.pairs.key // COARSE_CELLS)
    code = shards.pairs.key % COARSE_CELLS
    cell, _ = COARSE.places(columns.p)
    mean = COARSE.means(code, shards.pairs.total, shards.pairs.place)
    residual = (shards.pairs.happened - shards.pairs.total * mean) * scale

    def of(kept: np.ndarray) -> ClusterSums:
        weight = np.where(kept, total, 0.0)
        of_cell = np.bincount(cell, weight, COARSE_CELLS)
        some = of_cell > 0

        def at(values: Floats) -> Floats:
            full, mean = np.zeros(s.size), np.zeros(COARSE_CELLS)
            full[kept] = values
            mean[some] = np.bincount(cell, weight * full, COARSE_CELLS)[some] / of_cell[some]
            return np.asarray(mean[code])

        return ClusterSums.of(row, residual, shards.pairs.total * scale, at, len(shards.rows.key))

    return of
