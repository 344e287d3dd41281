"""Options that commands share: one function adds each group of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

TOPICS = ("rows", "forecast", "question", "numbers", "work")
"""What options are about: which rows are read and how, what is made of forecasts, what is asked, how figures are
computed, and where and into what."""


def about(topic: str, command: argparse.ArgumentParser) -> Callable[..., argparse.Action]:
    """Give what adds options to a topic of a command's help."""
    found = (group for group in command._action_groups if group.title == topic)
    return (next(found, None) or command.add_argument_group(topic)).add_argument


def first_given(arguments: argparse.Namespace, names: Iterable[str]) -> str:
    """Give the first of some options that was given, but for a file's reading, which is for other commands too."""
    return next((arguments.given[name] for name in names if name in arguments.given), "")


class _NamingHelp(str):
    """Help with the names of a registry, which is loaded when the help is shown."""

    names: Callable[[], Iterable[str]]

    def __new__(cls, text: str, names: Callable[[], Iterable[str]]) -> _NamingHelp:
        """Take the text, with ``%(names)s`` in it, and what finds them."""
        made = super().__new__(cls, text)
        made.names = names
        return made

    def __mod__(self, values: Any) -> str:
        """Fill in the names, and what argparse fills in."""
        return str(self) % {**values, "names": ", ".join(self.names())}


def _other_estimators() -> Iterable[str]:
    from ..calibration.estimators import ESTIMATORS, is_default

    return (name for name, each in ESTIMATORS.items() if not is_default(each))


def add_sections(command: argparse.ArgumentParser) -> None:
    """Add what else is shown."""
    text = (
        "print more: averages, profile, scores, calibration, classes, confusion, surprises; with settings:"
        " profile:orders=-2,0,2 calibration:bins=20"
    )
    about("question", command)("--show", nargs="+", action="extend", default=[], metavar="SECTION", help=text)


def add_ordered(command: argparse.ArgumentParser) -> None:
    """Add that the classes have an order."""
    text = "the classes have an order: assess each threshold as an event, the PIT histogram and the rank skill"
    about("forecast", command)("--ordered", action="store_true", help=text)


def add_input(command: argparse.ArgumentParser, pairs: bool = True, engine: bool = True) -> None:
    """Add files, columns, and how rows are read."""
    add = about("rows", command)
    command.add_argument(
        "files",
        nargs="+",
        metavar="FILE",
        help="CSV, JSON Lines, Parquet, Arrow, NPZ, NPY, spreadsheet"
        + (" or tally; several; - for standard input" if pairs else "; NAME=FILE names its forecaster"),
    )
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    add("--truth", metavar="COLUMN", help="the outcome's column; several are one-hot columns", **many)
    add(
        "--prob",
        metavar="COLUMN",
        help="probability of the positive class (yes=COLUMN names it), or of each class; 'p_*': all such columns",
        **many,
    )
    if pairs:
        add(
            "--pair",
            metavar="PROB=OUTCOME",
            help="columns of a binary forecast and its outcome; several pairs for several forecasts a row",
            **many,
        )
    else:
        command.set_defaults(pair=[])
    add("--weight", metavar="COLUMN", help="column of importance weights")
    add(
        "--labels",
        nargs="+",
        metavar="LABEL",
        help="class labels in column order, if names do not tell (negative positive for one column); @FILE: one a line",
    )
    add("--ignore-label", nargs="+", metavar="LABEL", help="leave out rows with this outcome, and report them")
    add(
        "--separator",
        metavar="CHAR",
        help="field separator of a text file (default: comma; tab for .tsv; semicolon with --decimal-comma)",
    )
    add("--decimal-comma", action="store_true", help="read numbers with a decimal comma, such as 0,5")
    add(
        "--na",
        nargs="*",
        metavar="MARK",
        help="texts that mark a missing value; without any: NA, N/A, n/a, #N/A, #NV, -, ?, . and others",
    )
    add(
        "--encoding",
        default="utf-8",
        metavar="NAME",
        help="encoding of a text file, such as cp1252 (Windows), latin-1 or utf-16 (default: utf-8)",
    )
    add("--sheet", metavar="NAME", help="the sheet to read of a spreadsheet that has several")
    add(
        "--format",
        metavar="NAME",
        help="read the files as csv, tsv, jsonl, parquet, arrow, npz, npy or spreadsheet, whatever their names",
    )
    text = "what the columns hold: probability (default), percent, logits or log-probs"
    add("--scale", choices=("probability", "percent", "logits", "log-probs"), default="probability", help=text)
    text = "invalid rows are refused, or: drop leaves them out, rescale divides each row by its sum; both report them"
    add("--invalid", nargs="+", action="extend", choices=("refuse", "drop", "rescale"), default=[], help=text)
    text = "how FILE is read, from a file that --save-reading wrote, or said here: separator=';' encoding=cp1252"
    add("--reading", nargs="+", action="extend", default=[], metavar="FILE | KEY=VALUE", help=text)
    add("--save-reading", type=Path, metavar="PATH", help="write how FILE is read, for --reading (.toml)")
    if pairs and engine:
        add_engine(command)


