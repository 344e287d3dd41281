"""Skill scores: against formulas written out, against compare, from files, and what is refused."""

import json
import re

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from helpers import softmax_forecasts
from unperplexed import (
    InputError,
    Recalibrator,
    Tally,
    assess,
    compare,
    compare_sequentially,
    decompose,
    diagnose,
    pool,
    skill,
)
from unperplexed.cli.parser import main
from unperplexed.describe.skill import _role, skill_chart
from unperplexed.scores import ranked_probability_score
from unperplexed.statistics.intervals import Dependence, uncertain_mean, uncertain_ratio

N = 200


def run(*arguments):
    return main(["skill", *map(str, arguments)])


@pytest.fixture
def data(rng):
    y, p = softmax_forecasts(rng, N, 3)
    month = rng.integers(1, 4, N)
    return {"y": y, "p": p, "month": month, "lead": np.array(["24 h", "48 h", "120 h", "72 h"])[np.arange(N) % 4]}


def test_scores_and_references_are_their_formulas(data):
    y, p, month = data["y"], data["p"], data["month"]
    one_hot = np.eye(3)[y]
    clim = np.stack([one_hot[month == m].mean(axis=0) for m in (1, 2, 3)])[month - 1]

    def mean_scores(q):
        return {
            "log_loss": -np.log(q[np.arange(N), y]).mean(),
            "brier_score": ((q - one_hot) ** 2).sum(axis=1).mean(),
            "ranked_probability_score": ((q - one_hot).cumsum(axis=1) ** 2).sum(axis=1).mean(),
        }

    for reference, q in (("base-rate", np.tile(one_hot.mean(axis=0), (N, 1))), ({"climatology": month}, clim)):
        found = skill(y, p, reference=reference, metrics=["ranked_probability_score"]).whole.scores["forecast"]
        theirs, own = mean_scores(q), mean_scores(p)
        ratio = {name: each.score / each.reference_score for name, each in found.items()}
        assert {name: each.skill for name, each in found.items()} == pytest.approx(
            {name: 1 - ratio[name] for name in ratio}
        )
        assert ratio == pytest.approx({name: own[name] / theirs[name] for name in own})


def test_the_test_is_that_of_compare_and_the_interval_agrees(data, rng):
    y, p = data["y"], data["p"]
    other = np.full((N, 3), 1 / 3)
    groups = rng.integers(40, size=N)
    found = skill(y, {"p": p, "uniform": other}, reference="uniform", clusters=groups)
    paired = compare(y, {"p": p, "uniform": other}, clusters=groups).between("p", "uniform").differences
    for rule, each in found.whole.scores["p"].items():
        assert each.p_value == pytest.approx(paired[rule].p_value)
        assert (each.interval.low > 0 or each.interval.high < 0) == (each.p_value < 0.05)
    assert [*found.whole.scores] == ["p"]


