"""The sum of tallies: the same for any order and any split, so that many can be added up at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import Any, Generic, TypeVar

from .._lib.errors import InputError
from ..forecasts.labels import Label
from ..scores.rules import SCORES
from .binary import BinaryRows
from .class_tables import added_classes
from .counter import added
from .limits import refuse_too_many
from .shards import MAY_MISS
from .state import TallyState
from .surprises import least
from .tables import PairTable
from .tags import Tags

State = TypeVar("State", bound=TallyState)

_AT_ONCE, _ENTRIES = 8, 1 << 18
"""So many tallies are added up at a time, or fewer that have so many entries together."""


def batches(tallies: Iterable[State]) -> Iterator[list[State]]:
    """Give tallies, a few at a time."""
    batch, entries = list[State](), 0
    for tally in tallies:
        batch.append(tally)
        entries += _entries(tally)
        if len(batch) == _AT_ONCE or entries > _ENTRIES:
            yield batch
            batch, entries = [], 0
    if batch:
        yield batch


def _entries(tally: TallyState) -> int:
    """Count the numbers of a kind in a tally, about."""
    tables = (tally.pairs_table, tally.classes, tally.predictions)
    sums = 0 if tally.diagnosis is None else tally.diagnosis.high.size
    return sums + sum(table.key.size for table in tables if table is not None)


def summed(tallies: Sequence[State], mixed: bool) -> State:
    """Tally of several data sets; refuses other classes or settings and, unless mixed, tags that contradict."""
    counted = [tally for tally in tallies if tally.n_classes]
    if len(counted) < 2:
        return counted[0] if counted else tallies[0]
    for other in counted[1:]:
        _check_compatible(counted[0], other)
    tags = _tags(counted, mixed)
    notes = reduce(add, (tally.notes for tally in counted))
    n_rows = sum(tally.n_rows for tally in counted)
    refuse_too_many(n_rows, counted[0].n_classes, notes.ignored + sum(notes.dropped.values()))
    one_column = all(tally.one_column for tally in counted)
    exact = all(tally.exact for tally in counted)
    parts = counted if exact else [tally.in_cells() for tally in counted]
    scores = [tally.score_sums if tally.one_column == one_column else tally._sums for tally in parts]
    by_class = partial(reduce, partial(added_classes, exact_limit=parts[0].exact_limit))
    found = replace(
        parts[0],
        n_rows=n_rows,
        n_weighing=sum(tally.n_weighing for tally in parts),
        labels=reduce(common_labels, (tally.labels for tally in parts)),
        weighted=any(tally.weighted for tally in parts),
        weight=reduce(add, (tally.weight for tally in parts)),
        weight_squared=reduce(add, (tally.weight_squared for tally in parts)),
        pairs_table=PairTable.together([tally.pairs_table for tally in parts]),
        top_tables={
            ties: PairTable.together([tally.top_tables[ties] for tally in parts if ties in tally.top_tables])
            for ties in sorted({ties for tally in parts for ties in tally.top_tables})
        },
        one_column=one_column,
        score_sums={
            name: reduce(added, (sums[name] for sums in scores))
            for name in scores[0]
            if all(name in sums for sums in scores)
        },
        notes=notes,
        row_sample=_all(parts, "row_sample", partial(reduce, add)),
        binary=_all(parts, "binary", BinaryRows.together),
        classes=_all(parts, "classes", by_class),
        predictions=_all(parts, "predictions", by_class),
        shards=_all(parts, "shards", partial(reduce, add)),
        surprises=_all(parts, "surprises", lambda rows: least(chain.from_iterable(rows))),
        diagnosis=_all(parts, "diagnosis", partial(reduce, add)),
        sources=first_sources(*(tally.sources for tally in parts)),
        tags=tags,
    )
    return found.in_cells() if found.pairs_table.key.size > found.exact_limit else found


def _all(tallies: Sequence[TallyState], name: str, plus: Any) -> Any:
    """Add up what all tallies keep; None where one does not."""
    kept = [getattr(tally, name) for tally in tallies]
    return None if any(each is None for each in kept) else plus(kept)


def _tags(tallies: Sequence[TallyState], mixed: bool) -> Tags:
    """Tags of those with rows, which alone are of a model; of all where none has any."""
    some = [tally for tally in tallies if tally.n_rows]
    return reduce(lambda a, b: a.plus(b, mixed or not some), (tally.tags for tally in some or tallies))


def _check_compatible(one: TallyState, other: TallyState) -> None:
    for name in ("exact_limit", "fraction_bits", "parts", "scores"):
        mine, theirs = getattr(one, name), getattr(other, name)
        if isinstance(mine, tuple):  # some are in the sum where both have them
            mine, theirs = (tuple(x for x in each if x not in (*MAY_MISS, *SCORES)) for each in (mine, theirs))
        if mine != theirs:
            shown = [", ".join(v) or "none" if isinstance(v, tuple) else v for v in (mine, theirs)]
            raise InputError(f"tallies of different {name} do not add up: {shown[0]} and {shown[1]}.")


class BySize(Generic[State]):
    """Adds up many tallies, those of like size first, so that each entry is merged a few times only."""

    def __init__(self, plus: Callable[[State, State], State]) -> None:
        self._plus = plus
        self._tallies: list[State] = []

    def add(self, tally: State) -> None:
        """Take another tally."""
        tallies = self._tallies
        tallies.append(tally)
        while len(tallies) > 1 and tallies[-2].pairs_table.key.size <= 2 * tallies[-1].pairs_table.key.size:
            tallies[-2:] = [self._plus(tallies[-2], tallies[-1])]

    def total(self, start: State) -> State:
        """Give the sum."""
        return reduce(self._plus, reversed(self._tallies), start)


_MOST_SOURCES, _OTHERS = 100, "..."


def common_labels(a: tuple[Label | None, ...], b: tuple[Label | None, ...]) -> tuple[Label | None, ...]:
    """Labels of both parts, each of which may not know all of them."""
    if a is b:
        return a
    if len(a) != len(b):
        raise InputError(f"tallies of different classes do not add up: {len(a)} classes and {len(b)}.")
    for column, (x, y) in enumerate(zip(a, b, strict=True), 1):
        if x is not None and y is not None and x != y:
            raise InputError(
                f"tallies of different classes do not add up: class {column} is {x!r} in one and {y!r} in another."
                " Count both anew with the same labels in the same order (--labels)."
            )
    # True is 1, but prints otherwise: of the two the number stands, whichever part comes first.
    return tuple(y if x is None or (isinstance(x, bool) and y is not None) else x for x, y in zip(a, b, strict=True))


def first_sources(*counts: Mapping[str, int]) -> dict[str, int]:
    """Rows by source: of many sources the first by name, so that it does not matter in which order tallies meet."""
    rows = Counter[str]()
    for each in counts:
        rows.update(each)
    others = rows.pop(_OTHERS, 0)
    names = sorted(rows)
    others += sum(rows[name] for name in names[_MOST_SOURCES:])
    return {name: rows[name] for name in names[:_MOST_SOURCES]} | ({_OTHERS: others} if others else {})