def add_engine(command: argparse.ArgumentParser) -> None:
    """Add where files are counted."""
    add = about("work", command)
    text = "count in this process (local), or on the workers of dask or spark: a cluster on this machine, or ADDRESS"
    add("--engine", default="local", metavar="NAME[:ADDRESS]", help=f"{text} (default: %(default)s)")
    add(
        "--jobs",
        type=int,
        metavar="N",
        help="number of threads that count; -1: one for each processor, -2: one less (default: 1)",
    )


def add_pairing(command: argparse.ArgumentParser, compares: bool = True) -> None:
    """Add how rows of several forecasters are matched, and what only comparisons do with them."""
    add = about("rows", command)
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    add("--on", metavar="COLUMN", help="columns of every file that identify a row", **many)
    add("--in-order", action="store_true", help="all files have the same rows in the same order")
    add("--common", action="store_true", help="leave out ids that not all files have, and report them")
    text = "columns of each forecaster in one file, or the column that names the forecaster of each row (with --on)"
    add("--forecaster", metavar="NAME=COLUMN[,COLUMN]", help=text, **many)
    if compares:
        about("forecast", command)(
            "--apply", metavar="NAME=MAP", help="compare a forecaster recalibrated by a saved map", **many
        )
    add_where(command, "compare only rows for which this SQL expression is true")
    if compares:
        text = "rows up to L places apart may depend on one another; COLUMN: the series, such as a station"
        about("question", command)("--lag", metavar="L[:COLUMN]", help=text)
    add_clusters(command, "; 'A B': either" if compares else "")


def add_where(
    command: argparse.ArgumentParser, text: str = "read only rows for which this SQL expression is true"
) -> None:
    """Add which rows are read; conditions that are named one after another must all be true."""
    about("rows", command)("--where", action=_AllTrue, metavar="EXPRESSION", help=text)


class _AllTrue(argparse.Action):
    """Joins SQL conditions."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, f"({before}) AND ({values})" if before else values)


def add_anytime(command: argparse.ArgumentParser) -> None:
    """Add a comparison at every row."""
    add = about("question", command)
    text = "compare two forecasters row by row, valid however often one looks; by one --metric (default: brier_score)"
    add("--anytime", action="store_true", help=text)


def add_floor(command: argparse.ArgumentParser, ceiling: str = "") -> None:
    """Add the floor."""
    text = "raise probabilities below P to P (default: auto, which is 0.01 / number of classes)"
    about("numbers", command)(
        "--floor", nargs="+", type=_number_or_auto, default=["auto"], metavar="P", help=text + ceiling
    )


def _number_or_auto(text: str) -> float | str:
    """Read a number, or "auto"."""
    return text if text == "auto" else float(text)


def add_settings(command: argparse.ArgumentParser) -> None:
    """Add settings of an assessment."""
    add_floor(command, "; with a second number, such as 0.01 0.99, also lower those above it")
    add = about("question", command)
    measured = add("--measured", metavar="NAME[:SETTINGS]", default="shrunk-isotonic")
    measured.help = _NamingHelp(
        "estimator of the measured (calibrated) probability, with settings as in equal-width:bins=20 (default:"
        " %(default)s); others: %(names)s",
        _other_estimators,
    )
    add(
        "--view",
        choices=("auto", "all-classes", "top-label", "each-class"),
        default="auto",
        help="which pairs are measured: of all classes together, of each row's top class, or of each class by itself"
        " (default: auto, which is each-class for two classes, with one curve, and all-classes for more)",
    )


def add_confidence(command: argparse.ArgumentParser) -> None:
    """Add the confidence level."""
    about("numbers", command)(
        "--confidence", type=float, default=0.95, metavar="P", help="confidence level of the intervals (default: 0.95)"
    )


def add_sampling(command: argparse.ArgumentParser) -> None:
    """Add confidence level, resampling replicates and random seed."""
    add_confidence(command)
    add = about("numbers", command)
    add(
        "--resamples",
        type=int,
        default=400,
        metavar="N",
        help="number of bootstrap replicates for the intervals of the calibrated averages; 0: none (default: 400)",
    )
    add("--seed", type=int, default=0, metavar="N", help="random seed (default: 0)")


def add_clusters(command: argparse.ArgumentParser, more: str = "") -> None:
    """Add clusters of dependent rows."""
    text = f"rows that share a value (match, date:iso-week) depend on one another; 'A,B': that share both{more}"
    many: Any = {"nargs": "+", "action": "extend", "default": []}
    about("rows", command)("--clusters", metavar="COLUMN", help=text, **many)


def add_map(command: argparse.ArgumentParser) -> None:
    """Add a recalibration map."""
    about("forecast", command)(
        "--apply",
        type=Path,
        metavar="PATH",
        help="assess the forecasts recalibrated by this map, which the command recalibrate has fitted",
    )


def add_recalibrate(command: argparse.ArgumentParser) -> None:
    """Add what fits a recalibration map, and what applies one."""
    add = about("forecast", command)
    # The names are those of Recalibrator, and so are the defaults; a test compares them.
    add(
        "--method",
        metavar="NAME",
        default="auto",
        help="auto (default: an average of maps weighted by cross-validated log loss), best (one of them), temperature,"
        " bias, logistic, isotonic and others",
    )
    add(
        "--folds",
        type=int,
        metavar="K",
        help="number of cross-validation folds (default: 20 for two classes in up to 1,000 rows, else 5)",
    )
    about("numbers", command)("--seed", type=int, default=0, metavar="N", help="random seed of the folds (default: 0)")
    text = "also fit a map to each group of rows; these maps are kept if they gain on held-out rows"
    about("question", command)("--by", nargs="+", action="extend", default=[], metavar="COLUMN", help=text)
    add_where(command, "fit to, or recalibrate, only rows for which this SQL expression of columns is true")
    add("--apply", type=Path, metavar="MAP", help="recalibrate the probabilities of FILE by this map")
    text = "add columns for the recalibrated probabilities, named with * for the old name: '*_cal'"
    add("--as", dest="named", metavar="NAMES", help=text)
    add = about("work", command)
    add(
        "--report",
        type=Path,
        metavar="PATH",
        help="write one HTML page of the forecasts before and after (cross-fitted)",
    )
    add(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="PATH",
        help="write the map (.json); with --apply the recalibrated forecasts (.parquet, .csv, .tsv or .jsonl)",
    )


def add_by(command: argparse.ArgumentParser) -> None:
    """Add groups of rows that are looked at by themselves."""
    about("question", command)(
        "--by",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN[:HOW]",
        help="also each group of rows: season; season lead: by both together; date:month (year, quarter, weekday, hour,"
        " date, iso-week, year-month, year-quarter), age:quartiles (halves, thirds, quintiles, deciles)",
    )


def add_reference(command: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the reference of skill scores."""
    about("question", command)(
        "--reference",
        default=default,
        metavar="WHAT",
        help=f"{'' if default else 'also give skill scores against '}base-rate{' (default)' if default else ''},"
        " climatology:date:month[,COLUMN...] (observed frequencies among rows with equal values), one of several"
        " forecasters, or with one forecaster another probability column",
    )


