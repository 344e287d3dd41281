"""The part "diagnosis" of a tally of more than two classes: sums from which its calibration is tested and diagnosed.

They are the scores of class biases, confidence and tail with their moments, were the forecasts calibrated, and
log-probabilities by the observed class, which tell whether columns were permuted. Without
weights every sum is of whole numbers of a unit, so that no order and no split of the rows matters.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from .._lib.dataclasses import dataclass
from .._lib.errors import InputError
from .._lib.typing import AnyFloats, Codes, Floats, Ints
from ..forecasts.group_keys import N_SHARDS
from ..kernels.compiled import kernel as _kernel
from .class_row_sums import CELLS, COARSE, FINE, LEVELS, LOGS, MOMENT, SCORE, THIRD, directions, least_log, sums_of

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


@dataclass(frozen=True, eq=False)
class ClassSums:
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
