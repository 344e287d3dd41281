"""The covariance of sums over clusters under calibration, and the gate where whole clusters may share rare events."""

import numpy as np
import pytest
from scipy.special import expit

from unperplexed.calibration.diagnosis.binary_data import data_of_rows
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.diagnose import diagnose
from unperplexed.calibration.diagnosis.gate import cluster_shares, events_seen, gate, null_covariance


def rows(p, happened, cluster):
    block = RowBlock(np.stack([1 - p, p], axis=1), happened.astype(np.int64), None, cluster, np.arange(p.size))
    data = data_of_rows([block], (0, 1))
    return data.rows, data.clusters(np.ones(data.rows.s.size, dtype=bool))


def inflation(p, happened, cluster):
    """Return how many times the variance of a bias is that of independent rows."""
    counted, sums = rows(p, happened, cluster)
    q = np.full((1, counted.s.size), counted.information**-0.5)
    shares = cluster_shares(sums.totals(counted.variance[None])[:, 0])
    return float(null_covariance(counted, sums, q, shares, events_seen(counted, sums))[0, 0])


@pytest.mark.parametrize("events", [0, 1, 5, 10])
def test_clusters_that_share_events_are_as_single_rows_however_many_events_there_are(events):
    """The variance of 100 clusters of 10 rows of which each is as one row: 10 times that of independent rows."""
    cluster = np.repeat(np.arange(100), 10)
    happened = np.repeat(np.arange(100) < events, 10)
    assert inflation(np.full(1000, 0.05), happened, cluster) == pytest.approx(10, rel=0.08)


@pytest.mark.parametrize("p", [0.05, 0.95])
def test_events_of_which_no_cluster_has_two_do_not_inflate_the_variance(p):
    surprising = np.arange(1000) % 20 == 0  # 50, as many as expected, in 50 of 100 clusters
    happened = surprising if p < 0.5 else ~surprising
    assert inflation(np.full(1000, p), happened, np.repeat(np.arange(100), 10)) < 1.05


def test_the_variance_is_that_of_calibrated_forecasts_on_average(rng):
    """Half of the clusters share their outcome: correlation 0.5, so that 20 rows inflate the variance 10.5 times."""
    found, cluster, p = [], np.repeat(np.arange(200), 20), np.full(4000, 0.1)
    for _ in range(40):
        whole = np.repeat(rng.random(200) < 0.5, 20)
        happened = np.where(whole, np.repeat(rng.random(200), 20), rng.random(4000)) < 0.1
        found.append(inflation(p, happened, cluster))
    assert np.mean(found) == pytest.approx(10.5, rel=0.08)
    assert np.std(found) < 3


@pytest.mark.parametrize("p", [0.02, 0.3, 0.4999, 0.5, 0.5001, 0.8])
def test_it_makes_no_difference_which_class_comes_first_nor_on_which_side_of_a_half_predictions_are(rng, p):
    cluster = np.repeat(np.arange(8), 25)
    happened = rng.random(200) < np.repeat(rng.beta(2, 3, 8), 25)
    found = gate(*rows(np.full(200, p), happened, cluster)).p_value
    assert gate(*rows(np.full(200, 1 - p), ~happened, cluster)).p_value == pytest.approx(found, rel=1e-9)
    beside = gate(*rows(np.full(200, p + 1e-6), happened, cluster)).p_value
    assert beside == pytest.approx(found, rel=1e-3)


def test_a_gross_error_in_small_clusters_is_found(rng):
    """Far more events come than such extreme predictions expect: they are no sign of dependence."""
    s = rng.normal(0, 2, 400)
    happened = rng.random(400) < expit(s)
    assert gate(*rows(expit(3 * s), happened, np.arange(400) // 2)).p_value < 1e-3


def test_no_event_in_few_clusters_is_no_evidence_if_a_cluster_may_share_its_events():
    cluster = np.repeat(np.arange(12), 50)
    p, happened = np.full(600, 0.018), np.zeros(600)
    alone = gate(rows(p, happened, cluster)[0]).p_value
    assert alone < 1e-3  # 10.8 events were expected, and there is none
    assert gate(*rows(p, happened, cluster)).p_value > 0.3


def test_the_text_says_how_many_clusters_it_takes():
    p, cluster = np.full(600, 0.02), np.repeat(np.arange(12), 50)
    found = diagnose(np.zeros(600), p, clusters=cluster, labels=(0, 1))
    # Each cluster is as one row: (3.2 / 0.5)^2 of them for each unit of information.
    assert found.detectable.clusters == pytest.approx(6.4**2 / (0.02 * 0.98))
    assert "it takes about 2,100 such clusters to detect a bias of 0.5" in found.to_text(columns=1000)
    often = diagnose(np.arange(600) % 2, np.full(600, 0.5), clusters=cluster)
    assert np.isnan(often.detectable.clusters)
    assert "such clusters" not in often.to_text(columns=1000)


def test_many_clusters_with_too_few_events_are_evidence(rng):
    cluster = np.repeat(np.arange(30), 50)
    p = expit(rng.normal(-4, 1, 1500))
    happened = rng.random(1500) < expit(rng.normal(-4, 1, 1500) + 1.5)
    assert gate(*rows(p, happened, cluster)).p_value < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size"), [(12, 50), (30, 50), (100, 10), (300, 10)])
def test_calibrated_forecasts_of_shared_events_are_seldom_rejected(rng, clusters, size):
    rejected = 0
    for _ in range(100):
        p = np.repeat(expit(rng.normal(-4, 1, clusters)), size)
        happened = np.repeat(rng.random(clusters), size) < p
        rejected += gate(*rows(p, happened, np.repeat(np.arange(clusters), size))).p_value < 0.05
    assert rejected <= 9  # of 100; with the covariance of the sample alone there are 13 to 70
