"""Signals that end the program, and which of them came: libraries make errors of their own of what they raise.

What goes to a terminal: colour for people who want it, and errors.
"""

from __future__ import annotations

import os
import re
import signal
import sys
from typing import NoReturn, TextIO

from .._lib.formatting import printable
from .._lib.signals import ENDING

came: list[int] = []
"""Numbers of the signals that came since the program began to listen."""


def listen() -> None:
    """Leave as on any error where a signal ends the program, so that temporary files go; ignored signals stay so."""
    came.clear()
    for number in ENDING:
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            try:
                signal.signal(number, _ended)
            except ValueError:  # not in the main thread
                return


def _ended(number: int, _: object) -> NoReturn:
    """Raise what ends the program; the same signal again ends it at once, but for Ctrl-C."""
    came.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_DFL)
    raise SystemExit(128 + number)


def shows_colour(stream: TextIO | None) -> bool:
    """Whether colour is wanted there: on a terminal that is not dumb, unless NO_COLOR says otherwise."""
    return (
        stream is not None and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def print_error(sentence: str) -> None:
    """Say something on standard error, in which names from outside move no cursor and do not fill the screen."""
    short = re.sub(r"(\S{200})\S{300,}", r"\1...", f"unperplexed: {sentence}")
    print("\n".join(map(printable, short.split("\n"))), file=sys.stderr)


def drop_output() -> None:
    """Let nothing more be written to standard output, at the end of the program either."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
