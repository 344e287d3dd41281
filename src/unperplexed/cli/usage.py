"""What the help of each command begins with: its usual calls, what it does, examples, and the options people use."""

from __future__ import annotations

from typing import NamedTuple


class Usage(NamedTuple):
    """The words of a command's help."""

    calls: list[str]
    """Arguments of its usual calls."""
    does: str
    examples: list[str]
    usual: str
    """Options that its help explains; the others are named there, and explained by --help-all."""
    also: str
    """What to read next."""


_READ = "FILE ... --truth COLUMN --prob COLUMN"

USAGE = {
    "assess": Usage(
        [f"{_READ} [options]"],
        "Assess forecasts: what is wrong, what it costs, what mends it, and how good they are.",
        [
            "assess rain.csv --truth rain --prob p --report rain.html",
            "assess nba.csv --truth won --prob p --by season",
            "assess net.npz --truth labels --prob logits --scale logits",
        ],
        "--truth --prob --where --clusters --by --show --plot --report --json --reading",
        "compare, recalibrate, 'unperplexed explain calibration slope'",
    ),
    "compare": Usage(
        [
            "FILE --truth COLUMN --forecaster NAME=COLUMN ...",
            "FILE --truth COLUMN --prob COLUMN --forecaster COLUMN",
            "NAME=FILE NAME=FILE --truth COLUMN --prob COLUMN",
        ],
        "Compare forecasters on the same rows: who is better, by how much, and whether that is chance. Differences are"
        " paired; p-values are adjusted for all pairs.",
        [
            "compare rain.csv --truth rain --forecaster ours=p1 theirs=p2",
            "compare long.csv --truth won --prob p --forecaster model --on id",
            "compare a=a.csv b=b.csv --truth y --prob 'p_*' --on id",
        ],
        "--truth --forecaster --prob --on --where --clusters --by --plot --report --json --reading",
        "skill, pool, 'unperplexed explain log loss'",
    ),
    "skill": Usage(
        [f"{_READ} --reference WHAT"],
        "Skill scores of forecasts against the base rate, a climatology or another forecaster, with paired intervals.",
        [
            "skill rain.csv --truth rain --prob p --reference climatology:site",
            "skill rain.csv --truth rain --forecaster a=p1 b=p2 --reference b",
        ],
        "--truth --prob --reference --forecaster --on --where --clusters --by --plot --report --json --reading",
        "compare, assess, 'unperplexed explain skill'",
    ),
    "recalibrate": Usage(
        [f"{_READ} -o map.json", "NEW --apply map.json -o NEWER"],
        "Fit a map from predicted to better calibrated probabilities to forecasts with outcomes, or apply one to new"
        " forecasts.",
        [
            "recalibrate 2025.csv --truth rain --prob p -o map.json",
            "recalibrate live.csv --apply map.json -o better.csv",
        ],
        "--truth --prob --apply --method --by --as --where --clusters --report --output",
        "assess, decide, 'unperplexed explain recalibration map'",
    ),
    "pool": Usage(
        [
            "FILE --truth COLUMN --forecaster A=COLUMN ... -o POOL",
            "NEW --apply POOL -o NEWER",
        ],
        "Combine several forecasters into one, or apply such a pool to their new forecasts.",
        [
            "pool rain.csv --truth rain --forecaster a=p1 b=p2 -o pool.json",
            "pool new.csv --apply pool.json -o pooled.csv",
        ],
        "--truth --forecaster --prob --on --in-order --apply --method --as --clusters --report --output",
        "compare, recalibrate",
    ),
    "decide": Usage(
        [f"{_READ} [options]"],
        "Choose the threshold of least expected cost, and see what decisions there cost.",
        ["decide fraud.csv --truth y --prob p --costs fp=1 fn=9"],
        "--truth --prob --costs --where --clusters --plot --report --json",
        "recalibrate, assess",
    ),
    "check": Usage(
        [
            f"{_READ} --require TEXT",
            "candidate.tally --earlier released.tally",
        ],
        "A gate: exit code 1 if forecasts do not meet a requirement, or have become worse than earlier ones.",
        [
            "check fraud.csv --truth y --prob p --require 'log_loss < 0.4'",
            "check new.csv --truth y --prob p --earlier old.csv --on id",
        ],
        "--truth --prob --require --earlier --on --where --clusters --summary --junit --json",
        "monitor, assess",
    ),
    "monitor": Usage(
        [
            "FILE ... --truth COLUMN --prob COLUMN --time COLUMN",
            "'days/*.tally' --history history.json",
            "FILE ... --prob COLUMN --time COLUMN --drift",
        ],
        "Watch calibration over time: an alarm when it broke, and since when. The exit code is 1 if there is an alarm.",
        [
            "monitor loans.csv --truth default --prob p --time date:week",
            "monitor 'days/*.tally' --history history.json --report watch.html",
        ],
        "--truth --prob --time --by --clusters --require --history --drift --report",
        "check, tally",
    ),
    "lm": Usage(
        ["LOG ...", "LOG --compare OTHER_LOG", "TABLE --truth GRADE --stated CONFIDENCE --by MODEL"],
        "Logs of language models: perplexity and bits per byte, questions with options, stated confidences; two models"
        " compared.",
        [
            "lm samples.jsonl --report model.html",
            "lm new.jsonl --compare old.jsonl",
            "lm answers.csv --truth grade --stated confidence --by model",
        ],
        "--compare --truth --stated --question --answer --by --report --json",
        "assess, compare",
    ),
    "tally": Usage(
        [f"{_READ} -o counts.tally", "TALLY TALLY ... -o sum.tally", "TALLY"],
        "Count rows into a small file, which adds up with others and is assessed like rows; add such files up, or show"
        " one.",
        [
            "tally day1.parquet --truth y --prob p -o day1.tally",
            "tally 'days/*.tally' -o year.tally",
        ],
        "--truth --prob --where --clusters --parts --tag --mixed --json --output",
        "assess, monitor",
    ),
    "explain": Usage(
        ["", "overconfident", "log loss"],
        "Explain a metric or finding: why it is bad, what to try, how to check.",
        ["explain overconfident"],
        "",
        "assess",
    ),
    "demo": Usage(
        [""],
        "Assess a classifier of handwritten digits.",
        ["demo --report digits.html"],
        "--plot --report --json",
        "assess",
    ),
}
"""The words of each command's help."""

HEADINGS = {
    "how good are they, and what is wrong?": ("assess", "compare", "skill", "lm"),
    "better forecasts": ("recalibrate", "pool"),
    "decisions": ("decide",),
    "jobs": ("check", "monitor", "tally"),
    "learn": ("explain", "demo"),
}
"""What commands are for."""
