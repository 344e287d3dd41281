"""Real forecasters compared: against scipy's paired t-test, sums over groups by hand, and assess of each alone."""

import json
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

from real_data import DATA, npz
from unperplexed import compare
from unperplexed.cli.parser import main
from unperplexed.scores import row_scores

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")

NETWORKS = [DATA / "netcal_cifar/wideresnet-16-4-cifar-10.npz", DATA / "vgg16_cifar10/vgg16_cifar10.npz"]
TEAMS = [DATA / f"flusight_2015_16/{team}.npz" for team in ("4Sight", "Delphi-Stat", "KOT", "NEU")]
FLU = ["--truth", "labels", "--prob", "probs", "--on", "location", "ew", "horizon"]
NEAR = ["--where", "horizon <= 2"]  # half of the rows: maps of 756 coefficients are tried with more
REVIEW = DATA / "fte_review_2018/forecast_results_2018.csv"


def run(*arguments):
    return main([str(argument) for argument in arguments])


def found(capsys, *arguments):
    assert run("compare", *arguments, "--json", "-") == 0
    return json.loads(capsys.readouterr().out)


def difference(result, first, second, rule):
    """Difference in the JSON, the first minus the second."""
    for pair in result["pairs"]:
        if (pair["first"], pair["second"]) == (first, second):
            return pair["differences"][rule]
    raise AssertionError("no such pair")


def correct_loss(y, p, floor=0.0):
    return -np.log(np.maximum(p[np.arange(len(y)), y].astype(float), floor))


