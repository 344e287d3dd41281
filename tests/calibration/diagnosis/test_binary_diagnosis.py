"""The diagnosis of two classes: laws, planted errors, remedies that work, rows and counts that agree."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import chi2, norm

from helpers import averages_text
from unperplexed import InputError, Tally, assess, diagnose
from unperplexed.assessment.remedy import mendable
from unperplexed.calibration.diagnosis.kind import OfTwo
from unperplexed.calibration.diagnosis.kinds import KINDS
from unperplexed.calibration.diagnosis.result import Detectable
from unperplexed.calibration.diagnosis.words import finding_of_two
from unperplexed.maps.cells import NO_PRIOR, Cells, Counts, fitted_cells
from unperplexed.statistics.tails import weighted_chi2_sf


def planted(rng, n, bias=0.0, confidence=0.0, asymmetry=0.0, tail=0.0, noise=0.0, sd=2.0):
    """Outcomes, and predictions whose calibrated log-odds are off by the errors."""
    s = rng.normal(0, sd, n)
    h = np.sign(s) * ((1 + np.abs(s)) * np.log1p(np.abs(s)) - np.abs(s))
    t = s + bias + confidence * s + asymmetry * np.abs(s) + tail * h
    return (rng.random(n) < (1 - noise) * expit(t) + noise / 2).astype(int), expit(s)


ERRORS = {
    "bias": {"bias": 0.5},
    "confidence": {"confidence": -0.4},
    "asymmetry": {"asymmetry": 0.4},
    "noise": {"noise": 0.1},
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_planted_error_is_named_and_measured(rng, name):
    y, p = planted(rng, 20_000, **ERRORS[name])
    found = diagnose(y, p)
    assert found.errors == (name,)
    (value,) = ERRORS[name].values()
    assert found.findings[0].parameter == pytest.approx(value, abs=0.1)
    low, high = found.findings[0].interval
    assert name == "noise" or low < value < high
    assert found.findings[0].p_value < 1e-6
    assert found.findings[0].words.lower() in found.verdict.lower()


def test_two_errors_at_once_are_both_named_and_their_gains_add_up(rng):
    y, p = planted(rng, 20_000, bias=0.5, confidence=0.5)
    found = diagnose(y, p)
    assert set(found.errors) == {"bias", "confidence"}
    assert sum(finding.cost for finding in found.findings) == pytest.approx(found.cost, abs=1e-12)
    assert found.findings[0].cost >= found.findings[1].cost > 0


@pytest.mark.slow
def test_a_gain_is_what_the_remedy_brings_on_other_rows(rng):
    for name, error in ERRORS.items():
        y, p = planted(rng, 20_000, **error)
        found = diagnose(y, p).findings[0]
        fresh_y, fresh_p = planted(rng, 200_000, **error)
        s = logit(fresh_p)
        mended = {
            "bias": lambda x, s=s: expit(s + x),
            "confidence": lambda x, s=s: expit(s * (1 + x)),
            "asymmetry": lambda x, s=s: expit(s + x * np.abs(s)),
            "noise": lambda x, q=fresh_p: (1 - x) * q + x / 2,
        }[name](found.parameter)
        gained = np.where(fresh_y, np.log(mended / fresh_p), np.log((1 - mended) / (1 - fresh_p)))
        assert gained.mean() > 5 * gained.std() / math.sqrt(gained.size)
        assert found.cost == pytest.approx(gained.mean(), rel=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.5])
def test_clusters_of_dependent_rows_do_not_look_miscalibrated(rng, correlation):
    found = []
    for _ in range(60):
        cluster = np.repeat(np.arange(60), 10)
        s = np.repeat(rng.normal(0, 1, 60), 10)
        common, own = np.repeat(rng.normal(0, 1, 60), 10), rng.normal(0, 1, 600)
        level = norm.cdf(math.sqrt(correlation) * common + math.sqrt(1 - correlation) * own)
        found.append(diagnose((level < expit(s)).astype(int), expit(s), clusters=cluster, labels=(0, 1)).miscalibrated)
    assert np.mean(found) < 0.15  # 60 samples: standard error 0.028


@pytest.mark.slow
def test_order_changes_nothing_and_swapping_the_classes_mirrors_the_findings(rng):
    y, p = planted(rng, 5000, bias=0.4, confidence=-0.3)
    here, there = diagnose(y, p), diagnose(y[::-1].copy(), p[::-1].copy())
    assert here.errors == there.errors
    assert here.p_value == pytest.approx(there.p_value, rel=1e-9)
    other = diagnose(1 - y, 1 - p)
    assert other.p_value == pytest.approx(here.p_value, rel=1e-6)
    assert set(other.errors) == set(here.errors)
    values = [{f.error: f.parameter for f in d.findings} for d in (here, other)]
    assert values[1]["bias"] == pytest.approx(-values[0]["bias"], abs=1e-6)
    assert values[1]["confidence"] == pytest.approx(values[0]["confidence"], abs=1e-6)


@pytest.mark.slow
def test_neither_verdict_nor_slope_is_random(rng):
    y, p = planted(rng, 2000, tail=0.3)
    assert diagnose(y, p) == diagnose(y, p)
    draw, n = np.random.default_rng([101, 109]), 15_747  # verdicts of the slope's interval fell either way by the seed
    s = draw.normal(0.3, 0.75, n)
    y, p = (draw.random(n) < expit(1.09 * s)).astype(int), expit(s).round(4)
    found = [assess(y, p, seed=seed, resamples=40) for seed in range(6)]
    assert {a.verdict for a in found} == {"Underconfident (calibration slope 1.05, 95% CI 1.00 to 1.11)."}
    assert len({a.averages_slope for a in found}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_values_and_cells_agree(rng, weighted):
    for error in ({}, ERRORS["bias"], ERRORS["asymmetry"]):
        y, p = planted(rng, 10_000, **error)
        w = rng.exponential(size=y.size) + 0.1 if weighted else None
        rows = diagnose(y, p, sample_weight=w)
        assert rows.by == "rows"
        for limit, tolerance, by in ((1 << 16, 1e-9, "values"), (10, 2e-3, "cells")):
            found = diagnose(Tally.of(y, p, sample_weight=w, exact_limit=limit))
            assert found.by == by
            assert found.errors == rows.errors
            assert found.p_value == pytest.approx(rows.p_value, abs=tolerance)
            for mine, theirs in zip(found.findings, rows.findings, strict=True):
                assert mine.parameter == pytest.approx(theirs.parameter, abs=1e-5 if limit > 10 else 1e-3)


@pytest.mark.slow
def test_tallies_of_parts_add_up_to_the_diagnosis_of_the_whole(rng):
    y, p = planted(rng, 3000, bias=0.3)
    for limit in (1 << 16, 100):
        parts = [Tally.of(y[i], p[i], labels=(0, 1), exact_limit=limit) for i in np.array_split(np.arange(3000), 7)]
        whole = Tally.of(y, p, exact_limit=limit)
        assert diagnose(sum(parts, Tally())) == diagnose(whole) == diagnose(Tally.from_bytes(whole.to_bytes()))


@pytest.mark.slow
def test_weight_2_is_the_row_twice_for_what_is_fitted(rng):
    y, p = planted(rng, 4000, bias=0.5)
    w = rng.integers(1, 4, y.size)
    names = ["bias", "slope", "tail"]
    fits = []
    for data in (Tally.of(y, p, sample_weight=w), Tally.of(np.repeat(y, w), np.repeat(p, w))):
        columns = data.positive
        counts = Counts(logit(columns.p), columns.total, columns.positive)
        fits.append(fitted_cells(Cells(counts, names), NO_PRIOR).theta)
    assert fits[0] == pytest.approx(fits[1], abs=1e-9)
    weighted = diagnose(y, p, sample_weight=w)
    twice = diagnose(np.repeat(y, w), np.repeat(p, w), clusters=None)
    assert weighted.p_value > twice.p_value  # of fewer independent rows
    assert diagnose(y, p, sample_weight=w * 1e6).p_value == pytest.approx(weighted.p_value, rel=1e-9)


def test_equal_weights_are_none(rng):
    y, p = planted(rng, 500)
    assert diagnose(y, p, sample_weight=np.full(500, 3.0)) == diagnose(y, p)


def test_the_certain_and_wrong_are_told_apart(rng):
    y, p = planted(rng, 500)
    p[7], y[7] = 1e-12, 1
    found = diagnose(y, p)
    assert found.errors[0] == "certainty"
    assert found.findings[0].rows == (7,)
    assert "ertain and wrong once" in found.verdict
    assert found.findings[0].p_value < 1e-9
    p[8], y[8] = 0.0, 1
    assert "ertain and wrong twice" in diagnose(y, p).verdict


def test_of_many_that_were_certain_and_wrong_the_worst_are_named(rng):
    y, p = planted(rng, 500)
    p[:30], y[:30] = 10.0 ** -np.arange(7, 22, 0.5), 1  # the later, the worse
    p[30:32], y[30:32] = 1.0, 0
    assert diagnose(y, p).findings[0].rows == (30, 31, *range(29, 11, -1))


def test_certain_and_right_is_no_error(rng):
    y, p = planted(rng, 500)
    p[:50], y[:50] = 0.0, 0
    p[50:90], y[50:90] = 1.0, 1
    assert not diagnose(y, p).miscalibrated


def test_one_surprise_that_carries_all_the_evidence_is_told(rng):
    s = np.concatenate([rng.normal(-10.5, 0.2, 500), rng.normal(0, 1, 500)])
    y = np.concatenate([np.zeros(500, int), (rng.random(500) < expit(s[500:])).astype(int)])
    y[3] = 1
    found = diagnose(y, expit(s))
    assert found.errors == ("rows",)
    assert found.findings[0].rows == (3,)
    assert "carries all the evidence" in found.verdict


def test_all_of_two_or_three_rows_may_be_surprising():
    for p in ([0.05, 0.07], [0.05, 0.07, 0.06]):
        found = diagnose([1] * len(p), p, labels=[0, 1], clusters=None)
        assert found.errors == ("rows",)
        assert found.findings[0].parameter == len(p)


def test_a_shape_without_a_name_is_found(rng):
    s = rng.normal(0, 2, 20_000)
    t = s + 0.5 * np.sin(3 * s)
    found = diagnose((rng.random(s.size) < expit(t)).astype(int), expit(s))
    assert found.p_value < 0.01
    assert "Miscalibrated beyond the errors named here, which explain the smaller part (p < 0.001);" in found.verdict
    assert found.errors == ("shape",) or found.rest_p_value < 0.01


@pytest.mark.slow
def test_a_tail_that_turns_leaves_no_rest(rng):
    """Predictions reach beyond the log-odds 2.4, where this map turns: the map is taken out as it was fitted."""
    rest = []
    for _ in range(10):
        s = rng.normal(0, 3, 10_000).clip(-4.6, 4.6)
        t = 1.6 * s - 1.3 * np.sign(s) * ((1 + np.abs(s)) * np.log1p(np.abs(s)) - np.abs(s))
        found = diagnose((rng.random(s.size) < expit(t)).astype(int), expit(s))
        assert {"confidence", "tail"} <= set(found.errors)
        rest.append(found.rest_p_value)
    assert min(rest) > 0.001
    assert np.median(rest) > 0.2


def test_separated_outcomes_end_in_no_warning():
    for y, p in (
        ([1, 1], [3.54e-172, 0.5]),
        ([1] * 20, [0.5] * 20),
        ([0] * 50 + [1] * 50, [0.4] * 50 + [0.6] * 50),
        ([0, 1], [0.0, 1.0]),
        ([1], [0.3]),
    ):
        found = diagnose(y, p, labels=(0, 1))
        assert found.made
        for finding in found.findings:
            assert math.isfinite(finding.parameter)
    separated = diagnose([0] * 50 + [1] * 50, [0.4] * 50 + [0.6] * 50)
    assert "not determined" in separated.verdict


@pytest.mark.slow
def test_what_is_not_determined_is_not_given_as_a_number(rng):
    s = rng.normal(0, 2, 1000)
    steps = [
        (np.ones(50, int), np.full(50, 0.3)),  # one class only
        ((s > 0).astype(int), expit(0.01 * s)),  # the fit ends at its bound, with outcomes still uncertain
        ((s > 0.5).astype(int), expit(s)),
    ]
    for y, p in steps:
        found = diagnose(y, p, labels=(0, 1))
        text = found.to_text(columns=1000)
        assert found.miscalibrated
        assert not any(number in text for number in ("51", "+50", "−50", "+2", "95% CI", "Mended together, pred"))


@pytest.mark.slow
def test_remedies_are_told_in_the_order_in_which_they_are_applied(rng):
    found = diagnose(*planted(rng, 20_000, bias=0.5, confidence=0.5))
    remedy = {finding.error: finding.remedy for finding in found.findings}
    assert set(remedy) == {"bias", "confidence"}
    assert ", after multiplying the log-odds. Fit" in remedy["bias"]
    assert "after" not in remedy["confidence"].replace("Fit this", "")
    found = diagnose(*planted(rng, 50_000, bias=0.4, noise=0.1))
    assert [finding.remedy.count("after") for finding in found.findings if finding.error == "noise"] == [1]
    assert [finding.remedy.count("after") for finding in found.findings if finding.error == "bias"] == [0]


def test_errors_that_only_a_joint_fit_mends_have_one_remedy(rng):
    s = rng.normal(0, 2, 3000)
    found = diagnose((rng.random(s.size) < expit(s**3 / 3)).astype(int), expit(s))
    assert {"confidence", "tail"} <= set(found.errors)
    text = found.to_text(columns=1000)
    assert text.count("Remedy") == 1
    assert "Remedy  Mend these errors together" in text
    assert "Mended together, predictions would move" in text


@pytest.mark.slow
def test_a_slope_of_0_or_less_is_no_matter_of_temperature(rng):
    found = diagnose(*planted(rng, 2000, confidence=-1.5)).findings[0]
    assert found.error == "confidence"
    assert "swapped" in found.remedy
    found = diagnose(*planted(rng, 2000, confidence=-1)).findings[0]
    assert found.error == "confidence"
    assert "no relation" in found.remedy
    assert "emperature" not in found.remedy


def test_nothing_is_said_of_a_slope_that_predictions_cannot_show():
    text = diagnose([0, 1] * 50, [0.5] * 100, labels=(0, 1)).to_text(columns=1000)
    assert "\n100 rows detect only a bias of 0.64 in log-odds or more (80% power).\n" in text
    assert "\n1 row detects only " in diagnose([1], [0.6], labels=(0, 1)).to_text(columns=1000)


@pytest.mark.parametrize("centre", [0, -3])
def test_a_slope_that_the_rows_detect_is_one_about_its_level(rng, centre):
    """Its standard error is that of a regression with an intercept: the level of rare events hides most of a slope."""
    s = rng.normal(centre, 1, 1000)
    seen = diagnose((rng.random(1000) < expit(s)).astype(int), expit(s), labels=(0, 1)).detectable
    v = expit(s) * expit(-s)
    known = np.linalg.inv(np.array([[v.sum(), v @ s], [v @ s, v @ s**2]]))[1, 1]
    assert seen.slope == pytest.approx(3.2 * math.sqrt(known), rel=1e-6)


def test_clusters_hide_a_bias_but_not_a_slope_of_predictions_that_they_do_not_share(rng):
    cluster, s = np.repeat(np.arange(100), 20), rng.normal(0, 2, 2000)
    level = norm.cdf(math.sqrt(0.5) * rng.normal(size=100)[cluster] + math.sqrt(0.5) * rng.normal(size=2000))
    y, p = (level < expit(s)).astype(int), expit(s)
    plain, clustered = (diagnose(y, p, clusters=groups, labels=(0, 1)).detectable for groups in (None, cluster))
    assert clustered.bias > 2 * plain.bias
    assert clustered.slope < 1.8 * plain.slope


def test_small_errors_of_many_rows_are_not_rounded_away():
    seen = replace(diagnose([0, 1], [0.4, 0.6], labels=(0, 1)), detectable=Detectable(0.0071, 0.0052))
    assert "or, with the level right, a calibration slope below 0.9948 or above 1.0052 (80% power).\n" in seen.to_text(
        columns=1000
    )

    def finding(error, frequency):
        kinds, known = [KINDS[error]], {"slope": 1.0042, "temperature": 1 / 1.0042, "all_rows": True}
        fitted = OfTwo(0.0042, (0.0021, 0.0063), kinds, False, "'1'", 0.5, frequency, **known)
        return finding_of_two(error, replace(fitted, constant=0.0042 * (error == "bias")), 0.01, 0.01, 1)

    found = finding("confidence", 0.5)
    assert found.words == "underconfident (calibration slope 1.0042, 95% CI 1.0021 to 1.0063)"
    assert found.remedy.startswith("Divide the log-odds by 0.9958 ")
    assert finding("bias", 0.51).remedy.startswith("Add +0.0042 to")


@pytest.mark.slow
def test_what_could_have_been_seen_is_seen_in_four_samples_of_five(rng):
    """Of a bias; of a slope see test_level."""
    seen = diagnose(*planted(rng, 1000)).detectable
    found = [diagnose(*planted(rng, 1000, bias=seen.bias)).miscalibrated for _ in range(60)]
    assert 0.55 < np.mean(found) < 0.95


def test_without_rows_or_of_an_earlier_tally_there_is_none(rng):
    with pytest.raises(InputError, match="no rows"):
        diagnose(Tally())
    with pytest.raises(InputError, match="y_prob"):
        diagnose([1, 0])
    with pytest.raises(InputError, match="clusters"):
        diagnose(Tally.of([1, 0], [0.5, 0.4]), clusters=[1, 2])


class TestConclusions:
    """What a user is told in the cases that were told wrongly."""

    @pytest.mark.slow
    def test_fraud_that_is_overpredicted_is_called_so(self, rng):
        s = rng.normal(-4, 1.3, 6000)
        y, p = (rng.random(6000) < expit(s)).astype(int), expit(s + 3.3)
        result = assess(np.where(y, "fraud", "legit"), p, pos_label="fraud", resamples=40)
        assert result.view == "each-class"
        assert result.verdict.startswith("Overpredicts 'fraud' (mean prediction ")
        assert result.divergence_probability < 0.75
        assert "verconfident" not in result.diagnosis.findings[0].words
        assert str(result).startswith("Overpredicts 'fraud'")

    @pytest.mark.slow
    def test_a_bias_of_point_eight_is_no_overconfidence(self, rng):
        s = rng.normal(0, 1.5, 20_000)
        y, p = (rng.random(s.size) < expit(s)).astype(int), expit(s + 0.8)
        result = assess(y, p, resamples=0)
        assert result.diagnosis.errors == ("bias",)
        assert result.diagnosis.findings[0].parameter == pytest.approx(-0.8, abs=0.06)
        truth = assess(y, expit(s), resamples=0)
        for mean in ("decisiveness", "geometric_accuracy", "robustness"):
            assert getattr(result.measured, mean) == pytest.approx(getattr(truth.measured, mean), abs=2e-3)
        assert result.divergence_probability == pytest.approx(0.946, abs=0.015)
        assert assess(y, p, view="all-classes", resamples=0).divergence_probability > 0.98  # which hides it

    @pytest.mark.slow
    def test_no_floor_or_estimator_changes_the_verdict(self, rng):
        y, p = planted(rng, 2000, confidence=-0.3)
        p[:60], y[:60] = 0.0, rng.random(60) < 0.1
        verdicts = {
            assess(y, p, floor=floor, measured=measured, resamples=0).verdict
            for floor in (0.0, 1e-6, 0.005, 0.05)
            for measured in ("shrunk-isotonic", "equal-population")
        }
        assert len(verdicts) == 1
        assert "ertain and wrong" in verdicts.pop()
        assert "assigned to" in averages_text(assess(y, p, floor=0, resamples=0))

    def test_a_label_with_brackets_is_told_whole(self, rng):
        y, p = planted(rng, 2000, bias=0.5)
        found = diagnose(np.where(y, "rain (any)", "dry"), p, pos_label="rain (any)")
        assert found.headline == "Underpredicts 'rain (any)'"

    def test_no_evidence_says_what_could_have_been_seen(self, rng):
        text = str(assess(*planted(rng, 300), resamples=0))
        assert text.startswith("No evidence of miscalibration (n = 300, p = ")
        assert "(80% power)" in " ".join(text.split())


def test_the_saddlepoint_is_right_where_the_distribution_is_known():
    for x in (0.5, 3.0, 20.0, 80.0):
        assert weighted_chi2_sf(x, np.ones(5)) == pytest.approx(chi2.sf(x, 5), rel=1e-12)
        # Two pairs: P(2 E_1 + 4 E_2 > x) with E exponential, by partial fractions.
        exact = 2 * math.exp(-x / 4) - math.exp(-x / 2)
        assert weighted_chi2_sf(x, np.array([1.0, 1.0, 2.0, 2.0])) == pytest.approx(exact, rel=0.05)


def test_a_bias_that_the_slope_offsets_states_it(rng):
    """Equal means: the finding names no over- or underprediction, and the verdict leaves the bias to the slope."""
    t = rng.normal(-1.2, 1.5, size=40_000)
    p, truth = expit(t), expit(1.6 * t + 0.36)
    order = np.argsort(rng.uniform(size=t.size) ** (1 / truth))
    y = np.zeros(t.size, dtype=int)
    y[order[-round(p.sum()) :]] = 1
    found = diagnose(y, p)
    [bias] = [each for each in found.findings if each.error == "bias"]
    mean = f"{p.mean():.1%}"
    assert bias.words == f"misshaped (mean prediction {mean}, observed frequency {mean})"
    assert "underconfident" in found.verdict.lower()
    assert not {"biased", "misshaped", "predicts"} & {*found.verdict.lower().split()}


@pytest.mark.parametrize(
    ("side", "level"), [(1, 0.0), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((-1, 0.0), (1, -3.0)))]
)
def test_forecasts_whose_slope_is_surely_below_0_point_away(side, level):
    """On one side they are nearly right, so that an asymmetry, a tail or a lapse may fit better than a slope."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        s = rng.normal(level, 1.5, 300)
        y = rng.random(300) < expit(-0.6 * (s - level) + side * 0.5 * np.abs(s) - level)
        found = diagnose(y, expit(s))
        if found.slope.interval.high < 0:
            assert "ointing away from the outcomes" in found.verdict
            assert all("swapped" in each.advice.text for each in found.findings)
            assert not mendable(found.findings)
    assert found.slope.interval.high < 0


