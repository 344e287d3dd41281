"""What sums over the rows tell of the errors of more than two classes: fits without the rows themselves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..._lib.typing import Floats, Ints
from ...statistics.definite import Factored, definite
from ...tally.row_sample import RowSample
from .class_curvature import Curvature
from .class_fit import (
    BIAS_SD,
    FAR,
    Fit,
    information_of,
    precision,
)
from .class_maps import ClassMap, Errors, Slopes
from .class_statistics import ClassStatistics

_STEP = 0.5
_FURTHEST = 3.0
"""So far at most a step goes in confidence and tail; where few rows say next to nothing it would overflow."""
_LOG_LAPSES = np.arange(-9.0, -0.5, _STEP).tolist()


class ScoreFitter:
    """Fits sets of errors by the scores, and by the information on each class bias at the forecasts as they are.

    The likelihood of confidence and tail bends as that of the few rows that a tally keeps. That of a lapse alone
    depends on the probabilities of the observed classes only; beside other errors it is not known.
    """

    known = frozenset(("confidence", "tail", "noise", "bias"))
    alone = frozenset(("noise",))

    def __init__(
        self, statistics: ClassStatistics, effect: float, sample: RowSample | None, observed: tuple[Floats, Floats]
    ) -> None:
        """Take the statistics of the rows, the design effect, some rows, and the probabilities of what was observed.

        These come with their weights.
        """
        s, self.effect = statistics, effect
        self.classes = len(s.observed)
        self._score = np.concatenate([s.shape_score, s.observed - s.predicted])
        self._information = information_of(s)
        self.bias_information: Floats = self._information[2:, 2:]
        self._observed = observed
        enough = sample is not None and sample.key.size > 0 and bool((np.diag(s.shape_information) > 1e-6).all())
        self._curve = Curvature(sample, s, self._information[:2, :2]) if enough and sample is not None else None
        self.none = Fit((), ClassMap(), self._slopes(0.0, np.zeros(2 + self.classes), self._seen(ClassMap())), 0.0)

    def fit(self, errors: Errors, start: ClassMap, only: Ints | None = None, sd: float = BIAS_SD) -> Fit:
        """Maximise the likelihood with the prior; biases of some classes only, if given.

        The information on these is that at the start, as it is on average over the classes.
        """
        if "noise" in errors:
            return self._lapse()
        scalars = [at for at, name in enumerate(("confidence", "tail")) if name in errors]
        seen = self._seen(start)
        biases = _Biases(seen, self.effect * precision(("bias",), self.classes, only, sd)) if "bias" in errors else None
        shape, far = np.zeros(2), self.effect / FAR**2
        height = self._height(shape, biases)
        for _ in range(50 if scalars else 0):
            _, slope, bend = self._shape(shape)
            if biases is not None:
                more = biases.beside(shape)
                slope, bend = slope + more[1], bend + more[2]
            slope = slope - far * shape
            step = np.zeros(2)
            bend = bend[np.ix_(scalars, scalars)] + far * np.eye(len(scalars))
            step[scalars] = np.linalg.solve(definite(bend), slope[scalars])
            size = _FURTHEST / max(_FURTHEST, float(np.abs(step).max()))
            new = self._height(shape + size * step, biases)
            while size > 1e-3 and new < height:
                size /= 2
                new = self._height(shape + size * step, biases)
            shape, height = shape + size * step, new
            if abs(float(step @ slope)) < 1e-6:
                break
        theta = np.concatenate([shape, np.zeros(self.classes) if biases is None else biases.at(shape)])
        mapping = ClassMap(float(shape[0]), float(shape[1]), 0.0, theta[2:] if biases is not None else None)
        prior = self.effect * precision(errors, self.classes, only, sd)
        used = np.concatenate([theta[2:] if name == "bias" else theta[[_AT[name]]] for name in errors])
        penalty = 0.5 * float(prior @ used**2)
        seen = self._seen(mapping) if biases is None else seen
        return Fit(errors, mapping, self._slopes(self._height(shape, biases) + penalty, theta, seen), penalty)

    def _height(self, shape: Floats, biases: _Biases | None) -> float:
        """Log-likelihood with the prior, the biases being the best ones beside confidence and tail."""
        more = 0.0 if biases is None else biases.beside(shape)[0]
        return self._shape(shape)[0] + more - 0.5 * self.effect / FAR**2 * float(shape @ shape)

    def _shape(self, shape: Floats) -> tuple[float, Floats, Floats]:
        """Log-likelihood of confidence and tail, its gradient, and its Hessian with the other sign."""
        known = self._information[:2, :2]
        if self._curve is None:
            value, slope, bend = 0.5 * float(shape @ known @ shape), known @ shape, known
        else:
            value, slope, bend = self._curve(shape)
        return float(shape @ self._score[:2]) - value, self._score[:2] - slope, bend

    def _seen(self, mapping: ClassMap) -> _Seen:
        """What the sums tell of class biases beside these errors of confidence and tail.

        How far the mending of these moves the mean predictions of the classes is known only in its direction. The
        biases' score along it is taken away, as that of a parameter of its own with this prior.
        """
        shape = np.array([mapping.confidence, mapping.tail])
        growth = 1.0 if self._curve is None else self._curve.growth(shape)
        score, across, known = self._score[2:], self._information[2:, :2], growth * self.bias_information
        across = max(1 + _MOVES * (growth - 1), _LEAST) * across
        loose, direction = _LOOSE * abs(growth - 1), self._information[2:, :2] @ shape
        if not loose * float(direction @ direction) > 0:
            return _Seen(score, across, known)
        used = np.flatnonzero(shape)
        bend = definite(self._shape(shape)[2][np.ix_(used, used)])
        own = known - across[:, used] @ np.linalg.solve(bend, across[:, used].T)
        ridge = 1e-6 * float(np.trace(known)) / len(known) * np.eye(len(known))
        back = np.linalg.solve(definite(own + ridge), direction)
        share = 1 / (float(direction @ back) + loose**-2)
        along = share * float(back @ (score - across @ shape))
        return _Seen(score - along * direction, across, known - share * np.outer(direction, direction))

    def _slopes(self, rise: float, theta: Floats, seen: _Seen) -> Slopes:
        left = self._score[:2] - self._information[:2] @ theta
        biases = seen.score - seen.across @ theta[:2] - seen.known @ theta[2:]
        return Slopes(rise, float(left[0]), float(left[1]), 0.0, biases)

    def _lapse(self) -> Fit:
        from scipy.optimize import minimize_scalar

        p, weight = self._observed
        ratio = 1 / (self.classes * p) - 1

        def fall(log_lapse: float) -> float:
            return -float(weight @ np.log1p(math.exp(log_lapse) * ratio))

        near = min(_LOG_LAPSES, key=fall)
        best = minimize_scalar(fall, bounds=(near - _STEP, near + _STEP), method="bounded")
        slopes = self._slopes(-float(best.fun), np.zeros(2 + self.classes), self._seen(ClassMap()))
        return Fit(("noise",), ClassMap(noise=math.exp(best.x)), slopes, 0.0)

    def information(self, mapping: ClassMap, biases: bool = True) -> Floats:
        """Information on confidence, tail, the log-odds of a lapse alone, and all class biases."""
        del biases
        total, seen = np.zeros((3 + self.classes, 3 + self.classes)), self._seen(mapping)
        total[3:, 3:], total[3:, :2], total[:2, 3:] = seen.known, seen.across, seen.across.T
        total[:2, :2] = self._shape(np.array([mapping.confidence, mapping.tail]))[2]
        if e := mapping.noise:
            p, weight = self._observed
            left = (1 - e) * p + e / self.classes
            total[2, 2] = weight @ (e * (1 - e) * (1 / self.classes - p) / left) ** 2
        return total


_AT = {"confidence": 0, "tail": 1}
_MOVES, _LOOSE, _LEAST = 1.9, 0.6, 0.1
"""Beside confidence and tail, mean predictions of classes move 1 + 1.9 (g - 1) times as far as by the first derivative,
give or take 0.6 (g - 1), in simulated forecasts; g is by how much the sum of p (1 - p) grows."""


class _Seen(NamedTuple):
    """Scores of the class biases, their derivatives by confidence and tail, and the information on them."""

    score: Floats
    across: Floats
    known: Floats


class _Biases:
    """The best class biases beside confidence and tail."""

    def __init__(self, seen: _Seen, prior: Floats) -> None:
        self._score, self._across = seen.score, seen.across
        self._solved = Factored(definite(seen.known + np.diag(prior))).solve
        self._bend = self._across.T @ self._solved(self._across)

    def at(self, shape: Floats) -> Floats:
        return np.asarray(self._solved(self._score - self._across @ shape))

    def beside(self, shape: Floats) -> tuple[float, Floats, Floats]:
        """Penalised log-likelihood that they add, its gradient, and its Hessian with the other sign."""
        left = self._score - self._across @ shape
        best = self._solved(left)
        return 0.5 * float(left @ best), -self._across.T @ best, -self._bend
