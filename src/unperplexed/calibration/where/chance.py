"""How large the best rule's evidence gets by chance: one test for all rules, by outcomes drawn from the curve."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._lib.dataclasses import dataclass
from ..._lib.typing import AnyFloats, Floats, Ints
from ...kernels.pair_tables import beyond
from .rules import Moments, Pair, RuleMoments, Scores, root

SAMPLES, _ROWS, _CLUSTERS, _FARTHEST = 199, 20_000, 200, 8.0
"""Samples of outcomes, the rows on which they are drawn at most, and the clusters at least; and the standard errors of
a score that is looked at in any case."""

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


@dataclass(frozen=True, eq=False)
class Chance:
    """Distribution of the largest evidence in four classes of rules: of one or two conditions, by bias or slope."""

    each: Gumbel
    """(2, 2): one or two conditions, bias or slope."""
    best: Gumbel
    """Of the largest of the four, standardized."""
    widths: Widths
    rules: int
    """Rules that were searched."""
    known: Mapping[Pair, RuleMoments]
    """Moments of all rules against the common curve, of so many rows."""
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
        u = rng.random((len(rows), samples))
    else:
        rows, u, widths = _in_clusters(scores, scores.rows.cluster, rng, samples)
    share, most = len(rows) / n, np.zeros((2, 2, samples))
    for pair, sums in scores.rule_sums(scores.drawn(u, rows, share), rows):
        of, factors = scores.of[pair], widths.get(pair, (np.ones(1), np.ones(1)))
        _raise(most, sums, of, [each.times(wide * share) for each, wide in zip(of.kinds, factors, strict=True)])
    x, there = evidence(most), (most > 0).any(axis=-1)
    each = Gumbel.of(x)
    each.scale[~there] = math.inf  # of a class without rules, whose evidence never counts
    standard = (x - each.location[..., None]) / each.scale[..., None]
    best = Gumbel.of((standard[there] if there.any() else standard[0]).max(axis=0))
    return Chance(each, best, widths, scores.n_rules, scores.of, n)


def _raise(most: Floats, sums: AnyFloats, of: RuleMoments, kinds: Sequence[Moments]) -> None:
    """Raise the largest |root| of rules of one and of two conditions, by bias and slope, by those of two columns.

    Roots are taken only of scores that may be the largest: those in standard errors, times the largest factor by which
    the root may exceed them.

    Parameters
    ----------
    most : array of shape (2, 2, samples)
    sums : array of shape (conditions of one, of the other, 2 * samples)
        Of residuals, and of these times the log-odds.
    of : RuleMoments
    kinds : sequence of Moments
        Those of the rows that are summed, with dependence.
    """
    two = np.minimum.outer(*(np.minimum(np.arange(size), 1) for size in sums.shape[:2])).astype(np.uint8).ravel()
    flat, tilt = sums.reshape(two.size, -1), of.tilt.ravel().astype(np.float32)
    factor = np.stack([_factor(moments).ravel() for moments in kinds]).astype(np.float32)
    places = beyond(flat, tilt, factor, two, most.astype(np.float32))
    slope, rule, sample = np.unravel_index(places, (2, two.size, most.shape[-1]))
    bias, raw = flat[rule, sample], flat[rule, sample + most.shape[-1]]
    score = np.where(slope, raw - tilt[rule] * bias, bias).astype(np.float64)
    chosen = Moments(*(np.stack([a.ravel(), b.ravel()])[slope, rule] for a, b in zip(*kinds, strict=True)))
    np.maximum.at(most, (two[rule], slope, sample), np.abs(root(score, chosen)))


def _factor(moments: Moments) -> Floats:
    """Return the largest |root| a unit of score, of scores within the farthest; 0 for a rule that is none."""
    v, third, fine = moments
    u = -np.clip(np.abs(third) / v * _FARTHEST / np.sqrt(v), 1e-3, 1 - 1e-12)  # a root is larger below 0
    return np.where(fine, np.sqrt(2 * ((1 + u) * np.log1p(u) - u)) / -u / np.sqrt(v), 0.0)


def _in_clusters(
    scores: Scores, cluster: Ints, rng: np.random.Generator, samples: int
) -> tuple[Ints, Floats, dict[Pair, tuple[Floats, Floats]]]:
    """Draw uniform numbers of whole clusters: a row shares its cluster's number with a probability, or has its own.

    The probability is the square root of the correlation within clusters, which is estimated by moments. Variances have
    a factor, as seen in residuals with random signs of clusters, or as the correlation lets expect.
    """
    g, n = int(cluster.max()) + 1, len(scores.variance)
    rows = np.flatnonzero(np.isin(cluster, rng.permutation(g)[: max(_CLUSTERS, _ROWS * g // n)]))
    share, few = len(rows) / n, g / max(g - len(scores.x), 1)
    excess = [[float((np.bincount(cluster, f) ** 2).sum() - f @ f) for f in each] for each in scores.alike]
    correlation = [float(np.clip(a / max(b, 1e-300) * few, 0, 1)) for a, b in zip(*excess, strict=True)]
    signs, of = rng.choice([-1.0, 1.0], (g, samples)), cluster[rows]
    both = [scores.scores(scores.values(signs[of] * f[:, rows, None], rows), rows) for f in scores.alike]
    widths = {}
    for (pair, seen), (_, full) in zip(*both, strict=True):
        factors = (
            [(z.astype(np.float64) ** 2).mean(axis=-1) / (share * moments.variance) for z in (a, b)]
            for a, b, moments in zip(seen, full, scores.of[pair].kinds, strict=True)
        )
        bias, slope = (
            np.maximum(1, np.maximum(a, 1 + each * (b - 1)))
            for each, (a, b) in zip(np.broadcast_to(correlation, 2), factors, strict=True)
        )
        widths[pair] = bias, slope
    shared, own = rng.random((2, len(rows), samples))
    return rows, np.where(shared < np.sqrt(max(correlation)), rng.random((g, samples))[of], own), widths
