"""Distributions as they are read, and the logarithm of their generalized mean on four scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._lib.arrays import check_indexes, floats, plain
from .._lib.errors import InputError, place_text
from .._lib.typing import Floats
from .coupled import expm1_ratio, log1p_ratio

Scale = Literal["nats", "bits", "perplexity", "probability"]


SUM_TOLERANCE = 1e-6
"""How far from 1 a distribution may sum: float32 rounds to less, and a table of three digits does not slip through."""


SCALES: Mapping[str, Callable[[Floats], Floats]] = {
    "nats": lambda nats: nats,
    "bits": lambda nats: nats / np.log(2),
    "perplexity": np.exp,
    "probability": lambda nats: np.exp(-nats),
}


def on_scale(log_mean: Floats, scale: str) -> float | Floats:
    """Put the logarithm of a mean on a scale."""
    with np.errstate(over="ignore"):
        return plain(SCALES[scale](0.0 - log_mean))  # no negative zero


def log_or_minus_inf(p: Floats) -> Floats:
    """Return logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def log_mean(weights: Floats, x: Floats, r: float) -> Floats:
    """Logarithm of the generalized mean of exp(x) along the last axis: the numerical heart of the module.

    `means.mean_of_points` gives the mean itself, but entropies are its logarithm, and that of a mean near 1 has no
    digits left. The weights may be 0, whatever x is there; x may be -inf.
    """
    kept = (weights > 0) & (x > -np.inf)
    w = np.where(kept, weights, 0.0)
    total = w.sum(axis=-1)
    lost = np.where(kept, 0.0, weights).sum(axis=-1)  # on values of 0
    highest = x.max(axis=-1, where=kept, initial=-np.inf)
    lowest = x.min(axis=-1, where=kept, initial=np.inf)
    with np.errstate(all="ignore"):
        x = np.where(kept, x, lowest[..., None])  # without weight, but finite
        if np.isinf(r):
            result = highest if r > 0 else lowest
        else:
            result = _centred(w, x, r, lowest, highest, total)
        # Zeros add nothing to sum w exp(r x) but stay in the total weight: M_r = share^(1/r) * M_r of the rest.
        diluted = -np.inf if r <= 0 else result - np.log1p(lost / total) / r
    return np.asarray(np.where(total == 0, -np.inf, np.where(lost > 0, diluted, result)))


_NEXT_TO_0 = 1e-6
"""Orders at which the mean of logarithms is near enough to begin with."""


def _centred(w: Floats, x: Floats, r: float, lowest: Floats, highest: Floats, total: Floats) -> Floats:
    """Logarithm of the generalized mean, of finite order: a rough one, then what is left from there."""
    if abs(r) < _NEXT_TO_0:
        centre = (w * x).sum(axis=-1) / total
    else:
        largest = highest if r > 0 else lowest  # taken out, so that nothing overflows
        centre = largest + np.log((w * np.exp(r * (x - largest[..., None]))).sum(axis=-1) / total) / r
    if abs(r) > 1:
        return np.asarray(centre)  # its rounding errors are divided by r; below, they would be multiplied
    # From the centre the sums below nearly cancel, so that their rounding errors are relative to the small spread
    # instead of to x or, near r = 0, to 1/r.
    x = x - centre[..., None]
    bent = expm1_ratio(r, x)
    # Where the power overflows its weight is subnormal, and their product is neither.
    terms = np.where(np.isinf(bent), np.exp(np.log(w) + r * x) / r, w * bent)
    return np.asarray(centre + log1p_ratio(r, terms.sum(axis=-1) / total))


def distributions(p: ArrayLike, name: str, axis: int) -> Floats:
    """Read distributions, their outcomes as last axis, and divide out what rounding leaves their sums off 1."""
    array = floats(p, name)
    if array.ndim == 0:
        raise InputError(f"{name}: expected an array of probabilities, got {p!r}.")
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        first = tuple(np.argwhere(bad)[0].tolist())
        raise InputError(f"{name}: not a probability in [0, 1]{place_text(first)}: {array[first]:g}.")
    try:
        array = np.moveaxis(array, axis, -1)
    except (TypeError, ValueError):
        raise InputError(f"axis: {name} of shape {array.shape} has no axis {axis!r}.") from None
    total = array.sum(axis=-1, keepdims=True)
    bad = np.abs(total - 1) > SUM_TOLERANCE
    if bad.any():
        row, found = tuple(np.argwhere(bad)[0, :-1].tolist()), total[bad][0]
        raise InputError(
            f"{name}: the probabilities{place_text(row, 'row')} sum to {found:.9g}, not 1. Add the"
            " outcome that is missing, or divide by the sum."
        )
    return np.asarray(array / total)


def distribution_pair(p: ArrayLike, q: ArrayLike, axis: int) -> tuple[Floats, Floats]:
    """Read two distributions, or rows of them, over the same outcomes."""
    check_indexes(p=p, q=q)
    weights, values = distributions(p, "p", axis), distributions(q, "q", axis)
    if weights.shape[-1] != values.shape[-1]:
        raise InputError(
            f"p and q: expected the same outcomes, got {weights.shape[-1]} and {values.shape[-1]} probabilities."
        )
    try:
        weights, values = np.broadcast_arrays(weights, values)
    except ValueError:
        raise InputError(f"p and q: shapes {weights.shape} and {values.shape} do not broadcast.") from None
    return weights, values


def checked_order(r: Any, name: str) -> float:
    """Refuse what is not a number as order."""
    try:
        order = float(r)
    except (TypeError, ValueError):
        order = np.nan
    if np.isnan(order):
        raise InputError(f"{name}: the order must be one number, got {r!r}.")
    return order


def finite_order(r: Any) -> float:
    """Refuse what is not a finite number as order."""
    order = checked_order(r, "r")
    if np.isinf(order):
        raise InputError(f"r: the order must be finite, got {r!r}.")
    return order


def renyi_nats(p: ArrayLike, r: float, axis: int) -> Floats:
    """Renyi's entropy of distributions, in nats."""
    weights = distributions(p, "p", axis)
    return 0.0 - log_mean(weights, log_or_minus_inf(weights), -checked_order(r, "r"))
