"""Evidence of a change: against its definition, term by term, and its laws."""

import numpy as np
import pytest

from unperplexed.statistics.rank_evidence import beginning, log_begins, log_evidence, log_not_begun


def test_shares_that_begin_and_those_that_have_not_add_up_to_one():
    for periods in (1, 7, 400):
        total = np.exp(log_begins(periods)).sum() + np.exp(log_not_begun(np.array([periods])))[0]
        assert total == pytest.approx(1, abs=1e-12)


def test_evidence_is_the_sum_over_beginnings_and_hypotheses():
    rng = np.random.default_rng(0)
    factors, weights = rng.normal(0, 1, (9, 3)), np.array([0.5, 0.3, 0.2])
    begins, left = np.exp(log_begins(9)), np.exp(log_not_begun(np.arange(1, 10)))
    found = np.exp(log_evidence(factors, weights))
    for d in range(9):
        bets = sum(
            begins[start] * weights[k] * np.exp(factors[start : d + 1, k].sum())
            for start in range(d + 1)
            for k in range(3)
        )
        assert found[d] == pytest.approx(bets + left[d], rel=1e-12)


def test_bets_that_neither_win_nor_lose_keep_an_evidence_of_one():
    assert log_evidence(np.zeros((50, 2, 4)), np.full(4, 0.25)) == pytest.approx(np.zeros((50, 2)), abs=1e-12)


def test_series_beside_one_another_are_each_by_itself():
    rng = np.random.default_rng(1)
    factors, weights = rng.normal(0, 0.5, (20, 3, 4)), np.full(4, 0.25)
    together = log_evidence(factors, weights)
    for series in range(3):
        assert np.array_equal(together[:, series], log_evidence(factors[:, series], weights))


def test_a_large_change_is_dated_exactly():
    factors = np.full((30, 2), -9.0)
    factors[17:, 1] = 5.0
    found = beginning(factors, np.array([0.5, 0.5]))
    assert found.most_probable == 17
    assert found.probable.tolist() == [17]


def test_without_a_change_every_beginning_stays_probable():
    found = beginning(np.zeros((40, 2)), np.array([0.5, 0.5]))
    assert found.most_probable == 0  # half of the bet begins there
    assert len(found.probable) > 20
