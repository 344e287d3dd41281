"""Rows chosen by a condition, and groups made of a column: what the same rows in a file of their own give."""

import json

import numpy as np
import polars as pl
import pytest

from unperplexed import InputError, assess, tally_files, tally_files_by
from unperplexed.cli.parser import main
from unperplexed.sources.derived_columns import derived

COLUMNS = {"truth": "won", "prob": "p"}


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    p = rng.uniform(0.05, 0.95, 400)
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2025, 2, 3), eager=True).cast(pl.String)[:400]
    return pl.DataFrame({"p": p, "won": (rng.random(400) < p).astype(int), "age": rng.normal(50, 9, 400), "day": days})


def figures(tally):
    """Return all that does not name rows."""
    found = json.loads(assess(tally, resamples=0).to_json())
    return {name: value for name, value in found.items() if name not in ("notes", "surprises")} | {"n": tally.n_rows}


def written(path, table):
    table.write_csv(path)
    return path


@pytest.mark.parametrize("condition", ["day < '2024-06-01' AND p > 0.2", "won = 1 OR age < 40"])
def test_chosen_rows_are_counted_as_in_a_file_of_their_own(tmp_path, table, condition):
    halves = [written(tmp_path / f"{at}.csv", table[at * 200 : at * 200 + 200]) for at in range(2)]
    alone = written(tmp_path / "alone.csv", table.filter(pl.sql_expr(condition)))
    assert figures(tally_files(halves, where=condition, **COLUMNS)) == figures(tally_files(alone, **COLUMNS))


def npz(table, path):
    np.savez(path, **{name: table[name].to_numpy().astype(str) for name in ("p", "w", "won", "age")})


SAVE = {"csv": pl.DataFrame.write_csv, "jsonl": pl.DataFrame.write_ndjson, "parquet": pl.DataFrame.write_parquet}


@pytest.mark.parametrize(
    ("form", "column"),
    [
        ("csv", "p"),
        ("jsonl", "w"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("parquet", "p"), ("npz", "p"), ("csv", "w"))),
    ],
)
def test_text_among_the_numbers_of_other_rows_does_not_matter(tmp_path, table, form, column, monkeypatch):
    """As in a file of the same rows alone, however the rows fall into batches, and by both readers of JSON Lines."""
    table = table.with_columns(w=pl.col("age").abs().round())
    text = pl.when(pl.col("age") > 50).then(pl.lit("soon")).otherwise(pl.col(column).cast(pl.String)).alias(column)
    path, plain = tmp_path / f"spoiled.{form}", tmp_path / f"plain.{form}"
    for each, where in ((table.with_columns(text), path), (table, plain)):
        (SAVE.get(form) or npz)(each, where)
    chosen = {"where": "age <= 50", "weight": "w", **COLUMNS}
    counted = figures(tally_files(plain, **chosen))
    assert figures(tally_files(path, **chosen)) == counted
    monkeypatch.setattr("unperplexed.sources.readers.BATCH_VALUES", 40)
    monkeypatch.setattr("unperplexed.sources.readers.text_streams.CHUNK_BYTES", 900)
    assert figures(tally_files(path, **chosen)) == counted
    row = int((table["age"] > 50).arg_true()[0])
    with pytest.raises(InputError, match=rf"not a number (in 1 row \({row};|at row {row} ).*'soon'"):
        tally_files(path, **{**chosen, "where": f"age <= 50 OR age = {table['age'][row]!r}"})


def test_an_error_of_the_first_chosen_row_is_of_no_other(tmp_path, table):
    path = written(tmp_path / "f.csv", table.with_columns(won=pl.when(pl.arange(400) == 7).then(None).otherwise("won")))
    first = f"age >= {table['age'][7]!r} AND p >= {table['p'][7]!r}"
    with pytest.raises(InputError, match=r"won: no label in 1 row \(7; counted from 0\)"):
        tally_files(path, where=f"{first} AND p <= {table['p'][7]!r} OR p < 0.3 AND day > '2024-02-01'", **COLUMNS)


def test_nothing_of_other_rows_is_read(tmp_path, table):
    spoiled = table.with_columns(
        pl.when(pl.col("age") > 50).then(pl.lit("void")).otherwise(pl.col("won").cast(pl.String)).alias("won"),
        pl.when(pl.col("age") > 50).then(7.0).otherwise(pl.col("p")).alias("p"),
    )
    path = written(tmp_path / "spoiled.csv", spoiled)
    with pytest.raises(InputError):
        tally_files(path, **COLUMNS)
    alone = written(tmp_path / "alone.csv", table.filter(pl.col("age") <= 50))
    assert figures(tally_files(path, where="age <= 50", **COLUMNS)) == figures(tally_files(alone, **COLUMNS))


