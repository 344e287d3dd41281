"""Choice among maps by cross-validation: their weights in the average, and what the average gains on held-out rows.

Nothing here knows what a map is: binary forecasts and those of many classes share it. They differ in their `Penalty`.
That of two classes was chosen by simulation, together with 20 folds for up to 1,000 rows. With n = 50, 100, 300 rows of
calibrated forecasts of another seed the average loses .0014, .0007 and .0002 nats a row on fresh forecasts; on
miscalibrated ones it gains .0074, .0091 and .0144 (`benchmarks/recalibration.py`). With the penalty of more classes and
five folds it lost .0020, .0013 and .0005, and gained .0044, .0073 and .0148.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, field
from .._lib.typing import Floats, Ints, ReadOnlyArrays
from ..forecasts.forecasts import Block
from ..maps.classes import inside
from ..maps.parameters import family_of
from ..statistics.matrices import product
from .folded_rows import Dealt, FoldedRows, Map
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS, Baseline, Gain, errors_to_limit, gain_of

IDENTITY = "identity"

LEAST_WEIGHT = 1e-6
"""Maps that weigh less have no part in the average, and are not stored."""


class Penalty(Frozen):
    """How a held-out log loss becomes a weight: ``w ~ exp(-loss L - parameter r - change [not identity])``."""

    loss: float
    """Share of the total held-out log loss L in nats. Below 1 the weights follow chance less."""
    parameter: float
    """Nats for each parameter."""
    change: float
    """Nats for any map but the identity."""

    def costs(self, losses: Floats, parameters: Sequence[float], names: Sequence[str]) -> Floats:
        """Return the negative logarithm of the weight of each map, up to a constant."""
        changes = np.array([name != IDENTITY for name in names])
        return np.asarray(self.loss * losses + self.parameter * np.array(parameters) + self.change * changes)


BINARY_PENALTY = Penalty(0.7, 1.0, 1.0)
"""Two classes."""

CLASS_PENALTY = Penalty(1.0, 0.5, 2.0)
"""More than two classes."""

SINGLE_PENALTY = Penalty(1.0, 0.5, 1.0)
"""Choice of one map."""


class Average(Generic[Map], Frozen):
    """Maps fitted to all rows, with their weights in the average."""

    maps: dict[str, Map]
    weights: dict[str, float]
    losses: dict[str, float]
    """Held-out log loss of each map, in nats a row."""
    gain: Gain | None
    """None where there are fewer than 100 rows, or fewer than 10 clusters of dependent rows."""
    baseline: Baseline | None
    """None where the gain is."""
    held_out: HeldOut
    """The average without each fold, and what it makes of the fold's rows."""


