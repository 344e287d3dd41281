"""Rows of two classes as sums at distinct log-odds: what every test and fit of the diagnosis reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats
from ...maps.cells import Counts


class Scored(NamedTuple):
    """Rows of two classes at distinct log-odds s of the positive class, which score components are sums over."""

    s: Floats
    total: Floats
    """Weight of the rows; weights have mean 1."""
    positive: Floats
    squared: Floats
    """Sum of the squared weights of all rows, and of those with a positive outcome."""
    squared_positive: Floats
    cubed: Floats

    @property
    def variance(self) -> Floats:
        """Variance of an outcome if the forecasts are calibrated."""
        return np.asarray(expit(self.s) * expit(-self.s))

    @property
    def residual(self) -> Floats:
        """Weight of the positive outcomes, minus what was predicted."""
        return np.asarray(self.positive - self.total * expit(self.s))

    @property
    def information(self) -> float:
        """Sum of the weighted variances."""
        return float(self.total @ self.variance)

    @property
    def design_effect(self) -> float:
        """Factor by which unequal weights inflate the variance."""
        return float(self.squared @ self.variance) / self.information

    def own_squares(self, q: Floats) -> Floats:
        """Sum of the squared weighted differences of outcomes and probabilities q."""
        return self.squared_positive * (1 - q) ** 2 + (self.squared - self.squared_positive) * q**2

    def only(self, here: np.ndarray) -> Scored:
        """Return some of the entries."""
        return Scored(*(column[here] for column in self))


def information_time(s: Floats, v: Floats) -> Floats:
    """Return the share of the information v below each of the log-odds, which are distinct; at each its middle."""
    order = np.argsort(s, kind="stable")
    share = np.empty_like(s)
    share[order] = (np.cumsum(v[order]) - v[order] / 2) / v.sum()
    return share


_IN_CELLS = 4096
_CELLS = 128
"""More distinct log-odds than the first are fitted in cells of which there are the second a unit."""


def in_cells(rows: Scored) -> Counts:
    """Return what is fitted: the rows at their log-odds, or in narrow cells of these where they are many."""
    if rows.s.size <= _IN_CELLS:
        return Counts(rows.s, rows.total, rows.positive)
    _, cell = np.unique(np.round(rows.s * _CELLS), return_inverse=True)
    total, positive, moment = (
        np.bincount(cell, x).astype(np.float64) for x in (rows.total, rows.positive, rows.total * rows.s)
    )
    return Counts(moment / total, total, positive)
