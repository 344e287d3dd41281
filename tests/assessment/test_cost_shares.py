"""Which groups carry the cost of miscalibration: shares, their sum, and how often calibrated groups are named."""

import json
import math
from html import unescape

import numpy as np
import pytest

from unperplexed import assess_by


def forecasts(rng, names, rows, overconfident):
    by = np.repeat(names, rows)
    z = rng.normal(size=by.size)
    y = (rng.uniform(size=by.size) < 1 / (1 + np.exp(-z))).astype(int)
    return y, 1 / (1 + np.exp(-z * np.where(np.isin(by, overconfident), 3, 1))), by


@pytest.fixture(scope="module")
def result():
    y, p, by = forecasts(np.random.default_rng(3), [*"abcdef"], 400, ["b", "e"])
    return assess_by(y, p, by=by, resamples=0)


def test_shares_are_cost_times_rows_and_add_up_to_one(result):
    cost = {group.key: group.cost * group.assessment.n_rows for group in result.groups}
    shares = {key: each.share for key, each in result.cost_shares.items()}
    assert shares == pytest.approx({key: each / sum(cost.values()) for key, each in cost.items()})
    assert sum(shares.values()) == pytest.approx(1)
    assert sum(each.row_share for each in result.cost_shares.values()) == pytest.approx(1)


@pytest.mark.slow
def test_the_overconfident_groups_are_named_and_no_other(result):
    named = {key[0] for key, each in result.cost_shares.items() if each.significant}
    assert named == {"b", "e"}
    text = " ".join(str(result).split())
    assert sum(each.share for each in result.cost_shares.values() if each.significant) == 1  # no other was found wrong
    assert "Two of 6 groups by group carry 100% of the groups' cost, with 33.3% of all rows" in text
    assert "Recalibrate these groups by themselves first" in text
    assert result.drivers in unescape(result.to_html())


def test_json_and_frame_have_the_shares(result):
    plain = json.loads(result.to_json())
    frame = result.frame()
    assert plain["drivers"] == result.drivers
    assert frame["cost_share"].to_list() == [group["cost_share"] for group in plain["groups"]]
    assert frame["adjusted_p_value"].to_list() == [result.cost_shares[g.key].adjusted_p_value for g in result.groups]


@pytest.mark.slow
def test_where_all_groups_are_alike_all_rows_are_to_be_recalibrated(rng):
    y, p, by = forecasts(rng, [*"abc"], 400, [*"abc"])
    found = assess_by(y, p, by=by)
    assert "recalibrate all rows together first" in found.drivers
    assert "No group drives the cost" in assess_by(*forecasts(rng, [*"abc"], 400, [])[:2], by=by).drivers


def test_where_errors_cancel_each_group_is_to_be_recalibrated(rng):
    y, p, by = forecasts(rng, [*"ab"], 600, [])
    biased = 1 / (1 + (1 / p - 1) * np.exp(np.where(by == "a", 1.0, -1.0)))
    text = assess_by(y, biased, by={"site": by}, resamples=0).drivers
    assert text.startswith("All 2 groups by site are miscalibrated")
    assert text.endswith("Their errors differ: recalibrate each group by itself.")


def test_a_small_group_that_carries_most_of_the_cost_has_errors_of_its_own(rng):
    y, p, by = forecasts(rng, [*"abcde"], 400, [*"abcde"])
    y[by == "e"] = rng.random(400) < 0.5  # p says nothing there
    found = assess_by(y, np.clip(np.where(by == "e", np.where(p > 0.5, 0.97, 0.03), p), 0, 1), by=by, resamples=0)
    assert found.drivers.startswith("All 5 groups")
    assert found.cost_shares["e",].share > 0.5
    assert found.drivers.endswith("Their errors differ: recalibrate each group by itself.")


def test_weights_count_as_rows(rng):
    y, p, by = forecasts(rng, [*"abc"], 300, ["a"])
    w = np.where(by == "b", 2.0, 1.0)
    shares = assess_by(y, p, by=by, sample_weight=w).cost_shares
    assert [shares[key,].row_share for key in "abc"] == pytest.approx([0.25, 0.5, 0.25])


def test_without_a_cost_there_are_no_shares(rng):
    y, p, by = forecasts(rng, [*"ab"], 60, [])
    found = assess_by(y, p, by=by)
    assert all(math.isnan(each.share) for each in found.cost_shares.values())
    assert found.drivers.startswith("No group drives the cost")
    alone = assess_by(y[:1], p[:1], by=by[:1])
    assert alone.drivers == ""


@pytest.mark.slow
def test_far_below_five_per_cent_a_calibrated_group_is_not_named_too_often(rng):
    """Of 300 groups of 100 calibrated rows, about 3 may have a p-value below .01."""
    y, p, by = forecasts(rng, np.arange(300), 100, [])
    found = assess_by(y, p, by=by, resamples=0)
    assert sum(group.p_value < 0.01 for group in found.groups) <= 8
