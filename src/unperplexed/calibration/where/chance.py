"""How large the best rule's evidence gets by chance: one test for all rules, by outcomes drawn from the common curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..._lib.dataclasses import dataclass
from ..._lib.elementary import expit
from ..._lib.typing import AnyFloats, Floats, Ints
from .rules import Moments, Pair, Scores, root

SAMPLES, _ROWS, _CLUSTERS = 199, 20_000, 200
"""Samples of outcomes, the rows on which they are drawn at most, and the clusters at least."""

_FARTHEST = 8.0
"""A score of so many standard errors is looked at in any case."""

Widths = Mapping[Pair, tuple[Floats, Floats]]
"""Factors of the variances of bias and slope scores for dependence within clusters."""


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
    design_effect: float
    """Mean factor of the variances of bias scores."""

    def adjusted(self, x: AnyFloats, two: AnyFloats | int, slope: int) -> Floats:
        """Return p-values of evidence, adjusted for all rules of all classes."""
        x = (x - self.each.location[two, slope]) / self.each.scale[two, slope]
        return np.asarray(-np.expm1(-np.exp((self.best.location - x) / self.best.scale)))

    def critical(self, two: int, slope: int, level: float) -> float:
        """Return the |z| that the largest of all rules exceeds by chance with the probability ``level``."""
        from scipy.special import ndtri_exp

        u = float(self.best.location - self.best.scale * np.log(-np.log1p(-level)))
        return float(-ndtri_exp(-(self.each.location[two, slope] + self.each.scale[two, slope] * u) - np.log(2)))


def simulated(scores: Scores, rng: np.random.Generator, samples: int = SAMPLES) -> Chance:
    """Draw outcomes from the model and take the largest evidence of each class of rules.

    Parameters
    ----------
    scores : Scores
        Against the common curve alone.
    rng : Generator
    samples : int
    """
    q, n = expit(scores.model.log_odds), len(scores.rows.s)
    if scores.rows.cluster is None:
        rows = rng.choice(n, _ROWS, replace=False) if n > _ROWS else np.arange(n)
        drawn, widths = rng.random((len(rows), samples)) < q[rows, None], {}
    else:
        rows, drawn, widths = _in_clusters(scores, scores.rows.cluster, q, rng, samples)
    share, w = len(rows) / n, scores.rows.w[rows, None]
    r = scores.project((w * (drawn - q[rows, None])).T, rows, share).T.astype(np.float32)
    values = np.ascontiguousarray(np.hstack([r, r * scores.t[rows, None].astype(np.float32)]))
    most = np.zeros((2, 2, samples))
    for pair in scores.pairs:
        for slope, (score, moments) in enumerate(zip(scores.scores(pair, values, rows), scores.of[pair], strict=False)):
            wide = widths[pair][slope] if widths else 1.0
            _raise(most[:, slope], score, moments.times(wide * share))
    x = evidence(most)
    each = Gumbel.of(x)
    standard = (x - each.location[..., None]) / each.scale[..., None]
    effects = [widths[pair][0][scores.of[pair].bias.fine] for pair in scores.pairs] if widths else [np.ones(1)]
    every = np.concatenate(effects)
    return Chance(each, Gumbel.of(standard.max(axis=(0, 1))), widths, scores.n_rules, float(every.mean()))


def _raise(most: Floats, score: AnyFloats, moments: Moments) -> None:
    """Raise the largest |root| of rules of one and of two conditions, (2, samples), by those of two columns.

    Roots are taken only of scores that may be the largest: those in standard errors, times the largest factor by which
    the root may exceed them.
    """
    v, fine = moments.variance, moments.fine
    u = -np.clip(np.abs(moments.third) / v * _FARTHEST / np.sqrt(v), 1e-3, 1 - 1e-12)  # a root is larger below 0
    factor = np.sqrt(2 * ((1 + u) * np.log1p(u) - u)) / -u
    bound = np.abs(score * np.where(fine, factor / np.sqrt(v), 0.0).astype(np.float32)[..., None])
    for at, parts in enumerate(((np.s_[:1], np.s_[1:, :1]), (np.s_[1:, 1:],))):
        for part in parts:
            shape = bound[part].shape
            may = np.unravel_index(np.flatnonzero(bound[part] > most[at].astype(np.float32)), shape)
            rule = may[:2]
            z = root(score[part][may].astype(np.float64), v[part][rule], moments.third[part][rule])
            np.maximum.at(most[at], may[2], np.abs(z))


def _in_clusters(
    scores: Scores, cluster: Ints, q: Floats, rng: np.random.Generator, samples: int
) -> tuple[Ints, AnyFloats, Widths]:
    """Draw outcomes of whole clusters: a row shares its cluster's number with a probability, or has its own.

    The probability is the square root of the correlation within clusters, which is estimated by moments.
    """
    g, n = int(cluster.max()) + 1, len(q)
    rows = np.flatnonzero(np.isin(cluster, rng.permutation(g)[: max(_CLUSTERS, _ROWS * g // n)]))
    r, d = scores.r, np.sqrt(scores.variance)
    excess = [float((np.bincount(cluster, f) ** 2).sum() - f @ f) for f in (r, d)]
    correlation = float(np.clip(excess[0] / max(excess[1], 1e-300) * g / max(g - len(scores.x), 1), 0, 1))
    signs, of = rng.choice([-1.0, 1.0], (g, samples)), cluster[rows]
    widths = _widths(scores, [signs[of] * f[rows, None] for f in (r, d)], correlation, rows)
    shared, own = rng.random((2, len(rows), samples))
    u = np.where(shared < np.sqrt(correlation), rng.random((g, samples))[of], own)
    return rows, u < q[rows, None], widths


def _widths(scores: Scores, flipped: list[Floats], correlation: float, rows: Ints) -> Widths:
    """Return factors of variances: seen in residuals with random signs of clusters, or as the correlation lets expect.

    ``flipped`` are residuals, and square roots of variances, with these signs.
    """
    share, t = len(rows) / len(scores.rows.s), scores.t[rows, None]
    values = [np.hstack([f, f * t]).astype(np.float32) for f in flipped]
    found = {}
    for pair in scores.pairs:
        squares = [[(z.astype(np.float64) ** 2).mean(axis=-1) for z in scores.scores(pair, v, rows)] for v in values]
        variances = [share * moments.variance for moments in scores.of[pair][:2]]
        seen, full = ([s / v for s, v in zip(of, variances, strict=True)] for of in squares)
        bias, slope = (np.maximum(1, np.maximum(a, 1 + correlation * (f - 1))) for a, f in zip(seen, full, strict=True))
        found[pair] = bias, slope
    return found
