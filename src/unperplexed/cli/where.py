"""Where forecasts of files are wrong: groups of rows, searched among columns that are named, or among all."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .._lib.errors import InputError, listed
from ..assessment.find_groups import groups_of_distributions, groups_of_rows
from ..calibration.where.conditions import CATEGORIES
from ..calibration.where.naming import MOST
from ..forecasts.labels import label_array
from .input import Change, Input
from .options import predicts_numbers
from .outputs import MAPS, Outputs
from .recalibrate import saved_with_reading

if TYPE_CHECKING:
    from ..assessment.groups_found import Groups

_PROTECTED = re.compile(
    r"(^|[^a-zA-Z]|(?<=[a-z])(?=[A-Z]))(?i:race|racial|ethnic|sex|gender|female|male\b|religio|nationalit|disab|marital)"
)
"""Names of columns that are searched only if they are named."""


def where(arguments: argparse.Namespace) -> None:
    """Search the rows of files for groups in which the forecasts are wrong."""
    a, outputs = arguments, Outputs(arguments, MAPS)
    if not a.among:
        raise InputError("--among: missing; name the columns in which to search, such as --among age region.")
    found = groups_in_distributions(a) if predicts_numbers(a) else groups_among(a, Input.of(a))
    written = outputs.picture(found) | outputs.page(found)
    if a.output is not None:
        written[a.output] = saved_with_reading(a, found.recalibrator().to_dict())
    outputs.write(found.to_json, lambda: outputs.text(found), written)


def groups_in_distributions(a: argparse.Namespace) -> Groups:
    """Search the rows of predictive distributions."""
    from ..calibration.distribution_rows import read_distributions
    from .distributions import distributions_of, others_of, reading_of

    read = distributions_of(a)
    others = others_of(a, read.frame.columns)
    names, left = _chosen(a, others)
    if used := [name for name in names if name in read.frame.columns and name not in others]:
        raise InputError(f"--among: column {used[0]!r} holds outcomes, weights or forecasts. Leave it out.")
    among, most = {name: label_array(read.frame[name]) for name in names}, getattr(a, "max_groups", MOST)
    rows = read_distributions(read.y, read.forecast, reading_of(a, read))
    found = groups_of_distributions(rows, among, most, a.seed, names == a.among)
    return replace(found, warnings=(*found.warnings, *read.notes, *left))


def _chosen(a: argparse.Namespace, others: Sequence[str]) -> tuple[Sequence[str], list[str]]:
    """Return the columns that are searched, and what is to be said of those that are left out."""
    if a.among != ["all"] or "all" in others:
        return a.among, []
    protected = [name for name in others if _PROTECTED.search(name)]
    left = f"protected columns are searched only if they are named in --among; left out: {listed(protected)}"
    return [name for name in others if name not in protected], [left] * bool(protected)


def _settled(rows: Input, named: Sequence[str]) -> Input:
    """Look for dependence in all columns, but for named ones of so few values that rules ask for each by itself."""
    keys, settled = list[str](), rows if rows.found else rows.settled()
    while (found := settled.dependence.found) is not None and found.taken and found.n_clusters <= CATEGORIES:
        if not {*found.columns} & {*named} - {*keys}:
            break
        keys += [name for name in found.columns if name in named]
        selection = replace(rows.selection, keys=keys, clusters=(), found=False, block=None)
        settled = replace(rows, selection=selection, found=()).settled()
    return settled


def groups_among(a: argparse.Namespace, rows: Input, change: Change | None = None) -> Groups:
    """Search the rows, which may be recalibrated before, in the columns that are named."""
    if rows.tallies:
        raise InputError(f"{rows.tallies[0]}: groups are searched in rows; name the file that the tally counted.")
    names, left = _chosen(a, rows.others)
    settled = _settled(rows, names if names == a.among else [])
    chosen = replace(settled, selection=replace(settled.selection, keys=names))
    stream = ((each if change is None else change(each), among) for each, among in chosen.grouped_chunks()())
    view = "top-label" if a.view == "top-label" else "each-class"
    with chosen:
        most = getattr(a, "max_groups", MOST)
        found = groups_of_rows(stream, chosen.dependence, most, view, a.seed, names == a.among)
    return replace(found, warnings=(*found.warnings, *left))
