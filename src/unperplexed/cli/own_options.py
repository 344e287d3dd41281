"""Options of single commands, apart from the commands' modules, so that making a parser loads none of these."""

from __future__ import annotations

import argparse

from . import options
from .options import CLASSES, About

CONFIDENCE = 0.9
"""Level of the intervals of a gate, where no other is named."""

PERIODS = {"day": "date", "week": "iso-week", "month": "year-month", "quarter": "year-quarter"}
"""Lengths of a period, and what is made of a date for them."""

POOLED = "pooled"
"""Column of pooled probabilities, where no other is named."""


def add_check(command: argparse.ArgumentParser) -> None:
    """Add input, requirements and outputs of the command."""
    options.add_input(command)
    paired = "columns that identify a row in FILE and in --earlier: paired rows detect much smaller changes; or "
    options.add_predictive(command, paired)
    options.add_where(command)
    add = About("question", command)
    text = "'log_loss < 0.4', 'skill.lower > 0', 'verdict in (none)', 'worst_group_cost < 0.01', 'coverage_80 > 0.7'"
    add.many("--require", "TEXT", text)
    text = "smallest cost of an error, in nats a row, that fails a requirement on the verdict (default: 0)"
    add.number("--min-effect", "NATS", text, 0.0)
    text = "a change exactly at its limit ever fails with a probability of 5%% at most, however often one looks"
    add.switch("--anytime", f"{text}{CLASSES}")
    text = "earlier forecasts, such as a release's tally: 'change.log_loss < 0.01' (default: log loss and Brier score"
    add("--earlier", metavar="FILE", text=f"{text} have not become worse; of distributions their first score)")
    options.add_among(command, CLASSES)
    options.add_clusters(command)
    options.add_floor(command)
    text = (
        "confidence level of the intervals (default: 0.9, so that a metric at its limit fails in about 5%% of samples);"
        " none compares the metrics as they are"
    )
    About("numbers", command)("--confidence", type=_level, default=CONFIDENCE, metavar="P", text=text)
    options.add_seed(command, more=CLASSES)
    options.add_map(command)
    options.add_json(
        command, "write all metrics flat: one number or null for each name; - prints them instead of the text"
    )
    add = About("work", command)
    text = "write the table as Markdown, such as to $GITHUB_STEP_SUMMARY, at the end of the file if there is one"
    add.path("--summary", text=text)
    add.path("--junit", text="write the requirements as a JUnit file")
    command.set_defaults(measured="shrunk-isotonic", view="auto", resamples=400, by=[], reference=None)


def _level(text: str) -> float | None:
    """Read a confidence level, or none."""
    return None if text == "none" else float(text)


def add_decide(command: argparse.ArgumentParser) -> None:
    """Add input, costs and outputs of the command."""
    options.add_input(command, engine=False)
    options.add_where(command)
    text = (
        "cost of a false positive and a false negative, and of true ones (tp=, tn=: below 0 for a benefit; default: 0);"
        " fn=COLUMN: of each row; without: the curve"
    )
    About("question", command).many("--costs", "fp=COST fn=COST", text)
    text = "act on the K most probable rows, in each period (100:day): precision and recall at k"
    About("question", command)("--capacity", metavar="K[:COLUMN]", text=text)
    text = "thresholds of the decision curve: LOW HIGH of a range, or three or more"
    About("question", command).many("--thresholds", "P", text, type=float)
    options.add_clusters(command)
    options.add_confidence(command)
    options.add_seed(command, " of the folds")
    options.add_json(command)
    options.add_plot(command, "write the decision curve, also of recalibrated probabilities: .png, .svg or .pdf")
    options.add_report(command)


