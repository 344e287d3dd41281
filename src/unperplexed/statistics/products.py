"""Products of arrays with long axes, on the thread that asks for them."""

from __future__ import annotations

import math

import numpy as np

from .._lib.typing import Floats

_OF_VECTORS, _OF_MATRICES = 9_000, 250_000
"""Multiplications that OpenBLAS leaves to one thread: up to 9,216 where a vector takes part, up to 262,144 of matrices.

With more it wakes a thread for each core. These wait busily for the next product, some 25 ms, so that products of
a fraction of a millisecond keep all cores busy for as long as they follow one another.
"""
_WHOLE = 500_000_000
"""Multiplications from which on a product of matrices is left to BLAS: in parts it takes twice the time."""


def product(a: np.ndarray, b: np.ndarray) -> Floats:
    """Return ``a @ b``, made of parts that are too small for BLAS to wake threads unless matrices give them much to do.

    Parameters
    ----------
    a : array of shape (k,) or (m, k)
    b : array of shape (k,) or (k, n)

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.statistics.products import product
    >>> float(product(np.ones(100_000), np.full(100_000, 0.5)))
    50000.0
    """
    multiplications = a.size * (b.shape[1] if b.ndim == 2 else 1)
    least, most = (_OF_MATRICES, _WHOLE) if a.ndim == b.ndim == 2 else (_OF_VECTORS, math.inf)
    if not least < multiplications <= most:
        return np.asarray(a @ b)
    summed, rows, columns = len(b), len(a) if a.ndim == 2 else 1, b.shape[1] if b.ndim == 2 else 1
    if min(rows, columns) == 1 and summed <= _OF_VECTORS and a.ndim + b.ndim == 3:
        return np.asarray(np.einsum("i,ij->j" if a.ndim == 1 else "ij,j->i", a, b))
    if summed >= max(rows, columns):
        half = summed // 2
        return product(a[..., :half], b[:half]) + product(a[..., half:], b[half:])
    if rows >= columns:
        half = rows // 2
        return np.concatenate([product(a[:half], b), product(a[half:], b)])
    half = columns // 2
    return np.concatenate([product(a, b[:, :half]), product(a, b[:, half:])], axis=-1)
