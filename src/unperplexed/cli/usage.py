"""Usual calls of each command, which begin its help; a list of all options would fill the screen."""

from __future__ import annotations

_READ = "FILE ... --truth COLUMN --prob COLUMN"

USAGE = {
    "assess": [_READ],
    "compare": [
        "OURS THEIRS --on COLUMN --truth COLUMN --prob COLUMN",
        "FILE --forecast NAME=COLUMN ... --truth COLUMN",
    ],
    "skill": [f"{_READ} --baseline WHAT"],
    "recalibrate": [f"{_READ} -o map.json", "--apply map.json NEW.csv --prob COLUMN -o new.csv"],
    "pool": [
        "FILE --truth COLUMN --forecast A=COLUMN ... -o pool.json",
        "--apply pool.json FILE --forecast A=COLUMN ... -o NEW",
    ],
    "decide": ["FILE --truth COLUMN --prob COLUMN --cost-fp 1 --cost-fn 9"],
    "check": [
        "FILE --truth COLUMN --prob COLUMN --require 'auc > 0.8'",
        "candidate.tally --baseline released.tally",
    ],
    "monitor": [
        "FILE --truth COLUMN --prob COLUMN --time DATE --every 1d",
        "'days/*.tally' --history history.json",
        "FILE --prob COLUMN --time DATE --drift",
    ],
    "lm": [
        "LOG ...",
        "LOG --compare OTHER_LOG",
        "TABLE --truth GRADE --stated CONFIDENCE --by MODEL",
    ],
    "tally": [f"{_READ} -o counts.tally", "TALLY TALLY ... -o sum.tally", "TALLY"],
    "explain": ["", "overconfident", "log loss"],
    "demo": [""],
}
"""Arguments of the usual calls of each command."""


def usage(name: str) -> str:
    """Give the usual calls of a command, each in a line."""
    lines = [" ".join(filter(None, ["unperplexed", name, words])) for words in USAGE[name]]
    return "\n       ".join(lines)
