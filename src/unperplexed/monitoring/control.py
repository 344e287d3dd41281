"""The control chart: bias, calibration slope, log loss and skill over time, each of a few periods together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import chdtrc

from .._lib.typing import ByValue
from ..calibration.diagnosis.line import Coefficient, calibration_line
from ..maps.cells import NO_PRIOR, Cells, Counts, fitted_cells, map_of
from ..statistics.intervals import Interval
from .event_counts import EventCounts
from .hypotheses import scores
from .pit_counts import PitCounts, PitPoint

MOST_POINTS = 40
"""Periods beyond so many are put together, so that a chart can be read."""

NORMAL = 1.959963984540054
"""Standard errors on either side of a normal 95% interval."""

_WIDEST = 20.0
"""Half-width of an interval in log-odds beyond which a few rows do not determine the estimate; it is left out."""

_LEAST = 1e-12
"""Least recalibrated probability, so that its log-odds are finite."""

_NOWHERE = Interval(math.nan, math.nan)


class ControlPoint(ByValue):
    """Successive periods together, with the figures that `assess` gives of the same rows."""

    first: str
    """Name of the first and the last period."""
    last: str
    rows: int
    predicted: float
    """Mean prediction of the event."""
    observed: float
    """Its observed frequency."""
    bias: float
    """Log-odds to be added to the predictions; 0 is best."""
    bias_interval: Interval
    slope: float
    """1 is best; below 1 the forecasts are overconfident."""
    slope_interval: Interval
    log_loss: float
    """Nats, of all classes; smaller is better."""
    skill: float
    """1 minus the log loss over that of the frequencies of the classes in the same rows; larger is better."""
    by: str = "rows"
    """What figures are computed from: "rows", or "cells" for periods of a history of version 1, which knows no more.

    From cells they are approximate, leave out rows with a prediction of exactly 0 or 1, and log loss and skill are NaN.
    """


def control_points(names: Sequence[str], series: Sequence[EventCounts], *, limits: bool) -> tuple[ControlPoint, ...]:
    """Estimate bias, slope, log loss and skill over time; intervals are for independent rows, and else left out."""
    each = math.ceil(len(series) / MOST_POINTS)
    starts = range(0, len(series), each)
    found = (point_of(names[start : start + each], series[start : start + each], limits=limits) for start in starts)
    return tuple(point for point in found if point.rows)


def point_of(names: Sequence[str], series: Sequence[Any], *, limits: bool) -> Any:
    """Estimate the same over some periods together; no rows and NaN for no periods."""
    if series and isinstance(series[0], PitCounts):
        return PitPoint.of(names, PitCounts.together(series), limits=limits)
    counts = EventCounts.together(series) if series else None
    ends = (names[0], names[-1]) if names else ("", "")
    if counts is None or not counts.total.size:
        nan = math.nan
        return ControlPoint(*ends, 0, nan, nan, nan, _NOWHERE, nan, _NOWHERE, nan, nan)
    at = counts.at.pooled()
    line = calibration_line(at.scored())
    return ControlPoint(
        *ends,
        round(counts.rows),
        at.mean,
        at.frequency,
        *_estimate(line.intercept, limits),
        *_estimate(line.slope, limits),
        counts.log_loss,
        counts.skill,
        "cells" if counts.nodes is None else "rows",
    )


def _estimate(found: Coefficient, limits: bool) -> tuple[float, Interval]:
    if not NORMAL * found.standard_error <= _WIDEST:
        return math.nan, _NOWHERE
    return found.value, found.metric().interval if limits else _NOWHERE


def dispersion(series: Sequence[EventCounts], breaks: Iterable[int]) -> tuple[float, float]:
    """Say how much more successive periods differ than independent rows let them: a ratio of variances, and its p.

    It is 1 for independent rows. Successive periods are compared, but for those with a break between them, so that
    errors which grow slowly count for nothing. The sum of their squared differences in bias is taken as chi-squared
    with the mean and the variance that it has (Satterthwaite 1946).
    """
    found = [scores(each) for each in series]
    z, v = np.array([each[0] for each, _ in found]), np.array([each[0, 0] for _, each in found])
    part = np.searchsorted(sorted(breaks), np.arange(len(series)), side="right")[v > 0]
    z, v = z[v > 0], v[v > 0]
    same = part[1:] == part[:-1]
    if not same.any():
        return math.nan, math.nan
    own = 1 / v[1:] + 1 / v[:-1]
    squares = float((np.diff(z / v)[same] ** 2 / own[same]).sum())
    shared = (same[1:] & same[:-1]) / (v[1:-1] ** 2 * own[1:] * own[:-1])  # squared correlations of neighbours
    number = int(same.sum())
    freedom = number**2 / (number + 2 * float(shared.sum()))
    return squares / number, float(chdtrc(freedom, squares * freedom / number))


def mended(series: Sequence[EventCounts]) -> list[EventCounts]:
    """Recalibrate some periods by their common bias and slope, so that they differ by what only some of them share."""
    counts = EventCounts.together(series)
    cells = Cells(Counts(counts.log_odds, counts.total, counts.positive), ("bias", "slope"))
    found = map_of(fitted_cells(cells, NO_PRIOR))
    return [each._replace(p=np.clip(found.probabilities(each.log_odds)[:, 1], _LEAST, 1 - _LEAST)) for each in series]
