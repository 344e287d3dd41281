"""Intervals from two worlds: what other rows would have shown, if one curve were the truth, and if another were.

The data do not say how rare an error is that was not seen. The shrunk curve goes on as the trend suggests, the isotonic
one stops at what was seen; either may be right. So samples are drawn from both, each is measured as the data were, and
an interval holds what either world would need: its bias is taken off, and its standard deviation is added on each side.

All functions take arrays and give arrays. Samples are along the first axis, cells or orders along the last.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from ..kernels.curves import isotonic_means
from ..statistics.tails import normal_cdf
from ..theory.coupled import expm1_ratio
from .estimators import isotonic, shrunk_isotonic

_LOST = 1e6
"""Logarithms that are farther off are those of 0."""

_ROUNDING, _AFRESH = 1e-12, 16
"""Steps between orders that differ by less are equal; after so many products powers are taken afresh."""

_UNKNOWN = math.sqrt(0.5)
"""What a bias exceeds a standard deviation by is uncertain by so much of itself: then an interval of 95% reaches beyond
the figure that it is the bias of."""

_NEAR_ZERO = 0.05
"""Orders nearer to 0 than this lose digits in (mean of f^r)^(1/r)."""


class Counts(NamedTuple):
    """Rows by cell: those in which the outcome occurred, and the others; of several samples, one a row."""

    happened: Floats
    missed: Floats


class Deviation(NamedTuple):
    """How far the measured figures of samples are off those of their world, on the log scale."""

    bias: Floats
    """Mean of the finite deviations of each figure."""
    spread: Floats
    """Their standard deviation."""
    lost: Floats
    """Share of the samples in which the figure is 0 or undefined."""


def two_curves(reported: Floats, happened: Floats, total: Floats) -> tuple[Floats, Floats]:
    """Curves of the two worlds: the shrunk-isotonic one, and the isotonic one.

    In the first, an outcome that was predicted with probability exactly 0 or 1, and never went wrong, could have: as
    if half a pair of n + 1 had (Krichevsky and Trofimov 1981).
    """
    trend = shrunk_isotonic.measure(reported, happened, total).measured
    unanimous = ((reported == 0) | (reported == 1)) & ((happened <= 0) | (happened >= total))
    trend = np.where(unanimous, (happened + 0.5) / (total + 1), trend)
    return isotonic_means(trend, total), isotonic.measure(reported, happened, total).measured


def drawn_rows(expected: Counts, rows: float, n: int, rng: np.random.Generator) -> Counts:
    """Draw n samples of so many independent rows, each in one cell with one outcome.

    They are scaled to the weight of what is expected, so that dependent rows are drawn as fewer independent ones.

    Parameters
    ----------
    expected : Counts
        Expected weights by cell, arrays of shape (m,).
    rows : float
        Number of independent rows, rounded, at least 1.
    n : int
        How many samples.
    rng : numpy.random.Generator

    Returns
    -------
    Counts
        Arrays of shape (n, m).
    """
    shares = np.concatenate(expected)
    weight = shares.sum()
    size = max(round(rows), 1)
    drawn = rng.multinomial(size, shares / weight, size=n) * (weight / size)
    return Counts(*np.split(drawn, 2, axis=1))


def log_means(orders: Floats, weight: Floats, value: Floats) -> Floats:
    """Logarithms of generalized means of each sample's values, one order a column. Weights of a sample sum to 1."""
    seen = np.where(weight > 0, value, 1.0)  # what has no weight may be 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = np.log(seen)
        geometric = (weight * x).sum(axis=1)
        found, powers = np.empty((len(weight), orders.size)), None
        for at, r in enumerate(orders.tolist()):
            if r == 0:
                found[:, at] = geometric
            elif r == 1:
                found[:, at] = np.log(np.einsum("ij,ij->i", weight, seen))
            elif np.isinf(r):
                found[:, at] = x.max(axis=1, initial=-np.inf, where=weight > 0) if r > 0 else 0.0
                if r < 0:
                    found[:, at] = x.min(axis=1, initial=np.inf, where=weight > 0)
            elif abs(r) < _NEAR_ZERO:
                ratio = expm1_ratio(r, x)
                found[:, at] = np.log1p(r * np.einsum("ij,ij->i", weight, ratio)) / r
            else:
                powers = _powers(x, r, powers)
                found[:, at] = np.log(np.einsum("ij,ij->i", weight, powers.value)) / r
    return found


