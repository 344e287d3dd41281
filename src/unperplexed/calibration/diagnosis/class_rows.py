"""Rows of forecasts of several classes as the diagnosis reads them: in chunks, without the rows that were certain."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._lib.dataclasses import Frozen, dataclass, fields
from ..._lib.typing import AnyFloats, Bools, Floats, Ints
from ...forecasts.forecasts import Given
from ...kernels.logarithms import log_odds
from ...maps import rows
from ...maps.two import zero_of

CERTAIN = 0.01
"""All certain outcomes together are expected to be wrong at most so often."""
CHUNK_VALUES = 2**17
"""Probabilities that are read at once: small enough to stay in cache."""
MOST_NAMED = 20
"""Row numbers that a finding names."""
MOST_SURPRISING = 3
"""Rows at most that are named as surprising."""
KEPT_VALUES = 2**24
"""Up to so many probabilities the prepared rows stay in memory; beyond, each pass reads them again."""


class RowBlock(NamedTuple):
    """Consecutive rows. Rows sum to 1 within 1e-3 and may hold exact zeros."""

    p: AnyFloats
    """(rows, classes)"""
    truth: NDArray[np.integer[Any]]
    """Number of the observed class."""
    weights: AnyFloats | None = None
    cluster: NDArray[np.integer[Any]] | None = None
    """Number of the cluster of dependent rows, where there are clusters."""
    number: Ints | None = None
    """Numbers of the rows as the user counts them, where they are from one source."""
    given: Given | None = None
    """The rows as they came; None where they came as these probabilities."""
    columns: Ints | None = None
    """Which of those columns each class has, where they were reordered."""

    def reordered(self, columns: Ints) -> RowBlock:
        """Give each class another column."""
        return self._replace(p=self.p[:, columns], columns=columns)

    @property
    def single(self) -> bool:
        """Whether the rows came in single precision, so that no more digits are known."""
        given = None if self.given is None else self.given.values
        return (given if isinstance(given, np.ndarray) else self.p).dtype == np.float32

    def log_odds(self) -> Floats:
        """Log-odds of the second of two classes."""
        if self.given is not None:
            return self.given.log_odds
        return log_odds(self.p, "probability")

    def logarithms(self, here: slice, p: AnyFloats) -> AnyFloats:
        """Log-probabilities of some rows, of which ``p`` are the probabilities divided by their sums."""
        if self.given is not None and self.given.scale in ("logits", "log-probs"):
            x = self.given[here].log_probabilities
            x = x if self.columns is None else x[:, self.columns]
            sums = self.p[here].sum(axis=1, keepdims=True, dtype=np.float64)
            return np.asarray(x - np.log(sums), dtype=p.dtype)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(p))


Rows = Callable[[], Iterator[RowBlock]]
"""Reads all rows from the beginning, block by block."""


@dataclass(slots=True, eq=False)
class Chunk(rows.Chunk):
    """A few rows, prepared: no certain ones, probabilities that sum to 1, log-probabilities that are finite.

    They are as they came; an exact zero counts as `RowCounts.floor`. Weights have a mean over all rows of 1.
    """

    p: AnyFloats
    cluster: Ints | None
    number: Ints
    """Numbers of the rows among all that are read, from 0."""
    named: Ints
    """Numbers by which the user knows them; -1 where there are none."""

    def only(self, here: Bools | Ints) -> Chunk:
        """Some of them."""
        if here.dtype == bool and here.all():
            return self
        columns: list[Any] = [None if column is None else column[here] for column in self._columns()]
        return Chunk(*columns)

    def _columns(self) -> Iterator[Any]:
        return (getattr(self, column.name) for column in fields(self) if column.init)

    @staticmethod
    def joined(chunks: Sequence[Chunk]) -> Chunk:
        """One chunk of several."""
        if len(chunks) == 1:
            return chunks[0]
        each_column = zip(*(each._columns() for each in chunks), strict=True)
        columns: list[Any] = [None if column[0] is None else np.concatenate(column) for column in each_column]
        return Chunk(*columns)


class RowCounts(Frozen, eq=False):
    """What a first pass counts."""

    rows: int = 0
    classes: int = 0
    weight: float = 0.0
    clusters: Ints | None = None
    """Numbers of the clusters, ascending; None without, and where each has one row: these are independent."""

    @property
    def limit(self) -> float:
        """An outcome is certain not to occur where it and all less probable ones have less than this together.

        Rows count, not clusters: expected numbers add up however the rows depend on each other.
        """
        return CERTAIN / max(self.rows, 1)

    @property
    def floor(self) -> float:
        """What a probability of exactly 0 counts as in logarithms; an outcome that is not certain never is so."""
        return self.limit / max(self.classes, 2)


def count(rows: Rows) -> RowCounts:
    """Count rows, classes, weights and clusters."""
    n, classes, weight = 0, 0, 0.0
    clusters: Ints | None = None
    for block in rows():
        n, classes = n + len(block.truth), block.p.shape[1]
        weight += len(block.truth) if block.weights is None else float(block.weights.sum(dtype=np.float64))
        if block.cluster is not None:
            here = np.unique(block.cluster).astype(np.int64)
            clusters = here if clusters is None else np.union1d(clusters, here)
    return RowCounts(n, classes, weight, None if clusters is None or clusters.size == n else clusters)


class Certain(Frozen, eq=False):
    """Rows that predicted one class, or the absence of the observed one, as certain."""

    rows: int = 0
    """Rows that stay out of all else."""
    wrong: int = 0
    """How many of these were wrong: the outcome was certain not to occur."""
    named: tuple[int, ...] = ()
    """Numbers of these by which the user knows them, the least probable outcome first."""
    expected: float = 0.0
    """How many of all rows were expected to be such, by the forecasts."""
    observed: Floats | float = 0.0
    predicted: Floats | float = 0.0
    """Weights of the outcomes and of the predictions of each class, in the rows that stay out."""


Readers = Sequence[Callable[[Chunk], None]]
"""What looks at rows as they are read once."""


class PreparedRows:
    """All rows without the certain ones, in chunks; kept in memory where they are few."""

    def __init__(self, rows: Rows, counts: RowCounts, uncertain: Readers = (), every: Readers = ()) -> None:
        """Look at each row once; `certain` then describes those that stay out.

        So do others: at the rows that are not certain, and at every row, in which log-probabilities may be infinite.
        """
        self.counts = counts
        self._source = rows
        self._kept: list[Chunk] | None = [] if counts.rows * counts.classes <= KEPT_VALUES else None
        apart: list[Chunk] = []
        self.zeros = False
        """Whether any are exactly 0 in the rows that stay."""
        observed, predicted, out = np.zeros(counts.classes), np.zeros(counts.classes), 0
        wrong, named = 0, list[tuple[float, int]]()
        self._zero = np.inf
        for chunk in self._raw():
            self._zero = min(self._zero, zero_of(chunk.log_p, counts.classes, counts.rows))
            certain, erred = _certain(chunk.p, chunk.truth, counts.limit)
            out += int(certain.sum())
            wrong += int(erred.sum())
            assigned = zip(chunk.p[erred, chunk.truth[erred]].tolist(), chunk.named[erred].tolist(), strict=True)
            named = sorted([*named, *(each for each in assigned if each[1] >= 0)])[:MOST_NAMED]
            observed += np.bincount(chunk.truth[certain], chunk.weights[certain], counts.classes)
            predicted += chunk.weights[certain] @ chunk.p[certain]
            some = chunk.only(~certain)
            left = _finite(some, counts.floor)
            self.zeros |= left is not some
            for read in uncertain:
                read(left)
            for read in every:
                read(chunk)
            if self._kept is not None:
                self._kept.append(left)
                apart.append(chunk.only(certain))
        expected = sum(float(_certain_mass(c.p, counts.limit).sum()) for c in self._raw()) if wrong else 0.0
        self._apart = _finite(Chunk.joined(apart), self._zero) if apart and not self.zeros else None
        """The certain rows, where these and those that are kept are all."""
        self.certain = Certain(out, wrong, tuple(row for _, row in named), expected, observed, predicted)

    def __iter__(self) -> Iterator[Chunk]:
        """Chunk by chunk."""
        chunks = self._kept if self._kept is not None else self._read()
        for chunk in chunks:
            if len(chunk.truth):
                yield chunk

    def _read(self) -> Iterator[Chunk]:
        for chunk in self._raw():
            certain, _ = _certain(chunk.p, chunk.truth, self.counts.limit)
            yield _finite(chunk.only(~certain), self.counts.floor)

    def everything(self) -> Iterator[Chunk]:
        """Yield all rows, those that were certain too; probabilities of exactly 0 count as `zero_of` says."""
        if self._kept is None or self._apart is None:
            yield from (_finite(chunk, self._zero) for chunk in self._raw())
        else:
            yield from (*self._kept, self._apart)

    def _raw(self) -> Iterator[Chunk]:
        """All rows, divided by their sums; the logarithms of exact zeros are infinite."""
        step = max(1, CHUNK_VALUES // max(self.counts.classes, 1))
        scale = self.counts.rows / self.counts.weight if self.counts.weight > 0 else 1.0
        start = 0
        for block in self._source():
            for first in range(0, len(block.truth), step):
                here = slice(first, first + step)
                p = np.ascontiguousarray(block.p[here])
                p = p / p.sum(axis=1, keepdims=True, dtype=np.float64)
                p = p.astype(np.float32 if block.single else np.float64, copy=False)
                log_p = np.ascontiguousarray(block.logarithms(here, p))
                truth = block.truth[here].astype(np.int64)
                weights = np.ones(len(p)) if block.weights is None else block.weights[here].astype(np.float64) * scale
                cluster = None
                if block.cluster is not None and self.counts.clusters is not None:
                    cluster = np.searchsorted(self.counts.clusters, block.cluster[here]).astype(np.int64)
                number = np.arange(start + first, start + first + len(p))
                named = np.full(len(p), -1) if block.number is None else block.number[here]
                yield Chunk(log_p, truth, weights, p, cluster, number, named)
            start += len(block.truth)


class MostSurprising:
    """The most surprising of the rows that are not certain, a few at most."""

    def __init__(self, counts: RowCounts) -> None:
        """Look for rows whose surprise is below 1/N.

        It is the probability that the row assigned to outcomes at most as probable as the observed one.
        """
        self._level = 1 / max(counts.rows, 1)
        self.found: list[tuple[float, int, Chunk]] = []
        """Surprise, number of the row, and the row."""

    def read(self, chunk: Chunk) -> None:
        """Look at rows that are not certain."""
        mine = chunk.pick(chunk.p)
        few = np.flatnonzero(mine < self._level)
        mass = at_most(chunk.p[few], mine[few])
        new = [(float(m), int(chunk.number[at]), at) for m, at in zip(mass, few, strict=True) if m < self._level]
        rows = [(m, number, chunk.only(np.array([at]))) for m, number, at in sorted(new)[:MOST_SURPRISING]]
        self.found = sorted([*self.found, *rows])[:MOST_SURPRISING]


class RandomRows:
    """About a share of the rows, chosen at random: the same each time."""

    def __init__(self, share: float) -> None:
        self._share, self._rng = share, np.random.default_rng(0)
        self._chosen: list[Chunk] = []

    def read(self, chunk: Chunk) -> None:
        """Choose from some rows, and put them to those before, where these are few."""
        some = chunk.only(np.flatnonzero(self._rng.random(len(chunk.truth)) < self._share))
        few = bool(self._chosen) and self._chosen[-1].log_p.size < CHUNK_VALUES
        self._chosen.append(Chunk.joined([self._chosen.pop(), some]) if few else some)

    def __call__(self) -> Iterator[RowBlock]:
        """Read what was chosen."""
        for some in self._chosen:
            given = Given(some.log_p, "log-probs")
            yield RowBlock(some.p, some.truth, some.weights, some.cluster, some.named, given)


def at_most(p: AnyFloats, limit: Floats) -> Floats:
    """Probability that each row assigns to classes no more probable than its limit."""
    return np.asarray(np.where(p <= limit[:, None], p, 0).sum(axis=1, dtype=np.float64))


def _certain(p: AnyFloats, truth: Ints, limit: float) -> tuple[Bools, Bools]:
    """Which rows are certain of one class or were certain that the outcome would not occur; which of them erred."""
    mine = p[np.arange(len(truth)), truth].astype(np.float64)
    erred = mine < limit
    erred[erred] = at_most(p[erred], mine[erred]) < limit
    certain = 1 - p.max(axis=1).astype(np.float64) < limit
    if p.dtype == np.float32 and certain.any():  # 1 - p is rounded to 6e-8: add up the other classes instead
        others = np.sort(p[certain], axis=1)[:, :-1].sum(axis=1, dtype=np.float64)
        certain[certain] = others < limit
    return certain | erred, erred


def _certain_mass(p: AnyFloats, limit: float) -> Floats:
    """Probability of the outcomes that each row is certain will not occur."""
    low = np.where(p < limit, p, 0).astype(np.float64)
    mass = low.sum(axis=1)
    more = mass >= limit
    low = np.sort(low[more], axis=1).cumsum(axis=1)
    mass[more] = np.where(low < limit, low, 0).max(axis=1)
    return np.asarray(mass)


def _finite(chunk: Chunk, zero: float) -> Chunk:
    """The same rows, in which probabilities of exactly 0 count as another."""
    if not np.isinf(chunk.log_p.min(initial=0.0)):
        return chunk
    log_p, *others = chunk._columns()
    return Chunk(np.where(np.isneginf(log_p), np.log(zero).astype(log_p.dtype), log_p), *others)
