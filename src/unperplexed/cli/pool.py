"""Pools at the command line: fit one to several forecasters in files, and apply one to their new forecasts.

New forecasts of several forecasters, combined by a saved pool batch by batch.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from .._lib.errors import InputError, check_choice, listed
from .._lib.formatting import number_of, short_name
from .._lib.progress import progress_bar
from .._lib.serialize import json_text
from .._lib.typing import AnyFloats, Floats
from ..comparison.files import compared_files, named_files
from ..comparison.pooling import paired_rows
from ..pairing.rows import Chunks, Pair
from ..recalibration.pools import Pool, PoolSettings, at_floor, pool_of_rows, pooled
from ..sources.columns import Plan, probability_columns
from ..sources.file_reading import FileReading, named
from ..sources.readers import Batch, Wanted
from ..sources.rewriting import ForecastFile, forecast_file
from ..sources.writers import TABLES
from .classes import NewRows, on_scale, written_text
from .input import Input, rivals_of
from .options import first_given, predicts_numbers
from .outputs import MAPS, Outputs, show_while_read
from .own_options import POOLED
from .recalibrate import saved_with_reading
from .skill import pairing_options

_FITTING = (
    *("truth", "weight", "clusters", "on", "common", "where", "method", "folds", "seed", "ignore_label"),
    *("json", "report", "force"),
)
"""Options of a fit."""


def pool(arguments: argparse.Namespace) -> None:
    """Fit a pool and save it, or apply a saved one."""
    (_fit if arguments.apply is None else _apply)(arguments)


def _fit(a: argparse.Namespace) -> None:
    if a.named is not None:
        raise InputError("--as names new columns; it goes with --apply POOL.")
    if predicts_numbers(a):
        _fit_distributions(a)
        return
    how = partial(_fitted, a=a, settings=settings_of(a.method))
    files = named_files(a.files)
    a.files = [path for paths in files.values() for path in paths]
    outputs, rows = Outputs(a, MAPS), Input.of(a)
    options = pairing_options(a)
    found = compared_files(files, options, rows.selection, rows.reading, how, rows.say, rows.progress)
    saved = json_text(found.to_dict())
    written = outputs.page(found) | {a.output: saved_with_reading(a, found.to_dict())}
    outputs.write(lambda: saved, found.__str__, written)


def _fit_distributions(a: argparse.Namespace) -> None:
    """Fit to predictive distributions; what is shown is the pool, cross-fitted, beside its forecasters."""
    from ..recalibration.distribution_pools import METHODS
    from .distributions import pooled_forecasters

    settings = settings_of(a.method, METHODS) if "method" in a.given else {}
    outputs, (made, beside) = Outputs(a, MAPS), pooled_forecasters(a, settings)
    saved, weights = made.to_dict(), ", ".join(f"{short_name(name)} {w:.3f}" for name, w in made.weights.items())
    written = outputs.page(beside) | {a.output: saved_with_reading(a, saved)}
    said = f"Weights ({made.method}): {weights}.\n\n"
    outputs.write(partial(json_text, saved), lambda: said + outputs.text(beside), written)


def _fitted(parts: Chunks, pair: Pair, a: argparse.Namespace, settings: dict[str, Any]) -> Pool:
    """Fit to the rows of files."""
    return pool_of_rows(paired_rows(parts, pair), PoolSettings(**settings, folds=a.folds, seed=a.seed))


def settings_of(text: str, methods: Sequence[str] = ("linear", "logarithmic", "mean")) -> dict[str, Any]:
    """Read METHOD, or METHOD:SETTING,SETTING: order=R, power=A, map=NAME, equal, and weights by name."""
    method, _, settings = text.partition(":")
    check_choice("--method", method, methods)
    found: dict[str, Any] = {"method": method, "order": None, "weights": None, "power": None, "map": "auto"}
    weights: dict[str, float] = {}
    for word in settings.split(",") if settings else ():
        name, sign, value = word.rpartition("=")
        try:
            if word == "equal":
                found["weights"] = "equal"
            elif name == "map":
                found["map"] = value
            elif name in ("order", "power"):
                found[name] = float(value)
            else:
                weights[name] = float(value if sign else "")
        except ValueError:
            known = "order=R, power=A, map=NAME, equal, and weights such as a=0.3,b=0.7."
            raise InputError(f"--method {text}: {word!r} is no setting; known are {known}") from None
    check_choice("--method map", found["map"], ("auto", "power", "beta", "none"))
    return found | ({"weights": weights} if weights else {})


def _apply(a: argparse.Namespace) -> None:
    option = first_given(a, _FITTING) or ("--forecaster COLUMN" if a.forecaster else "")
    if option:
        more = ": files need the same rows in the same order (--in-order)" if option == "--on" else ""
        raise InputError(f"{option} is for the fit of a pool; leave it out with --apply{more}.")
    if predicts_numbers(a):
        from .distributions import write_pooled

        Outputs(a, tuple(TABLES)).print(write_pooled(a, _one_each(named_files(a.files))))
        return
    files, rivals = named_files(a.files), rivals_of(a.forecast)
    a.files = [path for paths in files.values() for path in paths]
    outputs, rows = Outputs(a, tuple(TABLES)), Input.of(a)
    made = Pool.load(a.apply)
    pooled = forecaster_files(_one_each(files), rivals, a.prob, a.in_order, made, rows.reading, rows.say)
    new = pooled.names(a.named or POOLED)

    def show(rows: int) -> None:
        pooled.finish()
        columns = written_text(new, pooled.file.reading, pooled.n_columns, pooled.invalid)
        show_while_read(lambda: outputs.print(f"{a.output}: {number_of(rows, 'row')} pooled, {columns}"))

    with progress_bar() as report:
        pooled.file.write(a.output, pooled, new, report, done=show)


def _one_each(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Take one file of each forecaster."""
    for name, paths in files.items():
        if len(paths) > 1:
            raise InputError(f"{name}: {len(paths)} files; --apply takes one FILE of each forecaster.")
    return {name: paths[0] for name, paths in files.items()}


