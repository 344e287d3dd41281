"""The study of recalibration: its results are of its cases, what the pages claim, and a small part comes out again."""

from pathlib import Path

import polars as pl
import pytest

from helpers import module_of

ROOT = Path(__file__).parents[2]
RESULTS = pl.read_csv(ROOT / "benchmarks" / "results" / "recalibration.csv", infer_schema_length=None)
CALIBRATED = RESULTS.filter((pl.col("study") == "small") & (pl.col("error") == "none"))


@pytest.fixture(scope="module")
def study():
    return module_of(ROOT / "benchmarks" / "recalibration.py")


@pytest.mark.slow
def test_the_results_are_of_the_study(study):
    assert RESULTS.select(study.Case._fields).rows() == [tuple(case) for case in study.cases(1)]


@pytest.mark.parametrize(("n", "most"), [(50, 0.0015), (100, 0.0013), (300, 0.0003)])
def test_harm_on_calibrated_forecasts_is_small(n, most):
    found = CALIBRATED.filter(pl.col("n") == n)
    assert -found["gain_auto"].mean() <= most
    for other in (
        "single",
        "one standard error",
        "logistic",
        "isotonic",
        "scikit-learn sigmoid",
        "scikit-learn isotonic",
    ):
        assert found[f"gain_{other}"].mean() < found["gain_auto"].mean()


def test_the_identity_is_named_on_calibrated_forecasts():
    for _, found in CALIBRATED.group_by("n"):
        assert found["identity"].sum() / found["runs"].sum() >= 0.9


def test_the_interval_of_the_gain_covers():
    for (study, _), found in RESULTS.filter(pl.col("reported").is_not_null()).group_by("study", "n"):
        assert found["runs"].sum() >= 300
        assert 0.93 <= found["covered"].sum() / found["runs"].sum() <= 0.99, study


def test_beside_a_test_that_rejects_a_gain_in_doubt_is_seldom_harm():
    found = RESULTS.filter(pl.col("study").str.starts_with("halves"))
    assert (found["covered"] >= 0.93 * found["runs"]).all()
    assert found["harmful"].sum() <= 0.01 * found["rejected"].sum()
    assert found["significant"].sum() >= 0.5 * found["rejected"].sum()
    assert found["lost"].sum() <= 0.4 * found["every_half"].sum()


def test_the_average_is_near_the_best_map_on_every_network():
    networks = pl.read_csv(ROOT / "benchmarks" / "results" / "recalibration_networks.csv")
    for (name,), found in networks.group_by("network"):
        assert (found["splits"] == 10).all()
        [auto] = found.filter(pl.col("map") == "auto")["log_loss"]
        assert auto <= found["log_loss"].min() + 0.0015, name
        assert auto <= 0.239 or name != "wideresnet-16-4-cifar-10"


def test_maps_of_groups_gain_where_groups_differ_and_do_little_harm_elsewhere():
    results = pl.read_csv(ROOT / "benchmarks" / "results" / "recalibration_groups.csv")
    alike, differ = results.filter(pl.col("biases") == 0), results.filter(pl.col("biases") == 0.5)
    assert (alike["groups"] < 0.001).all()
    assert (differ["groups"] + 1.4 * differ["error_groups"] < 0).all()
    assert (results["groups"] < results["separate"]).all()


@pytest.mark.slow
def test_a_small_part_comes_out_again(study):
    line = study.small(study.Case("small", "usual", "biased and overconfident", 300, 2), 1)
    assert line["gain_auto"] > 0.01
    assert line["gain_scikit-learn isotonic"] < line["gain_auto"]
    line = study.halves(study.Case("halves", "three classes", "bias of 7 points", 1000, 2), 1)
    assert line["significant"] == line["rejected"] == 2
    line = study.coverage(study.Case("coverage", "narrow", "bias", 300, 4), 1)
    assert line["covered"] >= 3
    assert line["true"] == pytest.approx(line["reported"], abs=0.02)


@pytest.mark.slow
def test_intervals_of_clusters_and_weights_come_out_again(study):
    for name in ("clusters", "weights"):
        line = study.coverage(study.Case(name, "usual", "overconfident", 300, 4), 1)
        assert line["covered"] >= 3
        assert line["true"] == pytest.approx(line["reported"], abs=0.03)
