"""Flags of predictive distributions: what they name, and which do not go together."""

import io
import json
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtri

import unperplexed as up
from unperplexed import InputError
from unperplexed.cli.advice import distribution_command
from unperplexed.cli.distributions import distributions_of
from unperplexed.cli.options import CLASSES
from unperplexed.cli.parser import _parsed, _parser, main
from unperplexed.recalibration.distribution_pools import DistributionPool


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    mean = rng.normal(size=60).round(2)
    frame = pl.DataFrame({"y": rng.normal(size=60), "mean": mean, "made": np.arange(60), "about": np.arange(60) + 2})
    frame.with_columns(pl.Series(f"q{level}", mean + ndtri(level / 100)) for level in (10, 50, 90)).write_csv("f.csv")
    return tmp_path


def read(*words):
    return distributions_of(_parsed(_parser("assess"), ["assess", *words]))


def test_each_flag_names_forecasts(folder):
    by_levels = read("f.csv", "--truth", "y", "--quantiles", "0.5=q50", "0.8=q10,q90").forecast
    by_pattern = read("f.csv", "--truth", "y", "--quantiles", "q*").forecast
    np.testing.assert_array_equal(by_levels.values, by_pattern.values)
    assert read("f.csv", "--truth", "y", "--samples", "q??").forecast.form == "3 members"
    normal = read("f.csv", "--truth", "y", "--distribution", "normal", "mean=mean", "sd=1", "--censored", "above=q90")
    assert normal.forecast.family == "normal"
    np.testing.assert_array_equal(normal.censored["above"], by_pattern.values[:, 2])
    chosen = read(
        "f.csv", "--truth", "y", "--samples", "q??", "--where", "made < 7", "--clusters", "about", "--by", "made"
    )
    assert chosen.clusters.tolist() == [*map(int, chosen.frame["made"])] == [*range(7)]


def test_standard_input_is_read(folder, monkeypatch):
    """Also batch by batch into a tally; the copy that is kept of it lives as long as it is read."""
    words = ["--truth", "y", "--quantiles", "q*"]
    for command in (["assess", "-", *words, "--json", "a.json"], ["tally", "-", *words, "-o", "a.tally"]):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((folder / "f.csv").read_bytes())))
        assert main(command) == 0
    assert json.loads((folder / "a.json").read_text())["n_rows"] == 60
    assert main(["tally", "f.csv", *words, "-o", "b.tally"]) == 0
    assert (folder / "a.tally").read_bytes() == (folder / "b.tally").read_bytes()


@pytest.mark.parametrize("command", ["skill", "recalibrate"])
def test_what_members_ask_is_said_by_commands_that_print_no_notes(folder, capsys, command):
    pl.read_csv("f.csv").with_columns(q99=pl.col("q10")).write_csv("f.csv")
    output = ["-o", "m.json"] if command == "recalibrate" else []
    assert main([command, "f.csv", "--truth", "y", "--samples", "q*", *output]) == 0
    assert "column 'q10' and column 'q99' are equal in all rows" in capsys.readouterr().err


def test_engines_count_no_groups(folder, capsys):
    for words in (["--by", "made"], ["--reference", "climatology"], ["--clusters", "made"]):
        assert main(["assess", "f.csv", "--truth", "y", "--quantiles", "q*", "--engine", "dask", *words]) == 2
        assert f"{words[0]} is not for tallies of predictive distributions, nor for" in capsys.readouterr().err
    assert main(["compare", "a=f.csv", "b=f.csv", "--truth", "y", "--quantiles", "q*", "--engine", "dask"]) == 2


