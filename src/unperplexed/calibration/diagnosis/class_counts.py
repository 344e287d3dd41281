"""What a tally of more than two classes knows of its rows: the statistics of the tests, from its part "diagnosis"."""

from __future__ import annotations

import math

import numpy as np

from ..._lib.typing import Floats
from ...tally.class_row_sums import FIRST_LEVEL, HALF, LEVELS
from ...tally.class_sums import ClassSums
from .class_rows import CERTAIN, MOST_SURPRISING, Certain
from .class_statistics import ClassStatistics, ClusterSums


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
