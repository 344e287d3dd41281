"""Ratio of two paired means, with Fieller's interval."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._lib.typing import Floats
from .intervals import Interval
from .means import t_quantile
from .standard_errors import Dependence, uncertain_mean


class UncertainRatio(NamedTuple):
    """A ratio of means, its interval, and the p-value of its being 1."""

    ratio: float
    interval: Interval
    p_value: float


_UNKNOWN = Interval(math.nan, math.nan)


def uncertain_ratio(x: Floats, b: Floats, w: Floats, dependence: Dependence, confidence: float) -> UncertainRatio:
    """Ratio of the weighted mean of x to that of b, which are 0 or more, row by row paired.

    The interval is that of Fieller (1954): the ratios r for which the paired t-test does not reject that x - r b has
    mean 0. It contains 1 just where that test of x - b does not reject. It is NaN where the rows say nothing, and where
    the mean of b is not significantly above 0, so that every large ratio is possible.
    """
    top, bottom, apart = (uncertain_mean(each, w, dependence) for each in (x, b, x - b))
    ratio = top.mean / bottom.mean if bottom.mean > 0 else math.nan
    if not (x - b).any():
        return UncertainRatio(ratio, Interval(1.0, 1.0) if ratio == 1 else _UNKNOWN, 1.0)
    if not (apart.judged and math.isfinite(ratio)):
        return UncertainRatio(ratio, _UNKNOWN, math.nan)
    t = float(t_quantile(confidence, apart.degrees)) ** 2
    limits = []
    # The t-test does not reject where it does not with one of the variances.
    for of_x, of_b, of_both in zip(*(each.variances for each in (top, bottom, apart)), strict=True):
        together = (of_x + of_b - of_both) / 2
        a, h, c = bottom.mean**2 - t * of_b, top.mean * bottom.mean - t * together, top.mean**2 - t * of_x
        if a <= 0:
            return UncertainRatio(ratio, _UNKNOWN, apart.p_value())
        if (inside := h * h - a * c) >= 0:
            limits += [(h - math.sqrt(inside)) / a, (h + math.sqrt(inside)) / a]
    interval = Interval(max(min(limits), 0.0), max(limits)) if limits else _UNKNOWN
    return UncertainRatio(ratio, interval, apart.p_value())
