"""The calibration test of rows that depend on one another, or have weights: by sums over shards of the rows.

Of calibrated forecasts the sum of (o - p) logit(p) over the pairs of a shard is 0 on average. It is the score of a
slope of the log-odds that is not 1; of a level there is none in pairs of all classes. The t of these sums does not have
Student's distribution, since a few sure forecasts that were wrong outweigh many that were right. So it is compared with
that of calibrated shards. How strongly the rows of these depend on one another the outcomes tell: of each shard as many
parts are drawn as it has independent rows, all rows of a part going the same way.
"""

from __future__ import annotations

import math

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import Frozen
from .._lib.elementary import logit
from .._lib.typing import Floats, Ints
from ..tally.tally import Tally, View
from .resampling import CellCounts, shown_counts

FEWEST_SHARDS = 6
"""With fewer, what other samples would show is not told by one."""

_FARTHEST = 30.0
"""Log-odds are not taken to be farther from 0, so that nothing is infinite."""

_ROUNDING = 1e-9
"""Share of a sum that rounding may leave of nothing, or move it by."""

_NEIGHBOURHOODS = 16
"""Parts of the pairs in which rows that are near each other count as alike."""

_SAMPLES_AT_ONCE = 1000
"""Samples that are drawn at once, for the memory."""

_PARTS_DRAWN = 8
"""Sums of more parts than this are drawn from the gamma distribution of their variance and skewness."""


