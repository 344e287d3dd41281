"""Recalibrator on two classes: laws, the same answer from every form of the data, bad input."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import norm
from scipy.stats import t as student_t

from unperplexed import Forecasts, InputError, Recalibrator, Tally, diagnose
from unperplexed.maps.parameters import TWO_CLASSES
from unperplexed.recalibration.averaging import BINARY_PENALTY, CLASS_PENALTY, average
from unperplexed.recalibration.binary_rows import rows_in_clusters, rows_of_parts
from unperplexed.recalibration.gain import gain_of
from unperplexed.scores import log_loss

GRID = np.concatenate([[1e-300, 1e-12], np.linspace(1e-6, 1 - 1e-6, 2001), [1 - 1e-12]])


def sigmoid(t):
    return 1 / (1 + np.exp(-t))


def forecasts(n, seed=0, slope=1.0, bias=0.0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 2, n)
    return rng.random(n) < sigmoid(truth), sigmoid((truth - bias) / slope)


Y, P = forecasts(1500, slope=0.6, bias=0.4)
FITTED = Recalibrator().fit(Y, P)


def test_temperature_and_bias_are_found():
    found = Recalibrator("logistic").fit(*forecasts(50_000, slope=0.6, bias=0.4)).parameters_
    assert found["slope"] == pytest.approx(0.6, abs=0.02)
    assert found["shift"] == pytest.approx(0.4, abs=0.03)


def test_recalibration_improves_fresh_forecasts_and_leaves_calibrated_ones():
    y, p = forecasts(20_000, seed=1, slope=0.6, bias=0.4)
    assert log_loss(y, FITTED.transform(p)) < log_loss(y, p) - 0.05
    assert FITTED.gain_.significant
    assert not FITTED.leave_as_it_is
    calibrated = Recalibrator().fit(*forecasts(1000, seed=2))
    assert calibrated.leave_as_it_is
    assert calibrated.method_ == "identity"
    assert not calibrated.gain_.significant


@pytest.mark.slow
@pytest.mark.parametrize("method", ["auto", "bias", "temperature", "logistic", "beta", "tail", "lapse", "isotonic"])
@pytest.mark.parametrize("n", [2, 60, 1500])
def test_never_falls_and_never_reaches_0_or_1(method, n):
    fitted = Recalibrator(method).fit(Y[:n], P[:n])
    q = fitted.transform(GRID)
    assert (np.diff(q) >= 0).all()
    assert (q > 0).all()
    assert (q < 1).all()
    both = fitted.transform(np.stack([1 - GRID, GRID], axis=1))
    np.testing.assert_allclose(both.sum(axis=1), 1, atol=1e-12)
    assert (both > 0).all()
    assert (both < 1).all()
    np.testing.assert_allclose(both[:, 1], q, atol=1e-12)


def test_exact_zeros_alone_count_as_something_else():
    y, p = Y, np.clip(P, 0.01, 0.99)
    fitted = Recalibrator("temperature").fit(y, p)
    expected = fitted.transform([0.005 / Y.size, 1 - 0.005 / Y.size])
    np.testing.assert_allclose(fitted.transform([0, 1]), expected, rtol=1e-12)
    assert fitted.transform([1e-300])[0] < 1e-100 < expected[0]
    smaller = Recalibrator("temperature").fit(np.append(y, False), np.append(p, 1e-30))
    np.testing.assert_allclose(smaller.transform([0]), smaller.transform([1e-30]), rtol=1e-9)


def test_reversed_forecasts_are_made_constant_not_turned_round():
    fitted = Recalibrator("logistic").fit(Y, 1 - P)
    np.testing.assert_allclose(fitted.transform(GRID), Y.mean(), atol=1e-3)


@pytest.mark.parametrize("scale", [pytest.param(1, marks=pytest.mark.slow), 200])
def test_same_from_arrays_frames_tallies_parts_and_any_order(scale):
    y, p = (np.resize(x[:150], 150 * scale) for x in (Y, P))
    order = np.random.default_rng(0).permutation(y.size)
    parts = np.array_split(order, 7)
    expected = Recalibrator().fit(y, p)
    others = [
        Recalibrator().fit(y[order], p[order]),
        Recalibrator().fit(np.where(y, 1, 0), pl.DataFrame({"0": 1 - p, "1": p})),
        Recalibrator().fit(Tally.of(y, p)),
        Recalibrator().fit(sum((Tally.of(y[at], p[at]) for at in parts), Tally())),
        Recalibrator().fit_chunks(lambda: (Forecasts(y[at], p[at], whole=False) for at in parts)),
        Recalibrator().fit(y, np.log(p / (1 - p)), scale="logits"),
        Recalibrator().fit(y, 100 * p, scale="percent"),
    ]
    for other in others:
        np.testing.assert_allclose(other.transform(GRID), expected.transform(GRID), atol=1e-12)
        assert other.gain_.value == pytest.approx(expected.gain_.value, abs=1e-12)
        assert other.gain_.interval == pytest.approx(expected.gain_.interval, abs=1e-12)


@pytest.mark.slow
def test_many_distinct_values_are_the_same_in_any_order():
    y, p = forecasts(80_000, slope=0.8)  # more than a tally counts by value
    order = np.random.default_rng(1).permutation(y.size)
    one, other = (Recalibrator("logistic").fit(y[at], p[at]) for at in (order, slice(None)))
    np.testing.assert_array_equal(one.transform(GRID), other.transform(GRID))
    assert one.gain_ == other.gain_
    of_tally = Recalibrator("logistic").fit(Tally.of(y, p))  # whose cells are others
    np.testing.assert_allclose(of_tally.transform(GRID), one.transform(GRID), atol=1e-5)


def test_equal_weights_mean_nothing_and_rows_of_weight_0_are_no_rows():
    seven = Recalibrator().fit(Y, P, sample_weight=np.full(Y.size, 7.0))
    np.testing.assert_allclose(seven.transform(GRID), FITTED.transform(GRID), atol=1e-12)
    assert seven.gain_.interval == pytest.approx(FITTED.gain_.interval, abs=1e-12)
    y, p = np.append(Y, ~Y[:300]), np.append(P, P[:300])
    some = Recalibrator().fit(y, p, sample_weight=np.append(np.ones(Y.size), np.zeros(300)))
    assert some.n_rows_ == Y.size
    np.testing.assert_allclose(some.transform(GRID), FITTED.transform(GRID), atol=1e-12)


def test_weights_count():
    rng = np.random.default_rng(3)
    y, p = forecasts(4000, seed=3, bias=0.0)
    # Positives that weigh three times as much shift the log-odds by ln 3.
    w = np.where(y, 3.0, 1.0)
    found = Recalibrator("bias").fit(y, p, sample_weight=w * 10)
    assert found.parameters_["shift"] == pytest.approx(np.log(3), abs=0.1)
    uneven = rng.exponential(size=y.size)
    assert Recalibrator("logistic").fit(y, p, sample_weight=uneven).parameters_["slope"] == pytest.approx(1, abs=0.1)


def test_maps_fitted_from_those_of_similar_rows_are_as_good_as_from_none():
    """A lapse that the similar rows do not have is found, too."""
    y, p = forecasts(3000, seed=5, slope=0.6)
    flipped = np.where(np.random.default_rng(5).random(3000) < 0.1, 1 - y, y)
    similar, rows = (rows_of_parts([Forecasts(each, p)], 2, 0) for each in (y, flipped))
    names = [*TWO_CLASSES]
    starts, best = (each.fits(names)[0] for each in (similar, rows))
    for name, found in rows.refits(starts).items():
        of_rows = (np.log(rows.likelihoods(q, None)).sum() for q in (found, best[name]))
        assert next(of_rows) == pytest.approx(next(of_rows), abs=1e-6)


def test_few_clusters_have_no_gain_and_others_one_by_students_t():
    y, p = forecasts(600, seed=4, slope=0.7)
    few = Recalibrator("temperature").fit(y, p, clusters=np.arange(600) % 9)
    assert few.gain_ is None
    assert "fewer than 10 clusters" in str(few)
    dozen = np.arange(600) % 12
    found = Recalibrator("identity").fit(y, p, clusters=dozen).gain_
    assert found.interval == (0, 0)
    parts = [Forecasts(y, p, clusters=dozen)]
    gain = average(rows := rows_in_clusters(parts, 5, 0), ("bias",), only="bias").gain
    maps, *without = rows.fits(("identity", "bias"))
    after = [each["bias"] for each in without]
    differences = np.concatenate(
        [np.log(rows.likelihoods(q, k) / rows.likelihoods(maps["identity"], k)) for k, q in enumerate(after)]
    )
    mean, error = rows.mean(differences)
    assert mean == pytest.approx(gain.value, rel=1e-6)
    sums = np.bincount(rows.cluster, rows.weight * (differences - mean))
    assert error == pytest.approx(np.sqrt(12 / 11 * sums @ sums) / 600, rel=1e-9)
    whole = np.log(rows.likelihoods(maps["bias"], None) / rows.likelihoods(maps["identity"], None))
    in_sample = np.average(whole, weights=rows.weight)
    half, excess = student_t(11).ppf(0.975) * error, max(0, in_sample - gain.value)
    low = min(gain.value + min(excess, error**2 / in_sample / 2) - half, gain.value)
    assert gain.interval == pytest.approx((low, gain.value + excess + half), rel=1e-6)


@pytest.mark.parametrize("parameters", [1, 2, 5])
@pytest.mark.parametrize("size", [0, 1, 3, 5])
def test_the_interval_of_the_gain_covers_where_the_estimates_are_normal(rng, parameters, size):
    """Errors of unit variance about a true error of this size: gains in-sample, cross-fitted and true are quadratic."""
    e = rng.normal(size=(4000, parameters))
    z = e + np.append(size, np.zeros(parameters - 1))
    in_sample, true = (z**2).sum(axis=1) / 2, (z**2).sum(axis=1) / 2 - (z * e).sum(axis=1)
    low, high = np.array([gain_of(1, x - parameters, np.sqrt(2 * x), x, 100, None).interval for x in in_sample]).T
    assert 0.915 < ((low <= true) & (true <= high)).mean() < 0.99
    if parameters == 1 and size > 1:  # exact: a gain counts from where the error is twice its interval
        assert (true < low).mean() == pytest.approx(0.025, abs=0.008)
        np.testing.assert_array_equal(low > 0, np.abs(z[:, 0]) > 2 * norm.ppf(0.975))


@pytest.mark.parametrize(
    ("penalty", "exponents"),
    [(BINARY_PENALTY, [0, 0.7 * 4 - 2, 0.7 * 5 - 3]), (CLASS_PENALTY, [0, 4 - 2.5, 5 - 3])],
)
def test_weights_follow_from_loss_parameters_and_whether_the_map_changes_anything(penalty, exponents):
    # Held-out log losses of 10, 6 and 5 nats with 0, 1 and 2 parameters.
    cost = penalty.costs(np.array([10.0, 6.0, 5.0]), (0, 1, 2), ("identity", "bias", "logistic"))
    np.testing.assert_allclose(cost[0] - cost, exponents, atol=1e-12)


@pytest.mark.slow
def test_few_rows_have_twenty_folds_by_default_and_more_have_five():
    y, p = forecasts(1001, seed=5)
    for n, folds in ((1000, 20), (1001, 5)):
        by_default, asked = Recalibrator().fit(y[:n], p[:n]), Recalibrator(folds=folds).fit(y[:n], p[:n])
        assert by_default.gain_ == asked.gain_
        assert by_default.gain_ != Recalibrator(folds=7).fit(y[:n], p[:n]).gain_
    grouped = Recalibrator().fit(y, p, clusters=np.arange(1001) % 12)
    assert grouped.gain_ == Recalibrator(folds=5).fit(y, p, clusters=np.arange(1001) % 12).gain_
    few = Recalibrator().fit(y[:600], p[:600], clusters=np.arange(600) % 12)
    assert few.gain_ == Recalibrator(folds=12).fit(y[:600], p[:600], clusters=np.arange(600) % 12).gain_


@pytest.mark.slow
def test_clusters_share_a_fold_and_widen_the_interval():
    y, p = forecasts(600, seed=4, slope=0.7)
    each = np.arange(600)
    alone = Recalibrator().fit(y, p, clusters=each)
    assert alone.gain_.value == pytest.approx(Recalibrator().fit(y, p).gain_.value, abs=0.01)
    copied = [np.tile(x, 10) for x in (y, p, each)]
    naive = Recalibrator("temperature").fit(*copied[:2])
    grouped = Recalibrator("temperature").fit(*copied[:2], clusters=copied[2])
    half = [np.ptp(found.gain_.interval) for found in (naive, grouped)]
    assert half[1] > 2 * half[0]
    order = np.random.default_rng(5).permutation(6000)
    shuffled = Recalibrator("temperature").fit(*(x[order] for x in copied[:2]), clusters=copied[2][order])
    np.testing.assert_allclose(shuffled.transform(GRID), grouped.transform(GRID), atol=1e-12)
    assert shuffled.gain_.interval == pytest.approx(grouped.gain_.interval, abs=1e-12)
    with pytest.raises(InputError, match="one cluster"):
        Recalibrator().fit(y, p, clusters=np.zeros(600))
    with pytest.raises(InputError, match="clusters of dependent rows"):
        Recalibrator().fit(Tally.of(y, p, clusters=each, parts=["shards"]))


def test_labels_choose_the_column():
    named = Recalibrator().fit(np.where(Y, "rain", "dry"), P, pos_label="rain")
    assert named.labels_ == ("dry", "rain")
    np.testing.assert_array_equal(named.transform(GRID), FITTED.transform(GRID))
    frame = pl.DataFrame({"dry": [0.2], "rain": [0.8]})
    np.testing.assert_allclose(named.transform(frame)[0, 1], FITTED.transform([0.8])[0], atol=1e-12)
    with pytest.raises(InputError, match="named 'rain', 'dry'"):
        named.transform(frame[:, ::-1])
    ended = frame.rename({"dry": "p_dry", "rain": "p_rain"})
    np.testing.assert_array_equal(named.transform(ended), named.transform(frame))
    for other in (ended[:, ::-1], frame.rename({"dry": "cat", "rain": "dog"}), frame.select(dry="dry")):
        with pytest.raises(InputError, match="the classes are 'dry', 'rain'"):
            named.transform(other)


def test_one_column_keeps_its_dimensions():
    expected = FITTED.transform(GRID)
    for column in (GRID[:, None], pl.DataFrame({"p": GRID})):
        found = FITTED.transform(column)
        assert found.shape == (GRID.size, 1)
        np.testing.assert_array_equal(found[:, 0], expected)


def test_transform_reads_logits_percent_and_nothing():
    s = np.log(P / (1 - P))
    np.testing.assert_allclose(FITTED.transform(s, scale="logits"), FITTED.transform(P), atol=1e-12)
    np.testing.assert_allclose(FITTED.transform(100 * P, scale="percent"), FITTED.transform(P), atol=1e-12)
    np.testing.assert_allclose(FITTED.transform(np.log(P), scale="log-probs"), FITTED.transform(P), atol=1e-12)
    np.testing.assert_allclose(FITTED.transform(P.astype(np.float32)), FITTED.transform(P), atol=1e-6)
    assert FITTED.transform([]).shape == (0,)
    assert FITTED.transform(np.empty((0, 2))).shape == (0, 2)


@pytest.mark.parametrize(
    ("y_prob", "message"),
    [
        ([0.5, np.nan], r"NaN in 1 row \(1;"),
        ([1.5], "above 1"),
        ([-0.1], "negative"),
        ([[0.5, 0.6]], "sum not 1"),
        ([[0.2, 0.3, 0.5]], "3 columns, but the recalibrator was fitted to 2 classes"),
        ("rain", "y_prob"),
    ],
)
def test_transform_refuses(y_prob, message):
    with pytest.raises(InputError, match=message):
        FITTED.transform(y_prob)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "platt"}, "method: expected one of 'auto'"),
        ({"folds": 1}, "folds"),
        ({"folds": 2.5}, "folds"),
        ({"seed": -1}, "seed"),
        ({"single": "yes"}, "single"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(InputError, match=message):
        Recalibrator(**settings).fit(Y, P)


def test_fit_refuses():
    with pytest.raises(InputError, match="y_prob: missing"):
        Recalibrator().fit(Y)
    with pytest.raises(InputError, match="two rows"):
        Recalibrator().fit([1], [0.5])
    with pytest.raises(TypeError, match="sample_weights"):
        Recalibrator().fit(Y, P, sample_weights=P)
    with pytest.raises(InputError, match="not fitted"):
        Recalibrator().transform(P)


@pytest.mark.slow
def test_no_gain_below_100_rows():
    assert Recalibrator().fit(Y[:99], P[:99]).gain_ is None
    assert Recalibrator().fit(Y[:100], P[:100]).gain_ is not None


def test_certain_and_wrong_forecasts_cost_a_finite_loss_and_are_mended():
    y, p = Y.copy(), P.copy()
    p[:30], y[:30] = 0.0, True
    found = Recalibrator().fit(y, p)
    assert np.isfinite(found.gain_.before)
    assert found.gain_.value > 0.05
    assert found.transform([0.0])[0] > 1e-3


def test_text_names_the_map_and_the_gain():
    text = str(FITTED)
    assert text.startswith("Recalibrate with an average of maps, mainly ")
    assert f"{FITTED.gain_}" in " ".join(text.split())
    card = FITTED._repr_html_()
    assert all(f">{name}<" in card for name in FITTED.weights_)
    assert f"{FITTED.weights_[FITTED.method_]:.3f}" in card
    assert "It is not fitted." in Recalibrator("<b>")._repr_html_()
    assert "<b>'" not in Recalibrator("<b>")._repr_html_()
    assert [each.name for each in FITTED.table] == list(FITTED.weights_)
    assert sum(FITTED.weights_.values()) == pytest.approx(1)
    assert str(Recalibrator().fit(*forecasts(1000, seed=2))).startswith("Leave the forecasts as they are")


def test_a_map_that_is_not_shown_to_gain_says_so():
    found = Recalibrator("temperature").fit(*forecasts(300, seed=2))
    assert not found.gain_.significant
    assert str(found).startswith("There is no evidence that recalibration reduces the log loss")


def test_a_tally_says_that_it_does_not_know_large_logits():
    s = np.linspace(-60, 60, 400)
    y = np.random.default_rng(0).random(400) < sigmoid(s / 10)
    of_tally = Recalibrator("temperature").fit(Tally.of(y, s, scale="logits"))
    text = " ".join(str(of_tally).split())
    assert f"In {(s > 36.8).sum()} of 400 rows the tally has a probability of exactly 0 or 1" in text
    assert "Log-odds beyond ±36" in text
    assert "exactly 0 or 1" not in str(Recalibrator("temperature").fit(y, s, scale="logits"))


def test_an_average_is_said_only_where_several_maps_are_kept(rng):
    s = rng.normal(0, 2, 1200)
    y, p = rng.random(1200) < 1 / (1 + np.exp(-s / 2)), 1 / (1 + np.exp(-s))
    for single in (True, False):
        made = Recalibrator(single=single).fit(y, p)
        several = sum(weight > 0 for weight in made.weights_.values()) > 1
        assert several is not single
        assert ("average of maps" in made.map_text) is several
        assert ("average of maps" in str(made)) is several


def prior_shift(rng, n, share, slope=1.0):
    """Rows of two classes whose log-odds in each class are normal, at some share of the positive class."""
    y = (rng.random(n) < share).astype(int)
    s = slope * rng.normal(np.where(y == 1, 1.0, -1.0), np.sqrt(2.0))
    return y, expit(s)


def test_a_new_prevalence_multiplies_the_odds():
    rng = np.random.default_rng(0)
    y, p = prior_shift(rng, 2000, 0.5)
    old, new = (Recalibrator("logistic").fit(y, p) for _ in range(2))
    moved = logit(new.for_prevalence(0.01).transform(p)) - logit(old.transform(p))
    assert moved == pytest.approx(np.full(2000, logit(0.01) - logit(y.mean())))
    saved = Recalibrator.from_dict(json.loads(json.dumps(new.to_dict())))
    assert saved.transform(p) == pytest.approx(new.transform(p))
    assert saved.state.prevalence == 0.01
    assert "prior shift" in str(new)


def test_prior_shift_is_tested_by_rows_with_outcomes():
    rng = np.random.default_rng(1)
    fitted = Recalibrator("identity").fit(*prior_shift(rng, 20_000, 0.5)).for_prevalence(0.05)
    y, p = prior_shift(rng, 20_000, 0.05)
    assert not diagnose(y, fitted.transform(p)).findings
    assert "bias" in diagnose(y, p).errors
    y, p = prior_shift(rng, 20_000, 0.05, slope=1.4)
    assert "confidence" in diagnose(y, fitted.transform(p)).errors


@pytest.mark.parametrize("prevalence", [0, 1, -0.1, "0.1", float("nan"), True])
def test_a_prevalence_is_between_0_and_1(prevalence):
    fitted = Recalibrator("identity").fit([0, 1] * 20, [0.3, 0.6] * 20)
    with pytest.raises(InputError, match="--prevalence"):
        fitted.for_prevalence(prevalence)


def test_a_prevalence_needs_two_classes_that_occur():
    for y, p in (([0, 1, 2] * 9, np.tile(np.eye(3) * 0.7 + 0.1, (9, 1))), ([0] * 20, [0.1] * 20)):
        fitted = Recalibrator("identity").fit(y, p, labels=None if len(y) == 27 else [0, 1])
        with pytest.raises(InputError, match="two classes that both occurred"):
            fitted.for_prevalence(0.1)
