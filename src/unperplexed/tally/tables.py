"""Tables of pairs: counts by probability or by cell, that add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import run_starts
from .._lib.dataclasses import Frozen, fields, is_dataclass
from .._lib.typing import AnyFloats, Floats, Ints
from ..kernels.compiled import kernel as _kernel
from ..kernels.rows import HALF_BITS, CellTotals, CoarseGrid, DistinctValues, Grid, Rows, moments

_KEPT = {"low": 1, "high": 2}
"""These columns keep the least and the greatest value; others are added up."""


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


class Keyed(Frozen):
    """Columns by key, which add up: entries with the same key are summed, ``low`` and ``high`` are kept."""

    key: NDArray[Any]
    key_type: ClassVar[type[np.generic]] = np.int64

    @classmethod
    def empty(cls) -> Self:
        """Count nothing yet."""
        return cls(np.empty(0, dtype=cls.key_type), *(np.empty(0) for _ in fields(cls)[1:]))

    @classmethod
    def beside(cls, tables: Sequence[Self]) -> Self:
        """Put the entries of several tables of this kind one after the other, unmerged."""
        return cls(*(np.concatenate([getattr(each, f.name) for each in tables]) for f in fields(cls)))

    def only(self, here: slice | NDArray[np.bool_] | Ints) -> Self:
        """Take some of the entries."""
        return type(self)(*(getattr(self, f.name)[here] for f in fields(self)))

    def ends_with(self, other: Self) -> bool:
        """Whether the last entries are those of another table, all columns alike."""
        start, names = self.key.size - other.key.size, [f.name for f in fields(self)]
        return start >= 0 and all(np.array_equal(getattr(self, x)[start:], getattr(other, x)) for x in names)

    def merged(self) -> Self:
        """Add up entries with the same key, and sort by it."""
        key, inverse = self._distinct()

        def reduced(name: str, column: Floats) -> Floats:
            if name not in ("low", "high"):
                return np.asarray(np.bincount(inverse, weights=column, minlength=key.size), dtype=np.float64)
            extreme, start = (np.minimum, np.inf) if name == "low" else (np.maximum, -np.inf)
            found = np.full(key.size, start)
            extreme.at(found, inverse, column)
            return found

        return type(self)(key, *(reduced(f.name, getattr(self, f.name)) for f in fields(self)[1:]))

    def _distinct(self) -> tuple[NDArray[Any], Ints]:
        """Distinct keys in order, and which of them each entry has."""
        order = np.argsort(self.key, kind="stable")  # of a few runs in order it is a merge
        key = self.key[order]
        new = np.ones(key.size, dtype=bool)
        np.not_equal(key[1:], key[:-1], out=new[1:])
        which = np.empty(key.size, dtype=np.int64)
        which[order] = np.cumsum(new) - 1
        return key[new], which

    def __add__(self, other: Self) -> Self:
        """Count both."""
        return self.together([self, other])

    @classmethod
    def together(cls, tables: Sequence[Self]) -> Self:
        """Count all of one or more tables, the keys of each of which are distinct and in order."""
        some = [table for table in tables if table.key.size]
        if len(some) < 2:
            return (some or tables)[0]
        kind = type(some[0])
        if _kernel is None:
            return kind.beside(some).merged()
        # Columns that are one array in each table, as the weights of rows that all weigh 1, are one in the sum. The
        # least and the greatest values of cells of one value each are too, but not what is kept of them.
        names = [f.name for f in fields(kind)[1:]]
        same = {name: (_KEPT.get(name, 0), *(id(getattr(each, name)) for each in some)) for name in names}
        once = {found: name for name, found in reversed(same.items())}
        columns = [[getattr(each, name) for name in once.values()] for each in some]
        kept = [how for how, *_ in once]
        key, *sums = _kernel.added_tables([each.key for each in some], columns, kept)
        sum_of = dict(zip(once, sums, strict=True))
        return kind(key, *(sum_of[same[name]] for name in names))


class PairTable(Keyed):
    """Counts of pairs by key: by the probability itself."""

    total: Floats
    happened: Floats
    squared: Floats
    """Summed squared weights of the pairs that happened."""
    key_type: ClassVar[type[np.generic]] = np.float64

    @property
    def values(self) -> Floats:
        """The probability of each entry."""
        return np.asarray(self.key, dtype=np.float64)

    def in_cells(self, grid: Grid) -> Cells:
        """Count by cell what was counted by value."""
        return self._placed(*grid.places(self.key)).merged()

    def _placed(self, key: Ints, place: Ints) -> Cells:
        """Give each entry as one of cells, with these keys and places in them."""
        low, high = (np.where(self.happened > 0, self.values, end) for end in (np.inf, -np.inf))
        return Cells(key, self.total, self.happened, self.squared, *moments(place, self.happened), low, high)


class Cells(PairTable):
    """Counts of pairs by the code of their cell, and where in it those lie that happened.

    Places are whole numbers, the bits of the value that the cell leaves open. So unless there are weights all sums
    are exact, and come out the same in any order.
    """

    first: Floats
    """Sum of the places of the events."""
    second_high: Floats
    second_low: Floats
    """Sum of their squares, which is 2**14 times the first of these and the second."""
    low: Floats
    """Smallest value that happened; inf if none."""
    high: Floats
    """Largest value that happened; -inf if none."""
    key_type: ClassVar[type[np.generic]] = np.int64

    @property
    def code(self) -> Ints:
        """The cell of each entry."""
        return self.key

    def centre_and_spread(self, grid: Grid | CoarseGrid, entry: Ints) -> tuple[Floats, Floats]:
        """Mean and standard deviation of the values that happened, in entries where some did."""
        w, low, high = self.happened[entry], self.low[entry], self.high[entry]
        place = self.first[entry] / w
        variance = (self.second_high[entry] * (1 << HALF_BITS) + self.second_low[entry]) / w - place * place
        value, step = grid.values(self.code[entry], place)
        mean = np.clip(value, low, high)
        return mean, np.sqrt(np.clip(variance * step * step, 0, (mean - low) * (high - mean)))


def freeze(values: Mapping[str, Any]) -> None:
    """Make arrays, and those in tables and in mappings of them, read-only."""
    for value in values.values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
        elif isinstance(value, dict):
            freeze(value)
        elif is_dataclass(value) and hasattr(value, "__dict__"):
            freeze(vars(value))


MOMENTS = ("first", "second_high", "second_low")
"""Columns of cells that are sums over the values that happened, in the order of `moments`."""


@cache
def grid_of(fraction_bits: int) -> Grid:
    """Grid of cells with so many bits of fraction."""
    return Grid(fraction_bits)


class ExactCounts:
    """A table being filled, of the probabilities themselves."""

    def __init__(self, most: int) -> None:
        self._all, self._happened = DistinctValues(most), DistinctValues(most)

    def add(self, p: AnyFloats, weights: Floats | None) -> int:
        """Add the values of a matrix, whether they happened or not, and say how many: all, or those that had room."""
        return self._all.add(p, weights)

    def add_happened(self, values: Floats, weights: Floats | None) -> None:
        """Add values that happened, without their part in the total."""
        self._happened.add(values[:, None], weights)

    def table(self) -> PairTable:
        """Give what was counted."""
        values, total, _ = self._all.columns()
        happened, weight, squared = self._happened.columns()  # of some of these values, in the same order
        columns = np.zeros((2, values.size))
        columns[:, np.searchsorted(values, happened)] = weight, squared
        return PairTable(values, total, *columns)


class DenseCells:
    """A table being filled, with room for every cell of the grid; it may start from a table in cells."""

    def __init__(self, grid: Grid, start: Cells | None) -> None:
        self.totals = CellTotals(grid, np.zeros(grid.size))
        names = [f.name for f in fields(Cells)[2:]]
        self.happened = grid.happened_columns()  # ends are 0 where nothing happened
        if start is not None:
            self.totals.total[start.key] = start.total
            some = start.happened > 0
            self.happened[:, start.key[some]] = [getattr(start, name)[some] for name in names]

    def add(self, p: AnyFloats, weights: Floats | None) -> int:
        """Add values, whether they happened or not, each with its row's weight; there is room for all."""
        self.totals.grid.count(p, self.totals.total, weights)
        return p.size

    def add_happened(self, values: Floats, weights: Floats | None) -> None:
        """Add values that happened, without their part in the total."""
        self.totals.grid.count_happened(values, weights, self.happened)

    def add_rows(self, rows: Rows, top: DenseCells) -> Ints:
        """Add what happened in rows that weigh 1, and their top-label pairs to another table; of those returned not."""
        return self.totals.grid.count_rows(rows, self.happened, top.totals.total, top.happened)

    def table(self) -> Cells:
        """Keep the cells that are occupied."""
        key = np.flatnonzero(self.totals.total)
        found = self.happened[:, key]
        none = found[0] == 0
        found[-2:, none] = [[np.inf], [-np.inf]]
        return Cells(key, self.totals.total[key], *found)


