"""What goes to a terminal: colour for people who want it, and errors."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

from .._lib.formatting import printable

_STYLES = {
    r"\A(?:Perhaps )?(?:[Oo]ver|[Uu]nder)confident\b": "33",
    r"\A(?:Overpredicts|Underpredicts|Biased|Too|Extreme|Certain|Miscalibrated|\d+ surprising)\b": "35",
    r"\ANo evidence of miscalibration(?= \()": "36",
}
"""Yellow, magenta and cyan for what a verdict can be, with which a text begins; no evidence is no approval."""


def shows_colour(stream: TextIO | None) -> bool:
    """Whether colour is wanted there: on a terminal that is not dumb, unless NO_COLOR says otherwise."""
    return (
        stream is not None and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def coloured(text: str) -> str:
    """Colour what a report says in words; without the escape sequences it is the same text."""
    for pattern, style in _STYLES.items():
        text = re.sub(pattern, f"\x1b[{style}m\\g<0>\x1b[0m", text, flags=re.MULTILINE)
    return text


def print_error(sentence: str) -> None:
    """Say something on standard error, in which names from outside move no cursor."""
    print("\n".join(map(printable, f"unperplexed: {sentence}".split("\n"))), file=sys.stderr)


def drop_output() -> None:
    """Let nothing more be written to standard output, at the end of the program either."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
