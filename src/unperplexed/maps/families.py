"""Recalibration: fits of the maps of a family, all of which never fall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .._lib.elementary import logit
from .._lib.typing import Floats
from .cells import Cells, Counts, fitted_cells, map_of
from .curves import CurveMap, fit_curve
from .fit import Prior
from .parameters import LAPSE, TWO_CLASSES
from .two import TWO, BinaryMap

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
