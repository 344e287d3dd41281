"""A file written anew with other probabilities; its other columns and the order of its rows stay as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, listed
from .._lib.output_files import whole_file
from .._lib.typing import AnyFloats, Floats
from .columns import Plan, check_column, probability_columns
from .file_reading import FileReading, named
from .readers import Batch, Source, Wanted
from .readers.formats import File, format_of, formats, found_files, open_source, separator_of
from .writers import TABLES, Rows, table_writer

Change = Callable[[Batch], Floats]
"""Gives new probabilities, (n, k), of the rows of a batch with k columns of probabilities."""
Progress = Callable[[int, int, int | None], None]


class ForecastFile(Frozen):
    """A file of forecasts without outcomes, to be written anew."""

    file: File
    form: str
    """Its format."""
    source: Source
    plan: Plan
    """Its probability columns, and the labels they were given."""
    reading: FileReading
    messages: list[str] = field(default_factory=list)
    """Sentences that say what was chosen unasked."""
    also: tuple[str, ...] = ()
    """Other columns that a change reads."""
    beside: tuple[Plan, ...] = ()
    """Those of other forecasters in it, which a change reads as well."""

    @property
    def _prob(self) -> list[Sequence[str]]:
        """Probability columns of each forecaster."""
        return [plan.prob for plan in (self.plan, *self.beside)]

    def write(
        self,
        path: Path,
        change: Change,
        new: Sequence[str],
        progress: Progress | None = None,
        done: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Write the file with other probabilities, whole or not at all; return the number of rows.

        Parameters
        ----------
        path : Path
            The new file, in the format that its suffix names: one of `TABLES`.
        change : callable
            Gives the new probabilities of successive rows.
        new : sequence of str
            Names of the new columns. If they are those of the old ones, they replace these; else they are added.
        progress : callable, optional
            Called with the number of rows so far, and how many bytes of how many are behind.
        done : callable, optional
            Called with the number of rows when all are written, before the file takes its place; if it raises an error,
            there is no new file.
        """
        both = [name for name in new if [tuple(new)] != self._prob and name in self.source.names]
        if both:
            raise InputError(f"{self.file.name}: has a column {both[0]!r} already; choose another name (--as).")
        form, rows = TABLES[path.suffix.lower()], 0
        spelled = self._spelled()
        with whole_file(path) as temporary, named(self.file.name):
            with table_writer(temporary, form, *spelled, self._schema()) as write:
                for batch, others in self._batches(form):
                    write(_joined(self.source.names, others, _by_name(change(batch), new, form)))
                    rows += batch.n_rows
                    if progress is not None:
                        progress(rows, batch.position, self.source.size)
            done(rows)
        return rows

    def _spelled(self) -> tuple[str, bool]:
        """Separator of a CSV file, and whether its numbers have decimal commas: both as they were read."""
        text = formats()[self.form].separator is not None
        options = self.reading.written(())
        if self.form != "csv":
            options = replace(options, separator="", decimal_comma=text and options.decimal_comma)
        return separator_of(options, formats()["csv"]), options.decimal_comma

    def _batches(self, form: str) -> Iterator[tuple[Batch, Rows]]:
        """Yield the rows with their other columns, the old probabilities among them."""
        if self.form == "jsonl":
            yield from self._objects(form)
            return
        columns = [name for name in self.source.names if name not in self.source.inside | self.source.folders]
        everything = Wanted(self._prob, raw=[*dict.fromkeys([*columns, *self.also])], cells=self.reading.cells)
        kinds = TextKinds(columns if self.source.untyped and form not in ("csv", "tsv") else ())
        if kinds.names:
            for batch in self.source.batches(Wanted(raw=columns)):
                kinds.add({name: pl.Series(column) for name, column in batch.raw.items()})
        for batch in self.source.batches(everything):
            series = [_series(name, batch.raw[name]) for name in columns]
            yield batch, pl.DataFrame([kinds.typed(each) for each in series] if kinds.names else series)

    def _objects(self, form: str) -> Iterator[tuple[Batch, Rows]]:
        """Yield JSON's objects as they are, or as a frame of the columns that any of them has."""
        from .readers.jsonl import json_rows

        wanted = Wanted(self._prob, raw=self.also, cells=self.reading.cells)
        batches = self.source.batches(wanted)
        if form == "jsonl":
            yield from zip(batches, json_rows(self.file.path, self.reading.encoding), strict=True)
            return
        kinds: dict[str, set[type]] = {}
        for rows in json_rows(self.file.path, self.reading.encoding):
            _see(rows, kinds)
        prob = {name for columns in self._prob for name in columns}
        schema = {name: _json_kind(name, seen) for name, seen in kinds.items() if name not in prob}
        for batch, rows in zip(batches, json_rows(self.file.path, self.reading.encoding), strict=True):
            others = [_json_series(name, kind, rows) for name, kind in schema.items()]
            old: dict[str, Any] = {}
            for names, columns in zip(self._prob, batch.probabilities, strict=True):
                old |= _by_name(columns.rows(slice(None)), names, form)
            yield batch, pl.DataFrame([*others, *(_series(name, values) for name, values in old.items())])

    def _schema(self) -> Any:
        """Types of the columns of a Parquet file and its metadata, which are kept."""
        if self.form != "parquet":
            return None
        import pyarrow as pa
        from pyarrow.parquet import read_schema

        schema, changed = read_schema(self.file.path), {name for columns in self._prob for name in columns}
        fields = [field for field in schema if field.name not in changed]
        return pa.schema(fields, _metadata(schema.metadata or {}, changed))


