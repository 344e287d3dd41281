"""Rows: a few surprising outcomes carry all the evidence, so that they may be the error."""

from __future__ import annotations

from collections.abc import Sequence

from ..kind import Kind
from ..result import Advice, Clause

MENDS = Advice("Look at these rows first; without them no single kind of error is significant.")


def said(probabilities: Sequence[float]) -> Clause:
    """Say how many outcomes these are, and what was assigned to them."""
    many = len(probabilities) > 1
    given = ", ".join(f"{p:.2g}" for p in probabilities)
    outcomes = f"{len(probabilities)} surprising outcome{'s carry' if many else ' carries'}"
    evidence = f"{outcomes} all the evidence of miscalibration"
    return KIND.clause(instead=evidence, detail=f"assigned probability {given}")


KIND = Kind(
    "rows",
    names=("a few surprising outcomes",),
    terms=("surprising-outcomes",),
    place=6,
    heading="a few rows",
    required=False,
    rows_that="carry the evidence",
)
