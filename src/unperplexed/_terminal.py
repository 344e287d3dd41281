"""Colour, on terminals that show it to people who want it."""

from __future__ import annotations

import os
import re
from typing import TextIO

_STYLES = {
    r"(?:^|(?<=below 1: ))overconfident(?=:|$)": "33",
    r"(?:^|(?<=above 1: ))underconfident(?=:|$)": "36",
    r"^miscalibrated(?=[, ]|$)": "35",
    r"\bwas said too (?:often|seldom)(?=: given )": "35",
    r"^not distinguishable from calibrated(?= with )": "32",
}
"""Yellow, cyan, magenta and green for what a verdict can be, where a line begins with it, and for slope and bias."""


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
