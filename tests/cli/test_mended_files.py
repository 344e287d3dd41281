"""recalibrate of predictive distributions: fitted and applied, in each form of file; what else a file has stays."""

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

import unperplexed as up
from unperplexed.cli.parser import main
from unperplexed.recalibration.recalibrator import Recalibrator

LEVELS = [0.1, 0.5, 0.9]


@pytest.fixture
def made(tmp_path, monkeypatch, rng):
    """A wide table, and a map fitted to it: outcomes are too high and scatter too much."""
    monkeypatch.chdir(tmp_path)
    level = rng.normal(20, 3, 300)
    y = (level + 0.5 + 1.7 * rng.normal(size=300)).round(3)
    values = {f"q{x:g}": (level + ndtri(x)).round(3) for x in (0.9, 0.1, 0.5)}
    pl.DataFrame({"id": [f"{k:03}" for k in range(300)], "y": y, **values}).write_csv("wide.csv")
    assert (
        main(
            [
                "recalibrate",
                "wide.csv",
                "--truth",
                "y",
                "--quantiles",
                "q*",
                "--clusters",
                "none",
                "-o",
                "m.json",
                "--force",
            ]
        )
        == 0
    )
    pl.DataFrame({"id": [1] * 4, "level": [0.1, 0.5, 0.9, 0.9], "v": range(4)}).write_csv("twice.csv")
    return Recalibrator.load("m.json")


def apply(*words):
    return main(["recalibrate", "--apply", "m.json", *words])


def test_a_map_of_the_command_is_that_of_python(made):
    frame = pl.read_csv("wide.csv")
    forecast = up.Quantiles([0.9, 0.1, 0.5], frame.select("q0.9", "q0.1", "q0.5"))
    assert made.to_dict() == Recalibrator().fit(frame["y"].to_numpy(), forecast, clusters=None).to_dict()


def test_a_wide_table_keeps_its_columns_and_their_order(made, capsys):
    assert apply("wide.csv", "--quantiles", "q*", "--where", "id < '250'", "-o", "new.csv") == 0
    said = capsys.readouterr().out
    assert "250 of 300 rows recalibrated" in said
    assert "67% of the new numbers lie above or below all old ones of their row, and are extrapolated" in said
    old, new = (pl.read_csv(name, infer_schema_length=0) for name in ("wide.csv", "new.csv"))
    assert new.columns == old.columns
    assert new.select("id", "y").equals(old.select("id", "y"))
    columns = [f"q{x:g}" for x in LEVELS]
    known = made.transform(up.Quantiles(LEVELS, old.select(pl.col(columns).cast(float))))
    found = new.select(pl.col(columns).cast(float)).to_numpy()
    assert found[:250] == pytest.approx(known.values[:250])
    assert apply("wide.csv", "--quantiles", "q*", "--as", "*_new", "-o", "more.csv") == 0
    assert pl.read_csv("more.csv", infer_schema_length=0).drop("^.*_new$").equals(old)
    assert (found[250:] == old.select(pl.col(columns).cast(float)).to_numpy()[250:]).all()


def test_a_long_table_keeps_its_lines(made, rng):
    long = pl.read_csv("wide.csv", schema_overrides={"id": str}).unpivot(
        ["q0.1", "q0.5", "q0.9"], index="id", variable_name="level", value_name="v"
    )
    long = long.with_columns(pl.col("level").str.slice(1), note=pl.lit("a, b"))[rng.permutation(900)]
    long[:-1].write_csv("long.csv")  # one forecast lacks a level
    assert apply("long.csv", "--quantiles", "level=v", "--on", "id", "-o", "new.csv") == 0
    old, new = (pl.read_csv(name, infer_schema_length=0) for name in ("long.csv", "new.csv"))
    assert new.drop("v").equals(old.drop("v"))
    lacking = old.filter(pl.len().over("id") < 3)["id"][0]
    assert new.filter(id=lacking).equals(old.filter(id=lacking))
    wide = new.filter(pl.col("id") != lacking).pivot("level", index="id", values="v").sort("id")
    before = pl.read_csv("wide.csv", schema_overrides={"id": str}).filter(pl.col("id") != lacking).sort("id")
    known = made.transform(up.Quantiles(LEVELS, before.select("q0.1", "q0.5", "q0.9")))
    assert wide.select(pl.col("0.1", "0.5", "0.9").cast(float)).to_numpy() == pytest.approx(known.values, rel=1e-8)


