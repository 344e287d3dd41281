"""What would mend each forecaster of a comparison, and who would be first after it."""

import json
import pickle
import re
import shlex
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, ndtri, softmax

from unperplexed import Recalibrator, compare
from unperplexed._lib.formatting import number_of
from unperplexed.cli.parser import main
from unperplexed.comparison.next_step import LossDifference
from unperplexed.scores import log_loss
from unperplexed.statistics.intervals import Interval

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once", "few_samples")


def forecasters(n=300, seed=0):
    """An overconfident forecaster with the better predictors, and a calibrated one with the worse."""
    rng = np.random.default_rng(seed)
    s, more = rng.normal(0, 1, n), rng.normal(0, 1.5, n)
    y = rng.random(n) < expit(s + more)
    unseen = 1.5 * ndtri((np.arange(50) + 0.5) / 50)[:, None]
    dull = expit(s + unseen).mean(axis=0)
    return y, {"sharp": expit(3 * (s + more)), "dull": dull}


Y, FORECASTS = forecasters()
FOUND = compare(Y, FORECASTS)


@pytest.mark.slow
def test_the_ranking_changes_where_recalibration_mends_the_better_predictors():
    step = FOUND.next_step
    assert next(iter(FOUND.forecasters)) == step.rival == "dull"
    assert step.first == "sharp"
    assert step.ranking_changes
    assert list(step.mended) == ["sharp"]
    assert step.log_losses["dull"] == pytest.approx(FOUND.forecasters["dull"].scores["log_loss"].mean, rel=1e-12)
    assert step.lead.difference == pytest.approx(step.log_losses["dull"] - step.log_losses["sharp"], rel=1e-9)
    assert step.lead.significant
    assert "sharp would be first instead of dull" in step.words


def test_the_gain_is_that_of_fresh_rows_and_near_that_of_the_remedy():
    mended = FOUND.next_step.mended["sharp"]
    fresh, new = forecasters(20_000, seed=1)
    after = mended.recalibrator.transform(new["sharp"])
    true = log_loss(fresh, new["sharp"]) - log_loss(fresh, after)
    assert mended.gain.interval[0] < true < mended.gain.interval[1]
    own = Recalibrator().fit(Y, FORECASTS["sharp"])
    assert mended.gain == own.gain_
    np.testing.assert_allclose(mended.recalibrator.transform([0.1, 0.9]), own.transform([0.1, 0.9]), atol=1e-9)


def test_a_lead_that_is_not_significant_is_no_rank():
    step = replace(FOUND.next_step, lead=LossDifference(0.0004, Interval(-0.002, 0.0028)))
    assert "There is no evidence that sharp and dull differ after recalibration" in step.words
    assert "(log loss of dull − sharp: 0.0004, 95% CI −0.002 to 0.003)." in step.words
    assert "would be first" not in step.words


@pytest.mark.slow
def test_zeros_that_occurred_are_named_with_the_gain_and_each_log_loss_has_its_floor():
    rng = np.random.default_rng(0)
    sharp = np.where(rng.random(Y.size) < 0.05, 0.0, FORECASTS["sharp"])
    found = compare(Y, FORECASTS | {"sharp": sharp})
    step, baseline = found.next_step, found.next_step.mended["sharp"].recalibrator.baseline
    assert baseline.zeros == np.count_nonzero(Y & (sharp == 0))
    rows = number_of(baseline.zeros, "row")
    assert (
        f" The log loss of sharp is infinite: the observed class had probability 0 in {rows}. These zeros count as"
        f" {baseline.zeros_as:.3g} in the gain."
    ) in step.words
    assert "log loss at the floor 0.005" in step.words
    held_out = step.mended["sharp"].gain.after
    assert step.log_losses["dull"] == pytest.approx(found.forecasters["dull"].scores["log_loss"].mean, rel=1e-12)
    assert step.log_losses["sharp"] == pytest.approx(held_out, abs=0.01)  # at the floor
    assert step.lead.difference == pytest.approx(step.log_losses[step.rival] - step.log_losses[step.first], rel=1e-9)


