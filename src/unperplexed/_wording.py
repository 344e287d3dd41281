"""Numbers in words, the same in messages, reports and pictures."""

from __future__ import annotations


def number_of(count: int, what: str) -> str:
    """Count things: "1 row", "3 rows"."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def percent(share: float) -> str:
    """Give a share with as many digits as it takes: "95 %", "99.99999 %"."""
    return f"{100 * share:.10g} %"
