import json
import re
import shlex
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit, softmax

from helpers import maps_of_groups
from printed import unfolded
from unperplexed import InputError, Recalibrator, Tally, assess
from unperplexed.cli.comparing import AFTER, BEFORE, before_and_after
from unperplexed.cli.parser import main
from unperplexed.forecasts.forecasts import Forecasts
from unperplexed.results import GroupRecalibrator

ROWS = 1500


@pytest.fixture
def files(tmp_path, rng, monkeypatch):
    """Overconfident forecasts to fit to, and others to recalibrate."""
    monkeypatch.chdir(tmp_path)
    for name in ("fit", "new"):
        s = rng.normal(-1, 2, ROWS)
        frame = pl.DataFrame(
            {
                "id": [f"{i:04d}" for i in range(ROWS)],
                "outcome": np.where(rng.random(ROWS) < expit(s), "fraud", "fine"),
                "p": expit(2 * s),
                "match": np.arange(ROWS) // 3,
                "half": np.arange(ROWS) % 2,
            }
        )
        frame.write_csv(f"{name}.csv")
        frame.write_parquet(f"{name}.parquet")
    return tmp_path


COLUMNS = ("--truth", "outcome", "--prob", "fraud=p")


def run(*arguments):
    return main([str(argument) for argument in arguments])


def printed(capsys, *arguments, code=0):
    assert run(*arguments) == code
    out, err = capsys.readouterr()
    return out if code == 0 else err


def fitted(*options):
    assert run("recalibrate", "fit.csv", *COLUMNS, "-o", "map.json", "--force", *options) == 0
    return Recalibrator.load("map.json")


def test_the_map_of_a_file_is_that_of_its_rows(files, capsys):
    frame = pl.read_csv("fit.csv")
    found = fitted()
    own = Recalibrator().fit(frame["outcome"], frame["p"], pos_label="fraud")
    grid = np.linspace(0, 1, 101)
    np.testing.assert_allclose(found.transform(grid), own.transform(grid), rtol=1e-12)
    assert capsys.readouterr().out.startswith(str(own))


def test_a_tally_gives_the_same_map(files):
    frame = pl.read_csv("fit.csv")
    Tally.of(frame["outcome"], frame["p"], pos_label="fraud").save("fit.tally")
    assert run("recalibrate", "fit.tally", "-o", "of_tally.json", "-q") == 0
    grid = np.linspace(0, 1, 101)
    np.testing.assert_allclose(Recalibrator.load("of_tally.json").transform(grid), fitted().transform(grid), rtol=1e-9)


def test_options_reach_the_fit(files):
    assert fitted("--method", "temperature").method_ == "temperature"
    assert max(fitted("--method", "best").weights_.values()) == 1
    grouped = fitted("--clusters", "match", "--folds", "3", "--seed", "4")
    assert (grouped.folds, grouped.seed) == (3, 4)


def test_defaults_are_those_of_python():
    from unperplexed.cli.parser import _parser

    parsed, own = _parser().parse_args(["recalibrate", "x.csv", "-o", "m.json"]), Recalibrator()
    assert all(getattr(parsed, name) == getattr(own, name) for name in ("method", "folds", "seed"))


