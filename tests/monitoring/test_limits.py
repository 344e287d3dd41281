"""Requirements over time: the mean factor of a bet, the scores themselves, and what is refused."""

import math

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

from unperplexed import InputError, Tally, monitor
from unperplexed.monitoring.event_counts import EventCounts, kept
from unperplexed.scores import brier_score, log_loss

LIMIT = math.log(20)


def test_the_mean_evidence_is_one_at_the_limit():
    p, n = 0.3, 5
    expected = -(p * math.log(p) + (1 - p) * math.log(1 - p)) - p / (512 * (1 - p))

    def evidence(k):
        counts = EventCounts(np.array([p]), np.array([float(n)]), np.array([float(k)]))
        return math.exp(kept(f"log_loss < {expected}", ["d"], [counts], 2, LIMIT).log_evidence)

    assert sum(binom.pmf(k, n, p) * evidence(k) for k in range(n + 1)) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("name", ["log_loss", "brier_score"])
def test_calibrated_forecasts_within_a_cell_gain_no_evidence(name):
    """At the mean loss of two predictions at the ends of a cell the expected evidence of one row is at most 1."""
    loss = {"log_loss": lambda p: -math.log(p), "brier_score": lambda p: 2 * (1 - p) ** 2}[name]
    for low in (1 / 16, 1 / 4, 7 / 16):
        high, share = low + 2.0 ** math.floor(math.log2(low)) / 8, 0.5
        ends = {low: share, high: 1 - share}
        limit = sum(w * (p * loss(p) + (1 - p) * loss(1 - p)) for p, w in ends.items())
        mean = sum(w * p for p, w in ends.items())
        evidence = [
            math.exp(kept(f"{name} < {limit!r}", ["d"], [counts_of(mean, y)], 2, LIMIT).log_evidence) for y in (0, 1)
        ]
        assert (1 - mean) * evidence[0] + mean * evidence[1] <= 1


def counts_of(p, y):
    return EventCounts(np.array([p]), np.ones(1), np.array([float(y)]))


def test_values_are_the_mean_scores_of_the_rows():
    rng = np.random.default_rng(0)
    p = rng.choice([0.0, 0.1, 0.25, 0.5, 0.8], 500)
    y = (rng.random(500) < p).astype(int)
    found = monitor({"d": Tally.of(y, p)}, require=["log_loss < 9", "brier_score < 9", "accuracy > 0.01"]).kept
    right = np.where(p == 0.5, 0.5, (p > 0.5) == y).mean()
    assert [each.value for each in found] == pytest.approx([log_loss(y, p), brier_score(y, p), right])
    assert all(each.passed for each in found)


def test_a_score_beyond_its_limit_fails_and_says_when():
    rng, days = np.random.default_rng(1), {}
    for at in range(12):
        s = rng.normal(0, 1, 300)
        days[f"d{at}"] = Tally.of(rng.random(300) < expit(s), expit(s))
    found = monitor(days, require=["log_loss < 0.5", "accuracy > 0.9"])
    assert not found
    assert found.alarm is None
    assert all(each.failed in days and not each.passed for each in found.kept)
    assert "Failed: log_loss < 0.5, accuracy > 0.9" in str(found)


def test_a_wrong_prediction_of_zero_fails_a_log_loss_at_once():
    found = monitor({"d": Tally.of([1, 0], [0.0, 0.1])}, require=["log_loss < 5", "brier_score < 1.9"])
    assert [each.passed for each in found.kept] == [False, True]


@pytest.mark.parametrize("text", ["auc > 0.5", "log_loss.upper < 1", "log_loss > 1", "brier_score < 0", "accuracy > 1"])
def test_requirements_that_cannot_be_tested_over_time_are_refused(text):
    with pytest.raises(InputError, match="--require"):
        monitor({"d": Tally.of([1, 0], [0.5, 0.5])}, require=[text])


def test_the_accuracy_of_several_classes_is_that_of_the_most_probable_one():
    p = np.array([[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.5, 0.4, 0.1]])
    [found] = monitor({"d": Tally.of([0, 1, 1], p)}, require=["accuracy > 0.5"]).kept
    assert found.value == pytest.approx(2 / 3)
    with pytest.raises(InputError, match="for more than two classes"):
        monitor({"d": Tally.of([0, 1, 1], p)}, require=["log_loss < 1"])


def test_more_periods_than_can_be_searched_are_refused():
    n = 5_001
    with pytest.raises(InputError, match="5,001 periods, more than 5,000. Name longer ones"):
        monitor(np.arange(n) % 2, np.full(n, 0.5), time=np.arange(n))
