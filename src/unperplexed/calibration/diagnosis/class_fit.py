"""Fits of the map of errors of more than two classes, by likelihood with a prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._lib.elementary import expit
from ..._lib.typing import Floats, Ints
from ...statistics.definite import Factored, definite
from ...statistics.descent import minimized
from .class_maps import (
    SCALARS,
    ClassMap,
    Errors,
    Slopes,
    information,
    noise_start,
    slopes,
)
from .class_rows import PreparedRows
from .class_statistics import ClassStatistics

BIAS_SD = 0.5
"""Standard deviation of the prior of class biases, in log-odds."""
SMALL_SD = 0.15
"""The same where the biases of many classes are small."""
FAR = 5.0
"""That of confidence and tail: it only bounds them where the outcomes are separated."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A set of errors, fitted."""

    errors: Errors
    mapping: ClassMap
    slopes: Slopes
    penalty: float
    """Penalty of the prior, in nats of the log-likelihood."""


def information_of(statistics: ClassStatistics) -> Floats:
    """Information on confidence, tail and class biases, were the forecasts calibrated."""
    s, variance = statistics, float(np.trace(statistics.covariance))
    ratio = float(s.information.sum()) / variance if variance > 0 else 1.0
    return ratio * np.block([[s.shape_covariance, s.shape_classes], [s.shape_classes.T, s.covariance]])


def precision(errors: Errors, classes: int, only: Ints | None, sd: float) -> Floats:
    """Precision of each parameter's prior; a class that is to have no bias is held at 0."""
    each = {"confidence": FAR, "tail": FAR, "noise": 3 * FAR}
    biases = np.full(classes, sd if only is None else 1e-6)
    biases[slice(0) if only is None else only] = sd
    parts = [biases if name == "bias" else np.array([each[name]]) for name in errors]
    return np.asarray(np.concatenate(parts) ** -2.0)


class Fitter:
    """Fits sets of errors to the same rows."""

    def __init__(self, chunks: PreparedRows, statistics: ClassStatistics, effect: float) -> None:
        """Take the rows, their statistics and the design effect, by which the data count less against the prior."""
        self.chunks, self.effect = chunks, effect
        self.classes = len(statistics.observed)
        self._information = information_of(statistics)
        self.bias_information: Floats = self._information[2:, 2:]
        self.known, self.alone = frozenset((*SCALARS, "bias")), frozenset[str]()
        self.none = Fit((), ClassMap(), slopes(chunks, ClassMap(), self.classes, tail=False), 0.0)

    def fit(self, errors: Errors, start: ClassMap, only: Ints | None = None, sd: float = BIAS_SD) -> Fit:
        """Maximise the likelihood with the prior, from a map of fewer errors; biases of some classes only, if given."""
        scale = 1.0
        if "noise" in errors:
            noise, scale = noise_start(self.chunks, start, self.classes)
            start = ClassMap(start.confidence, start.tail, noise, start.biases)
        origin, prior = self._vector(start, errors), self.effect * precision(errors, self.classes, only, sd)
        back = self._factored(errors, prior, scale).back
        reference = self.none.slopes.loglik
        last: tuple[ClassMap, Slopes, float] | None = None

        def objective(u: Floats) -> tuple[float, Floats]:
            nonlocal last
            theta = origin + back.T @ u
            mapping = self._map(theta, errors)
            found = slopes(self.chunks, mapping, self.classes, tail="tail" in errors)
            penalty = 0.5 * float(prior @ theta**2)
            last = mapping, found, penalty
            slope = found.of(errors) - prior * theta
            return reference - found.loglik + penalty, -back @ slope

        best = minimized(objective, np.zeros(len(origin)), gain=1e-7, slope=0.01)
        mapping = self._map(origin + back.T @ best, errors)
        if last is None or not np.array_equal(self._vector(last[0], errors), self._vector(mapping, errors)):
            objective(best)
        assert last is not None
        return Fit(errors, *last)

    def information(self, mapping: ClassMap, biases: bool = True) -> Floats:
        """Fisher information on confidence, tail, the log-odds of the noise and all class biases; one pass."""
        return information(self.chunks.wide(), mapping, self.classes, biases)

    def _factored(self, errors: Errors, prior: Floats, noise: float) -> Factored:
        """Factored information: in the coordinates of its factor all directions are about equally curved."""
        places = {"confidence": [0], "tail": [1], "noise": [0], "bias": list(range(2, 2 + self.classes))}
        at = np.array([place for name in errors for place in places[name]])
        information = self._information[np.ix_(at, at)]
        if "noise" in errors:
            one = errors.index("noise")
            information[one], information[:, one] = 0.0, 0.0
            information[one, one] = max(noise, 0.1)
        information[np.diag_indices_from(information)] *= 1 + 1e-6
        return Factored(definite(information + np.diag(prior)))

    def _vector(self, mapping: ClassMap, errors: Errors) -> Floats:
        parts: list[Floats] = []
        for name in errors:
            if name == "bias":
                parts.append(np.zeros(self.classes) if mapping.biases is None else mapping.biases)
            elif name == "noise":
                parts.append(np.array([np.log(mapping.noise) - np.log1p(-mapping.noise)]))
            else:
                parts.append(np.array([getattr(mapping, name)]))
        return np.concatenate(parts) if parts else np.empty(0)

    def _map(self, theta: Floats, errors: Errors) -> ClassMap:
        values: dict[str, float] = {name: float(theta[at]) for at, name in enumerate(errors) if name != "bias"}
        if "noise" in values:
            values["noise"] = float(expit(np.clip(values["noise"], -30, 10)))
        return ClassMap(**values, biases=theta[-self.classes :] if "bias" in errors else None)
