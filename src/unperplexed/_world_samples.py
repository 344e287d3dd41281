"""Samples from the two worlds of a tally, measured as the data were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._class_rows import ClassRows
from ._row_sample import ROOM
from ._typing import Floats
from ._world_cells import WorldCells
from .measured import Estimator
from .tally import Tally
from .worlds import Counts, drawn_rows, log_means, two_curves

_AT_ONCE = 1 << 18
"""So many counts are drawn and measured at once, for the memory."""

Drawn = Callable[[float, int, np.random.Generator], Counts]


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


class _World(NamedTuple):
    curve: Floats
    expected: Counts
    drawn: Drawn


def class_rows(tally: Tally, cells: WorldCells) -> ClassRows | None:
    """Rows of more than two classes that a tally kept."""
    if cells.kind != "pooled" or tally.row_sample is None or not tally.row_sample.key.size:
        return None
    return ClassRows.of(tally.row_sample, cells.codes, tally.n_weighing <= ROOM // tally.n_classes)


def world_samples(
    tally: Tally,
    cells: WorldCells,
    estimator: Estimator,
    orders: Floats,
    samples: int,
    independent: float,
    rng: np.random.Generator,
    advance: Callable[[int], object],
) -> list[WorldSamples]:
    """Draw samples from both worlds and measure their means of some orders.

    ``independent`` is the part of the rows that are independent: so many are drawn.
    """
    powers = cells.powers(orders)
    found = []
    step = max(_AT_ONCE // cells.reported.size, 1)
    for world in _worlds(tally, cells):
        curve = cells.unfolded(Counts(*(x[None] for x in world.expected)))
        truth = np.divide(curve[1], curve[2], out=np.zeros_like(curve[1]), where=curve[2] > 0)
        blocks = []
        for start in range(0, samples, step):
            n = min(step, samples - start)
            drawn = world.drawn(independent, n, rng)
            curves = cells.curves(estimator, drawn)
            blocks.append((curves, _logs(cells, powers, orders, drawn, curves)))
            advance(n)
        logs = Logs(*(np.concatenate(each) for each in zip(*(block[1] for block in blocks), strict=True)))
        of_world = _logs(cells, powers, orders, Counts(*(x[None] for x in world.expected)), truth)
        found.append(WorldSamples(logs, of_world, np.concatenate([block[0] for block in blocks])))
    return found


def _worlds(tally: Tally, cells: WorldCells) -> Iterator[_World]:
    rows, total = class_rows(tally, cells), cells.total
    reported, happened, unfolded = cells.unfolded(cells.counted)
    for curve in two_curves(reported, happened, unfolded):
        curve = curve[: cells.reported.size]
        if rows is not None:
            world = rows.world(curve, total)
            yield _World(world.curve, world.expected, world.drawn)
            continue
        expected = Counts(total * curve, total * (1 - curve))
        yield _World(curve, expected, _pairs(expected) if cells.kind == "pooled" else _rows(expected))


def _rows(expected: Counts) -> Drawn:
    def drawn(independent: float, n: int, rng: np.random.Generator) -> Counts:
        return drawn_rows(expected, float(sum(x.sum() for x in expected)) * independent, n, rng)

    return drawn


def _pairs(expected: Counts) -> Drawn:
    """Draw pairs of more than two classes by themselves, where no rows were kept."""
    happened, missed = expected

    def drawn(independent: float, n: int, rng: np.random.Generator) -> Counts:
        weight = float(happened.sum())
        rows = max(round(weight * independent), 1)
        observed = rng.multinomial(rows, happened / weight, size=n) * (weight / rows)
        return Counts(observed, rng.poisson(missed * (rows / weight), (n, missed.size)) * (weight / rows))

    return drawn


def _logs(cells: WorldCells, powers: list[Floats], orders: Floats, counts: Counts, curves: Floats) -> Logs:
    """Logarithms of reported and measured means of samples."""
    values = cells.values(curves)
    sides = list(counts)[: len(values)]
    weight = sum(x.sum(axis=1, keepdims=True) for x in sides)
    shares = [x / weight for x in sides]
    means = np.sum([share @ power.T for share, power in zip(shares, powers, strict=True)], axis=0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        reported = np.where(orders == 0, means, np.log(means) / np.where(orders == 0, 1.0, orders))
    return Logs(reported, log_means(orders, np.concatenate(shares, axis=1), np.concatenate(values, axis=1)))
