"""The command line: arguments only. Parse, call, print."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ._version import __version__
from .errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .assessment import Assessment

    Drawing = Callable[..., Axes]
    Commands = argparse._SubParsersAction[Any]

EXIT_CODES = """\
exit codes:
  0    assessed, and every output written
  2    input, arguments or output path that cannot be used: the message says why; nothing was written
  130  interrupted; nothing was half-written
"""

_EXPONENTS = re.compile(r"-((\d+\.?\d*|\.\d+)e[+-]?\d+|inf)", re.IGNORECASE)
_PICTURES = (".png", ".svg", ".pdf")
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a label still shows the rest
    try:
        parsed.run(parsed)
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


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="unperplexed",
        description="Assess probabilistic forecasts on the probability scale: how good they are, and what is wrong.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"unperplexed {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    assess = _command(commands, "assess", "assess a file of forecasts and outcomes", _assess)
    _add_input(assess)
    _add_settings(assess)
    _add_picture_axes(assess)
    _add_output(assess)
    profile = _command(commands, "profile", "the risk profile and the means at other floors", _profile)
    _add_input(profile)
    _add_floor(profile)
    profile.set_defaults(measured="isotonic", bins=None, view="all-classes")
    profile.add_argument("--orders", nargs="+", type=float, metavar="R", help="orders of the mean (default: -3 to 3)")
    _add_output(profile)
    demo = _command(commands, "demo", "assess a classifier of handwritten digits", _demo)
    _add_settings(demo)
    _add_picture_axes(demo)
    _add_output(demo)
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if "FILE" in message:
            message += " (FILE comes first: --truth, --prob and --pair take all the words that follow them)"
        self.exit(2, f"{self.prog}: {message}\nusage: see {self.prog} --help\n")


def _command(
    commands: Commands, name: str, text: str, run: Callable[[argparse.Namespace], None]
) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_input(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("input")
    add = group.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="CSV, JSON Lines, Parquet, Arrow, NPZ or NPY; several; - for standard input",
    )
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    add("--truth", metavar="COLUMN", help="the outcome's column; several are one-hot columns", **many)
    add(
        "--prob",
        metavar="COLUMN",
        help="probability of the positive class, or of each class; label=COLUMN names it",
        **many,
    )
    add("--pair", metavar="PROB=OUTCOME", help="one of several binary forecasts a row", **many)
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


def _add_floor(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "--floor",
        type=float,
        default=0.005,
        metavar="P",
        help="raise lower probabilities to it (default: 0.005)",
    )
    add("--limit", choices=("floor", "both"), default="floor", help="both: also lower those above 1 - floor")


def _add_settings(command: argparse.ArgumentParser) -> None:
    _add_floor(command)
    add = command.add_argument
    # The names are those of measured.ESTIMATORS and tally.VIEWS; a test holds them together. Importing them would
    # load NumPy and SciPy for --help.
    add(
        "--measured",
        choices=("isotonic", "equal-population", "equal-width"),
        default="isotonic",
        help="estimator of the measured probability (default: isotonic)",
    )
    add("--bins", type=int, metavar="B", help="number of bins, for estimators that have them")
    add("--view", choices=("all-classes", "top-label"), default="all-classes", help="which pairs are measured")


def _add_picture_axes(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--axes",
        choices=("reported", "nelson"),
        default="reported",
        help="reported probability on x, or on y as in Nelson 2017",
    )


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", metavar="PATH", help="write JSON; - prints it instead of the text")
    command.add_argument("--plot", type=Path, metavar="PATH", help="write the picture: .png, .svg or .pdf")


def _assess(arguments: argparse.Namespace) -> None:
    _check_outputs(arguments)
    assessment = _assessment_of_files(arguments)
    _write(arguments, assessment, str(assessment), assessment.plot)


def _profile(arguments: argparse.Namespace) -> None:
    from .report.text import profile_orders, profile_text

    _check_outputs(arguments)
    assessment = _assessment_of_files(arguments)
    text = profile_text(assessment, arguments.orders or profile_orders(assessment.profile))
    _write(arguments, assessment, text, assessment.profile.plot)


def _demo(arguments: argparse.Namespace) -> None:
    from .assessment import assess
    from .demo import digits_forecasts

    _check_outputs(arguments)
    digit, probability, source = digits_forecasts()
    _say(source)
    assessment = assess(digit, probability, **_settings(arguments))
    _write(arguments, assessment, str(assessment), assessment.plot)


def _assessment_of_files(arguments: argparse.Namespace) -> Assessment:
    from .assessment import assess
    from .files import ForecastFiles, Reading, Selection
    from .progress import ahead, progress_bar
    from .tally import Tally

    selection = Selection(arguments.truth, arguments.prob, arguments.pair, arguments.weight)
    options = {flag.replace("-", "_"): getattr(arguments, flag.replace("-", "_")) for flag in _FLAGS}
    separator = {"\\t": "\t", "tab": "\t"}.get(arguments.separator, arguments.separator)
    if len(separator.encode()) != 1:
        raise InputError(f"--separator: expected one character, or tab, got {separator!r}.")
    reading = Reading(
        arguments.labels,
        arguments.pos_label,
        arguments.ignore_label,
        separator,
        options,
        arguments.decimal_comma,
        arguments.format,
    )
    with progress_bar() as progress:
        files = ForecastFiles(arguments.files, selection, reading, progress)
        for sentence in files.said:
            _say(sentence)
        tally = Tally.count(forecasts for batch in ahead(files) for forecasts in batch.forecasts)
    try:
        return assess(tally, **_settings(arguments))
    except InputError as error:
        raise InputError(f"{', '.join(arguments.files)}: {error}") from None


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "floor": arguments.floor,
        "limit": arguments.limit,
        "measured": arguments.measured,
        "bins": "auto" if arguments.bins is None else arguments.bins,
        "view": arguments.view,
        "orders": getattr(arguments, "orders", None),
    }


def _say(sentence: str) -> None:
    print(f"unperplexed: {sentence}", file=sys.stderr)


def _check_outputs(arguments: argparse.Namespace) -> None:
    from ._readers.formats import matching
    from .outputs import check_output

    outputs = [] if arguments.plot is None else [check_output(arguments.plot, _PICTURES)]
    if arguments.json not in (None, "-"):
        outputs.append(check_output(Path(arguments.json)))
    places = [path.resolve() for path in (*outputs, *map(Path, matching(getattr(arguments, "files", []))))]
    if len(set(places)) < len(places):
        raise InputError(f"{outputs[0]}: would overwrite the input or the other output; name another file.")


def _write(arguments: argparse.Namespace, assessment: Assessment, text: str, draw: Drawing) -> None:
    """Make every output before the first is written."""
    from .outputs import write_whole

    outputs = {}
    if arguments.json is not None:
        json = assessment.to_json() + "\n"
        if arguments.json == "-":
            text = json.rstrip("\n")
        else:
            outputs[Path(arguments.json)] = json.encode()
    if arguments.plot is not None:
        outputs[arguments.plot] = _picture(draw, arguments.plot.suffix.lower()[1:], getattr(arguments, "axes", None))
    for path, content in outputs.items():
        write_whole(path, content)
    print(text)


def _picture(draw: Drawing, kind: str, axes: str | None) -> bytes:
    from matplotlib.figure import Figure

    from .plots import ASSESSMENT_SIZE, NELSON_SIZE, PROFILE_SIZE

    size = {"reported": ASSESSMENT_SIZE, "nelson": NELSON_SIZE, None: PROFILE_SIZE}[axes]
    figure = Figure(figsize=size, layout="tight")
    draw(figure.subplots(), **({} if axes is None else {"axes": axes}))
    stream = io.BytesIO()
    figure.savefig(stream, format=kind, dpi=150, bbox_inches="tight")
    return stream.getvalue()


if __name__ == "__main__":
    sys.exit(main())
