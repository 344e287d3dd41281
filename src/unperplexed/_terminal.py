"""Colour, on terminals that show it to people who want it."""

from __future__ import annotations

import os
import re
from typing import TextIO

_STYLES = {
    r"\boverconfident\b": "33",
    r"\bunderconfident\b": "36",
    r"\bmiscalibrated\b": "35",
    r"^not distinguishable from calibrated\b": "32",
    r"^\(.*\)$": "2",
}
"""Yellow, cyan, magenta and green for what a verdict can be, and remarks in brackets dim: by patterns in lines."""


def shows_colour(stream: TextIO) -> bool:
    """Whether colour is wanted there: on a terminal that is not dumb, unless NO_COLOR says otherwise."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str) -> str:
    """Colour what a report says in words; without the escape sequences it is the same text."""
    for pattern, style in _STYLES.items():
        text = re.sub(pattern, f"\x1b[{style}m\\g<0>\x1b[0m", text, flags=re.MULTILINE)
    return text
