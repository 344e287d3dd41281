"""Over- and underconfidence: predictions are too far from one another, or too close."""

from __future__ import annotations

from ..kind import Kind, OfClasses, OfTwo
from ..result import Advice, Clause

_LEAST_SLOPE = 0.05
"""Slope below which its inverse, the temperature, has no bounds."""

_SWAPPED = Advice("Check whether the classes are swapped: the predictions point away from the outcomes.")
_UNRELATED = Advice(
    "Look for better predictors: these predictions show no relation to the outcomes (a calibration slope of 0 is"
    " possible)."
)
_MIXED_UP = Advice("No temperature mends this. Look whether classes were mixed up; if not, predict the base rates.")


def _two(e: OfTwo) -> Clause:
    """Give the calibration slope with its interval; whether it is above 1 goes by the slope alone beside a tail."""
    if not e.sizes_tell:
        return KIND.clause(e.slope_alone)
    if e.separated:
        return KIND.clause(e.value, detail="the calibration slope is not determined")
    slope, low, high = (f"{1 + x:z.{e.digits}f}".replace("-", "−") for x in (e.value, *e.interval))
    detail = f"calibration slope {slope}, 95% CI {low} to {high}"
    return _away(detail) if 1 + e.interval[1] < 0 else KIND.clause(e.value, detail=detail)


def _away(detail: str) -> Clause:
    return Clause("pointing away from the outcomes", detail=detail, term="pointing")


def _mends_two(e: OfTwo) -> Advice:
    low, high = (1 + x for x in e.interval)
    if e.plain and not e.separated and low <= 0:
        return _SWAPPED if high < 0 else _UNRELATED
    slope = 1 + e.value
    if slope > 0.02 and not e.separated:
        size = f"{slope:.{e.digits}f} (temperature {1 / slope:.{e.digits}f})"
        return Advice(f"Multiply the log-odds by {size}.", fitted=True)
    return Advice("Multiply the log-odds by a constant (temperature scaling).", fitted=True)


def _classes(e: OfClasses) -> Clause:
    """Give the temperature with its interval, or where that has no bounds the slope of the log-probabilities.

    It is called no calibration slope, which is that of the top class in the metrics.
    """
    slope, low, high = (1 + x for x in (e.value, *e.interval))
    if slope > 10:
        return KIND.clause(e.value, detail="temperature below 0.1: the most probable class nearly always occurs")
    if low > _LEAST_SLOPE:
        return KIND.clause(e.value, detail=f"temperature {1 / slope:.2f}, 95% CI {1 / high:.2f} to {1 / low:.2f}")
    numbers = f"{slope:.2f}, 95% CI {low:.2f} to {high:.2f}".replace("-", "−")
    detail = f"slope of the log-probabilities {numbers}"
    return _away(detail) if slope <= 0 else KIND.clause(e.value, detail=detail)


def _mends_classes(e: OfClasses) -> Advice:
    if 1 + e.value <= 0.02:
        return _MIXED_UP
    return Advice(f"Divide the log-probabilities by {1 / (1 + e.value):.2f} (temperature scaling).", fitted=True)


KIND = Kind(
    "confidence",
    names=("overconfident", "underconfident"),
    terms=("overconfident", "underconfident"),
    place=1,
    heading="confidence",
    noun="over- or underconfidence",
    parameter="slope",
    plain=True,
    low_above=True,
    shown_in="slope",
    applied=0,
    step="multiplying the log-odds",
    two=_two,
    mends_two=_mends_two,
    classes=_classes,
    mends_classes=_mends_classes,
)
