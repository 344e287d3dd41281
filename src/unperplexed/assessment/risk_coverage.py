"""Abstaining: the share of wrong answers among those kept, when answers of low confidence are withheld."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._lib.dataclasses import replace
from .._lib.errors import InputError, rows_text
from .._lib.typing import ByValue, Floats, Ints
from ..report.result import DrawnResult
from ..statistics.intervals import (
    UNKNOWN,
    Dependence,
    Interval,
    Metric,
    UncertainMean,
    checked_sampling,
    uncertain_mean,
)
from ..tally.tables import Pairs
from ..tally.tally import Tally
from .familiar import Counts, area_under_roc

COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the answers that are kept, at which the curve is given."""


class Kept(ByValue):
    """The most confident answers: how many are kept, how many of these are wrong, and from which confidence on."""

    coverage: float
    """Share of the answers that are kept."""
    risk: float
    """Share of wrong answers among them. Smaller is better."""
    interval: Interval
    """Of the risk."""
    threshold: float
    """Lowest confidence that is kept."""


class RiskCoverage(DrawnResult):
    """Risk-coverage curve of confidences, and the area under it.

    Made by `risk_coverage` of answers, and by ``Assessment.risk_coverage`` of the most probable class. ``print`` it,
    ``.plot()`` it, or take it as ``.to_dict()``.
    """

    n: float
    """Number of answers."""
    points: tuple[Kept, ...]
    """From a coverage of 10% to 100%."""
    area: float
    """Area under the curve (AURC): mean risk over all coverages. Smaller is better."""
    interval: Interval
    """Of the area; NaN for an assessment of rows in clusters."""
    area_by_chance: float
    """Area of confidences that say nothing: the share of wrong answers."""
    area_at_best: float
    """Area where each wrong answer has a lower confidence than each right one."""
    confidence: float = 0.95
    """Confidence level of the intervals."""


def risk_coverage(
    right: ArrayLike, confidence: ArrayLike, groups: ArrayLike | None = None, *, level: float = 0.95
) -> RiskCoverage:
    """Share of wrong answers among the most confident ones, for each share that is kept (risk-coverage curve).

    Parameters
    ----------
    right : array_like of shape (n,)
        Whether each answer is right.
    confidence : array_like of shape (n,)
        Confidence of each answer, on any scale. Larger is more confident.
    groups : array_like of shape (n,), optional
        Question of each answer: answers of one group are a cluster.
    level : float, default 0.95
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    RiskCoverage

    Raises
    ------
    InputError
        Without answers, for arrays of unequal length, and for confidences that are NaN.

    Notes
    -----
    The area is the mean, over k from 1 to n, of the share of wrong answers among the k most confident (AURC; Geifman,
    Uziel and El-Yaniv 2019). Equal confidences have no order: the figure is its expectation over all orders. Standard
    errors are those of the influence of each answer, summed by cluster.

    Examples
    --------
    >>> from unperplexed.language_models import risk_coverage
    >>> found = risk_coverage([1, 1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.2])
    >>> round(found.area, 3), found.area_by_chance, [round(each.risk, 2) for each in found.points[::3]]
    (0.197, 0.4, [0.0, 0.0, 0.29, 0.4])
    """
    level = checked_sampling(level, 0, 0).confidence
    wrong, p = 1 - _vector("right", right), _vector("confidence", confidence)
    if wrong.shape != p.shape or not p.size:
        raise InputError(f"right, confidence: expected one of each for every answer, got {wrong.size} and {p.size}.")
    at = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1].reshape(-1)
    return Ranked.of(wrong, p).curve(at, level)


def of_top_classes(tally: Tally, level: float) -> RiskCoverage | None:
    """Take the most probable class as the answer and its probability as the confidence; None for weighted rows."""
    if tally.weighted:
        return None
    found = Ranked.of_counts(tally.pairs("top-label")).curve(None, level)
    if not tally.clustered:
        return found
    return replace(found, interval=UNKNOWN, points=tuple(replace(each, interval=UNKNOWN) for each in found.points))


def detections(groups: Sequence[Tally], level: float) -> list[Metric]:
    """Share of pairs of a row of each group and another row in which the group's has the smaller top probability.

    It is the AUROC of the top probability; without an interval for rows in clusters.
    """
    parts = [group.pairs("top-label") for group in groups]
    p, place = np.unique(np.concatenate([each.reported for each in parts]), return_inverse=True)
    total = np.concatenate([each.total for each in parts])
    number, found = np.repeat(np.arange(len(parts)), [each.total.size for each in parts]), []
    for at, group in enumerate(groups):
        here = number == at
        own, other = (np.bincount(place, total * kind, p.size).astype(np.float64) for kind in (here, ~here))
        each = group.weight_squared / group.weight
        metric = area_under_roc(Counts(p, other, own, other * each, own * each, group), level)
        found.append(Metric(metric.value) if group.clustered else metric)
    return found


def _vector(name: str, given: Any) -> Floats:
    try:
        x = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name}: expected one number for each answer.") from None
    if x.ndim != 1:
        raise InputError(f"{name}: expected one dimension, got {x.ndim}.")
    bad = np.flatnonzero(np.isnan(x))
    if bad.size:
        raise InputError(f"{name}: NaN in {rows_text(bad)}; leave these answers out.")
    return x


