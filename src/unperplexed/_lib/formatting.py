"""Numbers in words and names from outside, the same in messages, reports and pictures."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable


def number_of(count: int, what: str) -> str:
    """Count things: "1 row", "3 rows"."""
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def capital(text: str) -> str:
    """Begin with a capital letter."""
    return text[:1].upper() + text[1:]


def percent(share: float) -> str:
    """Give a share with as many digits as it takes: "95%", "99.99999%"."""
    return f"{100 * share:.10g}%"


def three_digits(share: float) -> str:
    """Give a share in percent to three digits: "36.6%", "3.55%", "0.00120%", "99.9930%"."""
    shown = 100 * share
    if shown == 0 or not math.isfinite(shown):
        return f"{shown:g}%"
    digits = 2 - math.floor(math.log10(min(abs(shown), 99.0)))
    if 99.95 <= shown < 100:
        digits = 1 - math.floor(math.log10(100 - shown))
    return f"{shown:.{digits}f}%" if digits <= 7 else f"{shown:.2e}%"


def confidence_interval(confidence: float, together: int = 1) -> str:
    """Name an interval by its confidence level: "95% CI", of several that hold together "simultaneous 95% CI"."""
    return f"{'simultaneous ' if together > 1 else ''}{100 * confidence:.10g}% CI"


def p_values(together: int = 1) -> str:
    """Name a column of p-values, those of several tests adjusted: "p-value", "adjusted p-value"."""
    return f"{'adjusted ' if together > 1 else ''}p-value"


def at_floor_text(floor: float) -> str:
    """Name the floor of a log loss to three digits: "without a floor", "at the floor 0.005"."""
    return f"at the floor {floor:.3g}" if floor else "without a floor"


_LEAST_P = 0.001
"""Smaller p-values are shown as smaller than this."""


def p_value_text(p: float, relation: str = "=") -> str:
    """Give a p-value in words: "p = 0.012", "p < 0.001"; "no p-value" for NaN."""
    return "no p-value" if math.isnan(p) else f"p < {_LEAST_P}" if p < _LEAST_P else f"p {relation} {p:.3f}"


def p_value_cell(p: float) -> str:
    """Give a p-value as a cell of a table: "0.012", "< 0.001"; a dash for NaN."""
    return "\u2013" if math.isnan(p) else f"< {_LEAST_P}" if p < _LEAST_P else f"{p:.3f}"


def rule_text(rule: str) -> str:
    """Give a scoring rule's name in words: "log loss", "penalized Brier score"."""
    return rule.replace("_", " ").replace("brier", "Brier")


def printable(text: str) -> str:
    """Give a name from outside in one line that moves no cursor: control characters as their escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


def shell_word(text: str) -> str:
    """Quote a word for the shell: by double quotes around an apostrophe, as people write it, where that is safe.

    Control characters are escaped, as Bash, Zsh and POSIX read them, so that a command is one line.
    """
    if not text.isprintable():
        return f"$'{''.join(map(_escaped, text))}'"
    if "'" in text and not set(text) & set('"$`!\\'):
        return f'"{text}"'
    return shlex.quote(text)


def _escaped(c: str) -> str:
    """Write a character as between $' and '."""
    if c.isprintable():
        return f"\\{c}" if c in "\\'" else c
    return f"\\U{ord(c):08x}" if ord(c) > 127 else c.encode("unicode_escape").decode()


def command_line(words: Iterable[str]) -> str:
    """Join words to a command."""
    return " ".join(map(shell_word, words))


def short_name(name: str, most: int = 100) -> str:
    """Give a name in one line; the ends of names tell them apart as often as their beginnings."""
    name = printable(name)
    return name if len(name) <= most else f"{name[: most // 2 - 2]}...{name[-(most // 2 - 1) :]}"


def short_names(names: Iterable[str], most: int = 24) -> list[str]:
    """Give names in short lines; those that would look alike are cut less, until they do not."""
    found = [*names]
    cut = {name: short_name(name, most) for name in found}
    while len({*cut.values()}) < len(cut) and most < max(map(len, map(printable, cut))):
        most, times = 2 * most, Counter(cut.values())
        cut = {name: short_name(name, most) if times[short] > 1 else short for name, short in cut.items()}
    return [cut[name] for name in found]
