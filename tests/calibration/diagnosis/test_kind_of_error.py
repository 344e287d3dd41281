"""The page on kinds of error has the table of its study, and the study follows the rules that the page states."""

import csv
from pathlib import Path

import polars as pl
import pytest

from helpers import module_of
from pages import text_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
PAGE = text_of("verdict-studies")
RESULTS = pl.read_csv(ROOT / "benchmarks" / "results" / "kind_of_error.csv")


@pytest.fixture(scope="module")
def study():
    return module_of(ROOT / "benchmarks" / "kind_of_error.py")


def test_the_page_has_the_table(study):
    lines = study.table(RESULTS, study.ERRORS).splitlines()
    cells = [[cell.strip() for cell in line[1:-1].split("|")] for line in lines if not line.startswith("|---")]
    shown = ROOT / "docs" / "evidence" / "studies" / "kind-of-error.csv"
    assert [*csv.reader(shown.read_text("utf-8").splitlines())] == cells
    assert ":file: studies/kind-of-error.csv\n" in PAGE


def test_the_results_are_of_the_study(study):
    runs = {(row["error"], row["n"]): row["runs"] for row in RESULTS.to_dicts()}
    assert runs == {(name, n): times for name in study.ERRORS | study.SMALLER for n, times in study.RUNS.items()}
    for row in RESULTS.to_dicts():
        counted = row["right"] + row["another"] + row["not_named"]
        assert counted + (row["nothing"] if row["kind"] != "none" else 0) == row["runs"]


@pytest.mark.parametrize(
    ("findings", "kind"),
    [
        ([], "none"),
        ([("bias", -0.7)], "amplitude too large"),
        ([("bias", 0.7)], "amplitude too small"),
        ([("bias", -0.9), ("confidence", 0.7), ("asymmetry", 0.5)], "mean too near"),
        ([("bias", -0.9), ("tail", 0.7)], "mean too near"),
        ([("bias", 1.0), ("confidence", -0.3), ("asymmetry", -0.4)], "mean too far"),
        ([("bias", 1.0), ("tail", -0.3), ("asymmetry", -0.4), ("shape", float("nan"))], "mean too far"),
        ([("confidence", -0.2)], "variance too small"),
        ([("bias", 0.2), ("noise", 0.1)], "variance too small"),
        ([("confidence", 0.3), ("noise", 0.05)], "variance too large"),
        ([("confidence", 0.58), ("tail", -0.83), ("asymmetry", -0.07)], "variance too large"),
        ([("confidence", 0.5), ("tail", -1.06), ("shape", float("nan"))], "tail too light"),
        ([("tail", -0.6)], "tail too light"),
        ([("tail", -0.2)], "not named"),
        ([("noise", 0.1)], "not named"),
        ([("shape", float("nan"))], "not named"),
        ([("bias", -0.5), ("confidence", -0.3)], "not named"),
    ],
)
def test_the_rules(study, findings, kind):
    assert study.kind_of(findings) == kind


def test_what_the_page_takes_from_them():
    text = " ".join(PAGE.split())

    def row(error, n):
        return RESULTS.row(by_predicate=(pl.col("error") == error) & (pl.col("n") == n), named=True)

    far, large = row("mean 2 → 3", 500), row("variance 1 → 2", 500)
    assert far["most_common_other"] == "variance too small"
    assert f"for mean 2 → 3 in {far['another']}% of the samples" in text
    assert f"leaves no finding in {large['nothing']}%" in text
