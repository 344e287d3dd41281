"""Sums that come out the same to the last digit in any order and any split."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ._typing import Floats

UNIT_BITS = 62
"""Values are counted in units of 2**-62: of a value above 2**-10, all of its bits."""

_LIMB = 36
"""Bits of a limb: 2**17 of them, as many as a block has rows, sum exactly in float64."""


@dataclass(frozen=True, slots=True)
class ExactSum:
    """A sum of floats as a whole number of units, of any size, and a rest that cannot be counted so."""

    units: int = 0
    rest: float = 0.0
    """Infinite values, and values with weights of their own, whose scale is not known beforehand."""

    def __add__(self, other: ExactSum) -> ExactSum:
        """Add exactly, but for the rests."""
        return ExactSum(self.units + other.units, self.rest + other.rest)

    def __float__(self) -> float:
        """Round once."""
        try:
            return self.units / (1 << UNIT_BITS) + self.rest
        except OverflowError:
            return math.inf


def exact_sum(x: Floats, bits: int = 10) -> ExactSum:
    """Sum values, none of them NaN; those below 2**bits, all but a few, are summed fast.

    Each value is rounded to a multiple of 2**(bits - 72) and cut into two limbs, the sums of which are exact
    whatever the order.
    """
    usual = np.abs(x) < 2.0**bits
    rest, units = 0.0, 0
    if not usual.all():
        finite = np.isfinite(x)
        rest = float(x[~finite].sum())
        units = sum(_units(value) for value in x[finite & ~usual].tolist())
        x = x[usual]
    scaled = x * 2.0 ** (_LIMB - bits)
    high = np.rint(scaled)
    low = np.rint((scaled - high) * 2.0**_LIMB)
    limbs = (int(high.sum()) << _LIMB) + int(low.sum())
    return ExactSum(units + (limbs << (bits - 10)), rest)


def _units(value: float) -> int:
    """Count the units of a value of 1 or more."""
    numerator, denominator = value.as_integer_ratio()
    return (numerator << UNIT_BITS) // denominator
