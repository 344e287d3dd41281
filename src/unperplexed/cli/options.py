"""Options that commands share: one function adds each group of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from .._lib.errors import InputError

TOPICS = ("rows", "forecast", "question", "numbers", "work")
"""What options are about: which rows are read and how, what is made of forecasts, what is asked, how figures are
computed, and where and into what."""


class About:
    """Adds options to a topic of a command's help."""

    def __init__(self, topic: str, command: argparse.ArgumentParser) -> None:
        """Find the topic's group of options, or make it."""
        found = next((group for group in command._action_groups if group.title == topic), None)
        self._group = found or command.add_argument_group(topic)

    def __call__(self, *flags: str, metavar: str, text: str, **settings: Any) -> argparse.Action:
        """Add an option that takes a value."""
        return self._group.add_argument(*flags, metavar=metavar, help=text, **settings)

    def many(self, flag: str, metavar: str, text: str, **settings: Any) -> argparse.Action:
        """Add an option that takes several values, also one after another."""
        return self._group.add_argument(
            flag, nargs="+", action="extend", default=[], metavar=metavar, help=text, **settings
        )

    def number(self, flag: str, metavar: str, text: str, default: float | None = None) -> argparse.Action:
        """Add an option that takes a number: a whole one, if its default is one or it has none."""
        kind = float if isinstance(default, float) else int
        return self._group.add_argument(flag, type=kind, default=default, metavar=metavar, help=text)

    def path(self, *flags: str, text: str, metavar: str = "PATH", **settings: Any) -> argparse.Action:
        """Add an option that names a file."""
        return self._group.add_argument(*flags, type=Path, metavar=metavar, help=text, **settings)

    def switch(self, flag: str, text: str, *also: str) -> argparse.Action:
        """Add an option that takes no value, under one name or several."""
        return self._group.add_argument(flag, *also, action="store_true", help=text)

    def one_of(self, flag: str, choices: Sequence[str], text: str, **settings: Any) -> argparse.Action:
        """Add an option that takes one of some words, by default the first."""
        settings.setdefault("default", choices[0])
        return self._group.add_argument(flag, choices=tuple(choices), help=text, **settings)


def first_given(arguments: argparse.Namespace, names: Iterable[str]) -> str:
    """Give the first of some options that was given, but for a file's reading, which is for other commands too."""
    return next((arguments.given[name] for name in names if name in arguments.given), "")


def refuse_given(arguments: argparse.Namespace, names: Iterable[str], said: str) -> None:
    """Refuse the first of some options that was given, for a reason."""
    if option := first_given(arguments, names):
        raise InputError(f"{option}{said}")


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


def add_input(command: argparse.ArgumentParser, pairs: bool = True, engine: bool = True) -> None:
    """Add files, columns, and how rows are read."""
    add = About("rows", command)
    more = " or tally; a folder; - for standard input" if pairs else "; NAME=FILE names its forecaster"
    text = f"CSV, JSON Lines, Parquet, Arrow, NPZ, NPY, PT, spreadsheet{more}"
    command.add_argument("files", nargs="+", metavar="FILE", help=text)
    add.many("--truth", "COLUMN", "the outcome's column; several are one-hot columns")
    text = "probability of the positive class (yes=COLUMN names it), or of each class; 'p_*': all such columns"
    add.many("--prob", "COLUMN", text)
    if pairs:
        text = (
            "columns of a binary forecast and its outcome; '*=*_outcome': all such pairs of a row; conditions know the"
            f" pair, prob and outcome of each{CLASSES}"
        )
        add.many("--pair", "PROB=OUTCOME", text)
    else:
        command.set_defaults(pair=[])
    add("--weight", metavar="COLUMN", text="column of importance weights")
    text = "class labels in column order, if names do not tell (negative positive for one column); @FILE: one a line"
    add("--labels", nargs="+", metavar="LABEL", text=f"{text}{CLASSES}")
    text = f"leave out rows with this outcome, and report them{CLASSES}"
    add("--ignore-label", nargs="+", metavar="LABEL", text=text)
    text = "field separator of a text file: ' ' is any number (default: comma; tab for .tsv; ; with --decimal-comma)"
    add("--separator", metavar="CHAR", text=text)
    add.switch("--decimal-comma", "read numbers with a decimal comma, such as 0,5")
    text = "texts that mark a missing value; without any: NA, N/A, n/a, #N/A, #NV, -, ?, . and others"
    add("--na", nargs="*", metavar="MARK", text=text)
    text = "encoding of a text file, such as cp1252 (Windows), latin-1 or utf-16 (default: utf-8)"
    add("--encoding", default="utf-8", metavar="NAME", text=text)
    add("--sheet", metavar="NAME", text="the sheet to read of a spreadsheet that has several")
    text = "read the files as csv, tsv, jsonl, parquet, arrow, npz, npy, pt or spreadsheet, whatever their names"
    add("--format", metavar="NAME", text=text)
    text = f"what the columns hold: probability (default), percent, logits or log-probs{CLASSES}"
    add.one_of("--scale", ("probability", "percent", "logits", "log-probs"), text)
    text = "invalid rows are refused, or: drop leaves them out, rescale divides each row by its sum; both report them"
    add.one_of("--invalid", ("refuse", "drop", "rescale"), text, nargs="+", action="extend", default=[])
    text = "how FILE is read, from a file that --save-reading wrote, or said here: separator=';' encoding=cp1252"
    add.many("--reading", "FILE | KEY=VALUE", text)
    add.path("--save-reading", text="write how FILE is read, for --reading (.toml)")
    if pairs and engine:
        add_engine(command)


