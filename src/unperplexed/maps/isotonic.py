"""One isotonic regression for each of C classes.

The regression of each class runs over the probabilities of a fitted `ClassMap`, not over the predicted ones: dividing
by the row's sum then changes little. Isotonic regression alone has probabilities of 0, so it is mixed with that map in
fixed shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._lib.typing import Floats
from .classes import ClassMap, inside
from .rows import Chunk

BASE_SHARE = 0.5
"""Share of the map beneath in the mixture."""


@dataclass(frozen=True, eq=False)
class IsotonicMap:
    """A fitted non-decreasing curve for each class, on the probabilities of another map."""

    base: ClassMap
    """The map whose probabilities the curves take."""
    knots: tuple[tuple[Floats, Floats], ...]
    """For each class the ends of its blocks, and the curve there; in between it is linear."""
    name: str = "isotonic"

    def probabilities(self, log_p: Floats) -> Floats:
        """Return calibrated probabilities (n, C) for predicted log-probabilities (n, C)."""
        q = self.base.probabilities(log_p)
        for at, (x, y) in enumerate(self.knots):
            q[:, at] = BASE_SHARE * q[:, at] + (1 - BASE_SHARE) * np.interp(q[:, at], x, y)
        q /= q.sum(axis=1, keepdims=True)
        return np.asarray(inside(q))

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the map beneath and the number of blocks of each class."""
        return self.base.parameters() | {"blocks": [np.unique(y).size for _, y in self.knots]}

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values for JSON."""
        knots = [{"x": x.tolist(), "y": y.tolist()} for x, y in self.knots]
        return {"name": self.name, "base": self.base.to_dict(), "knots": knots}


def fit_isotonic(chunks: Sequence[Chunk], base: ClassMap) -> IsotonicMap:
    """Fit one curve for each class to the probabilities of a fitted map."""
    q = np.concatenate([base.probabilities(chunk.log_p) for chunk in chunks])
    truth, weights = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in ("truth", "weights"))
    knots = (_curve(q[:, at], (truth == at) * weights, weights) for at in range(q.shape[1]))
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
