"""Matrices that should be positive definite, and of few rows or by rounding are not."""

from __future__ import annotations

import numpy as np

from .._lib.typing import Floats

_LEAST = 1e-9
"""The smallest eigenvalue, as a part of the largest."""


def definite(matrix: Floats) -> Floats:
    """Return a symmetric matrix as it is if it is positive definite, else with its small eigenvalues raised."""
    try:
        smallest = np.diag(np.linalg.cholesky(matrix)).min(initial=1.0)
    except np.linalg.LinAlgError:
        smallest = 0.0
    if not smallest > 1e-100:  # that of a subnormal number is no factor to divide by
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        least = max(_LEAST * float(np.abs(values).max(initial=0.0)), 1e-12)
        matrix = (vectors * np.maximum(values, least)) @ vectors.T
    return np.asarray(matrix)
