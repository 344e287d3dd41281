"""Pools at the command line: fit one to several forecasters in files, and apply one to their new forecasts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of
from .._lib.progress import progress_bar
from .._lib.serialize import json_text
from ..comparison.files import compared_files, named_files
from ..comparison.pooling import paired_rows
from ..pairing.rows import Chunks, Pair
from ..recalibration.pools import Pool, PoolSettings, pool_of_rows
from ..sources.writers import TABLES
from .classes import written_text
from .input import Input, rivals_of
from .options import first_given
from .outputs import MAPS, Outputs, show_while_read
from .own_options import POOLED
from .pooled_rows import forecaster_files
from .recalibrate import saved_with_reading
from .skill import pairing_options

_FITTING = (
    *("truth", "weight", "clusters", "on", "common", "where", "method", "folds", "seed", "ignore_label"),
    *("json", "report"),
)
"""Options of a fit."""


def pool(arguments: argparse.Namespace) -> None:
    """Fit a pool and save it, or apply a saved one."""
    (_fit if arguments.apply is None else _apply)(arguments)


def _fit(a: argparse.Namespace) -> None:
    if a.named is not None:
        raise InputError("--as names new columns; it goes with --apply POOL.")
    how = partial(_fitted, a=a, settings=settings_of(a.method))
    files = named_files(a.files)
    a.files = [path for paths in files.values() for path in paths]
    outputs, rows = Outputs(a, MAPS), Input.of(a)
    options = pairing_options(a)
    found = compared_files(files, options, rows.selection, rows.reading, how, rows.say, rows.progress)
    saved = json_text(found.to_dict())
    written = outputs.page(found) | {a.output: saved_with_reading(a, found.to_dict())}
    outputs.write(lambda: saved, found.__str__, written)


def _fitted(parts: Chunks, pair: Pair, a: argparse.Namespace, settings: dict[str, Any]) -> Pool:
    """Fit to the rows of files."""
    return pool_of_rows(paired_rows(parts, pair), PoolSettings(**settings, folds=a.folds, seed=a.seed))


def settings_of(text: str) -> dict[str, Any]:
    """Read METHOD, or METHOD:SETTING,SETTING: order=R, power=A, map=NAME, equal, and weights by name."""
    method, _, settings = text.partition(":")
    check_choice("--method", method, ("linear", "logarithmic", "mean"))
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
            raise InputError(
                f"--method {text}: {word!r} is no setting; known are order=R, power=A, map=NAME, equal, and weights"
                " such as a=0.3,b=0.7."
            ) from None
    check_choice("--method map", found["map"], ("auto", "power", "beta", "none"))
    return found | ({"weights": weights} if weights else {})


def _apply(a: argparse.Namespace) -> None:
    option = first_given(a, _FITTING) or ("--forecaster COLUMN" if a.forecaster else "")
    if option:
        more = ": files need the same rows in the same order (--in-order)" if option == "--on" else ""
        raise InputError(f"{option} is for the fit of a pool; leave it out with --apply{more}.")
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
