"""Evidence from ranks: a fair bet on exchangeable numbers, whatever they are, that finds a change and its date."""

from itertools import permutations

import numpy as np
import pytest

from unperplexed.statistics.rank_evidence import gap_weights
from unperplexed.statistics.rank_evidence import rank_evidence as of_series


def rank_evidence(x, **settings):
    """Evidence of one series."""
    return type(found := of_series(x[None], **settings))(*(each[0] for each in found))


@pytest.mark.parametrize("upward_only", [False, True])
def test_over_all_orders_of_numbers_the_mean_evidence_is_1_after_each_period(upward_only):
    orders = np.array(list(permutations(range(6))), dtype=float)
    evidence = np.exp(of_series(orders, upward_only=upward_only).log_evidence)
    assert evidence.mean(axis=0) == pytest.approx(1, abs=1e-12)
    assert evidence[:, -1].std() > 0.005


def test_ties_never_gain():
    """Ties are broken against the bet: below the mean over all ways to break them, which is 1 for equal numbers."""
    tied = np.exp(of_series(np.array([*set(permutations([0, 0, 0, 1, 1]))], dtype=float)).log_evidence)
    assert (tied.mean(axis=0)[1:] < 1).all()
    assert (np.diff(rank_evidence(np.ones(30)).log_evidence) <= 0).all()


def test_only_ranks_count():
    x = np.random.default_rng(0).normal(size=60)
    assert np.array_equal(rank_evidence(x).log_evidence, rank_evidence(np.exp(3 * x)).log_evidence)
    assert rank_evidence(x).log_evidence == pytest.approx(rank_evidence(-x).log_evidence)
    assert not np.array_equal(rank_evidence(x, upward_only=True).log_evidence, rank_evidence(x).log_evidence)


def test_evidence_of_the_first_periods_does_not_depend_on_later_ones():
    x = np.random.default_rng(1).normal(size=300)
    x[150:] += 2
    whole = rank_evidence(x).log_evidence
    for n in (1, 2, 100, 170):
        assert whole[:n] == pytest.approx(rank_evidence(x[:n]).log_evidence, abs=1e-12)


def test_a_period_without_a_number_changes_nothing():
    x = np.random.default_rng(2).normal(size=50)
    x[30:] += 3
    gaps = np.insert(x, [0, 10, 40], np.nan)
    found = rank_evidence(gaps).log_evidence
    assert found[0] == 0
    assert found[11] == found[10]
    assert found[-1] == pytest.approx(rank_evidence(x).log_evidence[-1], abs=0.5)
    assert np.array_equal(rank_evidence(np.full(5, np.nan)).log_evidence, np.zeros(5))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_change_is_found_and_dated(sign):
    x = np.random.default_rng(3).normal(size=120)
    x[100:] += sign * 3
    found = rank_evidence(x)
    assert found.log_evidence[99] < np.log(20) < found.log_evidence[110]
    assert 97 <= np.argmax(found.log_worth) <= 102
    assert rank_evidence(x, upward_only=True).log_evidence[-1] > np.log(20) or sign < 0


def test_weights_of_gaps_rise_and_are_fair():
    for gaps in (1, 2, 7, 400):
        weights = gap_weights(gaps, True)
        assert weights.mean(axis=1) == pytest.approx(1)
        assert (np.diff(weights, axis=1) > 0).all()
        assert np.array_equal(gap_weights(gaps, False), [*weights, *weights[:, ::-1]])


def test_series_do_not_depend_on_one_another():
    x = np.random.default_rng(5).normal(size=(4, 90))
    x[1, :3], x[2, 50:] = np.nan, x[2, 50:] + 4
    together = of_series(x)
    for at, each in enumerate(x):
        assert np.array_equal(together.log_evidence[at], rank_evidence(each).log_evidence)
        assert np.array_equal(together.log_worth[at], rank_evidence(each).log_worth)
