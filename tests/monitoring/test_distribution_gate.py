"""Gates of predictive distributions of a number."""

import json
import math

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm, ttest_ind, ttest_rel

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


def crps_of(rows, sd):
    return [up.scores.crps(Y[[k]], normals(sd).subset([k])) for k in rows]


def test_the_change_from_earlier_forecasts_of_the_same_rows_is_paired():
    flat = up.check(Y, normals(2), require="change.crps <= 0", earlier=normals(4)).to_flat()
    apart = ttest_rel(crps_of(range(500), 2), crps_of(range(500), 4))
    low, high = apart.confidence_interval(0.9)
    found = [flat[f"change.crps{end}"] for end in ("", ".lower", ".upper")]
    np.testing.assert_allclose(found, [(low + high) / 2, low, high], rtol=1e-9)


def test_the_change_from_earlier_forecasts_of_other_rows_is_that_of_two_samples():
    """By Welch's interval; the change fails once all of it is above 0."""
    now, before = (np.arange(*ends) for ends in ((0, 150), (150, 500)))
    assessed = [up.assess(Y[x], normals(sd).subset(x), confidence=0.9) for x, sd in ((now, 9), (before, 3))]
    found = up.check(assessed[0], require=["change.crps <= 0"], earlier=assessed[1])
    low, high = ttest_ind(crps_of(now, 9), crps_of(before, 3), equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose(found.outcomes[0].interval, [low, high], rtol=1e-9)
    assert low > 0
    assert not found
    assert up.check(assessed[1], require=["change.crps <= 0"], earlier=assessed[0])


OF_CLASSES = up.assess([1, 0] * 50, [0.6, 0.4] * 50)
UNCHANGED = {
    "another form": ((up.assess(Y, NARROW),), {"earlier": up.assess(Y, normals(3))}, "of the same form"),
    "classes": ((up.assess(Y, NARROW),), {"earlier": OF_CLASSES}, "not by 5 quantiles as these"),
    "of classes": ((OF_CLASSES,), {"earlier": up.assess(Y, NARROW)}, r"its classes are \[\], not \[0, 1\]"),
    "no scores": ((up.assess(Y, up.PIT(norm.cdf(Y))),), {"earlier": up.assess(Y, up.PIT(norm.cdf(Y)))}, "have scores"),
    "no rows": ((up.assess(Y, NARROW),), {"earlier": NARROW}, "earlier: forecasts of the same rows go with y_true"),
    "many looks": ((Y, NARROW), {"earlier": NARROW, "anytime": True}, "anytime: it is for probabilities of classes"),
}


@pytest.mark.parametrize("case", UNCHANGED)
def test_a_change_that_cannot_be_known_is_refused(case):
    given, options, said = UNCHANGED[case]
    with pytest.raises(up.InputError, match=said):
        up.check(*given, require="change.crps < 9", **options)


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
    assert main([*command, "wis < 9", "--apply", str(path)]) == 2
    assert "--apply" in capsys.readouterr().err


def test_the_command_compares_with_an_earlier_file(tmp_path, capsys, monkeypatch):
    """By the first score unless another is named: of all rows as two samples, with an id paired, where less is seen."""
    monkeypatch.chdir(tmp_path)
    for name, sd in (("now", 4.4), ("before", 3)):
        values = MEAN[:, None] + sd * norm.ppf(LEVELS)
        columns = {f"q{level}": values[:, k] for k, level in enumerate(LEVELS)}
        pl.DataFrame({"id": np.arange(500), "load": Y, **columns}).write_csv(f"{name}.csv")
    command = ["check", "now.csv", "--truth", "load", "--quantiles", "q*", "--earlier", "before.csv"]
    assert main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "change.weighted_interval_score <= 0" in said
    assert "change from before.csv (500 forecasts), as two independent samples; --on pairs rows" in said
    assert main([*command, "--on", "id"]) == 1
    assert "change from before.csv, paired by id (500 rows)" in " ".join(capsys.readouterr().out.split())
    assert main([*command, "--on", "id", "--require", "change.crps < 1", "crps < 9", "--json", "-"]) == 0
    flat = json.loads(capsys.readouterr().out)
    quantiles = up.Quantiles(LEVELS, pl.read_csv("now.csv").select("^q.*$"))
    found = up.compare(Y, {"now": quantiles, "then": up.Quantiles(LEVELS, pl.read_csv("before.csv").select("^q.*$"))})
    assert flat["change.crps"] == pytest.approx(found.between("now", "then")["weighted_interval_score"].difference)


def test_forecasts_of_a_hub_are_paired_by_what_identifies_them(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"place": np.arange(500), "value": Y}).write_csv("truth.csv")
    for name, sd in (("now", 4.4), ("before", 3)):
        wide = {str(level): MEAN + sd * norm.ppf(level) for level in LEVELS}
        lines = pl.DataFrame({"place": np.arange(500), "horizon": 1, **wide}).unpivot(
            [*map(str, LEVELS)], index=["place", "horizon"], variable_name="output_type_id"
        )
        lines.sample(fraction=1, shuffle=True, seed=1).with_columns(output_type=pl.lit("quantile")).write_csv(
            f"{name}.csv"
        )
    command = [
        "check",
        "--hub",
        "now.csv",
        "--target-data",
        "truth.csv",
        "--earlier",
        "before.csv",
        "--clusters",
        "none",
    ]
    assert main([*command, "--json", "-"]) == 1
    flat = json.loads(capsys.readouterr().out)
    values = (MEAN[:, None] + sd * norm.ppf(LEVELS) for sd in (4.4, 3))
    now, before = (up.Quantiles(LEVELS, each) for each in values)
    score = "weighted_interval_score"
    found = up.compare(Y, {"now": now, "before": before}, clusters=None, confidence=0.9).between("now", "before")[score]
    ends = [flat[f"change.{score}{end}"] for end in ("", ".lower", ".upper")]
    np.testing.assert_allclose(ends, [found.difference, *found.interval], rtol=1e-9)
