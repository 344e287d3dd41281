"""Predictive distributions of numbers as the command line's words name them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._lib.dataclasses import replace
from .._lib.errors import InputError
from ..forecasts.reading import AUTO
from ..sources.predictive import ReadDistributions, read_distributions
from ..sources.predictive_columns import PredictiveSelection
from ..sources.row_filter import RowFilter
from .input import Input
from .meaning import pair
from .options import PREDICTIVE, first_given

if TYPE_CHECKING:
    from ..assessment.distribution_result import DistributionAssessment, DistributionBreakdown

_OF_CLASSES = (
    *("prob", "pair", "labels", "ignore_label", "scale", "floor", "measured", "view", "ordered", "apply", "engine"),
    *("jobs", "sort", "show", "style", "resamples", "seed"),
)
"""Options of forecasts of classes."""


def assessment_of_distributions(a: argparse.Namespace) -> DistributionAssessment | DistributionBreakdown:
    """Assess the predictive distributions that the options name, and each group."""
    from ..assessment.distributions import assess_distributions, assess_distributions_by

    read = distributions_of(a)
    reading = reading_of(read)
    reading["clusters"] = read.clusters if read.clusters is not None else AUTO if a.searched else None
    if read.issued is None and a.searched and read.clusters is None and read.frame.width:
        reading["columns"] = read.frame
    asked = {"reference": a.reference, "metrics": a.metric, "confidence": a.confidence, "reading": reading}
    notes = [sentence for _, sentence in read.notes]
    if not a.by:
        return _noted(assess_distributions(read.y, read.forecast, **asked), notes)
    by = read.frame.select(a.by)
    found = assess_distributions_by(read.y, read.forecast, by, **asked)
    return replace(found, whole=_noted(found.whole, notes))


def reading_of(read: ReadDistributions) -> dict[str, Any]:
    """Give what stands beside the forecasts as options of a reading."""
    windows = {"issued": read.issued, "target_date": read.target}
    return {"sample_weight": read.weight, "censored": read.censored or None, **windows}


def _noted(found: DistributionAssessment, notes: Sequence[str]) -> DistributionAssessment:
    """Say what was left out on the way in."""
    return replace(found, notes=(*notes, *found.notes))


def distributions_of(a: argparse.Namespace) -> ReadDistributions:
    """Read the predictive distributions that the options name."""
    rows, selection = Input.of(a), selection_of(a)
    try:
        return read_distributions(rows.files, selection, rows.reading, rows.say)
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
        a.by,
        a.issued,
        a.target_date,
        RowFilter(a.where or ""),
    )
