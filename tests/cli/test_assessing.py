"""Assessments that the command line asks for, beside those of the same rows in Python."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

from unperplexed import Recalibrator, Tally, assess
from unperplexed.cli.assessing import Asked, assessment_of, breakdown_of
from unperplexed.cli.input import Input, of_numbers
from unperplexed.cli.parser import _parsed, _parser, main

THREE = 300


def asked(file, *words):
    parsed = _parsed(_parser("assess"), ["assess", file, "--truth", "y", "--prob", "p*", *words])
    del parsed.show  # sections of a report
    return Asked.of(parsed, Input.of(parsed).settled())


def written(name, y, p, **columns):
    classes = {f"p{at}": p[:, at] for at in range(p.shape[1])}
    pl.DataFrame({"y": y, **classes, **columns}).write_csv(name)


@pytest.fixture
def three(tmp_path, monkeypatch):
    """Overconfident forecasts of three classes, and the map that recalibrates them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    s = rng.normal(0, 1.5, (THREE, 3))
    y, p = (s + rng.gumbel(size=s.shape)).argmax(axis=1), softmax(3 * s, axis=1).round(3)
    p[:, 0] += 1 - p.sum(axis=1)
    p = p.clip(0).round(3)
    written("three.csv", y, p, half=np.arange(THREE) % 2)
    recalibrator = Recalibrator("temperature").fit(y, p)
    recalibrator.save("map.json")
    return y, p, recalibrator.transform(p)


def test_each_class_is_that_of_the_recalibrated_forecasts(three):
    y, _, q = three
    [found, expected] = (
        each.by_class.classes for each in (assessment_of(asked("three.csv", "--apply", "map.json")), assess(y, q))
    )
    assert found.label == expected.label
    assert found.mean_reported == pytest.approx(expected.mean_reported)
    assert found.calibration_error == pytest.approx(expected.calibration_error)


def test_groups_of_recalibrated_forecasts_are_diagnosed_as_recalibrated(three):
    before = breakdown_of(asked("three.csv", "--by", "half"))
    after = breakdown_of(asked("three.csv", "--by", "half", "--apply", "map.json"))
    assert all("confidence" in group.diagnosis.errors for group in before.groups)
    assert not any(group.diagnosis.errors for group in after.groups)


@pytest.mark.parametrize(("classes", "counted"), [(200, True), (201, False)])
def test_up_to_200_classes_are_counted_one_by_one_unasked(tmp_path, monkeypatch, classes, counted):
    monkeypatch.chdir(tmp_path)
    written("many.csv", np.arange(4), np.full((4, classes), 1 / classes))
    assert (assessment_of(asked("many.csv")).by_class is not None) == counted


def test_the_first_tally_says_of_what_all_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Tally.of([1, 0], [0.8, 0.3]).save("classes.tally")
    pl.DataFrame({"y": [1.0, 2.0], "m": [0.5, 2.5]}).write_csv("numbers.csv")
    numbers = ["numbers.csv", "--truth", "y", "--distribution", "normal", "mean=m", "sd=1"]
    assert main(["tally", *numbers, "-o", "numbers.tally", "-q"]) == 0
    both = (["classes.tally", "numbers.tally"], ["numbers.tally", "classes.tally"])
    assert [of_numbers(_parsed(_parser("assess"), ["assess", *each])) for each in both] == [False, True]


def test_json_of_classes_has_them_all(three, capsys):
    y, *_ = three
    assert main(["assess", "three.csv", "--truth", "y", "--prob", "p*", "--show", "classes", "--json", "-", "-q"]) == 0
    shown = json.loads(capsys.readouterr().out)["shown"]["classes"]
    assert [each["happened"] for each in shown] == np.bincount(y).tolist()


def test_help_names_the_value_of_options_that_take_one(capsys):
    with pytest.raises(SystemExit):
        main(["recalibrate", "--help-all"])
    lines = capsys.readouterr().out.splitlines()
    for start in ("  --prevalence P ", "  -o, --output PATH ", "  --by COLUMN ... ", "  --force  "):
        assert any(line.startswith(start) for line in lines), start