@pytest.mark.parametrize("seed", [17, 23, 24])
def test_a_bias_beside_other_errors_has_the_sign_of_observed_less_predicted(seed):
    """Beside an asymmetry, or a tail, its own coefficient is that at even odds, where hardly any row may be."""
    rng = np.random.default_rng(seed)
    s, error = rng.normal(-2, 2, 1000), -0.5 if seed % 2 else 0.5
    y = rng.random(s.size) < expit(s + error * (np.abs(s) - 0.4))
    found = diagnose(y, expit(s))
    assert {*found.errors} == {"asymmetry", "bias"}
    [bias] = [each for each in found.findings if each.error == "bias"]
    assert bias.parameter * (y.mean() - expit(s).mean()) > 0
    assert bias.interval[0] < bias.parameter < bias.interval[1]


@pytest.mark.slow
def test_weighted_rows_that_were_certain_and_wrong_are_counted_and_listed(rng):
    s = rng.normal(0, 2, 800)
    p, w = expit(s), rng.exponential(size=800) + 0.05
    y = (rng.random(800) < p).astype(int)
    p[:30], y[:30], y[:6] = 1e-9, 0, 1
    result = assess(y, p, sample_weight=w, resamples=0)
    of_rows = diagnose(y, p, sample_weight=w).verdict
    assert of_rows.startswith("Certain and wrong 6 times (fewer than 0.01 expected in 30 rows predicted as certain)")
    assert result.verdict.startswith("Certain and wrong 6 times (")
    assert " rows predicted as certain, by weight)" in result.verdict  # sums of weights give effective numbers
    assert all(f" {row} (assigned 1e-09)" in " ".join(str(result).split()) for row in range(6))


@pytest.mark.parametrize("classes", [2, 3])
def test_of_one_outcome_neither_skill_nor_a_recalibration_is_judged(rng, classes):
    p = rng.dirichlet(np.ones(classes), 300)
    result = assess(np.ones(300, dtype=int), p, labels=range(classes), resamples=0)
    assert result.one_outcome
    assert result.remedy is None
    for text in (str(result), result.to_html()):
        assert "All rows have the same outcome, so that neither skill nor a" in " ".join(text.split())
        assert "no skill" not in text
        assert "Recalibrator" not in text
