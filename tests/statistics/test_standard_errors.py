"""Means of dependent rows against statsmodels, 50-digit arithmetic and simulation."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from unperplexed.statistics.intervals import Dependence, holm, simultaneous, uncertain_mean

X = np.array([0.3, -0.2, 0.5, 0.1, -0.4, 0.8, 0.2, -0.1, 0.6, 0.05])
W = np.array([1.0, 2, 1, 3, 1, 1, 2, 1, 1, 2])
GROUPS = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 3])
ONES = np.ones(10)


def small_sample_factor(n, lag):
    """Harvey, Leybourne and Newbold (1997) eq. 9, with the horizon h = lag + 1."""
    h = lag + 1
    return (n + 1 - 2 * h + h * (h - 1) / n) / n


# statsmodels 0.15: OLS and WLS of X on a constant, cov_type "cluster" and "HC1"; and the squared sum of weights of the
# units over the sum of their squares, by hand: of groups of 2, 3, 2 and 3 rows, of rows, and of groups that weigh so.
STATSMODELS = {
    "groups": (ONES, Dependence(GROUPS), 0.08913285963474224, 100 / 26),
    "weights": (W, Dependence(), 0.09095379372292613, 225 / 27),
    "weights and groups": (W, Dependence(GROUPS), 0.07583217337330193, 225 / 59),
}


@pytest.mark.parametrize("case", STATSMODELS)
def test_standard_errors_are_those_of_statsmodels(case):
    w, dependence, error, units = STATSMODELS[case]
    found = uncertain_mean(X, w, dependence)
    assert found.mean == pytest.approx(np.average(X, weights=w), rel=1e-14)
    assert found.standard_error == pytest.approx(error, rel=1e-13)
    assert found.p_value() == pytest.approx(2 * stats.t.sf(found.mean / error, units - 1), rel=1e-12)


# statsmodels 0.15: the same with cov_type "HAC", use_correction=False: the uniform kernel for the lag of 3, where
# Bartlett's gives 0.0600, and Bartlett's for the others, where the uniform one gives a negative variance or the same.
@pytest.mark.parametrize(
    ("w", "lag", "error"),
    [
        (ONES, 0, 0.11226085693597743),
        (ONES, 1, 0.07671538307275795),
        (ONES, 3, 0.09790557),
        (W, 2, 0.04185335952708819),
    ],
)
def test_lagged_standard_errors_are_those_of_statsmodels_but_for_the_small_sample_factor(w, lag, error):
    found = uncertain_mean(X, w, Dependence(lag=lag))
    assert found.standard_error * math.sqrt(small_sample_factor(10, lag)) == pytest.approx(error, rel=1e-7)


@pytest.mark.parametrize("lag", [0, 1, 3, 4])
def test_the_diebold_mariano_test_to_fifty_digits(lag):
    """The statistic as Diebold and Mariano define it, from autocovariances, and Student's tail as a beta function."""
    with mpmath.workdps(50):
        x = [mpmath.mpf(float(value)) for value in X]
        n = len(x)
        mean = mpmath.fsum(x) / n
        covariances = [mpmath.fsum((x[t] - mean) * (x[t - j] - mean) for t in range(j, n)) / n for j in range(lag + 1)]
        kernel = [1 - mpmath.mpf(j) / (lag + 1) for j in range(1, lag + 1)]
        spectrum = covariances[0] + 2 * max(
            mpmath.fsum(covariances[1:]), mpmath.fsum(k * each for k, each in zip(kernel, covariances[1:], strict=True))
        )
        h = lag + 1
        corrected = mean / mpmath.sqrt(spectrum / n) * mpmath.sqrt((n + 1 - 2 * h + mpmath.mpf(h * (h - 1)) / n) / n)
        squares = 1 + 2 * mpmath.fsum(k**2 * (n - j) / mpmath.mpf(n) for j, k in enumerate(kernel, 1))
        degrees = n / squares - 1
        p = mpmath.betainc(degrees / 2, 0.5, 0, degrees / (degrees + corrected**2), regularized=True)
    found = uncertain_mean(X, ONES, Dependence(lag=lag))
    assert found.mean / found.standard_error == pytest.approx(float(corrected), rel=1e-12)
    assert found.p_value() == pytest.approx(float(p), rel=1e-11)


