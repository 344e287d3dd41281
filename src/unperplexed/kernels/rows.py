"""What is computed from every probability, block by block: by the compiled kernel, or in NumPy with the same results.

A kernel emits two things and nothing else: the per-row primitives that scores are functions of, and the cell
counts of a tally. Blocks are small enough that NumPy's temporaries stay in cache; the kernel, which has none, takes
larger ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, dataclass, fields
from .._lib.typing import AnyFloats, Bools, Floats, Ints
from .compiled import kernel as _kernel
from .softmax import FEW_CLASSES, LogitRows, row_sums

BLOCK_ELEMENTS = 1 << 18
"""Probabilities in a block: two megabytes of float64."""

COUNTED_ELEMENTS = 1 << 22
"""And in one that is counted into cells as it is read; NumPy does so in smaller parts."""

_AT_ONCE = 1 << 17
"""Probabilities that NumPy takes at once, with one array for what is made of them: malloc would map new ones each time,
which takes as long as all else. With half as many, the calls themselves cost."""

LOGIT_ELEMENTS = 1 << 20
"""And of logits that are: all their probabilities are made at once where parts of a tally need them."""

BLOCK_ROWS = 1 << 16
"""And at most so many rows."""

_LAST_DIGITS = 1e-9
"""Relative room for the rounding of the tolerance itself."""

SUM_TOLERANCE = 1e-3
"""How far a row's probabilities may sum from 1."""


def sums_to_one(total: Any) -> Any:
    """Whether sums are 1 within the tolerance; of arrays of any library."""
    return abs(total - 1) <= SUM_TOLERANCE * (1 + _LAST_DIGITS)


@dataclass(frozen=True, slots=True)
class Rows:
    """Per-row primitives: the contract between rows, kernel and scores. All vectors of one length."""

    correct: Floats
    """Probability of the class that happened."""
    lowest: Floats
    """The lowest of the row that is below 0; 0 if there is none."""
    highest: Floats
    ties: Ints
    """How many classes share the highest probability."""
    hit: Floats
    """1/ties if the class that happened is one of them, else 0."""
    total: Floats
    """Sum of the row's probabilities."""
    squares: Floats
    """Sum of their squares."""
    n_classes: int

    def __getitem__(self, keep: slice | Ints | np.ndarray) -> Rows:
        """Select rows."""
        kept: dict[str, Any] = {name: getattr(self, name)[keep] for name in PRIMITIVES}
        return Rows(n_classes=self.n_classes, **kept)

    @property
    def usual(self) -> Bools:
        """Whether a row is a distribution."""
        return _usual(self.lowest, self.highest, self.total)


def _usual(lowest: Floats, highest: AnyFloats, total: Floats) -> Bools:
    return np.asarray((lowest >= 0) & (highest <= 1) & sums_to_one(total))


PRIMITIVES = tuple(f.name for f in fields(Rows))[:-1]


class CellTotals(Frozen):
    """Where probabilities are counted: the weight in each cell of a grid."""

    grid: Grid
    total: Floats


def row_primitives(
    p: AnyFloats | LogitRows, truth: Ints, weights: Floats | None = None, into: CellTotals | None = None
) -> Rows:
    """Primitives of a block of rows; NaN and infinity pass through for the caller to refuse.

    Where cells are given, the probabilities of the usual rows are counted into them in the same pass.

    Parameters
    ----------
    p : ndarray of shape (n, C), or LogitRows
        Probabilities.
    truth : ndarray of shape (n,)
        Number of the observed class of each row, from 0.
    weights : ndarray of shape (n,), optional
        Positive weights; None if all are 1.
    into : CellTotals, optional
        Cells that the probabilities are counted into.
    """
    if _kernel is not None:
        out = np.empty((len(PRIMITIVES), len(p)))
        bits, total = (9, None) if into is None else (into.grid.fraction_bits, into.total)
        given = (p.logits, True) if isinstance(p, LogitRows) else (p, False)
        _kernel.rows(given[0], np.ascontiguousarray(truth, dtype=np.int64), weights, out, bits, total, given[1])
        correct, lowest, highest, ties, hit, total, squares = out
        return Rows(correct, lowest, highest, ties.astype(np.int64), hit, total, squares, p.shape[1])
    return _numpy_primitives(np.asarray(p), truth, weights, into)


