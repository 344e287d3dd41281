import datetime
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import softmax_forecasts
from unperplexed import Forecasts, InputError, Tallies, Tally, assess, tally_files, tally_files_by
from unperplexed.tally.tallies import MOST_GROUPS


@pytest.fixture
def rows(rng):
    """Forecasts of two classes, rounded so that values recur, with two columns to group by."""
    p = rng.uniform(size=600).round(2)
    y = (rng.uniform(size=600) < p).astype(int)
    return y, p, rng.choice(["a", "b", "c"], 600), rng.integers(2020, 2024, 600)


def same(one, other):
    assert list(one) == list(other)
    assert all(one[key].to_bytes() == other[key].to_bytes() for key in one)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"exact_limit": 20},
        {"parts": ["classes", "predictions"], "metrics": ["power_score(2)"]},
        {"exact_limit": 0, "fraction_bits": 4},
    ],
)
def test_each_tally_is_that_of_the_groups_rows_and_the_sum_that_of_all(rows, settings):
    y, p, letter, year = rows
    tallies = Tallies.of(y, p, by={"letter": letter, "year": year}, **settings)
    assert tallies.by == ("letter", "year")
    assert len(tallies) == 12
    for key, tally in tallies.items():
        here = (letter == key[0]) & (year == key[1])
        assert tally.to_bytes() == Tally.of(y[here], p[here], **settings).to_bytes()
    assert tallies.whole().to_bytes() == Tally.of(y, p, **settings).to_bytes()


def test_cells_take_over_in_the_sum_alone(rng):
    y, p = softmax_forecasts(rng, 400, 3)
    tallies = Tallies.of(y, p, by=np.arange(400) % 4, exact_limit=400)
    assert all(tally.exact for tally in tallies.values())
    assert not tallies.whole().exact
    assert tallies.whole().to_bytes() == Tally.of(y, p, exact_limit=400).to_bytes()


def test_weights_and_shards_go_with_the_rows(rows, rng):
    y, p, letter, year = rows
    weight = rng.uniform(0.5, 2, 600)
    tallies = Tallies.of(y, p, by=letter, sample_weight=weight)
    for (key,), tally in tallies.items():
        here = letter == key
        assert assess(tally).metrics() == pytest.approx(
            assess(y[here], p[here], sample_weight=weight[here]).metrics(), rel=1e-12
        )
    assert assess(tallies.whole()).metrics() == pytest.approx(assess(y, p, sample_weight=weight).metrics(), rel=1e-12)
    for groups in (None, year):  # without groups, shards go by the row's number, which a group's rows keep
        sharded = Tallies.of(y, p, by=letter, parts=["shards"], clusters=groups)
        whole = Tally.of(y, p, parts=["shards"], clusters=groups)
        assert sharded.whole().to_bytes() == whole.to_bytes()


@pytest.mark.slow
@given(st.lists(st.integers(0, 60), max_size=6), st.randoms(use_true_random=False))
def test_parts_add_up_in_any_split_and_order(cuts, random):
    rng = np.random.default_rng(7)
    p = rng.uniform(size=60).round(1)
    y, by = (rng.uniform(size=60) < p).astype(int), rng.integers(0, 5, 60)
    ends = sorted([0, 60, *cuts])
    parts = [slice(*pair) for pair in pairwise(ends)]
    whole = Tallies.of(y, p, by=by)
    streamed = Tallies.count((Forecasts(y[part], p[part], whole=False), by[part]) for part in parts)
    same(streamed, whole)
    random.shuffle(parts)
    added = sum((Tallies.of(y[part], p[part], by=by[part]) for part in parts), Tallies())
    same(added, whole)
    assert added.whole().to_bytes() == whole.whole().to_bytes()


def test_nothing_adds_nothing(rows):
    y, p, letter, _ = rows
    tallies = Tallies.of(y, p, by=letter)
    for added in (tallies + Tallies(), Tallies() + tallies, sum([tallies]), Tallies.of([], [], by=[]) + tallies):
        same(added, tallies)
        assert added.by == ("group",)
    assert Tallies().whole().n_rows == 0
    assert len(Tallies.of([], [], by=[])) == 0