@pytest.mark.parametrize("target", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
def test_apply_replaces_the_probabilities(files, capsys, source, target):
    recalibrator = fitted("-q")
    out = printed(capsys, "recalibrate", "--apply", "map.json", f"new.{source}", "--prob", "p", "-o", f"out.{target}")
    assert out == f"out.{target}: 1,500 rows recalibrated, column p\n"
    codes = {"schema_overrides": {"id": pl.String}} if target == "csv" else {}
    found = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[target](f"out.{target}", **codes)
    given = pl.read_parquet("new.parquet")
    assert found.columns == given.columns
    np.testing.assert_allclose(found["p"], recalibrator.transform(given["p"]), rtol=1e-12)
    for name in ("id", "outcome", "match", "half"):
        assert found[name].to_list() == given[name].to_list()


def test_suffix_logits_and_invalid_rows(files, capsys):
    recalibrator = fitted("-q")
    p = np.array([0.2, 0.999, 0.5])
    pl.DataFrame({"p": logit(p)}).write_csv("logits.csv")
    assert run("recalibrate", "--apply", "map.json", "logits.csv", "--prob", "p", "--scale", "logits",
               "--as", "*_new", "-o", "out.csv") == 0  # fmt: skip
    found = pl.read_csv("out.csv")
    np.testing.assert_allclose(found["p"], logit(p))
    np.testing.assert_allclose(found["p_new"], logit(recalibrator.transform(p)), rtol=1e-9)
    (files / "holes.csv").write_text("p,x\n0.5,1\n,2\n1.5,3\n0.25,4\n")
    err = printed(capsys, "recalibrate", "--apply", "map.json", "holes.csv", "--prob", "p", "-o", "o.csv", code=2)
    assert "holes.csv: p: NaN in 1 row (1; counted from 0)" in err
    assert not (files / "o.csv").exists()
    out = printed(
        capsys, "recalibrate", "--apply", "map.json", "holes.csv", "--invalid", "drop", "--prob", "p", "-o", "o.csv"
    )
    assert "2 rows without valid probabilities left empty" in out
    assert pl.read_csv("o.csv")["p"].is_null().to_list() == [False, True, True, False]
    assert pl.read_csv("o.csv")["x"].to_list() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("scale", "spelled", "unit"),
    [
        ("percent", lambda p: 100 * p, "in percent"),
        ("logits", logit, "in log-odds"),
        ("log-probs", np.log, "in log-probabilities"),
    ],
)
def test_new_probabilities_have_the_form_of_the_old_ones(files, capsys, scale, spelled, unit):
    recalibrator = fitted("-q")
    new = pl.read_csv("new.csv")
    new.with_columns(p=spelled(new["p"].to_numpy())).write_csv("other.csv")
    out = printed(
        capsys, "recalibrate", "--apply", "map.json", "other.csv", "--prob", "p", "--scale", scale, "-o", "o.csv"
    )
    assert out == f"o.csv: 1,500 rows recalibrated, column p {unit}\n"
    expected = recalibrator.transform(new["p"])
    np.testing.assert_allclose(pl.read_csv("o.csv")["p"], spelled(expected), rtol=1e-7, atol=1e-9)
    out = printed(capsys, "assess", "o.csv", *COLUMNS, "--scale", scale, "--resamples", "0", "--json", "-")
    own = assess(new["outcome"], expected, pos_label="fraud", resamples=0)
    assert json.loads(out)["scores"]["log_loss"] == pytest.approx(own.scores["log_loss"], rel=1e-9)


def test_logits_of_several_columns_become_log_probabilities(files, capsys):
    recalibrator = fitted("-q")
    p = np.array([0.2, 0.999, 0.5])
    pl.DataFrame({"fine": np.zeros(3), "fraud": logit(p)}).write_csv("logits.csv")
    out = printed(capsys, "recalibrate", "--apply", "map.json", "logits.csv", "--prob", "fine", "fraud",
                  "--scale", "logits", "-o", "o.csv")  # fmt: skip
    assert out == "o.csv: 3 rows recalibrated, columns fine, fraud in log-probabilities\n"
    found = np.exp(pl.read_csv("o.csv", columns=["fine", "fraud"]).to_numpy())
    np.testing.assert_allclose(found[:, 1], recalibrator.transform(p), rtol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)


def test_one_column_has_nothing_to_renormalize(files):
    fitted("-q")
    pl.DataFrame({"p": [0.2, 0.9, 0.5]}).write_csv("few.csv")
    for options in ([], ["--invalid", "rescale"]):
        assert run("recalibrate", "--apply", "map.json", "few.csv", "--prob", "p", *options, "-o",
                   f"out{len(options)}.csv", "-q") == 0  # fmt: skip
    assert pl.read_csv("out0.csv").equals(pl.read_csv("out2.csv"))