def test_two_networks_differ_as_the_paired_t_test_says(capsys):
    y, wide = npz("netcal_cifar/wideresnet-16-4-cifar-10.npz", "predictions", "ground_truth")
    labels, vgg = npz("vgg16_cifar10/vgg16_cifar10.npz", "probs", "labels")
    assert (y == labels).all()
    result = found(capsys, *NETWORKS, "--in-order")
    assert list(result["forecasters"]) == ["vgg16_cifar10", "wideresnet-16-4-cifar-10"]
    losses = {
        "log_loss": (correct_loss(y, vgg), correct_loss(y, wide)),
        "brier_score": (row_scores(y, vgg, "brier_score"), row_scores(y, wide, "brier_score")),
    }
    for rule, (a, b) in losses.items():
        seen, expected = difference(result, *result["forecasters"], rule), stats.ttest_rel(a, b)
        assert seen["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
        assert seen["interval"] == pytest.approx(list(expected.confidence_interval()), rel=1e-9)
        assert seen["difference"] == pytest.approx(a.mean() - b.mean(), rel=1e-9)
    ratio = result["pairs"][0]["accuracy_ratio"]
    assert ratio == pytest.approx(np.exp(losses["log_loss"][1].mean() - losses["log_loss"][0].mean()), rel=1e-12)
    assert 1.12 < ratio < 1.14
    for path in NETWORKS:  # and each is assessed as if alone
        assert run("assess", path, "--json", "-") == 0
        alone = json.loads(capsys.readouterr().out)
        assert alone.pop("schema") == result["schema"] == 2
        assert result["forecasters"][path.stem]["assessment"] == alone


def tempered(p, temperature):
    z = np.log(np.maximum(p.astype(float), 1e-300)) / temperature
    q = np.exp(z - z.max(axis=1, keepdims=True))
    return q / q.sum(axis=1, keepdims=True)


def test_a_network_of_a_hundred_classes_loses_to_itself_with_a_fitted_temperature():
    """The temperature is fitted to the first half of the images, the comparison is of the second."""
    p, y = npz("netcal_cifar/densenet-bc-100-cifar-100.npz", "predictions", "ground_truth")[::-1]
    half = len(y) // 2
    fitted = minimize_scalar(lambda t: correct_loss(y[:half], tempered(p[:half], t)).mean(), bounds=(0.5, 5))
    assert 1.5 < fitted.x < 3
    rivals = {"network": p[half:], "scaled": tempered(p[half:], fitted.x)}
    comparison = compare(y[half:], rivals)
    assert comparison.scored_floor == 0
    assert comparison.verdict == "scaled beats network by log loss (p < 0.001) and Brier score (p < 0.001)"


def test_zeros_that_occurred_are_compared_at_the_floor_and_named(capsys):
    """NEU assigned 0 to outcomes that occurred, the other teams did not."""
    result = found(capsys, *TEAMS, *FLU, *NEAR, "--invalid", "drop")
    with np.load(TEAMS[3]) as archive:
        p, y = (archive[name][archive["horizon"] <= 2] for name in ("probs", "labels"))
    zeros = int((p[np.arange(len(y)), y] == 0).sum())
    assert {name: each["zero_rows"] for name, each in result["forecasters"].items()} == {
        "Delphi-Stat": 0, "NEU": zeros, "KOT": 0, "4Sight": 0
    }  # fmt: skip
    assert result["scored_floor"] == result["floor"] == 0.01 / 27
    assert result["verdict"] == (
        "Delphi-Stat is best (log loss at the floor 0.00037 and Brier score, p < 0.001);"
        f" NEU assigned 0 to observed outcomes in {zeros} rows"
    )
    without = found(capsys, *TEAMS[:3], *FLU, *NEAR)
    assert without["scored_floor"] == 0
    assert without["verdict"] == "Delphi-Stat is best (log loss and Brier score, p < 0.001)"


def test_the_printed_table_fits_and_ranks(capsys, tmp_path):
    assert run("compare", *NETWORKS, "--in-order", "--plot", tmp_path / "c.svg") == 0
    out, err = capsys.readouterr()
    assert max(len(line) for line in out.splitlines() if not line.startswith(" " * 10)) <= 80  # but for commands
    beats = "vgg16_cifar10 beats wideresnet-16-4-cifar-10 by log loss (p < 0.001) and Brier score (p < 0.001)"
    assert " ".join(out.split()).startswith(beats)
    assert re.search(r"^vgg16_cifar10 +0\.257 +0\.105 +93\.6% +0\.040 +0\.607 +0\.773", out, re.MULTILINE)
    assert re.search(r"^wide\S* +0\.378 ", out, re.MULTILINE)
    assert "wideresnet-16-4-cifar-10: probabilities from 'predictions'" in err
    assert "vgg16_cifar10: probabilities from 'probs'" in err


def test_networks_in_another_order_are_paired_by_id(capsys, tmp_path):
    y, vgg = (x[:600] for x in npz("vgg16_cifar10/vgg16_cifar10.npz", "probs", "labels"))
    wide = npz("netcal_cifar/wideresnet-16-4-cifar-10.npz", "predictions", "ground_truth")[1][:600]
    order = np.random.default_rng(0).permutation(len(y))
    names = np.array([f"image {at}" for at in range(len(y))])
    np.savez(tmp_path / "wide.npz", image=names, labels=y, probs=wide)
    np.savez(tmp_path / "vgg.npz", image=names[order], labels=y[order], probs=vgg[order])
    files = tmp_path / "wide.npz", tmp_path / "vgg.npz"
    result = found(capsys, *files, "--truth", "labels", "--prob", "probs", "--on", "image")
    expected = compare(y, {"wide": wide, "vgg": vgg}, ids=names)
    assert result["pairs"] == json.loads(expected.to_json())["pairs"]
    assert run("compare", *files, "--truth", "labels", "--prob", "probs", "--in-order") == 2
    assert f"vgg: another outcome than for wide in {(y != y[order]).sum():,} rows" in capsys.readouterr().err


def test_flu_teams_by_location_against_sums_by_hand(capsys):
    """The cluster-robust test from sums over the eleven places, written out."""
    assert run("compare", *TEAMS, *FLU) == 2
    assert "NaN in 3 rows" in capsys.readouterr().err
    result = found(capsys, *TEAMS, *FLU, *NEAR, "--invalid", "drop", "--clusters", "location")
    assert (result["n_rows"], result["n_clusters"]) == (637, 11)
    assert "few clusters: 11" in result["warnings"][0]
    archives = {path.stem: np.load(path) for path in TEAMS}
    valid = ~np.isnan(archives["NEU"]["probs"]).any(axis=1) & (archives["NEU"]["horizon"] <= 2)
    y, place = archives["NEU"]["labels"][valid], archives["NEU"]["location"][valid]
    loss = {team: correct_loss(y, archive["probs"][valid], 0.01 / 27) for team, archive in archives.items()}
    for pair in result["pairs"]:
        d = loss[pair["first"]] - loss[pair["second"]]
        sums = np.array([(d - d.mean())[place == name].sum() for name in np.unique(place)])
        error = np.sqrt(11 / 10 * (sums**2).sum()) / d.size
        seen = pair["differences"]["log_loss"]
        assert seen["difference"] == pytest.approx(d.mean(), rel=1e-9)
        assert seen["standard_error"] == pytest.approx(error, rel=1e-9)
        rows = np.unique(place, return_counts=True)[1]
        degrees = rows.sum() ** 2 / (rows**2).sum() - 1  # hardly less than 10: places have 116 rows, but for three
        assert seen["p_value"] == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, degrees), rel=1e-9)
    dropped = {name: each["assessment"]["notes"]["dropped"] for name, each in result["forecasters"].items()}
    rest = "not chosen, or no valid counterpart"
    assert (dropped["NEU"], dropped["KOT"]) == ({"NaN": 3, rest: 636}, {rest: 639})
    rows = found(capsys, *TEAMS, *FLU, *NEAR, "--invalid", "drop", "--clusters", "none")
    narrower = [
        each["differences"]["log_loss"]["standard_error"] < other["differences"]["log_loss"]["standard_error"]
        for each, other in zip(rows["pairs"], result["pairs"], strict=True)
    ]
    assert all(narrower)  # as if independent, forecasts of a place say more than they do


