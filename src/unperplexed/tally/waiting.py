"""Tallies of groups that are counted when somebody asks for one: until then its rows wait, which take less room."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import dataclass, replace
from .._lib.typing import Codes, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key, RowKeys, in_order
from .adding import BySize
from .tables import Keyed
from .tally import EXACT_LIMIT, Tally

AT_ONCE = 4096
"""Rows of a group in one part of the input from which on they are counted at once: then rows, not groups, cost time."""

_WAITING, _WAITING_EACH = 1 << 22, 1024
"""Probabilities that wait at most, and for each group if that is more: a tally takes several times their memory."""


@dataclass(frozen=True)
class GroupedRows(Keyed):
    """Rows group after group, whose key is the group's place; those of one by the probability of the outcome."""

    correct: Floats
    """Probability assigned to the outcome."""
    hit: Floats
    """Whether the most probable class happened; a k-way tie counts 1/k."""
    second: Floats
    """Probability of the second of two classes."""
    truth: Codes
    weight: Floats


class _Part(NamedTuple):
    """Rows that wait, in the order of their numbers, and the number of each one's group."""

    forecasts: Forecasts
    group: Ints


class WaitingTallies(Mapping[Key, Tally]):
    """The tally of each group, in the keys' order once all rows have come."""

    def __init__(self, **counting: Any) -> None:
        self._counting = counting
        self._number: dict[Key, int] = {}
        self._sums: dict[int, BySize[Tally]] = {}
        self._whole = BySize[Tally](operator.add)
        self._parts: list[_Part] = []
        self._found: dict[Key, Tally] = {}

    def add(self, forecasts: Forecasts, by: RowKeys) -> None:
        """Take a part of the input: all rows are checked, and those of large groups counted."""
        number = np.array([self._number.setdefault(key, len(self._number)) for key in by.keys], dtype=np.int64)
        many = np.bincount(by.group, minlength=number.size) >= AT_ONCE
        for at in np.flatnonzero(many).tolist():
            tally = Tally.count(forecasts[np.flatnonzero(by.group == at)], **self._counting)
            self._sum(int(number[at])).add(tally)
            self._whole.add(tally)
        rows = np.flatnonzero(~many[by.group])
        if rows.size:
            rows = rows[np.argsort(forecasts.numbers_of(rows), kind="stable")]
            self._whole.add(Tally.count(forecasts[rows], **self._counting))
            self._parts.append(_Part(forecasts.kept(rows), number[by.group[rows]]))
        waiting = sum(part.group.size for part in self._parts) * (forecasts.n_classes - 1)
        if waiting > max(_WAITING, _WAITING_EACH * len(self)):
            for each in np.unique(np.concatenate([part.group for part in self._parts])).tolist():
                self._sum(each).add(self._waiting.tally(each))
            self._parts = []
            del self._waiting

    def _sum(self, number: int) -> BySize[Tally]:
        return self._sums.setdefault(number, BySize[Tally](operator.add))

    def in_order(self) -> WaitingTallies:
        """Number the groups in the keys' order: all rows have come."""
        keys = in_order(list(self._number))
        before = np.array([self._number[key] for key in keys], dtype=np.int64)
        now = np.empty(before.size, dtype=np.int64)
        now[before] = np.arange(before.size)
        self._number = {key: at for at, key in enumerate(keys)}
        self._sums = {int(now[number]): tally for number, tally in self._sums.items()}
        self._parts = [part._replace(group=now[part.group]) for part in self._parts]
        return self

    def whole(self) -> Tally:
        """Tally of all rows."""
        return self._whole.total(Tally())

    @cached_property
    def _waiting(self) -> _Waiting:
        return _Waiting(self._parts, self._counting)

    def __getitem__(self, key: Key) -> Tally:
        """Tally of a group, counted when first asked for."""
        if key not in self._found:
            self._found[key] = self.counted(key)
        return self._found[key]

    def counted(self, key: Key) -> Tally:
        """Count the tally of a group, which is not kept: that of every group would take much memory."""
        number = self._number[key]
        waiting = self._waiting.tally(number)
        return self._sums[number].total(waiting) if number in self._sums else waiting

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys."""
        return iter(self._number)

    def __len__(self) -> int:
        """Count the groups."""
        return len(self._number)

    def __reduce__(self) -> tuple[Any, ...]:
        """Count all groups: the rows are left behind."""
        return dict, ([*self.items()],)

    def rows(self) -> GroupedRows | None:
        """Give the rows of groups all of whose rows wait and would be counted by value; None if there are none.

        Rows that were left out are not among them, nor groups without weight.
        """
        if not self._parts:
            return None
        found = GroupedRows.beside([*map(_read, self._parts)])
        most = self._counting.get("exact_limit", EXACT_LIMIT) // self._parts[0].forecasts.n_classes
        weight = np.bincount(found.key, found.weight, len(self))
        here = (np.bincount(found.key, minlength=len(self)) <= most) & (weight > 0)
        here[[*self._sums]] = False
        rows = np.flatnonzero(here[found.key])
        rows = rows[np.argsort(found.correct[rows])]
        group = found.key[rows].astype(np.min_scalar_type(len(self)))  # short numbers are sorted digit by digit
        return found.only(rows[np.argsort(group, kind="stable")]) if rows.size else None


class _Waiting:
    """Rows that wait, by group."""

    def __init__(self, parts: Sequence[_Part], counting: Mapping[str, Any]) -> None:
        self._parts, self._counting = parts, counting
        group = np.concatenate([part.group for part in parts] or [np.empty(0, dtype=np.int64)])
        self._order = np.argsort(group, kind="stable")
        self._ends = np.cumsum(np.bincount(group))
        self._first = np.cumsum([0, *(part.group.size for part in parts)])

    def tally(self, number: int) -> Tally:
        """Count the rows of a group."""
        return Tally.count(self._pieces(number), **self._counting)

    def _pieces(self, number: int) -> Iterator[Forecasts]:
        """Rows of a group, those of each part."""
        if number < self._ends.size:
            rows = self._order[self._ends[number - 1] if number else 0 : self._ends[number]]
            cut = np.searchsorted(rows, self._first)
            for part, start, (a, b) in zip(self._parts, self._first.tolist(), pairwise(cut.tolist()), strict=False):
                if a < b:
                    yield part.forecasts[rows[a:b] - start]


def _read(part: _Part) -> GroupedRows:
    """Read rows with their groups. A row may be in several: all of it is left out, or none."""
    two, found = part.forecasts.n_classes == 2, list[GroupedRows]()
    for block in part.forecasts.blocks():
        second = np.asarray(block.probabilities[:, 1], dtype=np.float64) if two else block.rows.correct
        weight = np.ones(len(block)) if block.weights is None else block.weights
        found.append(GroupedRows(block.index, block.rows.correct, block.rows.hit, second, block.truth, weight))
    rows = GroupedRows.beside(found)
    return replace(rows, key=part.group[np.isin(part.forecasts.index, rows.key)])