@pytest.mark.slow
def test_assess_through_a_map(files, capsys):
    recalibrator = fitted("-q")
    through = ("assess", "new.csv", *COLUMNS, "--apply", "map.json", "--resamples", "0", "--json", "-")
    out = printed(capsys, *through)
    new = pl.read_csv("new.csv")
    own = assess(new["outcome"], recalibrator.transform(new["p"]), pos_label="fraud", resamples=0)
    assert json.loads(out)["scores"]["log_loss"] == pytest.approx(own.scores["log_loss"], rel=1e-12)
    assert not own.diagnosis.miscalibrated
    out = printed(capsys, *through, "--by", "half")
    assert json.loads(out)["whole"]["scores"]["log_loss"] == pytest.approx(own.scores["log_loss"], rel=1e-12)


@pytest.mark.slow
def test_the_printed_commands_do_what_they_say(files, capsys):
    out = printed(capsys, "assess", "fit.csv", *COLUMNS, "--resamples", "0")
    commands = [shlex.split(line) for line in unfolded(out).splitlines() if line.lstrip().startswith("unperplexed ")]
    assert [command[0] for command in commands] == ["unperplexed"] * 2
    commands[1][commands[1].index("NEW.csv")] = "new.csv"
    for command in commands:
        assert run(*command[1:]) == 0
    out = printed(capsys, "assess", "recalibrated.csv", *COLUMNS, "--resamples", "0")
    assert "No evidence of miscalibration" in out


@pytest.mark.slow
def test_the_command_that_applies_the_map_of_a_tally_names_a_column(files, capsys):
    """A tally knows no column, so a map that is fitted to it keeps none."""
    assert run("tally", "fit.csv", *COLUMNS, "-o", "fit.tally", "-q") == 0
    out = printed(capsys, "assess", "fit.tally", "--resamples", "0")
    commands = [shlex.split(line) for line in unfolded(out).splitlines() if line.lstrip().startswith("unperplexed ")]
    filled = [[{"NEW.csv": "new.csv", "COLUMN": "p"}.get(word, word) for word in words] for words in commands]
    assert filled != commands
    for words in filled:
        assert run(*words[1:]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("source", ["csv", "parquet", "jsonl"])
def test_rows_that_a_condition_chooses_are_recalibrated_and_others_kept(files, capsys, source):
    fit, new = pl.read_parquet("fit.parquet"), pl.read_parquet("new.parquet")
    new.write_ndjson("new.jsonl")
    where = ("--where", "half = 1 AND match > 100")
    chosen = fit.filter((pl.col("half") == 1) & (pl.col("match") > 100))
    own = Recalibrator().fit(chosen["outcome"], chosen["p"], pos_label="fraud")
    assert fitted("-q", *where).n_rows_ == chosen.height
    apply = ("recalibrate", "--apply", "map.json", f"new.{source}", "--prob", "p")
    out = printed(capsys, *apply, *where, "-o", "out.jsonl")
    these = new.with_row_index().filter((pl.col("half") == 1) & (pl.col("match") > 100))
    kept = f"the other {1500 - these.height} are as they were"
    assert out == f"out.jsonl: {these.height} of 1,500 rows recalibrated, {kept}, column p\n"
    expected = new["p"].to_numpy().copy()
    expected[these["index"]] = own.transform(these["p"])
    np.testing.assert_allclose(pl.read_ndjson("out.jsonl")["p"], expected, rtol=1e-12)
    assert "true of none of 1,500 rows" in printed(capsys, *apply, "--where", "half = 2", "-o", "o.csv", code=2)
    assert "no column 'quarter'" in printed(capsys, *apply, "--where", "quarter = 2", "-o", "o.csv", code=2)
    assert not (files / "o.csv").exists()


@pytest.mark.slow
def test_the_printed_commands_recalibrate_one_group(files, capsys):
    for name in ("fit", "new"):
        frame = pl.read_parquet(f"{name}.parquet").with_columns(
            pl.when(pl.col("half") == 1).then(pl.lit("O'Hare")).otherwise(pl.lit("Midway")).alias("Station")
        )
        calibrated = pl.Series("p", expit(logit(frame["p"].to_numpy()) / 2))
        frame = frame.with_columns(pl.when(pl.col("half") == 0).then(calibrated).otherwise("p").alias("p"))
        frame.write_csv(f"{name}.csv")
    out = printed(capsys, "assess", "fit.csv", *COLUMNS, "--by", "Station", "--resamples", "0")
    commands = [shlex.split(line) for line in unfolded(out).splitlines() if "--where" in line]
    assert [command[-4 if at == 0 else -2] for at, command in enumerate(commands)] == ["--where"] * 2
    commands[1][commands[1].index("NEW.csv")] = "new.csv"
    for command in commands:
        assert run(*command[1:]) == 0
    before, after = pl.read_csv("new.csv"), pl.read_csv("recalibrated.csv")
    assert before.filter(pl.col("half") == 0).equals(after.filter(pl.col("half") == 0))
    out = printed(capsys, "assess", "recalibrated.csv", *COLUMNS, "--by", "Station", "--resamples", "0")
    assert "Groups that a recalibration map" not in out


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (["fine=p"], [], "the recalibration map is of the probability of 'fraud'"),
        (["p"], ["--labels", "ham", "fraud"], "the recalibration map is of the classes 'fine', 'fraud'"),
        (["p", "match"], [], "the order"),
        (["a=p", "b=match"], [], "the recalibration map is of the classes 'fine', 'fraud', the columns of 'a', 'b'"),
        (["p", "match", "id"], [], "3 probability columns, but the recalibration map is of 2 classes"),
        (["nothing"], [], "no column 'nothing'"),
    ],
)
def test_other_classes_are_refused_by_name(files, capsys, columns, options, message):
    fitted("-q")
    err = printed(
        capsys, "recalibrate", "--apply", "map.json", "new.csv", "--prob", *columns, *options, "-o", "o.csv", code=2
    )
    assert message in err
    assert not (files / "o.csv").exists()


