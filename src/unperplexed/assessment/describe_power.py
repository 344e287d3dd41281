"""What the rows can show where nothing was found: the smallest errors, in words that can be pictured."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._lib.elementary import expit, logit
from .describe_charts import Event

_POINTS, _SLOPE = 0.05, 0.2
"""Errors for which the rows that show them are counted: a bias of 5 points, a calibration slope off by 0.2."""

_CLEARLY = 1.1
"""How much larger than these the errors are that the rows show, else there is no need for more rows."""


def bias_in_points(event: Event) -> float:
    """Return the smallest bias that the rows show, as a change of the mean prediction; NaN for more classes."""
    bias = event.assessment.diagnosis.detectable.bias
    if not event.two or not math.isfinite(bias):
        return math.nan
    p, _, total = event.pairs
    with np.errstate(divide="ignore"):
        s = logit(p)
    changes = [abs(float((expit(s + way * bias) - p) @ total / total.sum())) for way in (-1, 1)]
    return max(changes)


def rows_needed(event: Event) -> Iterator[str]:
    """Say how many rows show a smaller bias, and a slope closer to 1, with the same power; the error falls as 1/√n."""
    a = event.assessment
    if a.clustered or a.weighted:
        return
    slope = a.diagnosis.detectable.slope
    for what, error, wanted in (
        (f"a bias of {100 * _POINTS:g} points", bias_in_points(event), _POINTS),
        (f"a calibration slope of {1 - _SLOPE:g}", slope if event.two else math.nan, _SLOPE),
    ):
        if math.isfinite(error) and error > _CLEARLY * wanted:
            yield f"{what} about {_rounded(a.n_rows * (error / wanted) ** 2):,} rows"


def _rounded(rows: float) -> int:
    """Round to two digits."""
    return int(round(rows, 1 - math.floor(math.log10(rows))))
