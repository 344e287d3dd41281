"""Samples from the two worlds of a tally, measured as the data were."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from .._lib.arrays import run_starts
from .._lib.typing import Floats
from ..statistics.products import product
from ..tally.tally import Tally
from .estimators import Estimator
from .sampled_rows import ClassRows, ClassWorld
from .world_cells import WorldCells
from .worlds import Counts, Deviation, deviation, drawn_rows, log_means, two_curves

_AT_ONCE = 1 << 18
"""So many counts are drawn and measured at once, for the memory."""

_FEWEST, _FINE = 10, 1 << 18
"""So many samples are drawn in finer cells at least, and no more of them that have more counts together."""

Drawn = Callable[[int, np.random.Generator], Counts]


class Logs(NamedTuple):
    """Logarithms of generalized means, one sample a row and one order a column."""

    reported: Floats
    measured: Floats


@dataclass(frozen=True)
class WorldSamples:
    """Samples of one world."""

    logs: Logs
    truth: Logs
    """Those of the world itself, in one row."""
    curves: Floats
    """Measured probability of each of the unfolded cells, one sample a row."""
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


@dataclass(frozen=True)
class _Measure:
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
        return WorldSamples(self._logs(counts, curves), self._logs(one, truth), curves)

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
    return WorldSamples(logs, blocks[0].truth, np.concatenate([block.curves for block in blocks]))


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
