"""Monitoring at the command line: tallies of successive periods, or rows with a column of time, and an alarm."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._lib.errors import InputError
from .._lib.formatting import command_line, number_of
from .._lib.output_files import sole_run
from .._lib.serialize import json_text
from ..monitoring.drifted import Drift
from ..monitoring.history import MOST_PERIODS, History, in_time
from ..monitoring.monitored import Monitored
from ..monitoring.watch import watch
from ..monitoring.watch_predictions import drift
from ..tally.tally import Predictions, Tally
from .input import Input, class_tally
from .options import predicts_numbers, refuse_given
from .outputs import Outputs
from .own_options import PERIODS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_TIME = "--time: missing; name the column of the time, or give tallies, one a period."

ALARM = 1
"""Exit code where there is an alarm, or a requirement that failed."""


_OBSERVED = ("pair", "clusters", "units", "require", "ignore_label", "weight")
"""Options that predictions alone have no use for."""


def monitor(arguments: argparse.Namespace) -> int:
    """Watch the forecasts; returns the exit code."""
    a, outputs = arguments, Outputs(arguments)
    if a.drift:
        refuse_given(a, _OBSERVED, ": not for --drift, which counts predictions without outcomes; leave it out.")
        a.cluster_columns, a.weight, a.ignore_label = [], None, None  # of a reading, which is for other commands too
    with nullcontext() if a.history is None else sole_run(a.history) as writing:
        rows = _rows(a)
        history, kept = _history(a, rows)
        if a.drift:
            found: Monitored | Drift = drift(history, confidence=a.confidence, restart=a.restart)
        else:
            known = rows.dependence, dict.fromkeys(a.by) or None
            found = watch(history, a.confidence, a.restart, a.require, a.units, *known)
        written = outputs.picture(found) | outputs.page(found)
        if kept:
            written[a.history] = history.to_bytes()
        text = outputs.text(found)
        lines = str(a.json).lower().endswith(".jsonl")
        with writing() if kept and writing else nullcontext():
            outputs.write(partial(_lines, found) if lines else found.to_json, lambda: text, written)
    return 0 if found else ALARM


def _lines(found: Monitored | Drift) -> str:
    """Give a line of JSON for each period, for jobs that read one."""
    alarms = found.alarms if isinstance(found, Monitored) else (found.alarm,)
    came = {each.period for each in alarms if each is not None}
    of = zip(found.periods, found.log_evidence.tolist(), strict=True)
    return "\n".join(json_text({"period": name, "log_evidence": x, "alarm": name in came}, None) for name, x in of)


def _rows(a: argparse.Namespace) -> Input:
    """Read the options; of rows, dependence within periods is looked for: their own biases are none."""
    rows = Input.of(a)
    if a.drift or not a.time or predicts_numbers(a):
        return rows
    searched = replace(rows, selection=replace(rows.selection, keys=[_timed(a), *a.by])).looked()
    return replace(rows, dependence=searched.dependence, found=searched.found)


def _timed(a: argparse.Namespace) -> str:
    """Name the column of the periods."""
    column, _, period = a.time.rpartition(":")
    if column and period in ("hour", "weekday"):
        raise InputError(f"--time {a.time}: each {period} comes again and again. Take days as periods, {column}:day.")
    return f"{column}:{PERIODS[period]}" if column and period in PERIODS else str(a.time)


def _history(a: argparse.Namespace, rows: Input) -> tuple[History, bool]:
    """Read all periods; also say whether the history's file is written: it never loses outcomes."""
    known = History.load(a.history) if a.history is not None and a.history.exists() else History()
    if a.rebuild and a.history is None:
        raise InputError("--rebuild: puts periods in their places in a history; name its file with --history.")
    if predicts_numbers(a):
        return _joined(a, rows, known, _of_numbers(a)), a.history is not None
    new = _of_tallies(a, rows) if rows.tallies else _of_rows(a, rows)
    if a.drift and known.periods and known.outcomes != new.outcomes:
        if known.outcomes:
            rows.say(
                f"{a.history} holds outcomes, so it is read and not written: add the new periods once they have theirs"
            )
        return _joined(a, rows, known.without_outcomes(), new.without_outcomes()), not known.outcomes
    return _joined(a, rows, known, new), a.history is not None


