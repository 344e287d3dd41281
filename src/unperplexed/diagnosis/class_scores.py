"""What sums over the rows tell of the errors of more than two classes: one step of a fit, by scores and information."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .._typing import Floats, Ints
from .class_fit import BIAS_SD, Fit, information_of, precision
from .class_maps import ClassMap, Errors, Slopes
from .class_statistics import ClassStatistics


class ScoreFitter:
    """Fits sets of errors by the log-likelihood's second-order approximation at the forecasts as they are."""

    known = frozenset(("confidence", "tail", "bias"))
    """A lapse is not among them: its score, the sum of 1 / (C p) - 1 over outcomes, has hardly any moments."""

    def __init__(self, statistics: ClassStatistics, effect: float) -> None:
        """Take the statistics of the rows and the design effect, by which the data count less against the prior."""
        s, self.effect = statistics, effect
        self.classes = len(s.observed)
        self._score = np.concatenate([s.shape_score, s.observed - s.predicted])
        self._information = information_of(s)
        self.bias_information: Floats = self._information[2:, 2:]
        self.none = Fit((), ClassMap(), self._slopes(np.zeros(2 + self.classes)), 0.0)

    def fit(self, errors: Errors, start: ClassMap, only: Ints | None = None, sd: float = BIAS_SD) -> Fit:
        """Maximise it with the prior; biases of some classes only, if given. Where it starts does not matter."""
        del start
        places = {"confidence": [0], "tail": [1], "bias": list(range(2, 2 + self.classes))}
        at = np.array([place for name in errors for place in places[name]])
        prior = self.effect * precision(errors, self.classes, only, sd)
        known = self._information[np.ix_(at, at)]
        known[np.diag_indices_from(known)] *= 1 + 1e-9
        theta = np.zeros(2 + self.classes)
        theta[at] = cho_solve(cho_factor(known + np.diag(prior)), self._score[at])
        mapping = ClassMap(float(theta[0]), float(theta[1]), 0.0, theta[2:] if "bias" in errors else None)
        return Fit(errors, mapping, self._slopes(theta), 0.5 * float(prior @ theta[at] ** 2))

    def _slopes(self, theta: Floats) -> Slopes:
        moved = self._information @ theta
        left = self._score - moved
        rise = float(theta @ self._score - 0.5 * theta @ moved)
        return Slopes(rise, float(left[0]), float(left[1]), 0.0, left[2:])

    def information(self, mapping: ClassMap, biases: bool = True) -> Floats:
        """Information on confidence, tail, nothing on a lapse, and all class biases; the same for any map."""
        del mapping, biases
        at = np.r_[0, 1, 3 : 3 + self.classes]
        total = np.zeros((3 + self.classes, 3 + self.classes))
        total[np.ix_(at, at)] = self._information
        return total