def test_outcomes_may_stand_elsewhere_and_a_hub_takes_the_place_of_files(folder):
    lines = pl.read_csv("f.csv").unpivot(["q10", "q50", "q90"], index="made", variable_name="output_type_id")
    lines = lines.with_columns(
        pl.col("output_type_id").str.slice(1).cast(pl.Float64) / 100, output_type=pl.lit("quantile")
    )
    lines.write_csv("hub.csv")
    pl.read_csv("f.csv").select("made", "y").reverse().write_csv("truth.csv")
    beside = read("f.csv", "--truth", "y", "--quantiles", "q*")
    long = ["hub.csv", "--quantiles", "output_type_id=value", "--on", "made"]
    for words in (["--hub", "hub.csv"], long):
        found = read(*words, "--truth", "y", "--target-data", "truth.csv")
        np.testing.assert_array_equal(found.y, beside.y)
        np.testing.assert_array_equal(found.forecast.values, beside.forecast.values)


@pytest.mark.slow
def test_the_command_of_the_remedy_of_a_hub_runs(folder, rng):
    n, levels = 120, [0.1, 0.25, 0.5, 0.75, 0.9]
    mean = rng.normal(size=n)
    wide = {"made": np.arange(n), **{str(level): mean + 0.5 * ndtri(level) for level in levels}}
    lines = pl.DataFrame(wide).unpivot([*map(str, levels)], index="made", variable_name="output_type_id")
    lines.with_columns(output_type=pl.lit("quantile")).write_csv("hub.csv")
    pl.DataFrame({"made": np.arange(n), "y": mean + rng.normal(size=n)}).write_csv("truth.csv")
    words = ["--hub", "hub.csv", "--truth", "y", "--target-data", "truth.csv"]
    assert main(["assess", *words, "--json", "a.json"]) == 0
    parsed = _parsed(_parser("assess"), ["assess", *words])
    assert main(shlex.split(distribution_command(parsed))[1:]) == 0
    assert main(["recalibrate", "--hub", "hub.csv", "--apply", "hub-map.json", "-o", "new.csv"]) == 0


def test_groups_do_not_change_what_all_rows_are_judged_by(folder, rng):
    shock = np.repeat(rng.normal(size=30), 20)
    days = pl.date_range(pl.date(2025, 1, 1), pl.date(2026, 8, 23), eager=True)
    frame = pl.DataFrame({"day": days, "y": 0.7 * shock + 0.7 * rng.normal(size=600)})
    frame.with_columns(m=pl.lit(0.0)).write_csv("days.csv")
    words = ["assess", "days.csv", "--truth", "y", "--distribution", "normal", "mean=m", "sd=1", "--json"]
    assert main([*words, "all.json"]) == main([*words, "by.json", "--by", "day:month"]) == 0
    whole, by = (json.loads((folder / name).read_text()) for name in ("all.json", "by.json"))
    assert whole["n_clusters"] is not None
    assert (by["whole"]["n_clusters"], by["whole"]["bias"]) == (whole["n_clusters"], whole["bias"])


def test_dates_are_keys_of_a_reading_and_are_kept_with_it(folder):
    words = ["f.csv", "--quantiles", "q*", "--reading", "truth=y", "issued=made", "target-date=about"]
    parsed = _parsed(_parser("assess"), ["assess", *words])
    found = distributions_of(parsed)
    assert set(found.target - found.issued) == {2}
    assert parsed.kept == {"truth": ["y"], "quantiles": ["q*"], "issued": "made", "target-date": "about"}
    (folder / "f.toml").write_text('truth = "y"\nquantiles = ["q*"]\nissued = "made"\ntarget-date = "about"\n')
    again = read("f.csv", "--reading", "f.toml")
    np.testing.assert_array_equal(again.issued, found.issued)
    np.testing.assert_array_equal(again.forecast.values, found.forecast.values)
    assert main(["tally", "f.csv", "--reading", "issued=made", "-o", "x.tally"]) == 2


