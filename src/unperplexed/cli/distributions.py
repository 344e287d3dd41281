"""Predictive distributions of numbers as the command line's words name them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from ..forecasts.reading import AUTO
from ..sources.predictive import ReadDistributions, read_distributions
from ..sources.predictive_columns import PredictiveSelection
from ..sources.row_filter import RowFilter
from ..tally.tally import Tally
from .input import Input
from .meaning import pair
from .options import PREDICTIVE, first_given

if TYPE_CHECKING:
    from ..assessment.distribution_result import DistributionAssessment, DistributionBreakdown
    from ..tally.distributions import DistributionTally

_OF_CLASSES = (
    *("prob", "pair", "labels", "ignore_label", "scale", "floor", "measured", "view", "ordered", "apply", "engine"),
    *("jobs", "sort", "show", "style", "resamples", "seed"),
)
"""Options of forecasts of classes."""

_OF_TALLIES = ("clusters", "parts", "cells")
"""Options of tallies of classes."""


def assessment_of_distributions(a: argparse.Namespace) -> DistributionAssessment | DistributionBreakdown:
    """Assess the predictive distributions that the options name, and each group."""
    from ..assessment.distributions import assess_distributions, assess_distributions_by

    if not any(getattr(a, form) for form in PREDICTIVE):
        return _of_tallies(a)
    read = distributions_of(a)
    reading: dict[str, Any] = {
        "sample_weight": read.weight,
        "censored": read.censored or None,
        "issued": read.issued,
        "target_date": read.target,
        "clusters": read.clusters if read.clusters is not None else AUTO if a.searched else None,
    }
    if read.issued is None and a.searched and read.clusters is None and read.frame.width:
        reading["columns"] = read.frame
    asked = {"reference": a.reference, "metrics": a.metric, "confidence": a.confidence, "reading": reading}
    notes = [sentence for _, sentence in read.notes]
    if not a.by:
        return _noted(assess_distributions(read.y, read.forecast, **asked), notes)
    by = read.frame.select(a.by)
    found = assess_distributions_by(read.y, read.forecast, by, **asked)
    return replace(found, whole=_noted(found.whole, notes))


def _of_tallies(a: argparse.Namespace) -> DistributionAssessment:
    """Assess tallies, which know no groups, references or rows."""
    if option := first_given(a, ("by", "reference", "metric", "clusters", *_OF_CLASSES)):
        raise InputError(f"{option} is not for tallies of predictive distributions. Leave it out, or give the rows.")
    from ..assessment.distributions import assess_distribution_tally

    return assess_distribution_tally(tally_of_distributions(a), a.confidence)


def _noted(found: DistributionAssessment, notes: Sequence[str]) -> DistributionAssessment:
    """Say what was left out on the way in."""
    return replace(found, notes=(*notes, *found.notes))


def tally_of_distributions(a: argparse.Namespace) -> DistributionTally:
    """Count the predictive distributions that the options name, file by file, and add up tallies of them."""
    rows = Input.of(a)
    if option := first_given(a, _OF_TALLIES):
        raise InputError(f"{option} is not for tallies of predictive distributions, whose rows count as independent.")
    others = [name for name in rows.names if name not in rows.tallies]
    if not others:
        rows.refuse_reading()
    parts = [others] if a.hub else [[name] for name in others]
    counted = (_counted(a, part, rows.say) for part in parts)
    found: DistributionTally = Tally.merged(chain(map(Tally.load, rows.tallies), counted), mixed=rows.mixed)
    return found


def _counted(a: argparse.Namespace, files: Sequence[str], say: Callable[[str], None]) -> DistributionTally:
    """Count the rows of files."""
    read = distributions_of(a, files)
    for _, sentence in read.notes:
        say(sentence)
    if read.issued is not None:
        say("forecasts may depend on one another where their times overlap; a tally counts their rows as independent")
    limits = read.censored or None
    return Tally.of(read.y, read.forecast, metrics=a.metric, sample_weight=read.weight, censored=limits)


def distributions_of(a: argparse.Namespace, files: Sequence[str] | None = None) -> ReadDistributions:
    """Read the predictive distributions that the options name."""
    rows, selection = Input.of(a), selection_of(a)
    try:
        return read_distributions(files or rows.files, selection, rows.reading, rows.say)
    except InputError as error:
        raise rows.naming(error) from None


def selection_of(a: argparse.Namespace) -> PredictiveSelection:
    """Read which columns hold what; options that are for other forecasts are refused."""
    [form, *others] = [form for form in PREDICTIVE if getattr(a, form)]
    if others:
        raise InputError(f"--{form} and --{others[0]} each name the forecasts; leave one of them out.")
    if option := first_given(a, _OF_CLASSES):
        raise InputError(f"{option} is for probabilities of classes, not for --{form}. Leave one of them out.")
    if "rescale" in a.invalid:
        raise InputError("--invalid rescale is for probabilities; drop leaves rows out in which a number is missing.")
    if a.truth[1:]:
        raise InputError(f"--truth {' '.join(a.truth)}: the outcome is a number, in one column.")
    return PredictiveSelection(
        form,
        getattr(a, form),
        next(iter(a.truth), None),
        a.target_data,
        a.on,
        a.weight,
        dict(pair("--censored", text, ("above", "below")) for text in a.censored),
        a.cluster_columns,
        getattr(a, "by", ()),
        a.issued,
        a.target_date,
        RowFilter(a.where or ""),
    )
