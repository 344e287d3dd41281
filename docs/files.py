"""Files that the commands of README and docs name, made up so that every one of these commands is run."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl

ROWS, CLASSES = 240, 3


def make(folder: Path) -> None:
    """Write them."""
    rng = np.random.default_rng(0)
    frame = binary(rng)
    for name in ("forecasts.csv", "ingame.csv", "games.csv", "outcomes.csv", "rain.csv"):
        frame.write_csv(folder / name)
    binary(np.random.default_rng(2)).write_csv(folder / "new.csv")
    frame.write_parquet(folder / "forecasts.parquet")
    frame.select("game", "match", "date", "outcome", p="p").write_csv(folder / "ours.csv")
    frame.select("game", "match", "date", "outcome", p="p_market").write_csv(folder / "theirs.csv")
    frame.select("game", "match", "date", "outcome", p="p_market").write_parquet(folder / "theirs.parquet")
    for day in ("monday", "2026-11-20", "2026-11-21"):
        frame.write_parquet(folder / f"{day}.parquet")
    (folder / "monday.jsonl.gz").write_bytes(gzip.compress(frame.write_ndjson().encode()))
    (folder / "predictions.jsonl.gz").write_bytes(gzip.compress(frame.rename({"y": "label"}).write_ndjson().encode()))
    (folder / "data").mkdir()
    for at in range(2):
        frame[at::2].write_parquet(folder / "data" / f"{at}.parquet")
    quantiles(np.random.default_rng(3)).write_csv(folder / "demand.csv")
    several(rng, folder)
    answers(rng).write_csv(folder / "answers.csv")
    answers(rng).write_parquet(folder / "answers.parquet")


def quantiles(rng: np.random.Generator) -> pl.DataFrame:
    """Forecasts of a number by three quantiles."""
    middle = rng.normal(20, 5, ROWS).round(2)
    limits = {"q0.1": middle - 2, "q0.5": middle, "q0.9": middle + 2}
    return pl.DataFrame({"demand": (middle + rng.normal(0, 2, ROWS)).round(2), **limits})


def binary(rng: np.random.Generator) -> pl.DataFrame:
    """Forecasts of yes or no by several forecasters, under all names that pages have for them."""
    p = rng.beta(2, 2, ROWS)
    other = np.clip(p + rng.normal(0, 0.1, ROWS), 0.01, 0.99)
    happened = (rng.random(ROWS) < p).astype(int)
    rows = np.arange(ROWS)
    return pl.DataFrame(
        {
            **dict.fromkeys(("outcome", "y", "won", "rain", "happened"), happened),
            **dict.fromkeys(("p_rain", "p", "p_win", "p_elo", "p_new", "says"), p),
            **dict.fromkeys(("p_market", "p_old"), other),
            **{"game": rows, "date": rows, "match": rows // 4},
            "day": np.datetime64("2026-01-01") + rows,
            **{"season": 2020 + rows % 2, "team": rows % 3, "station": rows % 2},
        }
    )


def several(rng: np.random.Generator, folder: Path) -> None:
    """Write forecasts of several classes."""
    logits = rng.normal(0, 1.5, (2, ROWS, CLASSES))
    probs = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    labels = (probs[0].cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    columns = {"labels": labels, "logits": logits[0], "probs": probs[0], "probabilities": probs[0]}
    for name in ("predictions", "outputs"):
        np.savez(folder / name, **columns)
    for name, p in zip(("wideresnet", "vgg16"), probs, strict=True):
        np.savez(folder / name, labels=labels, probs=p)
    for name, p in zip(("ours", "theirs"), probs, strict=True):
        np.savez(folder / name, labels=labels, probs=p)
    (folder / "teams").mkdir()
    keys = {"location": np.arange(ROWS) // 60, "week": np.arange(ROWS) % 60, "horizon": np.ones(ROWS, dtype=int)}
    for name, p in zip(("one", "two"), probs, strict=True):
        np.savez(folder / "teams" / name, labels=labels, probs=p, **keys)
    (folder / "predictions").mkdir()
    parts = pl.DataFrame({"label": labels, "probabilities": pl.Series(probs[0].tolist(), dtype=pl.List(pl.Float64))})
    for at in range(2):
        parts[at::2].write_parquet(folder / "predictions" / f"part-{at}.parquet")
    won, drawn, lost = (labels == at for at in range(3))
    matches = {
        "won": won * 1,
        "drawn": drawn * 1,
        "lost": lost * 1,
        "result": np.array(["home", "draw", "away"])[labels],
    }
    given = {f"{letter}{at}": p[:, j] for letter, p in zip("pq", probs, strict=True) for j, at in enumerate("1x2")}
    pl.DataFrame(matches | given).write_csv(folder / "matches.csv")
    rounds = {f"p_round{at}": probs[0][:, at - 1] for at in (1, 2)} | {f"round_{at}": probs[0][:, at] for at in (1, 2)}
    reached = {f"{name}{at}": won * 1 for name in ("won_round", "reached_") for at in (1, 2)}
    (folder / "export.csv").write_text("rain,chance\n" + "1,90 %\n0,10 %\n#N/A,50 %\n1,-\n0,soon\n" * 20)
    tokens = np.random.default_rng(1)
    for name, mean in (("small", -1.2), ("large", -1.0)):
        lines = [{"doc": doc, "bytes": 40, "logprobs": tokens.normal(mean, 0.2, 12).tolist()} for doc in range(40)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    for name in ("tournament.csv", "players.csv"):
        pl.DataFrame(rounds | reached).write_csv(folder / name)


def answers(rng: np.random.Generator) -> pl.DataFrame:
    """Answers of two models to the same questions."""
    p = rng.beta(3, 1, ROWS)
    right = np.repeat(rng.random(ROWS // 2) < 0.7, 2)
    return pl.DataFrame(
        {
            "question": np.arange(ROWS) // 2,
            "model": np.array(["one", "two"])[np.arange(ROWS) % 2],
            "prompt": np.array(["plain", "step by step"])[np.arange(ROWS) // 2 % 2],
            "p": p,
            "confidence": p,
            "right": right * 1,
            "grade": np.where(right, "Correct", "Wrong"),
        }
    )
