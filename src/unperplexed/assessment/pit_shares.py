"""Where outcomes fell in their forecast distributions: shares below quantiles, inside intervals, and by bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import repeat

import numpy as np
from scipy.special import ndtr, ndtri

from .._lib.dataclasses import Frozen
from .._lib.typing import Floats, Ints
from ..calibration.diagnosis.pit_search import PitScored
from ..calibration.distribution_rows import RowMeans
from ..forecasts.distributions.pit_rows import BARS, COVERED
from ..maps.pit import PitMap
from ..statistics.intervals import Metric, UncertainMean, alpha_of, wilson
from ..statistics.matrices import product
from ..statistics.means import t_quantile
from ..statistics.normal_scores import numbered
from .distribution_result import Beyond, Coverage, PitBars, QuantileReliability

_MOST = 20
"""Intervals between members whose coverage is given, about."""

_TAILS = (0.05, 0.95)
"""Levels beyond which outcomes are counted to show what miscalibration does."""

_SAMPLED = 1000
"""Rows by which fitted errors that follow the forecasts are averaged."""

_SAME = 1e-9
"""Levels that differ by less are the same."""


class PitShares(Frozen, eq=False):
    """Shares of outcomes by their place in their forecasts."""

    scored: PitScored
    means: RowMeans
    edges: Floats | None
    """Probabilities that bound the cells of the forecasts; None where any quantile is known."""
    confidence: float
    widths: Callable[[Sequence[tuple[float, float]]], Floats] | None = None
    """Gives the mean widths of intervals between shares; None where forecasts are not at hand."""

    @cached_property
    def _levels(self) -> Floats:
        """All levels that shares are taken up to."""
        ends = [end for _, *ends in self.intervals() for end in ends]
        return np.unique([*ends, *self._told, *_bar_edges(self.edges), *map(self._edge, _TAILS), 0.5])

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, Ints]:
        """Different PIT intervals, and which of them each outcome is in; outcomes between two levels are as one."""
        low, high = (np.round(ndtr(z), 12) for z in (self.scored.rows.low, self.scored.rows.high))
        point = low == high
        places = np.append(self._levels, 1.0)[np.searchsorted(self._levels, low[point])]
        low[point], high[point] = places, places
        number, row = numbered(low, high)
        return low[row], high[row], number

    def below(self, level: float) -> Floats:
        """Return the part of each cell that is at or below a level."""
        low, high, _ = self._cells
        wide = high > low
        part = (level - low) / np.where(wide, high - low, 1.0)
        return np.asarray(np.where(wide, np.clip(part, 0.0, 1.0), low <= level))

    def _mean(self, each: Floats) -> UncertainMean:
        """Return the mean of what cells have."""
        return self.means.uncertain(each, self._cells[2])

    def share_of(self, each: Floats) -> Metric:
        """Give a share with Wilson's interval for as many independent rows as tell as much."""
        found = self._mean(each)
        if found.degrees < 1:
            return Metric(found.mean)
        spread, error = found.mean * (1 - found.mean), found.standard_error
        rows = spread / error**2 if error > 0 and spread > 0 else float(found.degrees + 1)
        return Metric(found.mean, error, wilson(found.mean, rows, float(t_quantile(self.confidence, found.degrees))))

    def above_median(self) -> Metric:
        """Share of the outcomes above the predicted median."""
        return self.share_of(1 - self.below(0.5))

    def coverage(self) -> Iterator[Coverage]:
        """Yield the shares of outcomes inside central intervals, the narrowest first."""
        every = [*self.intervals()]
        ends = [(low, high) for _, low, high in every]
        widths = repeat(math.nan) if self.widths is None else self.widths(ends).tolist()
        for (name, low, high), width in zip(every, widths, strict=False):
            held = self.share_of(self.below(high) - self.below(low))
            yield Coverage(name, high - low, held, not self._members, width)

    def intervals(self) -> Iterator[tuple[str, float, float]]:
        """Name central intervals, with their ends: those between members, or at levels that forecasts have."""
        if self.edges is None:
            yield from ((f"{100 * each:g}% intervals", (1 - each) / 2, (1 + each) / 2) for each in COVERED)
            return
        inside, members = self.edges[1:-1], self._members
        step = max(1, members // (2 * _MOST))
        for at in range((inside.size // 2 - 1) // step * step, -1, -step) if members else ():
            name = f"the inner {members - 2 * at} members" if at else f"all {members} members"
            yield name, float(inside[at]), float(inside[-1 - at])
        for low in inside[inside < 0.5][::-1] if not members else ():
            if np.abs(inside - 1 + low).min() < _SAME:
                yield f"{100 * (1 - 2 * low):.3g}% intervals", float(low), float(1 - low)

    def beyond(self) -> Beyond:
        """Count the outcomes of that tail which has the most beside those expected; of few members those of both."""
        low, high = (self._edge(each) for each in _TAILS)
        below, not_above = (self._mean(self.below(each)).mean for each in (low, high))
        names = (f"below the {100 * low:.3g}% quantile", f"above the {100 * high:.3g}% quantile")
        both = f"outside the {100 * (high - low):.3g}% interval"
        outside = (both, below + 1 - not_above, low + 1 - high)
        places = [(names[0], below, low), (names[1], 1 - not_above, 1 - high), outside]
        if self._members and self.edges is not None and low == self.edges[1]:
            places = [("outside all members", *outside[1:])]
        where, found, expected = max(places, key=lambda each: (each[1] - each[2]) / math.sqrt(each[2]))
        return Beyond(where, self.scored.n * found, self.scored.n * expected)

    @property
    def _members(self) -> int:
        """Number of members, whose cells have all the same probability; 0 for other forecasts."""
        equal = self.edges is not None and np.ptp(np.diff(self.edges)) < _SAME
        return self.edges.size - 2 if equal and self.edges is not None else 0

    def _edge(self, level: float) -> float:
        """Return the level of the forecasts that is nearest to one."""
        return level if self.edges is None else float(self.edges[1:-1][np.argmin(np.abs(self.edges[1:-1] - level))])

    def bars(self, named: PitMap) -> PitBars:
        """Return the PIT histogram with its band, and what named errors lead to."""
        edges = _bar_edges(self.edges)
        expected = np.diff(edges)
        found = [self._mean(each) for each in np.diff([self.below(level) for level in edges], axis=0)]
        share, error = np.array([each.mean for each in found]), np.array([each.standard_error for each in found])
        own = np.maximum(share * (1 - share), _SAME) / self.scored.n
        effect = np.maximum(error**2 / own, 1.0)  # of dependence and weights
        one = 1 - alpha_of(self.confidence) / expected.size
        error = np.sqrt(effect * expected * (1 - expected) / self.scored.n)
        reach = float(t_quantile(one, found[0].degrees)) * error
        fitted = np.diff(self._mended(edges, named)) if named.coefficients else expected
        fitted = fitted if np.isfinite(fitted).all() else expected  # the outcomes do not bound the sizes of the errors
        return PitBars(edges, share, np.maximum(expected - reach, 0), expected + reach, fitted)

    def _mended(self, levels: Floats, named: PitMap) -> Floats:
        """Share of the outcomes up to some quantiles as a map has it, averaged over rows."""
        cells = self.scored.cells.only(slice(None, None, max(1, self.scored.cells.low.size // _SAMPLED)))
        z = np.broadcast_to(ndtri(levels)[:, None], (levels.size, cells.low.size))
        each = ndtr(named.scores(z, cells.level, cells.log_spread))
        return np.asarray(product(each, cells.total) / cells.total.sum())

    @property
    def _told(self) -> Floats:
        """Levels of the quantiles whose reliability is told."""
        few = self.edges is not None and self.edges.size <= 2 * BARS + 2
        return self.edges[1:-1] if few and self.edges is not None else np.arange(1, BARS) / BARS

    def reliability(self) -> QuantileReliability:
        """Return the share of the outcomes at or below each quantile."""
        found = [self.share_of(self.below(level)) for level in self._told.tolist()]
        low, high = np.array([each.interval for each in found]).T
        return QuantileReliability(self._told, np.array([each.value for each in found]), low, high)


def _bar_edges(edges: Floats | None) -> Floats:
    """Bound the bars of a histogram: each has 5% of calibrated outcomes, or the cells of forecasts that have fewer."""
    even = np.arange(BARS + 1) / BARS
    if edges is None:
        return even
    return edges if edges.size <= BARS + 1 else np.unique(edges[np.argmin(np.abs(edges - even[:, None]), axis=1)])
