"""Rows of predictive distributions beside their outcomes, free of units: all that a diagnosis reads."""

from __future__ import annotations

import numpy as np

from ..._lib.dataclasses import Frozen, replace
from ..._lib.typing import Bools, Floats, Ints

BARS = 20
"""Bars of the PIT histogram, fewer where forecasts give fewer cells."""

COVERED = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)
"""Central intervals whose coverage is given, where any quantile is known."""


class PitRows(Frozen, eq=False):
    """Where outcomes fall in their predictive distributions, as normal scores."""

    low: Floats
    """Normal quantile of F(y-), the probability of less than the outcome."""
    high: Floats
    """Normal quantile of F(y); where F is continuous at y it equals ``low``."""
    information: Floats
    """Of shape (k, 4, 4): for each pattern of cells the covariance of a row's score for calibrated forecasts."""
    pattern: Ints
    """Which of them each row has."""
    impossible: Bools
    """Whether an outcome is outside of all that its forecast holds possible."""
    level: Floats | None = None
    """Predicted medians, of log(1 + y) where none is negative; None where they are not known."""
    log_spread: Floats | None = None
    """Logarithm of the predicted spread, (q75 - q25) / 1.349; None where it is not known."""
    weight: Floats | None = None
    """Importance weights; None where all rows count the same."""
    count: Floats | None = None
    """How many like rows each stands for; None for one."""
    means: Floats | None = None
    """Of shape (n, 4): means of the four directions over the rows that each stands for; None where the ends tell."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.low)

    @property
    def point(self) -> Bools:
        """Rows whose outcome is known exactly, not by its cell."""
        return np.asarray(self.low == self.high)

    def subset(self, rows: Bools | Ints) -> PitRows:
        """Return some of the rows."""
        columns = {name: x for name, x in vars(self).items() if name != "information" and x is not None}
        return replace(self, **{name: x[rows] for name, x in columns.items()})

    def scaled(self) -> PitRows:
        """Return the same with levels as log(1 + y) where none is negative, and spreads as logarithms."""
        level, spread = self.level, self.log_spread
        if level is None or spread is None:
            return self
        return replace(self, level=np.log1p(level) if (level >= 0).all() else level, log_spread=log_positive(spread))


def log_positive(spread: Floats) -> Floats | None:
    """Return logarithms; of 0 that of the smallest above it, None if none is."""
    some = spread[spread > 0]
    return np.log(np.maximum(spread, some.min())) if some.size else None
