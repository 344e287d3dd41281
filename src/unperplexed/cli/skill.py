"""Skill at the command line: forecasters in files against a baseline, also by group."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from . import options

if TYPE_CHECKING:
    from ..comparison.files import PairingOptions

_CLIMATOLOGY = "climatology:"


def add_skill(command: argparse.ArgumentParser) -> None:
    """Add input, baseline, groups and outputs of the command."""
    options.add_input(command, pairs=False)
    add = command.add_argument_group("skill").add_argument
    text = "one of several binary forecasts a row, each a group by itself; those of a row are a cluster"
    add("--pair", nargs="+", action="extend", default=[], metavar="PROB=OUTCOME", help=text)
    add(
        "--baseline",
        default="base-rate",
        metavar="WHAT",
        help="base-rate (default), climatology:COLUMN[,COLUMN...] (observed frequencies among rows with equal values),"
        " one of the forecasters, or with one forecaster another probability column",
    )
    add(
        "--by",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN[:HOW]",
        help="also give the skill of each group; date:month (year, quarter, weekday, hour) and age:quartiles (halves,"
        " thirds, quintiles, deciles) make groups of a column",
    )
    options.add_pairing(command)
    options.add_floor(command)
    options.add_confidence(command)
    options.add_scores(command)
    options.add_json(command)
    options.add_report(command)


def skill(arguments: argparse.Namespace) -> None:
    """Score the forecasters of files against a baseline."""
    from ..comparison.files import compared_files, named_files
    from ..comparison.skill import BASE_RATE, SkillSettings, skilled
    from .comparing import recalibrating
    from .counting import reading_of, selection_of
    from .outputs import check_outputs, report_bytes, sayer, text_of, write_outputs

    a = arguments
    files = named_files(a.files)
    a.files = [path for paths in files.values() for path in paths]
    check_outputs(a)
    options, selection, baseline = _pairing_options(a, files), selection_of(a), a.baseline
    climatology = baseline.startswith(_CLIMATOLOGY)
    if climatology:
        options, baseline = replace(options, climatology=_columns(baseline)), BASE_RATE
    elif baseline != BASE_RATE and not options.within and len(files) == 1:
        forecaster = next(iter(files))
        options = replace(options, in_order=False, rivals=_beside(forecaster, selection.prob, baseline))
        selection = replace(selection, prob=type(selection.prob)())
    settings = SkillSettings(baseline, a.scores, a.floor, a.confidence, a.lag, bool(a.groups or a.pair), climatology)
    how = recalibrating(a, partial(skilled, settings=settings))
    found = compared_files(files, options, selection, reading_of(a), how, sayer(a), progress=not a.quiet)
    write_outputs(a, found.to_json, text_of(a, found), report_bytes(a, found))


def _pairing_options(a: argparse.Namespace, files: dict[str, list[str]]) -> PairingOptions:
    """Find out how rows are paired; those of one forecaster are there in their own order."""
    from ..comparison.files import PairingOptions
    from .counting import rivals_of

    alone = len(files) == 1 and not (a.on or a.forecast or a.forecaster)
    return PairingOptions(
        a.on,
        a.in_order or alone,
        a.common,
        rivals_of(a.forecast),
        a.forecaster,
        a.groups,
        where=a.where or "",
        pairs=_pair_names(a.pair, alone),
        by=a.by,
        least=1,
    )


def _pair_names(pairs: Sequence[str], alone: bool) -> list[str]:
    """Name binary forecasts of a row by their probability columns."""
    from .._lib.errors import InputError

    if pairs and not alone:
        raise InputError("--pair: several binary forecasts a row are read from one forecaster's file; leave out --on.")
    names = [pair.partition("=")[0] for pair in pairs]
    if len(set(names)) < len(names):
        raise InputError("--pair: name each probability column once.")
    return names


def _columns(baseline: str) -> list[str]:
    return [column for column in baseline.removeprefix(_CLIMATOLOGY).split(",") if column]


def _beside(forecaster: str, prob: Sequence[str], baseline: str) -> dict[str, list[str]]:
    """Take a baseline's columns in the same file as a second forecaster."""
    from .._lib.errors import InputError

    if not prob:
        raise InputError(f"--baseline {baseline}: name the probability columns of the forecaster with --prob.")
    columns = baseline.split(",")
    if len(columns) != len(prob):
        raise InputError(
            f"--baseline {baseline}: {len(columns)} columns, where --prob names {len(prob)}; name as many, separated by"
            " commas."
        )
    return {forecaster: [*prob], baseline: columns}
