"""Predictive distributions read from files: the same whatever their form, on real data, and bad input."""

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr, ndtri

from unperplexed import InputError
from unperplexed.sources.file_reading import FileReading
from unperplexed.sources.map_reduce import Found
from unperplexed.sources.predictive import _opened, count_distributions, read_distributions, several
from unperplexed.sources.predictive_columns import PredictiveSelection
from unperplexed.sources.row_filter import RowFilter

DATA = Path(os.environ.get("UNPERPLEXED_DATA", "/nowhere"))
LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]
DROP = FileReading(options={"invalid": ["drop"]})

real_data = pytest.mark.skipif(not DATA.exists(), reason="real data")


def read(path, form, *words, reading=FileReading(), where="", **settings):  # noqa: B008
    settings = {"truth": "y"} | settings
    selection = PredictiveSelection(form, words, where=RowFilter(where), **settings)
    return read_distributions([str(path)], selection, reading)


def held(found, share):
    """Share of outcomes within the central interval; of a cell that its end divides, a part."""
    rows = found.forecast.pit_rows(found.y)
    low, high = ndtr(rows.low), ndtr(rows.high)
    ends = 0.5 - share / 2, 0.5 + share / 2
    return np.mean((np.clip(high, *ends) - np.clip(low, *ends)) / (high - low))


@pytest.fixture
def wide(rng):
    """Forecasts of four sites on 30 days."""
    mean, n = rng.normal(size=120).round(2), 120
    columns = {f"q{level:g}": (mean + ndtri(level)).round(3) for level in LEVELS}
    return pl.DataFrame(
        {
            "day": [f"2026-03-{1 + at // 4:02d}" for at in range(n)],
            "site": [f"{at % 4:02d}" for at in range(n)],
            "y": (mean + rng.normal(size=n)).round(2),
            "w": rng.integers(1, 4, n),
            "mean": mean,
            **columns,
        }
    )


def long_of(wide):
    """A line for each quantile, in any order."""
    names = [name for name in wide.columns if name.startswith("q")]
    lines = wide.drop("mean").unpivot(names, index=["day", "site", "y", "w"], variable_name="level")
    return lines.with_columns(pl.col("level").str.slice(1).cast(pl.Float64)).sample(fraction=1.0, shuffle=True, seed=1)


@pytest.fixture
def expected(wide):
    return wide.select("^q.*$").to_numpy(), wide["y"].to_numpy()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "arrow"])
def test_quantiles_are_the_same_wide_and_long_in_every_format(tmp_path, wide, expected, suffix):
    write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson", "arrow": "write_ipc"}[suffix]
    for name, frame in (("wide", wide), ("long", long_of(wide))):
        getattr(frame, write)(tmp_path / f"{name}.{suffix}")
    side = read(tmp_path / f"wide.{suffix}", "quantiles", "q*", weight="w", keys=["day", "site"])
    below = read(tmp_path / f"long.{suffix}", "quantiles", "level=value", weight="w")
    order = below.frame.with_row_index("at").sort("day", "site")["at"].to_numpy()
    for found, rows in ((side, slice(None)), (below, order)):
        np.testing.assert_array_equal(found.forecast.levels, LEVELS)
        np.testing.assert_array_equal(found.forecast.values[rows], expected[0])
        np.testing.assert_array_equal(found.y[rows], expected[1])
        np.testing.assert_array_equal(found.weight[rows], wide["w"])
    assert set(below.frame.columns) == {"day", "site"}
    assert side.frame["site"][:2].to_list() == ["00", "01"]


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        (["0.1=q0.1", "0.5=q0.5"], [0.1, 0.5]),
        (["0.8=q0.1,q0.9", "0.5=q0.5"], [0.1, 0.5, 0.9]),
        (["0.5,0.9=q0.5,q0.9"], [0.5, 0.9]),
        (["q???"], [0.1, 0.5, 0.9]),
    ],
)
def test_levels_are_named(tmp_path, wide, words, levels):
    wide.write_csv(tmp_path / "f.csv")
    found = read(tmp_path / "f.csv", "quantiles", *words).forecast
    np.testing.assert_array_equal(found.levels, levels)
    np.testing.assert_array_equal(found.values, wide.select(f"q{level:g}" for level in levels).to_numpy())


def test_levels_in_names_may_be_per_cent(tmp_path, wide):
    percent = wide.rename({f"q{level:g}": f"p{100 * level:g}" for level in LEVELS}).select("^p.*$", "y")
    percent.write_csv(tmp_path / "f.csv")
    np.testing.assert_array_equal(read(tmp_path / "f.csv", "quantiles", "p*").forecast.levels, LEVELS)


