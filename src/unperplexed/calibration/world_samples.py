"""Samples from the two worlds of a tally, measured as the data were, and the cells that they are drawn in.

By how much figures vary more than in independent rows of equal weight: where rows are in groups, or have weights.

The first-order influence of a row on a measured figure is a sum over its pairs, which depends on the cell of a pair and
on its outcome alone. So its variance is known both over shards of the rows and over independent rows.

Samples of rows of more than two classes: one class is observed in each, and a row's other pairs come with it.

Over the cells of what was observed the rows are one multinomial draw. What else the rows of an observed cell hold is on
average known from those that a tally keeps, and varies about it as it does there. So a sample takes as long whatever
the number of rows, and is one of rows, not of pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import Frozen, replace
from .._lib.typing import Floats, Ints
from ..kernels.rows import COARSE
from ..statistics.matrices import product
from ..statistics.means import Limit, apply_limit
from ..tally.counter import ROOM
from ..tally.tables import Pairs, grid_of
from ..tally.tally import Tally, View
from .estimators import DEFAULT, Estimator, measured_of_samples
from .resampling import CellCounts, positive_pairs
from .worlds import Counts, Deviation, deviation, drawn_rows, log_means, two_curves

_FEW = 30.0
"""A count that is expected to be smaller is drawn as a Poisson one, not as a normal one."""

_MANY = 16
"""With more classes, products of a row's pairs are summed as products of matrices."""

_PRIOR = 4.0
"""So many pairs say that the probabilities of a row sum to 1 as they are."""


class ClassRows(Frozen):
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


class ClassWorld(Frozen):
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


_AT_ONCE = 1 << 18
"""So many counts are drawn and measured at once, for the memory."""

_FEWEST, _FINE = 10, 1 << 18
"""So many samples are drawn in finer cells at least, and no more of them that have more counts together."""

Drawn = Callable[[int, np.random.Generator], Counts]


class Logs(NamedTuple):
    """Logarithms of generalized means, one sample a row and one order a column."""

    reported: Floats
    measured: Floats


class WorldSamples(Frozen):
    """Samples of one world."""

    logs: Logs
    truth: Logs
    """Those of the world itself, in one row."""
    finer: tuple[WorldSamples, WorldSamples] | None = None
    """A few samples as finely as the figures are measured, and the same ones in the cells of the others."""

    def deviation(self, figures: Callable[[Logs], Floats]) -> Deviation:
        """How far figures of the samples are off those of the world.

        The finer the cells, the more a curve follows chance. So the bias is that of the cells, and what the same
        samples deviate more where they are measured as finely as the data.
        """
        found = deviation(figures(self.logs), figures(self.truth))
        if self.finer is None:
            return found
        with np.errstate(invalid="ignore"):  # of figures that are 0
            fine, coarse = (figures(each.logs) - figures(each.truth) for each in self.finer)
            more = fine - coarse
        return found._replace(bias=found.bias + np.where(np.isfinite(more), more, 0.0).mean(axis=0))


class _World(NamedTuple):
    expected: Counts
    drawn: Drawn
    of_rows: ClassWorld | None


