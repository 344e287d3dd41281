"""What commands read of their words, and what they print, refuse and write, beside what is kept."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, ndtri, softmax

from kept import same_as_kept
from unperplexed import Tally
from unperplexed.cli import former, help
from unperplexed.cli.parser import _COMMANDS, _parsed, _parser, _subparsers, main

KEPT = Path(__file__).with_name("commands.json")

pytestmark = pytest.mark.usefixtures("equal_rows_are_fitted_once")


def table(path, columns, separator=","):
    rows = [
        [f"{each:.6g}" if isinstance(each, float) else str(each) for each in row]
        for row in zip(*columns.values(), strict=True)
    ]
    path.write_text("\n".join(separator.join(row) for row in [[*columns], *rows]) + "\n", "utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forecasts of two classes, of three and of a number, their tallies, and logs of two models."""
    at, rng, n = tmp_path_factory.mktemp("kept"), np.random.default_rng(7), 240
    s = np.round(rng.normal(0, 1.6, n), 2)
    y = (rng.random(n) < expit(0.6 * s + 0.3)).astype(int)
    days = np.datetime64("2026-01-05") + np.arange(n) // 4
    common = {
        "y": y,
        "p": np.round(expit(s), 4),
        "q": np.round(expit(0.4 * s + 0.4), 4),
        "site": np.array(list("abc"))[np.arange(n) % 3],
    }
    common |= {
        "day": days,
        "match": np.arange(n) // 5,
        "w": rng.integers(1, 4, n),
        "id": np.arange(n),
        "cost": rng.integers(1, 9, n),
    }
    table(at / "two.csv", {name: each.tolist() for name, each in common.items()})
    table(at / "half.csv", {name: each[:120].tolist() for name, each in common.items()})
    table(
        at / "comma.csv",
        {"y": ["ja" if each else "nein" for each in y], "p": [str(each).replace(".", ",") for each in common["p"]]},
        ";",
    )
    p = np.round(softmax(rng.normal(0, 1.7, (n, 3)), axis=1), 4)
    of = np.array(["x", "y", "z"])[(np.cumsum(0.7 * p + 0.1, axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=2)]
    table(
        at / "three.csv",
        {
            "of": of,
            "p_x": p[:, 0].tolist(),
            "p_y": p[:, 1].tolist(),
            "p_z": (1 - p[:, 0] - p[:, 1]).round(4).tolist(),
            "site": common["site"],
        },
    )
    mean, sd = np.round(rng.normal(10, 3, n), 1), np.round(0.5 + rng.random(n), 2)
    z = ndtri([0.1, 0.5, 0.9])
    q = np.round(mean[:, None] + sd[:, None] * z, 3)
    table(
        at / "number.csv",
        {
            "y": np.round(mean + 1.3 * sd * rng.normal(size=n), 2).tolist(),
            "mu": mean.tolist(),
            "sd": sd.tolist(),
            **{f"q{k}": q[:, i].tolist() for i, k in enumerate((10, 50, 90))},
            "site": common["site"],
            "day": days,
            "id": np.arange(n),
        },
    )
    for name, part in {"first": slice(0, 80), "second": slice(80, 160), "third": slice(160, n)}.items():
        Tally.of(y[part], common["p"][part], parts=["classes", "shards"]).tagged(model="m1", period=name).save(
            at / f"{name}.tally"
        )
    Tally.of(of, p, labels=["x", "y", "z"]).save(at / "three.tally")
    for name, shift in {"one": 0.0, "two": 0.3}.items():
        lines = [
            {
                "question": f"q{i // 3}",
                "answer": "AB"[(i + i // 7) % 2],
                "correct": int((i * 7) % 10 < 6 + 5 * shift),
                "confidence": round(0.5 + (i * 13 % 50) / 100, 2),
                "model": name,
            }
            for i in range(90)
        ]
        table(at / f"{name}-graded.csv", {key: [each[key] for each in lines] for key in lines[0]})
    texts = [
        {"tokens": ["a", "b", "c"], "token_logprobs": [None, -0.5 - i % 3, -1.25], "text": "abc"} for i in range(12)
    ]
    (at / "texts.jsonl").write_text("\n".join(map(json.dumps, texts)), "utf-8")
    return at


def lines_of(text, folder):
    return text.replace(str(folder), "FOLDER").splitlines()


def ran(words, folder, capsys):
    """Give what a command prints, and what it ends with."""
    try:
        code = main(shlex.split(words))
    except SystemExit as ended:
        code = f"exit {ended.code}"
    out, err = capsys.readouterr()
    return {"code": code, "out": lines_of(out, folder), "err": lines_of(err, folder)}


TWO = "two.csv --truth y --prob p"
NUMBER = "number.csv --truth y --distribution normal mean=mu sd=sd --clusters none"
RUNS = {}
for line in Path(__file__).with_name("commands.txt").read_text("utf-8").splitlines():
    if line.startswith("["):
        RUNS[line[1:-1]] = []
    else:
        RUNS[[*RUNS][-1]].append(line.replace("TWO", TWO).replace("NUMBER", NUMBER))


@pytest.mark.parametrize("name", RUNS)
def test_what_commands_print(name, folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    same_as_kept(KEPT, f"run {name}", {words: ran(words, folder, capsys) for words in RUNS[name]})


@pytest.mark.parametrize(
    "words", ["--clusters none", "--floor 0.02 0.98", "--lag 14:a,b", "--costs fp=1 fn=x", "--capacity 9:day"]
)
def test_what_words_mean(words):
    """Defaults of all commands, and what an option is read as."""
    found, needed = {}, {"plan": "--rate 0.5", "pool": "x -o y", "recalibrate": "x -o y", "explain": "", "demo": ""}
    for command in _COMMANDS:
        parser = _parser(command)
        known = {flag for action in next(_subparsers(parser))._actions for flag in action.option_strings}
        if words.split()[0] in known and not (" 0.98" in words and command != "assess"):
            parsed = vars(_parsed(parser, f"{command} {needed.get(command, 'x')} {words}".split()))
            found[command] = [
                f"{name} {value}"
                for name, value in sorted(parsed.items())
                if name not in ("kept", "style", "command", "words") and value
            ]
    same_as_kept(KEPT, f"meaning {words}", found)


def test_former_names_lead_to_names_that_there_are():
    said = []
    for words in (
        ["recalibrate", "--cv"],
        ["assess", "--BINS"],
        ["tally", "--exact_limit=3"],
        ["lm", "--percent"],
        ["check", "--gate"],
        ["pool", "--weights"],
        ["monitor", "--since"],
        ["assess", "-x"],
    ):
        parser = _parser(words[0])
        known = {flag for action in next(_subparsers(parser))._actions for flag in action.option_strings}
        said.append(former._refused(words[0], words[1].partition("=")[0], known))
    same_as_kept(KEPT, "former", said)


@pytest.mark.parametrize("command", ["decide", "explain"])
def test_help_of_commands(command):
    parser = next(_subparsers(_parser(command)))
    same_as_kept(KEPT, f"help {command}", help.command_help(parser).splitlines())
