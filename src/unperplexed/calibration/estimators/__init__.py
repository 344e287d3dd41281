"""Measured probability: how often events of a predicted probability happen.

An estimator is a function ``(pairs, *, floor, ...)`` of pairs sorted by predicted probability,
registered by `estimator` where it is written: every module of this folder is loaded. It works on exact values and on
cells alike, and never sees rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

import numpy as np

from ..._lib.typing import Floats
from ...kernels.curves import isotonic_of_samples, shrunk_isotonic_of_samples
from .bins import bayesian, cluster, equal_population, equal_width
from .estimate import REGISTERED, Estimate, Estimator, named_estimator
from .smooth import isotonic, kernel, logistic, nearest_neighbors, shrunk_isotonic

__all__ = [
    "DEFAULT",
    "ESTIMATORS",
    "Estimate",
    "Estimator",
    "bayesian",
    "cluster",
    "equal_population",
    "equal_width",
    "is_default",
    "isotonic",
    "kernel",
    "logistic",
    "measured_of_samples",
    "named_estimator",
    "nearest_neighbors",
    "shrunk_isotonic",
]

for module in iter_modules(__path__):
    import_module(f".{module.name}", __name__)

DEFAULT = shrunk_isotonic

ESTIMATORS: Mapping[str, Estimator] = MappingProxyType({DEFAULT.name: DEFAULT, **REGISTERED})
"""Estimators of the measured probability by name, the default one first."""


def is_default(estimator: Estimator) -> bool:
    """Return whether an estimator is the default one."""
    return estimator.name == DEFAULT.name


def measured_of_samples(
    estimator: Estimator, reported: Floats, happened: Floats, total: Floats, floor: float
) -> Floats:
    """Measure many samples of the same entries, one a row; NaN where a sample has no pairs.

    Parameters
    ----------
    estimator : Estimator
    reported : array of shape (m,)
        Distinct predicted probabilities in increasing order.
    happened, total : arrays of shape (samples, m)
        Weight of the pairs that occurred, and of all pairs, at each.
    floor : float
        As in `Estimator.measure`.

    Returns
    -------
    array of shape (samples, m)
    """
    if is_default(estimator):
        return shrunk_isotonic_of_samples(reported, happened, total)
    if estimator.name == isotonic.name:
        return isotonic_of_samples(happened, total)
    measured = np.full(happened.shape, np.nan)
    for at, (h, t) in enumerate(zip(happened, total, strict=True)):
        some = t > 0
        measured[at, some] = estimator.measure(reported[some], h[some], t[some], floor=floor).measured
    return measured