def add_lm(command: argparse.ArgumentParser) -> None:
    """Add input, comparison and outputs of the command."""
    text = "logs of a language model: JSON, JSON Lines, Parquet, Inspect's .eval, or folders of these"
    command.add_argument("files", nargs="+", metavar="FILE", help=text)
    add = About("rows", command)
    text = (
        "form of the logs: plain, lm-eval, inspect, openai, llama.cpp, sglang, tgi, lighteval or helm (default:"
        " recognised by the first record)"
    )
    add("--format", metavar="NAME", text=text)
    text = "logs of a second model, to be compared on the same texts, in bits per byte, or on the same questions"
    add.many("--compare", "FILE", text)
    add.switch("--common", "compare only documents or questions that both logs have, and report the others")
    text = (
        "place of the stated confidence in Inspect's scores or samples: metadata.confidence, output.completion; with"
        " --truth columns of confidences, plain or as name=column"
    )
    add.many("--stated", "PLACE", text)
    text = "JSON object of phrases and their probabilities, by which stated confidences are read"
    add.path("--words", dest="phrases", metavar="FILE", text=text)
    text = "highest value of a stated confidence without a unit, such as 10 or 100 (tables: by default recognised)"
    add("--scale", type=float, metavar="N", text=text)
    add("--separator", metavar="CHAR", text="field separator of a table in a text file: ' ', tab (default: comma)")
    text = (
        "the probability outside a question's options: renormalize (default) divides by the sum of the options',"
        " none-of-these leaves it to none of them"
    )
    add.one_of("--outside", ("renormalize", "none-of-these"), text)
    text = "options without a log-probability: refuse, zero, drop the question; keep: also read doubtful confidences"
    add.one_of("--invalid", ("refuse", "zero", "drop", "keep"), text)
    text = "assess each-option (default) of a question, or the top-option, the most probable one"
    add.one_of("--events", ("each-option", "top-option"), text)
    text = "columns of grades (Correct, Wrong, 0 to 1) in a table; JSON or CSV of an API's right options by custom_id"
    add.many("--truth", "COLUMN", text)
    text = "columns that name the question; answers to the same question are a cluster"
    add.many("--question", "COLUMN", text)
    text = (
        "column of the answers, or their place in logs of Inspect (answer, output.completion): the probability that"
        " another sample, there epoch, agrees is a confidence"
    )
    add("--answer", metavar="COLUMN", text=text)
    About("question", command).many("--by", "COLUMN", "columns that name the model")
    text = "grades that count as wrong, such as Unparseable, which are left out by default"
    add.many("--wrong", "GRADE", text)
    options.add_sampling(command)
    options.add_json(command)
    options.add_report(command)


def add_monitor(command: argparse.ArgumentParser) -> None:
    """Add input, time, groups and outputs of the command."""
    options.add_input(command)
    options.add_predictive(command)
    options.add_where(command)
    add = About("question", command)
    text = (
        "column of the time, with the period of its dates: date:day, week, month, quarter, year; else each value"
        " is a period, and so is each tally"
    )
    add("--time", metavar="COLUMN[:PERIOD]", text=text)
    text = "begin a new watch with this period, such as the first after a repair"
    add("--restart", metavar="PERIOD", text=text)
    options.add_by(command)
    options.add_clusters(command, "; none: independent; period: all rows of a period")
    options.add_mixed(command, "watch tallies of different data or models as one forecaster")
    text = f"test whether predictions changed, without outcomes, which is no test of calibration{CLASSES}"
    add.switch("--drift", text)
    options.add_confidence(command, "confidence level: 1 minus the probability of ever a false alarm")
    text = f"limits over time: 'log_loss < 0.4', 'brier_score < 0.3', 'accuracy > 0.8'{CLASSES}"
    add.many("--require", "TEXT", text)
    text = "history of earlier periods, which is read if it is there and written with the new ones"
    About("work", command).path("--history", text=text)
    text = "put periods of FILE in their places in the history: a missed day, or one counted anew with late outcomes"
    About("work", command).switch("--rebuild", text)
    options.add_outputs(command, "write all results as JSON, or as .jsonl a line for each period; '-' prints them")


