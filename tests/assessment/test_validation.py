import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import brier_score_loss

from unperplexed import InputError, Tally, assess, assess_by
from unperplexed.assessment.validation import _pooled_ratio, validation_of
from unperplexed.cli.parser import main
from unperplexed.statistics.empirical_bayes import random_effects
from unperplexed.statistics.means import t_quantile


@pytest.fixture(scope="module")
def patients():
    return pl.read_csv("examples/gallery/diabetes.csv")


def validated(y, p, **reading):
    return assess(y, p, resamples=0, **reading).validation.metrics


@pytest.mark.parametrize(
    ("score", "digits", "expected"),
    [
        ("boosted", 16, [0.08667030206400256, 0.09793790043654957, 0.11443578262980081]),
        ("boosted", 2, [0.08698367186935976, 0.09783082247556238, 0.11435070966543019]),
        ("logistic", 16, [0.031038827371828254, 0.032602617830238025, 0.05535504684684237]),
        ("logistic", 2, [0.030954014047955027, 0.03193016676448002, 0.055403270753656586]),
    ],
)
def test_ici_e50_and_e90_are_those_of_loess(patients, score, digits, expected):
    """Of R's loess with its defaults, in the package scikit-misc 0.5.3, which has the same Fortran."""
    found = validated(patients["progressed"], patients[score].round(digits), pos_label="yes")
    assert [found[name].value for name in ("ici", "e50", "e90")] == pytest.approx(expected, rel=1e-10)
    for each in (found["ici"], found["e50"], found["e90"]):
        assert each.interval.low <= each.value <= each.interval.high
    assert all(a <= b for a, b in zip(found["e50"].interval, found["e90"].interval, strict=True))


def test_brier_scores_and_o_e(patients):
    y, p = (patients["progressed"] == "yes").to_numpy().astype(int), patients["boosted"].to_numpy()
    found, n, f = validated(y, p), y.size, y.mean()
    assert found["brier"].value == pytest.approx(brier_score_loss(y, p))
    assert found["scaled_brier"].value == pytest.approx(1 - brier_score_loss(y, p) / (f * (1 - f)))
    influence = y / y.sum() - p / p.sum()
    assert found["oe"].value == pytest.approx(y.sum() / p.sum())
    half = 1.959964 * np.sqrt((influence**2).sum())
    assert np.log(found["oe"].interval) == pytest.approx(
        [np.log(found["oe"].value) - half, np.log(found["oe"].value) + half], abs=1e-6
    )
    left_out = np.array([brier_score_loss(np.delete(y, k), np.delete(p, k)) for k in range(n)])
    frequency = (y.sum() - y) / (n - 1)
    scaled = 1 - left_out / (frequency * (1 - frequency))
    assert found["scaled_brier"].standard_error == pytest.approx(np.sqrt((n - 1) * scaled.var()), rel=0.01)  # jackknife


def test_a_score_of_few_values_is_its_own_curve():
    p = np.repeat([0.1, 0.3, 0.6], [100, 60, 40])
    y = np.concatenate([np.arange(100) < 20, np.arange(60) < 18, np.arange(40) < 34]).astype(int)
    found = validated(y, p)
    assert found["ici"].value == pytest.approx((100 * 0.1 + 40 * 0.25) / 200)
    assert (found["e50"].value, found["e90"].value) == pytest.approx((0.1, 0.25))
    one = validated([1, 0, 0, 0], [0.5] * 4)
    assert one["ici"].value == one["e90"].value == 0.25


