"""Matrices that are positive definite, or should be and by few rows or rounding are not."""

from __future__ import annotations

import math
from functools import cache, cached_property

import numpy as np

from .._lib.dataclasses import dataclass
from .._lib.typing import Bools, Floats

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


@dataclass(frozen=True, eq=False)
class Factored:
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
