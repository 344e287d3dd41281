"""The tables of commands and options in the page of the command line, made from the program's own help."""

from __future__ import annotations

import argparse
from collections import Counter
from functools import cache

from unperplexed.cli.options import TOPICS
from unperplexed.cli.parser import _parser

PAGE = "reference/cli"
COMMANDS, OPTIONS = "<!-- table of the commands -->", "<!-- tables of the options -->"


def add(app, name, source):
    """Put the tables into the page that Sphinx reads."""
    if name == PAGE:
        source[0] = with_tables(source[0])


def with_tables(text: str) -> str:
    """Give the page with its tables."""
    return text.replace(COMMANDS, commands()).replace(OPTIONS, options())


def parsers() -> dict[str, argparse.ArgumentParser]:
    """Parsers of the commands, by name."""
    return dict(_subparsers().choices)


def commands() -> str:
    """Each command with what it does."""
    rows = [f"| `{each.dest}` | {_words(each.help or '')} |" for each in _subparsers()._choices_actions]
    return "\n".join(["| command | what it does |", "|---|---|", *rows])


def options() -> str:
    """Each option once for each meaning, with the commands that have it, in the groups of the help."""
    groups: dict[str, dict[tuple[str, str], list[str]]] = {}
    for command, parser in parsers().items():
        helps = argparse.HelpFormatter(command)
        for group in parser._action_groups:
            for action in group._group_actions:
                if (
                    action.option_strings
                    and action.help not in (None, argparse.SUPPRESS)
                    and action.dest not in ("help", "help_all")
                ):
                    row = _names(action), _words(helps._expand_help(action))
                    groups.setdefault(group.title or "", {}).setdefault(row, []).append(command)
    parts = []
    for title in TOPICS:
        rows = {row: _for(having) for row, having in groups[title].items()}
        [(usual, _)] = Counter(rows.values()).most_common(1)
        parts += [
            f"### {title.capitalize()}",
            f"For {usual}, unless the row names other commands." if len({*rows.values()}) > 1 else f"For {usual}.",
            "\n".join(
                ["| option | meaning |", "|---|---|"]
                + [f"| {names} | {'' if of == usual else f'{of}: '}{text} |" for (names, text), of in rows.items()]
            ),
        ]
    return "\n\n".join(parts)


@cache
def _subparsers() -> argparse._SubParsersAction:
    [found] = (action for action in _parser()._actions if isinstance(action, argparse._SubParsersAction))
    return found


def _names(action: argparse.Action) -> str:
    value = ""
    if action.nargs != 0:
        choices = [] if action.choices is None else [str(each) for each in action.choices]
        value = " " + ("\\|".join(choices) if choices else str(action.metavar or action.dest.upper()))
        value += " ..." if action.nargs in ("+", "*") else ""
    return ", ".join(f"`{name}{value}`" for name in action.option_strings)


def _for(having: list[str]) -> str:
    others = [command for command in parsers() if command not in having]
    if not others:
        return "all commands"
    named, start = (others, "all commands but ") if len(others) < 6 else (having, "")
    return start + ", ".join(f"`{each}`" for each in named)


def _words(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "\\<")
