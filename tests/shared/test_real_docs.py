"""Figures of real forecasts that pages of the documentation state; collected only where UNPERPLEXED_DATA is set."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shared.test_real_forecasts import DATA
from unperplexed import assess, compare, ranked_probability_score

DOCS = Path(__file__).parents[2] / "docs"
TEAMS = ["Delphi-Stat", "NEU", "KOT", "4Sight"]


@cache
def page(name):
    """Its words, on one line."""
    return re.sub(r"\s+", " ", (DOCS / f"{name}.md").read_text(encoding="utf-8"))


def states(name, *sentences):
    for sentence in sentences:
        assert sentence in page(name), sentence


def limits(result, figure, digits):
    low, high = result.intervals[figure]
    return f"{low:.{digits}f} to {high:.{digits}f}"


def percent(values, digits=0):
    return f"{100 * np.mean(values):.{digits}f} %"


@cache
def flusight(team):
    with np.load(DATA / f"flusight_2015_16/{team}.npz") as archive:
        keep = ~np.isnan(archive["probs"]).any(axis=1)
        return archive["labels"][keep], archive["probs"][keep], archive["ew"][keep]


@cache
def season(team):
    y, p, week = flusight(team)
    return assess(y, p, groups=week)


@pytest.mark.parametrize("team", TEAMS)
def test_weather_teams(team):
    y, p, _ = flusight(team)
    result = season(team)
    cells = [f"{result.reported.geometric_accuracy:.3f}", f"{result.slope:.2f}", result.verdict]
    cells.append(f"{result.prediction_accuracy:.3f}")
    cells.append(f"{ranked_probability_score(y, p, labels=range(27)):.2f}")
    states("weather", f"| {team} | {' | '.join(cells)} |")
    assert p.shape[1] == 27
    assert len(y) == (1273 if team == "NEU" else 1276)


def test_weather_season():
    weeks = flusight("KOT")[2]
    assert np.unique(weeks).size == 29
    assert "worth 27.13 when" in str(season("KOT"))
    states("weather", "There are 29 weeks of it, worth 27 when independent", "1/27, or 0.037", "1,276 forecasts each")
    y, p, _ = flusight("Delphi-Stat")
    assert assess(y, p).verdict == "underconfident"
    low, high = season("Delphi-Stat").intervals["slope"]
    assert 0.98 < low < 1 < high
    assert "miscalibrated, towards underconfidence" in str(season("Delphi-Stat"))
    assert season("NEU").zero_given == 264
    states("weather", "NEU gave 0 to what happened in 264 rows", "Three of its rows hold NaN")
    assert 5.5 < season("4Sight").prediction_accuracy / season("KOT").prediction_accuracy < 6.5
    y, kot, week = flusight("KOT")
    pair = compare({"KOT": kot, "4Sight": flusight("4Sight")[1]}, y, groups=week, resamples=0).between("KOT", "4Sight")
    states("weather", f"(p = {pair.differences['log_loss'].p_value:.2f})")


def games(name):
    frame = pl.read_csv(DATA / "fte_games" / name, infer_schema_length=None).filter(pl.col("prob1_outcome") != 0.5)
    return frame["prob1_outcome"].cast(int).to_numpy(), frame["prob1"].to_numpy()


def test_elections_games():
    y, p = games("nba_games.csv")
    nba = assess(y, p)
    assert (len(y), nba.verdict) == (8886, "overconfident")
    accuracy = f"{nba.reported.geometric_accuracy:.3f} ({limits(nba, 'reported_geometric_accuracy', 3)})"
    both, happened = np.concatenate([p, 1 - p]), np.concatenate([y, 1 - y])
    here = (both >= 0.8) & (both < 0.9)
    states(
        "elections",
        f"8,886 NBA games of the seasons 2016 to 2022 have a geometric accuracy of {accuracy}",
        f"The slope is {nba.slope:.2f} ({limits(nba, 'slope', 2)}), *overconfident*",
        f"given 80 to 90 %, on average {percent(both[here], 1)}, {percent(happened[here], 1)} happened",
        f"a divergence probability of {nba.divergence_probability:.3f}",
    )
    nfl = assess(*games("nfl_games.csv"))
    assert (nfl.n_rows, nfl.verdict) == (1882, "not distinguishable from calibrated")
    states("elections", f"1,882 NFL games have a slope of {nfl.slope:.2f} ({limits(nfl, 'slope', 2)})")


THREE = ["prob1", "probtie", "prob2"]


def matches(name):
    frame = pl.read_csv(DATA / "fte_worldcup" / name, infer_schema_length=None)
    return frame, frame.select(f"{c}_outcome" for c in THREE).to_numpy(), frame.select(THREE).to_numpy()


def test_elections_world_cup():
    _, y, p = matches("world_cup_matches_men.csv")
    result = assess(y, p)
    assert result.verdict == "not distinguishable from calibrated"
    accuracy = f"{result.reported.geometric_accuracy:.3f} ({limits(result, 'reported_geometric_accuracy', 3)})"
    states("elections", f"176 World Cup matches of 2014, 2018 and 2022 have {accuracy}")
    assert not (p.argmax(axis=1) == 1).any()
    states("elections", f"given {percent(p[:, 1])} on average, happened in {percent(y[:, 1])},")
    frame, y, p = matches("world_cup_matches_in_game_men.csv")
    assert frame.select("season", "team1", "team2").n_unique() == 128
    rows, whole = assess(y, p), assess(y, p, groups=frame.select("season", "team1", "team2"))
    states(
        "elections",
        f"| as rows | 13,232 | {rows.slope:.2f}, {limits(rows, 'slope', 2)} | {rows.verdict} |",
        f"| 115 | {whole.slope:.2f}, {limits(whole, 'slope', 2)} | {whole.verdict} |",
    )
    assert "worth 114.7 when" in str(whole)


def test_elections_2018():
    frame = pl.read_csv(DATA / "fte_review_2018/forecast_results_2018.csv")
    y, p = frame["Democrat_Won"].to_numpy(), frame["Democrat_WinProbability"].to_numpy()
    rows = assess(y, p)
    assert rows.verdict == "underconfident"
    assert frame["race"].n_unique() == 506
    states("elections", f"slope {rows.slope:.2f}", "as one and not as 506")
    night = assess(y, p, groups=frame["cycle"])
    assert night.verdict not in ("underconfident", "overconfident")
    assert np.isnan(night.intervals["slope"]).all()
    uncalled = frame["uncalled"].to_numpy() == 1
    six, others = (assess(y[some], p[some], resamples=0, labels=[0, 1]) for some in (uncalled, ~uncalled))
    assert six.n_rows == 6
    found = f"{six.reported.geometric_accuracy:.2f}, the others of {others.reported.geometric_accuracy:.2f}"
    states("elections", f"have a geometric accuracy of {found}")
    models = frame.pivot(on="version", index=["race", "Democrat_Won"], values="Democrat_WinProbability")
    result = compare(models.select("deluxe", "classic", "lite"), models["Democrat_Won"], resamples=0)
    first, second = result.between("deluxe", "classic"), result.between("classic", "lite")
    low, high = first.accuracy_ratio_interval
    states(
        "elections",
        f"*deluxe* is {first.accuracy_ratio:.3f} times as good as *classic* ({low:.3f} to {high:.3f})",
        f"*classic* {second.accuracy_ratio:.3f} times as good as *lite*",
    )


def test_elections_bracket_and_markets():
    frame = pl.read_csv(DATA / "fte_brackets/tennis_men.csv", infer_schema_length=None)
    p = np.concatenate([frame[f"round_{r}"] for r in range(1, 8)])
    y = np.concatenate([frame[f"round_{r}_outcome"] for r in range(1, 8)])
    still_open = (p > 0) & (p < 1)
    every, some = (assess(y[rows], p[rows], resamples=0).reported.geometric_accuracy for rows in (p >= 0, still_open))
    states(
        "elections",
        f"{percent(~still_open)} of {p.size:,} rows",
        f"geometric accuracy is {every:.3f}; that of the {still_open.sum():,} open ones is {some:.3f}",
    )
    frame = pl.read_csv(DATA / "replication_markets/aggregated.csv")
    result = compare(
        {"market": frame["final_market_price"], "survey": frame["mean_survey"]}, frame["replicated"], resamples=0
    )
    pair = result.between("market", "survey")
    market, survey = (result.forecasters[name].assessment.reported.geometric_accuracy for name in ("market", "survey"))
    assert (result.n_rows, pair.turning_rows) == (103, 6)
    states(
        "elections",
        f"the market (geometric accuracy {market:.3f}) and the survey ({survey:.3f}) are not distinguishable",
        f"(p = {pair.differences['log_loss'].p_value:.2f}), and without the six rows",
    )


@pytest.fixture(scope="module")
def answers():
    frame = pl.read_parquet(next((DATA / "llm_mcqa").glob("*.parquet")))
    return frame.with_columns(pl.col("model", "grade").cast(pl.String), right=pl.col("grade") == "Correct")


def test_language_models(answers):
    assert (answers.height, (answers["grade"] == "Unparseable").sum()) == (168_000, 423)
    assert (answers.filter(pl.col("grade") == "Unparseable")["confidence_level"] == 0).all()
    states("language-models", "Of 168,000 answers 423 could not be parsed", "in the data above it is 0")
    parsed = answers.filter(pl.col("grade") != "Unparseable")
    over = shown = 0
    for (model,), rows in parsed.group_by("model"):
        y, p = rows["right"].to_numpy(), rows["confidence_level"].to_numpy()
        result, share = assess(y, p, resamples=60), y.mean()
        over += result.verdict == "overconfident"
        constant = share**share * (1 - share) ** (1 - share)
        assert result.reported.geometric_accuracy < constant
        figures = (share, p.mean(), result.reported.geometric_accuracy, result.slope, constant)
        row = "| {} | {:.3f} | {:.3f} | {:.3f} | {:.2f} | {:.3f} |".format(model, *figures)
        if f"| {model} |" in page("language-models"):
            states("language-models", row)
            shown += 1
        if model in ("gpt-4-turbo", "Mistral"):
            sure = p >= 0.99
            words = f"{percent(sure)} to {percent(y[sure])}"
            assert words == {"gpt-4-turbo": "82 % to 89 %", "Mistral": "76 % to 58 %"}[model]
        if model == "gpt-4-turbo":
            states("language-models", f"geometric accuracy is {result.measured.geometric_accuracy:.3f}")
        if model == "Falcon-7b":
            assert result.verdict == "underconfident"
    assert (over, shown) == (13, 5)
    states("language-models", "0.99 or more to 82 % of its answers, and 89 % of these were right")
    states("language-models", "Mistral to 76 %, of which 58 % were right", "All but Falcon-7b are overconfident")


def test_language_models_zeros_and_floors(answers):
    parsed = answers.filter(pl.col("grade") != "Unparseable")
    wrong = parsed.filter(~pl.col("right") & (pl.col("confidence_level") == 1)).height
    right = parsed.filter(pl.col("right") & (pl.col("confidence_level") == 0)).height
    states("language-models", f"{wrong} wrong answers had a confidence of exactly 1, and {right} right ones 0")
    low = parsed.filter(pl.col("confidence_level") < 0.25).height
    states("language-models", f"confidences {low:,} lie below a quarter")
    means = assess(parsed["right"], parsed["confidence_level"], resamples=0).floor_sensitivity
    default, high, low = (means[floor].geometric_accuracy for floor in (0.005, 0.05, 0.001))
    states("language-models", f"is {default:.3f} at the floor of 0.005, {high:.3f} at 0.05 and {low:.3f} at 0.001")
