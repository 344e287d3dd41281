"""Recalibrated forecasts of rows held out of the fits, as counts: metrics after a recalibration follow from these."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from .._lib.typing import Floats, Ints, ReadOnlyArrays


class Dealt(Protocol):
    """How the rows of a fit were dealt into folds."""

    def folds_of(self, log_p: Floats, truth: Ints) -> Ints:
        """Return the fold of each of them, in the order in which they came: (n, C) log-probabilities, and outcomes."""


@dataclass(frozen=True)
class DealtRows:
    """Folds of rows that were kept."""

    fold: Ints

    def folds_of(self, log_p: Floats, truth: Ints) -> Ints:
        """Return the fold of each row."""
        return self.fold


class RecalibratedFold(NamedTuple):
    """Rows of one fold, or their counts, recalibrated by maps that were fitted to the others."""

    correct: Floats
    """Probability assigned to the observed class."""
    weights: Floats
    squares: float
    """Weighted sum of the Brier scores."""
    predicted: Floats
    """Probability of the positive class; with more than two classes the highest probability."""
    happened: Floats
    """Weight of the rows in which that class was observed."""
    total: Floats


@dataclass(frozen=True)
class CrossFitted(ReadOnlyArrays):
    """Recalibrated forecasts of all rows, each by maps that were fitted to the other folds."""

    correct: Floats
    """Probability assigned to the observed class."""
    weights: Floats
    brier_score: float
    """Mean over the rows of the sum over the classes. Smaller is better."""
    predicted: Floats
    """Distinct probabilities of the positive class, in increasing order; with more classes highest probabilities."""
    happened: Floats
    """Weight of the rows in which that class was observed."""
    total: Floats
    folds: int

    @property
    def constant(self) -> bool:
        """Whether each fold has one probability, so that only the folds' maps differ, and calibration is not seen."""
        return self.predicted.size <= self.folds

    @classmethod
    def of(cls, folds: Sequence[RecalibratedFold]) -> CrossFitted:
        """Join the folds."""
        correct, weights, predicted, happened, total = (
            np.concatenate([getattr(fold, name) for fold in folds])
            for name in ("correct", "weights", "predicted", "happened", "total")
        )
        some, seen = weights > 0, total > 0
        distinct, number = np.unique(predicted[seen], return_inverse=True)
        sums = [np.bincount(number.reshape(-1), x[seen]).astype(np.float64) for x in (happened, total)]
        brier_score = math.fsum(fold.squares for fold in folds) / float(weights.sum())
        return cls(correct[some], weights[some], brier_score, distinct, sums[0], sums[1], len(folds))
