"""Rows that depend on one another in two ways, or along the order of each unit: laws of the standard errors."""

import numpy as np
import pytest
from scipy.signal import lfilter

from unperplexed import InputError, compare, skill
from unperplexed.statistics.intervals import Dependence, uncertain_mean

UNITS, TIMES = 8, 15
N = UNITS * TIMES
STATION, DATE = np.repeat(np.arange(UNITS), TIMES), np.tile(np.arange(TIMES), UNITS)


@pytest.fixture
def x(rng):
    effects = rng.normal(size=UNITS)[STATION] + 2 * rng.normal(size=TIMES)[DATE]
    return effects + rng.normal(size=N)


@pytest.fixture
def forecasts(rng):
    y = rng.integers(2, size=N)
    p = np.clip(0.3 + 0.4 * y + 0.2 * rng.normal(size=N), 0.05, 0.95)
    return y, {"a": p, "b": np.clip(p + 0.1 * rng.normal(size=N), 0.05, 0.95)}


def error(x, w=None, **dependence):
    return uncertain_mean(x, np.ones(x.size) if w is None else w, Dependence(**dependence)).standard_error


def test_two_ways_are_the_sum_over_pairs_of_rows_that_share_either(x, rng):
    w = rng.integers(1, 4, N).astype(float)
    u = w / w.sum() * (x - np.average(x, weights=w))
    station, date = (each[:, None] == each for each in (STATION, DATE))
    product = np.outer(u, u)
    factors = [n / (n - 1) for n in (UNITS, TIMES, N)]
    each = [(product * shared).sum() for shared in (station, date, station & date)]
    signs = np.array([1, 1, -1])
    variance = error(x, w, clusters=STATION, crossed=DATE) ** 2
    assert variance == pytest.approx((signs * factors) @ each)
    # Without the factors of few groups this is one sum over all pairs.
    assert signs @ each == pytest.approx((product * (station | date)).sum())
    assert uncertain_mean(x, np.ones(N), Dependence(STATION, crossed=DATE)).degrees == UNITS - 1


def test_a_way_within_the_other_adds_nothing(x):
    region = STATION // 2
    wider = max(error(x, clusters=region), error(x, clusters=STATION))
    assert error(x, clusters=region, crossed=STATION) == pytest.approx(wider)
    assert error(x, clusters=STATION, crossed=DATE) == pytest.approx(error(x, clusters=DATE, crossed=STATION))


def test_two_ways_are_no_smaller_than_one(rng):
    for _ in range(20):
        z = rng.normal(size=N)
        least = max(error(z, clusters=STATION), error(z, clusters=DATE))
        assert error(z, clusters=STATION, crossed=DATE) >= least * (1 - 1e-12)


def test_a_lag_within_series_sums_products_of_rows_of_a_series(x, rng):
    lag = 3
    apart = np.where(STATION[:, None] == STATION, np.abs(DATE[:, None] - DATE), N)
    near, bartlett = apart <= lag, np.maximum(1 - apart / (lag + 1), 0)
    factor = 1 - near.sum() / N**2  # that of Harvey, Leybourne and Newbold, of as many pairs as there are
    for z in (x, x[DATE * UNITS + STATION]):
        u = (z - z.mean()) / N
        expected = max(u @ near @ u, u @ bartlett @ u) / factor
        assert error(z, lag=lag, series=STATION) ** 2 == pytest.approx(expected)
    by_time = np.argsort(DATE, kind="stable")  # as a file has them, the stations of a day together
    assert error(x[by_time], lag=lag, series=STATION[by_time]) == pytest.approx(error(x, lag=lag, series=STATION))
    assert error(x, lag=lag, series=np.zeros(N, int)) == pytest.approx(error(x, lag=lag))


def test_a_lag_within_series_of_one_row_is_none(x):
    found = uncertain_mean(x, np.ones(N), Dependence(lag=5, series=np.arange(N)))
    assert found[:4] == pytest.approx(uncertain_mean(x, np.ones(N), Dependence())[:4])


def test_a_lag_within_series_covers(rng):
    """Of 400 samples of 20 units at 50 times with autocorrelation .6, about 95 % of intervals have 0 (93.3 to 96.7)."""
    units, held = np.repeat(np.arange(20), 50), 0
    noise = rng.normal(size=(400, 20, 50))
    noise[:, :, 0] /= 0.8
    samples = lfilter([1], [1, -0.6], noise).reshape(400, -1)
    for each in samples:
        found = uncertain_mean(each, np.ones(1000), Dependence(lag=10, series=units))
        held += abs(found.mean) <= found.half_width(0.95)
    assert 0.93 <= held / 400 <= 0.97


@pytest.mark.slow
def test_compare_and_skill_take_them_alike(forecasts):
    y, named = forecasts
    of_both = [STATION, DATE]
    for dependence in ({"clusters": of_both}, {"lag": 2, "within": STATION}):
        of_compare = compare(y, named, **dependence).between("a", "b").differences["brier_score"]
        of_skill = skill(y, named, reference="b", **dependence).whole.scores["a"]["brier_score"]
        assert of_compare.p_value == pytest.approx(of_skill.p_value)
    found = compare(y, named, clusters=of_both)
    assert (found.n_clusters, found.n_crossed_clusters) == (UNITS, TIMES)
    assert "8 clusters of dependent rows, 15 the other way" in " ".join(str(found).split())
    in_order = " ".join(str(compare(y, named, lag=2, within=STATION)).split())
    assert "rows dependent up to 2 apart in each of 8 series" in in_order
    alone = compare(y, named, clusters=STATION).pairs[0].differences["log_loss"]
    assert alone == compare(y, named, clusters=[STATION]).pairs[0].differences["log_loss"]
    together = {"station": STATION, "date": DATE}
    assert compare(y, named, clusters=together).n_clusters == compare(y, named, clusters=np.arange(N)).n_clusters == N


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"within": STATION}, "name how many with a lag"),
        ({"clusters": STATION, "lag": 1}, "name these with within"),
        ({"clusters": [STATION, DATE], "lag": 1}, "leave one out"),
        ({"clusters": [STATION, DATE, DATE]}, "one column or two, such as station and date, not 3"),
        ({"clusters": STATION[1:]}, "one for each of the 120 rows, got 119"),
    ],
)
def test_what_is_refused(forecasts, settings, message):
    y, named = forecasts
    with pytest.raises(InputError, match=message):
        compare(y, named, **settings)