def test_limits_of_a_ratio_are_those_that_the_paired_test_just_rejects(rng):
    x, b = rng.exponential(size=30), 1 + rng.exponential(size=30)
    w = rng.integers(1, 4, 30).astype(float)
    two_ways = Dependence(np.arange(30) // 2, crossed=np.arange(30) % 6)
    for dependence in (Dependence(), Dependence(np.arange(30) // 2), Dependence(lag=2), two_ways):
        found = uncertain_ratio(x, b, w, dependence)
        limits = found.interval(0.9)
        p = [uncertain_mean(x - limit * b, w, dependence).p_value() for limit in limits]
        assert p == pytest.approx([0.1, 0.1])
        scaled = uncertain_ratio(3 * x, b, w, dependence)
        assert scaled.interval(0.9) == pytest.approx([3 * limit for limit in limits])


# Dry days in Tampere in 2003, at most 0.2 mm: predicted probability a day ahead, in percent, number of days, and dry
# ones; data set `pop` of R's package verification, from the Finnish Meteorological Institute.
TAMPERE = [(0, 13, 2), (10, 11, 3), (20, 24, 8), (30, 34, 18), (40, 22, 16), (50, 22, 14), (60, 19, 15), (70, 41, 36)]
TAMPERE += [(80, 59, 54), (90, 55, 54), (100, 46, 45)]


def test_skill_is_that_of_the_vignette_of_verification():
    """M. Pocernich, "Verification Package: examples using weather forecasts": verify(obs, pred, bins = FALSE)."""
    p = np.concatenate([np.full(days, percent / 100) for percent, days, _ in TAMPERE])
    y = np.concatenate([np.arange(days) < dry for _, days, dry in TAMPERE]).astype(int)
    found = skill(y, p).whole.scores["forecast"]["brier_score"]
    assert f"{found.score / 2:.4f}" == "0.1445"  # of one class, where brier_score is the sum over both
    assert f"{found.reference_score / 2:.4f}" == "0.1793"
    assert f"{found.skill:.4f}" == "0.1942"
    parts = decompose(y, p)
    assert f"{parts.score / 2:.4f}" == "0.1445"
    assert f"{parts.uncertainty / 2:.4f}" == "0.1793"
    # The best map that keeps the order takes away no more than one of each value: reliability and resolution there.
    assert parts.miscalibration / 2 <= 0.025365
    assert parts.discrimination / 2 <= 0.060175


def test_the_ranked_probability_score_is_that_of_wilks():
    """Example of `rps` in verification, from Wilks (2005): 0.73, which verification divides by the classes less one."""
    p, y = [[0.2, 0.5, 0.3]], ["none"]
    assert ranked_probability_score(y, p, labels=["none", "light", "heavy"]) == pytest.approx(0.73)


def test_a_ratio_to_a_constant_has_limits_with_a_lag(rng):
    found = uncertain_ratio(rng.exponential(size=30), np.ones(30), np.ones(30), Dependence(lag=2))
    low, high = found.interval(0.95)
    assert low < found.ratio < high


def test_groups_are_the_rows_alone_in_natural_order(data):
    y, p, lead = data["y"], data["p"], data["lead"]
    baseline = np.full((N, 3), 1 / 3)
    found = skill(y, {"p": p, "b": baseline}, reference="b", by={"lead": lead})
    assert [group.key for group in found.groups] == [("24 h",), ("48 h",), ("72 h",), ("120 h",)]
    some = lead == "72 h"
    alone = skill(y[some], {"p": p[some], "b": baseline[some]}, reference="b", labels=[0, 1, 2])
    of_group, of_rows = found.groups[2].scores["p"]["log_loss"], alone.whole.scores["p"]["log_loss"]
    assert (of_group.skill, of_group.p_value) == pytest.approx((of_rows.skill, of_rows.p_value))
    assert of_group.adjusted_p_value == pytest.approx(min(1, 4 * of_group.p_value))
    for each in (group.scores["p"][rule] for group in found.groups for rule in group.scores["p"]):
        assert (each.interval.low > 0 or each.interval.high < 0) == (each.adjusted_p_value < 0.05)
    assert sum(group.scores["p"]["log_loss"].share for group in found.groups) == pytest.approx(1)
    assert found.frame().height == 2 * 5
    assert "Skill score by log loss" in found.to_html()


def test_one_class_has_no_skill_and_says_so():
    found = skill([1, 1, 1], [0.9, 0.8, 0.7], labels=[0, 1])
    assert np.isnan(found.whole.scores["forecast"]["brier_score"].skill)
    assert "is 0 in all rows, such as where only one class is observed" in " ".join(str(found).split())
    same = skill([0, 1, 0, 1], [0.5] * 4).whole.scores["forecast"]["log_loss"]
    assert (same.skill, same.p_value, [*same.interval]) == (0, 1, [0, 0])


def test_names_keep_their_case(data):
    p = np.eye(3)[data["y"]] * 0.8 + 0.2 / 3
    assert str(skill(data["y"], {"eGFR": p})).startswith("'eGFR' beats the base rate.\n")


def test_a_probability_of_zero_puts_the_floor_under_all():
    found = skill([1, 0, 1, 0], [0.0, 0.2, 0.9, 0.6])
    assert found.scored_floor == 0.005
    log_loss = found.whole.scores["forecast"]["log_loss"].score
    assert log_loss == pytest.approx(-np.log([0.005, 0.8, 0.9, 0.4]).mean())


@pytest.mark.slow
@pytest.mark.parametrize("zeros_in", ["forecast", "reference"])
def test_an_infinite_log_loss_is_said_first_and_the_floor_with_what_beats(rng, zeros_in):
    s = rng.normal(0, 2, 500)
    y, p = rng.random(500) < expit(s), expit(s)
    with_zeros = np.where(np.arange(500) == np.flatnonzero(y)[0], 0, p)
    given = {"forecast": p, "reference": np.full(500, 0.5)} | {zeros_in: with_zeros}
    found = skill(y, given["forecast"], reference=given["reference"])
    assert found.zero_rows[zeros_in if zeros_in == "forecast" else found.reference] == 1
    first, then = found.verdict.split("; ", 1)
    assert first.endswith("has an infinite log loss (it assigned 0 to the observed class in 1 row)")
    assert "by log loss at the floor 0.005" in then
    assert str(found).startswith(first[:20])
    assert "log loss at the floor 0.005" in " ".join(str(assess(y, with_zeros, reference="base-rate")).split())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reference": "climate"}, "none of the forecasters 'forecast'; expected \"base-rate\", {"),
        ({"reference": "climate"}, r"if named beside the others: climate=climate \(--forecaster\)"),
        ({"reference": "forecast"}, "is the only forecaster"),
        ({"metrics": ["spherical_score"]}, "not spherical_score"),
        ({"reference": {"climatology": [1, 1], "f": [0.1, 0.2]}}, 'expected {"climatology": columns}, got a mapping'),
        ({"metrics": "brier_score"}, "metrics: expected a list of names, got 'brier_score'"),
        ({"sample_weight": [0, 0]}, "the total weight is 0"),
    ],
)
def test_what_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        skill([0, 1], [0.2, 0.7], **settings)


