"""Measured probability: how often events given a probability happened.

An estimator is a function ``(reported, happened, total, *, floor, ...)`` of pairs sorted by reported probability, and a
line in `ESTIMATORS`. It works on exact values and on cells alike, and never sees rows. What else it can be told, such
as the number of bins, are further keywords of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any

import numpy as np

from ..._lib.errors import InputError, check_whole
from ..._lib.typing import Floats
from .bins import (
    bayesian,
    cluster,
    equal_population,
    equal_width,
)
from .curves import (
    isotonic,
    isotonic_of_samples,
    logistic,
    shrunk_isotonic,
    shrunk_isotonic_of_samples,
)
from .estimate import Estimate, checked_positive
from .smooth import kernel, nearest_neighbors

__all__ = [
    "DEFAULT",
    "ESTIMATORS",
    "SETTINGS",
    "Estimate",
    "Estimator",
    "bayesian",
    "cluster",
    "equal_population",
    "equal_width",
    "estimator",
    "is_default",
    "isotonic",
    "kernel",
    "logistic",
    "measured_of_samples",
    "nearest_neighbors",
    "shrunk_isotonic",
]

Estimator = Callable[..., Estimate]

ESTIMATORS: Mapping[str, Estimator] = MappingProxyType(
    {
        "shrunk-isotonic": shrunk_isotonic,
        "isotonic": isotonic,
        "logistic": logistic,
        "equal-population": equal_population,
        "equal-width": equal_width,
        "cluster": cluster,
        "nearest-neighbors": nearest_neighbors,
        "kernel": kernel,
        "bayesian": bayesian,
    }
)
"""Estimators of the measured probability by name."""

DEFAULT = partial(shrunk_isotonic)

SETTINGS: Mapping[str, Callable[[str, Any], Any]] = {
    "bins": check_whole,
    "neighbors": check_whole,
    "bandwidth": checked_positive,
    "prior": checked_positive,
}
"""What estimators can be told, and the check of each."""


def is_default(estimator: Estimator) -> bool:
    """Return whether an estimator is the default one, whatever its settings."""
    return isinstance(estimator, partial) and estimator.func is shrunk_isotonic


def measured_of_samples(measure: Estimator, reported: Floats, happened: Floats, total: Floats, floor: float) -> Floats:
    """Measure many samples of the same entries, one a row; NaN where a sample has no pairs."""
    if is_default(measure):
        return shrunk_isotonic_of_samples(reported, happened, total)
    if isinstance(measure, partial) and measure.func is isotonic:
        return isotonic_of_samples(happened, total)
    measured = np.full(happened.shape, np.nan)
    for at, (h, t) in enumerate(zip(happened, total, strict=True)):
        some = t > 0
        measured[at, some] = measure(reported[some], h[some], t[some], floor=floor).measured
    return measured


def estimator(name: str, **settings: Any) -> Estimator:
    """Find an estimator by name, with its settings; those that are "auto" are left to its own rule.

    Raises
    ------
    InputError
        For a name that is none, or a setting that the estimator does not have.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.calibration.estimators import estimator
    >>> measure = estimator("equal-width", bins=2, bandwidth="auto")
    >>> measure(np.array([0.1, 0.2, 0.9]), np.array([1.0, 0, 2]), np.array([2.0, 2, 2]), floor=0.005).measured
    array([0.25, 0.25, 1.  ])
    """
    if not isinstance(name, str) or name not in ESTIMATORS:
        raise InputError(f"measured: expected one of {', '.join(ESTIMATORS)}, got {name!r}.")
    given = {key: value for key, value in settings.items() if not (isinstance(value, str) and value == "auto")}
    for key, value in given.items():
        if key not in signature(ESTIMATORS[name]).parameters:
            able = [other for other, function in ESTIMATORS.items() if key in signature(function).parameters]
            raise InputError(
                f"{key}: {name} has none to set, got {value!r}; {', '.join(able)} can be told (--measured)."
            )
        SETTINGS[key](key, value)
    return partial(ESTIMATORS[name], **given)
