"""Abstaining: the share of wrong answers among those kept, when answers of low confidence are withheld."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._lib.dataclasses import dataclass
from .._lib.errors import InputError, rows_text
from .._lib.typing import ByValue, Floats, Ints
from ..statistics.intervals import Dependence, Interval, UncertainMean, checked_sampling, uncertain_mean

COVERAGES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the answers that are kept, at which the curve is given."""

_ROUNDING = 1e-9
"""Answers: the product of a share and their number is a whole number up to this."""


class Kept(NamedTuple):
    """The most confident answers: how many are kept, how many of these are wrong, and from which confidence on."""

    coverage: float
    """Share of the answers that are kept."""
    risk: float
    """Share of wrong answers among them. Smaller is better."""
    interval: Interval
    """Of the risk."""
    threshold: float
    """Lowest confidence that is kept."""


@dataclass(frozen=True)
class RiskCoverage(ByValue):
    """Risk-coverage curve of confidences, and the area under it. Made by `risk_coverage`."""

    n: int
    points: tuple[Kept, ...]
    """From a coverage of 10% to 100%."""
    area: float
    """Area under the curve (AURC): mean risk over all coverages. Smaller is better."""
    interval: Interval
    """Of the area."""
    area_by_chance: float
    """Area of confidences that say nothing: the share of wrong answers."""
    area_at_best: float
    """Area where each wrong answer has a lower confidence than each right one."""


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
    ranked = Ranked.of(wrong, p)
    area = ranked.uncertain_area(at)
    points = tuple(ranked.kept(coverage, at, level) for coverage in COVERAGES)
    mean, counts = float(wrong.mean()), np.arange(1, p.size + 1)
    best = float((np.maximum(counts - (1 - wrong).sum(), 0) / counts).mean())
    return RiskCoverage(p.size, points, area.mean, _limits(area, level), mean, best)


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
    """Answers in falling order of confidence, those of equal confidence in groups."""

    order: Ints
    wrong: Floats
    """In that order."""
    confidence: Floats
    start: Ints
    """First place of each group of equal confidences."""
    group: Ints
    """Group at each place."""

    @staticmethod
    def of(wrong: Floats, confidence: Floats) -> Ranked:
        """Sort answers."""
        order = np.argsort(-confidence, kind="stable")
        p = confidence[order]
        start = np.flatnonzero(np.append(True, p[1:] != p[:-1]))
        return Ranked(order, wrong[order], p, start, np.repeat(np.arange(start.size), _sizes(start, p.size)))

    def area_influence(self) -> tuple[float, Floats]:
        """Area under the curve, and the influence of each answer on it, in the order they were given."""
        n = self.wrong.size
        places = np.arange(1, n + 1)
        risk = np.cumsum(self.group_means(self.wrong)) / places  # expected over all orders of equal confidences
        area = float(risk.mean())
        # The weight of an answer at place i changes the risk at each place from i on by (wrong - risk) / place.
        ones, risks = (np.cumsum(each[::-1])[::-1] for each in (1 / places, risk / places))
        own = self.group_means(risk) - area + self.wrong * self.group_means(ones) - self.group_means(risks)
        influence = np.empty(n)
        influence[self.order] = own
        return area, influence

    def group_means(self, x: Floats) -> Floats:
        """Mean over the places of equal confidences, at each place."""
        return np.asarray((np.add.reduceat(x, self.start) / _sizes(self.start, x.size))[self.group])

    def uncertain_area(self, cluster: Ints | None) -> UncertainMean:
        """Area with its standard error."""
        area, influence = self.area_influence()
        found = uncertain_mean(influence, np.ones(influence.size), Dependence(cluster))
        return found._replace(mean=area)

    def kept(self, coverage: float, cluster: Ints | None, level: float) -> Kept:
        """Keep a share of the answers, of the last equal confidences each with the same share."""
        n = self.wrong.size
        room = coverage * n
        sizes = _sizes(self.start, n)
        share = np.clip((room - self.start) / sizes, 0.0, 1.0)[self.group]
        risk = uncertain_mean(self.wrong, share, Dependence(None if cluster is None else cluster[self.order]))
        last = min(max(math.ceil(room - _ROUNDING), 1), n) - 1
        return Kept(coverage, risk.mean, _limits(risk, level), float(self.confidence[last]))


def _limits(share: UncertainMean, level: float) -> Interval:
    low, high = share.interval(level)
    return Interval(max(low, 0.0), min(high, 1.0))


def _sizes(start: Ints, n: int) -> Ints:
    """Sizes of groups that begin at some places of n."""
    return np.diff(np.append(start, n))