def forecast_file(name: str, prob: Sequence[str], reading: FileReading, also: Sequence[str] = ()) -> ForecastFile:
    """Open a file of forecasts without outcomes.

    Parameters
    ----------
    name : str
        A file, or ``-`` for standard input.
    prob : sequence of str
        Probability columns, each plain or as label=column; empty where only one column can be meant.
    reading : FileReading
        How it is read.
    also : sequence of str, optional
        Other columns that a change reads.

    Returns
    -------
    ForecastFile

    Raises
    ------
    InputError
        For a file or columns that cannot be read; its message names the file.
    """
    files = found_files([name])
    if len(files) > 1:
        raise InputError(f"{name}: {len(files)} files match; name one, whose rows are written to one file.")
    messages: list[str] = []
    file = files[0]
    with named(file.name):
        options = reading.written([*prob, *also])
        source = open_source(file, reading.format, options, messages.append)
        plan, chosen = probability_columns(prob, source, reading.labels is not None)
        missing = [column for column in also if column not in source.names]
        if len(missing) > 1:
            raise InputError(f"no columns {listed(missing)}; columns: {listed(source.names, 20)}.")
        for column in missing:
            check_column(column, source)
        form = reading.format or format_of(file)
        return ForecastFile(file, form, source, plan, reading, messages + chosen, tuple(also))


def _metadata(kept: Mapping[bytes, bytes], changed: Container[str]) -> dict[bytes, bytes]:
    """Give a Parquet file's metadata; pandas' types of the columns that change are left out."""
    metadata = dict(kept)
    if b"pandas" in metadata:
        pandas = json.loads(metadata[b"pandas"])
        columns = [column for column in pandas.get("columns", ()) if column.get("field_name") not in changed]
        metadata[b"pandas"] = json.dumps(pandas | {"columns": columns}).encode()
    return metadata


def _by_name(found: AnyFloats, new: Sequence[str], form: str) -> dict[str, Any]:
    """New probabilities as columns: one a class, or one of lists where the old ones were lists."""
    if len(new) == found.shape[1]:
        return {name: found[:, at] for at, name in enumerate(new)}
    if form in ("csv", "tsv"):
        raise InputError(f"column {new[0]!r} holds lists, which CSV cannot hold. Write .parquet or .jsonl instead.")
    assert len(new) == 1
    return {new[0]: found}


