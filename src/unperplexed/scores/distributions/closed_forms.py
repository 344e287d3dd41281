"""The continuous ranked probability score (CRPS) of families: what is known of it without integration.

It is the expected distance of a draw from the outcome, less half the expected distance of two draws (Gneiting and
Raftery 2007, eq. 21). A family therefore needs two functions; mixtures, such as those with an atom at 0, follow from
them. Distances are written about the mean, so that little is lost where the mean is large beside the spread.

The continuous ranked probability score (CRPS) of any distributions, over all numbers or those between thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from ..._lib.typing import Floats
from ...forecasts.distributions.distribution import Distribution
from ...forecasts.distributions.families import by_coupling

_SHARES = (0.001, 0.1, 0.5, 0.9, 0.999)
"""Quantiles between which is integrated, so that no piece is much wider than what happens in it."""

_STEP = 0.15
"""Step of the double-exponential rules: errors are of the order of 1e-9, also where densities are infinite."""

_INSIDE = np.arange(-21, 22) * _STEP
"""Nodes of a finite piece, up to shares of 1e-16 from its ends."""

_OUTSIDE = np.arange(-24, 31) * _STEP
"""Nodes of a tail, to exp(70) times the spread."""

_TAIL = 1e-12
"""Counts beyond these quantiles are left out; what they add is of the order of its square."""


def integrated_crps(law: Distribution, y: Floats, above: Floats, below: Floats) -> Floats:
    """Integrate (F(x) - [y <= x])^2 over x from ``above`` to ``below``.

    Parameters
    ----------
    law : Distribution
        Continuous but for jumps at 0 and at outcomes.
    y : array of shape (n,)
        Outcomes.
    above, below : arrays of shape (n,)
        Thresholds, which may be infinite.
    """
    y = np.clip(y, above, below)
    quantiles = [law.ppf(np.full(len(y), share)) for share in _SHARES]
    points = np.sort(np.clip([*quantiles, y, np.zeros_like(y)], above, below), axis=0)
    total = sum((_inside(law, y, low, high) for low, high in pairwise(points)), np.zeros_like(y))
    spread = quantiles[-1] - quantiles[0]
    total += _tail(law.cdf, points[0], -spread) - _tail(law.cdf, above, -spread)
    total += _tail(law.sf, points[-1], spread) - _tail(law.sf, below, spread)
    return total


def _inside(law: Distribution, y: Floats, low: Floats, high: Floats) -> Floats:
    """Integrate over pieces that do not contain y."""
    total, width, over = np.zeros_like(y), high - low, low >= y
    for node in _INSIDE:
        share, rest = special.expit(np.pi * np.sinh(node)), special.expit(-np.pi * np.sinh(node))
        error = law.cdf(low + width * share) - over
        total += np.pi * np.cosh(node) * share * rest * error * error
    return np.asarray(total * width * _STEP)


def _tail(share: Callable[[Floats], Floats], start: Floats, spread: Floats) -> Floats:
    """Integrate the square of a share from where it starts to infinity, on the side that the spread's sign tells."""
    finite, total = np.isfinite(start), np.zeros_like(start)
    start = np.where(finite, start, 0)
    for node in _OUTSIDE:
        distance = np.exp(np.pi / 2 * np.sinh(node))
        total += np.pi / 2 * np.cosh(node) * distance * share(start + spread * distance) ** 2
    return np.asarray(np.where(finite, total * np.abs(spread) * _STEP, 0))


def summed_crps(law: Distribution, y: Floats, above: Floats, below: Floats) -> Floats:
    """Integrate (F(x) - [y <= x])^2 over x from ``above`` to ``below`` where only whole numbers are possible.

    Parameters are as in `integrated_crps`.
    """
    first, last = (law.ppf(np.full(len(y), share)) for share in (_TAIL, 1 - _TAIL))
    total = np.maximum(np.minimum(first, below) - np.maximum(y, above), 0)
    total += np.maximum(np.minimum(y, below) - np.maximum(last + 1, above), 0)
    for number in range(int((last - first).max()) + 1):
        k = np.minimum(first + number, last + 1)
        left = np.maximum(k, above)
        right = np.maximum(np.minimum(np.minimum(k, last) + 1, below), left)
        cut = np.clip(y, left, right)
        total += law.cdf(k) ** 2 * (cut - left) + law.sf(k) ** 2 * (right - cut)
    return np.asarray(total)


