"""Groups at the command line: their sections are those of the groups' own files."""

import json
import re

import numpy as np
import polars as pl
import pytest

from unperplexed.cli.parser import main

RNG = np.random.default_rng(40)
LEADS = ("120 h", "24 h", "48 h")


@pytest.fixture
def folder(tmp_path):
    p = RNG.uniform(size=90).round(2)
    frame = pl.DataFrame({"lead": LEADS * 30, "site": [1, 2] * 45, "y": (RNG.uniform(size=90) < p) * 1, "p": p})
    frame.write_csv(tmp_path / "all.csv")
    for (lead,), part in frame.group_by("lead"):
        part.write_csv(tmp_path / f"{lead}.csv")
    return tmp_path


def run(capsys, *words):
    assert main([str(word) for word in (*words, "--truth", "y", "--prob", "p", "--json", "-")]) == 0
    return json.loads(capsys.readouterr().out)


SHOWN = ("--resamples", "0", "--show", "scores", "calibration")


@pytest.mark.slow
def test_sections_of_each_group_are_those_of_its_own_file(folder, capsys):
    found = run(capsys, "assess", folder / "all.csv", "--by", "lead", "--sort", "group", *SHOWN)
    assert [each["key"]["lead"] for each in found["groups"]] == ["24 h", "48 h", "120 h"]
    for each in found["groups"]:
        alone = run(capsys, "assess", folder / f"{each['key']['lead']}.csv", *SHOWN)
        assert each["shown"] == alone["shown"]
    assert found["shown"] == run(capsys, "assess", folder / "all.csv", *SHOWN)["shown"]


def test_the_text_names_the_groups_in_their_order(folder, capsys):
    path, groups = str(folder / "all.csv"), ["--by", "lead", "site", "--sort", "group"]
    assert main(["assess", path, "--truth", "y", "--prob", "p", *groups, *SHOWN]) == 0
    heads = [line for line in capsys.readouterr().out.splitlines() if re.match(r"(All rows|lead .*):$", line)]
    assert heads == ["All rows:", *(f"lead {lead}, site {site}:" for lead in LEADS[1:] + LEADS[:1] for site in (1, 2))]


WEEKS = "date:iso-week"


@pytest.fixture
def dated(tmp_path):
    """Forecasts of two forecasters, each of which is off, in 60 weeks."""
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2025, 2, 28), "1d", eager=True)[:420]
    rng = np.random.default_rng(41)
    p = rng.uniform(0.05, 0.95, 420).round(3)
    y = (rng.uniform(size=420) < p**2) * 1
    named = {"outcome": np.where(y == 1, "yes", "no"), "week": days.dt.strftime("%G-W%V")}
    pl.DataFrame({"date": days, "p": p, "q": p**3, "y": y, **named}).write_csv(tmp_path / "dated.csv")
    return tmp_path / "dated.csv"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ("assess", "--resamples", "0"),
        ("assess", "--where", "p > 0.5", "--resamples", "0"),
        ("check", "--require", "brier_score < 0.6"),
        ("decide", "--costs", "fp=1", "fn=3"),
        ("monitor", "--time", "date:month"),
        ("skill",),
    ],
)
def test_weeks_of_a_date_are_clusters_in_every_command(dated, capsys, command):
    name, *options = command

    def printed(clusters):
        main([name, str(dated), "--truth", "y", "--prob", "p", "--clusters", clusters, "--json", "-", *options])
        shown = capsys.readouterr()
        assert not shown.err.startswith("unperplexed:")
        return shown.out.replace(clusters, "")  # in commands to copy

    assert printed(WEEKS) == printed("week")


