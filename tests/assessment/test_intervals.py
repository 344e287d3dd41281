"""Intervals and calibration tests: laws, reference values from SciPy, and small simulations."""

import math
import re
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

from helpers import softmax_forecasts
from unperplexed import ESTIMATORS, InputError, Tally, assess, calibration_test, diagnose
from unperplexed.assessment import intervals
from unperplexed.assessment.assess import assess_tally
from unperplexed.assessment.intervals import SAMPLED
from unperplexed.assessment.settings import AssessmentSettings
from unperplexed.calibration.clustered_test import independent_share
from unperplexed.calibration.estimators import measured_of_samples
from unperplexed.calibration.null_samples import calibrated
from unperplexed.calibration.resampling import Sample, coarse_counts
from unperplexed.describe.assessment_charts import Event
from unperplexed.statistics.intervals import wilson
from unperplexed.statistics.means import t_quantile

resampled_test = partial(calibration_test, test="resampled")


def binary(rng, n, sharpness=1.0, shift=0.0):
    """Outcomes of true log-odds that are normal, and forecasts whose log-odds are these times something."""
    odds = rng.normal(0, 1.5, n)
    return (rng.random(n) < expit(odds)).astype(int), expit(sharpness * odds + shift)


@pytest.mark.parametrize(("hits", "n"), [(0, 10), (3, 10), (10, 10), (977, 1000), (1, 3)])
def test_wilson_is_scipys(hits, n):
    expected = stats.binomtest(hits, n).proportion_ci(0.9, method="wilson")
    assert wilson(hits / n, n, stats.norm.ppf(0.95)) == pytest.approx((expected.low, expected.high), abs=1e-14)


def test_quantiles_are_scipys():
    for freedom in (1, 2.5, 30, 1e6):
        assert t_quantile(0.95, freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-12)
    assert t_quantile(0.95, math.inf) == pytest.approx(stats.norm.ppf(0.975), rel=1e-14)


def test_intervals_of_scores_and_of_reported_means_are_those_of_means(rng):
    """A score's interval is Student's; that of geometric accuracy at floor 0 is that of the log loss, turned over."""
    y, p = binary(rng, 400)
    result = assess(y, p, floor=0, resamples=0)
    each = -np.log(np.where(y == 1, p, 1 - p))
    expected = stats.t.interval(0.95, 399, each.mean(), each.std(ddof=1) / math.sqrt(400))
    assert result.intervals["log_loss"] == pytest.approx(expected, rel=1e-12)
    low, high = result.intervals["reported_geometric_accuracy"]
    assert (-math.log(high), -math.log(low)) == pytest.approx(expected, rel=1e-3)
    assert result.intervals["prediction_accuracy"] == wilson(result.prediction_accuracy, 400, stats.norm.ppf(0.975))


@pytest.mark.slow
def test_more_confidence_is_wider_and_more_rows_are_narrower(rng):
    y, p = binary(rng, 1000)
    low, middle, high = (assess(y, p, confidence=c, resamples=100).intervals for c in (0.5, 0.95, 0.999))
    many = assess(*binary(rng, 16_000), resamples=100).intervals
    for name in low:
        a, b, c, d = (x[name].high - x[name].low for x in (low, middle, high, many))
        assert a < b < c, name
        if name == "divergence_probability":  # the bias, which widens it, falls faster than the spread
            assert b / 8 < d < b / 4 * 1.1
        else:
            assert d == pytest.approx(b / 4, rel=0.3), name


@pytest.mark.slow
def test_divergences_alone_are_wider_where_the_curve_is_not_a_line(rng, monkeypatch):
    """By 1.2, which its jumps need; those of a calibrated forecaster stay as they are."""
    odds, level = rng.normal(0, 2, 3000), rng.random(3000)
    jumps = np.array([0.02, 0.2, 0.35, 0.8, 0.9])[np.digitize(odds, [-2.5, -1.0, 0.5, 2.0])]

    def widths(tally, factor):
        monkeypatch.setattr(intervals, "_WIDER", factor)
        found = assess_tally(tally, AssessmentSettings(resamples=60, orders=[0]))
        low, high = np.log(found.intervals["divergence_probability"])
        assert found.divergence_profile.high - found.divergence_profile.low == pytest.approx(high - low)
        return high - low, found.intervals["measured_robustness"]

    for truth, most in ((jumps, 1.2), (expit(odds), 1.0)):
        tally = Tally.of(level < truth, expit(odds))
        (wide, same), (narrow, as_before) = widths(tally, 1.2), widths(tally, 1.0)
        assert wide / narrow == pytest.approx(most, abs=0.06)
        assert same == as_before


