"""Samples of rows of more than two classes: one class is observed in each, and a row's other pairs come with it.

Over the cells of what was observed the rows are one multinomial draw. What else the rows of an observed cell hold is on
average known from those that a tally keeps, and varies about it as it does there. So a sample takes as long whatever
the number of rows, and is one of rows, not of pairs.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import dataclass, replace
from .._lib.typing import Floats, Ints
from ..statistics.products import product
from ..tally.counter import ROOM
from ..tally.tally import Tally
from .worlds import Counts

_FEW = 30.0
"""A count that is expected to be smaller is drawn as a Poisson one, not as a normal one."""

_MANY = 16
"""With more classes, products of a row's pairs are summed as products of matrices."""

_PRIOR = 4.0
"""So many pairs say that the probabilities of a row sum to 1 as they are."""


@dataclass(frozen=True)
class ClassRows:
    """Distinct rows of the kept sample, by coarse cell."""

    count: Floats
    """How often each row was kept."""
    at: Ints
    """Coarse cell of each of its probabilities, one row a row."""
    size: int
    """How many coarse cells there are."""
    fine: Ints
    """Coarse cell of each fine cell, from 0 and increasing."""
    complete: bool
    """Whether all rows are kept."""

    def finer(self, codes: Ints) -> ClassRows:
        """Give the same rows other fine cells."""
        return replace(self, fine=np.unique(codes, return_inverse=True)[1])

    @staticmethod
    def of(tally: Tally, codes: Ints | None) -> ClassRows | None:
        """Count kept rows in coarse cells, ``codes`` being those of the fine cells, increasing; None if none are kept.

        So for two classes, of which one probability tells the other.
        """
        sample = tally.row_sample
        if codes is None or sample is None or not sample.key.size:
            return None
        coarse, fine = np.unique(codes, return_inverse=True)
        at = np.minimum(np.searchsorted(coarse, sample.cells), coarse.size - 1)
        return ClassRows(sample.count, at, coarse.size, fine, tally.n_weighing <= ROOM // tally.n_classes)

    @cached_property
    def kept(self) -> Floats:
        """How many probabilities are in each coarse cell, in all rows that were kept."""
        return self.sums(np.broadcast_to(self.count[:, None], self.at.shape))

    @cached_property
    def pairs(self) -> Floats:
        """How many of its probabilities are in each coarse cell, one row a row."""
        return self.by_cell(np.ones(self.at.shape))

    def by_cell(self, each: Floats) -> Floats:
        """Sum what each probability has over the coarse cells of its row."""
        n = len(self.at)
        flat = self.at + self.size * np.arange(n)[:, None]
        return np.bincount(flat.reshape(-1), each.reshape(-1), n * self.size).reshape(n, self.size).astype(np.float64)

    def sums(self, each: Floats) -> Floats:
        """Sum what each probability has over the coarse cells of all rows."""
        return np.bincount(self.at.reshape(-1), each.reshape(-1), self.size).astype(np.float64)

    def _crossed(self, each: Floats) -> Floats:
        """Sum what each probability has (rows: its coarse cell) over all pairs of its row (columns)."""
        if self.at.shape[1] > _MANY:
            return np.asarray(product(self.by_cell(each).T, self.pairs))
        both = (self.at * self.size)[:, :, None] + self.at[:, None, :]
        weights = np.broadcast_to(each[:, :, None], both.shape)
        found = np.bincount(both.reshape(-1), weights.reshape(-1), self.size**2)
        return found.reshape(self.size, self.size).astype(np.float64)

    def world(self, curve: Floats, total: Floats, like: ClassWorld | None = None) -> ClassWorld:
        """Make the world in which a class occurs in its row in proportion to a curve over the fine cells.

        The other pairs of a row may be those of a world of the same rows in other fine cells.
        """
        size = self.size
        pairs = np.bincount(self.fine, total, size)
        level = np.bincount(self.fine, total * curve, size) / pairs  # of each coarse cell
        chance = level[self.at]
        sums = chance.sum(axis=1, keepdims=True)
        observed = self.count[:, None] * np.divide(
            chance, sums, out=np.full(chance.shape, 1 / chance.shape[1]), where=sums > 0
        )
        by_cell, prior = self.sums(observed), 0.0 if self.complete else _PRIOR
        expected = self.sums(self.count[:, None] * chance) + prior * level
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = (by_cell + prior * level) / expected
        curve = np.minimum(curve * np.where(expected > 0, factor, 1.0)[self.fine], 1.0)
        rows = float(total.sum() / self.at.shape[1])
        curve = np.minimum(curve * (rows / float(product(total, curve))), 1.0)
        happened = total * curve
        company, root = (like.company, like.root) if like is not None else self._company(observed, by_cell, rows)
        return ClassWorld(curve, Counts(happened, total - happened), self.fine, company, root)

    @cached_property
    def _second(self) -> Floats:
        """Sums of products of a row's numbers of pairs."""
        return self._crossed(np.broadcast_to(self.count[:, None], self.at.shape))

    def _company(self, observed: Floats, n: Floats, drawn: float) -> tuple[Floats, Floats]:
        """Give the mean number of missed pairs by cell, given the cell of the observed class, and covariances' root.

        These are about the means, of the rows of a sample. ``n`` is what is observed in each coarse cell.
        """
        rows = float(self.count.sum())
        crossed = self._crossed(observed)
        overall = self.kept / rows
        company = np.where(n[:, None] > 0, crossed / np.maximum(n, 1e-300)[:, None], overall)
        company -= np.where(n[:, None] > 0, np.eye(n.size), (n / rows)[None, :])
        second = self._second - crossed - crossed.T + np.diag(n)
        covariance = (second - product((company * n[:, None]).T, company)) / rows
        values, vectors = np.linalg.eigh(covariance * max(round(drawn), 1))
        return company, vectors * np.sqrt(np.maximum(values, 0.0))


@dataclass(frozen=True)
class ClassWorld:
    """A world of rows of more than two classes."""

    curve: Floats
    """Probability with which a pair of each fine cell is of the observed class."""
    expected: Counts
    fine: Ints
    company: Floats
    """Mean missed pairs in coarse cells (columns) of a row whose observed class is in a coarse cell (rows)."""
    root: Floats
    """Its product with its transpose: the covariance of missed pairs of a sample, in coarse cells about these means."""

    def drawn(self, n: int, rng: np.random.Generator) -> Counts:
        """Draw n samples of a whole number of rows, scaled to the weight of what is expected."""
        happened, missed = self.expected
        weight = float(happened.sum())
        rows = max(round(weight), 1)
        share = rows / weight
        observed = rng.multinomial(rows, happened / weight, size=n).astype(np.float64)
        size = len(self.company)
        first = run_starts(self.fine)
        by_cell = np.add.reduceat(observed, first, axis=1)
        level = np.bincount(self.fine, missed * share, size)
        usual = product(np.bincount(self.fine, happened * share, size), self.company)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(usual > 0, np.maximum(product(by_cell, self.company), 0.0) * (level / usual), level)
        noise = product(rng.standard_normal((n, size)), self.root.T)
        few = level < _FEW
        coarse = np.maximum(np.rint(mean + noise), 0.0)
        coarse[:, few] = rng.poisson(mean[:, few])
        found = np.zeros_like(observed)
        for cell, ends in enumerate(pairwise([*first.tolist(), self.fine.size])):
            here = slice(*ends)  # a coarse cell's pairs are spread over its fine cells
            if level[cell] > 0:
                found[:, here] = rng.multinomial(coarse[:, cell].astype(np.int64), missed[here] / missed[here].sum())
        return Counts(observed / share, found / share)
