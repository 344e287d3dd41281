"""Asymmetry: predictions are overconfident on one side of 50% and underconfident on the other."""

from __future__ import annotations

from ..kind import Kind, OfTwo, Said
from ..result import Advice


def _two(e: OfTwo) -> Said:
    above, below = ("bold", "timid") if e.value < 0 else ("timid", "bold")
    clause = KIND.clause(e.value, instead=f"too {above} above 50% and too {below} below", detail=e.size)
    return clause, Advice("Fit one slope for each side of even odds (beta calibration).", fitted=True)


KIND = Kind(
    "asymmetry",
    names=("asymmetric",),
    terms=("asymmetric",),
    place=2,
    noun="an asymmetry (different errors above and below 50%)",
    parameter="asymmetry",
    shown_in="loss",
    applied=0,
    step="fitting the slopes",
    regressor="their absolute value",
    two=_two,
)
