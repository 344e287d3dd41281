"""Help: the options that people use with a list of the others, or all of them."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterable, Mapping
from typing import NoReturn

from .options import TOPICS
from .usage import HEADINGS, USAGE

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
    if any(others.values()):
        lines += ["", "also, explained by --help-all:"]
    for topic, flags in others.items():
        if flags:
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
