"""Arrays, lists and data frames as NumPy, without copying what is NumPy already; tables still to be read are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .array_libraries import library_of
from .dataclasses import Frozen
from .errors import InputError
from .typing import AnyFloats, Bools, Floats, Ints


class Unreadable(Frozen):
    """Text among the numbers that is none; as a number it is NaN."""

    texts: Mapping[str, NDArray[np.object_]]
    """By column, the text in each row; None elsewhere."""
    decimal_comma: bool = False
    """Whether numbers were read with decimal commas."""

    def __getitem__(self, rows: slice | Ints) -> Unreadable:
        """Some rows."""
        return Unreadable({name: column[rows] for name, column in self.texts.items()}, self.decimal_comma)

    @property
    def rows(self) -> Bools:
        """Say of each row whether it has such text."""
        return np.asarray(np.logical_or.reduce([column != None for column in self.texts.values()]))  # noqa: E711


class Columns(Frozen):
    """Numbers by row: one matrix, or the columns of a frame, which are joined a block at a time."""

    parts: tuple[NDArray[Any], ...]
    names: tuple[Any, ...] | None
    """Column names, where the source has them."""
    unreadable: Unreadable | None = None
    """Text among them that is no number, if there is any."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.parts[0].shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.parts[0].shape[1]) if self.parts[0].ndim == 2 else len(self.parts)

    def __getitem__(self, rows: slice | Ints) -> Columns:
        """Some rows; those of a slice are not copied."""
        unreadable = None if self.unreadable is None else self.unreadable[rows]
        return Columns(tuple(part[rows] for part in self.parts), self.names, unreadable)

    def rows(self, which: slice | Ints) -> AnyFloats:
        """Rows as a floating matrix in the source's own precision."""
        if self.parts[0].ndim == 2:
            block = self.parts[0][which]
        elif len(self.parts) == 1:
            block = self.parts[0][which, None]
        else:
            block = np.stack([part[which] for part in self.parts], axis=1)
        # float16 holds probabilities but not their arithmetic; integers and longer floats become float64.
        if block.dtype == np.float16:
            return np.take(_halves(), block.view(np.uint16), mode="clip")
        if block.dtype not in (np.float32, np.float64):
            return block.astype(np.float64)
        # Fields of packed records lie where no processor reads floats at once.
        whole = block.flags.aligned and not any(stride % block.itemsize for stride in block.strides)
        return block if whole else block.copy()


def library(data: object) -> str:
    """Name of the package an object comes from: "pandas", "polars", "pyarrow", "numpy", ..."""
    return type(data).__module__.partition(".")[0]


def frame_names(data: Any) -> tuple[Any, ...] | None:
    """Column names of a data frame; None for anything else, and for a frame whose columns were merely numbered."""
    kind = library(data)
    if kind not in ("pandas", "polars", "pyarrow") or len(getattr(data, "shape", ())) != 2:
        return None
    names = tuple(data.column_names if kind == "pyarrow" else data.columns)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the frame has column {twice!r} {names.count(twice)} times; rename one.")
    return None if names == tuple(range(len(names))) else names


def by_forecaster(y_true: Any, forecasts: Any) -> Any:
    """Return forecasts by name, those of a data frame by column; outcomes that are forecasts are refused."""
    if isinstance(y_true, Mapping):
        raise InputError("y_true: got forecasts by name. Outcomes come first, then forecasts.")
    names = frame_names(forecasts)
    if names is None:
        return forecasts
    return dict(zip(names, map(as_array, _columns(forecasts)), strict=True))


