"""Shape: the forecasts are miscalibrated, but in none of the ways that have a name."""

from __future__ import annotations

from ...._lib.formatting import p_value_text
from ..kind import Kind, Said
from ..result import Advice, Clause

_TWO = Advice("Recalibrate with a flexible curve (isotonic regression) fitted on held-out rows.")
FLEXIBLE = Advice("Recalibrate with a flexible curve fitted on held-out rows.")


def said(p_value: float, *, two: bool) -> Said:
    """Say that no named error explains the evidence."""
    clause = KIND.clause(more=", but none of the named errors explains how", detail=p_value_text(p_value))
    return clause, _TWO if two else FLEXIBLE


def left(p_value: float, mainly: bool = False) -> Clause:
    """Say that the errors that were named leave a further one, which may be the larger part."""
    p = p_value_text(p_value)
    if mainly:
        return KIND.clause(more=" beyond the errors named here, which explain the smaller part", detail=p)
    return Clause(
        "", instead="once this is corrected, miscalibration is left that none of the named errors explains", detail=p
    )


KIND = Kind(
    "shape",
    names=("miscalibrated",),
    terms=("miscalibrated",),
    place=7,
    heading="other",
    brief="other error",
    shown_in="loss",
    applied=3,
)
