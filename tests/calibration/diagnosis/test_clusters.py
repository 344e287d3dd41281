"""Clusters of dependent rows in the diagnosis: sizes of its gate, intervals of parameters, laws."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import f, norm
from scipy.stats import t as student

from unperplexed import Tally, diagnose
from unperplexed.calibration.diagnosis.binary import in_cells, standard_errors
from unperplexed.calibration.diagnosis.binary_data import data_of_rows
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.gate import cluster_covariance, degrees_of_freedom, gate, squares_tested
from unperplexed.maps.cells import NO_PRIOR, Cells, fitted_cells, map_of
from unperplexed.statistics.tails import weighted_chi2_sf


def dependent(rng, cluster, correlation, mean=0.0, sd=2.0, bias=0.0, confidence=0.0):
    """Log-odds, alike in a cluster, and outcomes that depend on one another."""

    def normal(share):
        common = rng.normal(size=cluster.max() + 1)[cluster]
        return math.sqrt(share) * common + math.sqrt(1 - share) * rng.normal(size=cluster.size)

    s = mean + sd * normal(correlation / 2)
    return s, (norm.cdf(normal(correlation)) < expit((1 + confidence) * s + bias)).astype(np.int64)


def counted(s, y, cluster):
    data = data_of_rows([RowBlock(np.stack([expit(-s), expit(s)], 1), y, None, cluster, np.arange(s.size))], (0, 1))
    return data.rows, data.clusters(np.ones(data.rows.s.size, dtype=bool))


def of_sizes(rng, clusters, rows, unequal):
    if not unequal:
        return np.arange(rows) % clusters
    share = rng.lognormal(0, 1, clusters)
    return np.unique(rng.choice(clusters, rows, p=share / share.sum()), return_inverse=True)[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clusters", "rows", "unequal"),
    [(20, 1000, False), (50, 2000, True), (300, 600, False), (500, 2500, True)],
)
def test_about_one_calibrated_sample_in_twenty_is_rejected(rng, clusters, rows, unequal):
    rejected = []
    for run in range(160):
        cluster = of_sizes(rng, clusters, rows, unequal)
        mean = (0.0, -3.0)[run % 2]
        rejected.append(gate(*counted(*dependent(rng, cluster, (0.0, 0.3)[run // 2 % 2], mean), cluster)).p_value)
    assert 0.005 < np.mean(np.array(rejected) < 0.05) < 0.095  # 160 samples: standard error 0.017


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [50, 300])
def test_intervals_of_parameters_hold_the_truth(rng, clusters):
    truth, held = {"bias": 0.5, "slope": 0.3}, []
    cluster = np.arange(3000) % clusters
    for _ in range(120):
        rows, sums = counted(*dependent(rng, cluster, 0.4, bias=0.5, confidence=0.3), cluster)
        found = map_of(fitted_cells(Cells(in_cells(rows), tuple(truth)), NO_PRIOR))
        errors = standard_errors(rows, sums, found)
        off = {name: abs(found.value(name) - value) for name, value in truth.items()}
        held.append(
            [off[name] < student.ppf(0.975, errors[name].degrees) * errors[name].standard_error for name in truth]
        )
    assert np.mean(held, axis=0) == pytest.approx([0.95, 0.95], abs=0.06)  # 120 samples: standard error 0.02


def test_a_bias_is_as_sure_as_the_mean_of_clusters(rng):
    """Constant forecasts: the interval of a bias is that of a mean of clusters, by Student's distribution."""
    cluster, s = np.arange(4000) % 40, np.zeros(4000)
    y = (rng.random(4000) < 0.6 + 0.2 * rng.uniform(-1, 1, 40)[cluster]).astype(np.int64)
    rows, sums = counted(s, y, cluster)
    found = map_of(fitted_cells(Cells(in_cells(rows), ["bias"]), NO_PRIOR))
    error = standard_errors(rows, sums, found)["bias"]
    means = np.bincount(cluster, y) / 100
    slope = y.mean() * (1 - y.mean())
    assert error.standard_error == pytest.approx(means.std(ddof=1) / math.sqrt(40) / slope, rel=0.02)
    assert error.degrees == pytest.approx(39)


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.0, 0.5])
def test_order_and_names_of_clusters_change_nothing(rng, error):
    cluster = rng.integers(0, 60, 3000)
    s, y = dependent(rng, cluster, 0.3, bias=error)
    here = diagnose(y, expit(s), clusters=cluster)
    order, names = rng.permutation(3000), rng.permutation(1000)[:60]
    there = diagnose(y[order], expit(s)[order], clusters=names[cluster[order]])
    texts = diagnose(y, expit(s), clusters=np.array([f"match {x}" for x in names])[cluster])
    for other in (there, texts):
        assert other.errors == here.errors
        assert other.p_value == pytest.approx(here.p_value, rel=1e-9)
        for mine, its in zip(here.findings, other.findings, strict=True):
            assert its.interval == pytest.approx(mine.interval, rel=1e-6)


