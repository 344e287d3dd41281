"""Numbers in words and names from outside, the same in messages, reports and pictures."""

from __future__ import annotations

import math


def number_of(count: int, what: str) -> str:
    """Count things: "1 row", "3 rows"."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def percent(share: float) -> str:
    """Give a share with as many digits as it takes: "95%", "99.99999%"."""
    return f"{100 * share:.10g}%"


def confidence_interval(confidence: float) -> str:
    """Name an interval by its confidence level: "95% CI"."""
    return f"{100 * confidence:.10g}% CI"


def at_floor_text(floor: float) -> str:
    """Name the floor of a log loss to three digits: "without a floor", "at the floor 0.005"."""
    return f"at the floor {floor:.3g}" if floor else "without a floor"


def p_value_text(p: float) -> str:
    """Give a p-value in words: "p = 0.012", "p < 0.001"; "no p-value" for NaN."""
    return "no p-value" if math.isnan(p) else "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def rule_text(rule: str) -> str:
    """Give a scoring rule's name in words: "log loss", "penalized Brier score"."""
    return rule.replace("_", " ").replace("brier", "Brier")


def printable(text: str) -> str:
    """Give a name from outside in one line that moves no cursor: control characters as their escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def short_name(name: str, most: int = 24) -> str:
    """Give a name in one short line; the ends of names tell them apart as often as their beginnings."""
    name = printable(name)
    return name if len(name) <= most else f"{name[: most // 2 - 2]}...{name[-(most // 2 - 1) :]}"
