"""Tail: only probabilities near 0 and 1 are too far from 50%, or too close."""

from __future__ import annotations

from ..kind import CURVED, Kind, OfClasses, OfDistributions, OfTwo, Said
from ..result import Advice, Clause


def _said(parameter: float, more: str = "", detail: str = "") -> Clause:
    how = "over" if parameter < 0 else "under"
    return KIND.clause(parameter, instead=f"extreme probabilities are {how}stated", more=more, detail=detail)


def _two(e: OfTwo) -> Said:
    advice = Advice("Fit the tails apart (logistic recalibration with a tail term).", fitted=True)
    return _said(e.value, detail=e.size), advice


def _classes(e: OfClasses) -> Said:
    clause = _said(e.value, more=" after correcting the slope" * ("confidence" in e.together))
    return clause, Advice("Fit the tails apart (a curved map of the log-odds).", fitted=True)


def _distributions(e: OfDistributions) -> Said:
    seen, expected = (f"{round(x):,}" for x in e.beyond)
    which = f"{seen} outcomes beyond the 1% and 99% points, about {expected} expected"
    which *= (e.beyond[0] - e.beyond[1]) * e.value > 0  # beside a spread it may be the other way round
    often, term = ("more", "tail-too-short") if e.value > 0 else ("less", "tail-too-long")
    name = f"extremes {often} frequent than predicted"
    return Clause(name, instead=name.replace("extremes", "extremes are"), detail=which, term=term), CURVED


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
    two=_two,
    classes=_classes,
    distributions=_distributions,
)
