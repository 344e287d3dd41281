"""Figures of real forecasts that pages of the documentation state; collected only where UNPERPLEXED_DATA is set."""

import csv
import re
from functools import cache, partial

import numpy as np
import polars as pl
import pytest

from pages import DOCS, text_of
from real_data import DATA, SETS
from unperplexed import Recalibrator, Tally, assess, compare, monitor
from unperplexed.scores import ranked_probability_score
from unperplexed.statistics.intervals import Dependence, uncertain_mean

pytestmark = pytest.mark.usefixtures("few_samples")

TEAMS = ["Delphi-Stat", "NEU", "KOT", "4Sight"]


@cache
def page(name):
    """Its words, on one line."""
    return re.sub(r"\s+", " ", text_of(name))


def states(name, *sentences):
    for sentence in sentences:
        assert sentence in page(name), sentence


def in_words(number):
    """As pages write it."""
    words = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}
    words |= {12: "twelve", 13: "thirteen", 14: "fourteen"}
    return words.get(number, f"{number:,}")


def percent(values, digits=0):
    return f"{100 * np.mean(values):.{digits}f}%"


def slope_of(finding):
    """Calibration slope and its interval, as pages write them."""
    assert finding.error == "confidence"
    low, high = finding.interval
    return f"{1 + finding.parameter:.2f} (95% CI {1 + low:.2f} to {1 + high:.2f})"


@cache
def flusight(team):
    """What happened, forecasts and weeks, without the rows that hold NaN; how many these were."""
    with np.load(DATA / f"flusight_2015_16/{team}.npz") as archive:
        keep = ~np.isnan(archive["probs"]).any(axis=1)
        return archive["labels"][keep], archive["probs"][keep], archive["ew"][keep], np.count_nonzero(~keep)


def test_weather_season():
    (y, kot, week, invalid), (_, other, *_) = flusight("KOT"), flusight("4Sight")
    pair = compare(y, {"KOT": kot, "4Sight": other}, clusters=week).between("KOT", "4Sight")
    assert max(pair.differences[rule].p_value for rule in ("log_loss", "brier_score")) < 0.001
    assert max(pair.differences[rule].difference for rule in ("log_loss", "brier_score")) < 0
    scores = [ranked_probability_score(y, p, labels=range(27)) for p in (kot, other)]
    misses = [np.abs(p.argmax(axis=1) - y).mean() for p in (kot, other)]
    states(
        "weather",
        f"in {kot.shape[1]} bins of half a percentage point, with {len(y) + invalid:,} forecasts each",
        "KOT beats 4Sight by log loss and Brier score (p < 0.001 each)",
        "ranked probability score, where smaller is better, is {1:.2f} for 4Sight and {0:.2f} for KOT".format(*scores),
        "4Sight's most probable bin is {1:.1f} bins off on average, KOT's {0:.1f}".format(*misses),
    )


def games(name):
    """What happened and the forecasts of games that were not drawn; how many were."""
    frame = pl.read_csv(DATA / "fte_games" / name, infer_schema_length=None)
    drawn = frame["prob1_outcome"] == 0.5
    decided = frame.filter(~drawn)
    return decided["prob1_outcome"].cast(int).to_numpy(), decided["prob1"].to_numpy(), drawn.sum()


def test_elections_games():
    y, p, drawn = games("nba_games.csv")
    nba = assess(y, p, resamples=0)
    assert (drawn, nba.diagnosis.errors) == (0, ("bias", "confidence"))
    bias, slope = nba.diagnosis.findings
    states(
        "elections-and-sports",
        f"In {nba.n_rows:,} games the home team is overpredicted",
        f"its mean prediction is {p.mean():.3f}, but the observed frequency only {y.mean():.3f}",
        f"calibration slope is {slope_of(slope)}",
        f"the bias costs {bias.cost:.4f} nats a game and the overconfidence only {slope.cost:.4f}",
    )
    assert games("nfl_games.csv")[2] > 0


THREE = ["prob1", "probtie", "prob2"]


def watched(path, event, period):
    """Forecasts over time, a tally for each value of the period."""
    frame = pl.read_csv(DATA / path, infer_schema_length=None).with_columns(period.alias("period")).sort("date")
    tallies = {name: event(rows) for (name,), rows in frame.group_by("period", maintain_order=True)}
    return frame.height, monitor(tallies)


