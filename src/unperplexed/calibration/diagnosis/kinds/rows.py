"""Rows: a few surprising outcomes carry all the evidence, so that they may be the error."""

from __future__ import annotations

from collections.abc import Sequence

from ..kind import Kind, Said
from ..result import Advice


def said(probabilities: Sequence[float]) -> Said:
    """Say how many outcomes these are, and what was assigned to them."""
    carry = "s carry" if len(probabilities) > 1 else " carries"
    clause = KIND.clause(
        instead=f"{len(probabilities)} surprising outcome{carry} all the evidence of miscalibration",
        detail=f"assigned probability {', '.join(f'{p:.2g}' for p in probabilities)}",
    )
    return clause, Advice("Look at these rows first; without them no single kind of error is significant.")


KIND = Kind(
    "rows",
    names=("a few surprising outcomes",),
    terms=("surprising-outcomes",),
    place=6,
    heading="a few rows",
    required=False,
    rows_that="carry the evidence",
)