def test_columns_in_another_order_are_matched_by_name(files, capsys):
    recalibrator = fitted("-q")
    new = pl.read_csv("new.csv")
    both = pl.DataFrame({"fraud": new["p"], "fine": 1 - new["p"]})
    both.write_csv("both.csv")
    expected = recalibrator.transform(new["p"])
    assert run("recalibrate", "--apply", "map.json", "both.csv", "--prob", "fraud", "fine", "-o", "o.csv") == 0
    found = pl.read_csv("o.csv")
    np.testing.assert_allclose(found["fraud"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["fine"], 1 - expected, rtol=1e-9)
    both.rename({"fraud": "x", "fine": "y"}).write_csv("both.csv")
    named = ("--prob", "fraud=x", "fine=y")
    assert run("recalibrate", "--apply", "map.json", "both.csv", *named, "-o", "o.csv") == 0
    np.testing.assert_allclose(pl.read_csv("o.csv")["x"], expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit.csv", *COLUMNS, "-o", "map.txt"], "-o map.txt: the fit is a file of its own (.json)"),
        (["fit.csv", *COLUMNS, "-o", "m.json", "--as", "*_x"], "--as names new columns"),
        (["fit.csv", *COLUMNS, "-o", "m.json", "--method", "magic"], "method: expected one of"),
        (["--apply", "missing.json", "new.csv", "--prob", "p", "-o", "o.csv"], "missing.json: cannot be read"),
        (["--apply", "new.csv", "new.csv", "--prob", "p", "-o", "o.csv"], "new.csv: not a recalibration map"),
        (["--apply", "map.json", "new.csv", "fit.csv", "--prob", "p", "-o", "o.csv"], "name one FILE"),
        (["--apply", "map.json", "new.csv", "--prob", "p", "-o", "o.xlsx"], "o.xlsx: cannot write this format"),
        (["--apply", "map.json", "new.csv", "--prob", "p", "-o", "new.csv"], "would overwrite the input"),
        (
            ["--apply", "map.json", "new.csv", "--truth", "outcome", "--prob", "p", "-o", "o.csv"],
            "--truth is for the fit",
        ),
        (["--apply", "map.json", "new.csv", "--seed", "3", "--prob", "p", "-o", "o.csv"], "--seed is for the fit"),
    ],
)
def test_what_cannot_be_done_is_refused(files, capsys, words, message):
    fitted("-q")
    assert message in printed(capsys, "recalibrate", *words, code=2)