CLASSES = "; not for distributions"
"""Ends the text of options that predictive distributions have no use for."""

PREDICTIVE = ("quantiles", "samples", "distribution", "pit", "hub")
"""Options that name predictive distributions, each another form of them."""


def predicts_numbers(arguments: argparse.Namespace) -> bool:
    """Whether options name predictive distributions of a number."""
    return any(getattr(arguments, form) for form in PREDICTIVE)


def add_predictive(command: argparse.ArgumentParser, paired: str = "", pooled: bool = False) -> None:
    """Add what holds predictive distributions of a number, instead of probabilities; only forms that are pooled."""
    files = next(each for each in command._actions if each.dest == "files")
    files.nargs = "*"  # --hub may name the forecasts instead
    add = About("rows", command)
    text = (
        "predicted quantiles of a number: 0.1=q10; 'q*': columns named by level; 0.8=lo,hi: a central interval; or the"
        " columns LEVEL=VALUE of a long table, with a line for each quantile"
    )
    add.many("--quantiles", "LEVEL=COLUMN", text)
    text = "members of an ensemble, or draws: columns, 'm*'; or ID=VALUE of a long table"
    add.many("--samples", "COLUMN", text)
    if pooled:
        command.set_defaults(distribution=[], pit=[], censored=[])
    else:
        _add_formulas(add)
    text = "forecasts of a hub (hubverse): its folder, a team's or files, instead of FILE"
    add.many("--hub", "PATH", text)
    add("--target-data", metavar="FILE", text="the file of the outcomes, matched by location and date, or by --on")
    if not any(each.dest == "on" for each in command._actions):
        text = f"{paired}columns that identify a forecast of a long table (default: all but level and value)"
        add.many("--on", "COLUMN", text)
    command.set_defaults(issued=None, target_date=None, ordered=False)


def _add_formulas(add: About) -> None:
    """Add distributions that are not known by numbers, and limits of outcomes."""
    text = (
        "a distribution by its parameters, columns or numbers: normal mean=mu sd=s; t, lognormal, gamma, poisson,"
        " negative-binomial; zero=COLUMN adds an atom at 0"
    )
    add.many("--distribution", "FAMILY PARAMETER=COLUMN", text)
    add.many("--pit", "COLUMN", "predicted probabilities below the outcome and up to it; one column if they are equal")
    text = "limits above=COLUMN or below=COLUMN, beyond which outcomes are not observed: one for each row"
    add.many("--censored", "SIDE=COLUMN", text)