def test_rows_in_clusters_tell_as_much_as_one_of_each(rng):
    p = rng.uniform(0.05, 0.6, 300)
    y = (rng.uniform(size=300) < 0.7 * p).astype(int)
    alone, five = validated(y, p), validated(np.repeat(y, 5), np.repeat(p, 5), clusters=np.arange(1500) // 5)
    for name in ("oe", "scaled_brier", "brier", "ici"):
        (low, high), (dependent_low, dependent_high) = (each[name].interval for each in (alone, five))
        assert dependent_high - dependent_low == pytest.approx(high - low, rel=0.1), name


def test_a_tally_has_what_its_rows_have(patients):
    tally = Tally.of(patients["progressed"], patients["boosted"], pos_label="yes")
    rows = assess(patients["progressed"], patients["boosted"], pos_label="yes", resamples=0)
    assert assess(tally, resamples=0).validation.to_dict() == rows.validation.to_dict()
    with pytest.raises(InputError, match="validation: takes forecasts of two classes"):
        validation_of(assess([0, 1, 2], np.full((3, 3), 1 / 3), resamples=0))


BCG = np.array(
    [
        (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
        (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232),
        (17, 1699, 65, 1600), (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
    ]
)  # fmt: skip
"""Trials of a vaccine (Colditz et al. 1994): cases and others, vaccinated and not."""


def test_random_effects_are_those_of_metafor():
    """For method="DL" it prints -0.7141 and tau^2 0.3088; Hartung and Knapp's error is that of weighted squares."""
    a, b, c, d = BCG.T
    y, v = np.log(a / (a + b)) - np.log(c / (c + d)), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)
    found = random_effects(y, np.sqrt(v))
    assert (round(found.mean, 4), round(found.between**2, 4), found.n_clusters) == (-0.7141, 0.3088, 13)
    w = 1 / (v + found.between**2)
    error = np.sqrt(np.cov(y, aweights=w, ddof=0) * 13 / 12 / 13)
    assert found.standard_error == pytest.approx(np.sqrt((w * (y - found.mean) ** 2).sum() / 12 / w.sum()))
    assert error == pytest.approx(found.standard_error)
    new = np.hypot(found.between, found.standard_error) * t_quantile(0.95, 11)
    assert found.prediction == pytest.approx((found.mean - new, found.mean + new))


def test_clusters_that_are_alike_or_unknown():
    alike = random_effects(np.array([0.1, 0.2, np.nan, 0.15]), np.array([0.3, 0.3, 0.3, 0.3]))
    assert (alike.between, alike.n_clusters) == (0.0, 3)
    assert alike.mean == pytest.approx(0.15)
    assert np.isnan(random_effects(np.array([1.0]), np.array([0.1])).mean)
    assert np.isnan(random_effects(np.array([1.0, 2.0]), np.array([0.1, 0.1])).prediction).all()


def test_hospitals(rng):
    hospital = np.repeat(np.array(["a", "b;c", "d", "none"]), [200, 300, 250, 30])
    p = rng.uniform(0.05, 0.5, 780)
    y = (rng.uniform(size=780) < p * np.repeat([0.7, 1.0, 1.3, 0.0], [200, 300, 250, 30])).astype(int)
    found = assess_by(y, p, by={"hospital": hospital}, resamples=0).validation
    assert found.pooled["oe"].n_clusters == 4  # one of them without events
    for key in ("a", "b;c", "d"):
        inside = hospital == key
        assert found.clusters[key]["oe"].value == pytest.approx(y[inside].sum() / p[inside].sum())
        assert found.clusters[key]["slope"] == assess(y[inside], p[inside], resamples=0).slope
    n, observed, expected = np.array([(each.sum(), y[each].sum(), p[each].sum()) for each in (
        hospital == name for name in found.clusters
    )]).T  # fmt: skip
    squares = expected.sum() / observed.sum() / expected - 1 / (n + 1)
    pooled = random_effects(np.log((observed + 0.5) / expected), np.sqrt(squares))
    assert np.log(found.pooled["oe"].interval) == pytest.approx(pooled.interval)
    assert "over 4 of 4 groups by hospital, the mean of the ratio of observed" in " ".join(str(found).split())


def test_groups_that_are_the_clusters_are_not_pooled_and_it_is_said_why(rng):
    hospital, p = np.repeat(np.arange(6), 100), rng.uniform(0.1, 0.9, 600)
    found = assess_by(rng.random(600) < p, p, by={"hospital": hospital}, clusters=hospital, resamples=0).validation
    said = " ".join(str(found).split())
    assert "Nothing is pooled over 6 groups by hospital: each is one cluster, of which no error is known" in said
    assert "is not pooled" not in said


def test_the_mean_ratio_of_hospitals_is_not_biased_by_few_events(rng):
    p = np.full(60, 0.2)  # 12 events are expected of each of 400
    hospitals = [
        SimpleNamespace(p=p, positive=y, negative=1 - y, tally=SimpleNamespace(independent_rows=60.0))
        for y in (rng.uniform(size=(400, 60)) < p).astype(float)
    ]
    pooled = _pooled_ratio(hospitals, 0.95)
    assert (pooled.interval.low < 1 < pooled.interval.high, pooled.n_clusters) == (True, 400)
    assert pooled.mean == pytest.approx(sum(each.positive.sum() for each in hospitals) / 4800, abs=0.015)
    p = rng.uniform(0.1, 0.3, 60)
    few = assess_by((rng.uniform(size=60) < p).astype(int), p, by=np.arange(60) // 6, resamples=0).validation
    assert np.isnan(few.pooled["oe"].mean)
    said = (
        "not pooled over 10 groups by group: that takes two groups of which it is known and 10 expected events a group."
    )
    assert f"(O/E) is {said}" in " ".join(str(few).split())


def test_the_events_that_a_pooled_ratio_takes_are_those_of_clusters(rng):
    ward, p = np.arange(2000) % 20, rng.uniform(0.1, 0.3, 2000)  # 200 events are expected of each sex
    y = rng.random(2000) < p
    found = assess_by(y, p, by={"sex": np.arange(2000) // 1000}, clusters=ward, resamples=0).validation
    assert np.isnan(found.pooled["oe"].mean)
    assert "10 expected events a group, where a cluster of dependent rows counts as one row." in " ".join(
        str(found).split()
    )


def test_names_of_hospitals_are_apart_and_in_order(rng):
    p = rng.uniform(0.1, 0.5, 600)
    y = (rng.uniform(size=600) < p).astype(int)
    at = np.arange(600) % 12
    assert [*assess_by(y, p, by=at, resamples=0).validation.clusters] == [str(each) for each in range(12)]
    two = {"a": np.array(["x, y", "x", "z"])[at % 3], "b": np.array(["z", "y, z", "q"])[at % 3]}
    assert [*assess_by(y, p, by=two, resamples=0).validation.clusters] == ["x, y, z", "('x, y', 'z')", "z, q"]


def test_where_no_event_was_seen_the_curve_is_not_certain(rng):
    p = rng.uniform(0.001, 0.02, 400)
    assert np.isnan(validated(np.zeros(400, int), p, labels=[0, 1])["ici"].interval).all()
    y = np.zeros(400, int)
    y[np.argmin(p)] = 1
    for name in ("ici", "e50", "e90"):
        found = validated(y, p)[name]
        assert found.interval.low <= found.value < found.interval.high
    few = validated(np.repeat([0, 0, 1], [200, 200, 5]), np.repeat([0.01, 0.02, 0.3], [200, 200, 5]))["ici"]
    assert few.interval.high - few.interval.low > 0.005  # all outcomes of each prediction are alike


def test_command_line(tmp_path, capsys, patients):
    path = tmp_path / "patients.csv"
    patients.with_columns(ward=pl.Series(np.arange(442) % 3)).write_csv(path)
    words = ["assess", str(path), "--truth", "progressed", "--prob", "yes=boosted", "--resamples", "0"]
    assert main([*words, "--show", "tripod"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "The ratio of observed to expected events (O/E) was 1.007 (95% CI 0.927 to 1.093), the" in out
    assert "the scaled Brier score (IPA) 0.222 (95% CI 0.122 to 0.321)" in out
    assert main([*words, "--show", "tripod", "--by", "ward", "--json", "-"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["shown"]["tripod"]["pooled"]["slope"]["n_clusters"] == 3
    assert all("tripod" not in group["shown"] for group in shown["groups"])
