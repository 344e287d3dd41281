"""The compiled kernel, if it was built and is wanted: ``UNPERPLEXED_KERNEL=numpy`` leaves it out."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType


def _found() -> ModuleType | None:
    if os.environ.get("UNPERPLEXED_KERNEL") == "numpy":
        return None
    try:
        return import_module("._kernel", __package__)
    except ImportError:  # built without a compiler
        return None


kernel = _found()
KERNEL = "NumPy kernel" if kernel is None else "compiled kernel"
"""Which of the two computes; they give the same."""
