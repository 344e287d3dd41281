"""The gate: a test whether anything is wrong with forecasts of two classes, in closed form.

If forecasts are calibrated, the variances of score components are known: rows have v = p (1 - p). So the components
for a bias, confidence, tails, asymmetry and four further shapes, made orthonormal one after the other, are independent
and standard normal up to their skewness, which is known too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.special import expit, ndtr, ndtri, stdtr
from scipy.stats import chi2

from .._log_odds_tail import tail
from .._typing import Floats
from .class_tails import hall

WEIGHTS = np.array([1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25])
"""Of bias, confidence, tail, asymmetry and four shapes in W."""

_NEW = 0.03
"""A component of which less is new is left out."""


class Scored(NamedTuple):
    """What score components are sums over: rows of two classes at distinct log-odds s of the positive class."""

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
        """Of an outcome, were the forecasts calibrated."""
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

    def only(self, here: np.ndarray) -> Scored:
        """Return some of the entries."""
        return Scored(*(column[here] for column in self))


ClusterSums = Callable[[Floats], Floats]
"""Given components at the entries, one a row, return their sums over each cluster of dependent rows, one a row."""


FEWEST_CLUSTERS = 6
"""With fewer, what other samples would show is not known from one."""


class Gate(NamedTuple):
    """The test's outcome."""

    statistic: float
    p_value: float
    design_effect: float
    """Factor by which weights and dependence between rows inflate variances; likelihood ratios are divided by it."""
    information: float
    """Sum of variances, in rows of equal weight."""
    effects: tuple[float, float]
    """The design effect for a bias alone, and for confidence alone: clusters inflate these differently."""


def gate(rows: Scored, clusters: ClusterSums | None = None) -> Gate:
    """Test whether forecasts are calibrated."""
    v, of_weights = rows.variance, rows.design_effect
    information = rows.information / of_weights
    room = max(1, int(information // 2))
    basis = orthonormal(columns(rows.s, rows.total * v), rows.squared * v)
    kept = [at for at, column in enumerate(basis) if column is not None]
    if clusters is None:
        kept = kept[:room]
        q = np.stack([basis[at] for at in kept])  # type: ignore[misc]
        z, inflation = _independent(rows, q), np.ones(1)
    else:
        kept = kept[: min(room, 4)]
        q = np.stack([basis[at] for at in kept])  # type: ignore[misc]
        sums = clusters(q)
        most = max(1, min(room, len(sums) // 10))
        kept, q, sums = kept[:most], q[:most], sums[:, :most]
        z, inflation = _clustered(rows, q, sums)
    weights = WEIGHTS[kept]
    statistic = float(weights @ z**2)
    whole = max(1.0, float(np.mean(inflation))) * of_weights
    of_bias, of_confidence = (
        max(1.0, float(inflation[kept.index(at)])) * of_weights if at in kept[: inflation.size] else whole
        for at in (0, 1)
    )
    return Gate(statistic, weighted_chi2_sf(statistic, weights), whole, information, (of_bias, of_confidence))


def _independent(rows: Scored, q: Floats) -> Floats:
    """Return components as standard normal values, corrected for their skewness (Hall 1992)."""
    z = q @ rows.residual
    # v (1 - 2p), whose square root of 1 - 4v is right next to 0 and 1 too.
    third = rows.variance * np.sqrt(np.maximum(1 - 4 * rows.variance, 0)) * -np.sign(rows.s)
    skewness = q**3 @ (rows.cubed * third)
    return hall(z, skewness)


def _clustered(rows: Scored, q: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Return components of dependent rows, and how much their variances are inflated.

    The rows' own variance is known, and is 1; only the covariance between rows of a cluster is estimated.
    """
    p, other = expit(rows.s), expit(-rows.s)
    own = rows.squared_positive * other**2 + (rows.squared - rows.squared_positive) * p**2
    covariance = np.eye(len(q)) + sums.T @ sums - (q * own) @ q.T
    values, vectors = np.linalg.eigh(covariance)
    covariance = (vectors * np.maximum(values, 0.3)) @ vectors.T
    z = np.linalg.solve(np.linalg.cholesky(covariance), sums.sum(axis=0))
    normal = -ndtri(stdtr(max(len(sums) - 1, 1), -np.abs(z)))
    return normal, np.diag(covariance)


def columns(s: Floats, v: Floats) -> list[Floats]:
    """Return the components before they are made orthonormal: four named errors, and four shapes."""
    x = 2 * information_time(s, v) - 1
    return [np.ones_like(s), s, tail(s), np.abs(s), *(legendre.legval(x, np.eye(6)[k]) for k in (2, 3, 4, 5))]


def information_time(s: Floats, v: Floats) -> Floats:
    """Return the share of the information v below each of the log-odds, which are distinct; at each its middle."""
    order = np.argsort(s, kind="stable")
    share = np.empty_like(s)
    share[order] = (np.cumsum(v[order]) - v[order] / 2) / v.sum()
    return share


def orthonormal(basis: Sequence[Floats], v: Floats) -> list[Floats | None]:
    """Make columns orthonormal in order under the weights v; None for one of which too little is new."""
    found: list[Floats | None] = []
    for column in basis:
        size, left = np.sqrt(v @ column**2), column
        for _ in range(2):
            for earlier in found:
                if earlier is not None:
                    left = left - (v @ (left * earlier)) * earlier
        new = np.sqrt(v @ left**2)
        found.append(left / new if new > _NEW * size and new > 0 else None)
    return found


def weighted_chi2_sf(x: float, weights: Floats) -> float:
    """Return P(sum w_k Z_k^2 > x) by the saddlepoint of Lugannani and Rice (Kuonen 1999)."""
    w = weights[weights > 0]
    if not w.size or x <= 0:
        return 1.0
    if np.ptp(w) < 1e-12:
        return float(chi2.sf(x / w[0], w.size))
    if abs(x - w.sum()) < 1e-3 * w.sum():  # at the mean the formula is 0/0
        return (weighted_chi2_sf(w.sum() * 1.003, w) + weighted_chi2_sf(w.sum() * 0.997, w)) / 2
    low, high = -w.size / (2 * x) - 1, (1 - 1e-12) / (2 * w.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if (w / (1 - 2 * middle * w)).sum() < x else (low, middle)
    t = (low + high) / 2
    r = np.sign(t) * np.sqrt(2 * (t * x + 0.5 * np.log1p(-2 * t * w).sum()))
    u = t * np.sqrt((2 * w**2 / (1 - 2 * t * w) ** 2).sum())
    return float(np.clip(ndtr(-(r + np.log(u / r) / r)), 0, 1))
