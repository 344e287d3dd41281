"""Rows of two classes as sums at distinct log-odds: what every test and fit of the diagnosis reads."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats


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
