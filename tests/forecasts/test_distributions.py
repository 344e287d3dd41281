"""Forecasts of a number in all their forms: values, places of outcomes in them, and what is refused."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.special import ndtr

from unperplexed import PIT, Distribution, InputError, Quantiles, Samples

N = 300
LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@pytest.fixture
def sizes(rng):
    return rng.normal(3, 2, N), np.exp(rng.normal(size=N))


def families(at, size):
    """Each family with the same distribution of SciPy."""
    k = np.arange(len(at)) % 5 + 1.0
    return {
        "normal": (Distribution("normal", mean=at, sd=size), stats.norm(at, size)),
        "t": (Distribution("t", df=k, location=at, scale=size), stats.t(k, at, size)),
        "lognormal": (
            Distribution("lognormal", log_mean=at / 3, log_sd=size),
            stats.lognorm(size, scale=np.exp(at / 3)),
        ),
        "gamma": (Distribution("gamma", shape=k, scale=size), stats.gamma(k, scale=size)),
        "gamma by mean": (Distribution("gamma", mean=k, sd=size), stats.gamma((k / size) ** 2, scale=size**2 / k)),
        "coupled-gaussian": (
            Distribution("coupled-gaussian", mean=at, scale=size, coupling=1 / k),
            stats.t(k, at, size),
        ),
        "poisson": (Distribution("poisson", mean=size + 1), stats.poisson(size + 1)),
        "negative-binomial": (
            Distribution("negative-binomial", mean=size + 1, size=k),
            stats.nbinom(k, k / (k + size + 1)),
        ),
    }


NAMES = [*families(np.zeros(1), np.ones(1))]


@pytest.mark.parametrize("name", NAMES)
def test_a_family_is_that_of_scipy(name, sizes, rng):
    ours, theirs = families(*sizes)[name]
    y = theirs.rvs(random_state=rng).astype(float)
    density = theirs.logpmf(y) if ours.discrete else theirs.logpdf(y)
    np.testing.assert_allclose(ours.cdf(y), theirs.cdf(y), rtol=1e-10)
    np.testing.assert_allclose(ours.sf(y), theirs.sf(y), rtol=1e-10)
    np.testing.assert_allclose(ours.logpdf(y), density, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(ours.quantile([0.1, 0.5])[:, 0], theirs.ppf(0.1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_an_object_of_scipy_gives_the_same_rows(name, sizes, rng):
    ours, theirs = families(*sizes)[name]
    y = theirs.rvs(random_state=rng).astype(float)
    one, other = ours.pit_rows(y), Distribution(theirs).pit_rows(y)
    np.testing.assert_allclose(one.low, other.low, atol=1e-8)
    np.testing.assert_allclose(one.high, other.high, atol=1e-8)
    np.testing.assert_allclose(one.information[one.pattern], other.information[other.pattern], atol=1e-5)


def forms(at, size, rng):
    """Each form of the same forecasts, and outcomes drawn from them."""
    law = stats.norm(at, size)
    y = law.rvs(random_state=rng)
    return {
        "family": (Distribution("normal", mean=at, sd=size), y),
        "quantiles": (Quantiles(LEVELS, law.ppf(LEVELS[:, None]).T), y),
        "members": (Samples(law.rvs((19, len(at)), random_state=rng).T), y),
        "counts": (Distribution("poisson", mean=size + 1), rng.poisson(size + 1).astype(float)),
        "zeros": (Distribution("gamma", shape=2.0, scale=size, zero=0.3), drawn_with_zeros(size, rng)),
        "pit": (PIT(law.cdf(y)), y),
    }


def drawn_with_zeros(size, rng):
    return np.where(rng.random(len(size)) < 0.3, 0.0, rng.gamma(2.0, size))


FORMS = [*forms(np.zeros(1), np.ones(1), np.random.default_rng(0))]


@pytest.mark.parametrize("name", FORMS)
def test_outcomes_drawn_from_forecasts_are_uniform_in_them(name, sizes, rng):
    forecast, y = forms(*sizes, rng)[name]
    rows = forecast.pit_rows(y)
    low, high = ndtr(rows.low), ndtr(rows.high)
    assert (low <= high).all()
    assert not rows.impossible.any()
    somewhere = low + (high - low) * rng.random(N)
    assert stats.kstest(somewhere, "uniform").pvalue > 0.001


@pytest.mark.parametrize("name", FORMS)
def test_a_pickle_or_a_copy_is_the_same(name, sizes, rng):
    forecast, y = forms(*sizes, rng)[name]
    for other in (pickle.loads(pickle.dumps(forecast)), copy.copy(forecast), copy.deepcopy(forecast)):
        assert repr(other) == repr(forecast)
        np.testing.assert_array_equal(other.pit_rows(y).low, forecast.pit_rows(y).low)


@pytest.mark.parametrize("name", FORMS)
def test_rows_of_a_part_are_those_of_the_whole(name, sizes, rng):
    forecast, y = forms(*sizes, rng)[name]
    some = np.arange(0, N, 7)
    part, whole = forecast.subset(some).pit_rows(y[some]), forecast.pit_rows(y)
    np.testing.assert_array_equal(part.low, whole.low[some])
    np.testing.assert_allclose(part.information[part.pattern], whole.information[whole.pattern[some]], atol=1e-12)
    assert len(forecast.subset(np.zeros(N, dtype=bool))) == 0


@pytest.mark.parametrize("name", ["family", "quantiles", "members", "counts", "zeros"])
@pytest.mark.parametrize("side", ["above", "below"])
def test_all_beyond_a_limit_is_one_cell(name, side, sizes, rng):
    forecast, y = forms(*sizes, rng)[name]
    limit = np.full(N, 2.0 if name in ("counts", "zeros") else 3.0)
    beyond = y >= limit if side == "above" else y <= limit
    seen = np.minimum(y, limit) if side == "above" else np.maximum(y, limit)
    rows, free = forecast.pit_rows(seen, censored={side: limit}), forecast.pit_rows(y)
    assert np.isinf(rows.high if side == "above" else rows.low)[beyond].all()
    assert ((rows.low <= free.low) & (free.high <= rows.high)).all()
    whole, known = (np.trace(each.information[each.pattern], axis1=1, axis2=2) for each in (free, rows))
    assert (known <= whole + 1e-9).all()
    assert known.mean() < whole.mean()


def test_quantiles_are_linear_in_normal_scores():
    forecast = Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0]])
    at = stats.norm.ppf([0.3, 0.95]) / stats.norm.ppf(0.9)
    assert forecast.quantile([0.3, 0.95])[0] == pytest.approx([2 + at[0], 2 + 2 * at[1]])
    assert forecast.spread()[0] == pytest.approx(np.ptp(forecast.quantile([0.25, 0.75])) / 1.349)


def test_an_outcome_on_quantiles_is_in_all_cells_that_they_bound():
    rows = Quantiles([0.25, 0.5, 0.75], [[1, 2, 2]] * 3).pit_rows([2.0, 1.5, 5.0])
    np.testing.assert_allclose(ndtr(rows.low), [0.25, 0.25, 0.75])
    np.testing.assert_allclose(ndtr(rows.high), [1.0, 0.5, 1.0])


def test_order_of_levels_and_crossings_do_not_matter():
    one, other = Quantiles([0.9, 0.1], [[4, 1], [1, 5]]), Quantiles([0.1, 0.9], [[1, 4], [1, 5]])
    np.testing.assert_array_equal(one.values, other.values)
    assert next(iter(one.notes)) == "quantiles of 1 forecast cross; they were sorted."


def test_members_that_are_no_draws_are_named(rng):
    """Copies and the mean; not members that are dry alike, nor those that a few rows leave equal."""
    draws = rng.gamma(2, 3, (80, 6)).round(1)
    frame = pl.DataFrame(draws, schema=[f"m{k}" for k in range(6)])
    assert Samples(frame).notes == ()
    more = frame.with_columns(copy=pl.col("m2"), mean=pl.mean_horizontal(frame.columns).round(2))
    copied, mean = Samples(more.drop("mean")).notes + Samples(more.drop("copy")).notes
    assert copied == "members: column 'm2' and column 'copy' are equal in all rows. Leave one of them out."
    assert mean.startswith("members: column 'mean' is the mean of the others. Leave it out")
    assert "column 2 and column 6 are equal" in Samples(more.drop("mean").to_numpy()).notes[0]
    dry = np.where(np.arange(80)[:, None] < 4, draws, 0.0)
    assert not any("equal" in said for said in Samples(np.column_stack([dry, dry[:, 0]])).notes)


@pytest.mark.parametrize("make", [Samples, lambda rows: Quantiles([0.1, 0.5, 0.9], np.sort(rows[:, :3], axis=1))])
def test_numbers_that_may_mark_missing_values_are_asked_about(rng, make):
    draws = rng.normal(10, 3, (60, 4))
    coded = draws.copy()
    coded[[3, 9], 1] = -999
    far = "forecasts: -999 in 2 rows (3, 9; counted from 0), far below all others. Does it mark missing values?"
    assert make(coded).notes[-1].startswith(far)
    coded[:30] -= 400  # -999 is one of the others
    for rows in (draws, coded[10:], rng.normal(-99, 30, (60, 4)).round()):
        assert not any("missing values?" in said for said in make(rows).notes)


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_frames_name_the_levels(frame):
    values = frame({"0.9": [4.0, 5.0], "0.1": [1.0, 2.0]})
    np.testing.assert_array_equal(Quantiles(None, values).values, [[1.0, 4.0], [2.0, 5.0]])
    np.testing.assert_array_equal(Samples(values).members, [[4.0, 1.0], [5.0, 2.0]])


def test_dimensions_of_xarray_are_read_by_name():
    xarray = pytest.importorskip("xarray")
    members = xarray.DataArray([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]], dims=("member", "time"))
    np.testing.assert_array_equal(Samples(members).members, [[1, 3, 5], [2, 4, 7]])
    levels = xarray.DataArray([[1.0, 2.0], [3.0, 4.0]], dims=("quantile", "time"), coords={"quantile": [0.1, 0.9]})
    np.testing.assert_array_equal(Quantiles(None, levels).values, [[1, 3], [2, 4]])


def test_a_forecast_cannot_be_changed():
    forecast = Samples([[1.0, 2.0]])
    with pytest.raises(AttributeError):
        forecast.members = np.zeros((1, 2))
    with pytest.raises(ValueError, match="read-only"):
        forecast.members[0, 0] = 5


NAN, INF = np.nan, np.inf
BAD = {
    "levels as percent": (lambda: Quantiles([10, 90], [[1, 2]]), "divide them by 100"),
    "level 0": (lambda: Quantiles([0, 0.5], [[1, 2]]), "between 0 and 1"),
    "level twice": (lambda: Quantiles([0.1, 0.1], [[1, 2]]), "some occur twice"),
    "no levels": (lambda: Quantiles(None, [[1, 2]]), "levels"),
    "transposed": (lambda: Quantiles([0.1, 0.9], [[1, 2, 3], [4, 5, 6]]), "values.T"),
    "too few columns": (lambda: Quantiles([0.1, 0.5, 0.9], [[1, 2]]), "one column for each of 3 levels"),
    "infinite quantile": (lambda: Quantiles([0.1, 0.9], [[1, INF]]), "infinite"),
    "text": (lambda: Quantiles([0.1, 0.9], [["a", "b"]]), "not a number"),
    "no rows": (lambda: Quantiles([0.1, 0.9], np.zeros((0, 2))), "no rows"),
    "one member": (lambda: Samples([[1.0], [2.0]]), "at least 2|2 members|two"),
    "missing member": (lambda: Samples([[1.0, NAN]]), "missing|NaN"),
    "infinite member": (lambda: Samples([[1.0, INF]]), "infinite"),
    "cube": (lambda: Samples(np.zeros((2, 2, 2))), r"shape \(n, members\)"),
    "nothing": (lambda: Samples(None), "members"),
    "unknown family": (lambda: Distribution("norml", mean=[0.0], sd=1), "normal"),
    "sd 0": (lambda: Distribution("normal", mean=[0.0], sd=[0.0]), "sd"),
    "negative scale": (lambda: Distribution("gamma", shape=[1.0], scale=[-1.0]), "scale"),
    "missing parameter": (lambda: Distribution("normal", mean=[0.0]), "sd"),
    "unknown parameter": (lambda: Distribution("normal", mean=[0.0], sigma=[1.0]), "sigma"),
    "NaN parameter": (lambda: Distribution("normal", mean=[NAN], sd=[1.0]), "mean"),
    "different lengths": (lambda: Distribution("normal", mean=[0.0, 1.0], sd=[1.0, 1.0, 1.0]), "mean|sd"),
    "endless counts": (lambda: Distribution("poisson", mean=[2e10]), r"a mean above 1e\+10 in 1 row"),
    "endless waiting": (lambda: Distribution("negative-binomial", size=[2.0], probability=[1e-11]), "normal"),
    "atom above 1": (lambda: Distribution("gamma", shape=[1.0], scale=1.0, zero=1.5), "zero"),
    "object and parameters": (lambda: Distribution(stats.norm([0.0], 1), mean=[0.0]), "belong to families"),
    "no distribution": (lambda: Distribution(3), "cdf"),
    "PIT above 1": (lambda: PIT([1.2]), "from 0 to 1"),
    "PIT as percent": (lambda: PIT([20.0, 90.0]), "divide them by 100"),
    "PIT swapped": (lambda: PIT([0.5], [0.2]), "swapped"),
    "too few outcomes": (lambda: Samples([[1, 2], [3, 4]]).pit_rows([1.0]), r"shape \(2,\)"),
    "missing outcome": (lambda: Samples([[1, 2]]).pit_rows([NAN]), "no outcome"),
    "huge member": (lambda: Samples([[1.0, -1e101]]), "beyond 1e\\+100"),
    "infinite outcome": (lambda: Samples([[1, 2]]).pit_rows([INF]), "infinite outcome"),
    "swapped arguments": (lambda: Samples([[1, 2]]).pit_rows(Samples([[1, 2]])), "Outcomes come first"),
    "half a count": (lambda: Distribution("poisson", mean=[1.0]).pit_rows([0.5]), "no count"),
    "incomplete": (lambda: Quantiles([0.1, 0.9], [[1, NAN]]).pit_rows([1.0]), r"subset\(complete\)"),
    "unknown side": (lambda: Samples([[1, 2]]).pit_rows([1.0], censored={"over": 1}), "above"),
    "limits of others": (lambda: Samples([[1, 2]]).pit_rows([1.0], censored={"above": [1, 2]}), "one limit a forecast"),
    "missing limit": (lambda: Samples([[1, 2]]).pit_rows([1.0], censored={"above": [NAN]}), "no limit"),
    "negative weight": (lambda: Samples([[1, 2]]).pit_rows([1.0], sample_weight=[-1]), "negative"),
}


@pytest.mark.parametrize("mean", [1e5, pytest.param(1e10, marks=pytest.mark.slow)])
def test_many_likely_counts_tell_as_much_as_a_density(mean):
    rows = Distribution("poisson", mean=[mean]).pit_rows([np.floor(mean)])
    np.testing.assert_allclose(rows.information[0], np.eye(4), atol=3e-4)


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_a_sentence(name):
    make, words = BAD[name]
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize("coupling", [-0.8, -0.5, -0.2])
def test_a_density_of_negative_coupling_is_the_slope_of_its_distribution(coupling):
    """It is 0 beyond an end, and the semicircle for -1/2."""
    ours = Distribution("coupled-gaussian", mean=np.zeros(21), scale=np.full(21, 1.5), coupling=coupling)
    x, h = np.linspace(-1, 1, 21), 1e-5
    slope = (ours.cdf(x + h) - ours.cdf(x - h)) / (2 * h)
    np.testing.assert_allclose(np.exp(ours.logpdf(x)), slope, rtol=1e-6)