def test_a_map_does_not_go_with_a_tally(files, capsys):
    frame = pl.read_csv("fit.csv")
    Tally.of(frame["outcome"], frame["p"], pos_label="fraud").save("fit.tally")
    fitted("-q")
    assert "needs rows" in printed(capsys, "assess", "fit.tally", "--apply", "map.json", code=2)


def test_before_and_after_is_on_held_out_rows(rng):
    s = rng.normal(0, 2, 800)
    forecasts = Forecasts(rng.random(800) < expit(s), expit(2 * s))
    made = Recalibrator("temperature").fit_chunks(lambda: [forecasts])
    found = before_and_after(lambda: [forecasts], made)
    loss = {name: each.assessment.scores["log_loss"] for name, each in found.forecasters.items()}
    assert loss[BEFORE] == pytest.approx(made.gain_.before, rel=1e-9)
    assert loss[AFTER] == pytest.approx(made.gain_.after, rel=1e-9)
    assert loss[AFTER] == pytest.approx(made.gain_.after, abs=0.002)  # other folds


@pytest.mark.parametrize("classes", [2, 3])
def test_the_report_has_the_log_losses_of_the_gain_where_zeros_occurred(classes):
    rng = np.random.default_rng(5)
    z = rng.normal(0, 1.5, (600, classes))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = softmax(2 * z, axis=1)
    p[rng.random(p.shape) < 0.05 * np.eye(classes)[0]] = 0
    forecasts = Forecasts(y, p / p.sum(axis=1, keepdims=True))
    made = Recalibrator("temperature").fit_chunks(lambda: [forecasts])
    assert made.baseline.zeros > 0
    found = before_and_after(lambda: [forecasts], made)
    loss = {name: each.scores["log_loss"].mean for name, each in found.forecasters.items()}
    # Rows in which a zero counts as more are divided by their sums in the gain.
    assert loss == pytest.approx({BEFORE: made.gain_.before, AFTER: made.gain_.after}, rel=1e-5)
    difference = found.between(BEFORE, AFTER).differences["log_loss"]
    assert difference.difference == pytest.approx(made.gain_.value, rel=1e-4)
    assert tuple(difference.interval) == pytest.approx(made.gain_.interval, rel=1e-9)


def test_the_report_keeps_clusters_in_one_fold(rng):
    s, noise = np.repeat(rng.normal(0, 2, 60), 10), rng.normal(0, 3, 60)
    outcome = np.repeat(rng.random(60) < expit(s[::10] + noise), 10)
    loss = {}
    for groups in (None, np.arange(600) // 10):
        forecasts = Forecasts(outcome, expit(s), clusters=groups)
        made = Recalibrator("isotonic").fit_chunks(lambda part=forecasts: [part])
        found = before_and_after(lambda part=forecasts: [part], made)
        loss[groups is None] = found.forecasters[AFTER].assessment.scores["log_loss"]
    assert loss[False] > loss[True] + 0.02  # a fit to other rows of the same cluster knows their outcome


def test_two_clusters_are_enough_for_the_report(rng):
    s = rng.normal(0, 2, 400)
    for folds, clusters in ((5, 2), (2, 4)):
        forecasts = Forecasts(rng.random(400) < expit(s), expit(s), clusters=np.arange(400) % clusters)
        made = Recalibrator("temperature", folds=folds).fit_chunks(lambda part=forecasts: [part])
        assert set(before_and_after(lambda part=forecasts: [part], made).forecasters) == {BEFORE, AFTER}


@pytest.mark.slow
def test_report(files, capsys):
    fitted("--method", "temperature", "--report", "page.html")
    page = (files / "page.html").read_text()
    assert "recalibrated beats raw by log loss" in page
    err = printed(capsys, "recalibrate", "--apply", "map.json", "new.csv", "--prob", "p", "--report", "p.html", "-o",
                  "o.csv", code=2)  # fmt: skip
    assert "--report is for the fit" in err


@pytest.mark.parametrize("labels", [["007", "008", "x"], ["True", "False", "x"], ["1.50", "2", "z"]], ids=str)
def test_classes_of_a_map_are_found_as_they_are_spelled(tmp_path, capsys, labels):
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 300)
    y = [labels[at] for at in (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)]
    pl.DataFrame({"y": y} | {f"p{at}": p[:, at] for at in range(3)}).write_parquet(tmp_path / "f.parquet")
    columns = [f"{label}=p{at}" for at, label in enumerate(labels)]
    Recalibrator("temperature").fit(y, p, labels=labels).save(tmp_path / "m.json")
    apply = ["recalibrate", "--apply", str(tmp_path / "m.json"), str(tmp_path / "f.parquet"), "--prob"]
    assert main([*apply, *columns[::-1], "-o", str(tmp_path / "o.parquet")]) == 0
    found = pl.read_parquet(tmp_path / "o.parquet").select("p0", "p1", "p2").to_numpy()
    assert found == pytest.approx(Recalibrator.load(tmp_path / "m.json").transform(p), abs=1e-12)
    assert main([*apply, *columns[1:], "other=p0", "-o", str(tmp_path / "o2.parquet")]) == 2
    assert "other" in capsys.readouterr().err


