"""Calibration slope and intercept: one computation, its errors, and the same digits wherever they are shown."""

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from scipy.stats import t as student

from helpers import module_of
from unperplexed import Tally, assess, compare, diagnose
from unperplexed.calibration.diagnosis.binary_data import data_of_rows
from unperplexed.calibration.diagnosis.class_rows import RowBlock
from unperplexed.calibration.diagnosis.kind import OfTwo
from unperplexed.calibration.diagnosis.kinds import KINDS
from unperplexed.calibration.diagnosis.line import CalibrationLine, Coefficient, calibration_line
from unperplexed.calibration.diagnosis.words import finding_of_two
from unperplexed.cli import main

ROOT = Path(__file__).parents[3]


def sample(rng, n=800, temperature=1.6, shift=0.0):
    s = rng.normal(0, 2, n)
    return (rng.random(n) < expit(s / temperature + shift)).astype(int), expit(s)


def line_of(y, p, w=None, cluster=None):
    data = data_of_rows([RowBlock(np.stack([1 - p, p], 1), y, w, cluster)], (0, 1))
    return calibration_line(data.rows, data.clusters)


def fitted(x, y, offset, w):
    """Coefficients of a logistic regression, probabilities, and the inverse information, in plain Newton steps."""
    b = np.zeros(x.shape[1])
    for _ in range(50):
        q = expit(offset + x @ b)
        inverse = np.linalg.inv((x * (w * q * (1 - q))[:, None]).T @ x)
        b = b + inverse @ (x.T @ (w * (y - q)))
    return b, q, inverse


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["slope", "intercept"])
def test_the_variance_is_the_larger_of_model_and_sandwich(rng, name, weighted):
    y, p = sample(rng)
    s, w = logit(p), rng.lognormal(0, 1, y.size) if weighted else np.ones(y.size)
    x, offset = (np.stack([np.ones(y.size), s], 1), 0) if name == "slope" else (np.ones((y.size, 1)), s)
    b, q, inverse = fitted(x, y, offset, w)
    v, along = q * (1 - q), x @ inverse[-1]
    free = 1 - w * v * np.einsum("ij,jk,ik->i", x, inverse, x)
    larger = max((along**2 * w**2 * v).sum(), (along**2 * w**2 * (y - q) ** 2 / free).sum())
    found = getattr(line_of(y, p, w if weighted else None), name)
    assert found.value == pytest.approx(b[-1], abs=1e-6)
    assert found.standard_error == pytest.approx(math.sqrt(larger), rel=1e-5)
    low, high = found.metric(0.9).interval
    assert (high - low) / 2 == pytest.approx(1.6448536 * found.standard_error, rel=1e-6)


def test_clusters_are_summed_and_judged_by_student(rng):
    y, p = sample(rng, 600)
    cluster = np.arange(600) % 30
    x = np.stack([np.ones(600), logit(p)], 1)
    b, q, inverse = fitted(x, y, 0, np.ones(600))
    along = x @ inverse[-1]
    sums, shares = (np.bincount(cluster, each) for each in (along * (y - q), along * x[:, 1] * q * (1 - q)))
    assert shares.sum() == pytest.approx(1)
    found = line_of(y, p, None, cluster).slope
    robust = ((sums / (1 - shares)) ** 2).sum()
    assert found.standard_error == pytest.approx(math.sqrt(max(inverse[1, 1], robust)), rel=1e-4)
    half = student.ppf(0.975, 29) * found.standard_error
    assert found.metric().interval == pytest.approx((b[1] - half, b[1] + half), abs=1e-5)


def test_a_line_without_both_outcomes_or_two_predictions_has_no_size(rng):
    y, p = sample(rng, 50)
    for line in (line_of(np.zeros(50, int), p), line_of((p > 0.5).astype(int), p)):
        assert math.isnan(line.slope.value)
    constant = line_of(y, np.full(50, 0.3))
    assert math.isnan(constant.slope.value)
    assert expit(logit(0.3) + constant.intercept.value) == pytest.approx(y.mean())


def test_rows_without_log_odds_stay_out(rng):
    y, p = sample(rng, 300)
    more = line_of(np.append(y, [1, 0, 1]), np.append(p, [0.0, 1.0, 1.0]))
    assert more.slope[:2] == pytest.approx(line_of(y, p).slope[:2], rel=1e-9)