@pytest.mark.slow
def test_many_streamed_parts_are_merged_to_the_same(rng):
    p = rng.uniform(size=20_000)
    y, by = (rng.uniform(size=20_000) < p).astype(int), rng.integers(0, 3, 20_000)
    starts = np.cumsum([0, 9000, *rng.integers(1, 150, 200)])
    starts = [*starts[starts < 20_000].tolist(), 20_000]
    parts = [slice(*pair) for pair in pairwise(starts)]
    streamed = Tallies.count((Forecasts(y[part], p[part], whole=False), by[part]) for part in parts)
    same(streamed, Tallies.of(y, p, by=by))


LETTERS = ["b", "a", None, "b"]


@pytest.mark.parametrize(
    "by",
    [
        LETTERS,
        ["b", "a", "", "b"],
        np.array(LETTERS, dtype=object),
        pl.Series(LETTERS),
        pl.Series(LETTERS, dtype=pl.Categorical),
        pd.Series(LETTERS),
        pd.Series(LETTERS, dtype="category"),
        pa.array(LETTERS),
        pa.chunked_array([LETTERS[:1], LETTERS[1:]]),
        ["b", "a", float("nan"), "b"],
        pl.DataFrame({"letter": LETTERS}),
        pa.table({"letter": LETTERS}),
        {"letter": pd.Series(LETTERS)},
        np.array(LETTERS, dtype=object)[:, None],
    ],
    ids=str,
)
def test_columns_of_any_kind(by):
    tallies = Tallies.of([1, 0, 1, 1], [0.8, 0.3, 0.6, 0.4], by=by)
    assert {key: tally.n_rows for key, tally in tallies.items()} == {("a",): 1, ("b",): 2, (None,): 1}
    assert list(tallies) == [("a",), ("b",), (None,)]


@pytest.mark.parametrize(
    ("values", "keys"),
    [
        ([3, 3.0, "3", np.float32(3)], [3]),
        (["07", "7", 7], [7, "07"]),
        (["0.5", 0.5, "0.50"], [0.5, "0.50"]),
        (["10", "9", "x", "8"], [8, 9, 10, "x"]),
        (["nan", "inf", "-0", "1e3", "٣", "1_0"], ["1_0", "1e3", "-0", "inf", "nan", "٣"]),
        ([datetime.date(2024, 2, 29), "2024-02-29"], ["2024-02-29"]),
        ([2**70, str(2**70)], [2**70]),
        ([b"x", "x"], ["x"]),
    ],
)
def test_a_value_is_the_same_however_it_is_spelled(values, keys):
    tallies = Tallies.of([1] * len(values), [0.7] * len(values), by=np.array(values, dtype=object))
    assert [key for (key,) in tallies] == keys
    assert all(tallies[value] is tallies[(value,)] for value in values)


def test_dates_and_flags():
    days = pl.Series([datetime.date(2024, 3, 1), datetime.date(2024, 2, 29)])
    assert list(Tallies.of([1, 0], [0.7, 0.2], by=days)) == [("2024-02-29",), ("2024-03-01",)]
    assert list(Tallies.of([1, 0], [0.7, 0.2], by=days.to_numpy())) == [("2024-02-29",), ("2024-03-01",)]
    assert list(Tallies.of([1, 0], [0.7, 0.2], by=[True, False])) == [(False,), (True,)]


def test_names_of_columns():
    y, p = [1, 0], [0.7, 0.2]
    assert Tallies.of(y, p, by=[1, 2]).by == ("group",)
    assert Tallies.of(y, p, by=pd.Series([1, 2], name="team")).by == ("team",)
    assert Tallies.of(y, p, by=pl.DataFrame({"team": [1, 1], "year": [1, 2]})).by == ("team", "year")
    assert Tallies.of(y, p, by=pd.DataFrame([[1, 2], [3, 4]])).by == ("0", "1")
    with pytest.raises(KeyError):
        Tallies.of(y, p, by=[1, 2])[3]