def add_engine(command: argparse.ArgumentParser) -> None:
    """Add where files are counted."""
    add, refused = About("work", command), "" if command.prog.split()[-1] in ("assess", "tally") else CLASSES
    text = "count in this process (local), or on the workers of dask or spark: a cluster on this machine, or ADDRESS"
    add("--engine", default="local", metavar="NAME[:ADDRESS]", text=f"{text} (default: %(default)s){refused}")
    text = f"number of threads that count; -1: one for each processor, -2: one less (default: 1){CLASSES}"
    add.number("--jobs", "N", text)


def add_pairing(command: argparse.ArgumentParser, compares: bool = True) -> None:
    """Add how rows of several forecasters are matched, and what only comparisons do with them."""
    add = About("rows", command)
    add.many("--on", "COLUMN", "columns of every file that identify a row")
    add.switch("--in-order", "all files have the same rows in the same order")
    add.switch("--common", "leave out ids that not all files have, and report them")
    text = "columns of each forecaster in one file, or the column that names the forecaster of each row (with --on)"
    add.many("--forecaster", "NAME=COLUMN[,COLUMN]", text)
    if compares:
        About("forecast", command).many(
            "--apply", "NAME=MAP", f"compare a forecaster recalibrated by a saved map{CLASSES}"
        )
    add_where(command, "compare only rows for which this SQL expression is true")
    if compares:
        text = "rows up to L places apart may depend on one another; COLUMN: the series, such as a station"
        About("question", command)("--lag", metavar="L[:COLUMN]", text=f"{text}{CLASSES}")
    add_clusters(command, "; 'A B': either" if compares else "")


def add_where(
    command: argparse.ArgumentParser, text: str = "read only rows for which this SQL expression is true"
) -> None:
    """Add which rows are read; conditions that are named one after another must all be true."""
    About("rows", command)("--where", action=_AllTrue, metavar="EXPRESSION", text=text)


