"""Dependence in files that nobody declared, which is looked for in their further columns and the order of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Bools, Floats, Ints
from ..calibration.dependence import hashed
from ..calibration.dependence_search import UNREAD, DependenceSearch
from ..calibration.undeclared import Event, SearchedRows, events_of, joined_events, searched
from ..forecasts.column_codes import ColumnCodes
from ..forecasts.forecasts import Forecasts
from .files import ForecastBatch, ForecastFiles

MOST_CODES = 1 << 26
"""Codes of columns that are kept in memory, of four bytes each (256 MB). Of files with more, a random share of the rows
is searched."""

ROW = "row of the file"
"""What several forecasts of a row have in common."""


def search_files(files: ForecastFiles, period: str = "") -> DependenceSearch:
    """Look for dependence in files, which are read from end to end; a period's own biases are no dependence.

    Parameters
    ----------
    files : ForecastFiles
        Which columns hold what.
    period : str, default ""
        Name of the key that says in which period a row is; "" where biases are the same throughout.
    """
    try:
        return _gathered(files, period).search()
    except InputError:  # which counting will find too, and say
        return DependenceSearch(reason=UNREAD)


def _gathered(files: ForecastFiles, period: str) -> _Gathered:
    further = files.further
    gathered = _Gathered(further, files.several, period)
    for batch in files.with_keys(further):
        gathered.add(batch)
    return gathered


class _Part(NamedTuple):
    """Rows of a batch that are kept."""

    events: tuple[Event, ...]
    weight: Floats
    number: Ints
    """Of each row among all."""
    truth: Ints


class _Gathered:
    """Rows as they are read: their events, and the codes of their further columns."""

    def __init__(self, names: Sequence[str], several: bool, period: str) -> None:
        self._codes = {
            name: ColumnCodes() for name in [*names, *([ROW] if several else []), *([period] * bool(period))]
        }
        self._several, self._period = several, period
        self._parts: list[_Part] = []
        self._first, self._kept, self._share = 0, 0, 1.0

    def add(self, batch: ForecastBatch) -> None:
        """Read a batch."""
        for forecasts in batch.forecasts:
            for part, at in self._chosen(forecasts):
                self._parts.append(part)
                self._kept += at.size
                for name, codes in self._codes.items():
                    codes.add(part.number if name == ROW else batch.keys[name][at])
        self._first += batch.forecasts[0].n_rows
        while self._kept * len(self._codes) > MOST_CODES:
            self._halve()

    def _chosen(self, forecasts: Forecasts) -> Iterator[tuple[_Part, Ints]]:
        """Give the rows of positive weight that are in the sample, with their places among all that are wanted."""
        index = forecasts.index
        for block in forecasts.blocks():
            some = block.weighing
            at = np.searchsorted(index, some.index)
            kept = self._sampled(self._first + at)
            some, at = some[kept], at[kept]
            weight = np.ones(at.size) if some.weights is None else np.asarray(some.weights, dtype=np.float64)
            yield _Part(events_of(some), weight, self._first + at, some.truth.astype(np.int64)), at

    def _sampled(self, number: Ints) -> Bools:
        return np.asarray(hashed(number) < self._share)

    def _halve(self) -> None:
        """Keep half of the rows."""
        self._share /= 2
        joined = self._joined()
        kept = self._sampled(joined.number)
        events = tuple((happened[kept], s[kept]) for happened, s in joined.events)
        columns = (joined.weight[kept], joined.number[kept], joined.truth[kept])
        self._parts, self._kept = [_Part(events, *columns)], int(kept.sum())
        for codes in self._codes.values():
            codes.keep(kept)

    def _joined(self) -> _Part:
        events, *columns = zip(*self._parts, strict=True)
        return _Part(tuple(joined_events(events)), *map(np.concatenate, columns))

    def search(self) -> DependenceSearch:
        """Look for dependence in what was read."""
        if not self._kept:
            return DependenceSearch(reason=UNREAD)
        joined = self._joined()
        columns = {name: values for name, codes in self._codes.items() if (values := codes.values()) is not None}
        rows, order = SearchedRows(joined.events, joined.weight, joined.truth), not self._several
        if self._period:
            rows = rows.without_biases_of(columns.pop(self._period))
        return searched(rows, columns, order=order, share=self._share)
