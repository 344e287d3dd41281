"""Groups of real forecasts from the folder named by UNPERPLEXED_DATA; collected only where it is set."""

import json
import re
from copy import copy

import numpy as np
import polars as pl
import pytest

from printed import without_code
from real_data import DATA, run
from unperplexed import Tallies, assess, assess_by, tally_files_by
from unperplexed.assessment.breakdown import with_shrinkage

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")

NBA = DATA / "fte_games/nba_games.csv"
IN_GAME = DATA / "fte_worldcup/world_cup_matches_in_game_men.csv"
MODELS = next((DATA / "llm_mcqa").glob("*.parquet"))
THREE = ["prob1", "probtie", "prob2"]
CONFIDENCES = ["--truth", "grade", "--prob", "Correct=confidence_level"]
CONFIDENCES += ["--ignore-label", "Unparseable", "--invalid", "drop"]


def games():
    frame = pl.read_csv(NBA)
    return frame, frame["prob1_outcome"], frame["prob1"]


def matches():
    frame = pl.read_csv(IN_GAME, infer_schema_length=None)
    return frame, frame.select(f"{c}_outcome" for c in THREE).to_numpy(), frame.select(THREE).to_numpy()


def models():
    frame = pl.read_parquet(MODELS).filter(pl.col("grade") != "Unparseable").drop_nulls("confidence_level")
    return frame, frame["grade"] == "Correct", frame["confidence_level"]


def epidemics():
    with np.load(DATA / "flusight_2015_16/KOT.npz") as archive:
        some = np.arange(len(archive["labels"])) % 7 < 4  # 729: with more, maps of 756 coefficients are tried
        frame = pl.DataFrame({"location": archive["location"][some]})
        return frame, archive["labels"][some], archive["probs"][some]


SETS = {
    "seasons": (games, ["season"]),
    "models and prompts": (lambda: [each.gather_every(5) for each in models()], ["model", "prompt"]),
    "locations": (epidemics, ["location"]),
    "seasons and periods": (matches, ["season", "period"]),
}


def without_remedy(assessment):
    """Leave out the remedy: with more than two classes it takes the rows, which a group's counts do not keep."""
    found = copy(assessment)
    vars(found)["remedy"] = None
    found = found.to_dict()
    return json.dumps(found, default=str)


@pytest.mark.parametrize("name", SETS)
def test_groups_are_assessed_as_if_alone_and_add_up_to_the_whole(name):
    load, by = SETS[name]
    frame, y, p = load()
    y, p = (x.to_numpy() if isinstance(x, pl.Series) else x for x in (y, p))
    settings = {"resamples": 40, "clusters": None}  # a group alone may not tell that its rows are dependent
    whole, result = assess(y, p, **settings), assess_by(y, p, by=frame.select(by), **settings)
    assert without_remedy(result.whole) == without_remedy(whole)
    assert len(result) == frame.select(by).n_unique()
    assert sum(group.assessment.n_rows for group in result.groups) == whole.n_rows
    settings |= {} if np.ndim(y) == 2 else {"labels": list(whole.labels)}
    for group in result.groups[:3]:
        here = np.logical_and.reduce(
            [(frame[c].cast(pl.String) == str(v)).to_numpy() for c, v in zip(by, group.key, strict=True)]
        )
        alone = assess(y[here], p[here], **settings)
        assert without_remedy(group.assessment) == without_remedy(alone)
    check_that_text_fits(result)


@pytest.mark.parametrize("name", ["seasons", "locations"])
def test_text_fits_a_terminal(name):
    load, by = SETS[name]
    frame, y, p = load()
    check_that_text_fits(assess_by(y, p, by=frame.select(by), resamples=40, shrink=True, sort="cost"))


def check_that_text_fits(found):
    lines, python = str(found).splitlines(), found.whole.remedy.code if found.whole.remedy else ""
    assert max(len(line) for line in lines if line.strip() != python) <= 80  # a line to copy is not folded
    groups = next(at for at, line in enumerate(lines) if re.match(r"[\d,]+ groups by ", line))
    # Names are folded, a second table has groups that a map helps, and one of two columns has both ways.
    assert len(lines[groups:]) <= 33 + 5 * 20


def test_seasons_from_the_file_and_from_rows(capsys):
    frame, y, p = games()
    assert run("assess", NBA, "--truth", "prob1_outcome", "--prob", "prob1", "--by", "season") == 0
    expected = assess_by(y, p, by=frame.select("season"))
    printed, lines = capsys.readouterr().out, expected.to_text(name=NBA.name) + "\n"
    assert lines.count("  recalibrated = ") == 2  # for all rows, and for each group
    assert printed.count("  unperplexed recalibrate ") == 6  # for all rows, all groups, and the season that gains most
    assert without_code(printed) == without_code(lines)
    # Seasons hardly differ: half of each one's distance from the others is chance.
    shrunken = with_shrinkage(expected)
    assert shrunken.shrinkage.between < 0.02
    assert all(0.4 < group.shrunken.own_share < 0.6 for group in shrunken.groups)
    assert [group.key for group in shrunken.groups] == [group.key for group in expected.groups]
    assert [group.key[0] for group in expected.groups][-1] == 2016
    assert expected[2016].reported.geometric_accuracy == pytest.approx(0.558, abs=5e-4)


def test_language_models_from_parquet(capsys):
    assert run("assess", MODELS, *CONFIDENCES, "--by", "model", "--resamples", "0", "--json", "-") == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["groups"]) == 14
    assert not any(group["small"] for group in found["groups"])
    assert found["groups"][0]["key"] == {"model": "Mistral"}
    assert sum(group["n_rows"] for group in found["groups"]) == found["whole"]["n_rows"] == 167_577
    # Three thousand rows a model: there is hardly anything to shrink.
    frame, y, p = (each.gather_every(4) for each in models())
    shrunken = assess_by(y, p, by=frame["model"], shrink=True, resamples=0)
    assert all(group.shrunken.own_share > 0.96 for group in shrunken.groups)


def test_parts_of_a_file_in_batches_add_up():
    frame, y, p = models()
    settings = {"truth": "grade", "prob": "confidence_level", "pos_label": "Correct", "ignore_label": "Unparseable"}
    tallies = tally_files_by(MODELS, by=["model", "prompt"], invalid="drop", **settings)
    assert len(tallies) == 28
    rows = Tallies.of(y.cast(int), p, by=frame.select("model", "prompt"))
    for key, tally in tallies.items():
        assert assess(tally).metrics() == assess(rows[key]).metrics()


def test_small_groups_are_marked(capsys):
    columns = ["--truth", *(f"{c}_outcome" for c in THREE), "--prob", *THREE]
    assert run("assess", IN_GAME, *columns, "--by", "period", "--clusters", "none") == 0
    out = capsys.readouterr().out
    table = out.partition("\nall rows ")[2].partition("\n\n")[0]
    names = re.findall(r"^(\d(?:, few rows)?)  ", table, re.MULTILINE)
    assert set(names) == {"1", "2", *(f"{n}, few rows" for n in (3, 4, 5))}  # extra time and penalties are rare
    assert out.startswith("Overpredicts 'probtie'")  # read in one pass by group, and diagnosed from counts
    assert "Few rows: the most probable class was right in fewer than 100 rows" in " ".join(out.split())


def test_thousands_of_groups_are_not_diagnosed_one_by_one(capsys):
    assert run("assess", MODELS, *CONFIDENCES, "--by", "row") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "6,000 groups by row, the lowest predicted geometric accuracy first" in out
    assert "No group is diagnosed by itself, as there are more than 1,000" in out