Sayer = Callable[[str], None]


class PooledRows:
    """Pools the rows of a file, in which all forecasters stand or beside which others are read in the same order."""

    def __init__(
        self, made: Pool, file: ForecastFile, plans: Mapping[str, Plan], others: Mapping[str, ForecastFile], say: Sayer
    ) -> None:
        self.file, self._pool, self._plans = file, made, dict(plans)
        self._others = {name: _InOrder(name, each) for name, each in others.items()}
        self._rows = {name: _new_rows(name, plan, made, file.reading, say) for name, plan in plans.items()}
        self.invalid = 0
        """Rows without valid probabilities so far, which --invalid drop leaves empty."""
        self.n_columns = 1
        """New columns of probabilities; those of a column of lists are counted once rows are read."""

    def names(self, column: str) -> list[str]:
        """Name the new columns: one for two classes where the first forecaster has one, else one for each class."""
        if len(next(iter(self._plans.values())).prob) == 1:
            return [column]
        return [f"{column}_{at if label is None else label}" for at, label in enumerate(self._pool.labels)]

    def __call__(self, batch: Batch) -> Floats:
        """Pool the rows of a batch, and give them, (n, k), in the form in which they come."""
        next(iter(self._rows.values())).refuse_text(batch)
        read = self._by_forecaster(batch)
        checked = {name: self._rows[name].checked(each, batch.first_row) for name, each in read.items()}
        log_p = [checked[name] for name in self._pool.weights]
        valid = ~np.isnan(np.stack([each[:, 0] for each in log_p])).any(axis=0)
        self.invalid += int(np.count_nonzero(~valid))
        new = np.full((batch.n_rows, len(self._pool.labels)), np.nan)
        at = np.flatnonzero(valid)
        if at.size:
            of_members = at_floor([each[at] for each in log_p], self._pool.floor)
            new[at] = pooled(self._pool.model, of_members, at + batch.first_row)
        self.n_columns = 1 if next(iter(read.values())).shape[1] == 1 else new.shape[1]
        return on_scale(new, self.n_columns, self.file.reading.options["scale"])

    def _by_forecaster(self, batch: Batch) -> dict[str, AnyFloats]:
        """Give each forecaster's columns; of a column of lists, or a matrix, there are as many as classes."""
        own = [columns.rows(slice(None)) for columns in batch.probabilities]
        own += [each.take(batch.n_rows) for each in self._others.values()]
        return dict(zip(self._plans, own, strict=True))

    def finish(self) -> None:
        """Refuse other files that have more rows."""
        for each in self._others.values():
            each.finish()


