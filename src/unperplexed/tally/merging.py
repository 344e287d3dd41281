"""What tallies have in common when they are added up: labels, names of sources, and an order that saves time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from .._lib.errors import InputError
from ..forecasts.labels import Label

Term = TypeVar("Term")


class BySize(Generic[Term]):
    """Adds up many terms, those of like size first, so that each entry is merged a few times only."""

    def __init__(self, plus: Callable[[Term, Term], Term], size: Callable[[Term], int]) -> None:
        self._plus, self._size = plus, size
        self._terms: list[Term] = []

    def add(self, term: Term) -> None:
        """Take another term."""
        terms = self._terms
        terms.append(term)
        while len(terms) > 1 and self._size(terms[-2]) <= 2 * self._size(terms[-1]):
            terms[-2:] = [self._plus(terms[-2], terms[-1])]

    def total(self, start: Term) -> Term:
        """Give the sum."""
        for term in reversed(self._terms):
            start = self._plus(start, term)
        return start


_MOST_SOURCES, _OTHERS = 100, "..."


def common_labels(a: tuple[Label | None, ...], b: tuple[Label | None, ...]) -> tuple[Label | None, ...]:
    """Labels of both parts, each of which may not know all of them."""
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
