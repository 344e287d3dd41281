"""Recalibration at the command line: fit a map to forecasts with their outcomes, and apply one to forecasts."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.json_files import READING, made_of_file
from .._lib.progress import progress_bar
from .._lib.serialize import json_text
from .._lib.typing import Floats, Ints
from ..assessment.remedy import remaining_lines
from ..forecasts.forecasts import Forecasts
from ..recalibration.group_recalibrator import GroupRecalibrator
from ..recalibration.recalibrator import Recalibrator
from ..recalibration.saved import GROUPS_FORMAT, MAP
from ..sources.chosen_rows import group_columns
from ..sources.derived_columns import derived
from ..sources.readers import Batch
from ..sources.readers.formats import matching
from ..sources.rewriting import ForecastFile, forecast_file
from ..sources.row_filter import RowFilter
from ..sources.writers import TABLES
from ..tally.tally import Tally
from .classes import refuse_other_classes
from .counting import (
    file_chunks,
    grouped_chunks,
    naming_files,
    reading_of,
    refuse_outcomes,
    refuse_reading,
    tally_names,
)
from .new_rows import unit_of
from .options import first_given
from .outputs import MAPS, check_outputs, print_text, report_bytes, sayer, show_while_read, write_outputs
from .reading import kept_reading
from .recalibrated_rows import RecalibratedRows

_FITTING = ("truth", "weight", "clusters", "by", "method", "folds", "seed", "ignore_label", "json", "report")
"""Options of a fit."""


def recalibrate(arguments: argparse.Namespace) -> None:
    """Fit a recalibration map and save it, or apply a saved one."""
    if arguments.apply is not None:
        _apply(arguments)
    else:
        _fit(arguments)


def _fit(arguments: argparse.Namespace) -> None:
    if arguments.named is not None:
        raise InputError("--as names new columns; it goes with --apply MAP.")
    check_outputs(arguments, MAPS)
    if arguments.by:
        _fit_groups(arguments)
        return
    single = arguments.method == "best"
    method = "auto" if single else arguments.method
    made = Recalibrator(method, single=single, folds=arguments.folds, seed=arguments.seed)
    names = matching(arguments.files)
    tallies = tally_names(names, arguments)
    if len(tallies) not in (0, len(names)):
        raise InputError(f"{tallies[0]}: is a tally, the other files are not. Fit to files of one kind.")
    try:
        if tallies:
            refuse_reading(arguments, tallies[0])
            made.fit(sum((Tally.load(name) for name in tallies[1:]), start=Tally.load(tallies[0])))
        else:
            made.fit_chunks(file_chunks(arguments))
    except InputError as error:
        raise naming_files(arguments.files, error) from None
    remaining = remaining_lines(made.gain_, made.baseline)
    text = "\n\n".join([str(made), *("\n".join(textwrap.wrap(line, 80)) for line in remaining)])
    outputs = {} if arguments.report is None else _report(arguments, made)
    outputs[arguments.output] = saved_with_reading(arguments, made.to_dict())
    write_outputs(arguments, partial(json_text, made.to_dict()), text, outputs)


def saved_with_reading(arguments: argparse.Namespace, made: dict[str, Any]) -> bytes:
    """Give the file of a map or a pool, which keeps how its forecasts were read."""
    return (json_text(made | {READING: kept_reading(arguments)}) + "\n").encode()


def _fit_groups(arguments: argparse.Namespace) -> None:
    """Fit one map to all rows and a map to each group."""
    if option := first_given(arguments, ["method", "report"]):
        raise InputError(f"{option}: the maps of groups are averages; leave it out with --by.")
    if tallies := tally_names(matching(arguments.files), arguments):
        raise InputError(f"{tallies[0]}: --by needs rows; name the file that the tally was counted from.")
    refuse_outcomes(arguments, "name columns that are known before the outcome.")
    for key in map(derived, arguments.by):
        if key.needs_all:
            raise InputError(f"--by {key.name}: other files have other {key.how}; name a column of groups instead.")
    made = GroupRecalibrator(folds=arguments.folds, seed=arguments.seed)
    try:
        made.fit_chunks(grouped_chunks(arguments))
    except InputError as error:
        raise naming_files(arguments.files, error) from None
    outputs = {arguments.output: saved_with_reading(arguments, made.to_dict())}
    write_outputs(arguments, partial(json_text, made.to_dict()), str(made), outputs)


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
        raise naming_files(arguments.files, error) from None


def _apply(arguments: argparse.Namespace) -> None:
    if option := first_given(arguments, _FITTING):
        raise InputError(f"{option} is for the fit of a map; leave it out with --apply.")
    if arguments.named is not None and "*" not in arguments.named:
        raise InputError(f"--as {arguments.named}: expected a name with * for that of the old column, such as '*_cal'.")
    if len(arguments.files) != 1:
        raise InputError("--apply writes the rows of one file to another; name one FILE.")
    check_outputs(arguments, tuple(TABLES))
    recalibrator = made_of_file(arguments.apply, MAP, _map_from_dict)
    keys = [derived(name) for name in recalibrator.by_] if isinstance(recalibrator, GroupRecalibrator) else []
    say = sayer(arguments)
    where = RowFilter(arguments.where or "")
    also = [*dict.fromkeys([*where.columns, *(key.column for key in keys)])]
    file = forecast_file(arguments.files[0], arguments.prob, reading_of(arguments), also)
    for sentence in file.messages:
        say(sentence)

    def recalibrated(log_p: Floats, batch: Batch, places: Ints) -> Floats:
        if isinstance(recalibrator, GroupRecalibrator):
            return recalibrator.transform(log_p, by=group_columns(batch, keys, {}, places), scale="log-probs")
        return recalibrator.transform(log_p, scale="log-probs")

    change = RecalibratedRows(file, recalibrator.labels_, recalibrated, where, say)

    def show(rows: int) -> None:
        if where.columns and not change.n_rows:
            raise where.none_of(rows)
        show_while_read(lambda: print_text(arguments, _written(arguments, file, change, rows)))

    with progress_bar() as report:
        file.write(arguments.output, change, _new(arguments, file), report, done=show)


def _map_from_dict(data: Any) -> Recalibrator | GroupRecalibrator:
    """Make what a saved file holds: one map, or maps of groups."""
    groups = isinstance(data, Mapping) and data.get("format") == GROUPS_FORMAT
    return GroupRecalibrator.from_dict(data) if groups else Recalibrator.from_dict(data)


def _written(arguments: argparse.Namespace, file: ForecastFile, change: RecalibratedRows, rows: int) -> str:
    """Say what was written."""
    new = _new(arguments, file)
    more = f" and {len(new) - _MOST_NAMED:,} more" if len(new) > _MOST_NAMED else ""
    where = f"column{'s' * (len(new) > 1)} {', '.join(new[:_MOST_NAMED])}{more}"
    left_out = f"; {number_of(change.invalid, 'row')} without valid probabilities left empty" if change.invalid else ""
    unit = unit_of(file.reading, change.n_columns)
    of = f"{change.n_rows:,} of {number_of(rows, 'row')}" if arguments.where else number_of(rows, "row")
    return f"{arguments.output}: {of} recalibrated, {where}{unit}{left_out}"


def _new(arguments: argparse.Namespace, file: ForecastFile) -> list[str]:
    return [(arguments.named or "*").replace("*", name) for name in file.plan.prob]


_MOST_NAMED = 3


def recalibrated_by(path: Path) -> Callable[[Forecasts], Forecasts]:
    """Give what recalibrates forecasts by a saved map."""
    recalibrator = Recalibrator.load(path)

    def change(forecasts: Forecasts) -> Forecasts:
        refuse_other_classes(recalibrator.labels_, forecasts.labels)
        return forecasts.with_probabilities(recalibrator.of_block)

    return change
