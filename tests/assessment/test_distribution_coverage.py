"""The study `benchmarks/distributions.py`, and the law that keeps its test of members at its level."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import unperplexed as up
from helpers import module_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("censored", [False, True])
def test_an_outcome_may_be_exchanged_with_a_member(rng, censored):
    """What ranks are judged by stays the same, so that it says nothing of a calibrated rank."""
    drawn = np.exp(0.5 * rng.normal(size=(40, 1))) * rng.normal(size=(40, 6))
    limit = {"above": np.full(40, 0.8)} if censored else None
    known = np.minimum(drawn, 0.8) if censored else drawn
    one, other = (
        up.Samples(np.delete(drawn, at, axis=1)).pit_rows(known[:, at], censored=limit) for at in (0, 3)
    )  # fmt: skip
    np.testing.assert_array_equal(one.level, other.level)
    np.testing.assert_array_equal(one.log_spread, other.log_spread)
    assert (one.low != other.low).any()


def test_few_members_of_calibrated_ensembles_are_not_blamed():
    """Of 5 members alone the spread told where outcomes are: 96 % of the samples were rejected."""
    study = module_of(ROOT / "benchmarks" / "distributions.py")
    rejected = 0
    for run in range(100):
        rng = np.random.default_rng(run)
        drawn = rng.normal(size=(200, 6))
        rows = up.Samples(drawn[:, 1:]).pit_rows(drawn[:, 0])
        rejected += study.Tested.of(rows).gate.p_value < study.LEVEL
    assert 1 <= rejected <= 12


def test_what_falls_short_in_the_study_is_known():
    """Sizes hold; of what is printed, only the width of 30 overlapping dates, worth eight, has too narrow intervals."""
    study = module_of(ROOT / "benchmarks" / "distributions.py")
    table = pl.read_csv(ROOT / "benchmarks" / "results" / "distributions.csv")
    designs = [tuple(task) for task in study.tasks(1.0)]
    known = ["study", "form", "rows", "number", "error", "runs"]
    assert table.select(known).unique(maintain_order=True).rows() == designs
    short = study.short(table)
    assert short.select("study", "rows", "number", "figure").unique().rows() == [("coverage", "windows", 30, "width")]
    assert short["share"].min() >= 0.88
    named = table.filter((pl.col("figure") == "named first") & (pl.col("number") == 1000))
    assert named["share"].min() > 0.85
