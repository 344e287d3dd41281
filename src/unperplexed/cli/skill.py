"""Skill at the command line: forecasters in files against a reference, also by group."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .._lib.errors import InputError
from ..comparison.files import PairingOptions, compared_files, named_files, unnamed
from ..pairing.skill import BASE_RATE, SkillSettings, skill_rules, skilled
from ..pairing.skill_result import Skill
from .comparing import recalibrating
from .input import Input, rivals_of
from .options import predicts_numbers
from .outputs import Outputs

_CLIMATOLOGY = "climatology:"
_NOT_A_REFERENCE = {
    "climatology": "its columns behind it, such as climatology:date:month",
    "base_rate": "base-rate",
    "uniform": "base-rate, a climatology or other forecasts; reports have the uniform forecast unasked",
}
"""What references are called elsewhere."""


def skill(arguments: argparse.Namespace) -> None:
    """Score the forecasters of files against a reference."""
    a = arguments
    if predicts_numbers(a):
        from .distributions import skill_of_distributions

        Outputs(a).show(skill_of_distributions(a))
        return
    files = _named_by_column(named_files(a.files), a)
    a.files = [*map(unnamed, a.files)]
    outputs = Outputs(a)
    options = _pairing_options(a, files)
    found = _skill_of(a, Input.of(a), files, options, a.metric, a.apply)
    outputs.show(found)


def _named_by_column(files: dict[str, list[str]], a: argparse.Namespace) -> dict[str, list[str]]:
    """Name the only forecaster, where nobody did, by its column: several may stand in one file."""
    alone = len(files) == 1 and not (a.on or a.forecast or a.forecaster) and len(a.prob or ()) == 1
    column = a.prob[0].rpartition("=")[2] if alone else ""
    paths = next(iter(files.values()))
    return {column: paths} if column and "*" not in column and a.files == paths else files


def skill_beside(a: argparse.Namespace, rows: Input) -> Skill:
    """Give the skill of the forecasts that are assessed against the reference: their files are read again."""
    flag, what = "--reference", f"--reference {a.reference}: a reference"
    if a.command == "check":
        flag, what = "--require", "--require: skill"
    if rows.once or rows.engine.name != "local":
        raise InputError(
            f"{what} is compared row by row, and the rows of {rows.once[0]} cannot be read"
            " for that; give the file that they came from."
            if rows.once
            else f"--engine {a.engine}: {flag} is by the engine local; leave one of them out."
        )
    searched = a.searched and not a.pair
    options = PairingOptions(
        in_order=True, clusters=a.ways, where=a.where or "", pairs=bool(a.pair), by=a.by, least=1, searched=searched
    )
    maps = [f"{_FORECASTS}={a.apply}"] if a.apply is not None else []
    a.lag, a.within = None, []
    made = _skill_of(a, rows.paired.quietly(), {_FORECASTS: rows.names}, options, skill_rules(a.metric), maps)
    return replace(made, dependence=rows.dependence)


_FORECASTS = "forecasts"
"""Name of forecasts that no other forecaster stands beside."""


def _skill_of(
    a: argparse.Namespace,
    rows: Input,
    files: Mapping[str, Sequence[str]],
    options: PairingOptions,
    metrics: Sequence[str],
    maps: Sequence[str],
) -> Skill:
    selection = rows.selection
    reference, climatology = reference_of(a.reference)
    if climatology:
        options = replace(options, climatology=climatology)
    elif reference != BASE_RATE and not options.one_table and len(files) == 1:
        forecaster = next(iter(files))
        options = replace(options, in_order=False, rivals=_beside(forecaster, selection.prob, reference))
        selection = replace(selection, prob=type(selection.prob)())
    asked = metrics, a.floor, a.confidence, a.lag, bool(a.ways or a.pair), bool(a.within), options.searched
    settings = SkillSettings(*asked, reference)
    how = recalibrating(maps, rows.say, partial(skilled, settings=settings))
    return compared_files(files, options, selection, rows.reading, how, rows.say, rows.progress)


def reference_of(text: str) -> tuple[str, list[str]]:
    """Read the name of a reference, and the columns of a climatology."""
    if not text.startswith(_CLIMATOLOGY):
        if text in _NOT_A_REFERENCE:
            raise InputError(f"--reference {text}: expected {_NOT_A_REFERENCE[text]}.")
        return text, []
    return BASE_RATE, [column for column in text.removeprefix(_CLIMATOLOGY).split(",") if column]


def _pairing_options(a: argparse.Namespace, files: dict[str, list[str]]) -> PairingOptions:
    """Find out how rows are paired; those of one forecaster are there in their own order."""
    alone = len(files) == 1 and not (a.on or a.forecast or a.forecaster)
    a.in_order = a.in_order or alone
    if a.pair and not alone:
        raise InputError("--pair: several binary forecasts a row are read from one forecaster's file; leave out --on.")
    return pairing_options(a, by=a.by, within=a.within, pairs=bool(a.pair), least=1, searched=a.searched and not a.pair)


def pairing_options(a: argparse.Namespace, **more: Any) -> PairingOptions:
    """Take from the command line how rows are paired, and more that not all commands ask."""
    of_forecasters = {"rivals": rivals_of(a.forecast), "forecaster": a.forecaster, "clusters": a.ways}
    return PairingOptions(a.on, a.in_order, a.common, **of_forecasters, where=a.where or "", **more)


def _beside(forecaster: str, prob: Sequence[str], reference: str) -> dict[str, list[str]]:
    """Take a reference's columns in the same file as a second forecaster."""
    if not prob:
        raise InputError(f"--reference {reference}: name the probability columns of the forecaster with --prob.")
    columns = reference.split(",")
    if len(columns) != len(prob):
        raise InputError(
            f"--reference {reference}: {len(columns)} columns, where --prob names {len(prob)}; name as many, separated"
            " by commas."
        )
    return {forecaster: [*prob], reference: columns}
