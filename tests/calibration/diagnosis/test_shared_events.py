"""Rare events in few clusters: the likelihood of the one-factor model, and the test that it gives."""

import numpy as np
import pytest
from scipy.special import expit, ndtri
from scipy.stats import multivariate_normal

from unperplexed.calibration.diagnosis.binary_data import data_of_rows
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.describe import lines
from unperplexed.calibration.diagnosis.diagnose import diagnose
from unperplexed.calibration.diagnosis.gate import gate
from unperplexed.calibration.diagnosis.shared_events import one_factor_log_likelihood, shared_events_p_value


def rows(p, happened, cluster):
    block = RowBlock(np.stack([1 - p, p], axis=1), happened.astype(np.int64), None, cluster, np.arange(p.size))
    data = data_of_rows([block], (0, 1))
    return data.rows, data.clusters(np.ones(data.rows.s.size, dtype=bool))


@pytest.mark.parametrize("rho", [1e-9, 0.1, 0.3, 0.6])
def test_the_likelihood_of_two_rows_is_that_of_the_bivariate_normal_distribution(rho):
    p, q = ndtri([0.03, 0.2]), multivariate_normal(cov=[[1, rho], [rho, 1]], seed=1).cdf
    one, none = np.array([[1.0, 1.0]]), np.array([[0.0, 0.0]])
    assert np.exp(one_factor_log_likelihood(p, rho, one, none)) == pytest.approx(q(p), rel=2e-3)
    assert np.exp(one_factor_log_likelihood(p, rho, none, one)) == pytest.approx(1 - 0.03 - 0.2 + q(p), rel=1e-4)


@pytest.mark.parametrize("rho", [0.05, 0.3, 0.6])
def test_whatever_the_correlation_rows_have_their_probabilities(rho):
    p = np.array([0.004, 0.02, 0.3])
    for at in range(3):
        single = np.eye(3)[[at]]
        assert np.exp(one_factor_log_likelihood(ndtri(p), rho, single, 0 * single)) == pytest.approx(p[at], rel=2e-3)


def test_no_event_in_few_clusters_is_no_evidence_if_a_cluster_may_share_its_events():
    cluster = np.repeat(np.arange(12), 50)
    p, happened = np.full(600, 0.018), np.zeros(600)
    alone = gate(rows(p, happened, cluster)[0]).p_value
    assert alone < 1e-3  # 10.8 events were expected, and there is none
    assert gate(*rows(p, happened, cluster)).p_value > 0.3


def test_the_text_says_how_many_clusters_it_takes():
    p, cluster = np.full(600, 0.02), np.repeat(np.arange(12), 50)
    found = diagnose(np.zeros(600), p, groups=cluster, labels=(0, 1))
    # Each cluster is as one row: (3.2 / 0.5)^2 of them for each unit of information.
    assert found.detectable.clusters == pytest.approx(6.4**2 / (0.02 * 0.98))
    assert "it takes about 2,100 such clusters to detect a bias of 0.5" in " ".join(lines(found))
    often = diagnose(np.arange(600) % 2, np.full(600, 0.5), groups=cluster)
    assert np.isnan(often.detectable.clusters)
    assert "such clusters" not in " ".join(lines(often))


def test_many_clusters_with_too_few_events_are_evidence(rng):
    cluster = np.repeat(np.arange(30), 50)
    p = expit(rng.normal(-4, 1, 1500))
    happened = rng.random(1500) < expit(rng.normal(-4, 1, 1500) + 1.5)
    assert gate(*rows(p, happened, cluster)).p_value < 0.01
    assert shared_events_p_value(*rows(p, happened, cluster), ("bias",)) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size"), [(12, 50), (30, 50)])
def test_calibrated_forecasts_of_shared_events_are_seldom_rejected(rng, clusters, size):
    rejected = 0
    for _ in range(60):
        p = np.repeat(expit(rng.normal(-4, 1, clusters)), size)
        happened = np.repeat(rng.random(clusters), size) < p
        rejected += gate(*rows(p, happened, np.repeat(np.arange(clusters), size))).p_value < 0.05
    assert rejected <= 7  # of 60; 3 are expected, and without the likelihood ratio there are 25 or more
