"""Pools at the command line: fit one to several forecasters in files, and apply one to their new forecasts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import options

if TYPE_CHECKING:
    from ..pairing.rows import Chunks, Pair
    from ..recalibration.pool_result import Pool

_FITTING: dict[str, Any] = {
    **{"truth": [], "weight": None, "clusters": [], "on": [], "common": False, "forecaster": None, "where": None},
    **{"method": "linear", "order": None, "pool_weights": [], "power": None, "recalibrate": "auto"},
    **{"folds": 5, "seed": 0, "ignore_label": None, "json": None, "report": None},
}
"""Options of a fit, and their defaults."""

_COLUMN = "pooled"


def add_pool(command: argparse.ArgumentParser) -> None:
    """Add input, pairing, and what fits and applies a pool."""
    options.add_input(command, pairs=False)
    options.add_pairing(command, compares=False)
    add = options.about("forecast", command)
    # The names are those of pool(), and so are the defaults; a test compares them.
    text = "mean of the probabilities: linear (default), logarithmic, or mean, of an order"
    add("--method", choices=("linear", "logarithmic", "mean"), default="linear", help=text)
    add("--order", type=float, metavar="R", help="order of --method mean (default: fitted)")
    text = "weights of the forecasters, by name, or equal (default: fitted)"
    add("--pool-weights", nargs="+", default=[], metavar="NAME=WEIGHT", help=text)
    text = "power to which pooled probabilities are raised; above 1 extremizes them (default: fitted)"
    add("--power", type=float, metavar="A", help=text)
    add(
        "--recalibrate",
        choices=("auto", "power", "beta", "none"),
        default="auto",
        help="what is fitted besides the weights (default: auto, a beta map where it applies, else a power)",
    )
    add("--folds", type=int, default=5, metavar="K", help="number of cross-validation folds (default: 5)")
    options.about("numbers", command)(
        "--seed", type=int, default=0, metavar="N", help="random seed of the folds (default: 0)"
    )
    add("--apply", type=Path, metavar="POOL", help="combine new forecasts by this pool (.json)")
    add("--column", metavar="NAME", help=f"new column, or start of its name before each class (default: {_COLUMN})")
    options.add_json(command)
    options.add_report(command)
    options.about("work", command)(
        "-o",
        "--output",
        type=Path,
        required=True,
        metavar="PATH",
        help="write the pool (.json); with --apply the rows with pooled probabilities (.parquet, .csv, .tsv or .jsonl)",
    )


def pool(arguments: argparse.Namespace) -> None:
    """Fit a pool and save it, or apply a saved one."""
    if arguments.apply is not None:
        _apply(arguments)
    else:
        _fit(arguments)


def _fit(a: argparse.Namespace) -> None:
    from .._lib.errors import InputError
    from .._lib.serialize import json_text
    from ..comparison.files import PairingOptions, compared_files, named_files
    from .counting import reading_of, rivals_of, selection_of
    from .outputs import check_outputs, report_bytes, sayer, write_outputs
    from .recalibrate import MAPS

    if a.column is not None:
        raise InputError("--column names new columns; it goes with --apply POOL.")
    files = named_files(a.files)
    a.files = [path for paths in files.values() for path in paths]
    check_outputs(a, MAPS)
    options = PairingOptions(a.on, a.in_order, a.common, rivals_of(a.forecast), a.forecaster, a.groups, a.where or "")
    how = partial(_fitted, a=a)
    found = compared_files(files, options, selection_of(a), reading_of(a), how, sayer(a), progress=not a.quiet)
    saved = json_text(found.to_dict())
    outputs = report_bytes(a, found) | {a.output: f"{saved}\n".encode()}
    write_outputs(a, lambda: saved, str(found), outputs)


def _fitted(parts: Chunks, pair: Pair, a: argparse.Namespace) -> Pool:
    """Fit to the rows of files."""
    from ..comparison.pooling import paired_rows
    from ..recalibration.pools import pool_of_rows

    return pool_of_rows(
        paired_rows(parts, pair),
        method=a.method,
        order=a.order,
        weights=_weights(a.pool_weights),
        power=a.power,
        recalibrate=a.recalibrate,
        folds=a.folds,
        seed=a.seed,
    )


def _weights(texts: Sequence[str]) -> Any:
    """Read NAME=WEIGHT, or "equal"."""
    from .._lib.errors import InputError

    if not texts or list(texts) == ["equal"]:
        return "equal" if texts else None
    found: dict[str, float] = {}
    for text in texts:
        name, sign, number = text.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            sign = ""
        if not sign:
            raise InputError(f"--pool-weights {text}: expected NAME=WEIGHT, such as a=2, or equal.") from None
    return found


def _apply(a: argparse.Namespace) -> None:
    from .._lib.errors import InputError
    from .._lib.formatting import number_of
    from .._lib.progress import progress_bar
    from ..comparison.files import named_files
    from ..recalibration.pool_result import Pool
    from ..sources.writers import TABLES
    from .counting import reading_of, rivals_of
    from .new_rows import unit_of
    from .outputs import check_outputs, print_text, sayer, show_while_read
    from .pooled_rows import forecaster_files

    option = options.first_given(a, _FITTING)
    if option:
        more = ": files need the same rows in the same order (--in-order)" if option == "--on" else ""
        raise InputError(f"{option} is for the fit of a pool; leave it out with --apply{more}.")
    files, rivals = named_files(a.files), rivals_of(a.forecast)
    a.files = [path for paths in files.values() for path in paths]
    check_outputs(a, tuple(TABLES))
    made = Pool.load(a.apply)
    pooled = forecaster_files(_one_each(files), rivals, a.prob, a.in_order, made, reading_of(a), sayer(a))
    new = pooled.names(a.column or _COLUMN)

    def show(rows: int) -> None:
        pooled.finish()
        more = f" and {len(new) - 3:,} more" if new[3:] else ""
        where = f"column{'s' * (len(new) > 1)} {', '.join(new[:3])}{more}"
        left_out = f"; {number_of(pooled.invalid, 'row')} without valid probabilities left empty"
        unit = unit_of(pooled.file.reading, pooled.n_columns)
        done = f"{a.output}: {number_of(rows, 'row')} pooled, {where}{unit}{left_out if pooled.invalid else ''}"
        show_while_read(lambda: print_text(a, done))

    with progress_bar() as report:
        pooled.file.write(a.output, pooled, new, report, "--column", show)


def _one_each(files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Take one file of each forecaster."""
    from .._lib.errors import InputError

    for name, paths in files.items():
        if len(paths) > 1:
            raise InputError(f"{name}: {len(paths)} files; --apply takes one FILE of each forecaster.")
    return {name: paths[0] for name, paths in files.items()}
