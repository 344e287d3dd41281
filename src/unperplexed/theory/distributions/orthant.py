"""Probability of a box under a multivariate coupled Gaussian, one coordinate after the other."""

from __future__ import annotations

import numpy as np
from scipy.stats import qmc

from ..._lib.typing import Floats
from .gaussian import CoupledGaussian

_REPLICATES, _POINTS = 8, 12  # 2^12 points in each replicate

_FAR = 1e150
"""Its square, and the sum of some, is a float."""


def box_probability(low: Floats, high: Floats, root: Floats, coupling: float, rng: np.random.Generator) -> float:
    """P(low <= L z <= high) for standard z and Cholesky factor L.

    Given those before it, each coordinate is a coupled Gaussian again, of coupling kappa/(1 + i kappa). So the box is a
    product of one-dimensional probabilities, averaged over where the earlier coordinates fall within it (Genz 1992,
    for the normal), by scrambled Sobol points.
    """
    d = len(low)
    if np.isnan(low).any() or np.isnan(high).any():
        return np.nan
    middle = np.clip(low, -_FAR, _FAR) + np.clip(high, -_FAR, _FAR)
    means = []
    for _ in range(_REPLICATES if d > 1 else 1):  # in one dimension nothing is left to chance
        u = qmc.Sobol(d - 1, seed=rng).random_base2(_POINTS) if d > 1 else np.zeros((1, 0))
        z = np.zeros((len(u), d))
        squared, product = np.zeros(len(u)), np.ones(len(u))
        for i in range(d):
            narrowing = 1 + i * coupling
            scale = root[i, i] * np.sqrt(np.maximum(1 + coupling * squared, 1e-300) / narrowing)
            one = CoupledGaussian(0.0, scale, coupling / narrowing)
            offset = z[:, :i] @ root[i, :i]
            # Both ends on the side of the smaller tail, where differences keep their digits.
            side = np.where(middle[i] > 2 * offset, -1.0, 1.0)
            a, b = np.sort([side * (low[i] - offset), side * (high[i] - offset)], axis=0)
            below, above = one.cdf(a), one.cdf(b)
            product *= above - below
            if i < d - 1:
                drawn = side * one.ppf(np.clip(below + u[:, i] * (above - below), 0, 1))
                z[:, i] = np.where(product > 0, np.clip(drawn / root[i, i], -_FAR, _FAR), 0.0)
                squared += z[:, i] ** 2
        means.append(product.mean())
    return float(np.mean(means))