def test_members_of_lines_that_are_counts_stay_counts(made, rng):
    counts = rng.poisson(30, (40, 8))
    keys = {"target": ["n"] * 320, "place": np.repeat(np.arange(40), 8), "output_type": ["sample"] * 320}
    lines = pl.DataFrame({**keys, "output_type_id": np.tile(np.arange(8), 40), "value": counts.ravel()})
    mean = lines[:1].with_columns(output_type=pl.lit("mean"), output_type_id=None)
    pl.concat([lines, mean]).write_csv("hub.csv")
    assert apply("--hub", "hub.csv", "-o", "new.csv") == 0
    old, new = (pl.read_csv(name, infer_schema_length=0) for name in ("hub.csv", "new.csv"))
    assert new.drop("value").equals(old.drop("value"))
    assert new["value"].str.contains(r"^-?\d+$").all()
    assert new["value"][-1] == old["value"][-1]
    moved = new["value"][:320].cast(int).to_numpy().reshape(40, 8)
    assert (moved != counts).any()
    assert np.diff(np.take_along_axis(moved, np.argsort(counts, axis=1, kind="stable"), axis=1), axis=1).min() >= 0


def test_what_of_a_hub_stays_as_it_was_is_said(made, capsys):
    """Samples beside mended quantiles, and what was known when it was issued, as in the fit."""
    keys = pl.DataFrame(
        {"reference_date": ["2026-01-10"] * 3, "target_end_date": [f"2026-01-{d:02}" for d in (3, 10, 17)]}
    )
    types = {"quantile": ["0.1", "0.5", "0.9"], "sample": ["a", "b"], "median": [""]}
    ids = pl.DataFrame([{"output_type": t, "output_type_id": each} for t, some in types.items() for each in some])
    lines = keys.join(ids, how="cross").with_row_index("value").cast({"value": float})
    lines.write_csv("hub.csv")
    assert apply("--hub", "hub.csv", "-o", "new.csv") == 0
    told = capsys.readouterr()
    assert "6 of 18 rows recalibrated" in told.out
    assert "3 rows about a time before they were issued: left as they were" in told.err
    assert (
        "only output type quantile was recalibrated; left as they were, and no longer in agreement with it: 6 of sample"
        in told.err
    )
    assert "3 of median" in told.err
    changed = (pl.read_csv("new.csv")["value"] != lines["value"]).to_numpy()
    mendable = (lines["output_type"] == "quantile") & (lines["target_end_date"] >= "2026-01-10")
    assert changed.any()
    assert not changed[~mendable.to_numpy()].any()


def test_another_forecaster_than_that_of_the_fit_is_said(made, capsys):
    """Also what is left as it was, and that the fit advised against a map."""
    frame = pl.read_csv("wide.csv").select("id", "y", pl.col(*["q0.1", "q0.5", "q0.9"]).name.map(lambda name: name[1:]))
    lines = frame.unpivot(["0.1", "0.5", "0.9"], index=["id", "y"], variable_name="level", value_name="v")
    lines.with_columns(model_id=pl.lit("team;a")).write_csv("a.csv")
    lines.with_columns(model_id=pl.lit("b")).write_csv("b.csv")
    words = ["--quantiles", "level=v", "--on", "id", "model_id"]
    assert main(["recalibrate", "a.csv", *words, "--truth", "y", "--clusters", "none", "-o", "m.json", "--force"]) == 0
    for name, others in (("a.csv", False), ("b.csv", True)):
        assert apply(name, *words, "--where", "id < 20", "-o", "new.csv") == 0
        told = capsys.readouterr()
        said = "the map was fitted to 'team;a', and these are forecasts of 'b': fit one to them"
        assert (said in told.err) == others
        assert "60 of 900 rows recalibrated, the other 840 are as they were" in told.out
        assert "advised to leave" not in told.err
    right = pl.read_csv("wide.csv").with_columns(
        y=pl.col("q0.5") + pl.Series(np.random.default_rng(2).normal(size=300))
    )
    right.write_csv("right.csv")
    assert main(["recalibrate", "right.csv", "--truth", "y", "--quantiles", "q*", "-o", "m.json", "--force", "-q"]) == 0
    assert apply("wide.csv", "--quantiles", "q*", "-o", "new.csv") == 0
    assert "the fit advised to leave the forecasts as they are" in capsys.readouterr().err