def add_sorted_groups(command: argparse.ArgumentParser) -> None:
    """Add groups of rows that are assessed by themselves, and their order."""
    add_by(command)
    # The names are those of breakdown.Sort; a test holds them together.
    about("question", command)(
        "--sort",
        choices=("geometric_accuracy", "cost", "prediction_accuracy", "rows", "group"),
        default="geometric_accuracy",
        metavar="WHAT",
        help="order of the groups, the worst first: %(choices)s (default: %(default)s)",
    )


def add_style(command: argparse.ArgumentParser) -> None:
    """Add how a chart is drawn."""
    text = "how the chart is drawn: axes=nelson has the predicted probability on y, as in Nelson (2017)"
    about("work", command)("--style", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help=text)


def add_metric(command: argparse.ArgumentParser) -> None:
    """Add further scoring rules."""
    about("question", command)(
        "--metric",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="further scoring rules: ranked_probability_score, power_score(R), generalized_surprisal(R),"
        " penalized_brier_score, penalized_log_loss, spherical_score",
    )


def add_counting(command: argparse.ArgumentParser) -> None:
    """Add what a tally keeps."""
    add = about("numbers", command)
    add(
        "--parts",
        nargs="+",
        choices=("classes", "predictions", "shards", "surprises", "diagnosis"),
        default=[],
        help="further counts to keep: counts of each class, of each predicted class, of a thousand shards of the rows;"
        " the most surprising rows; sums for the diagnosis of more than two classes (kept unasked for 3 to 20)",
    )
    add_clusters(command)
    text = "count so many distinct values exactly, and more in cells of relative width 2^-BITS (default: 65536:9)"
    add("--cells", metavar="EXACT[:BITS]", help=text)


def add_tally_output(command: argparse.ArgumentParser) -> None:
    """Add the tally file to write."""
    text = "write the tally; without it tallies are shown, added up"
    about("work", command)("-o", "--output", type=Path, metavar="PATH", help=text)


def add_tags(command: argparse.ArgumentParser) -> None:
    """Add what a tally is about."""
    text = (
        "what the tally is about: name= (data or task), model= (with its version), period= (2026-03-01, 2026-W10,"
        " 2026-03, 2026-Q1, 2026, a span FIRST/LAST or another name); tallies that differ do not add up"
    )
    about("work", command)("--tag", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help=text)


def add_mixed(command: argparse.ArgumentParser, text: str) -> None:
    """Add that tags need not agree."""
    about("rows", command)("--mixed", action="store_true", help=text)


def add_json(command: argparse.ArgumentParser) -> None:
    """Add JSON output."""
    about("work", command)("--json", metavar="PATH", help="write all results as JSON; '-' prints them")


def add_plot(command: argparse.ArgumentParser) -> None:
    """Add the plot to write."""
    about("work", command)("--plot", type=Path, metavar="PATH", help="write the chart (.svg, .pdf or .png)")


def add_report(command: argparse.ArgumentParser) -> None:
    """Add the report to write."""
    about("work", command)("--report", type=Path, metavar="PATH", help="write one HTML page with everything")
