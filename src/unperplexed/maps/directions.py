"""What a unit of each parameter adds to log-odds: the directions in which maps change forecasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._lib.typing import AnyFloats, Floats


def tail(s: AnyFloats, xp: Any = np) -> Any:
    """Return the direction of tails: (1 + |s|) ln(1 + |s|) - |s|, with the sign of s."""
    size = xp.abs(s)
    return xp.sign(s) * ((1 + size) * xp.log1p(size) - size)


def _low(s: Any, xp: Any) -> Any:
    """Return ln p, and as the mirror image of ``high`` -ln(1 - p): the two parts of beta calibration (Kull 2017)."""
    return xp.minimum(s, 0 * s) - xp.log1p(xp.exp(-xp.abs(s)))


TWO: dict[str, Callable[[Any, Any], Any]] = {
    "bias": lambda s, xp: xp.ones_like(s),
    "slope": lambda s, xp: s,
    "asymmetry": lambda s, xp: xp.abs(s),
    "tail": tail,
    "low": _low,
    "high": lambda s, xp: -_low(-s, xp),
}
"""Of two classes, by parameter: functions of the log-odds s and of the array library, NumPy or PyTorch."""


def columns(names: Iterable[str], s: Floats) -> Floats:
    """Return the directions of some parameters of two classes, one a row."""
    found = [TWO[name](s, np) for name in names]
    return np.stack(found) if found else np.empty((0, s.size))
