"""The command line: arguments only. Parse, call, print."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, TypeAlias

from .._lib.errors import InputError
from .._lib.formatting import printable
from .._lib.output_files import write_whole
from .._lib.progress import showing
from .._version import __version__
from . import options, own_options
from .former import refuse_former, refuse_unknown
from .help import HelpAll, command_help, program_help
from .meaning import settle
from .reading import as_toml, reading_in_use, words_of_reading
from .terminal import drop_output, listen, print_error

_NO_VALUE = re.compile("argument (.+): expected one argument")
_EXPONENTS = re.compile(r"-((\d+\.?\d*|\.\d+)e[+-]?\d+|inf)", re.IGNORECASE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        _settle_streams()
        return _run(sys.argv[1:] if arguments is None else arguments)
    except InputError as error:
        print_error(str(error))
        return 2
    except UnicodeEncodeError as error:  # of a word from the shell, in which Python keeps such bytes
        print_error(f"{error.object[max(0, error.start - 20) : error.end]!r}: not text in UTF-8.")
        return 2
    except KeyboardInterrupt:
        print_error("interrupted")
        return 130
    except MemoryError:
        print_error("not enough memory")
        return 2
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        drop_output()
    except OSError as error:  # while writing: reading has its own messages
        print_error(f"cannot write the output: {error.strerror or error}")
        drop_output()
        return 2
    return 0


def _run(words: Sequence[str]) -> int:
    listen()
    refuse_former(words, _COMMANDS)
    parser = _parser(*words[:1])
    if words and words[0] in _COMMANDS:
        refuse_unknown(words, {flag for action in _actions(parser) for flag in action.option_strings})
    parsed = _parsed(parser, words)
    module = import_module(f".{parsed.command if parsed.command in _MODULES else 'commands'}", __package__)
    with showing("nowhere" if parsed.quiet else "anywhere"):
        code: int | None = getattr(module, parsed.command)(parsed)
    if getattr(parsed, "save_reading", None) is not None:
        write_whole(parsed.save_reading, as_toml(parsed.kept).encode())
    if sys.stdout is not None:  # closed by the caller
        sys.stdout.flush()
    return code or 0


_MODULES = ("check", "compare", "decide", "lm", "monitor", "pool", "recalibrate", "skill", "where")
"""Commands that have a module of their own, which is loaded when they run."""


def _parsed(parser: argparse.ArgumentParser, words: Sequence[str]) -> argparse.Namespace:
    """Parse the words with those that a reading stands for."""
    parsed, kept = parser.parse_args(_spelled(words)), set[str]()
    command = next(each for each in _subparsers(parser) if each.get_default("command") == parsed.command)
    if hasattr(parsed, "reading"):
        more, kept = words_of_reading(command, words, parsed)
        parsed = parser.parse_args(_spelled([*words, *more])) if more or parsed.reading else parsed
        parsed.kept = reading_in_use(command, parsed)
    if hasattr(parsed, "hub"):
        if bool(parsed.hub) == bool(parsed.files):
            command.error("--hub stands for FILE" if parsed.hub else "the following arguments are required: FILE")
        parsed.files = parsed.files or parsed.hub
    parsed.words, parsed.from_reading = list(words), kept
    named = [action for action in command._actions if action.option_strings and action.dest not in kept]
    named = [action for action in named if getattr(parsed, action.dest, action.default) != action.default]
    parsed.given = {action.dest: action.option_strings[-1] for action in named}
    parsed.of_classes = [action.dest for action in named if str(action.help).endswith(options.CLASSES)]
    settle(parsed)
    return parsed


def _spelled(words: Sequence[str]) -> list[str]:
    """Write -1e-3 and -inf behind a space: argparse takes -1 for a number but these for options."""
    return [f" {word}" if _EXPONENTS.fullmatch(word) else word for word in words]


def _settle_streams() -> None:
    """Let streams show what they can, and open those that the caller closed, lest a file of ours takes their place."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115  # as long as the program runs
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a label still shows the rest


Adding: TypeAlias = "Callable[[_Parser], object]"


def _parser(only: str = "") -> argparse.ArgumentParser:
    """Make the parser of all commands, or of one: to make the others takes longer than to parse."""
    from ..kernels.compiled import KERNEL  # refuses to be imported with settings that it does not know

    parser = _Parser(prog="unperplexed", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"unperplexed {__version__} ({KERNEL})")
    help_text = "print what makes the shell complete commands, options and names of files"
    parser.add_argument("--completion", action=_Completion, choices=("bash", "zsh"), help=help_text)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name in [only] if only in _COMMANDS else _COMMANDS:
        text, add = _COMMANDS[name]
        add(_command(commands, name, text))
    return parser


