"""Which group each row is in, by the values of one or more columns."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.arrays import as_array, library
from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, listed, rows_text
from .._lib.formatting import number_of, printable, short_names
from .._lib.typing import Ints
from .labels import Coded, Label, coded, distinct_labels, label_array, plain

Value = Label | None
"""What a group has in a column: None where nothing is there."""

Key = tuple[Value, ...]
"""What a group has in each column."""


class RowKeys(Frozen):
    """The groups that occur, and which of them each row is in."""

    names: tuple[str, ...]
    """Names of the columns."""
    keys: list[Key]
    group: Ints

    def groups(self) -> Iterator[tuple[Key, Ints]]:
        """Each group with the places of its rows, in order."""
        ends = np.cumsum(np.bincount(self.group, minlength=len(self.keys)))
        return zip(self.keys, np.split(np.argsort(self.group, kind="stable"), ends)[:-1], strict=True)


def row_keys(by: Any, n_rows: int) -> RowKeys:
    """Read the columns that rows are grouped by: an array, several by name, or a data frame."""
    columns = columns_of(by)
    group = np.zeros(n_rows, dtype=np.int64)
    keys: list[Key] = [()]
    for name, column in columns.items():
        labels, which = _coded(column, name).distinct()
        if which.size != n_rows:
            rows = number_of(which.size, "row")
            raise InputError(f"by: column {name!r} has {rows}, the forecasts {n_rows:,}; each needs one.")
        found, group = np.unique(group * max(len(labels), 1) + which, return_inverse=True)
        before, last = np.divmod(found, max(len(labels), 1))
        keys = [(*keys[i], labels[j]) for i, j in zip(before.tolist(), last.tolist(), strict=True)]
    return RowKeys(tuple(columns), keys, group)


def cluster_columns(clusters: Any, n_rows: int | None = None, name: str = "clusters") -> list[NDArray[Any]]:
    """Columns that say which rows belong together, of so many rows: those of an array of shape (n, k) too."""
    arrays = [as_array(column) for column in columns_of(clusters, name).values()]
    for array in arrays:
        if array.ndim not in (1, 2) or (array.ndim == 2 and not array.shape[1]):
            raise InputError(f"{name}: expected one a row, got shape {array.shape}.")
    columns = [column for array in arrays for column in (array.T if array.ndim == 2 else [array])]
    sizes = {column.size for column in columns}
    if len(sizes) > 1:
        raise InputError(f"{name}: columns of {listed(sorted(sizes))} rows; each row needs a value in all of them.")
    if n_rows not in (None, *sizes):
        raise InputError(f"{name}: expected one for each of the {n_rows:,} rows, got {columns[0].size:,}.")
    return columns


def distinct_clusters(column: NDArray[Any], first_row: int = 0, name: str = "clusters", of: str = "") -> Coded:
    """Clusters that occur in a column, and which of them each row is in; an InputError if a row has none.

    Where it is a column of this name (``of``), the error says how rows without a cluster are left out.
    """
    found = distinct_labels(column)
    missing = [at for at, value in enumerate(found.labels) if value is None]
    if missing:
        rows = first_row + np.flatnonzero(np.isin(found.inverse, missing))
        out = f", or leave out rows without one: --where '\"{of}\" IS NOT NULL'" if of and ":" not in of else ""
        raise InputError(f"{name}: none in {rows_text(rows)}. Repair them{out}.")
    return found


def cluster_numbers(clusters: Any, n_rows: int, name: str = "clusters") -> Ints:
    """Number of each row's cluster, from 0: rows with the same values in all columns are one cluster."""
    number = np.zeros(n_rows, dtype=np.int64)
    for column in cluster_columns(clusters, n_rows, name):
        values, inverse = distinct_clusters(column, name=name)
        number = np.unique(number * len(values) + inverse, return_inverse=True)[1]
    return number


def cluster_ways(clusters: Any, n_rows: int) -> list[Any]:
    """Give the ways in which rows are in clusters: those of a list of columns, else one; none for None."""
    if clusters is None:
        return []
    several = isinstance(clusters, list | tuple) and clusters and all(_is_way(each, n_rows) for each in clusters)
    return list(clusters) if several else [clusters]


