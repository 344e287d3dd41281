"""The temperature of forecasts of several classes: fitted alone, and to all rows, those predicted as certain too."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._lib.elementary import of_rows
from ..._lib.typing import Floats
from ...maps.fit import Prior, fitted
from ...maps.rows import Rows
from ...statistics.means import effective_number
from .class_rows import Chunk, PreparedRows
from .line import Coefficient, judged


def power_of_rows(rows: PreparedRows, start: float) -> Coefficient:
    """Estimate the power of all probabilities that fits best, of which the temperature is the inverse.

    Parameters
    ----------
    rows : PreparedRows
        Nothing of it is left out; probabilities of exactly 0 count as 0.01 / (rows times classes).
    start : float
        Power to start from, above 0.

    Returns
    -------
    Coefficient
        By maximum likelihood, with the larger variance of model and sandwich, as `line.calibration_line`; NaN where no
        power above 0 fits best.
    """
    of = Rows(_Everything(rows), rows.counts.classes, ("slope",))
    found = fitted(of, Prior({"slope": math.inf}), np.array([start - 1]))
    power = 1 + float(found.theta[0])
    return Coefficient() if found.separated or power <= 0 else _judged(rows, power, float(found.information[0, 0]))


@dataclass(frozen=True, eq=False)
class _Everything:
    """All rows, each time from the beginning."""

    rows: PreparedRows

    def __iter__(self) -> Iterator[Chunk]:
        """Chunk by chunk."""
        return self.rows.everything()


def _judged(rows: PreparedRows, power: float, information: float) -> Coefficient:
    """Give the power its standard error."""
    clusters = rows.counts.clusters
    model = robust = squares = 0.0
    sums, sizes = np.zeros((2, 0 if clusters is None else len(clusters)))
    for u, v, chunk in _scores(rows, power):
        model += float(chunk.weights @ v)
        squares += float(chunk.weights @ chunk.weights)
        if chunk.cluster is None:
            robust += float((u * u / np.maximum(1 - v / information, 1e-6)).sum())
        else:
            sums += np.bincount(chunk.cluster, u, sums.size)
            sizes += np.bincount(chunk.cluster, chunk.weights, sizes.size)
    if clusters is None:
        return judged(power, max(model, robust) / information**2, rows.counts.rows**2 / squares)
    robust = float(sums @ sums) * sums.size / (sums.size - 1)
    independent = effective_number(sizes)
    return judged(power, max(model, robust) / information**2, independent, independent - 1)


def _scores(rows: PreparedRows, power: float) -> Iterator[tuple[Floats, Floats, Chunk]]:
    """Yield the score of each row and its variance by the model, both times the weight, and the rows."""
    for chunk in rows.everything():
        z = chunk.log_p.astype(np.float64, copy=False)
        q = power * z
        q -= of_rows(np.maximum, q)
        np.exp(q, out=q)
        q /= of_rows(np.add, q)
        mean = np.einsum("ij,ij->i", q, z)
        variance = np.einsum("ij,ij,ij->i", q, z, z) - mean**2
        yield chunk.weights * (chunk.pick(z) - mean), chunk.weights * np.maximum(variance, 0.0), chunk
