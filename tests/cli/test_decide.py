import json
import subprocess
import sys

import numpy as np
import pytest

from unperplexed import Tally, decide, decision_curve
from unperplexed.cli.parser import main


@pytest.fixture
def cases(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    p = rng.beta(1, 3, 300).round(3)
    y = np.where(rng.random(300) < p, "yes", "no")
    lines = [f"{a},{b},{i // 3}" for i, (a, b) in enumerate(zip(y, p, strict=True))]
    (tmp_path / "cases.csv").write_text("\n".join(["fraud,p,shop", *lines]) + "\n")
    return y, p


COLUMNS = ("--truth", "fraud", "--prob", "yes=p")
COSTS = ("--costs", "fp=1", "fn=4")


@pytest.mark.slow
def test_the_command_is_the_function(cases, capsys):
    y, p = cases
    assert (
        main(["decide", "cases.csv", *COLUMNS, *COSTS, "--clusters", "shop", "--confidence", "0.9", "--json", "-"]) == 0
    )
    options = {"cost_fp": 1, "cost_fn": 4, "confidence": 0.9}
    expected = decide(y, p, pos_label="yes", clusters=np.arange(300) // 3, **options)
    found, expected = json.loads(capsys.readouterr().out), json.loads(expected.to_json())
    cross_fitted = ("best_cost_cross_fitted", "recalibrated", "miscalibration", "optimism", "verdict", "notes")
    assert {k: v for k, v in found.items() if k not in cross_fitted} == {
        k: v for k, v in expected.items() if k not in cross_fitted
    }
    assert found["n_clusters"] == 100
    assert found["recalibrated"]["value"] == pytest.approx(expected["recalibrated"]["value"], abs=0.1)


@pytest.mark.slow
def test_several_files_are_one(cases, capsys, tmp_path):
    text = (tmp_path / "cases.csv").read_text().splitlines()
    for name, rows in (("a.csv", text[1:101]), ("b.csv", text[101:])):
        (tmp_path / name).write_text("\n".join([text[0], *rows]) + "\n")
    assert main(["decide", "cases.csv", *COLUMNS, *COSTS]) == 0
    whole = capsys.readouterr().out
    assert main(["decide", "a.csv", "b.csv", *COLUMNS, *COSTS]) == 0
    assert capsys.readouterr().out == whole


@pytest.mark.slow
def test_text_and_picture(cases, capsys, tmp_path):
    benefits = ("--costs", "tp=-1", "tn=-0.5")
    assert main(["decide", "cases.csv", *COLUMNS, *COSTS, *benefits, "--plot", "curve.svg"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Act where the probability of 'yes' is at least 0.231.")
    assert "benefit of a true positive 1, benefit of a true negative 0.5" in " ".join(out.split())
    assert "<!-- recalibrated -->" in (tmp_path / "curve.svg").read_text()


def test_commands_read_what_a_map_writes(rng, capsys, tmp_path, monkeypatch):
    """Recalibrated logits are logits."""
    monkeypatch.chdir(tmp_path)
    s = rng.normal(-1, 2, 2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-s))
    lines = "\n".join(f"{int(a)},{b:.6f}" for a, b in zip(y, s + 2, strict=True))
    (tmp_path / "cases.csv").write_text(f"fraud,p\n{lines}\n")
    assert main(["decide", "cases.csv", "--truth", "fraud", "--prob", "p", "--scale", "logits", *COSTS]) == 0
    out = " ".join(capsys.readouterr().out.replace("\\", "").split())
    assert "--scale logits" in out.partition("unperplexed decide recalibrated.csv")[2]


@pytest.mark.slow
def test_commands_recalibrate_and_decide(rng, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    p = rng.beta(1, 3, 3000)
    y = np.where(rng.random(3000) < p, "yes", "no")
    rows = "\n".join(["fraud,p", *(f"{a},{b}" for a, b in zip(y, np.sqrt(p), strict=True))])
    for name in ("cases.csv", "NEW.csv"):
        (tmp_path / name).write_text(rows)
    assert main(["decide", "cases.csv", *COLUMNS, *COSTS]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Recalibrate, then act where the probability of 'yes' is at least 0.2 (cost")
    commands = [
        line.split() for line in out.replace("\\\n", " ").splitlines() if line.strip().startswith("unperplexed")
    ]
    assert [words[1] for words in commands] == ["recalibrate", "recalibrate", "decide"]
    for words in commands:
        capsys.readouterr()
        assert main(words[1:]) == 0
    assert "where the probability of 'yes' is at least 0.2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--costs", "fp=1", "fn=-4"), "one would never act"),
        (("--costs", "fp=1", "fn=4", "fn=3"), "--costs fn: is given twice; leave one out"),
        ((*COSTS, "--confidence", "2"), "confidence: expected a number between 0 and 1"),
        ((*COSTS, "--plot", "curve.txt"), "cannot write this format"),
        ((*COSTS, "--clusters", "nobody"), "nobody"),
    ],
)
def test_bad_arguments_are_refused(cases, capsys, arguments, message):
    assert main(["decide", "cases.csv", *COLUMNS, *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.slow
def test_tallies_give_what_their_rows_give(cases, capsys, tmp_path):
    y, p = cases
    assert main(["decide", "cases.csv", *COLUMNS, *COSTS, "--json", "-"]) == 0
    expected = json.loads(capsys.readouterr().out)
    for name, here in (("a.tally", slice(0, 90)), ("b.tally", slice(90, None))):
        Tally.of(y[here], p[here], labels=["no", "yes"]).save(tmp_path / name)
    assert main(["decide", "a.tally", "b.tally", *COSTS, "--json", "-", "--plot", "curve.svg"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == expected["verdict"]
    for field in ("cost", "recalibrated", "miscalibration", "best_cost_cross_fitted"):
        assert found[field]["value"] == pytest.approx(expected[field]["value"], abs=1e-12)
    assert "<!-- recalibrated -->" in (tmp_path / "curve.svg").read_text()


def test_tallies_beside_rows_or_options_of_rows_are_refused(cases, capsys, tmp_path):
    y, p = cases
    Tally.of(y, p, pos_label="yes").save(tmp_path / "x.tally")
    for arguments, message in (
        (["x.tally", "cases.csv"], "cases.csv: holds rows, beside tallies; count them first"),
        (["x.tally", "--truth", "fraud"], "x.tally: --truth is for the reading of rows"),
        (["x.tally", "--clusters", "shop"], "x.tally: --clusters is for the reading of rows"),
    ):
        assert main(["decide", *arguments, *COSTS]) == 2
        assert message in capsys.readouterr().err


def test_more_classes_are_refused(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "three.csv").write_text("y,a,b,c\na,0.2,0.3,0.5\nb,0.1,0.8,0.1\n")
    assert main(["decide", "three.csv", "--truth", "y", "--prob", "a", "b", "c", *COSTS]) == 2
    assert "three.csv: y_prob: a decision at a threshold needs two classes, got 3" in capsys.readouterr().err


@pytest.mark.slow
def test_without_costs_there_is_the_curve(cases, capsys):
    y, p = cases
    assert main(["decide", "cases.csv", *COLUMNS, "--json", "-"]) == 0
    expected = decision_curve(y, p, pos_label="yes", recalibrated=True)
    assert json.loads(capsys.readouterr().out) == json.loads(expected.to_json())
    assert main(["decide", "cases.csv", *COLUMNS, "--costs", "fp=1"]) == 2
    assert "--costs: fn= missing; name both" in capsys.readouterr().err
    assert main(["decide", "cases.csv", *COLUMNS, "--costs", "fpp=1"]) == 2
    assert "--costs fpp=1: expected KEY=VALUE; the keys are fp, fn, tp, tn" in capsys.readouterr().err


@pytest.mark.slow
def test_the_text_loads_no_pictures(cases):
    code = f"from unperplexed.cli.parser import main; main({['decide', 'cases.csv', *COLUMNS, *COSTS, '-q']})"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not {"matplotlib", "plotly", "pandas", "sklearn", "torch"} & loaded


def test_columns_hold_costs_and_periods_of_rows(rng, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    p, day, loss = rng.beta(1, 3, 400).round(4), np.arange(400) // 40, rng.gamma(2, 5, 400).round(3)
    y = (rng.random(400) < p).astype(int)
    gaps = np.where(np.arange(400) % 9, p, np.nan)
    lines = [",".join("" if np.isnan(x) else str(x) for x in row) for row in zip(y, gaps, day, loss, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["y,p,day,loss", *lines[:150]]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join(["y,p,day,loss", *lines[150:]]) + "\n")
    words = ["decide", "a.csv", "b.csv", "--truth", "y", "--prob", "p", "--invalid", "drop", "--where", "loss > 2"]
    assert main([*words, "--costs", "fp=1", "fn=loss", "--capacity", "5:day", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    kept = (np.arange(400) % 9 > 0) & (loss > 2)
    given = {"cost_fp": 1, "cost_fn": loss[kept], "capacity": 5, "period": day[kept]}
    expected = decide(y[kept], p[kept], **given, recalibrated=None)
    assert found["cost"]["value"] == pytest.approx(expected.cost.value)
    assert found["capacity"]["recall"]["value"] == pytest.approx(expected.capacity.recall.value)
    assert main([*words, "--capacity", "5:day"]) == 0
    assert "Capacity: up to 5 rows in each of 10 periods (50 in all)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--costs", "fp=1", "fn=los"), "no column 'los'"),
        (("--capacity", "ten"), "--capacity ten: expected a number of rows"),
        (("--capacity", "0"), "expected a number of rows, 1 to 300"),
        (("--capacity", "9:shp"), "no column 'shp'; did you mean 'shop'"),
        (("--costs", "fp=1", "fn=fraud"), "column 'fraud' is no number"),
    ],
)
def test_a_wrong_column_or_capacity_is_refused(cases, capsys, words, message):
    assert main(["decide", "cases.csv", *COLUMNS, *words]) == 2
    assert message in capsys.readouterr().err


def test_blanks_in_a_column_of_costs_are_told_with_the_condition_that_leaves_them_out(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 3 // 2},0.{i % 9 + 1},{i if i % 5 else ''}" for i in range(1, 101)]
    (tmp_path / "f.csv").write_text("\n".join(["y,p,the amount", *rows]) + "\n")
    words = ["decide", "f.csv", "--truth", "y", "--prob", "p", "--costs", "fp=1", "fn=the amount"]
    where = '"the amount" IS NOT NULL'
    assert main(words) == 2
    assert f"or leave out rows without one: --where '{where}'." in " ".join(capsys.readouterr().err.split())
    assert main([*words, "--where", where]) == 0
