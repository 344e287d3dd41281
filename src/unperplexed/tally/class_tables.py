"""Pairs counted by group, such as a class: by value while there are few, in coarse cells beyond."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import run_starts
from .._lib.dataclasses import fields
from .._lib.typing import AnyFloats, Floats, Ints
from ..kernels.rows import COARSE, COARSE_CELLS, Rows, crowded
from .tables import Cells, Keyed, Pairs, PairTable, Points, points_of, pooled, same_value, without_last_digits

_GATHERED = 1 << 15
"""Entries that wait to be merged, at least; in all as many as there are already, so that merging costs little."""

_SHARES = 1 << 24
"""A tie is shared out in so many parts: whole numbers of them add up to the same in any order, a third would not."""


def paired(group: Ints | Floats, value: Floats) -> NDArray[np.complex128]:
    """Give keys that sort by group and then by value, as complex numbers do: group + 1j * value."""
    key = np.empty(value.shape, dtype=np.complex128)
    key.real, key.imag = group, value
    return key


class ClassPairTable(PairTable):
    """Counts of pairs by group and probability, by `paired` keys."""

    key_type: ClassVar[type[np.generic]] = np.complex128

    @property
    def group(self) -> Ints:
        """The group of each entry."""
        return self.key.real.astype(np.int64)

    @property
    def values(self) -> Floats:
        """The probability of each entry."""
        return np.asarray(self.key.imag)

    def _distinct(self) -> tuple[NDArray[Any], Ints]:
        """Distinct keys in order; numbers sort faster than complex ones do."""
        values, at = np.unique(self.values, return_inverse=True)
        code, inverse = np.unique(self.group * values.size + at, return_inverse=True)
        group, at = np.divmod(code, max(values.size, 1))
        return paired(group, values[at]), inverse

    def coarse(self) -> ClassPairCells:
        """Count by coarse cell what was counted by value."""
        code, place = COARSE.places(self.values)
        cells = self._placed(self.group * COARSE_CELLS + code, COARSE.within(code, place).astype(np.int64))
        return ClassPairCells(**vars(cells), place=self.total * place).merged()

    def mean(self) -> Floats:
        """Mean probability of each entry."""
        return self.values


class ClassPairCells(Cells):
    """Counts of pairs by COARSE_CELLS * group + cell. Places of what happened go from where the cell begins."""

    place: Floats
    """Sum of the places of all pairs."""

    @property
    def group(self) -> Ints:
        """The group of each entry."""
        return self.key // COARSE_CELLS

    @property
    def code(self) -> Ints:
        """The cell of each entry."""
        return self.key % COARSE_CELLS

    def _distinct(self) -> tuple[NDArray[Any], Ints]:
        """Distinct keys in order; of many entries in few cells, marking these is faster than sorting those."""
        most = int(self.key.max(initial=0)) + 1
        if most > self.key.size:
            return super()._distinct()
        occupied = np.zeros(most, dtype=bool)
        occupied[self.key] = True
        return np.flatnonzero(occupied), (np.cumsum(occupied) - 1)[self.key]

    def coarse(self) -> ClassPairCells:
        """Give the same: it is counted in cells."""
        return self

    def mean(self) -> Floats:
        """Mean probability of each entry."""
        return COARSE.means(self.code, self.total, self.place)


ClassPairCounts: TypeAlias = ClassPairTable | ClassPairCells


def added_classes(a: ClassPairCounts, b: ClassPairCounts, exact_limit: int) -> ClassPairCounts:
    """Count both: by value if both are and the union is small enough, else in cells."""
    if isinstance(a, ClassPairTable) and isinstance(b, ClassPairTable):
        both = a + b
        return both if both.key.size <= exact_limit else both.coarse()
    return a.coarse() + b.coarse()


class ClassPairs(NamedTuple):
    """Pairs of all groups, one group after the other."""

    pairs: Pairs
    """Within a group by reported probability, in increasing order."""
    points: Points
    """Values that happened, by entry of the pairs."""
    first: Ints
    """Where in the pairs each group begins; one more than there are groups."""


def split_by_class(table: ClassPairCounts, n_classes: int, complements: bool) -> ClassPairs:
    """Read a table group by group; values are one where `same_value` says so."""
    points, group = points_of(table, COARSE), table.group
    if isinstance(table, ClassPairTable):
        values, at = np.unique(table.values, return_inverse=True)
        code = group * values.size + same_value(values, complements)[at]
        entry: Ints = np.cumsum(np.diff(code, prepend=code[:1]) != 0)
        pairs, points = pooled(table, entry), points._replace(entry=entry[points.entry])
        group = group[run_starts(entry)]
    else:
        pairs = Pairs(without_last_digits(table.mean()), table.happened, table.total)
    return ClassPairs(pairs, points, np.searchsorted(group, np.arange(n_classes + 1)))


def only_class(table: ClassPairCounts, group: int) -> ClassPairCounts:
    """Entries of one group."""
    ends = np.array([group, group + 1])
    keys = paired(ends, np.zeros(2)) if isinstance(table, ClassPairTable) else ends * COARSE_CELLS
    return table.only(slice(*np.searchsorted(table.key, keys)))


class Coarse(Keyed):
    """Counts of pairs by COARSE_CELLS * group + cell, and nothing more."""

    total: Floats
    happened: Floats
    place: Floats
    """Sum of where in their cell all its pairs lie."""


class DenseCoarse:
    """Room for the coarse cells of so many groups, for fast counting.

    Cells come before groups: of cells that no group needs, no memory is ever touched.
    """

    def __init__(self, groups: int) -> None:
        self.groups = groups
        self.total, self.happened, self.place = np.zeros((3, COARSE_CELLS * groups))

    def start(self, cells: ClassPairCells) -> None:
        """Begin from these counts of all pairs."""
        at = cells.code * self.groups + cells.group
        self.total[at], self.place[at] = cells.total, cells.place

    def add(self, p: AnyFloats, group: Ints, of_rows: bool, weights: Floats | None) -> None:
        """Count the probabilities of rows, each under the group of its row or else of its column.

        Parameters
        ----------
        p : ndarray of shape (n, C)
            Probabilities.
        group : ndarray of shape (n,) or (C,)
            Group of each row, or of each column.
        of_rows : bool
            Whether groups are those of rows.
        weights : ndarray of shape (n,) or None
            Weights of rows; None if all are 1.
        """
        COARSE.count(p, group, of_rows, weights, self.total, self.place)

    def add_happened(self, p: Floats, group: Ints, w: Floats) -> None:
        """Count the probability of the outcome in each row, under the row's group."""
        np.add.at(self.happened, COARSE.places(p)[0] * self.groups + group, w)

    def table(self) -> Coarse:
        """Keep the cells that are occupied."""
        group, code = np.nonzero(self.total.reshape(COARSE_CELLS, self.groups).T)
        at = code * self.groups + group
        return Coarse(group * COARSE_CELLS + code, self.total[at], self.happened[at], self.place[at])


