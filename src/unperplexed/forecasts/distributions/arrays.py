"""Numbers of predictive distributions and outcomes, read from arrays, lists, data frames and xarray, and checked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..._lib.arrays import Columns, as_array, as_columns, at_hand, library, numbers
from ..._lib.errors import InputError, rows_text
from ..._lib.typing import AnyFloats, Bools, Floats

BLOCK = 4_096
"""Rows at a time, which stay in cache."""


FARTHEST = np.float64(1e100)
"""Numbers that are larger in size are refused."""


def matrix(data: Any, name: str, each: str, dimension: str) -> tuple[AnyFloats, tuple[Any, ...] | None]:
    """Read one row a forecast and one column for each of something; also the names of the columns, where they have any.

    Parameters
    ----------
    data : array_like, data frame or xarray.DataArray
        Numbers; text is refused.
    name : str
        What errors call them.
    each : str
        What a column stands for: "member".
    dimension : str
        The dimension of an xarray.DataArray that holds the columns.
    """
    data = at_hand(data)
    if library(data) == "xarray":
        data, names = _turned(data, name, dimension)
        found = Columns((numbers(as_array(data), name),), names)
    elif library(data) in ("pandas", "polars", "pyarrow"):
        found = as_columns(data, name)
    else:
        array = np.empty(()) if data is None or isinstance(data, str) else as_array(data)
        if array.ndim not in (1, 2):
            raise InputError(f"{name}: expected shape (n, {each}s), one row a forecast, got shape {array.shape}.")
        found = Columns((numbers(array, name),), None)
    values = found.rows(slice(None))
    if not values.size:
        raise InputError(f"{name}: no rows.")
    return values.reshape(len(values), -1), found.names


def _turned(data: Any, name: str, dimension: str) -> tuple[Any, tuple[Any, ...] | None]:
    """Put the dimension of the columns last, and take its coordinates as their names."""
    if dimension not in data.dims or data.ndim != 2:
        expected = f"an xarray.DataArray of two dimensions, one of them {dimension!r}, got {data.dims}"
        remedy = f'Stack the others: data.stack(row=[d for d in data.dims if d != "{dimension}"]).'
        raise InputError(f"{name}: expected {expected}. {remedy}")
    names = tuple(data[dimension].values.tolist()) if dimension in data.coords else None
    return data.transpose(..., dimension), names


def vector(data: Any, name: str, what: str, n: int | None = None, *, missing: bool = False) -> Floats:
    """Read one finite number for each forecast.

    Parameters
    ----------
    data : array_like of shape (n,)
        The numbers.
    name : str
        What errors call them.
    what : str
        What one of them is: "outcome".
    n : int, optional
        How many there have to be.
    missing : bool, default False
        Whether some may be missing, as NaN.
    """
    array = np.empty(()) if data is None else numbers(as_array(at_hand(data)), name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{name}: expected one {what} a forecast, shape (n,), got shape {array.shape}.")
    if n is not None and len(array) != n:
        raise InputError(f"{name}: expected one {what} a forecast, shape ({n:,},), got shape {array.shape}.")
    values = array.astype(np.float64, copy=False)
    if not missing:
        refuse_rows(np.isnan(values), name, f"no {what}", "Leave out these rows and their forecasts.")
    refuse_far(values[:, None], name, what, "Leave out these rows and their forecasts.")
    return values


def refuse_rows(wrong: Any, name: str, what: str, remedy: str) -> None:
    """Refuse input of which some rows are wrong, a boolean for each."""
    rows = np.flatnonzero(wrong)
    if rows.size:
        raise InputError(f"{name}: {what} in {rows_text(rows)}. {remedy}")


def refuse_far(values: AnyFloats, name: str, what: str, remedy: str) -> None:
    """Refuse rows in which a number is infinite, or so large that its powers are."""
    far = by_block(values, lambda some: np.abs(some) > FARTHEST)
    refuse_rows(far, name, f"an infinite {what}, or one beyond {FARTHEST:g},", remedy)


def by_block(values: AnyFloats, test: Callable[[AnyFloats], Any]) -> Bools:
    """Say of each row whether something in it passes a test, which takes some rows."""
    found = np.empty(len(values), dtype=bool)
    for at in range(0, len(values), BLOCK):
        found[at : at + BLOCK] = test(values[at : at + BLOCK]).any(axis=1)
    return found


_CODES = (-99, -999, -9999)
"""Numbers that mark missing values in many files."""


def questions(values: AnyFloats, what: str) -> list[str]:
    """Ask whether numbers that are far below all others mark missing values."""
    if not (values <= max(_CODES)).any():
        return []
    others = values[~np.isin(values, _CODES) & np.isfinite(values)]
    far = 2 * others.min() - others.max() if others.size else 0.0
    found = ((code, np.flatnonzero(by_block(values, partial(np.equal, code)))) for code in _CODES if code < far)
    ask = "far below all others. Does it mark missing values? If so, leave such rows out (--na {} --invalid drop)."
    return [f"{what}: {code} in {rows_text(rows)}, {ask.format(code)}" for code, rows in found if rows.size]


def closed(values: Any) -> Any:
    """Give an array, without a copy, as one that cannot be written to."""
    view = np.asarray(values).view()
    view.setflags(write=False)
    return view