def score_test(counts: CellCounts, clustered: bool, samples: int, rng: np.random.Generator) -> tuple[float, float]:
    """Give t, below 0 if overconfident, and its p-value; NaN of too few shards.

    Parameters
    ----------
    counts : CellCounts
        Pairs in cells, with those of each shard.
    clustered : bool
        Whether rows of a shard may depend on one another; else they have weights alone.
    samples : int
        How many calibrated samples t is compared with.
    rng : numpy.random.Generator

    Returns
    -------
    tuple of float
        t and the two-sided p-value.
    """
    assert counts.shards is not None
    happened, total = counts.shards
    p, (n, _) = counts.reported, total.shape
    least = _ROUNDING * total  # what rounding leaves of nothing
    if (happened > least)[:, p == 0].any() or (total - happened > least)[:, p == 1].any():
        return -math.inf, 2 / (1 + samples)  # what cannot happen did
    odds = np.clip(logit(p), -_FARTHEST, _FARTHEST)
    rounding = _ROUNDING * float((total @ np.abs(odds)).mean())
    statistic = float(_t((happened - total * p) @ odds, rounding)) if n > 1 else math.nan
    if n < FEWEST_SHARDS:
        return statistic, math.nan
    rows = np.maximum(happened.sum(axis=1), 1.0)
    above = p > 0.5  # pairs of which no row has two, for those of a row exclude one another
    some = above if above.any() else ~above
    correlation = _intraclass_correlation(happened[:, some], total[:, some])
    parts = _independent(rows, rows, correlation) if clustered else rows
    blocks = np.array_split(np.arange(samples), -(-samples // _SAMPLES_AT_ONCE))
    null_sums = CalibratedShardSums.of(counts, odds)
    null = np.concatenate([_t(_calibrated(null_sums, parts, block.size, rng), rounding) for block in blocks])
    # On either side by itself, for the distribution is far from even.
    null = null[~np.isclose(null, statistic, rtol=_ROUNDING, atol=0)]
    nearer = max(np.count_nonzero(null < statistic), np.count_nonzero(null > statistic))
    return statistic, min(2 * (1 + samples - int(nearer)) / (1 + samples), 1.0)


def _t(sums: Floats, rounding: float) -> Floats:
    """Mean over its standard error, along the last axis: infinite where all are equal, 0 where all are 0."""
    mean = np.array(sums.mean(axis=-1))
    spread = np.array(sums.std(axis=-1) / math.sqrt(sums.shape[-1] - 1))
    mean[np.abs(mean) < rounding], spread[spread < rounding] = 0.0, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(mean == 0, 0.0, mean / spread))


def independent_rows(tally: Tally, view: View) -> float:
    """How many independent rows tell as much of the curve as a tally's rows do, for each unit of their weight.

    Measured probabilities of rows in groups are estimated as if there were so many: copies of rows change nothing.
    """
    rows = tally.weight / tally.weight_squared
    if tally.shards is None or not tally.clustered:
        return rows
    return rows * independent_share(shown_counts(tally, view))


def independent_share(counts: CellCounts) -> float:
    """What part of the pairs would tell as much of their cells, if they were independent, as all of them do.

    Neighbourhood by neighbourhood, since a curve follows the chance in each by itself: rows of a shard that say
    different things are in different ones. They are about as wide as the blocks of a curve: they hold equal parts of
    what happened, or of the variance of the outcomes where there is one class.
    """
    assert counts.shards is not None
    weight, of_cell = counts.counted
    if counts.one_sided:
        weight = (weight + 0.5) * (of_cell - weight + 0.5) / (of_cell + 1)  # never 0 throughout
    part = (np.cumsum(weight) - weight / 2) / weight.sum() * _NEIGHBOURHOODS
    _, near = np.unique(part.astype(np.int64), return_inverse=True)
    first = run_starts(near)
    happened, total = (np.add.reduceat(x, first, axis=1) for x in counts.shards)
    of_cell = total.sum(axis=0)
    squares = (total**2).sum(axis=0)  # over the cells: of a shard, as a pair in this neighbourhood meets them
    cluster_size = squares / np.maximum(of_cell, 1)  # what weighs less has nothing beside it
    return float(_independent(cluster_size, of_cell, _intraclass_correlation(happened, total)).sum() / of_cell.sum())


def _independent(cluster_size: Floats, of: Floats, correlation: float) -> Floats:
    """Say how many independent rows or pairs tell as much as so many, so many of which are together (Kish 1965)."""
    return np.asarray(of / (1 + np.maximum(cluster_size - 1, 0) * correlation))


def _intraclass_correlation(happened: Floats, total: Floats) -> float:
    """Intraclass correlation of the outcomes in pairs of the same cell, of which shards have so many, one a row."""
    # Pairs of rows that differ: expected of those of one shard are as many as of those of different ones.
    differ = (happened * (total - happened)).sum(axis=0)
    within = (total * (total - 1)).sum(axis=0) / 2
    all_happened, all_total = happened.sum(axis=0), total.sum(axis=0)
    differ_between = all_happened * (all_total - all_happened) - differ
    between = all_total * (all_total - 1) / 2 - within
    some = between > 0
    expected = float((within[some] * differ_between[some] / between[some]).sum())
    return max(1 - float(differ[some].sum()) / expected, 0.0) if expected > 0 else 1.0


def _calibrated(null_sums: CalibratedShardSums, parts: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """Draw the sums of calibrated shards, one sample a row, from as many independent parts."""
    parts = np.maximum(np.rint(parts), 1.0)
    variance, third = null_sums.moments()
    cubed = variance * np.sqrt(variance)
    skewness = np.divide(third, cubed, out=np.zeros_like(third), where=cubed > 0) / np.sqrt(parts)
    drawn = np.zeros((samples, parts.size))
    many = parts > _PARTS_DRAWN
    shape = 4 / np.maximum(skewness[many] ** 2, 1e-6)
    gamma = (rng.standard_gamma(shape, (samples, shape.size)) - shape) / np.sqrt(shape)
    drawn[:, many] = np.sign(skewness[many]) * gamma * np.sqrt(variance / parts)[many]
    for part in range(_PARTS_DRAWN):
        here = np.flatnonzero(~many & (parts > part))
        drawn[:, here] += null_sums.drawn(here, samples, rng) / parts[here]
    return drawn


class CalibratedShardSums(Frozen):
    """Distribution of the sums of shards if forecasts are calibrated and all rows of a shard go together.

    One level is drawn for a shard, and those of its pairs above 1/2 happen that lie above it. Of two classes that is
    all. Of more, what happens in the other rows is the class of one pair that is not above 1/2.
    """

    level: Floats
    """Probabilities of the levels."""
    sums: Floats
    """At each level, less what is expected, as of the shards at hand: those without an error have the same t."""
    rows: Floats
    """At each level, those in which none of the pairs above 1/2 happens."""
    other: Floats
    """Probabilities of the other pairs, of more than two classes."""
    odds: Floats
    """Log-odds of these."""

    @staticmethod
    def of(counts: CellCounts, odds: Floats) -> CalibratedShardSums:
        """Take it from the cells of the shards and the log-odds of these cells."""
        assert counts.shards is not None
        happened, total = counts.shards
        expected = ((total * counts.reported) @ odds)[:, None]
        above = counts.reported > 0.5
        level = np.diff(np.concatenate([[0.0], counts.reported[above], [1.0]]))
        if counts.mirrored:  # what does not happen above 1/2 happens below, at minus its log-odds
            terms = total[:, above] * odds[above]
            sums = 2 * _from_each(terms) - terms.sum(axis=1, keepdims=True) - expected
            return CalibratedShardSums(level, sums, np.zeros_like(sums), np.empty((len(sums), 0)), np.empty(0))
        other = (total * counts.reported)[:, ~above]
        other /= np.maximum(other.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        rows = np.maximum(happened.sum(axis=1, keepdims=True) - _from_each(total[:, above]), 0.0)
        sums = _from_each(total[:, above] * odds[above]) - expected
        return CalibratedShardSums(level, sums, rows, other, odds[~above])

    def moments(self) -> tuple[Floats, Floats]:
        """Second and third moment of each shard."""
        a, r = self.sums, self.rows
        one, two, three = ((self.other @ self.odds**k)[:, None] for k in (1, 2, 3))
        second = a**2 + 2 * a * r * one + r**2 * two
        third = a**3 + 3 * a**2 * r * one + 3 * a * r**2 * two + r**3 * three
        return np.maximum(second @ self.level, 0.0), third @ self.level

    def drawn(self, shards: Ints, samples: int, rng: np.random.Generator) -> Floats:
        """Draw sums of some of the shards, one sample a row."""
        level = np.searchsorted(np.cumsum(self.level)[:-1], rng.random((samples, shards.size)), side="right")
        found = self.sums[shards, level]
        if self.odds.size:
            # One shard after the other, so that one search does for all.
            each = np.arange(shards.size)
            ends = (np.cumsum(self.other[shards], axis=1) + each[:, None])[:, :-1]
            pair = np.searchsorted(ends.ravel(), rng.random(found.shape) + each, side="right")
            found += self.rows[shards, level] * self.odds[pair - each * ends.shape[1]]
        return found


def _from_each(columns: Floats) -> Floats:
    """Sums from each column on to the last; at the end one of no column, which is 0."""
    return np.concatenate([np.cumsum(columns[:, ::-1], axis=1)[:, ::-1], np.zeros((len(columns), 1))], axis=1)
