"""Sums of values over the cells of tables of two columns, or three, of many at once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._lib.progress import at_once
from .._lib.typing import AnyFloats, Floats, Ints
from .compiled import kernel as _kernel

F = TypeVar("F", bound="np.floating[Any]")

_MUCH = 5_000_000
"""Additions that are worth a thread."""


def pair_tables(
    codes: Sequence[NDArray[np.uint8]], sizes: Sequence[int], sets: Sequence[tuple[int, ...]], values: NDArray[F]
) -> list[NDArray[F]]:
    """Return, of each set of two or three columns, the sums of values over the rows of each cell of their table.

    codes has those of each column, and those of a column are below its size; values has shape (rows, k), float32 or
    float64. A table has shape (size, size, k) or (size, size, size, k). Rows are added in their order, in the precision
    of the values.
    """
    shapes, plan = _planned(sets, sizes, values.shape[1])
    total = np.zeros(sum(map(math.prod, shapes)), values.dtype)
    tables = [total[at : at + math.prod(shape)].reshape(shape) for shape, at in zip(shapes, plan[:, 5], strict=True)]
    if _kernel is None:
        for columns, table in zip(sets, tables, strict=True):
            _add_sparse([codes[at] for at in columns], values, table)
    else:
        threads = max(1, min(os.cpu_count() or 1, len(plan), values.size * len(plan) // _MUCH))
        given, add = ([*map(np.ascontiguousarray, codes)], np.ascontiguousarray(values)), _kernel.pair_tables
        # Each has tables of its own, so that the number of threads changes no digit.
        at_once(lambda part: add(*given, part, total), np.array_split(plan, threads), threads)
    return tables


def _planned(sets: Sequence[tuple[int, ...]], sizes: Sequence[int], width: int) -> tuple[list[list[int]], Ints]:
    """Return the shapes of tables, and of each its columns (the third -1 of two), later sizes, place and cells."""
    shapes = [[*map(sizes.__getitem__, of), width] for of in sets]
    each = zip(sets, shapes, np.cumsum([0, *map(math.prod, shapes)])[:-1], strict=True)
    plan = [[*of, *[-1][len(of) - 2 :], *shape[1:3], at, math.prod(shape[:-1])] for of, shape, at in each]
    return shapes, np.array(plan, dtype=np.int64)


def all_pair_tables(
    codes: Sequence[NDArray[np.uint8]], sizes: Sequence[int], values: AnyFloats
) -> list[Iterator[tuple[tuple[int, int], Floats]]]:
    """Return iterators over pairs of columns with their tables, as `pair_tables` gives them but for rounding.

    In half the time: rows are added to tables of three columns, whose places add up to a multiple of their number, so
    that each pair is in one.
    """
    n = len(codes)
    sets: list[tuple[int, ...]] = sorted({tuple(sorted({i, j, -(i + j) % n})) for i, j in combinations(range(n), 2)})
    return [*map(_pairs_of, sets, pair_tables(codes, sizes, sets, values))]


def _pairs_of(columns: Sequence[int], table: AnyFloats) -> Iterator[tuple[tuple[int, int], Floats]]:
    wide = table.astype(np.float64)
    for a, b in combinations(range(len(columns)), 2):
        others = tuple({*range(len(columns))} - {a, b})
        yield (columns[a], columns[b]), wide.sum(axis=others)


def _add_sparse(codes: Sequence[NDArray[np.uint8]], values: NDArray[F], table: NDArray[F]) -> None:
    from scipy.sparse import csc_matrix

    n, cell = len(values), np.ravel_multi_index(codes, table.shape[:-1])
    shape = math.prod(table.shape[:-1]), n
    indicator = csc_matrix((np.ones(n, values.dtype), cell, np.arange(n + 1)), shape=shape)
    table += (indicator @ values).reshape(table.shape)


def beyond(
    table: NDArray[np.float32],
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    tilt: NDArray[np.float32],
    most: NDArray[np.float32],
    least: NDArray[np.float32],
    limit: NDArray[np.float32],
    farthest: float,
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32]]:
    """Return which scores of rules may exceed a limit, as their roots do that lie between them times two factors.

    Places in (2, rules, samples), raveled, with the sums of residuals and of these times the log-odds. A score need not
    be there if the root of another one of its kind exceeds it.

    Parameters
    ----------
    table : array of shape (bins, bins, 2 * samples)
        Of two columns: sums of residuals, and then of these times the log-odds.
    a, b : array of shape (conditions, bins)
        Whether conditions hold.
    tilt : array of shape (rules,)
        Coefficient of the regression of scores of slopes on those of bias.
    most, least : array of shape (2, rules)
        Factors of bias and of slope; ``most`` is 0 for a score that is not looked at.
    limit : array of shape (2, 2, samples)
        Of rules of one and of two conditions, by bias and slope; not negative.
    farthest : float
        Root up to which the factors hold.
    """
    if _kernel is not None:
        found: tuple[NDArray[Any], ...] = _kernel.beyond(table, a, b, tilt, most, least, limit, farthest)
        return found[0], found[1], found[2]
    bias, raw = np.split(np.matmul(b, np.tensordot(a, table, 1)).reshape(len(tilt), -1), 2, axis=1)
    two = np.outer(np.arange(len(a)) > 0, np.arange(len(b)) > 0).astype(np.int64).ravel()
    scores = np.abs([bias, raw - tilt[:, None] * bias])
    slope, rule, sample = np.nonzero(scores * most[..., None] > limit[two].swapaxes(0, 1))
    return np.ravel_multi_index((slope, rule, sample), scores.shape), bias[rule, sample], raw[rule, sample]


def strongest(
    table: NDArray[np.float64],
    a: NDArray[np.float32],
    b: NDArray[np.float32],
    known: NDArray[np.float32],
    share: float,
    least_new: float,
) -> NDArray[np.float64] | None:
    """Return the largest |root| of rules by bias and slope, of one and two conditions: (2, 2); None without the kernel.

    Parameters
    ----------
    table : array of shape (bins, bins, 2 + 2 k)
        Of two columns: sums of residuals, of these times the log-odds, and of k functions, and of these times the same.
    a, b : array of shape (conditions, bins)
        Whether conditions hold.
    known : array of shape (9, rules)
        Known moments, as `RuleMoments.packed` gives them.
    share : float
        Of the rows of which they are known.
    least_new : float
        Share of a variance that is left, at least.
    """
    if _kernel is None:
        return None
    out = np.zeros(4)
    _kernel.strongest(table, a, b, known, share, least_new, out)
    return out.reshape(2, 2)
