"""Gates of predictive distributions of a number."""

import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

import unperplexed as up
from unperplexed.cli.parser import main

LEVELS = [0.05, 0.25, 0.5, 0.75, 0.95]
RNG = np.random.default_rng(1)
MEAN = RNG.normal(15, 5, 500)
Y = MEAN + RNG.normal(0, 3, 500)
NARROW = up.Quantiles(LEVELS, MEAN[:, None] + 2 * norm.ppf(LEVELS))


def normals(sd, shift=0.0):
    return up.Distribution("normal", mean=MEAN + shift, sd=sd)


@pytest.mark.slow
def test_metrics_are_those_of_the_assessment_at_the_level_of_the_gate():
    found, of = up.check(Y, NARROW, require="wis < 9"), up.assess(Y, NARROW, confidence=0.9)
    flat = found.to_flat()
    assert flat["coverage_90"] == of.coverage[-1].held.value == pytest.approx(0.7)
    for name, metric in {"width": of.width, "bias": of.bias, "wis": of.scores["weighted_interval_score"]}.items():
        assert (flat[name], flat[f"{name}.lower"], flat[f"{name}.upper"]) == (metric.value, *metric.interval)
    assert flat["skill"] == of.skill.value.value
    assert flat["cost"] == of.cost
    assert flat["divergence_probability.lower"] == math.exp(-flat["cost.upper"])
    assert (flat["too-narrow"], flat["too-low"]) == (1, 0)
    assert of.to_flat().items() <= flat.items()


def test_a_metric_fails_if_its_whole_interval_is_beyond_the_limit():
    names = ["width", "bias", "crps", "cost", "coverage_80", "skill", "divergence_probability"]
    flat = up.assess(Y, normals(2, -1), confidence=0.9).to_flat()
    ends = [(name, sign, flat[f"{name}.{end}"]) for name in names for sign, end in ((">", "upper"), ("<", "lower"))]
    wanted = [f"{name} {sign} {limit}" for name, sign, end in ends for limit in (end - 1e-6, end + 1e-6)]
    passed = [each.passed for each in up.check(Y, normals(2, -1), require=wanted).outcomes]
    assert passed == [True, False, False, True] * len(names)


def test_calibrated_forecasts_pass_and_those_too_narrow_do_not():
    wanted = ["coverage_80 > 0.75", "width < 1.2", "cost < 0.05", "verdict not in (too narrow)", "verdict in (none)"]
    assert up.check(Y, normals(3), require=wanted)
    assert [each.requirement for each in up.check(Y, normals(2), require=wanted).failed] == wanted


def test_the_smallest_effect_is_compared_with_the_interval_of_the_cost():
    found = up.assess(Y, normals(2), confidence=0.9)
    assert len(found.diagnosis.findings) == 1
    low = found.cost_interval.low
    passed = [bool(up.check(found, require="verdict in (none)", min_effect=low * (1 + off))) for off in (-1e-6, 1e-6)]
    assert passed == [False, True]


def test_the_interval_of_the_cost_holds_that_of_a_known_error():
    """Of normal distributions r times as wide as the truth: log r + (1 / r^2 - 1) / 2 nats."""
    rng = np.random.default_rng(2)
    y, r = rng.normal(size=4000), 0.7
    found = up.assess(y, up.Distribution("normal", mean=np.zeros(4000), sd=r))
    low, high = found.cost_interval
    assert low < math.log(r) + (1 / r**2 - 1) / 2 < high < 2 * low
    calibrated = up.assess(y, up.Distribution("normal", mean=np.zeros(4000), sd=1)).cost_interval
    assert calibrated.low == 0 < calibrated.high < 0.005


def test_further_scores_are_computed_where_they_are_required():
    score = up.check(Y, NARROW, require="quantile_loss(0.75) < 1").to_flat()["quantile_loss(0.75)"]
    loss = Y - NARROW.values[:, 3]
    assert score == pytest.approx(np.maximum(0.75 * loss, -0.25 * loss).mean())


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("covrage_80 > 0.7", "did you mean coverage_90"),
        ("ece < 0.1", "there is no metric 'ece' here"),
        ("verdict not in (overconfident)", "no verdict here is called 'overconfident'; there are none, too-low"),
        ("verdict not in (narrow)", "no verdict is called 'narrow'"),
    ],
)
def test_what_there_is_not_is_refused(wanted, said):
    with pytest.raises(up.InputError, match=said.replace("(", r"\(")):
        up.check(Y, NARROW, require=wanted)


def test_words_of_numbers_are_none_of_classes():
    with pytest.raises(up.InputError, match="no verdict here is called 'too-narrow'"):
        up.check([1, 0] * 50, [0.6, 0.4] * 50, require="verdict not in (too narrow)")


@pytest.mark.parametrize("given", [(Y, NARROW), (up.assess(Y, NARROW),)])
def test_earlier_distributions_are_refused(given):
    with pytest.raises(up.InputError, match="earlier"):
        up.check(*given, require="wis < 9", earlier=NARROW)


def test_an_assessment_is_tested_at_its_own_level():
    found = up.check(up.assess(Y, NARROW, confidence=0.8), require="wis < 9")
    assert (found.confidence, found.n_rows) == (0.8, 500)


@pytest.mark.slow
def test_the_command_tests_columns_of_quantiles(tmp_path, capsys):
    columns = {f"q{level}": NARROW.values[:, k] for k, level in enumerate(LEVELS)}
    path = tmp_path / "load.csv"
    pl.DataFrame({"load": Y, **columns}).write_csv(path)
    command = ["check", str(path), "--truth", "load", "--quantiles", "q*", "--json", "-", "-q", "--require"]
    assert main([*command, "wis < 9", "coverage_90 > 0.65"]) == 0
    capsys.readouterr()
    assert main([*command, "wis < 9", "width < 1.2"]) == 1
    flat = json.loads(capsys.readouterr().out)
    assert flat["failed_requirements"] == 1
    assert flat["wis"] == pytest.approx(up.check(Y, NARROW, require="wis < 9").to_flat()["wis"])
    for option in ("--earlier", "--apply"):
        assert main([*command, "wis < 9", option, str(path)]) == 2
        assert option in capsys.readouterr().err
