"""The coupled (deformed) logarithm and exponential, and their risk form: ordinary ones at coupling or order 0.

`expm1_ratio` and `log1p_ratio` carry everything through 0; what else is deformed here is made from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._lib.arrays import floats, plain
from .._lib.errors import InputError, place_text
from .._lib.typing import Bools, Floats

_LINEAR = 1e-16
"""Below it, z is both expm1(z) and log1p(z) to the last digit."""


def expm1_ratio(k: Any, y: Any) -> Floats:
    """Return (exp(k y) - 1)/k, at k = 0 its limit y: right to the last digits for any k, however small."""
    return _ratio(np.expm1, k, y)


def log1p_ratio(k: Any, y: Any) -> Floats:
    """Return ln(1 + k y)/k, at k = 0 its limit y: the inverse of `expm1_ratio`. From the pole on, ln is -inf."""
    return _ratio(lambda z: np.log1p(np.maximum(z, -1.0)), k, y)


def _ratio(function: Callable[[Floats], Floats], k: Any, y: Any) -> Floats:
    """Return f(k y)/k of a function that is z next to 0."""
    with np.errstate(all="ignore"):
        z = np.multiply(k, y)
        # Where z is next to nothing the ratio is y; z and k may be subnormal there, with few digits left.
        return np.asarray(np.where((np.abs(z) < _LINEAR) | np.equal(k, 0), y, function(z) / k))


def coupled_log(x: ArrayLike, coupling: ArrayLike, d: ArrayLike = 1) -> float | Floats:
    """Coupled logarithm ``(x^(kappa/(1 + d*kappa)) - 1)/kappa``; ln x at coupling 0.

    At x = 1 it is 0 with slope 1/(1 + d*kappa). Positive coupling bends it up from ln(x)/(1 + d*kappa): it is at least
    -1/kappa, and that at x = 0. Negative coupling bends it down: it is at most -1/kappa, and that at x = inf.

    Parameters
    ----------
    x : array_like
        Numbers from 0 to inf. All arguments broadcast against each other.
    coupling : array_like
        Coupling kappa, finite and above -1/d.
    d : array_like, default 1
        Dimension, at least 1.

    Returns
    -------
    float or ndarray
        A float when all arguments are numbers.

    Raises
    ------
    InputError
        For x below 0, NaN, a coupling at or below -1/d or infinite, d below 1, shapes that do not broadcast.

    Notes
    -----
    [RP] eq. A.3, with the dimension of the later equations. As p runs from 0 to 1, the coupled surprisal
    ``coupled_log(1/p)`` averages to ``1/(1 + (d - 1)*kappa)``, so to 1 in one dimension, whatever the coupling.

    Examples
    --------
    >>> from unperplexed.theory import coupled_log
    >>> coupled_log([0, 1, 4], 1.0)
    array([-1.,  0.,  1.])
    >>> round(coupled_log(4, 1e-300), 6)
    1.386294
    """
    values, kappa, dimension = _numbers(x=x, coupling=coupling, d=d)
    _check_not_negative(values)
    with np.errstate(divide="ignore"):
        return plain(expm1_ratio(kappa, np.log(values) / _slope(kappa, dimension)))


def coupled_exp(x: ArrayLike, coupling: ArrayLike, d: ArrayLike = 1) -> float | Floats:
    """Coupled exponential ``(1 + kappa*x)_+^((1 + d*kappa)/kappa)``, the inverse of `coupled_log`; exp x at coupling 0.

    It has a pole at x = -1/kappa. From there on it is 0 for positive coupling (x below the pole) and inf for negative
    coupling (x above it).

    Parameters
    ----------
    x : array_like
        Numbers from -inf to inf. All arguments broadcast against each other.
    coupling : array_like
        Coupling kappa, finite and above -1/d.
    d : array_like, default 1
        Dimension, at least 1.

    Returns
    -------
    float or ndarray
        From 0 to inf; a float when all arguments are numbers.

    Raises
    ------
    InputError
        For NaN, a coupling at or below -1/d or infinite, d below 1, shapes that do not broadcast.

    Notes
    -----
    [RP] eq. A.4. Densities of the coupled Gaussian are ``coupled_exp(z^2, kappa)^(-1/2)/Z``, heavy-tailed for positive
    coupling and of compact support for negative. Away from the pole, the relative error is a few units in the
    last place, times the logarithm of the result where that exceeds 1.

    Examples
    --------
    >>> from unperplexed.theory import coupled_exp
    >>> coupled_exp([-2, -1, 0, 1], 1.0)
    array([0., 0., 1., 4.])
    >>> coupled_exp(3.0, -0.5)
    inf
    """
    values, kappa, dimension = _numbers(x=x, coupling=coupling, d=d)
    slope = _slope(kappa, dimension)
    with np.errstate(over="ignore"):
        return plain(np.exp(slope * log1p_ratio(kappa, values)))


def risk_log(x: ArrayLike, r: ArrayLike) -> float | Floats:
    """Logarithm of constant relative risk sensitivity r: ``(1 + r)/r * (x^r - 1)``; ln x at r = 0.

    For the probability of an observed class, it is minus the generalized surprisal. Below order 0, small
    probabilities have more weight than in the logarithm (risk-averse); above 0, less (risk-seeking).

    Parameters
    ----------
    x : array_like
        Numbers from 0 to inf. Both arguments broadcast against each other.
    r : array_like
        Order, finite and above -1.

    Returns
    -------
    float or ndarray
        At x = 0 it is -(1+r)/r for r > 0, else -inf. A float when both arguments are numbers.

    Raises
    ------
    InputError
        For x below 0, NaN, an order at or below -1 or infinite, shapes that do not broadcast.

    Notes
    -----
    [RP] eq. 3.2; ``1 + x f''(x)/f'(x) = r`` is the relative risk sensitivity of [RP] eq. 3.3. The logarithm of 1/x
    turned round: ``risk_log(x, r) = -coupled_log(1/x, kappa)`` with ``r = -kappa/(1 + kappa)``. The mean of `risk_log`
    over forecasts, taken back by `risk_exp`, is their generalized mean of order r.

    Examples
    --------
    >>> from unperplexed.theory import risk_log
    >>> risk_log([0, 0.5, 1], 1)
    array([-2., -1.,  0.])
    >>> round(risk_log(0.5, 0), 6)
    -0.693147
    """
    values, order = _numbers(x=x, r=r)
    _check_not_negative(values)
    _check_orders(order)
    with np.errstate(divide="ignore", over="ignore"):
        return plain((1 + order) * expm1_ratio(order, np.log(values)))


def risk_exp(x: ArrayLike, r: ArrayLike) -> float | Floats:
    """Inverse of `risk_log`: ``(1 + r/(1 + r)*x)_+^(1/r)``; exp x at r = 0.

    From its pole at x = -(1 + r)/r on it is 0 for r > 0 (x below the pole) and inf for r < 0 (x above it).

    Parameters
    ----------
    x : array_like
        Numbers from -inf to inf. Both arguments broadcast against each other.
    r : array_like
        Order, finite and above -1.

    Returns
    -------
    float or ndarray
        From 0 to inf; a float when both arguments are numbers.

    Raises
    ------
    InputError
        For NaN, an order at or below -1 or infinite, shapes that do not broadcast.

    Notes
    -----
    [RP] eq. 3.4. With ``S`` the generalized surprisal of order r, ``risk_exp(-S, r)`` is the generalized mean of order
    r of the same probabilities ([RP] eq. 3.5).

    Examples
    --------
    >>> from unperplexed.statistics import generalized_mean
    >>> from unperplexed.theory import risk_exp, risk_log
    >>> p, r = [0.9, 0.4], -2 / 3
    >>> round(risk_exp(risk_log(p, r).mean(), r), 12), round(generalized_mean(p, r), 12)
    (0.568376266547, 0.568376266547)
    """
    values, order = _numbers(x=x, r=r)
    _check_orders(order)
    with np.errstate(over="ignore"):
        return plain(np.exp(log1p_ratio(order, values / (1 + order))))


def _numbers(**arguments: ArrayLike) -> list[Floats]:
    """Read arguments as float64 arrays that broadcast against each other, without NaN."""
    arrays = {name: floats(value, name) for name, value in arguments.items()}
    for name, array in arrays.items():
        _refuse(np.isnan(array), name, "expected numbers, got", array)
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InputError(f"these shapes do not broadcast against each other: {shapes}.") from None
    return list(arrays.values())


def _slope(kappa: Floats, d: Floats) -> Floats:
    """Return 1 + d*kappa, positive, or an InputError."""
    _refuse(~((d >= 1) & (d < np.inf)), "d", "expected a dimension of 1 or more, got", d)
    kappa, d = np.broadcast_arrays(kappa, d)
    slope = np.asarray(1 + d * kappa)
    bad = ~((slope > 0) & (slope < np.inf))
    if bad.any():
        _refuse(bad, "coupling", f"must be finite and above -1/d = {-1 / d[bad][0]:g}, got", kappa)
    return slope


def _check_not_negative(x: Floats) -> None:
    _refuse(x < 0, "x", "there is a logarithm of 0 and of positive numbers only, got", x)


def _check_orders(r: Floats) -> None:
    _refuse(~((r > -1) & (r < np.inf)), "r", "the order must be finite and above -1, got", r)


def _refuse(bad: Bools, name: str, what: str, values: Floats) -> None:
    """Raise an InputError that names the first bad value and its place."""
    if np.any(bad):
        first = tuple(np.argwhere(bad)[0].tolist())
        raise InputError(f"{name}: {what} {values[first]:g}{place_text(first)}.")
