"""Sums of values over the cells of two-way tables, of many pairs of columns at once."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from .compiled import kernel as _kernel

F = TypeVar("F", np.float32, np.float64)

_MUCH = 5_000_000
"""Additions that are worth a thread."""


def pair_tables(
    codes: NDArray[np.uint8], sizes: Sequence[int], pairs: Sequence[tuple[int, int]], values: NDArray[F]
) -> list[NDArray[F]]:
    """Return, of each pair of columns, the sums of values over the rows of each cell of their two-way table.

    codes has shape (columns, rows), and those of a column are below its size; values has shape (rows, k), float32 or
    float64. A table has shape (size, size, k). Rows are added in their order, in the precision of the values.
    """
    width = values.shape[1]
    shapes: list[tuple[int, int, int]] = [(sizes[a], sizes[b], width) for a, b in pairs]
    starts = np.cumsum([0, *(first * second * width for first, second, width in shapes)])
    total = np.zeros(starts[-1], values.dtype)
    tables = [part.reshape(shape) for part, shape in zip(np.split(total, starts[1:-1]), shapes, strict=True)]
    if _kernel is None:
        for (a, b), table in zip(pairs, tables, strict=True):
            _add_sparse(codes[a], codes[b], values, table)
    else:
        plan = np.array([(a, b, sizes[b], at) for (a, b), at in zip(pairs, starts[:-1], strict=True)], dtype=np.int64)
        _in_threads(_kernel.pair_tables, np.ascontiguousarray(codes), np.ascontiguousarray(values), plan, total)
    return tables


def _in_threads(
    add: Callable[..., None], codes: NDArray[np.uint8], values: NDArray[F], plan: NDArray[np.int64], total: NDArray[F]
) -> None:
    """Each thread has tables of its own, so that their number changes no digit."""
    threads = max(1, min(os.cpu_count() or 1, len(plan), values.size * len(plan) // _MUCH))
    parts = [np.ascontiguousarray(part) for part in np.array_split(plan, threads)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda part: add(codes, values, part, total), parts))


def _add_sparse(a: NDArray[np.uint8], b: NDArray[np.uint8], values: NDArray[F], table: NDArray[F]) -> None:
    from scipy.sparse import csc_matrix

    n, cells = len(values), table.shape[0] * table.shape[1]
    cell = a.astype(np.int32) * table.shape[1] + b
    indicator = csc_matrix((np.ones(n, values.dtype), cell, np.arange(n + 1)), shape=(cells, n))
    table += (indicator @ values).reshape(table.shape)


def beyond(
    sums: NDArray[np.float32],
    tilt: NDArray[np.float32],
    factor: NDArray[np.float32],
    two: NDArray[np.uint8],
    limit: NDArray[np.float32],
) -> NDArray[np.int64]:
    """Return where scores of rules, times their factor, exceed a limit: places in (2, rules, samples), raveled.

    Parameters
    ----------
    sums : array of shape (rules, 2 * samples)
        Scores of bias, and then those of slopes before their regression on these.
    tilt : array of shape (rules,)
        Coefficient of that regression.
    factor : array of shape (2, rules)
        Of bias and of slope; 0 for one that is not looked at.
    two : array of shape (rules,)
        Whether a rule has two conditions.
    limit : array of shape (2, 2, samples)
        Of rules of one and of two conditions, by bias and slope; not negative.
    """
    if _kernel is not None:
        return np.asarray(_kernel.beyond(sums, tilt, factor, two, limit))
    bias, raw = np.split(sums, 2, axis=1)
    both = np.stack([bias, raw - tilt[:, None] * bias])
    return np.flatnonzero(np.abs(both * factor[..., None]) > limit[two].swapaxes(0, 1))
