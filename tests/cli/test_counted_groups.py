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
    assert main(["assess", str(folder / "all.csv"), "--truth", "y", "--prob", "p", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("by", [[], ["--by", "lead"]])
@pytest.mark.parametrize("command", ["assess", "compare"])
def test_rules_asked_for_by_name_stand_in_the_text(folder, capsys, command, by):
    columns = ["--forecast", "a=p", "b=site_p"] if command == "compare" else ["--prob", "p"]
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