def test_independent_rows_of_equal_weight_are_the_t_test(rng):
    x = rng.normal(0.1, 1, 57)
    found = uncertain_mean(x, np.full(57, 3.0), Dependence())
    expected = stats.ttest_1samp(x, 0)
    interval = expected.confidence_interval(0.9)
    assert found.p_value() == pytest.approx(expected.pvalue, rel=1e-12)
    assert found.mean - found.half_width(0.9) == pytest.approx(interval.low, rel=1e-12)
    assert found.mean + found.half_width(0.9) == pytest.approx(interval.high, rel=1e-12)


def test_groups_of_equal_rows_are_those_rows_once(rng):
    """Rows that only repeat their group say nothing more than it does."""
    x, w = rng.normal(size=40), rng.uniform(0.5, 2, 40)
    once = uncertain_mean(x, w, Dependence())
    again = uncertain_mean(np.repeat(x, 5), np.repeat(w, 5), Dependence(np.repeat(np.arange(40), 5)))
    assert again[:4] == pytest.approx(once[:4], rel=1e-12)


def test_time_has_no_direction_for_a_lag(rng):
    x, w = rng.normal(size=50), rng.uniform(0.5, 2, 50)
    forwards, backwards = uncertain_mean(x, w, Dependence(lag=4)), uncertain_mean(x[::-1], w[::-1], Dependence(lag=4))
    assert backwards[:4] == pytest.approx(forwards[:4], rel=1e-12)


def test_one_row_or_group_tells_nothing():
    for dependence in (Dependence(), Dependence(np.zeros(1, dtype=int))):
        found = uncertain_mean(np.array([0.3]), np.ones(1), dependence)
        assert found.mean == 0.3
        assert math.isnan(found.standard_error)
        assert math.isnan(found.p_value())
        assert math.isnan(found.half_width(0.95))


@pytest.mark.parametrize("value", [0.0, 0.3, 1e9, -2.0])
@pytest.mark.parametrize("dependence", [Dependence(), Dependence(GROUPS), Dependence(lag=2)])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_the_same_in_every_row_tells_nothing_but_the_mean(rng, value, dependence, precision):
    """Rounding makes no variance of it, neither in double precision nor in single."""
    x = (value * (1 + np.finfo(precision).eps * rng.integers(-2, 3, 10))).astype(np.float64)
    found = uncertain_mean(x, W, dependence)
    assert found.mean == pytest.approx(value, rel=1e-6)
    assert found.standard_error == 0
    assert math.isnan(found.p_value())
    assert math.isnan(found.half_width(0.95))


def test_groups_of_the_same_mean_tell_nothing_however_their_rows_vary():
    x = np.array([0.1, 0.7, 0.4, 0.3, 0.5, 0.2, 0.6])
    found = uncertain_mean(x, np.ones(7), Dependence(np.array([0, 0, 1, 2, 2, 3, 3])))
    assert (found.mean, found.standard_error) == (pytest.approx(0.4), 0)
    assert math.isnan(found.p_value())


