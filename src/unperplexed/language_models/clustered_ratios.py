"""Ratios of sums over documents, with their standard errors, from sums that add up: documents are the clusters."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import dataclass, fields
from .._lib.formatting import p_value_text
from .._lib.typing import ByValue, Floats, Ints
from ..kernels.exact_sum import ExactSum, exact_sum
from ..report.numbers import share
from ..report.result import frame_like_input
from ..statistics.intervals import Dependence, Interval, uncertain_mean, wilson
from ..statistics.means import t_quantile


class UncertainRatio(NamedTuple):
    """A ratio of sums, its standard error, and how well that is known."""

    ratio: float
    standard_error: float
    degrees: float
    """Effective number of documents minus one."""

    def interval(self, confidence: float) -> Interval:
        """Limits by Student's t; NaN with fewer than two documents."""
        if not (self.degrees > 0 and math.isfinite(self.standard_error)):
            return Interval(math.nan, math.nan)
        half = self.standard_error * float(t_quantile(confidence, self.degrees))
        return Interval(self.ratio - half, self.ratio + half)

    def bits(self, confidence: float) -> tuple[float, Interval]:
        """Of a mean log-probability: minus the binary logarithm, and its limits."""
        low, high = self.interval(confidence)
        return -self.ratio / math.log(2) + 0.0, Interval(-high / math.log(2), -low / math.log(2))


_ZERO = ExactSum()

_SCALE = (64, 5)
"""Bits and limbs of exact sums: those of squares of lengths, which are large, take no longer than others."""