def test_what_is_left_out_is_noted_in_its_group():
    y, p = [1, None, 0, 2, 1], [0.7, 0.2, float("nan"), 0.4, 0.6]
    tallies = Tallies.of(y, p, by=list("aabbc"), invalid="drop", ignore_label=2)
    assert tallies["a"].notes.dropped == {"no label": 1}
    assert tallies["b"].notes.dropped == {"NaN": 1}
    assert tallies["b"].notes.ignored == 1
    assert [tally.n_rows for tally in tallies.values()] == [1, 0, 1]
    assert tallies.whole().notes == Tally.of(y, p, invalid="drop", ignore_label=2).notes


def test_classes_are_those_of_all_groups():
    tallies = Tallies.of(["b", "a", "c"], np.full((3, 3), 1 / 3), by=[1, 2, 3], whole=True)
    assert all(tally.labels == ("a", "b", "c") for tally in tallies.values())


def message(function, *arguments, **settings):
    with pytest.raises(InputError) as caught:
        function(*arguments, **settings)
    return str(caught.value)


def test_an_invalid_row_is_named_with_all_others(rng):
    y, p = np.ones(200_000, dtype=int), rng.uniform(size=200_000)
    p[[5, 77, 150_001]] = np.nan
    by = np.arange(200_000) % 3
    expected = message(Tally.of, y, p)
    assert "3 rows (5, 77, 150001; counted from 0)" in expected
    assert message(Tallies.of, y, p, by=by) == expected


def test_a_part_of_forecasts_keeps_the_numbers_of_its_rows():
    forecasts = Forecasts([1, 0, 1, 1], [0.7, 0.2, 0.9, 0.4], first_row=100)
    part = forecasts[np.array([1, 2, 3])]
    [block] = part[np.array([2, 0])].blocks()
    assert block.index.tolist() == [103, 101]
    assert block.rows.correct.tolist() == [0.4, 0.8]
    assert (part.n_rows, forecasts.n_rows) == (3, 4)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ([1, 2], "column 'group' has 2 rows, the forecasts 3; each needs one"),
        ({"x": [1, 2, 3], "z": [1]}, "column 'z' has 1 row, the forecasts 3"),
        ("season", "the values themselves, not the name of a column"),
        (np.zeros((3, 2)), "several columns are given by name"),
        ({}, "no column to group by"),
        (np.array([1j, 2, 3]), "column 'group': expected numbers or texts, not complex128"),
        (np.array([[1], [2], 3], dtype=object), "column 'group': expected numbers or texts, not list"),
        (pd.DataFrame([[1, 2]] * 3, columns=["a", "a"]), "has a column twice"),
        (pd.Series([1, 2, 3], index=[7, 8, 9]), "pandas indexes differ"),
    ],
)
def test_columns_that_cannot_be_used(by, expected):
    y_true = pd.Series([1, 0, 1]) if isinstance(by, pd.Series) else [1, 0, 1]
    assert expected in message(Tallies.of, y_true, [0.7, 0.2, 0.4], by=by)


