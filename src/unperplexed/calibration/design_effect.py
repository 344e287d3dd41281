"""By how much figures vary more than in independent rows of equal weight: where rows are in groups, or have weights.

The first-order influence of a row on a measured figure is a sum over its pairs, which depends on the cell of a pair and
on its outcome alone. So its variance is known both over shards of the rows and over independent rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from ..statistics.means import Limit, apply_limit
from ..tally.row_sample import ROOM
from ..tally.tally import Tally
from .estimators import DEFAULT, measured_of_samples
from .resampling import CellCounts
from .sampled_rows import ClassRows

_LEAST = 1e-12
"""Probabilities are taken to be this at least, so that their powers are finite."""


class MeanLogs(NamedTuple):
    """Logarithms of means, by order."""

    reported: Floats
    measured: Floats


class Influences(NamedTuple):
    """Influence of a pair that occurred, and of one that did not, on the logarithms of means: one order a row."""

    reported: tuple[Floats, Floats]
    measured: tuple[Floats, Floats]
    logs: MeanLogs
    """The means themselves."""


def influences(counts: CellCounts, orders: Floats, floor: float, limit: Limit) -> Influences:
    """Find out what a pair of each cell adds to the means of some orders."""
    happened, total = counts.counted
    q = measured_of_samples(DEFAULT, counts.reported, happened[None], total[None], floor)[0]
    share = happened / happened.sum()
    r = orders[:, None]
    with np.errstate(divide="ignore"):
        value, p = (np.maximum(apply_limit(x, floor, limit), _LEAST) for x in (q, counts.reported))
        inside = (q >= floor) & ((limit == "floor") | (q <= 1 - floor))
        g, of_p = (np.where(r == 0, np.log(x), x**r) for x in (value, p))
    mean, mean_p = ((share * x).sum(axis=1, keepdims=True) for x in (g, of_p))
    # Of q g(q) the derivative, q g'(q) being r g, or 1 for the logarithm.
    slope = g + inside * np.where(r == 0, 1.0, r * g)
    scale = np.where(r == 0, 1.0, r * mean)
    measured = (q * g + slope * (1 - q) - mean) / scale, (q * g - slope * q) / scale
    reported = (of_p - mean_p) / np.where(r == 0, 1.0, r * mean_p), np.zeros_like(of_p)
    order = np.where(orders == 0, 1.0, orders)
    logs = (np.where(orders == 0, x[:, 0], np.log(np.where(r == 0, 1.0, x)[:, 0]) / order) for x in (mean_p, mean))
    return Influences(reported, measured, MeanLogs(*logs))


def growth(tally: Tally, counts: CellCounts, of_happened: Floats, of_missed: Floats, independent: float) -> Floats:
    """Standard deviations of figures, by the influence of pairs, over those of so large a part of independent rows.

    The rows' own variation counts at least.
    """
    assert counts.shards is not None
    assert tally.shards is not None
    happened, total = counts.shards
    sums = happened @ of_happened.T + (total - happened) @ of_missed.T
    weight = tally.shards.rows.weight
    n = len(weight)
    off = sums - (weight / weight.sum())[:, None] * sums.sum(axis=0)
    together = n / max(n - 1, 1) * (off * off).sum(axis=0)
    alone = np.array([_alone(tally, counts, *each) for each in zip(of_happened, of_missed, strict=True)])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(alone > 0, np.sqrt(np.maximum(together / alone, 1.0) * independent), 1.0)


def _alone(tally: Tally, counts: CellCounts, happened: Floats, missed: Floats) -> float:
    """Variance of the sum of independent rows' influences."""
    observed, total = counts.counted
    if counts.mirrored:
        low, middle, high = counts.halves()
        rows = np.concatenate([observed[low], total[low] - observed[low], total[middle] / 2])
        each = np.concatenate(
            [happened[low] + missed[high], missed[low] + happened[high], happened[middle] + missed[middle]]
        )
        return float(rows @ each**2)
    if tally.row_sample is None or not tally.row_sample.key.size or counts.codes is None:
        return float(observed @ happened**2)
    kept = ClassRows.of(tally.row_sample, counts.codes, tally.n_weighing <= ROOM // tally.n_classes)
    share = observed / np.maximum(total, 1e-300)
    chance = kept.pairs * share
    chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
    common = (kept.pairs @ missed)[:, None] + (happened - missed)
    return float((kept.count @ (chance * common**2)).sum() / kept.count.sum() * counts.rows)
