"""Confused classes: which class was predicted, which observed, and what the rows cost in nats."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .._lib.typing import Floats, ReadOnlyArrays
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.labels import Label

MOST_PAIRS = 100
"""Pairs that are kept, those of the largest loss."""


@dataclass(frozen=True)
class ConfusionTable(ReadOnlyArrays):
    """Pairs of a predicted class and another one that was observed, the costliest first."""

    predicted: tuple[Label | None, ...]
    """The most probable class; the first of several."""
    observed: tuple[Label | None, ...]
    weight: Floats
    """Weight of the rows: their number if they have none."""
    probability: Floats
    """Geometric mean of the probability assigned to the observed class, at the floor."""
    loss: Floats
    """Log loss of these rows, in nats for each row of all: the parts of a log loss at the floor."""
    share: Floats
    """Share of the log loss of all rows."""

    def __len__(self) -> int:
        """Count the pairs."""
        return self.weight.size


def confusion_table(chunks: Iterable[Forecasts], floor: float) -> ConfusionTable:
    """Read all rows once; a probability below the floor counts as the floor."""
    labels: tuple[Label | None, ...] = ()
    codes, sums = np.empty(0, np.int64), np.empty((0, 2))
    for forecasts in chunks:
        labels = forecasts.labels
        for block in forecasts.blocks():
            codes, sums = _added(codes, sums, *_pairs(block, floor))
    total, loss = sums.sum(axis=0) if codes.size else (1.0, 0.0)
    predicted, observed = np.divmod(codes, max(len(labels), 1))
    some = np.flatnonzero((predicted != observed) & (sums[:, 0] > 0))
    some = some[np.argsort(-sums[some, 1], kind="stable")[:MOST_PAIRS]]
    weight, cost = sums[some].T
    return ConfusionTable(
        tuple(labels[at] for at in predicted[some].tolist()),
        tuple(labels[at] for at in observed[some].tolist()),
        weight,
        np.exp(-cost / weight),
        cost / total,
        cost / loss if loss else np.zeros(some.size),
    )


def _pairs(block: Block, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Give each row's pair of classes, and its weight and weighted loss."""
    w = np.ones(len(block)) if block.weights is None else block.weights
    with np.errstate(divide="ignore"):
        loss = -np.log(np.maximum(np.asarray(block.rows.correct, dtype=np.float64), floor))
    code = np.argmax(block.probabilities, axis=1) * block.rows.n_classes + block.truth.astype(np.int64)
    return code, np.stack([w, np.where(w > 0, w * loss, 0.0)], axis=1)


def _added(codes: np.ndarray, sums: np.ndarray, code: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found, place = np.unique(np.concatenate([codes, code]), return_inverse=True)
    both = np.concatenate([sums, values])
    return found, np.stack([np.bincount(place, column, minlength=found.size) for column in both.T], axis=1)
