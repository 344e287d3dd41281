"""All that is said of the same forecasts says the same: text, JSON, page, card, frames, picture, and each command."""

import html
import json
import re

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from helpers import averages_text
from unperplexed import Tally, assess, assess_by, calibration_test, compare, diagnose
from unperplexed.cli.parser import main
from unperplexed.report.numbers import estimate, figure, number, share_estimate

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")


def forecasts(rng, bias=0.0, confidence=0.0, n=1500):
    s = rng.normal(-1, 2, n)
    return (rng.random(n) < expit(s * (1 + confidence) + bias)).astype(int), expit(s)


def classes(rng, temperature=1.0, n=1000, c=5):
    logits = rng.normal(0, 2, (n, c))
    p = np.exp(logits)
    p /= p.sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    q = p ** (1 / temperature)
    return y, q / q.sum(axis=1, keepdims=True)


CASES = {
    "calibrated": lambda rng: (*forecasts(rng), {}),
    "biased": lambda rng: (*forecasts(rng, bias=-0.8), {}),
    "overconfident": lambda rng: (*forecasts(rng, confidence=-0.4), {}),
    "underconfident": lambda rng: (*forecasts(rng, confidence=0.5), {}),
    "both": lambda rng: (*forecasts(rng, bias=0.6, confidence=-0.4), {}),
    "zeros": lambda rng: (*zeros(rng), {}),
    "weighted": lambda rng: (*forecasts(rng, bias=-0.8), {"sample_weight": rng.integers(1, 4, 1500)}),
    "clustered": lambda rng: (*forecasts(rng, bias=-0.8), {"clusters": np.arange(1500) // 10}),
    "classes": lambda rng: (*classes(rng), {"labels": range(5)}),
    "overconfident classes": lambda rng: (*classes(rng, temperature=0.6), {"labels": range(5)}),
}


def zeros(rng):
    y, p = forecasts(rng)
    p[:40], y[:40] = 0.0, rng.random(40) < 0.2
    return y, p


WORDS = {
    "overconfident": lambda d: any(f.error == "confidence" and f.parameter < 0 for f in d.findings),
    "underconfident": lambda d: any(f.error == "confidence" and f.parameter > 0 for f in d.findings),
    "overpredicts": lambda d: any("overpredicts" in each.words for each in d.clauses),
    "underpredicts": lambda d: any("underpredicts" in each.words for each in d.clauses),
    "certain and wrong": lambda d: "certainty" in d.errors,
    "no evidence of miscalibration": lambda d: not d.findings or d.errors == ("certainty",),
}
"""What may be said only where it was found."""


def plain(page):
    """The words of an HTML page, without scripts, styles and what explains a finding in general."""
    body = re.sub(r"<(script|style).*?</\1>", " ", page, flags=re.DOTALL)
    general = r"<details><summary>[^<]*: why, what to try and how to check</summary>.*?</details>"
    body = re.sub(general, " ", body, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).split())


@pytest.fixture(scope="module", params=CASES)
def case(request):
    y, p, options = CASES[request.param](np.random.default_rng(20240229))
    return y, p, options, assess(y, p, resamples=40, **options)


@pytest.mark.slow
def test_every_form_of_a_result_concludes_the_same(case):
    _, _, _, a = case
    found = a.diagnosis
    said = json.loads(a.to_json())
    assert said["verdict"] == said["diagnosis"]["verdict"] == a.verdict == found.verdict
    texts = {"text": str(a), "page": plain(a.to_html()), "card": plain(a._repr_html_())}
    for name, text in texts.items():
        flat = " ".join(text.split())
        assert name != "text" or flat.startswith(found.verdict)
        assert (found.headline if name == "page" else found.verdict) in flat, name
        for words, true in WORDS.items():
            assert (words in flat.lower()) == true(found), (name, words)


@pytest.mark.slow
def test_figures_are_the_same_wherever_they_stand(case):
    _, _, _, a = case
    said = json.loads(a.to_json())
    frame = a.frame().row(0, named=True)
    flat, page, averages = str(a), plain(a.to_html()), averages_text(a)
    for mean in ("decisiveness", "geometric_accuracy", "robustness"):
        assert frame[f"reported_{mean}"] == said["reported"][mean]
        assert frame[f"measured_{mean}"] == said["measured"][mean]
        for value in (said["reported"][mean], said["measured"][mean]):
            assert figure(value) in averages
            assert figure(value) in page
    assert share_estimate(a.prediction_accuracy, a.intervals["prediction_accuracy"])[0] in flat
    for name in ("averages_slope", "divergence_probability", "prediction_accuracy"):
        assert name == "prediction_accuracy" or figure(said[name]) in averages
        assert said[name] == frame[name] == getattr(a, name)
        low, high = a.intervals[name]
        assert np.isnan(low) or low <= said[name] <= high
    assert f"below {a.floor:g} are raised" in averages
    assert a.view in flat
    assert (said["floor"], said["view"]) == (a.floor, a.view)


def test_what_costs_adds_up_to_what_is_said(case):
    _, _, _, a = case
    gains = [f.cost for f in a.diagnosis.findings if np.isfinite(f.cost)]
    assert sum(gains) == pytest.approx(a.diagnosis.cost, abs=1e-12)
    assert all(gain >= 0 for gain in gains)
    if a.diagnosis.cost > 0:
        loss = number(a.scores["log_loss"])
        assert f" of the log loss: {number(a.diagnosis.cost)} of {loss} nats" in " ".join(str(a).split())


@pytest.mark.slow
def test_every_way_to_the_verdict_leads_to_it(case):
    y, p, options, a = case
    alone = diagnose(y, p, **options)
    assert set(alone.errors) == set(a.diagnosis.errors)
    if "clusters" not in options:  # whose rows a tally knows in shards
        assert alone.p_value == pytest.approx(a.diagnosis.p_value, abs=1e-6, nan_ok=True)
    assert calibration_test(y, p, **options).p_value == alone.overall_p_value
    if "clusters" not in options and "sample_weight" not in options:
        labels = a.labels
        by = assess_by(y, p, by=np.zeros(len(y)), resamples=0, **options)
        assert by.whole.verdict == by.groups[0].assessment.verdict == a.verdict
        compared = compare(y, {"a": p, "b": p}, labels=labels)
        assert compared.forecasters["a"].assessment.verdict == a.verdict
        if a.n_classes == 2:
            assert assess(Tally.of(y, p), resamples=0).verdict == a.verdict


@pytest.mark.slow
def test_the_command_line_says_what_the_library_says(case, tmp_path, capsys, monkeypatch):
    y, p, options, a = case
    monkeypatch.chdir(tmp_path)
    if "sample_weight" in options or "clusters" in options:
        name = "sample_weight" if "sample_weight" in options else "clusters"
        more = {"w": np.asarray(options[name])}
        flags = ["--weight" if name == "sample_weight" else "--clusters", "w"]
    else:
        more, flags = {}, []
    if p.ndim == 1:
        pl.DataFrame({"y": y, "p": p, **more}).write_csv("f.csv")
        command = ["assess", "f.csv", "--truth", "y", "--prob", "p"]
    else:
        pl.DataFrame({"y": y, **{f"p{at}": p[:, at] for at in range(p.shape[1])}}).write_csv("f.csv")
        command = ["assess", "f.csv", "--truth", "y", "--prob", *(f"{at}=p{at}" for at in range(p.shape[1]))]
    outputs = ["--resamples", "0", "--json", "r.json", "--report", "r.html"]
    assert main([*command, *flags, *outputs]) == 0
    text = " ".join(capsys.readouterr().out.split())
    said = json.loads((tmp_path / "r.json").read_text())
    page = plain((tmp_path / "r.html").read_text())
    assert set(a.diagnosis.errors) == {finding["error"] for finding in said["diagnosis"]["findings"]}
    assert text.startswith(said["verdict"])
    assert said["diagnosis"]["headline"] in page
    assert said["diagnosis"]["p_value"] == pytest.approx(a.diagnosis.p_value, abs=1e-6, nan_ok=True)


@pytest.mark.slow
def test_a_comparison_says_of_each_forecaster_what_its_assessment_says(rng):
    y, p = forecasts(rng)
    q = expit(1.6 * np.log(p / (1 - p)))
    c = compare(y, {"even": p, "bold": q})
    said = json.loads(c.to_json())
    assert said["verdict"] == c.verdict
    assert c.verdict in " ".join(str(c).split())
    assert f"<h1>{re.sub(r' [(]p .*?[)]', '', c.verdict)}</h1>" in c.to_html()  # p-values stand below
    for name, of in (("even", p), ("bold", q)):
        verdict = assess(y, of, resamples=0).verdict
        assert c.forecasters[name].assessment.verdict == verdict
        assert said["forecasters"][name]["assessment"]["verdict"] == verdict


def lapses(rng, n=5000):
    """Half a per cent of outcomes are drawn at random, where the estimator's divergence is biased."""
    s = rng.normal(0, 3, n)
    return (rng.random(n) < 0.995 * expit(s) + 0.0025).astype(int), expit(s)


def flat_then_steep(rng, n=10_000):
    """Between log-odds of -2 and 2 the prediction says little: the estimator's slope and robustness are biased."""
    s = rng.normal(0, 2, n).round(1)
    beyond = np.sign(s) * np.maximum(np.abs(s) - 2, 0)
    return (rng.random(n) < expit(0.2 * (s - beyond) + 2.5 * beyond)).astype(int), expit(s)


@pytest.mark.slow
@pytest.mark.parametrize(("make", "seed"), [(lapses, 2), (flat_then_steep, 11)])
def test_one_figure_stands_everywhere_inside_its_interval_where_the_estimator_is_biased(make, seed, tmp_path, capsys):
    y, p = make(np.random.default_rng(seed))
    a = assess(y, p)
    assert a.uncertainty.debiased
    for name, (low, high) in a.intervals.items():  # neither outside nor on the end
        assert min(a.metrics()[name] - low, high - a.metrics()[name]) > 0.01 * (high - low), name
    by = assess_by(y, p, by={"group": np.zeros(y.size)})
    compared = compare(y, {"a": p, "b": p**1.1})
    pl.DataFrame({"y": y, "p": p}).write_csv(tmp_path / "f.csv")
    command = ["assess", str(tmp_path / "f.csv"), "--truth", "y", "--prob", "p", "--json", str(tmp_path / "r.json")]
    assert main([*command, "--show", "averages"]) == 0
    written, printed = json.loads((tmp_path / "r.json").read_text()), capsys.readouterr().out
    of_a = json.loads(compared.to_json())["forecasters"]["a"]["assessment"]
    documents = [json.loads(a.to_json()), written, of_a, json.loads(by.to_json())["groups"][0]]
    rows = [a.frame(), by.frame(), compared.frame().filter(pl.col("forecaster") == "a")]
    at = a.divergence_profile.orders.tolist().index(0.0)
    assert a.divergence_profile.values[at] == pytest.approx(np.log(a.divergence_probability))
    for name, title in (
        ("averages_slope", "slope of the averages"),
        ("divergence_probability", "divergence probability"),
    ):
        value = getattr(a, name)
        assert [each[name] for each in documents] == pytest.approx([value] * 4, rel=1e-12)
        assert [each[name][0] for each in rows] == pytest.approx([value] * 3, rel=1e-12)
        shown, limits = estimate(value, a.intervals[name], most=4)
        for text in (averages_text(a), printed):
            assert f"{title} {shown} (95% CI {limits};" in " ".join(text.lower().split()).replace("ci", "CI")
        assert shown in plain(a.to_html())
    for page in (by, compared):
        assert number(a.averages_slope) in plain(page.to_html())


def test_an_interval_that_excludes_the_best_value_is_explained_where_nothing_is_found():
    rng, groups = np.random.default_rng(3), np.repeat(np.arange(16), 12)
    s = rng.normal(0, 1.5, groups.size)
    y = rng.random(groups.size) < 1 / (1 + np.exp(-0.85 * s - rng.normal(0, 0.3, 16)[groups]))
    result = assess(y.astype(int), 1 / (1 + np.exp(-s)), clusters=groups, resamples=0)
    low, high = result.slope.interval
    assert not result.diagnosis.findings
    assert not low <= 1 <= high
    text, alone = " ".join(str(result).split()), "By itself the 95% CI of the calibration slope excludes 1. The test"
    assert f"{alone}, with so few events, considers the level alone, and is not significant (p = 0.344)." in text
    assert np.isnan(result.diagnosis.detectable.slope)
    assert "(80% power), and no wrong slope." in text
    assert "calibration slope below" not in text  # which a test of the level does not detect
    rng = np.random.default_rng(5)
    s = rng.normal(0, 1.2, 400)
    y = rng.random(400) < 1 / (1 + np.exp(-0.2 - s))
    result = assess(y.astype(int), 1 / (1 + np.exp(-s)), resamples=0)
    alone = alone.replace("slope excludes 1", "intercept excludes 0")
    assert f"{alone} considers several errors at once" in " ".join(str(result).split())
