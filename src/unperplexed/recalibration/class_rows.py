"""Rows of more than two classes in folds: their log-probabilities in memory, in an order that is theirs alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .._lib.typing import Floats
from ..forecasts.forecasts import Forecasts
from ..maps.class_families import Known, MapOfClasses, fitted_classes
from .folded_rows import FoldedRows, Kept, kept_rows

MOST_VALUES = 20_000_000
"""Probabilities kept in memory; with more, a random sample of rows is."""


@dataclass(frozen=True, kw_only=True)
class ClassRows(FoldedRows[MapOfClasses]):
    """Rows of more than two classes, one by one."""

    known: Known = field(default_factory=dict, repr=False, compare=False)
    """Fisher information of the maps fitted to all rows, by which those of the folds are fitted fast."""

    def fit(
        self, names: Sequence[str], without: int | None, starts: Mapping[str, MapOfClasses] | None
    ) -> dict[str, MapOfClasses]:
        """Fit maps to all rows, or to those outside a fold."""
        # Fits do not start from the maps of all rows: where one ends early, it would know of the rows held out.
        some = self.outside(without)
        log_p, truth, weight = self.predicted[some], self.truth[some], self.weight[some]
        return fitted_classes(names, log_p, truth, weight, self.known, self.zero)


def rows_of_chunks(
    parts: Iterable[Forecasts], folds: int, seed: int, clustered: bool, most: int = MOST_VALUES
) -> ClassRows:
    """Deal rows into folds, or where they are too many a random sample of them: those with the smallest numbers."""
    rng = np.random.default_rng(seed)
    held: list[Kept] = []
    numbers: list[Floats] = []
    n, room = 0, 2
    for part in kept_rows(parts):
        n, room = n + part.n_rows, max(2, most // part.predicted.shape[1])
        held.append(part)
        numbers.append(rng.random(part.n_rows))
        if sum(each.n_rows for each in held) > room + room // 4:
            held, numbers = _smallest(held, numbers, room)
    if n > room:
        held, numbers = _smallest(held, numbers, room)
    return ClassRows.of(Kept.joined(held), n, folds, seed, clustered=clustered)


def _smallest(held: list[Kept], numbers: list[Floats], room: int) -> tuple[list[Kept], list[Floats]]:
    number = np.concatenate(numbers)
    some = np.sort(np.argsort(number, kind="stable")[:room])
    return [Kept.joined(held).at(some)], [number[some]]
