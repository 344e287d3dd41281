"""A baseline beside an assessment: the skill scores are those of the function and of the command `skill`."""

import json
import math

import numpy as np
import polars as pl
import pytest

from helpers import softmax_forecasts
from unperplexed import InputError, Tally, assess, assess_by, skill
from unperplexed.cli.parser import main

N = 150


@pytest.fixture
def data(rng):
    y, p = softmax_forecasts(rng, N, 3)
    return y, p, {"month": np.arange(N) % 5}


@pytest.mark.slow
def test_an_assessment_has_the_skill_against_its_reference(data):
    y, p, month = data
    other = np.full((N, 3), 1 / 3)
    settings = {"clusters": np.arange(N) // 3, "metrics": ["ranked_probability_score"], "confidence": 0.9}
    for mine, theirs in (
        ("base-rate", "base-rate"),
        ({"climatology": month}, {"climatology": month}),
        (other, "other"),
    ):
        named = {"forecasts": p} | ({"other": other} if theirs == "other" else {})
        found = assess(y, p, resamples=0, reference=mine, **settings)
        own = skill(y, named, reference=theirs, **settings)
        assert found.skill.whole == own.whole
        assert f"Skill against {found.skill.reference}" in str(found)
        assert found.to_dict()["skill"]["whole"]["n_rows"] == N
    assert assess(y, p).skill is None


def test_groups_have_a_skill_each(data):
    y, p, month = data
    found = assess_by(y, p, by=month, reference="base-rate", resamples=0)
    assert found.skill == skill(y, {"forecasts": p}, by=month)
    assert "Skill against the base rate by log loss." in str(found)
    assert "Skill against the base rate, by group" in found.to_html()


def test_one_class_alone_has_no_skill_and_the_assessment_stands():
    found = assess([1, 1, 1], [0.9, 0.8, 0.7], labels=[0, 1], reference="base-rate", resamples=0)
    assert math.isnan(found.skill.whole.scores["forecasts"]["log_loss"].skill)
    assert "only one class is observed" in " ".join(str(found).split())


def test_what_is_no_reference_is_refused(data):
    y, p, _ = data
    with pytest.raises(InputError, match="reference: 'mine': expected \"base-rate\", .* or probabilities of every row"):
        assess(y, p, reference="mine")
    with pytest.raises(InputError, match=r"reference: a tally's rows are already counted"):
        assess(Tally.of(y, p), reference="base-rate")


@pytest.mark.slow
def test_the_command_reads_what_skill_reads(data, tmp_path, capsys):
    y, p, month = data
    frame = pl.DataFrame({"y": y == 1, "p": p[:, 1], "clim": 0.4, **month})
    frame.write_csv(tmp_path / "f.csv")
    columns = [str(tmp_path / "f.csv"), "--truth", "y", "--prob", "p", "--where", "month < 4", "--json", "-"]
    for baseline in ("base-rate", "climatology:month", "clim"):
        found = []
        for command in ("assess", "skill"):
            assert main([command, *columns, "--reference", baseline, "--by", "month"]) == 0, capsys.readouterr().err
            result = json.loads(capsys.readouterr().out)
            result = result["skill"] if command == "assess" else result
            found.append([next(iter(group["scores"].values())) for group in (result["whole"], *result["groups"])])
        assert found[0] == found[1]
    assert main(["tally", *columns[:5], "-o", str(tmp_path / "t.tally")]) == 0
    assert main(["assess", str(tmp_path / "t.tally"), "--reference", "base-rate"]) == 2
    assert "give the file that they came from" in capsys.readouterr().err
