import copy
import json
import math
import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import entropy

from unperplexed import Recalibrator, Tally, assess
from unperplexed.assessment.assess import assess_tally
from unperplexed.assessment.remedy import PythonLine, remaining_lines, untried_remedy
from unperplexed.assessment.settings import AssessmentSettings
from unperplexed.describe.assessment import assessment_document
from unperplexed.recalibration.gain import Baseline, Gain
from unperplexed.report.result import Naming
from unperplexed.scores import log_loss


def forecasts(n, slope=1.0, bias=0.0, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    s = rng.normal(-1, spread, n)
    return rng.random(n) < expit(s), expit(slope * s + bias)


def lines(assessment):
    return "\n".join(str(assessment).split("\n\n")[:2])


@pytest.mark.slow
def test_the_remedy_is_the_fitted_average_with_its_gain():
    y, p = forecasts(3000, slope=2, bias=1)
    remedy, own = assess(y, p, resamples=0).remedy, Recalibrator().fit(y, p)
    assert remedy.gain == own.gain_
    assert remedy.significant
    assert remedy.map.startswith(f"an average of maps, mainly {own.method_}")
    np.testing.assert_allclose(remedy.recalibrator.transform(p[:50]), own.transform(p[:50]), rtol=1e-12)
    in_sample = entropy([y.mean(), 1 - y.mean()])
    assert in_sample < remedy.base_rate < in_sample + 1e-3


@pytest.mark.slow
def test_the_gain_is_that_of_fresh_rows():
    y, p = forecasts(3000, slope=2, bias=1)
    remedy = assess(y, p, resamples=0).remedy
    fresh, q = forecasts(100_000, slope=2, bias=1, seed=1)
    loss = [assess(fresh, x, resamples=0).scores["log_loss"] for x in (q, remedy.recalibrator.transform(q))]
    assert remedy.gain.interval[0] < loss[0] - loss[1] < remedy.gain.interval[1]


def test_calibrated_forecasts_have_none():
    y, p = forecasts(2000)
    assessment = assess(y, p, resamples=0)
    assert assessment.remedy is None
    assert "Recalibrat" not in str(assessment)


def test_few_rows_have_none():
    y, p = forecasts(90, slope=5)
    assessment = assess(y, p, resamples=0)
    assert assessment.diagnosis.miscalibrated
    assert assessment.remedy is None


def test_a_few_surprising_rows_have_none():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.3, 0.7, 500)
    y = rng.random(500) < p
    p[:1], y[:1] = 1.2e-3, True
    assessment = assess(y, p, resamples=0, clusters=None)  # neighbours among these rows err alike by chance (p .001)
    assert assessment.diagnosis.errors == ("rows",)
    assert assessment.remedy is None


