"""Pools at the command line: fit one to several forecasters in files, and apply one to their new forecasts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .._lib.errors import InputError, check_choice
from . import options

if TYPE_CHECKING:
    from ..pairing.rows import Chunks, Pair
    from ..recalibration.pool_result import Pool

_FITTING = (
    *("truth", "weight", "clusters", "on", "common", "where", "method", "folds", "seed", "ignore_label"),
    *("json", "report"),
)
"""Options of a fit."""

_COLUMN = "pooled"


def add_pool(command: argparse.ArgumentParser) -> None:
    """Add input, pairing, and what fits and applies a pool."""
    options.add_input(command, pairs=False)
    options.add_pairing(command, compares=False)
    add = options.About("forecast", command)
    # The names are those of pool(), and so are the defaults; a test compares them.
    text = (
        "mean of the probabilities: linear (default), logarithmic, or mean, of an order; what is not named is fitted:"
        " linear:equal, linear:a=0.3,b=0.7 (weights), power=2 (above 1 extremizes), mean:order=-1, map=auto, power,"
        " beta or none"
    )
    add("--method", default="linear", metavar="NAME[:SETTINGS]", text=text)
    add.number("--folds", "K", "number of cross-validation folds (default: 5)")
    options.add_seed(command, " of the folds")
    add.path("--apply", metavar="POOL", text="combine new forecasts by this pool (.json)")
    text = f"new column, or start of its name before each class (default: {_COLUMN})"
    add("--as", dest="named", metavar="NAME", text=text)
    options.add_json(command)
    options.add_report(command)
    text = "write the pool (.json); with --apply the rows with pooled probabilities (.parquet, .csv, .tsv or .jsonl)"
    options.add_output(command, text, required=True)


def pool(arguments: argparse.Namespace) -> None:
    """Fit a pool and save it, or apply a saved one."""
    if arguments.apply is not None:
        _apply(arguments)
    else:
        _fit(arguments)


def _fit(a: argparse.Namespace) -> None:
    from .._lib.serialize import json_text
    from ..comparison.files import compared_files, named_files
    from .input import Input
    from .outputs import MAPS, Outputs
    from .recalibrate import saved_with_reading
    from .skill import pairing_options

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
    from ..comparison.pooling import paired_rows
    from ..recalibration.pools import PoolSettings, pool_of_rows

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
    from .._lib.formatting import number_of
    from .._lib.progress import progress_bar
    from ..comparison.files import named_files
    from ..recalibration.pool_result import Pool
    from ..sources.writers import TABLES
    from .classes import unit_of
    from .input import Input, rivals_of
    from .outputs import Outputs, show_while_read
    from .pooled_rows import forecaster_files

    option = options.first_given(a, _FITTING) or ("--forecaster COLUMN" if a.forecaster else "")
    if option:
        more = ": files need the same rows in the same order (--in-order)" if option == "--on" else ""
        raise InputError(f"{option} is for the fit of a pool; leave it out with --apply{more}.")
    files, rivals = named_files(a.files), rivals_of(a.forecast)
    a.files = [path for paths in files.values() for path in paths]
    outputs, rows = Outputs(a, tuple(TABLES)), Input.of(a)
    made = Pool.load(a.apply)
    pooled = forecaster_files(_one_each(files), rivals, a.prob, a.in_order, made, rows.reading, rows.say)
    new = pooled.names(a.named or _COLUMN)

    def show(rows: int) -> None:
        pooled.finish()
        more = f" and {len(new) - 3:,} more" if new[3:] else ""
        where = f"column{'s' * (len(new) > 1)} {', '.join(new[:3])}{more}"
        left_out = f"; {number_of(pooled.invalid, 'row')} without valid probabilities left empty"
        unit = unit_of(pooled.file.reading, pooled.n_columns)
        done = f"{a.output}: {number_of(rows, 'row')} pooled, {where}{unit}{left_out if pooled.invalid else ''}"
        show_while_read(lambda: outputs.print(done))

    with progress_bar() as report:
        pooled.file.write(a.output, pooled, new, report, done=show)


def _one_each(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Take one file of each forecaster."""
    for name, paths in files.items():
        if len(paths) > 1:
            raise InputError(f"{name}: {len(paths)} files; --apply takes one FILE of each forecaster.")
    return {name: paths[0] for name, paths in files.items()}
