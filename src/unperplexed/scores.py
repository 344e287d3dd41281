"""Scoring rules: functions of the per-row primitives, and the dictionary that drives everything else.

A new rule is a function of `Rows` and a line in `SCORES`; tallies, the command line and reports iterate over it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._kernels import Rows
from ._typing import Floats
from .errors import InputError
from .forecasts import Block, Forecasts
from .labels import Label
from .means import apply_limit, weighted_sum

RowScore = Callable[[Rows], Floats]


def log_loss_rows(rows: Rows) -> Floats:
    """Log loss of each row, in nats; infinite where what happened was given 0."""
    with np.errstate(divide="ignore"):
        return -np.log(rows.correct) + 0.0  # no negative zero


def brier_score_rows(rows: Rows) -> Floats:
    """Brier score of each row, summed over classes, from 0 to 2."""
    return np.maximum(1 - 2 * rows.correct + rows.squares, 0.0)


@dataclass(frozen=True)
class Score:
    """A scoring rule by name."""

    name: str
    rows: Callable[[Block], Floats]


SCORES: Mapping[str, Score] = MappingProxyType(
    {
        "log_loss": Score("log_loss", lambda block: log_loss_rows(block.rows)),
        "brier_score": Score("brier_score", lambda block: brier_score_rows(block.rows)),
    }
)
"""Scoring rules by name, each a function of the per-row primitives."""


def log_loss(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    floor: float = 0.0,
) -> float:
    """Mean negative logarithm, in nats, of the probability given to what happened. Smaller is better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        What happened: labels or one-hot rows.
    y_prob : array_like of shape (n,) or (n, C)
        Reported probabilities of the positive class, or of each class.
    sample_weight : array_like of shape (n,), optional
        Non-negative importance weights.
    labels, pos_label : optional
        As in `Forecasts`.
    floor : float, default 0
        Correct-class probabilities below it are raised to it.

    Returns
    -------
    float
        From 0 (certain and right) to inf (0 given to something that happened); exp of minus it is the
        geometric accuracy at the same floor.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows.

    Notes
    -----
    ``-sum w ln(p_correct) / sum w``. Strictly proper; local.

    Examples
    --------
    >>> from unperplexed import log_loss
    >>> round(log_loss([1, 0], [0.8, 0.5]), 6)
    0.458145
    """
    correct, weights = _rows_of(y_true, y_prob, sample_weight, labels, pos_label, lambda block: block.rows.correct)
    with np.errstate(divide="ignore"):
        return _mean(-np.log(apply_limit(correct, floor)), weights)


def brier_score(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
) -> float:
    """Mean squared distance between the reported distribution and what happened. Smaller is better.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.

    Returns
    -------
    float
        From 0 to 2: the sum over classes, Brier's own definition. For two classes it is twice the mean
        squared error of the positive class's probability.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows.

    Notes
    -----
    ``sum_i w_i sum_j (p_ij - y_ij)^2 / sum w`` (Brier 1950). Strictly proper.

    Examples
    --------
    >>> from unperplexed import brier_score
    >>> round(brier_score([1], [[0.33, 0.34, 0.33]]), 4)
    0.6534
    """
    return _mean(
        *_rows_of(y_true, y_prob, sample_weight, labels, pos_label, lambda block: brier_score_rows(block.rows))
    )


def _rows_of(
    y_true: Any,
    y_prob: Any,
    sample_weight: ArrayLike | None,
    labels: Sequence[Label] | None,
    pos_label: Label | None,
    rule: Callable[[Block], Floats],
) -> tuple[Floats, Floats | None]:
    """Row scores and weights of checked forecasts, without keeping their blocks."""
    forecasts = Forecasts(y_true, y_prob, sample_weight=sample_weight, labels=labels, pos_label=pos_label)
    values, weights = forecasts.per_row(rule)
    if not values.size:
        raise InputError("y_true: no rows to score.")
    return values, weights


def _mean(x: Floats, weights: Floats | None) -> float:
    if weights is None:
        return float(x.mean())
    positive = weights > 0  # a row of weight 0 is as if absent, even where its score is infinite
    return weighted_sum(x[positive], weights[positive]) / float(weights[positive].sum())