def test_calibrated_forecasters_stay_as_they_are():
    y, found = forecasters(seed=3)
    step = compare(y, {"dull": found["dull"], "half": np.full(y.size, 0.5)}).next_step
    assert step.mended == {}
    assert not step.ranking_changes
    assert step.code == ""
    assert "The ranking by log loss stands." in step.words


@pytest.mark.slow
def test_a_forecaster_whose_maps_promise_nothing_stays_as_it_is():
    """A finding of 110 rows, where leaving the forecasts as they are has most of the weight."""
    rng = np.random.default_rng(2)
    s = rng.normal(0, 1, 110)
    y, p = rng.random(110) < expit(s), expit(1.2 * s)
    found = compare(y, {"weak": p, "half": np.full(110, 0.5)})
    assert found.forecasters["weak"].assessment.diagnosis.errors == ("confidence",)
    assert Recalibrator().fit(y, p).leave_as_it_is
    assert found.next_step.mended == {}


def compared_like(case, seed=0):
    """Forecasters, and outcomes, whose differences are what a case is about."""
    rng = np.random.default_rng(seed)
    s = rng.normal(0, 1.5, 400)
    y, p = rng.random(400) < expit(s), expit(s)
    noisy = [expit(s + each * rng.normal(size=400)) for each in (0.05, 0.4, 0.4, 0.4, 0.4, 0.4)]
    return y, {
        "alike": {"a": p, "b": noisy[0]},
        "apart": {"a": p, "b": np.full(400, y.mean())},
        "equal": {"a": p, "b": p.copy()},
        "many": {f"f{at}": each for at, each in enumerate(noisy)},
        "mended": {"a": p, "b": expit(3 * s + 1)},
        "mended ahead": {"a": expit(3 * (s + 0 * noisy[1])), "b": np.full(400, y.mean())},
    }[case]


CASES = ["alike", "apart", "equal", "many", "mended", "mended ahead"]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("case", CASES)
def test_the_first_sentence_of_advice_agrees_with_the_verdict(case, seed):
    """A ranking stands, or somebody would be ahead, only by an interval that is as wide as those of the verdict."""
    y, p = compared_like(case, seed)
    found = compare(y, p)
    step = found.next_step
    first = re.match(r".*?[a-z)]\.(?= |$)", step.words)[0]
    if not step.mended:
        d = found.between(step.rival, step.first).differences["log_loss"]
        distinct = d.adjusted_p_value < 0.05
        assert first == "No forecaster is shown to gain by recalibration."
        assert ("ranking by log loss stands" in step.words) == step.lead.significant == distinct
        if not d.equal:
            assert step.lead.difference == pytest.approx(d.difference, abs=1e-12)
            assert tuple(step.lead.interval) == pytest.approx(tuple(d.interval), abs=1e-12)
        assert ("80% power" in step.words) == (not distinct and not d.equal)
        assert " 0 nats" not in step.words
    else:
        assert all(each.gain.interval[0] > 0 for each in step.mended.values())
        assert ("no evidence" in first) == (not step.lead.significant)
        assert ("would be first" in first or "would stay first" in first) == step.lead.significant


def test_more_classes_than_are_diagnosed_have_none(rng, monkeypatch):
    monkeypatch.setattr("unperplexed.calibration.diagnosis.multiclass.MOST_CLASSES", 2)
    z = rng.normal(size=(120, 3))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    found = compare(y, {"sharp": softmax(3 * z, axis=1), "fair": softmax(z, axis=1)})
    assert found.forecasters["sharp"].assessment.verdict == "No verdict: it takes at most 2 classes."
    assert found.next_step is None