class Ranked(NamedTuple):
    """Answers in groups of equal confidence."""

    wrong: Floats
    """How wrong each answer is, from 0 to 1, or each kind of equal answers."""
    group: Ints
    """Its group, of which the first has the highest confidence."""
    confidence: Floats
    """Confidence of each group."""
    times: Floats | None = None
    """How many answers of each kind there are; None for one."""

    @staticmethod
    def of(wrong: Floats, confidence: Floats) -> Ranked:
        """Sort answers."""
        falling, group = np.unique(-confidence, return_inverse=True)
        return Ranked(wrong, group.reshape(-1), -falling)

    @staticmethod
    def of_counts(pairs: Pairs) -> Ranked:
        """Take counts of right answers and of all, by rising confidence."""
        right, total = pairs.happened[::-1], pairs.total[::-1]
        kinds, group = np.repeat([0.0, 1.0], total.size), np.tile(np.arange(total.size), 2)
        return Ranked(kinds, group, pairs.reported[::-1], np.concatenate([right, np.maximum(total - right, 0)]))

    def _sums(self, x: Floats) -> Floats:
        """Sum over the answers of each group."""
        weight = x if self.times is None else x * self.times
        return np.bincount(self.group, weight, self.confidence.size).astype(np.float64)

    def area_influence(self) -> tuple[float, Floats]:
        """Area under the curve, and the influence of each answer on it, in the order they were given.

        Within a group the expected number of wrong answers rises linearly, so the risk at place k is r + c / k. Sums of
        1 / k and 1 / k^2 over places are differences of digamma and trigamma functions.
        """
        from scipy.special import digamma, polygamma

        size, wrong = self._sums(np.ones_like(self.wrong)), self._sums(self.wrong)
        last = np.cumsum(size)
        first = last - size  # places before the group
        n = float(last[-1])
        rate = np.divide(wrong, size, out=np.zeros_like(wrong), where=size > 0)
        rest = np.cumsum(wrong) - wrong - rate * first
        ones, squares = digamma(last + 1) - digamma(first + 1), polygamma(1, first + 1) - polygamma(1, last + 1)
        risk = rate * size + rest * ones  # summed over the places of the group
        area = float(risk.sum()) / n
        # The weight of an answer at place i changes the risk at each place from i on by (wrong - risk) / place.
        risks = rate * ones + rest * squares

        def tail(of_group: Floats, times_place: Floats) -> Floats:
            """Mean over the places i of a group of the sum from i on; of which also the sum, each times its place."""
            after = np.cumsum(of_group[::-1])[::-1] - of_group
            return after + (times_place - first * of_group) / size

        own = risk / size - area - tail(risks, risk)
        return area, own[self.group] + self.wrong * tail(ones, size)[self.group]

    def curve(self, cluster: Ints | None, level: float) -> RiskCoverage:
        """Make the curve and the area under it, with intervals."""
        from scipy.special import digamma

        area, influence = self.area_influence()
        found = self._mean(influence, np.ones_like(influence), cluster)
        points = tuple(self._kept(coverage, cluster, level) for coverage in COVERAGES)
        n, wrong = (float(self._sums(x).sum()) for x in (np.ones_like(self.wrong), self.wrong))
        best = (wrong - (n - wrong) * float(digamma(n + 1) - digamma(n - wrong + 1))) / n
        limits = _limits(found._replace(mean=area), level)
        return RiskCoverage(n, points, area, limits, wrong / n, best, level)

    def _mean(self, x: Floats, share: Floats, cluster: Ints | None) -> UncertainMean:
        """Mean over answers that count in part, with its standard error; of equal answers as of each by itself."""
        if self.times is None:
            return uncertain_mean(x, share, Dependence(cluster))
        weight = share * self.times
        total, n = float(weight.sum()), float(self.times.sum())
        mean = float((weight * x).sum()) / total
        variance = float((self.times * (share * (x - mean) / total) ** 2).sum()) * n / max(n - 1, 1)
        return UncertainMean(mean, math.sqrt(variance), total**2 / float((share * weight).sum()) - 1, math.inf)

    def _kept(self, coverage: float, cluster: Ints | None, level: float) -> Kept:
        """Keep a share of the answers, of the last equal confidences each with the same share."""
        size = self._sums(np.ones_like(self.wrong))
        last = np.cumsum(size)
        room = coverage * float(last[-1])
        share = np.clip((room - last + size) / size, 0.0, 1.0)
        risk = self._mean(self.wrong, share[self.group], cluster)
        at = min(int(np.searchsorted(last, room * (1 - _ROUNDING))), last.size - 1)
        return Kept(coverage, risk.mean, _limits(risk, level), float(self.confidence[at]))


_ROUNDING = 1e-9
"""The product of a share and the number of answers is a whole number up to this share of it."""


def _limits(share: UncertainMean, level: float) -> Interval:
    low, high = share.interval(level)
    return Interval(max(low, 0.0), min(high, 1.0))
