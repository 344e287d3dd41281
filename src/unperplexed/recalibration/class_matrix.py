"""Recalibration of C classes by a full matrix: how the other classes' log-probabilities shift the log-odds of each.

To the map that `class_linear` calls tail, with its shared curves and its lapse, come slopes of the classes and
C (C - 1) coefficients of the other classes, each kind with a normal prior of estimated variance. Fisher scoring needs
C^2 (C + 1)^2 / 4 sums over the rows, which is cheap for some tens of classes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._lib.typing import Floats
from .class_fit import BLOCK_ELEMENTS, Curvature, Derivatives, curvature
from .class_linear import FitRows, LinearMap

MOST_CLASSES = 30
_STEPS, _ENOUGH, _FEWEST, _FIRST = 30, 1e-2, 1e-6, 1e-3


def has_matrix(rows: FitRows) -> bool:
    """Whether rows are enough for a matrix, and classes few enough."""
    n, C = rows.z.shape
    return bool(C <= MOST_CLASSES and n >= C * (C + 1))


def fit_matrix(rows: FitRows, base: LinearMap, start: LinearMap | None = None) -> LinearMap:
    """Fit the matrix around a fitted map; see `has_matrix`."""
    return _Fit(rows, base).run(start if start is not None and start.matrix is not None else base)


class _Fit:
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

    def run(self, start: LinearMap) -> LinearMap:
        """Iterate until a step gains little and variances stay."""
        from scipy.linalg import cho_factor, cho_solve

        theta, variances = self._start(start)
        at = self._derivatives(theta)
        counts = np.bincount(self.kind)
        for _ in range(_STEPS):
            precision = (1 / variances)[self.kind]
            factor = cho_factor(at.information + np.diag(precision), lower=True, check_finite=False)
            pull = at.gradient - precision * theta
            step = cho_solve(factor, pull, check_finite=False)
            gain = 0.5 * float(step @ pull)
            theta, at = self._line_search(theta, step, at, precision)
            covariance = np.diag(cho_solve(factor, np.eye(theta.size), check_finite=False))
            determined = counts - np.bincount(self.kind, covariance) / variances
            new = np.bincount(self.kind, theta**2) / np.maximum(determined, 1e-3 * counts)
            variances, before = np.maximum(new, _FEWEST), variances
            if gain < _ENOUGH and bool((np.abs(np.log(variances / before)) < 0.1).all()):
                break
        return self._map(theta)

    def _start(self, start: LinearMap) -> tuple[Floats, Floats]:
        theta = np.zeros((self.C, self.C + 1))
        theta[:, 0] = start.biases
        if start.matrix is not None:
            theta[:, 1:] = start.matrix
        theta[:, 1:] += np.diag(start.slopes + start.slope - self.base.slope)
        flat = theta.ravel()
        variances = np.bincount(self.kind, flat**2) / np.bincount(self.kind)
        return flat, np.where(variances > _FEWEST, variances, _FIRST)

    def _line_search(
        self, theta: Floats, step: Floats, at: Derivatives, precision: Floats
    ) -> tuple[Floats, Derivatives]:
        now, size = at.value - 0.5 * float(precision @ theta**2), 1.0
        while size > 1e-3:
            new = theta + size * step
            found = self._derivatives(new)
            if found.value - 0.5 * float(precision @ new**2) >= now - 1e-9:
                return new, found
            size /= 4
        return theta, at

    def _map(self, theta: Floats) -> LinearMap:
        coefficients = theta.reshape(self.C, self.C + 1)
        matrix = coefficients[:, 1:].copy()
        slopes = np.diag(matrix).copy()
        np.fill_diagonal(matrix, 0.0)
        return replace(self.base, name="matrix", biases=coefficients[:, 0].copy(), slopes=slopes, matrix=matrix)

    def _derivatives(self, theta: Floats) -> Derivatives:
        fitted = self._map(theta)
        value, gradient = 0.0, np.zeros((self.C, self.C + 1))
        sums = np.zeros((self.first.size, self.left.size))
        rows, step = self.rows, max(1, BLOCK_ELEMENTS // self.C**2)
        for low in range(0, rows.truth.size, step):
            z, truth, weights = rows.block(low, low + step)
            curves = rows.curves[:, low : low + step] if fitted.curves.any() else None
            block = curvature(fitted.scores(z, curves), truth, weights, fitted.lapse)
            value += block.value
            x = np.concatenate([np.ones((truth.size, 1)), z], axis=1)
            gradient += block.rest.T @ x
            sums += self._pairs(block).T @ (x[:, self.left] * x[:, self.right])
        return Derivatives(value, gradient.ravel(), self._information(sums))

    def _pairs(self, block: Curvature) -> Floats:
        """Return the Fisher information of each row by the scores of each pair of classes."""
        first, second = self.first, self.second
        found = -block.h[:, first] * block.q[:, second] - block.q[:, first] * block.h[:, second]
        found[:, first == second] += block.s
        return found

    def _information(self, sums: Floats) -> Floats:
        C = self.C
        both = np.empty((C, C, C + 1, C + 1))
        pairs = np.empty((self.first.size, C + 1, C + 1))
        pairs[:, self.left, self.right] = pairs[:, self.right, self.left] = sums
        both[self.first, self.second] = both[self.second, self.first] = pairs
        return both.transpose(0, 2, 1, 3).reshape(C * (C + 1), C * (C + 1))
