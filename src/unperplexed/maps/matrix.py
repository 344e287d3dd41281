"""The full matrix of C classes: how the other classes' log-probabilities shift the log-odds of each.

To a map of the family tail, whose shared parameters and lapse stay, come slopes of the classes and C (C - 1)
coefficients of the other classes. Fisher scoring needs C^2 (C + 1)^2 / 4 sums over the rows, which is cheap for some
tens of classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .._lib.typing import AnyFloats, Floats
from .classes import BLOCK_VALUES, CURVES, ClassMap
from .rows import WIDE, Chunk, Coefficients, curvature, pulled


class Matrix:
    """Likelihood of the biases, of the slopes of the classes, and of what the others add; see `fit.Likelihood`.

    Parameters
    ----------
    chunks : sequence of Chunk
    base : ClassMap
        What else the map has. Its biases and slopes are where the fit starts.
    """

    def __init__(self, chunks: Sequence[Chunk], base: ClassMap) -> None:
        self.chunks, self.base = chunks, base
        self.C = C = chunks[0].log_p.shape[1]
        self.places = {"biases": slice(0, C), "slopes": slice(C, 2 * C), "matrix": slice(2 * C, C * (C + 1))}
        # Where the coefficients of a class stand in theta: its bias, then what each log-probability adds to its slope.
        self.at = np.empty((C, C + 1), dtype=np.int64)
        self.at[:, 0] = np.arange(C)
        self.at[:, 1:][np.eye(C, dtype=bool)] = np.arange(C, 2 * C)
        self.at[:, 1:][~np.eye(C, dtype=bool)] = np.arange(2 * C, C * (C + 1))
        self.first, self.second = np.triu_indices(C)
        self.left, self.right = np.triu_indices(C + 1)

    @property
    def start(self) -> Floats:
        """Coefficients of the map around which the matrix is."""
        return np.append(Coefficients(self.C, WIDE).theta_of(self.base), np.zeros(self.C * (self.C - 1)))

    def map_of(self, theta: Floats) -> ClassMap:
        """Return the map with these coefficients."""
        matrix = theta[self.at[:, 1:]]
        np.fill_diagonal(matrix, 0.0)
        biases, slopes = (theta[self.places[name]].copy() for name in ("biases", "slopes"))
        return replace(self.base, name="matrix", biases=biases, slopes=slopes, matrix=matrix)

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients: they may be anywhere."""
        return theta

    def begun(self, theta: Floats) -> Floats | None:
        """Return None: the lapse stays."""

    def _scored(self, fitted: ClassMap) -> Iterator[tuple[Chunk, AnyFloats, AnyFloats]]:
        """Yield rows that stay in the cache, 1 and their log-probabilities, and their scores."""
        for chunk in self.chunks:
            curves = {name: chunk.curve(name) for name in CURVES if name in fitted.shared}
            x = np.concatenate([np.ones((chunk.truth.size, 1)), chunk.log_p], axis=1)
            yield chunk, x, fitted.scores(chunk.log_p, curves)

    def ascent(self, theta: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and its gradient."""
        fitted, value, gradient = self.map_of(theta), 0.0, np.zeros(theta.size)
        for chunk, x, t in self._scored(fitted):
            height, f, pull, share, _ = pulled(chunk, t, fitted.lapse)
            value += height
            rest = -share[:, None] * f
            rest[np.arange(chunk.truth.size), chunk.truth] += pull
            gradient[self.at] += rest.T @ x
        return value, gradient

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information."""
        fitted, sums = self.map_of(theta), np.zeros((self.first.size, self.left.size))
        step = max(1, BLOCK_VALUES // self.C**2)
        for chunk, x, t in self._scored(fitted):
            for low in range(0, chunk.truth.size, step):
                here = slice(low, low + step)
                pairs = self._pairs(t[here], chunk.weights[here], fitted.lapse)
                sums += pairs.T @ (x[here][:, self.left] * x[here][:, self.right])
        C = self.C
        both = np.empty((C, C, C + 1, C + 1))
        pairs = np.empty((self.first.size, C + 1, C + 1))
        pairs[:, self.left, self.right] = pairs[:, self.right, self.left] = sums
        both[self.first, self.second] = both[self.second, self.first] = pairs
        found, at = np.empty((theta.size, theta.size)), self.at.ravel()
        found[np.ix_(at, at)] = both.transpose(0, 2, 1, 3).reshape(theta.size, theta.size)
        return found

    def _pairs(self, t: AnyFloats, weights: Floats, lapse: float) -> Floats:
        """Return the Fisher information of each row by the scores of each pair of classes."""
        (q, _, s, h), first, second = (
            curvature(t.astype(np.float64, copy=False), weights, lapse),
            self.first,
            self.second,
        )
        found = -h[:, first] * q[:, second] - q[:, first] * h[:, second]
        found[:, first == second] += s
        return found