@dataclass(frozen=True, slots=True)
class RatioSums:
    """Sums over documents of x and y, their squares and products, exact in any order: the state of sum x / sum y."""

    n: int = 0
    x: ExactSum = _ZERO
    y: ExactSum = _ZERO
    xx: ExactSum = _ZERO
    xy: ExactSum = _ZERO
    yy: ExactSum = _ZERO

    @staticmethod
    def of(x: Floats, y: Floats) -> RatioSums:
        """Add up documents; those where x or y is NaN are left out."""
        kept = ~(np.isnan(x) | np.isnan(y))
        x, y = x[kept], y[kept]
        with np.errstate(over="ignore"):
            return RatioSums(x.size, *(exact_sum(each, *_SCALE) for each in (x, y, x * x, x * y, y * y)))

    def __add__(self, other: RatioSums) -> RatioSums:
        """Add the sums of other documents."""
        return RatioSums(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    def estimate(self) -> UncertainRatio:
        """Ratio of the sums and its sandwich standard error with documents as clusters.

        The variance is n/(n - 1) times the sum of (x - R y)^2 over (sum y)^2, with degrees of freedom by Kish's size of
        y, less one.
        """
        total = float(self.y)
        if not (self.n and total > 0):
            return UncertainRatio(math.nan, math.nan, math.nan)
        ratio = float(self.x) / total
        degrees = total**2 / float(self.yy) - 1
        if self.n < 2 or any(each.rest for each in (self.x, self.xx, self.xy)):
            return UncertainRatio(ratio, math.nan, degrees)
        xx, xy, yy = map(float, (self.xx, self.xy, self.yy))
        squares = max(xx - 2 * ratio * xy + ratio * ratio * yy, 0.0) / total**2
        return UncertainRatio(ratio, math.sqrt(self.n / (self.n - 1) * squares), degrees)


class Mean(ByValue):
    """Mean of a metric over questions, answers or documents."""

    value: float
    standard_error: float
    interval: Interval
    n: int
    """Number of questions, answers or documents for which it is defined."""
    larger_is_better: bool


def columns_of(found: Any, *names: str) -> dict[str, Any]:
    """Give attributes by name, as a row of a frame; an interval ends with ``lower`` and ``upper``."""
    row: dict[str, Any] = {}
    for name in names:
        value, prefix = getattr(found, name), name.removesuffix("interval")
        row |= {f"{prefix}lower": value[0], f"{prefix}upper": value[1]} if prefix != name else {name: value}
    return row


def metrics_frame(found: Any, *names: str) -> Any:
    """Give a frame of a result with a row for each of its metrics, of which the attributes are named."""
    return frame_like_input(
        found, [{"metric": name} | columns_of(each, *names) for name, each in found.metrics.items()]
    )


def mean_of(values: Floats, confidence: float, larger: bool, clusters: Ints | None = None, most: float = 1.0) -> Mean:
    """Mean of values from 0 to ``most`` without those that are NaN, and an interval by clusters of dependent ones.

    Parameters
    ----------
    values : array of shape (n,)
        A metric of each question, answer or document, from 0 to ``most``; NaN where it is undefined.
    confidence : float
        Confidence level of the interval, in (0, 1).
    larger : bool
        Whether larger values are better, which is only passed on.
    clusters : array of shape (n,), optional
        Cluster of each value; by default each is one of its own.
    most : float, default 1.0
        Largest value that the metric can have.
    """
    known = ~np.isnan(values)
    values = values[known]
    at = np.arange(values.size) if clusters is None else np.unique(clusters[known], return_inverse=True)[1]
    sizes = np.bincount(at).astype(np.float64)
    return mean_of_sums(RatioSums.of(np.bincount(at, values).astype(np.float64), sizes), confidence, larger, most)


def mean_of_sums(sums: RatioSums, confidence: float, larger: bool, most: float = 1.0) -> Mean:
    """Mean from sums over clusters. The interval is Wilson's, of as many events as the standard error is worth.

    Parameters
    ----------
    sums : RatioSums
        Sums over clusters: x of the values, y of their numbers.
    confidence, larger, most
        As in `mean_of`.
    """
    value, error, degrees = sums.estimate()
    n = round(float(sums.y))
    share = value / most
    if not degrees > 0:
        return Mean(value, error, Interval(math.nan, math.nan), n, larger)
    own = share * (1 - share)
    events = own / (error / most) ** 2 if error > 0 and own > 0 else degrees + 1
    low, high = wilson(share, events, float(t_quantile(confidence, degrees)))
    return Mean(value, error, Interval(low * most, high * most), n, larger)


class PairedMetric(ByValue):
    """Mean of a metric for both models, and their difference."""

    first: float
    second: float
    difference: float
    """First minus second."""
    interval: Interval
    """Confidence interval of ``difference``, by Student's t; NaN where all questions have the same difference."""
    p_value: float
    """Probability of a difference at least as large if the expected difference is 0 (two-sided)."""
    larger_is_better: bool

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval.low > 0 or self.interval.high < 0


def paired_metric(
    first: Any, second: Any, confidence: float, larger: bool = False, clusters: Ints | None = None
) -> PairedMetric:
    """Means of two figures of the same questions or answers, and their difference by the paired t-test."""
    apart = uncertain_mean(first - second, np.ones(first.size), Dependence(clusters))
    means = float(first.mean()), float(second.mean())
    return PairedMetric(*means, apart.mean, apart.interval(confidence), apart.p_value(), larger)


def with_gap(gap: PairedMetric | None, text: str, miscalibrated: bool) -> tuple[str, list[str]]:
    """Put before a text by how many points confidences differ from the share of right answers, if not by chance.

    Where the verdict finds no miscalibration, it is a remark instead.
    """
    if gap is None or not gap.significant:
        return text, []
    points = share(abs(gap.difference)).removesuffix("%")
    way = "Overconfident" if gap.difference > 0 else "Underconfident"
    said = f"{way} by {points} points (mean confidence {share(gap.first)}, {share(gap.second)} right)"
    if miscalibrated:
        return f"{said}. {text}", []
    return text, [f"{said}, {p_value_text(gap.p_value)}, by a t-test of this difference, which is not in the verdict"]
