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
from scipy.special import logit

from ._resampling import CellCounts, Sample
from ._typing import Bools, Floats

FEWEST_SHARDS = 6
"""With fewer, what other samples would show is not told by one."""

_FARTHEST = 30.0
"""Log-odds are not taken to be farther from 0, so that nothing is infinite."""

_AT_ONCE = 1000
"""Samples that are drawn at once, for the memory."""

_PARTS_DRAWN = 8
"""Sums of more parts than this are drawn from the gamma distribution of their variance and skewness."""


def score_test(counts: CellCounts, grouped: bool, samples: int, rng: np.random.Generator) -> tuple[float, float]:
    """Give t, below 0 if overconfident, and its p-value; NaN of too few shards."""
    assert counts.shards is not None
    happened, total = counts.shards
    p, (n, _) = counts.reported, total.shape
    least = 1e-9 * total  # what rounding leaves of nothing
    if (happened > least)[:, p == 0].any() or (total - happened > least)[:, p == 1].any():
        return -math.inf, 2 / (1 + samples)  # what cannot happen did
    odds = np.clip(logit(p), -_FARTHEST, _FARTHEST)
    rounding = 1e-9 * float((total @ np.abs(odds)).mean())
    statistic = float(_t((happened - total * p) @ odds, rounding)) if n > 1 else math.nan
    if n < FEWEST_SHARDS:
        return statistic, math.nan
    rows = np.maximum(happened.sum(axis=1), 1.0)
    parts = _independent(rows, rows, _alike(counts.shards)) if grouped else rows
    blocks = np.array_split(np.arange(samples), -(-samples // _AT_ONCE))
    null = np.concatenate([_t(_calibrated(counts, odds, parts, block.size, rng), rounding) for block in blocks])
    # On either side by itself, for the distribution is far from even.
    slack = 1e-9 * abs(statistic) if math.isfinite(statistic) else 0.0
    nearer = max(np.count_nonzero(null < statistic - slack), np.count_nonzero(null > statistic + slack))
    return statistic, min(2 * (1 + samples - int(nearer)) / (1 + samples), 1.0)


def _t(sums: Floats, rounding: float) -> Floats:
    """Mean over its standard error, along the last axis: infinite where all are equal, 0 where all are 0."""
    mean = np.array(sums.mean(axis=-1))
    spread = np.array(sums.std(axis=-1) / math.sqrt(sums.shape[-1] - 1))
    mean[np.abs(mean) < rounding], spread[spread < rounding] = 0.0, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(mean == 0, 0.0, mean / spread))


def independent_share(counts: CellCounts) -> float:
    """What part of the pairs tell as much of their own cell, if they are independent, as all of them do.

    Less than rows of a whole shard depend on one another, unless they say the same: what a monotone curve makes of
    chance, it makes of the chance in neighbouring cells.
    """
    assert counts.shards is not None
    total = counts.shards.total
    of_cell = total.sum(axis=0)
    together = (total**2).sum(axis=0) / of_cell  # of a shard, as a pair in this cell meets them
    return float(_independent(together, of_cell, _alike(counts.shards)).sum() / of_cell.sum())


def _independent(together: Floats, of: Floats, alike: float) -> Floats:
    """Say how many independent ones tell as much as so many, of which so many are together (Kish 1965)."""
    return np.asarray(of / (1 + np.maximum(together - 1, 0) * alike))


def _alike(shards: Sample) -> float:
    """Intraclass correlation of outcomes of the same cell."""
    happened, total = shards
    # Pairs of rows that differ: expected of those of one shard are as many as of those of different ones.
    differ = (happened * (total - happened)).sum(axis=0)
    within = (total * (total - 1)).sum(axis=0) / 2
    all_happened, all_total = happened.sum(axis=0), total.sum(axis=0)
    differ_between = all_happened * (all_total - all_happened) - differ
    between = all_total * (all_total - 1) / 2 - within
    some = between > 0
    expected = float((within[some] * differ_between[some] / between[some]).sum())
    return min(max(1 - float(differ[some].sum()) / expected, 0.0), 1.0) if expected > 0 else 1.0


def _calibrated(counts: CellCounts, odds: Floats, parts: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """Draw the sums of calibrated shards, one sample a row, from as many independent parts."""
    levels, sums = _sums_by_level(counts, odds)
    parts = np.maximum(np.rint(parts), 1.0)
    variance, third = ((levels * sums**k).sum(axis=1) for k in (2, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = np.where(variance > 0, third / (variance * np.sqrt(variance)), 0.0) / np.sqrt(parts)
    drawn = np.zeros((samples, parts.size))
    many = parts > _PARTS_DRAWN
    shape = 4 / np.maximum(skewness[many] ** 2, 1e-6)
    gamma = (rng.standard_gamma(shape, (samples, shape.size)) - shape) / np.sqrt(shape)
    drawn[:, many] = np.sign(skewness[many]) * gamma * np.sqrt(variance / parts)[many]
    drawn[:, ~many] = _of_parts(levels[~many], sums[~many], parts[~many], samples, rng)
    return drawn


def _of_parts(levels: Floats, sums: Floats, parts: Floats, samples: int, rng: np.random.Generator) -> Floats:
    drawn, each = np.zeros((samples, parts.size)), np.arange(parts.size)
    # One shard after the other, so that one search does for all.
    ends = (np.cumsum(levels, axis=1) + each[:, None])[:, :-1]
    for part in range(int(parts.max(initial=0))):
        here: Bools = parts > part
        at = np.searchsorted(ends.reshape(-1), rng.random((samples, here.sum())) + each[here], side="right")
        drawn[:, here] += sums[each[here], at - each[here] * ends.shape[1]] / parts[here]
    return drawn


def _sums_by_level(counts: CellCounts, odds: Floats) -> tuple[Floats, Floats]:
    """What the sum of a shard can be whose rows all go the same way: shares of the outcomes, and the sums.

    Of two classes one level is drawn for a shard, and those of its pairs above 1/2 happen that lie above it; of more
    one pair is drawn, whose class happens in all of its rows.
    """
    assert counts.shards is not None
    happened, total = counts.shards
    expected = ((total * counts.reported) @ odds)[:, None]
    if not counts.mirrored:
        shares = total * counts.reported
        return shares / shares.sum(axis=1, keepdims=True), happened.sum(axis=1, keepdims=True) * odds - expected
    above = counts.reported > 0.5
    terms = (total * odds)[:, above]
    from_each = np.cumsum(terms[:, ::-1], axis=1)[:, ::-1]
    sums = 2 * np.concatenate([from_each, np.zeros((len(total), 1))], axis=1) - terms.sum(axis=1, keepdims=True)
    shares = np.diff(np.concatenate([[0.0], counts.reported[above], [1.0]]))
    return np.broadcast_to(shares, sums.shape), sums - expected
