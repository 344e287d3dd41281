"""Cells of like rows of predictive distributions: counts and sums of whole numbers, the same in any order and split.

A cell has the place of the outcome, between two normal scores, and the predicted level, spread and weight. Each of
these is a whole number of fixed units, of which a coarser grid drops the last bits; no grid depends on the data. Rows
are on the first grid of `_GRIDS` of which they occupy few enough cells. A coarser grid has each cell of a finer one in
one cell, and more rows never occupy fewer cells, so that this grid depends on all rows together, not on their order.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .._lib.dataclasses import dataclass
from .._lib.errors import is_whole
from .._lib.typing import Floats, Ints
from ..forecasts.distributions.pit_rows import BARS, COVERED, PitRows
from ..statistics.normal_scores import cell_means, numbered
from .limits import require

MOST_CELLS = 1 << 14
"""Cells that are kept, but for spreads that range over hundreds of powers of two."""

BITS = 23
"""Levels, spreads and weights are whole multiples of 2**-23 of a power of two."""

UNIT = 1 << 24
"""Normal scores, means and information are summed in units of 2**-24, exactly up to 2**30 rows."""

_FARTHEST, _FINEST = 37, 5
"""Normal scores of points are bounded by the first; they are told apart by 2**-5."""

_AT_LEVEL = 1e-10
"""Normal scores that are larger by less than this are those of a level."""

_OCTAVES, _WEIGHTS = 300, 340
"""Spreads and weights are between such powers of two."""

_MOST_PLACES = 1 << 62
"""Below this numbers do not overflow."""

_HIGHEST = 2.0**600
"""Levels are between this and its negative."""

_ONE = _WEIGHTS + 1 << BITS
"""Code of a weight of 1, from which those of others are counted."""

_TRIANGLE = np.triu_indices(4)
"""Entries of a symmetric matrix."""

_SQUARE = np.zeros((4, 4), dtype=np.int64)
_SQUARE[_TRIANGLE] = _SQUARE.T[_TRIANGLE] = np.arange(len(_TRIANGLE[0]))
"""Where each entry of the matrix is among them."""

N_KEYS, N_SUMS = 6, 10 + len(_TRIANGLE[0])
"""Whole numbers that name a cell, and sums in it."""


class _Grid(NamedTuple):
    """How fine a grid is."""

    scores: int
    """Normal scores are told apart by this negative power of two, or only by the usual levels."""
    level: int
    """Bits that are dropped of the level."""
    spread: int
    """Bits that are dropped of the spread; all but the power of two at most, in units of which levels are."""

    @property
    def weight(self) -> int:
        """Bits that are dropped of the weight."""
        return max(self.spread - 2, 0) if self.scores >= 0 else BITS


_GRIDS = (
    *(_Grid(_FINEST, drop, min(drop + 3, BITS) if drop else 0) for drop in range(BITS - 1)),
    *(_Grid(scores, BITS - kept, BITS) for scores, kept in ((4, 2), (4, 1), (3, 1), (3, 0), (2, 0), (2, -1), (1, -1))),
    *(_Grid(-_FARTHEST, BITS - kept, BITS) for kept in (-1, -2, -4, -12)),
)
"""Grids, the finest first."""


class Cells(NamedTuple):
    """Cells in order of their keys."""

    grid: int
    """Which of `_GRIDS` they are on."""
    keys: Ints
    """Of shape (6, k): upper edges of the ends, flags, spread, level, weight."""
    sums: Ints
    """Of shape (20, k): rows, both ends, level, spread, weight, means of the four directions, and what information
    has beyond that of the form."""


NO_CELLS = Cells(0, np.zeros((N_KEYS, 0), dtype=np.int64), np.zeros((N_SUMS, 0), dtype=np.int64))


@dataclass(frozen=True)
class Places:
    """Normal scores by which outcomes are told apart: the ends of a form's own cells, or a fixed grid."""

    own: tuple[float, ...] | None
    """Shares that bound the cells of a form, if they are told apart by these."""

    @property
    def edges(self) -> Floats:
        """Normal scores, from -inf to inf."""
        return _fixed() if self.own is None else np.asarray(ndtri(self.own))

    def of(self, z: Floats) -> Ints:
        """Return the first edge from each normal score on."""
        return np.searchsorted(self.edges + _AT_LEVEL, z)

    def kept(self, grid: int) -> Ints:
        """Return for each edge the first one from it on that a grid has."""
        return np.arange(len(self.edges)) if self.own is not None else _kept(_GRIDS[grid].scores)


