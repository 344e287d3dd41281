"""Conditions that choose rows: those that are written for groups choose just these."""

from datetime import date, datetime

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, tally_files
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


def test_no_condition_is_written_for_what_is_made_of_a_column():
    assert condition_of(["day:month"], (2,), [(1,), (2,)]) == ""


@pytest.mark.parametrize(
    ("condition", "places"),
    [
        ("code = '007'", [0]),
        ("code > 7", [1]),
        ("wet", [1]),
        ("NOT wet AND code < 8", [0]),
        ("at < '2024-02-01T06:00:00'", [0]),
        ("at = '2024-02-01T06:00:00'", [1]),
        ("day >= '2024-02-01'", [1]),
    ],
)
def test_texts_numbers_truth_and_times_are_compared_as_they_are_spelled(condition, places):
    columns = {
        "code": pl.Series(["007", "042"]),
        "wet": pl.Series([False, True]),
        "at": pl.Series([datetime(2024, 1, 1, 6), datetime(2024, 2, 1, 6)]),
        "day": pl.Series([date(2024, 1, 1), date(2024, 2, 1)]),
    }
    assert RowFilter(condition).places(columns).tolist() == places


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("at < '2024-02-01 06:00'", "a T stands between date and time"),
        ("size > 50", "column 'size' holds text"),
        ("size", "it is not true or false of each row"),
    ],
)
def test_conditions_that_cannot_be_meant_are_refused(condition, message):
    columns = {"at": pl.Series([datetime(2024, 1, 1, 6)]), "size": pl.Series(["large"])}
    with pytest.raises(InputError, match=message):
        RowFilter(condition).places(columns)


@pytest.mark.parametrize(("site", "wanted"), [("", [False, False]), ("a", [False, True])])
@pytest.mark.parametrize("condition", ["id > 2 AND site = 'a'", "site = 'a' AND id > 2 AND dose IS NULL"])
def test_a_column_may_be_empty_in_a_batch(condition, site, wanted):
    frame = pl.DataFrame({"id": ["1", "3"], "site": [site, site], "dose": ["", ""]})
    assert RowFilter(condition).matches(frame).tolist() == wanted


@pytest.mark.parametrize("values", [["03", "12"], [True, False], ["a", None], [1, "a"]])
def test_no_condition_is_written_where_a_value_may_be_spelled_otherwise(values):
    assert condition_of(["x"], (values[-1],), [(value,) for value in values]) == ""


def test_quotes_are_explained(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,p,amount €,site\n1,0.5,3,H01\n0,0.25,,H01\n")
    read = {"truth": "y", "prob": "p"}
    for where, message in (
        ("amount € > 0", 'names with blanks or signs in double ones, "amount €"'),
        ('site = "H01"', "no column 'H01'; a text takes single quotes, 'H01'"),
    ):
        with pytest.raises(InputError, match=message):
            tally_files(path, where=where, **read)
    assert tally_files(path, where='"amount €" IS NOT NULL', **read).n_rows == 1
