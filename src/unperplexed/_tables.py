"""Tables of pairs: counts by probability or by cell, that add up."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._kernels import Grid
from ._typing import Floats, Ints


class Pairs(NamedTuple):
    """Pairs by reported probability, in increasing order."""

    reported: Floats
    happened: Floats
    """Weight of the pairs that happened."""
    total: Floats
    """Weight of all pairs."""


class Points(NamedTuple):
    """Values that happened, as weighted points."""

    p: Floats
    weight: Floats
    weight_squared: Floats
    entry: Ints
    """Which entry of the pairs each point belongs to."""


@dataclass(frozen=True)
class Table:
    """Counts of pairs by key: the probability itself, or the code of its cell."""

    key: NDArray[Any]
    total: Floats
    happened: Floats
    squared: Floats
    """Summed squared weights of the pairs that happened."""
    first: Floats
    """Weighted sum of the values that happened."""
    second: Floats
    """Weighted sum of their squares."""
    low: Floats
    """Smallest value that happened; inf if none."""
    high: Floats
    """Largest value that happened; -inf if none."""

    @classmethod
    def empty(cls, kind: type) -> Table:
        """Count nothing yet."""
        none = np.empty(0)
        return cls(np.empty(0, dtype=kind), none, none, none, none, none, none, none)

    @classmethod
    def of(cls, values: Floats, weights: Floats, happened: Floats, happened_weights: Floats) -> Table:
        """Count values exactly; happened holds those of them that happened, each with its own weight."""
        w, absent = happened_weights, np.zeros_like(values)
        pairs = cls(values, weights, absent, absent, absent, absent, absent + np.inf, absent - np.inf)
        of_them = cls(happened, np.zeros_like(w), w, w * w, w * happened, w * happened**2, happened, happened)
        return pairs.beside(of_them).merged()

    def beside(self, other: Table) -> Table:
        """Put the entries of both one after the other, unmerged."""
        return Table(*(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self)))

    def merged(self) -> Table:
        """Add up entries with the same key, and sort by it."""
        key, inverse = np.unique(self.key, return_inverse=True)

        def summed(column: Floats) -> Floats:
            return np.asarray(np.bincount(inverse, weights=column, minlength=key.size), dtype=np.float64)

        low, high = np.full(key.size, np.inf), np.full(key.size, -np.inf)
        np.minimum.at(low, inverse, self.low)
        np.maximum.at(high, inverse, self.high)
        return Table(
            key,
            total=summed(self.total),
            happened=summed(self.happened),
            squared=summed(self.squared),
            first=summed(self.first),
            second=summed(self.second),
            low=low,
            high=high,
        )

    def __add__(self, other: Table) -> Table:
        """Count both."""
        if not self.key.size or not other.key.size:
            return self if self.key.size else other
        return self.beside(other).merged()

    def in_cells(self, grid: Grid) -> Table:
        """Count by cell what was counted by value."""
        return replace(self, key=grid.codes(self.key)).merged()


@lru_cache(maxsize=4)
def grid_of(fraction_bits: int) -> Grid:
    """Grid of cells with so many bits of fraction."""
    return Grid(fraction_bits)


class DenseCells:
    """A table with room for every cell of the grid, for fast counting; it may start from a table in cells."""

    def __init__(self, grid: Grid, start: Table | None) -> None:
        self.grid = grid
        self.total, self.happened, self.squared, self.first, self.second = np.zeros((5, grid.size))
        self.low, self.high = np.full(grid.size, np.inf), np.full(grid.size, -np.inf)
        if start is not None:
            for name in ("total", "happened", "squared", "first", "second", "low", "high"):
                getattr(self, name)[start.key] = getattr(start, name)

    def add_happened(self, values: Floats, w: Floats) -> None:
        code = self.grid.codes(values)
        for column, amount in (
            (self.happened, w),
            (self.squared, w * w),
            (self.first, w * values),
            (self.second, w * values * values),
        ):
            np.add.at(column, code, amount)
        np.minimum.at(self.low, code, values)
        np.maximum.at(self.high, code, values)

    def table(self) -> Table:
        key = np.flatnonzero(self.total)
        columns = (self.total, self.happened, self.squared, self.first, self.second, self.low, self.high)
        return Table(key, *(column[key] for column in columns))


def distinct_values(p: NDArray[Any], weights: Floats | None) -> tuple[Floats, Floats]:
    """Distinct values of a matrix of probabilities and the weight of each."""
    flat = p.ravel().astype(np.float64) + 0.0  # -0.0 is 0
    if weights is None:
        values, counts = np.unique(flat, return_counts=True)
        return values, counts.astype(np.float64)
    values, inverse = np.unique(flat, return_inverse=True)
    total = np.bincount(inverse, weights=np.repeat(weights, p.shape[1]), minlength=values.size)
    return values, np.asarray(total, dtype=np.float64)


def same_probability(value: Floats) -> Ints:
    """Number the sorted probabilities of two classes so that those only rounding tells apart share a number.

    Of a reported 0.9 the other class gets 1 - 0.9, which in floats is not the 0.1 that another row reports. Two
    values below 1/2 are the same if they have the same complement and one of them is its exact complement.
    """
    leader = np.arange(value.size)
    single = value.astype(np.float32)
    for v, here in ((single, single == value), (value, np.ones(value.size, dtype=bool))):
        complement = 1 - v  # in the precision in which the value came
        exact = (1 - complement).astype(np.float64)
        at = np.minimum(np.searchsorted(value, exact), max(value.size - 1, 0))
        leader = np.where(here & (v < 0.5) & (complement < 1) & (exact != value) & (value[at] == exact), at, leader)
    # Values between two with the same complement have it too, so that groups are runs.
    return np.cumsum(np.diff(leader, prepend=leader[:1]) != 0)


def pooled(table: Table, group: Ints) -> Pairs:
    """Pairs of an exact table with the values of a group as one."""
    total, happened = (np.bincount(group, x).astype(np.float64) for x in (table.total, table.happened))
    return Pairs(without_last_digits(table.key[np.flatnonzero(np.diff(group, prepend=-1))]), happened, total)


def without_last_digits(p: Floats) -> Floats:
    """Round to 12 decimals what is not next to 0 or 1.

    The last digits of 1 - 0.7, or of a mean, owe more to how they were computed than to the forecaster; at a round
    number they would decide which bin a probability is in.
    """
    return np.where(np.minimum(p, 1 - p) > 1e-3, np.round(p, 12), p)