def _is_way(value: Any, n_rows: int) -> bool:
    """Whether this is a column of the rows, or several; not the value of one row."""
    if isinstance(value, str | bytes):
        return False
    return isinstance(value, Mapping) or (hasattr(value, "__len__") and len(value) == n_rows)


def columns_of(by: Any, name: str = "by") -> dict[str, Any]:
    """Columns by name; one that has none is called "group"."""
    if isinstance(by, Mapping):
        columns = {str(name): column for name, column in by.items()}
    elif library(by) in ("pandas", "polars", "pyarrow") and len(getattr(by, "shape", ())) == 2:
        names = by.column_names if library(by) == "pyarrow" else list(by.columns)
        given = [by.iloc[:, at] if library(by) == "pandas" else by[name] for at, name in enumerate(names)]
        columns = dict(zip(map(str, names), given, strict=True))
        if len(columns) < len(names):
            raise InputError(f"{name}: the frame has a column twice among {listed(names)}; rename one.")
    else:
        columns = {str(getattr(by, "name", None) or "group"): by}
    if not columns:
        raise InputError(f"{name}: no column to group by.")
    return columns


def _text(column: Any) -> Any:
    """A polars column of text; None for anything else."""
    if library(column) != "polars":
        return None
    import polars as pl

    return column.cast(pl.String) if column.dtype in (pl.String, pl.Categorical, pl.Enum) else None


def _coded(column: Any, name: str) -> Coded:
    """Tell a column's values apart."""
    text = _text(column)
    if text is not None:
        found = coded(text)
    else:
        array = label_array(column)
        if array.ndim != 1:
            told = "the values themselves, not the name of a column" if array.ndim == 0 else "one value a row"
            columns = "; several columns are given by name, {name: values}" if array.ndim == 2 else ""
            raise InputError(f"by: expected {told}{columns}; {name!r} has shape {array.shape}.")
        try:
            found = distinct_labels(array)
        except InputError as error:
            raise InputError(f"by: column {name!r}: {str(error).replace('labels are', 'expected', 1)}") from None
    return Coded([value_of(label) for label in found.labels], found.inverse)


def value_of(label: Any) -> Value:
    """Give a value as it stands in keys: the same from every format, such as CSV, in which all is text.

    A text is the number that Python would write so, and none where it is empty.
    """
    label = plain(label)
    if not isinstance(label, str):
        return label  # type: ignore[no-any-return]
    for number in (int, float):
        with suppress(ValueError):
            if label[-1:].isdigit() and str(number(label)) == label:
                return plain(number(label))  # type: ignore[no-any-return]
    return label or None


def in_order(keys: Sequence[Key]) -> list[Key]:
    """Sort keys by the first column, then by the next: numbers, then texts in natural order, what is missing last.

    In natural order "48 h" comes before "120 h": the whole numbers in texts are compared as numbers.
    """
    return sorted(keys, key=lambda key: [(value is None, isinstance(value, str), _natural(value)) for value in key])


def _natural(value: Value) -> Any:
    if not isinstance(value, str):
        return value or 0
    return [int(part) if at % 2 else part for at, part in enumerate(re.split(r"([0-9]+)", value))], value


ALL_ROWS, _MISSING = "all rows", "(missing)"


def key_text(key: Key, by: Sequence[str] = ()) -> str:
    """Name a group in one line; ``by`` names the columns, of which one made as "date:month" has the months' names."""
    return ", ".join(map(_value_text, key, by or [""] * len(key)))


def key_texts(keys: Iterable[Key], most: int = 28, by: Sequence[str] = ()) -> list[str]:
    """Name groups in short lines, each another one."""
    return short_names((key_text(key, by) for key in keys), most)


def _value_text(value: Value, column: str = "") -> str:
    """Give a value as it is; quoted where it has spaces at its ends, or reads like a word of the table's own."""
    if value is None:
        return _MISSING
    if column.endswith(":month") and value in range(1, 13):
        return f"{date(2000, int(value), 1):%B}"
    text = printable(str(value))
    return f'"{text}"' if text != text.strip() or text in (ALL_ROWS, _MISSING) else text


