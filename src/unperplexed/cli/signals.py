"""Signals that end the program, and which of them came: libraries make errors of their own of what they raise."""

from __future__ import annotations

import signal
from typing import NoReturn

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
