"""Requirements over time: whether a mean score is beyond its limit, by evidence that holds at every look."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._lib.errors import InputError
from .._lib.typing import Floats
from .event_counts import EventCounts
from .requirements import Requirement

_RATES: Floats = np.asarray(0.9 * 2.0 ** -np.arange(13), dtype=np.float64)
"""Shares of the most that can be bet: with more a loss of 0 would take all."""


class _Score(NamedTuple):
    """A score as a loss from 0 up: that of an event predicted with p that occurs; a right 0 or 1 costs nothing."""

    loss: Callable[[Floats], Floats]
    of_cell: Callable[[Floats], Floats]
    """Largest excess of the loss of a cell's mean over the mean of its losses, by the distance u of that mean from the
    nearer of 0 and 1, if forecasts are calibrated. In a cell from a <= u to 9/8 a they have a variance of at most
    (a/16)^2, and the second derivative of the expected loss is at most 1/(a (1 - a)), or 4 for the Brier score."""
    of_wrong: float
    """Loss of a prediction of exactly 0 or 1 that is wrong."""


def _missed(p: Floats) -> Floats:
    return np.asarray(np.where(p == 0.5, 0.5, p < 0.5))


_SCORES = {
    "log_loss": _Score(lambda p: -np.log(p), lambda u: u / (512 * (1 - u)), math.inf),
    "brier_score": _Score(lambda p: 2 * (1 - p) ** 2, lambda u: u * u / 128, 2.0),
    "accuracy": _Score(_missed, np.zeros_like, 1.0),
}


class Kept(NamedTuple):
    """Whether a requirement was kept. Larger evidence is stronger evidence that it was not."""

    requirement: str
    passed: bool
    value: float
    """The mean score over all periods, as `assess` gives it; NaN with periods of a history of version 1."""
    log_evidence: float
    """Natural logarithm of the evidence that the limit is not kept, after all periods."""
    failed: str | None
    """The period after which the evidence reached the limit of the alarm."""


def kept(text: str, names: Sequence[str], series: Sequence[EventCounts], n_classes: int, log_limit: float) -> Kept:
    """Test a requirement on the mean of a score, from cells of the event: "log_loss < 0.4".

    The means of all bets' factors are at most 1 if the expected score of each row is within the limit. Scores of a
    cell are those of its mean prediction, reduced by what calibrated forecasts may at most lose by being counted in it.
    """
    wanted = Requirement.parse(text)
    score, limit = _checked(wanted, n_classes)
    top = wanted.name == "accuracy" and n_classes > 2
    factors = []
    for counts in series:
        losses, of_cells, weights = _losses(counts, score, top)
        factors.append(np.log1p(np.outer(_RATES, (losses - of_cells) / limit - 1)) @ weights)
    evidence = logsumexp(np.cumsum(factors, axis=0), axis=1) - math.log(_RATES.size)
    above = np.flatnonzero(evidence >= log_limit)
    counts = EventCounts.together(series)
    value = math.nan if counts.scores is None else float(getattr(counts.scores, wanted.name)) / counts.rows
    return Kept(wanted.text, not above.size, value, float(evidence[-1]), names[above[0]] if above.size else None)


def _losses(counts: EventCounts, score: _Score, top: bool) -> tuple[Floats, Floats, Floats]:
    """Give the losses that occurred, what may be due to cells, and how often each occurred.

    For the most probable class any that is missed costs 1.
    """
    right, wrong = counts.certain - counts.certain_and_wrong, counts.certain_and_wrong
    if_true, if_false = score.loss(counts.p), score.loss(1 - counts.p)
    if top:
        if_true, if_false = np.zeros_like(counts.p), np.ones_like(counts.p)
    of_cell = score.of_cell(np.minimum(counts.p, 1 - counts.p))
    losses = np.concatenate([if_true, if_false, [0.0, score.of_wrong]])
    of_cells = np.concatenate([of_cell, of_cell, [0.0, 0.0]])
    weights = np.concatenate([counts.positive, counts.total - counts.positive, [right, wrong]])
    there = weights > 0
    return losses[there], of_cells[there], weights[there]


def _checked(wanted: Requirement, n_classes: int) -> tuple[_Score, float]:
    allowed = _SCORES if n_classes == 2 else {"accuracy": _SCORES["accuracy"]}
    if wanted.name not in allowed or wanted.end:
        raise InputError(
            f"require (--require): {wanted.text!r}: over time, requirements are on {', '.join(allowed)}"
            f"{' for two classes' if n_classes == 2 else ' for more than two classes'}."
        )
    if wanted.upward != (wanted.name == "accuracy"):
        raise InputError(f"require (--require): {wanted.text!r}: the better side of the limit is the other one.")
    limit = 1 - wanted.limit if wanted.name == "accuracy" else wanted.limit
    if not limit > 0:
        raise InputError(f"require (--require): {wanted.text!r}: only perfect forecasts are within this limit.")
    return _SCORES[wanted.name], limit
