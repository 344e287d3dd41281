"""Recalibration maps that are linear in the log-probabilities of C classes.

With z the predicted log-probabilities, the calibrated probabilities are q = (1 - e) softmax(t) + e / C, where
t_c = (1 + g) z_c + a_c + v_c z_c: a shared slope 1 + g (inverse temperature), one bias and one slope for each class,
and a lapse e. The map named tail adds two curves of the log-odds of each class, shared by all classes. A full matrix
adds what the log-probabilities of the other classes contribute to t_c.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._lib.elementary import of_rows
from .._lib.typing import Floats, Ints
from ..maps.directions import tail

LARGEST_BELOW_ONE = float(np.nextafter(1.0, 0.0))
SMALLEST = float(np.finfo(np.float64).tiny)


MOST_CLASSES = 30
"""Up to so many classes every map is cheap."""

BLOCK_ELEMENTS = 1 << 17
"""Rows times classes that are worked on at a time, so that intermediate arrays stay in the cache."""


class Parts(NamedTuple):
    """Which parameters a map has."""

    shared: int
    """How many curves all classes share: none, the slope, or the slope and those of `log_odds_curves`."""
    biases: bool
    slopes: bool
    lapse: bool


PARTS: dict[str, Parts] = {
    "identity": Parts(0, False, False, False),
    "temperature": Parts(1, False, False, False),
    "bias": Parts(0, True, False, False),
    "logistic": Parts(1, True, False, False),
    "temperature-lapse": Parts(1, False, False, True),
    "logistic-lapse": Parts(1, True, False, True),
    "vector": Parts(1, True, True, True),
    "tail": Parts(3, True, False, True),
}

COMPLEXITY = {
    "identity": 0,
    "temperature": 1,
    "bias": 2,
    "logistic": 2,
    "temperature-lapse": 2,
    "logistic-lapse": 3,
    "vector": 4,
    "tail": 5,
    "isotonic": 6,
    "matrix": 6,
}
"""Effective number of parameters of each map, half of which the weights of the average charge for in nats."""


@dataclass(frozen=True)
class LinearMap:
    """A fitted map that is linear in the log-probabilities, with a lapse."""

    name: str
    log_floor: float
    """Log-probabilities below it are raised to it."""
    slope: float
    """Slope shared by all classes: the inverse of the temperature."""
    biases: Floats
    """What is added to the log-odds of each class, (C,)."""
    slopes: Floats
    """What is added to the shared slope for each class, (C,)."""
    lapse: float = 0.0
    curves: Floats = field(default_factory=lambda: np.zeros(2))
    """Coefficients of `log_odds_curves`, (2,)."""
    matrix: Floats | None = None
    """What the other classes' log-probabilities add, (C, C) with a diagonal of 0; None for none."""

    @property
    def complexity(self) -> float:
        """Effective number of parameters."""
        return COMPLEXITY[self.name]

    def scores(self, z: Floats, curves: Floats | None = None) -> Floats:
        """Return unnormalized log-probabilities, before the lapse, of raised log-probabilities (n, C)."""
        t: Floats = z * (self.slope + self.slopes)
        t += self.biases
        if self.curves.any():
            first, second = log_odds_curves(z) if curves is None else curves
            t += self.curves[0] * first + self.curves[1] * second
        return t if self.matrix is None else t + z @ self.matrix.T

    def probabilities(self, log_p: Floats) -> Floats:
        """Return calibrated probabilities (n, C) for predicted log-probabilities (n, C)."""
        n, C = log_p.shape
        found, step = np.empty((n, C)), max(1, BLOCK_ELEMENTS // C)
        for low in range(0, n, step):
            q = softmax(self.scores(np.maximum(log_p[low : low + step], self.log_floor)))
            found[low : low + step] = inside((1 - self.lapse) * q + self.lapse / C if self.lapse else q)
        return found

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that the map has, by name."""
        found: dict[str, Any] = {}
        if self.slope != 1:
            found["temperature"] = 1 / self.slope
        named = {"curves": self.curves, "biases": self.biases, "slopes": self.slopes, "matrix": self.matrix}
        found |= {name: value.tolist() for name, value in named.items() if value is not None and value.any()}
        return found | ({"lapse": self.lapse} if self.lapse else {})

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON."""
        return {
            "name": self.name,
            "log_floor": self.log_floor,
            "slope": self.slope,
            "biases": self.biases.tolist(),
            "slopes": self.slopes.tolist(),
            "lapse": self.lapse,
            "curves": self.curves.tolist(),
            "matrix": None if self.matrix is None else self.matrix.tolist(),
        }


def softmax(t: Floats) -> Floats:
    """Return exp(t), each row divided by its sum."""
    q: Floats = t - of_rows(np.maximum, t)
    np.exp(q, out=q)
    q /= of_rows(np.add, q)
    return q


def inside(q: Floats) -> Floats:
    """Keep probabilities strictly between 0 and 1 where rounding has reached an end."""
    return np.clip(q, SMALLEST, LARGEST_BELOW_ONE)


def log_odds_curves(z: Floats) -> Floats:
    """Return ln(1 - p) and the curve of a tail error at the log-odds of p, for p = exp(z), as (2, n, C).

    For the largest probability of a row 1 - p is the sum of the others, so that it stays exact near 1.
    """
    p = np.exp(z)
    each, top = np.arange(len(p)), z.argmax(axis=1)
    rest = np.log1p(-np.minimum(p, 0.9))
    p[each, top] = 0.0
    rest[each, top] = np.log(p.sum(axis=1))
    return np.stack([rest, tail(z - rest)])


@dataclass(frozen=True)
class FitRows:
    """What a map is fitted to."""

    z: Floats
    """Log-probabilities, raised to the floor, (n, C)."""
    truth: Ints
    weights: Floats
    log_floor: float

    @cached_property
    def curves(self) -> Floats:
        """Return `log_odds_curves` of the rows."""
        n, C = self.z.shape
        found, step = np.empty((2, n, C)), max(1, BLOCK_ELEMENTS // C)
        for low in range(0, n, step):
            found[:, low : low + step] = log_odds_curves(self.z[low : low + step])
        return found

    def block(self, low: int, high: int) -> tuple[Floats, Ints, Floats]:
        """Return log-probabilities, observed classes and weights of some rows."""
        return self.z[low:high], self.truth[low:high], self.weights[low:high]


def identity(rows: FitRows) -> LinearMap:
    """Return the map that changes nothing but zeros."""
    none = np.zeros(rows.z.shape[1])
    return LinearMap("identity", rows.log_floor, 1.0, none, none)