def test_two_classes_are_drawn_once_a_row(rng):
    y, p = binary(rng, 1000)
    p[:100] = 0.5
    tally = Tally.of(y, p)
    counts = coarse_counts(tally)
    sample = calibrated(tally, counts, 50, rng)[0]
    assert (sample.happened.sum(axis=1) == 1000).all()
    assert (sample.total.sum(axis=1) == 2000).all()
    low, high = counts.reported < 0.5, counts.reported > 0.5
    assert (sample.total[:, low] == sample.total[:, high][:, ::-1]).all()
    assert (sample.happened[:, low] == (sample.total - sample.happened)[:, high][:, ::-1]).all()


@pytest.mark.slow
def test_calibrated_samples_happen_as_often_as_was_said(rng):
    y, p = softmax_forecasts(rng, 3000, 4)
    tally = Tally.of(y, p)
    counts = coarse_counts(tally)
    sample = calibrated(tally, counts, 3000, rng)[0]
    assert (sample.total == counts.counted.total).all()
    expected = counts.counted.total * counts.reported
    assert (np.abs(sample.happened.mean(axis=0) - expected) < 5 * np.sqrt((expected + 0.01) / 3000)).all()


def test_what_is_next_above_one_half_is_counted_with_it():
    """Its mirror image is in the cell of 1/2; left by itself it would be lost of the shards, and happen by halves."""
    y, p = np.arange(400) % 4 > 0, np.where(np.arange(400) < 300, 0.5, 0.5 + 1e-9)
    counts = coarse_counts(Tally.of(y, p, parts=["shards"]))
    assert counts.counted.total.tolist() == [800]
    assert counts.shards.total.sum() == 800
    assert counts.shards.happened.sum() == 400


def test_shards_are_the_rows(rng):
    """All shards together are the counts."""
    y, p = softmax_forecasts(rng, 600, 3)
    counts = coarse_counts(Tally.of(y, p, parts=["shards"]))
    np.testing.assert_allclose(counts.shards.happened.sum(axis=0), counts.counted.happened)
    np.testing.assert_allclose(counts.shards.total.sum(axis=0), counts.counted.total)


def test_standard_errors_of_shards_are_those_of_rows(rng):
    y, p = softmax_forecasts(rng, 20_000, 3)
    tally = Tally.of(y, p, parts=["shards"])
    for name in tally.scores:
        error = float(tally.shards.standard_error(tally.shards.scores[name].sums))
        assert error == pytest.approx(tally.score_standard_error(name), rel=0.1)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_many_samples_are_measured_as_one_by_one(rng, name):
    y, p = binary(rng, 500)
    counts = coarse_counts(Tally.of(y, p))
    total = counts.counted.total
    sample = Sample(rng.binomial(total.astype(int), counts.reported, (20, total.size)) * 1.0, np.tile(total, (20, 1)))
    sample.total[::3, ::4] = sample.happened[::3, ::4] = 0.0  # cells without pairs
    measure = ESTIMATORS[name]
    many = measured_of_samples(measure, counts.reported, *sample, 0.005)
    for happened, total, found in zip(*sample, many, strict=True):
        some = total > 0
        one = measure.measure(counts.reported[some], happened[some], total[some], floor=0.005).measured
        np.testing.assert_allclose(found[some], one, rtol=1e-9)


