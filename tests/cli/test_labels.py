"""Labels read off the names of columns: what is taken and said, what is refused, and with which sentence."""

import json
import re
import shlex

import numpy as np
import polars as pl
import pytest

from printed import unfolded
from unperplexed import Recalibrator, Tally
from unperplexed.cli import main

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")


def write(path, columns, outcomes, n=60, seed=46):
    """Write forecasts of these columns with so many rows, in which each outcome occurs equally often."""
    rng = np.random.default_rng(seed)
    y = rng.permutation([outcomes[at % len(outcomes)] for at in range(n)])
    p = rng.dirichlet(np.ones(len(columns)), n) if len(columns) > 1 else rng.random((n, 1))
    pl.DataFrame({"y": y, **dict(zip(columns, p.T, strict=True))}).write_csv(path)
    return y, p


TAKEN = {
    "whole names": ("c*", ["c0", "c1", "c2"], ["c0", "c1", "c2"], ["c0", "c1", "c2"], ""),
    "a common beginning": (
        "p_*",
        ["p_win", "p_draw", "p_loss"],
        ["win", "draw", "loss"],
        ["win", "draw", "loss"],
        "classes by column name: win = p_win, draw = p_draw, loss = p_loss",
    ),
    "one column": (
        "p_malignant",
        ["p_malignant"],
        ["malignant", "benign"],
        ["benign", "malignant"],
        "positive class by column name: malignant = p_malignant",
    ),
    "the shorter beginning": (
        "p_no_*",
        ["p_no_show", "p_no_pay"],
        ["no_show", "no_pay"],
        ["no_show", "no_pay"],
        "classes by column name: no_show = p_no_show, no_pay = p_no_pay",
    ),
    "numbers": (
        "p*",
        [f"p{k}" for k in range(11)],
        [0, 1, 2, 10],
        list(range(11)),
        "classes by column name: 0 = p0, 1 = p1, 2 = p2, ..., 10 = p10; classes 3 to 9 never occur",
    ),
}
REFUSED = {
    "case": (
        ["Home", "Draw", "Away"],
        ["home", "draw", "away"],
        "the columns differ from the outcomes in case only; if they are the same: --prob home=Home draw=Draw away=Away",
    ),
    "shifted": (
        ["prob1", "prob2", "prob3"],
        [0, 1, 2],
        "columns count from 1, outcomes from 0; if shifted: --prob 0=prob1 1=prob2 2=prob3",
    ),
    "no column": (
        ["c0", "c1", "c2"],
        ["c0", "c1", "c3"],
        "no column for the outcomes 20 × 'c3', in 20 rows (",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("as_listed", [False, True])
@pytest.mark.parametrize("case", TAKEN)
def test_labels_are_read_off_names_and_said(tmp_path, monkeypatch, capsys, case, as_listed):
    pattern, columns, outcomes, labels, said = TAKEN[case]
    monkeypatch.chdir(tmp_path)
    y, p = write("f.csv", columns, outcomes)
    prob = columns if as_listed else [pattern]
    assert main(["assess", "f.csv", "--truth", "y", "--prob", *prob, "--resamples", "0", "--json", "-"]) == 0
    shown = capsys.readouterr()
    assert shown.err == (f"unperplexed: {said}\n" if said else "")
    found = json.loads(shown.out)
    assert found["labels"] == labels
    expected = p[np.arange(len(y)), [columns.index(column) for column in expected_columns(columns, labels, y)]]
    if len(columns) == 1:
        expected = np.where(y == "malignant", p[:, 0], 1 - p[:, 0])
    assert found["scores"]["log_loss"] == pytest.approx(-np.log(expected).mean())


def expected_columns(columns, labels, y):
    names = {str(label): column for label, column in zip(labels, columns, strict=False)}
    return [names.get(str(each), columns[0]) for each in y]


@pytest.mark.parametrize("case", REFUSED)
def test_names_that_do_not_hold_the_outcomes_are_refused_with_what_to_type(tmp_path, monkeypatch, capsys, case):
    columns, outcomes, message = REFUSED[case]
    monkeypatch.chdir(tmp_path)
    write("f.csv", columns, outcomes)
    command = ["assess", "f.csv", "--truth", "y", "--resamples", "0", "--prob"]
    for prob in (columns, [f"{columns[0][0]}*"]) if case != "case" else (columns,):
        assert main([*command, *prob]) == 2
        error = capsys.readouterr().err
        assert message in error
    if case == "no column":
        assert "class 'c2' never occurs. Leave them out with ignore_label='c3' (--ignore-label c3)" in error
        assert main([*command, "c*", "--ignore-label", "c3", "-q"]) == 0
    else:  # the option of the sentence, pasted
        option = re.search("--prob ([^()]*) \\(", error)[1]
        assert main([*command, *shlex.split(option), "-q"]) == 0


def test_what_is_said_of_the_columns_decides_and_is_refused_against_their_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write("f.csv", ["p_win", "p_loss"], ["win", "loss"])
    command = ["assess", "f.csv", "--truth", "y", "--resamples", "0"]
    assert main([*command, "--prob", "p_*", "--labels", "win", "loss"]) == 0
    assert capsys.readouterr().err == ""
    for words in (["p_*", "--labels", "loss", "win"], ["loss=p_win", "win=p_loss"], ["loss=p_win"]):
        assert main([*command, "--prob", *words]) == 2
        assert "named" in capsys.readouterr().err
    assert main([*command, "--prob", "win=p_win", "-q"]) == 0


def test_labels_with_each_of_several_columns_tell_more_than_their_names(tmp_path, monkeypatch, capsys):
    """Names may be the error: the verdict on permuted columns advises such labels."""
    monkeypatch.chdir(tmp_path)
    write("f.csv", ["p_win", "p_draw", "p_loss"], ["win", "draw", "loss"])
    command = ["tally", "f.csv", "--truth", "y", "-o", "f.tally"]
    assert main([*command, "--prob", "loss=p_win", "draw=p_draw", "win=p_loss"]) in (0, None)
    assert Tally.load("f.tally").labels == ("loss", "draw", "win")
    assert main([*command, "--prob", "p_*", "--labels", "loss", "draw", "win"]) == 2
    assert "named" in capsys.readouterr().err


COMMANDS = {
    "assess": "assess f.csv --truth y --prob p_* --resamples 0",
    "check": "check f.csv --truth y --prob p_* --require log_loss<9",
    "tally": "tally f.csv --truth y --prob p_* -o f.tally",
    "recalibrate": "recalibrate f.csv --truth y --prob p_* -o map.json",
    "compare": "compare f.csv --truth y --forecaster a=p_win,p_draw,p_loss b=p_win,p_draw,p_loss",
    "skill": "skill f.csv --truth y --prob p_*",
    "dask": "assess f.csv --truth y --prob p_* --resamples 0 --engine dask",
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_reads_rows_reads_labels_and_says_so_once(tmp_path, monkeypatch, capsys, command):
    if command == "dask":
        pytest.importorskip("dask")
    monkeypatch.chdir(tmp_path)
    write("f.csv", ["p_loss", "p_win", "p_draw"], ["win", "draw", "loss"], n=300)
    assert main(COMMANDS[command].split()) == 0
    error = capsys.readouterr().err
    assert error.count("classes by column name:") == 1
    if command == "tally":
        assert Tally.load("f.tally").labels == ("loss", "win", "draw")
    if command == "recalibrate":
        assert Recalibrator.load("map.json").labels_ == ("loss", "win", "draw")
        pl.read_csv("f.csv").rename({f"p_{each}": f"q_{each}" for each in ("win", "draw", "loss")}).select(
            "q_win", "q_draw", "q_loss"
        ).write_csv("new.csv")
        assert main(["recalibrate", "--apply", "map.json", "new.csv", "--prob", "q_*", "-o", "out.csv"]) == 0
        assert "order of the map" not in capsys.readouterr().err  # names decide, not places
        main(["recalibrate", "--apply", "map.json", "f.csv", "-o", "same.csv", "-q"])
        columns = ("win", "draw", "loss")
        same = pl.read_csv("same.csv").select(f"p_{each}" for each in columns).to_numpy()
        assert pl.read_csv("out.csv").to_numpy() == pytest.approx(same)


def test_a_map_is_not_applied_to_a_column_of_the_other_class(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write("f.csv", ["p_malignant"], ["malignant", "benign"], n=300)
    assert main([*["recalibrate", "f.csv", "--truth", "y", "--prob", "p_malignant", "-o", "map.json"], "-q"]) == 0
    pl.read_csv("f.csv").rename({"p_malignant": "p_benign"}).write_csv("g.csv")
    assert main(["recalibrate", "--apply", "map.json", "g.csv", "--prob", "p_benign", "-o", "out.csv"]) == 2
    assert "of the classes 'benign', 'malignant', the columns of 'p_benign'" in capsys.readouterr().err


def hundred(path, outcomes, seed=46, n=800):
    """Write overconfident forecasts of a hundred classes, whose columns are not in the order of the classes."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n, 100))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    sharp = p**1.6 / (p**1.6).sum(axis=1, keepdims=True)
    columns = {f"c{k}": sharp[:, k] for k in rng.permutation(100)}
    pl.DataFrame({"y": [outcomes(k) for k in y], **columns}).write_csv(path)


def printed_commands(out):
    """Give the commands to copy as words, and how many lines they take."""
    found = re.findall(r"^ +unperplexed recal(?:.*\\\n)*.*$", out, re.MULTILINE)
    return [shlex.split(unfolded(each)) for each in found], sum(each.count("\n") + 1 for each in found)


@pytest.mark.parametrize("numbers", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_hundred_classes_need_no_labels_and_the_commands_to_copy_are_short_and_run(
    tmp_path, monkeypatch, capsys, numbers
):
    monkeypatch.chdir(tmp_path)
    hundred("f.csv", int if numbers else "c{}".format)
    assert main(["assess", "f.csv", "--truth", "y", "--prob", "c*", "--resamples", "0"]) == 0
    commands, lines = printed_commands(capsys.readouterr().out)
    assert len(commands) == 2
    assert lines < 10
    hundred("NEW.csv", int if numbers else "c{}".format, seed=47)
    for command in commands:
        assert main(command[1:]) == 0
    assert main(["assess", "recalibrated.csv", "--truth", "y", "--prob", "c*", "--resamples", "0"]) == 0
    assert "No evidence of miscalibration" in capsys.readouterr().out


@pytest.mark.slow
def test_many_labels_are_named_once_and_kept_in_a_file_that_later_commands_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hundred("f.csv", "class {}".format)
    columns = pl.read_csv("f.csv").columns[1:]
    labels = ["--labels", *(f"class {column[1:]}" for column in columns)]
    assert main(["assess", "f.csv", "--truth", "y", "--prob", "c*", *labels, "--resamples", "0"]) == 0
    commands, _ = printed_commands(capsys.readouterr().out)
    assert [command[-1] for command in commands] == ["f-map.json", "recalibrated.csv"]
    assert [command.count("class 7") for command in commands] == [1, 0]
    words = [f"{label}={column}" for label, column in zip(labels[1:], columns, strict=True)]
    assert main(["assess", "f.csv", "--truth", "y", "--prob", *words, "--resamples", "0"]) == 0
    commands, _ = printed_commands(capsys.readouterr().out)
    assert ["--reading" in command for command in commands] == [False, True]
    hundred("NEW.csv", "class {}".format, seed=47)
    for command in commands:
        assert main(command[1:]) == 0


@pytest.mark.slow
def test_a_comparison_names_many_labels_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate("ab"):
        hundred(f"{name}.csv", "class {}".format, seed, n=500)
    y = pl.read_csv("a.csv")["y"]
    pl.read_csv("b.csv").with_columns(y).write_csv("b.csv")
    labels = ["--labels", *(f"class {column[1:]}" for column in pl.read_csv("a.csv").columns[1:])]
    assert main(["compare", "a.csv", "b.csv", "--in-order", "--truth", "y", "--prob", "c*", *labels]) == 0
    out = unfolded(capsys.readouterr().out)
    assert out.count("'class 7'") <= 1


@pytest.mark.parametrize("engine", ["local", "dask"])
def test_outcomes_of_later_files_settle_how_names_are_read(dask_in_threads, tmp_path, monkeypatch, capsys, engine):
    """The first file alone may mean two things, and the last one alone names what the first one does not hold."""
    monkeypatch.chdir(tmp_path)
    write("1.csv", ["p_a_b", "p_a_a_b"], ["a_b"])
    write("2.csv", ["p_a_b", "p_a_a_b"], ["b"])
    command = ["tally", "--truth", "y", "--prob", "p_*", "--engine", engine]
    assert main([*command[:1], "1.csv", *command[1:], "-o", "one.tally"]) == 2
    assert "both of which hold every outcome" in capsys.readouterr().err
    assert main([*command[:1], "1.csv", "2.csv", *command[1:], "-o", "all.tally"]) == 0
    assert "classes by column name: b = p_a_b, a_b = p_a_a_b" in capsys.readouterr().err
    assert Tally.load("all.tally").labels == ("b", "a_b")


@pytest.mark.slow
def test_several_forecasts_a_row_and_several_forecasters_are_each_read_by_their_names(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(46)
    y, p = rng.choice(["rain", "dry"], (2, 60)), rng.random((2, 60))
    frame = {"seen": y[0], "later": y[1], "p_rain": p[0], "q_dry": p[1], "a_rain": p[0], "a_dry": 1 - p[0]}
    pl.DataFrame(frame | {"b_dry": 1 - p[1], "b_rain": p[1]}).write_csv("f.csv")
    assert main(["tally", "f.csv", "--pair", "p_rain=seen", "-o", "one.tally"]) == 0
    assert capsys.readouterr().err == "unperplexed: positive class by column name: rain = p_rain\n"
    assert main(["tally", "f.csv", "--pair", "p_rain=seen", "q_dry=later", "-o", "two.tally"]) == 2
    assert "class 1 is 'dry' in one and 'rain' in another" in capsys.readouterr().err
    rivals = ["--forecaster", "a=a_rain,a_dry", "b=b_dry,b_rain"]
    assert main(["compare", "f.csv", "--truth", "seen", *rivals, "--json", "-"]) == 0
    shown = capsys.readouterr()
    assert "classes by column name: rain = a_rain, dry = a_dry" in shown.err
    assert "classes by column name: dry = b_dry, rain = b_rain" in shown.err
    losses = {each: -np.log(np.where(y[0] == "rain", p[at], 1 - p[at])).mean() for at, each in enumerate("ab")}
    found = json.loads(shown.out)["forecasters"]
    assert {name: each["assessment"]["scores"]["log_loss"] for name, each in found.items()} == pytest.approx(losses)
