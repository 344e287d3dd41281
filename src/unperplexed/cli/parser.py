"""The command line: arguments only. Parse, call, print."""

from __future__ import annotations

import argparse
import io
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .._lib.errors import InputError
from .._version import __version__
from ..kernels.compiled import KERNEL

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[Any]


EXIT_CODES = """\
exit codes:
  0    done, and every output written
  2    input, arguments or output path that cannot be used: the message says why; nothing was written
  130  interrupted; nothing was half-written (143: terminated)
"""

_EXPONENTS = re.compile(r"-((\d+\.?\d*|\.\d+)e[+-]?\d+|inf)", re.IGNORECASE)
_FLAGS = {
    "renormalize": "divide each row by its sum, and report it",
    "drop-invalid": "leave out rows without an outcome or with invalid probabilities, and report them",
    "percent": "probabilities are given as percentages",
    "from-logits": "what is given is logits",
    "from-log-probs": "what is given is logarithms of probabilities",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    # argparse takes -1 for a number but -1e-3 and -inf for options; after a space they are not.
    parsed = parser.parse_args([f" {word}" if _EXPONENTS.fullmatch(word) else word for word in words])
    parsed.words = list(words)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a label still shows the rest
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, _terminated)
    try:
        from . import commands

        getattr(commands, parsed.command)(parsed)
        if sys.stdout is not None:  # closed by the caller
            sys.stdout.flush()
    except InputError as error:
        print(f"unperplexed: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("unperplexed: interrupted", file=sys.stderr)
        return 130
    except MemoryError:
        print("unperplexed: not enough memory", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of our output, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:  # while writing: reading has its own messages
        print(f"unperplexed: cannot write the output: {error.strerror or error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return 0


def _terminated(*_: object) -> NoReturn:
    """Leave as on any error, so that temporary files go; a second signal ends it at once."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise SystemExit(143)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="unperplexed",
        description="Assess probabilistic forecasts on the probability scale: how good they are, and what is wrong.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"unperplexed {__version__} ({KERNEL})")
    help_text = "print what makes the shell complete commands, options and names of files"
    parser.add_argument("--completion", action=_Completion, choices=("bash", "zsh"), help=help_text)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _command(commands, "assess", "assess forecasts and outcomes").having(
        _add_input,
        _add_settings,
        _add_sampling,
        _add_groups,
        _add_scores,
        _add_by,
        _add_picture_axes,
        _add_json,
        _add_plot,
        _add_report,
    )
    profile = _command(commands, "profile", "the risk profile and the means at other floors")
    profile.having(_add_input, _add_floor, _add_limit, _add_confidence, _add_groups, _add_orders, _add_json, _add_plot)
    profile.set_defaults(measured="shrunk-isotonic", view="auto", scores=[])
    scores = _command(commands, "scores", "every scoring rule, with standard errors")
    scores.having(_add_input, _add_scores, _add_json)
    calibration = _command(commands, "calibration", "calibration errors, and scores in their parts")
    calibration.having(_add_input, _add_error_bins, _add_exact_limit, _add_json)
    compare = _command(commands, "compare", "compare forecasters on the same rows, paired")
    compare.having(
        partial(_add_input, pairs=False),
        _add_pairing,
        _add_floor,
        _add_sampling,
        _add_scores,
        _add_sequential,
        _add_json,
        _add_plot,
        _add_report,
    )
    tally = _command(commands, "tally", "count forecasts and outcomes into a tally file, to be merged or assessed")
    tally.having(_add_input, _add_scores, _add_counting, _add_tally_output)
    _command(commands, "merge", "add up tally files").having(_add_tallies, _add_tally_output)
    show = _command(commands, "show", "what a tally file holds")
    show.add_argument("files", nargs=1, metavar="TALLY", help="a tally file")
    show.having(_add_json)
    demo = _command(commands, "demo", "assess a classifier of handwritten digits")
    demo.having(_add_settings, _add_sampling, _add_scores, _add_picture_axes, _add_json, _add_plot, _add_report)
    return parser


class _Completion(argparse.Action):
    """Prints a script for a shell, and ends."""

    def __call__(self, parser: argparse.ArgumentParser, _namespace: object, shell: Any, *_: object) -> NoReturn:
        import shtab  # only here, so that starting stays fast

        for action in _actions(parser):
            if action.metavar in _FILE_NAMES:
                action.complete = shtab.FILE  # type: ignore[attr-defined]
        print(shtab.complete(parser, shell))
        parser.exit()


_FILE_NAMES = ("FILE", "PATH", "TALLY")
"""What stands for the name of a file."""


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Give what a parser takes, and what its commands take."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


class _Parser(argparse.ArgumentParser):
    def having(self, *options: Callable[[argparse.ArgumentParser], None]) -> None:
        """Add options, in this order."""
        for add in options:
            add(self)

    def error(self, message: str) -> NoReturn:
        if "FILE" in message:
            message += " (FILE comes first: --truth, --prob and --pair take all the words that follow them)"
        self.exit(2, f"{self.prog}: {message}\nusage: see {self.prog} --help\n")


def _command(commands: Commands, name: str, text: str) -> _Parser:
    command: _Parser = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(command=name)
    command.add_argument("-q", "--quiet", action="store_true", help="print nothing but errors, and JSON if asked for")
    return command


def _add_orders(command: argparse.ArgumentParser) -> None:
    text = "orders of the mean (default: -3 to 3)"
    command.add_argument("--orders", nargs="+", type=float, metavar="R", help=text)


def _add_error_bins(command: argparse.ArgumentParser) -> None:
    # As calibration.errors.DEFAULT_BINS; importing it would load NumPy for --help.
    command.add_argument("--bins", type=int, default=15, metavar="B", help="number of bins (default: 15)")


def _add_input(command: argparse.ArgumentParser, pairs: bool = True) -> None:
    group = command.add_argument_group("input")
    add = group.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="CSV, JSON Lines, Parquet, Arrow, NPZ, NPY"
        + (" or tally; several; - for standard input" if pairs else "; NAME=FILE names its forecaster"),
    )
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    add("--truth", metavar="COLUMN", help="the outcome's column; several are one-hot columns", **many)
    add(
        "--prob",
        metavar="COLUMN",
        help="probability of the positive class, or of each class; label=COLUMN names it",
        **many,
    )
    if pairs:
        add("--pair", metavar="PROB=OUTCOME", help="one of several binary forecasts a row", **many)
    else:
        command.set_defaults(pair=[])
    add("--weight", metavar="COLUMN", help="importance weights")
    add(
        "--labels",
        nargs="+",
        metavar="LABEL",
        help="class labels in column order (negative positive for one column)",
    )
    add("--pos-label", metavar="LABEL", help="the outcome a single probability column speaks of")
    add("--ignore-label", nargs="+", metavar="LABEL", help="leave out rows with this outcome, and report them")
    add(
        "--separator",
        default=",",
        metavar="CHAR",
        help="between the fields of a text file (default: comma; tab for .tsv)",
    )
    add("--decimal-comma", action="store_true", help="numbers in a text file are written like 0,5")
    add(
        "--format",
        metavar="NAME",
        help="read the files as csv, tsv, jsonl, parquet, arrow, npz or npy, whatever their names",
    )
    for flag, text in _FLAGS.items():
        add(f"--{flag}", action="store_true", help=text)
    if pairs:
        _add_engine(command)


def _add_engine(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("where files are counted")
    add = group.add_argument
    # The names are those of sources.arguments.EngineName; a test holds them together.
    add(
        "--engine",
        choices=("local", "dask", "spark"),
        default="local",
        help="in this process, or by the workers of Dask or Spark (default: %(default)s)",
    )
    add("--jobs", type=int, metavar="N", help="so many threads count, or -1: one for each processor (default: 1)")
    add("--scheduler", metavar="ADDRESS", help="of Dask (default: a cluster of processes on this machine)")
    add("--master", metavar="URL", help="of Spark (default: this machine)")


def _add_pairing(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("which rows belong together")
    add = group.add_argument
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    add("--on", metavar="COLUMN", help="columns that make a row's id, in every file", **many)
    add("--in-order", action="store_true", help="all files have the same rows in the same order")
    add("--common", action="store_true", help="leave out ids that not all files have, and report them")
    add("--forecast", metavar="NAME=COLUMN[,COLUMN...]", help="a forecaster's probability columns in one file", **many)
    add("--forecaster", metavar="COLUMN", help="names the forecaster of each row in one file; with --on")
    add = command.add_argument
    add("--lag", type=int, metavar="L", help="rows up to L places apart may depend on one another")
    _add_groups(command)


def _add_sequential(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("one row after another")
    add = group.add_argument
    add("--sequential", action="store_true", help="limits that hold at every row together, of two forecasters")
    # Defaults as in sequential.SequentialSettings; without --sequential these are refused.
    add("--score", metavar="NAME", help="the scoring rule (default: brier_score)")
    add("--level", type=float, metavar="P", help="largest probability of a false alarm (default: 0.05)")


def _add_floor(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--floor",
        type=_number_or_auto,
        default="auto",
        metavar="P",
        help="raise lower probabilities to it (default: auto, which is 0.01 / number of classes)",
    )


def _number_or_auto(text: str) -> float | str:
    """Read a number, or "auto"."""
    return text if text == "auto" else float(text)


def _add_limit(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--limit", choices=("floor", "both"), default="floor", help="both: also lower those above 1 - floor"
    )


def _add_settings(command: argparse.ArgumentParser) -> None:
    _add_floor(command)
    _add_limit(command)
    add = command.add_argument
    add(
        "--measured",
        metavar="NAME[:SETTINGS]",
        default="shrunk-isotonic",
        help="estimator of the measured probability, with settings as in equal-width:bins=20 (default: %(default)s);"
        " others: isotonic, logistic, equal-population, equal-width, cluster, nearest-neighbors, kernel, bayesian",
    )
    add(
        "--view",
        choices=("auto", "all-classes", "top-label", "each-class"),
        default="auto",
        help="which pairs are measured: of all classes together, of each row's top class, or of each class by itself"
        " (default: auto, which is each-class for two classes, with one curve, and all-classes for more)",
    )


def _add_confidence(command: argparse.ArgumentParser) -> None:
    command.add_argument("--confidence", type=float, default=0.95, metavar="P", help="of intervals (default: 0.95)")


def _add_sampling(command: argparse.ArgumentParser) -> None:
    _add_confidence(command)
    command.add_argument(
        "--resamples",
        type=int,
        default=400,
        metavar="N",
        help="samples from each of two worlds for the intervals of what is measured; 0: none (default: 400)",
    )
    command.add_argument("--seed", type=int, default=0, metavar="N", help="of the random numbers (default: 0)")


def _add_groups(command: argparse.ArgumentParser) -> None:
    text = "rows with the same values here (a match, a document) may depend on one another"
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    command.add_argument("--groups", metavar="COLUMN", help=text, **many)


def _add_by(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("groups")
    add = group.add_argument
    add(
        "--by",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="also assess each group of rows by itself",
    )
    # The names are those of breakdown.Sort, and the number that of tallies.MOST_GROUPS; a test holds them together.
    add(
        "--sort",
        choices=("geometric_accuracy", "cost", "prediction_accuracy", "rows", "group"),
        default="geometric_accuracy",
        metavar="WHAT",
        help="which groups come first, the worst: %(choices)s (default: %(default)s)",
    )
    add("--shrink", action="store_true", help="shrink geometric accuracies of small groups towards those of all")
    add("--most-groups", type=int, default=1000, metavar="N", help="refuse more groups than this (default: 1000)")


def _add_picture_axes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--axes",
        choices=("reported", "nelson"),
        default="reported",
        help="reported probability on x, or on y as in Nelson 2017",
    )


def _add_scores(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--scores",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="further scoring rules: ranked_probability_score, power_score(R), generalized_surprisal(R)",
    )


def _add_counting(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "--parts",
        nargs="+",
        choices=("classes", "predictions", "shards", "surprises", "diagnosis"),
        default=[],
        help="what else to keep: counts of each class, of each predicted class, of a thousand shards of the rows; the"
        " most surprising rows; sums for the diagnosis of more than two classes (kept unasked for 3 to 20)",
    )
    _add_groups(command)
    _add_exact_limit(command)
    add("--fraction-bits", type=int, metavar="B", help="beyond, cells of relative width 2^-B (default: 9)")


def _add_exact_limit(command: argparse.ArgumentParser) -> None:
    text = "so many distinct values are counted exactly (default: 65536)"
    command.add_argument("--exact-limit", type=int, metavar="N", help=text)


def _add_tallies(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", nargs="+", metavar="TALLY", help="tally files")


def _add_tally_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("-o", "--output", type=Path, required=True, metavar="PATH", help="write the tally")


def _add_json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", metavar="PATH", help="write JSON; - prints it instead of the text")


def _add_plot(command: argparse.ArgumentParser) -> None:
    command.add_argument("--plot", type=Path, metavar="PATH", help="write the picture: .png, .svg or .pdf")


def _add_report(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--report", type=Path, metavar="PATH", help="write the report: .html, one file, opens anywhere"
    )


if __name__ == "__main__":
    sys.exit(main())