def add_plan(command: argparse.ArgumentParser) -> None:
    """Add what is expected, and what is to be known."""
    # The names are those of plan(), and so are the defaults; a test compares them.
    add = About("question", command)
    add("--rate", type=float, required=True, metavar="P", text="expected frequency of the positive class")
    text = "expected area under the ROC curve (c-statistic); slope, AUC and net benefit need it"
    add("--auc", type=float, metavar="AUC", text=text)
    text = "see a difference between mean prediction and frequency, such as 0.02 for 2 points"
    add("--bias", type=float, metavar="SIZE", text=text)
    add("--slope", type=float, metavar="SLOPE", text="tell this calibration slope from 1, such as 0.8")
    text = "widths of 95%% intervals: oe=0.2 slope=0.2 auc=0.1 net_benefit=0.2 (default, unless an error is named)"
    add.many("--precision", "METRIC=WIDTH", text)
    add.many("--thresholds", "P", "thresholds of the net benefit", type=float)
    add.number("--power", "P", "probability of seeing the bias and the slope (default: 0.8)", 0.8)
    text = "factor for dependent rows: the square of that by which clusters widen an interval (default: 1)"
    add.number("--design-effect", "FACTOR", text, 1.0)
    options.add_json(command)


def add_pool(command: argparse.ArgumentParser) -> None:
    """Add input, pairing, and what fits and applies a pool."""
    options.add_input(command, pairs=False)
    options.add_pairing(command, compares=False)
    options.add_predictive(command, pooled=True)
    add = About("forecast", command)
    # The names are those of pool(), and so are the defaults; a test compares them.
    text = (
        "mean of the probabilities: linear (default), logarithmic, or mean, of an order; what is not named is fitted:"
        " linear:equal, linear:a=0.3,b=0.7 (weights), power=2 (above 1 extremizes), mean:order=-1, map=auto, power,"
        " beta or none; of distributions quantiles (default: averaged), median, or linear"
    )
    add("--method", default="linear", metavar="NAME[:SETTINGS]", text=text)
    add.number("--folds", "K", "number of cross-validation folds (default: 5)")
    options.add_seed(command, " of the folds")
    add.path("--apply", metavar="POOL", text="combine new forecasts by this pool (.json)")
    text = f"new column, or start of its name before each class (default: {POOLED})"
    add("--as", dest="named", metavar="NAME", text=text)
    options.add_json(command)
    options.add_report(command)
    text = "write the pool (.json); with --apply the rows with pooled probabilities (.parquet, .csv, .tsv or .jsonl)"
    options.add_map_output(command, text, required=True)


def add_skill(command: argparse.ArgumentParser) -> None:
    """Add input, reference, groups and outputs of the command."""
    options.add_input(command, pairs=False)
    text = f"one of several binary forecasts a row, each a group by itself; those of a row are a cluster{CLASSES}"
    About("rows", command).many("--pair", "PROB=OUTCOME", text)
    options.add_reference(command, "base-rate")
    options.add_by(command, CLASSES)
    options.add_pairing(command)
    options.add_predictive(command)
    options.add_floor(command)
    options.add_confidence(command)
    options.add_metric(command)
    options.add_outputs(command)


def add_where(command: argparse.ArgumentParser) -> None:
    """Add input, columns to search and outputs of the command."""
    options.add_input(command, engine=False)
    options.add_predictive(command)
    options.add_where(command)
    options.add_clusters(command)
    options.add_among(command)
    add = About("question", command)
    # The defaults are those of find_groups(); a test compares them.
    add.number("--max-groups", "N", "groups to name at most, of each class (default: 6)", 6)
    text = f"of several classes: each, or whether the top one is right{CLASSES}"
    add.one_of("--view", ("each-class", "top-label"), text)
    options.add_seed(command)
    options.add_json(command)
    options.add_plot(command)
    options.add_report(command)
    options.add_map_output(command, "write what corrects the groups (.json), which recalibrate applies")
