"""The command where: the groups of find_groups, and what it refuses."""

import inspect
import json

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from unperplexed import find_groups
from unperplexed.cli.parser import _parsed, _parser, main


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 1500
    frame = pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m"], n),
            "seen": [None if gap else day for gap, day in zip(rng.random(n) < 0.1, days(rng, n), strict=True)],
            "p": expit(rng.normal(size=n)).round(4),
        }
    )
    late = (frame["age"] >= 60).to_numpy()
    ill = rng.random(n) < expit(np.log(frame["p"] / (1 - frame["p"])).to_numpy() + 1.5 * late)
    path = tmp_path_factory.mktemp("where") / "scores.csv"
    frame = frame.with_columns(ill=pl.Series(ill.astype(int)))
    frame.write_csv(path)
    return path, frame


def days(rng, n):
    return (np.datetime64("2024-01-01") + rng.integers(0, 400, n)).astype(str).tolist()


def test_json_is_that_of_python_and_the_text_names_the_group(scores, tmp_path, capsys):
    path, frame = scores
    page, numbers = tmp_path / "page.html", tmp_path / "groups.json"
    among = ["age", "sex", "seen"]
    words = ["where", str(path), "--truth", "ill", "--prob", "p", "--among", *among, "--clusters", "none"]
    assert main([*words, "--json", str(numbers), "--report", str(page)]) == 0
    out, _ = capsys.readouterr()
    found = find_groups(frame["ill"], frame["p"], among=frame.select(among), clusters=None)
    mine, theirs = json.loads(numbers.read_text()), json.loads(found.to_json())
    assert mine["items"] == theirs["items"]
    assert mine["columns"] == ["age", "sex", "seen", "month of seen", "weekday of seen"]
    assert mine["gain"] == theirs["gain"]
    rule = found.items[0].rule
    assert rule.startswith("age >= ")
    assert "Wrong in 1 group of rows, beyond the error that all rows share (p < 0.001)." in out
    assert rule in out
    assert rule.replace(">", "&gt;") in page.read_text()
    assert max(map(len, out.splitlines())) <= 80


def test_new_rows_are_corrected_as_in_python(scores, tmp_path, capsys):
    path, frame = scores
    made, new = str(tmp_path / "groups.json"), str(tmp_path / "new.csv")
    words = [str(path), "--truth", "ill", "--prob", "p", "--among", "age", "seen", "--clusters", "none", "-q"]
    assert main(["where", *words, "-o", made]) == 0
    assert main(["recalibrate", str(path), "--apply", made, "--as", "*_cal", "-o", new]) == 0
    assert "1,500 rows recalibrated, column p_cal" in capsys.readouterr().out
    found = find_groups(frame["ill"], frame["p"], among=frame.select("age", "seen"), clusters=None)
    corrected = found.recalibrator()
    np.testing.assert_allclose(pl.read_csv(new)["p_cal"], corrected.transform(frame["p"], among=frame), rtol=1e-12)
    assert corrected.columns_ == ("age",)
    assert str(corrected).startswith("Correct 1 group of rows, then recalibrate all rows by one map.")
    frame.drop("age").write_csv(tmp_path / "short.csv")
    assert main(["recalibrate", str(tmp_path / "short.csv"), "--prob", "p", "--apply", made, "-o", new]) == 2
    assert "no column 'age'" in capsys.readouterr().err
    assert main(["assess", str(path), "--truth", "ill", "--prob", "p", "--apply", made]) == 2
    assert "corrections of groups, which need each row's group" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--among", "age", "ill"], "among: column 'ill' holds the outcomes. Leave it out."),
        (["--among", "age", "height"], "no column 'height'"),
    ],
)
def test_columns_that_cannot_be_searched_are_refused(scores, capsys, words, said):
    assert main(["where", str(scores[0]), "--truth", "ill", "--prob", "p", *words]) == 2
    assert said in capsys.readouterr().err


def test_columns_and_rows_are_needed(scores, tmp_path, capsys):
    assert main(["where", str(scores[0]), "--truth", "ill", "--prob", "p"]) == 2
    assert "--among: missing" in capsys.readouterr().err
    counts = str(tmp_path / "counts.tally")
    assert main(["tally", str(scores[0]), "--truth", "ill", "--prob", "p", "-o", counts, "--quiet"]) == 0
    assert main(["where", counts, "--among", "age"]) == 2
    assert "groups are searched in rows" in capsys.readouterr().err


def test_defaults_are_those_of_python():
    parsed = _parsed(_parser(), ["where", "FILE", "--among", "age"])
    defaults = {name: p.default for name, p in inspect.signature(find_groups).parameters.items()}
    for name in ("max_groups", "view", "seed"):
        assert getattr(parsed, name) == defaults[name]