def test_rows_of_the_fit_are_known_again(made, capsys, rng):
    """Of a saved map too; new forecasts, and those that are all alike, are not taken for them."""
    frame = pl.read_csv("wide.csv")
    columns = ["q0.1", "q0.5", "q0.9"]
    pl.concat([frame[:100], frame[:200].with_columns(pl.col(columns) + 0.0005)]).write_csv("some.csv")
    frame.with_columns(pl.col(columns) + 0.0005).write_csv("other.csv")
    shares = {}
    for name in ("wide.csv", "some.csv", "other.csv"):
        assert apply(name, "--quantiles", "q*", "-o", "new.csv") == 0
        _, known, rest = capsys.readouterr().err.partition(
            "% of the forecasts that the map was fitted to are among these"
        )
        assert bool(known) == ("assess the map by its own gain, or on other rows" in rest)
        forecast = up.Quantiles([0.1, 0.5, 0.9], pl.read_csv(name).select(columns))
        shares[name] = made.distributions.known(forecast)
        assert bool(known) == (shares[name] > 0)
    assert (shares["wide.csv"], shares["other.csv"]) == (1, 0)
    assert shares["some.csv"] == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / 64))
    alike = up.Quantiles([0.1, 0.5, 0.9], [[-1.28, 0, 1.28]] * 120)
    assert Recalibrator().fit(rng.normal(size=120), alike, clusters=None).distributions.known(alike) == 0


def test_pit_values_and_parquet(made):
    pl.DataFrame({"lo": [0.1, 0.5] * 60, "hi": [0.5, 0.9] * 60}).write_parquet("cells.parquet")
    words = ["cells.parquet", "--pit", "lo", "hi", "--clusters", "none"]
    assert main(["recalibrate", *words, "--truth", "lo", "-o", "pit.json"]) == 0
    assert main(["recalibrate", *words[:4], "--apply", "pit.json", "-o", "new.parquet"]) == 0
    new = pl.read_parquet("new.parquet")
    known = Recalibrator.load("pit.json").transform(up.PIT([0.1, 0.5] * 60, [0.5, 0.9] * 60))
    assert new["lo"].to_numpy() == pytest.approx(known.low)
    assert new["hi"].to_numpy() == pytest.approx(known.high)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["wide.csv", "--distribution", "normal", "mean=q0.5", "sd=1"], "of no family"),
        (["wide.csv"], "map of predictive distributions"),
        (["twice.csv", "--quantiles", "level=v", "--on", "id"], "second time"),
        (["wide.csv", "other.csv", "--quantiles", "q*"], "one FILE"),
        (["wide.csv", "--quantiles", "q*", "--truth", "y"], "for the fit"),
    ],
)
def test_what_cannot_be_applied_is_refused(made, capsys, words, said):
    assert apply(*words, "-o", "new.csv") == 2
    assert said in capsys.readouterr().err


def test_options_of_classes_are_refused_in_a_fit(made, capsys):
    words = ["recalibrate", "wide.csv", "--truth", "y", "--quantiles", "q*", "-o", "n.json"]
    for more, said in ((["--by", "id"], "--by"), (["--method", "isotonic"], "--method"), (["--prob", "y"], "--prob")):
        assert main([*words, *more]) == 2
        assert said in capsys.readouterr().err
