"""Tallies: one tally for each group of rows, counted in one pass.

Tallies of groups that are counted when somebody asks for one: until then its rows wait, which take less room.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .._lib.arrays import check_indexes
from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, check_whole
from .._lib.formatting import number_of
from .._lib.typing import Codes, Floats, Ints
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key, RowKeys, columns_of, in_order, row_keys, value_of
from .class_sums import DIAGNOSED_UNASKED
from .state import BySize
from .tables import Keyed
from .tally import EXACT_LIMIT, FRACTION_BITS, Tally

AT_ONCE = 4096
"""Rows of a group in one part of the input from which on they are counted at once: then rows, not groups, cost time."""

_WAITING, _WAITING_EACH = 1 << 22, 1024
"""Probabilities that wait at most, and for each group if that is more: a tally takes several times their memory."""


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


MOST_GROUPS = 200_000
"""More groups than these are taken for a mistake, such as to group by the number of the row."""


class Tallies(Mapping[Key, Tally], Frozen, eq=False):
    """A mapping from each group to the tally of its rows.

    A group is named by a tuple, its values in the columns ``by``; a single
    value will do to look it up by one column. Tallies add up like a single
    `Tally`, group by group, whatever the split: ``Tallies()`` adds nothing.
    Make them with `Tallies.of` or `tally_files_by`, assess them with
    ``assess_by(tallies)``.

    Examples
    --------
    >>> from unperplexed import Tallies
    >>> first = Tallies.of([1, 0, 1], [0.8, 0.3, 0.6], by=["rain", "snow", "rain"])
    >>> both = first + Tallies.of([1], [0.9], by=["snow"])
    >>> {key: tally.n_rows for key, tally in both.items()}
    {('rain',): 2, ('snow',): 2}
    >>> both["snow"].prediction_accuracy
    1.0
    >>> both.whole().n_rows
    4
    """

    by: tuple[str, ...] = ()
    """Names of the columns; ("group",) for an array without a name."""
    tallies: Mapping[Key, Tally] = field(default_factory=dict, repr=False)
    """By key, in the keys' order."""

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_prob: Any,
        *,
        by: Any,
        most_groups: int = MOST_GROUPS,
        metrics: Sequence[str] = (),
        parts: Sequence[str] = (),
        exact_limit: int = EXACT_LIMIT,
        fraction_bits: int = FRACTION_BITS,
        diagnosed: int = DIAGNOSED_UNASKED,
        **reading: Any,
    ) -> Tallies:
        """Count a data set or a part of one, group by group.

        Parameters
        ----------
        y_true : array_like of shape (n,) or (n, C)
            Outcomes: labels or one-hot rows.
        y_prob : array_like of shape (n,) or (n, C)
            Predicted probabilities of the positive class, or of each class.
        by : array_like of shape (n,), mapping from name to such, or data frame
            Which group each row is in: numbers, texts or dates, of one column or several. 3, 3.0, "3" and "3.0"
            are the same group. Rows without a value, None, NaN or "", are a group of their own, None.
        most_groups : int, default 200,000
            More groups than this are refused.
        metrics, parts, exact_limit, fraction_bits : optional
            As in `Tally.of`; they hold for each group by itself.
        diagnosed : int, default 20
            As in `Tally.count`.
        reading
            Everything else that `Forecasts` takes: sample_weight, labels, ignore_label, ...

        Returns
        -------
        Tallies

        Raises
        ------
        InputError
            As `Forecasts`; for columns of other lengths than the forecasts, and for too many groups.

        Examples
        --------
        >>> from unperplexed import Tallies
        >>> by = {"model": ["a", "a", "b"], "year": [2024, 2025, 2025]}
        >>> list(Tallies.of([1, 0, 1], [0.8, 0.3, 0.6], by=by))
        [('a', 2024), ('a', 2025), ('b', 2025)]
        """
        columns = columns_of(by)
        check_indexes(**{"y_true": y_true, "y_prob": y_prob, **{f"by[{name!r}]": columns[name] for name in columns}})
        forecasts = Forecasts(y_true, y_prob, **{"whole": False, **reading})
        limits = {"exact_limit": exact_limit, "fraction_bits": fraction_bits}
        return cls.count(
            [(forecasts, columns)], most_groups=most_groups, metrics=metrics, parts=parts, diagnosed=diagnosed, **limits
        )

    @classmethod
    def count(
        cls, stream: Iterable[tuple[Forecasts, Any]], *, most_groups: int = MOST_GROUPS, **counting: Any
    ) -> Tallies:
        """Count a stream of checked forecasts, each part with its own columns to group by.

        Parts are as in `Tally.count`, as are the further settings.

        Examples
        --------
        >>> from unperplexed import Forecasts, Tallies
        >>> days = [([1, 0], [0.8, 0.3], ["a", "b"]), ([1], [0.6], ["b"])]
        >>> tallies = Tallies.count((Forecasts(y, p, whole=False), by) for y, p, by in days)
        >>> tallies["b"].n_rows
        2
        """
        check_whole("most_groups", most_groups)
        names: tuple[str, ...] = ()
        tallies = WaitingTallies(**counting)
        for forecasts, by in stream:
            found = row_keys(by, forecasts.n_rows)
            names = _same_columns(names, found.names)
            if len(tallies) + len(found.keys) > most_groups:
                keys = [*dict.fromkeys([*tallies, *found.keys])]
                if len(keys) > most_groups:
                    raise InputError(_too_many(names, most_groups, keys[: most_groups + 1]))
            tallies.add(forecasts, found)
        return cls(names, tallies.in_order())

    def __getitem__(self, key: Any) -> Tally:
        """Tally of a group."""
        return self.tallies[key_of(key)]

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys, in order."""
        return iter(self.tallies)

    def __len__(self) -> int:
        """Count the groups."""
        return len(self.tallies)

    def __add__(self, other: Tallies) -> Tallies:
        """Tallies of both data sets, group by group."""
        if not isinstance(other, Tallies):
            return NotImplemented
        names = _same_columns(self.by, other.by)
        if not (self.tallies and other.tallies):
            return Tallies(names, self.tallies or other.tallies)
        keys = in_order(list(self.tallies.keys() | other.tallies.keys()))
        return Tallies(names, {key: self.get(key, Tally()) + other.get(key, Tally()) for key in keys})

    def __radd__(self, other: object) -> Tallies:
        """Let ``sum(...)`` start from 0."""
        return self if other == 0 else NotImplemented

    def within(self, most_groups: int) -> Tallies:
        """Give the same, unless there are more groups than this."""
        if len(self) > most_groups:
            raise InputError(_too_many(self.by, most_groups, list(self)))
        return self

    def whole(self) -> Tally:
        """Tally of all rows: the sum of the groups."""
        if isinstance(self.tallies, WaitingTallies):
            return self.tallies.whole()
        return Tally.merged(self.values(), mixed=True)  # groups of one data set, even if each has been tagged

    def counted(self, key: Key) -> Tally:
        """Tally of a group, not kept if it is counted on demand."""
        return self.tallies.counted(key) if isinstance(self.tallies, WaitingTallies) else self.tallies[key]

    def rows(self) -> GroupedRows | None:
        """Give the rows of groups that wait to be counted, if there are any."""
        return self.tallies.rows() if isinstance(self.tallies, WaitingTallies) else None


def key_of(key: Any) -> Key:
    """Give what a group is looked up by as its key: a tuple, or the one value of a single column."""
    return tuple(value_of(value) for value in (key if isinstance(key, tuple) else (key,)))


def _same_columns(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    if names and others and names != others:
        raise InputError(f"by: parts grouped by {', '.join(names)} and by {', '.join(others)} do not add up.")
    return names or others


def _too_many(names: tuple[str, ...], most_groups: int, keys: list[Key]) -> str:
    shown = ", ".join(" ".join(str(value) for value in key) for key in keys[-3:])
    together = " together" if len(names) > 1 else ""
    return (
        f"by: more than {number_of(most_groups, 'group')} in {', '.join(names)}{together}, such as {shown:.80}. Group"
        " by what has fewer values, or allow more with most_groups (Python)."
    )