def _numpy_primitives(p: AnyFloats, truth: Ints, weights: Floats | None, into: CellTotals | None) -> Rows:
    n, step = len(p), max(1, _AT_ONCE // p.shape[1])
    highest: AnyFloats = np.empty(n, p.dtype)
    ties: Ints = np.ones(n, dtype=np.int64)
    lowest, total, squares = np.zeros((3, n))
    room = np.empty((min(step, n), p.shape[1]))
    for start in range(0, n, step):
        part = slice(start, start + step)
        some: AnyFloats = p[part]
        space = room[: len(some)]
        # A reduction along a short last axis costs a loop start for each row; lay few classes out by class.
        laid = np.ascontiguousarray(some.T).T if p.shape[1] < FEW_CLASSES else some
        _fill_shape(laid, highest[part], lowest[part], ties[part])
        _fill_sums(laid, space, total[part], squares[part])
        if into is not None:
            usual, w = _usual(lowest[part], highest[part], total[part]), None if weights is None else weights[part]
            if not usual.all():
                some, w = some[usual], None if w is None else w[usual]
            into.grid.count(some, into.total, w, space)
    correct = p[np.arange(n), truth]
    hit = (correct == highest) / np.maximum(ties, 1)
    return Rows(correct.astype(np.float64), lowest, highest.astype(np.float64), ties, hit, total, squares, p.shape[1])


def _fill_shape(p: AnyFloats, highest: AnyFloats, lowest: Floats, ties: Ints) -> None:
    """Fill in the highest of rows and how many share it, which are 1, and the lowest below 0, which are 0."""
    # Bits of floats without a sign are in the order of the floats, and those of NaN and with a sign are above them all.
    kind = f"u{p.itemsize}"
    bits, most = p.view(kind), highest.view(kind)
    bits.max(axis=1, out=most)
    if most.max() <= np.asarray(np.inf, p.dtype).view(kind):
        same = bits == most[:, None]
        if np.count_nonzero(same) == len(p):  # and each row has one at least
            return
    else:
        p.max(axis=1, out=highest)
        np.minimum(p.min(axis=1).astype(np.float64), 0.0, out=lowest)
        same = p == highest[:, None]
    ties[:] = np.count_nonzero(same, axis=1)


def _fill_sums(p: AnyFloats, room: Floats, total: Floats, squares: Floats) -> None:
    """Fill in sums of rows and of their squares, in an order of their own as `row_sums`."""
    if p.shape[1] < FEW_CLASSES:
        total[:], squares[:] = row_sums(p), 0.0
        for column in range(p.shape[1]):
            x = p[:, column].astype(np.float64)
            squares += x * x
        return
    room[...] = p
    room.sum(axis=1, out=total)
    np.multiply(room, room, out=room).sum(axis=1, out=squares)


def row_hashes(rows: Rows, most: int) -> tuple[Ints, Ints]:
    """Hash rows by their highest probability and the sum of squares, and say which hashes are at most so high."""
    if _kernel is not None:
        key = np.empty(rows.squares.size, dtype=np.int64)
        some = _kernel.row_hashes(*map(np.ascontiguousarray, (rows.highest, rows.squares)), most, key)
        return key, np.flatnonzero(key <= most) if some else np.empty(0, dtype=np.int64)
    x = rows.highest.view(np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
    x ^= x >> np.uint64(29)
    x ^= rows.squares.view(np.uint64)
    x *= np.uint64(0x94D049BB133111EB)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(31)
    key = (x >> np.uint64(1)).view(np.int64)
    return key, np.flatnonzero(key <= most)


class Grid:
    """The cells probabilities are counted in. The definition is final: all tallies and kernels share it.

    A cell is named by the leading bits of the float32 of u = min(p, 1 - p), ``fraction_bits`` of them from its
    fraction, and by the side p is on. Codes grow with p: 0 is exactly 0, then the cells up to 1/2, then those
    above it mirrored, and the last is exactly 1.
    """

    def __init__(self, fraction_bits: int) -> None:
        self.fraction_bits, self.shift = fraction_bits, 23 - fraction_bits
        self.half = int(np.float32(0.5).view(np.uint32)) >> self.shift
        self.size = 2 * (self.half + 1) + 2

    def codes(self, p: AnyFloats) -> Ints:
        """Cell of each probability in a vector."""
        return self.places(p)[0]

    def places(self, p: AnyFloats) -> tuple[Ints, Ints]:
        """Cell of each probability in a vector, and the remaining bits of its u, which say where in the cell."""
        if _kernel is not None and p.dtype in (np.float32, np.float64):
            codes, rest = np.empty((2, p.size), dtype=np.int64)
            _kernel.places(np.ascontiguousarray(p), self.fraction_bits, codes, rest)
            return codes, rest
        upper = p > 0.5
        # 1 - p is exact for p in [1/2, 1], in whatever precision p came; only then is it rounded to float32.
        u = np.where(upper, 1 - p, p).astype(np.float32)
        bits = u.view(np.uint32).astype(np.int64)
        code = (bits >> self.shift) + 1
        np.subtract(self.size - 1, code, out=code, where=upper)
        code[p == 0] = 0
        code[p == 1] = self.size - 1
        return code, bits & ((1 << self.shift) - 1)

    def values(self, code: Ints, place: Floats) -> tuple[Floats, Floats]:
        """Probability at a place in a cell, which may be a mean of places, and that of a step to the next."""
        upper = code > self.half + 1
        bits = np.clip(np.where(upper, self.size - 1 - code, code) - 1, 0, self.half)
        edge = (bits.astype(np.uint32) << np.uint32(self.shift)).view(np.float32)
        step = np.spacing(edge).astype(np.float64)  # the same within a cell
        u = edge.astype(np.float64) + place * step
        return np.where(upper, 1 - u, u), step

    def undetermined(self, p: Floats) -> Bools:
        """Whether probabilities are in cells that do not tell a score: of no constant relative width, or at 1/2."""
        code, normal = self.codes(p), (1 << self.fraction_bits) + 1  # the cell of the smallest normal float32
        return np.asarray(((code > 0) & (code < normal)) | (code == self.half + 1))

    def count(self, p: AnyFloats, counts: Floats, weights: Floats | None = None, room: Floats | None = None) -> None:
        """Add the elements of an array, each with its row's weight, to the counts of their cells.

        NumPy has use for an array of at least as many elements, whatever is in it.

        Parameters
        ----------
        p : ndarray of shape (n,) or (n, C)
            Probabilities.
        counts : ndarray of shape (size,)
            Weight in each cell, which is added to.
        weights : ndarray of shape (n,), optional
            Weights of rows; None if all are 1.
        room : ndarray, optional
            Float64 of at least as many elements as ``p``, which are overwritten.
        """
        if _kernel is not None:
            _kernel.count(p if p.ndim == 2 else p[:, None], weights, self.fraction_bits, counts)
            return
        flat = p.reshape(-1)
        if weights is not None:
            each = np.repeat(weights, p.size // weights.size)
            counts += np.bincount(self.codes(flat), weights=each, minlength=self.size)
            return
        single = flat.astype(np.float32, copy=False)
        shifted = None if room is None else room.reshape(-1).view(np.uint32)[: flat.size]
        codes = np.right_shift(single.view(np.uint32), np.uint32(self.shift), out=shifted)
        least = int(codes.min(initial=self.half))
        np.subtract(codes, np.uint32(least), out=codes)  # the lowest cells, most of all, are often empty
        raw = np.bincount(codes)
        below = raw[: self.half - least]
        counts[1 + least : 1 + least + below.size] += below
        # Two kinds of element are not where their raw bits say: exact zeros, and what lies at or above 1/2.
        signs = raw[max(0, (1 << (31 - self.shift)) - least) :].sum()  # -0.0 is elsewhere by its sign bit
        if signs or not least:
            zeros = flat.size - np.count_nonzero(flat)
            counts[0] += zeros
            counts[1] -= zeros - signs
        if raw.size > below.size:
            high = flat[np.flatnonzero(codes >= np.uint32(self.half - least))]
            np.add.at(counts, self.codes(high[high > 0]), 1.0)

    def happened_columns(self) -> Floats:
        """Make columns for `count_happened`, all 0. Those of a cell lie side by side in a line of memory."""
        return np.zeros((self.size, 8)).T[:7]

    def count_happened(self, values: Floats, weights: Floats | None, columns: Floats) -> None:
        """Add values that happened to the rows of ``columns``: their weight, its square, the moments and the ends.

        Weights are above 0; the ends of a cell in which nothing happened are not looked at.
        """
        if _kernel is not None:
            values = np.ascontiguousarray(values)
            _kernel.happened(values, weights, self.fraction_bits, columns)
            return
        code, place = self.places(values)
        new = code[columns[0, code] == 0]
        columns[-2, new], columns[-1, new] = np.inf, -np.inf
        w = np.ones(len(values)) if weights is None else weights
        for column, amount in zip(columns, (w, w * w, *moments(place, w)), strict=False):
            np.add.at(column, code, amount)
        np.minimum.at(columns[-2], code, values)
        np.maximum.at(columns[-1], code, values)

    def count_rows(self, rows: Rows, happened: Floats, top_total: Floats, top_happened: Floats) -> Ints:
        """Add what happened in rows that weigh 1 to columns, and the pairs of the top to others.

        Places of rows with several top classes are returned: their top is not counted.

        Parameters
        ----------
        rows : Rows
            Primitives of the rows.
        happened, top_happened : ndarray of shape (7, size)
            Columns as `happened_columns` makes them, which are added to: of what happened, and of tops that did.
        top_total : ndarray of shape (size,)
            Number of tops in each cell, which is added to.
        """
        if _kernel is not None:
            given = (np.ascontiguousarray(x) for x in (rows.correct, rows.highest, rows.ties))
            several = _kernel.count_rows(*given, self.fraction_bits, happened, top_total, top_happened)
            return np.flatnonzero(rows.ties != 1) if several else np.empty(0, dtype=np.int64)
        self.count_happened(rows.correct + 0.0, None, happened)  # -0.0 is 0
        one = rows.ties == 1
        self.count(rows.highest[one], top_total)
        self.count_happened(rows.highest[one & (rows.hit > 0)], None, top_happened)
        return np.flatnonzero(~one)

    def centres(self, code: Ints) -> Floats:
        """Middle of each cell, as a probability."""
        upper = code > self.half + 1
        bits = np.clip(np.where(upper, self.size - 1 - code, code) - 1, 0, self.half)
        edges = np.stack([bits, bits + 1]).astype(np.uint32) << np.uint32(self.shift)
        low, high = np.minimum(edges.view(np.float32).astype(np.float64), 0.5)
        u = np.where(code % (self.size - 1) == 0, 0.0, (low + high) / 2)
        return np.where(upper, 1 - u, u)


HALF_BITS = 14
"""Squares of places are kept in two parts, the lower of so many bits."""


def moments(place: Any, w: Any) -> tuple[Any, Any, Any]:
    """Places and their squares, the latter in two parts, each with its weight; arrays of any library."""
    square = place * place
    return w * place, w * (square >> HALF_BITS), w * (square & ((1 << HALF_BITS) - 1))


def crowded(p: AnyFloats, most: int) -> bool:
    """Whether a matrix has more distinct values than so many. If it says so they surely are; if not, they may be."""
    if p.size <= most:
        return False
    if _kernel is not None:
        return bool(_kernel.crowded(p, most))
    bits = p.reshape(-1).view(np.uint32 if p.dtype == np.float32 else np.uint64).astype(np.uint64)
    log = max(10, (8 * most - 1).bit_length())
    seen = np.zeros(1 << log, dtype=bool)
    seen[(bits ^ bits >> np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - log)] = True
    return int(np.count_nonzero(seen)) > most + 1  # 0 and -0.0 are one


class DistinctValues:
    """Distinct values, with the weight of each and its square, as long as there are not too many."""

    def __init__(self, most: int) -> None:
        self._most, self._compiled = most, None if _kernel is None else _kernel.Distinct(most)
        self._found: tuple[Floats, ...] = (np.empty(0), np.empty(0), np.empty(0))

    def add(self, p: AnyFloats, weights: Floats | None = None) -> int:
        """Count the elements of a matrix, each with its row's weight, and say how many: all, or those that had room."""
        if self._compiled is not None:
            return int(self._compiled.add(p, weights))
        flat = p.ravel().astype(np.float64) + 0.0  # -0.0 is 0
        each = np.ones(flat.size) if weights is None else np.repeat(weights, p.shape[1])
        values, inverse = np.unique(np.concatenate([self._found[0], flat]), return_inverse=True)
        if values.size > self._most:
            return 0
        amounts = (np.concatenate(both) for both in zip(self._found[1:], (each, each * each), strict=True))
        self._found = (values, *(np.bincount(inverse, x, values.size).astype(np.float64) for x in amounts))
        return flat.size

    def columns(self) -> tuple[Floats, ...]:
        """Values in increasing order, the weight of each, and the sum of the squared weights."""
        if self._compiled is None:
            return self._found
        found = self._compiled.columns()
        order = np.argsort(found[0])
        return tuple(column[order] for column in found)


COARSE_CELLS = 256
"""Number of coarse cells, as `CoarseGrid` describes them."""

_LOWEST_EIGHTH = int(np.float32(2.0**-17 * 1.25).view(np.uint32)) >> 20
"""Exponent and three bits of the fraction, as float32 has them, of the eighth of an octave with which cell 1 ends."""

_CODES = np.arange(COARSE_CELLS)
_EIGHTH: Ints = np.minimum(_CODES, COARSE_CELLS - 1 - _CODES) + _LOWEST_EIGHTH - 1

_COARSE_SCALE: Floats = np.ldexp(1.0, 20 + 126 - (_EIGHTH >> 3))
"""Places in a cell's unit of u: 2**20 over the upper end of its octave."""

_COARSE_START = np.asarray((_EIGHTH & 7) + 8 << 16, dtype=np.float64)
_COARSE_START[[0, 1, -2, -1]] = 0.0
"""Place where each cell begins."""


class CoarseGrid:
    """Cells of the parts that are counted coarsely; their definition is final as well.

    Cells have relative width 1/8 in u = min(p, 1 - p). 0 is exactly 0, 1 all from there to 2**-17 * 11/8, then on in
    eighths of each octave to 127, exactly 1/2; those of p > 1/2 are mirrored, and 255 is exactly 1. Places are u in
    steps of 2**-20 of the upper end of the cell's octave.
    """

    def places(self, p: AnyFloats) -> tuple[Ints, Floats]:
        """Cell of each probability in a vector, and its place."""
        if _kernel is not None:
            codes, places = np.empty(p.size, dtype=np.int64), np.empty(p.size)
            _kernel.coarse(np.ascontiguousarray(p), codes, places)
            return codes, places
        upper = p > 0.5
        distance = np.where(upper, 1 - p, p)
        u = distance.astype(np.float32)
        code = (u.view(np.uint32) >> np.uint32(20)).astype(np.int64) - (_LOWEST_EIGHTH - 1)
        np.clip(code, 1, 127, out=code)
        code[distance == 0] = 0
        place = np.rint(u * _COARSE_SCALE[code])
        np.subtract(COARSE_CELLS - 1, code, out=code, where=upper)
        return code, place

    def count(
        self, p: AnyFloats, group: Ints, of_rows: bool, weights: Floats | None, total: Floats, places: Floats
    ) -> None:
        """Count the probabilities of rows, each under the group of its row or else of its column.

        To the cell's and the group's element of total and places, which come cell by cell and one a group, the row's
        weight is added, and so often the place.

        Parameters
        ----------
        p : ndarray of shape (n, C)
            Probabilities.
        group : ndarray of shape (n,) or (C,)
            Group of each row, or of each column.
        of_rows : bool
            Whether groups are those of rows.
        weights : ndarray of shape (n,) or None
            Weights of rows; None if all are 1.
        total, places : ndarray of shape (COARSE_CELLS * groups,)
            Weights and sums of places, which are added to.
        """
        groups = total.size // COARSE_CELLS
        p = np.ascontiguousarray(p)
        if _kernel is not None:
            group = np.ascontiguousarray(group, dtype=np.int64)
            _kernel.count_coarse(p, group, of_rows, groups, weights, total, places)
            return
        code, place = self.places(p.reshape(-1))
        at = (code.reshape(p.shape) * groups + (group[:, None] if of_rows else group)).reshape(-1)
        each = 1.0 if weights is None else np.repeat(weights, p.shape[1])
        np.add.at(total, at, each)
        np.add.at(places, at, place if weights is None else place * each)

    def within(self, code: Ints, place: Floats) -> Floats:
        """Place counted from where its cell begins: as small as it can be, so that its square is too."""
        return place - _COARSE_START[code]

    def values(self, code: Ints, within: Floats) -> tuple[Floats, Floats]:
        """Probability at a place counted from where its cell begins, and that of a step to the next."""
        u = (_COARSE_START[code] + within) / _COARSE_SCALE[code]
        return np.where(code > 127, 1 - u, u), 1 / _COARSE_SCALE[code]

    def means(self, code: Ints, total: Floats, place: Floats) -> Floats:
        """Mean probability in cells, from the weight of their pairs and the sum of their places."""
        # What is next to 0 rounds to place 0, but is in another cell than 0 itself: 2**-52 tells them apart.
        least = np.where(code % (COARSE_CELLS - 1) == 0, 0.0, 2.0**-16)
        u = np.maximum(place / total, least) / _COARSE_SCALE[code]
        return np.where(code > 127, 1 - u, u)


COARSE = CoarseGrid()