def test_members_are_the_same_wide_long_and_as_one_array(tmp_path, rng):
    members, y = rng.normal(size=(50, 7)).astype(np.float32), rng.normal(size=50)
    np.savez(tmp_path / "f.npz", members=members, y=y)
    frame = pl.DataFrame({"y": y} | {f"m{at}": members[:, at] for at in range(7)}).with_row_index("case")
    frame.write_parquet(tmp_path / "wide.parquet")
    lines = frame.unpivot([f"m{at}" for at in range(7)], index=["case", "y"], variable_name="draw")
    lines.write_parquet(tmp_path / "long.parquet")
    array = read(tmp_path / "f.npz", "samples", "members").forecast.members
    assert array.dtype == np.float32
    np.testing.assert_array_equal(array, members)
    levels = ",".join(f"{level:.2f}" for level in np.arange(1, 8) / 8)
    quantiles = read(tmp_path / "f.npz", "quantiles", f"{levels}=members").forecast
    np.testing.assert_array_equal(quantiles.values, np.sort(members, axis=1))
    with pytest.raises(InputError, match="2 levels"):
        read(tmp_path / "f.npz", "quantiles", "0.1,0.9=members")
    np.testing.assert_array_equal(read(tmp_path / "wide.parquet", "samples", "m?").forecast.members, members)
    np.testing.assert_array_equal(read(tmp_path / "long.parquet", "samples", "draw=value").forecast.members, members)


def test_families_take_columns_and_numbers(tmp_path, wide):
    wide.with_columns(u=ndtr(wide["y"] - wide["mean"])).write_csv(tmp_path / "f.csv")
    normal = read(tmp_path / "f.csv", "distribution", "normal", "mean=mean", "sd=1")
    pit = read(tmp_path / "f.csv", "pit", "u")
    np.testing.assert_allclose(normal.forecast.pit_rows(normal.y).low, pit.forecast.pit_rows(pit.y).low, rtol=1e-9)
    assert normal.forecast.family == "normal"


def test_what_stands_beside_the_forecasts_is_read(tmp_path, wide):
    wide.with_columns(limit=pl.lit(2.5), issued=pl.lit("2026-02-28")).write_csv(tmp_path / "f.csv")
    found = read(
        tmp_path / "f.csv", "quantiles", "q*", clusters=["day:iso-week"], keys=["site"], censored={"above": "limit"},
        issued="issued", target_date="day", where="site <> '03'",
    )  # fmt: skip
    assert len(found.y) == len(found.forecast) == 90
    assert found.frame["site"].unique().sort().to_list() == ["00", "01", "02"]
    assert found.clusters.max() + 1 == wide["day"].str.to_date().dt.week().n_unique()
    assert (found.censored["above"] == 2.5).all()
    assert ((found.target - found.issued) / np.timedelta64(1, "D")).astype(int).tolist()[:4] == [1, 1, 1, 2]


def test_a_cdf_at_thresholds_is_the_cell_that_the_outcome_is_in(tmp_path, rng):
    n, thresholds = 2000, np.arange(-2, 2.5, 0.5)
    mean = rng.normal(size=n)
    y = mean + rng.normal(size=n)
    lines = pl.DataFrame(
        {
            "case": np.repeat(np.arange(n), 9), "output_type": "cdf", "output_type_id": np.tile(thresholds, n),
            "value": ndtr(thresholds - mean[:, None]).ravel(), "y": np.repeat(y, 9),
        }
    )  # fmt: skip
    lines.write_parquet(tmp_path / "f.parquet")
    found = read(tmp_path / "f.parquet", "hub")
    u = ndtr(y - mean)
    assert (found.forecast.low <= u).all()
    assert (u <= found.forecast.high).all()
    assert held(found, 0.8) == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / n))


