"""Ordered classes at the command line: thresholds, the PIT histogram and the rank skill."""

from __future__ import annotations

import argparse

from . import options


def add_ordered(command: argparse.ArgumentParser) -> None:
    """Add input and outputs of the command."""
    options.add_input(command, engine=False)
    options.add_where(command)
    options.add_groups(command)
    options.add_confidence(command)
    options.add_json(command)
    options.add_plot(command)
    options.add_report(command)


def ordered(arguments: argparse.Namespace) -> None:
    """Assess forecasts of ordered classes in files."""
    from .._lib.errors import InputError
    from ..assessment.ordered import ordered_of
    from ..forecasts.gathered import gathered_chunks
    from ..sources.readers.formats import matching
    from .counting import file_chunks, naming_files, tally_names
    from .outputs import check_outputs, picture_bytes, report_bytes, text_of, write_outputs

    a = arguments
    check_outputs(a)
    if tallies := tally_names(matching(a.files), a):
        raise InputError(f"{tallies[0]}: thresholds are counted from rows; give the file that the tally came from.")
    try:
        found = ordered_of(gathered_chunks(file_chunks(a)(), "forecasts"), a.confidence)
    except InputError as error:
        raise naming_files(a.files, error) from None
    pictures = picture_bytes(a.plot, found.plot) | report_bytes(a, found)
    write_outputs(a, found.to_json, text_of(a, found), pictures)
