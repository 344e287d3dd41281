"""Metrics after a remedy: those of the raw forecasts for the identity, those of fresh rows for a map, printed."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from unperplexed import Recalibrator, Tally, assess
from unperplexed.assessment.familiar import familiar_metrics
from unperplexed.assessment.remedy import after_remedy


def binary(n, seed=0, slope=1.8, bias=0.4):
    rng = np.random.default_rng(seed)
    s = rng.normal(-0.5, 2, n)
    return rng.random(n) < expit(s), expit(slope * s + bias)


def classes(n, seed=0, slope=2.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, (n, 4))
    return (z + rng.gumbel(size=z.shape)).argmax(axis=1), softmax(slope * z, axis=1)


def check_equal(after, y, p, tolerance, **reading):
    raw, familiar = assess(y, p, resamples=0, **reading), familiar_metrics(Tally.of(y, p, **reading))
    expected = {
        "log_loss": raw.scores["log_loss"],
        "brier_score": raw.scores["brier_score"],
        "decisiveness": raw.reported.decisiveness,
        "geometric_accuracy": raw.reported.geometric_accuracy,
        "robustness": raw.reported.robustness,
        "accuracy": raw.prediction_accuracy,
        "slope": familiar.slope.value,
        "ece": familiar.ece.value,
    }
    for name, value in expected.items():
        assert getattr(after, name) == pytest.approx(value, **tolerance), name
    return raw


@pytest.mark.parametrize("made", [binary, classes])
@pytest.mark.parametrize("weighted", [False, True])
def test_after_the_identity_all_metrics_are_those_of_the_forecasts(made, weighted):
    y, p = made(700)
    reading = {"sample_weight": np.random.default_rng(1).uniform(0.5, 2, y.size)} if weighted else {}
    found = Recalibrator("identity").fit(y, p, **reading).held_out
    two = made is binary
    check_equal(after_remedy(found, 0.01 / (2 if two else 4), "floor", two=two), y, p, {"rel": 1e-7}, **reading)


@pytest.mark.slow
@pytest.mark.parametrize("made", [binary, classes])
def test_after_a_remedy_metrics_are_those_of_fresh_rows_and_of_the_gain(made):
    y, p = made(4000)
    remedy = assess(y, p, resamples=0).remedy
    assert remedy.after.log_loss == pytest.approx(remedy.gain.after, rel=1e-9)
    fresh, q = made(30_000, seed=1)
    check_equal(remedy.after, fresh, remedy.recalibrator.transform(q), {"abs": 0.03})
    assert remedy.after.ece < familiar_metrics(Tally.of(y, p)).ece.value / 2
    assert remedy.after.slope == pytest.approx(1, abs=0.1)


def test_clusters_of_one_row_and_a_tally_give_the_metrics_of_the_rows():
    y, p = binary(800)
    rows = Recalibrator("logistic").fit(y, p).held_out
    tally = Recalibrator("logistic").fit(Tally.of(y, p)).held_out
    of_rows = after_remedy(rows, 0.005, "floor", two=True)
    assert after_remedy(tally, 0.005, "floor", two=True) == of_rows
    clustered = Recalibrator("logistic").fit(y, p, clusters=np.arange(800)).held_out
    for name, value in vars(after_remedy(clustered, 0.005, "floor", two=True)).items():
        assert value == pytest.approx(getattr(of_rows, name), abs=0.02)


@pytest.mark.slow
def test_text_json_and_page_have_the_column():
    y, p = binary(3000)
    assessment = assess(y, p, resamples=0)
    after = assessment.advised
    assert assessment.to_dict()["remedy"]["after"] == vars(after)
    text = " ".join(str(assessment).split())
    for name, value in (
        ("Brier score", f"{after.brier_score:.3f}"),
        ("Calibration error (ECE)", f"{after.ece:.3f}"),
        ("Calibration slope", f"{after.slope:.3f}"),
    ):
        line = next(line for line in str(assessment).splitlines() if line.startswith(name))
        assert value in line.split(), name
    assert f"{100 * after.accuracy:.1f}%" in text
    page = assessment.to_html()
    assert page.count(f"{after.brier_score:.3f}") >= 1
    assert page.count(f"{after.geometric_accuracy:.3f}") >= 1


def test_where_no_remedy_is_advised_the_column_is_empty():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 500)
    assessment = assess(rng.random(500) < p, p, resamples=0)
    assert assessment.advised is None
    assert "remedy" not in str(assessment).split("Brier score")[0].lower()


def test_a_constant_forecast_has_no_calibration_to_measure_after_its_remedy():
    """Only the folds' maps differ, and each is off its own fold's frequency by chance."""
    y = np.random.default_rng(0).integers(0, 2, 200)
    after = assess(y, np.full(200, 0.4), resamples=0).remedy.after
    assert np.isnan([after.slope, after.ece]).all()
    assert after.log_loss == pytest.approx(0.693, abs=0.002)


def test_one_outcome_has_no_slope_after_a_remedy():
    _, p = binary(200)
    found = Recalibrator("identity").fit(np.ones(200, int), p, labels=[0, 1]).held_out
    after = after_remedy(found, 0.01, "floor", two=True)
    assert np.isnan(after.slope)
    assert after.log_loss == pytest.approx(-np.log(p).mean())
