"""Comparisons at the command line: forecasters on the same rows, all at once or one after another."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from .._lib.errors import InputError
from ..comparison.compare import ComparisonSettings, compared
from ..comparison.files import compared_files, named_files, unnamed
from ..comparison.result import Comparison
from ..comparison.sequential import SequentialComparison, SequentialSettings, compared_sequentially
from ..pairing.rows import Chunks, Pair
from .advice import comparison_commands
from .comparing import recalibrating
from .input import Input
from .options import first_given, predicts_numbers
from .outputs import Outputs
from .skill import pairing_options, reference_of

_Compared: TypeAlias = Callable[[Chunks, Pair], Comparison | SequentialComparison]

_NOT_SEQUENTIAL = {
    "by": "it has no groups",
    "reference": "skill scores are of all rows together",
    "lag": "its limits hold however rows depend on one another",
    "clusters": "its limits hold however rows depend on one another",
    "weight": "its rows have equal weight",
}
"""Options of other comparisons, and why they have no place in one row after another."""


def compare(arguments: argparse.Namespace) -> None:
    """Compare forecasters on the same rows, all at once or one after another."""
    if predicts_numbers(arguments):
        from .distributions import comparison_of_distributions

        Outputs(arguments).show(comparison_of_distributions(arguments))
        return
    a, files = arguments, named_files(arguments.files)
    a.files = [*map(unnamed, a.files)]
    outputs = Outputs(a)
    climatology = () if a.reference is None else reference_of(a.reference)[1]
    searched = a.searched and not a.anytime
    options = pairing_options(a, by=a.by, within=a.within, climatology=climatology, searched=searched)
    rows = Input.of(a)
    how = recalibrating(a.apply, rows.say, _in_sequence(a) if a.anytime else _at_once(a))
    found = compared_files(files, options, rows.selection, rows.reading, how, rows.say, rows.progress)
    if isinstance(found, Comparison):
        found = found.advising(comparison_commands(a, {name: [name] for name in options.rivals} or files))
    outputs.show(found)


def _at_once(arguments: argparse.Namespace) -> _Compared:
    """Compare all rows together."""
    a = arguments
    reference = None if a.reference is None else reference_of(a.reference)[0]
    asked = a.metric, a.floor, a.confidence, a.lag, bool(a.ways), bool(a.within), a.searched
    settings = ComparisonSettings(*asked, reference)
    return partial(compared, settings=settings)


def _in_sequence(arguments: argparse.Namespace) -> _Compared:
    """Compare one row after another."""
    if option := first_given(arguments, _NOT_SEQUENTIAL):
        raise InputError(f"{option} does not go with --anytime: {_NOT_SEQUENTIAL[option[2:]]}.")
    if arguments.metric[1:]:
        raise InputError(f"--metric {' '.join(arguments.metric)}: --anytime compares by one metric; name one.")
    score = arguments.metric[0] if arguments.metric else SequentialSettings.score
    settings = SequentialSettings(score, arguments.confidence, arguments.floor)
    return partial(compared_sequentially, settings=settings)
