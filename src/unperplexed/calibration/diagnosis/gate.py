"""The gate: a test whether anything is wrong with forecasts of two classes, in closed form.

If forecasts are calibrated, the variances of score components are known: rows have v = p (1 - p). So the components
for a bias, confidence, tails, asymmetry and four further shapes, made orthonormal one after the other, are independent
and standard normal up to their skewness, which is known too.

Rows of two classes as sums at distinct log-odds: what every test and fit of the diagnosis reads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats, Ints
from ...maps.cells import Counts
from ...maps.two import tail
from ...statistics.matrices import cross_products, in_turn, product
from ...statistics.tails import weighted_chi2_sf
from .class_tails import hall


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
    def centre(self) -> float:
        """Mean log-odds, weighted by information: there level and slope are estimated independently."""
        return float(product(self.total, self.variance * self.s)) / self.information

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


WEIGHTS = np.array([1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25])
"""Weights of bias, confidence, tail, asymmetry and four shapes in W."""

_EVENTS_EACH = 4
"""Sum of p (1 - p) in a cluster below which events are rare."""

_TOLD = 0.5
"""Information if rows of a cluster had the same outcome, by what is left: above it rows show that they nearly do."""

_MOST_DEPENDENT, _CLUSTERS_EACH, _INFORMATION_EACH = 4, 18, 20
"""With dependent rows there are so many components at most, and one for so many clusters and so much information, which
is what independent rows would have."""


class Gate(NamedTuple):
    """The test's outcome."""

    statistic: float
    p_value: float
    design_effect: float
    """Factor by which weights and dependence between rows inflate variances; likelihood ratios are divided by it."""
    information: float
    """Sum of variances, in rows of equal weight."""
    components: int
    """How many are tested: the level alone where there is one."""
    shared: float = np.nan
    """Information on a bias if all rows of a cluster had the same outcome; NaN unless events are rare in few clusters,
    so that the rows hardly show whether they do."""


def gate(rows: Scored, clusters: ClusterSums | None = None) -> Gate:
    """Test whether forecasts are calibrated."""
    v, of_weights = rows.variance, rows.design_effect
    information = rows.information / of_weights
    room = max(1, int(information / 2))
    basis = orthonormal(columns(rows.s, rows.total * v), rows.squared * v)
    kept = np.flatnonzero(basis.any(axis=1))[: room if clusters is None else min(room, _MOST_DEPENDENT)]
    q, weights = basis[kept], WEIGHTS[kept]
    if clusters is None:
        z, inflation, shared = _independent(rows, q), 1.0, np.nan
        statistic, tested = float(weights @ z**2), len(weights)
        p_value = weighted_chi2_sf(statistic, weights)
    else:
        statistic, p_value, inflation, tested, shared = _dependent(rows, q, weights, clusters)
    return Gate(statistic, p_value, max(1.0, inflation) * of_weights, information, tested, shared)


def _independent(rows: Scored, q: Floats) -> Floats:
    """Return components as standard normal values, corrected for their skewness (Hall 1992)."""
    z, v = product(q, rows.residual), rows.variance
    # v (1 - 2p), whose square root of 1 - 4v is right next to 0 and 1 too.
    third = v * np.sqrt(np.maximum(1 - 4 * v, 0)) * -np.sign(rows.s)
    weighted = rows.cubed * third
    return hall(z, np.array([product(each * each * each, weighted) for each in q]))