@pytest.mark.slow
def test_groups_of_more_classes_have_remedies_in_files_and_a_command_for_all(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    site, z = rng.choice(["a b", "c"], 700), rng.normal(0, 1.5, (700, 3))
    truth = (np.where((site == "c")[:, None], z / 3, z) + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    columns = {name: p[:, at] for at, name in enumerate("xyz")}
    pl.DataFrame({"the site": site, "is": np.array(list("xyz"))[truth], **columns}).write_csv("p.csv")
    asked = ["p.csv", "--truth", "is", "--prob", "x=x", "y=y", "z=z", "--by", "the site"]
    out = printed(capsys, "assess", *asked, "--resamples", "0", "--json", "-")
    [remedy] = [each for each in json.loads(out)["remedies"] if each["significant"]]
    assert remedy["key"] == {"the site": "c"}
    some = site == "c"
    alone = assess(np.array(list("xyz"))[truth[some]], p[some], labels=list("xyz"), resamples=0).remedy.gain
    assert remedy["gain"]["value"] == pytest.approx(alone.value, rel=1e-9)
    out = unfolded(printed(capsys, "assess", *asked, "--resamples", "0"))
    [command] = [line for line in out.splitlines() if "--by" in line and "recalibrate" in line]
    assert run(*shlex.split(command)[1:], "-q") == 0
    loaded = GroupRecalibrator.load("p-map-groups.json")
    assert loaded.by_ == ("the site",)
    assert not loaded.one_map


@pytest.fixture
def small(tmp_path, rng, monkeypatch):
    """Few rows, their tally, and a map of them that takes no time."""
    monkeypatch.chdir(tmp_path)
    s = rng.normal(0, 2, 200)
    frame = pl.DataFrame({"y": np.where(rng.random(200) < expit(s), "b", "a"), "p": expit(2 * s)})
    frame = frame.with_columns(site=pl.Series(np.arange(200) % 4), one=pl.lit(0))
    frame.write_csv("f.csv")
    made = Tally.of(frame["y"], frame["p"], pos_label="b")
    made.save("f.tally")
    Recalibrator("temperature").fit(made).save("m.json")
    return frame


NAMED = ("--truth", "y", "--prob", "b=p")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["f.tally", "f.csv"], "f.tally: is a tally, the other files are not. Fit to files of one kind."),
        (["f.tally", "--by", "site"], "f.tally: --by needs rows; name the file that the tally was counted from."),
        (["f.tally", "--report", "r.html"], "f.tally: --report needs rows; name the file that the tally was counted"),
        (
            ["f.csv", *NAMED, "--by", "site", "--method", "best"],
            "--method: the maps of groups are averages; leave it out",
        ),
        (["f.csv", *NAMED, "--by", "p:thirds"], "--by p:thirds: other files have other thirds; name a column of"),
    ],
)
def test_fits_of_other_rows_than_the_option_needs_are_refused(small, tmp_path, capsys, words, message):
    assert message in printed(capsys, "recalibrate", *words, "-o", "o.json", code=2)
    assert not (tmp_path / "o.json").exists()


