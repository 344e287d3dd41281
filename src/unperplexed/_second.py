"""Of two classes how often the second was said and happened, which pairs of both together do not tell."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ._devices import DeviceRows
from ._sums import UNIT_BITS, ExactSum
from ._typing import AnyFloats, Bools, Floats
from .forecasts import Block

_BITS = 34
"""Probabilities are rounded to multiples of 2**-34, so that sums of a run are whole numbers, exact in any order."""

_RUN = 1 << 14
"""Rows of which temporaries stay in the fast cache."""


@dataclass(frozen=True)
class SecondClass:
    """Sums over the rows of two classes."""

    happened: float = 0.0
    """Weight of the rows in which the second class happened."""
    reported: ExactSum = field(default_factory=ExactSum)
    """Sum of the probabilities that it was given, each times the row's weight."""

    def __add__(self, other: SecondClass) -> SecondClass:
        """Add both."""
        return SecondClass(self.happened + other.happened, self.reported + other.reported)

    @staticmethod
    def of(p: AnyFloats, truth: NDArray[np.signedinteger], weights: Floats | None) -> SecondClass:
        """Sum probabilities of the second class."""
        if weights is not None:
            return SecondClass(float(weights[truth == 1].sum()), ExactSum(rest=float((weights * p).sum())))
        units = 0
        for start in range(0, p.size, _RUN):
            scaled = np.multiply(p[start : start + _RUN], 2.0**_BITS, dtype=np.float64)
            units += int(np.rint(scaled, out=scaled).sum())
        return SecondClass(float(np.count_nonzero(truth == 1)), ExactSum(units << (UNIT_BITS - _BITS)))

    @staticmethod
    def of_block(block: Block) -> SecondClass:
        """Sum over checked rows."""
        p = block.reported
        if isinstance(p, DeviceRows):  # of which a few numbers a row are here
            second = np.where(block.truth == 1, block.rows.correct, block.rows.total - block.rows.correct)
        else:
            second = p[:, 1]
        return SecondClass.of(second, block.truth, block.weights)

    @staticmethod
    def of_column(p: AnyFloats, truth: NDArray[np.int8 | np.int64], odd: Bools) -> SecondClass:
        """Sum over rows of one column, but for those that the kernel left out, as odd ones."""
        some = ~odd if odd.any() else slice(None)
        return SecondClass.of(p[some], truth[some], None)
