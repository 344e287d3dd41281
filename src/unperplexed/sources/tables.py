"""Columns of files whole in memory: rows that are wanted, with their numbers, for what has to see all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, rows_text
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from .columns import check_column
from .file_reading import FileReading, Partition, named
from .readers import Batch, Column, Wanted
from .readers.numbers import refuse_text
from .row_filter import RowFilter, key_column


class Table(Frozen, eq=False):
    """Wanted rows of files; numbers are NaN where they are missing."""

    matrix: AnyFloats
    """Columns that were to stand side by side, of shape (n, k); k is 0 without any."""
    numbers: dict[str, Floats]
    frame: pl.DataFrame
    """The other columns, as they are."""
    file: Ints
    """Of each row, which of the files it is in."""
    row: Ints
    """Number of each row in its file, from 0."""
    names: Sequence[str]
    """Names of the files."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.row)

    def __getitem__(self, rows: Bools | Ints) -> Self:
        """Some rows."""
        return replace(
            self,
            matrix=self.matrix[rows],
            numbers={name: column[rows] for name, column in self.numbers.items()},
            frame=picked(self.frame, rows),
            file=self.file[rows],
            row=self.row[rows],
        )

    def refuse(self, wrong: Bools, what: str, remedy: str) -> None:
        """Refuse rows that are wrong, of the first file that has any."""
        at = np.flatnonzero(wrong)
        if at.size:
            file = self.file[at[0]]
            rows = self.row[at[self.file[at] == file]]
            raise InputError(f"{self.names[file]}: {what} in {rows_text(rows)}. {remedy}")


def picked(frame: pl.DataFrame, rows: Bools | Ints) -> pl.DataFrame:
    """Some rows of a frame, which may be without columns and so without rows."""
    return frame[np.flatnonzero(rows) if rows.dtype == bool else rows] if frame.width else frame


def read_batches(
    parts: Sequence[Partition], wanted: Wanted, where: RowFilter, reading: FileReading, drop: bool = False
) -> Iterator[Table]:
    """Read columns of files batch by batch, of which each has rows; the rest is as in `read_table`."""
    wanted = replace(wanted, raw=[*dict.fromkeys([*wanted.raw, *where.columns])], cells=reading.cells)
    read, kept, names = 0, 0, [part.name for part in parts]
    for at, part in enumerate(parts):
        with named(part.name):
            for name in wanted.names:
                check_column(name, part.source)
            for batch in part.source.batches(wanted):
                read += batch.n_rows
                found = _rows(at, batch, where, drop, names)
                kept += found.n
                if found.n:
                    yield found
    if not kept:
        raise where.none_of(read) if read else InputError(f"{parts[0].name}: no rows.")


def read_table(
    parts: Sequence[Partition], wanted: Wanted, where: RowFilter, reading: FileReading, drop: bool = False
) -> Table:
    """Read columns of files; text among numbers side by side is refused, or where rows may be dropped is none."""
    kept = [*read_batches(parts, wanted, where, reading, drop)]
    return Table(
        np.concatenate([each.matrix for each in kept]),
        {name: np.concatenate([each.numbers[name] for each in kept]) for name in kept[0].numbers},
        pl.DataFrame({name: _joined([each.frame[name] for each in kept]) for name in kept[0].frame.columns}),
        np.concatenate([each.file for each in kept]),
        np.concatenate([each.row for each in kept]),
        kept[0].names,
    )


def _rows(file: int, batch: Batch, where: RowFilter, drop: bool, names: Sequence[str]) -> Table:
    """Take the wanted rows of a batch."""
    places = where.places(batch.raw)
    rows = slice(0, batch.n_rows) if places is None else places
    refuse_text(batch.unreadable, batch.first_row, places)
    for columns in batch.probabilities if not drop else ():
        refuse_text(columns.unreadable, batch.first_row, places)
    number = np.arange(batch.first_row, batch.first_row + batch.n_rows)[rows]
    sides = [columns.rows(rows) for columns in batch.probabilities]
    return Table(
        sides[0] if sides else np.empty((len(number), 0)),
        {name: _one_a_row(column, name)[rows] for name, column in batch.numbers.items()},
        pl.DataFrame({name: _series(column, name)[rows] for name, column in batch.raw.items()}),
        np.full(len(number), file),
        number,
        names,
    )


def _one_a_row(column: Column, name: str) -> Floats:
    array = np.asarray(column, dtype=np.float64)
    if array.size != len(array):
        raise InputError(f"column {name!r}: expected one number a row, got shape {array.shape}.")
    return array.ravel()


def _series(column: Column, name: str) -> pl.Series:
    """Give a column as a series; one of an array is spelled as keys are."""
    return column if isinstance(column, pl.Series) else key_column(column, name)


def _joined(parts: list[pl.Series]) -> pl.Series:
    """Put the parts of a column together, as text where files have it in different types."""
    if len({part.dtype for part in parts}) > 1:
        parts = [key_column(part, part.name).cast(pl.String) for part in parts]
    return pl.concat(parts)
