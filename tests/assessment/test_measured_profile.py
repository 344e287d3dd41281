"""The measured risk profile and the divergence over the order."""

import math

import numpy as np
import pytest
from scipy.special import expit

from helpers import softmax_forecasts
from unperplexed import Tally, assess
from unperplexed.assessment.assess import assess_tally
from unperplexed.assessment.settings import AssessmentSettings


@pytest.fixture
def rows(rng):
    odds = rng.normal(0, 2, 600)
    return rng.random(600) < expit(odds), expit(1.5 * odds)


@pytest.mark.slow
@pytest.mark.parametrize("view", ["each-class", "all-classes"])
def test_at_the_named_orders_it_is_the_measured_means(rows, view):
    result = assess_tally(Tally.of(*rows), AssessmentSettings(view=view, orders=[-2 / 3, 0, 1]))
    means, profile = result.measured, result.measured_profile
    expected = [means.robustness, means.geometric_accuracy, means.decisiveness]
    np.testing.assert_allclose(profile.values, expected, rtol=1e-12)
    names = ("measured_robustness", "measured_geometric_accuracy", "measured_decisiveness")
    for at, name in enumerate(names):
        assert (profile.low[at], profile.high[at]) == pytest.approx(result.intervals[name], rel=1e-9)
    found = result.divergence_profile
    assert found.values[1] == pytest.approx(math.log(result.divergence_probability), abs=1e-12)
    assert np.exp([found.low[1], found.high[1]]) == pytest.approx(result.intervals["divergence_probability"], rel=1e-9)


@pytest.mark.slow
def test_the_overconfident_claim_more_than_they_bear_out(rows):
    result = assess(*rows, view="each-class")
    found = result.divergence_profile
    assert found.low[found.orders == 3] > 0 > found.values[found.orders == -1]


def test_limits_hold_the_profile_in_groups_and_of_more_classes(rng, rows):
    y, p = softmax_forecasts(rng, 500, 4, temperature=1.5)
    for result in (assess(y, p, resamples=60), assess(*rows, clusters=np.arange(600) // 3, resamples=60)):
        for found, least in ((result.measured_profile, -2 / 3), (result.divergence_profile, 0)):
            some = found.orders >= least  # lower ones have none
            assert (np.isnan(found.low) == ~some).all()
            assert (found.low <= found.values)[some].all()
            assert (found.values <= found.high)[some].all()


def test_infinite_orders_have_values_and_no_limits(rows):
    settings = AssessmentSettings(orders=[-math.inf, 0.5, math.inf])
    found = assess_tally(Tally.of(*rows), settings).measured_profile
    assert np.isfinite(found.values).all()
    assert np.isnan(found.low).tolist() == [True, False, True]


def test_without_draws_or_pairs_of_all_classes_there_are_no_limits(rows):
    assert np.isnan(assess(*rows, resamples=0).measured_profile.low).all()
    assert np.isnan(assess(*rows, view="top-label").measured_profile.values).all()
    assert np.isnan(assess(*rows, view="top-label").divergence_profile.values).all()


@pytest.mark.slow
def test_it_is_in_the_table_and_in_json(rows):
    result = assess(*rows, resamples=60)
    table = result.frame("profile")
    assert table["measured"].to_list() == result.measured_profile.values.tolist()
    assert {"measured_lower", "measured_upper", "divergence", "divergence_lower", "divergence_upper"} <= {
        *table.columns
    }
    assert result.to_dict()["divergence_profile"]["values"] == result.divergence_profile.values.tolist()


def test_it_is_drawn_beside_the_reported_one(rows):
    pytest.importorskip("matplotlib")
    result = assess(*rows, resamples=60)
    labels = [line.get_label() for line in result.profile.plot(measured=result.measured_profile).get_lines()]
    assert "measured" in labels
