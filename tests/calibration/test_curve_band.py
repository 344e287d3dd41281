"""The band of a curve of which nothing is assumed but that it never falls."""

import numpy as np
import pytest
from scipy.optimize import minimize

from unperplexed.calibration.curve_band import rising_band
from unperplexed.kernels.curves import isotonic_means

REACH = 1.959964
LIMIT = 1.1 * REACH**2


def counts(rng, k, rows=8):
    total = rng.integers(1, rows, k).astype(float)
    return rng.binomial(total.astype(int), np.sort(rng.random(k))).astype(float), total


def log_likelihood(happened, total, curve):
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = (
            np.where(happened > 0, happened * np.log(curve), 0),
            np.where(total > happened, (total - happened) * np.log1p(-curve), 0),
        )
    return sum(x.sum() for x in terms)


def constrained(happened, total, at, value):
    """Best rising curve with a value at one place, by a general minimiser over increments of the log-odds."""
    k = len(total)

    def curve(x):
        steps = np.exp(np.clip(x, -30, 5))
        odds = np.full(k, np.log(value / (1 - value)))
        odds[at + 1 :] += np.cumsum(steps[at:])
        odds[:at] -= np.cumsum(steps[:at][::-1])[::-1]
        return 1 / (1 + np.exp(-odds))

    tries = [
        minimize(lambda x: -log_likelihood(happened, total, np.clip(curve(x), 1e-12, 1 - 1e-12)), start, method="BFGS")
        for start in (np.full(k - 1, -1.0), np.full(k - 1, -3.0), np.full(k - 1, 0.5))
    ]
    return -min(each.fun for each in tries)


@pytest.mark.parametrize("seed", range(3))
def test_at_its_ends_the_likelihood_ratio_is_at_its_limit(seed):
    """Against a minimiser that knows nothing of pooling."""
    happened, total = counts(np.random.default_rng([65, seed]), 6)
    low, high = rising_band(happened, total, REACH)
    best = log_likelihood(happened, total, isotonic_means(happened / total, total))
    for at in (0, 2, 5):
        for end in (low[at], high[at]):
            if 0.001 < end < 0.999:
                assert 2 * (best - constrained(happened, total, at, end)) == pytest.approx(LIMIT, abs=0.02)


def test_one_entry_has_the_interval_of_a_share():
    low, high = rising_band(np.array([30.0]), np.array([100.0]), REACH)
    for end in (low[0], high[0]):
        ratio = log_likelihood(30, 100, np.array(0.3)) - log_likelihood(30, 100, np.array(end))
        assert 2 * ratio == pytest.approx(LIMIT, abs=1e-6)
    assert rising_band(np.array([0.0]), np.array([9.0]), REACH)[0][0] == 0
    assert rising_band(np.array([9.0]), np.array([9.0]), REACH)[1][0] == 1


@pytest.mark.parametrize("seed", range(5))
def test_it_holds_the_curve_never_falls_and_mirrors(seed):
    rng = np.random.default_rng([66, seed])
    happened, total = counts(rng, 200)
    low, high = rising_band(happened, total, REACH)
    curve = isotonic_means(happened / total, total)
    assert ((low <= curve) & (curve <= high)).all()
    for limits in (low, high):
        assert (np.diff(limits) > -1e-8).all()
    other_low, other_high = rising_band((total - happened)[::-1], total[::-1], REACH)
    np.testing.assert_allclose(1 - other_high[::-1], low, atol=1e-7)
    np.testing.assert_allclose(1 - other_low[::-1], high, atol=1e-7)
    narrower = rising_band(happened, total, 1.0)
    assert (narrower[0] >= low).all()
    assert (narrower[1] <= high).all()


@pytest.mark.slow
def test_it_covers_a_jump_beside_it_and_a_level_stretch():
    """Of 60 samples; the band of a smooth curve covered the side of a jump in none."""
    odds = np.sort(np.random.default_rng(67).normal(0, 2, 1000))
    true = np.array([0.02, 0.2, 0.35, 0.8, 0.9])[np.digitize(odds, [-2.5, -1.0, 0.5, 2.0])]
    inside = np.zeros(1000)
    for run in range(60):
        y = (np.random.default_rng([67, run]).random(1000) < true).astype(float)
        low, high = rising_band(y, np.ones(1000), REACH)
        inside += (low <= true + 1e-9) & (true <= high + 1e-9)
    covered = inside / 60
    assert covered.mean() > 0.95
    assert np.quantile(covered, 0.1) > 0.9
    assert covered[np.abs(odds + 2.5) < 0.1].mean() > 0.85  # beside a jump