@pytest.mark.slow
def test_groups_of_copies_are_one_row_each(rng):
    """Rows written down eight times, each as a group, are worth what they are once; unknown groups would hide it."""
    y, p = binary(rng, 700)
    groups = np.repeat(np.arange(700), 8)
    once, copies = assess(y, p), assess(np.repeat(y, 8), np.repeat(p, 8), clusters=groups)
    blind = assess(np.repeat(y, 8), np.repeat(p, 8), clusters=None)
    for name in (*[*SAMPLED][:4], "reported_robustness", "reported_decisiveness", "log_loss", "prediction_accuracy"):
        widths = [result.intervals[name].high - result.intervals[name].low for result in (once, copies, blind)]
        assert widths[1] == pytest.approx(widths[0], rel=0.25), name
        assert widths[2] < 0.55 * widths[1], name
    assert copies.diagnosis.p_value > 0.05 > blind.diagnosis.p_value
    assert copies.verdict.startswith("No evidence of miscalibration")
    assert not blind.verdict.startswith("No evidence of miscalibration")
    repeated = np.repeat(y, 8), np.repeat(p, 8)
    assert resampled_test(*repeated, clusters=groups).p_value > 0.05 > resampled_test(*repeated).p_value
    assert copies.score_standard_errors["log_loss"] == pytest.approx(once.score_standard_errors["log_loss"], rel=0.1)
    np.testing.assert_allclose(copies.profile.standard_errors, once.profile.standard_errors, rtol=0.2)


@pytest.mark.slow
def test_groups_of_one_row_are_no_groups(rng):
    y, p = softmax_forecasts(rng, 900, 3)
    alone, grouped = assess(y, p), assess(y, p, clusters=np.arange(900))
    for name, (low, high) in alone.intervals.items():
        other = grouped.intervals[name]
        assert other.high - other.low == pytest.approx(high - low, rel=0.35), name


@pytest.mark.parametrize("groups", [300, 4000])
def test_what_part_of_copied_rows_is_independent(rng, groups):
    """One of eight copies, also where several groups share a shard; nearly all of rows that are no copies."""
    y, p = binary(rng, groups)
    copied = Tally.of(np.repeat(y, 8), np.repeat(p, 8), clusters=np.repeat(np.arange(groups), 8), parts=["shards"])
    assert independent_share(coarse_counts(copied)) == pytest.approx(1 / 8, rel=0.2)
    y, p = binary(rng, 8 * groups)
    mixed = Tally.of(y, p, clusters=np.repeat(np.arange(groups), 8), parts=["shards"])
    assert independent_share(coarse_counts(mixed)) > 0.95


@pytest.mark.slow
def test_measured_figures_of_groups_are_in_their_intervals():
    """A group's rows say the same and go the same way; measured are forecasts that are too sure by half."""
    odds = np.random.default_rng(1).normal(0, 3, 100_000)
    share = np.stack([expit(-odds), expit(odds)], axis=1).reshape(-1)
    y = np.tile([0, 1], odds.size)
    truth = assess(y, np.repeat(expit(1.5 * odds), 2), sample_weight=share, measured="isotonic", resamples=0).metrics()
    held = dict.fromkeys(SAMPLED, 0)
    for run in range(30):
        rng = np.random.default_rng([21, run])
        group, z = np.repeat(np.arange(8000), 3), rng.choice(odds, 8000)
        y = (rng.random(8000) < expit(z))[group]
        found = assess(y, expit(1.5 * z)[group], clusters=group, resamples=40, seed=run).intervals
        for name in held:
            held[name] += found[name].low <= truth[name] <= found[name].high
    assert min(held.values()) >= stats.binom.ppf(0.001, 30, 0.93), held


