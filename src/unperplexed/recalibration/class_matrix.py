"""Recalibration of C classes by a full matrix: how the other classes' log-probabilities shift the log-odds of each.

To the map that `class_linear` calls tail, with its shared curves and its lapse, come slopes of the classes and
C (C - 1) coefficients of the other classes, each kind with a normal prior of estimated variance. Fisher scoring needs
C^2 (C + 1)^2 / 4 sums over the rows, which is cheap for some tens of classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._lib.typing import Floats, Ints
from .class_fit import Curvature, curvature, pulled
from .class_linear import BLOCK_ELEMENTS, MOST_CLASSES, FitRows, LinearMap
from .class_scoring import FEWEST, Ascent, Prior, maximized

_ENOUGH, _FIRST = 1e-2, 1e-3


def has_matrix(n: int, C: int) -> bool:
    """Whether rows are enough for a matrix, and classes few enough."""
    return C <= MOST_CLASSES and n >= C * (C + 1)


def fit_matrix(rows: FitRows, base: LinearMap) -> LinearMap:
    """Fit the matrix around a fitted map; see `has_matrix`."""
    return MatrixFit(rows, base).run()


class MatrixFit:
    """Coefficients (C, C + 1): the bias of each class, then what each log-probability adds to its shared slope."""

    def __init__(self, rows: FitRows, base: LinearMap) -> None:
        self.rows, self.base = rows, base
        self.C = C = rows.z.shape[1]
        self.first, self.second = np.triu_indices(C)
        self.left, self.right = np.triu_indices(C + 1)
        kind = np.full((C, C + 1), 2)
        kind[:, 0] = 0
        kind[np.arange(C), 1 + np.arange(C)] = 1
        self.kind = kind.ravel()

    def run(self) -> LinearMap:
        """Fit from the map around which the matrix is."""
        theta = np.zeros((self.C, self.C + 1))
        theta[:, 0] = self.base.biases
        theta[:, 1:] += np.diag(self.base.slopes)
        flat = theta.ravel()
        variances = np.bincount(self.kind, flat**2) / np.bincount(self.kind)
        prior = Prior(self.kind, np.zeros(flat.size), np.where(variances > FEWEST, variances, _FIRST))
        return self._map(maximized(self, flat, prior, _ENOUGH)[0])

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients: they may be anywhere."""
        return theta

    def _map(self, theta: Floats) -> LinearMap:
        coefficients = theta.reshape(self.C, self.C + 1)
        matrix = coefficients[:, 1:].copy()
        slopes = np.diag(matrix).copy()
        np.fill_diagonal(matrix, 0.0)
        return replace(self.base, name="matrix", biases=coefficients[:, 0].copy(), slopes=slopes, matrix=matrix)

    def _blocks(self, fitted: LinearMap, columns: int) -> Iterator[tuple[Floats, Ints, Floats, Floats]]:
        """Yield 1 and log-probabilities, observed classes, weights and scores of rows that stay in the cache."""
        rows, step = self.rows, max(1, BLOCK_ELEMENTS // columns)
        for low in range(0, rows.truth.size, step):
            z, truth, weights = rows.block(low, low + step)
            curves = rows.curves[:, low : low + step] if fitted.curves.any() else None
            yield np.concatenate([np.ones((truth.size, 1)), z], axis=1), truth, weights, fitted.scores(z, curves)

    def ascent(self, theta: Floats) -> Ascent:
        """Return the log-likelihood and its gradient."""
        fitted, value, gradient = self._map(theta), 0.0, np.zeros((self.C, self.C + 1))
        for x, truth, weights, t in self._blocks(fitted, self.C):
            q, at_truth, pull = pulled(t, truth, weights, fitted.lapse)
            value += float(weights @ np.log(at_truth))
            rest = -pull[:, None] * q
            rest[np.arange(truth.size), truth] += pull
            gradient += rest.T @ x
        return Ascent(value, gradient.ravel())

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information."""
        fitted, sums = self._map(theta), np.zeros((self.first.size, self.left.size))
        for x, _, weights, t in self._blocks(fitted, self.C**2):
            sums += self._pairs(curvature(t, weights, fitted.lapse)).T @ (x[:, self.left] * x[:, self.right])
        C = self.C
        both = np.empty((C, C, C + 1, C + 1))
        pairs = np.empty((self.first.size, C + 1, C + 1))
        pairs[:, self.left, self.right] = pairs[:, self.right, self.left] = sums
        both[self.first, self.second] = both[self.second, self.first] = pairs
        return both.transpose(0, 2, 1, 3).reshape(C * (C + 1), C * (C + 1))

    def _pairs(self, block: Curvature) -> Floats:
        """Return the Fisher information of each row by the scores of each pair of classes."""
        first, second = self.first, self.second
        found = -block.h[:, first] * block.q[:, second] - block.q[:, first] * block.h[:, second]
        found[:, first == second] += block.s
        return found
