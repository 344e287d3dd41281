"""By how much figures vary more than in independent rows of equal weight: where rows are in groups, or have weights.

The first-order influence of a row on a measured figure is a sum over its pairs, which depends on the cell of a pair and
on its outcome alone. So its variance is known both over shards of the rows and over independent rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from ..statistics.means import Limit, apply_limit
from ..statistics.products import product
from ..tally.tally import Tally
from .estimators import DEFAULT, measured_of_samples
from .resampling import CellCounts
from .sampled_rows import ClassRows
from .world_samples import Logs

_LEAST = 1e-12
"""Probabilities are taken to be this at least, so that their powers are finite."""


class Influences(NamedTuple):
    """Influence of a pair that occurred, and of one that did not, on the logarithms of means: one order a row.

    For the positive one of two classes by itself a pair is a row, and its influence is that of the row.
    """

    reported: tuple[Floats, Floats]
    measured: tuple[Floats, Floats]
    logs: Logs
    """The means themselves."""


class _Terms(NamedTuple):
    """Terms of the means in each cell: one order a row."""

    of_p: Floats
    """Powers of the reported probability, or its logarithms."""
    g: Floats
    """The same of the measured probability q."""
    slope: Floats
    """Derivative of q g(q)."""


def _terms(p: Floats, q: Floats, orders: Floats, floor: float, limit: Limit) -> _Terms:
    r = orders[:, None]
    with np.errstate(divide="ignore"):
        of_p, g = (np.maximum(apply_limit(x, floor, limit), _LEAST) for x in (p, q))
        of_p, g = (np.where(r == 0, np.log(x), x**r) for x in (of_p, g))
    inside = (q >= floor) & ((limit == "floor") | (q <= 1 - floor))
    # q g'(q) is r g, or 1 for the logarithm.
    return _Terms(of_p, g, g + inside * np.where(r == 0, 1.0, r * g))


def influences(counts: CellCounts, orders: Floats, floor: float, limit: Limit) -> Influences:
    """Find out what a pair of each cell adds to the means of some orders.

    Parameters
    ----------
    counts : CellCounts
        Pairs in m cells.
    orders : array of shape (k,)
        Orders of the means.
    floor : float
        Probabilities below it count as this much.
    limit : {"floor", "both"}
        Whether those above 1 - floor are lowered too.

    Returns
    -------
    Influences
        Arrays of shape (k, m), or (k, 1) where all cells have the same.
    """
    happened, total = counts.counted
    p, q = counts.reported, measured_of_samples(DEFAULT, counts.reported, happened[None], total[None], floor)[0]
    mine = _terms(p, q, orders, floor, limit)
    seen, level, slope, of_missed = happened / counts.weight, q * mine.g, mine.slope, np.zeros_like(mine.of_p)
    mean_p, mean = product(mine.of_p, seen), product(mine.g, seen)
    if counts.one_sided:  # where the class did not occur, the other one did
        other = _terms(1 - p, 1 - q, orders, floor, limit)
        missed = (total - happened) / counts.weight
        mean_p, mean = mean_p + product(other.of_p, missed), mean + product(other.g, missed)
        level, slope = level + (1 - q) * other.g, slope - other.slope
        of_missed = other.of_p - mean_p[:, None]
    scale_p, scale = (np.where(orders == 0, 1.0, orders * x)[:, None] for x in (mean_p, mean))
    reported = (mine.of_p - mean_p[:, None]) / scale_p, of_missed / scale_p
    missed_less = mean[:, None] if counts.one_sided else 0.0  # of each row one pair occurred
    measured = (level + slope * (1 - q) - mean[:, None]) / scale, (level - slope * q - missed_less) / scale
    return Influences(reported, measured, Logs(*(_logs(x, orders) for x in (mean_p, mean))))


def _logs(mean: Floats, orders: Floats) -> Floats:
    """Logarithms of generalized means, from means of powers or logarithms."""
    of_powers = np.log(np.where(orders == 0, 1.0, mean)) / np.where(orders == 0, 1.0, orders)
    return np.where(orders == 0, mean, of_powers)


def growth(tally: Tally, counts: CellCounts, of_happened: Floats, of_missed: Floats, independent: float) -> Floats:
    """Standard deviations of figures, by the influence of pairs, over those of so large a part of independent rows.

    The rows' own variation counts at least.

    Parameters
    ----------
    tally : Tally
        With the part "shards".
    counts : CellCounts
        Its pairs in m cells.
    of_happened, of_missed : arrays of shape (k, m)
        What a pair of each cell adds to k figures, where it occurred and where it did not.
    independent : float
        Share of the rows that would tell as much if they were independent, in (0, 1].

    Returns
    -------
    array of shape (k,)
        At least the square root of ``independent``; 1 for a figure that does not vary.
    """
    assert counts.shards is not None
    assert tally.shards is not None
    happened, total = counts.shards
    sums = product(happened, of_happened.T) + product(total - happened, of_missed.T)
    weight = tally.shards.rows.weight
    n = len(weight)
    off = sums - (weight / weight.sum())[:, None] * sums.sum(axis=0)
    together = n / max(n - 1, 1) * (off * off).sum(axis=0)
    alone = _alone(tally, counts, of_happened, of_missed)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(alone > 0, np.sqrt(np.maximum(together / alone, 1.0) * independent), 1.0)


def _alone(tally: Tally, counts: CellCounts, happened: Floats, missed: Floats) -> Floats:
    """Variances of the sums of independent rows' influences."""
    observed, total = counts.counted
    if counts.one_sided:
        rows, each = [observed, total - observed], [happened, missed]
    elif counts.mirrored:
        low, middle, high = counts.halves()
        rows = [observed[low], total[low] - observed[low], total[middle] / 2]
        each = [happened[:, a] + missed[:, b] for a, b in ((low, high), (high, low), (middle, middle))]
    elif (kept := ClassRows.of(tally, counts.codes)) is not None:
        return _alone_of_classes(kept, observed / np.maximum(total, 1e-300), happened, missed) * counts.rows
    else:
        rows, each = [observed], [happened]
    return np.asarray(product(np.concatenate(each, axis=1) ** 2, np.concatenate(rows)))


def _alone_of_classes(kept: ClassRows, share: Floats, happened: Floats, missed: Floats) -> Floats:
    """Mean squares, over rows and over the classes of each by their chance, of what all pairs of a row add."""
    chance = kept.pairs * share
    chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
    of_none, of_one = product(kept.pairs, missed.T), happened - missed
    squares = product(kept.count, of_none**2 * chance.sum(axis=1)[:, None] + 2 * of_none * product(chance, of_one.T))
    return np.asarray((squares + product(of_one**2, product(kept.count, chance))) / kept.count.sum())
