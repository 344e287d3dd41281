"""The test whether anything is wrong: its components, their moments, and what must not change it."""

import numpy as np
import pytest
from scipy.special import eval_legendre, expit
from scipy.stats import kstest

from unperplexed.calibration.diagnosis.class_tails import hall
from unperplexed.calibration.diagnosis.gate import (
    ClusterSums,
    Scored,
    _independent,
    cluster_shares,
    columns,
    degrees_of_freedom,
    events_seen,
    gate,
    null_covariance,
    orthonormal,
    squares_tested,
)


def scored(s, y, w=None):
    """Rows at distinct log-odds."""
    w = np.ones_like(s) if w is None else w / w.mean()
    return Scored(s, w, w * y, w**2, w**2 * y, w**3)


def some_rows(rng, n=400, weighted=False):
    s = rng.normal(0, 2, n)
    w = rng.uniform(0.2, 3, n) if weighted else None
    return scored(s, (rng.random(n) < expit(s)).astype(float), w)


def test_four_shapes_are_legendre_polynomials_of_the_information_below(rng):
    s, v = rng.normal(size=50), rng.uniform(0.1, 1, 50)
    order = np.argsort(s)
    x = np.empty(50)
    x[order] = 2 * (np.cumsum(v[order]) - v[order] / 2) / v.sum() - 1
    np.testing.assert_allclose(columns(s, v)[4:], [eval_legendre(n, x) for n in range(2, 6)], atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_components_are_orthonormal_where_forecasts_are_calibrated(rng, weighted):
    rows = some_rows(rng, weighted=weighted)
    v = rows.squared * rows.variance
    basis = orthonormal(columns(rows.s, rows.total * rows.variance), v)
    np.testing.assert_allclose((basis * v) @ basis.T, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(basis[0], 1 / np.sqrt(v.sum()))


def test_what_is_hardly_new_is_no_component(rng):
    """Less than three in a hundred of its size."""
    x, v = rng.normal(size=200), np.full(200, 0.01)
    first, second = (each - each.mean() for each in (x, rng.normal(size=200)))
    second -= (second @ first) / (first @ first) * first
    second *= np.linalg.norm(first) / np.linalg.norm(second)
    for share, kept in ((0.029, False), (0.031, True)):
        found = orthonormal(np.stack([first, first + share / np.sqrt(1 - share**2) * second]), v)
        assert found[1].any() == kept
    assert not orthonormal(np.stack([np.zeros(200), x]), v)[0].any()


def test_components_have_their_skewness_taken_away(rng):
    rows = some_rows(rng, weighted=True)
    q = np.stack([np.ones(400), rows.s]) / 10
    p = expit(rows.s)
    z = (q * rows.total * (rows.positive / rows.total - p)).sum(axis=1)
    third = (q**3 * rows.total**3 * p * (1 - p) * (1 - 2 * p)).sum(axis=1)
    np.testing.assert_allclose(_independent(rows, q), hall(z, third), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_neither_the_order_of_rows_nor_which_class_comes_first_matters(rng, weighted):
    rows = some_rows(rng, weighted=weighted)
    found = gate(rows)
    order = rng.permutation(400)
    assert gate(rows.only(order)) == pytest.approx(found, rel=1e-9, nan_ok=True)
    mirrored = rows._replace(
        s=-rows.s, positive=rows.total - rows.positive, squared_positive=rows.squared - rows.squared_positive
    )
    assert gate(mirrored) == pytest.approx(found, rel=1e-9, nan_ok=True)
    v = rows.variance
    assert found.design_effect == pytest.approx((rows.squared @ v) / (rows.total @ v), rel=1e-12)
    assert found.information == pytest.approx((rows.total @ v) / found.design_effect, rel=1e-12)


def test_p_values_of_calibrated_forecasts_are_uniform(rng):
    found = [gate(some_rows(rng)).p_value for _ in range(150)]
    assert kstest(found, "uniform").pvalue > 0.01


def test_a_constant_forecast_can_only_have_a_bias():
    n, p = 60, 0.2
    s = np.full(1, np.log(p / (1 - p)))
    for hits in (4, 12, 25):
        rows = Scored(s, *(np.array([float(x)]) for x in (n, hits, n, hits, n)))
        z = hall(
            np.array([(hits - n * p) / np.sqrt(n * p * (1 - p))]), np.array([(1 - 2 * p) / np.sqrt(n * p * (1 - p))])
        )
        assert gate(rows).statistic == pytest.approx(float(z[0] ** 2), rel=1e-9)


@pytest.mark.parametrize(("information", "components"), [(1.0, 1), (3.9, 1), (4.1, 2), (15.9, 7), (40.0, 8)])
def test_as_many_components_as_half_the_information(rng, information, components):
    """So the mean of the statistic, the sum of their weights, grows with it."""
    rows = some_rows(rng)
    unit = information / rows.information
    small = Scored(rows.s, *(unit * column for column in rows[1:]))
    basis = orthonormal(columns(small.s, small.total * small.variance), small.squared * small.variance)
    weights = np.array([1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.25])[:components]
    expected = float(weights @ _independent(small, basis[:components]) ** 2)
    assert gate(small).statistic == pytest.approx(expected, rel=1e-9)


def in_clusters(rows, cluster):
    """Sums over clusters of rows that have one log-odds each."""
    here = cluster == np.unique(cluster)[:, None]
    return ClusterSums(lambda f: here @ (f * rows.residual).T, lambda f: here @ (f * rows.total).T)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clusters", [3, 15, 53, 54, 100])
@pytest.mark.parametrize("information", [30.0, 58.0, 61.0, 63.0, 90.0, 200.0])
def test_sums_over_clusters_are_tested_by_the_covariance_of_calibrated_forecasts(rng, weighted, clusters, information):
    """One component for each 18 clusters and each 20 independent rows, each of which takes a degree of freedom.

    There are four at most and two at least, or one where fewer than four events are expected in a cluster.
    """
    rows = some_rows(rng, 600, weighted)
    rows = Scored(rows.s, *(information / rows.information * column for column in rows[1:]))
    sums = in_clusters(rows, np.arange(600) % clusters)
    found = gate(rows, sums)
    basis = orthonormal(columns(rows.s, rows.total * rows.variance), rows.squared * rows.variance)
    q = basis[:4]
    shares = cluster_shares(sums.totals(rows.variance[None])[:, 0])
    events = events_seen(rows, sums)
    covariance = null_covariance(rows, sums, q, shares, events)
    inflation, of_weights = np.diag(covariance), rows.design_effect
    independent = max(1, events) * rows.information / of_weights / max(1, inflation[0])
    rare = rows.information / of_weights < 4 * clusters
    components = min(4, max(1 if rare else 2, min(clusters // 18, int(independent / 20))))
    few = slice(components)
    z = np.linalg.solve(np.linalg.cholesky(covariance[few, few]), (q * rows.residual).sum(axis=1)[few])
    freedom = min(degrees_of_freedom(shares, inflation[few].mean()), 2 * independent) - components + 1
    expected = squares_tested(z, np.array([1, 1, 0.5, 0.5])[few], max(1, freedom))
    assert (found.statistic, found.p_value) == pytest.approx(expected, rel=1e-9)
    assert found.design_effect == pytest.approx(max(1, inflation.mean()) * of_weights, rel=1e-9)
    assert np.isnan(found.shared) == (not rare or components > 2)


@pytest.mark.parametrize(("each", "rare"), [(15, True), (16, False)])
def test_events_are_rare_if_fewer_than_four_are_expected_in_a_cluster(each, rare):
    n = 10 * each  # rows at even odds, whose p (1 - p) is exactly 1/4
    rows = scored(np.zeros(n), np.arange(n) % 2.0)
    assert np.isfinite(gate(rows, in_clusters(rows, np.arange(n) // each)).shared) == rare


def test_rare_events_in_few_clusters_may_have_shared_one_outcome(rng):
    """Then as much is known of a bias as clusters tell whose rows all go the same way."""
    s = rng.normal(-5, 1, 900)
    rows = scored(s, (rng.random(900) < expit(s)).astype(float))
    cluster = np.arange(900) // 60
    found = gate(rows, in_clusters(rows, cluster))
    deviation = np.sqrt(rows.variance)
    together = sum(deviation[cluster == each].sum() ** 2 for each in range(15))
    assert found.shared == pytest.approx(rows.information**2 / together, rel=1e-9)
    assert found.shared < found.information
