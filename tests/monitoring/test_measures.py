"""Numbers of periods without a change are exchangeable, whatever their numbers of predictions."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from unperplexed.monitoring.event_counts import EventCounts
from unperplexed.monitoring.measures import MEASURE_WEIGHTS, as_of_first_size, measured
from unperplexed.statistics.rank_evidence import rank_evidence

LOG_ODDS = np.linspace(-8, 8, 65)
SHARES = np.exp(-(LOG_ODDS**2) / 8) / np.exp(-(LOG_ODDS**2) / 8).sum()
FALL, RISE = [500] * 60 + [50] * 60, [50] * 60 + [500] * 60


def periods(rng, rows, shock=0.0):
    drawn = zip(rng.multinomial(rows, SHARES), shock * rng.normal(size=len(rows)), strict=True)
    return [EventCounts(expit(LOG_ODDS + by)[k > 0], k[k > 0] * 1.0, np.array([])) for k, by in drawn]


def test_numbers_of_equal_periods_stay_as_they_are(rng):
    x = rng.normal(size=50)
    assert np.array_equal(as_of_first_size(x, np.ones(50), np.full(50, 9.0)), x)
    sizes = np.where(np.arange(50) == 30, 5.0, 9.0)
    other = as_of_first_size(x, np.ones(50), sizes)
    assert np.flatnonzero(other != x).tolist() == [30]


@pytest.mark.parametrize("beyond", [0, 0.01, 1])
@pytest.mark.parametrize("sizes", [FALL, RISE])
def test_periods_of_other_size_vary_as_the_first_ones_do(rng, sizes, beyond):
    rows = np.array(sizes, dtype=float)
    x = rng.normal(3, np.sqrt(beyond + 1 / rows), size=(60, rows.size))
    found = np.array([as_of_first_size(each, np.ones(rows.size), rows) for each in x])
    assert found[:, 70:].std() / found[:, :60].std() == pytest.approx(1, abs=0.08)
    assert found[:, 70:].mean() == pytest.approx(3, abs=4 * found[:, 70:].std() / np.sqrt(found[:, 70:].size / 5))


def test_what_is_measured_does_not_depend_on_later_periods(rng):
    series = periods(rng, RISE)
    assert np.array_equal(measured(series)[:, :70], measured(series[:70]), equal_nan=True)


@pytest.mark.parametrize("shock", [0, pytest.param(0.3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sizes", [FALL, RISE])
def test_periods_of_other_size_raise_no_false_alarms(sizes, shock):
    """Without regard to sizes 14 to 25 of 100 such runs do."""
    rng = np.random.default_rng(1)
    values = np.array([measured(periods(rng, sizes, shock)) for _ in range(24)])
    evidence = [rank_evidence(values[:, at], upward_only=at == 2).log_evidence for at in range(3)]
    together = logsumexp(np.array(evidence) + np.log(MEASURE_WEIGHTS)[:, None, None], axis=0)
    assert (together.max(axis=1) >= np.log(20)).sum() <= 3