@pytest.mark.parametrize(
    ("w", "dependence", "judged"),
    [
        (np.array([1.0, 1, 0]) + 1e-9, Dependence(), True),
        (np.array([0.1, 0.1]), Dependence(), True),
        (np.array([1, 0.99]), Dependence(), False),
        (np.array([100, 1, 1, 1, 1.0]), Dependence(), False),
        (np.ones(40), Dependence(np.maximum(np.arange(40) - 30, 0)), False),  # 31 rows in one group: worth 1.65
        (np.ones(40), Dependence(np.arange(40) // 20), True),
        (np.ones(5), Dependence(lag=2), True),
        (np.ones(5), Dependence(lag=4), False),
    ],
)
def test_it_takes_two_independent_units_to_judge(w, dependence, judged):
    x = 1 + 0.01 * np.arange(w.size)
    found = uncertain_mean(x, w, dependence)
    assert math.isfinite(found.p_value()) == math.isfinite(found.half_width(0.95)) == judged


@given(st.integers(2, 300), st.data())
def test_a_longer_lag_leaves_fewer_degrees_of_freedom(n, draw):
    lag = draw.draw(st.integers(1, n - 1))
    worth = [Dependence(lag=each).independent(np.ones(n)) for each in (0, lag - 1, lag)]
    assert worth[0] == pytest.approx(n)
    assert worth[1] > worth[2]


@pytest.mark.parametrize("lag", [1, 5, 20, 40])
def test_a_long_lag_does_not_reject_more_often(rng, lag):
    """60 independent rows of mean 0: of 1000 tests at level .05 about 5 % may reject, with a long lag fewer."""
    tests = (uncertain_mean(rng.normal(size=60), np.ones(60), Dependence(lag=lag)) for _ in range(1000))
    assert sum(found.p_value() < 0.05 for found in tests) <= 75


def test_what_carries_a_variance():
    """Of k equal squares it is k, whatever else there is; groups count as one each."""
    x = np.array([1.0, -1, 1, -1, 0, 0, 0, 0])
    assert uncertain_mean(x, np.ones(8), Dependence()).carried_by == pytest.approx(4)
    assert uncertain_mean(x, np.ones(8), Dependence(np.array([0, 1, 0, 1, 2, 2, 3, 3]))).carried_by == pytest.approx(2)
    assert uncertain_mean(1e-150 * x, np.ones(8), Dependence()).carried_by == math.inf  # not even a float


def test_the_skewness_of_a_mean_is_that_of_its_units_over_the_root_of_their_number():
    """Units are rows or the sums of clusters; with a lag or clusters in two ways it is not estimated."""
    assert uncertain_mean(X, ONES, Dependence()).skewness == pytest.approx(stats.skew(X) / math.sqrt(10))
    sums = np.bincount(GROUPS, X - X.mean())
    expected = (sums**3).sum() / (sums**2).sum() ** 1.5
    assert uncertain_mean(X, ONES, Dependence(GROUPS)).skewness == pytest.approx(expected)
    crossed = Dependence(GROUPS, crossed=np.arange(10) % 2)
    assert {uncertain_mean(X, ONES, each).skewness for each in (crossed, Dependence(lag=2))} == {0.0}


@pytest.mark.parametrize(
    ("x", "mean"),
    [([np.inf, 1.0], np.inf), ([-np.inf, 1.0], -np.inf), ([np.nan, 1.0], np.nan), ([np.inf, -np.inf], np.nan)],
)
def test_infinite_rows_leave_nothing_to_be_sure_of(x, mean):
    found = uncertain_mean(np.array(x), np.ones(2), Dependence())
    assert found.mean == pytest.approx(mean, nan_ok=True)
    assert math.isnan(found.p_value())
    assert math.isnan(found.half_width(0.95))


# Holm's procedure in the English Wikipedia ("Holm-Bonferroni method", Example) rejects the first and the fourth at .05.
# Benjamini and Hochberg (1995) section 4: of their fifteen, three are rejected at .05 with the familywise error kept.
FIFTEEN = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
FIFTEEN += [0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]


def test_holm_adjusts_as_published():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02], rtol=1e-14)
    adjusted = holm(np.array(FIFTEEN))
    assert (adjusted < 0.05).sum() == 3
    # statsmodels 0.15, multipletests(method="holm")
    expected = [0.0015, 0.0056, 0.0247, 0.114, 0.2211, 0.278, 0.278, 0.278, 0.3213, 1, 1, 1, 1, 1, 1]
    np.testing.assert_allclose(adjusted, expected, rtol=1e-12)


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=8))
def test_laws_of_adjusted_p_values(values):
    p = np.array(values, dtype=np.float64)
    adjusted, tests = holm(p), p[~np.isnan(p)]
    assert (np.isnan(adjusted) == np.isnan(p)).all()
    assert (adjusted[~np.isnan(p)] >= tests).all()
    assert (adjusted[~np.isnan(p)] <= np.minimum(1, tests.size * tests) + 1e-15).all()  # never worse than Bonferroni
    order = np.argsort(p, kind="stable")[: tests.size]
    assert (np.diff(adjusted[order]) >= 0).all()
    np.testing.assert_array_equal(holm(p[::-1])[::-1], adjusted)


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=8), st.sampled_from([0.9, 0.95, 0.99]))
def test_simultaneous_intervals_decide_as_adjusted_p_values_do(values, confidence):
    p = np.array(values, dtype=np.float64)
    adjusted, level = simultaneous(p, confidence)
    tests = max(int((~np.isnan(p)).sum()), 1)
    assert 1 - level == pytest.approx((1 - confidence) / tests)
    assert (np.isnan(adjusted) == np.isnan(p)).all()
    apart = np.abs(p - (1 - level)) > 1e-12
    np.testing.assert_array_equal((adjusted < 1 - confidence)[apart], (p < 1 - level)[apart])