def test_a_report_compares_raw_and_recalibrated_rows_and_gives_the_command(small, tmp_path):
    fit = ("recalibrate", "f.csv", *NAMED, "--method", "temperature", "--clusters", "site", "-o", "o.json")
    assert run(*fit, "--report", "r.html", "-q") == 0
    page = (tmp_path / "r.html").read_text("utf-8")
    assert BEFORE in page
    assert AFTER in page
    assert ("recalibrate --apply o.json" in page) != Recalibrator.load("o.json").leave_as_it_is


def test_a_report_is_limited_by_memory(monkeypatch):
    forecasts = Forecasts([0, 1, 1], [0.2, 0.7, 0.6])
    made = Recalibrator("identity").fit_chunks(lambda: [forecasts])
    monkeypatch.setattr("unperplexed.cli.comparing.MOST_PROBABILITIES", 5)
    with pytest.raises(InputError, match="--report compares up to 5 probabilities. Leave it out, or name fewer files"):
        before_and_after(lambda: [forecasts], made)


def test_classes_are_those_of_the_columns_or_refused(small, tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 60)
    three = Recalibrator("temperature").fit(np.array(list("xyz"))[rng.integers(3, size=60)], p, labels=list("xyz"))
    three.save("three.json")
    pl.DataFrame({name: p[:, at] for at, name in enumerate("xyw")}).write_csv("p.csv")
    apply = ("recalibrate", "--apply", "three.json", "p.csv", "-o", "o.csv", "--prob")
    err = printed(capsys, *apply, "x", "y", "w", code=2)
    assert "of the classes 'x', 'y', 'z', the columns of 'x', 'y', 'w'" in err
    assert "or name the class of each column (--prob label=COLUMN)" in err
    err = printed(capsys, *apply, "x", code=2)
    assert "one probability column, but the recalibration map is of 3 classes: 'x', 'y', 'z'" in err
    assert not (tmp_path / "o.csv").exists()
    # A column of lists has no names of classes that could differ, so there is nothing to say of their order.
    pl.DataFrame({"p": p.tolist()}).write_parquet("lists.parquet")
    assert run("recalibrate", "--apply", "three.json", "lists.parquet", "--prob", "p", "-o", "o.parquet") == 0
    assert "in the order of" not in capsys.readouterr().err
    found = np.array(pl.read_parquet("o.parquet")["p"].to_list())
    np.testing.assert_allclose(found, three.transform(p), rtol=1e-12)


def test_columns_that_were_chosen_unasked_are_told_when_a_map_is_applied(small, capsys):
    small.select("p", "site").write_csv("new.csv")
    assert run("recalibrate", "--apply", "m.json", "new.csv", "-o", "o.csv") == 0
    assert "probabilities from 'p'" in capsys.readouterr().err
    assert run("recalibrate", "--apply", "m.json", "new.csv", "-o", "o.csv", "-q") == 0
    assert capsys.readouterr().err == ""


def test_a_map_of_some_rows_says_so_where_it_is_applied_to_all(small, capsys):
    words = ["f.csv", *NAMED, "--where", "p < 0.6"]
    assert run("recalibrate", *words, "-o", "some.json", "-q") == 0
    capsys.readouterr()
    assert run("recalibrate", "f.csv", "--apply", "some.json", "-o", "all.csv") == 0
    assert "fitted to rows where p < 0.6; for these alone add --where 'p < 0.6'" in unfolded(capsys.readouterr().err)
    assert run("recalibrate", "f.csv", "--apply", "some.json", "--where", "p < 0.6", "-o", "some.csv") == 0
    assert "was fitted to rows" not in capsys.readouterr().err


@pytest.mark.parametrize("content", ["[1]", "3", '{"reading": [1]}', "null"])
def test_json_that_is_no_map_is_refused(small, capsys, content):
    Path("m.json").write_text(content)
    assert run("recalibrate", "f.csv", "--apply", "m.json", "-o", "all.csv") == 2
    assert "m.json: not a recalibration map" in unfolded(capsys.readouterr().err)


