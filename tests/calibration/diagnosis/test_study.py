"""The study of the diagnosis of two classes: its results are of its cases, and a small part of it comes out again."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers import module_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
RESULTS = pl.read_csv(ROOT / "benchmarks" / "results" / "diagnosis.csv")


@pytest.fixture(scope="module")
def study():
    return module_of(ROOT / "benchmarks" / "diagnosis.py")


def test_the_results_are_of_the_study(study):
    cases = [(case.study, case.design, case.error, str(case.sample), case.n, case.runs) for case in study.cases(1)]
    columns = ["study", "design", "error", "sample", "n", "runs"]
    assert RESULTS.filter(pl.col("study") != "surprise").select(columns).rows() == cases


def test_calibrated_forecasts_are_rejected_in_about_one_sample_of_twenty(study):
    found = [
        study.run(study.Case("size", design, "none", study.Sample(), 300, 45), 17 + at)
        for at, design in enumerate(study.DESIGNS)
    ]
    sizes = np.array([float(line["rejected"]) for line in found])
    assert 0.02 < sizes.mean() < 0.08  # 450 samples: standard error 0.010
    assert sizes.max() < 0.15  # 45 samples: standard error 0.032
    assert [line["anything"] for line in found] == [line["rejected"] for line in found]


@pytest.mark.parametrize(
    ("error", "sample", "least"),
    [
        ("bias 0.5", {}, 6),
        ("slope e^0.4", {}, 6),
        ("asymmetry 0.4", {}, 6),
        ("bias and slope 0.4", {}, 6),
        ("bias 0.5", {"weighted": True}, 6),
    ],
)
def test_an_error_is_named_and_its_gain_is_what_the_remedy_brings(study, error, sample, least):
    line = study.run(study.Case("naming", "usual", error, study.Sample(**sample), 3000, 7), 5)
    assert line["named_rightly"] >= least
    assert float(line["gain_claimed"]) == pytest.approx(float(line["gain_brought"]), rel=0.2)


def test_sizes_and_gains_of_the_whole_study():
    size = RESULTS.filter(pl.col("study") == "size")
    for (n,), group in size.group_by("n"):
        assert 0.02 < group["rejected"].mean() < 0.065, n
    assert size["rejected"].max() < 0.09
    for (sample,), group in RESULTS.filter(pl.col("study") == "samples").group_by("sample"):
        conservative = "unequal" in sample or "weights" in sample  # as the page of studies has it
        assert (0 if conservative else 0.01) <= group["rejected"].mean() < 0.08, sample
    naming = RESULTS.filter((pl.col("study") == "naming") & (pl.col("error") != "none"))
    named = naming.filter((pl.col("n") >= 5000) & (pl.col("sample") == "rows"))
    off = (named["gain_claimed"] - named["gain_brought"]) / named["gain_standard_error"]
    assert off.abs().max() < 4
