"""Maps of two classes: from predicted log-odds to the calibrated probability of the positive class."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, field
from .._lib.elementary import logit
from .._lib.typing import AnyFloats, Floats
from .parameters import LAPSE, shown

_FARTHEST = 708.0
"""Log-odds of the smallest probability that has all its digits; the logarithm of the largest number, too."""

SMALLEST = float(np.finfo(np.float64).tiny)
LARGEST = float(np.nextafter(1.0, 0.0))


def probability_of(t: Any, lapse: Any = 0.0, xp: Any = np) -> Any:
    """Return the probability (1 - e) / (1 + exp(-t)) + e / 2 of log-odds t with a lapse e, strictly between 0 and 1."""
    likely = 1 / (1 + xp.exp(-xp.clip(t, -_FARTHEST, _FARTHEST)))
    return xp.clip((1 - lapse) * likely + lapse / 2, None, LARGEST)


def zero_of(log_p: AnyFloats, classes: int, n: float) -> float:
    """Return what a probability of exactly 0 counts as, so that logarithms stay finite.

    It is .01 / (C n) for n rows, or the smallest other probability if that is smaller, so that none is below a zero.
    """
    smallest = float(np.min(log_p, initial=0.0))
    if math.isinf(smallest):
        smallest = float(np.min(log_p, where=np.isfinite(log_p), initial=0.0))
    return max(min(0.01 / (classes * n), math.exp(smallest)), SMALLEST)


def finite(s: Any, zero: float, xp: Any = np) -> Any:
    """Return log-odds as they came, but those of a probability of exactly 0 or 1 as if it were ``zero``, or 1 - it."""
    return xp.where(xp.isinf(s), -float(logit(zero)) * xp.sign(s), s)


class BinaryMap(Frozen):
    """Calibrated log-odds t = s + sum of coefficients times directions of s, then a lapse e: (1 - e) sigmoid(t) + e/2.

    The parameters of a diagnosis and of a recalibration are the same. Predicted log-odds s are taken as they came, of
    any size; only those of an exact 0 or 1 are replaced.

    Parameters
    ----------
    name : str
        The family, or "" for a map without one.
    coefficients : mapping of str to float
        By the parameter, see `directions.TWO`.
    lapse : float
    zero : float
        Probability that an exact zero counts as.
    about : float
        Log-odds that the slope leaves as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.maps.two import BinaryMap
    >>> found = BinaryMap("temperature", {"slope": -0.5})
    >>> found.parameters(), found.probabilities(np.log([1 / 16, 1, 16])).round(3).tolist()
    ({'temperature': 2.0}, [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])
    """

    name: str = ""
    coefficients: Mapping[str, float] = field(default_factory=dict)
    lapse: float = 0.0
    zero: float = SMALLEST
    about: float = 0.0

    def value(self, parameter: str) -> float:
        """Return a parameter; 0 for one that it lacks."""
        return self.lapse if parameter == LAPSE else self.coefficients.get(parameter, 0.0)

    def within(self, s: Any, xp: Any = np) -> Any:
        """Return log-odds to where the map rises: where a tail draws them in they would fall again, and stay level."""
        s, bend = finite(s, self.zero, xp), self.value("tail")
        if bend >= 0:
            return s
        turn = math.expm1(min(max(0.0, -(1 + self.value("slope")) / bend), _FARTHEST))
        return xp.clip(s, -turn, turn)

    def log_odds(self, s: Any, xp: Any = np, level: bool = True) -> Any:
        """Return calibrated log-odds, before the lapse: level where they would fall, or as they were fitted."""
        s = self.within(s, xp) if level else finite(s, self.zero, xp)
        return sum((c * _direction(name, s, self.about, xp) for name, c in self.coefficients.items()), start=s)

    def probabilities(self, s: Any, level: bool = True) -> Any:
        """Return calibrated probabilities of both classes, (n, 2), each with its own digits next to 0."""
        t = self.log_odds(s, level=level)
        return probability_of(np.stack([-t, t], axis=-1), self.lapse)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters as users see them."""
        return shown(dict(self.coefficients) | ({LAPSE: self.lapse} if self.name == "lapse" or self.lapse else {}))

    def rises(self, largest: float = 0.0) -> bool:
        """Return whether calibrated log-odds never fall, for log-odds between minus and plus the largest."""
        slope = 1 + self.value("slope") - abs(self.value("asymmetry"))
        ends = (slope, slope + self.value("tail") * math.log1p(largest))
        return min(*ends, 1 + self.value("low"), 1 + self.value("high")) >= 0

    def to_dict(self) -> dict[str, Any]:
        """Give the map as plain values."""
        return {"name": self.name, "coefficients": dict(self.coefficients), "lapse": self.lapse}


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


def _direction(name: str, s: Any, about: float, xp: Any) -> Any:
    return TWO[name](s - about if name == "slope" else s, xp)


def columns(names: Iterable[str], s: Floats, about: float = 0.0) -> Floats:
    """Return the directions of some parameters of two classes, one a row; the slope turns about some log-odds."""
    found = [_direction(name, s, about, np) for name in names]
    return np.stack(found) if found else np.empty((0, s.size))
