"""Help: the options that people use with a list of the others, or all of them."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Mapping
from typing import NamedTuple, NoReturn

from .options import TOPICS

_WIDTH, _COLUMN = 80, 25
"""Columns of a line, and the one in which explanations begin."""

EXIT_CODES = """\
exit codes:
  0    done, and every output written (also if the forecasts are bad)
  1    check: a requirement is not met; monitor: there is an alarm
  2    input, arguments or output path cannot be used; nothing was written
  130  interrupted (129, 143: ended from outside); nothing was half-written
"""
_WITH_EXIT_CODES = ("check", "monitor")


class HelpAll(argparse.Action):
    """Prints the help of all options, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        """Print it."""
        print(_whole(parser), end="")
        parser.exit()


def program_help(texts: Mapping[str, str]) -> str:
    """Give the help of the program, with a text for each command."""
    lines = [
        "usage: unperplexed COMMAND FILE ... [options]",
        "",
        "Predicted probabilities against what happened: what is wrong, what it costs in",
        "nats, and what mends it.",
        "",
        "  unperplexed demo",
        "  unperplexed assess FILE --truth COLUMN --prob COLUMN",
    ]
    for heading, commands in HEADINGS.items():
        lines += ["", heading]
        for name in commands:
            lines += _wrapped(texts[name], f"  {name:13}", " " * 15)
    lines += [
        "",
        "  COMMAND --help      the options that people use",
        "  COMMAND --help-all  all options",
        "  --version, --completion {bash,zsh}",
        "",
        EXIT_CODES,
    ]
    return "\n".join(lines)


def command_help(command: argparse.ArgumentParser) -> str:
    """Give the help of a command: the options that people use, and the names of the others."""
    name = command.get_default("command")
    usual = [command._option_string_actions[flag] for flag in USAGE[name].usual.split()]
    lines = [*_head(name), "", _explained([*_positional(command), *usual])]
    others = {topic: _flags(found, usual) for topic, found in _by_topic(command).items()}
    others = {topic: flags for topic, flags in others.items() if flags}
    lines += ["", "also, explained by --help-all:"] if others else []
    for topic, flags in others.items():
        lines += _wrapped(" ".join(flags), f"  {topic:10}", " " * 12)
    return "\n".join([*lines, "", *_tail(name)])


def _whole(command: argparse.ArgumentParser) -> str:
    """Give the help of a command with all options, by topic."""
    name = command.get_default("command")
    lines = [*_head(name), "", _explained(_positional(command))]
    for topic, found in _by_topic(command).items():
        lines += ["", f"{topic}:", _explained(found)]
    return "\n".join([*lines, "", *_tail(name)])


def _head(name: str) -> list[str]:
    told = USAGE[name]
    calls = [" ".join(filter(None, ["unperplexed", name, words])) for words in told.calls]
    lines = [f"{'       ' if at else 'usage: '}{call}" for at, call in enumerate(calls)]
    return [*lines, "", *_wrapped(told.does), "", *(f"  unperplexed {each}" for each in told.examples)]


def _tail(name: str) -> list[str]:
    return [f"See also: {USAGE[name].also}", *(["", EXIT_CODES] if name in _WITH_EXIT_CODES else [""])]


def _wrapped(words: str, first: str = "", later: str = "", width: int = _WIDTH) -> list[str]:
    return textwrap.wrap(words, width, initial_indent=first, subsequent_indent=later, break_on_hyphens=False)


def _positional(command: argparse.ArgumentParser) -> list[argparse.Action]:
    return [action for action in command._actions if not action.option_strings]