@pytest.fixture
def file(data, tmp_path):
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 12, 31), "1d", eager=True)[:N]
    frame = pl.DataFrame({"y": data["y"] == 1, "p": data["p"][:, 1], "clim": 0.4, "lead": data["lead"]})
    frame = frame.with_columns(date=days, age=pl.Series(np.arange(N) * 0.5), site=pl.Series(["a", "b"] * (N // 2)))
    frame.write_csv(tmp_path / "f.csv")
    return tmp_path / "f.csv", frame


def found(capsys, *arguments):
    assert run(*arguments, "--json", "-") == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_files_give_what_arrays_give(file, capsys):
    path, frame = file
    columns = (path, "--truth", "y", "--prob", "p")
    by_file = found(capsys, *columns, "--by", "date:month", "age:halves", "--where", "age < 60 AND site = 'a'")
    some = frame.filter((pl.col("age") < 60) & (pl.col("site") == "a"))
    keys = {"m": some["date"].dt.month(), "half": some["age"] > some["age"].quantile(0.5, "lower")}
    by_array = skill(some["y"], {"p": some["p"]}, by=keys)
    mine = [group.scores["p"]["log_loss"].skill for group in by_array.groups]
    assert [group["scores"]["p"]["log_loss"]["skill"] for group in by_file["groups"]] == pytest.approx(mine)
    assert by_file["groups"][0]["key"] == [1, "1 of 2: 0 to 29"]
    assert not by_file["notes"]["p"]["dropped"]
    column = found(capsys, *columns, "--reference", "clim")
    assert column["whole"]["scores"]["p"]["brier_score"]["reference_score"] == pytest.approx(
        2 * ((frame["y"] - 0.4) ** 2).mean()
    )
    climatology = found(capsys, *columns, "--reference", "climatology:site")
    assert climatology["reference"] == "the climatology by site"


def test_several_forecasts_of_a_row_are_groups_and_a_cluster(data, tmp_path, capsys):
    y, p = data["y"], data["p"]
    columns = {f"p{k}": p[:, k] for k in range(3)} | {f"y{k}": (y == k).astype(int) for k in range(3)}
    pl.DataFrame(columns).write_csv(tmp_path / "f.csv")
    pairs = [f"p{k}=y{k}" for k in range(3)]
    by_file = found(capsys, tmp_path / "f.csv", "--pair", *pairs, "--reference", "climatology:pair")
    events = np.concatenate([y == k for k in range(3)])
    pair = np.repeat(["p0", "p1", "p2"], N)
    by_array = skill(
        events,
        {"f": p.T.ravel()},
        by={"pair": pair},
        reference={"climatology": {"pair": pair}},
        clusters=np.tile(np.arange(N), 3),
    )
    assert by_file["n_clusters"] == N
    for of_file, of_array in zip(
        [by_file["whole"], *by_file["groups"]], [by_array.whole, *by_array.groups], strict=True
    ):
        mine, theirs = of_file["scores"]["f"]["log_loss"], of_array.scores["f"]["log_loss"]
        assert (mine["skill"], mine["p_value"]) == pytest.approx((theirs.skill, theirs.p_value))
    assert [group["key"] for group in by_file["groups"]] == [["p0"], ["p1"], ["p2"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--where", "age >"), "unable to parse"),
        (("--where", "1 = 1"), "it names no column"),
        (("--where", "age > 1000"), "true of none of 200 rows"),
        (("--where", "sum(age) > 1"), "not true or false of each row"),
        (
            ("--by", "site:month", "--where", "site = 'b'"),
            "column 'site' is no date such as 2026-11-23 in 100 rows .1, 3, 5",
        ),
        (("--by", "site:quartiles"), "column 'site' is no number"),
    ],
)
def test_what_files_refuse(file, capsys, arguments, message):
    assert run(file[0], "--truth", "y", "--prob", "p", *arguments) == 2
    assert re.search(message, capsys.readouterr().err)


def test_a_ratio_whose_denominator_may_be_0_has_no_limits(rng):
    """Fieller's set is then no interval; and limits of means that move together may lie on one side alone."""
    x, b = rng.exponential(size=8), np.append(np.zeros(7), 0.01)
    found = uncertain_ratio(x, b, np.ones(8), Dependence())
    assert found.ratio == pytest.approx(x.mean() / b.mean())
    assert np.isnan(found.interval(0.95)).all()
    assert found.p_value == pytest.approx(uncertain_mean(x - b, np.ones(8), Dependence()).p_value())


def test_small_groups_of_a_climatology_and_chance_alone_are_said(rng):
    y, p = rng.integers(0, 2, 40), rng.uniform(0.4, 0.6, 40)
    found = skill(y, {"one": p, "two": 1 - p}, reference={"climatology": np.arange(40) // 5})
    said = " ".join(str(found).split())
    assert (
        "the climatology is fitted to the same rows, in the smallest of 8 groups to 5: the skill against it is" in said
    )
    flat = skill(y, {"one": p, "two": 1 - p})
    assert flat.verdict.count("no evidence that '") == 2
    chart = skill_chart(flat, "log_loss")
    assert chart is not None
    assert {_role(flat, each["log_loss"], name) for name, each in flat.whole.scores.items()} == {"first", "second"}


def test_where_the_reference_scores_0_there_is_nothing_to_draw():
    found = skill([1, 1], [0.2, 0.4], labels=[0, 1])
    with pytest.raises(InputError, match="rule: no skill score by log loss is defined; choose another rule"):
        found.plot()


def test_where_the_rows_with_weight_are_left_out_there_is_nothing_to_score():
    with pytest.raises(InputError, match="no row has a weight above 0"):
        skill([0, 1], [0.2, np.nan], sample_weight=[0, 1], invalid="drop")


def test_what_skill_cannot_read_is_refused_with_the_option(tmp_path, capsys):
    path = tmp_path / "f.csv"
    path.write_text("y,p,q,base\n" + "1,0.75,0.6,0.5\n0,0.25,0.4,0.5\n" * 5)
    Tally.of([0, 1], [0.2, 0.7]).save(tmp_path / "f.tally")
    columns = [path, "--truth", "y"]
    for words, message in (
        (
            [*columns, "--pair", "p=y", "--on", "y"],
            "--pair: several binary forecasts a row are read from one forecaster",
        ),
        ([path, "--pair", "p=y", "p=base"], "--pair: name each probability column once."),
        (
            [*columns, "--reference", "base"],
            "--reference base: name the probability columns of the forecaster with --prob",
        ),
        ([*columns, "--prob", "p", "--reference", "base,q"], "--reference base,q: 2 columns, where --prob names 1"),
    ):
        assert run(*words) == 2
        assert message in capsys.readouterr().err
    for words, message in (
        ([tmp_path / "f.tally"], "a reference is compared row by row, and the rows of"),
        ([*columns, "--prob", "p", "--engine", "dask"], "--engine dask: --reference is by the engine local; leave one"),
    ):
        assert main(["assess", *map(str, words), "--reference", "base-rate", "--resamples", "0"]) == 2
        assert message in capsys.readouterr().err


def test_the_picture_of_skill_is_its_chart(tmp_path):
    path, picture = tmp_path / "f.csv", tmp_path / "s.svg"
    path.write_text("y,p\n" + "1,0.75\n0,0.25\n1,0.5\n" * 5)
    assert run(path, "--truth", "y", "--prob", "p", "--plot", picture, "-q") == 0
    assert "Skill" in picture.read_text("utf-8")


def test_outcomes_come_first():
    forecasts, y = {"a": [0.9, 0.2, 0.7], "b": [0.6, 0.4, 0.5]}, [1, 0, 1]
    for function in (compare, compare_sequentially, skill, pool):
        with pytest.raises(InputError, match="Outcomes come first, then forecasts"):
            function(forecasts, y)
    for function in (assess, skill, diagnose):
        with pytest.raises(InputError, match=r"0\.2, 0\.7, \.\.\. are probabilities or logits, not classes\. Outcome"):
            function([0.9, 0.2, 0.7], y)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_outcomes_come_first_where_forecasts_have_columns(rng, columns):
    logits, y = rng.normal(size=(10, columns)), np.arange(10) % 2
    for function in (assess, Recalibrator("temperature").fit):
        with pytest.raises(InputError, match="are probabilities or logits, not classes. Outcomes come first"):
            function(logits, y, scale="logits")


def test_one_row_that_is_not_one_hot_is_named_by_its_row():
    with pytest.raises(InputError, match="a one-hot row has exactly one 1"):
        assess([[0.0, 1.0], [0.5, 0.5]], [0.3, 0.4])


@pytest.mark.parametrize(
    ("former", "today"),
    [("from_logits", 'scale="logits"'), ("drop_invalid", 'invalid="drop"'), ("sample_wieght", "'sample_weight'")],
)
def test_another_name_of_an_option_is_told_the_right_one(former, today):
    for function in (diagnose, pool):
        with pytest.raises(TypeError, match=f"did you mean {today}"):
            function([1, 0], {"a": [0.9, 0.1], "b": [0.8, 0.3]} if function is pool else [0.9, 0.1], **{former: True})


def test_a_dry_month_has_no_interval_and_says_why(rng, tmp_path, capsys):
    """Its reference's score rests on one event; the chart ends at -1, and marks the months that go on."""
    date = np.datetime64("2023-01-01") + np.arange(730)
    month = date.astype("datetime64[M]").astype(int) % 12 + 1
    p = rng.beta(1, 3, 730).clip(0.01, 0.99)
    rain = np.where(month == 7, np.arange(730) == 190, rng.uniform(size=730) < p).astype(int)
    path = tmp_path / "rain.csv"
    pl.DataFrame({"date": date, "rain": rain, "p": p}).write_csv(path)
    found = ["--truth", "rain", "--prob", "p", "--by", "date:month", "--metric", "half_brier_score"]
    assert run(path, *found, "--reference", "climatology:date:month") == 0
    out = capsys.readouterr().out
    months = [line.split()[0] for line in out.split("\ngroup ")[1].splitlines()[2:5]]
    assert months == ["January", "February", "March"]
    assert "no interval of the skill in 1 group: the reference's mean score rests" in " ".join(out.split())
    by_rule = skill(rain, p, by=month, reference={"climatology": month}, metrics=["half_brier_score"])
    july = by_rule.groups[6].scores["forecast"]
    assert july["half_brier_score"].score == pytest.approx(july["brier_score"].score / 2)
    chart = skill_chart(by_rule)
    assert chart.x.low == -1
    assert [name.endswith("←") for _, name in chart.y.ticks] == [False] * 7 + [True] + [False] * 5
    with pytest.raises(InputError, match="'half_brier_score' is of two classes"):
        assess([0, 1, 2], np.full((3, 3), 1 / 3), metrics=["half_brier_score"])