@pytest.mark.slow
def test_too_many_groups_are_refused_by_name():
    y, p = np.ones(1100, dtype=int), np.full(1100, 0.6)
    text = message(Tallies.of, y, p, by={"id": np.arange(1100)}, most_groups=1000)
    assert "more than 1,000 groups in id, such as 998, 999, 1000" in text
    assert "allow more with most_groups (Python)" in text
    assert len(Tallies.of(y, p, by=np.arange(1100))) == 1100
    n = MOST_GROUPS + 1
    text = message(Tallies.of, np.ones(n, dtype=int), np.full(n, 0.6), by={"id": np.arange(n)})
    assert "more than 200,000 groups in id" in text
    text = message(Tallies.of, y, p, by={"x": np.arange(1100) % 40, "z": np.arange(1100) // 50}, most_groups=50)
    assert "groups in x, z together" in text
    assert "most_groups: expected a whole number" in message(Tallies.of, y, p, by=y, most_groups=0)


def test_parts_grouped_by_other_columns_do_not_add_up():
    one, other = (Tallies.of([1], [0.5], by={name: [1]}) for name in ("team", "year"))
    with pytest.raises(InputError, match="grouped by team and by year do not add up"):
        one + other
    with pytest.raises(InputError, match="exact_limit do not add up"):
        one + Tallies.of([1], [0.5], by={"team": [1]}, exact_limit=3)
    with pytest.raises(TypeError):
        one + Tally.of([1], [0.5])


@pytest.fixture
def folder(tmp_path, rows):
    y, p, letter, year = rows
    frame = pl.DataFrame({"y": y, "p": p, "letter": letter, "year": year, "day": ["2024-01-05"] * 600})
    frame = frame.with_columns(pl.when(pl.col("letter") == "c").then(None).otherwise(pl.col("letter")).alias("letter"))
    frame.write_csv(tmp_path / "rows.csv")
    frame.write_ndjson(tmp_path / "rows.jsonl")
    frame.write_parquet(tmp_path / "rows.parquet", row_group_size=100)
    frame.write_ipc(tmp_path / "rows.arrow")
    letters = frame["letter"].fill_null("").to_numpy().astype(str)
    np.savez(tmp_path / "rows.npz", y=frame["y"], p=frame["p"], letter=letters, year=frame["year"])
    frame[:50].write_csv(tmp_path / "a.csv")
    frame[50:].write_csv(tmp_path / "b.csv")
    return tmp_path, frame


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.parquet", "rows.arrow", "rows.npz", "[ab].csv"])
def test_files_of_every_format_give_the_groups_of_the_rows(folder, name):
    path, frame = folder
    by = ["letter", "year"]
    tallies = tally_files_by(path / name, truth="y", prob="p", by=by)
    expected = Tallies.of(frame["y"], frame["p"], by=frame.select(by))
    same({key: replace(tally, sources={}) for key, tally in tallies.items()}, expected)
    assert tallies.by == ("letter", "year")
    assert (None, 2020) in tallies
    assert tallies.whole().to_bytes() == tally_files(path / name, truth="y", prob="p").to_bytes()


def test_settings_of_files_are_those_of_tally_files(folder):
    path, frame = folder
    settings = {
        "parts": ["shards", "classes"],
        "clusters": "year",
        "weight": "year",
        "pos_label": 0,
        "invalid": "drop",
    }
    tallies = tally_files_by(path / "rows.csv", truth="y", prob="p", by="letter", **settings)
    whole = tally_files(path / "rows.csv", truth="y", prob="p", **settings)
    assert tallies.whole().parts == whole.parts == ("classes", "shards")
    assert assess(tallies.whole()).metrics() == pytest.approx(assess(whole).metrics(), rel=1e-12)
    pairs = tally_files_by(path / "rows.csv", pairs=[("p", "y")], by="day")
    assert {key: tally.n_rows for key, tally in pairs.items()} == {("2024-01-05",): 600}
    with pytest.raises(TypeError):
        tally_files_by(path / "rows.csv", truth="y", prob="p", by="letter", percnt=True)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"by": "leter"}, "no column 'leter'; did you mean 'letter'"),
        ({"by": ["letter", "letter"]}, "column 'letter' is named twice"),
        ({"by": "p"}, "column 'p' is read as probabilities"),
        ({"by": ["year"], "weight": "year"}, "column 'year' is read as"),
        ({"by": "year", "most_groups": 3}, "more than 3 groups in year, such as 2"),
        ({"by": "year", "prob": ()}, "name the columns of both"),
    ],
)
def test_files_that_cannot_be_grouped(folder, settings, expected):
    assert expected in message(tally_files_by, folder[0] / "rows.csv", **{"truth": "y", "prob": "p", **settings})


def test_grouping_by_the_outcome_is_allowed(folder):
    path, frame = folder
    tallies = tally_files_by(path / "rows.csv", truth="y", prob="p", by="y")
    assert [tally.n_rows for tally in tallies.values()] == [(frame["y"] == 0).sum(), (frame["y"] == 1).sum()]
    assert all(tally.labels == (0, 1) for tally in tallies.values())
