"""The part "diagnosis" of a tally of more than two classes: sums from which its calibration is tested and diagnosed.

They are the scores of class biases, confidence and tail with their moments, were the forecasts calibrated. Without
weights every sum is of whole numbers of a unit, so that no order and no split of the rows matters. To that end
log-probabilities and the tail's direction are taken at the middle of narrow cells of the probability: a test of
calibration by these is as valid, and loses nothing that could be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._compiled import kernel as _kernel
from ._log_odds_tail import tail
from ._typing import AnyFloats, Floats, Ints
from .errors import InputError

MOST_CLASSES = 2000
"""Covariances of more take gigabytes."""

BY_DEFAULT = range(3, 21)
"""Numbers of classes of which the part is kept unasked: counting takes up to about twice as long."""

CELLS = 88
"""Cells of a class: by the leading bits of min(p, 1 - p), below and above 1/2."""

HALF = CELLS // 2

LEVELS = 64
"""A row is of level j if it predicted the other outcomes, or those no more probable than its own, with 2**-j at most."""

FIRST_LEVEL = 6
"""Rows of a lower level are certain in no data: a hundred of them would be expected to err once."""

_ROWS = 1 << 12
"""So many rows at most are added up before their sums are kept: these are exact below 2**53 units."""

_FEWEST = 1 << 10
"""And so many at least: products of matrices are faster of many rows."""

_VALUES = 1 << 15
"""Probabilities that are taken at once: small enough to stay in cache."""

_COARSE, _FINE, _SCORE, _MOMENT, _THIRD = 20, 40, 30, 24, 20
"""Bits of the units: of p in products of two, of p in sums, of scores, of their second and of their third moments."""


class Field(NamedTuple):
    """Where in the sums some of them are."""

    place: slice
    shape: tuple[int, ...]
    bits: int
    """They are whole multiples of 2**-bits."""


@cache
def layout(classes: int) -> dict[str, Field]:
    """Name the sums of so many classes, w being a row's weight."""
    c = classes
    shapes: dict[str, tuple[tuple[int, ...], int]] = {
        "rows": ((1,), 0),
        "squared_weight": ((1,), 0),
        "observed": ((c,), 0),  # w
        "predicted": ((c,), _FINE),  # w p
        "squared_predicted": ((c,), _FINE),  # w^2 p
        "information": ((c,), _FINE),  # w p (1 - p)
        "products": ((c * (c + 1) // 2,), 2 * _COARSE),  # w^2 p p', by row of the lower triangle
        "shape_score": ((2,), _SCORE),  # w (f_y - E f), f of confidence and tail
        "shape_information": ((3,), _MOMENT),  # w E(a^2), E(a b), E(b^2) for a and b, the centred f
        "shape_covariance": ((3,), _MOMENT),  # the same with w^2
        "shape_classes": ((2, c), _SCORE),  # w^2 p a and w^2 p b
        "shape_third": ((4,), _THIRD),  # w^3 E(a^3), E(a^2 b), E(a b^2), E(b^3)
        "cells": ((c, CELLS), 0),  # how many probabilities lie in each cell of a class
        "cell_sums": ((c, CELLS), _FINE),  # and their sum
        "right": ((LEVELS,), 0),  # rows by level, of those whose most probable class was observed
        "wrong": ((LEVELS,), 0),  # of the others
        "wrong_residual": ((LEVELS, c), _FINE),  # w (1[y] - p) of these, from the first level on
        "wrong_score": ((LEVELS, 2), _SCORE),
    }
    found, start = {}, 0
    for name, (shape, bits) in shapes.items():
        size = int(np.prod(shape))
        found[name] = Field(slice(start, start + size), shape, bits)
        start += size
    return found


def length(classes: int) -> int:
    """Count the sums of so many classes."""
    return layout(classes)["wrong_score"].place.stop


@dataclass(frozen=True, eq=False)
class ClassSums:
    """Sums of fixed size, one after the other as in `layout`."""

    classes: int
    high: Ints
    low: Ints
    """Whole numbers of units: 2**32 high + low, low from 0 to 2**32 - 1."""
    rest: Floats
    """Sums over rows with weights, in units."""

    def __add__(self, other: ClassSums) -> ClassSums:
        """Add exactly, but for rows with weights."""
        high, low = _carried(self.high + other.high, self.low + other.low)
        return ClassSums(self.classes, high, low, self.rest + other.rest)

    def __getitem__(self, name: str) -> Floats:
        """Sums of a name."""
        at, shape, bits = layout(self.classes)[name]
        values = self.high[at].astype(np.float64) * 2.0**32 + self.low[at] + self.rest[at]
        return np.asarray(np.ldexp(values, -bits).reshape(shape))


def _carried(high: Ints, low: Ints) -> tuple[Ints, Ints]:
    return high + (low >> 32), low & 0xFFFFFFFF


class ClassSumsCounter:
    """Fills the sums block by block."""

    def __init__(self, classes: int) -> None:
        self.classes = classes
        size = length(classes)
        self._high, self._low = np.zeros((2, size), dtype=np.int64)
        self._rest = np.zeros(size)
        self._open = {False: _Open(classes), True: _Open(classes)}

    @classmethod
    def of(cls, classes: int) -> ClassSumsCounter | None:
        """Return one for more than two classes; two have counts of their own."""
        if classes > MOST_CLASSES:
            raise InputError(f"parts: 'diagnosis' takes at most {MOST_CLASSES:,} classes, here {classes:,}.")
        return cls(classes) if classes > 2 else None

    def add(self, p: AnyFloats, truth: NDArray[np.signedinteger[Any]], weights: Floats | None) -> None:
        """Count rows of positive weight."""
        opened = self._open[weights is not None]
        step = min(max(2, _VALUES // self.classes), opened.room)
        for first in range(0, len(p), step):
            here = slice(first, first + step)
            if opened.rows + len(p[here]) > opened.room:
                self._keep(weights is not None)
            opened.add(p[here], truth[here].astype(np.int64), None if weights is None else weights[here])

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
        return ClassSums(self.classes, self._high.copy(), self._low.copy(), self._rest.copy())


class _Open:
    """Sums over a few rows, in units: of whole numbers without weights."""

    def __init__(self, classes: int) -> None:
        self.rows, self.room = 0, min(max(_VALUES // classes, _FEWEST), _ROWS)
        self._found = np.zeros(length(classes))
        places = layout(classes)
        self._sums = {name: self._found[at.place].reshape(at.shape) for name, at in places.items()}
        self._coarse = np.empty((0, classes))
        self._lower = np.tril_indices(classes)

    def add(self, p: AnyFloats, truth: Ints, w: Floats | None) -> None:
        if not len(self._coarse):
            self._coarse = np.empty((self.room, p.shape[1]))
        coarse = self._coarse[self.rows : self.rows + len(p)]
        self.rows += len(p)
        if _kernel is not None and w is None and p.dtype in (np.float32, np.float64):
            sums = [self._sums[name] for name in _BY_KERNEL]
            _kernel.class_sums(p, truth, *_directions(), sums, coarse)
            for name in ("rows", "squared_weight"):
                self._sums[name] += len(p)
            return
        for name, values in _sums_of(p, truth, w):
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
    *("cells", "cell_sums", "right", "wrong", "wrong_residual", "wrong_score"),
)
"""Sums that the compiled kernel makes, in its order."""

_SAME = (("squared_predicted", "predicted"), ("shape_covariance", "shape_information"))
"""Sums that are the same without weights."""

_CODE_BITS = 10
"""Of the fraction of a probability, in the cells in which log-probabilities are taken."""
_SHIFT = 52 - _CODE_BITS
_LOWEST = 1023 - 60 << _CODE_BITS  # of 2**-60: less is as if it were this
_TOP_CELL = (1022 << 1) - (_LOWEST >> _CODE_BITS - 1)  # of 1/2


@cache
def _directions() -> tuple[Floats, Floats]:
    """Log-probability and the tail's direction at the middle of each cell, to 2**-12."""
    code = np.arange(_LOWEST, (1023 << _CODE_BITS) + 1)
    fraction = (code % 2**_CODE_BITS + 0.5) / 2**_CODE_BITS
    p = np.minimum(np.ldexp(1 + fraction, code // 2**_CODE_BITS - 1023), 1.0)
    odds = np.log(p) - np.log1p(-np.minimum(p, 0.75))
    return np.rint(np.log(p) * 2**12) / 2**12, np.rint(tail(odds) * 2**12) / 2**12


def _code(p: Floats) -> Ints:
    return np.maximum((p.view(np.int64) >> _SHIFT) - _LOWEST, 0)


def _sums_of(given: AnyFloats, truth: Ints, w: Floats | None) -> Iterator[tuple[str, Floats]]:
    """Sums over some rows, in units, and their probabilities in coarse units; as the compiled kernel makes them without weights."""
    n, classes = given.shape
    p = np.ascontiguousarray(given.T, dtype=np.float64)
    p = p / _over_classes(p)
    at, each = p.argmax(axis=0), np.arange(n)
    top, mine = (at, each), (truth, each)
    highest, correct = p[top], p[mine]
    others = p.copy()
    others[top] = 0.0
    other = _over_classes(others)  # 1 - p is rounded where p is near 1
    weight = np.ones(n) if w is None else w

    def units(x: Floats, bits: int) -> Floats:
        return np.ldexp(x, bits) if w is not None else np.rint(x * 2.0**bits)

    def totals(x: Floats, bits: int, power: int = 1) -> Floats:
        return units(x if w is None else x * w**power, bits).sum(axis=-1)

    # ---- classes
    yield "rows", np.array([float(n)])
    yield "squared_weight", np.array([weight @ weight])
    yield "observed", np.bincount(truth, weight, classes)
    fine = units(p, _FINE)
    yield "predicted", fine.sum(axis=1) if w is None else fine @ w
    if w is not None:
        yield "squared_predicted", fine @ (w * w)
    yield "information", totals(p * (1 - p), _FINE)
    yield "coarse", units(p, _COARSE).T if w is None else units(p * w, _COARSE).T

    # ---- confidence and tail
    code = _code(p)
    log_p, tails = (table[code] for table in _directions())
    sharp = np.flatnonzero(highest > 0.5)
    other_code = _code(other)
    tails[at[sharp], sharp] = -_directions()[1][other_code[sharp]]
    a, b = (f - _over_classes(p * f) for f in (log_p, tails))
    pa, pb = p * a, p * b
    second = [pa * a, pa * b, pb * b]
    moments = np.stack([_over_classes(x) for x in second])
    third = np.stack([_over_classes(x) for x in (second[0] * a, second[0] * b, second[2] * a, second[2] * b)])
    score = units(np.stack([a[mine], b[mine]]) * weight, _SCORE)
    yield "shape_score", score.sum(axis=1)
    yield "shape_information", totals(moments, _MOMENT)
    if w is not None:
        yield "shape_covariance", totals(moments, _MOMENT, 2)
    yield "shape_classes", np.stack([totals(pa, _SCORE, 2), totals(pb, _SCORE, 2)])
    yield "shape_third", totals(third, _THIRD, 3)

    # ---- cells
    key = np.clip(_TOP_CELL - (code >> _CODE_BITS - 1), 0, HALF - 1)
    key[at[sharp], sharp] = HALF + np.clip(_TOP_CELL - (other_code[sharp] >> _CODE_BITS - 1), 0, HALF - 1)
    key += CELLS * np.arange(classes)[:, None]
    yield "cells", np.bincount(key.ravel(), minlength=classes * CELLS).astype(np.float64)
    yield "cell_sums", np.bincount(key.ravel(), fine.ravel(), classes * CELLS)

    # ---- levels
    missed = np.flatnonzero(correct < highest)
    level = _level(other)
    few = missed[correct[missed] < 2.0**-FIRST_LEVEL]
    level[missed] = 0
    level[few] = _level(_over_classes(np.where(p[:, few] <= correct[few], p[:, few], 0.0)))
    right = np.ones(n, dtype=bool)
    right[missed] = False
    yield "right", np.bincount(level[right], minlength=LEVELS).astype(np.float64)
    yield "wrong", np.bincount(level[missed], minlength=LEVELS).astype(np.float64)
    residual, scores = np.zeros((LEVELS, classes)), np.zeros((LEVELS, 2))
    few = few[level[few] >= FIRST_LEVEL]
    off = -p[:, few] * weight[few]
    off[truth[few], np.arange(few.size)] += weight[few]
    np.add.at(residual, level[few], units(off, _FINE).T)
    np.add.at(scores, level[few], score[:, few].T)
    yield "wrong_residual", residual
    yield "wrong_score", scores


def _over_classes(x: Floats) -> Floats:
    """Add up the classes of each row in their order, whatever the number of rows; NumPy adds up one row by halves."""
    return np.add.reduce(x, axis=0) if x.shape[1] > 1 else np.add.reduce(np.repeat(x, 2, axis=1), axis=0)[:1]


def _level(mass: Floats) -> Ints:
    """Largest j for which a probability is at most 2**-j, within the levels there are."""
    return np.clip((1023 << _CODE_BITS) - _LOWEST - _code(mass) >> _CODE_BITS, 0, LEVELS - 1)
