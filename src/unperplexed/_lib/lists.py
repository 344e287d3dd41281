"""A column of lists, one for each row, as a matrix; and tables that are still to be read, as tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

_READ = ("pandas", "polars", "pyarrow", "xarray")
"""Libraries whose arrays and tables are read as they are."""


def at_hand(data: Any) -> Any:
    """Read what is still to be computed or handed over: a LazyFrame, a reader of record batches, an Arrow stream."""
    kind, name = type(data).__module__.partition(".")[0], type(data).__name__
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
    kind, dtype = type(column).__module__.partition(".")[0], str(getattr(column, "dtype", getattr(column, "type", "")))
    if kind == "pandas" and dtype == "object":
        first = next((value for value in column if isinstance(value, list | tuple | np.ndarray)), None)
        return first is not None and np.ndim(first) == 1
    if kind == "polars":
        return dtype.startswith(("List", "Array"))
    return kind in ("pandas", "pyarrow") and dtype.startswith(("list<", "large_list<", "fixed_size_list<"))
