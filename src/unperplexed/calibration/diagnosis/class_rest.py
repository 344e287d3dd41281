"""What the named errors leave: a score test of further shapes, for more than two classes."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..._lib.typing import Floats
from ...maps.classes import ClassMap
from ...maps.rows import derivatives
from ...statistics.definite import in_turn
from ...statistics.tails import chi2_sf
from ...tally.class_row_sums import CELLS
from .choice import Candidate
from .class_likelihoods import PARAMETERS
from .class_rows import Chunk
from .class_statistics import ClassStatistics

_DEGREES = 5


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
    beside = in_turn(covariance, 1e-9)[len(fitted) :]
    z, freedom = beside @ score, int(beside.any(axis=1).sum())
    statistic = float(z @ z) / effect
    return statistic, chi2_sf(freedom, statistic) if freedom else 1.0


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