def _joined(names: Sequence[str], others: Rows, new: Mapping[str, Any]) -> Rows:
    """Put new columns in their places, or behind."""
    if isinstance(others, pl.DataFrame):
        columns = [_missing_as_null(pl.Series(name, values)) for name, values in new.items()]
        known = [name for name in names if name in others.columns]
        return others.select(list(dict.fromkeys([*known, *others.columns]))).with_columns(columns)
    values = {name: _plain(column) for name, column in new.items()}
    return [{**row, **{name: column[at] for name, column in values.items()}} for at, row in enumerate(others)]


def _plain(column: Floats) -> list[Any]:
    """Give numbers, or lists of them, as JSON has them: a missing one is null."""
    objects = column.astype(object)
    objects[np.isnan(column)] = None
    plain: list[Any] = objects.tolist()
    return plain


def _missing_as_null(column: pl.Series) -> pl.Series:
    return column.fill_nan(None) if column.dtype.is_float() else column


def _series(name: str, column: Any) -> pl.Series:
    """Give a column of a batch; rows of a matrix are lists."""
    return (column if isinstance(column, pl.Series) else pl.Series(values=column)).alias(name)


class _Large:
    """Stands for whole numbers that no float may have."""


def _see(rows: Iterable[Mapping[str, Any]], kinds: dict[str, set[type]]) -> None:
    for row in rows:
        for name, value in row.items():
            large = type(value) is int and abs(value) > 1 << 53
            kinds.setdefault(name, set()).add(_Large if large else type(value))


def _json_kind(name: str, seen: set[type]) -> pl.DataType:
    """Type of a column of JSON's values."""
    kinds = seen - {type(None)}
    if kinds & {list, dict}:
        raise InputError(f"column {name!r} holds lists or objects. Write .jsonl, which keeps them.")
    if not kinds or str in kinds or {_Large, float} <= kinds:
        return pl.String()
    if kinds == {bool}:
        return pl.Boolean()
    return pl.Int64() if kinds <= {int, _Large} else pl.Float64() if kinds <= {int, float} else pl.String()


def _json_series(name: str, kind: pl.DataType, rows: Sequence[Mapping[str, Any]]) -> pl.Series:
    values = [row.get(name) for row in rows]
    if isinstance(kind, pl.String):
        values = [value if value is None or isinstance(value, str) else _text(value) for value in values]
    try:
        return pl.Series(name, values, dtype=kind)
    except (OverflowError, TypeError):  # polars has integers of 128 bits, and takes no others for 64
        raise InputError(
            f"column {name!r} holds whole numbers beyond 64 bits. Write .jsonl, which keeps them."
        ) from None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_WHOLE = r"^-?(0|[1-9][0-9]{0,14})$"
_NUMBER = r"^[+-]?(0|[1-9][0-9]{0,14})?(\.[0-9]*)?([eE][+-]?[0-9]+)?$"
_BOOLEAN = r"(?i)^(true|false)$"


class TextKinds:
    """Types of text columns, which are seen part by part before they are converted."""

    def __init__(self, names: Iterable[str]) -> None:
        self._left: dict[str, list[pl.DataType]] = {name: [pl.Int64(), pl.Float64(), pl.Boolean()] for name in names}
        self._empty = set(self._left)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._left)

    def add(self, columns: Mapping[str, pl.Series]) -> None:
        """See a part of each column."""
        for name, column in columns.items():
            text = column.drop_nulls()
            if len(text):
                self._empty.discard(name)
                self._left[name] = [kind for kind in self._left[name] if _all_are(text, kind)]

    def of(self, name: str) -> pl.DataType:
        """Type of a column; one without any value is text."""
        left = [] if name in self._empty else self._left[name]
        return left[0] if left else pl.String()

    def typed(self, column: pl.Series) -> pl.Series:
        """Convert a part of a column to its type."""
        kind = self.of(column.name)
        return column.str.to_lowercase() == "true" if isinstance(kind, pl.Boolean) else column.cast(kind)


def _all_are(text: pl.Series, kind: pl.DataType) -> bool:
    if isinstance(kind, pl.Boolean):
        return bool(text.str.contains(_BOOLEAN).all())
    spelled = text.str.contains(_WHOLE if isinstance(kind, pl.Int64) else _NUMBER)
    return bool(spelled.all()) and not text.cast(kind, strict=False).null_count()
