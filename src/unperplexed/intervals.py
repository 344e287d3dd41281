"""How sure we are: intervals for every figure of an assessment."""

from __future__ import annotations

from typing import NamedTuple


class Interval(NamedTuple):
    """Lower and upper limit of a figure, NaN where it has none."""

    low: float
    high: float