@pytest.mark.slow
def test_few_groups_are_said(rng):
    y, p = binary(rng, 600)
    warnings = assess(y, p, clusters=np.arange(600) % 7).uncertainty.warnings
    assert any("few clusters (effective number 7)" in each for each in warnings)
    one = assess(y, p, clusters=np.zeros(600, dtype=int))
    assert all(math.isnan(low) for low, _ in one.intervals.values())
    assert one.diagnosis.findings == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sharpness", "shift", "errors", "verdict"),
    [
        (1.8, 0.0, ("confidence",), "Overconfident (calibration slope 0."),
        (0.55, 0.0, ("confidence",), "Underconfident (calibration slope 1."),
        (1.0, 0.0, (), "No evidence of miscalibration (n = 3,000, p = 0."),
        (1.0, 0.5, ("bias",), "Overpredicts '1' (mean prediction "),
        (1.0, -0.5, ("bias",), "Underpredicts '1' (mean prediction "),
    ],
)
def test_verdicts(sharpness, shift, errors, verdict):
    y, p = binary(np.random.default_rng(7), 3000, sharpness, shift)
    result = assess(y, p, resamples=0)
    assert result.verdict.startswith(verdict)
    assert result.diagnosis.errors == errors
    assert " ".join(str(result).split()).startswith(result.verdict)
    assert (calibration_test(y, p).p_value < 0.05) == bool(errors)
    assert calibration_test(y, p).p_value == pytest.approx(result.diagnosis.p_value, rel=1e-6)
    if errors == ("confidence",):
        low, high = result.diagnosis.findings[0].interval
        assert low < 1 / sharpness - 1 < high
    if errors == ("bias",):
        low, high = result.diagnosis.findings[0].interval
        assert low < -shift < high
    if not shift:  # pooled, a bias cancels in part
        assert (resampled_test(y, p).p_value < 0.05) == bool(errors)


@pytest.mark.slow
def test_a_bias_moves_the_slope_and_is_not_called_confidence():
    """The verdict that was read off the slope's interval called it overconfident, or underconfident."""
    y, p = binary(np.random.default_rng(6), 5000, 1.0, 1.2)
    result = assess(y, p)
    low, high = result.intervals["averages_slope"]
    assert not low <= 1 <= high
    assert result.diagnosis.errors == ("bias",)
    assert "confident" not in result.verdict


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"resamples": 0}, {"resamples": 40}, {"confidence": 0.999}, {"seed": 9}])
def test_the_verdict_takes_no_samples_and_no_confidence(rng, settings):
    y, p = binary(rng, 400, 3.0)
    result = assess(y, p, **settings)
    assert result.diagnosis == assess(y, p).diagnosis
    assert result.diagnosis.errors[0] == "confidence"
    assert "takes" not in str(result)


def test_what_cancels_between_two_classes_is_not_seen():
    """By the resampled test: predicted are .3 and .7, observed .1 and .5; with both classes pooled .3 and .7."""
    rng = np.random.default_rng(3)
    p = np.repeat([0.3, 0.7], 5000)
    y = rng.random(10_000) < p - 0.2
    assert resampled_test(y, p).p_value > 0.01
    assert calibration_test(y, p).p_value < 1e-9


def test_what_was_held_impossible_and_happened_is_not_calibrated():
    y, p = [1, 0, 1] * 20, [0.0, 0.3, 0.8] * 20
    test = resampled_test(y, p, resamples=400)
    assert test.statistic == math.inf
    assert test.p_value == pytest.approx(1 / 401)
    assert "; certain and wrong 20 times (0 expected in 20 rows predicted as certain)" in assess(y, p).verdict


def test_a_handful_of_rows_is_no_evidence():
    for y, p in (([1, 1], [0.8, 0.7]), ([1, 1, 0], [0.8, 0.7, 0.2]), ([1] * 10, [0.8] * 10), ([0, 1], [0.3, 0.3])):
        result = assess(y, p, labels=(0, 1))
        assert result.verdict.startswith(f"No evidence of miscalibration (n = {len(y)}, p = ")
        assert "With fewer than 25, intervals may be too narrow" in " ".join(str(result).split())


@pytest.mark.slow
def test_what_could_have_been_seen_shrinks_with_the_root_of_the_rows(rng):
    """And is said where nothing was found; that it is found so often is tested with the diagnosis."""
    y, p = binary(rng, 400)
    few, many = assess(y, p), assess(np.tile(y, 16), np.tile(p, 16))
    for name in ("bias", "slope"):
        assert getattr(few.diagnosis.detectable, name) == pytest.approx(4 * getattr(many.diagnosis.detectable, name))
    assert not few.diagnosis.miscalibrated
    d = few.diagnosis.detectable
    assert re.search(
        rf"400 rows detect only a bias of [\d.]+ points \({d.bias:.2g} in log-odds\) or more or, with the level"
        rf" right, a calibration slope below {1 - d.slope:.2f} or above {1 + d.slope:.2f} \(80% power\)\.",
        " ".join(str(few).split()),
    )