class _AllTrue(argparse.Action):
    """Joins SQL conditions."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, f"({before}) AND ({values})" if before else values)


def add_anytime(command: argparse.ArgumentParser) -> None:
    """Add a comparison at every row."""
    text = "compare two forecasters row by row, valid however often one looks; by one --metric (default: brier_score)"
    About("question", command).switch("--anytime", f"{text}{CLASSES}")


def add_floor(command: argparse.ArgumentParser, ceiling: str = "") -> None:
    """Add the floor."""
    text = f"raise probabilities below P to P (default: auto, which is 0.01 / number of classes){ceiling}{CLASSES}"
    About("numbers", command)("--floor", nargs="+", type=_number_or_auto, default=["auto"], metavar="P", text=text)


def _number_or_auto(text: str) -> float | str:
    """Read a number, or "auto"."""
    return text if text == "auto" else float(text)


def add_settings(command: argparse.ArgumentParser) -> None:
    """Add settings of an assessment."""
    add_floor(command, "; with a second number, such as 0.01 0.99, also lower those above it")
    add = About("question", command)
    measured = add("--measured", metavar="NAME[:SETTINGS]", default="shrunk-isotonic", text="")
    measured.help = _NamingHelp(
        "estimator of the measured (calibrated) probability, with settings as in equal-width:bins=20 (default:"
        f" %(default)s); others: %(names)s{CLASSES}",
        _other_estimators,
    )
    text = (
        "which pairs are measured: of all classes together, of each row's top class, or of each class by itself"
        f" (default: auto, which is each-class for two classes, with one curve, and all-classes for more){CLASSES}"
    )
    add.one_of("--view", ("auto", "all-classes", "top-label", "each-class"), text)


def add_confidence(command: argparse.ArgumentParser, text: str = "confidence level of the intervals") -> None:
    """Add the confidence level."""
    About("numbers", command).number("--confidence", "P", f"{text} (default: 0.95)", 0.95)


def add_seed(command: argparse.ArgumentParser, of: str = "", more: str = "") -> None:
    """Add the random seed."""
    About("numbers", command).number("--seed", "N", f"random seed{of} (default: 0){more}", 0)


def add_sampling(command: argparse.ArgumentParser) -> None:
    """Add confidence level, resampling replicates and random seed."""
    add_confidence(command)
    text = "number of bootstrap replicates for the intervals of the calibrated averages; 0: none (default: 400)"
    About("numbers", command).number("--resamples", "N", f"{text}{CLASSES}", 400)
    add_seed(command, more=CLASSES)


def add_clusters(command: argparse.ArgumentParser, more: str = "") -> None:
    """Add clusters of dependent rows."""
    text = f"rows that share a value (match, date:iso-week) are dependent; 'A,B': both{more}; or none"
    About("rows", command).many("--clusters", "COLUMN", text)


def add_map(command: argparse.ArgumentParser) -> None:
    """Add a recalibration map."""
    text = f"assess the forecasts recalibrated by this map, which the command recalibrate has fitted{CLASSES}"
    About("forecast", command).path("--apply", text=text)


def add_recalibrate(command: argparse.ArgumentParser) -> None:
    """Add what fits a recalibration map, and what applies one."""
    add = About("forecast", command)
    # The names are those of Recalibrator, and so are the defaults; a test compares them.
    text = (
        "auto (default: an average of maps weighted by cross-validated log loss), best (one of them), temperature,"
        f" bias, logistic, isotonic and others{CLASSES}"
    )
    add("--method", metavar="NAME", default="auto", text=text)
    text = f"frequency of the positive class where the map is used (prior shift){CLASSES}"
    add("--prevalence", type=float, metavar="P", text=text)
    text = "number of cross-validation folds (default: 20 for two classes in up to 1,000 rows, else 5)"
    add.number("--folds", "K", text)
    add_seed(command, " of the folds")
    text = f"also fit a map to each group of rows; these maps are kept if they gain on held-out rows{CLASSES}"
    About("question", command).many("--by", "COLUMN", text)
    add_where(command, "fit to, or recalibrate, only rows for which this SQL expression of columns is true")
    add.path("--apply", metavar="MAP", text="recalibrate the probabilities of FILE by this map")
    text = "add columns for the recalibrated probabilities, named with * for the old name: '*_cal'"
    add("--as", dest="named", metavar="NAMES", text=text)
    add_report(command, f"write one HTML page of the forecasts before and after (cross-fitted){CLASSES}")
    text = "write the map (.json); with --apply the recalibrated forecasts (.parquet, .csv, .tsv or .jsonl)"
    add_map_output(command, text, required=True)


def add_among(command: argparse.ArgumentParser, more: str = "") -> None:
    """Add columns in which to search for groups."""
    text = f"columns in which to search for groups that are wrong: numbers, dates or categories; or all{more}"
    About("question", command).many("--among", "COLUMN", text)


def add_by(command: argparse.ArgumentParser, more: str = "") -> None:
    """Add groups of rows that are looked at by themselves."""
    text = (
        "each group: season; season lead: by both; date:month (year, quarter, weekday, hour,"
        f" date, iso-week, year-month, year-quarter), age:quartiles (halves, thirds, quintiles, deciles){more}"
    )
    About("question", command).many("--by", "COLUMN[:HOW]", text)


def add_reference(command: argparse.ArgumentParser, default: str | None = None) -> None:
    """Add the reference of skill scores."""
    text = (
        f"{'' if default else 'also give skill scores against '}base-rate{' (default)' if default else ''},"
        " climatology:date:month[,COLUMN...] (rows of equal values), persistence:SERIES (of distributions),"
        " a forecaster, or another column"
    )
    About("question", command)("--reference", default=default, metavar="WHAT", text=text)


def add_shown(command: argparse.ArgumentParser) -> None:
    """Add what else is assessed and shown: sections, thresholds, groups and their order, and how charts are drawn."""
    add = About("question", command)
    text = (
        "print more: averages, profile, scores, calibration, classes, precision-recall, confusion, surprises,"
        " risk-coverage (AURC), tripod (O/E, ICI, E50, E90, IPA); with settings: profile:orders=-2,0,2"
        f" calibration:bins=20{CLASSES}"
    )
    add.many("--show", "SECTION", text)
    text = (
        "the classes have an order: assess them as a distribution, and each threshold as an event; with --hub the pmf"
    )
    About("forecast", command).switch("--ordered", text)
    text = "the column of a long table that names the forecaster of each row: assess each of them"
    About("rows", command).many("--forecaster", "COLUMN", text)
    add_by(command, "; source (OOD: AUROC)")
    add_among(command)
    # The names are those of breakdown.Sort, then those of DistributionSort; a test holds them together.
    sorts = ("geometric_accuracy", "cost", "prediction_accuracy", "rows", "group")
    numbers = "coverage", "bias", "width", "score", "skill"
    text = f"order of the groups, the worst first: {', '.join(sorts)} (default: %(default)s; of distributions group);"
    text += f" of distributions also {', '.join(numbers)}"
    add.one_of("--sort", sorts + numbers, text, metavar="WHAT")


def add_metric(command: argparse.ArgumentParser) -> None:
    """Add further scoring rules."""
    text = (
        "further scoring rules: half_brier_score, ranked_probability_score, power_score(R), generalized_surprisal(R),"
        " penalized_brier_score, penalized_log_loss, spherical_score; of distributions crps, plain_crps, log1p_crps,"
        " quantile_loss(LEVEL), interval_score(COVERAGE)"
    )
    About("question", command).many("--metric", "NAME", text)


def add_counting(command: argparse.ArgumentParser) -> None:
    """Add what a tally keeps, and what it is about."""
    add = About("numbers", command)
    parts = ("classes", "predictions", "shards", "surprises", "diagnosis")
    text = (
        "further counts to keep: counts of each class, of each predicted class, of a thousand shards of the rows; the"
        f" most surprising rows; sums for the diagnosis of more than two classes (kept unasked for 3 to 20){CLASSES}"
    )
    add.one_of("--parts", parts, text, nargs="+", default=[])
    add_clusters(command)
    text = f"count so many distinct values exactly, more in cells of relative width 2^-BITS (default: 65536:9){CLASSES}"
    add("--cells", metavar="EXACT[:BITS]", text=text)
    text = (
        "what the tally is about: name= (data or task), model= (with its version), period= (2026-03-01, 2026-W10,"
        " 2026-03, 2026-Q1, 2026, a span FIRST/LAST or another name); tallies that differ do not add up"
    )
    About("work", command).many("--tag", "KEY=VALUE", text)


def add_mixed(command: argparse.ArgumentParser, text: str) -> None:
    """Add that tags need not agree."""
    About("rows", command).switch("--mixed", text)


def add_terms(command: argparse.ArgumentParser) -> None:
    """Add the terms to explain."""
    text = "metrics or findings, such as overconfident, log-loss or slope (default: list all terms)"
    command.add_argument("terms", nargs="*", metavar="TERM", help=text)


def add_outputs(command: argparse.ArgumentParser, *json: str) -> None:
    """Add what most commands write: JSON, of which a text may tell more, a plot and a report."""
    add_json(command, *json)
    add_plot(command)
    add_report(command)


def add_json(command: argparse.ArgumentParser, text: str = "write all results as JSON; '-' prints them") -> None:
    """Add JSON output."""
    About("work", command)("--json", metavar="PATH", text=text)


def add_plot(command: argparse.ArgumentParser, text: str = "write the chart (.svg, .pdf or .png)") -> None:
    """Add the plot to write."""
    About("work", command).path("--plot", text=text)
    if command.prog.endswith(" demo"):
        return
    text = "the chart's title=TEXT, outcome=TEXT (as its axes call it), size=8x5 (inches), font-size=12 (points)"
    text += ", colours=grey"
    more = "; axes=nelson: predictions on y" if command.prog.endswith(" assess") else ""
    About("work", command).many("--style", "KEY=VALUE", f"{text}{more}")
    command.set_defaults(outcome=None)


def add_report(command: argparse.ArgumentParser, text: str = "write one HTML page with everything") -> None:
    """Add the report to write."""
    About("work", command).path("--report", text=text)


def add_map_output(command: argparse.ArgumentParser, text: str, required: bool = False) -> None:
    """Add the map that a command makes, which replaces another only on demand."""
    add_output(command, text, required)
    About("work", command).switch("--force", "let -o replace another map")


def add_output(command: argparse.ArgumentParser, text: str, required: bool = False) -> None:
    """Add the file that a command makes."""
    About("work", command).path("-o", "--output", text=text, required=required)
