"""Recalibration at the command line: fit a map to forecasts with their outcomes, and apply one to forecasts."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .._lib.arrays import Columns
from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.progress import progress_bar
from .._lib.serialize import json_text
from .._lib.typing import AnyFloats, Floats, Ints
from ..assessment.remedy import remaining_lines
from ..forecasts.forecasts import Forecasts
from ..recalibration.recalibrator import Recalibrator
from ..sources.files import FileReading
from ..sources.readers.formats import matching
from ..sources.rewriting import ForecastFile, forecast_file
from ..sources.writers import TABLES
from ..tally.tally import Tally
from .classes import order_of_classes, refuse_other_classes
from .counting import file_chunks, naming_files, reading_of, refuse_reading, tally_names
from .outputs import check_outputs, print_text, report_bytes, sayer, shown, write_outputs

MAPS = (".json",)
"""Suffixes of recalibration maps."""

_FITTING: dict[str, Any] = {
    "truth": [],
    "weight": None,
    "groups": [],
    "method": "auto",
    "single": False,
    "folds": None,
    "seed": 0,
    "ignore_label": None,
    "json": None,
    "report": None,
}
"""Options of a fit, and their defaults."""


def recalibrate(arguments: argparse.Namespace) -> None:
    """Fit a recalibration map and save it, or apply a saved one."""
    if arguments.apply is not None:
        _apply(arguments)
    else:
        _fit(arguments)


def _fit(arguments: argparse.Namespace) -> None:
    if arguments.suffix:
        raise InputError("--suffix names new columns; it goes with --apply MAP.")
    check_outputs(arguments, MAPS)
    made = Recalibrator(arguments.method, single=arguments.single, folds=arguments.folds, seed=arguments.seed)
    names = matching(arguments.files)
    tallies = tally_names(names, arguments)
    if len(tallies) not in (0, len(names)):
        raise InputError(f"{tallies[0]}: is a tally, the other files are not. Fit to files of one kind.")
    try:
        if tallies:
            refuse_reading(arguments, tallies[0])
            made.fit(sum((Tally.load(name) for name in tallies[1:]), start=Tally.load(tallies[0])))
        else:
            chunks = file_chunks(arguments)
            if arguments.report is not None and arguments.groups:
                from .before_after import refuse_few_clusters

                refuse_few_clusters(chunks, arguments.folds)
            made.fit_chunks(chunks)
    except InputError as error:
        raise InputError(naming_files(arguments.files, error)) from None
    remaining = remaining_lines(made.gain_, made.baseline)
    text = "\n\n".join([str(made), *("\n".join(textwrap.wrap(line, 80)) for line in remaining)])
    outputs = {} if arguments.report is None else _report(arguments, made)
    outputs[arguments.output] = (json_text(made.to_dict()) + "\n").encode()
    write_outputs(arguments, partial(json_text, made.to_dict()), text, outputs)


def _report(arguments: argparse.Namespace, made: Recalibrator) -> dict[Path, bytes]:
    """Make the page of the forecasts before and after."""
    from .advice import apply_command
    from .before_after import before_and_after

    if tally_names(matching(arguments.files), arguments):
        raise InputError(f"{arguments.files[0]}: --report needs rows; name the file that the tally was counted from.")
    try:
        found = before_and_after(file_chunks(arguments), made)
        command = "" if made.leave_as_it_is else apply_command(arguments, arguments.output)
        return report_bytes(arguments, found, command)
    except InputError as error:
        raise InputError(naming_files(arguments.files, error)) from None


def _apply(arguments: argparse.Namespace) -> None:
    for name, default in _FITTING.items():
        if getattr(arguments, name) != default:
            raise InputError(f"--{name.replace('_', '-')} is for the fit of a map; leave it out with --apply.")
    if len(arguments.files) != 1:
        raise InputError("--apply writes the rows of one file to another; name one FILE.")
    check_outputs(arguments, tuple(TABLES))
    recalibrator = Recalibrator.load(arguments.apply)
    say = sayer(arguments)
    file = forecast_file(arguments.files[0], arguments.prob, reading_of(arguments), arguments.where or "")
    for sentence in file.messages:
        say(sentence)
    change = Change(file, recalibrator, say)
    gone = None

    def show(rows: int) -> None:
        nonlocal gone
        if file.where.columns and not change.n_rows:
            raise file.where.none_of(rows)
        gone = shown(lambda: print_text(arguments, _written(arguments, file, change, rows)))

    with progress_bar() as report:
        file.write(arguments.output, change, _new(arguments, file), report, done=show)
    if gone is not None:
        raise gone


def _written(arguments: argparse.Namespace, file: ForecastFile, change: Change, rows: int) -> str:
    """Say what was written."""
    new = _new(arguments, file)
    more = f" and {len(new) - _MOST_NAMED:,} more" if len(new) > _MOST_NAMED else ""
    where = f"column{'s' * (len(new) > 1)} {', '.join(new[:_MOST_NAMED])}{more}"
    left_out = f"; {number_of(change.invalid, 'row')} without valid probabilities left empty" if change.invalid else ""
    unit = unit_of(file.reading, change.n_columns)
    of = f"{change.n_rows:,} of {number_of(rows, 'row')}" if file.where.columns else number_of(rows, "row")
    return f"{arguments.output}: {of} recalibrated, {where}{unit}{left_out}"


def _new(arguments: argparse.Namespace, file: ForecastFile) -> list[str]:
    return [name + (arguments.suffix or "") for name in file.plan.prob]


_MOST_NAMED = 3


class Change:
    """Recalibrates the probability columns of a file, checked with their row numbers."""

    def __init__(self, file: ForecastFile, recalibrator: Recalibrator, say: Callable[[str], None]) -> None:
        self._file, self._recalibrator, self._say = file, recalibrator, say
        self._order: list[int] | None = None
        self.n_rows = 0
        """Rows so far that were to be recalibrated."""
        self.invalid = 0
        """Rows without valid probabilities so far, which --drop-invalid leaves empty."""
        self.n_columns = len(file.plan.prob)
        """Columns of probabilities; those of a column of lists are counted once rows are read."""

    def __call__(self, columns: Columns, first_row: int, places: Ints | None = None) -> Floats:
        """Recalibrate successive rows, (n, k), or those at some places; give all in the form in which they come."""
        labels, plan, reading = self._recalibrator.labels_, self._file.plan, self._file.reading
        self.n_columns = columns.n_columns
        if self._order is None:
            self._order, message = order_of_classes(labels, columns.n_columns, plan, reading)
            if message:
                self._say(message)
        options: dict[str, Any] = dict(reading.options)
        raw = columns.rows(slice(None))
        forecasts = Forecasts(
            np.zeros(columns.n_rows, dtype=np.int8),
            columns,
            known_labels=tuple(range(len(labels))),
            first_row=first_row,
            names=("", plan.prob[0] if len(plan.prob) == 1 else "probabilities", ""),
            **options,
        )
        new = np.full(raw.shape, np.nan)
        if places is not None:
            forecasts, new = forecasts[places], raw.astype(np.float64)
            new[places] = np.nan
        self.n_rows += forecasts.n_rows
        form = {name: options.get(name, False) for name in ("percent", "from_logits", "from_log_probs")}
        for block in forecasts.blocks():
            at = block.index - first_row
            self.invalid += sum(block.notes.dropped.values())
            summed = bool(options.get("renormalize")) and columns.n_columns > 1
            found = self._recalibrated(block.probabilities if summed else raw[at], {} if summed else form)
            new[at] = in_form(found, form)
        return new

    def _recalibrated(self, rows: AnyFloats, form: dict[str, bool]) -> Floats:
        """Recalibrate valid rows, whose columns may stand in another order than the map's classes."""
        if not len(rows):
            return np.empty_like(rows, dtype=np.float64)
        if rows.shape[1] == 1:
            return self._recalibrator.transform(rows[:, 0], **form)[:, None]
        order = self._order or list(range(rows.shape[1]))
        found = self._recalibrator.transform(np.ascontiguousarray(rows[:, order]), **form)
        return found[:, np.argsort(order)]