@pytest.mark.slow
def test_same_seed_same_numbers_and_the_seed_is_told(rng):
    y, p = binary(rng, 500)
    a, b, c = (assess(y, p, seed=seed, resamples=100) for seed in (3, 3, 4))
    assert a.to_json() == b.to_json() != c.to_json()
    assert a.uncertainty.seed == 3
    assert a.to_dict()["uncertainty"]["seed"] == 3
    for name, (low, high) in a.intervals.items():
        assert c.intervals[name] == pytest.approx((low, high), abs=0.2 * (high - low)), name


def test_the_order_of_rows_means_nothing(rng):
    y, p = softmax_forecasts(rng, 400, 3)
    order = rng.permutation(400)
    found, other = (assess(y[at], p[at], resamples=40, clusters=None) for at in (slice(None), order))
    assert found.intervals == other.intervals


def test_weights_of_one_size_are_no_weights(rng):
    y, p = binary(rng, 500)
    plain, weighted = (assess(y, p, sample_weight=w, resamples=40) for w in (None, np.full(500, 7.0)))
    for name, (low, high) in plain.intervals.items():
        assert weighted.intervals[name] == pytest.approx((low, high), rel=1e-6), name


@pytest.mark.slow
def test_unequal_weights_widen(rng):
    """Half the rows at a weight next to nothing are worth half the rows."""
    y, p = binary(rng, 2000)
    half = assess(y[:1000], p[:1000])
    weighted = assess(y, p, sample_weight=np.repeat([1.0, 1e-6], 1000))
    for name, (low, high) in half.intervals.items():
        other = weighted.intervals[name]
        assert other.high - other.low == pytest.approx(high - low, rel=0.45), name


def test_without_samples_the_closed_ones_remain(rng):
    y, p = binary(rng, 300)
    result = assess(y, p, resamples=0)
    assert all(math.isnan(result.intervals[name].low) for name in (*SAMPLED, "orientation"))
    assert not any(
        math.isnan(result.intervals[name].low) for name in result.intervals.keys() - {*SAMPLED, "orientation"}
    )
    u = result.uncertainty
    assert (u.consistent, u.resamples) == (None, 0)
    assert (u.curve.low < u.curve.high).all()  # it takes no samples
    assert result.diagnosis == assess(y, p).diagnosis
    assert str(result).startswith("No evidence of miscalibration (n = 300, p = ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": 95}, "confidence: expected a number between 0 and 1, such as 0.95, got 95"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": math.nan}, "confidence"),
        ({"resamples": 5}, "resamples: expected 0, or a whole number from 40 to"),
        ({"resamples": 10**9}, "resamples"),
        ({"resamples": 99.5}, "resamples: expected 0, or a whole number"),
        ({"seed": -1}, "seed: expected a whole number of at least 0"),
        ({"seed": "a"}, "seed"),
        ({"clusters": [1]}, "clusters has 1 row, "),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(InputError, match=message):
        assess([1, 0], [0.8, 0.3], **settings)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_test_by_itself_is_that_of_the_verdict(rng, classes):
    y, p = softmax_forecasts(rng, 500, classes)
    weights, groups = rng.exponential(size=500), np.arange(500) // 5
    for more in ({}, {"sample_weight": weights}, {"clusters": groups}):
        test, found = calibration_test(y, p, **more), diagnose(y, p, **more)
        assert (test.statistic, test.p_value, test.by) == (found.statistic, found.p_value, found.by)
        assert calibration_test(y, p, seed=5, resamples=0, **more) == test  # nothing is drawn
    near = partial(pytest.approx, rel=1e-6)  # by values, and by rows, in which sums go another way
    assert calibration_test(y, p).p_value == near(assess(y, p).diagnosis.p_value)
    assert calibration_test(y, p, sample_weight=weights).p_value == near(
        assess(y, p, sample_weight=weights).diagnosis.p_value, rel=0.05
    )


