"""Where forecasts of files are wrong: groups of rows, searched among columns that are named, or among all."""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from .._lib.errors import InputError, listed
from ..assessment.find_groups import groups_of_rows
from ..calibration.where.naming import MOST
from .input import Change, Input
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
    found = groups_among(a, Input.of(a))
    written = outputs.picture(found, whole=True) | outputs.page(found)
    if a.output is not None:
        written[a.output] = saved_with_reading(a, found.recalibrator().to_dict())
    outputs.write(found.to_json, lambda: outputs.text(found), written)


def groups_among(a: argparse.Namespace, rows: Input, change: Change | None = None) -> Groups:
    """Search the rows, which may be recalibrated before, in the columns that are named."""
    if rows.tallies:
        raise InputError(f"{rows.tallies[0]}: groups are searched in rows; name the file that the tally counted.")
    every = a.among == ["all"] and "all" not in rows.others
    protected = [name for name in rows.others if _PROTECTED.search(name)] if every else []
    names = [name for name in rows.others if name not in protected] if every else a.among
    settled = rows if rows.found else rows.settled()  # by all columns, whichever are searched
    chosen = replace(settled, selection=replace(settled.selection, keys=names))
    stream = ((each if change is None else change(each), among) for each, among in chosen.grouped_chunks()())
    view = "top-label" if a.view == "top-label" else "each-class"
    with chosen:
        most = getattr(a, "max_groups", MOST)
        found = groups_of_rows(stream, chosen.dependence, most, view, a.seed, not every)
    left = f"protected columns are searched only if they are named in --among; left out: {listed(protected)}"
    return replace(found, warnings=(*found.warnings, left)) if protected else found