@pytest.mark.slow
@real_data
def test_teams_of_a_hub_hold_as_many_outcomes_as_published():
    """Of SPEC 16.3: 68.5 % and 57.9 % of the outcomes lie in the 80 % intervals."""
    folder = DATA / "flusight_hub"
    target = str(folder / "target-hospital-admissions.csv")
    for team, n, share in (("CEPH-Rtrend_fluH", 12_058, 0.685), ("FluSight-baseline", 12_078, 0.579)):
        found = read(folder / f"{team}.parquet", "hub", truth=None, target_data=target)
        assert len(found.y) == n
        assert held(found, 0.8) == pytest.approx(share, abs=5e-4)
        weeks = (found.target - found.issued) / np.timedelta64(7, "D")
        np.testing.assert_array_equal(weeks, found.frame["horizon"])
        before = read(folder / f"{team}.parquet", "hub", truth=None, target_data=target, where="horizon < 0")
        assert any(
            f"{len(before.y):,} forecasts of" in said and "before they were issued" in said for said in found.notes
        )


@real_data
def test_a_hub_is_one_folder_and_what_is_not_assessed_is_named():
    folder = DATA / "hubverse_example"
    settings = {"truth": None, "target_data": str(folder / "target-data" / "time-series.csv")}
    found = read(folder, "hub", **settings)
    assert len(found.y) == 72
    said = " ".join(found.notes)
    for other in ("sample", "cdf", "pmf", "median", "mean"):
        assert f"of output type {other}" in said
    assert found.frame["model_id"].n_unique() == 3
    assert read(folder, "hub", **settings, keys=["model_id"]).frame["model_id"].n_unique() == 3
    assert "3 forecasters are assessed together" in several(found.frame)[0]
    draws = read(folder / "model-output" / "PSI-DICE", "hub", **settings, where="output_type = 'sample'")
    assert draws.forecast.form == "100 members"
    assert draws.frame["model_id"].unique().to_list() == ["PSI-DICE"]
    with pytest.raises(InputError, match="none is a distribution of a number. pmf: --ordered assesses"):
        read(folder, "hub", **settings, where="output_type = 'pmf'")


CATEGORIES = ["low", "moderate", "high", "very high"]


@real_data
@pytest.mark.parametrize("form", ["a line", "a line for each category"])
def test_categories_of_a_hub_are_ordered_as_its_configuration_has_them(tmp_path, form):
    folder = DATA / "hubverse_example"
    lines = pl.concat(
        [pl.read_csv(each, infer_schema=False) for each in (folder / "model-output").rglob("*.csv")], how="diagonal"
    )
    keys = ["location", "reference_date", "horizon", "target_end_date", "target"]
    happens = ["target_end_date", "location", "target"]
    pmf = lines.filter(pl.col("output_type") == "pmf")
    known = pmf.group_by(happens, maintain_order=True).agg().with_row_index("at")
    known = known.with_columns(observation=pl.Series(CATEGORIES)[known["at"].to_numpy() % 4]).drop("at")
    if form != "a line":  # the oracle output of hubs
        known = known.join(pl.DataFrame({"output_type_id": CATEGORIES}), how="cross")
        so = (pl.col("observation") == pl.col("output_type_id")).cast(pl.Float64)
        known = known.with_columns(output_type=pl.lit("pmf"), oracle_value=so).drop("observation")
    known.write_csv(tmp_path / "known.csv")
    settings = {"truth": None, "target_data": str(tmp_path / "known.csv"), "ordered": True}
    found = read(folder, "hub", **settings)
    assert found.forecast.labels == tuple(CATEGORIES)
    assert len(found.y) == pmf.height / 4
    assert "of output type quantile" in " ".join(found.notes)
    first = {name: found.frame[name][5] for name in (*keys, "model_id")}
    file = folder / "model-output" / first["model_id"] / f"{first['reference_date']}-{first['model_id']}.csv"
    own = pl.read_csv(file, infer_schema=False).filter(
        *(pl.col(name) == str(first[name]) for name in keys), pl.col("output_type") == "pmf"
    )
    assert found.forecast.probabilities[5].tolist() == own["value"].cast(pl.Float64).to_list()
    assert own["output_type_id"].to_list() == CATEGORIES
    happened = known
    if form != "a line":
        happened = known.filter(pl.col("oracle_value") == 1).rename({"output_type_id": "observation"})
    of_case = dict(zip(happened.select(happens).iter_rows(), happened["observation"], strict=True))
    rows = found.frame.select(happens).cast(pl.String).iter_rows()
    assert found.y.tolist() == [of_case[row] for row in rows]
    with pytest.raises(InputError, match="none is pmf. quantile: without --ordered"):
        read(folder, "hub", **settings, where="output_type = 'quantile'")