def in_form(rows: Floats, form: Mapping[str, bool]) -> Floats:
    """Give probabilities as the file had them: percentages, log-probabilities, or logits.

    The logits of one column are log-odds; those of several are log-probabilities, whose softmax they are.
    """
    if form["percent"]:
        return 100 * rows
    if form["from_logits"] and rows.shape[1] == 1:
        return np.log(rows) - np.log1p(-rows)
    if form["from_logits"] or form["from_log_probs"]:
        return np.log(rows)
    return rows


def unit_of(reading: FileReading, n_columns: int) -> str:
    """Name the form of the new columns, where it is not probabilities."""
    if reading.options["percent"]:
        return " in percent"
    if reading.options["from_logits"] and n_columns == 1:
        return " in log-odds"
    logs = reading.options["from_logits"] or reading.options["from_log_probs"]
    return " in log-probabilities" if logs else ""


def recalibrated_by(path: Path | None) -> Callable[[Forecasts], Forecasts] | None:
    """Give what recalibrates forecasts by a saved map; None for none."""
    if path is None:
        return None
    recalibrator = Recalibrator.load(path)

    def change(forecasts: Forecasts) -> Forecasts:
        refuse_other_classes(recalibrator.labels_, forecasts.labels)
        return forecasts.with_probabilities(recalibrator.transform)

    return change
