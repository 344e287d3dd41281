"""Numbers as documents show them: three significant digits, a minus sign, percentages without a space."""

from __future__ import annotations

import math

MINUS = "\u2212"
MISSING = "\u2013"

MOST_EVIDENCE = 6
"""Powers of ten beyond which evidence is no longer told apart in words and charts."""


def figure(value: float, decimals: int = 3) -> str:
    """Give a figure to three decimals, or as asked for, with more where they would all be zeros."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if abs(value) >= 1e5 or (decimals > 6 and abs(value) < 1e-3):
        return f"{value:.2e}"
    return f"{value:.{decimals}f}" if value == 0 or abs(value) >= 0.5 * 10**-decimals else f"{value:.2g}"


def estimate(value: float, interval: tuple[float, float], most: int = 9) -> tuple[str, str]:
    """Give a number and its interval, if any, to three decimals, or to so many that rounding leaves it its width."""
    low, high = interval
    if math.isnan(low):
        return number(value), ""
    width = high - low
    decimals = max(3, math.ceil(-math.log10(0.4 * width))) if 0 < width < math.inf else 3
    shown = (number(x, min(decimals, most)) for x in (value, low, high))
    return next(shown), " to ".join(shown)


def told_apart(a: float, b: float) -> tuple[str, str]:
    """Give two numbers to three decimals, or to so many, up to nine, that they differ."""
    decimals = next((n for n in range(3, 9) if number(a, n) != number(b, n)), 9)
    return number(a, decimals), number(b, decimals)


def number(value: float, decimals: int = 3) -> str:
    """Give a number to three decimals, with more where they would all be zeros; "–" for NaN."""
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = figure(value + 0.0, decimals)  # minus 0 is 0
    if text == "-":
        return MISSING
    return (MINUS + text[1:] if text.startswith("-") else text).replace("e-", f"e{MINUS}")


def amount(value: float) -> str:
    """Give a number in a unit of its own to about four digits, with a comma between thousands: "41,512", "119.7"."""
    size = abs(value)
    if 10 <= size < 1e15:
        return f"{MINUS if value < 0 else ''}{size:,.{0 if size >= 1000 else 1 if size >= 100 else 2}f}"
    return number(value)


def level_text(level: float) -> str:
    """Give a probability that is known exactly, as a percentage: "2.5%", "95%"."""
    return f"{100 * level:.3g}%"


_ROUNDING = 1e-9
"""Smaller numbers are rounding errors of averages."""


def rounded(value: float) -> str:
    """Give a number of which less than 1e-9 is rounding."""
    return number(0.0 if abs(value) < _ROUNDING else value)


def small(value: float) -> str:
    """Format a number that may be small, without an exponent from a millionth upwards."""
    if 0.9e-6 <= abs(value) < 1e-4:
        return f"{MINUS if value < 0 else ''}{abs(value):.6f}"
    return rounded(value)


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


def same_decimals(low: str, high: str) -> str:
    """Join the ends of a range, the one with fewer decimals padded with zeros: "0.020 to 0.043"."""
    decimals = [len(each.rstrip("%").partition(".")[2]) for each in (low, high)]
    if all(decimals) and not any("e" in each or each[0] in "<>" for each in (low, high)):
        low, high = (
            f"{each.rstrip('%')}{'0' * (max(decimals) - own)}{'%' * each.endswith('%')}"
            for each, own in zip((low, high), decimals, strict=True)
        )
    return f"{low} to {high}"


def between(low: float, high: float, form: object = None) -> str:
    """Give an interval: "0.51 to 0.54"; "" where it has no limits."""
    if math.isnan(low) or math.isnan(high):
        return ""
    if form is share and 0.01 <= low <= high and len({each >= 0.09995 for each in (low, high)}) == 2:
        low_text, high_text = f"{100 * low:.1f}%", share(high)
    else:
        shown = form if callable(form) else number
        low_text, high_text = shown(low), shown(high)
    return same_decimals(low_text, high_text)


def share_estimate(value: float, interval: tuple[float, float]) -> tuple[str, str]:
    """Give a share and its interval, if any, in percent, with as many decimals as rounding needs to leave its width."""
    low, high = interval
    width = 100 * (high - low)
    if not 0 < width < 1:
        return share(value), between(low, high, share)
    decimals = min(max(1, math.ceil(-math.log10(0.4 * width))), 3)
    shown = (f"{100 * each:.{decimals}f}%" for each in (value, low, high))
    return next(shown), " to ".join(shown)


def count(value: float) -> str:
    """Give a number of rows, or their weight."""
    if math.isnan(value):
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 or abs(value - round(value)) < 1e-6 else f"{value:,.4g}"


def evidence_text(log_evidence: float) -> str:
    """Give evidence, of which this is the natural logarithm, as a number: "0.31", "41", "> 1,000,000"."""
    if log_evidence > MOST_EVIDENCE * math.log(10):
        return f"> {10**MOST_EVIDENCE:,}"
    value = math.exp(log_evidence)
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"


def expected(count: float) -> str:
    """Give an expected number of events, as after which "expected" stands: "about 3", "fewer than 0.01"."""
    if count < 0.01:
        return "fewer than 0.01" if count > 0 else "0"
    return f"about {count:,.0f}" if count >= 0.95 else f"about {count:.1g}"
