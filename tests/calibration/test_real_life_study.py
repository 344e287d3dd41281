"""The study of real life: its results are of its designs, and hardly anything false is said."""

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from helpers import module_of

ROOT = Path(__file__).parents[2]
DESIGN, NIL = pl.col("design"), "practically nil"
RESULTS = pl.read_csv(ROOT / "benchmarks" / "results" / "real_life.csv").with_columns(
    family=DESIGN.str.split(": ").list.first()
)
CALIBRATED = RESULTS.filter(
    ((pl.col("ample") == 0) & (pl.col("family") != NIL))
    | ((pl.col("family") == "permuted classes") & ~DESIGN.str.contains("temperature"))
)
"""Permuted columns are, once they are named rightly."""
PLANTED = RESULTS.filter(~DESIGN.str.contains(r"^independent|^weights: calibrated|^rare events: [\d.]+$"))
"""An error, or dependence that nobody declared."""


@pytest.fixture(scope="module")
def study():
    return module_of(ROOT / "benchmarks" / "real_life.py")


def test_the_results_are_of_the_study(study):
    assert RESULTS["design"].to_list() == list(study.DESIGNS)
    assert set(RESULTS["runs"]) == {50}
    assert PLANTED["runs"].sum() >= 1500


def test_hardly_anything_false_is_said():
    assert (
        RESULTS["false"].sum() <= 0.01 * PLANTED.filter((pl.col("ample") > 0) | (pl.col("family") == NIL))["runs"].sum()
    )
    assert RESULTS["missed"].sum() <= 0.03 * RESULTS["ample"].sum()
    assert RESULTS["imagined"].sum() <= 0.01 * RESULTS["runs"].sum()


def test_one_sample_of_twenty_is_a_false_alarm_in_each_family():
    assert CALIBRATED["alarms"].sum() / CALIBRATED["runs"].sum() == pytest.approx(0.05, abs=0.01)
    for alarms, runs in CALIBRATED.group_by("family").agg(pl.col("alarms", "runs").sum()).drop("family").iter_rows():
        assert alarms / runs == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / runs))


@pytest.mark.parametrize(
    "design", ["repeated outcomes: bias 0.7", "permuted classes: 2 of 3", "pairs: bias and slope, 2,000 rows"]
)
def test_a_part_of_it_comes_out_again(study, design):
    line = study.run(design, 3, 1)
    assert (line["ample"], line["missed"], line["false"]) == (3, 0, 0)


def test_the_power_is_that_of_samples(study):
    rng = np.random.default_rng(0)
    s = rng.normal(size=300)
    p, q = expit(s), expit(0.7 * s)
    ratio = np.log(q / p) - np.log((1 - q) / (1 - p))
    null, true = ((rng.random((4000, 300)) < each) @ ratio for each in (p, q))
    assert study.power(q, p, 1.0) == pytest.approx((true > np.quantile(null, 0.95)).mean(), abs=0.03)
    assert study.power(p, p, 1.0) == 0.05


def test_wrong_names_and_signs_are_seen(study):
    case = study.DESIGNS["rare events: 0.1, bias 0.7"](np.random.default_rng(0))
    right = study.diagnose(case.drawn.y.astype(int), case.drawn.p, labels=(0, 1))
    assert not study.wrong_sign(case, right)
    assert not study.wrong_name(case, right)
    assert study.wrong_sign(case._replace(q=expit(study.logit(case.drawn.p) - 0.7)), right)
    assert study.wrong_name(case._replace(q=expit(study.logit(case.drawn.p) * 0.5), planted={"confidence"}), right)
