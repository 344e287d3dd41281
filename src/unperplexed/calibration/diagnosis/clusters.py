"""What clusters of dependent rows do to sums of scores: their covariance, and tests where clusters are few.

The variance of single rows is known were the forecasts calibrated. So only the covariance between rows of a cluster is
estimated, and degrees of freedom are those of that estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._lib.typing import Floats
from ...statistics.weighted_chi2 import weighted_chi2_sf

FEWEST_CLUSTERS = 6
"""With fewer, what other samples would show is not known from one."""

LEAST_VARIANCE = 0.3
"""The variance of a sum over clusters is at least this part of that of independent rows."""

_ROUNDING = 1e-9


class ClusterSums(NamedTuple):
    """Sums over each cluster of dependent rows, one a row, of functions of the log-odds, which are given one a row."""

    scores: Callable[[Floats], Floats]
    """Sums of a function times the weighted difference of outcome and prediction."""
    totals: Callable[[Floats], Floats]
    """Sums of a function times the weight."""


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
