"""Dependence that nobody declared, beside an independent implementation, and in real forecasts."""

import os
import runpy
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

from unperplexed.calibration.dependence import find_dependence

DATA = Path(os.environ["UNPERPLEXED_DATA"])


@pytest.fixture(scope="module")
def decide():
    folder = DATA.parent / "reference"
    sys.path.insert(0, str(folder))
    try:
        return runpy.run_path(str(folder / "real_data_reference.py"))["decide"]
    finally:
        sys.path.remove(str(folder))


def columns_of_all_kinds(rng, n, group):
    """The group, as it is, coarser, crossed of two, and beside columns that have nothing to do with it."""
    size = int(rng.integers(3, 12))
    return {
        "digit": rng.integers(0, 10, n),
        "event": group,
        "half": group // 2,
        "left": group // size,
        "right": group % size,
        "many": rng.integers(0, n // 2, n),
        "two": rng.integers(0, 2, n),
        "identifier": np.arange(n),
        "skewed": rng.geometric(0.1, n),
    }


def simulated(seed):
    """Forecasts of several designs, with columns of all kinds; a third of them miscalibrated."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([400, 1000, 2500]))
    count = int(rng.choice([20, 60, 200]))
    group = rng.integers(0, count, n) if rng.random() < 0.6 else np.sort(rng.integers(0, count, n))
    told = rng.normal(rng.choice([0, -2]), rng.choice([0.7, 2]), n)
    level, design, s = rng.random(n), seed % 7, told
    if design == 0:  # repeated events
        level = rng.random(count)[group]
    elif design == 1:  # shocks
        s = told + rng.normal(0, rng.choice([0.4, 0.8, 1.5]), count)[group]
    elif design == 2:  # serial dependence
        state, keep = np.zeros(n), rng.choice([0.5, 0.8, 0.95])
        for at in range(1, n):
            state[at] = keep * state[at - 1] + rng.normal(0, np.sqrt(1 - keep**2))
        s = told + 1.5 * state
    elif design == 3:  # predictions that end at the outcome of the group
        walk = np.cumsum(rng.normal(size=(count, 10)), axis=1)
        step = rng.integers(0, 9, n)
        s = told = logit(np.clip(norm.cdf(walk[group, step] / np.sqrt(9 - step)), 1e-6, 1 - 1e-6))
        level = (walk[group, -1] < 0).astype(float)
    elif design == 4:  # slopes of groups
        s = told * (rng.normal(1, 1, count))[group]
    elif design == 5:  # rows that exclude each other
        side, level = rng.choice([-1, 1], n), rng.random(count)[group]
        s, level = side * rng.random(count)[group] * 3, np.where(side < 0, 1 - level, level)
        told = s
    y = level < expit(s)
    if seed % 3 == 0:
        told = 0.3 + 1.3 * told
    return y.astype(int), expit(told), columns_of_all_kinds(rng, n, group)


def check_same(decide, y, p, columns, order=True):
    with np.errstate(divide="ignore"):
        s = np.log(p) - np.log1p(-p)
    expected, found = decide(y, p, columns, order=order), find_dependence(y, s, None, columns, order=order)
    if expected["choice"] is None:
        assert found is None
        return None
    ordered = expected["block"] is not None
    assert found.columns[:1] == (() if ordered else expected["choice"][:1])
    if found.columns[1:] != expected["choice"][1:]:  # names of one partition, which the last digit decides between
        crossed = [
            np.unique([columns[name] for name in names], axis=1, return_inverse=True)[1].ravel()
            for names in (found.columns, expected["choice"])
        ]
        assert np.unique(crossed, axis=1).shape[1] == crossed[0].max() + 1 == crossed[1].max() + 1
    assert found.block == expected["block"]
    assert found.taken == expected["take"]
    assert found.design_effect == pytest.approx(expected["D"], rel=0.01)
    assert {*found.also} == {name for name, *_ in expected["left"] if not name.startswith("order")}
    if not ordered:
        assert found.correlation == pytest.approx(expected["rho"], rel=0.02)
        assert found.n_clusters == expected["G"]
        assert found.effective_clusters == pytest.approx(expected["Geff"], rel=0.01)
    return found


@pytest.mark.parametrize("start", [0, *(pytest.param(x, marks=pytest.mark.slow) for x in range(40, 120, 40))])
def test_simulated_forecasts(decide, start):
    for seed in range(start, start + 40):
        check_same(decide, *simulated(seed))


def coded(frame, names):
    return {name: frame[name].cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) for name in names}


def searched(decide, y, p, columns):
    return check_same(decide, np.asarray(y, dtype=np.int64), np.asarray(p, dtype=np.float64), columns)


@pytest.mark.parametrize("name", ["nba", "nfl"])
def test_games_are_independent(decide, name):
    frame = pl.read_csv(DATA / f"fte_games/{name}_games.csv", infer_schema_length=None).filter(
        pl.col("prob1_outcome") != 0.5
    )
    columns = coded(frame, ["season", "date", "team1", "team2"])
    assert searched(decide, frame["prob1_outcome"], frame["prob1"], columns) is None


def test_minutes_of_a_match_are_one_match(decide):
    frame = pl.read_csv(DATA / "fte_worldcup/world_cup_matches_in_game_men.csv")
    columns = coded(frame, ["season", "league", "team1", "team2", "period", "mins"])
    p, outcome = (frame.select(f"{c}{end}" for c in ("prob1", "probtie", "prob2")) for end in ("", "_outcome"))
    top = p.to_numpy().argmax(axis=1)[:, None]
    of_top = [np.take_along_axis(each.to_numpy(), top, axis=1)[:, 0] for each in (outcome, p)]
    for y, q in (*zip(outcome, p, strict=True), of_top):
        found = searched(decide, y, q, columns)
        assert ({*found.columns}, found.taken, found.also) == ({"team1", "team2"}, True, ())
        assert 90 < found.n_clusters <= 124  # four pairs of teams played in two cups
        assert found.design_effect > 40


def test_a_player_is_one_in_all_forecasts_of_a_tournament(decide):
    frame = pl.read_csv(DATA / "fte_brackets/tennis_men.csv")
    columns = coded(frame, ["season", "forecast_date", "player"])
    first, third = (searched(decide, frame[f"round_{k}_outcome"], frame[f"round_{k}"], columns) for k in (1, 3))
    assert first is None  # nearly all rows are certain
    assert (third.columns, third.n_clusters, third.taken) == (("player",), 128, True)


def test_three_models_predict_each_race(decide):
    frame = pl.read_csv(DATA / "fte_review_2018/forecast_results_2018.csv").filter(pl.col("uncalled") == 0)
    columns = coded(frame, ["branch", "race", "version", "category", "forecastdate"])
    found = searched(decide, frame["Democrat_Won"], frame["Democrat_WinProbability"], columns)
    assert (found.columns, found.taken) == (("race",), True)
    assert found.design_effect == pytest.approx(2.88, abs=0.01)


def test_a_finding_is_replicated_or_not_for_all_who_predict_it(decide):
    answers = pl.read_csv(DATA / "replication_markets/survey.csv")
    findings = pl.read_csv(DATA / "replication_markets/findings.csv")
    frame = answers.join(findings, on=["project", "finding_id"]).drop_nulls(["response", "replicated"])
    columns = coded(frame, ["project", "finding_id", "forecaster_id"])
    found = searched(decide, frame["replicated"], frame["response"], columns)
    assert (found.columns, found.n_clusters, found.taken) == (("finding_id",), 103, True)
    assert found.also == ("forecaster_id",)
    markets = pl.read_csv(DATA / "replication_markets/aggregated.csv").drop_nulls()
    columns = coded(markets, ["project", "finding_id"])
    assert searched(decide, markets["replicated"], markets["final_market_price"], columns) is None
