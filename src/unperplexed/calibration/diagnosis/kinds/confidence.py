"""Over- and underconfidence: predictions are too far from one another, or too close."""

from __future__ import annotations

import math
from dataclasses import replace

from ..kind import Kind, OfClasses, OfTwo, Said, decimals
from ..result import Advice, Clause

_LEAST_SLOPE = 0.05
"""Slope below which its inverse, the temperature, has no bounds."""

_NO_SLOPE = 0.02
"""Slope up to which predictions are all but worthless: nothing is divided by it."""

SWAPPED = Advice("Check whether the classes are swapped: the predictions point away from the outcomes.")
_UNRELATED = Advice(
    "Look for better predictors: these predictions show no relation to the outcomes (a calibration slope of 0 is"
    " possible)."
)
_TOGETHER = Advice("Fit a temperature together with what mends the other errors.", fitted=True)
_MIXED_UP = Advice("No temperature mends this. Look whether classes were mixed up; if not, predict the base rates.")


def _two(e: OfTwo) -> Said:
    """Give the calibration slope with its interval; beside other errors what multiplies the log-odds."""
    constant = Advice("Multiply the log-odds by a constant (temperature scaling).", fitted=True)
    if not e.sizes_tell:
        return _away("") if e.away else KIND.clause(e.slope - 1), constant
    if e.separated:
        return KIND.clause(e.value, detail="the calibration slope is not determined"), constant
    slope, low, high = (1 + x for x in (e.value, *e.interval))
    clause = _away(_size(e)) if e.away or high < 0 else _perhaps(KIND.clause(e.value, detail=_size(e)), low, high)
    if e.plain and low <= 0:
        return clause, SWAPPED if high < 0 else _UNRELATED
    if slope <= _NO_SLOPE:
        return clause, constant
    if len(e.together) == 1 and not e.constant and (e.temperature - 1) * e.value < 0:
        scaling = f"Divide the log-odds by {e.temperature:.{e.digits}f} (temperature scaling, fitted alone)."
    else:
        shift = f" and add {e.signed(e.constant)}" if e.constant and len(e.together) == 1 else ""
        scaling = f"Multiply the log-odds by {slope:.{e.digits}f}{shift}."
    return clause, Advice(scaling, fitted=True)


def _size(e: OfTwo) -> str:
    """Give the calibration slope where the size is that; else what the log-odds are to be multiplied by."""
    if e.plain and not e.all_rows:
        return "but for rows predicted as certain"
    slope, low, high = (f"{1 + x:z.{e.digits}f}".replace("-", "−") for x in (e.value, *e.interval))
    between = "" if math.isnan(e.interval[0]) else f", 95% CI {low} to {high}"
    return f"{'calibration slope' if e.all_rows else 'log-odds to be multiplied by'} {slope}{between}"


def _perhaps(clause: Clause, low: float, high: float) -> Clause:
    """Say that the interval of a slope holds 1, where it does."""
    return replace(clause, name=f"perhaps {clause.name}") if low <= 1 <= high else clause


def _classes(e: OfClasses) -> Said:
    """Give the temperature with its interval, or where that has no bounds the slope of the log-probabilities.

    It is called no calibration slope, which is that of the top class in the metrics.
    """
    slope, low, high = (1 + x for x in (e.value, *e.interval))
    if e.fitted == "opposed":
        return KIND.clause(e.value, detail="beside the other errors"), _TOGETHER
    if slope > 10:
        detail = "temperature below 0.1: the most probable class nearly always occurs"
    elif low > _LEAST_SLOPE:
        temperature, least, most = (f"{1 / x:.{decimals(e.value)}f}" for x in (slope, high, low))
        detail = f"temperature {temperature} {_fitted(e)}, 95% CI {least} to {most}"
    else:
        numbers = f"{slope:.2f}, 95% CI {low:.2f} to {high:.2f}".replace("-", "−")
        detail = f"slope of the log-probabilities {numbers}"
    clause = _away(detail) if slope <= 0 else _perhaps(KIND.clause(e.value, detail=detail), low, high)
    if slope <= _NO_SLOPE:
        return clause, _MIXED_UP
    mix = (
        f", and mix the predictions with a {e.lapse:.2g} share of a uniform forecast"
        if e.lapse and "noise" not in e.together
        else ""
    )
    scaling = f"Divide the log-probabilities by {1 / slope:.2f} (temperature scaling, fitted {_fitted(e)})"
    return clause, Advice(f"{scaling}{mix}.", fitted=True)


def _fitted(e: OfClasses) -> str:
    """Say what is fitted with a temperature."""
    if e.fitted == "beside" and len(e.together) > 1:
        return "beside the other errors"
    return f"with {100 * e.lapse:.2g}% of the outcomes as if random" if e.lapse else "alone"


def _away(detail: str) -> Clause:
    return Clause("pointing away from the outcomes", detail=detail, term="pointing")


KIND = Kind(
    "confidence",
    names=("overconfident", "underconfident"),
    terms=("overconfident", "underconfident"),
    place=1,
    noun="over- or underconfidence",
    parameter="slope",
    plain=True,
    low_above=True,
    shown_in="slope",
    applied=0,
    step="multiplying the log-odds",
    two=_two,
    classes=_classes,
)