REFUSED = {
    "two forms": (["f.csv", "--quantiles", "q*", "--samples", "q??"], "each name the forecasts"),
    "probabilities too": (["f.csv", "--quantiles", "q*", "--prob", "mean"], "--prob is for probabilities of classes"),
    "a floor": (["f.csv", "--pit", "mean", "--floor", "0.1"], "--floor is for probabilities of classes"),
    "rescale": (["f.csv", "--quantiles", "q*", "--invalid", "rescale"], "drop leaves rows out"),
    "two outcomes": (["f.csv", "--quantiles", "q*", "--truth", "y", "mean"], "the outcome is a number, in one column"),
    "no outcome": (["f.csv", "--quantiles", "q*"], "Name it with --truth"),
    "an unknown side": (["f.csv", "--quantiles", "q*", "--truth", "y", "--censored", "at=q90"], "above, below"),
    "an empty folder": (["--hub", ".", "--truth", "y", "--where", "made < 0"], "no column 'output_type'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_together_is_refused(folder, case):
    words, message = REFUSED[case]
    with pytest.raises(InputError) as refused:
        read(*words)
    assert message in str(refused.value)


def test_a_hub_stands_for_file(folder, capsys):
    for words, message in ((["f.csv", "--hub", "f.csv"], "--hub stands for FILE"), ([], "are required: FILE")):
        with pytest.raises(SystemExit) as ended:
            main(["assess", *words])
        assert ended.value.code == 2
        assert message in capsys.readouterr().err


SAMPLE = {
    **{"pair": ["y=mean"], "labels": ["0", "1"], "ignore_label": ["1"], "floor": ["0.1"], "measured": ["kernel"]},
    **{"engine": ["dask"], "jobs": ["2"], "show": ["scores"], "resamples": ["10"]},
    **{"seed": ["1"], "lag": ["1"], "apply": ["a=m.json"], "by": ["made"], "method": ["bias"], "report": ["r.html"]},
    **{"require": ["width < 2"], "parts": ["classes"], "cells": ["9:9"], "scale": ["percent"]},
    **{"view": ["top-label"], "anytime": [], "drift": [], "among": ["made"], "prevalence": ["0.1"]},
}
"""A value, other than the default, of each option that predictive distributions have no use for."""


def unfit(command):
    """Options whose help says that they are not for distributions."""
    return [each for each in _parser(command)._subparsers._group_actions[0].choices[command]._actions
            if each.help and str(each.help).endswith(CLASSES)]  # fmt: skip


@pytest.mark.parametrize("command", ["assess", "compare", "skill", "recalibrate", "check", "monitor", "tally", "where"])
def test_what_help_says_is_not_for_distributions_is_refused(folder, command, capsys):
    more = {"check": ["--require", "width < 2"], "monitor": ["--time", "made"], "recalibrate": ["-o", "m.json"]}
    more["where"] = ["--among", "made"]
    pl.read_csv("f.csv").write_csv("g.csv")
    files = ["a=f.csv", "b=g.csv"] if command == "compare" else ["f.csv"]
    words = [command, *files, "--truth", "y", "--quantiles", "q*", *more.get(command, ["--json", "x.json"])]
    words += {"tally": ["-o", "x.tally"], "compare": ["--on", "made"]}.get(command, [])
    options = unfit(command)
    assert {"labels", "scale"} < {each.dest for each in options} <= {*SAMPLE}
    for each in options:
        assert main([*words, each.option_strings[-1], *SAMPLE[each.dest]]) == 2
        assert each.option_strings[-1] in capsys.readouterr().err


def test_wide_files_in_the_same_order_are_compared_without_ids(folder, capsys):
    words = ["--in-order", "--truth", "y", "--samples", "q10", "q50", "q90"]
    (folder / "g.csv").write_bytes((folder / "f.csv").read_bytes())
    assert main(["compare", "a=f.csv", "b=g.csv", *words]) == 0
    assert "the same 60 forecasts of each by 3 members" in " ".join(capsys.readouterr().out.split())


def test_a_pool_is_that_of_python_and_writes_new_forecasts(folder, capsys):
    frame, q = pl.read_csv("f.csv"), ["q10", "q50", "q90"]
    frame.with_columns(pl.col(q) + pl.col("y") / 4 - 0.5).write_csv("g.csv")
    named = ["pool", "f.csv", "g.csv", "--in-order", "--quantiles", "q*"]
    assert main([*named, "--truth", "y", "--folds", "3", "--clusters", "none", "-o", "p.json"]) == 0
    each = {name: up.Quantiles([0.1, 0.5, 0.9], pl.read_csv(f"{name}.csv").select(q)) for name in "fg"}
    found = up.pool(frame["y"], each, folds=3, clusters=None)
    assert json.loads(Path("p.json").read_text())["weights"] == pytest.approx(found.weights, rel=1e-9)
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(f"Weights (quantiles): f {found.weights['f']:.3f}, g {found.weights['g']:.3f}. ")
    assert up.compare(frame["y"], each | {"the pool": found.forecast}, clusters=None).verdict in said
    assert main([*named, "--apply", "p.json", "-o", "new.csv"]) == 0
    assert capsys.readouterr().out == "new.csv: 60 rows pooled\n"
    new = pl.read_csv("new.csv")
    assert new.drop(q).equals(frame.drop(q))
    np.testing.assert_allclose(new.select(q), found.transform(each).values, rtol=1e-9)


def test_pools_of_chosen_weights_and_of_members(folder, capsys):
    pl.read_csv("f.csv").with_columns(pl.col("q10") - 1).write_csv("g.csv")
    named = ["pool", "f.csv", "g.csv", "--in-order", "--truth", "y"]
    weights = {"median": [0.5, 0.5], "quantiles:f=3,g=1": [0.75, 0.25], "linear:equal": [0.5, 0.5]}
    for method, expected in weights.items():
        assert main([*named, "--quantiles", "q*", "--method", method, "-o", "p.json", "--force", "-q"]) == 0
        found = DistributionPool.load("p.json")
        assert (found.method, [*found.weights.values()]) == (method.partition(":")[0], pytest.approx(expected))
    assert main([*named, "--samples", "q??", "-o", "m.json", "-q"]) == 0
    again = ["pool", "f.csv", "g.csv", "--in-order", "--samples", "q??", "--apply", "m.json", "-o", "new.csv"]
    assert main(again) == 2
    assert "6 members have no room in a file of 3 members" in capsys.readouterr().err


UNPOOLED = {
    "no order": (["--apply", "p.json", "--quantiles", "q*"], "with the same rows in the same order: --in-order"),
    "others": (["--apply", "p.json", "--quantiles", "q*", "--in-order"], "expected those of a, b, got f, g"),
    "too few rows": (["--apply", "fg.json", "--quantiles", "q*", "--in-order"], "all forecasters need the same rows"),
    "an option": (["--apply", "p.json", "--quantiles", "q*", "--truth", "y"], "--truth is for the fit of a pool"),
    "a power": (["--truth", "y", "--in-order", "--quantiles", "q*", "--method", "linear:power=2"], "power: is for"),
    "a method": (
        ["--truth", "y", "--in-order", "--quantiles", "q*", "--method", "mean"],
        "expected one of 'quantiles', 'median', 'linear'",
    ),
    "a pool of classes": (["--apply", "c.json", "--quantiles", "q*", "--in-order"], "not a pool of predictive"),
    "weights above 1": (["--apply", "w.json", "--quantiles", "q*", "--in-order"], "weights"),
}


@pytest.mark.parametrize("case", UNPOOLED)
def test_pools_that_cannot_be_are_refused(folder, case, capsys):
    pl.read_csv("f.csv").head(59).write_csv("g.csv")
    head = {"format": "unperplexed pool of distributions", "version": 1, "method": "quantiles"}
    for name, weights in {"p": {"a": 0.5, "b": 0.5}, "fg": {"f": 0.5, "g": 0.5}, "w": {"f": 1.5, "g": -0.5}}.items():
        Path(f"{name}.json").write_text(json.dumps(head | {"weights": weights}))
    Path("c.json").write_text(json.dumps({"format": "unperplexed pool", "version": 1}))
    words, said = UNPOOLED[case]
    output = "new.csv" if "--apply" in words else "new.json"
    if "--apply" not in words:
        pl.read_csv("f.csv").write_csv("g.csv")
    assert main(["pool", "f.csv", "g.csv", *words, "-o", output]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
