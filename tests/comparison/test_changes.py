"""Changes of mean scores from earlier forecasts."""

import numpy as np
import pytest
from scipy.stats import skew, ttest_ind

from unperplexed import InputError, assess, compare
from unperplexed.comparison.sequential import changes_of_pairs, changes_of_samples

Y = np.tile([1, 0, 1, 1], 20)
P = np.linspace(0.2, 0.9, 80)


def loss(y, p):
    return -np.log(np.where(y == 1, p, 1 - p))


def test_the_change_between_two_samples_has_the_interval_of_welch():
    now, before = (Y[:50], P[:50]), (Y[50:], P[50:])
    found = changes_of_samples(assess(*now, confidence=0.9, resamples=0), assess(*before, resamples=0))
    welch = ttest_ind(loss(*now), loss(*before), equal_var=False).confidence_interval(0.9)
    change = found["change.log_loss"]
    assert change.value == pytest.approx(loss(*now).mean() - loss(*before).mean(), rel=1e-9)
    assert tuple(change.interval) == pytest.approx(tuple(welch), rel=1e-9)


def test_two_samples_are_as_precise_as_so_many_rows_and_pairs_as_their_clusters():
    """Two samples alike: 1/N is 1/n + 1/m. Clusters: their number, all of a size."""
    now, before = (assess(np.tile(Y, k), np.tile(P, k), resamples=0) for k in (3, 5))
    spread = changes_of_samples(now, before)["change.brier_score"].spread
    assert (spread.units, spread.prior_units) == (pytest.approx(1 / (1 / 240 + 1 / 400), rel=0.01), 1000)
    forecasts = {"now": P, "before": P[::-1]}
    for groups, expected in ((None, (79, 80, 1000)), (np.arange(80) // 4, (19, 20, 20))):
        change = changes_of_pairs(compare(Y, forecasts, clusters=groups), "now")["change.log_loss"]
        assert change.spread[1:4] == expected
    same = changes_of_pairs(compare(Y, {"now": P, "before": P}), "now")["change.log_loss"]
    assert same.spread is None


def test_changes_are_of_the_same_classes():
    now, other = assess([0, 1], [0.2, 0.7], resamples=0), assess(["a", "b"], [0.2, 0.7], labels=["a", "b"], resamples=0)
    with pytest.raises(InputError, match="forecasts of the same classes"):
        changes_of_samples(now, other)


def test_the_change_between_two_forecasters_is_now_minus_before():
    compared = compare(Y, {"now": P, "before": P[::-1]})
    expected = loss(Y, P).mean() - loss(Y, P[::-1]).mean()
    for name, sign in (("now", 1), ("before", -1)):
        change = changes_of_pairs(compared, name)["change.log_loss"]
        assert change.value == pytest.approx(sign * expected, rel=1e-9)
        assert change.interval.low < change.value < change.interval.high
        g = skew(loss(Y, P) - loss(Y, P[::-1])) / np.sqrt(Y.size)
        assert change.spread.skewness == pytest.approx(sign * g, rel=1e-9)
    with pytest.raises(InputError, match="one of them 'later', got now, before"):
        changes_of_pairs(compared, "later")