def test_the_temperature_is_fitted_alone_to_all_rows(rng):
    """The optimum of one parameter, with predictions of exactly 0 and 1 as a recalibrator has them."""
    y, p = sample(rng, 500)
    p[:3], y[:3] = [0.0, 1.0, 1.0], [0, 1, 0]
    zero = 0.01 / (2 * 500)
    s = logit(np.clip(p, zero, 1 - zero))
    best = minimize_scalar(lambda t: np.logaddexp(0, np.where(y == 1, -s, s) / t).sum(), (1, 3), tol=1e-12).x
    found = diagnose(y, p).temperature
    assert found.value == pytest.approx(best, rel=1e-5)
    assert found.interval.low < 1.6 < found.interval.high
    b, q, inverse = fitted(s[:, None], y, 0, np.ones(500))
    robust = ((s * inverse[0, 0] * (y - q)) ** 2 / (1 - s**2 * inverse[0, 0] * q * (1 - q))).sum()
    assert 1 / b[0] == pytest.approx(best, rel=1e-6)
    assert found.standard_error == pytest.approx(math.sqrt(max(robust, inverse[0, 0])) / b[0] ** 2, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["temperature 1.5", "rare, 1%", "wave", "lapse", "30 clusters"])
def test_intervals_hold_the_truth_where_those_of_the_model_may_not(name):
    made = module_of(ROOT / "benchmarks" / "coverage_designs.py")
    index = next(at for at, each in enumerate(made.DESIGNS) if each.name == name)
    rng, truth, held = np.random.default_rng(45), made.population(index).truth, []
    for _ in range(200):
        y, p, reading = made.sample(index, 1000, rng)
        line = line_of(y, p, None, reading["clusters"])
        found = {name: getattr(line, name).metric().interval for name in ("slope", "intercept")}
        held.append([low <= truth[name] <= high for name, (low, high) in found.items()])
    assert (np.mean(held, axis=0) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)).all()


@pytest.mark.slow
def test_the_verdict_the_table_and_json_have_the_same_digits(rng, tmp_path, capsys):
    y, p = sample(rng, 1500)
    cluster = np.arange(1500) % 60
    for groups in (None, cluster):
        found = assess(y, p, clusters=groups, resamples=0)
        finding = next(each for each in found.diagnosis.findings if each.error == "confidence")
        slope = found.slope
        assert found.diagnosis.slope == slope
        assert found.diagnosis.intercept == found.intercept
        ends = (1 + finding.parameter, *(1 + end for end in finding.interval))
        assert ends == pytest.approx((slope.value, *slope.interval), rel=1e-14)
        low, high = slope.interval
        said = f"(calibration slope {slope.value:.2f}, 95% CI {low:.2f} to {high:.2f})"
        assert said in found.verdict
        plain = json.loads(found.to_json())
        assert plain["diagnosis"]["slope"] == plain["slope"]
        assert compare(y, {"a": p, "b": p}, clusters=groups).forecasters["a"].assessment.verdict == found.verdict
        file = tmp_path / "rows.csv"
        pl.DataFrame({"y": y, "p": p, "g": cluster}).write_csv(file)
        clusters = [] if groups is None else ["--clusters", "g"]
        main(["assess", str(file), "--truth", "y", "--prob", "p", *clusters])
        assert said in " ".join(capsys.readouterr().out.split())


def test_rows_that_share_a_prediction_make_one_line_of_rows_and_of_a_tally(rng):
    y, p = sample(rng, 900)
    p = p.round(2).clip(0.01, 0.99)
    groups = np.arange(900) // 3
    of_rows, of_tally = diagnose(y, p), diagnose(Tally.of(y, p))
    assert of_tally.slope[:2] == pytest.approx(of_rows.slope[:2], rel=1e-9)
    # A tally of clusters keeps shards, in cells of probability: values are the same, errors nearly so.
    of_rows, of_tally = diagnose(y, p, clusters=groups), diagnose(Tally.of(y, p, clusters=groups, parts=["shards"]))
    assert of_tally.slope.value == pytest.approx(of_rows.slope.value, rel=1e-9)
    assert of_tally.slope.standard_error == pytest.approx(of_rows.slope.standard_error, rel=0.1)