@pytest.mark.parametrize(("slope", "determined"), [(0.0, False), (0.5, True)])
def test_a_slope_after_it_is_given_where_recalibrated_predictions_differ(slope, determined):
    """Where outcomes follow from nothing, recalibrated predictions differ by chance, and their slope would be -10."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=500)
    found = assess(rng.random(500) < expit(slope * s + 1), expit(s), resamples=0)
    assert found.advised is not None
    assert math.isnan(found.advised.slope) != determined
    text = " ".join(str(found).split())
    assert (" –" in re.search(r"Calibration slope .{0,40}", text)[0]) != determined
    if determined:
        assert 0.5 < found.advised.slope < 1.5


def test_reversed_forecasts_have_none():
    y, p = forecasts(2000, slope=-1)
    assessment = assess(y, p, resamples=0)
    assert assessment.diagnosis.miscalibrated
    assert assessment.remedy is None


@pytest.mark.slow
def test_of_several_classes_it_is_the_same_average():
    """A class whose extremes are overstated, which neither a temperature nor shifts mend."""
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, (1500, 3))
    truth = (scores * [1, 1, 0.3] + rng.gumbel(size=scores.shape)).argmax(axis=1)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert assess(truth, p, resamples=0).remedy.gain == Recalibrator().fit(truth, p).gain_


def test_text_gives_gain_base_rate_and_code():
    y, p = forecasts(3000, slope=1, bias=3)
    text = " ".join(lines(assess(y, p, resamples=0)).split())
    assert "cross-fitted, 95% CI of the gain" in text
    assert re.search(r"A constant forecast of the base rate scores better \([\d.]+, cross-fitted\)", text)
    assert "recalibrated = Recalibrator().fit(y_true, y_prob).transform(new_y_prob)" in text


def test_zeros_that_occurred_are_named_and_a_constant_forecast_is_better():
    y, p = forecasts(2000, slope=2, bias=1)
    p[np.flatnonzero(y)[0]] = 0
    assessment = assess(y, p, resamples=0)
    assert assessment.scores["log_loss"] == np.inf
    words = assessment.remedy.words
    counted_as = min(0.005 / 2000, np.minimum(p, 1 - p)[p > 0].min())
    assert f"the observed class had probability 0 in 1 row. These zeros count as {counted_as:.3g}" in words
    assert words.index("is infinite") < words.index("reduces the log loss")  # said first
    assert remedy_is_compared_by_the_numbers_beside_it(assessment.remedy)


def remedy_is_compared_by_the_numbers_beside_it(remedy):
    """Whether the constant forecast is called better just where its log loss is below the one before the remedy."""
    return ("scores better" in remedy.words) == (remedy.base_rate < remedy.gain.before)


@pytest.mark.slow
@pytest.mark.parametrize("bias", [0, 1, 3])
def test_a_constant_forecast_is_better_where_its_log_loss_is_smaller(bias):
    y, p = forecasts(1000, slope=2, bias=bias)
    p[np.flatnonzero(y)[0]] = 0
    remedy = assess(y, p, resamples=0).remedy
    assert remedy_is_compared_by_the_numbers_beside_it(remedy)
    assert ("scores better" in remedy.words) == (bias == 3)


@pytest.mark.slow
def test_weights_do_not_change_how_many_rows_assigned_0(rng):
    y, p = forecasts(2000, slope=2, bias=1)
    p[np.flatnonzero(y)[:41]] = 0
    for w in (None, rng.exponential(1, 2000)):
        assert "probability 0 in 41 rows" in assess(y, p, sample_weight=w, resamples=0).remedy.words
        assert Recalibrator().fit(y, p, sample_weight=w).baseline.zeros == 41
        both = np.stack([1 - p, p], axis=1)
        assert Recalibrator().fit(y, both, sample_weight=w).baseline.zeros == 41
        assert Recalibrator().fit(y, p, sample_weight=w, clusters=np.arange(2000) // 2).baseline.zeros == 41


@pytest.mark.parametrize("seed", range(3))
def test_a_constant_is_fitted_to_other_rows_and_no_skill_needs_evidence(seed):
    rng = np.random.default_rng(seed)
    truth, p = rng.integers(0, 30, 150), rng.dirichlet(np.full(30, 0.3), 150) * 0.97 + 0.001
    made = Recalibrator("temperature").fit(truth, p)
    frequencies = np.bincount(truth, minlength=30) / 150
    assert made.baseline.log_loss > entropy(frequencies) + 29 / 300
    assert "show no skill" not in " ".join(remaining_lines(made.gain_, made.baseline))


def test_the_line_of_python_reads_the_rows_as_they_were_assessed():
    y, p = forecasts(1500, slope=2, bias=1)
    sample_weight = np.random.default_rng(1).integers(1, 3, 1500)
    y_true, y_prob = np.where(y, 0, 1), 100 * p
    found = assess(
        y_true, y_prob, pos_label=np.int64(0), sample_weight=sample_weight, scale="percent", resamples=0
    ).remedy
    names = {"y_true": y_true, "y_prob": y_prob, "new_y_prob": y_prob[:9], "sample_weight": sample_weight}
    exec(found.code, {"Recalibrator": Recalibrator}, names)
    np.testing.assert_allclose(names["recalibrated"], found.recalibrator.transform(p[:9]), rtol=1e-9)
    assert found.code.endswith(
        "pos_label=0, sample_weight=sample_weight, scale='percent').transform(new_y_prob, scale='percent')"
    )


@pytest.mark.slow
def test_without_skill_the_base_rate_is_better_even_after():
    rng = np.random.default_rng(0)
    y, p = rng.random(1000) < 0.3, expit(rng.normal(0.5, 0.5, 1000))
    assessment = assess(y, p, resamples=0)
    remedy = assessment.remedy
    assert remedy is None or remedy.gain.after == pytest.approx(remedy.base_rate, abs=0.005)


def test_only_a_significant_gain_is_advised():
    for seed in range(40):
        y, p = forecasts(400, slope=1.25, seed=seed)
        remedy = assess(y, p, resamples=0).remedy
        if remedy is not None and not remedy.significant:
            break
    text = " ".join(remedy.sentences())
    assert text.startswith("The miscalibration is significant, but what recalibration gains is uncertain: 0.0")
    assert not remedy.code
    assert "is not shown to reduce" in replace(remedy, gain=replace(remedy.gain, value=-1e-4)).words


@pytest.mark.slow
def test_a_gain_that_every_half_shows_is_not_lost():
    """A bias of 7 points in 800 rows: p = 0.00005, and maps fitted to half of the rows improve the other half."""
    rng = np.random.default_rng(22)
    s = rng.normal(0, 1.2, 800)
    y, p = rng.random(800) < expit(s + 0.32), expit(s)
    for _ in range(6):
        half, other = np.split(rng.permutation(800), 2)
        q = Recalibrator(folds=5).fit(y[half], p[half]).transform(p[other])
        assert log_loss(y[other], q) < log_loss(y[other], p[other])
    assert assess(y, p, resamples=0).remedy.significant


@pytest.mark.parametrize(
    ("case", "first", "not_said"),
    [
        ((1, 2000, 0), "These rows give no reason to change the probabilities", "Recalibrat"),
        ((2, 2000, 0), "Recalibration (an average of maps, mainly ", "not shown"),
        ((1.25, 400, None), "The miscalibration is significant, but what ", "reduces the log loss"),
        ((-1, 2000, 0), "Check whether the classes are swapped", "reduces the log loss"),
        ((2.5, 90, 2), "Divide the log-odds by ", "reduces the log loss"),
    ],
    ids=["calibrated", "gain", "no gain shown", "swapped", "few rows"],
)
def test_the_first_sentence_of_advice_agrees_with_the_verdict(case, first, not_said):
    slope, n, seed = case
    seeds = range(40) if seed is None else [seed]  # a gain that is not shown is found among some samples
    found = (assess(*forecasts(n, slope=slope, seed=at), resamples=0) for at in seeds)
    a = next(a for a in found if seed is not None or (a.remedy is not None and not a.remedy.significant))
    [advice] = [each for each in assessment_document(a, Naming(), brief=True).actions if each.title == "What to do"]
    assert advice.text.startswith(first), advice.text
    assert not_said not in advice.text
    assert a.diagnosis.miscalibrated == (slope != 1)


@pytest.mark.slow
def test_a_tally_of_two_classes_has_the_same():
    y, p = forecasts(600, slope=2)
    assert assess(Tally.of(y, p), resamples=0).remedy.gain == assess(y, p, resamples=0).remedy.gain


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_are_clusters_of_their_own_have_the_remedy_of_independent_rows(weighted):
    y, p = forecasts(600, slope=2)
    weights = np.random.default_rng(1).uniform(0.5, 2, 600) if weighted else None
    reading = {"sample_weight": weights, "resamples": 0}
    alone, own = (assess(y, p, clusters=g, **reading).remedy for g in (None, np.arange(600)))
    assert own.significant
    assert own.to_dict() == alone.to_dict()


def test_clusters_widen_the_interval():
    y, p = (np.repeat(x, 5) for x in forecasts(600, slope=2))
    alone, grouped = (assess(y, p, clusters=g, resamples=0).remedy for g in (None, np.arange(3000) // 5))
    widths = [np.diff(remedy.gain.interval)[0] for remedy in (alone, grouped)]
    assert widths[1] > 1.5 * widths[0]


@pytest.mark.slow
def test_json_and_copies_keep_it():
    y, p = forecasts(1000, slope=2)
    assessment = assess(y, p, resamples=0)
    plain = json.loads(assessment.to_json())["remedy"]
    assert plain["advised"] is True
    gain = plain["gain"]
    assert gain["value"] == pytest.approx(gain["before"] - gain["after"])
    assert sum(plain["weights"].values()) == pytest.approx(1)
    for same in (copy.deepcopy(assessment), pickle.loads(pickle.dumps(assessment))):
        assert same.remedy.gain == assessment.remedy.gain
    assert json.loads(assess(*forecasts(2000), resamples=0).to_json())["remedy"] is None


@pytest.mark.slow
def test_a_small_probability_beside_a_rounded_1_is_no_zero(rng):
    """Of two columns in single precision one may be 1 where the other is not 0."""
    s = rng.normal(0, 4, 2000)
    y = (rng.random(s.size) < 1 / (1 + np.exp(-s))).astype(int)
    p = np.stack([1 / (1 + np.exp(1.5 * s)), 1 / (1 + np.exp(-1.5 * s))], axis=1).astype(np.float32)
    y[np.argmax(p[:, 1])] = 0
    assert p[:, 1].max() == 1
    for found in (assess(y, p, floor=0, resamples=0), assess(1 - y, p[:, ::-1], floor=0, resamples=0)):
        assert np.isfinite(found.scores["log_loss"])
        assert "infinite" not in found.remedy.words


@pytest.mark.slow
def test_many_rows_in_clusters_are_not_recalibrated_unasked(rng, monkeypatch):
    s = rng.normal(0, 2, 400)
    y, p = rng.random(s.size) < 1 / (1 + np.exp(-s)), 1 / (1 + np.exp(-3 * s))
    groups = np.arange(s.size) // 2
    assert assess(y, p, clusters=groups, resamples=0).remedy is not None
    monkeypatch.setattr("unperplexed.assessment.remedy.MOST_CLUSTERED", 399)
    assert assess(y, p, clusters=groups, resamples=0).remedy is None
    assert assess(y, p, resamples=0).remedy is not None


@pytest.mark.slow
def test_a_bias_for_each_class_is_named():
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 1, (3000, 3))
    truth = (scores + np.array([1.0, 0.0, -1.0]) + rng.gumbel(size=scores.shape)).argmax(axis=1)
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    remedy = assess(np.array(["a", "b", "c"])[truth], p, labels=["a", "b", "c"], resamples=0).remedy
    assert re.search(r"mainly bias: a shift for each class, −[\d.]+ for 'c' to \+[\d.]+ for 'a'", remedy.map), (
        remedy.map
    )
    assert "a shift for each class" in str(remedy.recalibrator)


def test_a_fit_that_takes_long_is_named_and_not_tried(rng, monkeypatch):
    scores = rng.normal(0, 2, (500, 4))
    truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    p = np.exp(2 * scores) / np.exp(2 * scores).sum(axis=1, keepdims=True)
    assert assess(truth, p, resamples=0).untried_remedy is None
    monkeypatch.setattr("unperplexed.assessment.remedy.MOST_PROBABILITIES", 1999)
    found = assess(truth, p, resamples=0)
    assert found.remedy is None
    assert found.untried_remedy.code == "recalibrated = Recalibrator().fit(y_true, y_prob).transform(new_y_prob)"
    assert found.untried_remedy.code in str(found)
    assert "not computed here (2,000 probabilities)" in " ".join(str(found).split())
    assert pickle.loads(pickle.dumps(found)).untried_remedy == found.untried_remedy
    honest = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert assess(truth, honest, resamples=0).untried_remedy is None


def test_a_slope_beside_a_tail_term_does_not_reverse_forecasts():
    """Confidences in steps of 5% between .55 and 1, too high by 12 points: named as slope and tail together."""
    rng = np.random.default_rng(2)
    hard = rng.normal(size=500)
    rng.uniform(size=1000)
    right = rng.uniform(size=500) < expit(1.3 + 1.2 * hard)
    rng.uniform(size=500)
    found = assess(right, (20 * expit(2.1 + 0.6 * hard)).round() / 20, resamples=0)
    assert found.remedy.significant
    text = " ".join(str(found).split())
    mean, frequency = found.bias.mean_reported, found.bias.frequency
    means = f"mean prediction {mean:.1%}, observed frequency {frequency:.1%}"
    assert text.startswith(f"Overpredicts 'True' ({means})")


@pytest.mark.parametrize(
    ("base", "interval", "words"),
    [
        (0.70, (0.1, 0.3), "Better predictors may reduce the rest."),
        (0.55, (0.01, 0.1), "than these forecasts, but worse than the recalibrated ones."),
        (0.55, (-0.01, 0.1), "not significantly different from the recalibrated ones: there is no evidence of skill."),
        (0.45, (-0.1, -0.02), "even than the recalibrated forecasts: the predictors show no skill."),
        (0.49, (-0.04, 0.02), "not significantly different from the recalibrated ones: there is no evidence of skill."),
    ],
)
def test_what_is_left_depends_on_a_constant_forecast(base, interval, words):
    gain = Gain(0.6, 0.5, 0.1, (0.05, 0.15), 1000)
    [line] = remaining_lines(gain, Baseline(base, interval, 0, 0.001))
    assert line.endswith(words)
    assert [*remaining_lines(replace(gain, interval=(-0.1, 0.3)), Baseline(base, interval, 0, 0.001))] == []


def test_clusters_of_a_tally_have_no_remedy_without_their_rows():
    y, p = forecasts(600, slope=3)
    found = assess(Tally.of(y, p, clusters=np.arange(600) // 2, parts=["shards"]), resamples=0)
    assert found.diagnosis.miscalibrated
    assert found.remedy is None


@pytest.mark.slow
@pytest.mark.parametrize("sd", [3, 40])
def test_large_logits_have_the_gain_of_their_rows(rng, sd):
    s = rng.normal(0, sd, 1000)
    y = rng.random(1000) < 1 / (1 + np.exp(-s / sd))
    remedy = assess(y, s, scale="logits", resamples=0).remedy
    assert remedy.gain.value == pytest.approx(Recalibrator().fit(y, s, scale="logits").gain_.value, rel=1e-9)


def test_two_classes_are_recalibrated_unasked_however_many_rows_there_are():
    """Their fit is to counts: a billion rows take no longer than few."""
    tally = Tally.of([1, 0, 0, 0] * 50, [0.5] * 200)
    found = assess_tally(tally, AssessmentSettings(resamples=0))
    for _ in range(25):
        tally = tally + tally
    assert tally.n_rows > 1e9
    assert found.diagnosis.errors == ("bias",)
    assert untried_remedy(found.diagnosis, tally, list, PythonLine()) is None
