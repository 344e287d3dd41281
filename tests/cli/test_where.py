"""The command where: the groups of find_groups, and what it refuses."""

import inspect
import io
import json
from contextlib import redirect_stdout

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from unperplexed import find_groups
from unperplexed.cli.parser import _parsed, _parser, main
from unperplexed.cli.where import _PROTECTED


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


@pytest.fixture(scope="module")
def theirs(scores):
    """What Python finds."""
    frame = scores[1]
    return find_groups(frame["ill"], frame["p"], among=frame.select("age", "seen"), clusters=None)


def days(rng, n):
    return (np.datetime64("2024-01-01") + rng.integers(0, 400, n)).astype(str).tolist()


@pytest.fixture(scope="module")
def told(scores):
    """What the command prints, in a folder with its outputs."""
    folder, printed = scores[0].parent, io.StringIO()
    outputs = {"--json": "groups.json", "--report": "page.html", "--plot": "groups.svg", "-o": "map.json"}
    words = ["where", str(scores[0]), "--truth", "ill", "--prob", "p", "--among", "age", "seen", "--clusters", "none"]
    with redirect_stdout(printed):
        assert main(words + [word for flag, name in outputs.items() for word in (flag, str(folder / name))]) == 0
    return printed.getvalue(), folder


@pytest.mark.slow
def test_json_is_that_of_python_and_the_text_names_the_group(told, theirs):
    out, folder = told
    mine, expected = json.loads((folder / "groups.json").read_text()), json.loads(theirs.to_json())
    assert mine["items"] == expected["items"]
    assert mine["columns"] == ["age", "seen", "month of seen", "weekday of seen"]
    assert mine["gain"] == expected["gain"]
    assert "<svg" in (folder / "groups.svg").read_text()
    rule = theirs.items[0].rule
    assert rule.startswith("age >= ")
    assert "Wrong in 1 group of rows, beyond the error that all rows share (p < 0.001)." in out
    assert rule in out
    assert rule.replace(">", "&gt;") in (folder / "page.html").read_text()
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.slow
def test_new_rows_are_corrected_as_in_python(scores, told, theirs, tmp_path, capsys):
    path, frame = scores
    made, new = str(told[1] / "map.json"), str(tmp_path / "new.csv")
    assert main(["recalibrate", str(path), "--apply", made, "--as", "*_cal", "-o", new]) == 0
    assert "1,500 rows recalibrated, column p_cal" in capsys.readouterr().out
    corrected = theirs.recalibrator()
    np.testing.assert_allclose(pl.read_csv(new)["p_cal"], corrected.transform(frame["p"], among=frame), rtol=1e-12)
    assert corrected.among_ == ("age",)
    assert str(corrected).startswith("Recalibrate all rows by one map, and correct 1 group of rows.")
    frame.drop("age").write_csv(tmp_path / "short.csv")
    assert main(["recalibrate", str(tmp_path / "short.csv"), "--prob", "p", "--apply", made, "-o", new]) == 2
    assert "no column 'age'" in capsys.readouterr().err
    assert main(["assess", str(path), "--truth", "ill", "--prob", "p", "--apply", made]) == 2
    assert "corrections of groups, which need each row's group" in capsys.readouterr().err


@pytest.fixture(scope="module")
def wide(scores, tmp_path_factory):
    """Also with columns that are not searched unless they are named."""
    path = tmp_path_factory.mktemp("among") / "wide.csv"
    frame = scores[1].with_row_index("id").with_columns(well=1 - scores[1]["ill"])
    frame.write_csv(path)
    return ["assess", str(path), "--truth", "ill", "--prob", "p", "--clusters", "none", "--resamples", "0"]


@pytest.mark.slow
def test_assess_searches_all_columns_but_those_that_name_or_tell_too_much(theirs, wide, tmp_path, capsys):
    page, numbers = tmp_path / "page.html", tmp_path / "all.json"
    assert main([*wide, "--among", "all", "--json", str(numbers), "--report", str(page)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    mine = json.loads(numbers.read_text())["groups_found"]
    assert mine["columns"] == [*theirs.columns]
    assert mine["items"] == json.loads(theirs.to_json())["items"]
    rule = theirs.items[0].rule
    for said in (rule, "Wrong in 1 group of rows", "left out: 'sex'", "'id' is left out", "'well' is left out"):
        assert said in out
    assert "Groups of rows in which they are wrong" in page.read_text()
    assert rule.replace(">", "&gt;") in page.read_text()
    assert main(["where", *wide[1:-2], "--among", "sex", "--json", "-"]) == 0
    named = json.loads(capsys.readouterr().out)
    assert (named["columns"], named["items"], named["warnings"]) == (["sex"], [], [])


def test_protected_columns_are_known_by_their_names():
    for name in ("race", "Sex", "patient_sex", "patientGender", "RELIGION", "is_male"):
        assert _PROTECTED.search(name), name
    for name in ("trace", "Essex", "age", "malet", "embrace"):
        assert not _PROTECTED.search(name), name


@pytest.mark.slow
def test_a_gate_knows_the_worst_group(wide, capsys):
    words = ["check", *wide[1:-2]]
    assert main([*words, "--among", "age", "--require", "worst_group_cost < 0.005", "--json", "-"]) == 1
    cost = json.loads(capsys.readouterr().out)["worst_group_cost"]
    assert 0.005 < cost < 0.1
    assert main([*words, "--among", "sex", "--require", "worst_group_cost <= 0"]) == 0
    assert "Counts, costs of groups" in capsys.readouterr().out
    assert main([*words, "--require", "worst_group_cost < 0.005"]) == 2
    assert "groups are found by --among COLUMN" in capsys.readouterr().err


def test_groups_that_are_named_are_not_searched_for(wide, capsys):
    assert main([*wide, "--among", "age", "--by", "sex"]) == 2
    assert "--among: searches all rows" in capsys.readouterr().err
    assert main([*wide[:-2], "--among", "age", "--ordered"]) == 2
    assert "--among does not go with --ordered" in capsys.readouterr().err


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
