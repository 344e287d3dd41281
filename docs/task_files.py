"""Small files like those that people bring, for the commands of docs/do/tasks.md: all made up, each in its form."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl

from unperplexed import Tally


def make(folder: Path) -> None:
    """Write them."""
    for seed, part in enumerate((weather, games, loans, patients, network, logs, days)):
        part(folder, np.random.default_rng(seed))


def logistic(x: np.ndarray) -> np.ndarray:
    """Give the probability of log-odds."""
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray) -> np.ndarray:
    """Give the probabilities of each row's logits."""
    p = np.exp(x - x.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def drawn(rng: np.random.Generator, p: np.ndarray) -> np.ndarray:
    """Draw the class of each row."""
    return (p.cumsum(axis=1) < rng.random((len(p), 1))).sum(axis=1)


def weather(folder: Path, rng: np.random.Generator) -> None:
    """Write two years of rain by four forecasters at three leads, three ordered classes, and tomorrow."""
    day = np.arange(730).repeat(3)
    lead = np.tile([1, 3, 5], 730)
    truth = -0.8 + 0.6 * np.cos(day / 58) + rng.normal(size=730)[day]
    rain = rng.random(len(day)) < logistic(2 * truth)
    dates = np.datetime64("2024-01-01") + day
    rows = {"date": dates, "lead": lead, "rain": rain * 1}
    for at, name in enumerate(("gfs", "ecmwf", "icon", "mos")):
        rows[name] = logistic((1.2 + 0.2 * at) * (truth + rng.normal(0, 0.3 + lead / 8))).round(3)
    pl.DataFrame(rows).write_csv(folder / "rain.csv")
    pl.DataFrame(rows).drop("rain").head(9).write_csv(folder / "tomorrow.csv")
    p = softmax(np.column_stack([-truth, np.zeros(len(day)), truth - 1]) * 1.5)
    classes = np.array(["dry", "light", "heavy"])[drawn(rng, p)]
    amounts = {"dry": p[:, 0], "light": p[:, 1], "heavy": p[:, 2]}
    pl.DataFrame({"date": dates, "lead": lead, "amount": classes, **amounts}).write_csv(folder / "amounts.csv")


def games(folder: Path, rng: np.random.Generator) -> None:
    """Write games of three seasons, and a bracket: a team a row, with the probability of each round and its outcome."""
    n = 900
    strength = rng.normal(size=n)
    rows = {
        "date": np.datetime64("2023-10-01") + np.arange(n) * 10 // 9,
        "season": 2023 + np.arange(n) // 300,
        "round": np.array(["group", "knockout"])[np.arange(n) % 300 // 240],
        "p": logistic(1.3 * strength).round(3),
        "market": logistic(strength + rng.normal(0, 0.2, n)).round(3),
        "won": (rng.random(n) < logistic(strength)) * 1,
    }
    pl.DataFrame(rows).write_csv(folder / "nba.csv")
    team = np.arange(32).repeat(6)
    chance = logistic(rng.normal(size=192))
    bracket: dict[str, np.ndarray] = {"team": team, "day": np.tile(np.arange(6), 32)}
    for at, name in enumerate(("quarterfinal", "semifinal", "final")):
        p = (chance ** (at + 1)).round(3)
        p[bracket["day"] > 4 - at] = p[bracket["day"] > 4 - at] > 0.5
        bracket |= {name: p, f"{name}_outcome": (rng.random(192) < p) * 1}
    pl.DataFrame(bracket).write_csv(folder / "bracket.csv")


def loans(folder: Path, rng: np.random.Generator) -> None:
    """Write payments with fraud scores, of which the class was weighted in training, and those of the next month."""
    n = 4000
    risk = rng.normal(-3.2, 1.2, n)
    rows = {
        "day": np.datetime64("2026-01-01") + np.arange(n) // 50,
        "segment": np.array(["card", "transfer", "wallet"])[rng.integers(0, 3, n)],
        "amount": rng.lognormal(4, 1, n).round(2),
        "score": logistic(risk + 1.5).round(4),
        "fraud": (rng.random(n) < logistic(risk)) * 1,
    }
    frame = pl.DataFrame(rows)
    frame.write_csv(folder / "payments.csv")
    frame.drop("fraud").tail(500).write_csv(folder / "new_payments.csv")


def patients(folder: Path, rng: np.random.Generator) -> None:
    """Write a validation of a risk score in eight hospitals."""
    n = 1600
    hospital = rng.integers(0, 8, n)
    x = rng.normal(-1.2, 1.1, n)
    died = rng.random(n) < logistic(0.8 * x + rng.normal(0.2, 0.25, 8)[hospital])
    rows = {"hospital": hospital, "age": rng.integers(30, 90, n), "risk": logistic(x).round(4), "died": died * 1}
    pl.DataFrame(rows).write_csv(folder / "patients.csv")


def network(folder: Path, rng: np.random.Generator) -> None:
    """Write logits and labels of a test set and of rows from elsewhere, and tallies that two processes counted."""
    logits = rng.normal(0, 2, (900, 5))
    labels = drawn(rng, softmax(logits / 1.6))
    np.savez(folder / "net.npz", logits=logits, labels=labels)
    np.save(folder / "logits.npy", logits)
    np.save(folder / "labels.npy", labels)
    source = np.where(np.arange(900) < 700, "photos", "drawings")
    for at in range(2):
        Tally.of(labels[at::2], softmax(logits)[at::2]).save(folder / f"rank{at}.tally")
    columns = {f"p_{at}": p for at, p in enumerate(softmax(logits).T)}
    pl.DataFrame({"source": source, "label": labels, **columns}).write_parquet(folder / "images.parquet")


def logs(folder: Path, rng: np.random.Generator) -> None:
    """Write logs of language models: tasks with options, texts, stated confidences, answers of an API and their key."""
    targets = {task: rng.integers(0, 4, 120).tolist() for task in ("arithmetic", "capitals")}
    for model, skill in (("base", 0.8), ("tuned", 1.6)):
        (folder / model).mkdir()
        for task, right in targets.items():
            lines = "\n".join(json.dumps(question(rng, at, target, skill)) for at, target in enumerate(right))
            (folder / model / f"samples_{task}_2026-11-01T00-00-00.jsonl").write_text(lines)
        texts = np.random.default_rng(len(model))
        lines = "\n".join(
            json.dumps({"doc": at, "bytes": 60, "logprobs": texts.normal(-1.4 + skill / 4, 0.2, 15).tolist()})
            for at in range(60)
        )
        (folder / f"{model}.jsonl").write_text(lines)
    row = np.arange(600)
    right = rng.random(600) < 0.7
    p = np.where(right, rng.beta(6, 1, 600), rng.beta(4, 2, 600))
    answers = {
        "question": row // 6,
        "model": np.array(["base", "tuned"])[row % 2],
        "reply": [f"The answer is {at % 7}. I am {100 * each:.0f}% confident." for at, each in enumerate(p)],
        "answer": np.where(right, "Paris", np.array(["Rome", "Bonn"])[rng.integers(0, 2, 600)]),
        "grade": np.where(right, "Correct", "Wrong"),
        "context": np.array(["4k", "64k"])[row // 6 % 2],
    }
    pl.DataFrame(answers).write_csv(folder / "samples.csv")
    pl.DataFrame(answers)[:600:6].vstack(pl.DataFrame(answers)[1::6]).write_csv(folder / "answers.csv")
    letters = "ABCD"
    key = {f"q{at}": letters[int(rng.integers(4))] for at in range(150)}
    (folder / "key.json").write_text(json.dumps(key))
    (folder / "batch.jsonl").write_text("\n".join(json.dumps(answered(rng, *each)) for each in key.items()))
    columns = zip(rng.integers(0, 2, 300), softmax(rng.normal(0, 1, (300, 2))), strict=True)
    spaced = "\n".join(f"{label} {a:.4f} {b:.4f}" for label, (a, b) in columns)
    (folder / "public.txt").write_text(f"label p0 p1\n{spaced}\n")


def question(rng: np.random.Generator, at: int, target: int, skill: float) -> dict[str, object]:
    """Give a question with four options, as lm-evaluation-harness logs it."""
    log_probs = np.log(softmax(rng.normal(skill * (np.arange(4) == target), 1)[None])[0])
    responses = [[f"{x}", "False"] for x in log_probs]
    return {
        "doc_id": at,
        "arguments": {f"gen_args_{k}": {"arg_0": f"Question {at}", "arg_1": f" {k}"} for k in range(4)},
        "resps": [[each] for each in responses],
        "filtered_resps": responses,
        "filter": "none",
        "target": str(target),
        "metrics": ["acc"],
        "acc": float(log_probs.argmax() == target),
    }


def answered(rng: np.random.Generator, name: str, letter: str) -> dict[str, object]:
    """Give a line of a batch's output: one letter, with the most probable tokens."""
    p = softmax(rng.normal(1.2 * (np.array(list("ABCD")) == letter), 1)[None])[0] * 0.97
    top = sorted(({"token": t, "logprob": float(np.log(x))} for t, x in zip("ABCD", p, strict=True)), key=logprob)
    content = [{**top[0], "bytes": [ord(top[0]["token"])], "top_logprobs": top}]
    message = {"role": "assistant", "content": top[0]["token"]}
    choices = [{"index": 0, "message": message, "logprobs": {"content": content}, "finish_reason": "stop"}]
    return {
        "custom_id": name,
        "response": {"status_code": 200, "body": {"object": "chat.completion", "choices": choices}},
    }


def logprob(entry: dict[str, object]) -> float:
    """Order tokens, the most probable first."""
    return -float(str(entry["logprob"]))


def days(folder: Path, rng: np.random.Generator) -> None:
    """Write a table in partitions by day."""
    for day in range(1, 15):
        place = folder / "lake" / f"dt=2026-10-{day:02}"
        place.mkdir(parents=True)
        x = rng.normal(-1, 1, 200)
        y = (rng.random(200) < logistic(x)) * 1
        pl.DataFrame({"p": logistic(x), "y": y, "region": rng.integers(0, 3, 200)}).write_parquet(place / "0.parquet")