def test_the_resampled_test_by_itself(rng):
    y, p = softmax_forecasts(rng, 500, 3)
    assert resampled_test(y, p, seed=5) == resampled_test(Tally.of(y, p), seed=5)
    assert resampled_test(y, p, seed=5) != resampled_test(y, p, seed=6)
    with pytest.raises(InputError, match="resamples: a test takes samples"):
        resampled_test(y, p, resamples=0)
    weights = rng.exponential(size=500)
    assert resampled_test(y, p, sample_weight=weights).by == "shards"
    with pytest.raises(InputError, match="weights: a test needs the tally's part 'shards'"):
        resampled_test(Tally.of(y, p, sample_weight=weights))
    with pytest.raises(InputError, match="test: with more than two classes .* Or choose test='resampled'"):
        calibration_test(replace(Tally.of(y, p), diagnosis=None))
    with pytest.raises(InputError, match="test: expected one of"):
        calibration_test(y, p, test="chi-squared")


@pytest.mark.slow
def test_bands_hold_the_curve_and_the_diagonal(rng):
    y, p = binary(rng, 4000)
    u = assess(y, p).uncertainty
    for band in (u.curve, u.consistent):
        assert (band.low <= band.high).all()
        assert ((band.low >= 0) & (band.high <= 1)).all()
    inside = (u.consistent.low <= u.consistent.reported) & (u.consistent.reported <= u.consistent.high)
    assert inside.mean() > 0.95


@pytest.mark.slow
def test_intervals_cover_and_the_test_is_right_about_the_calibrated():
    """A small part of `benchmarks/coverage.py`: 40 samples of 400 rows, of a forecaster that is too sharp and of one
    that is calibrated. 95 % intervals hold the truth in 83 to 100 % (five standard deviations)."""
    rng = np.random.default_rng(11)
    odds = rng.normal(0, 1.5, 100_000)
    true = expit(odds)
    for sharpness in (1.0, 1.4):
        said = expit(sharpness * odds)
        y, p = np.repeat([0, 1], true.size), np.tile(said, 2)
        truth = assess(y, p, sample_weight=np.concatenate([1 - true, true]), measured="isotonic", resamples=0).metrics()
        held, rejected = dict.fromkeys(truth, 0), 0
        for run in range(40):
            at = rng.integers(0, true.size, 400)
            result = assess(rng.random(400) < true[at], said[at], resamples=80, seed=run)
            rejected += result.diagnosis.miscalibrated
            for name, (low, high) in result.intervals.items():
                held[name] += low <= truth[name] <= high
        for name, count in held.items():
            assert count >= 0.83 * 40, (name, sharpness)
        if sharpness == 1.0:
            assert rejected <= stats.binom.ppf(0.9999, 40, 0.05)
        else:
            assert rejected > 27


def in_groups(rng, groups, sharpness=1.0):
    """Rows of a group have one probability and one outcome; a few of the sure ones go wrong."""
    odds = rng.normal(0, 3, groups)
    size = rng.integers(1, 30, groups)
    group = np.repeat(np.arange(groups), size)
    return (rng.random(groups) < expit(odds))[group], expit(sharpness * odds)[group], group


@pytest.mark.slow
def test_the_test_is_right_about_calibrated_groups():
    """Student's t alone would reject some 18 % of the calibrated. The others are too sure, or not sure enough."""
    rejected = {1.0: 0, 2.5: 0, 0.5: 0}
    for sharpness in rejected:
        for run in range(300 if sharpness == 1 else 60):
            y, p, group = in_groups(np.random.default_rng([20, run]), 20 if sharpness == 1 else 200, sharpness)
            tally = Tally.of(y, p, clusters=group, parts=["shards"])
            rejected[sharpness] += resampled_test(tally, resamples=99, seed=run).p_value <= 0.05
    assert rejected[1.0] <= stats.binom.ppf(0.9999, 300, 0.05)
    assert rejected[2.5] > 48 < rejected[0.5]


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 30])
@pytest.mark.parametrize("sureness", [0.0, 7.0])
def test_the_test_of_groups_of_many_classes(sureness, size):
    """Of sure forecasts most samples have no group that went wrong, or one or two: drawn are they as often."""
    rejected = 0
    for run in range(100):
        rng = np.random.default_rng([30, run])
        z = rng.normal(0, 1.5, (60, 5))
        z[:, 0] += sureness
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        y = (p.cumsum(axis=1)[:, :-1] < rng.random((60, 1))).sum(axis=1)
        group = np.repeat(np.arange(60), rng.integers(1, size + 1, 60))
        tally = Tally.of(y[group], p[group], labels=range(5), clusters=group, parts=["shards"])
        rejected += resampled_test(tally, resamples=99, seed=run).p_value <= 0.05
    assert rejected <= stats.binom.ppf(0.9999, 100, 0.05)