def test_flu_teams_that_lack_rows(capsys, tmp_path):
    with np.load(TEAMS[1]) as archive:
        late = archive["ew"] != "EW42"
        np.savez(
            tmp_path / "late.npz",
            **{name: archive[name][late] for name in ("probs", "labels", "location", "ew", "horizon")},
        )
    assert run("compare", TEAMS[0], tmp_path / "late.npz", *FLU) == 2
    missing = int((~late).sum())
    assert (
        f"late: has no row for {missing} of the 1,276 ids of 4Sight: 'HHS Region 1, EW42, 1'" in capsys.readouterr().err
    )
    result = found(capsys, TEAMS[0], tmp_path / "late.npz", *FLU, *NEAR, "--common")
    with np.load(TEAMS[1]) as archive:
        near = archive["horizon"] <= 2
    assert result["n_rows"] == (late & near).sum()
    assert result["forecasters"]["4Sight"]["assessment"]["notes"]["dropped"] == {
        "not chosen, or no valid counterpart": int((~(late & near)).sum())
    }


def test_versions_of_an_election_model_in_one_table(capsys):
    options = ["--truth", "Democrat_Won", "--prob", "Democrat_WinProbability", "--forecaster", "version"]
    result = found(capsys, REVIEW, *options, "--on", "race", "forecastdate")
    assert list(result["forecasters"]) == ["deluxe", "classic", "lite"]
    table = pl.read_csv(REVIEW)
    wide = table.pivot("version", index=["race", "forecastdate", "Democrat_Won"], values="Democrat_WinProbability")
    assert result["n_rows"] == wide.height == 506
    y = wide["Democrat_Won"].to_numpy()
    for first, second in (("deluxe", "classic"), ("deluxe", "lite"), ("classic", "lite")):
        scores = [row_scores(y, wide[name].to_numpy(), "brier_score") for name in (first, second)]
        expected = stats.ttest_rel(*scores)
        seen = difference(result, first, second, "brier_score")
        assert seen["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert run("compare", REVIEW, *options, "--on", "race") == 0
    assert run("compare", REVIEW, *options, "--on", "cycle") == 2
    assert "more than one row has the id '2018'" in capsys.readouterr().err


def test_answers_of_language_models_are_events_of_their_own(capsys):
    """Each model's confidence is in its own answer, right or wrong: the same question, another event."""
    path = next((DATA / "llm_mcqa").glob("*.parquet"))
    options = ["--truth", "grade", "--prob", "Correct=confidence_level", "--invalid", "drop"]
    options += ["--ignore-label", "Unparseable", "--forecaster", "model", "--on", "prompt", "row", "--common"]
    assert run("compare", path, *options) == 2
    err = capsys.readouterr().err
    assert re.search(r"another outcome than for Falcon-40b in \d,\d+ ids .*for example 'Correct' and 'Wrong'", err)
