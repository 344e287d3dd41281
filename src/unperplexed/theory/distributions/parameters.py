"""Parameters and arguments of distributions as float64 arrays, or an error that says what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._lib.arrays import floats
from ..._lib.errors import InputError, is_whole, place_text
from ..._lib.typing import Bools, Floats

Seed = int | np.random.Generator | None


def real(name: str, value: ArrayLike) -> Floats:
    """Any numbers as float64, in an array of their own; NaN stays."""
    return np.array(floats(value, name))


def finite(name: str, value: ArrayLike) -> Floats:
    """Finite numbers."""
    array = real(name, value)
    return _refuse(name, array, ~np.isfinite(array), "must be finite")


def positive(name: str, value: ArrayLike) -> Floats:
    """Finite numbers above 0."""
    array = real(name, value)
    return _refuse(name, array, ~((array > 0) & (array < np.inf)), "must be finite and above 0")


def coupling_above(bound: float, value: ArrayLike, name: str = "coupling") -> Floats:
    """Finite couplings above their bound, at which the support would shrink to nothing or the density to a wall."""
    array = real(name, value)
    return _refuse(name, array, ~((array > bound) & (array < np.inf)), f"must be finite and above {bound:.6g}")


def unit_interval(name: str, value: ArrayLike) -> Floats:
    """Probabilities in [0, 1], or NaN."""
    array = real(name, value)
    return _refuse(name, array, (array < 0) | (array > 1), "must be in [0, 1]")


def _refuse(name: str, array: Floats, bad: Bools, rule: str) -> Floats:
    if bad.any():
        at = tuple(np.argwhere(bad)[0].tolist())
        raise InputError(f"{name}: {rule}, got {float(array[at])!r}{place_text(at)}.")
    array.setflags(write=False)
    return array


def generator(random_state: Seed) -> np.random.Generator:
    """A generator of random numbers from a seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(f"random_state: expected a whole number, a numpy Generator or None ({error}).") from None


def shape_of(size: Any) -> tuple[int, ...]:
    """The shape that a size stands for: a whole number, or several."""
    sizes = size if isinstance(size, tuple | list) else (size,)
    if not all(is_whole(n, 0) for n in sizes):
        raise InputError(f"size: expected a whole number of at least 0, or a tuple of such, got {size!r}.")
    return tuple(int(n) for n in sizes)
