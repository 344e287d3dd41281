"""Matrices that should be positive definite, and of few rows or by rounding are not."""

from __future__ import annotations

import numpy as np

from .._lib.typing import Floats

_LEAST = 1e-9
"""The smallest eigenvalue, as a part of the largest."""

_SMALL = 3e-8
"""A pivot that is smaller beside the largest one has lost its digits."""


def definite(matrix: Floats) -> Floats:
    """Return a symmetric matrix as it is if it is positive definite, else with its small eigenvalues raised."""
    try:
        root = np.diag(np.linalg.cholesky(matrix))
        sound = bool(root.min(initial=1.0) > _SMALL * root.max(initial=1e-6))
    except np.linalg.LinAlgError:
        sound = False
    if not sound:
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        least = max(_LEAST * float(np.abs(values).max(initial=0.0)), 1e-12)
        matrix = (vectors * np.maximum(values, least)) @ vectors.T
    return np.asarray(matrix)
