"""The compiled kernel, if it was built and is wanted: ``UNPERPLEXED_KERNEL=numpy`` leaves it out."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

from .._lib.errors import InputError


def _found() -> ModuleType | None:
    wanted = os.environ.get("UNPERPLEXED_KERNEL", "")
    if wanted not in ("", "numpy"):
        raise InputError(f"UNPERPLEXED_KERNEL: expected 'numpy', or nothing for the compiled kernel, got {wanted!r}.")
    if wanted:
        return None
    try:
        return import_module("._kernel", __package__)
    except ImportError:  # built without a compiler
        return None


kernel = _found()
KERNEL = "NumPy kernel" if kernel is None else "compiled kernel"
"""Which of the two computes; they give the same."""
