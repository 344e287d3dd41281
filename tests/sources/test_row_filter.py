"""Conditions that choose rows: those that are written for groups choose just these."""

import numpy as np
import polars as pl
import pytest

from unperplexed.sources.row_filter import RowFilter, condition_of


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("model", ["gpt-4", "it's", 'say "no"', "ünï", "A7", "3"]),
        ("Rain group", ["a", "b"]),
        ('odd "name"', ["a", "b"]),
        ("year", [2021, 2022, -3]),
        ("lead", [0.5, 1.25]),
    ],
)
def test_the_condition_of_a_group_chooses_its_rows(name, values):
    columns = {name: pl.Series(values), "other": np.arange(len(values))}
    for at, value in enumerate(values):
        condition = condition_of([name, "other"], (value, at), list(zip(values, range(len(values)), strict=True)))
        assert RowFilter(condition).places(columns).tolist() == [at]


@pytest.mark.parametrize("values", [["03", "12"], [True, False], ["a", None], [1, "a"]])
def test_no_condition_is_written_where_a_value_may_be_spelled_otherwise(values):
    assert condition_of(["x"], (values[-1],), [(value,) for value in values]) == ""