def world_samples(
    tally: Tally,
    cells: WorldCells,
    estimator: Estimator,
    orders: Floats,
    samples: int,
    rng: np.random.Generator,
    advance: Callable[[int], object],
) -> list[WorldSamples]:
    """Draw samples from both worlds and measure their means of some orders.

    Parameters
    ----------
    tally : Tally
    cells : WorldCells
        Its rows in cells.
    estimator : Estimator
        Of the measured probability.
    orders : array of shape (k,)
        Orders of the means.
    samples : int
        How many are drawn from each world.
    rng : numpy.random.Generator
    advance : callable
        Told how many samples have been measured since it was called last.

    Returns
    -------
    list of WorldSamples
        Of the shrunk-isotonic world, and of the isotonic one.
    """
    measure = _Measure(cells, estimator, orders, cells.powers(orders), advance)
    fine = cells.finest()
    few = min(max(samples // 10, _FEWEST), max(_FINE // fine.reported.size, _FEWEST))
    rows = ClassRows.of(tally, cells.codes)
    worlds = _worlds(cells, rows)
    found = [_samples(measure, world, samples, rng) for world in worlds]
    if fine is cells:
        return found
    rows = None if rows is None else rows.finer(fine.codes)
    finely = _Measure(fine, estimator, orders, fine.powers(orders), lambda _: None)
    return [
        replace(each, finer=_finer(measure, finely, world, few, rng))
        for each, world in zip(found, _worlds(fine, rows, worlds), strict=True)
    ]


class _Measure(Frozen):
    """Measures samples in some cells."""

    cells: WorldCells
    estimator: Estimator
    orders: Floats
    powers: list[Floats]
    advance: Callable[[int], object]

    def samples(self, counts: Counts, expected: Counts) -> WorldSamples:
        """Measure samples, and the world that they are drawn from."""
        curves = self.cells.curves(self.estimator, counts)
        self.advance(len(curves))
        one = Counts(*(x[None] for x in expected))
        _, happened, total = self.cells.unfolded(one)
        truth = np.divide(happened, total, out=np.zeros_like(happened), where=total > 0)
        return WorldSamples(self._logs(counts, curves), self._logs(one, truth))

    def _logs(self, counts: Counts, curves: Floats) -> Logs:
        """Logarithms of reported and measured means of samples."""
        values = self.cells.values(curves)
        sides = list(counts)[: len(values)]
        weight = sum(x.sum(axis=1, keepdims=True) for x in sides)
        shares = [x / weight for x in sides]
        means = np.sum([product(share, power.T) for share, power in zip(shares, self.powers, strict=True)], axis=0)
        order = np.where(self.orders == 0, 1.0, self.orders)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            reported = np.where(self.orders == 0, means, np.log(means) / order)
        return Logs(reported, log_means(self.orders, np.concatenate(shares, axis=1), np.concatenate(values, axis=1)))


def _samples(measure: _Measure, world: _World, n: int, rng: np.random.Generator) -> WorldSamples:
    step = max(_AT_ONCE // measure.cells.reported.size, 1)
    blocks = [measure.samples(world.drawn(min(step, n - start), rng), world.expected) for start in range(0, n, step)]
    logs = Logs(*(np.concatenate(each) for each in zip(*(block.logs for block in blocks), strict=True)))
    return WorldSamples(logs, blocks[0].truth)


def _finer(
    measure: _Measure, finely: _Measure, world: _World, n: int, rng: np.random.Generator
) -> tuple[WorldSamples, WorldSamples]:
    """Measure a few samples in fine cells, and in the others."""
    drawn = world.drawn(n, rng)
    first = run_starts(measure.cells.cell)
    coarse, expected = (
        Counts(*(np.add.reduceat(x, first, axis=-1) for x in counts)) for counts in (drawn, world.expected)
    )
    return finely.samples(drawn, world.expected), measure.samples(coarse, expected)


def _worlds(cells: WorldCells, rows: ClassRows | None, like: list[_World] | None = None) -> list[_World]:
    """Both worlds, of rows in some cells; those in finer cells are like the others."""
    total = cells.total
    found = []
    for at, whole in enumerate(two_curves(*cells.unfolded(cells.counted))):
        curve = whole[: cells.reported.size]
        if rows is not None:
            world = rows.world(curve, total, like[at].of_rows if like else None)
            found.append(_World(world.expected, world.drawn, world))
            continue
        expected = Counts(total * curve, total * (1 - curve))
        by_row = partial(drawn_rows, expected, float(sum(x.sum() for x in expected)))
        found.append(_World(expected, partial(_drawn_pairs, expected) if cells.kind == "pooled" else by_row, None))
    return found


def _drawn_pairs(expected: Counts, n: int, rng: np.random.Generator) -> Counts:
    """Draw pairs of more than two classes by themselves, where no rows were kept."""
    happened, missed = expected
    weight = float(happened.sum())
    rows = max(round(weight), 1)
    observed = rng.multinomial(rows, happened / weight, size=n).astype(np.float64)
    others = rng.poisson(missed * (rows / weight), (n, missed.size)).astype(np.float64)
    return Counts(observed * (weight / rows), others * (weight / rows))


MOST = 600
"""So many cells at most: some five times the blocks of an isotonic regression of 100,000 rows."""

Kind = Literal["one-sided", "folded", "pooled"]


class WorldCells(Frozen):
    """Cells of rows by increasing reported probability, in rows of equal weight.

    Three kinds. *One-sided*: the positive one of two classes. *Folded*: the less probable one of two, whose curve is
    measured together with its mirror image. *Pooled*: pairs of all classes, of which each row has several.
    """

    reported: Floats
    counted: Counts
    kind: Kind
    codes: Ints
    """Coarse cell of each."""
    entry: Pairs
    """What was counted before it was put into the cells."""
    cell: Ints
    """Which of the cells each entry is in."""
    floor: float
    limit: Limit

    @property
    def total(self) -> Floats:
        """Weight of all pairs in each cell."""
        return self.counted.happened + self.counted.missed

    def finest(self) -> WorldCells:
        """Give each entry a cell of its own."""
        p, happened, total = self.entry
        if p.size == self.reported.size:
            return self
        counted, codes = Counts(happened, np.maximum(total - happened, 0.0)), COARSE.places(p)[0]
        return replace(self, reported=p, counted=counted, codes=codes, cell=np.arange(p.size))

    def powers(self, orders: Floats) -> list[Floats]:
        """Means of p^r, or of ln p for order 0, of the observed class in each cell: one order a row.

        First where the cell's outcome occurred, then, unless cells are pooled, where it did not.
        """
        p, happened, total = self.entry
        sides = [(p, happened)] if self.kind == "pooled" else [(p, happened), (1 - p, total - happened)]
        found = []
        for side, seen in sides:
            value = apply_limit(side, self.floor, self.limit)
            of_cell = np.bincount(self.cell, seen)
            some = np.where(of_cell[self.cell] > 0, seen, total)
            weight = some / np.bincount(self.cell, some)[self.cell]
            with np.errstate(divide="ignore"):
                terms = [np.log(value) if r == 0 else value**r for r in orders.tolist()]
            # Powers of 0 are infinite. Outcomes predicted with 0 that never occurred would leave no figure but 0 in a
            # world in which they could; figures are those of the other rows. Those that did occur are kept finite.
            most = np.where(of_cell[self.cell] > 0, 1e300, 0.0)
            terms = [np.where(np.isfinite(each), each, np.copysign(most, each)) for each in terms]
            found.append(np.array([np.bincount(self.cell, weight * each) for each in terms]))
        return found

    def unfolded(self, counts: Counts) -> tuple[Floats, Floats, Floats]:
        """Pairs (reported, happened, total) that the curve is measured from, of one or of many samples."""
        happened, missed = counts
        total = happened + missed
        if self.kind != "folded":
            return self.reported, happened, total
        low = np.count_nonzero(self.reported < 0.5)
        p = np.concatenate([self.reported, 1 - self.reported[:low][::-1]])
        mirrored = missed[..., :low][..., ::-1], total[..., :low][..., ::-1]
        happened, total = happened.copy(), total.copy()
        happened[..., low:], total[..., low:] = total[..., low:], 2 * total[..., low:]  # both pairs are of one half
        happened, total = (np.concatenate(x, axis=-1) for x in zip((happened, total), mirrored, strict=True))
        return p, happened, total

    def values(self, curve: Floats) -> list[Floats]:
        """Give measured probabilities of the observed class, floored, from curves over the unfolded cells."""
        size = self.reported.size
        sides = [curve[..., :size]]
        if self.kind == "one-sided":
            sides.append(1 - curve)
        elif self.kind == "folded":
            low = np.count_nonzero(self.reported < 0.5)
            sides.append(np.concatenate([curve[..., size:][..., ::-1], curve[..., low:size]], axis=-1))
        return [apply_limit(side, self.floor, self.limit) for side in sides]

    def curves(self, estimator: Estimator, counts: Counts) -> Floats:
        """Measure each sample: measured probability of the unfolded cells."""
        return measured_of_samples(estimator, *self.unfolded(counts), self.floor)


def world_cells(tally: Tally, view: View, floor: float, limit: Limit, independent: float = 1.0) -> WorldCells:
    """Count a tally's rows in cells, as finely as there is room for: as many as are independent.

    Parameters
    ----------
    tally : Tally
    view : {"each-class", "all-classes", "top-label"}
        The positive one of two classes is by itself in the first.
    floor : float
        Probabilities below it count as this much in figures.
    limit : {"floor", "both"}
        Whether those above 1 - floor are lowered too.
    independent : float, default 1
        Share of the rows that would tell as much if they were independent.
    """
    rows = tally.weight / tally.weight_squared * independent
    one = positive_pairs(tally, view)
    kind: Kind = "one-sided" if one is not None else "folded" if tally.n_classes == 2 else "pooled"
    reported, happened, total = one if one is not None else tally.pairs()
    if kind == "folded":
        half = reported <= 0.5
        reported, happened, total = reported[half], happened[half], total[half]
        both = np.where(reported == 0.5, 0.5, 1.0)  # what was predicted with 1/2 is there twice
        happened, total = both * happened, both * total
    entry = Pairs(reported, happened * rows, total * rows)
    coarse = COARSE.places(reported)[0]
    cell = _cells(reported, coarse)
    weight, h = (np.bincount(cell, x).astype(np.float64) for x in (entry.total, entry.happened))
    return WorldCells(
        np.bincount(cell, entry.total * reported) / weight,
        Counts(h, np.maximum(weight - h, 0.0)),
        kind,
        coarse[run_starts(cell)],
        entry,
        cell,
        floor,
        limit,
    )


def _cells(reported: Floats, coarse: Ints) -> Ints:
    """Which cell each of increasing values is in: one of its own, or of the finest grid that has room."""
    cell = np.arange(reported.size)
    for bits in range(9, 2, -1):
        if cell.size == 0 or cell[-1] < MOST:
            break
        codes = grid_of(bits).codes(reported)
        cell = np.cumsum(np.diff(codes, prepend=codes[:1]) != 0)
    if cell.size and cell[-1] >= MOST:
        cell = np.cumsum(np.diff(coarse, prepend=coarse[:1]) != 0)
    # None is in two coarse cells, of which rows are kept, and one half is apart.
    apart = (np.diff(cell, prepend=cell[:1]) != 0) | (np.diff(coarse, prepend=coarse[:1]) != 0)
    apart |= np.diff((reported == 0.5).astype(np.int64), prepend=int(reported[0] == 0.5)) != 0
    return np.cumsum(apart)


_LEAST = 1e-12
"""Probabilities are taken to be this at least, so that their powers are finite."""


class Influences(NamedTuple):
    """Influence of a pair that occurred, and of one that did not, on the logarithms of means: one order a row.

    For the positive one of two classes by itself a pair is a row, and its influence is that of the row.
    """

    reported: tuple[Floats, Floats]
    measured: tuple[Floats, Floats]
    logs: Logs
    """The means themselves."""


class _Terms(NamedTuple):
    """Terms of the means in each cell: one order a row."""

    of_p: Floats
    """Powers of the reported probability, or its logarithms."""
    g: Floats
    """The same of the measured probability q."""
    slope: Floats
    """Derivative of q g(q)."""


def _terms(p: Floats, q: Floats, orders: Floats, floor: float, limit: Limit) -> _Terms:
    r = orders[:, None]
    with np.errstate(divide="ignore"):
        of_p, g = (np.maximum(apply_limit(x, floor, limit), _LEAST) for x in (p, q))
        of_p, g = (np.where(r == 0, np.log(x), x**r) for x in (of_p, g))
    inside = (q >= floor) & ((limit == "floor") | (q <= 1 - floor))
    # q g'(q) is r g, or 1 for the logarithm.
    return _Terms(of_p, g, g + inside * np.where(r == 0, 1.0, r * g))


def influences(counts: CellCounts, orders: Floats, floor: float, limit: Limit) -> Influences:
    """Find out what a pair of each cell adds to the means of some orders.

    Parameters
    ----------
    counts : CellCounts
        Pairs in m cells.
    orders : array of shape (k,)
        Orders of the means.
    floor : float
        Probabilities below it count as this much.
    limit : {"floor", "both"}
        Whether those above 1 - floor are lowered too.

    Returns
    -------
    Influences
        Arrays of shape (k, m), or (k, 1) where all cells have the same.
    """
    happened, total = counts.counted
    p, q = counts.reported, measured_of_samples(DEFAULT, counts.reported, happened[None], total[None], floor)[0]
    mine = _terms(p, q, orders, floor, limit)
    seen, level, slope, of_missed = happened / counts.weight, q * mine.g, mine.slope, np.zeros_like(mine.of_p)
    mean_p, mean = product(mine.of_p, seen), product(mine.g, seen)
    if counts.one_sided:  # where the class did not occur, the other one did
        other = _terms(1 - p, 1 - q, orders, floor, limit)
        missed = (total - happened) / counts.weight
        mean_p, mean = mean_p + product(other.of_p, missed), mean + product(other.g, missed)
        level, slope = level + (1 - q) * other.g, slope - other.slope
        of_missed = other.of_p - mean_p[:, None]
    scale_p, scale = (np.where(orders == 0, 1.0, orders * x)[:, None] for x in (mean_p, mean))
    reported = (mine.of_p - mean_p[:, None]) / scale_p, of_missed / scale_p
    missed_less = mean[:, None] if counts.one_sided else 0.0  # of each row one pair occurred
    measured = (level + slope * (1 - q) - mean[:, None]) / scale, (level - slope * q - missed_less) / scale
    return Influences(reported, measured, Logs(*(_logs(x, orders) for x in (mean_p, mean))))


def _logs(mean: Floats, orders: Floats) -> Floats:
    """Logarithms of generalized means, from means of powers or logarithms."""
    of_powers = np.log(np.where(orders == 0, 1.0, mean)) / np.where(orders == 0, 1.0, orders)
    return np.where(orders == 0, mean, of_powers)


def growth(tally: Tally, counts: CellCounts, of_happened: Floats, of_missed: Floats, independent: float) -> Floats:
    """Standard deviations of figures, by the influence of pairs, over those of so large a part of independent rows.

    The rows' own variation counts at least.

    Parameters
    ----------
    tally : Tally
        With the part "shards".
    counts : CellCounts
        Its pairs in m cells.
    of_happened, of_missed : arrays of shape (k, m)
        What a pair of each cell adds to k figures, where it occurred and where it did not.
    independent : float
        Share of the rows that would tell as much if they were independent, in (0, 1].

    Returns
    -------
    array of shape (k,)
        At least the square root of ``independent``; 1 for a figure that does not vary.
    """
    assert counts.shards is not None
    assert tally.shards is not None
    happened, total = counts.shards
    sums = product(happened, of_happened.T) + product(total - happened, of_missed.T)
    weight = tally.shards.rows.weight
    n = len(weight)
    off = sums - (weight / weight.sum())[:, None] * sums.sum(axis=0)
    together = n / max(n - 1, 1) * (off * off).sum(axis=0)
    alone = _alone(tally, counts, of_happened, of_missed)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(alone > 0, np.sqrt(np.maximum(together / alone, 1.0) * independent), 1.0)


def _alone(tally: Tally, counts: CellCounts, happened: Floats, missed: Floats) -> Floats:
    """Variances of the sums of independent rows' influences."""
    observed, total = counts.counted
    if counts.one_sided:
        rows, each = [observed, total - observed], [happened, missed]
    elif counts.mirrored:
        low, middle, high = counts.halves()
        rows = [observed[low], total[low] - observed[low], total[middle] / 2]
        each = [happened[:, a] + missed[:, b] for a, b in ((low, high), (high, low), (middle, middle))]
    elif (kept := ClassRows.of(tally, counts.codes)) is not None:
        return _alone_of_classes(kept, observed / np.maximum(total, 1e-300), happened, missed) * counts.rows
    else:
        rows, each = [observed], [happened]
    return np.asarray(product(np.concatenate(each, axis=1) ** 2, np.concatenate(rows)))


def _alone_of_classes(kept: ClassRows, share: Floats, happened: Floats, missed: Floats) -> Floats:
    """Mean squares, over rows and over the classes of each by their chance, of what all pairs of a row add."""
    chance = kept.pairs * share
    chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
    of_none, of_one = product(kept.pairs, missed.T), happened - missed
    squares = product(kept.count, of_none**2 * chance.sum(axis=1)[:, None] + 2 * of_none * product(chance, of_one.T))
    return np.asarray((squares + product(of_one**2, product(kept.count, chance))) / kept.count.sum())
