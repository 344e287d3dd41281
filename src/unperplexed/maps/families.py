"""Recalibration of two classes: fits of the maps of a family, lines and curves, all of which never fall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.elementary import expit, logit
from .._lib.typing import Floats, Ints
from ..kernels.curves import isotonic_bins, isotonic_means, shrunk_isotonic_curve
from .cells import Cells, Counts, fitted_cells, map_of
from .fit import Prior
from .parameters import LAPSE, TWO_CLASSES
from .two import TWO, BinaryMap, probability_of


class CurveMap(Frozen):
    """Calibrated log-odds that join the points of a non-decreasing curve by lines, and are constant beyond its ends."""

    name: str
    s: tuple[float, ...]
    """Predicted log-odds of the points, increasing."""
    t: tuple[float, ...]
    """Calibrated log-odds of the points, non-decreasing."""

    def probabilities(self, s: Floats) -> Floats:
        """Return calibrated probabilities of both classes, (n, 2), each with its own digits next to 0."""
        t = np.interp(s, self.s, self.t)
        return np.asarray(probability_of(np.stack([-t, t], axis=-1)))

    def parameters(self) -> dict[str, Any]:
        """Return the number of points."""
        return {"points": len(self.s)}

    def to_dict(self) -> dict[str, Any]:
        """Give the map as plain values."""
        return {"name": self.name, "points": [list(point) for point in zip(self.s, self.t, strict=True)]}


def fit_curve(name: str, counts: Counts) -> CurveMap:
    """Fit a curve that never falls, by isotonic regression, plain or shrunk towards a logistic map."""
    kept = counts.total > 0
    s, total, positive = (x[kept] for x in counts)
    if not s.size:
        return CurveMap(name, (-_FARTHEST, _FARTHEST), (-_FARTHEST, _FARTHEST))
    if name == "isotonic":
        # One row of the base rate is added to each block: a block of one outcome alone is not proof of 0 or 1.
        base = (positive.sum() + 0.5) / (total.sum() + 1)
        bin_ = isotonic_bins(positive, total)
        n = np.bincount(bin_, total)
        level = (np.bincount(bin_, positive) + base) / (n + 1)
        q = isotonic_means(level, n.astype(np.float64))[bin_]
    else:
        q, _, _ = shrunk_isotonic_curve(expit(np.clip(s, -_FARTHEST, _FARTHEST)), positive, total)
    t = np.maximum.accumulate(np.clip(logit(q), -_FARTHEST, _FARTHEST))
    at = bend_points(s, t, _TOLERANCE)
    return CurveMap(name, tuple(s[at].tolist()), tuple(t[at].tolist()))


_FARTHEST = 32.0
"""Log-odds beyond which a curve of probabilities has too few digits next to 1."""

_TOLERANCE = 1e-3
"""Log-odds by which a stored curve may differ from the fitted one: it costs less than 2e-7 nats a row."""


def bend_points(x: Floats, y: Floats, tolerance: float) -> Ints:
    """Return places of points whose straight connections come within a tolerance of all points.

    Douglas and Peucker (1973): the point farthest from the line between two ends is kept, and so on for both sides.
    """
    kept = np.zeros(x.size, dtype=bool)
    kept[[0, -1]] = True
    spans = [(0, x.size - 1)]
    while spans:
        first, last = spans.pop()
        if last - first < 2:
            continue
        inner = slice(first + 1, last)
        line = np.interp(x[inner], x[[first, last]], y[[first, last]])
        off = np.abs(y[inner] - line)
        farthest = int(off.argmax())
        if off[farthest] > tolerance:
            middle = first + 1 + farthest
            kept[middle] = True
            spans += [(first, middle), (middle, last)]
    return np.flatnonzero(kept)


MapOfTwo = BinaryMap | CurveMap

_PRIOR = Prior(dict.fromkeys(TWO, 1.0) | {LAPSE: math.inf})


def fitted_two(
    names: Sequence[str], counts: Counts, largest: float, zero: float, starts: Mapping[str, MapOfTwo] | None = None
) -> dict[str, MapOfTwo]:
    """Fit maps of two classes, each parameter with a N(0, 1) prior but the lapse.

    Parameters
    ----------
    names : sequence of str
        Families.
    counts : Counts
        Weights at distinct finite log-odds.
    largest : float
        Up to which log-odds, on both sides, the maps may not fall.
    zero : float
        Probability that an exact zero counts as.
    starts : mapping of str to maps, optional
        Maps of similar counts, from which to start.
    """
    return {name: _fitted(name, counts, largest, zero, (starts or {}).get(name)) for name in names}


def _fitted(name: str, counts: Counts, largest: float, zero: float, start: MapOfTwo | None = None) -> MapOfTwo:
    if "isotonic" in name:
        return fit_curve(name, counts)
    parameters = TWO_CLASSES[name].parameters
    fit = fitted_cells(Cells(counts, parameters), _PRIOR, _theta(start, parameters))
    found = map_of(fit, name, zero)
    if found.rises(largest):
        return found
    # The best line that does not fall is level: a temperature of infinity, or the base rate.
    if name == "temperature":
        return BinaryMap(name, {"slope": -1.0}, zero=zero)
    if name == "logistic":
        flat = Counts(np.zeros(1), counts.total.sum(keepdims=True), counts.positive.sum(keepdims=True))
        bias = float(fitted_cells(Cells(flat, ["bias"]), _PRIOR).theta[0])
        return BinaryMap(name, {"bias": bias, "slope": -1.0}, zero=zero)
    return replace(_fitted("logistic", counts, largest, zero), name=name)


def _theta(start: MapOfTwo | None, parameters: Sequence[str]) -> Floats | None:
    """Return the parameters of a map to start from; None where it has others."""
    if not isinstance(start, BinaryMap) or {*start.coefficients, LAPSE} != {*parameters, LAPSE}:
        return None
    return np.array([float(logit(start.lapse)) if each == LAPSE else start.coefficients[each] for each in parameters])