def test_rows_of_clusters_tell_the_line_of_the_top_class_and_their_tally_its_values_alone(rng):
    z = rng.normal(0, 2, (900, 4))
    p, q = (np.exp(each) / np.exp(each).sum(axis=1, keepdims=True) for each in (z, z / 1.5))
    y = (q.cumsum(axis=1) < rng.random((900, 1))).sum(axis=1)
    groups = np.arange(900) % 45
    rows = assess(y, p, clusters=groups, resamples=0).slope
    tally = assess(Tally.of(y, p, clusters=groups, parts=["shards"]), resamples=0).slope
    hit = (p.argmax(axis=1) == y).astype(int)
    event = diagnose(hit, p.max(axis=1), clusters=groups).slope
    assert rows[:2] == pytest.approx(event[:2], rel=1e-6)
    assert rows.interval == pytest.approx(event.interval, rel=1e-6)
    assert tally.value == pytest.approx(rows.value, rel=1e-6)
    assert math.isnan(tally.standard_error)


@pytest.mark.parametrize(("error", "named"), [(0.06, "perhaps overconfident"), (0.03, "overconfident")])
def test_a_slope_whose_interval_holds_1_is_named_with_perhaps(error, named):
    size = CalibrationLine(Coefficient(0.9, error), Coefficient(0.0, 0.1)).size_of("confidence", ["confidence"])
    error = OfTwo(size.value, tuple(size.interval), [KINDS["confidence"]], False, "'1'", 0.5, 0.5, 0.9, 1.12, True)
    found = finding_of_two("confidence", error, 0.01, 0.01, 1)
    assert found.words.startswith(f"{named} (calibration slope 0.90, 95% CI ")
    assert found.clause.short == named
    assert found.explanation.term == "Overconfident"
    assert found.remedy.startswith("Divide the log-odds by 1.12 (temperature scaling, fitted alone)")


def test_a_slope_that_rows_predicted_as_certain_turn_round_is_not_printed():
    """Thirty wrong rows of 1e-9 beside underconfident ones, which the errors of the other rows are named of."""
    rng = np.random.default_rng(3)
    s = rng.normal(0, 2, 2000)
    y, p = (rng.random(2000) < expit(1.5 * s)).astype(int), expit(s)
    y, p = np.append(y, np.ones(30, int)), np.append(p, np.full(30, 1e-9))
    found = diagnose(y, p)
    assert found.slope.interval.high < 1
    assert "underconfident (but for rows predicted as certain)" in found.verdict


def test_only_plain_errors_have_the_size_of_the_line():
    line = CalibrationLine(Coefficient(0.9, 0.1), Coefficient(0.2, 0.1), Coefficient(0.3, 0.1))
    assert line.size_of("confidence", ["bias", "confidence"]).value == pytest.approx(-0.1)
    assert line.size_of("bias", ["bias"]).value == 0.2
    assert line.size_of("bias", ["bias", "confidence"]).value == 0.3
    assert line.size_of("bias", ["bias", "noise"]) is None
    assert line.size_of("confidence", ["confidence", "noise"]) is None


def test_where_neither_rows_nor_clusters_are_independent_the_line_has_no_interval(rng):
    y, p = sample(rng, 300)
    found = compare(y, {"a": p, "b": np.clip(p + 0.01, 0, 1)}, lag=8).forecasters["a"].assessment
    assert math.isnan(found.slope.standard_error)
    assert found.slope.value == pytest.approx(diagnose(y, p).slope.value, rel=1e-9)


def test_exchanged_classes_point_away_whatever_is_named_beside():
    s = np.repeat(np.linspace(-4, 4, 81), 100)
    u = np.tile((np.arange(100) + 0.5) / 100, 81)
    bent, uneven = u < expit(-1.5 * np.sign(s) * np.log1p(np.abs(s))), u < expit(-0.8 * s - 0.5 * np.abs(s))
    assert diagnose(bent, expit(s), clusters=None).errors == ("confidence", "tail")
    assert diagnose(bent, expit(s), clusters=None).verdict.startswith("Pointing away from the outcomes; extreme ")
    for y in (bent, uneven):  # recalibration can make them worthless, and no better
        found = assess(y, expit(s), clusters=None, resamples=0)
        assert found.remedy is None
        assert {f.advice.text[:40] for f in found.diagnosis.findings} == {"Check whether the classes are swapped: t"}
