"""How files are read, said once: files of TOML, KEY=VALUE, and what wins."""

import json
import tomllib

import numpy as np
import polars as pl
import pytest

from unperplexed import Recalibrator
from unperplexed.cli.parser import _parser, main
from unperplexed.cli.reading import KEYS

TYPED = ["--truth", "rain", "--prob", "yes=p", "--separator", ";", "--decimal-comma", "--invalid", "drop"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(6)
    p = rng.random(300).round(3)
    outcome = np.where(rng.random(300) < p, "yes", "no")
    frame = pl.DataFrame(
        {"rain": outcome, "p": p, "q": (p**3 / (p**3 + (1 - p) ** 3)).clip(0.001, 0.999), "day": np.arange(300) // 10}
    )
    frame = frame.with_columns(p=pl.when(pl.int_range(300) == 7).then(None).otherwise("p"))
    frame.write_csv("f.csv", separator=";", decimal_comma=True)
    return tmp_path


def assessed(capsys, *words):
    assert main(["assess", "f.csv", *words, "--resamples", "0", "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_what_is_saved_reads_the_file_again(folder, capsys):
    expected = assessed(capsys, *TYPED, "--save-reading", "f.toml")
    saved = tomllib.loads((folder / "f.toml").read_text())
    assert saved == {
        "truth": ["rain"], "prob": ["yes=p"], "invalid": ["drop"], "separator": ";", "decimal-comma": True
    }  # fmt: skip
    assert assessed(capsys, "--reading", "f.toml") == expected
    assert expected["n_rows"] == 299
    assert main(["tally", "f.csv", "--reading", "f.toml", "-o", "f.tally", "-q"]) == 0
    assert assessed(capsys, "--reading", "f.toml")["scores"] == expected["scores"]


@pytest.mark.slow
def test_keys_may_stand_in_place_and_win_over_the_file_and_flags_over_both(folder, capsys):
    (folder / "f.toml").write_text('truth = "rain"\nprob = ["yes=q"]\nseparator = ";"\ndecimal-comma = true\n')
    other = assessed(capsys, "--reading", "f.toml")
    expected = assessed(capsys, *TYPED)
    assert other["scores"] != expected["scores"]
    assert assessed(capsys, "--reading", "f.toml", "prob=yes=p", "invalid=drop") == expected
    in_place = ["truth=rain", "prob=yes=q", "separator=;", "decimal-comma=true", "invalid=drop"]
    assert assessed(capsys, "--reading", *in_place, "--prob", "yes=p") == expected


@pytest.mark.slow
def test_a_reading_is_for_every_command(folder, capsys):
    """Keys that a command has no use for are left out; a map is applied with the reading that it was fitted with."""
    (folder / "f.toml").write_text(
        'truth = "rain"\nprob = "yes=q"\nseparator = ";"\ndecimal-comma = true\ntime = "day"\nclusters = "day"\n'
    )
    assert main(["recalibrate", "f.csv", "--reading", "f.toml", "--method", "bias", "-o", "map.json", "-q"]) == 0
    assert main(["recalibrate", "f.csv", "--reading", "f.toml", "--apply", "map.json", "-o", "new.csv", "-q"]) == 0
    assert pl.read_csv("new.csv", separator=";", decimal_comma=True).columns == ["rain", "p", "q", "day"]
    assert main(["monitor", "f.csv", "--reading", "f.toml", "-q"]) in (0, 1)
    assert main(["tally", "f.csv", "--reading", "f.toml", "clusters=day", "--parts", "shards", "-o", "f.tally"]) == 0
    capsys.readouterr()
    assert main(["assess", "f.tally", "--reading", "f.toml", "--resamples", "0"]) == 0
    assert main(["assess", "f.tally", "--reading", "truth=rain"]) == 2
    assert "--truth is for the reading of rows" in capsys.readouterr().err


@pytest.mark.slow
def test_a_map_keeps_how_its_forecasts_were_read(folder, capsys):
    """So that it is applied without naming columns or the scale; of these, what is typed wins."""
    fit = ["--truth", "rain", "--prob", "yes=q", "--separator", ";", "--decimal-comma", "--method", "bias", "-q"]
    text = ["--separator", ";", "--decimal-comma", "-q"]
    assert main(["recalibrate", "f.csv", *fit, "-o", "map.json"]) == 0
    assert main(["recalibrate", "f.csv", "--apply", "map.json", *text, "-o", "kept.csv"]) == 0
    assert main(["recalibrate", "f.csv", "--apply", "map.json", "--prob", "yes=q", *text, "-o", "named.csv"]) == 0
    assert (folder / "kept.csv").read_bytes() == (folder / "named.csv").read_bytes()
    made = Recalibrator.load("map.json")
    found, before = (pl.read_csv(name, separator=";", decimal_comma=True)["q"] for name in ("kept.csv", "f.csv"))
    assert found.to_numpy() == pytest.approx(made.transform(before.to_numpy()), rel=1e-9)
    assert main(["recalibrate", "f.csv", "--apply", "map.json", "--prob", "no=q", *text, "-o", "other.csv"]) == 2
    assert "is of the probability of 'yes'" in capsys.readouterr().err
    table = pl.read_csv("f.csv", separator=";", decimal_comma=True).with_columns(pl.col("p", "q") * 100).drop_nulls()
    table.write_csv("percent.csv")
    columns = ["--forecaster", "a=p", "b=q", "--labels", "no", "yes", "--scale", "percent", "--truth", "rain"]
    assert main(["pool", "percent.csv", *columns, "--method", "linear:equal,map=none", "-o", "pool.json", "-q"]) == 0
    assert main(["pool", "percent.csv", "--apply", "pool.json", "-o", "pooled.csv", "-q"]) == 0
    pooled = pl.read_csv("pooled.csv")
    assert pooled["pooled"].to_numpy() == pytest.approx((table["p"] + table["q"]).to_numpy() / 2, rel=1e-9)


def test_what_is_typed_wins_over_a_map_by_itself(folder, capsys):
    """Columns leave the scale as it was, a scale the columns, and a default counts that is typed."""
    frame = pl.read_csv("f.csv", separator=";", decimal_comma=True).with_columns(pc=100 * pl.col("q"))
    frame.write_csv("g.csv")
    fit = ["--truth", "rain", "--labels", "no", "yes", "--method", "bias", "-q"]
    assert main(["recalibrate", "g.csv", *fit, "--prob", "pc", "--scale", "percent", "-o", "percent.json"]) == 0
    assert main(["recalibrate", "g.csv", *fit, "--prob", "q", "-o", "map.json"]) == 0
    expected = Recalibrator.load("map.json").transform(frame["q"].to_numpy())

    def applied(made, column, *words):
        assert main(["recalibrate", "g.csv", "--apply", made, *words, "-o", "new.csv", "-q"]) == 0
        return pl.read_csv("new.csv")[column].to_numpy()

    assert applied("percent.json", "pc", "--prob", "pc") == pytest.approx(100 * expected, rel=1e-9)
    assert applied("percent.json", "q", "--prob", "q", "--scale", "probability") == pytest.approx(expected, rel=1e-9)
    frame.with_columns(q="pc").write_csv("g.csv")
    assert applied("map.json", "q", "--scale", "percent") == pytest.approx(100 * expected, rel=1e-9)


@pytest.mark.slow
def test_a_pool_of_several_files_keeps_its_scale(folder, capsys):
    """Where all percentages are below 1, nothing but the scale tells that they are percentages."""
    frame = pl.read_csv("f.csv", separator=";", decimal_comma=True).drop_nulls()
    for name in "pq":
        frame.select("rain", x=pl.col(name) * 100).write_csv(f"{name}.csv")
        frame.select("rain", x=pl.col(name)).write_csv(f"new-{name}.csv")
    fit = ["p=p.csv", "q=q.csv", "--in-order", "--truth", "rain", "--labels", "no", "yes", "--prob", "x"]
    assert main(["pool", *fit, "--scale", "percent", "--method", "linear:equal,map=none", "-o", "r.json", "-q"]) == 0
    apply = ["pool", "p=new-p.csv", "q=new-q.csv", "--prob", "x", "--apply", "r.json", "--in-order"]
    assert main([*apply, "-o", "new.csv"]) == 0
    assert "in percent" in capsys.readouterr().out
    assert main([*apply, "--scale", "percent", "-o", "typed.csv"]) == 0
    assert (folder / "new.csv").read_bytes() == (folder / "typed.csv").read_bytes()


@pytest.mark.slow
def test_columns_of_one_forecaster_and_of_each_give_way_to_those_that_are_typed(folder, capsys):
    text = 'truth = "rain"\nseparator = ";"\ndecimal-comma = true\ninvalid = "drop"\n'
    (folder / "one.toml").write_text(f'{text}prob = "yes=p"\n')
    (folder / "each.toml").write_text(f'{text}labels = ["no", "yes"]\nforecaster = ["a=p", "b=q"]\n')
    each = ["--forecaster", "a=p", "b=q", "--labels", "no", "yes", "-q"]
    assert main(["compare", "f.csv", "--reading", "one.toml", *each, "--json", "a.json"]) == 0
    assert main(["compare", "f.csv", "--reading", "each.toml", "-q", "--json", "b.json"]) == 0
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()
    linear = ["--method", "linear:equal,map=none"]
    assert main(["pool", "f.csv", "--reading", "one.toml", *each, *linear, "-o", "pool.json"]) == 0
    assert main(["skill", "f.csv", "--reading", "each.toml", "--prob", "q", "-q"]) == 0
    (folder / "one.toml").write_text('separator = ";"\ndecimal-comma = true\ninvalid = "drop"\nprob = "yes=p"\n')
    assert main(["pool", "f.csv", "--reading", "one.toml", "--apply", "pool.json", "-q", "-o", "new.csv"]) == 0


def test_a_map_from_outside_adds_no_option(folder, capsys):
    fit = ["--truth", "rain", "--prob", "yes=q", "--separator", ";", "--decimal-comma"]
    assert main(["recalibrate", "f.csv", *fit, "--method", "bias", "-o", "map.json", "-q"]) == 0
    saved = json.loads((folder / "map.json").read_text())
    for prob in (["yes=q", "--report", "x.html"], ["yes=q", "--output=other.csv"], {"a": 1}, 7):
        (folder / "map.json").write_text(json.dumps(saved | {"reading": {"prob": prob}}))
        apply = ["recalibrate", "f.csv", "--apply", "map.json", *fit[4:], "-o", "new.csv"]
        before = {*folder.iterdir()}
        assert main(apply) == 2
        assert {*folder.iterdir()} == before
    assert "no column '7'" in capsys.readouterr().err


@pytest.mark.slow
def test_commands_to_copy_name_the_reading(folder, capsys):
    (folder / "f.toml").write_text('truth = "rain"\nprob = "yes=q"\nseparator = ";"\ndecimal-comma = true\n')
    main(["assess", "f.csv", "--reading", "f.toml", "--where", "day < 40", "--resamples", "0"])
    printed = capsys.readouterr().out
    assert "--reading f.toml --where 'day < 40'" in " ".join(printed.replace("\\", "").split())
    assert "--truth" not in printed


@pytest.mark.slow
def test_many_labels_are_named_once(tmp_path, monkeypatch, capsys):
    """The first command to copy keeps them in a file, which the others name; all of them work."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    names = [f"kind {at}" for at in range(8)]
    p = rng.dirichlet(np.ones(8), 2000)
    p /= p.sum(axis=1, keepdims=True)
    sharp = p**2 / (p**2).sum(axis=1, keepdims=True)
    y = np.array(names)[(p.cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1).clip(max=7)]
    frame = pl.DataFrame({"y": y, **{f"x{at}": sharp[:, at] for at in range(8)}})
    for name in ("f.csv", "NEW.csv"):
        frame.write_csv(name)
    columns = [f"x{at}" for at in range(8)]
    words = ["assess", "f.csv", "--truth", "y", "--prob", *columns, "--labels", *names, "--resamples", "0"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.count("--labels") == 1
    assert "--save-reading reading.toml" in text
    assert "--reading reading.toml" in text.partition("--save-reading")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["outcom=rain"], "--reading outcom=rain: no key 'outcom'; did you mean 'outcome'"),
        (["encodin=cp1252"], "--reading encodin=cp1252: no key 'encodin'; did you mean 'encoding'"),
        (["time=day"], "--reading time=day: this command has no --time"),
        (["none.toml"], "--reading none.toml: cannot be read: No such file"),
        (["bad.toml"], "--reading bad.toml: cannot be read: Expected '='"),
        (["other.toml"], "--reading other.toml: no key 'tru'; did you mean 'truth'"),
        (["decimal-comma=perhaps"], "--reading: decimal-comma is true or false, not 'perhaps'"),
        (["smuggled.toml"], "--reading: prob: '--report' begins like an option; type it as one"),
        (["prob=p,--report,x.html"], "--reading: prob: '--report' begins like an option"),
        (["list.toml"], "--reading: weight is one value, not a list"),
    ],
)
def test_readings_that_are_none(folder, capsys, words, message):
    (folder / "bad.toml").write_text("truth\n")
    (folder / "other.toml").write_text('tru = "y"\n')
    (folder / "list.toml").write_text('weight = ["a", "b"]\n')
    (folder / "smuggled.toml").write_text('prob = ["p", "--report", "x.html"]\n')
    before = {*folder.iterdir()}
    assert main(["assess", "f.csv", "--reading", *words]) == 2
    assert {*folder.iterdir()} == before
    assert message in capsys.readouterr().err


def test_a_reading_is_not_written_over_what_is_read(folder, capsys):
    before = (folder / "f.csv").read_bytes()
    assert main(["assess", "f.csv", *TYPED, "--save-reading", "f.csv"]) == 2
    assert "would overwrite" in capsys.readouterr().err
    assert (folder / "f.csv").read_bytes() == before
    (folder / "f.toml").write_text('truth = "rain"\nprob = "yes=q"\nseparator = ";"\ndecimal-comma = true\n')
    kept = (folder / "f.toml").read_bytes()
    assert main(["assess", "f.csv", "--reading", "f.toml", "--json", "f.toml"]) == 2
    assert "would overwrite f.toml, which this command reads" in capsys.readouterr().err
    assert (folder / "f.toml").read_bytes() == kept
    assert main(["assess", "f.csv", "--reading", "f.toml", "--save-reading", "-"]) == 2
    assert "--save-reading -: only --json writes" in capsys.readouterr().err


def test_every_key_is_an_option():
    commands = next(a.choices for a in _parser()._actions if isinstance(getattr(a, "choices", None), dict))
    flags = {flag for command in commands.values() for flag in command._option_string_actions}
    assert {f"--{key}" for key in KEYS} <= flags
