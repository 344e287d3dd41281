"""How large the best rule's evidence gets by chance: one test for all rules, by outcomes drawn from the curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._lib.dataclasses import Frozen
from ..._lib.progress import at_once, threads_for
from ..._lib.typing import AnyFloats, Floats, Ints
from ...kernels.pair_tables import beyond
from .rules import Moments, Pair, Scores, root

SAMPLES, _ROWS, _CLUSTERS, _FARTHEST, _AT_ONCE = 199, 20_000, 200, 8.0, 4_000_000
"""Samples of outcomes, the rows on which they are drawn at most, and the clusters at least; the standard errors of a
score that is looked at in any case; and outcomes that are in memory at once."""

Widths = Mapping[Pair, tuple[Floats, Floats]]
"""Factors of the variances of bias and slope scores for dependence within clusters; empty for independent rows."""


def evidence(z: AnyFloats) -> Floats:
    """Return -ln of the two-sided p-value of |z|, as if it were the only test."""
    from scipy.special import log_ndtr

    return np.asarray(-np.log(2) - log_ndtr(-np.abs(z)))


class Gumbel(NamedTuple):
    """Distribution of a maximum, fitted by L-moments (Hosking 1990)."""

    location: Floats
    scale: Floats

    @classmethod
    def of(cls, x: Floats) -> Gumbel:
        """Fit along the last axis."""
        x, n = np.sort(x, axis=-1), x.shape[-1]
        spread = 2 * (x * np.arange(n)).sum(axis=-1) / (n * (n - 1)) - x.mean(axis=-1)
        scale = np.maximum(spread / np.log(2), 1e-6)
        return cls(x.mean(axis=-1) - np.euler_gamma * scale, scale)


class Chance(Frozen, eq=False):
    """Distribution of the largest evidence in four classes of rules: of one or two conditions, by bias or slope."""

    each: Gumbel
    """(2, 2): one or two conditions, bias or slope."""
    best: Gumbel
    """Of the largest of the four, standardized."""
    widths: Widths
    rules: int
    """Rules that were searched."""
    known: Mapping[Pair, NDArray[np.float32]]
    """Packed moments of all rules against the common curve, of so many rows."""
    n_rows: int

    def adjusted(self, x: AnyFloats, two: Any, slope: int) -> Floats:
        """Return p-values of evidence, adjusted for all rules of all classes."""
        x = (x - self.each.location[two, slope]) / self.each.scale[two, slope]
        x = np.where(np.isinf(self.each.scale[two, slope]), -np.inf, x)
        return np.asarray(-np.expm1(-np.exp((self.best.location - x) / self.best.scale)))

    def critical(self, two: int, slope: int, level: float) -> float:
        """Return the |z| that the largest of all rules exceeds by chance with the probability ``level``."""
        from scipy.special import ndtri_exp

        u = float(self.best.location - self.best.scale * np.log(-np.log1p(-level)))
        return float(-ndtri_exp(-(self.each.location[two, slope] + self.each.scale[two, slope] * u) - np.log(2)))


def simulated(scores: Scores, rng: np.random.Generator, samples: int = SAMPLES) -> Chance:
    """Draw outcomes from the common curve and take the largest evidence of each class of rules.

    Parameters
    ----------
    scores : Scores
        Against the common curve alone.
    rng : Generator
    samples : int
    """
    n, widths = len(scores.variance), dict[Pair, tuple[Floats, Floats]]()
    if scores.rows.cluster is None:
        rows = rng.choice(n, _ROWS, replace=False) if n > _ROWS else np.arange(n)
        u: AnyFloats = rng.random((len(rows), samples))
    else:
        rows, u, widths = _in_clusters(scores, scores.rows.cluster, rng, samples)
    share, threads, known = len(rows) / n, threads_for(n), scores.of

    def largest(some: slice) -> Floats:
        drawn = scores.drawn(u[:, some], rows, share)
        found = np.zeros((2, 2, drawn.shape[1] // 2))
        for pair, table in scores.tables(drawn, rows):
            of, factors = known[pair], widths.get(pair, (np.ones(1), np.ones(1)))
            kinds = [each.times(wide * share) for each, wide in zip(of.kinds, factors, strict=True)]
            _raise(found, table, [scores.columns[at].sets for at in pair], of.tilt.ravel(), kinds)
        return found

    most = np.concatenate(at_once(largest, _blocks(len(rows), samples, threads), threads), axis=-1)
    x, there = evidence(most), (most > 0).any(axis=-1)
    each = Gumbel.of(x)
    each.scale[~there] = math.inf  # of a class without rules, whose evidence never counts
    standard = (x - each.location[..., None]) / each.scale[..., None]
    best = Gumbel.of((standard[there] if there.any() else standard[0]).max(axis=0))
    packed = {pair: of.packed(widths.get(pair)) for pair, of in known.items()}
    return Chance(each, best, widths, scores.n_rules, packed, n)


def _blocks(rows: int, samples: int, parts: int = 1) -> list[slice]:
    """Cut samples into so many parts, which are worked on at once, or as many as fit into memory."""
    size = max(16, min(-(-samples // parts), _AT_ONCE // (rows * parts)))
    return [slice(first, first + size) for first in range(0, samples, size)]


def _raise(most: Floats, table: AnyFloats, sets: Sequence[AnyFloats], tilt: Floats, kinds: Sequence[Moments]) -> None:
    """Raise the largest |root| of rules of one and of two conditions, by bias and slope, by those of two columns.

    Roots are taken only of scores that may be the largest: those in standard errors, times the largest factor by which
    the root may exceed them.

    Parameters
    ----------
    most : array of shape (2, 2, samples)
    table : array of shape (bins of one, of the other, 2 * samples)
        Sums of residuals, and of these times the log-odds.
    sets : sequence of array
        Whether conditions of both hold in their bins.
    tilt : array of shape (rules,)
    kinds : sequence of Moments
        Those of the rows that are summed, with dependence.
    """
    (a, b), (high, low) = sets, np.stack([_factors(moments) for moments in kinds], axis=1).astype(np.float32)
    limit = most.astype(np.float32)
    places, bias, raw = beyond(table, a, b, tilt.astype(np.float32), high, low, limit, _FARTHEST)
    slope, rule, sample = np.unravel_index(places, (2, len(tilt), limit.shape[-1]))
    score = np.where(slope, raw - tilt[rule].astype(np.float32) * bias, bias).astype(np.float64)
    chosen = Moments(*(np.where(slope, z.ravel()[rule], x.ravel()[rule]) for x, z in zip(*kinds, strict=True)))
    two = np.minimum(*np.minimum(np.divmod(rule, len(b)), 1))
    np.maximum.at(most, (two, slope, sample), np.abs(root(score, chosen)))


def _factors(moments: Moments) -> Floats:
    """Return the largest and the least |root| a unit of score, of scores within the farthest: (2, rules).

    A root is larger below 0; 0 for a rule that is none.
    """
    v, third, fine = (each.ravel() for each in moments)
    farthest = np.maximum(np.abs(third) / v * _FARTHEST / np.sqrt(v), 1e-3)
    u = np.stack([-np.minimum(farthest, 1 - 1e-12), farthest])
    return np.where(fine, np.sqrt(2 * ((1 + u) * np.log1p(u) - u)) / np.abs(u) / np.sqrt(v), 0.0)


def _in_clusters(
    scores: Scores, cluster: Ints, rng: np.random.Generator, samples: int
) -> tuple[Ints, AnyFloats, dict[Pair, tuple[Floats, Floats]]]:
    """Draw uniform numbers of whole clusters: a row shares its cluster's number with a probability, or has its own.

    The probability is the square root of the correlation within clusters, which is estimated by moments. Variances have
    a factor, as seen in residuals with random signs of clusters, or as the correlation lets expect.
    """
    g, n = int(cluster.max()) + 1, len(scores.variance)
    rows = np.flatnonzero(np.isin(cluster, rng.permutation(g)[: max(_CLUSTERS, _ROWS * g // n)]))
    share, few = len(rows) / n, g / max(g - len(scores.basis), 1)
    excess = [[float((np.bincount(cluster, f) ** 2).sum() - f @ f) for f in each] for each in scores.alike]
    correlation = [float(np.clip(a / max(b, 1e-300) * few, 0, 1)) for a, b in zip(*excess, strict=True)]
    signs, of = rng.choice([-1.0, 1.0], (g, samples)), cluster[rows]
    squares = dict.fromkeys(scores.pairs, np.zeros(()))
    for some in _blocks(len(rows), samples):
        signed = [signs[of, some] * f[:, rows, None] for f in scores.alike]
        seen = (scores.scores(scores.values(r, rows), rows) for r in signed)
        for (pair, own), (_, full) in zip(*seen, strict=True):
            squares[pair] = squares[pair] + np.array([[_square(z) for z in both] for both in (own, full)])
    widths, within = dict[Pair, tuple[Floats, Floats]](), np.broadcast_to(correlation, 2)
    for pair, ((seen, seen2), (full, full2)) in squares.items():
        v, v2 = (moments.variance * share * samples for moments in scores.of[pair].kinds)
        factors = ((seen / v, full / v), (seen2 / v2, full2 / v2))
        bias, slope = (np.maximum(1, np.maximum(a, 1 + r * (b - 1))) for r, (a, b) in zip(within, factors, strict=True))
        widths[pair] = bias, slope
    shared = rng.random((len(rows), samples)) < np.sqrt(max(correlation))
    u = rng.random((len(rows), samples))
    np.copyto(u, rng.random((g, samples))[of], where=shared)
    return rows, u, widths


def _square(z: AnyFloats) -> Floats:
    return np.asarray((z.astype(np.float64) ** 2).sum(axis=0))