def test_an_invalid_chosen_row_is_named_by_its_number_in_the_file(tmp_path, table):
    path = written(
        tmp_path / "f.csv", table.with_columns(pl.when(pl.arange(400) == 7).then(2.0).otherwise("p").alias("p"))
    )
    age = table["age"][7]
    with pytest.raises(InputError, match=r"1 row \(7; counted from 0\)"):
        tally_files(path, where=f"age >= {age - 1e-6}", **COLUMNS)


def test_a_condition_that_no_row_meets_is_refused(tmp_path, table):
    path = written(tmp_path / "f.csv", table)
    with pytest.raises(InputError, match="age > 900: true of none of 400 rows"):
        tally_files(path, where="age > 900", **COLUMNS)
    with pytest.raises(InputError, match="no column 'agee'; did you mean 'age'"):
        tally_files(path, where="agee > 900", **COLUMNS)


def test_months_and_quantiles_make_groups(tmp_path, table):
    path = written(tmp_path / "f.csv", table)
    months = tally_files_by(path, by="day:month", **COLUMNS)
    counts = table["day"].str.slice(5, 2).cast(int).value_counts()
    assert {key: tally.n_rows for (key,), tally in months.items()} == dict(counts.iter_rows())
    halves = [written(tmp_path / f"{at}.csv", table[at * 200 : at * 200 + 200]) for at in range(2)]
    quartiles = tally_files_by(halves, by="age:quartiles", where="p < 0.5", **COLUMNS)
    chosen = table.filter(pl.col("p") < 0.5)
    order = chosen["age"].sort()
    for at, ((key,), tally) in enumerate(sorted(quartiles.items())):
        assert abs(tally.n_rows - len(order) / 4) <= 1
        least, most = map(float, key.split(": ")[1].split(" to "))
        assert abs(order.is_between(least - 1e-4, most + 1e-4).sum() - tally.n_rows) <= 1
        assert key.startswith(f"{at + 1} of 4: ")
    with pytest.raises(InputError, match="age:month: column 'age' is no date"):
        tally_files_by(path, by="age:month", **COLUMNS)


@pytest.mark.parametrize("how", ["age:quartiles", "age:halves", "day:quarter", "day:year-month"])
@pytest.mark.parametrize("blank", [None, "  "])
def test_rows_without_a_value_are_a_group(tmp_path, table, how, blank):
    column = how.split(":")[0]
    none = (pl.int_range(pl.len()) % 7 == 3) | (pl.int_range(pl.len()) < 30)
    gaps = pl.when(none).then(pl.lit(blank)).otherwise(column).alias(column)
    path = written(tmp_path / "f.csv", table.with_columns(gaps))
    found = tally_files_by(path, by=how, **COLUMNS)
    there = tally_files_by(written(tmp_path / "there.csv", table.filter(~none)), by=how, **COLUMNS)
    counts = {key: tally.n_rows for key, tally in found.items()}
    assert counts.pop((None,)) == table.select(none.sum()).item()
    assert counts == {key: tally.n_rows for key, tally in there.items()}
    with pytest.raises(InputError, match=r"clusters: none in \d+ rows"):
        tally_files(path, clusters=how, parts=["shards"], **COLUMNS)


@pytest.mark.parametrize("form", ["%d/%m/%Y", "%-m/%-d/%Y %H:%M", "%d.%m.%Y"])
def test_dates_with_the_year_last_are_read_where_a_day_above_12_tells(tmp_path, table, form):
    days = pl.date_range(pl.date(2025, 1, 1), pl.date(2026, 2, 4), "1d", eager=True)
    iso = written(tmp_path / "iso.csv", table.with_columns(day=days))
    last = table.with_columns(day=days.cast(pl.Datetime).dt.strftime(form))
    first, second = written(tmp_path / "a.csv", last[:5]), written(tmp_path / "b.csv", last[5:])  # the first tells not
    for part in ("month", "date", "iso-week"):
        expected = tally_files_by(iso, by=f"day:{part}", **COLUMNS)
        found = tally_files_by([first, second], by=f"day:{part}", **COLUMNS)
        assert {key: each.n_rows for key, each in found.items()} == {k: each.n_rows for k, each in expected.items()}
    with pytest.raises(InputError, match=f"column 'day': dates such as {last['day'][0][:5]}.* have no day above 12"):
        tally_files_by(first, by="day:month", **COLUMNS)
    with pytest.raises(InputError, match="is no date such as 2026-11-23.*Rewrite dates as year-month-day"):
        tally_files_by([iso, second], by="day:month", **COLUMNS)


