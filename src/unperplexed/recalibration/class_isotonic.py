"""Recalibration of C classes by one isotonic regression for each class.

The regression of each class runs over the probabilities of a fitted linear map (`class_linear`), not over the predicted
ones: dividing by the row's sum then changes little. Isotonic regression alone has probabilities of 0, so it is
mixed with the linear map in fixed shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._lib.typing import Floats
from .class_linear import COMPLEXITY, FitRows, LinearMap, inside

BASE_SHARE = 0.5
"""Share of the linear map in the mixture."""


@dataclass(frozen=True)
class IsotonicMap:
    """A fitted non-decreasing curve for each class, on the probabilities of a linear map."""

    base: LinearMap
    """The linear map whose probabilities the curves take."""
    knots: tuple[tuple[Floats, Floats], ...]
    """For each class the ends of its blocks, and the curve there; in between it is linear."""
    name: str = "isotonic"

    @property
    def complexity(self) -> float:
        """Effective number of parameters."""
        return COMPLEXITY[self.name]

    def probabilities(self, log_p: Floats) -> Floats:
        """Return calibrated probabilities (n, C) for predicted log-probabilities (n, C)."""
        q = self.base.probabilities(log_p)
        for at, (x, y) in enumerate(self.knots):
            q[:, at] = BASE_SHARE * q[:, at] + (1 - BASE_SHARE) * np.interp(q[:, at], x, y)
        q /= q.sum(axis=1, keepdims=True)
        return inside(q)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the linear map and the number of blocks of each class."""
        return self.base.parameters() | {"blocks": [np.unique(y).size for _, y in self.knots]}

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON."""
        knots = [{"x": x.tolist(), "y": y.tolist()} for x, y in self.knots]
        return {"name": self.name, "base": self.base.to_dict(), "knots": knots}


def fit_isotonic(rows: FitRows, base: LinearMap) -> IsotonicMap:
    """Fit one curve for each class to the probabilities of a fitted linear map."""
    q = base.probabilities(rows.z)
    knots = (_curve(q[:, at], (rows.truth == at) * rows.weights, rows.weights) for at in range(q.shape[1]))
    return IsotonicMap(base, tuple(knots))


def _curve(q: Floats, observed: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Pool adjacent violators: return the first and last place of each block, and its frequency at both."""
    from scipy.optimize import isotonic_regression

    x, where = np.unique(q, return_inverse=True)
    total = np.bincount(where, weights)
    x, total, positive = x[total > 0], total[total > 0], np.bincount(where, observed)[total > 0]
    fitted = isotonic_regression(positive / total, weights=total)
    first, last = fitted.blocks[:-1], fitted.blocks[1:] - 1
    frequency = np.clip(fitted.x[first], 0.0, 1.0)
    ends = np.stack([x[first], x[last]], axis=1).ravel()
    keep = np.append(True, ends[1:] > ends[:-1])
    return ends[keep], np.repeat(frequency, 2)[keep]