def _new_rows(name: str, plan: Plan, made: Pool, reading: FileReading, say: Sayer) -> NewRows:
    return NewRows(made.labels, plan, reading, lambda said: say(f"{name}: {said}"), "pool", name)


_ALIKE = "Both need the same rows in the same order."


class _InOrder:
    """Successive rows of another forecaster's file."""

    def __init__(self, name: str, file: ForecastFile) -> None:
        self._name, self._file = name, file
        self._rows = self._batches()
        self._left: AnyFloats = np.empty((0, 0))
        self._taken = 0

    def _batches(self) -> Iterator[AnyFloats]:
        with named(self._file.file.name):
            for batch in self._file.source.batches(Wanted([self._file.plan.prob])):
                if batch.n_rows:
                    yield batch.probabilities[0].rows(slice(None))

    def take(self, n: int) -> AnyFloats:
        """Give the next n rows."""
        parts, missing = [self._left] if len(self._left) else [], n - len(self._left)
        while missing > 0:
            batch = next(self._rows, None)
            if batch is None:
                found = f"{self._file.file.name} has only {self._taken + n - missing:,} rows"
                raise InputError(f"{found}, fewer than this file. {_ALIKE}")
            parts.append(batch)
            missing -= len(batch)
        rows = np.concatenate(parts) if parts else np.empty((0, len(self._file.plan.prob)))
        self._left, self._taken = rows[n:], self._taken + n
        return rows[:n]

    def finish(self) -> None:
        """Refuse rows that are left."""
        if len(self._left) or next(self._rows, None) is not None:
            raise InputError(f"{self._file.file.name} has more rows than this file. {_ALIKE}")


def forecaster_files(
    files: Mapping[str, str],
    rivals: Mapping[str, Sequence[str]],
    prob: Sequence[str],
    in_order: bool,
    made: Pool,
    reading: FileReading,
    say: Sayer,
) -> PooledRows:
    """Open the file in which all forecasters stand, or a file of each, for a pool of these forecasters."""
    within = bool(rivals)
    if within and (prob or in_order):
        remedy = "leave out --prob and --in-order."
        raise InputError(f"--forecaster names the columns of each forecaster in one file; {remedy}")
    if within and len(files) > 1:
        raise InputError("--apply with --forecaster writes the rows of one file to another; name one FILE.")
    if not within and not in_order:
        ordered = "say --in-order if the files have the same rows in the same order."
        raise InputError(f"name the columns of each forecaster in one FILE with --forecaster, or {ordered}")
    names = [*(rivals if within else files)]
    if set(names) != set(made.weights):
        wrong = f"the pool is of the forecasters {listed([*made.weights])}, these are {listed(names)}"
        raise InputError(f"{wrong}. Name the same, with --forecaster NAME=COLUMN or NAME=FILE.")
    if not within:
        opened = {name: forecast_file(path, prob, reading) for name, path in files.items()}
        for name, each in opened.items():
            for sentence in each.messages:
                say(f"{name}: {sentence}")
        first = next(iter(opened))
        others = {name: each for name, each in opened.items() if name != first}
        return PooledRows(made, opened[first], {name: each.plan for name, each in opened.items()}, others, say)
    path, *_ = files.values()
    columns, *rest = rivals.values()
    file = forecast_file(path, columns, reading)
    with named(file.file.name):
        beside = [probability_columns(each, file.source, reading.labels is not None)[0] for each in rest]
    plans = dict(zip(rivals, (file.plan, *beside), strict=True))
    return PooledRows(made, replace(file, beside=tuple(beside)), plans, {}, say)