def test_maps_of_months_are_applied_to_dates_with_the_year_last(tmp_path, table):
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 2, 19), "1d", eager=True).sample(120, with_replacement=True)
    fit, new = str(tmp_path / "fit.json"), []
    for at, form in enumerate(("%Y-%m-%d", "%d/%m/%Y")):
        path = str(written(tmp_path / f"{at}.csv", table[:120].with_columns(day=days.dt.strftime(form))))
        asked = ["recalibrate", path, "--prob", "p", "-o"]
        if not at:
            assert main([*asked, fit, "--truth", "won", "--by", "day:month", "--clusters", "none"]) == 0
        assert main([*asked, str(tmp_path / f"{at}.new.csv"), "--apply", fit]) == 0
        new.append(pl.read_csv(tmp_path / f"{at}.new.csv")["p"])
    assert new[0].equals(new[1])


def test_dates_in_both_orders_are_refused(tmp_path, table):
    days = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("01/23/2026")).otherwise(pl.lit("23/01/2026"))
    path = written(tmp_path / "f.csv", table.with_columns(day=days))
    with pytest.raises(InputError, match="column 'day': dates such as 23/01/2026 have both orders of day and month"):
        tally_files_by(path, by="day:month", **COLUMNS)


@pytest.mark.parametrize("where", ["", "age > 50"])
def test_weeks_make_the_clusters_that_a_column_of_them_makes(tmp_path, table, where):
    weeks = table["day"].str.slice(0, 10).str.to_date().dt.strftime("%G-W%V")
    path = written(tmp_path / "f.csv", table.with_columns(weeks.alias("week")))
    asked = {**COLUMNS, "where": where, "parts": ["shards"]}
    by_part, by_column = (tally_files(path, clusters=name, **asked).to_bytes() for name in ("day:iso-week", "week"))
    assert by_part == by_column


def test_dates_of_clusters_that_cannot_be_read_are_named(tmp_path, table):
    days = pl.when(pl.int_range(pl.len()) == 7).then(pl.lit("soon")).otherwise("day").alias("day")
    path = written(tmp_path / "f.csv", table.with_columns(days))
    with pytest.raises(InputError, match=r"day:iso-week: column 'day' is no date .* in 1 row \(7; counted from 0\)"):
        tally_files(path, clusters="day:iso-week", parts=["shards"], **COLUMNS)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("day:months", "no column 'day:months'; did you mean 'day:month'"),
        ("month", "no column 'month'; did you mean 'COLUMN:month'"),
        ("day,age", "no column 'day,age'; for groups by both name them apart: --by day age."),
    ],
)
def test_a_group_that_is_misspelled_is_put_right(tmp_path, table, by, message):
    with pytest.raises(InputError, match=message):
        tally_files_by(written(tmp_path / "f.csv", table), by=by, **COLUMNS)


def test_a_column_of_that_name_is_not_taken_apart(tmp_path, table):
    path = written(tmp_path / "f.csv", table.rename({"day": "day:month"}))
    assert len(tally_files_by(path, by="day:month", **COLUMNS)) == 400


@pytest.mark.slow
def test_engines_choose_the_same_rows(dask_in_threads, tmp_path, table):
    halves = [written(tmp_path / f"{at}.csv", table[at * 200 : at * 200 + 200]) for at in range(2)]
    local = tally_files(halves, where="age >= 50", **COLUMNS)
    assert tally_files(halves, where="age >= 50", engine="dask", **COLUMNS).to_bytes() == local.to_bytes()
    with pytest.raises(InputError, match="quantiles are found by the engine local only"):
        tally_files_by(halves, by="age:halves", engine="dask", **COLUMNS)


@pytest.mark.parametrize(
    ("how", "groups"), [("halves", 2), ("thirds", 3), ("quartiles", 4), ("quintiles", 5), ("deciles", 10)]
)
def test_a_number_is_cut_into_equal_groups(how, groups):
    found = derived(f"x:{how}").groups(pl.Series(np.arange(60.0)), np.arange(60))
    assert found.value_counts()["count"].to_list() == [60 // groups] * groups


def test_a_value_that_is_no_date_is_named_by_its_row(tmp_path):
    path = tmp_path / "f.csv"
    path.write_text("y,p,day\n1,0.5,2026-03-01\n0,0.4,2026-03-02\n1,0.6,spring\n")
    with pytest.raises(InputError, match=r"1 row \(2; counted from 0\)"):
        tally_files_by([path], truth="y", prob="p", by="day:month")
