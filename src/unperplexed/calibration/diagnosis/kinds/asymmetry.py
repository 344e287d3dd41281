"""Asymmetry: predictions are overconfident on one side of 50% and underconfident on the other."""

from __future__ import annotations

from ..kind import Kind, OfTwo
from ..result import Advice, Clause


def _two(e: OfTwo) -> Clause:
    above, below = ("bold", "timid") if e.value < 0 else ("timid", "bold")
    return KIND.clause(e.value, instead=f"too {above} above 50% and too {below} below", detail=e.size)


def _mends_two(_: OfTwo) -> Advice:
    return Advice("Fit one slope for each side of even odds (beta calibration).", fitted=True)


KIND = Kind(
    "asymmetry",
    names=("asymmetric",),
    terms=("asymmetric",),
    place=2,
    heading="asymmetry",
    noun="an asymmetry (different errors above and below 50%)",
    parameter="asymmetry",
    shown_in="loss",
    applied=0,
    step="fitting the slopes",
    regressor="their absolute value",
    asks_for=("bias",),
    two=_two,
    mends_two=_mends_two,
)
