"""Dependence that nobody declared in files: all their further columns are looked at, and the order of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Bools, Ints
from ..calibration.dependence import Sample, share_searched
from ..calibration.dependence_search import UNREAD, DependenceSearch
from ..calibration.undeclared import SearchedRows, decided, looked, searched
from ..forecasts.group_keys import ColumnCodes
from .columns import ROW, Selection
from .file_reading import FileReading
from .files import ForecastBatch, ForecastFiles
from .readers.formats import File

MOST_CODES = 1 << 25
"""Codes of columns that are kept in memory, of eight bytes each (256 MB). Of files with more, a sample is searched."""

STRETCH = 4096
"""Successive rows that are kept, or not, where there are more."""


def search_files(
    paths: Sequence[File], selection: Selection, reading: FileReading
) -> tuple[DependenceSearch, Sequence[File] | ForecastFiles]:
    """Look for dependence in files, whose keys are groups with errors of their own; give them as they were opened."""
    try:
        files = ForecastFiles(paths, selection, reading)
        return _searched(files), files
    except InputError:  # which counting will find too, and say
        return DependenceSearch(reason=UNREAD), paths


def _searched(files: ForecastFiles) -> DependenceSearch:
    """Look for dependence: of many rows a sample is read, and then all of them in the clusters that were found."""
    groups = [key.name for key in files.rows.plans.keys]
    several = len(files.rows.plans.forecasts) > 1
    share, further = share_searched(files.n_rows), [*files.further, *[ROW] * several]
    rows, columns = _Gathered(files.with_keys(further, share), [*further, *groups]).read()
    known = {name: columns.pop(name) for name in groups if name in columns}
    if rows.sample.share == 1:
        return searched(rows, columns, known, order=not several)
    search = looked(rows, columns, known, order=not several)
    if search.found is None:
        return search
    clusters = search.found.columns
    again = files.with_keys([name for name in clusters if name in further])
    rows, columns = _Gathered(again, [*dict.fromkeys([*clusters, *groups])]).read()
    return decided(search, rows, columns, {name: columns.pop(name) for name in groups if name in columns})


class _Gathered:
    """Rows of files, and the codes of further columns."""

    def __init__(self, files: ForecastFiles, names: Sequence[str]) -> None:
        self._names, self._codes = names, ColumnCodes(names)
        self._parts: list[SearchedRows] = []
        self._share, self._every = files.rows.share, 1
        self._first = self._stretches = self.kept = 0
        for batch in files:
            self._add(batch)

    def _add(self, batch: ForecastBatch) -> None:
        for forecasts in batch.forecasts:
            parts = [SearchedRows.of(block) for block in forecasts.blocks()]
            if parts:
                rows = SearchedRows.joined(parts)
                at = np.searchsorted(forecasts.index, rows.number)  # among the rows that are wanted
                number = np.asarray(batch.keys[ROW])[at] if ROW in batch.keys else self._first + at
                stretch = number // STRETCH if batch.stretch is None else self._stretches + batch.stretch[at]
                self._keep(batch, rows._replace(number=number, sample=Sample(stretch, 1.0)), at)
        self._first += batch.forecasts[0].n_rows
        self._stretches += 0 if batch.stretch is None else int(batch.stretch.max(initial=-1)) + 1
        if self.kept * max(len(self._names), 1) > MOST_CODES:
            self._halve()

    def _keep(self, batch: ForecastBatch, rows: SearchedRows, at: Ints) -> None:
        kept = self._chosen(rows)
        rows, at = (rows, at) if kept.all() else (rows.at(kept), at[kept])
        some = slice(None) if at.size == batch.forecasts[0].n_rows else at  # without a copy of each column
        self._codes.add({name: batch.keys[name][some] for name in self._codes})
        self._parts.append(rows)
        self.kept += at.size

    def _chosen(self, rows: SearchedRows) -> Bools:
        return np.asarray(rows.sample.stretch % self._every == 0)

    def _halve(self) -> None:
        """Keep every second stretch."""
        self._every *= 2
        rows, codes = SearchedRows.joined(self._parts), self._codes.joined()
        kept = self._chosen(rows)
        self._parts, self.kept = [rows.at(kept)], int(kept.sum())
        self._codes.update({name: [code[kept]] for name, code in codes.items()})

    def read(self) -> tuple[SearchedRows, dict[str, Ints]]:
        """Return the rows that were kept, and the codes of their columns."""
        if not self.kept:
            raise InputError("no rows to look for dependence in.")
        rows = SearchedRows.joined(self._parts)
        return rows._replace(sample=rows.sample._replace(share=self._share / self._every)), self._codes.joined()
