import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import expit

from unperplexed import (
    InputError,
    assess,
    decisiveness,
    floor_sensitivity,
    geometric_accuracy,
    risk_profile,
    robustness,
)
from unperplexed.scores import log_loss
from unperplexed.statistics import generalized_mean
from unperplexed.statistics.means import DEFAULT_ORDERS, ROBUST, t_quantile, unskewed


def test_named_means(rng):
    p = rng.uniform(0.01, 1, 100)
    y = rng.integers(0, 2, 100)
    correct = np.where(y == 1, p, 1 - p)
    for function, order in ((decisiveness, 1), (geometric_accuracy, 0), (robustness, -2 / 3)):
        for floor in (0.0, 0.005, 0.3):
            expected = generalized_mean(correct, order, floor=floor)
            assert function(y, p, floor=floor) == pytest.approx(expected, rel=1e-14)
    assert geometric_accuracy(y, p, floor=0) == pytest.approx(np.exp(-log_loss(y, p)), rel=1e-14)


def test_rows_and_assessment_agree(rng):
    p = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(0, 4, 300)
    w = rng.exponential(size=300)
    result = assess(y, p, sample_weight=w)
    assert decisiveness(y, p, sample_weight=w) == pytest.approx(result.reported.decisiveness, rel=1e-13)
    np.testing.assert_allclose(risk_profile(y, p, sample_weight=w).values, result.profile.values, rtol=1e-12)
    np.testing.assert_allclose(
        risk_profile(y, p, sample_weight=w).standard_errors, result.profile.standard_errors, rtol=1e-9
    )
    at = {float(r): v for r, v in zip(result.profile.orders, result.profile.values, strict=True)}
    assert (at[-2 / 3], at[0.0], at[1.0]) == (
        result.reported.robustness,
        result.reported.geometric_accuracy,
        result.reported.decisiveness,
    )


@pytest.mark.parametrize("n", [1, 2, 50, 4000])
@pytest.mark.parametrize("floor", [0.0, 0.005])
def test_orders_do_not_touch_one_another(rng, n, floor):
    """Taken all at once, some at once or one by one, a zero among them or not."""
    p, w = rng.uniform(size=n), rng.uniform(0.5, 2, n)
    p[0] = 0.0
    orders = [-np.inf, -3, -2 / 3, -1e-9, 0, 1e-300, 1e-9, 0.5, 1, 3, np.inf]
    together = risk_profile(np.ones(n, dtype=int), p, sample_weight=w, orders=orders, floor=floor)
    for at, r in enumerate(orders):
        alone = risk_profile(np.ones(n, dtype=int), p, sample_weight=w, orders=[r], floor=floor)
        assert together.values[at] == pytest.approx(alone.values[0], rel=1e-13)
        assert together.values[at] == pytest.approx(generalized_mean(p, r, w, floor), rel=1e-13)
        for name in ("standard_errors", "degrees_of_freedom"):
            assert getattr(together, name)[at] == pytest.approx(getattr(alone, name)[0], rel=1e-10, nan_ok=True)


@pytest.mark.slow
def test_standard_errors_are_those_of_repeated_sampling():
    """Delta-method errors against the spread of the mean over 1500 samples of 500 probabilities."""
    rng = np.random.default_rng(1)
    orders = np.array([-1.0, -2 / 3, 0.0, 1e-6, 1.0, 2.5])
    samples = rng.beta(4, 2, (1500, 500))
    means = [[generalized_mean(p, r) for r in orders] for p in samples]
    profiles = [risk_profile(np.ones(500, dtype=int), p, orders=orders, floor=0) for p in samples[:50]]
    errors = np.mean([profile.standard_errors for profile in profiles], axis=0)
    assert errors == pytest.approx(np.std(means, axis=0), rel=0.08)


@pytest.mark.slow
def test_coverage_of_intervals():
    """Uniform p, r = -2/3, n = 400: intervals on the log scale cover 77 % at floor 0, corrected ones about 90 %."""
    rng = np.random.default_rng(2)
    for floor, target in ((0.0, 1 / 3.0 ** (3 / 2)), (0.005, None)):
        exact = target if target else (0.005 ** (1 / 3) + 3 * (1 - 0.005 ** (1 / 3))) ** -1.5
        covered = 0
        for _ in range(200):
            profile = risk_profile(np.ones(400, dtype=int), rng.uniform(size=400), orders=[-2 / 3, 1], floor=floor)
            low, high = profile.interval()
            covered += low[0] <= exact <= high[0]
        assert covered / 200 > (0.9 if floor == 0 else 0.95) - 0.05


def test_skewed_means_have_longer_intervals_on_the_side_of_the_tail(rng):
    """Hall's cubic takes the limits back; orders above 0 have the log scale's; through 0 the limits are continuous."""
    z, b = np.linspace(-4, 4, 41), np.array([[-0.8], [-1e-3], [0.0], [0.3], [1.5]])
    t = unskewed(z, b)
    assert t + b * t**2 / 3 + b**2 * t**3 / 27 + b / 6 == pytest.approx(np.broadcast_to(z, t.shape), abs=1e-9)
    assert (np.diff(t, axis=1) > 0).all()
    p = rng.beta(3, 1, 200)
    profile = risk_profile(np.ones(200, dtype=int), p, orders=[1, 0, -1e-9, -2 / 3, -0.5])
    reach = t_quantile(0.95, profile.degrees_of_freedom) * profile.standard_errors / profile.values
    below, above = (np.abs(np.log(end / profile.values)) / reach for end in profile.interval())
    assert below[:3] == pytest.approx(np.ones(3), rel=1e-6)
    assert above == pytest.approx(np.ones(5), rel=1e-6)
    assert (below[3:] > 1.05).all()


