"""Fitted maps for two classes: from predicted log-odds to the calibrated probability of the positive class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._lib.elementary import expit, log_expit
from .._lib.typing import Floats
from ..statistics.log_odds_tail import tail
from .class_linear import inside

COLUMNS: dict[str, Callable[[Floats], Floats]] = {
    "bias": np.ones_like,
    "slope": lambda s: s,
    "tail": tail,
    "low": lambda s: np.asarray(log_expit(s)),
    "high": lambda s: np.asarray(-log_expit(-s)),
}
"""What a coefficient adds to the log-odds s: 1, s, h(s), and the two parts of beta calibration, ln p and -ln(1-p)."""

COMPLEXITY = {
    "identity": 0,
    "bias": 1,
    "temperature": 1,
    "logistic": 2,
    "beta": 3,
    "tail": 3,
    "lapse": 3,
    "shrunk-isotonic": 4,
    "isotonic": 6,
}
"""Effective number of parameters of each map."""

BINARY_METHODS = tuple(COMPLEXITY)
"""Maps for two classes."""


def both(t: Floats, lapse: float) -> Floats:
    """Return the probability of the negative class, then that of the positive one, each from its own exponential."""
    return inside((1 - lapse) * expit(np.stack([-t, t])) + lapse / 2)


@dataclass(frozen=True)
class AdditiveMap:
    """Calibrated log-odds s + sum of coefficients times columns of s, then a lapse e: q = (1 - e) sigmoid(t) + e/2."""

    name: str
    columns: tuple[str, ...] = ()
    coefficients: tuple[float, ...] = ()
    lapse: float = 0.0

    @property
    def complexity(self) -> float:
        """Effective number of parameters."""
        return COMPLEXITY[self.name]

    def log_odds(self, s: Floats) -> Floats:
        """Return calibrated log-odds, before the lapse."""
        t = np.array(s, dtype=np.float64)
        for name, coefficient in zip(self.columns, self.coefficients, strict=True):
            t += coefficient * COLUMNS[name](s)
        return t

    def both(self, s: Floats) -> Floats:
        """Return the calibrated probabilities of the negative and of the positive class, (2, n)."""
        return both(self.log_odds(s), self.lapse)

    def probabilities(self, s: Floats) -> Floats:
        """Return the calibrated probability of the positive class."""
        return np.asarray(self.both(s)[1])

    def parameters(self) -> dict[str, float]:
        """Return the parameters by the names that are usual for them."""
        given = dict(zip(self.columns, self.coefficients, strict=True))
        found: dict[str, float] = {}
        if "bias" in given:
            found["intercept"] = given["bias"]
        if "slope" in given:
            slope = 1 + given["slope"]
            found["slope"] = slope
            if len(given) == 1 and slope > 0:
                found = {"temperature": 1 / slope}
        if "low" in given:
            found |= {"slope_low": 1 + given["low"], "slope_high": 1 + given["high"]}
        if "tail" in given:
            found["tail"] = given["tail"]
        return found | ({"lapse": self.lapse} if self.name == "lapse" else {})

    def to_dict(self) -> dict[str, Any]:
        """Give the map as plain values."""
        coefficients = dict(zip(self.columns, self.coefficients, strict=True))
        return {"name": self.name, "coefficients": coefficients, "lapse": self.lapse}


@dataclass(frozen=True)
class CurveMap:
    """Calibrated log-odds that join the points of a non-decreasing curve by lines, and are constant beyond its ends."""

    name: str
    s: tuple[float, ...]
    """Predicted log-odds of the points, increasing."""
    t: tuple[float, ...]
    """Calibrated log-odds of the points, non-decreasing."""

    @property
    def complexity(self) -> float:
        """Effective number of parameters."""
        return COMPLEXITY[self.name]

    def both(self, s: Floats) -> Floats:
        """Return the calibrated probabilities of the negative and of the positive class, (2, n)."""
        return both(np.interp(s, self.s, self.t), 0.0)

    def probabilities(self, s: Floats) -> Floats:
        """Return the calibrated probability of the positive class."""
        return np.asarray(self.both(s)[1])

    def parameters(self) -> dict[str, float]:
        """Return the number of points."""
        return {"points": len(self.s)}

    def to_dict(self) -> dict[str, Any]:
        """Give the map as plain values."""
        return {"name": self.name, "points": [list(point) for point in zip(self.s, self.t, strict=True)]}


BinaryMap = AdditiveMap | CurveMap
