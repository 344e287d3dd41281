"""DistributionTally: predictive distributions of a number and their outcomes, counted in little space.

Cells of like rows of predictive distributions: counts and sums of whole numbers, the same in any order and split.

A cell has the place of the outcome, between two normal scores, and the predicted level, spread and weight. Each of
these is a whole number of fixed units, of which a coarser grid drops the last bits; no grid depends on the data. Rows
are on the first grid of `_GRIDS` of which they occupy few enough cells. A coarser grid has each cell of a finer one in
one cell, and more rows never occupy fewer cells, so that this grid depends on all rows together, not on their order.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from functools import cache, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, is_whole
from .._lib.formatting import number_of
from .._lib.typing import ByValue, Floats, Ints
from ..forecasts.distributions.ordered import Ordered
from ..forecasts.distributions.partitions import crossing
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.pit_rows import BARS, COVERED, PitRows
from ..forecasts.distributions.predictive import Observed, Predictive, observed
from ..kernels.exact_sum import UNIT_BITS, exact_sum
from ..scores.distributions.rules import (
    DISTRIBUTION_SCORES,
    DistributionScore,
    distribution_score_named,
    scores_that_apply,
)
from ..statistics.intervals import UncertainMean
from ..statistics.means import checked_weights
from ..statistics.normal_scores import cell_means, information_of, numbered
from .counter import NO_SUMS, ScoreSums, added
from .sections import MOST_WHOLE, Sections, require
from .serialization import DISTRIBUTIONS, file_bytes, sums_of, sums_text
from .tags import Tagged, Tags

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


class Places(Frozen):
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

    last = len(_GRIDS) - 1
    if grid < last and not fits(grid):
        grid += 1 + bisect_left(range(grid + 1, last), True, key=fits)
    keys = coarse(keys, grid, places)
    number = _places_in_order(keys, grid)
    order = np.argsort(number, kind="stable")
    first = np.flatnonzero(np.diff(number[order], prepend=-1))
    return Cells(grid, keys[:, order[first]], np.add.reduceat(np.take(sums, order, axis=1), first, axis=1))


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
        some = np.clip(np.exp2(mean[3] / (1 << BITS)), bounds[2], bounds[3])
        spreads = np.where(spread < -_OCTAVES << BITS, 0.0, some)
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


_BLOCK = 1 << 16
"""Rows that are counted at a time."""

_MOST_EDGES = 130
"""Outcomes are told apart by the cells of forecasts that have up to so many ends, of others by a fixed grid."""

_MOST_ROWS = 1 << 30
"""Up to so many rows sums stay exact."""

_OPTIONS = ("metrics", "sample_weight", "censored", "invalid")

_MOST_CELLS = 1 << 20
"""Cells of a file, whatever it says."""


class DistributionTally(ByValue, Tagged):
    """Counts of like forecasts and outcomes of a number: all that an assessment needs, in little space.

    Made by `Tally.of` from `Quantiles`, `Samples`, `Distribution` or `PIT`; ``assess(tally)`` assesses it. ``a + b`` is
    the tally of both data sets, to the byte in any order and any split, and its size does not grow with the rows.
    Rows count as independent.

    Notes
    -----
    Coverage, the PIT histogram, scores and the evidence of bias, spread, skew and tail are those of the rows. Sizes of
    errors, and what rises with the predicted level or spread, are read from at most 16,384 cells of like rows. On 24
    random sets of eight forms, 60,000 rows each, the same errors were named, their sizes differed by less than .005,
    and p-values above 1e-4 by at most 12% (``benchmarks/distribution_tallies.py --sets 2 --rows 60000``).
    Outcomes in more than 128 quantiles or members are placed on a grid, as those of densities are.

    Examples
    --------
    >>> import unperplexed as up
    >>> days = [([21.0, 18.5], [20.0, 19.0]), ([16.0], [17.5])]
    >>> tally = sum(up.Tally.of(y, up.Distribution("normal", mean=mean, sd=2.0)) for y, mean in days)
    >>> tally
    <DistributionTally: 3 forecasts by normal distributions>
    """

    form: str
    """What the forecasts are, such as "23 quantiles"."""
    own: tuple[float, ...] | None
    """Shares that bound the forecasts' cells, by which outcomes are told apart; None for a fixed grid."""
    information: tuple[int, ...]
    """What forecasts of this form tell of an outcome, in units of 2**-24."""
    weighted: bool = False
    crossed: int = 0
    """Number of forecasts whose quantiles crossed."""
    left_out: int = 0
    """Number of rows without an outcome, or with an incomplete forecast."""
    bounds: tuple[float, ...] = ()
    """Least and largest predicted median, and spread; () of PIT values."""
    weights: ScoreSums = NO_SUMS
    scores: Mapping[str, ScoreSums] = field(default_factory=dict)
    tags: Tags = Tags()
    cells: Cells = NO_CELLS
    """Cells of like rows."""

    @classmethod
    def of(cls, y_true: Any, forecast: Predictive, options: Mapping[str, Any]) -> DistributionTally:
        """Count forecasts; `Tally.of` describes it."""
        for name, value in options.items():
            if name not in _OPTIONS and value is not None:
                remedy = " Rows count as independent; assess them without a tally." if name == "clusters" else ""
                raise InputError(f"{name}: not for a tally of predictive distributions.{remedy}")
        if isinstance(forecast, Ordered):
            raise InputError("forecasts of ordered classes: no tally of them. Assess them without one.")
        rows, edges = observed(y_true, forecast, options), forecast.edges
        n, weighted = len(rows.y), rows.weight is not None
        named = map(distribution_score_named, options.get("metrics", ()))
        known = {each.name: each for each in (*(scores_that_apply(rows.forecast, rows.y) if n else ()), *named)}
        scores = sorted(known.values(), key=_order)
        form = "PIT values" if isinstance(forecast, PIT) else forecast.form
        own = None if edges is None or len(edges) > _MOST_EDGES else tuple(edges.tolist())
        information = tuple(in_units(np.eye(4) if edges is None else information_of(edges)).tolist())
        found = cls(form, own, information, weighted, getattr(forecast, "crossed", 0), len(forecast) - n)
        weight = checked_weights(rows.weight, n) if weighted else np.ones(n)
        for start in range(0, n, _BLOCK):
            some = np.arange(start, min(start + _BLOCK, n))
            found = cls.merged([found, found._block(rows.only(some), weight[some], scores)])
        return found

    def _block(self, rows: Observed, weight: Floats, scores: Iterable[DistributionScore]) -> DistributionTally:
        """Count some rows."""
        given = weight if self.weighted else None
        found = rows.forecast.row_by_row().unscaled_rows(rows.y, rows.censored, given)
        return replace(
            self,
            crossed=0,
            left_out=0,
            bounds=_bounds(found),
            weights=_sums(np.ones(len(weight)), weight),
            scores={each.name: _sums(each.rows(rows.y, rows.forecast), weight) for each in scores},
            cells=cells_of(found, Places(self.own), np.array(self.information), self.cells.grid),
        )

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.cells.sums[0].sum())

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<DistributionTally: {number_of(self.n_rows, 'forecast')} by {self.form}>"

    def rows(self) -> PitRows:
        """Return cells as rows that were counted together."""
        return rows_of(self.cells, Places(self.own), np.array(self.information), self.bounds, self.weighted)

    def score(self, name: str) -> UncertainMean:
        """Return the mean of a score over independent rows, with its standard error."""
        w, w2 = (Fraction(each.units, 1 << UNIT_BITS) for each in self.weights[:2])
        degrees = float(w * w / w2) - 1
        if any(each.rest for each in self.scores[name]):
            return UncertainMean(float(self.scores[name][0]), math.nan, degrees, math.nan)
        total, once, twice = (Fraction(each.units, 1 << UNIT_BITS) for each in self.scores[name])
        mean = total / w
        variance = float((twice - 2 * mean * once + mean * mean * w2) / (w * w))
        variance *= (degrees + 1) / degrees if degrees > 0 else 1
        return UncertainMean(float(mean), math.sqrt(max(variance, 0.0)), degrees, degrees + 1, (variance,))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out or changed."""
        lost = f"{number_of(self.left_out, 'row')} without an outcome or with an incomplete forecast: left out."
        return (*([lost] if self.left_out else []), *([crossing(self.crossed)] if self.crossed else []))

    @classmethod
    def merged(cls, tallies: Sequence[DistributionTally], *, mixed: bool = False) -> DistributionTally:
        """Add up tallies, as `Tally.merged` does."""
        first = tallies[0]
        for other in tallies[1:]:
            first._check_like(other)
        some = [each for each in tallies if each.n_rows] or [first]
        if sum(each.n_rows for each in some) > _MOST_ROWS:
            raise InputError(f"a tally of predictive distributions counts up to {_MOST_ROWS:,} rows. Add up fewer.")
        names = [name for name in some[0].scores if all(name in each.scores for each in some)]
        ends = [each.bounds for each in some if each.bounds]
        return replace(
            first,
            weighted=any(each.weighted for each in tallies),
            crossed=sum(each.crossed for each in tallies),
            left_out=sum(each.left_out for each in tallies),
            bounds=tuple(of(x) for of, x in zip((min, max, min, max), zip(*ends, strict=True), strict=False)),
            weights=reduce(added, (each.weights for each in some)),
            scores={name: reduce(added, (each.scores[name] for each in some)) for name in names},
            tags=reduce(lambda a, b: a.plus(b, mixed), (each.tags for each in some)),
            cells=together([each.cells for each in tallies], Places(first.own)),
        )

    def _check_like(self, other: object) -> None:
        if not isinstance(other, DistributionTally):
            raise InputError("tallies of classes and of predictive distributions do not add up.")
        if self.form != other.form:
            raise InputError(f"tallies of different forecasts do not add up: {self.form} and {other.form}.")
        if (self.own, self.information) != (other.own, other.information):
            raise InputError(f"tallies of different levels do not add up, though both are of {self.form}.")

    def __add__(self, other: object) -> DistributionTally:
        """Tally of both data sets; refuses other forecasts, or those whose tags contradict."""
        nothing = getattr(other, "n_classes", 1) == 0 or (isinstance(other, int) and other == 0)
        return self if nothing else DistributionTally.merged([self, other])  # type: ignore[list-item]

    __radd__ = __add__

    def to_bytes(self) -> bytes:
        """Give the tally as bytes: the same for the same tally, checksummed, with nothing in it that could run."""
        plain = {name: getattr(self, name) for name in _PLAIN}
        cells = [*self.cells.keys, *self.cells.sums]
        header = {
            **plain,
            "weights": sums_text(self.weights),
            "scores": {name: sums_text(each) for name, each in self.scores.items()},
            "tags": asdict(self.tags),
            "grid": self.cells.grid,
        }
        return file_bytes(DISTRIBUTIONS, header, {f"cells/{k}": column for k, column in enumerate(cells)})

    def summary(self) -> dict[str, Any]:
        """Give what the tally holds, but for the cells, as plain values."""
        scores = {name: self.score(name) for name in self.scores}
        return {
            "n_rows": self.n_rows,
            **{name: getattr(self, name) for name in ("form", "weighted", "crossed", "left_out")},
            "scores": {name: {"mean": x.mean, "standard_error": x.standard_error} for name, x in scores.items()},
            "cells": self.cells.keys.shape[1],
            "tags": self.tags.summary(),
        }


_PLAIN = ("form", "own", "information", "weighted", "crossed", "left_out", "bounds")
"""Fields that are written as they are."""


def tally_of(sections: Sections) -> DistributionTally:
    """Read a tally from its file."""
    header = sections.header
    form, own, information, weighted, crossed, left_out, bounds = (header[name] for name in _PLAIN)
    require(isinstance(form, str) and isinstance(weighted, bool), "the form is not known")
    require(all(is_whole(each, 0, MOST_WHOLE) for each in (crossed, left_out)), "a count is no count")
    known = len(information) == N_SUMS - 10 and all(is_whole(each, -UNIT, UNIT) for each in information)
    require(known, "the information of the form is not known")
    require(own is None or (1 < len(own) <= _MOST_EDGES and own[0] == 0 and own[-1] == 1), "shares are not known")
    require(own is None or bool((np.diff(own) > 0).all()), "shares are out of order")
    require(len(bounds) in (0, 4) and bool(np.isfinite(bounds).all()), "bounds are not known")
    table = np.array([sections.column(f"cells/{k}", _MOST_CELLS) for k in range(N_KEYS + N_SUMS)])
    require(table.dtype == np.int64, "cells are of another type")
    cells, places = Cells(header["grid"], table[:N_KEYS], table[N_KEYS:]), Places(None if own is None else tuple(own))
    check(cells, places)
    weights, scores = sums_of(header["weights"]), {name: sums_of(each) for name, each in header["scores"].items()}
    plain = (form, places.own, tuple(information), weighted, crossed, left_out, tuple(bounds))
    return DistributionTally(*plain, weights, scores, Tags.of_file(header["tags"]), cells)


def _order(score: DistributionScore) -> tuple[int, str]:
    known = [*DISTRIBUTION_SCORES]
    return known.index(score.name) if score.name in known else len(known), score.name


def _sums(values: Floats, weight: Floats) -> ScoreSums:
    some = weight > 0
    values, weight = values[some] * weight[some], weight[some]
    return exact_sum(values), exact_sum(values * weight), exact_sum(values * values, bits=20, limbs=4)


def _bounds(rows: PitRows) -> tuple[float, ...]:
    known = [each for each in (rows.level, rows.log_spread) if each is not None]
    return tuple(float(of(each)) for each in known for of in (np.min, np.max))
