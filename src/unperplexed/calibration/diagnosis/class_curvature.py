"""How the likelihood of confidence and tail bends, from a few of the rows: where it is no parabola."""

from __future__ import annotations

import numpy as np

from ..._lib.typing import Floats
from ...kernels.rows import COARSE
from ...maps.directions import tail
from ...statistics.definite import definite
from ...tally.class_row_sums import HALF
from ...tally.row_sample import RowSample
from .class_statistics import ClassStatistics

_LOWEST = 2.0**-17 * 1.375
"""Where the lowest cell of the rows that are kept ends, which begins at 0."""
_LEAST = 1e-12
"""Stands for 0 in logarithms; it weighs nothing."""


class Curvature:
    """The sum over all rows of ln E exp(theta f), less its slope at 0; f are log-probability and the tail's direction.

    For each row it is the cumulant generating function, which the row's probabilities determine. A tally keeps these,
    in coarse cells, of some rows; they are stretched so that their second derivative at 0 is that of all rows.
    """

    def __init__(self, sample: RowSample, statistics: ClassStatistics, information: Floats) -> None:
        """Take rows in coarse cells, the statistics of all rows, and their information on confidence and tail."""
        p = _values(sample, _low(statistics))
        self._p, self._count = p, sample.count * (statistics.weight / sample.count.sum())
        self._f = np.stack([np.log(p), tail(np.log(p) - np.log(np.maximum(_others(p), _LEAST)))])
        self._f -= np.einsum("aij,ij->ai", self._f, p)[:, :, None]
        own = np.einsum("i,ij,aij,bij->ab", self._count, p, self._f, self._f)
        jitter = 1e-9 * np.diag(np.maximum(np.diag(own), 1e-300))
        self._stretch = np.linalg.solve(
            np.linalg.cholesky(definite(own + jitter)).T, np.linalg.cholesky(definite(information + jitter)).T
        )

    def __call__(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """Value, gradient and Hessian."""
        at = self._stretch @ theta
        q, log_total = self._moved(at)
        value = float(self._count @ log_total)
        means = np.einsum("ij,aij->ai", q, self._f)
        square = np.einsum("i,ij,aij,bij->ab", self._count, q, self._f, self._f, optimize=True)
        hessian = square - (means * self._count) @ means.T
        return value, self._stretch.T @ (means @ self._count), self._stretch.T @ hessian @ self._stretch

    def growth(self, theta: Floats) -> float:
        """Sum of q (1 - q) of the mended probabilities, over that of the predicted ones."""
        q, _ = self._moved(self._stretch @ theta)
        now, before = (float(self._count @ (1 - np.einsum("ij,ij->i", x, x))) for x in (q, self._p))
        return now / before if before > 0 else 1.0

    def _moved(self, at: Floats) -> tuple[Floats, Floats]:
        moved = np.einsum("a,aij->ij", at, self._f)
        highest = moved.max(axis=1, keepdims=True)
        q = self._p * np.exp(moved - highest)
        total = q.sum(axis=1, keepdims=True)
        return q / total, (np.log(total) + highest)[:, 0]


def _low(statistics: ClassStatistics) -> Floats:
    """Probabilities in the lowest cell, in as many equal parts of all that are there."""
    count, total = (x[:, :HALF].sum(axis=0) for x in (statistics.cells, statistics.cell_sums))
    mean = total / np.maximum(count, 1)
    here = (count > 0) & (mean < _LOWEST) & (mean > 0)
    if not here.any():
        return np.full(1, _LOWEST / 3)
    at = np.searchsorted(np.cumsum(count[here]) / count[here].sum(), (np.arange(1024) + 0.5) / 1024)
    return np.asarray(mean[here][at])


def _values(sample: RowSample, low: Floats) -> Floats:
    """Probabilities of the rows, so that these sum to 1: the middles of their cells, and in the lowest any of its."""
    code = np.arange(256)
    middle, _ = COARSE.values(code, np.full(256, 2.0**15))
    middle[[0, 127, -2, -1]] = _LEAST, 0.5, 1 - low.mean(), 1 - _LEAST
    p = middle[sample.cells]
    some = sample.cells == 1
    turn = np.arange(np.count_nonzero(some)) * 0.6180339887498949 % 1  # evenly spread, whatever their number
    p[some] = low[(turn * low.size).astype(np.int64)]
    rest = _others(p)[np.arange(len(p)), p.argmax(axis=1)]
    sharp = np.flatnonzero(rest < 0.5)
    p[sharp, p.argmax(axis=1)[sharp]] = 1 - rest[sharp]
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _others(p: Floats) -> Floats:
    """1 - p, not rounded where p is near 1."""
    rest, at = 1 - p, (np.arange(len(p)), p.argmax(axis=1))
    others = p.copy()
    others[at] = 0
    rest[at] = others.sum(axis=1)
    return np.asarray(rest)
