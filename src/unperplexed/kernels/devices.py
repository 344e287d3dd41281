"""What is computed from every probability where it is: of tensors and arrays on a device, with what NumPy has as well.

The same as `rows` gives. Of each block its per-row primitives and the counts of cells come to the host, or of few
distinct values these; the probabilities themselves only where NumPy asks for them, and of a row sample those rows.
"""

from __future__ import annotations

import math
import sys
from functools import cached_property
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._lib.array_libraries import Library, dtype_name, library_of
from .._lib.arrays import check_shape
from .._lib.dataclasses import Frozen, replace
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from .rows import PRIMITIVES, CellTotals, Grid, Rows, row_primitives

Scale = Literal["probability", "percent", "logits", "log-probs"]

_FLOATS = {"float64": "float64", "float32": "float32", "float16": "float32", "bfloat16": "float32"}
"""Data types, and in which they are computed."""

BLOCK_ELEMENTS = 1 << 20
"""Probabilities in a block on a device of which all may come to the host."""
COUNTED_ELEMENTS = 1 << 23
"""And in one that is counted there, with temporaries of some thirty bytes for each."""
FUSED_ELEMENTS = 1 << 24
"""And in one that a kernel counts without temporaries."""


class DeviceColumns(Frozen):
    """Probabilities by row, or what they are made of, in an array of another library."""

    array: Any
    library: Library
    computes: bool
    """Whether it is on a device that can compute what is needed."""
    names = None

    def __getitem__(self, rows: slice | Ints) -> DeviceColumns:
        """Some rows."""
        return replace(self, array=self._taken(rows))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.array.shape[0])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return 1 if self.array.ndim == 1 else int(self.array.shape[1])

    @property
    def there(self) -> bool:
        """Whether rows are computed with where they are; else a block at a time comes to the host.

        So does a single column: it is less than the primitives of its rows.
        """
        return self.computes and self.n_columns > 1

    def block(self, which: slice | Ints, scale: Scale) -> DeviceRows:
        """Rows where they are."""
        return DeviceRows(self._taken(which), self.library, scale)

    def rows(self, which: slice | Ints) -> AnyFloats:
        """Rows on the host: as `Columns.rows`."""
        x = self._taken(which)
        with self.library.scope(x):
            return self.library.to_host(_floats(x, self.library))

    def _taken(self, which: slice | Ints) -> Any:
        with self.library.scope(self.array):
            return self.array[which if isinstance(which, slice) else self.library.beside(self.array, which)]

    def block_elements(self, scale: Scale, counted: bool) -> int:
        """How many are read at once."""
        if not counted:
            return BLOCK_ELEMENTS
        return COUNTED_ELEMENTS if _fused(self.array, scale) is None else FUSED_ELEMENTS


def device_columns(data: Any, name: str) -> DeviceColumns | None:
    """Floats on a device, or in a precision that NumPy does not have; None for what it can read in place."""
    if isinstance(data, DeviceColumns):
        return data
    library = library_of(data)
    if library is None or dtype_name(data) not in _FLOATS:
        return None
    here = library.here(data)
    if here and dtype_name(data) != "bfloat16":
        return None
    check_shape(data, tuple(data.shape), name)
    return DeviceColumns(data, library, not here and library.computes(data))


