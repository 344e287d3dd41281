"""Sums that come out the same to the last digit in any order and any split."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._lib.dataclasses import dataclass
from .._lib.typing import Floats
from .compiled import kernel as _kernel

UNIT_BITS = 124
"""Sums are whole multiples of 2**-124."""


LIMB_BITS = 36
"""Bits of a limb."""

LIMB_ROWS = 1 << 17
"""Sums of so many whole numbers of a limb's bits are exact in float64."""


def limb_sums(x: Floats, bits: int, limbs: int) -> list[int]:
    """Cut values below 2**bits into limbs and sum these, the highest first; of `LIMB_ROWS` values at most.

    Limbs are whole numbers, the last one rounded, so that their sums are exact in any order.
    """
    if _kernel is not None:
        return list(_kernel.limb_sums(np.ascontiguousarray(x), bits, limbs))
    left, found = x * 2.0 ** (LIMB_BITS - bits), []
    for _ in range(limbs):
        limb = np.rint(left)
        found.append(int(limb.sum()))
        left = (left - limb) * 2.0**LIMB_BITS
    return found


@dataclass(frozen=True, slots=True)
class ExactSum:
    """A sum of floats as a whole number of units, of any size, and a rest that cannot be counted so."""

    units: int = 0
    rest: float = 0.0
    """Infinite values, and values with weights of their own, whose scale is not known beforehand."""

    def __add__(self, other: ExactSum) -> ExactSum:
        """Add exactly, but for the rests."""
        return ExactSum(self.units + other.units, self.rest + other.rest)

    def __rmul__(self, sign: int) -> ExactSum:
        """Add it up so many times; -1 takes it off."""
        return ExactSum(sign * self.units, sign * self.rest)

    def __float__(self) -> float:
        """Round once."""
        try:
            return self.units / (1 << UNIT_BITS) + self.rest
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf


def exact_sum(x: Floats, bits: int = 10, limbs: int = 3) -> ExactSum:
    """Sum values, none of them NaN; those below 2**bits, all but a few, are summed fast.

    Each value is rounded to a multiple of 2**(bits - 36 * limbs), by default of 2**-98, and cut into limbs, the sums of
    which are exact whatever the order.
    """
    rest, units = 0.0, 0
    usual = np.abs(x) < 2.0**bits
    if not usual.all():
        finite = np.isfinite(x)
        rest = float(x[~finite].sum())
        units = sum(_units(value) for value in x[finite & ~usual].tolist())
        x = x[usual]
    for start in range(0, x.size, LIMB_ROWS):
        units += _whole(limb_sums(x[start : start + LIMB_ROWS], bits, limbs), bits)
    return ExactSum(units, rest)


def exact_sums_of_powers(x: Floats) -> tuple[ExactSum, ExactSum]:
    """Sum values and their squares, none of them NaN, as `exact_sum` does up to 2**10 and 2**20."""
    # In 3 limbs and 4, as `exact_sum` does step by step; none where a value is not below.
    if _kernel is not None and (limbs := _kernel.limb_sums_of_powers(np.ascontiguousarray(x))):
        return ExactSum(_whole(limbs[0], 10)), ExactSum(_whole(limbs[1], 20))
    with np.errstate(over="ignore"):
        return exact_sum(x), exact_sum(x * x, bits=20, limbs=4)


def _whole(limbs: Sequence[int], bits: int) -> int:
    """Put limbs together, as units."""
    whole = 0
    for limb in limbs:
        whole = (whole << LIMB_BITS) + limb
    return whole << (UNIT_BITS + bits - len(limbs) * LIMB_BITS)


def _units(value: float) -> int:
    """Count the units of a value of 1 or more."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << UNIT_BITS) // denominator
