"""Signals that end a program."""

import signal

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, a polite end, and a terminal that was closed, which Windows does not have."""


def end_waiting() -> None:
    """Let Ctrl-C end a call of the system that waits: polars has such calls go on."""
    if hasattr(signal, "siginterrupt"):  # not on Windows
        signal.siginterrupt(signal.SIGINT, True)
