"""Curves of some rows by themselves, and the groups of a reliability diagram."""

import numpy as np
import pytest

from unperplexed import ESTIMATORS, Tally
from unperplexed.assessment.familiar import probability_groups
from unperplexed.describe.assessment_charts import own_curve
from unperplexed.statistics.intervals import wilson
from unperplexed.tally.tables import Pairs


def pairs(n, slope=1.0, seed=0):
    rng = np.random.default_rng(seed)
    odds = rng.normal(0, 1.5, n)
    y = rng.random(n) < 1 / (1 + np.exp(-odds))
    return Tally.of(y.astype(int), 1 / (1 + np.exp(-slope * odds))).positive_pairs()


def test_the_band_covers_the_truth_and_narrows_with_rows():
    """Of calibrated predictions the truth is the identity line."""
    widths = []
    for n in (300, 4000):
        curve = own_curve(pairs(n), ESTIMATORS["shrunk-isotonic"])
        inside = (curve.low <= curve.predicted) & (curve.predicted <= curve.high)
        assert inside.mean() > 0.85
        assert (curve.low <= curve.observed).all()
        assert (curve.observed <= curve.high).all()
        assert (np.diff(curve.predicted) > 0).all()
        widths.append(np.median(curve.high - curve.low))
    assert widths[1] < 0.5 * widths[0]


def test_the_band_shows_overconfidence():
    curve = own_curve(pairs(4000, slope=2.0), ESTIMATORS["shrunk-isotonic"])
    high, low = (abs(curve.predicted - middle) < 0.04 for middle in (0.94, 0.06))  # beyond are few rows a cell
    assert (curve.high[high] < curve.predicted[high]).mean() > 0.8
    assert (curve.low[low] > curve.predicted[low]).mean() > 0.8


def test_without_a_confidence_level_there_is_no_band():
    assert np.isnan(own_curve(pairs(300), ESTIMATORS["isotonic"], confidence=None).low).all()


def test_groups_are_of_about_equal_size_and_add_up():
    found = pairs(1000)
    groups = probability_groups(found, 10)
    assert len(groups) == 10
    assert groups.total.sum() == 1000
    assert abs(groups.total - 100).max() <= 1
    assert groups.total @ groups.observed == pytest.approx(found.happened.sum())
    assert groups.total @ groups.mean == pytest.approx(found.reported @ found.total)
    assert (groups.lowest[1:] > groups.highest[:-1]).all()
    low, high = groups.intervals(1.96)[3]
    assert (low, high) == wilson(groups.observed[3], groups.total[3], 1.96)


def test_equal_predictions_stay_together():
    p = np.array([0.1, 0.2, 0.9])
    groups = probability_groups(Pairs(p, np.array([1.0, 20.0, 4.0]), np.array([5.0, 90.0, 5.0])), 5)
    assert len(groups) == 3
    assert groups.total.tolist() == [5, 90, 5]
    np.testing.assert_allclose(groups.variance, p * (1 - p))
