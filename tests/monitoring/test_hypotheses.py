"""Factors of evidence: their mean over all outcomes, and what they add up to."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from unperplexed.monitoring.event_counts import EventCounts
from unperplexed.monitoring.hypotheses import (
    DATING_WEIGHTS,
    PERIOD_WEIGHTS,
    ROW_WEIGHTS,
    fewest_periods,
    period_factors,
    row_factors,
)
from unperplexed.tally.tables import Pairs


def counts(p, total, positive):
    return EventCounts(*(np.asarray(column, dtype=float) for column in (p, total, positive)))


def test_there_are_sixty_four_maps_whose_shares_add_up_to_one():
    assert ROW_WEIGHTS.size == 64
    assert ROW_WEIGHTS.sum() == pytest.approx(1)
    assert PERIOD_WEIGHTS.size == 84
    assert PERIOD_WEIGHTS.sum() == pytest.approx(1)
    assert DATING_WEIGHTS.sum() == pytest.approx(1)


@pytest.mark.parametrize("p", [1e-6, 0.2, 0.5, 0.97])
def test_the_mean_factor_over_all_outcomes_is_one(p):
    n = 6
    mean = sum(binom.pmf(k, n, p) * np.exp(row_factors(counts([p], [n], [k]))) for k in range(n + 1))
    assert mean == pytest.approx(np.ones(64), abs=1e-9)


@pytest.mark.parametrize("p", [1e-320, 1e-300, 1 - 1e-16])
def test_predictions_next_to_0_and_1_have_factors(p):
    assert np.isfinite(row_factors(counts([p, 0.5], [1, 1], [1, 0]))).all()


def test_in_a_cell_of_several_predictions_it_is_at_most_one():
    predicted = np.array([0.1, 0.35, 0.6])
    mean = np.zeros(64)
    for outcomes in product((0, 1), repeat=3):
        chance = np.prod(np.where(outcomes, predicted, 1 - predicted))
        mean += chance * np.exp(row_factors(counts([predicted.mean()], [3], [sum(outcomes)])))
    assert (mean <= 1 + 1e-12).all()
    assert mean.min() > 0.5


def test_factors_of_parts_add_up():
    a, b = counts([0.2, 0.7], [5, 3], [2, 2]), counts([0.4], [9], [1])
    assert row_factors(EventCounts.together([a, b])) == pytest.approx(row_factors(a) + row_factors(b))


def test_what_is_predicted_too_low_is_evidence_for_a_bias_upwards():
    factors = row_factors(counts([0.2], [100], [40]))
    assert factors[0::2][:6].max() > 5  # biases upwards come first, each beside the one downwards
    assert factors[1::2][:6].max() < 0


def test_cells_keep_means_and_put_certain_predictions_apart():
    p = np.array([0, 0.0301, 0.0302, 0.5, 1, 1])
    found = EventCounts.of(Pairs(p, np.array([1.0, 0, 1, 1, 1, 0]), np.ones(6)))
    assert found.total.sum() == 3
    assert found.p @ found.total == pytest.approx(p[1:4].sum())
    assert (found.certain, found.certain_and_wrong) == (3, 2)
    assert found.rows == 6


def test_factors_of_periods_are_symmetric():
    rng = np.random.default_rng(0)
    s = np.array([-1.5, 0, 1.5])
    n = np.full(3, 40.0)
    up = [counts(expit(s), n, rng.binomial(40, expit(s + 0.3))) for _ in range(30)]
    down = [counts(expit(-s)[::-1], n, (n - each.positive)[::-1]) for each in up]
    found, mirrored = period_factors(up), period_factors(down)
    # A bias and an asymmetry change their sign with the classes, confidence and tails do not.
    assert mirrored[:, 0:14:2] == pytest.approx(found[:, 1:14:2])
    assert found[:, :14].sum() < 0 < found[-1, :14].max()


def test_one_large_shock_is_little_evidence():
    calm, shock = counts([0.5], [100], [50]), counts([0.5], [100], [90])
    alone = period_factors([calm] * 10 + [shock] + [calm] * 10)
    assert row_factors(shock).max() > 20
    assert alone.max() < 1


def test_maps_are_as_many_upwards_as_downwards():
    """Of mirrored forecasts and outcomes the factors are those of the mirrored maps, which are maps as well."""
    p, total, positive = np.array([0.1, 0.4, 0.8]), np.array([5.0, 3.0, 7.0]), np.array([1.0, 1.0, 4.0])
    one, other = row_factors(counts(p, total, positive)), row_factors(counts(1 - p, total, total - positive))
    assert np.sort(one) == pytest.approx(np.sort(other))
    assert one != pytest.approx(other)


@pytest.mark.parametrize("p", [0.2, 0.9])
def test_a_lapse_mixes_predictions_with_even_odds(p):
    found = row_factors(counts([p], [1], [1]))[-4:]
    assert found == pytest.approx(np.log([(1 - lapse + lapse / (2 * p)) for lapse in (0.01, 0.03, 0.1, 0.3)]))


def test_an_alarm_by_whole_periods_takes_two_or_three_of_them_for_each_nat():
    """But for the first ones; whatever the limit, and in each of several phases."""
    needed = [fewest_periods(limit, 1) for limit in (3, 6, 12, 24)]
    assert np.diff(needed) / np.diff([3, 6, 12, 24]) == pytest.approx(2.5, abs=0.5)
    assert fewest_periods(3, 4) - 1 == 4 * (needed[0] - 1)
