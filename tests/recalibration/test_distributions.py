"""Maps of predictive distributions: what comes back in each form, laws, planted errors, files, bad input."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import norm

import unperplexed as up
from unperplexed._lib.errors import InputError
from unperplexed.maps.pit import PitAverage, PitMap
from unperplexed.recalibration.recalibrator import Recalibrator
from unperplexed.recalibration.state import Candidate
from unperplexed.scores.distributions.rules import crps_rows

LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])


def world(rng, n=1000, bias=0.0, wider=1.0, follow=0.0):
    """Levels and spreads of normal forecasts, and outcomes."""
    level, log_spread = rng.normal(20, 4, n), rng.normal(0, 0.5, n)
    y = level + np.exp(log_spread) * (bias + wider * np.exp(follow * log_spread) * rng.normal(size=n))
    return y, level, np.exp(log_spread)


def forecasts(form, rng, level, spread):
    """Make normal forecasts in a form."""
    if form == "quantiles":
        return up.Quantiles(LEVELS, level[:, None] + spread[:, None] * ndtri(LEVELS))
    if form == "samples":
        return up.Samples(level[:, None] + spread[:, None] * rng.normal(size=(len(level), 20)))
    return up.Distribution("normal", mean=level, sd=spread)


def fitted(y, forecast, **options):
    return Recalibrator().fit(y, forecast, clusters=None, **options)


@pytest.mark.parametrize(
    "form", ["quantiles", *(pytest.param(form, marks=pytest.mark.slow) for form in ("samples", "distribution"))]
)
def test_too_narrow_and_too_low_forecasts_are_mended(rng, form):
    y, level, spread = world(rng, 2000, bias=0.4, wider=1.5)
    forecast = forecasts(form, rng, level, spread)
    made = fitted(y[:1000], forecast.subset(np.arange(1000)))
    old = forecast.subset(np.arange(1000, 2000))
    new = made.transform(old)
    assert type(new) is type(old)
    assert made.gain_.significant
    before, after = (up.assess(y[1000:], each, clusters=None) for each in (old, new))
    assert {"bias", "spread"} <= set(before.diagnosis.errors)
    assert after.cost < 0.1 * before.cost
    assert _crps(y[1000:], new) < _crps(y[1000:], old)


def _crps(y, forecast):
    """Score an ensemble itself: moved members are no draws any more."""
    return crps_rows(y, forecast, fair=False).mean()


@pytest.mark.slow
def test_pit_values_are_mended(rng):
    y, level, spread = world(rng, 2000, bias=0.5)
    u = norm.cdf((y - level) / spread)
    new = Recalibrator().fit(None, up.PIT(u), clusters=None).transform(up.PIT(u))
    assert abs(np.mean(new.low) - 0.5) < 0.02 < abs(np.mean(u) - 0.5)


@pytest.mark.slow
def test_calibrated_forecasts_stay_as_they_are(rng):
    y, level, spread = world(rng, 2000)
    forecast = forecasts("quantiles", rng, level, spread)
    made = fitted(y, forecast)
    assert made.leave_as_it_is
    moved = np.abs(made.transform(forecast).values - forecast.values) / spread[:, None]
    assert moved.max() < 0.15
    text = " ".join(str(made).split())
    assert text.startswith("Leave the forecasts as they are")
    assert f"The saved map changes them all the same, as other maps have {1 - made.weights_['identity']:.0%}" in text
    assert "in few independent rows a map with the best log score may weigh little" in text


def test_what_two_decimals_do_not_show_is_not_said(rng):
    y, level, spread = world(rng, 200, bias=0.3)
    made = fitted(y, forecasts("quantiles", rng, level, spread)).distributions
    for given, said in (((0.004, -0.5), "narrow to 0.61 of the width"), ((0.3, 0.004), "shift up by 0.30 spreads")):
        both = PitMap(dict(zip(("bias", "spread"), given, strict=True)))
        average = PitAverage({"shift+scale": both}, {"shift+scale": 1.0})
        candidates = (Candidate("shift+scale", 1.0, 0.0, 2),)
        assert replace(made, average=average, candidates=candidates).words == said


def test_the_identity_changes_no_bit(rng):
    y, level, spread = world(rng, 300)
    tied = up.Quantiles(LEVELS, np.round(level[:, None] + spread[:, None] * ndtri(LEVELS)))
    made = fitted(y, tied).distributions
    identity = replace(made, average=PitAverage({"identity": PitMap({})}, {"identity": 1.0}))
    assert (identity.transform(tied).values == tied.values).all()


@pytest.mark.slow
def test_spread_that_exaggerates_is_followed(rng):
    y, level, spread = world(rng, 2000, follow=-1.0)
    made = fitted(y, forecasts("quantiles", rng, level, spread))
    assert made.parameters_["follow"] == pytest.approx(-1, abs=0.15)
    new = made.transform(forecasts("quantiles", rng, np.array([20.0, 20.0]), np.array([0.5, 2.0])))
    assert new.spread() == pytest.approx([1, 1], abs=0.15)


@pytest.mark.slow
def test_a_mended_map_moves_and_scales_with_the_unit(rng):
    y, level, spread = world(rng, 600, bias=0.3, follow=-0.5)
    first = forecasts("quantiles", rng, level - 40, spread)
    second = up.Quantiles(LEVELS, 7 + 3 * first.values)
    one, other = (fitted(*each).transform(each[1]).values for each in ((y - 40, first), (7 + 3 * (y - 40), second)))
    assert other == pytest.approx(7 + 3 * one, rel=1e-7)


@pytest.mark.slow
def test_the_order_of_rows_does_not_matter(rng):
    y, level, spread = world(rng, 400, bias=0.3)
    forecast = forecasts("quantiles", rng, level, spread)
    order = rng.permutation(400)
    one, other = fitted(y, forecast), fitted(y[order], forecast.subset(order))
    assert other.transform(forecast).values == pytest.approx(one.transform(forecast).values, rel=1e-6)


def test_quantiles_keep_their_order_and_the_bound_of_the_fit(rng):
    y = rng.poisson(2, 500).astype(float)
    forecast = up.Quantiles(LEVELS, np.round(np.sort(rng.gamma(2, 0.7, (500, 7)), axis=1)))
    made = fitted(y, forecast)
    new = made.transform(forecast)
    assert (np.diff(new.values, axis=1) >= 0).all()
    assert new.values.min() >= 0


@pytest.mark.slow
def test_new_quantiles_beyond_the_outermost_are_counted(rng):
    y, level, spread = world(rng, wider=2.0)
    forecast = forecasts("quantiles", rng, level, spread)
    new, beyond = fitted(y, forecast).distributions.mended(forecast)
    assert beyond == pytest.approx(4 / 7, abs=0.01)  # at 2.5, 10, 90 and 97.5%
    assert new.values == pytest.approx(level[:, None] + 2 * spread[:, None] * ndtri(LEVELS), abs=1.5)


def test_members_keep_their_order(rng):
    y, level, spread = world(rng, 500, wider=2.0)
    forecast = forecasts("samples", rng, level, spread)
    new = fitted(y, forecast).transform(forecast)
    assert (np.argsort(new.members, axis=1) == np.argsort(forecast.members, axis=1)).all()
    assert np.ptp(new.members, axis=1).mean() > 1.3 * np.ptp(forecast.members, axis=1).mean()


def test_a_mended_family_is_a_distribution(rng):
    y, level, spread = world(rng, 1000, bias=0.3, wider=1.4, follow=-0.4)
    made = fitted(y, forecasts("distribution", rng, level, spread))
    new = made.transform(up.Distribution("normal", mean=[20.0, 24.0], sd=[1.0, 2.0]))
    q = np.array([0.01, 0.3, 0.5, 0.99])
    assert new.cdf(new.quantile(q).T) == pytest.approx(np.repeat(q[:, None], 2, axis=1), abs=1e-8)
    assert new.cdf([22.0, 22.0]) + new.sf([22.0, 22.0]) == pytest.approx([1, 1])
    x, step = np.array([21.0, 23.0]), 1e-5
    assert np.exp(new.logpdf(x)) == pytest.approx((new.cdf(x + step) - new.cdf(x - step)) / (2 * step), rel=1e-6)
    assert new.subset(np.array([1])).cdf([22.0]) == pytest.approx(new.cdf([22.0, 22.0])[1:])


@pytest.mark.slow
@pytest.mark.parametrize("zero", [None, 0.3])
def test_counts_and_zeros_keep_their_masses(rng, zero):
    mean, n = rng.gamma(4, 1, 300), 300
    there = np.ones(n) if zero is None else rng.random(n) > zero
    atom = {} if zero is None else {"zero": np.full(n, zero)}
    counts = up.Distribution("poisson", mean=mean, **atom)
    new = fitted((rng.poisson(1.5 * mean) * there).astype(float), counts).transform(counts)
    assert new.discrete
    x = np.arange(50.0)[:, None]
    assert np.exp(new.logpdf(x)).sum(axis=0) == pytest.approx(np.ones(n), abs=1e-6)
    assert np.exp(new.logpdf(x)).cumsum(axis=0) == pytest.approx(new.cdf(x), abs=1e-8)
    rain = up.Distribution("gamma", shape=np.full(n, 2.0), scale=mean, zero=np.full(n, 0.3))
    wet = fitted(np.where(rng.random(n) < 0.4, 0.0, rng.gamma(2, mean)), rain).transform(rain)
    assert wet.form == "continuous distributions with an atom at 0"
    assert np.exp(wet.logpdf(0.0)) == pytest.approx(wet.cdf(0.0), abs=1e-8)
    assert (wet.cdf(0.0) > 0.3).mean() > 0.9


@pytest.mark.parametrize("form", ["quantiles", "distribution"])
def test_a_loaded_map_mends_to_the_last_bit(rng, tmp_path, form):
    y, level, spread = world(rng, 500, bias=0.4, follow=-0.3)
    forecast = forecasts(form, rng, level, spread)
    made = fitted(y, forecast)
    made.save(tmp_path / "map.json")
    again = Recalibrator.load(tmp_path / "map.json")
    shares = [0.1, 0.5, 0.9]
    assert (again.transform(forecast).quantile(shares) == made.transform(forecast).quantile(shares)).all()
    assert again.to_dict() == made.to_dict()
    assert (again.gain_, again.weights_, str(again)) == (made.gain_, made.weights_, str(made))


def test_a_damaged_map_is_refused(rng):
    y, level, spread = world(rng, 200, bias=0.4)
    known = fitted(y, forecasts("quantiles", rng, level, spread)).to_dict()
    for name, wrong in {"maps": [], "candidates": [{}], "location": None, "gain": {}, "rows": -1, "form": 3}.items():
        with pytest.raises(InputError, match=r"damaged|differ"):
            Recalibrator.from_dict({**json.loads(json.dumps(known)), name: wrong})


@pytest.mark.slow
def test_clusters_stay_in_one_fold_and_windows_are_stretches_of_time(rng):
    y, level, spread = world(rng, 400, bias=0.5)
    forecast, day = forecasts("quantiles", rng, level, spread), np.arange(400) // 10
    held = Recalibrator().fit(y, forecast, clusters=day).distributions.held_out
    assert all(len(set(held.fold[day == each])) == 1 for each in range(40))
    held = Recalibrator().fit(y, forecast, issued=day, target_date=day + 1 + np.arange(400) % 2).distributions.held_out
    assert (np.diff(held.fold) >= 0).all()
    assert np.bincount(held.fold).tolist() == [80] * 5


@pytest.mark.slow
def test_weights_of_two_are_rows_that_come_twice(rng):
    y, level, spread = world(rng, 300, bias=0.5)
    forecast = forecasts("quantiles", rng, level, spread)
    twice = np.repeat(np.arange(300), 2)
    one = fitted(y, forecast, sample_weight=np.full(300, 2.0)).gain_
    other = fitted(y, forecast, sample_weight=np.ones(300)).gain_
    assert one.value == pytest.approx(other.value)
    clustered = Recalibrator().fit(y[twice], forecast.subset(twice), clusters=twice).gain_
    assert clustered.value == pytest.approx(other.value, abs=0.02)


@pytest.mark.slow
def test_what_cannot_be_fitted_or_mended_is_refused(rng):
    y, level, spread = world(rng, 200)
    forecast = forecasts("quantiles", rng, level, spread)
    with pytest.raises(InputError, match="averaged"):
        Recalibrator("temperature").fit(y, forecast)
    with pytest.raises(InputError, match="one quantile"):
        fitted(y, up.Quantiles([0.5], level[:, None]))
    with pytest.raises(InputError, match="folds"):
        Recalibrator(folds=5).fit(y[:4], forecast.subset(np.arange(4)), clusters=None)
    made = fitted(y, forecast)
    with pytest.raises(InputError, match="predictive distributions"):
        made.transform([0.2, 0.8])
    with pytest.raises(InputError, match="probabilities"):
        Recalibrator().fit([0, 1] * 50, [0.2, 0.7] * 50).transform(forecast)
    with pytest.raises(InputError, match="something missing"):
        made.transform(up.Quantiles(LEVELS, [[np.nan, *range(6)]]))
