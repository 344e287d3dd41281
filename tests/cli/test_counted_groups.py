"""Scores and calibration of groups at the command line: those of the groups' own files."""

import json

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


@pytest.mark.parametrize("command", ["scores", "calibration"])
def test_each_group_is_as_its_own_file(folder, capsys, command):
    found = run(capsys, command, folder / "all.csv", "--by", "lead")
    assert [each["key"]["lead"] for each in found["groups"]] == ["24 h", "48 h", "120 h"]
    for each in found["groups"]:
        alone = run(capsys, command, folder / f"{each['key']['lead']}.csv")
        assert {name: value for name, value in each.items() if name != "key"} == {
            name: value for name, value in alone.items() if name != "sources"
        }
    whole = run(capsys, command, folder / "all.csv")
    assert {name: value for name, value in found.items() if name not in ("by", "groups")} == whole


@pytest.mark.parametrize("command", ["scores", "calibration"])
def test_the_text_names_the_groups_in_natural_order(folder, capsys, command):
    path = str(folder / "all.csv")
    assert main([command, path, "--truth", "y", "--prob", "p", "--by", "lead", "site"]) == 0
    lines = capsys.readouterr().out.splitlines()
    heads = [line.partition(": ")[0] for line in lines if line.startswith("lead ")]
    assert heads == [f"lead {lead}, site {site}" for lead in ("24 h", "48 h", "120 h") for site in (1, 2)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "y"], "'y' holds the outcomes"),
        (["--by", "p"], "it can be no key"),
        (["--by", "leed"], "no column 'leed'; did you mean 'lead'"),
        (["--by", "lead", "--most-groups", "2"], "more than 2 groups"),
        (["--most-groups", "2"], "--most-groups is for groups"),
        (["--by", "lead", "--jobs", "2"], "groups are counted by one thread"),
    ],
)
def test_bad_groups(folder, capsys, words, message):
    assert main(["scores", str(folder / "all.csv"), "--truth", "y", "--prob", "p", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("by", [[], ["--by", "lead"]])
@pytest.mark.parametrize("command", ["assess", "compare", "scores"])
def test_rules_asked_for_by_name_stand_in_the_text(folder, capsys, command, by):
    columns = ["--forecast", "a=p", "b=site_p"] if command == "compare" else ["--prob", "p"]
    frame = pl.read_csv(folder / "all.csv").with_columns(site_p=0.5 * pl.col("p") + 0.25)
    frame.write_csv(folder / "rival.csv")
    asked = ["penalized_brier_score", "power_score(0.5)", "generalized_surprisal(0.5)"]
    words = [command, str(folder / "rival.csv"), "--truth", "y", *columns, *by, "--scores", *asked]
    assert main(words) == 0
    text = capsys.readouterr().out.lower()
    for word in ("penalized", "power", "surprisal"):
        assert text.count(word) >= (2 if by and command != "assess" else 1)


def test_groups_without_valid_rows_are_left_out(folder, capsys):
    frame = pl.read_csv(folder / "all.csv")
    lost = pl.when(pl.col("lead") == "48 h").then(None).otherwise("p")
    frame.with_columns(p=lost).write_csv(folder / "lost.csv")
    found = run(capsys, "scores", folder / "lost.csv", "--by", "lead", "--drop-invalid")
    assert [each["key"]["lead"] for each in found["groups"]] == ["24 h", "120 h"]
    assert found["n_rows"] == 60