_STEPS = np.linspace(-3.9, 3.9, 97)
"""Nodes of a double-exponential rule, whose ends are exp(-38) and exp(38) times the scale of what is integrated."""

_UNSTABLE = 1e-3
"""So near to 1 degree of freedom the terms of Student's t are too large for their difference."""


class Distances(NamedTuple):
    """Expected distances of draws from distributions of a family; the functions take its parameters in order."""

    from_number: Callable[..., Floats]
    """E|X - y|, of y and the parameters."""
    between_draws: Callable[..., Floats]
    """E|X - X'| / 2, of the parameters."""


def closed_crps(family: str, y: Floats, parameters: Sequence[Floats], zero: Floats | None = None) -> Floats:
    """Return the CRPS of distributions of a family, one a row.

    Parameters
    ----------
    family : str
        A name in `FAMILIES`.
    y : array of shape (n,)
        Outcomes.
    parameters : sequence of arrays of shape (n,)
        As `forecasts.distributions.families` has them.
    zero : array of shape (n,), optional
        Probability of an atom at 0 beside the family.

    Returns
    -------
    array of shape (n,)
        NaN where no closed form holds.
    """
    from_number, between_draws = FAMILIES[family]
    with np.errstate(all="ignore"):
        distance, half = from_number(y, *parameters), between_draws(*parameters)
        if zero is not None:
            rest = 1 - zero
            half = rest * (zero * from_number(np.zeros_like(y), *parameters) + rest * half)
            distance = zero * np.abs(y) + rest * distance
        return np.asarray(np.where(distance == np.inf, np.inf, distance - half))


def _located(from_number: Callable[..., Floats], between_draws: Callable[..., Floats]) -> Distances:
    """Make the distances of a family of location and scale from those of its standard distributions."""
    return Distances(
        lambda y, at, scale, *shape: scale * from_number((y - at) / scale, *shape),
        lambda at, scale, *shape: scale * between_draws(*shape),
    )


def _normal(z: Floats) -> Floats:
    return np.asarray(z * special.erf(z / np.sqrt(2)) + np.sqrt(2 / np.pi) * np.exp(-z * z / 2))


def _normal_draws() -> Floats:
    return np.asarray(1 / np.sqrt(np.pi))


def _beta_of_half(b: Floats) -> Floats:
    """Return the beta function of 1/2 and b; SciPy's own loses seven digits where b is about a million."""
    return np.asarray(np.sqrt(np.pi) / special.poch(b, 0.5))


def _t(z: Floats, df: Floats) -> Floats:
    """Take degrees of freedom above 1/2, where the CRPS is finite; up to 1 the distances alone are not."""
    beyond = np.sqrt(df) / ((df - 1) * _beta_of_half(df / 2)) * np.exp((1 - df) / 2 * np.log1p(z * z / df))
    distance = np.where(np.abs(df - 1) > _UNSTABLE, z * (2 * special.stdtr(df, z) - 1) + 2 * beyond, np.nan)
    return np.where(df > 0.5, distance, np.inf)


def _t_draws(df: Floats) -> Floats:
    return np.asarray(2 * np.sqrt(df) / (df - 1) * _beta_of_half(df - 0.5) / _beta_of_half(df / 2) ** 2)


def _bounded(z: Floats, a: Floats, width: Floats) -> Floats:
    """Take the coupled Gaussian of coupling -width^2: a symmetric beta distribution."""
    share = np.clip((1 + z * width) / 2, 0, 1)
    inside = np.maximum(1 - (z * width) ** 2, 0) ** a / (a * _beta_of_half(a))
    return np.asarray(z * (2 * special.betainc(a, a, share) - 1) + inside / width)