def test_elections_over_time():
    _, nba = watched(
        "fte_games/nba_games.csv",
        lambda rows: Tally.of(rows["prob1_outcome"].cast(int), rows["prob1"]),
        pl.col("date").str.slice(0, 7),
    )
    assert (nba.alarm.began, nba.alarm.diagnosis.errors[0]) == (nba.periods[0], "bias")
    states(
        "elections-and-sports", f"the alarm comes after {nba.alarm.period}, and the bias may date from the first month"
    )
    _, cup = watched(
        "fte_worldcup/world_cup_matches_men.csv",
        lambda rows: Tally.of(
            np.argmax(rows[["prob1_outcome", "probtie_outcome", "prob2_outcome"]].to_numpy(), axis=1),
            rows[THREE].to_numpy(),
        ),
        pl.col("date"),
    )
    assert cup.alarm is None


MATCH = ["season", "team1", "team2"]


def matches(name):
    """Rows of the group stage, and those of knock-out matches, all of whose draws have 0."""
    frame = pl.read_csv(DATA / "fte_worldcup" / name, infer_schema_length=None)
    knocked_out = (pl.col("probtie") == 0).all().over(MATCH)
    return frame.filter(~knocked_out), frame.filter(knocked_out)


def of_three(frame):
    return frame.select(f"{c}_outcome" for c in THREE).to_numpy(), frame.select(THREE).to_numpy()


def test_elections_during_matches():
    groups, knock_out = matches("world_cup_matches_in_game_men.csv")
    assert knock_out["probtie_outcome"].sum() == 0
    rows, whole = (assess(*of_three(groups), clusters=each) for each in (None, groups.select(MATCH)))
    states(
        "elections-and-sports",
        f"each of {groups.select(MATCH).n_unique()} group matches (2018, 2022)",
        f"| as rows | {rows.n_rows:,} | {rows.diagnosis.headline} |",
        f"team1,team2` | {whole.independent_rows:.0f} | {whole.diagnosis.headline} |",
    )


def test_elections_2018():
    frame = pl.read_csv(DATA / "fte_review_2018/forecast_results_2018.csv")
    y, p = frame["Democrat_Won"].to_numpy(), frame["Democrat_WinProbability"].to_numpy()
    rows = assess(y, p, resamples=0).diagnosis
    assert rows.errors == ("confidence",)
    assert frame["version"].n_unique() == 3
    states("elections-and-sports", f"Three versions of one model forecast the {frame.height // 3} races of 2018")
    states("elections-and-sports", f"calibration slope {slope_of(rows.findings[0])}")
    night = assess(y, p, clusters=frame["cycle"])
    assert not night.diagnosis.findings
    assert np.isnan(night.intervals["averages_slope"]).all()


def test_elections_bracket():
    frame = pl.read_csv(DATA / "fte_brackets/tennis_men.csv", infer_schema_length=None)
    p = np.concatenate([frame[f"round_{r}"] for r in range(1, 8)])
    y = np.concatenate([frame[f"round_{r}_outcome"] for r in range(1, 8)])
    still_open = (p > 0) & (p < 1)
    every, some = (assess(y[rows], p[rows], resamples=0).reported.geometric_accuracy for rows in (p >= 0, still_open))
    states(
        "elections-and-sports",
        f"{percent(~still_open)} of {p.size:,} forecasts",
        f"is {every:.3f} for all of them, but only {some:.3f} for the {still_open.sum():,} open ones",
    )


@pytest.fixture(scope="module")
def answers():
    frame = pl.read_parquet(next((DATA / "llm_mcqa").glob("*.parquet")))
    return frame.with_columns(pl.col("model", "grade").cast(pl.String), right=pl.col("grade") == "Correct")


def test_language_models(answers):
    models = answers["model"].n_unique()
    states(
        "language-model-confidence",
        f"the answers of {models} language models to {answers['row'].n_unique():,} questions of MMLU",
        f"## Example: {in_words(models)} models",
    )
    parsed = answers.filter(pl.col("grade") != "Unparseable")
    over = 0
    for (model,), rows in parsed.group_by("model"):
        y, p = rows["right"].to_numpy(), rows["confidence_level"].to_numpy()
        result, share = assess(y, p, resamples=0), y.mean()
        assert result.diagnosis.miscalibrated
        over += p.mean() > share
        if model == "Mistral":
            words = f"mean confidence of {p.mean():.3f}, but only {share:.3f} of its answers are right"
            states("language-model-confidence", words)
    states("language-model-confidence", f"All {in_words(models)} are miscalibrated")
    states("language-model-confidence", f"{in_words(over)} are too confident")


