"""Certainty: outcomes that were predicted as certain did not occur."""

from __future__ import annotations

from ...._lib.formatting import number_of
from ....report.numbers import expected as expected_number
from ..kind import Kind, Said
from ..result import Advice

_TWO = Advice(
    "Look at these rows first, because each assigned next to nothing to what was observed. If they are not data errors,"
    " mix the predictions with a small share of even odds (as if a share of the outcomes were random)."
)
_CLASSES = Advice(
    "Look at these rows, which the other findings leave out. If they are not data errors, mix the predictions with a"
    " small share of a uniform forecast."
)

_DISTRIBUTIONS = Advice(
    "Look at these rows first, because no shift or width mends them. If they are not data errors, give some probability"
    " to all that is possible."
)


def said(count: int, expected: float, rows: int | None = None, *, exact: bool = True) -> Said:
    """Say how often outcomes that were predicted as certain did not occur.

    Sums of weights give an effective number of rows, not an ``exact`` one.

    Parameters
    ----------
    count : int
        How many such outcomes did not occur.
    expected : float
        How many were expected not to, by the forecasts.
    rows : int, optional
        Number of rows predicted as certain, of two classes. Of more each row may be certain of some outcomes alone.
    exact : bool, default True
        Whether rows were counted, not weights.
    """
    times = {1: "once", 2: "twice"}.get(count, f"{count:,} times")
    detail = f"{expected_number(expected)} expected"
    if rows is None:
        return KIND.clause(more=f" {times}", detail=detail), _CLASSES
    detail += f" in {number_of(rows, 'row')} predicted as certain{'' if exact else ', by weight'}"
    return KIND.clause(more=f" {times}", detail=detail), _TWO


def impossible(count: int, n: int) -> Said:
    """Say how many outcomes were outside of all that their predictive distributions held possible."""
    detail = f"{number_of(count, 'outcome')} of {n:,} outside of all that was held possible"
    return KIND.clause(detail=detail), _DISTRIBUTIONS


KIND = Kind(
    "certainty",
    names=("certain and wrong",),
    terms=("certain-and-wrong",),
    place=5,
    heading="certain",
    rows_that="were certain and wrong",
)
