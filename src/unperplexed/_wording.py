"""Numbers in words and names from outside, the same in messages, reports and pictures."""

from __future__ import annotations


def number_of(count: int, what: str) -> str:
    """Count things: "1 row", "3 rows"."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def percent(share: float) -> str:
    """Give a share with as many digits as it takes: "95 %", "99.99999 %"."""
    return f"{100 * share:.10g} %"


def rounded_percent(share: float) -> str:
    """Give a share to three digits: "4.27 %"."""
    return f"{100 * share:.3g} %"


def printable(text: str) -> str:
    """Give a name from outside in one line that moves no cursor: control characters as their escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def short_name(name: str, most: int = 24) -> str:
    """Give a name in one short line; the ends of names tell them apart as often as their beginnings."""
    name = printable(name)
    return name if len(name) <= most else f"{name[: most // 2 - 2]}...{name[-(most // 2 - 1) :]}"
