"""What calibrated forecasters would have seen: samples whose outcomes are drawn from the predicted probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._lib.typing import Floats, Ints
from ..tally.row_sample import ROOM, RowSample
from ..tally.tally import Tally
from .resampling import CellCounts, Sample

_AT_ONCE = 1 << 22
"""Probabilities that are drawn from at once, for the memory."""

_SMOOTH = 25.0
"""A count of at least this variance, if pairs are independent, is drawn as a normal one corrected for its skewness."""


def calibrated(tally: Tally, counts: CellCounts, n: int, rng: np.random.Generator) -> tuple[Sample, bool]:
    """Draw samples, and say whether one class happens in each row of them; else pairs are drawn each by itself.

    For two classes a cell determines the outcomes in its mirror image. For more, few rows are drawn one by one; of
    many, cells are drawn together, with the correlations that they have in the rows that the tally kept.
    """
    if counts.mirrored:
        return _mirrored(counts, n, rng), True
    if tally.row_sample is None or tally.uneven:
        total = np.rint(counts.counted.total).astype(np.int64)
        happened = rng.binomial(total, counts.reported, size=(n, total.size)).astype(np.float64)
        return Sample(happened, np.broadcast_to(total.astype(np.float64), happened.shape)), False
    rows = _CellRows.of(tally.row_sample, counts)
    if tally.n_weighing <= ROOM // tally.n_classes:  # all are there
        return rows.drawn(counts.reported.size, n, rng), True
    return rows.correlated_samples(counts, n, rng), True


def _mirrored(counts: CellCounts, n: int, rng: np.random.Generator) -> Sample:
    total = np.rint(counts.counted.total).astype(np.int64)
    low, middle, high = counts.halves()
    happened = np.zeros((n, total.size))
    happened[:, low] = rng.binomial(total[low], counts.reported[low], size=(n, low.size))
    happened[:, high] = total[low] - happened[:, low]
    happened[:, middle] = total[middle] / 2
    return Sample(happened, np.broadcast_to(total.astype(np.float64), happened.shape))


@dataclass(frozen=True)
class _CellRows:
    """Rows whose probabilities are the means of the cells that they are in."""

    cell: Ints
    """Which of the cells each probability is in, one row a row."""
    p: Floats
    """Probabilities, which sum to 1."""
    count: Floats

    @staticmethod
    def of(sample: RowSample, counts: CellCounts) -> _CellRows:
        """Find the cells of rows among those of coarse counts."""
        assert counts.codes is not None
        cell = np.searchsorted(counts.codes[:-1], sample.cells)
        p = counts.reported[cell]
        return _CellRows(cell, p / p.sum(axis=1, keepdims=True), sample.count)

    def drawn(self, n_cells: int, n: int, rng: np.random.Generator) -> Sample:
        """Draw a class for each row."""
        cell, p = (np.repeat(x, self.count.astype(np.int64), axis=0) for x in (self.cell, self.p))
        up_to, each = np.cumsum(p, axis=1)[:, :-1], np.arange(len(cell))
        happened = np.empty((n, n_cells))
        for some in np.array_split(np.arange(n), -(-n * cell.size // _AT_ONCE)):
            which = np.count_nonzero(up_to <= rng.random((some.size, len(cell), 1)), axis=2)
            at = cell[each, which] + n_cells * np.arange(some.size)[:, None]
            happened[some] = np.bincount(at.reshape(-1), minlength=n_cells * some.size).reshape(-1, n_cells)
        total = np.bincount(cell.reshape(-1), minlength=n_cells).astype(np.float64)
        return Sample(happened, np.broadcast_to(total, happened.shape))

    def correlated_samples(self, counts: CellCounts, n: int, rng: np.random.Generator) -> Sample:
        """Draw counts of the cells that are correlated as they are in these rows: a Gaussian copula."""
        from scipy.special import ndtr

        variance, correlation = self._moments(counts.reported.size)
        total, p = counts.counted.total, counts.reported
        # Cell by cell, since one row that was often said is kept all times or none.
        there = np.bincount(self.cell.reshape(-1), np.repeat(self.count, self.cell.shape[1]), total.size)
        apart = total * p * (1 - p)
        variance = np.where(there > 0, variance * total / np.maximum(there, 1.0), apart)
        values, vectors = np.linalg.eigh(correlation)
        z = rng.standard_normal((n, total.size)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        happened = np.empty_like(z)
        smooth = apart >= _SMOOTH
        happened[:, smooth] = (total * p)[smooth] + np.sqrt(variance[smooth]) * z[:, smooth]
        # By the skewness of a count of such a variance, (1 - 2p) / deviation (Cornish and Fisher 1938).
        happened[:, smooth] += np.where(variance >= 1, 1 - 2 * p, 0.0)[smooth] * (z[:, smooth] ** 2 - 1) / 6
        for at in np.flatnonzero(~smooth):
            happened[:, at] = _quantiles(float(total[at]), float(p[at]), ndtr(z[:, at]))
        return Sample(np.clip(happened, 0.0, total), np.broadcast_to(total, happened.shape))

    def _moments(self, n_cells: int) -> tuple[Floats, Floats]:
        """Variances and correlations of how many pairs of each cell happen in these rows."""
        n = len(self.cell)
        at = (self.cell + n_cells * np.arange(n)[:, None]).reshape(-1)
        p = np.bincount(at, self.p.reshape(-1), n * n_cells).reshape(n, n_cells)
        covariance = np.diag(self.count @ p) - (p * self.count[:, None]).T @ p
        variance = np.maximum(np.diag(covariance).copy(), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = covariance / np.sqrt(np.outer(variance, variance))
        correlation[~np.isfinite(correlation)] = 0.0
        np.fill_diagonal(correlation, 1.0)
        return variance, correlation


def _quantiles(total: float, p: float, share: Floats) -> Floats:
    """Quantiles of a binomial count that varies little."""
    from scipy.special import bdtr

    n = round(total)
    flip = p > 0.5
    q = 1 - p if flip else p
    most = min(n, int(n * q + 12 * np.sqrt(n * q + 1) + 20))
    found = np.searchsorted(bdtr(np.arange(most), n, q), 1 - share if flip else share, side="left")
    return np.asarray(n - found if flip else found, dtype=np.float64)
