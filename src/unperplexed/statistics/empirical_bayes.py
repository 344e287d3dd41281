"""Means of groups that truly differ: shrunk towards their common mean, and that mean itself (meta-analysis)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._lib.typing import ByValue, Floats
from .intervals import UNKNOWN, Interval
from .means import t_quantile

FEWEST_GROUPS = 4
"""Shrinking towards an estimated mean gains in mean squared error from four groups on (Efron and Morris 1973)."""


class Shrunk(NamedTuple):
    """Means of groups, shrunk."""

    mean: Floats
    standard_error: Floats
    own_share: Floats
    """Weight of a group's own mean in its shrunken one; the rest is that of the centre."""
    centre: float
    """What the means are shrunk towards."""
    between: float
    """Estimated variance of the groups' true means."""


def variance_between(mean: Floats, size: Floats, within: float) -> float:
    """Variance of the true means of groups, the sampling variances of whose means are within / size; 0 at least.

    The unbiased estimator of Bühlmann and Straub (1970), cut off at 0. It is that of DerSimonian and Laird (1986).
    """
    total = size.sum()
    centre = (size * mean).sum() / total
    excess = (size * (mean - centre) ** 2).sum() - (size.size - 1) * within
    return max(0.0, float(excess / (total - (size**2).sum() / total)))


def pooled_variance(standard_error: Floats, size: Floats) -> float:
    """Variance of single rows within their groups; NaN if all groups are of one row.

    Each group counts by its degrees of freedom. Groups whose standard error is not known, NaN, say nothing.
    """
    known = ~np.isnan(standard_error)
    freedom = (size - 1)[known]
    with np.errstate(invalid="ignore"):
        return float((freedom * (size * standard_error**2)[known]).sum() / freedom.sum())


def shrunk(mean: Floats, standard_error: Floats, size: Floats, within: float) -> Shrunk:
    """Shrink the means of four groups or more, each towards the common one.

    Parameters
    ----------
    mean, standard_error : array of shape (k,)
        Values of each group.
    size : array of shape (k,)
        How many rows of equal weight each group is worth.
    within : float
        Variance of single rows within their groups, one for all of them. Were each group given its own, groups whose
        few rows happen to be alike would seem the most certain.

    Notes
    -----
    The credibility estimator of Bühlmann and Straub (1970): empirical Bayes, best among those linear in the data. The
    error of a shrunken mean is made up of the own share of the group's own error, the other share of how true means
    and the common one scatter, and what it costs that the variance between groups is estimated (Morris 1983).
    """
    between = variance_between(mean, size, within)
    precision = size / (size * between + within) if within else np.ones(mean.size)
    own = between * precision if within else np.ones(mean.size)
    centre = float((precision * mean).sum() / precision.sum())
    other = 1 - own
    scatter = between + 1 / precision.sum()
    estimated = 2 / (mean.size - FEWEST_GROUPS + 1) * (mean - centre) ** 2
    error = np.sqrt((own * standard_error) ** 2 + other**2 * (scatter + estimated))
    return Shrunk(own * mean + other * centre, error, own, centre, between)


class RandomEffects(ByValue):
    """Mean of effects that differ between clusters, such as hospitals; NaN where fewer than two are known."""

    mean: float = math.nan
    standard_error: float = math.nan
    interval: Interval = UNKNOWN
    prediction: Interval = UNKNOWN
    """Interval for the true effect in a new cluster; NaN for fewer than three."""
    between: float = math.nan
    """Estimated standard deviation of the true effects."""
    n_clusters: int = 0
    """Number of clusters whose effect is known."""


def random_effects(effect: Floats, standard_error: Floats, confidence: float = 0.95) -> RandomEffects:
    """Mean of effects that differ between clusters, by DerSimonian and Laird, with the interval of Hartung and Knapp.

    Parameters
    ----------
    effect, standard_error : array of shape (k,)
        Estimate of each cluster, and its standard error; clusters for which either is not finite are left out.
    confidence : float, default 0.95
        Confidence level.

    Notes
    -----
    The spread is that of `variance_between`, the interval that of Hartung, Knapp, Sidik and Jonkman by Student's t, for
    with this spread a normal interval is too narrow for few clusters, and theirs is not (IntHout et al. 2014). Its
    error is at least that of the weights (Röver et al. 2015). The prediction interval has k - 2 degrees of freedom
    (Higgins et al. 2009).
    """
    known = np.isfinite(effect) & np.isfinite(standard_error) & (standard_error > 0)
    y, v, k = effect[known], standard_error[known] ** 2, int(known.sum())
    if k < 2:
        return RandomEffects(n_clusters=k)
    between = variance_between(y, 1 / v, 1.0)
    weight = 1 / (v + between)
    mean = float((weight * y).sum() / weight.sum())
    error = math.sqrt(max(float((weight * (y - mean) ** 2).sum()) / (k - 1), 1.0) / weight.sum())
    reach = error * float(t_quantile(confidence, k - 1))
    new = math.sqrt(between + error**2) * float(t_quantile(confidence, k - 2)) if k > 2 else math.nan
    limits = Interval(mean - reach, mean + reach), Interval(mean - new, mean + new)
    return RandomEffects(mean, error, *limits, math.sqrt(between), k)