@pytest.mark.slow
def test_language_models_recalibrated_on_other_questions(answers):
    parsed, beat = answers.filter(pl.col("grade") != "Unparseable"), []
    for (model,), rows in parsed.group_by("model"):
        y, p, question = (rows[name].to_numpy() for name in ("right", "confidence_level", "row"))
        y, fitted = y.astype(int), question % 2 == 0
        found = Recalibrator(seed=0).fit(y[fitted], p[fitted], clusters=question[fitted]).transform(p[~fitted])
        y, base, cluster = y[~fitted], y[fitted].mean(), np.unique(question[~fitted], return_inverse=True)[1]
        own, loss, constant = (
            -np.log(np.where(y == 1, each, 1 - each)) for each in (np.clip(p[~fitted], 0.005, 0.995), found, base)
        )
        gain = uncertain_mean(constant - loss, np.ones(y.size), Dependence(cluster))
        if gain.mean > gain.half_width(0.95):
            beat.append(model)
        if model == "gpt-4-turbo":
            losses = f"from {own.mean():.3f} (clipped at 0.005) to {loss.mean():.3f}"
            words = f"gpt-4-turbo's log loss {losses}, significantly below the {constant.mean():.3f} of the base rate"
            states("language-model-confidence", words)
            ends = (gain.mean + side * gain.half_width(0.95) for side in (-1, 1))
            states("language-model-confidence", "95% CI of the difference {:.3f} to {:.3f}".format(*ends))
        if model == "Falcon-7b":
            assert abs(gain.mean) < 1e-3
    states("language-model-confidence", f"recalibration {len(beat)} of 14 models' confidences beat the base rate")


REVIEWS = DATA / "fte_review_2018/forecast_results_2018.csv"


def house(version):
    frame = pl.read_csv(REVIEWS).filter((pl.col("uncalled") == 0) & (pl.col("version") == version))
    return frame["Democrat_Won"].to_numpy(), frame["Democrat_WinProbability"].to_numpy()


def all_language_models():
    columns = ["confidence_level", "grade"]
    frame = pl.concat(pl.read_parquet(path, columns=columns) for path in sorted((DATA / "llm_mcqa").glob("*.parquet")))
    frame = frame.filter((pl.col("grade") != "Unparseable") & pl.col("confidence_level").is_between(0, 1))
    return (frame["grade"] == "Correct").to_numpy(), frame["confidence_level"].to_numpy()


DIAGNOSED = {
    "WideResNet, CIFAR-10": SETS["wideresnet"],
    "DenseNet, CIFAR-100": SETS["densenet"],
    "LeNet-5, CIFAR-100": SETS["lenet"],
    "VGG16, CIFAR-10": SETS["vgg16"],
    "NBA games": SETS["nba"],
    "NFL games": SETS["nfl"],
    "World Cup, before matches": SETS["world cup"],
    "World Cup, during matches": SETS["world cup in game"],
    "tennis brackets": SETS["brackets"],
    "replication markets": SETS["markets"],
    "replication survey": SETS["survey"],
    **{f"FluSight, {team}": SETS[team] for team in TEAMS},
    **{f"House 2018, {version}": partial(house, version) for version in ("classic", "deluxe", "lite")},
    "14 language models": all_language_models,
}
"""The forecasts in docs/evidence/studies/real-forecasts.csv, which has no others."""


def rows_of_table():
    """The table of the diagnosis on real forecasts, by name."""
    with (DOCS / "evidence" / "studies" / "real-forecasts.csv").open(encoding="utf-8", newline="") as file:
        return {name: rest for name, *rest in list(csv.reader(file))[1:]}


def test_the_table_of_real_forecasts_has_all_of_them():
    assert set(rows_of_table()) == set(DIAGNOSED)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIAGNOSED)
def test_the_table_of_real_forecasts_has_todays_conclusions(name):
    y, p = DIAGNOSED[name]()
    classes = {"labels": range(p.shape[1])} if p.ndim == 2 and np.ndim(y) == 1 else {}
    a = assess(y, p, **classes)
    assert rows_of_table()[name] == [f"{a.n_rows:,} × {a.n_classes}", a.diagnosis.headline]
    assert a.view == ("each-class" if a.n_classes == 2 else "all-classes")