@cache
def _halves() -> NDArray[np.float32]:
    """Every float16 as a float32, by its bits: looked up several times as fast as NumPy converts."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)


def as_columns(data: Any, name: str, first_row: int = 0) -> Columns:
    """Read probabilities: a vector, a matrix, or a frame with one column a class."""
    if isinstance(data, Columns):
        return data
    data = at_hand(data)
    names = frame_names(data)
    column = data if names is None else _columns(data)[0] if len(names) == 1 else None
    matrix = None if column is None else matrix_of_lists(column, name, first_row)
    if matrix is not None:
        return Columns((matrix,), None)
    if names is not None:
        series = _columns(data)
        arrays = (numbers(as_array(s), f"column {n!r}", first_row) for s, n in zip(series, names, strict=True))
        return Columns(tuple(arrays), names)
    series_name = getattr(data, "name", None) if library(data) in ("pandas", "polars") else None
    array = as_array(data)
    check_shape(data, array.shape, name)
    array = numbers(array, name, first_row)
    return Columns((array,), (series_name,) if isinstance(series_name, str) and series_name else None)


def check_shape(data: object, shape: tuple[int, ...], name: str) -> None:
    """Refuse probabilities that are neither a vector nor a matrix."""
    if len(shape) not in (1, 2) or shape[1:] == (0,):
        if data is None:
            raise InputError(f"{name}: missing; outcomes come first, then probabilities.")
        kind = f"shape {tuple(shape)}" if shape else type(data).__name__
        raise InputError(f"{name}: expected an array of shape (n,) or (n, classes), got {kind}.")


def _columns(data: Any) -> Sequence[Any]:
    """Columns of a frame."""
    if library(data) == "pandas":
        return [data.iloc[:, i] for i in range(data.shape[1])]
    return list(data.columns if library(data) == "pyarrow" else data.get_columns())


def as_array(data: Any) -> NDArray[Any]:
    """Read one vector or array of any supported kind as NumPy; missing numbers become NaN."""
    if (elsewhere := library_of(data)) is not None:
        data = elsewhere.to_host(data)
    if isinstance(data, np.ndarray) and hasattr(data, "mask"):  # without np.ma, which takes long to load
        # What is masked is missing: tolist gives None for it.
        return np.array(data.tolist(), dtype=object) if data.mask.any() else np.asarray(data)
    if library(data) == "pandas" and hasattr(getattr(data, "dtype", None), "na_value") and data.dtype.kind in "iufb":
        if not data.isna().any():
            return np.asarray(data.to_numpy(dtype=getattr(data.dtype, "numpy_dtype", None)))
        return np.asarray(data.to_numpy(dtype=np.float64, na_value=np.nan))
    if library(data) == "pyarrow" and len(getattr(data, "shape", ())) != 2:
        chunked = hasattr(data, "num_chunks")
        return np.asarray(data.to_numpy() if chunked else data.to_numpy(zero_copy_only=False))
    try:
        return np.asarray(data.to_numpy() if hasattr(data, "to_numpy") else data)
    except ValueError as error:  # rows of different lengths
        raise InputError(f"not an array: its rows have different lengths ({error}).") from None


def numbers(array: NDArray[Any], name: str, first_row: int = 0) -> NDArray[Any]:
    """Numbers of an array, in their own precision; None among them becomes NaN. Errors count rows from first_row."""
    if array.dtype.kind in "fiub":
        return array
    if array.dtype.kind not in "OUS" or array.ndim == 0:
        raise InputError(f"{name}: holds {array.dtype}, not numbers.")
    if array.dtype.kind == "O":
        values = [np.nan if is_missing(value) else value for value in array.ravel().tolist()]
        array = np.fromiter(values, dtype=object, count=len(values)).reshape(array.shape)
    try:
        if any(isinstance(value, str | bytes) and not spells_number(value) for value in array.ravel().tolist()):
            raise ValueError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        rows = enumerate(array.reshape(array.shape[0], -1).tolist())
        wrong = ((row, value) for row, values in rows for value in values if not _is_number(value))
        row, value = next(wrong, (0, None))
        raise InputError(
            f"{name}: not a number at row {first_row + row} (counted from 0): {value!r:.80}. Numbers have a decimal"
            " point and no percent sign."
        ) from None


def spells_number(text: str | bytes) -> bool:
    """Whether text may be a number: Python also reads 0.7_5 and digits of other scripts, which no other reader does."""
    return text.strip().isascii() and (b"_" if isinstance(text, bytes) else "_") not in text  # type: ignore[operator]


def one_number(value: Any) -> float:
    """Read a number; NaN for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return np.nan


def floats(data: Any, name: str, first_row: int = 0) -> Floats:
    """Numbers of any supported kind as float64, without a copy where they are that already."""
    return numbers(as_array(data), name, first_row).astype(np.float64, copy=False)


def plain(values: Any) -> float | Floats:
    """A float for a single number, the array else."""
    return float(values) if np.ndim(values) == 0 else values


