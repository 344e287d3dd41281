"""Numbers as documents show them: three significant digits, a minus sign, percentages without a space."""

from __future__ import annotations

import math

from .text import figure

MINUS = "\u2212"


def number(value: float, decimals: int = 3) -> str:
    """Give a number to three decimals, with more where they would all be zeros; "–" for NaN."""
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = figure(value, decimals)
    if text == "-":
        return "–"
    return (MINUS + text[1:] if text.startswith("-") else text).replace("e-", f"e{MINUS}")


def signed(value: float, decimals: int = 3) -> str:
    """Give a number with its sign."""
    return number(value, decimals) if not value > 0 else f"+{number(value, decimals)}"


def share(value: float) -> str:
    """Give a share as a percentage of three significant digits: "33.8%", "3.55%"."""
    if math.isnan(value):
        return "–"
    percent = 100 * value
    if 99.95 <= percent < 100:
        return f"{percent:.2f}%" if percent < 99.995 else "> 99.99%"
    if percent >= 99.95:
        return "100%"
    if percent >= 9.995:
        return f"{percent:.1f}%"
    return f"{percent:.2f}%" if percent == 0 or percent >= 0.005 else "< 0.01%"


def points(value: float) -> str:
    """Give a difference of shares in percentage points, with its sign."""
    if math.isnan(value):
        return "–"
    shown = 100 * value
    text = f"{abs(shown):.{1 if abs(shown) >= 0.1 or shown == 0 else 2}f}"
    return text if shown == 0 else f"{'+' if shown > 0 else MINUS}{text}"


def between(low: float, high: float, form: object = None) -> str:
    """Give an interval: "0.51 to 0.54"; "" where it has no limits."""
    if math.isnan(low) or math.isnan(high):
        return ""
    shown = form if callable(form) else number
    return f"{shown(low)} to {shown(high)}"


def count(value: float) -> str:
    """Give a number of rows, or their weight."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-6 else f"{value:,.4g}"