def _joined(a: argparse.Namespace, rows: Input, known: History, new: History) -> History:
    """Add new periods; with --rebuild also those that were missed or counted anew, and say which."""
    found, before = known.then(new, rebuild=a.rebuild), {each.name: each for each in known.periods}
    for each in new.periods if a.rebuild and before else ():
        old = before.get(each.name)
        if old is None or not each.same(old):
            how = "put in its place" if old is None else f"instead of {old.rows:,.0f}"
            rows.say(f"{each.name}: {number_of(round(each.rows), 'forecast')}, {how}")
    return found


def _of_numbers(a: argparse.Namespace) -> History:
    """Read predictive distributions."""
    from ..monitoring.distribution_history import history_of_distributions
    from .distributions import distributions_of, reading_of

    if a.drift:
        raise InputError("--drift: it is for probabilities of classes, not for predictive distributions.")
    timed = _timed(a) if a.time else None
    read = distributions_of(argparse.Namespace(**{**vars(a), "by": a.by if timed is None else [timed, *a.by]}))
    times = _issued(read.issued) if timed is None else read.frame[timed]
    by = read.frame.select(a.by) if a.by else None
    return history_of_distributions(read.y, read.forecast, times, by, reading_of(a, read))


def _issued(times: NDArray[Any] | None) -> NDArray[Any]:
    """Take the times of issue as periods, as days where they have no hours."""
    if times is None:
        raise InputError(_NO_TIME)
    days = times.astype("datetime64[D]") if times.dtype.kind == "M" else times
    return days if (days == times).all() else times


def _of_tallies(a: argparse.Namespace, rows: Input) -> History:
    if len(rows.tallies) < len(rows.names):
        raise InputError(
            f"{rows.tallies[0]}: tallies and rows cannot be mixed; count the rows into tallies, one a period."
        )
    if a.time or a.by:
        raise InputError("--time and --by are for rows; tallies are one a period, named by their files.")
    rows.refuse_reading()
    found: dict[str, Any] = {}
    for name in rows.names:
        tally = Tally.load(name) if a.drift else class_tally(name)
        if a.mixed:
            tally = tally.tagged(name="", model="")
        [period, *more] = tally.tags.periods
        period = Path(name).stem if more or not period else period
        if period in found:
            parts = command_line(["tally", "OTHER.tally", name, "--tag", f"period={period}", "-o", "sum.tally"])
            same = f"{name}: another tally has the same period, {period}."
            raise InputError(f"{same} Rename one, or add up parts of it, such as late outcomes: unperplexed {parts}")
        found[period] = tally
    if any(isinstance(each, Predictions) for each in found.values()):  # outcomes of the others are not used
        found = {period: Predictions(each) if isinstance(each, Tally) else each for period, each in found.items()}
    return History.of({key[0]: found[str(key[0])] for key in in_time([(period,) for period in found])})


def _of_rows(a: argparse.Namespace, rows: Input) -> History:
    if not a.time:
        raise InputError(_NO_TIME)
    timed = _timed(a)
    timely = replace(rows, selection=replace(rows.selection, keys=[timed, *a.by]))
    parts = ["classes", *(["shards"] if a.cluster_columns and not a.drift else [])]
    try:
        tallies = timely.groups({"parts": parts, "diagnosed": 0, "most_groups": MOST_PERIODS})
    except InputError as error:
        if not error.missing_outcomes:
            raise error.reworded(str(error).replace(f"{timed}: column", f"--time {a.time}: column")) from None
        raise error.reworded(f"{error} Predictions without outcomes are tested by --drift.") from None
    rows.say_dropped(tallies.values())
    return History.of(tallies).without_outcomes() if a.drift else History.of(tallies)
