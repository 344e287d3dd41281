"""Maximum likelihood for the coupled distributions, with the coupling free, bounded or fixed, and standard errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize

from ..._lib.arrays import check_indexes
from ..._lib.dataclasses import Frozen, field
from ..._lib.errors import InputError, rows_text
from ..._lib.typing import Floats
from ...statistics.means import checked_weights
from .parameters import coupling_above, real

D = TypeVar("D")

HIGHEST_COUPLING = 10.0
"""Couplings of a fit end here unless other bounds are given: tails of a tenth of a degree of freedom."""

_ROUNDING = 1e-9
"""Relative distance of couplings that counts as none."""

_GRID, _FOUND, _AT_END = 13, 1e-6, 1e-4
"""Of the search for a coupling: its first points, its precision, and the share of the range that counts as an end."""

LOWEST_SHARE = 0.999
"""Fits come this near to the lower bound of the coupling: at the bound itself the density is level."""


class CoupledFit(Generic[D], Frozen, eq=False):
    """A fitted distribution, with what is known of how well it is determined."""

    distribution: D
    """The distribution of largest likelihood."""
    standard_errors: dict[str, Any] = field(repr=False)
    """Standard error of each free parameter by name, of the parameter's shape, from the expected information of the
    fitted distribution. They follow the effective number of rows of the weights, so that only the ratios of weights
    matter to them. NaN where theory has none: a coupling at the edge of its bounds (the others then take it as known),
    or not ``regular``."""
    log_likelihood: float
    """Sum of weight times logpdf, in nats. Among fits to the same data, larger is better."""
    n: int
    """Rows of positive weight."""
    at_bound: bool
    """Whether a free coupling ended at one of its bounds."""
    regular: bool
    """Whether the density falls to 0 smoothly enough at the ends of compact support for standard errors to hold:
    coupling above -1/(d + 2) for the Gaussians, above -1/2 for the exponential."""


class Given(NamedTuple):
    """What is known before a fit; None is fitted."""

    loc: Any
    spread: Any
    """Scale of a distribution on the line, or shape matrix."""
    coupling: float | None
    bounds: tuple[float, float] | None
    """Least and largest coupling."""


class Sample(Frozen):
    """Checked data (n, d) with weights that sum to 1 and their number of rows."""

    x: Floats
    w: Floats
    total: float

    def some(self, n: int) -> Sample:
        """About n of the rows, evenly spread."""
        step = -(-len(self.x) // n)
        x, w = self.x[::step], self.w[::step]
        return Sample(x, w / w.sum(), self.total)

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
        check_indexes(data=data, sample_weight=sample_weight)
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


def infinite_from(sample: Sample, loc: Floats | None) -> float:
    """The coupling from which the likelihood is infinite, where scales of 0 about a few values beat all.

    It is so where a subspace of m dimensions has a share above (1 + m kappa)/(1 + d kappa) of the weight, and any m + 1
    points lie in one, any m where the location is fixed.
    """
    d = sample.x.shape[1]
    points, which = np.unique(sample.x, axis=0, return_inverse=True)
    weights = np.bincount(which.ravel(), weights=sample.w)
    if loc is None:
        shares = np.cumsum(np.sort(weights)[::-1])[:d]
    else:
        at_loc = (points == loc).all(axis=1)
        others = np.sort(weights[~at_loc])[::-1][: d - 1]
        shares = np.cumsum([weights[at_loc].sum(), *others])
    if d > 1:  # the planes of equal values in one column, such as the zeros of counts, hold more
        ties = [_largest_tie(column, sample.w, None if loc is None else loc[j]) for j, column in enumerate(sample.x.T)]
        shares = np.append(shares, np.zeros(max(d - len(shares), 0)))
        shares[d - 1] = max(shares[d - 1], *ties)
    excess = shares * d - np.arange(len(shares))
    return float(np.min((1 - shares[excess > 0]) / excess[excess > 0], initial=np.inf))


def _largest_tie(column: Floats, w: Floats, at: float | None) -> float:
    """Largest share of one value, or the share of a given one."""
    if at is not None:
        return float(w[column == at].sum())
    return float(np.bincount(np.unique(column, return_inverse=True)[1].ravel(), weights=w).max())


def coupling_range(given: Given, d: int, regular: float, infinite: float) -> tuple[float, float]:
    """Ends of where to look for the coupling; both are the one that is fixed.

    Parameters
    ----------
    given : Given
        The coupling, or its bounds, as far as they were given.
    d : int
        Dimension: couplings are above -1/d.
    regular : float
        Lowest coupling of a fit without bounds.
    infinite : float
        Coupling from which the likelihood is infinite.
    """
    if given.coupling is not None:
        if given.bounds is not None:
            raise InputError("coupling_bounds: fcoupling fixes the coupling; give one of the two.")
        low = high = float(coupling_above(-1 / d, _single("fcoupling", given.coupling), "fcoupling"))
    elif given.bounds is None:
        low, high = regular, min(HIGHEST_COUPLING, infinite / 2)
    else:
        low, high = _checked_bounds(given.bounds, d)
    if high > infinite * (1 - _ROUNDING):
        raise InputError(
            f"data: at couplings from {infinite:.4g} on, the likelihood of these data is infinite: a scale of 0 about"
            " a few of the values beats all. Fix the scale, or keep fcoupling or coupling_bounds below."
        )
    return low, high


def _checked_bounds(bounds: tuple[float, float], d: int) -> tuple[float, float]:
    try:
        low, high = (float(b) for b in bounds)
    except (TypeError, ValueError):
        raise InputError(f"coupling_bounds: expected a pair (lowest, highest), got {bounds!r}.") from None
    if not (-1 / d <= low < high < np.inf):
        raise InputError(f"coupling_bounds: must rise from at least {-1 / d:.6g} to a finite number, got {bounds!r}.")
    lowest = -LOWEST_SHARE / d
    if high <= lowest:
        raise InputError(f"coupling_bounds: must reach above {lowest:.6g}, got {bounds!r}.")
    return max(low, lowest), high


def fixed(name: str, value: float | None, check: Callable[[str, ArrayLike], Floats]) -> float | None:
    """A single parameter that is known, or None."""
    return None if value is None else float(check(name, _single(name, value)))


def _single(name: str, value: Any) -> Any:
    if np.ndim(value) != 0:
        raise InputError(f"{name}: expected one number, got an array of shape {np.shape(value)}.")
    return value


def is_regular(coupling: float, bound: float) -> bool:
    """Whether a coupling is above the bound of standard errors by more than rounding."""
    return coupling > bound * (1 - _ROUNDING)


def best_coupling(
    loss: Callable[[float], float],
    bounds: tuple[float, float],
    d: int,
    rough_loss: Callable[[float], float] | None = None,
) -> tuple[float, bool]:
    """The coupling of least loss, and whether it is at a bound.

    A grid comes first, for there may be two valleys; the loss of some of many rows tells which one.

    Parameters
    ----------
    loss : callable
        Mean negative log-likelihood at a coupling; infinite where there is none.
    bounds : tuple of two floats
        Ends of where to look; equal ends fix the coupling.
    d : int
        Dimension: couplings are above -1/d.
    rough_loss : callable, optional
        The same of some of the rows, for the grid.
    """
    if bounds[0] == bounds[1]:
        return bounds[0], False
    low, high = (np.log1p(d * b) for b in bounds)  # evens out the scale towards -1/d and towards infinity

    def at(t: float, loss: Callable[[float], float] = loss) -> float:
        value = loss(float(np.clip(np.expm1(t) / d, *bounds)))
        return value if value < np.inf else 1e100  # a number, for the search to reckon with

    grid = np.linspace(low, high, _GRID)
    # From the middle outwards, so that each fit can start from its neighbour.
    order = sorted(range(len(grid)), key=lambda i: abs(grid[i]))
    losses = dict(sorted((i, at(grid[i], rough_loss or loss)) for i in order))
    best = min(losses, key=losses.__getitem__)
    around = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(at, bounds=around, method="bounded", options={"xatol": _FOUND})
    t = float(found.x) if found.fun <= at(grid[best]) else float(grid[best])
    width = _AT_END * (high - low)
    if t < low + width or t > high - width:
        return bounds[0] if t < low + width else bounds[1], True
    return float(np.clip(np.expm1(t) / d, *bounds)), False


_EXACT, _CONVERGED = 1e-15, 1e-8
"""Decreases promised by a step, in mean nats a row: below the first the search ends, up to the second it converged."""

_DESCENT, _SHORTEST = 1e-4, 1e-12
"""A step is cut back until it gives this share of what it promised (Armijo), or is too short to count."""


def minimize(
    value: Callable[[Floats], float],
    gradient: Callable[[Floats], Floats],
    curvature: Callable[[Floats, Floats], Floats],
    start: Floats,
) -> tuple[Floats, bool]:
    """Minimum near a feasible start, by conjugate gradients on the Hessian and steps cut back until they descend.

    The logarithms of densities with compact support are self-concordant, for which this is the method of proof:
    steps keep to the inside by themselves, in any coordinates. A trust region would be a ball, which the inside is
    not; SciPy's line searches do not take infinite values. The second result is whether it converged, by the decrease
    that the last step promised, which no choice of coordinates changes.

    Parameters
    ----------
    value : callable
        The function, of a vector; infinite outside of where it is defined.
    gradient : callable
        Its gradient.
    curvature : callable
        Its Hessian at the first argument times the second.
    start : array of shape (p,)
        A point at which it is finite.
    """
    x, f, promised = start, value(start), np.inf
    for _ in range(100):
        g = gradient(x)
        step = _direction(partial(curvature, x), g)
        promised, size = -float(g @ step), 1.0
        if promised <= _EXACT:
            break
        while size > _SHORTEST:
            trial = value(x + size * step)
            if trial <= f - _DESCENT * size * promised:
                break
            size /= 2
        else:
            break  # no step descends any more: the digits are used up
        x, f = x + size * step, trial
    return x, promised <= _CONVERGED


def _direction(curvature: Callable[[Floats], Floats], g: Floats) -> Floats:
    """Newton's step, or what conjugate gradients had of it on meeting negative curvature; downhill in any case."""
    step, residual = np.zeros_like(g), -g
    if not g.any():
        return step
    p, enough = residual, min(0.1, np.sqrt(np.linalg.norm(g))) * np.linalg.norm(g) * 1e-3
    for _ in range(2 * len(g)):
        hp = curvature(p)
        bend = float(p @ hp)
        if bend <= 0:
            return step if step.any() else -g
        squared = float(residual @ residual)
        step = step + squared / bend * p
        residual = residual - squared / bend * hp
        if np.linalg.norm(residual) <= enough:
            break
        p = residual + float(residual @ residual) / squared * p
    return step
