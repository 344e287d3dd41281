"""Outcomes of one period by their place in predictive distributions of a number, in cells: what monitoring reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._lib.typing import ByValue, Floats
from ..forecasts.distributions.pit_rows import PitRows
from ..statistics.intervals import UNKNOWN, Interval
from ..statistics.normal_scores import cell_means, numbered, probability_between
from .event_counts import log_chance_of_same

_CELLS = 32
"""Cells for a unit of the normal score, in which outcomes are counted that are known exactly."""


class PitCounts(NamedTuple):
    """Outcomes in cells of normal scores. Those that were held impossible are apart: any error refutes them."""

    low: Floats
    """Ends of the cells, from -inf to inf. A cell is as probable as its normal distribution, so that evidence is valid
    at any width."""
    high: Floats
    total: Floats
    """How many outcomes there are."""
    information: Floats
    """Of shape (4, 4): covariance of the sums of the directions, if forecasts are calibrated and rows independent."""
    certain_and_wrong: float = 0.0
    """How many outcomes were outside of all that was held possible."""
    ahead: int = 1
    """How many periods' forecasts are issued, from these on, before the last of these outcomes: those may depend."""

    @classmethod
    def of(cls, rows: PitRows, ahead: int = 1) -> PitCounts:
        """Count rows."""
        possible = rows.subset(~rows.impossible)
        start = np.floor(_CELLS * possible.low) / _CELLS
        low = np.where(possible.point, start, possible.low)
        high = np.where(possible.point, start + 1 / _CELLS, possible.high)
        number, first = numbered(low, high)
        patterns = np.bincount(possible.pattern, minlength=len(rows.information))
        total = np.bincount(number, minlength=len(first)).astype(np.float64)
        information = np.tensordot(patterns, rows.information, 1)
        return cls(low[first], high[first], total, information, float(rows.n - possible.n), ahead)

    @property
    def rows(self) -> float:
        """How many outcomes there are, impossible ones among them."""
        return float(self.total.sum()) + self.certain_and_wrong

    @classmethod
    def together(cls, parts: Sequence[PitCounts]) -> PitCounts:
        """Put several counts together; cells stay apart."""
        low, high, total = (np.concatenate([each[at] for each in parts]) for at in range(3))
        information = np.sum([each.information for each in parts], axis=0)
        wrong, ahead = sum(each.certain_and_wrong for each in parts), max(each.ahead for each in parts)
        return cls(low, high, total, information, wrong, ahead)

    def same(self, other: PitCounts) -> bool:
        """Whether both counted the same."""
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in self._fields)

    def log_chance_of_same(self) -> float:
        """Bound the logarithm of the probability that as many outcomes are counted the same again."""
        return log_chance_of_same(self.rows, probability_between(self.low, self.high)[1:])

    def scores(self) -> tuple[Floats, Floats]:
        """Give the sums of shift and scale, and their covariance if rows are independent and calibrated."""
        return self.total @ cell_means(self.low, self.high)[:, :2], self.information[:2, :2]

    def pit_rows(self) -> PitRows:
        """Give them as a diagnosis reads them; each row is a cell."""
        n = len(self.total)
        information = self.information[None] / max(float(self.total.sum()), 1.0)
        zeros = np.zeros(n, dtype=np.int64)
        return PitRows(self.low, self.high, information, zeros, zeros > 0, count=self.total)


class PitPoint(ByValue):
    """Successive periods together, with the figures that `assess` gives of the same rows."""

    first: str
    """Name of the first and the last period."""
    last: str
    rows: int
    held: float
    """Share of the outcomes that the 80% intervals held."""
    bias: float
    """By how many spreads forecasts are too low, fitted beside the width; 0 is best."""
    bias_interval: Interval
    width: float
    """How many times as wide intervals should be; 1 is best."""
    width_interval: Interval

    @classmethod
    def of(cls, names: Sequence[str], counts: PitCounts, *, limits: bool) -> PitPoint:
        """Take the figures of some periods."""
        from ..assessment.distributions import bias_and_width
        from ..calibration.diagnosis.distributions import Tested, held_by

        tested = Tested.of(counts.pit_rows())
        bias, width, _ = bias_and_width(tested, 0.95)
        sizes = ((each.value, each.interval) for each in (bias, width))
        known = [(math.nan if math.isnan(ends.low) else x, ends if limits else UNKNOWN) for x, ends in sizes]
        held = float(held_by(tested.rows, 0.8) @ tested.rows.total) / tested.rows.n
        return cls(names[0], names[-1], round(counts.rows), held, *known[0], *known[1])