class _Powers(NamedTuple):
    """Powers exp(r x), and the step from the order before."""

    order: float
    value: Floats
    step: float
    factor: Floats
    age: int
    """How many products they are made of."""


def _powers(x: Floats, r: float, before: _Powers | None) -> _Powers:
    """Powers of a further order: in equal steps by a product, which takes less than a power."""
    step = math.nan if before is None else r - before.order
    same = before is not None and abs(step - before.step) < _ROUNDING and before.age < _AFRESH
    if before is None or not same:
        value = np.exp(r * x)
        # Worth its time where the steps after this one are as long.
        factor = np.exp(step * x) if before is not None and abs(step - before.step) < _ROUNDING else value
        return _Powers(r, value, step, factor, _AFRESH if factor is value else 0)
    return _Powers(r, before.value * before.factor, step, before.factor, before.age + 1)


def deviation(logs: Floats, truth: Floats) -> Deviation:
    """Summarise how far the figures of samples, one sample a row, are off those of the world they are drawn from."""
    with np.errstate(invalid="ignore"):
        off = logs - truth
    finite = np.abs(off) < _LOST
    n = np.count_nonzero(finite, axis=0)
    off = np.where(finite, off, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bias = off.sum(axis=0) / n
        spread = np.sqrt((np.where(finite, off - bias, 0.0) ** 2).sum(axis=0) / (n - 1))
    return Deviation(bias, spread, 1 - n / max(len(logs), 1))


def hull(figure: Floats, worlds: list[Deviation], reach: float, scale: Floats) -> tuple[Floats, Floats]:
    """Lower and upper ends of the figures' logarithms: whatever either world needs, so many standard deviations off.

    ``scale`` is by how much more a figure varies than in independent rows. A bias beyond one standard deviation is
    itself uncertain and widens the interval, which holds the figure at any confidence. A figure whose logarithm is
    minus infinity in more samples than may lie beyond an end has no lower one.

    Parameters
    ----------
    figure : array of shape (k,)
        Logarithms of the measured figures.
    worlds : list of Deviation
        Of the samples of each world.
    reach : float
        Half-width of the interval, in standard deviations.
    scale : array of shape (k,)
        Standard deviation of each figure over that in independent rows.
    """
    beyond = np.array([each.lost for each in worlds]) > normal_cdf(-reach)
    half = [reach * _uncertainty(each, scale) for each in worlds]
    low = np.min([figure - np.maximum(each.bias + h, 0) for each, h in zip(worlds, half, strict=True)], axis=0)
    high = np.max([figure - np.minimum(each.bias - h, 0) for each, h in zip(worlds, half, strict=True)], axis=0)
    return np.where(beyond.any(axis=0), -np.inf, low), high


def bias_beyond_chance(worlds: list[Deviation], reach: float, scale: Floats) -> Floats:
    """Mean bias of each figure where it is more than so many standard deviations in either world, else 0."""
    bias = np.array([each.bias for each in worlds])
    limit = reach * scale * np.array([each.spread for each in worlds])
    return np.where((bias > limit).all(axis=0) | (bias < -limit).all(axis=0), bias.mean(axis=0), 0.0)


def _uncertainty(world: Deviation, scale: Floats) -> Floats:
    spread = scale * world.spread
    return np.asarray(np.hypot(spread, _UNKNOWN * np.maximum(np.abs(world.bias) - spread, 0.0)))
