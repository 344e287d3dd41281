"""The part "diagnosis" of a tally of more than two classes: sums from which its calibration is tested and diagnosed.

They are the scores of class biases, confidence and tail with their moments, were the forecasts calibrated, and
log-probabilities by the observed class, which tell whether columns were permuted. Without
weights every sum is of whole numbers of a unit, so that no order and no split of the rows matters.

Sums over a few rows for the diagnosis of more than two classes, as NumPy makes them: `ClassSums` has those of all.

Sums over the classes of a row are made in their order, whatever the number of rows, and rounded to whole units, so that
the sums over rows are the same in any split. Log-probabilities and the tail's direction are taken at the middle of
narrow cells of the probability: a test of calibration by these is as valid, and loses nothing that could be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import Frozen, dataclass
from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Codes, Floats, Ints
from ..forecasts.group_keys import N_SHARDS
from ..kernels.compiled import kernel as _kernel
from ..maps.two import tail

MOST_CLASSES = 2000
"""Covariances of more take gigabytes."""

DIAGNOSED_UNASKED = 20
"""Up to so many classes the part is kept unasked: counting takes up to about twice as long."""

_ROWS = 1 << 12
"""So many rows at most are added up before their sums are kept: these are exact below 2**53 units."""

_FEWEST = 1 << 10
"""And so many at least: products of matrices are faster of many rows."""

_VALUES = 1 << 15
"""Probabilities that are taken at once: small enough to stay in cache."""


class Field(NamedTuple):
    """Where in the sums some of them are."""

    place: slice
    shape: tuple[int, ...]
    bits: int
    """They are whole multiples of 2**-bits."""


@cache
def layout(classes: int, clustered: bool = False, by_outcome: bool = True) -> dict[str, Field]:
    """Name the sums of so many classes, w being a row's weight; those by shard of clusters come last.

    Those ``by_outcome`` tell whether columns were permuted.
    """
    c = classes
    shapes: dict[str, tuple[tuple[int, ...], int]] = {
        "rows": ((1,), 0),
        "squared_weight": ((1,), 0),
        "observed": ((c,), 0),  # w
        "predicted": ((c,), FINE),  # w p
        "squared_predicted": ((c,), FINE),  # w^2 p
        "information": ((c,), FINE),  # w p (1 - p)
        "products": ((c * (c + 1) // 2,), 2 * COARSE),  # w^2 p p', by row of the lower triangle
        "shape_score": ((2,), SCORE),  # w (f_y - E f), f of confidence and tail
        "shape_information": ((3,), MOMENT),  # w E(a^2), E(a b), E(b^2) for a and b, the centred f
        "shape_covariance": ((3,), MOMENT),  # the same with w^2
        "shape_classes": ((2, c), SCORE),  # w^2 p a and w^2 p b
        "shape_third": ((4,), THIRD),  # w^3 E(a^3), E(a^2 b), E(a b^2), E(b^3)
        "cells": ((c, CELLS), 0),  # how many probabilities lie in each cell of a class
        "cell_sums": ((c, CELLS), FINE),  # and their sum
        "right": ((LEVELS,), 0),  # rows by level, of those whose most probable class was observed
        "wrong": ((LEVELS,), 0),  # of the others
        "wrong_residual": ((LEVELS, c), FINE),  # w (1[y] - p) of these, from the first level on
        "wrong_score": ((LEVELS, 2), SCORE),
    }
    if by_outcome:
        shapes |= {
            "logs": ((c, c), LOGS),  # w ln p of each class by the observed one, p being 1e-4/c at least
            "squares": ((c, c), MOMENT),  # w (ln p - ln p_y)^2 likewise
            "raised": ((1,), 0),  # w of the rows whose observed class had less than 1e-4/c
        }
    if clustered:
        shapes |= {
            "shard_rows": ((N_SHARDS,), 0),
            "shard_residual": ((N_SHARDS, c), FINE),  # w (1[y] - p)
            "shard_score": ((N_SHARDS, 2), SCORE),  # w (f_y - E f)
            "own_residual": ((c,), FINE),  # the squares of each row's
            "own_score": ((3,), MOMENT),  # and the products
        }
    found, start = {}, 0
    for name, (shape, bits) in shapes.items():
        size = int(np.prod(shape))
        found[name] = Field(slice(start, start + size), shape, bits)
        start += size
    return found


def length(classes: int, clustered: bool = False, by_outcome: bool = True) -> int:
    """Count the sums of so many classes."""
    return max(int(at.place.stop) for at in layout(classes, clustered, by_outcome).values())


class ClassSums(Frozen, eq=False):
    """Sums of fixed size, one after the other as in `layout`."""

    classes: int
    high: Ints
    low: Ints
    """Whole numbers of units: 2**32 high + low, low from 0 to 2**32 - 1."""
    rest: Floats
    """Sums over rows with weights, in units."""
    clustered: bool = False
    """Whether sums by shard of clusters are among them: of two parts they are kept where both have them."""
    by_outcome: bool = True
    """Whether log-probabilities by the observed class are among them, likewise; files of earlier versions lack them."""

    @staticmethod
    def of(classes: int, high: Ints, low: Ints, rest: Floats) -> ClassSums:
        """Carry what sums of several processes have in ``low`` beyond its range.

        Parameters
        ----------
        classes : int
            Number of classes.
        high, low : ndarray of shape (length(classes),)
            Whole numbers of units, 2**32 high + low; ``low`` may be beyond 2**32.
        rest : ndarray of the same shape
            Sums over rows with weights, in units.
        """
        return ClassSums(classes, *_carried(high, low), rest)

    def __add__(self, other: ClassSums) -> ClassSums:
        """Add exactly, but for rows with weights."""
        both = self.clustered and other.clustered, self.by_outcome and other.by_outcome
        (high, low, rest), others = self._only(*both), other._only(*both)
        return ClassSums(self.classes, *_carried(high + others[0], low + others[1]), rest + others[2], *both)

    def _only(self, clustered: bool, by_outcome: bool) -> tuple[Ints, Ints, Floats]:
        """The columns of those sums that are in both parts."""
        if (self.clustered, self.by_outcome) == (clustered, by_outcome):
            return self.high, self.low, self.rest
        mine = layout(self.classes, self.clustered, self.by_outcome)
        places = [mine[name].place for name in layout(self.classes, clustered, by_outcome)]
        here = np.concatenate([np.arange(place.start, place.stop) for place in places])
        return self.high[here], self.low[here], self.rest[here]

    def __getitem__(self, name: str) -> Floats:
        """Sums of a name."""
        at, shape, bits = layout(self.classes, self.clustered, self.by_outcome)[name]
        values = self.high[at].astype(np.float64) * 2.0**32 + self.low[at] + self.rest[at]
        return np.asarray(np.ldexp(values, -bits).reshape(shape))


def _carried(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    return high + (low >> 32), low & 0xFFFFFFFF


class ClassSumsCounter:
    """Fills the sums block by block."""

    def __init__(self, classes: int, clustered: bool = False) -> None:
        self.classes, self.clustered = classes, clustered
        size = length(classes, clustered)
        self._high, self._low = np.zeros((2, size), dtype=np.int64)
        self._rest = np.zeros(size)
        self._open = {weighted: _Open(classes, clustered) for weighted in (False, True)}

    @classmethod
    def of(cls, classes: int, clustered: bool = False) -> ClassSumsCounter | None:
        """Return one for more than two classes; two have counts of their own."""
        if classes > MOST_CLASSES:
            raise InputError(f"parts: 'diagnosis' takes at most {MOST_CLASSES:,} classes, here {classes:,}.")
        return cls(classes, clustered) if classes > 2 else None

    def add(self, p: AnyFloats, truth: Codes, weights: Floats | None, shard: Ints | None = None) -> None:
        """Count rows of positive weight; with the shards that they are in, where sums by shard are kept.

        Parameters
        ----------
        p : ndarray of shape (n, C)
            Probabilities.
        truth : ndarray of shape (n,)
            Number of the observed class of each row, from 0.
        weights : ndarray of shape (n,) or None
            Positive weights; None if all are 1.
        shard : ndarray of shape (n,), optional
            Shard of each row.
        """
        opened = self._open[weights is not None]
        step = min(max(2, _VALUES // self.classes), opened.room)
        for first in range(0, len(p), step):
            here = slice(first, first + step)
            if opened.rows + len(p[here]) > opened.room:
                self._keep(weights is not None)
            w = None if weights is None else weights[here]
            opened.add(p[here], truth[here].astype(np.int64), w, None if shard is None else shard[here])

    def _keep(self, weighted: bool) -> None:
        found = self._open[weighted].taken(weighted)
        if weighted:
            self._rest += found
        else:
            whole = found.astype(np.int64)
            self._high, self._low = _carried(self._high, self._low + whole)

    def sums(self) -> ClassSums:
        """All that was counted."""
        for weighted in (False, True):
            self._keep(weighted)
        return ClassSums(self.classes, self._high.copy(), self._low.copy(), self._rest.copy(), self.clustered)


class _Open:
    """Sums over a few rows, in units: of whole numbers without weights."""

    def __init__(self, classes: int, clustered: bool) -> None:
        self.rows, self.room = 0, min(max(_VALUES // classes, _FEWEST), _ROWS)
        self._found = np.zeros(length(classes, clustered))
        places = layout(classes, clustered)
        self._sums = {name: self._found[at.place].reshape(at.shape) for name, at in places.items()}
        self._coarse = np.empty((0, classes))
        self._lower = np.tril_indices(classes)

    def add(self, p: AnyFloats, truth: Ints, w: Floats | None, shard: Ints | None) -> None:
        if not len(self._coarse):
            self._coarse = np.empty((self.room, p.shape[1]))
        coarse = self._coarse[self.rows : self.rows + len(p)]
        self.rows += len(p)
        if _kernel is not None and w is None and shard is None and p.dtype in (np.float32, np.float64):
            sums = [self._sums[name] for name in _BY_KERNEL]
            _kernel.class_sums(p, truth, *directions(), least_log(p.shape[1]), sums, coarse)
            for name in ("rows", "squared_weight"):
                self._sums[name] += len(p)
            return
        for name, values in sums_of(p, truth, w, shard):
            if name == "coarse":
                coarse[:] = values
            else:
                self._sums[name] += values.reshape(self._sums[name].shape)

    def taken(self, weighted: bool) -> Floats:
        """Give the sums, and begin anew."""
        if self.rows:
            coarse = self._coarse[: self.rows]
            self._sums["products"][:] = (coarse.T @ coarse)[self._lower]
        for name, same in () if weighted else _SAME:
            self._sums[name][:] = self._sums[same]
        found = self._found.copy()
        self._found[:], self.rows = 0.0, 0
        return found


_BY_KERNEL = (
    *("observed", "predicted", "information", "shape_score", "shape_information", "shape_classes", "shape_third"),
    *("cells", "cell_sums", "right", "wrong", "wrong_residual", "wrong_score", "logs", "squares", "raised"),
)
"""Sums that the compiled kernel makes, in its order."""

_SAME = (("squared_predicted", "predicted"), ("shape_covariance", "shape_information"))
"""Sums that are the same without weights."""


CELLS = 88
"""Cells of a class: by the leading bits of min(p, 1 - p), below and above 1/2."""

HALF = CELLS // 2

LEVELS = 64
"""A row of level j predicted the other outcomes, or those no more probable than its own, with 2**-j at most."""

FIRST_LEVEL = 6
"""Rows of a lower level are certain in no data: a hundred of them would be expected to err once."""

COARSE, FINE, SCORE, MOMENT, THIRD, LOGS = 20, 40, 30, 24, 20, 12
"""Bits of the units: of p in products of two, of p in sums, of scores, of their second and third moments, of log p."""

RAISED = 1e-4
"""Divided by the number of classes: lower probabilities count as this where logarithms of classes are compared."""

_CODE_BITS = 10
"""Bits of the fraction of a probability, in the cells in which log-probabilities are taken."""
_SHIFT = 52 - _CODE_BITS
"""Bits of a float64's fraction below those."""

