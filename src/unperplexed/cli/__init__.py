"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        from .parser import main as run
    except KeyboardInterrupt:  # while it is loaded
        print("unperplexed: interrupted", file=sys.stderr)
        return 130
    return run(arguments)