class DeviceRows:
    """A block of rows on a device, where probabilities are made of them. NumPy gets these with np.asarray."""

    def __init__(self, given: Any, library: Library, scale: Scale = "probability") -> None:
        self._given, self._library, self._scale = given, library, scale
        self._kernel = _fused(given, scale)
        self.shape = (int(given.shape[0]), int(given.shape[1]))

    def __len__(self) -> int:
        """Count the rows."""
        return self.shape[0]

    def __getitem__(self, keep: slice | Ints | Bools) -> DeviceRows:
        """Select rows."""
        with self._library.scope(self._given):
            at = keep if isinstance(keep, slice) else self._put(np.flatnonzero(keep) if keep.dtype == bool else keep)
            return DeviceRows(self._given[at], self._library, self._scale)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Probabilities on the host."""
        return self._on_host if dtype is None else self._on_host.astype(dtype)

    @cached_property
    def _on_host(self) -> AnyFloats:
        p = self._probabilities
        with self._library.scope(p):
            return self._library.to_host(p)

    @property
    def given(self) -> AnyFloats:
        """On the host, what probabilities are made of."""
        with self._library.scope(self._given):
            return self._library.to_host(_floats(self._given, self._library))

    @cached_property
    def _probabilities(self) -> Any:
        with self._library.scope(self._given):
            if self._kernel is not None:
                return self._kernel.probabilities(self._given)
            return _probabilities(_floats(self._given, self._library), self._library, self._scale)

    def _put(self, values: NDArray[Any]) -> Any:
        return self._library.beside(self._given, values)

    def primitives(self, truth: Ints, weights: Floats | None = None, into: CellTotals | None = None) -> Rows:
        """Primitives of rows, counted where cells are given: as `row_primitives`."""
        with self._library.scope(self._given):
            happened, w = self._put(truth.astype(np.int64)), None if weights is None else self._put(weights)
            if self._kernel is not None:
                correct, lowest, highest, ties, total, squares = self._kernel.logit_rows(self._given, happened, w, into)
            else:
                correct, lowest, highest, ties, total, squares = self._columns(happened)
        hit = (correct == highest) / np.maximum(ties, 1)
        rows = Rows(correct, np.minimum(lowest, 0), highest, ties.astype(np.int64), hit, total, squares, self.shape[1])
        odd = np.flatnonzero(~rows.usual)
        if odd.size:  # what is wrong with these is for NumPy to say
            in_numpy = row_primitives(np.asarray(self[odd]), truth[odd])
            for name in PRIMITIVES:
                getattr(rows, name)[odd] = getattr(in_numpy, name)
        if into is not None and self._kernel is None:
            self._count(np.flatnonzero(rows.usual), w, into)
        return rows

    def _columns(self, happened: Any) -> NDArray[Any]:
        index = self._put(np.arange(len(self)))
        found = primitives_where_they_are(self._probabilities, index, happened, self._library)
        return np.array(self._library.to_host(self._library.xp.stack(found)))

    def _count(self, rows: Ints, weights: Any, into: CellTotals) -> None:
        p, xp = self._probabilities, self._library.xp
        with self._library.scope(p):
            if rows.size < len(self):
                at = self._put(rows)
                p, weights = p[at], None if weights is None else weights[at]
            code, _ = places(p, self._library, into.grid)
            counts = xp.bincount(code.reshape(-1), self._each(weights), into.grid.size)
            into.total[:] += self._library.to_host(counts)

    def _each(self, weights: Any) -> Any:
        """Weights of rows as those of their probabilities."""
        if weights is None:
            return None
        return self._library.xp.broadcast_to(weights[:, None], (len(weights), self.shape[1])).reshape(-1)

    def distinct(self, weights: Floats | None) -> tuple[Floats, Floats]:
        """Distinct probabilities as a column, and the weight of each."""
        p, xp = self._probabilities, self._library.xp
        with self._library.scope(p):
            flat = p.reshape(-1) + 0.0  # -0.0 is 0
            if weights is None:
                value, count = xp.unique(flat, return_counts=True)
            else:
                value, at = xp.unique(flat, return_inverse=True)
                count = xp.bincount(at.reshape(-1), self._each(self._put(weights)))
            value, count = (self._library.to_host(x).astype(np.float64) for x in (value, count))
        return value[:, None], count

    def divided(self, by: Floats, able: Bools) -> DeviceRows:
        """Rows divided by their sums; those that can be are at most 1 after."""
        p, xp = self._probabilities, self._library.xp
        with self._library.scope(p):
            p = p / self._library.cast(self._put(by), dtype_name(p))[:, None]
            return DeviceRows(xp.where(self._put(able)[:, None] & (p > 1), 1.0, p), self._library)


def _fused(given: Any, scale: Scale) -> ModuleType | None:
    """Find the kernel that takes logits as they are: of tensors, where Triton is installed."""
    torch = sys.modules.get("torch")
    if scale != "logits" or torch is None or not isinstance(given, torch.Tensor):
        return None
    if find_spec("triton") is None:
        return None
    from . import triton as _triton

    return _triton if _triton.takes(given) else None


def _floats(x: Any, library: Library) -> Any:
    """The same in the data type it is computed in."""
    return library.cast(x, _FLOATS[dtype_name(x)])


def _probabilities(x: Any, library: Library, scale: Scale) -> Any:
    """Rows as probabilities: as on the host."""
    xp = library.xp
    if scale == "logits":
        highest = xp.amax(x, 1)[:, None]
        e = xp.exp(x - highest)
        p = library.cast(e, "float64") / _sum(xp, library.cast(e, "float64"))[:, None]
        return xp.where(highest == math.inf, math.inf, p)  # refused as what it is
    if scale == "log-probs":
        return xp.exp(x)
    return x / 100 if scale == "percent" else x


class DevicePrimitives(NamedTuple):
    """Per-row primitives in arrays of another library, in double precision: as those of `Rows`."""

    correct: Any
    lowest: Any
    """The lowest probability, whether or not it is below 0."""
    highest: Any
    ties: Any
    total: Any
    squares: Any

    @property
    def hit(self) -> Any:
        """1/ties if the observed class is one of the highest, else 0."""
        return (self.correct == self.highest) / self.ties


def primitives_where_they_are(p: Any, index: Any, truth: Any, library: Library) -> DevicePrimitives:
    """Compute primitives of rows on their device; ``index`` numbers the rows, ``truth`` has their observed classes.

    Parameters
    ----------
    p : array of shape (n, C)
        Probabilities, of the library.
    index, truth : array of shape (n,)
        0, 1 ... n - 1, and the number of the observed class of each row.
    library : Library
        What the arrays are of.
    """
    xp, cast = library.xp, library.cast
    wide, highest = cast(p, "float64"), xp.amax(p, 1)
    ties = (p == highest[:, None]).sum(1)
    found = p[index, truth], xp.amin(p, 1), highest, ties, _sum(xp, wide), _sum(xp, wide * wide)
    return DevicePrimitives(*(cast(x, "float64") for x in found))


def places(p: Any, library: Library, grid: Grid) -> tuple[Any, Any]:
    """Cell of each probability, and where in it: as `Grid.places`."""
    xp, last = library.xp, grid.size - 1
    upper = p > 0.5
    bits = library.cast(xp.where(upper, 1 - p, p), "float32").view(xp.int32)
    code = (bits >> grid.shift) + 1
    code = xp.where(upper, last - code, code)
    code = xp.where(p == 0, 0, xp.where(p == 1, last, code))
    return code, bits & ((1 << grid.shift) - 1)


def _sum(xp: Any, x: Any) -> Any:
    """Sum rows by halves, in an order that depends on nothing but their length, so that blocks do not matter."""
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        halves = x[:, :half] + x[:, half : 2 * half]
        x = halves if x.shape[1] % 2 == 0 else xp.concatenate([halves, x[:, -1:]], 1)
    return x[:, 0]