@pytest.mark.slow
def test_one_row_a_cluster_is_about_none(rng):
    s = rng.normal(0, 2, 20_000)
    y, p = (rng.random(s.size) < expit(1.2 * s + 0.15)).astype(np.int64), expit(s)
    alone, alike = diagnose(y, p), diagnose(y, p, clusters=np.arange(s.size))
    assert alike.errors == alone.errors
    assert alike.detectable.bias == pytest.approx(alone.detectable.bias, rel=0.03)
    assert alike.detectable.slope == pytest.approx(alone.detectable.slope, rel=0.03)
    for mine, its in zip(alone.findings, alike.findings, strict=True):
        assert its.parameter == pytest.approx(mine.parameter, rel=1e-9)
        assert its.interval == pytest.approx(mine.interval, abs=0.03 * (mine.interval[1] - mine.interval[0]))


def test_copies_of_rows_in_clusters_are_no_more_evidence(rng):
    s = rng.normal(0, 2, 1000)
    y, p = (rng.random(s.size) < expit(s + 0.7)).astype(np.int64), expit(s)
    once = diagnose(y, p, clusters=np.arange(1000))
    copied = diagnose(np.repeat(y, 5), np.repeat(p, 5), clusters=np.repeat(np.arange(1000), 5))
    assert copied.errors == once.errors == ("bias",)
    assert copied.findings[0].interval == pytest.approx(once.findings[0].interval, abs=0.02)


@pytest.mark.slow
def test_a_tally_knows_clusters_by_its_shards(rng):
    cluster = np.arange(4000) % 80
    s, y = dependent(rng, cluster, 0.3, bias=0.6)
    rows = diagnose(y, expit(s), clusters=cluster)
    found = diagnose(Tally.of(y, expit(s), clusters=cluster, parts=["shards"]))
    assert rows.errors == found.errors == ("bias",)
    assert found.findings[0].interval == pytest.approx(rows.findings[0].interval, abs=0.06)


def test_the_tail_is_that_of_f_where_weights_are_equal():
    for freedom in (3.0, 12.0, 200.0):
        for x in (0.3, 2.0, 5.0, 30.0):
            exact = f.sf(x / 3, 3, freedom)
            assert weighted_chi2_sf(x, np.ones(3), freedom) == pytest.approx(exact, rel=1e-9)
            assert weighted_chi2_sf(x, np.array([1, 1, 1 + 1e-6]), freedom) == pytest.approx(exact, rel=0.05)


def test_the_tail_of_unequal_weights_is_that_of_draws(rng):
    w = np.array([1, 1, 0.5])
    ratios = (rng.normal(size=(400_000, 3)) ** 2 @ w) / (rng.chisquare(10, 400_000) / 10)
    for x in (1.0, 2.5, 6.0, 12.0):
        assert weighted_chi2_sf(x, w, 10) == pytest.approx((ratios > x).mean(), rel=0.04)
    assert weighted_chi2_sf(6.0, w, 1e7) == pytest.approx(weighted_chi2_sf(6.0, w), rel=1e-5)


def test_normal_clusters_are_tested_as_by_hotelling(rng):
    """Clusters far more alike than rows: the statistic is Hotelling's T-squared, its distribution that of F."""
    sums = 1e4 * rng.normal(size=(30, 2)) @ np.array([[1, 0.4], [0, 2]])
    shares = np.full(30, 1 / 30)
    z = np.linalg.solve(np.linalg.cholesky(cluster_covariance(sums, np.zeros((2, 2)), shares)), sums.sum(axis=0))
    mean = sums.mean(axis=0)
    squared = 30 * mean @ np.linalg.solve(np.cov(sums.T), mean)
    assert z @ z == pytest.approx(squared, rel=1e-6)
    assert degrees_of_freedom(shares, 1e9) == pytest.approx(29)
    assert squares_tested(z, np.ones(2), 29)[1] == pytest.approx(f.sf(squared * 28 / 29 / 2, 2, 28), rel=1e-6)


def test_large_clusters_leave_fewer_degrees_of_freedom():
    equal, unequal = np.full(50, 0.02), np.concatenate([[0.5], np.full(49, 0.5 / 49)])
    assert degrees_of_freedom(equal, 10.0) == pytest.approx(49)
    assert degrees_of_freedom(unequal, 1.0) > degrees_of_freedom(unequal, 10.0) >= 1


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [12, 30])
def test_overconfidence_is_seen_with_few_clusters(clusters):
    found = 0
    for seed in range(10):
        rng = np.random.default_rng([clusters, seed])
        s = rng.normal(0, 2, clusters * 50)
        y = (rng.random(s.size) < 1 / (1 + np.exp(-s))).astype(int)
        found += diagnose(y, 1 / (1 + np.exp(-2 * s)), clusters=np.repeat(np.arange(clusters), 50)).miscalibrated
    assert found >= 8
