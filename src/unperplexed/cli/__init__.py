"""The command line."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False  # without typing, which takes long to load: Ctrl-C is caught in main only
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_BLAS_THREADS = "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"
"""With more than one, every decomposition of a matrix of 30 rows keeps a second core busy for some 60 ms."""

_OBJECTS = 200_000
"""Garbage is looked for after so many new objects: while modules load there is none, and looking takes long."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    for name in _BLAS_THREADS:
        os.environ.setdefault(name, "1")
    usual = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *usual[1:])
    came: list[int] = []
    try:
        from .terminal import came, listen

        listen()
        from .parser import main as run

        return run(arguments)
    except KeyboardInterrupt:  # while it is loaded
        print("unperplexed: interrupted", file=sys.stderr)
        return 130
    except Exception:
        if not came:
            raise
        return 128 + came[-1]  # modules in C that are interrupted while they load say that they cannot be
    finally:
        gc.set_threshold(*usual)
        if arguments is None:  # the program ends here: Python would look through all that is loaded, four times
            gc.freeze()
