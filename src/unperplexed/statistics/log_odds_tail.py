"""The direction of the tail error in log-odds."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._lib.typing import AnyFloats


def tail(s: AnyFloats) -> Any:
    """Return the direction of the tail error: (1 + |s|) ln(1 + |s|) - |s|, with the sign of s."""
    size = np.abs(s)
    return np.sign(s) * ((1 + size) * np.log1p(size) - size)
