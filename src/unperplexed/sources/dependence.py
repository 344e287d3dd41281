"""Dependence in files that nobody declared, which is looked for in their further columns and the order of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._lib.errors import InputError
from ..calibration.dependence import hashed
from ..calibration.dependence_search import UNREAD, DependenceSearch
from ..calibration.undeclared import SearchedRows, searched
from ..forecasts.group_keys import ColumnCodes
from .columns import Selection
from .file_reading import FileReading
from .files import ForecastBatch, ForecastFiles
from .readers.formats import File

MOST_CODES = 1 << 25
"""Codes of columns that are kept in memory, of eight bytes each (256 MB). Of files with more, a random share of the
rows is searched."""

ROW = "row of the file"
"""What several forecasts of a row have in common."""


def search_files(paths: Sequence[File], selection: Selection, reading: FileReading) -> DependenceSearch:
    """Look for dependence in files, which are read from end to end; their keys are groups with errors of their own."""
    try:
        files = ForecastFiles(paths, selection, reading)
        groups = [key.name for key in files.rows.plans.keys]
        several = len(files.rows.plans.forecasts) > 1
        gathered = _Gathered([*files.further, *[ROW] * several, *groups])
        for batch in files.with_keys(files.further):
            gathered.add(batch)
    except InputError:  # which counting will find too, and say
        return DependenceSearch(reason=UNREAD)
    return gathered.search(groups, order=not several)


class _Gathered:
    """Rows as they are read, and the codes of their further columns."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._codes = names, ColumnCodes(names)
        self._parts: list[SearchedRows] = []
        self._first, self._kept, self._share = 0, 0, 1.0

    def add(self, batch: ForecastBatch) -> None:
        """Read a batch."""
        for forecasts in batch.forecasts:
            for block in forecasts.blocks():
                rows = SearchedRows.of(block)
                at = np.searchsorted(forecasts.index, rows.number)  # among the rows that are wanted
                kept = hashed(self._first + at) < self._share
                at, number = at[kept], self._first + at[kept]
                self._parts.append(rows.at(kept)._replace(number=number))
                some = slice(None) if at.size == forecasts.n_rows else at  # without a copy of each column
                self._codes.add({name: number if name == ROW else batch.keys[name][some] for name in self._codes})
                self._kept += at.size
        self._first += batch.forecasts[0].n_rows
        while self._kept * len(self._names) > MOST_CODES:
            self._halve()

    def _halve(self) -> None:
        """Keep half of the rows."""
        self._share /= 2
        rows, codes = SearchedRows.joined(self._parts), self._codes.joined()
        kept = hashed(rows.number) < self._share
        self._parts, self._kept = [rows.at(kept)], int(kept.sum())
        self._codes.update({name: [code[kept]] for name, code in codes.items()})

    def search(self, groups: Sequence[str], *, order: bool) -> DependenceSearch:
        """Look for dependence in what was read."""
        if not self._kept:
            return DependenceSearch(reason=UNREAD)
        rows, codes = SearchedRows.joined(self._parts), self._codes.joined()
        known = {name: codes.pop(name) for name in groups if name in codes}
        return searched(rows, codes, known, order=order, share=self._share)