_HEAD = 1000
"""Values of a column, read in parts the first of each, that tell whether its numbers have fractions."""


class ColumnCodes(dict[str, list[Ints]]):
    """Whole numbers for the values of columns that are read in parts, equal ones for equal values, also missing ones.

    Whole numbers and dates keep their order; others are in the order of their hashes, which says nothing. Lists, and
    numbers with fractions, tell no groups: their columns are left out.
    """

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__({name: [] for name in names})

    def add(self, columns: Mapping[str, Any]) -> None:
        """Read the next values of each column: polars series, or arrays."""
        for name in [*self]:
            code = _code(columns[name])
            if code is None:
                del self[name]
            else:
                self[name].append(code)

    def joined(self) -> dict[str, Ints]:
        """Return the codes of all values."""
        return {name: parts[0] if len(parts) == 1 else np.concatenate(parts) for name, parts in self.items() if parts}


def _code(column: Any) -> Ints | None:
    import polars as pl

    try:
        array = column if library(column) == "polars" else as_array(column)
        values = pl.Series(array.tolist() if array.dtype == object else array, strict=False)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None
    if values.dtype in (pl.Categorical, pl.Enum):  # whose parts may be numbered differently
        values = values.cast(pl.String)
    if values.dtype in (pl.Binary, pl.Object) or values.dtype.is_nested():
        return None
    if values.dtype == pl.String or values.dtype.is_float() or values.dtype.is_decimal():
        some = values.drop_nulls().head(_HEAD)
        some = some.str.replace(",", ".", literal=True) if some.dtype == pl.String else some  # a decimal comma
        numbers = some.cast(pl.Float64, strict=False)
        if not numbers.null_count() and (numbers != numbers.floor()).any():
            return None
    whole, code = values.cast(pl.Int64, strict=False), values.hash().to_numpy().view(np.int64)
    ordered = (whole.cast(values.dtype, strict=False) == values).fill_null(False).to_numpy()
    return np.where(ordered, whole.fill_null(0).to_numpy(), code)


N_SHARDS = 1000
"""Number of shards: random parts of the rows of a tally."""


def shards_of_rows(source: str, rows: Ints) -> Ints:
    """Shard of each row by its number in a source."""
    start = _mixed(np.array([zlib.crc32(source.encode(errors="surrogatepass"))], dtype=np.uint64))
    return shard_of(_mixed(rows.astype(np.uint64) + start))


def hashes_of_clusters(clusters: Any, first_row: int = 0) -> NDArray[np.uint64]:
    """Hash of each row's cluster: numbers or texts in one column or several; 3, 3.0, "3" and "3.0" are the same."""
    columns = cluster_columns(clusters)
    names = [*clusters] if isinstance(clusters, Mapping) and len(clusters) == len(columns) else [""] * len(columns)
    first, *others = (_hashes(*each, first_row) for each in zip(columns, map(str, names), strict=True))
    mixed = _mixed(first)
    for each in others:
        mixed = _mixed(mixed + each)
    return mixed


def _hashes(column: NDArray[Any], name: str, first_row: int) -> NDArray[np.uint64]:
    """Hash of each row's value in a column."""
    if column.dtype.kind in "iub":
        return column.astype(np.int64).view(np.uint64)
    values, inverse = distinct_clusters(column, first_row, of=name)
    return np.asarray(np.array([_hash(value) for value in values], dtype=np.uint64)[inverse])


_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,18}")


def _hash(value: Any) -> int:
    text = str(value_of(value))
    if _WHOLE_NUMBER.fullmatch(text) and -(2**63) <= int(text) < 2**63:
        return int(text) % 2**64
    return zlib.crc32(text.encode(errors="surrogatepass")) | 1 << 40


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread numbers over all 64 bits: the finalizer of splitmix64 (Steele, Lea and Flood 2014)."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def shard_of(x: NDArray[np.uint64]) -> Ints:
    """Shard that a hash is in."""
    return (x % np.uint64(N_SHARDS)).astype(np.int64)
