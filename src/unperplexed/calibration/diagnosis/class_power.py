"""The temperature of forecasts of several classes: of all rows, those predicted as certain too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import AnyFloats, Floats
from ...maps.classes import ClassMap
from ...maps.fit import Fit, Prior, fitted
from ...maps.parameters import LAPSE
from ...maps.rows import Rows, derivatives
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


_NONE = ClassMap()


def share(odds: float) -> float:
    """Return the lapse of some log-odds."""
    return float(expit(np.array(odds)))


def power_of_rows(
    rows: PreparedRows, alone: ClassMap = _NONE, beside: ClassMap = _NONE, lapse_cost: float = math.inf
) -> Power:
    """Estimate the power of all probabilities that fits best: alone, or with a lapse where that pays for its cost.

    Parameters
    ----------
    rows : PreparedRows
        Nothing of it is left out; probabilities of exactly 0 count as `zero_of` says.
    alone, beside : ClassMap
        Maps to start from: of a slope above 0 alone, and of one with a lapse.
    lapse_cost : float
        What a lapse is to add to the log-likelihood, in nats; by default none is looked for.

    Returns
    -------
    Power
        By maximum likelihood, with the larger variance of model and sandwich, as `line.calibration_line`.
    """
    found = _fitted(rows, ("slope",), alone)
    if lapse_cost < math.inf:
        both = _fitted(rows, ("slope", LAPSE), beside if beside.lapse else found[0])
        found = both if both[1].value - found[1].value > lapse_cost else found
    mapping, fit = found
    if fit.separated or mapping.slope <= 0:
        return Power()
    values = fit.theta + [1.0, 0.0][: fit.theta.size]
    return Power(*_judged(rows, mapping, values, np.linalg.inv(fit.information)))


def _fitted(rows: PreparedRows, parameters: Sequence[str], start: ClassMap) -> tuple[ClassMap, Fit]:
    of = Rows(_Everything(rows), rows.counts.classes, parameters)
    fit = fitted(of, Prior(dict.fromkeys(parameters, math.inf)), of.theta_of(start))
    return of.map_of(fit.theta), fit


@dataclass(frozen=True, eq=False)
class _Everything:
    """All rows, each time from the beginning."""

    rows: PreparedRows

    def __iter__(self) -> Iterator[Chunk]:
        """Chunk by chunk."""
        return self.rows.everything()


def _judged(rows: PreparedRows, mapping: ClassMap, values: Floats, inverse: AnyFloats) -> list[Coefficient]:
    """Give the power, and the log-odds of a lapse beside it, their standard errors."""
    clusters, names = rows.counts.clusters, ["slope", LAPSE][: values.size]
    squares, (model, robust) = 0.0, np.zeros((2, values.size))
    sizes = np.zeros(0 if clusters is None else len(clusters))
    sums = np.zeros((values.size, sizes.size))
    for chunk in rows.everything():
        w = chunk.weights
        scores, q = derivatives(chunk, mapping, names)
        moved = [sum(part * score for part, score in zip(row, scores, strict=True)) for row in inverse]
        u = w * np.array([chunk.pick(x) for x in moved])  # what each row adds to each value
        v = w * np.array(
            [np.einsum("ij,ij,ij->i", q, x, x) for x in moved]
        )  # its variance by the model, over the weight
        model += v @ w
        squares += float(w @ w)
        if chunk.cluster is None:
            robust += (u * u / np.maximum(1 - v / np.diag(inverse)[:, None], 1e-6)).sum(axis=1)
        else:
            sums += [np.bincount(chunk.cluster, each, sizes.size) for each in u]
            sizes += np.bincount(chunk.cluster, w, sizes.size)
    independent, degrees = rows.counts.rows**2 / squares, math.inf
    if clusters is not None:
        robust = (sums**2).sum(axis=1) * sizes.size / (sizes.size - 1)
        independent = effective_number(sizes)
        degrees = independent - 1
    found = zip(values.tolist(), np.maximum(model, robust).tolist(), strict=True)
    return [judged(value, variance, independent, degrees) for value, variance in found]