def test_simultaneous_intervals_of_correlated_means_hold_together(rng):
    """All six differences of four means: all intervals hold in 95% of the samples or a little more."""
    held, alone = [], []
    for _ in range(1500):
        x = rng.normal(size=(40, 4))
        found = [uncertain_mean(x[:, a] - x[:, b], np.ones(40), Dependence()) for a in range(4) for b in range(a)]
        _, level = simultaneous(np.array([each.p_value() for each in found]), 0.95)
        held.append(all(abs(each.mean) <= each.half_width(level) for each in found))
        alone.append(all(abs(each.mean) <= each.half_width(0.95) for each in found))
    assert 0.945 < np.mean(held) < 0.975
    assert np.mean(alone) < 0.85


def autocorrelated(rng, n, rho):
    noise = rng.normal(size=n)
    x = np.empty(n)
    x[0] = noise[0] / math.sqrt(1 - rho * rho)
    for t in range(1, n):
        x[t] = rho * x[t - 1] + noise[t]
    return x


@pytest.mark.slow
def test_a_lag_keeps_the_level_where_rows_follow_one_another(rng):
    """AR(1) with rho = 0.5, 400 rows, a mean of 0: of 1000 tests at level .05 about 5 % may reject."""
    rejected = {0: 0, 20: 0}
    for _ in range(1000):
        x = autocorrelated(rng, 400, 0.5)
        for lag in rejected:
            rejected[lag] += uncertain_mean(x, np.ones(400), Dependence(lag=lag)).p_value() < 0.05
    assert rejected[0] > 200
    assert 30 <= rejected[20] <= 85


def test_groups_keep_the_level_where_their_rows_move_together(rng):
    """40 groups of ten rows, half of whose variance is the group's: of 1000 tests at level .05 about 5 % may reject."""
    groups = np.repeat(np.arange(40), 10)
    rejected = {"rows": 0, "groups": 0}
    for _ in range(1000):
        x = rng.normal(size=40)[groups] + rng.normal(size=400)
        rejected["rows"] += uncertain_mean(x, np.ones(400), Dependence()).p_value() < 0.05
        rejected["groups"] += uncertain_mean(x, np.ones(400), Dependence(groups)).p_value() < 0.05
    assert rejected["rows"] > 200
    assert 30 <= rejected["groups"] <= 75