def test_maps_of_groups_are_applied_to_the_rows_of_each_group(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    s, site = rng.normal(0, 2, 400), np.repeat(["coast", "hills"], 200)
    y, p = rng.random(400) < expit(s), expit(np.where(site == "hills", 3 * s, s))
    pl.DataFrame({"p": p, "site": site}).write_csv("f.csv")
    made = GroupRecalibrator.from_dict(maps_of_groups(y, p, site))
    made.save("m.json")
    assert run("recalibrate", "--apply", "m.json", "f.csv", "--prob", "p", "-o", "o.csv") == 0
    expected = made.transform(p, by={"site": site})
    np.testing.assert_allclose(pl.read_csv("o.csv")["p"], expected, rtol=1e-12)
    assert not np.allclose(expected, made.shared_.transform(p))


@pytest.mark.slow
def test_the_command_that_applies_a_map_leaves_out_what_the_map_keeps(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    z = rng.normal(0, 2, 400)
    p, y = 1 / (1 + np.exp(-z)), rng.random(400) < 1 / (1 + np.exp(-z / 3))
    rows = "".join(f"{'yes' if true else 'no'};{each:.4f}\n" for true, each in zip(y, p, strict=True))
    Path("f.csv").write_text("y;p\n" + rows)
    read = ["--truth", "y", "--prob", "yes=p", "--separator", ";"]
    assert main(["assess", "f.csv", *read]) == 0
    printed = " ".join(capsys.readouterr().out.replace("\\\n", " ").split())
    fit, apply = re.findall(r"unperplexed (recalibrate .+?\.(?:json|csv))(?= unperplexed| More)", printed)
    assert "--prob" not in apply
    Path("NEW.csv").write_text("p;other\n0.9;1\n0.2;1\n")
    for command in (fit, apply):
        assert main(shlex.split(command)) == 0
    assert len(Path("recalibrated.csv").read_text().splitlines()) == 3


def test_another_map_is_replaced_on_demand_only(files, capsys):
    fit = ("recalibrate", "fit.csv", *COLUMNS, "-o", "map.json", "-q", "--method")
    assert run(*fit, "bias") == 0
    before = Path("map.json").read_bytes()
    assert run(*fit, "bias") == 0  # the same again
    err = printed(capsys, *fit, "temperature", code=2)
    assert err.startswith("unperplexed: map.json: is another file already, perhaps a map in use. Name a new file, or")
    assert Path("map.json").read_bytes() == before
    assert run(*fit, "temperature", "--force") == 0
    assert Recalibrator.load("map.json").method_ == "temperature"
    err = printed(capsys, "recalibrate", "new.csv", "--apply", "map.json", "--force", "-o", "o.csv", code=2)
    assert "--force is for the fit of a map" in err


def test_commands_to_copy_name_new_files_after_the_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    z = rng.normal(0, 2, 400)
    frame = pl.DataFrame(
        {"y": (rng.uniform(size=400) < 1 / (1 + np.exp(-z / 2))).astype(int), "p": 1 / (1 + np.exp(-z))}
    )
    frame.write_csv("Our rain.csv")
    words, maps = ["assess", "Our rain.csv", "--truth", "y", "--prob", "p", "--resamples", "0"], []
    for apply in ([], ["--apply", "Our-rain-map.json"]):
        if apply:
            frame.with_columns(pl.col("p").sqrt()).write_csv("Our rain.csv")
        out = unfolded(printed(capsys, *words, *apply))
        lines = [shlex.split(line)[1:] for line in out.splitlines() if "unperplexed recalibrate" in line]
        assert all(run(*line[:1], *(each.replace("NEW", "Our rain") for each in line[1:]), "-q") == 0 for line in lines)
        maps.append([line[-1] for line in lines])
    first, second = ["Our-rain-map.json", "recalibrated.csv"], ["Our-rain-map-2.json", "recalibrated-2.csv"]
    assert maps == [first, second]
