"""Averages of maps, and what they make of rows that were held out of the fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._lib.typing import Floats, Ints, ReadOnlyArrays
from ..forecasts.forecasts import Block
from ..maps.classes import inside
from .folded_rows import Dealt, FoldedRows


class Weighted(NamedTuple):
    """Maps with their shares in an average, which sum to 1."""

    maps: dict[str, Any]
    shares: dict[str, float]

    def probabilities(self, predicted: Floats) -> Floats:
        """Return averaged probabilities (n, C) at log-odds (n,) of two classes, or log-probabilities (n, C) of more."""
        each = (share * self.maps[name].probabilities(predicted) for name, share in self.shares.items())
        return np.asarray(inside(sum(each)))


def predicted_by(log_p: Floats) -> Floats:
    """Return the log-odds (n,) of two classes, the log-probabilities (n, C) of more: what maps take."""
    return np.asarray(log_p[:, 1] - log_p[:, 0]) if log_p.shape[1] == 2 else log_p


@dataclass(frozen=True)
class HeldOut(ReadOnlyArrays):
    """Rows of each fold, recalibrated by the average that was fitted without it (cross-fitted)."""

    without: tuple[Weighted, ...] = field(repr=False)
    """The average without each fold."""
    dealt: Dealt | None = field(repr=False)
    """How rows are dealt into the folds; None where they are a sample of the rows that came."""
    correct: Floats
    """Probability assigned to the observed class, of each row or lot of rows that are alike."""
    weights: Floats
    brier_score: float
    """Mean over the rows of the sum over the classes. Smaller is better."""
    predicted: Floats
    """Distinct probabilities of the positive class, in increasing order; with more classes highest probabilities."""
    happened: Floats
    """Weight of the rows in which that class was observed."""
    total: Floats

    @classmethod
    def of(cls, rows: FoldedRows[Any], without: Sequence[Weighted]) -> HeldOut:
        """Recalibrate the rows of all folds."""
        folds = [cls._of_fold(rows, fold, each) for fold, each in enumerate(without)]
        correct, predicted, happened = (np.concatenate([fold[at] for fold in folds]) for at in range(3))
        distinct, number = np.unique(predicted, return_inverse=True)
        sums = [np.bincount(number.reshape(-1), x).astype(np.float64) for x in (rows.weight * happened, rows.weight)]
        brier_score = math.fsum(fold[3] for fold in folds) / float(rows.weight.sum())
        return cls(tuple(without), rows.dealt, correct, rows.weight, brier_score, distinct, *sums)

    @staticmethod
    def _of_fold(rows: FoldedRows[Any], fold: int, by: Weighted) -> tuple[Floats, Floats, Floats, float]:
        """Return for each row the probabilities of observed and predicted class, and whether this happened; squares."""
        here = rows.here(fold)
        q, truth = by.probabilities(rows.predicted[here]), rows.truth[here]
        correct = q[np.arange(truth.size), truth]
        squares = float(rows.weight[here] @ ((q * q).sum(axis=1) - 2 * correct + 1))
        if rows.n_classes == 2:
            return correct, q[:, 1], truth.astype(np.float64), squares
        top = q.max(axis=1)
        return correct, top, (correct == top) / (q == top[:, None]).sum(axis=1), squares

    @property
    def constant(self) -> bool:
        """Whether each fold has one probability, so that only the folds' maps differ, and calibration is not seen."""
        return self.predicted.size <= len(self.without)

    def recalibrated(self, blocks: Iterable[Block]) -> tuple[Floats, Ints]:
        """Recalibrate the rows of the fit, (n, C), in the order in which they came; with their outcomes."""
        assert self.dealt is not None
        weighing = [block.weighing for block in blocks]
        log_p = np.concatenate([block.log_probabilities for block in weighing])
        truth = np.concatenate([block.truth.astype(np.int64) for block in weighing])
        predicted = predicted_by(log_p)
        return self.in_folds(predicted, self.dealt.folds_of(predicted, truth)), truth

    def in_folds(self, predicted: Floats, fold: Ints) -> Floats:
        """Recalibrate rows of known folds, (n, C), by log-odds of two classes, or log-probabilities of more."""
        parts = [(np.flatnonzero(fold == each), by) for each, by in enumerate(self.without)]
        q = np.concatenate([by.probabilities(predicted[here]) for here, by in parts])
        return np.asarray(q[np.argsort(np.concatenate([here for here, _ in parts]))])