def test_standard_errors_are_continuous_through_order_0(rng):
    p = rng.beta(3, 2, 300)
    orders = [0.0, 1e-300, 1e-18, -1e-15, 1e-12, -1e-9, 1e-6, -1e-4]
    errors = risk_profile(np.ones(300, dtype=int), p, orders=orders).standard_errors
    assert errors == pytest.approx(np.full(8, errors[0]), rel=1e-3)
    assert errors[1:4] == pytest.approx(np.full(3, errors[0]), rel=1e-6)


def test_weights_of_any_scale(rng):
    p = rng.uniform(0.1, 1, 200)
    expected = risk_profile(np.ones(200, dtype=int), p)
    for scale in (1e-100, 1e-81, 1e78, 1e100):
        profile = risk_profile(np.ones(200, dtype=int), p, sample_weight=np.full(200, scale))
        np.testing.assert_allclose(profile.standard_errors, expected.standard_errors, rtol=1e-9)
        assert (profile.few_rows == expected.few_rows).all()


@pytest.mark.slow
def test_no_interval_where_the_rows_that_decide_are_hardly_expected(rng):
    """Two rows' worth, by the predictions alone: whether they occurred says nothing of how often they do."""
    assert (risk_profile([1], [0.8]).few_rows == (DEFAULT_ORDERS < ROBUST)).all()
    assert not risk_profile(np.ones(50, dtype=int), np.full(50, 0.8)).few_rows.any()
    p = expit(rng.normal(0, 2, 60_000))
    y = rng.random(p.size) < p
    lowest = []
    for n in (200, 2_000, 60_000):
        profile = risk_profile(y[:n], p[:n])
        assert (np.diff(profile.few_rows.astype(int)) <= 0).all()
        for limit in profile.interval():
            assert (np.isnan(limit) == profile.few_rows).all()
        assert (risk_profile(rng.permutation(y[:n]), p[:n]).few_rows == profile.few_rows).all()
        lowest.append(profile.orders[~profile.few_rows][0])
    assert lowest[0] > -0.75 > lowest[1] > -1.2
    assert lowest[2] == -3
    together = assess(y[:20_000], p[:20_000], clusters=np.arange(20_000) // 100, resamples=0).profile
    assert together.few_rows.sum() >= risk_profile(y[:20_000], p[:20_000]).few_rows.sum()


def test_weights_of_sandwich_errors(rng):
    p = rng.uniform(0.1, 1, 200)
    y = np.ones(200, dtype=int)
    a = risk_profile(y, p, sample_weight=np.full(200, 7.0), orders=[-1, 0, 1])
    b = risk_profile(y, p, orders=[-1, 0, 1])
    np.testing.assert_allclose(a.standard_errors, b.standard_errors, rtol=1e-12)
    assert (a.few_rows == b.few_rows).all()


def test_undefined_errors_are_nan():
    profile = risk_profile([1, 1], [0.0, 0.5], orders=[-1, 0, 1, np.inf, -np.inf], floor=0)
    assert np.isnan(profile.standard_errors).tolist() == [True, True, False, True, True]
    assert profile.values.tolist() == [0, 0, 0.25, 0.5, 0]


def test_floor_sensitivity_is_the_papers_table(rng):
    p = rng.beta(0.5, 0.2, 2000)
    table = floor_sensitivity(np.ones(2000, dtype=int), p)
    assert list(table) == [0.05, 0.01, 0.005, 0.001, 0.0]
    values = [means.robustness for means in table.values()]
    assert values == sorted(values, reverse=True)
    assert table[0.01].geometric_accuracy == geometric_accuracy(np.ones(2000, dtype=int), p, floor=0.01)


def test_the_callers_orders_stay_his():
    orders = np.array([-1.0, 0.0, 1.0])
    profile = risk_profile([1, 0], [0.6, 0.3], orders=orders)
    orders[0] = 5.0
    assert profile.orders[0] == -1.0


def test_nothing_to_average():
    with pytest.raises(InputError, match="no rows"):
        geometric_accuracy([], [])


def test_one_row_that_carries_the_error_is_said_however_small_its_weight():
    """Its ratio to the mean is so large that its fourth power is more than a float can be."""
    p, w = np.append(np.linspace(0.3, 0.9, 40), 1e-250), np.append(np.ones(40), 1e-80)
    found = risk_profile(np.ones(41), p, sample_weight=w, orders=[-2 / 3], floor=0)
    assert found.degrees_of_freedom < 3


def test_means_are_marked_where_the_orders_reach_them_and_named_where_they_differ(rng):
    p = rng.uniform(0.1, 1, 60)
    y = np.ones(60, dtype=int)
    for orders, shown, marks, names in (
        ([-1.0, 0.0, 1.0], p, 3, ["robustness", "geometric accuracy", "decisiveness"]),
        ([0.0, 0.5], p, 1, ["geometric accuracy"]),
        ([-1.0, 1.0], np.full(60, 0.8), 3, []),  # equal probabilities: all names would lie on one another
    ):
        ax = risk_profile(y, shown, orders=orders).plot(Figure().subplots())
        assert [line.get_marker() for line in ax.lines].count("None") == len(ax.lines) - marks
        assert [each.get_text() for each in ax.texts] == names
