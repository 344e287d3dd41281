"""Recalibration maps for more than two classes: all candidates, fitted in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._lib.errors import InputError, check_choice
from .._lib.typing import Floats, Ints
from .class_fit import Known, fit_linear, made_increasing
from .class_isotonic import IsotonicMap, fit_isotonic
from .class_linear import COMPLEXITY, MOST_CLASSES, FitRows, LinearMap, identity
from .class_matrix import fit_matrix, has_matrix

ClassMap = LinearMap | IsotonicMap

CLASS_METHODS = tuple(COMPLEXITY)
"""Names of the maps for more than two classes."""

STARTS = {
    "temperature": "identity",
    "bias": "identity",
    "logistic": "temperature",
    "temperature-lapse": "temperature",
    "logistic-lapse": "logistic",
    "vector": "logistic-lapse",
    "tail": "logistic-lapse",
}
"""The map that each is fitted from: the nearest among the simpler ones."""

FEWEST_ROWS_OF_CLASS = 25

LOWEST_FLOOR = 1e-12


def supported(name: str, n: int, C: int) -> bool:
    """Whether rows suffice for a map to be tried unasked.

    With 5 to 20 rows a class the average of CIFAR-100's networks with slopes and curves of the classes was .0007 nats
    better than without in one of six sizes and alike in five, and these maps take most of the time.
    """
    if name == "matrix":
        return has_matrix(n, C)
    return name not in ("vector", "isotonic") or C <= MOST_CLASSES or n >= FEWEST_ROWS_OF_CLASS * C


def log_floor(log_p: Floats, weight: float) -> float:
    """Return the floor of the log-probabilities of one data set: it keeps zeros finite and other values as they are.

    It is the smallest positive probability, but not above 0.01 / (C n) and not below 1e-12.
    """
    positive = np.where(np.isfinite(log_p), log_p, 0.0).min(initial=0.0)
    highest = float(np.log(0.01 / (log_p.shape[1] * max(weight, 1.0))))
    return max(float(np.log(LOWEST_FLOOR)), min(float(positive), highest))


def fit_class_maps(
    names: Sequence[str],
    log_p: Floats,
    truth: Ints,
    weights: Floats | None = None,
    known: Known | None = None,
) -> dict[str, ClassMap]:
    """Fit recalibration maps for more than two classes by penalized maximum likelihood.

    Parameters
    ----------
    names : sequence of str
        Some of `CLASS_METHODS`.
    log_p : array of shape (n, C)
        Predicted log-probabilities in nats; minus infinity for a probability of 0.
    truth : array of shape (n,)
        Column of the observed class of each row.
    weights : array of shape (n,), optional
        Non-negative weights; a weight of 2 is the row twice.
    known : dict, optional
        Fisher information of fits to similar rows, such as all rows for a fold, with which fits are faster; it takes up
        that of these fits.

    Returns
    -------
    dict
        The fitted maps by name, in the order of ``names``.

    Raises
    ------
    InputError
        For an unknown name.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.recalibration.class_maps import fit_class_maps
    >>> rng = np.random.default_rng(0)
    >>> scores = 2 * rng.normal(size=(3000, 3))
    >>> truth = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    >>> overconfident = np.log(np.exp(2 * scores) / np.exp(2 * scores).sum(axis=1, keepdims=True))
    >>> round(fit_class_maps(["temperature"], overconfident, truth)["temperature"].parameters()["temperature"], 1)
    2.0
    """
    for name in names:
        check_choice("method", name, CLASS_METHODS)
    weights = np.ones(truth.size) if weights is None else weights
    floor = log_floor(log_p, float(weights.sum()))
    rows = FitRows(np.maximum(log_p, floor), truth, weights, floor)
    fitting = _Fitting(rows, {} if known is None else known)
    return {name: fitting.fitted(name) for name in names}


class _Fitting:
    """Maps fitted so far: what others start from is fitted once."""

    def __init__(self, rows: FitRows, known: Known) -> None:
        self.rows, self.known = rows, known
        self.found: dict[str, ClassMap] = {"identity": identity(rows)}

    def fitted(self, name: str) -> ClassMap:
        if name not in self.found:
            self.found[name] = self._fit(name)
        return self.found[name]

    def _fit(self, name: str) -> ClassMap:
        if name == "isotonic":
            return fit_isotonic(self.rows, self._linear("tail"))
        if name == "matrix" and not has_matrix(*self.rows.z.shape):
            return replace(self._linear("vector"), name="matrix")
        if name == "matrix":
            return fit_matrix(self.rows, self._linear("tail"))
        found = fit_linear(name, self.rows, self._linear(STARTS[name]), self.known)
        return made_increasing(found, self._linear("logistic-lapse")) if name in ("tail", "vector") else found

    def _linear(self, name: str) -> LinearMap:
        found = self.fitted(name)
        assert isinstance(found, LinearMap)
        return found


def class_map_from_dict(values: Mapping[str, Any]) -> ClassMap:
    """Return the map that ``to_dict`` wrote; InputError for what none wrote."""
    try:
        if values["name"] != "isotonic":
            return _linear_from_dict(values)
        knots = [(np.array(each["x"], float), np.array(each["y"], float)) for each in values["knots"]]
        return IsotonicMap(_linear_from_dict(values["base"]), tuple(knots))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"map: not a recalibration map for more than two classes ({error}).") from error


def _linear_from_dict(values: Mapping[str, Any]) -> LinearMap:
    biases, slopes = (np.array(values[key], float) for key in ("biases", "slopes"))
    matrix = None if values["matrix"] is None else np.array(values["matrix"], float)
    plain = {key: float(values[key]) for key in ("log_floor", "slope", "lapse")}
    if values["name"] not in CLASS_METHODS or biases.shape != slopes.shape:
        raise ValueError(f"unknown name {values['name']!r}, or biases and slopes of different lengths")
    curves = np.array(values["curves"], float)
    return LinearMap(str(values["name"]), biases=biases, slopes=slopes, curves=curves, matrix=matrix, **plain)
