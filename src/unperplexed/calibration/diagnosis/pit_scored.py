"""Rows of predictive distributions as tests and fits read them: scores, weights, and cells of like rows."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from ..._lib.dataclasses import dataclass, replace
from ..._lib.typing import Bools, Floats, Ints
from ...forecasts.distributions.pit_rows import PitRows
from ...maps.pit import PitCells
from ...statistics.normal_scores import cell_means, numbered
from ...statistics.products import product

_FARTHEST = 37.0
"""Normal score beyond which the probability is 0 to the last digit."""

_ROUNDING = 1e-9
"""Standard deviation, relative to the mean's size, that is a rounding error."""

_LEAST_SPREAD = 1e-3
"""Standard deviation of the logarithm of the predicted spread below which nothing follows it."""

_ONE_BY_ONE = 4096
"""So many rows are fitted one by one; more are in cells of like rows."""

_PER_SCORE, _PER_DEVIATION = 32, 4
"""Cells for a unit of the normal score, and for a standard deviation of predicted level or spread."""


@dataclass(frozen=True, eq=False)
class PitScored:
    """Rows with their scores under calibration."""

    rows: PitRows
    total: Floats
    """Weight of each row, with mean 1; of equal rows that were counted together their sum."""
    squared: Floats
    cubed: Floats
    """Sums of squared weights, and of cubed ones."""
    means: Floats
    """Of shape (4, n): means of the four directions, given what is known of the outcomes."""

    @staticmethod
    def of(rows: PitRows) -> PitScored:
        """Take the scores of rows."""
        count = np.ones(rows.n) if rows.count is None else rows.count
        weight = np.ones(rows.n) if rows.weight is None else rows.weight
        weight = weight * (count.sum() / product(count, weight))
        ends = (np.where(rows.point, np.clip(z, -_FARTHEST, _FARTHEST), z) for z in (rows.low, rows.high))
        rows = replace(rows, **dict(zip(("low", "high"), ends, strict=True)))
        means = (cell_means(rows.low, rows.high) if rows.means is None else rows.means).T
        return PitScored(rows, count * weight, count * weight**2, count * weight**3, means)

    def only(self, here: Bools) -> PitScored:
        """Return some of the rows."""
        return PitScored(
            self.rows.subset(here), self.total[here], self.squared[here], self.cubed[here], self.means[:, here]
        )

    @cached_property
    def n(self) -> float:
        """Number of rows."""
        return float(self.total.sum())

    @property
    def design_effect(self) -> float:
        """Factor by which unequal weights inflate the variance."""
        return float(self.squared.sum()) / self.n

    @cached_property
    def factors(self) -> Floats:
        """Of shape (3, n): 1, predicted level and logarithm of the predicted spread, both in standard deviations."""
        return np.stack([np.ones(len(self.total)), *(self._standard(x)[0] for x in self._predicted)])

    @cached_property
    def varying(self) -> tuple[int, ...]:
        """Which of the factors vary, or are 1."""
        return (0, *(at for at, x in enumerate(self._predicted, 1) if self._standard(x)[1]))

    @property
    def _predicted(self) -> tuple[Floats | None, Floats | None]:
        return self.rows.level, self.rows.log_spread

    def _standard(self, x: Floats | None) -> tuple[Floats, float]:
        """Return values in standard deviations from their mean, and this deviation: both 0 where they do not vary."""
        if x is None:
            return np.zeros(len(self.total)), 0.0
        largest = max(float(np.abs(x).max()), 1.0)
        mean = float(product(self.total, x / largest)) / self.n
        apart = x / largest - mean
        deviation = math.sqrt(float(product(self.total, apart**2)) / self.n)
        varies = deviation > _ROUNDING * (1 / largest + abs(mean))
        return apart / deviation if varies else np.zeros(len(x)), deviation * largest * varies

    @cached_property
    def information(self) -> Floats:
        """Of shape (3, 3, 4, 4): covariance of the directions' sums, multiplied by each two of the factors."""
        of, patterns = self.rows.pattern, len(self.rows.information)
        sums = [np.bincount(of, self.squared * a * b, patterns) for a in self.factors for b in self.factors]
        return product(np.array(sums), self.rows.information.reshape(patterns, -1)).reshape(3, 3, 4, 4)

    @cached_property
    def cells(self) -> PitCells:
        """What is fitted: the rows, or cells of like rows where they are many."""
        _, level, log_spread = self.factors
        spread = self._standard(self.rows.log_spread)[1]
        log_spread = log_spread * (spread if spread > _LEAST_SPREAD else 0.0)
        rows = PitCells(self.rows.low, self.rows.high, level, log_spread, self.total)
        if self.at is None:
            return rows
        total = self.in_cells(self.total)
        low, high, level, log_spread = (self.in_cells(self.total * x) / total for x in rows[:4])
        return PitCells(low, high, level, log_spread, total)

    def in_cells(self, x: Floats) -> Floats:
        """Sum over the rows of each cell; an end that is infinite is so in all of them."""
        return x if self.at is None else np.bincount(self.at, x).astype(np.float64)

    @cached_property
    def at(self) -> Ints | None:
        """Cell of each row; None where each is one."""
        if len(self.total) <= _ONE_BY_ONE:
            return None
        rows, point = self.rows, self.rows.point
        low, high = (np.where(point, np.round(_PER_SCORE * z) / _PER_SCORE, z) for z in (rows.low, rows.high))
        return numbered(low, high, *(np.round(_PER_DEVIATION * x) for x in self.factors[1:]))[0]
