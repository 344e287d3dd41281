"""What the named errors leave: a score test of further shapes, for more than two classes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..._lib.typing import Floats
from ...maps.classes import ClassMap
from ...maps.rows import derivatives
from ...statistics.tails import chi2_sf
from ...tally.class_row_sums import CELLS
from .choice import Candidate
from .class_likelihoods import PARAMETERS
from .class_rows import Chunk
from .class_statistics import ClassStatistics

_DEGREES = 5
_NEW = 0.03
"""A shape of which a smaller share is new beside the errors and the shapes before it is left out."""


def rest(
    chunks: Iterable[Chunk], statistics: ClassStatistics, found: Candidate[ClassMap], effect: float
) -> tuple[float, float]:
    """Statistic and p-value of shapes of the log-odds beside the fitted errors, the same for all classes.

    The shapes are Legendre polynomials of degree 1 to 5 in the share of the information below each log-odds.
    """
    at, share = information_share(statistics)
    fitted = [PARAMETERS[name] for name in found.errors if name != "bias"]
    size = len(fitted) + _DEGREES
    score, covariance = np.zeros(size), np.zeros((size, size))
    for chunk in chunks:
        directions, left = derivatives(chunk, found.mapping, fitted, _shapes(chunk, at, share))
        score += [chunk.weights @ chunk.pick(one) for one in directions]
        flat = np.stack(directions).reshape(size, -1)
        covariance += (flat * (left * chunk.weights[:, None]).ravel()) @ flat.T
    statistic, count = _beside(score, covariance, len(fitted))
    return statistic / effect, chi2_sf(count, float(statistic / effect)) if count else 1.0


def information_share(statistics: ClassStatistics) -> tuple[Floats, Floats]:
    """Log-odds of the cells, ascending, and the share of the sum of p (1 - p) below each, half its own included."""
    n, total = statistics.cells.sum(axis=0), statistics.cell_sums.sum(axis=0)
    half = CELLS // 2
    order = np.concatenate([np.arange(half)[::-1], np.arange(half, CELLS)])  # below 1/2 the first cell is the nearest
    n, total = n[order], total[order]
    p = np.clip(total / np.maximum(n, 1), 1e-15, 1 - 1e-15)
    information = n * p * (1 - p)
    used = information > 0
    below = np.cumsum(information) - information / 2
    return np.log(p[used]) - np.log1p(-p[used]), below[used] / information.sum()


def _shapes(chunk: Chunk, at: Floats, share: Floats) -> Floats:
    p = np.clip(chunk.p.astype(np.float64), 1e-15, 1 - 1e-15)
    time = 2 * np.interp(np.log(p) - np.log1p(-p), at, share) - 1
    return np.moveaxis(np.polynomial.legendre.legvander(time, _DEGREES), -1, 0)[1:]


def _beside(score: Floats, covariance: Floats, fitted: int) -> tuple[float, int]:
    """Sum of squares of the standardised scores after the first ones, each beside all before it; how many are new."""
    statistic, count, size = 0.0, 0, np.diag(covariance).copy()
    for i in range(len(score)):
        variance = covariance[i, i]
        if not variance > _NEW**2 * size[i] or not size[i] > 1e-9:
            continue
        if i >= fitted:
            statistic += float(score[i] ** 2 / variance)
            count += 1
        column = covariance[:, i] / variance
        score = score - column * score[i]
        covariance = covariance - np.outer(column, covariance[i])
    return statistic, count
