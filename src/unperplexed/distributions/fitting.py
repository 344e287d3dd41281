"""Maximum likelihood for the coupled distributions, with the coupling free, bounded or fixed, and standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from .._typing import Floats
from ..errors import InputError, rows_text
from ..means import checked_weights
from ._parameters import coupling_above, real

D = TypeVar("D")

HIGHEST_COUPLING = 10.0
"""Couplings of a fit end here unless other bounds are given: tails of a tenth of a degree of freedom."""

LOWEST_SHARE = 0.999
"""Fits come this near to the lower bound of the coupling: at the bound itself the density is level."""


@dataclass(frozen=True)
class CoupledFit(Generic[D]):
    """A fitted distribution, with what is known of how well it is determined."""

    distribution: D
    """The distribution of largest likelihood."""
    standard_errors: dict[str, Any] = field(repr=False)
    """Standard error of each free parameter by name, of the parameter's shape, from the expected information of the
    fitted distribution. NaN where theory has none: a coupling at the edge of its bounds, or not ``regular``."""
    log_likelihood: float
    """Sum of weight times logpdf, in nats. Among fits to the same data, larger is better."""
    n: int
    """Rows of positive weight."""
    at_bound: bool
    """Whether a free coupling ended at one of its bounds."""
    regular: bool
    """Whether the density falls to 0 smoothly enough at the ends of compact support for standard errors to hold:
    coupling above -1/(d + 2) for the Gaussians, above -1/2 for the exponential."""


@dataclass(frozen=True)
class Sample:
    """Checked data (n, d) with weights that sum to 1 and their number of rows."""

    x: Floats
    w: Floats
    total: float

    @property
    def effective(self) -> float:
        """Number of rows of equal weight that tell as much."""
        return 1 / float((self.w**2).sum())

    @classmethod
    def of(cls, data: ArrayLike, sample_weight: ArrayLike | None, ndim: int) -> Sample:
        """Read data of the given number of axes; rows of weight 0 are as if absent."""
        x = real("data", data)
        shape = "(n,)" if ndim == 1 else "(n, d)"
        if x.ndim != ndim or x.size == 0:
            raise InputError(f"data: expected an array of shape {shape} with at least one row, got shape {x.shape}.")
        x = x.reshape(len(x), -1)
        bad = np.flatnonzero(~np.isfinite(x).all(axis=1))
        if bad.size:
            raise InputError(f"data: NaN or infinite in {rows_text(bad)}; repair or leave out such rows.")
        w = np.ones(len(x)) if sample_weight is None else checked_weights(sample_weight, len(x))
        if not w.sum() > 0:
            raise InputError("sample_weight: the total weight is 0; nothing is left to fit.")
        x, w = x[w > 0], w[w > 0]
        return cls(x, w / w.sum(), float(w.sum()))

    def mean(self, values: Floats) -> Any:
        """Weighted mean over rows."""
        return np.einsum("n,n...->...", self.w, values)  # a BLAS product's threads wait on a busy machine


def coupling_range(bounds: tuple[float, float] | None, d: int, regular: float) -> tuple[float, float]:
    """Interval to look for the coupling in: where standard errors hold, unless told otherwise."""
    if bounds is None:
        return regular, HIGHEST_COUPLING
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        raise InputError(f"coupling_bounds: expected a pair (lowest, highest), got {bounds!r}.") from None
    if not (-1 / d <= low < high < np.inf):
        raise InputError(f"coupling_bounds: must rise from at least {-1 / d:.6g} to a finite number, got {bounds!r}.")
    return max(low, -LOWEST_SHARE / d), high


def best_coupling(loss: Callable[[float], float], bounds: tuple[float, float], d: int) -> tuple[float, bool]:
    """The coupling of least loss, and whether it is at a bound; a grid comes first, for there may be two valleys."""
    low, high = (np.log1p(d * b) for b in bounds)  # evens out the scale towards -1/d and towards infinity

    def at(t: float) -> float:
        return loss(float(np.expm1(t) / d))

    grid = np.linspace(low, high, 13)
    # From the middle outwards, so that each fit can start from its neighbour.
    order = sorted(range(len(grid)), key=lambda i: abs(grid[i]))
    losses = dict(sorted((i, at(grid[i])) for i in order))
    best = min(losses, key=losses.__getitem__)
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(at, bounds=around, method="bounded", options={"xatol": 1e-8})
    t = float(found.x) if found.fun <= losses[best] else float(grid[best])
    width = 1e-4 * (high - low)
    return float(np.expm1(t) / d), bool(t < low + width or t > high - width)


def fixed_coupling(value: float | None, bound: float, bounds: object) -> float | None:
    """A coupling that is not to be fitted, checked."""
    if value is None:
        return None
    if bounds is not None:
        raise InputError("coupling_bounds: fcoupling fixes the coupling; give one of the two.")
    return float(coupling_above(bound, value, "fcoupling"))