def test_categories_without_a_configuration_are_named(tmp_path):
    n = 30
    lines = pl.DataFrame({"case": np.repeat(np.arange(n), 3), "output_type_id": ["few", "some", "many"] * n})
    lines.with_columns(output_type=pl.lit("pmf"), value=pl.Series([0.2, 0.3, 0.5] * n)).write_csv(tmp_path / "f.csv")
    pl.DataFrame({"case": np.arange(n), "observation": ["few", "many"] * (n // 2)}).write_csv(tmp_path / "y.csv")
    known = {"truth": None, "target_data": str(tmp_path / "y.csv"), "ordered": True}
    with pytest.raises(
        InputError, match="'few', 'many', 'some'. Name all from the lowest to the highest with --labels"
    ):
        read(tmp_path / "f.csv", "hub", **known)
    found = read(tmp_path / "f.csv", "hub", **known, reading=FileReading(["few", "some", "many"]))
    assert found.forecast.probabilities[4].tolist() == [0.2, 0.3, 0.5]
    assert found.y.tolist() == ["few", "many"] * (n // 2)
    pl.DataFrame({"case": np.arange(n), "observation": ["few", "lots"] * (n // 2)}).write_csv(tmp_path / "y.csv")
    with pytest.raises(InputError, match="15 outcomes of forecasts are none of 'few', 'some', 'many'"):
        read(tmp_path / "f.csv", "hub", **known, reading=FileReading(["few", "some", "many"]))
    with pytest.raises(InputError, match="name it with --target-data"):
        read(tmp_path / "f.csv", "hub", ordered=True)


@real_data
def test_long_tables_of_scoringutils():
    folder = DATA / "scoringutils_examples"
    found = read(folder / "example_quantile.parquet", "quantiles", "quantile_level=predicted", truth="observed")
    assert found.forecast.values.shape == (887, 23)
    assert "144 lines without a forecast left out." in found.notes
    draws = read(folder / "example_sample_continuous.parquet", "samples", "sample_id=predicted", truth="observed")
    assert draws.forecast.members.shape == (887, 40)


def test_outcomes_are_matched_once_whatever_spells_the_keys(tmp_path, wide):
    """Also of a hub that publishes them again: the last publication counts."""
    path, truth = tmp_path / "f.parquet", tmp_path / "truth.csv"
    lines = long_of(wide).with_columns(pl.col("day").str.to_date().alias("target_end_date"))
    lines.drop("y", "day").write_parquet(path)
    known = wide.select(pl.col("day").alias("date"), "site", pl.col("y").alias("value"), as_of=pl.lit("2026-05-01"))
    early = known.with_columns(value=pl.lit(99.0), as_of=pl.lit("2026-04-01"))
    pl.concat([known.filter(pl.col("site") != "03"), early.head(10)]).write_csv(truth)
    found = read(path, "quantiles", "level=value", truth=None, target_data=str(truth), target_date="target_end_date")
    assert len(found.y) == 92  # two of the early ones are never published again
    assert sorted(found.y.tolist())[-2:] == [99, 99]
    said = " ".join(found.notes)
    assert "28 forecasts of 120 left out: no outcome has the same site and date." in said
    assert "8 outcomes of an earlier as_of left out" in said
    pl.concat([known, known.head(3)]).drop("as_of").write_csv(truth)
    with pytest.raises(InputError, match=r"truth.csv: a second outcome of the same site and date in 3 rows \(120, 121"):
        read(path, "quantiles", "level=value", truth=None, target_data=str(truth), target_date="target_end_date")


def test_leading_zeros_that_one_side_has_lost(tmp_path, wide):
    """'06' is 6 in a file that took codes for numbers; where zeros tell codes apart, they are left."""
    path, truth = tmp_path / "f.csv", tmp_path / "truth.csv"
    known = wide.select("day", "site", pl.col("y").alias("value"))
    bare = pl.col("site").str.replace("^0", "")
    settings = {"truth": None, "target_data": str(truth)}
    for forecasts, outcomes in ((long_of(wide).with_columns(bare), known), (long_of(wide), known.with_columns(bare))):
        forecasts.drop("y").write_csv(path)
        outcomes.write_csv(truth)
        found = read(path, "quantiles", "level=value", **settings)
        assert len(found.y) == 120
        assert "site: leading zeros are in one of the files only" in " ".join(found.notes)
        assert found.y.sum() == pytest.approx(wide["y"].sum())
    long_of(wide).with_columns(bare).drop("y").write_csv(path)
    pl.concat([known, known.with_columns(bare)]).write_csv(truth)
    found = read(path, "quantiles", "level=value", **settings)
    assert (len(found.y), len(found.notes)) == (120, 0)


def test_wide_tables_are_counted_batch_by_batch(tmp_path, wide, expected, monkeypatch):
    """To the bytes of the rows in memory; rows that are dropped are counted, those of a whole batch too."""
    from unperplexed import Quantiles, Tally
    from unperplexed.sources import predictive, readers, tables

    spoiled(wide, "q0.5", [*range(40, 60), 7], None).write_parquet(tmp_path / "f.parquet", row_group_size=20)
    monkeypatch.setattr(readers, "BATCH_ROWS", 20)
    sizes, rows = [], tables._rows
    monkeypatch.setattr(tables, "_rows", lambda *given: sizes.append(given[1].n_rows) or rows(*given))
    selection = PredictiveSelection("quantiles", ["q*"], "y", weight="w")
    found = predictive.count_distributions([str(tmp_path / "f.parquet")], selection, DROP)
    assert sizes == [20] * 6
    left = [at for at in range(120) if not (40 <= at < 60 or at == 7)]
    of_rows = Tally.of(expected[1][left], Quantiles(LEVELS, expected[0][left]), sample_weight=wide["w"][left])
    assert found.left_out == 21
    assert replace(found, left_out=0).to_bytes() == of_rows.to_bytes()
    with pytest.raises(InputError, match=r"f.parquet: the forecast has a number missing in 1 row \(7"):
        predictive.count_distributions([str(tmp_path / "f.parquet")], selection, FileReading())
    spoiled(wide, "q0.5", [*range(120)], None).write_parquet(tmp_path / "f.parquet")
    with pytest.raises(InputError, match="f.parquet: a number is missing in all of 120 rows. None is left"):
        predictive.count_distributions([str(tmp_path / "f.parquet")], selection, DROP)


def test_members_that_a_pattern_takes_are_said(tmp_path, wide):
    wide.with_columns(mode=pl.lit("a"), m1=pl.col("mean") + 1).write_csv(tmp_path / "f.csv")
    said = []
    with pytest.raises(InputError, match="column 'mode' is not a number"):
        read_distributions(
            [str(tmp_path / "f.csv")], PredictiveSelection("samples", ["m*"], "y"), FileReading(), said.append
        )
    assert said == ["members by the names of columns: 'mean', 'mode', 'm1'"]
    with pytest.raises(InputError, match="column 'm1' is named twice; name each member once"):
        read(tmp_path / "f.csv", "samples", "m1", "m*")


def spoiled(wide, column, rows, value):
    at = pl.int_range(wide.height)
    return wide.with_columns(pl.when(at.is_in(rows)).then(pl.lit(value)).otherwise(pl.col(column)).alias(column))


def test_missing_numbers_are_refused_or_dropped(tmp_path, wide):
    spoiled(wide, "q0.5", [7, 9], None).write_csv(tmp_path / "wide.csv")
    with pytest.raises(InputError, match=r"wide.csv: the forecast has a number missing in 2 rows \(7, 9"):
        read(tmp_path / "wide.csv", "quantiles", "q*")
    assert len(read(tmp_path / "wide.csv", "quantiles", "q*", reading=DROP).y) == 118
    lines = long_of(wide)
    spoiled(lines, "value", [3], float("nan")).write_parquet(tmp_path / "long.parquet")
    with pytest.raises(InputError, match=r"column 'value' has nothing in 1 row \(3"):
        read(tmp_path / "long.parquet", "quantiles", "level=value")
    assert len(read(tmp_path / "long.parquet", "quantiles", "level=value", reading=DROP).y) == 119
    lines[5:].write_parquet(tmp_path / "long.parquet")
    found = read(tmp_path / "long.parquet", "quantiles", "level=value")
    lacking = lines[:5].select("day", "site").n_unique()
    assert len(found.y) == 120 - lacking
    assert found.notes[0] == f"{lacking} forecasts of 120 left out: a level or a number is missing."


def test_members_that_are_missing_leave_out_their_forecasts_alone(tmp_path, rng):
    """5 % of the lines have no number: no forecast of fewer members passes for a whole one."""
    n, members = 300, 10
    lines = pl.DataFrame(
        {
            "case": np.repeat(np.arange(n), members),
            "draw": np.tile(np.arange(members), n),
            "y": np.repeat(rng.normal(size=n), members),
        }
    ).with_columns(value=rng.normal(size=n * members))
    gone = rng.random(n * members) < 0.05
    lines = lines.with_columns(value=pl.when(pl.Series(gone)).then(None).otherwise("value"))
    lines.write_csv(tmp_path / "f.csv")
    with pytest.raises(InputError, match="column 'value' has nothing in"):
        read(tmp_path / "f.csv", "samples", "draw=value")
    found = read(tmp_path / "f.csv", "samples", "draw=value", reading=DROP).forecast
    assert found.members.shape == (np.count_nonzero(~gone.reshape(n, members).any(axis=1)), members)


BAD = {
    "no such column": (["quantiles", "0.5=q05"], "no column 'q05'; did you mean"),
    "no level in the names": (["quantiles", "*a*"], "are no levels; name them, 0.1=COLUMN"),
    "a level partly in the pattern": (["quantiles", "q0.*"], "the level is all that * stands for"),
    "levels that are no shares": (["quantiles", "10=q0.1"], "levels lie between 0 and 1"),
    "levels of other columns": (["quantiles", "0.1,0.5,0.9=q0.1,q0.9"], "3 levels, and 2 columns"),
    "a level twice": (["quantiles", "0.1=q0.1", "0.1=q0.25"], "0.1"),
    "nothing matches": (["samples", "z*"], "--samples z*: no column matches"),
    "one member": (["samples", "q0.1"], "member"),
    "an unknown family": (["distribution", "gauss", "mean=mean", "sd=1"], "gauss"),
    "a parameter twice": (["distribution", "normal", "mean=mean", "mean=y"], "each once"),
    "a spread of 0": (["distribution", "normal", "mean=mean", "sd=0"], "sd"),
    "three PIT columns": (["pit", "y", "mean", "w"], "expected the columns of F"),
    "no probabilities": (["pit", "mean"], "no probability from 0 to 1"),
    "a long table and more": (["quantiles", "site=y", "0.1=q0.1"], "a long table has one column of levels"),
    "outcomes among the members": (["samples", "y", "q0.1"], "--truth y: this column is one of the forecasts"),
    "outcomes as quantiles": (["quantiles", "site=y"], "--truth y: this column is one of the forecasts"),
    "text": (["samples", "q*", "site2"], "not a number at row 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_columns_are_refused(tmp_path, wide, case):
    [form, *words], message = BAD[case]
    wide.with_columns(site2=pl.lit("a")).write_csv(tmp_path / "f.csv")
    with pytest.raises(InputError) as refused:
        read(tmp_path / "f.csv", form, *words)
    assert message in str(refused.value)


def test_lines_that_contradict_are_refused(tmp_path, wide):
    path, lines = tmp_path / "f.parquet", long_of(wide).sort("day", "site", "level")
    cases = {
        r"a level of a forecast for the second time in 2 rows \(600, 601": (pl.concat([lines, lines[[0, 7]]]), {}),
        r"column 'y' has another value than lines of the same forecast before in 1 row \(3": (
            spoiled(lines, "y", [3], 50.0), {"on": ["day", "site"]},
        ),
        "differs within a forecast. Name those that identify one with --on": (
            lines.with_columns(line=pl.int_range(600)), {},
        ),
        "true of none of 600 rows": (lines, {"where": "site = '09'"}),
        "which column holds the outcome": (lines, {"truth": None}),
        r"column 'site': '00' is no date such as": (
            lines.with_columns(pl.col("site") + "a"), {"issued": "site", "target_date": "day"},
        ),
    }  # fmt: skip
    for message, (frame, settings) in cases.items():
        frame.write_parquet(path)
        with pytest.raises(InputError, match=message.replace("'00'", "'00a'")):
            read(path, "quantiles", "level=value", **settings)


def test_workers_in_another_folder_find_the_outcomes(tmp_path, wide, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "f.parquet"
    long_of(wide).drop("y").write_parquet(path)
    wide.select("day", "site", pl.col("y").alias("value")).write_csv("truth.csv")
    selection = PredictiveSelection("quantiles", ("level=value",), truth=None, target_data="truth.csv")

    class Elsewhere:
        name = "elsewhere"

        @contextmanager
        def running(self, files, openers):
            (tmp_path / "other").mkdir()
            parts = _opened([str(path)], selection, FileReading(), print).parts
            monkeypatch.chdir(tmp_path / "other")
            yield lambda work, _: [Found(parts[0].name, work.of(*parts))]

    here = count_distributions([str(path)], selection, FileReading())
    there = count_distributions([str(path)], selection, FileReading(), engine=Elsewhere())
    assert there.to_bytes() == here.to_bytes()