def average(rows: FoldedRows[Map], names: Sequence[str], single: bool = False, only: str | None = None) -> Average[Map]:
    """Fit maps and weigh them by their cross-validated log loss.

    ``only`` names a map that has all the weight. ``single`` gives it to the map with the best penalised loss.

    Parameters
    ----------
    rows : FoldedRows
    names : sequence of str
        Families to try; the identity always is.
    single : bool, default False
        Whether one map has all the weight.
    only : str, optional
        Which one, of any loss.
    """
    tried = list(dict.fromkeys([IDENTITY, *names]))
    maps, *fits = rows.fits(tried)
    logs = [
        np.log(np.stack([rows.likelihoods(fitted[name], fold) for name in tried])) for fold, fitted in enumerate(fits)
    ]
    losses = np.stack([product(-of_fold, rows.weight[rows.here(fold)]) for fold, of_fold in enumerate(logs)])

    def weights_of(total: Floats) -> Floats:
        if only is not None:
            return np.array([float(name == only) for name in tried])
        parameters = [family_of(name, rows.n_classes).rank for name in tried]
        penalty = SINGLE_PENALTY if single else BINARY_PENALTY if rows.n_classes == 2 else CLASS_PENALTY
        cost = penalty.costs(total, parameters, tried)
        unscaled = np.exp(cost.min() - cost) if not single else np.arange(len(tried)) == int(np.argmin(cost))
        return np.asarray(unscaled / unscaled.sum())

    weights = weights_of(losses.sum(axis=0))
    per_row = dict(zip(tried, (losses.sum(axis=0) / float(rows.weight.sum())).tolist(), strict=True))
    in_folds = (shares_of(tried, weights_of(losses.sum(axis=0) - of_fold)) for of_fold in losses)
    without = [
        Weighted({name: fitted[name] for name in share}, share) for fitted, share in zip(fits, in_folds, strict=True)
    ]
    held_out = HeldOut.of(rows, without)
    gain = baseline = None
    if rows.n_rows >= FEWEST_ROWS and (rows.clusters is None or rows.clusters >= FEWEST_CLUSTERS):
        after = np.log(held_out.correct)
        gain = _gain(rows, np.concatenate([of_fold[0] for of_fold in logs]), after, _in_sample(rows, maps, weights))
        baseline = _baseline(rows, after)
    kept = {name: float(w) for name, w in zip(tried, weights.tolist(), strict=True)}
    if only is not None:
        maps, kept, per_row = {only: maps[only]}, {only: 1.0}, {only: per_row[only]}
    return Average(maps, kept, per_row, gain, baseline, held_out)


def shares_of(names: Sequence[str], weights: Floats, least: float = LEAST_WEIGHT) -> dict[str, float]:
    """Return the weights of the maps that have any to speak of, made to sum to 1."""
    kept = {name: w for name, w in zip(names, weights.tolist(), strict=True) if w >= least}
    return {name: w / sum(kept.values()) for name, w in kept.items()}


def _in_sample(rows: FoldedRows[Map], maps: Mapping[str, Map], weights: Floats) -> float:
    """Return the mean gain on the rows of the fit."""
    p = np.stack([rows.likelihoods(each, None) for each in maps.values()])
    return rows.mean(np.log(product(weights, p) / p[0]))[0]


def _gain(rows: FoldedRows[Map], before: Floats, after: Floats, in_sample: float) -> Gain:
    """Compare the logarithms of the probabilities that the outcomes had with those that they have."""
    mean, error = rows.mean(after - before)
    return gain_of(-rows.mean(before)[0], mean, error, in_sample, rows.n_rows, rows.clusters)


def _baseline(rows: FoldedRows[Map], after: Floats) -> Baseline:
    """Compare a constant forecast with the recalibrated ones on the rows held out of both."""
    constant = np.log(rows.constant)
    mean, error = rows.mean(after - constant)
    half = errors_to_limit(rows.clusters) * error
    return Baseline(-rows.mean(constant)[0], (mean - half, mean + half), rows.zeros, rows.zero if rows.zeros else 0.0)


_ROWS = 1 << 15
"""Rows whose maps are averaged at once, in the processor's cache."""


class Weighted(NamedTuple):
    """Maps with their shares in an average, which sum to 1."""

    maps: dict[str, Any]
    shares: dict[str, float]

    def probabilities(self, predicted: Floats) -> Floats:
        """Return averaged probabilities (n, C) at log-odds (n,) of two classes, or log-probabilities (n, C) of more."""
        parts = [predicted[first : first + _ROWS] for first in range(0, max(len(predicted), 1), _ROWS)]
        return np.concatenate([inside(sum(self._shared(part))) for part in parts])

    def _shared(self, predicted: Floats) -> Iterator[Floats]:
        return (share * self.maps[name].probabilities(predicted) for name, share in self.shares.items())


def predicted_by(log_p: Floats) -> Floats:
    """Return the log-odds (n,) of two classes, the log-probabilities (n, C) of more: what maps take."""
    return np.asarray(log_p[:, 1] - log_p[:, 0]) if log_p.shape[1] == 2 else log_p


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