@cache
def _levels() -> Floats:
    """Normal scores of the levels that bound bars of the histogram and usual intervals."""
    ends = (1 + np.array([*COVERED, *(-x for x in COVERED)])) / 2
    return np.asarray(ndtri(np.unique([*ends, *np.arange(BARS + 1) / BARS])))


@cache
def _fixed() -> Floats:
    even = np.arange(-_FARTHEST << _FINEST, (_FARTHEST << _FINEST) + 1) / (1 << _FINEST)
    return np.unique([*even, *_levels()])


@cache
def _kept(scores: int) -> Ints:
    edges, scaled = _fixed(), np.ldexp(_fixed(), scores)
    known = np.isin(edges, _levels()) | (scaled == np.rint(scaled)) | (np.abs(edges) == _FARTHEST)
    places = np.flatnonzero(known)
    return places[np.searchsorted(places, np.arange(len(edges)))]


def cells_of(rows: PitRows, places: Places, information: Ints, grid: int = 0) -> Cells:
    """Count rows, whose levels and spreads are not scaled, into cells.

    Parameters
    ----------
    rows : PitRows
        The rows.
    places : Places
        By which outcomes are told apart.
    information : array of int, shape (10,)
        That of the form, in units.
    grid : int, default 0
        The finest grid that is tried.
    """
    n = rows.n
    low, high = (np.where(rows.point, np.clip(z, -_FARTHEST, _FARTHEST), z) for z in (rows.low, rows.high))
    spread = _powers(np.zeros(n) if rows.log_spread is None else rows.log_spread)
    median = np.zeros(n) if rows.level is None else np.clip(rows.level, -_HIGHEST, _HIGHEST)
    level = _coded(np.ldexp(median, -(spread >> BITS)))
    weight = np.zeros(n, dtype=np.int64) if rows.weight is None else _coded(np.ldexp(rows.weight, _WEIGHTS)) - _ONE
    ends = [_units(np.where(np.isfinite(z), z, 0.0)) for z in (low, high)]
    beyond = in_units(rows.information) - information[:, None]
    keys = np.stack([places.of(low), places.of(high), 2 * rows.impossible + rows.point, spread, level, weight])
    sums = np.stack([np.ones(n, dtype=np.int64), *ends, level, spread, weight, *_units(cell_means(low, high).T)])
    return together([Cells(grid, keys, np.concatenate([sums, beyond[:, rows.pattern]]))], places)


def together(parts: list[Cells], places: Places) -> Cells:
    """Add up cells, on the first grid of which few enough are occupied."""
    grid = max(each.grid for each in parts)
    keys, sums = (np.concatenate(each, axis=1) for each in list(zip(*parts, strict=True))[1:])
    if not keys.size:
        return NO_CELLS

    def fits(grid: int) -> bool:
        return np.unique(_places_in_order(coarse(keys, grid, places), grid)).size <= MOST_CELLS

    if not fits(grid):
        others = range(grid + 1, len(_GRIDS) - 1)
        grid += 1 + bisect_left(others, True, key=fits)
    keys = coarse(keys, grid, places)
    number = _places_in_order(keys, grid)
    order = np.argsort(number, kind="stable")
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    return Cells(grid, keys[:, order[first]], np.add.reduceat(sums[:, order], first, axis=1))


def _places_in_order(keys: Ints, grid: int) -> Ints:
    """Return a number for each key that rises with it, from the first column on."""
    low, high, flags, spread, level, weight = keys
    of, number, size = _GRIDS[grid], np.zeros(len(low), dtype=np.int64), 1
    columns = (low, high - low, flags, spread >> of.spread, level >> of.level, weight >> of.weight)
    for column in columns:
        least, most = int(column.min()), int(column.max())
        size *= most - least + 1
        number = number * (most - least + 1) + (column - least)
    return number if size < _MOST_PLACES else numbered(*columns)[0]


def coarse(keys: Ints, grid: int, places: Places) -> Ints:
    """Return keys on a grid, from those on it or on a finer one."""
    kept, of = places.kept(grid), _GRIDS[grid]
    low, high, flags, spread, level, weight = keys
    some = (kept[low], kept[high], flags, _dropped(spread, of.spread), _dropped(level, of.level))
    return np.stack([*some, _dropped(weight, of.weight)])


