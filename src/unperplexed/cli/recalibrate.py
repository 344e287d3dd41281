"""Recalibration at the command line: fit a map to forecasts with their outcomes, and apply one to forecasts."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import command_line
from .._lib.json_files import READING, made_of_file
from .._lib.progress import progress_bar
from .._lib.serialize import json_text
from .._lib.typing import Floats, Ints
from ..assessment.remedy import remaining_lines
from ..forecasts.labels import Label
from ..recalibration.found_groups import FoundGroupRecalibrator
from ..recalibration.recalibrator import GroupRecalibrator, Recalibrator
from ..recalibration.saved import FOUND, GROUPS
from ..sources.columns import PAIR
from ..sources.derived_columns import derived
from ..sources.readers import Batch, Wanted
from ..sources.rewriting import ForecastFile, forecast_file
from ..sources.row_filter import RowFilter, group_columns, known_of
from ..sources.writers import TABLES
from .advice import apply_command, column_names
from .classes import NewRows, written_text
from .input import Input, class_tally
from .options import PREDICTIVE, predicts_numbers, refuse_given
from .outputs import MAPS, Outputs, recalibrated_of, show_while_read
from .reading import kept_by, kept_reading

_FITTING = ("truth", "weight", "clusters", "by", "method", "folds", "seed", "ignore_label", "json", "report", "force")
"""Options of a fit."""

_GROUPED: dict[Any, str] = {GroupRecalibrator: "by", FoundGroupRecalibrator: "among"}
"""The argument that takes the columns of groups, whose names are an attribute that ends in _."""


def recalibrate(arguments: argparse.Namespace) -> None:
    """Fit a recalibration map and save it, or apply a saved one."""
    (_fit if arguments.apply is None else _apply)(arguments)


def _fit(a: argparse.Namespace) -> None:
    if a.named is not None:
        raise InputError("--as names new columns; it goes with --apply MAP.")
    if predicts_numbers(a):
        from .distributions import fit_of_distributions

        outputs, (made, models) = Outputs(a, MAPS), fit_of_distributions(a)
        written = {a.output: saved_with_reading(a, made.to_dict(), models=models)}
        outputs.write(partial(json_text, made.to_dict()), made.__str__, written)
        return
    outputs, rows = Outputs(a, MAPS), Input.of(a).settled()
    if a.by:
        _fit_groups(a, rows, outputs)
        return
    single = a.method == "best"
    made = Recalibrator("auto" if single else a.method, single=single, folds=a.folds, seed=a.seed)
    if len(rows.tallies) not in (0, len(rows.names)):
        raise InputError(f"{rows.tallies[0]}: is a tally, the other files are not. Fit to files of one kind.")
    with rows:
        if rows.tallies:
            rows.refuse_reading()
            first, *others = map(class_tally, rows.tallies)
            made.fit(sum(others, start=first))
        else:
            made.fit_chunks(rows.chunks(), rows.dependence)
    if a.prevalence is not None:
        made.for_prevalence(a.prevalence)
    if not rows.once:
        _say_permuted(a, rows, made.labels_)
    remaining = remaining_lines(made.gain_, made.baseline)
    text = "\n\n".join([str(made), *("\n".join(textwrap.wrap(line, 80, break_on_hyphens=False)) for line in remaining)])
    written = {} if a.report is None else _report(a, rows, outputs, made)
    written[a.output] = saved_with_reading(a, made.to_dict())
    outputs.write(partial(json_text, made.to_dict()), lambda: text, written)


def _say_permuted(a: argparse.Namespace, rows: Input, labels: tuple[Label | None, ...]) -> None:
    """Say that columns look permuted, before any map, and the command that names them rightly."""
    from ..calibration.diagnosis.diagnose import permuted_columns, rows_of

    found = permuted_columns(rows_of(rows.chunks()), labels)
    if found is None:
        return
    named = column_names(a, "recalibrate")
    command = "" if named is None else named.command(labels, found.column_labels)
    method = [] if a.method == "auto" else ["--method", a.method]
    again = f": {command} {command_line([*method, '-o', str(a.output), '--force'])}" if command else ""
    rows.say(f"{found.words}; name them rightly before you recalibrate{again}")


def saved_with_reading(a: argparse.Namespace, made: dict[str, Any], **more: Any) -> bytes:
    """Give the file of a map or a pool, which keeps how its forecasts were read, and more of them."""
    kept = kept_reading(a) | more | ({"where": a.where} if a.where else {})
    content = (json_text(made | {READING: kept}) + "\n").encode()
    if not a.force and a.output.exists() and a.output.read_bytes() != content:
        raise InputError(f"{a.output}: is another file already, perhaps a map in use. Name a new file, or add --force.")
    return content


def _fit_groups(a: argparse.Namespace, rows: Input, outputs: Outputs) -> None:
    """Fit one map to all rows and a map to each group."""
    refuse_given(a, ["method", "report", "prevalence"], ": the maps of groups are averages; leave it out with --by.")
    if rows.tallies:
        raise InputError(f"{rows.tallies[0]}: --by needs rows; name the file that the tally was counted from.")
    rows.refuse_outcomes("name columns that are known before the outcome.")
    for key in map(derived, a.by):
        if key.column == PAIR and a.pair:
            prob, outcome = a.pair[0].replace("*", "a").split("=", 1)
            raise InputError(f"--by pair: no file has this column. Fit one map each: --truth {outcome} --prob {prob}.")
        if key.needs_all:
            raise InputError(f"--by {key.name}: other files have other {key.how}; name a column of groups instead.")
    made = GroupRecalibrator(folds=a.folds, seed=a.seed)
    with rows:
        made.fit_chunks(rows.grouped_chunks(), rows.dependence)
    outputs.write(partial(json_text, made.to_dict()), made.__str__, {a.output: saved_with_reading(a, made.to_dict())})


def _report(a: argparse.Namespace, rows: Input, outputs: Outputs, made: Recalibrator) -> dict[Path, bytes]:
    """Make the page of the forecasts before and after."""
    from .comparing import before_and_after

    if rows.tallies:
        raise InputError(f"{rows.files[0]}: --report needs rows; name the file that the tally was counted from.")
    with rows:
        found = before_and_after(rows.chunks(), made)
        return outputs.page(found, "" if made.leave_as_it_is else apply_command(a, str(a.output)))


def _apply(a: argparse.Namespace) -> None:
    refuse_given(a, [*_FITTING, "prevalence"], " is for the fit of a map; leave it out with --apply.")
    if a.named is not None and "*" not in a.named:
        raise InputError(f"--as {a.named}: expected a name with * for that of the old column, such as '*_cal'.")
    if predicts_numbers(a):
        from .distributions import write_distributions

        outputs = Outputs(a, tuple(TABLES))
        made = made_of_file(a.apply, Recalibrator.saved_as, Recalibrator.from_dict)
        _caution(a, made, Input.of(a).say)
        outputs.print(write_distributions(a, made, kept_by(a.apply, made.saved_as).get("models", ())))
        return
    if len(a.files) != 1:
        raise InputError("--apply writes the rows of one file to another; name one FILE.")
    outputs, rows = Outputs(a, tuple(TABLES)), Input.of(a)
    recalibrator = made_of_file(a.apply, Recalibrator.saved_as, _map_from_dict)
    if isinstance(recalibrator, Recalibrator) and recalibrator.distributions is not None:
        forms = ", ".join(f"--{form}" for form in PREDICTIVE)
        raise InputError(f"{a.apply}: is a map of predictive distributions. Name these by one of {forms}.")
    _caution(a, recalibrator, rows.say)
    by = _GROUPED.get(type(recalibrator), "")
    keys = [*map(derived, getattr(recalibrator, f"{by}_", ()))]
    where = RowFilter(a.where or "")
    also = [*dict.fromkeys([*where.columns, *(key.column for key in keys)])]
    file = forecast_file(a.files[0], a.prob, rows.reading, also)
    for sentence in file.messages:
        rows.say(sentence)

    known = known_of(keys, ((each, where.places(each.raw)) for each in file.source.batches(Wanted(raw=also))))

    def recalibrated(log_p: Floats, batch: Batch, places: Ints) -> Floats:
        columns = {by: group_columns(batch, keys, known, places)} if by else {}
        return np.asarray(recalibrator.transform(log_p, scale="log-probs", **columns))

    change = RecalibratedRows(file, recalibrator.labels_, recalibrated, where, rows.say)

    def show(n_rows: int) -> None:
        if where.columns and not change.n_rows:
            raise where.none_of(n_rows)
        show_while_read(lambda: outputs.print(_written(a, file, change, n_rows)))

    with progress_bar() as report:
        file.write(a.output, change, _new(a, file), report, done=show)


def _caution(a: argparse.Namespace, made: Any, say: Callable[[str], None]) -> None:
    """Say that the fit advised against the map, and of which rows it was."""
    fitted = kept_by(a.apply, Recalibrator.saved_as).get("where")
    if fitted and fitted != a.where:
        say(f"the map was fitted to rows where {fitted}; for these alone add --where {quote(fitted)}")
    if isinstance(made, Recalibrator) and made.leave_as_it_is:
        say("the fit advised to leave the forecasts as they are; the map that it saved changes them all the same")


def _map_from_dict(data: Any) -> Any:
    """Make what a saved file holds: one map, maps of groups, or corrections of groups."""
    kinds: dict[str, Any] = {GROUPS.format: GroupRecalibrator, FOUND.format: FoundGroupRecalibrator}
    form = data.get("format") if isinstance(data, Mapping) else None
    return kinds.get(str(form), Recalibrator).from_dict(data)


def _written(arguments: argparse.Namespace, file: ForecastFile, change: RecalibratedRows, rows: int) -> str:
    """Say what was written."""
    columns = written_text(_new(arguments, file), file.reading, change.n_columns, change.invalid)
    return f"{arguments.output}: {recalibrated_of(change.n_rows, rows)}, {columns}"


def _new(arguments: argparse.Namespace, file: ForecastFile) -> list[str]:
    return [(arguments.named or "*").replace("*", name) for name in file.plan.prob]


Map = Callable[[Floats, Batch, Ints], Floats]
"""Makes calibrated probabilities of log-probabilities of every class, (n, C), at some places of a batch."""


class RecalibratedRows:
    """Recalibrates the rows of a file that a condition chooses; others stay as they are, and are not checked."""

    def __init__(
        self,
        file: ForecastFile,
        labels: Sequence[Label | None],
        recalibrated: Map,
        where: RowFilter,
        say: Callable[[str], None],
    ) -> None:
        self._where, self._recalibrated = where, recalibrated
        self._rows = NewRows(labels, file.plan, file.reading, say)
        self.n_rows = 0
        """Rows so far that were to be recalibrated."""
        self.invalid = 0
        """Rows without valid probabilities so far, which --invalid drop leaves empty."""
        self.n_columns = len(file.plan.prob)
        """Columns of probabilities; those of a column of lists are counted once rows are read."""

    def __call__(self, batch: Batch) -> Floats:
        """Give the probabilities of a batch, (n, k), in the form in which they come."""
        self._rows.refuse_text(batch)
        raw = batch.probabilities[0].rows(slice(None))
        self.n_columns = raw.shape[1]
        places = self._where.places(batch.raw)
        q = self._rows.checked(raw, batch.first_row, places)
        valid = np.flatnonzero(~np.isnan(q[:, 0]))
        if valid.size:
            q[valid] = self._recalibrated(q[valid], batch, valid)
        wanted = batch.n_rows if places is None else places.size
        self.n_rows += wanted
        self.invalid += wanted - valid.size
        new = self._rows.as_read(q, self.n_columns)
        if places is None:
            return new
        kept = raw.astype(np.float64)
        kept[places] = new[places]
        return kept
