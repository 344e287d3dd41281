"""Forms that know a distribution by shares below some numbers, the same for all rows: quantiles and members."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.special import ndtri

from ..._lib.typing import AnyFloats, Floats, Ints
from ...statistics.normal_scores import information_between, information_of
from .arrays import BLOCK, questions
from .predictive import Information, Limits, Note, Predictive


class Partition(Predictive):
    """Predictive distributions of which numbers are known that bound cells of the same probabilities in all rows."""

    @property
    def edges(self) -> Floats:
        """Shares that bound the cells, from 0 to 1, shape (k + 1,)."""
        raise NotImplementedError

    @property
    def _bounds(self) -> AnyFloats:
        """Numbers that bound the cells, of shape (n, k - 1), in any order."""
        raise NotImplementedError

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        """What was seen in the forecasts, and what it asks."""
        return (*super().notes, *questions(self._bounds, "forecasts"))

    def __len__(self) -> int:
        """Count the forecasts."""
        return len(self._bounds)

    def _scores(self, y: Floats) -> tuple[Floats, Floats]:
        below, up_to = ranks(self._bounds, y)
        z = ndtri(self.edges)
        return z[below], z[up_to + 1]

    def _information(self, low: Floats, high: Floats, limits: Limits | None) -> Information:
        if limits is None:
            return information_of(self.edges)[None], np.zeros(len(self), dtype=np.int64)
        pairs, pattern = np.unique(np.stack(limits, axis=1), axis=0, return_inverse=True)
        return information_between(beyond_merged(ndtri(self.edges), pairs[:, :1], pairs[:, 1:])), pattern.ravel()


def beyond_merged(edges: Floats, below: Floats, above: Floats) -> Floats:
    """Move edges that are beyond limits to infinity, so that there is one cell beyond each."""
    return np.where(edges < below, -np.inf, np.where(edges > above, np.inf, edges))


def ranks(bounds: AnyFloats, y: Floats) -> tuple[Ints, Ints]:
    """Count in each row the numbers below an outcome, and those up to it; both in the numbers' own precision."""
    below, up_to = (np.empty(len(y), dtype=np.int64) for _ in range(2))
    outcomes = y.astype(bounds.dtype)[:, None]
    for at in range(0, len(y), BLOCK):
        rows = slice(at, at + BLOCK)
        below[rows] = np.count_nonzero(bounds[rows] < outcomes[rows], axis=1)
        up_to[rows] = np.count_nonzero(bounds[rows] <= outcomes[rows], axis=1)
    return below, up_to