@pytest.mark.slow
def test_the_map_that_compare_advises_is_fitted_with_the_same_clusters(dated, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = ["p=dated.csv", "--truth", "y", "--forecaster", "p=p", "q=q"]
    assert main(["compare", *files, "--clusters", WEEKS]) == 0
    lines = re.sub(r"\\\n\s*", "", capsys.readouterr().out).splitlines()
    fits = [line.split() for line in lines if "unperplexed recalibrate" in line and WEEKS in line]
    assert fits
    assert main([word.strip("'") for word in fits[0][fits[0].index("recalibrate") :]]) == 0
    assert "60 clusters" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_labels_that_compare_asks_for_are_those_it_takes(dated, capsys):
    words = ["compare", str(dated), "--truth", "outcome", "--forecaster", "A=p", "B=q"]
    assert main(words) == 2
    found = re.search(r"\((--labels [^,)]*), also beside --forecaster\)", capsys.readouterr().err)
    assert found[1] == "--labels no yes or --labels yes no"
    for each in found[1].split(" or "):
        assert main([*words, *each.split()]) == 0


def test_groups_of_ordered_classes_are_those_of_the_same_rows_alone(tmp_path, capsys):
    p = np.random.default_rng(3).dirichlet([1, 1, 1], 121).round(6)
    classes = ["low", "mid", "high"]
    frame = pl.DataFrame(p, schema=classes).with_columns(
        lead=pl.Series((LEADS * 41)[:121]), y=pl.Series([None, *(classes * 40)])
    )
    frame.write_csv(tmp_path / "levels.csv")  # its first row is left out
    words = ["assess", str(tmp_path / "levels.csv"), "--truth", "y", "--prob", *classes, "--ordered", "--invalid"]
    words += ["drop", "rescale", "--json", "-"]
    assert main([*words, "--by", "lead"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["key"] for each in found["groups"]] == [["24 h"], ["48 h"], ["120 h"]]
    for each in found["groups"]:
        assert main([*words, "--where", f"lead = '{each['key'][0]}'"]) == 0
        alone = json.loads(capsys.readouterr().out)
        assert each["scores"] == alone["scores"]
        assert each["n_rows"] == alone["n_rows"] == 40


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "y"], "'y' holds the outcomes"),
        (["--by", "p"], "it can be no key"),
        (["--by", "leed"], "no column 'leed'; did you mean 'lead'"),
        (["--by", "lead", "--jobs", "2"], "groups are counted by one thread"),
    ],
)
def test_bad_groups(folder, capsys, words, message):
    assert main(["assess", str(folder / "all.csv"), "--truth", "y", "--prob", "p", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("by", [[], ["--by", "lead"]])
@pytest.mark.parametrize("command", ["assess", "compare"])
def test_rules_asked_for_by_name_stand_in_the_text(folder, capsys, command, by):
    columns = ["--forecaster", "a=p", "b=site_p"] if command == "compare" else ["--prob", "p"]
    frame = pl.read_csv(folder / "all.csv").with_columns(site_p=0.5 * pl.col("p") + 0.25)
    frame.write_csv(folder / "rival.csv")
    asked = ["penalized_brier_score", "power_score(0.5)", "generalized_surprisal(0.5)"]
    words = [command, str(folder / "rival.csv"), "--truth", "y", *columns, *by, "--metric", *asked]
    assert main(words) == 0
    text = capsys.readouterr().out.lower()
    for word in ("penalized", "power", "surprisal"):
        assert text.count(word) >= (2 if by and command != "assess" else 1)


def test_groups_without_valid_rows_are_left_out(folder, capsys):
    frame = pl.read_csv(folder / "all.csv")
    lost = pl.when(pl.col("lead") == "48 h").then(None).otherwise("p")
    frame.with_columns(p=lost).write_csv(folder / "lost.csv")
    found = run(
        capsys,
        "assess",
        folder / "lost.csv",
        "--by",
        "lead",
        "--sort",
        "group",
        "--invalid",
        "drop",
        "--resamples",
        "0",
    )
    assert [each["key"]["lead"] for each in found["groups"]] == ["24 h", "120 h"]
    assert found["whole"]["n_rows"] == 60
