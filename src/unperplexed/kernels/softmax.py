"""Probabilities of rows of logits, and the sums of rows that they are divided by."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.typing import AnyFloats, Bools, Floats, Ints
from .compiled import kernel as _kernel

FEW_CLASSES = 32
"""Rows of fewer classes are summed class by class, as NumPy takes long over short rows."""


class LogitRows:
    """Rows of logits, of which the compiled kernel makes probabilities as it counts them: `logit_rows` makes it.

    NumPy gets the probabilities with np.asarray.
    """

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits
        self.shape: tuple[int, int] = logits.shape

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.logits)

    def __getitem__(self, keep: slice | Ints | Bools) -> LogitRows:
        """Select rows."""
        return LogitRows(self.logits[keep])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Probabilities."""
        return self._probabilities if dtype is None else self._probabilities.astype(dtype)

    @cached_property
    def _probabilities(self) -> Floats:
        return softmax(self.logits)


def logit_rows(x: AnyFloats) -> Floats | LogitRows:
    """Probabilities of rows of logits: of single precision, if the kernel was built, when they are counted."""
    return softmax(x) if _kernel is None or x.dtype != np.float32 else LogitRows(x)


def row_sums(p: AnyFloats) -> Floats:
    """Sum rows in float64, in an order that depends on neither the block's size nor its layout in memory.

    Rows are divided by such sums, and the same row must give the same values in whatever part of the data it comes.
    """
    if p.shape[1] < FEW_CLASSES:
        total = p[:, 0].astype(np.float64)
        for column in range(1, p.shape[1]):
            total += p[:, column]
        return total
    return np.asarray(np.ascontiguousarray(p, dtype=np.float64).sum(axis=1))


def softmax(x: AnyFloats) -> Floats:
    """Probabilities of rows of logits; infinity in rows of which one is infinite, to be refused as what it is.

    -inf is a probability of 0.
    """
    p = np.empty(x.shape)
    if _kernel is not None and x.dtype == np.float32:
        _kernel.softmax(x, p)
        return p
    step = max(1, (1 << 15) // x.shape[1])  # what lies in between stays in the fastest cache
    for start in range(0, len(x), step):
        some = x[start : start + step]
        highest = some.max(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", over="ignore"):
            e = (_exponentials if x.dtype == np.float32 else np.exp)(some - highest)
            p[start : start + step] = e / row_sums(e)[:, None]
        p[start : start + step][np.isposinf(highest[:, 0])] = np.inf
    return p


def _exponentials(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Exponentials of numbers up to 0 in single precision, by the steps that the kernel takes.

    Powers of 2 times a polynomial of what is left, with the coefficients of ``expf`` in Moshier's Cephes.
    """
    x = np.maximum(x, np.float32(-110))  # exp(-104) is 0
    rounder = np.float32(1.5 * 2.0**23)  # added and taken away again it leaves the nearest whole number
    shifted = x * np.float32(1.44269504088896341) + rounder
    powers = shifted - rounder
    r = (x - powers * np.float32(0.693359375)) - powers * np.float32(-2.12194440e-4)
    y = np.full_like(r, 1.9875691500e-4)
    for coefficient in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
        y = y * r + np.float32(coefficient)
    y = (y * (r * r) + r) + np.float32(1)
    # In two steps, of which the second alone rounds, where what comes out is subnormal.
    power = shifted.view(np.int32) - rounder.view(np.int32)
    for some in (power >> 1, power - (power >> 1)):
        y = y * (some + np.int32(127) << np.int32(23)).view(np.float32)
    return np.asarray(y)
