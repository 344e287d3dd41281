"""Rows of two classes as sums at distinct log-odds: what every test and fit of the diagnosis reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats, Ints
from ...maps.cells import Counts
from ...statistics.products import product
from ...statistics.tails import weighted_chi2_sf


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
        return float(product(self.total, self.variance))

    @property
    def design_effect(self) -> float:
        """Factor by which unequal weights inflate the variance."""
        return float(product(self.squared, self.variance)) / self.information

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
"""Distinct log-odds that are fitted one by one; more are in cells."""

CELLS = 128
"""Cells a unit of the log-odds."""


def in_cells(rows: Scored) -> Counts:
    """Return what is fitted: the rows at their log-odds, or in narrow cells of these where they are many."""
    if rows.s.size <= _IN_CELLS:
        return Counts(rows.s, rows.total, rows.positive)
    _, cell = np.unique(np.round(rows.s * CELLS), return_inverse=True)
    total, positive, moment = (
        np.bincount(cell, x).astype(np.float64) for x in (rows.total, rows.positive, rows.total * rows.s)
    )
    return Counts(moment / total, total, positive)


FEWEST_CLUSTERS = 6
"""With fewer, what other samples would show is not known from one."""

LEAST_VARIANCE = 0.3
"""The variance of a sum over clusters is at least this part of that of independent rows."""

_ROUNDING = 1e-9
"""Least share of the information that other clusters have, where one has nearly all."""


class ClusterSums(NamedTuple):
    """Sums over each cluster of dependent rows, one a row, of functions of the log-odds, which are given one a row."""

    scores: Callable[[Floats], Floats]
    """Sums of a function times the weighted difference of outcome and prediction."""
    totals: Callable[[Floats], Floats]
    """Sums of a function times the weight."""

    @classmethod
    def of(
        cls, number: Ints, residual: Floats, weight: Floats, at: Callable[[Floats], Floats], clusters: int = 0
    ) -> ClusterSums:
        """Sum over rows, or other parts, that have so much of both; ``at`` gives them the values of the entries.

        Parameters
        ----------
        number : array of int, shape (n,)
            Number of each row's cluster, from 0.
        residual, weight : arrays of shape (n,)
            Weight of each row, and its outcome minus its prediction, times the weight.
        at : callable
            From the value of each entry to that of each row.
        clusters : int, default 0
            How many clusters there are at least.
        """

        def over(x: Floats) -> Callable[[Floats], Floats]:
            return lambda f: np.stack([np.bincount(number, x * at(each), clusters) for each in f], axis=1)

        return cls(over(residual), over(weight))


def cluster_shares(information: Floats) -> Floats:
    """Part of all information that each cluster has."""
    return np.asarray(information / information.sum())


def cluster_covariance(sums: Floats, own: Floats, shares: Floats) -> Floats:
    """Covariance of the whole of sums over clusters, which is 1 if rows are independent.

    ``own`` is the sum over single rows of the products that ``sums`` has over clusters.
    """
    return bounded(np.eye(sums.shape[1]) + between_rows(sums, own, shares))


def between_rows(sums: Floats, own: Floats, shares: Floats) -> Floats:
    """Sum the covariances between different rows of the same cluster.

    Each cluster is taken without its part in the whole, and the variance that this loses is given back (as CR2 does:
    Bell and McCaffrey 2002).
    """
    off = sums - shares[:, None] * sums.sum(axis=0)
    off /= np.sqrt(np.maximum(1 - shares, _ROUNDING))[:, None]
    return np.asarray(off.T @ off - own)


def bounded(covariance: Floats) -> Floats:
    """Raise variances below `LEAST_VARIANCE` to it, in all directions."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray((vectors * np.maximum(values, LEAST_VARIANCE)) @ vectors.T)


def degrees_of_freedom(shares: Floats, inflation: float) -> float:
    """Degrees of freedom of a variance that clusters inflate so many times (Satterthwaite 1946).

    What rows of a cluster share grows with the square of its size, so that large clusters count for more.
    """
    variance = shares + max(inflation - 1, 0.0) * shares**2 / (shares @ shares)
    return max(float(variance.sum() ** 2 / (variance @ variance)) - 1, 1.0)


def squares_tested(z: Floats, weights: Floats, freedom: float) -> tuple[float, float]:
    """Weighted sum of squared scores, made uncorrelated by an estimated covariance, and its p-value.

    As with Hotelling's T-squared, every further score takes a degree of freedom.
    """
    left = max(freedom - len(z) + 1, 1.0)
    statistic = float(weights @ z**2) * left / freedom
    return statistic, weighted_chi2_sf(statistic, weights, left)
