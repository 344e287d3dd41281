"""Real forecasts from the folder named by UNPERPLEXED_DATA."""

import os
from pathlib import Path

import numpy as np
import polars as pl

from unperplexed.cli import main

DATA = Path(os.environ["UNPERPLEXED_DATA"])


def npz(name, prob, truth):
    with np.load(DATA / name) as archive:
        return archive[truth], archive[prob]


def flusight(team):
    y, p = npz(f"flusight_2015_16/{team}.npz", "probs", "labels")
    keep = ~np.isnan(p).any(axis=1)
    return y[keep], p[keep]


def games(name):
    frame = pl.read_csv(DATA / "fte_games" / name, infer_schema_length=None).filter(pl.col("prob1_outcome") != 0.5)
    return frame["prob1_outcome"].to_numpy(), frame["prob1"].to_numpy()


def worldcup(name):
    frame = pl.read_csv(DATA / "fte_worldcup" / name, infer_schema_length=None)
    columns = ["prob1", "probtie", "prob2"]
    return frame.select(f"{c}_outcome" for c in columns).to_numpy(), frame.select(columns).to_numpy()


def brackets():
    frame = pl.read_csv(DATA / "fte_brackets/tennis_men.csv")
    rounds = range(1, 8)
    y = np.concatenate([frame[f"round_{r}_outcome"].to_numpy() for r in rounds])
    return y, np.concatenate([frame[f"round_{r}"].to_numpy() for r in rounds])


def review():
    frame = pl.read_csv(DATA / "fte_review_2018/forecast_results_2018.csv").filter(pl.col("uncalled") == 0)
    return frame["Democrat_Won"].to_numpy(), frame["Democrat_WinProbability"].to_numpy()


def markets():
    frame = pl.read_csv(DATA / "replication_markets/aggregated.csv").drop_nulls()
    return frame["replicated"].to_numpy(), frame["final_market_price"].to_numpy()


def survey():
    answers = pl.read_csv(DATA / "replication_markets/survey.csv")
    findings = pl.read_csv(DATA / "replication_markets/findings.csv")
    frame = answers.join(findings, on=["project", "finding_id"]).drop_nulls(["response", "replicated"])
    return frame["replicated"].to_numpy(), frame["response"].to_numpy()


def language_models():
    frame = pl.read_parquet(next((DATA / "llm_mcqa").glob("*.parquet")), columns=["confidence_level", "grade"])
    frame = frame.filter((pl.col("grade") != "Unparseable") & pl.col("confidence_level").is_between(0, 1))
    return (frame["grade"] == "Correct").to_numpy(), frame["confidence_level"].to_numpy()


SETS = {
    "wideresnet": lambda: npz("netcal_cifar/wideresnet-16-4-cifar-10.npz", "predictions", "ground_truth"),
    "densenet": lambda: npz("netcal_cifar/densenet-bc-100-cifar-100.npz", "predictions", "ground_truth"),
    "lenet": lambda: npz("netcal_cifar/lenet-5-cifar-100.npz", "predictions", "ground_truth"),
    "vgg16": lambda: npz("vgg16_cifar10/vgg16_cifar10.npz", "probs", "labels"),
    "nba": lambda: games("nba_games.csv"),
    "nfl": lambda: games("nfl_games.csv"),
    "world cup": lambda: worldcup("world_cup_matches_men.csv"),
    "world cup in game": lambda: worldcup("world_cup_matches_in_game_men.csv"),
    "brackets": brackets,
    "review": review,
    "markets": markets,
    "survey": survey,
    "4Sight": lambda: flusight("4Sight"),
    "Delphi-Stat": lambda: flusight("Delphi-Stat"),
    "KOT": lambda: flusight("KOT"),
    "NEU": lambda: flusight("NEU"),
    "language models": language_models,
}


def run(*arguments):
    return main([str(argument) for argument in arguments])
