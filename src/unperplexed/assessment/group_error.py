"""The expected calibration error of groups of rows (ECE): its value, what chance alone makes of it, its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._lib.elementary import log_gamma, xlogy
from .._lib.typing import Floats
from ..statistics.intervals import Interval, wilson
from ..statistics.products import product
from ..tally.tables import Pairs
from .classes import Table


def expected_error(groups: ProbabilityGroups) -> float:
    """Expected calibration error of groups (ECE). Smaller is better."""
    return float(groups.total @ np.abs(groups.mean - groups.observed) / groups.total.sum())


def expected_by_chance(groups: ProbabilityGroups, weight: float = 1.0) -> float:
    """Expected calibration error to be expected of calibrated predictions; ``weight`` is the effective one of a row.

    It is exact for groups of equal predictions, by de Moivre's mean absolute deviation of the binomial distribution.
    """
    n = np.maximum(np.rint(groups.total / weight), 1.0)
    p = np.clip(groups.mean, 0.0, 1.0)
    k = np.minimum(np.floor(n * p) + 1, n)
    log = (
        np.log(2 * k)
        + log_gamma(n + 1)
        - log_gamma(k + 1)
        - log_gamma(n - k + 1)
        + xlogy(k, p)
        + xlogy(n - k + 1, 1 - p)
    )
    spread = p * (1 - p)
    deviation = np.where(spread > 0, np.exp(log) / n, 0.0)
    deviation *= np.sqrt(np.divide(groups.variance, spread, out=np.zeros_like(spread), where=spread > 0))
    return float(groups.total @ deviation / groups.total.sum())


def error_of_noise(groups: ProbabilityGroups, noise: Floats | None) -> float:
    """Expected calibration error of observed frequencies that differ from the predictions by this chance alone."""
    if noise is None:
        return math.nan
    deviation = np.sqrt((noise**2).sum(axis=1) * 2 / math.pi)
    return float(groups.total @ deviation / groups.total.sum())


_SIZES = 33
"""So many sizes of true differences are tried, to 1.6 times the observed error or to three times what chance adds."""

_DRAWS = 400
"""Normal deviates of each group's frequency; as many more mirror them."""

_ROUNDING = 1e-9
"""Relative rounding of sums of weights."""


def independent_noise(groups: ProbabilityGroups, weight: float = 1.0) -> Floats:
    """Chance of the observed frequencies of groups of independent rows: its covariance, from normal deviates to them.

    ``weight`` is the effective one of a row. One column a deviate.
    """
    n = np.maximum(groups.total / weight, 1.0)
    # The variance of predictions where it is larger: few outcomes that are all alike do not make a frequency certain.
    return np.diag(np.sqrt(np.maximum(groups.variance, groups.observed * (1 - groups.observed)) / n))


def error_interval(groups: ProbabilityGroups, noise: Floats, confidence: float = 0.95) -> Interval:
    """Confidence interval of the expected calibration error.

    The error of groups is above the true one by chance, and a bootstrap adds chance to chance: its intervals miss an
    error of 0 in most samples. So the test is inverted: true differences are taken to be the observed ones in another
    size, outcomes vary about them as normal deviates do, and the sizes are kept at which the observed error lies
    between the quantiles. ``noise`` makes the deviates, as `independent_noise` does. An observed error that is smaller
    than nearly all that chance gives is the upper end itself.
    """
    share, difference = groups.total / groups.total.sum(), groups.mean - groups.observed
    drawn = product(np.random.default_rng(0).standard_normal((_DRAWS, len(groups))), noise.T)
    noise = np.concatenate([drawn, -drawn])
    error = expected_error(groups)
    shape = difference / error if error > 0 else np.ones_like(difference)
    sizes = np.linspace(0.0, max(1.6 * error, error + 3 * float(np.mean(product(np.abs(noise), share)))), _SIZES)
    errors = [product(np.abs(size * shape + noise), share) for size in sizes.tolist()]
    low, high = np.quantile(errors, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
    lower, upper = (float(np.interp(error, quantile, sizes)) for quantile in (high, low))
    return Interval(min(lower, error), max(upper, error))


@dataclass(frozen=True)
class ProbabilityGroups(Table):
    """Groups in increasing order of predicted probability; one array entry a group."""

    lowest: Floats
    highest: Floats
    """Smallest and largest predicted probability."""
    mean: Floats
    """Mean predicted probability."""
    observed: Floats
    """Observed frequency."""
    total: Floats
    """Weight of the rows."""
    variance: Floats
    """Mean of p (1 - p): variance of one outcome, were the predictions calibrated."""

    def intervals(self, reach: float) -> list[Interval]:
        """Wilson's interval of each observed frequency, so many standard errors wide; for independent rows."""
        return [wilson(*pair, reach) for pair in zip(self.observed.tolist(), self.total.tolist(), strict=True)]


def probability_groups(pairs: Pairs, groups: int) -> ProbabilityGroups:
    """Group pairs by predicted probability into at most so many groups of about equal weight.

    Equal probabilities stay together: all go to the group in which the middle one of them lies.

    Parameters
    ----------
    pairs : Pairs
        Predicted probabilities in increasing order, weights of events and of all rows.
    groups : int
        Number of groups, at most.

    Returns
    -------
    ProbabilityGroups

    Examples
    --------
    >>> from unperplexed import Tally
    >>> pairs = Tally.of([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]).positive_pairs()
    >>> probability_groups(pairs, 2).observed.tolist()
    [0.5, 0.5]
    """
    p, happened, total = pairs
    middle = np.cumsum(total) - total / 2
    share = np.minimum(np.floor(middle * (groups / total.sum()) * (1 + _ROUNDING)), groups - 1)
    first = np.flatnonzero(np.diff(share, prepend=-1.0))
    last = np.append(first[1:], p.size) - 1
    weight, events, mean, variance = (
        np.add.reduceat(x, first) for x in (total, happened, p * total, p * (1 - p) * total)
    )
    return ProbabilityGroups(p[first], p[last], mean / weight, events / weight, weight, variance / weight)