def points_of(table: PairTable, grid: Grid | CoarseGrid) -> Points:
    """Values that happened as weighted points, by entry.

    For counts by value, the values themselves. A cell gives two points that have its mean, variance and total weight
    and lie between its smallest and largest value, so that any mean of them is right to third order.
    """
    entry = np.flatnonzero(table.happened > 0)
    w, w2 = table.happened[entry], table.squared[entry]
    if not isinstance(table, Cells):
        return Points(table.values[entry], w, w2, entry)
    low, high = table.low[entry], table.high[entry]
    mean, sd = table.centre_and_spread(grid, entry)
    apart = sd > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        # Points mean - sd*t and mean + sd/t with weights 1 : t^2; t = 1 unless an end of the range is nearer.
        t = np.where(apart, np.clip(1.0, sd / (high - mean), (mean - low) / sd), 1.0)
    left, right = np.clip(mean - sd * t, low, high), np.clip(mean + sd / t, low, high)
    share = 1 / (1 + t * t)
    return Points(
        np.stack([left, right], axis=1).ravel(),
        np.stack([w * share, w * (1 - share)], axis=1).ravel(),
        np.stack([w2 * share, w2 * (1 - share)], axis=1).ravel(),
        np.repeat(entry, 2),
    )


def same_probability(value: Floats) -> Ints:
    """Number the sorted probabilities of two classes so that those only rounding tells apart share a number.

    With a predicted 0.9 the other class gets 1 - 0.9, which in floats is not the 0.1 that another row reports. Two
    values below 1/2 are the same if they have the same complement and one of them is its exact complement; two above
    it are the same if their complements are.
    """
    leader = np.arange(value.size)
    single = value.astype(np.float32)
    for v, here in ((single, single == value), (value, np.ones(value.size, dtype=bool))):
        complement = 1 - v  # in the precision in which the value came
        exact = (1 - complement).astype(np.float64)
        at = np.minimum(np.searchsorted(value, exact), value.size - 1)
        leader = np.where(here & (complement < 1) & (exact != value) & (value[at] == exact), at, leader)
    at = np.minimum(np.searchsorted(value, 1 - value), value.size - 1)
    leader = np.where((value > 0.5) & (value[at] == 1 - value), ~leader[at], leader)
    # Values between two with the same complement have it too, so that groups are runs.
    return np.cumsum(np.diff(leader, prepend=leader[:1]) != 0)


def same_value(value: Floats, complements: bool) -> Ints:
    """Number sorted probabilities so that those share a number that only last digits tell apart.

    For complements, as two classes have, also those that only the rounding of 1 - p tells apart.
    """
    group = same_probability(value) if complements else np.arange(value.size)
    shown = without_last_digits(value[run_starts(group)])
    return np.cumsum(np.diff(shown, prepend=shown[:1]) != 0)[group]


def pooled(table: PairTable, group: Ints) -> Pairs:
    """Pairs of an exact table with the values of a group as one."""
    total, happened = (np.bincount(group, x).astype(np.float64) for x in (table.total, table.happened))
    return Pairs(without_last_digits(table.values[run_starts(group)]), happened, total)


def without_last_digits(p: Floats) -> Floats:
    """Round to 12 decimals what is not next to 0 or 1.

    The last digits of 1 - 0.7, or of a mean, owe more to how they were computed than to the forecaster; at a round
    number they would decide which bin a probability is in.
    """
    return np.where(np.minimum(p, 1 - p) > 1e-3, np.round(p, 12), p)