def _by_topic(command: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    groups = {group.title: group._group_actions for group in command._action_groups}
    return {topic: groups[topic] for topic in TOPICS if topic in groups}


def _flags(actions: Iterable[argparse.Action], without: Iterable[argparse.Action]) -> list[str]:
    shown = list(without)
    return [action.option_strings[-1] for action in actions if action not in shown]


def _explained(actions: Iterable[argparse.Action]) -> str:
    formatter = _Formatter("", max_help_position=_COLUMN, width=_WIDTH)
    formatter.start_section(None)
    formatter.add_arguments(actions)
    formatter.end_section()
    return formatter.format_help().rstrip("\n")


class _Formatter(argparse.HelpFormatter):
    """Names an option once, with its value behind all spellings: "-o, --output PATH", and a list as "COLUMN ..."."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        value = self._format_args(action, self._get_default_metavar_for_optional(action)) if action.nargs != 0 else ""
        names = ", ".join(action.option_strings)
        return " ".join(filter(None, [names, value])) if names else str(action.metavar)

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        [value, *_] = self._metavar_formatter(action, default_metavar)(1)
        return f"{value} ..." if action.nargs in ("+", "*") else str(value)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _wrapped(" ".join(text.split()), width=width)


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
            "assess load.csv --truth load --quantiles 'q*' --by horizon",
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
            "compare --hub model-output --target-data truth.csv --common",
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
        "--truth --prob --apply --method --prevalence --by --as --where --clusters --report --output",
        "assess, decide, 'unperplexed explain recalibration map'",
    ),
    "pool": Usage(
        ["FILE --truth COLUMN --forecaster A=COLUMN ... -o POOL", "NEW --apply POOL -o NEWER"],
        "Combine several forecasters into one, or apply such a pool to their new forecasts.",
        [
            "pool rain.csv --truth rain --forecaster a=p1 b=p2 -o pool.json",
            "pool new.csv --apply pool.json -o pooled.csv",
        ],
        "--truth --forecaster --prob --on --in-order --apply --method --as --clusters --report --output",
        "compare, recalibrate",
    ),
    "where": Usage(
        [f"{_READ} --among COLUMN"],
        "Search for groups of rows in which forecasts are wrong, beyond the error that all rows share.",
        ["where scores.csv --truth y --prob p --among age sex -o groups.json"],
        "--truth --prob --among --max-groups --where --clusters --plot --report --json --output",
        "assess, recalibrate",
    ),
    "decide": Usage(
        [f"{_READ} [options]"],
        "Choose the threshold of least expected cost, and see what decisions there cost.",
        [
            "decide fraud.csv --truth y --prob p --costs fp=1 fn=9",
            "decide f.csv --truth y --prob p --capacity 100:day",
            "decide cohort.csv --truth died --prob p --thresholds 0.05 0.3",
        ],
        "--truth --prob --costs --capacity --thresholds --where --clusters --plot --report --json",
        "recalibrate, assess",
    ),
    "plan": Usage(
        ["--rate P --bias SIZE", "--rate P --auc AUC --precision METRIC=WIDTH ..."],
        "Sample size of a validation: how many rows you need for intervals of a width (Riley et al. 2021: O/E,"
        " calibration slope, c-statistic, net benefit), or to see a bias or a wrong slope.",
        ["plan --rate 0.1 --bias 0.02", "plan --rate 0.1 --auc 0.75 --precision oe=0.2 slope=0.3"],
        "--rate --auc --bias --slope --precision --thresholds --power --design-effect --json",
        "assess, decide",
    ),
    "check": Usage(
        [f"{_READ} --require TEXT", "candidate.tally --earlier released.tally"],
        "A gate: exit code 1 if forecasts do not meet a requirement, or have become worse than earlier ones.",
        [
            "check fraud.csv --truth y --prob p --require 'log_loss < 0.4'",
            "check new.csv --truth y --prob p --earlier old.csv --on id",
        ],
        "--truth --prob --require --min-effect --earlier --on --where --clusters --junit --json",
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
        "--truth --prob --time --by --require --history --rebuild --drift --report",
        "check, tally",
    ),
    "lm": Usage(
        ["LOG ...", "LOG --compare OTHER_LOG", "TABLE --truth GRADE --stated CONFIDENCE --by MODEL"],
        "Logs of language models: perplexity and bits per byte, questions with options, stated confidences; two models"
        " compared.",
        [
            "lm samples.jsonl --report model.html",
            "lm new.jsonl --compare old.jsonl",
            "lm batch_output.jsonl --truth gold.json",
            "lm answers.csv --truth grade --stated confidence --by model",
        ],
        "--compare --truth --stated --question --answer --by --report --json",
        "assess, compare",
    ),
    "tally": Usage(
        [f"{_READ} -o counts.tally", "TALLY TALLY ... -o sum.tally", "TALLY"],
        "Count rows into a small file, which adds up with others and is assessed like rows; add such files up, or show"
        " one. Of files without outcomes it counts the predictions, for tests of drift.",
        ["tally day1.parquet --truth y --prob p -o day1.tally", "tally 'days/*.tally' -o year.tally"],
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
    "how good are they, and what is wrong?": ("assess", "compare", "skill", "where", "lm"),
    "better forecasts": ("recalibrate", "pool"),
    "decisions": ("decide", "plan"),
    "jobs": ("check", "monitor", "tally"),
    "learn": ("explain", "demo"),
}
"""What commands are for."""