class ClassPairCounter:
    """Counts pairs by group: by value while there are at most exact_limit entries, in coarse cells beyond."""

    def __init__(self, exact_limit: int) -> None:
        self.exact_limit = exact_limit
        self.counted: ClassPairCounts = ClassPairTable.empty()
        self._waiting: list[ClassPairTable] = []
        self._n_waiting = 0

    @property
    def empty(self) -> bool:
        """Whether nothing was counted."""
        return not self.counted.key.size and not self._waiting

    def add(self, found: ClassPairTable) -> None:
        """Count entries, not necessarily distinct."""
        self._waiting.append(found)
        self._n_waiting += found.key.size
        if self._n_waiting > max(self.counted.key.size, _GATHERED):
            self._count()

    def _count(self) -> None:
        found = ClassPairTable.beside(self._waiting)
        new = found.merged() if isinstance(self.counted, ClassPairTable) else found.coarse()
        self.counted = added_classes(self.counted, new, self.exact_limit)
        self._waiting, self._n_waiting = [], 0

    def table(self) -> ClassPairCounts:
        """All that was counted."""
        if self._waiting:
            self._count()
        return self.counted


class ClassCounter:
    """Counts the pairs of each class."""

    def __init__(self, n_classes: int, exact_limit: int) -> None:
        self._entries, self._exact_limit = ClassPairCounter(exact_limit), exact_limit
        self._classes = np.arange(n_classes)
        self._dense: DenseCoarse | None = None

    def add(self, p: AnyFloats, truth: Ints, correct: Floats, weights: Floats | None) -> None:
        """Count rows of probabilities; correct are those of the class that happened.

        Parameters
        ----------
        p : ndarray of shape (n, C)
            Probabilities.
        truth : ndarray of shape (n,)
            Number of the observed class of each row, from 0.
        correct : ndarray of shape (n,)
            Probability of that class.
        weights : ndarray of shape (n,) or None
            Positive weights; None if all are 1.
        """
        w, nothing = np.ones(truth.size) if weights is None else weights, np.zeros(truth.size)
        happened = ClassPairTable(paired(truth, correct + 0.0), nothing, w, w * w)  # -0.0 is 0
        if self._dense is None and self._entries.empty and crowded(p, self._exact_limit):
            # At once: sorting a first block would cost more than all others.
            self._entries.counted = ClassPairCells.empty()
            self._dense = DenseCoarse(self._classes.size)
        if self._dense is not None:
            self._dense.add(p, self._classes, False, weights)
            self._entries.add(happened)
            return
        self._entries.add(ClassPairTable.beside([_columns(p, weights), happened]))
        if isinstance(self._entries.counted, ClassPairCells):
            self._dense = DenseCoarse(self._classes.size)
            self._dense.start(self._entries.counted)

    def table(self) -> ClassPairCounts:
        """All that was counted."""
        counted = self._entries.table()
        if self._dense is None:
            return counted
        # All cells are in the dense counts. What happened, few cells of many, is put in its places among them.
        cells = self._dense.table()
        at = np.searchsorted(cells.key, counted.key)
        columns = {f.name: getattr(cells, f.name) for f in fields(Coarse) if f.name != "happened"}
        for name in (f.name for f in fields(ClassPairCells) if f.name not in columns):
            columns[name] = np.full(cells.key.size, {"low": np.inf, "high": -np.inf}.get(name, 0.0))
            columns[name][at] = getattr(counted, name)
        return ClassPairCells(**columns)