def _dependent(
    rows: Scored, q: Floats, weights: Floats, clusters: ClusterSums
) -> tuple[float, float, float, int, float]:
    """Test the first components of dependent rows.

    Return statistic, p-value, mean inflation of variances, `Gate.components`, and `Gate.shared`.
    """
    shares = cluster_shares(clusters.totals(rows.variance[None])[:, 0])
    events = events_seen(rows, clusters)
    covariance = null_covariance(rows, clusters, q, shares, events)
    inflation, rare = np.diag(covariance), rows.information / rows.design_effect < _EVENTS_EACH * len(shares)
    # Where more events came than are expected, they tell as much more of how rows depend on one another.
    independent = max(1.0, events) * rows.information / rows.design_effect / max(1.0, float(inflation[0]))
    borne = min(len(shares) // _CLUSTERS_EACH, int(independent / _INFORMATION_EACH))
    k = min(len(q), max(1 if rare else 2, borne))
    z = np.linalg.solve(np.linalg.cholesky(covariance[:k, :k]), product(q[:k], rows.residual))
    # Events that come as if there were so many independent ones have a variance of twice as many degrees of freedom.
    freedom = min(degrees_of_freedom(shares, float(inflation[:k].mean())), 2 * independent)
    # One more for each further component: few clusters show less of a covariance than these degrees of freedom say.
    statistic, p_value = squares_tested(z, weights[:k], max(freedom - k + 1, 1.0))
    one, sd = clusters.totals(np.stack([rows.variance, np.sqrt(rows.variance)])).T
    shared = float(one.sum() ** 2 / (sd @ sd))
    known = rows.information / rows.design_effect
    told = known > _INFORMATION_EACH and shared > _TOLD * known / float(inflation[0])
    effect, size = float(inflation.mean()), clusters.totals(np.ones((1, rows.s.size)))
    if effect > _BEYOND * (size**2).sum() / size.sum():  # sure predictions err, which is no dependence
        most = (clusters.totals(np.abs(q) * np.sqrt(rows.variance)) ** 2).sum(axis=0)
        effect = float(np.minimum(inflation, np.maximum(most, 1.0)).mean())
    return statistic, p_value, effect, k, shared if rare and k <= 2 and not told else np.nan


_BEYOND = 2.0
"""Design effects this many times as large as clusters are not what few of them show by chance."""


def columns(s: Floats, v: Floats) -> Floats:
    """Return the components before they are made orthonormal: four named errors, and four shapes."""
    found = np.empty((8, *s.shape))
    found[0], found[1], found[2], found[3] = 1.0, s, tail(s), np.abs(s)
    before: Floats | float = 1.0
    now = x = 2 * information_time(s, v) - 1
    for n in range(1, 5):  # Legendre polynomials, by their recurrence
        before, now = now, ((2 * n + 1) * x * now - n * before) / (n + 1)
        found[n + 3] = now
    return found


def orthonormal(columns: Floats, v: Floats) -> Floats:
    """Make columns, one a row, orthonormal in order under the weights v; 0 for one of which too little is new."""
    return product(in_turn(cross_products(columns, v)), columns)


_SHARED_EVENTS = 0.25
"""Number of events shared by a whole cluster that are taken to have been seen beside those of the sample."""


def null_covariance(rows: Scored, clusters: ClusterSums, q: Floats, shares: Floats, events: float) -> Floats:
    """Return the covariance of the scores ``q``, one a row, which is 1 for independent rows of calibrated forecasts.

    ``events`` were seen for each expected one, as `events_seen` counts them.

    Parameters
    ----------
    rows : Scored
        Rows at m log-odds.
    clusters : ClusterSums
        Sums over g clusters of these entries.
    q : array of shape (k, m)
        Scores, orthonormal for independent rows.
    shares : array of shape (g,)
        Part of the information that each cluster has.
    events : float
        As `events_seen` counts them.

    Returns
    -------
    array of shape (k, k)
    """
    v, information = rows.variance, rows.information
    sums = clusters.scores(q)
    seen = between_rows(sums, _own_squares(rows, q, sums.sum(axis=0)), shares)
    # If all rows of a cluster are as far from their predictions, in standard deviations.
    whole = clusters.totals(q * np.sqrt(v))
    shared = whole.T @ whole - np.eye(len(q))
    prior = _SHARED_EVENTS * rows.design_effect / information
    return bounded(np.eye(len(q)) + (seen + prior * shared) / (events + prior))


def events_seen(rows: Scored, clusters: ClusterSums) -> float:
    """Return how many of the less probable outcomes there are for each that is expected.

    A cluster counts by the number of rows that one of its events may be shared with. From 1/4 to 3/4 a row counts the
    less, the nearer it is to 1/2, where no outcome is rare, so that it makes no difference which class comes first.
    """
    p, v = expit(rows.s), rows.variance
    sd, expected = clusters.totals(np.stack([np.sqrt(v), v])).T
    rare = np.minimum(1, 2 * np.abs(1 - 2 * p))
    surplus = clusters.scores((rare * np.where(p < 0.5, 1 - p, -p))[None])[:, 0]
    return 1 + float(sd @ surplus) / float(sd @ expected)


def _own_squares(rows: Scored, q: Floats, total: Floats) -> Floats:
    """Sum the products of single rows' scores, each without its part in the totals, as those of clusters are taken."""
    p, part = expit(rows.s), rows.variance / rows.information
    residual = rows.squared_positive * (1 - p) - (rows.squared - rows.squared_positive) * p
    mixed = np.outer(product(q, residual * part), total)
    products = product(q * rows.own_squares(p), q.T)
    return np.asarray(products - mixed - mixed.T + np.outer(total, total) * float(product(rows.squared, part**2)))
