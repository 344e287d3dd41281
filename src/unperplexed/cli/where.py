"""Where forecasts of files are wrong: groups of rows, searched among columns that are named."""

from __future__ import annotations

import argparse
from dataclasses import replace

from .._lib.errors import InputError
from ..assessment.find_groups import groups_of_rows
from .input import Input
from .outputs import MAPS, Outputs
from .recalibrate import saved_with_reading


def where(arguments: argparse.Namespace) -> None:
    """Search the rows of files for groups in which the forecasts are wrong."""
    a, outputs, given = arguments, Outputs(arguments, MAPS), Input.of(arguments)
    if given.tallies:
        raise InputError(f"{given.tallies[0]}: groups are searched in rows; name the file that the tally counted.")
    if not a.among:
        raise InputError("--among: missing; name the columns in which to search, such as --among age region.")
    rows = replace(given, selection=replace(given.selection, keys=a.among)).settled()
    try:
        found = groups_of_rows(rows.grouped_chunks()(), rows.dependence, a.max_groups, a.view, a.seed)
    except InputError as error:
        raise rows.naming(error) from None
    written = outputs.page(found)
    if a.output is not None:
        written[a.output] = saved_with_reading(a, found.recalibrator().to_dict())
    outputs.write(found.to_json, lambda: outputs.text(found), written)
