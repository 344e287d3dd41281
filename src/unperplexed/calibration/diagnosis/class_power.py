"""The temperature of forecasts of several classes: of all rows, those predicted as certain too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import AnyFloats, Floats
from ...maps.classes import softmax
from ...maps.fit import Fit, Prior, fitted
from ...maps.parameters import LAPSE
from ...maps.rows import Rows
from ...statistics.means import effective_number
from .class_rows import Chunk, PreparedRows
from .line import Coefficient, judged


class Power(NamedTuple):
    """Power of all probabilities, of which the temperature is the inverse; NaN where none above 0 fits best."""

    slope: Coefficient = Coefficient()
    lapse_odds: Coefficient = Coefficient(-math.inf)
    """Log-odds of the lapse that is fitted with it; minus infinity where it is fitted alone."""

    @property
    def lapse(self) -> float:
        """The share of a uniform forecast that is fitted with it; 0 where it is fitted alone."""
        return share(self.lapse_odds.value)


def share(odds: float) -> float:
    """Return the lapse of some log-odds."""
    return float(expit(np.array(odds)))


def power_of_rows(rows: PreparedRows, start: float, lapse_cost: float = math.inf) -> Power:
    """Estimate the power of all probabilities that fits best: alone, or with a lapse where that pays for its cost.

    Parameters
    ----------
    rows : PreparedRows
        Nothing of it is left out; probabilities of exactly 0 count as `zero_of` says.
    start : float
        Power to start from, above 0.
    lapse_cost : float
        What a lapse is to add to the log-likelihood, in nats; by default none is looked for.

    Returns
    -------
    Power
        By maximum likelihood, with the larger variance of model and sandwich, as `line.calibration_line`.
    """
    found = _fitted(rows, ("slope",), [start - 1])
    if lapse_cost < math.inf:
        both = _fitted(rows, ("slope", LAPSE), [float(found.theta[0]), -math.inf])
        found = both if both.value - found.value > lapse_cost else found
    if found.separated or found.theta[0] <= -1:
        return Power()
    values, inverse = found.theta + [1.0, 0.0][: found.theta.size], np.linalg.inv(found.information)
    return Power(*_judged(rows, values, inverse))


def _fitted(rows: PreparedRows, parameters: tuple[str, ...], start: list[float]) -> Fit:
    of = Rows(_Everything(rows), rows.counts.classes, parameters)
    return fitted(of, Prior(dict.fromkeys(parameters, math.inf)), np.array(start))


@dataclass(frozen=True, eq=False)
class _Everything:
    """All rows, each time from the beginning."""

    rows: PreparedRows

    def __iter__(self) -> Iterator[Chunk]:
        """Chunk by chunk."""
        return self.rows.everything()


def _judged(rows: PreparedRows, values: Floats, inverse: AnyFloats) -> list[Coefficient]:
    """Give the power, and the log-odds of a lapse beside it, their standard errors."""
    clusters = rows.counts.clusters
    squares, (model, robust) = 0.0, np.zeros((2, values.size))
    sizes = np.zeros(0 if clusters is None else len(clusters))
    sums = np.zeros((values.size, sizes.size))
    for u, v, chunk in _moved(rows, values, inverse):
        model += v @ chunk.weights
        squares += float(chunk.weights @ chunk.weights)
        if chunk.cluster is None:
            robust += (u * u / np.maximum(1 - v / np.diag(inverse)[:, None], 1e-6)).sum(axis=1)
        else:
            sums += [np.bincount(chunk.cluster, each, sizes.size) for each in u]
            sizes += np.bincount(chunk.cluster, chunk.weights, sizes.size)
    independent, degrees = rows.counts.rows**2 / squares, math.inf
    if clusters is not None:
        robust = (sums**2).sum(axis=1) * sizes.size / (sizes.size - 1)
        independent = effective_number(sizes)
        degrees = independent - 1
    found = zip(values.tolist(), np.maximum(model, robust).tolist(), strict=True)
    return [judged(value, variance, independent, degrees) for value, variance in found]


def _moved(rows: PreparedRows, values: Floats, inverse: AnyFloats) -> Iterator[tuple[Floats, Floats, Chunk]]:
    """Yield what each row adds to each value, and its variance by the model, both times the weight, and the rows."""
    lapse = share(values[1]) if values.size > 1 else 0.0
    for chunk in rows.everything():
        z = chunk.log_p.astype(np.float64, copy=False)
        q = softmax(values[0] * z)
        scores = [z - np.einsum("ij,ij->i", q, z)[:, None]]
        if lapse:
            even = 1 / q.shape[1]
            mixed = (1 - lapse) * q + lapse * even
            scores = [(1 - lapse) * q / mixed * scores[0], lapse * (1 - lapse) * (even - q) / mixed]
            q = mixed
        moved = [sum(part * score for part, score in zip(row, scores, strict=True)) for row in inverse]
        u = np.array([chunk.pick(x) for x in moved])
        v = np.array([np.einsum("ij,ij,ij->i", q, x, x) for x in moved])
        yield chunk.weights * u, chunk.weights * v, chunk
