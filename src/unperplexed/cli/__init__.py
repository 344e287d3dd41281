"""The command line."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

__all__ = ["main"]

_OBJECTS = 100_000
"""Garbage is looked for after so many new objects: while modules load there is none, and looking takes long."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *usual[1:])
    try:
        from .parser import main as run

        return run(arguments)
    except KeyboardInterrupt:  # while it is loaded
        print("unperplexed: interrupted", file=sys.stderr)
        return 130
    finally:
        gc.set_threshold(*usual)