def check(cells: Cells, places: Places) -> None:
    """Refuse cells of a file that cannot be."""
    require(is_whole(cells.grid, 0, len(_GRIDS) - 1), "there is no such grid")
    low, high, flags, spread, level, weight = cells.keys
    require((low >= 0).all() and (low <= high).all() and (high < len(places.edges)).all(), "an end is out of range")
    require((flags >= 0).all() and (flags < 4).all(), "a flag is not known")
    require((coarse(cells.keys, cells.grid, places) == cells.keys).all(), "cells are not on their grid")
    require(not low.size or (np.diff(_places_in_order(cells.keys, cells.grid)) > 0).all(), "cells are out of order")
    count, sums = cells.sums[0], cells.sums[1:]
    require((count > 0).all() and (count < 1 << 30).all(), "a count is no count")
    of, mean = _GRIDS[cells.grid], sums / count
    for found, key, bits in zip(mean[2:5], (level, spread, weight), (of.level, of.spread, of.weight), strict=True):
        require((np.abs(key) < 1 << 40).all(), "a key is out of range")
        require((found >= key).all() and (found < key + (1 << bits)).all(), "a sum is not of its cell")
    require((np.abs(np.delete(mean, (2, 3, 4), 0)) < UNIT << 9).all(), "a sum is out of range")


def rows_of(cells: Cells, places: Places, information: Ints, bounds: Sequence[float], weighted: bool) -> PitRows:
    """Return cells as rows that were counted together.

    Parameters
    ----------
    cells : Cells
        The cells.
    places, information
        As for `cells_of`.
    bounds : sequence of four floats
        Least and largest level, and spread; none where neither is known.
    weighted : bool
        Whether rows have weights.
    """
    low, high, flags, spread, _, _ = cells.keys
    count = cells.sums[0].astype(np.float64)
    mean = cells.sums[1:] / count
    point = flags % 2 == 1
    low, high = (_ends(places, key, each / UNIT) for key, each in ((low, mean[0]), (high, mean[1])))
    levels = spreads = None
    if bounds:
        levels = np.clip(np.ldexp(_decoded(mean[2]), spread >> BITS), bounds[0], bounds[1])
        spreads = np.where(
            spread < -_OCTAVES << BITS, 0.0, np.clip(np.exp2(mean[3] / (1 << BITS)), bounds[2], bounds[3])
        )
    weight = np.ldexp(_decoded(mean[4] + _ONE), -_WEIGHTS) if weighted else None
    known = (information[:, None] + mean[9:])[_SQUARE] / UNIT
    every = np.arange(len(count))
    return PitRows(low, np.where(point, low, high), np.moveaxis(known, -1, 0), every, flags > 1, levels, spreads,
                   weight, count, mean[5:9].T / UNIT).scaled()  # fmt: skip


def _ends(places: Places, edge: Ints, mean: Floats) -> Floats:
    """Return where ends up to an edge are on average; those of a form's own cells are edges."""
    edges = places.edges[edge]
    return np.where(np.isfinite(edges) & (places.own is None), np.minimum(mean, edges), edges)


def in_units(information: Floats) -> Ints:
    """Return the entries of symmetric matrices, of shape (..., 4, 4), in units."""
    return _units(np.moveaxis(information[..., _TRIANGLE[0], _TRIANGLE[1]], -1, 0))


def _units(x: Floats) -> Ints:
    return np.rint(x * UNIT).astype(np.int64)


def _dropped(code: Ints, bits: int) -> Ints:
    return (code >> bits) << bits


def _powers(spread: Floats) -> Ints:
    """Return base-2 logarithms of spreads in units; of 0 the one below all others."""
    with np.errstate(divide="ignore"):
        found = np.rint(np.clip(np.log2(spread), -_OCTAVES, _OCTAVES) * (1 << BITS)).astype(np.int64)
    return np.where(spread > 0, found, (-_OCTAVES - 1) << BITS)


def _coded(x: Floats) -> Ints:
    """Return x in units where it is below 1, beyond in units of the power of two below it, and of that one."""
    size = np.abs(x)
    mantissa, exponent = np.frexp(size)
    code = np.where(size < 1, size, exponent - 1 + 2 * mantissa)
    return np.asarray(np.rint(np.copysign(code, x) * (1 << BITS)), dtype=np.int64)


def _decoded(code: Floats) -> Floats:
    """Return what has a code, between those that have whole ones linearly."""
    size = np.abs(code) / (1 << BITS)
    power = np.maximum(np.floor(size) - 1, 0)
    return np.copysign(np.where(size < 1, size, np.ldexp(size - power, power.astype(np.int64))), code)
