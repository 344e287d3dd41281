"""Means of metrics that have bounds, over questions, answers or documents, with intervals that stay within them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .._lib.by_value import ByValue
from .._lib.typing import Floats, Ints
from ..statistics.intervals import Interval, wilson
from ..statistics.means import t_quantile
from .clustered_ratios import RatioSums


@dataclass(frozen=True)
class Mean(ByValue):
    """Mean of a metric over questions, answers or documents."""

    value: float
    standard_error: float
    interval: Interval
    n: int
    """Number of questions, answers or documents for which it is defined."""
    larger_is_better: bool


def mean_of(values: Floats, confidence: float, larger: bool, clusters: Ints | None = None, most: float = 1.0) -> Mean:
    """Mean of values from 0 to ``most`` without those that are NaN, and an interval by clusters of dependent ones."""
    known = ~np.isnan(values)
    values = values[known]
    at = np.arange(values.size) if clusters is None else np.unique(clusters[known], return_inverse=True)[1]
    sizes = np.bincount(at).astype(np.float64)
    return mean_of_sums(RatioSums.of(np.bincount(at, values).astype(np.float64), sizes), confidence, larger, most)


def mean_of_sums(sums: RatioSums, confidence: float, larger: bool, most: float = 1.0) -> Mean:
    """Mean from sums over clusters. The interval is Wilson's, of as many events as the standard error is worth."""
    value, error, degrees = sums.estimate()
    n = round(float(sums.y))
    share = value / most
    if not degrees > 0:
        return Mean(value, error, Interval(math.nan, math.nan), n, larger)
    own = share * (1 - share)
    events = own / (error / most) ** 2 if error > 0 and own > 0 else degrees + 1
    low, high = wilson(share, events, float(t_quantile(confidence, degrees)))
    return Mean(value, error, Interval(low * most, high * most), n, larger)
