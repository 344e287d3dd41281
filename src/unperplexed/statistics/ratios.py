"""Ratio of two paired means, with Fieller's interval."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._lib.typing import Floats
from .intervals import Interval
from .means import t_quantile
from .standard_errors import Dependence, UncertainMean, uncertain_mean


class UncertainRatio(NamedTuple):
    """A ratio of means, by the means it is made of."""

    top: UncertainMean
    bottom: UncertainMean
    apart: UncertainMean
    """Mean of the rows' differences."""
    equal: bool
    """Whether both are the same in every row."""

    @property
    def ratio(self) -> float:
        """The ratio itself; NaN where the bottom is 0."""
        return self.top.mean / self.bottom.mean if self.bottom.mean > 0 else math.nan

    @property
    def p_value(self) -> float:
        """p-value of the ratio being 1."""
        if self.equal:
            return 1.0
        return self.apart.p_value() if math.isfinite(self.ratio) else math.nan

    def interval(self, confidence: float) -> Interval:
        """Return the interval of Fieller (1954): ratios r for which the paired t-test does not reject that x is r b.

        It contains 1 just where that test of x - b does not reject. It is NaN where the rows say nothing, and where the
        mean of b is not significantly above 0, so that every large ratio is possible.
        """
        ratio, limits = self.ratio, []
        if self.equal:
            return Interval(1.0, 1.0) if ratio == 1 else _UNKNOWN
        if not (self.apart.judged and math.isfinite(ratio)):
            return _UNKNOWN
        t = float(t_quantile(confidence, self.apart.degrees)) ** 2
        top, bottom = self.top.mean, self.bottom.mean
        # The t-test does not reject where it does not with one of the variances.
        for of_x, of_b, of_both in zip(*(each.variances for each in self[:3]), strict=True):
            together = (of_x + of_b - of_both) / 2
            a, h, c = bottom**2 - t * of_b, top * bottom - t * together, top**2 - t * of_x
            if a <= 0:
                return _UNKNOWN
            if (inside := h * h - a * c) >= 0:
                limits += [(h - math.sqrt(inside)) / a, (h + math.sqrt(inside)) / a]
        return Interval(max(min(limits), 0.0), max(limits)) if limits else _UNKNOWN


_UNKNOWN = Interval(math.nan, math.nan)


def uncertain_ratio(x: Floats, b: Floats, w: Floats, dependence: Dependence) -> UncertainRatio:
    """Ratio of the weighted mean of x to that of b, which are 0 or more, row by row paired."""
    top, bottom, apart = (uncertain_mean(each, w, dependence) for each in (x, b, x - b))
    return UncertainRatio(top, bottom, apart, not (x - b).any())
