"""Matrices that are positive definite, or should be and by few rows or rounding are not.

Products of arrays with long axes, on the thread that asks for them.
"""

from __future__ import annotations

import math
from functools import cache, cached_property

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.typing import Bools, Floats

_OF_VECTORS, _OF_MATRICES = 9_000, 250_000
"""Multiplications that OpenBLAS leaves to one thread: up to 9,216 where a vector takes part, up to 262,144 of matrices.

With more it wakes a thread for each core. These wait busily for the next product, some 25 ms, so that products of
a fraction of a millisecond keep all cores busy for as long as they follow one another.
"""
_WHOLE = 500_000_000
"""Multiplications from which on a product of matrices is left to BLAS: in parts it takes twice the time."""

_PART = 20_000
"""Rows whose products are summed at once."""


def product(a: np.ndarray, b: np.ndarray) -> Floats:
    """Return ``a @ b``, made of parts that are too small for BLAS to wake threads unless matrices give them much to do.

    Parameters
    ----------
    a : array of shape (k,) or (m, k)
    b : array of shape (k,) or (k, n)

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.statistics.matrices import product
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


def cross_products(x: Floats, weights: Floats) -> Floats:
    """Return ``(x * weights) @ x.T`` of functions, one a row, in parts that stay in the processor's cache."""
    parts = (slice(first, first + _PART) for first in range(0, max(len(weights), 1), _PART))
    return np.asarray(sum(product(x[:, part] * weights[part], x[:, part].T) for part in parts))


_LEAST = 1e-9
"""The smallest eigenvalue, as a part of the largest."""

_SMALL = 3e-8
"""A pivot whose root is smaller beside that of the largest entry has lost its digits."""

_SMALLEST_ROOT, _SMALLEST = 1e-6, 1e-12
"""Pivots' roots, and eigenvalues, of matrices that are all but 0."""

_BLOCK = 96
"""Triangular matrices of no more rows are inverted like any other."""


NEW = 0.03
"""A variable of which a smaller share is new beside those before it is left out."""


def in_turn(covariance: Floats, least: float = 0.0) -> Floats:
    """Return how variables of a covariance combine to uncorrelated ones of variance 1, one a row, in their order.

    Each is taken beside all before it. The row of one that is left out, as little of it is new or its variance is not
    above the least, is 0.
    """
    found = np.zeros_like(covariance)
    for at, row in enumerate(np.eye(len(covariance))):
        for _ in range(2):  # once more for what rounding has left
            row = row - (found @ (covariance @ row)) @ found  # noqa: PLW2901
        variance, size = float(row @ covariance @ row), covariance[at, at]
        if variance > max(NEW**2 * size, 0.0) and size > least:
            found[at] = row / np.sqrt(variance)
    return found


def definite(matrix: Floats) -> Floats:
    """Return a symmetric matrix as it is if it is positive definite, else with its small eigenvalues raised."""
    try:
        root = np.diag(np.linalg.cholesky(matrix))
        sound = bool(root.min(initial=1.0) > _SMALL * max(_SMALLEST_ROOT, math.sqrt(np.diag(matrix).max(initial=0.0))))
    except np.linalg.LinAlgError:
        sound = False
    if not sound:
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        least = max(_LEAST * float(np.abs(values).max(initial=0.0)), _SMALLEST)
        matrix = (vectors * np.maximum(values, least)) @ vectors.T
    return np.asarray(matrix)


class Factored(Frozen, eq=False):
    """A positive definite matrix, factored once: what SciPy has for it takes longer to load than most fits take."""

    matrix: Floats

    @cached_property
    def back(self) -> Floats:
        """Inverse of the lower Cholesky factor; raises LinAlgError if the matrix is not positive definite."""
        return _inverse_of_lower(np.asarray(np.linalg.cholesky(self.matrix), dtype=np.float64))

    def solve(self, right: Floats) -> Floats:
        """Solve for a vector, or for each column of a matrix."""
        return np.asarray(self.back.T @ (self.back @ right))

    def diagonal_of_inverse(self) -> Floats:
        """Give the diagonal of the inverse."""
        return np.asarray(np.einsum("ij,ij->j", self.back, self.back))


@cache
def _lower(n: int) -> Bools:
    """Where a lower triangular matrix may be other than 0."""
    return np.tri(n, dtype=np.bool_)


def _inverse_of_lower(root: Floats) -> Floats:
    """Invert a lower triangular matrix by halves, in products of matrices."""
    n = len(root)
    if n <= _BLOCK:
        return np.where(_lower(n), np.linalg.inv(root), 0.0)
    half = n // 2
    found = np.zeros_like(root)
    found[:half, :half] = _inverse_of_lower(root[:half, :half])
    found[half:, half:] = _inverse_of_lower(root[half:, half:])
    found[half:, :half] = -found[half:, half:] @ root[half:, :half] @ found[:half, :half]
    return found