_LOWEST = 1023 - 60 << _CODE_BITS
"""Leading bits of 2**-60, 1023 being the exponent's offset: less is as if it were this."""

_TOP_CELL = (1022 << 1) - (_LOWEST >> _CODE_BITS - 1)
"""Number of the half octave that begins at 1/2, counted from the one at 2**-60."""


@cache
def directions() -> tuple[Floats, Floats]:
    """Log-probability and the tail's direction at the middle of each cell, to 2**-12."""
    code = np.arange(_LOWEST, (1023 << _CODE_BITS) + 1)
    fraction = (code % 2**_CODE_BITS + 0.5) / 2**_CODE_BITS
    p = np.minimum(np.ldexp(1 + fraction, code // 2**_CODE_BITS - 1023), 1.0)
    odds = np.log(p) - np.log1p(-np.minimum(p, 0.75))
    return np.rint(np.log(p) * 2**12) / 2**12, np.rint(tail(odds) * 2**12) / 2**12


def least_log(classes: int) -> float:
    """Give the logarithm that lower ones count as, in whole units."""
    return float(np.rint(np.log(RAISED / classes) * 2**LOGS) / 2**LOGS)


def _code(p: Floats) -> Ints:
    return np.asarray(np.maximum((p.view(np.int64) >> _SHIFT) - _LOWEST, 0))


def sums_of(given: AnyFloats, truth: Ints, w: Floats | None, shard: Ints | None) -> Iterator[tuple[str, Floats]]:
    """Sums over some rows, in units, and their probabilities in coarse units.

    Without weights they are whole numbers, and those that the compiled kernel makes.

    Parameters
    ----------
    given : ndarray of shape (n, C)
        Probabilities.
    truth : ndarray of shape (n,)
        Number of the observed class of each row, from 0.
    w : ndarray of shape (n,) or None
        Positive weights; None if all are 1.
    shard : ndarray of shape (n,) or None
        Shard of each row; None leaves out the sums by shard.

    Yields
    ------
    (str, ndarray)
        Sums in units, by their name in `class_sums.layout`; "coarse" are the probabilities of the rows, (n, C).
    """
    rows = _Few.of(given, truth, w)
    yield from _of_classes(rows)
    yield from _of_shape(rows)
    yield from _of_cells(rows)
    yield from _of_levels(rows)
    yield from _by_outcome(rows)
    if shard is not None:
        yield from _of_shards(rows, shard)


@dataclass
class _Few:
    """A few rows, one class after the other."""

    p: Floats
    """(classes, rows)"""
    truth: Ints
    w: Floats | None
    top: Ints
    others: Floats
    """Sum of all but the highest probability: 1 - p is rounded where p is near 1."""

    @staticmethod
    def of(given: AnyFloats, truth: Ints, w: Floats | None) -> _Few:
        p = np.ascontiguousarray(given.T, dtype=np.float64)
        p = p / _over_classes(p)
        top, others = p.argmax(axis=0), p.copy()
        others[top, np.arange(truth.size)] = 0.0
        return _Few(p, truth, w, top, _over_classes(others))

    def __post_init__(self) -> None:
        each = np.arange(self.truth.size)
        self.highest, self.correct = self.p[self.top, each], self.p[self.truth, each]
        self.weight = np.ones(each.size) if self.w is None else self.w
        self.sharp = np.flatnonzero(self.highest > 0.5)
        self.code, self.other_code = _code(self.p), _code(self.others)
        self.directions = [table[self.code] for table in directions()]
        self.directions[1][self.top[self.sharp], self.sharp] = -directions()[1][self.other_code[self.sharp]]
        self.directions = [f - _over_classes(self.p * f) for f in self.directions]
        mine = np.stack([f[self.truth, each] for f in self.directions])
        self.score = self.units(mine * self.weight, SCORE)

    def units(self, x: Floats, bits: int) -> Floats:
        return np.asarray(np.ldexp(x, bits) if self.w is not None else np.rint(x * 2.0**bits))

    def totals(self, x: Floats, bits: int, power: int = 1) -> Floats:
        return np.asarray(self.units(x if self.w is None else x * self.w**power, bits).sum(axis=-1))


def _of_classes(rows: _Few) -> Iterator[tuple[str, Floats]]:
    p, weight = rows.p, rows.weight
    yield "rows", np.array([float(weight.size)])
    yield "squared_weight", np.array([weight @ weight])
    yield "observed", np.bincount(rows.truth, weight, len(p)).astype(np.float64)
    yield "predicted", rows.totals(p, FINE)
    yield "information", rows.totals(p * (1 - p), FINE)
    yield "coarse", rows.units(p if rows.w is None else p * rows.w, COARSE).T
    if rows.w is not None:
        yield "squared_predicted", rows.totals(p, FINE, 2)


def _of_shape(rows: _Few) -> Iterator[tuple[str, Floats]]:
    a, b = rows.directions
    pa, pb = rows.p * a, rows.p * b
    aa, bb = pa * a, pb * b
    moments = np.stack([_over_classes(x) for x in (aa, pa * b, bb)])
    third = np.stack([_over_classes(x) for x in (aa * a, aa * b, bb * a, bb * b)])
    yield "shape_score", rows.score.sum(axis=1)
    yield "shape_information", rows.totals(moments, MOMENT)
    if rows.w is not None:
        yield "shape_covariance", rows.totals(moments, MOMENT, 2)
    yield "shape_classes", np.stack([rows.totals(pa, SCORE, 2), rows.totals(pb, SCORE, 2)])
    yield "shape_third", rows.totals(third, THIRD, 3)


def _of_cells(rows: _Few) -> Iterator[tuple[str, Floats]]:
    key, sharp = _cell(rows.code), rows.sharp
    key[rows.top[sharp], sharp] = HALF + _cell(rows.other_code[sharp])
    key += CELLS * np.arange(len(key))[:, None]
    size = len(key) * CELLS
    yield "cells", np.bincount(key.ravel(), minlength=size).astype(np.float64)
    fine = np.rint(rows.p * 2.0**FINE)
    yield "cell_sums", np.bincount(key.ravel(), fine.ravel(), size).astype(np.float64)


def _of_levels(rows: _Few) -> Iterator[tuple[str, Floats]]:
    p, correct = rows.p, rows.correct
    right, level = ~(correct < rows.highest), _level(rows.others)
    level[~right] = 0
    few = np.flatnonzero(~right & (correct < 2.0**-FIRST_LEVEL))
    level[few] = _level(_over_classes(np.where(p[:, few] <= correct[few], p[:, few], 0.0)))
    yield "right", np.bincount(level[right], minlength=LEVELS).astype(np.float64)
    yield "wrong", np.bincount(level[~right], minlength=LEVELS).astype(np.float64)
    residual, scores = np.zeros((LEVELS, len(p))), np.zeros((LEVELS, 2))
    few = few[level[few] >= FIRST_LEVEL]
    off = -p[:, few] * rows.weight[few]
    off[rows.truth[few], np.arange(few.size)] += rows.weight[few]
    np.add.at(residual, level[few], rows.units(off, FINE).T)
    np.add.at(scores, level[few], rows.score[:, few].T)
    yield "wrong_residual", residual
    yield "wrong_score", scores


def _by_outcome(rows: _Few) -> Iterator[tuple[str, Floats]]:
    """Log-probabilities of all classes, and their squared differences from that of the observed one, by this one."""
    logs, least = directions()[0][rows.code].T, least_log(len(rows.p))
    own = logs[np.arange(rows.truth.size), rows.truth]
    yield "raised", np.array([rows.weight[own < least].sum()])
    logs = np.maximum(logs, least)
    off = logs - np.maximum(own, least)[:, None]
    for name, x, bits in (("logs", logs, LOGS), ("squares", off * off, MOMENT)):
        found = np.zeros((len(rows.p), len(rows.p)))
        add_by_class(found, rows.units(x * rows.weight[:, None], bits), rows.truth)
        yield name, found


def add_by_class(to: Floats, x: Floats, truth: Ints) -> None:
    """Add rows, (n, C), to those of their observed classes, (C, C): one by one where few have the same."""
    if len(x) < len(to):
        for at, row in zip(truth.tolist(), x, strict=True):
            to[at] += row
        return
    order = np.argsort(truth, kind="stable")
    first = run_starts(truth[order])
    if len(order):
        to[truth[order][first]] += np.add.reduceat(x[order], first, axis=0)


def _of_shards(rows: _Few, shard: Ints) -> Iterator[tuple[str, Floats]]:
    residual = -rows.p * rows.weight
    residual[rows.truth, np.arange(shard.size)] += rows.weight
    fine = rows.units(residual, FINE)
    yield "shard_rows", np.bincount(shard, minlength=N_SHARDS).astype(np.float64)
    yield "shard_residual", np.stack([np.bincount(shard, x, N_SHARDS) for x in fine], axis=1)
    yield "shard_score", np.stack([np.bincount(shard, x, N_SHARDS) for x in rows.score], axis=1)
    a, b = np.ldexp(rows.score, -SCORE)
    yield "own_residual", rows.units(residual * residual, FINE).sum(axis=1)
    yield "own_score", rows.units(np.stack([a * a, a * b, b * b]), MOMENT).sum(axis=1)


def _cell(code: Ints) -> Ints:
    return np.asarray(np.clip(_TOP_CELL - (code >> _CODE_BITS - 1), 0, HALF - 1))


def _over_classes(x: Floats) -> Floats:
    """Add up the classes of each row in their order, whatever the number of rows; NumPy adds up one row by halves."""
    several = x if x.shape[1] > 1 else np.repeat(x, 2, axis=1)
    return np.asarray(np.add.reduce(several, axis=0)[: x.shape[1]])


def _level(mass: Floats) -> Ints:
    """Largest j for which a probability is at most 2**-j, within the levels there are."""
    return np.asarray(np.clip((1023 << _CODE_BITS) - _LOWEST - _code(mass) >> _CODE_BITS, 0, LEVELS - 1))