def _having(*adding: Callable[[argparse.ArgumentParser], None]) -> Adding:
    return lambda command: [add(command) for add in adding]


_MIXED = "add up even tallies of different data or models, or of periods that overlap"

_COMMANDS: dict[str, tuple[str, Adding]] = {
    "assess": (
        "verdict, cost, remedy and metrics of forecasts",
        _having(
            options.add_input,
            options.add_predictive,
            options.add_where,
            options.add_settings,
            options.add_sampling,
            options.add_clusters,
            options.add_metric,
            options.add_shown,
            options.add_reference,
            options.add_map,
            options.add_outputs,
        ),
    ),
    "compare": (
        "forecasters on the same rows: who is better, and is it chance?",
        _having(
            partial(options.add_input, pairs=False),
            options.add_pairing,
            options.add_predictive,
            partial(options.add_by, more=options.CLASSES),
            options.add_reference,
            options.add_floor,
            options.add_confidence,
            options.add_metric,
            options.add_anytime,
            options.add_outputs,
        ),
    ),
    "skill": ("skill scores against the base rate, climatology or a forecaster", own_options.add_skill),
    "where": ("the groups of rows in which forecasts are wrong", own_options.add_where),
    "recalibrate": (
        "fit a map to better probabilities, or apply one",
        _having(
            partial(options.add_input, engine=False),
            options.add_predictive,
            options.add_clusters,
            options.add_recalibrate,
            options.add_json,
        ),
    ),
    "pool": ("combine several forecasters into one, or apply such a pool", own_options.add_pool),
    "decide": ("a threshold from costs, and what decisions there cost", own_options.add_decide),
    "plan": ("how many rows a study needs", own_options.add_plan),
    "lm": ("logs of language models: perplexity, questions, stated confidence", own_options.add_lm),
    "check": ("a gate: exit code 1 if a requirement is not met", own_options.add_check),
    "monitor": ("an alarm when calibration broke, and since when", own_options.add_monitor),
    "tally": (
        "count rows into a small file, add such files up, show one",
        _having(
            options.add_input,
            options.add_predictive,
            options.add_where,
            options.add_metric,
            options.add_counting,
            partial(options.add_mixed, text=_MIXED),
            options.add_json,
            partial(options.add_output, text="write the tally; without it tallies are shown, added up"),
        ),
    ),
    "explain": ("a metric or a finding: why it is bad, what to try, how to check", options.add_terms),
    "demo": ("assess a classifier of handwritten digits", options.add_outputs),
}
"""What each command does, and what gives it its options."""


class _Completion(argparse.Action):
    """Prints a script for a shell, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, _namespace: object, shell: Any, *_: object) -> NoReturn:
        import shtab  # only here, so that starting stays fast

        for action in _actions(parser):
            if action.metavar in _FILE_NAMES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell))
        parser.exit()


_FILE_NAMES = ("FILE", "PATH", "TALLY", "MAP", "POOL", "FILE | KEY=VALUE")
"""What stands for the name of a file."""


def _subparsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Give the parsers of the commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.values()


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Give what a parser takes, and what its commands take."""
    for each in (parser, *_subparsers(parser)):
        yield from each._actions


class _Parser(argparse.ArgumentParser):
    def format_help(self) -> str:
        """Explain the options that people use, or what the commands do."""
        if self.get_default("command") is None:
            return program_help({name: text for name, (text, _) in _COMMANDS.items()})
        return command_help(self)

    def error(self, message: str) -> NoReturn:
        if found := _NO_VALUE.fullmatch(message):
            action = self._option_string_actions[found[1].rpartition("/")[2]]
            value = action.metavar or "{" + ",".join(action.choices or ()) + "}"
            message = f"{found[1]}: {value} is missing{', or - to print it' if found[1] == '--json' else ''}"
        if "FILE" in message:
            message += " (FILE comes first: --truth, --prob and --pair take all the words that follow them)"
            if "--history" in self._option_string_actions:
                message += "; to see a history as it is, name the file of its last period again"
        self.exit(2, f"{self.prog}: {printable(message)}\nusage: see {self.prog} --help\n")


def _command(commands: argparse._SubParsersAction[Any], name: str, text: str) -> _Parser:
    command: _Parser = commands.add_parser(name, help=text, allow_abbrev=False)
    command.set_defaults(command=name)
    command.add_argument("--help-all", action=HelpAll, nargs=0, help="show all options")
    options.About("work", command).switch("-q", "print nothing but errors, and JSON if asked for", "--quiet")
    return command