def test_gains_of_many_forecasters_are_counted_after_the_first_four():
    [gain] = FOUND.next_step.mended.values()
    words = replace(FOUND.next_step, mended={f"f{at}": gain for at in range(6)}).words
    assert f"Recalibration ({gain.map}) would reduce the log loss of f3" in words
    assert "of f4" not in words
    assert "2 other forecasters would gain too." in words


@pytest.mark.slow
def test_few_rows_a_long_lag_and_infinite_losses_have_none():
    some = {name: p[:90] for name, p in FORECASTS.items()}
    assert compare(Y[:90], some).next_step is None
    assert compare(Y, FORECASTS, lag=8).next_step is None  # in which there are fewer than 20 stretches of 16 rows
    assert compare(Y, FORECASTS, lag=3).next_step is not None
    zero = {**FORECASTS, "zero": np.where(Y, 0.0, 0.5)}
    assert compare(Y, zero, floor=0).next_step is None


def test_clusters_of_one_row_change_no_next_step():
    own = compare(Y, FORECASTS, clusters=np.arange(Y.size)).next_step
    assert list(own.mended) == ["sharp"]
    assert own.words == FOUND.next_step.words


@pytest.mark.slow
def test_clusters_weights_and_three_classes():
    rng = np.random.default_rng(4)
    grouped = compare(Y, FORECASTS, clusters=np.arange(Y.size) // 4).next_step
    assert list(grouped.mended) == ["sharp"]
    w = rng.uniform(0.5, 2, Y.size)
    weighted = compare(Y, FORECASTS, sample_weight=w).next_step
    raw = log_loss(Y, FORECASTS["sharp"], sample_weight=w)
    assert weighted.mended["sharp"].gain.before == pytest.approx(raw, rel=1e-9)
    z = rng.normal(0, 1.5, (900, 3))
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    noisy = softmax(0.5 * z + rng.normal(0, 0.5, z.shape), axis=1)
    step = compare(y, {"sharp": softmax(2.5 * z, axis=1), "noisy": noisy}).next_step
    assert step.mended["sharp"].gain == Recalibrator().fit(y, softmax(2.5 * z, axis=1)).gain_


@pytest.mark.parametrize(
    "groups",
    [pytest.param(None, id="rows"), pytest.param(np.arange(Y.size) // 3, id="clusters", marks=pytest.mark.slow)],
)
def test_order_of_rows_and_of_forecasters_does_not_matter(groups):
    order = np.random.default_rng(5).permutation(Y.size)
    names = ["dull", "sharp"]
    found = compare(Y, FORECASTS, clusters=groups).next_step
    mixed = {name: FORECASTS[name][order] for name in names}
    other = compare(Y[order], mixed, clusters=None if groups is None else groups[order]).next_step
    assert other.first == found.first == "sharp"
    assert other.log_losses == pytest.approx(found.log_losses, rel=1e-9)
    assert other.lead.interval == pytest.approx(found.lead.interval, rel=1e-6)


@pytest.mark.slow
def test_it_is_in_text_page_json_and_survives_pickling():
    step = FOUND.next_step
    text = " ".join(str(FOUND).split())
    assert step.words in text
    assert all(line.strip() in str(FOUND) for line in step.code.splitlines())
    assert step.code in unescape(FOUND.to_html())
    assert "What to do" in FOUND.to_html()
    assert FOUND.to_dict()["next_step"] == step.to_dict()
    assert pickle.loads(pickle.dumps(FOUND)).next_step == step


@pytest.mark.parametrize(
    "reading",
    [
        pytest.param({}, id="plain"),
        pytest.param({"pos_label": 0}, id="pos_label", marks=pytest.mark.slow),
        pytest.param({"labels": [0, 1]}, id="labels", marks=pytest.mark.slow),
        pytest.param({"sample_weight": True}, id="weights", marks=pytest.mark.slow),
        pytest.param({"clusters": True}, id="clusters"),
    ],
)
def test_the_lines_of_python_run_with_the_options_of_the_comparison(reading):
    p = {name: 1 - each for name, each in FORECASTS.items()} if "pos_label" in reading else FORECASTS
    rows = {"sample_weight": np.arange(Y.size) % 3 + 1.0, "clusters": np.arange(Y.size) // 2}
    options = {name: rows[name] if value is True else value for name, value in reading.items()}
    step = compare(Y.astype(int), p, **options).next_step
    fresh, new = forecasters(seed=7)
    new = {name: 1 - each for name, each in new.items()} if "pos_label" in reading else dict(new)
    before = compare(fresh.astype(int), new, **options)
    found = {}
    names = {"Recalibrator": Recalibrator, "y_true": Y.astype(int), "forecasts": p, "new": new, **rows}
    names |= {f"new_{name}": value for name, value in rows.items()} | {"new_y_true": fresh.astype(int)}
    names["compare"] = lambda *args, **kwargs: found.update(result=compare(*args, **kwargs))
    exec(step.code, names)
    after = found["result"]
    assert "sharp" in step.mended
    assert after.forecasters["sharp"].scores["log_loss"].mean < before.forecasters["sharp"].scores["log_loss"].mean


@pytest.mark.slow
def test_percentages_have_no_lines_that_mix_them_with_probabilities():
    percentages = {name: 100 * each for name, each in FORECASTS.items()}
    step = compare(Y, percentages, scale="percent").next_step
    assert step.mended
    assert step.code == ""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pl.DataFrame({"rain": Y.astype(int), **FORECASTS}).write_csv("both.csv")
    for name, p in FORECASTS.items():
        pl.DataFrame({"id": np.arange(Y.size), "rain": Y.astype(int), "p": p}).write_csv(f"{name}.csv")
        pl.DataFrame({"id": np.arange(Y.size), "rain": Y.astype(int), "p": p}).write_csv(f"NEW-{name}.csv")
    pl.DataFrame({"rain": Y.astype(int), **FORECASTS}).write_csv("NEW-both.csv")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["both.csv", "--truth", "rain", "--forecaster", "sharp=sharp", "dull=dull"],
        ["sharp.csv", "dull.csv", "--on", "id", "--truth", "rain", "--prob", "p"],
    ],
)
def test_the_printed_commands_run(files, capsys, words):
    assert main(["compare", *words]) == 0
    text = capsys.readouterr().out.replace("\\\n", " ")
    commands = [shlex.split(line)[1:] for line in text.splitlines() if line.strip().startswith("unperplexed ")]
    assert [each[0] for each in commands] == ["recalibrate", "compare"]
    assert main([*commands[0], "--quiet"]) == 0
    capsys.readouterr()
    assert main(commands[1]) == 0
    assert capsys.readouterr().out.startswith("sharp beats dull")


@pytest.mark.slow
def test_files_of_a_forecaster_are_mended_together_without_rows_that_others_lack(files, capsys):
    sharp = pl.read_csv("sharp.csv")
    for at, rows in enumerate((sharp.head(100), sharp.tail(-100), sharp.with_columns(id=pl.col("id") + 1000))):
        rows.write_csv(f"part{at}.csv")
    words = ["sharp=part*.csv", "dull.csv", "--on", "id", "--common", "--truth", "rain", "--prob", "p"]
    assert main(["compare", *words, "--json", "-", "-q"]) == 0
    found, own = json.loads(capsys.readouterr().out)["next_step"], FOUND.next_step
    assert [*found["mended"]] == ["sharp"]
    assert found["mended"]["sharp"]["gain"]["value"] == pytest.approx(own.mended["sharp"].gain.value, rel=1e-9)
    assert found["log_losses"] == pytest.approx(own.log_losses, rel=1e-9)


def test_a_map_of_no_forecaster_or_of_other_classes_is_refused_by_name(files, capsys):
    words = ["compare", "both.csv", "--truth", "rain", "--forecaster", "sharp=sharp", "dull=dull", "--apply"]
    Recalibrator("bias").fit(np.where(Y, "wet", "dry"), FORECASTS["sharp"], labels=["dry", "wet"]).save("map.json")
    for given, message in (
        ("map.json", "expected NAME=MAP"),
        ("dawn=map.json", "no forecaster of that name; they are 'sharp', 'dull'"),
        ("sharp=map.json", "--apply sharp=map.json"),
    ):
        assert main([*words, given]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_a_forecaster_named_by_a_column_is_recalibrated_alone(files, capsys):
    frames = [pl.read_csv(f"{name}.csv").with_columns(pl.lit(name).alias("who")) for name in FORECASTS]
    pl.concat(frames).sample(fraction=1, shuffle=True, seed=0).write_csv("long.csv")
    Recalibrator().fit(Y, FORECASTS["sharp"]).save("map.json")
    words = ["compare", "long.csv", "--forecaster", "who", "--on", "id", "--truth", "rain", "--prob", "p"]
    assert main([*words, "--apply", "sharp=map.json", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)["forecasters"]
    expected = log_loss(Y, Recalibrator.load("map.json").transform(FORECASTS["sharp"]))
    assert found["sharp"]["scores"]["log_loss"]["mean"] == pytest.approx(expected, rel=1e-9)
    assert found["dull"]["scores"]["log_loss"]["mean"] == pytest.approx(log_loss(Y, FORECASTS["dull"]), rel=1e-9)


def test_a_tie_names_the_difference_that_so_many_rows_would_show():
    """(1.96 + 0.84) standard errors of the difference, by a normal approximation of its interval."""
    rng = np.random.default_rng(0)
    s = rng.normal(0, 1.4, 700)
    y = (rng.random(700) < 1 / (1 + np.exp(-s))).astype(int)
    a, b = (1 / (1 + np.exp(-s - rng.normal(0, 0.3, 700))) for _ in range(2))
    found = compare(y, {"a": a, "b": b})
    difference = found.between(*found.next_step.before).differences["log_loss"]
    assert difference.interval.low < 0 < difference.interval.high
    shown = float(re.search(r"a true difference in log loss of ([\d.]+) nats", found.next_step.words)[1])
    assert shown == pytest.approx(2.8016 * difference.standard_error, rel=0.03)
    assert "Without the" not in str(found)  # the rows on which a lead rests that may be chance


@pytest.mark.slow
def test_the_line_of_python_reads_the_scale_and_a_name_breaks_no_line(files, capsys):
    both = pl.read_csv("both.csv")
    logits = [(pl.col(name) / (1 - pl.col(name))).log().alias(name) for name in ("sharp", "dull")]
    both.with_columns(logits).write_csv("logits.csv")
    words = ["logits.csv", "--truth", "rain", "--scale", "logits", "--report", "page.html"]
    for command in (["compare", "--forecaster", "sharp=sharp", "dull=dull"], ["assess", "--prob", "sharp"]):
        assert main([command[0], *words, *command[1:]]) == 0
        assert "scale=&#39;logits&#39;" in Path("page.html").read_text(encoding="utf-8")
    Recalibrator().fit(Y, FORECASTS["sharp"]).save("map.json")
    words = ["compare", "both.csv", "--truth", "rain", "--forecaster", "a\nb=sharp", "dull=dull"]
    capsys.readouterr()
    assert main([*words, "--apply", "a\nb=map.json"]) == 0
    assert "a\\nb: recalibrated by map.json;" in capsys.readouterr().err


def test_forecasts_that_are_the_same_have_no_interval(rng):
    s = rng.normal(size=2000)
    y = (rng.random(2000) < 1 / (1 + np.exp(-2 * s))).astype(int)
    p = 1 / (1 + np.exp(-s))
    assert "(log loss of b − a: 0.000)." in compare(y, {"a": p, "b": p}).next_step.words
