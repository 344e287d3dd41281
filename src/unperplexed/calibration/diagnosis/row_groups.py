"""Rows that depend on one another: those of a cluster, or forecasts of times that overlap."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._lib.dataclasses import Frozen
from ..._lib.typing import Bools, Floats, Ints
from ...statistics.matrices import product
from .gate import LEAST_VARIANCE


class Windows(NamedTuple):
    """From when forecasts were issued to the times they are about: forecasts depend where these windows overlap.

    Even perfect forecasts do so. Each value is a number, a date or a time.
    """

    issued: Any
    """Of shape (n,)."""
    target: Any
    """Of shape (n,)."""

    def unknown(self) -> Bools:
        """Say of each row whether a time is missing, or infinite."""
        return np.logical_or(*(~np.isfinite(_numbers(each)) for each in self))

    def times(self) -> tuple[Floats, Floats]:
        """Return both as numbers; dates in days."""
        return _numbers(self.issued), _numbers(self.target)

    def numbers(self) -> tuple[Floats, Floats]:
        """Return both as numbers, windows that would be empty or negative begun earlier, and all others with them.

        Some forecasts are about the time in which they are issued, or one before it.
        """
        issued, target = self.times()
        ahead = np.unique(target - issued)
        if ahead.size and ahead[0] <= 0:
            issued = issued + ahead[0] - (np.diff(ahead).min() if ahead.size > 1 else 1.0)
        return issued, target

    def blocks(self) -> Ints:
        """Number stretches of the time of issue as long as the longest window, which overlaps at most with the next."""
        issued, target = self.numbers()
        return np.asarray((issued - issued.min()) // (target - issued).max(), dtype=np.int64)


Groups = Ints | Windows
"""What rows depend by: numbers of their clusters, or windows."""


class RowGroups(Frozen, eq=False):
    """Groups that rows are in, and which of them overlap."""

    number: Ints
    """Number of each row's group, from 0."""
    size: int
    windows: tuple[Floats, Floats] | None = None
    """Beginning and end of each group, where these are windows."""

    @staticmethod
    def of(groups: Groups) -> RowGroups:
        """Number the groups."""
        if not isinstance(groups, Windows):
            known, number = np.unique(groups, return_inverse=True)
            return RowGroups(number, len(known))
        known, number = np.unique(np.stack(groups.numbers(), axis=1), axis=0, return_inverse=True)
        begin, end = known.T.astype(np.float64)
        return RowGroups(number.ravel(), len(known), (begin, end))

    @cached_property
    def degrees(self) -> float:
        """Degrees of freedom: the number of groups, fewer where they overlap."""
        overlaps = float(self._overlapping(np.ones((1, self.size))).sum())
        return max(2.0, self.size**2 / overlaps)

    @property
    def least(self) -> float:
        """Least factor by which the variance of independent rows is taken to change."""
        return LEAST_VARIANCE if self.windows is None else 1.0

    def between(self, each: Floats, total: Floats, squared: Floats, at: Ints | None = None) -> Floats:
        """Sum the covariances between different rows of groups that are the same or overlap.

        Parameters
        ----------
        each : array of shape (k, m)
            Scores of m rows, or cells of rows.
        total, squared : arrays of shape (n,)
            Sum of the weights of each row, or of equal ones, and of their squares.
        at : array of int, shape (n,), optional
            Cell of each row.

        Returns
        -------
        array of shape (k, k)
        """
        at = np.arange(len(total)) if at is None else at
        sums: Floats = np.stack([np.bincount(self.number, total * score[at], self.size) for score in each])
        own = np.bincount(at, squared, each.shape[1]).astype(np.float64)
        return product(self._overlapping(sums), sums.T) - product(each * own, each.T)

    def _overlapping(self, sums: Floats) -> Floats:
        """For each group, sum over all that overlap with it: begun before it ends, less those that ended before."""
        if self.windows is None:
            return sums
        begin, end = self.windows
        return _summed(sums, begin)(end, "left") - _summed(sums, end)(begin, "right")


def _summed(sums: Floats, times: Floats) -> Callable[[Floats, Any], Floats]:
    """Return what gives the sums up to a time."""
    order = np.argsort(times, kind="stable")
    until = np.pad(np.cumsum(sums[:, order], axis=1), ((0, 0), (1, 0)))
    return lambda time, side: until[:, np.searchsorted(times[order], time, side)]


def shortest(windows: Windows) -> tuple[Bools, Ints]:
    """Return which forecasts have the shortest horizon, and numbers of the times at which these were issued."""
    issued, target = windows.numbers()
    ahead = target - issued
    here = ahead == ahead.min()
    return here, np.unique(issued[here], return_inverse=True)[1]


def chosen(groups: Groups, rows: Bools | Ints) -> Groups:
    """Return the groups of some rows."""
    if isinstance(groups, Windows):
        return Windows(*(np.asarray(each)[rows] for each in groups))
    return np.asarray(groups)[rows]


def _numbers(times: Any) -> Floats:
    """Return times as numbers; dates in days."""
    found = np.asarray(times)
    if found.dtype.kind == "M":
        found = (found - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    return found.astype(np.float64)
