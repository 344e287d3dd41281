import json
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from unperplexed.cli.parser import main
from unperplexed.scores import row_scores

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")

READ = ["--truth", "y", "--prob", "p"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The same rows by a good and by a worse forecaster, and other rows by the good one."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    s, t = rng.normal(0, 1.5, (2, 1500))
    y, z = rng.random(1500) < expit(s), rng.random(1500) < expit(t)
    table = pl.DataFrame({"id": np.arange(1500), "y": y.astype(int), "p": expit(s)})
    table.write_csv("good.csv")
    table.with_columns(p=pl.Series(expit(1.3 * s))).write_csv("worse.csv")
    pl.DataFrame({"id": np.arange(1500), "y": z.astype(int), "p": expit(t)}).write_csv("other.csv")
    return tmp_path


@pytest.mark.slow
def test_the_exit_code_says_whether_requirements_are_met(files, capsys):
    assert main(["check", "good.csv", *READ, "--require", "log_loss < 0.7", "skill.lower > 0"]) == 0
    assert capsys.readouterr().out.startswith("Passed: 2 requirements.")
    assert main(["check", "good.csv", *READ, "--require", "log_loss < 0.3"]) == 1
    assert capsys.readouterr().out.startswith("Failed: 1 of 1 requirement.")
    assert main(["check", "good.csv", *READ, "--require", "loss < 0.3"]) == 2
    assert "there is no metric 'loss'" in capsys.readouterr().err


@pytest.mark.slow
def test_outputs_are_written_whether_it_passes_or_not(files, capsys):
    (files / "summary.md").write_text("# Job\n\n")
    outputs = ["--summary", "summary.md", "--junit", "gate.xml", "--json", "gate.json"]
    assert main(["check", "good.csv", *READ, "--require", "log_loss < 0.3", *outputs]) == 1
    summary = (files / "summary.md").read_text()
    assert summary.startswith("# Job\n\n**Failed: 1 of 1 requirement**")
    assert ElementTree.parse(files / "gate.xml").getroot().get("failures") == "1"
    flat = json.loads((files / "gate.json").read_text())
    assert flat["passed"] == 0
    assert flat["failed_requirements"] == 1
    assert all(value is None or isinstance(value, float | int) for value in flat.values())
    assert "log_loss < 0.3" in capsys.readouterr().out


def test_earlier_forecasts_that_are_not_passed_beyond_chance(files, capsys):
    assert main(["tally", "other.csv", *READ, "-o", "other.tally", "-q"]) == 0
    assert main(["check", "good.csv", *READ, "--earlier", "other.csv"]) == 0
    assert "as two independent samples" in capsys.readouterr().out
    assert main(["tally", "good.csv", *READ, "-o", "good.tally", "-q"]) == 0
    assert main(["check", "good.tally", "--earlier", "other.tally"]) == 0
    assert main(["check", "good.csv", *READ, "--labels", "0", "1", "--earlier", "other.tally"]) == 0


@pytest.mark.slow
def test_pairs_see_a_change_that_two_samples_do_not(files, capsys):
    assert main(["check", "worse.csv", *READ, "--earlier", "good.csv"]) == 0
    capsys.readouterr()
    assert main(["check", "worse.csv", *READ, "--earlier", "good.csv", "--on", "id"]) == 1
    assert "paired by id (1,500 rows)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_at_many_looks_it_takes_more_to_fail(files, capsys):
    paired = ["check", "worse.csv", *READ, "--earlier", "good.csv", "--on", "id"]
    assert main([*paired, "--require", "change.log_loss < 0.006"]) == 1
    capsys.readouterr()
    assert main([*paired, "--require", "change.log_loss < 0.006", "--anytime"]) == 0
    assert ", limit 20  pass" in capsys.readouterr().out
    assert main([*paired, "--anytime", "--json", "-"]) == 1
    flat = json.loads(capsys.readouterr().out)
    assert flat["change.log_loss.log_evidence"] > np.log(20)
    assert main(["check", "worse.csv", *READ, "--earlier", "good.csv", "--anytime"]) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--require", "change.log_loss < 0"], "name their file with --earlier"),
        (["--on", "id", "--require", "log_loss < 1"], "name their file with --earlier"),
        (["--earlier", "./good.csv"], "these are the forecasts of FILE itself"),
        ([], "no requirement"),
        (["--require", "log_loss < 1", "--anytime"], "test limits and calibration at every look with"),
        (["--require", "log_loss < 1", "--summary", "good.csv/x.md"], "cannot be written"),
        (["--require", "log_loss < 1", "--junit", "-"], "only --json writes to standard output; name a file"),
        (["--require", "verdict.lower > 0"], "a verdict has no interval"),
        (["--require", "log_loss < 1", "--confidence", "0"], "expected a number between 0 and 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(files, capsys, words, says):
    assert main(["check", "good.csv", *READ, *words]) == 2
    assert says in capsys.readouterr().err


def test_two_infinite_log_losses_leave_the_brier_score(files, capsys):
    for name, rows in (("a.csv", "0,1\n1,0.8\n0,0.3"), ("b.csv", "0,1\n1,0.7\n0,0.4")):
        (files / name).write_text(f"y,p\n{rows}\n")
    assert main(["check", "a.csv", *READ, "--earlier", "b.csv"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Passed: 1 requirement.")
    assert "change.brier_score <= 0" in text


def test_scoring_rules_are_computed_that_are_required(files, capsys):
    assert main(["check", "good.csv", *READ, "--require", "power_score(2) < 9", "log_loss < 9", "--json", "-"]) == 0
    expected = row_scores(*pl.read_csv("good.csv").select("y", "p"), "power_score(2)").mean()
    assert json.loads(capsys.readouterr().out)["power_score(2)"] == pytest.approx(expected)


@pytest.mark.slow
def test_metrics_go_by_the_names_of_reports_too(files, capsys):
    assert main(["check", "good.csv", *READ, "--require", "ece < 0.1", "brier_score < 0.5", "auc > 0.6"]) == 0
    capsys.readouterr()
    assert main(["check", "good.csv", *READ, "--require", "ece.upper < 0.001"]) == 1
    found = capsys.readouterr().out
    assert main(["check", "good.csv", *READ, "--require", "ece.upper < 0.001"]) == 1
    assert found.split()[-6:] == capsys.readouterr().out.split()[-6:]


def test_skill_of_a_tally_is_refused_by_the_option_that_asks_for_it(files, capsys):
    assert main(["tally", "good.csv", *READ, "-o", "good.tally", "-q"]) == 0
    assert main(["check", "good.tally", "--require", "skill > 0"]) == 2
    said = capsys.readouterr().err
    assert "--require: skill is compared row by row, and the rows of" in said
    assert "--reference" not in said


@pytest.mark.slow
@pytest.mark.parametrize("level", ["0.5", "none"])
def test_the_level_of_the_intervals(files, capsys, level):
    """The log loss is above its limit, and at 90% not by more than chance; at 50%, or without intervals, it fails."""
    assert main(["check", "good.csv", *READ, "--require", "log_loss < 9", "--json", "-"]) == 0
    limit = json.loads(capsys.readouterr().out)["log_loss"] - 0.01
    gate = ["check", "good.csv", *READ, "--require", f"log_loss < {limit}"]
    assert main(gate) == 0
    assert main([*gate, "--confidence", level]) == 1


@pytest.mark.parametrize(("schema", "content"), [(1, {"verdict": "Calibrated."}), (2, {"schema": 2, "log_loss": 0.5})])
def test_results_are_not_read_back_as_forecasts(files, capsys, schema, content):
    (files / "result.json").write_text(json.dumps(content))
    assert main(["check", "good.csv", *READ, "--earlier", "result.json"]) == 2
    error = capsys.readouterr().err
    assert f"result.json: a result in JSON (schema {schema}), which is not read back" in error
    assert "unperplexed tally FILE -o FILE.tally" in error


def test_intervals_are_those_of_the_assessment_in_the_clusters_it_finds(files, capsys):
    rng = np.random.default_rng(0)
    question, s = np.repeat(np.arange(100), 10), rng.normal(size=1000)
    y = rng.random(100)[question] < expit(s)
    pl.DataFrame({"question": question, "y": y.astype(int), "p": expit(s)}).write_csv("asked.csv")
    assert main(["assess", "asked.csv", *READ, "--confidence", "0.9", "--json", "-"]) == 0
    assessed = json.loads(capsys.readouterr().out)
    assert main(["check", "asked.csv", *READ, "--require", "slope < 9", "auc > 0", "--json", "-"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert assessed["diagnosis"]["n_clusters"] == 100
    for name in ("slope", "auc", "intercept"):
        assert [checked[f"{name}.lower"], checked[f"{name}.upper"]] == assessed[name][2]