def is_missing(value: object) -> bool:
    """Whether a value stands for none: None, or pandas' NA and NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return not isinstance(value, str | bytes) or spells_number(value)


def check_indexes(**inputs: Any) -> None:
    """Refuse pandas inputs whose indexes differ: aligning them silently would pair rows by guess."""
    indexed = [(name, data) for name, data in inputs.items() if library(data) == "pandas" and hasattr(data, "index")]
    for name, data in indexed[1:]:
        first, other = indexed[0]
        if len(data.index) == len(other.index) and not data.index.equals(other.index):
            raise InputError(
                f"{first} and {name}: their pandas indexes differ. Align them first (for example with"
                f" {name}.loc[{first}.index]), or pass .to_numpy() of both if they are in the same order."
            )


def run_starts(numbers: Ints | Floats) -> Ints:
    """Find the first entry of each run of equal numbers, none of which is negative."""
    return np.flatnonzero(np.diff(numbers, prepend=-1))


def distinct(values: Ints) -> Ints:
    """Distinct values in increasing order. `numpy.unique` loads `numpy.ma`, which takes longer than a small file."""
    ordered = np.sort(values)
    return np.append(ordered[:1], ordered[1:][ordered[1:] != ordered[:-1]])


_READ = ("pandas", "polars", "pyarrow", "xarray")
"""Libraries whose arrays and tables are read as they are."""


def at_hand(data: Any) -> Any:
    """Read what is still to be computed or handed over: a LazyFrame, a reader of record batches, an Arrow stream."""
    kind, name = library(data), type(data).__name__
    if kind == "polars" and name == "LazyFrame":
        return data.collect()
    if kind == "pyarrow" and name == "RecordBatchReader":
        return data.read_all()
    if kind == "xarray" and name == "Dataset":
        return _only_variable(data)
    if kind in _READ or not hasattr(data, "__arrow_c_stream__"):
        return data
    import pyarrow

    try:
        return pyarrow.table(data)
    except pyarrow.ArrowInvalid:  # a stream of one column by itself
        return pyarrow.chunked_array(data)


def _only_variable(dataset: Any) -> Any:
    """Read an xarray Dataset of one variable; several are no columns, as each may have dimensions of its own."""
    names = [*dataset.data_vars]
    if len(names) == 1:
        return dataset[names[0]]
    one = f"[{names[0]!r}]" if names else "[NAME]"
    raise InputError(
        f"an xarray Dataset of {len(names)} variables ({', '.join(map(repr, names[:8]))}): pass one of them, such as"
        f" dataset{one}."
    )


def matrix_of_lists(column: Any, name: str, first_row: int) -> NDArray[Any] | None:
    """Lists of a polars, pyarrow or pandas column as the rows of a matrix, NaN for none; None where it holds no lists.

    Raises
    ------
    InputError
        For lists of several lengths, or of anything but numbers.
    """
    if not _holds_lists(column):
        return None
    import polars as pl
    import pyarrow

    try:
        series: Any = pl.Series(values=column)
    except (pyarrow.ArrowException, pl.exceptions.PolarsError, TypeError) as error:
        raise InputError(f"{name}: holds lists of several types, not of numbers ({error}).") from None
    if series.dtype == pl.Array:
        series = series.arr.to_list()
    lengths = series.list.len()
    width = lengths.drop_nulls()[0] if lengths.null_count() < len(lengths) else 1
    wrong = (lengths != width).fill_null(False).arg_true()
    if len(wrong):
        raise InputError(
            f"{name}: the list in row {first_row + wrong[0]} (counted from 0) has {lengths[int(wrong[0])]:,} values,"
            f" those before it have {width:,}. Each row needs one probability for each class."
        )
    if not (series.dtype.inner.is_numeric() or series.dtype.inner == pl.Null):
        raise InputError(f"{name}: holds lists of {series.dtype.inner}, not of numbers.")
    values: NDArray[Any] = series.list.to_array(width).to_numpy()
    return values if values.dtype.kind in "fiu" else values.astype(np.float64)


def _holds_lists(column: Any) -> bool:
    kind, dtype = library(column), str(getattr(column, "dtype", getattr(column, "type", "")))
    if kind == "pandas" and dtype == "object":
        first = next((value for value in column if isinstance(value, list | tuple | np.ndarray)), None)
        return first is not None and np.ndim(first) == 1
    if kind == "polars":
        return dtype.startswith(("List", "Array"))
    return kind in ("pandas", "pyarrow") and dtype.startswith(("list<", "large_list<", "fixed_size_list<"))
