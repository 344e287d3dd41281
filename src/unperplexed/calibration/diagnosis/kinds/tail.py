"""Tail: only probabilities near 0 and 1 are too far from 50%, or too close."""

from __future__ import annotations

from ..kind import Kind, OfClasses, OfTwo
from ..result import Advice, Clause


def _said(parameter: float) -> str:
    return f"extreme probabilities are {'over' if parameter < 0 else 'under'}stated"


def _two(e: OfTwo) -> Clause:
    return KIND.clause(e.value, instead=_said(e.value), detail=e.size)


def _mends_two(_: OfTwo) -> Advice:
    return Advice("Fit the tails apart (logistic recalibration with a tail term).", fitted=True)


def _classes(e: OfClasses) -> Clause:
    beside = " after correcting the slope" if "confidence" in e.together else ""
    return KIND.clause(e.value, instead=f"{_said(e.value)}{beside}")


def _mends_classes(_: OfClasses) -> Advice:
    return Advice("Fit the tails apart (a curved map of the log-odds).", fitted=True)


KIND = Kind(
    "tail",
    names=("extremes overstated", "extremes understated"),
    terms=("extremes",),
    place=3,
    heading="extremes",
    noun="misstated extremes (only probabilities near 0 and 1 are over- or understated)",
    parameter="tail",
    low_above=True,
    shown_in="loss",
    applied=0,
    step="fitting the tails",
    regressor="a tail term",
    asks_for=("lapse",),
    two=_two,
    mends_two=_mends_two,
    classes=_classes,
    mends_classes=_mends_classes,
)
