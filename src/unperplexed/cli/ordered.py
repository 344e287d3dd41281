"""Ordered classes at the command line: thresholds, the PIT histogram and the rank skill."""

from __future__ import annotations

import argparse

from .options import first_given

_OTHERS = (
    *("by", "sort", "show", "metric", "reference", "apply", "floor", "measured", "view", "resamples", "seed"),
    *("engine", "jobs", "style"),
)
"""Options of assess that ordered classes have no use for."""


def ordered(arguments: argparse.Namespace) -> None:
    """Assess forecasts of ordered classes in files."""
    from .._lib.errors import InputError
    from ..assessment.ordered import ordered_of
    from ..forecasts.gathered import gathered_chunks
    from ..sources.derived_columns import derived
    from ..sources.readers.formats import matching
    from .counting import file_chunks, naming_files, tally_names
    from .outputs import check_outputs, picture_bytes, report_bytes, text_of, write_outputs

    a = arguments
    if option := first_given(a, _OTHERS):
        one = " AND ".join(f"{each.column} = {'...' if each.how else 1}" for each in map(derived, a.by))
        instead = f"assess one group at a time, such as --where '{one}'" if option == "--by" else "leave it out"
        raise InputError(f"{option} does not go with --ordered, which assesses thresholds of the classes; {instead}.")
    check_outputs(a)
    if tallies := tally_names(matching(a.files), a):
        raise InputError(f"{tallies[0]}: thresholds are counted from rows; give the file that the tally came from.")
    try:
        found = ordered_of(gathered_chunks(file_chunks(a)(), "forecasts"), a.confidence)
    except InputError as error:
        raise naming_files(a.files, error) from None
    pictures = picture_bytes(a.plot, found) | report_bytes(a, found)
    write_outputs(a, found.to_json, text_of(a, found), pictures)