def _columns(p: AnyFloats, weights: Floats | None) -> ClassPairTable:
    """Distinct values in each column of a matrix and the weight of each, none of which happened."""
    columns = p.T + 0.0  # -0.0 is 0
    if weights is None:
        columns.sort(axis=1)
    else:
        order = np.argsort(columns, axis=1)
        columns = np.take_along_axis(columns, order, axis=1)
    first = np.ones(columns.shape, dtype=bool)
    first[:, 1:] = columns[:, 1:] != columns[:, :-1]
    at = np.flatnonzero(first)
    if weights is None:
        total = np.diff(at, append=columns.size).astype(np.float64)
    else:
        total = np.add.reduceat(weights[order].reshape(-1), at)
    key = paired(at // len(p), columns.reshape(-1)[at].astype(np.float64))
    return ClassPairTable(key, total, np.zeros(at.size), np.zeros(at.size))


def top_classes(p: AnyFloats, rows: Rows, truth: Ints, w: Floats) -> ClassPairTable:
    """Top-label pairs of rows under the class that they predict: each of k tied ones gets a k-th of the row.

    Parameters
    ----------
    p : ndarray of shape (n, C)
        Probabilities.
    rows : Rows
        Primitives of the rows.
    truth : ndarray of shape (n,)
        Number of the observed class of each row, from 0.
    w : ndarray of shape (n,)
        Positive weights.

    Returns
    -------
    ClassPairTable
        An entry for each class of each row that has the highest probability, unmerged.
    """
    row, label = np.nonzero(p == rows.highest.astype(p.dtype)[:, None])
    ties = rows.ties[row]
    nth = np.arange(row.size) - (np.cumsum(rows.ties) - rows.ties)[row]
    # The first of the tied ones get what is left over: together they have the row's weight.
    share = (_SHARES // ties + (nth < _SHARES % ties)) / _SHARES
    hit = (label == truth[row]) * 1.0
    squared = np.rint(share * share * _SHARES) / _SHARES
    weight = w[row]
    key = paired(label, rows.highest[row] + 0.0)
    return ClassPairTable(key, weight * share, weight * share * hit, weight * weight * squared * hit)