@pytest.mark.parametrize("classes", [2, 3, 6, 10])
def test_what_cannot_vary_is_calibrated(classes):
    """Everybody gets 1/C: what comes out is the same however it goes, and rounding decides nothing."""
    for n in range(20, 60, 5):
        y = np.arange(n) % classes
        assert resampled_test(y, np.full((n, classes), 1 / classes), labels=range(classes)).p_value == 1


@pytest.mark.slow
def test_one_row_said_many_times_does_not_decide():
    """More rows than are kept, of which 5 in 6 are one: of those that are kept it is nearly all, or none."""
    p_values = []
    for run in range(20):
        rng = np.random.default_rng([31, run])
        p = np.repeat(rng.dirichlet(np.ones(20), 6001), [1] * 6000 + [30_000], axis=0)
        y = (p.cumsum(axis=1)[:, :-1] < rng.random((36_000, 1))).sum(axis=1)
        p_values.append(resampled_test(y, p, labels=range(20), resamples=99, seed=run).p_value)
    most = stats.binom.ppf(0.9999, 20, 0.05)
    assert np.count_nonzero(np.array(p_values) <= 0.05) <= most >= np.count_nonzero(np.array(p_values) > 0.95)
    sharper = p**1.2 / (p**1.2).sum(axis=1, keepdims=True)
    assert resampled_test(y, sharper, labels=range(20), resamples=99).p_value == 0.01


def grouped_test(y, p, group, **settings):
    return resampled_test(Tally.of(y, p, clusters=group, parts=["shards"], labels=range(2)), **settings)


@pytest.mark.parametrize("classes", [2, 3, 4, 5, 7, 10])
def test_equal_probabilities_in_groups_are_calibrated(rng, classes):
    """What everybody gets is right on average, whatever happens: no rounding of it is a deviation."""
    y, group = rng.integers(0, classes, 300), rng.integers(0, 40, 300)
    tally = Tally.of(y, np.full((300, classes), 1 / classes), clusters=group, parts=["shards"])
    assert resampled_test(tally).p_value == 1


