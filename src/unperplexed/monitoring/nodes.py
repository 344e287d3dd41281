"""Rows of an event at a few log-odds, over which sums of smooth functions are those over all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._lib.elementary import expit
from .._lib.typing import Floats, Ints
from ..calibration.diagnosis.gate import Scored

_WIDTH = 0.5
"""Width of a cell in log-odds. None has 0 inside, where some directions of maps have a corner."""

_NODES = 4
"""Log-odds in a cell."""

_FEW = 100
"""Up to so many distinct log-odds are kept as they are."""

_DECIMALS = 9
"""So many are kept, which is less than figures show by far, as files are to be small."""


class Nodes(NamedTuple):
    """Rows at their log-odds where these are few, in all or in a cell; else at four nodes of a quadrature of Gauss.

    Sums over the rows of polynomials in the log-odds up to degree 7, and of polynomials times the outcome up to degree
    3, are those over the nodes. So a calibration line is that of the rows to some seven digits, and rows of several
    periods are put together without loss. Predictions of exactly 0 and 1 are at infinite log-odds.
    """

    s: Floats
    total: Floats
    positive: Floats
    """Outcomes by the cubic in the log-odds that fits them best; these may be a little below 0 or above total."""

    @classmethod
    def of(cls, s: Floats, total: Floats, positive: Floats) -> Nodes:
        """Count rows at distinct log-odds."""
        rows = cls(np.round(s, _DECIMALS), total, positive).pooled()
        if rows.s.size <= _FEW:
            return rows
        with np.errstate(invalid="ignore"):
            _, cell, distinct = np.unique(np.floor(rows.s / _WIDTH), return_inverse=True, return_counts=True)
        many = distinct[cell] > _NODES
        few, others = (cls(*(column[some] for column in rows)) for some in (~many, many))
        return cls.together([few, _of_gauss(others, cell[many])]).pooled()

    @classmethod
    def together(cls, parts: Sequence[Nodes]) -> Nodes:
        """Put several together; equal log-odds stay apart."""
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def pooled(self) -> Nodes:
        """Count equal log-odds together, in order."""
        s, at = np.unique(self.s, return_inverse=True)
        return Nodes(s, *(np.bincount(at, column, s.size).astype(np.float64) for column in self[1:]))

    def scored(self) -> Scored:
        """Give them as a diagnosis reads them, each row with a weight of 1."""
        return Scored(self.s, self.total, self.positive, self.total, self.positive, self.total)

    @property
    def rows(self) -> float:
        """Number of rows."""
        return float(self.total.sum())

    @property
    def mean(self) -> float:
        """Mean prediction."""
        return float(self.total @ expit(self.s)) / self.rows

    @property
    def frequency(self) -> float:
        """Observed frequency."""
        return float(self.positive.sum()) / self.rows


def _of_gauss(rows: Nodes, cell: Ints) -> Nodes:
    """Give the nodes and weights of each cell, which has more distinct log-odds, by its orthogonal polynomials.

    Nodes are the eigenvalues of the matrix of their recurrence (Golub and Welsch 1969).
    """
    s, total, positive = rows
    cells, cell = np.unique(cell, return_inverse=True)

    def summed(x: Floats) -> Floats:
        return np.bincount(cell, x, cells.size).astype(np.float64)

    start = summed(total * s) / summed(total)
    x = s - start[cell]
    before, now = np.zeros_like(x), np.ones_like(x)
    polynomials, norms = [], []
    matrix = np.zeros((cells.size, _NODES, _NODES))
    for k in range(_NODES):
        norm = summed(total * now**2)
        polynomials.append(now)
        norms.append(norm)
        centre = summed(total * x * now**2) / norm
        step = norm / norms[k - 1] if k else np.zeros_like(norm)
        matrix[:, k, k] = centre
        if k:
            matrix[:, k, k - 1] = matrix[:, k - 1, k] = np.sqrt(step)
        before, now = now, (x - centre[cell]) * now - step[cell] * before
    nodes, vectors = np.linalg.eigh(matrix)
    # Component k of an eigenvector is the k-th polynomial of norm 1 there, times the root of the weight.
    root = vectors[:, :1] * np.sqrt(norms[0])[:, None, None]
    fitted = [summed(positive * each) / np.sqrt(norm) for each, norm in zip(polynomials, norms, strict=True)]
    outcomes = (np.stack(fitted, axis=1)[:, :, None] * vectors * root).sum(axis=1)
    found = (nodes + start[:, None], root[:, 0] ** 2, outcomes)
    return Nodes(*(np.round(each.ravel(), _DECIMALS) for each in found))