def _bounded_draws(_: Any, a: Floats, width: Floats) -> Floats:
    return np.asarray(_beta_of_half(2 * a) / (a * _beta_of_half(a) ** 2 * width))


_coupled_draws = by_coupling(lambda _: _normal_draws(), lambda _, df: _t_draws(df), _bounded_draws)


def _lognormal(y: Floats, at: Floats, scale: Floats) -> Floats:
    mean, z = np.exp(at + scale * scale / 2), (np.log(np.maximum(y, 0)) - at) / scale
    below = special.ndtr(z)
    return np.asarray((y - mean) * (2 * below - 1) + 2 * mean * (below - special.ndtr(z - scale)))


def _gamma(y: Floats, shape: Floats, scale: Floats) -> Floats:
    mean, z = shape * scale, np.maximum(y, 0) / scale
    below = special.gammainc(shape, z)
    return np.asarray((y - mean) * (2 * below - 1) + 2 * mean * (below - special.gammainc(shape + 1, z)))


def _poisson(y: Floats, mean: Floats) -> Floats:
    k = np.floor(np.maximum(y, 0))
    up_to, before = special.pdtr(k, mean), np.where(k > 0, special.pdtr(np.maximum(k - 1, 0), mean), 0)
    up_to, before = np.where(y < 0, 0, up_to), np.where(y < 0, 0, before)
    return np.asarray((y - mean) * (2 * up_to - 1) + 2 * mean * (up_to - before))


def _negative_binomial(y: Floats, size: Floats, p: Floats) -> Floats:
    k, odds = np.floor(np.maximum(y, 0)), (1 - p) / p
    up_to = np.where(y < 0, 0, special.betainc(size, k + 1, p))
    # (size + k) times the probability of k
    here = np.where(y < 0, 0, np.exp(special.xlogy(size, p) + special.xlog1py(k, -p) - special.betaln(size, k + 1)))
    return np.asarray((y - size * odds) * (2 * up_to - 1) + 2 * odds * here)


def _negative_binomial_draws(size: Floats, p: Floats) -> Floats:
    """Integrate the characteristic function's square: hypergeometric functions fail for sizes above some hundreds.

    For whole numbers the half distance of two draws is the integral over (0, pi) of (1 - |phi(t)|^2) / (4 pi s^2) with
    s = sin(t/2), and |phi(t)|^2 = (1 + c s^2)^-size; here u = tan(t/2).
    """
    c = 4 * (1 - p) / (p * p)
    scale, total = 1 / np.sqrt(size * c + 1), np.zeros(np.broadcast_shapes(np.shape(size), np.shape(p)))
    for step in _STEPS:
        u = scale * np.exp(np.pi / 2 * np.sinh(step))
        square = u * u
        falls = -np.expm1(-size * np.log1p(c * square / (1 + square))) / square
        total += falls * u * np.cosh(step)
    return np.asarray(total * (_STEPS[1] - _STEPS[0]) / 4)


FAMILIES: Mapping[str, Distances] = {
    "normal": _located(_normal, _normal_draws),
    "t": _located(_t, _t_draws),
    "lognormal": Distances(_lognormal, lambda at, scale: np.exp(at + scale * scale / 2) * special.erf(scale / 2)),
    "gamma": Distances(_gamma, lambda shape, scale: scale / _beta_of_half(shape)),
    "poisson": Distances(_poisson, lambda mean: mean * (special.ive(0, 2 * mean) + special.ive(1, 2 * mean))),
    "negative-binomial": Distances(_negative_binomial, _negative_binomial_draws),
    "coupled-gaussian": _located(by_coupling(_normal, _t, _bounded), partial(_coupled_draws, np.zeros(1))),
}
"""Families by name."""
