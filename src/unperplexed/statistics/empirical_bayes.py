"""Means of groups, shrunk towards their common mean as far as chance may have set them apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats

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
