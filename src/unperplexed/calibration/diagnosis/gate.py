"""The gate: a test whether anything is wrong with forecasts of two classes, in closed form.

If forecasts are calibrated, the variances of score components are known: rows have v = p (1 - p). So the components
for a bias, confidence, tails, asymmetry and four further shapes, made orthonormal one after the other, are independent
and standard normal up to their skewness, which is known too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from ..._lib.elementary import expit
from ..._lib.typing import Floats
from ...maps.two import tail
from ...statistics.definite import in_turn
from ...statistics.products import product
from ...statistics.tails import weighted_chi2_sf
from .class_tails import hall
from .scored import (
    ClusterSums,
    Scored,
    between_rows,
    bounded,
    cluster_shares,
    degrees_of_freedom,
    information_time,
    squares_tested,
)

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
    skewness = product(q * q * q, rows.cubed * third)
    return hall(z, skewness)


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
    x = 2 * information_time(s, v) - 1
    return np.stack([np.ones_like(s), s, tail(s), np.abs(s), *legendre.legval(x, np.eye(6)[:, 2:])])


def orthonormal(columns: Floats, v: Floats) -> Floats:
    """Make columns, one a row, orthonormal in order under the weights v; 0 for one of which too little is new."""
    return np.asarray(product(in_turn(product(columns * v, columns.T)), columns))


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