@pytest.mark.parametrize("p", [0.6, 0.7, 0.75, 0.9])
def test_groups_in_which_all_happened(p):
    """Ten groups of which each goes one way or the other: all of them do the likely thing with probability p**10."""
    test = grouped_test([1] * 40, [p] * 40, np.arange(40) // 4)
    assert test.statistic == math.inf
    assert test.p_value == pytest.approx(min(1, 2 * p**10), abs=0.1)


def test_groups_beside_rows_are_those_of_the_tally(rng):
    y, p, group = in_groups(rng, 60)
    assert resampled_test(y, p, clusters=group) == grouped_test(y, p, group)
    assert calibration_test(y, p, clusters=group).p_value == assess(y, p, clusters=group).diagnosis.p_value
    counted = Tally.of(y, p, clusters=group, parts=["shards"])  # 60 groups share some of the thousand shards
    assert calibration_test(counted).p_value == assess(counted).diagnosis.p_value
    assert calibration_test(counted).p_value == pytest.approx(calibration_test(y, p, clusters=group).p_value, abs=0.01)
    with pytest.raises(InputError, match="clusters: a tally's rows are already counted"):
        resampled_test(Tally.of(y, p), clusters=group)


def test_fewer_than_six_groups_are_no_test():
    y, p, group = in_groups(np.random.default_rng(2), 5)
    assert math.isnan(grouped_test(y, p, group).p_value)
    result = assess(y, p, clusters=group)
    assert "there are few clusters (effective number " in " ".join(str(result).split())
    assert result.verdict.endswith("six clusters of dependent rows or more, here 5; assess more.")
    assert not result.diagnosis.made


@pytest.mark.parametrize("impossible", [0.0, 1e-100])
def test_what_was_given_nothing_and_happened_in_groups_is_refuted(impossible):
    said = np.repeat([impossible, 1 - impossible], 500)
    y = (np.random.default_rng(3).random(1000) < 0.3) ^ (said > 0.5)
    for settings in ({"clusters": np.arange(1000) // 5}, {"sample_weight": np.linspace(0.5, 1.5, 1000)}):
        test = resampled_test(y, said, resamples=400, **settings)
        assert test.p_value == pytest.approx(2 / 401)
        result = assess(y, said, **settings)
        assert result.diagnosis.errors == ("certainty",)
        wrong = int((y != (said > 0.5)).sum())
        words = f"certain and wrong {wrong:,} times"
        assert words in diagnose(y, said, **settings).verdict.lower()
        assert (words if "clusters" in settings else "certain and wrong ") in result.verdict.lower()


def test_always_right_and_too_careful_is_not_overconfident_in_groups():
    """The slope of forecasts that were all right is next to 0, for the spread of 1 is; the diagnosis knows the side."""
    y, p, groups = [0, 1] * 50, [0.3, 0.8] * 50, np.arange(100) // 2
    for more in ({}, {"clusters": groups}):
        result = assess(y, p, **more)
        assert result.verdict.startswith("Underconfident (the calibration slope is not determined)")
    assert resampled_test(y, p, clusters=groups).statistic > 0


@pytest.mark.slow
def test_the_test_of_independent_rows_in_groups():
    """Rows that are told to be of a group need not depend on one another for the test to be right, and to see much."""
    rejected = dict.fromkeys([(0.95, 0.95), (0.95, 0.99), (0.99, 0.999)], 0)
    for said, true in rejected:
        for run in range(60):
            y = np.random.default_rng([40, run]).random(5000) < true
            test = grouped_test(y, np.full(5000, said), np.arange(5000) // 100, resamples=99, seed=run)
            rejected[said, true] += test.p_value <= 0.05
        if said == true:
            assert rejected[said, true] <= stats.binom.ppf(0.9999, 60, 0.05)
        else:
            assert rejected[said, true] > 55


@pytest.mark.slow
def test_logit_of_the_curve_band_narrows_with_rows(rng):
    widths = []
    for n in (500, 8000):
        y, p = binary(np.random.default_rng(2), n)
        band = assess(y, p).uncertainty.curve
        near = np.abs(logit(np.clip(band.reported, 1e-9, 1 - 1e-9))) < 1
        widths.append(np.median((band.high - band.low)[near]))
    assert widths[1] < widths[0] / 2


@pytest.mark.slow
def test_clusters_of_a_tally_are_counted_in_shards_and_that_is_said():
    rng = np.random.default_rng(0)
    day, (y, p) = rng.integers(0, 300, 3000), binary(rng, 3000)
    of_rows, of_tally = assess(y, p, clusters=day), assess(Tally.of(y, p, clusters=day, parts=["shards"]))
    assert ", 300 clusters, effective number" in " ".join(str(of_rows).split())
    said = re.search(
        r", at least (\d+) clusters \(a tally tells at most 1,000 clusters apart\), effective number",
        " ".join(str(of_tally).split()),
    )
    assert int(said[1]) == pytest.approx(1000 * (1 - 0.999**300), abs=20)  # hashes of 300 names into a thousand
    assert of_tally.independent_rows == pytest.approx(of_rows.independent_rows)


@pytest.mark.parametrize("measured", ["shrunk-isotonic", "equal-population", "nearest-neighbors"])
def test_the_band_holds_the_curve_whatever_measures_it(measured):
    """Where the shrunk curve rises through a level stretch, a rising curve's band alone leaves it out."""
    rng = np.random.default_rng(15)
    p = rng.random(2000)
    found = assess(rng.random(2000) < 0.5, p, measured=measured, resamples=0)
    band, curve = found.uncertainty.curve, Event(found).curve
    assert (band.low <= band.high).all()
    assert (curve.low <= curve.observed).all()
    assert (curve.observed <= curve.high).all()
