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

_OF_CELLS = 1 + 1 / 250
"""Limits are so many times as wide, for what cells do to scores."""


class _Score(NamedTuple):
    """A score as a loss from 0 up: that of an event predicted with p that occurs, and that of a right 0 or 1."""

    loss: Callable[[Floats], Floats]
    of_wrong: float
    """Loss of a prediction of exactly 0 or 1 that is wrong."""


def _missed(p: Floats) -> Floats:
    return np.asarray(np.where(p == 0.5, 0.5, p < 0.5))


_SCORES = {
    "log_loss": _Score(lambda p: -np.log(p), math.inf),
    "brier_score": _Score(lambda p: 2 * (1 - p) ** 2, 2.0),
    "accuracy": _Score(_missed, 1.0),
}


class Kept(NamedTuple):
    """Whether a requirement was kept. Larger evidence is stronger evidence that it was not."""

    requirement: str
    passed: bool
    value: float
    """The mean score over all periods."""
    log_evidence: float
    """Natural logarithm of the evidence that the limit is not kept, after all periods."""
    failed: str | None
    """The period after which the evidence reached the limit of the alarm."""


def kept(text: str, names: Sequence[str], series: Sequence[EventCounts], n_classes: int, log_limit: float) -> Kept:
    """Test a requirement on the mean of a score, from cells of the event: "log_loss < 0.4".

    The means of all bets' factors are at most 1 if the expected score of each row is within the limit. Scores of a
    cell are those of its mean prediction. For calibrated forecasts they are larger than the mean of its scores by 0.4%
    at the most, for cells of relative width 1/8, and limits are taken as so much wider.
    """
    wanted = Requirement.parse(text)
    score, limit = _checked(wanted, n_classes)
    top = wanted.name == "accuracy" and n_classes > 2
    factors, lost, rows = [], 0.0, 0.0
    for counts in series:
        losses, weights = _losses(counts, score, top)
        factors.append(np.log1p(np.outer(_RATES, losses / limit - 1)) @ weights)
        lost, rows = lost + float(losses @ weights), rows + float(weights.sum())
    evidence = logsumexp(np.cumsum(factors, axis=0), axis=1) - math.log(_RATES.size)
    above = np.flatnonzero(evidence >= log_limit)
    mean = lost / rows
    value = 1 - mean if wanted.name == "accuracy" else mean
    return Kept(wanted.text, not above.size, value, float(evidence[-1]), names[above[0]] if above.size else None)


def _losses(counts: EventCounts, score: _Score, top: bool) -> tuple[Floats, Floats]:
    """Give the losses that occurred, and how often each did; of the most probable class any that is missed costs 1."""
    right, wrong = counts.certain - counts.certain_and_wrong, counts.certain_and_wrong
    if_true, if_false = score.loss(counts.p), score.loss(1 - counts.p)
    if top:
        if_true, if_false = np.zeros_like(counts.p), np.ones_like(counts.p)
    losses = np.concatenate([if_true, if_false, [0.0, score.of_wrong]])
    weights = np.concatenate([counts.positive, counts.total - counts.positive, [right, wrong]])
    return losses[weights > 0], weights[weights > 0]


def _checked(wanted: Requirement, n_classes: int) -> tuple[_Score, float]:
    allowed = _SCORES if n_classes == 2 else {"accuracy": _SCORES["accuracy"]}
    if wanted.name not in allowed or wanted.end:
        raise InputError(
            f"require (--require): {wanted.text!r}: over time, requirements are on {', '.join(allowed)}"
            f"{' for two classes' if n_classes == 2 else ' for more than two classes'}."
        )
    if wanted.upward != (wanted.name == "accuracy"):
        raise InputError(f"require (--require): {wanted.text!r}: the better side of the limit is the other one.")
    limit = 1 - wanted.limit if wanted.name == "accuracy" else _OF_CELLS * wanted.limit
    if not limit > 0:
        raise InputError(f"require (--require): {wanted.text!r}: only perfect forecasts are within this limit.")
    return _SCORES[wanted.name], limit
