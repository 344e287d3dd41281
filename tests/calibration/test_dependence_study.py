"""The study of the search for dependence: its results are of its designs, and within what the method promises."""

from pathlib import Path

import polars as pl
import pytest

from helpers import module_of

ROOT = Path(__file__).parents[2]
RESULTS = pl.read_csv(ROOT / "benchmarks" / "results" / "dependence.csv")


@pytest.fixture(scope="module")
def study():
    return module_of(ROOT / "benchmarks" / "dependence.py")


def test_the_results_are_of_the_study(study):
    assert RESULTS["design"].to_list() == list(study.DESIGNS)
    assert set(RESULTS["runs"]) == {100}


def test_calibrated_forecasts_are_rejected_in_about_one_sample_of_twenty():
    calibrated = RESULTS.filter(~pl.col("design").str.contains("bias|temperature"))
    assert calibrated["rejected"].mean() < 6.5
    assert calibrated["rejected"].max() <= 12  # of 100: standard error 2.2


def test_dependence_is_found_and_rarely_imagined():
    independent, rows = (RESULTS.filter(pl.col("design").str.contains(word)) for word in ("independent", "x 10|x 50"))
    assert independent["flagged"].sum() <= 20  # 1 or, of classes, 2 % of 700
    assert independent["taken"].sum() <= 6
    assert rows["taken"].min() >= 95
    assert rows["right"].min() >= 93


def test_biases_of_groups_are_no_clusters_unless_they_are_large():
    taken = dict(RESULTS.select("design", "taken").iter_rows())
    assert taken["group biases of sd 0.3"] == 0
    assert taken["group biases of sd 0.5"] < 50
    assert taken["group biases of sd 1"] == 100


@pytest.mark.slow
@pytest.mark.parametrize("design", ["200 events x 10", "in-game martingale", "AR(1) 0.8", "independent"])
def test_a_part_of_it_comes_out_again(study, design):
    line = study.run(design, 12, 1)
    assert line["rejected"] <= 2  # expected is 1 or fewer
    assert (line["taken"] > 10) == (design != "independent")
