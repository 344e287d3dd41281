"""Scoring rules as differentiable functions of log-probabilities, the same for every array library.

A rule takes the log-probabilities of the classes that are scored and those of all classes, along the last axis, and the
functions ``xp`` of the library (``torch``, ``keras.ops``, ``jax.numpy`` or ``numpy``). One class a row gives the row's
score; all classes give what it scores for each, had it happened. So targets may be classes or distributions of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST
from . import rules
from .rules import PrimitiveArrays

Array = Any
"""Array of the library at hand."""


class Rule(Frozen):
    """A scoring rule to be minimised."""

    score: Callable[[Array, Array, Any, float], Array]
    """Score of log-probabilities, those scored and all; then the library, and where the logarithms of powers are
    bent."""
    penalty: Callable[[int], float] | None = None
    """What is added for a wrong top class, by the number of classes."""


def linearize_below(largest: float) -> float:
    """Logarithm of the powers beyond which they go on in a straight line, by the largest number that gradients can be.

    For most data types their cube is finite, so that the squares of gradients are, which optimizers keep. Those of half
    precision have no such room: there the powers themselves are.
    """
    return max(math.log(largest) / 3, min(math.log(largest) - 1, 10.0))


def wrong(scored: Array, scores: Array, xp: Any) -> Array:
    """Say how wrong the top class is: 1 if another is on top, 1 - 1/k if the one scored is one of k on top, else 0.

    By logits or probabilities of the classes scored and of all, the last axis being theirs. It has no gradient.
    """
    top = xp.amax(scores, axis=-1, keepdims=True)
    ties = xp.sum(xp.where(scores == top, xp.ones_like(scores), xp.zeros_like(scores)), axis=-1, keepdims=True)
    return 1 - xp.where(scored == top, xp.ones_like(scored), xp.zeros_like(scored)) / ties


def _surprisal(log_c: Array, r: float, xp: Any, bend: float) -> Array:
    """Give -(1+r)/r (p^r - 1); of orders below 0 straight in ln p beyond the bend, where it would overflow."""
    if r == 0:
        return -log_c
    log_power = r * log_c
    if r > 0:
        return -(1 + r) / r * xp.expm1(log_power)
    within = xp.where(log_power > bend, xp.full_like(log_power, bend), log_power)
    return -(1 + r) / r * (xp.expm1(within) + xp.exp(within) * (log_power - within))


def _power_sum(log_p: Array, r: float, xp: Any, bend: float) -> Array:
    powers = xp.exp((1 + r) * log_p)
    if r < 0:
        # Where the surprisal goes on straight in ln p, this does in p: of proper rules its slope is p times that one's.
        straight = (1 + r) * math.exp(bend) * xp.exp(log_p) - r * math.exp(bend + bend / r)
        powers = xp.where(r * log_p > bend, straight, powers)
    return xp.sum(powers, axis=-1, keepdims=True)


def _log(log_c: Array, log_p: Array, xp: Any, bend: float) -> Array:
    return -log_c  # the logarithm is at hand: `rules.log_loss` would take it of its exponential


def _brier(log_c: Array, log_p: Array, xp: Any, bend: float) -> Array:
    return rules.brier_score(PrimitiveArrays(xp.exp(log_c), _power_sum(log_p, 1, xp, bend), None, log_p.shape[-1]), xp)


def _generalized(log_c: Array, log_p: Array, xp: Any, bend: float, *, r: float) -> Array:
    return _surprisal(log_c, r, xp, bend)


def _power(log_c: Array, log_p: Array, xp: Any, bend: float, *, r: float) -> Array:
    local = _surprisal(log_c, r, xp, bend)
    return local if r == 0 else local + (_power_sum(log_p, r, xp, bend) - 1)


def _mixed(log_c: Array, log_p: Array, xp: Any, bend: float, *, parts: tuple[tuple[float, Rule], ...]) -> Array:
    return sum(share * rule.score(log_c, log_p, xp, bend) for share, rule in parts)


LOG, PENALIZED_LOG = Rule(_log), Rule(_log, rules.log_penalty)
"""Logarithmic score, which is cross-entropy; and plus ln C if another class is on top."""

BRIER, PENALIZED_BRIER = Rule(_brier), Rule(_brier, rules.brier_penalty)
"""Brier score, summed over classes; and plus (C - 1)/C if another class is on top."""


def surprisal_rule(r: float) -> Rule:
    """Generalized surprisal of order r, which sees only the class that happened; proper only at 0."""
    return Rule(partial(_generalized, r=_order(r)))


def power_rule(r: float) -> Rule:
    """Power score of order r, its proper companion."""
    return Rule(partial(_power, r=_order(r)))


def risk_rule(decisiveness: float, accuracy: float, robustness: float, proper: bool) -> Rule:
    """Weighted mean of the rules behind decisiveness, geometric accuracy and robustness.

    Parameters
    ----------
    decisiveness, accuracy, robustness : float
        Weights of at least 0, not all 0; they are divided by their sum.
    proper : bool
        Whether the parts are power scores, which are proper, or generalized surprisals.
    """
    shares = _shares({DECISIVE: decisiveness, GEOMETRIC: accuracy, ROBUST: robustness})
    of_order = power_rule if proper else surprisal_rule
    return Rule(partial(_mixed, parts=tuple((share, of_order(order)) for order, share in shares.items())))


def _shares(weights: Mapping[float, float]) -> dict[float, float]:
    names = dict(zip(weights, ("decisiveness", "accuracy", "robustness"), strict=True))
    for order, weight in weights.items():
        if not 0 <= weight < math.inf:
            raise InputError(f"{names[order]}: expected a weight of at least 0, got {weight!r}.")
    total = sum(weights.values())
    if not total > 0:
        raise InputError("decisiveness, accuracy, robustness: one of the weights must be above 0.")
    return {order: weight / total for order, weight in weights.items() if weight}


_NO_ORDER = 1e-30
"""Orders up to it are 0: no power tells them from it."""


def _order(r: Any) -> float:
    """Refuse orders at which the rules are no scoring rules; those that no power tells from 0 are 0."""
    if isinstance(r, bool) or not isinstance(r, int | float) or not -1 < r < math.inf:
        raise InputError(f"r: the order must be a finite number above -1, got {r!r}.")
    return float(r) if abs(r) > _NO_ORDER else 0.0


def published_brier_score(p: Array, xp: Any) -> Array:
    """Give `rules.published_brier_score` of each class, had it happened, by the probabilities of all."""
    brier = 1 - 2 * p + xp.sum(p * p, axis=-1, keepdims=True)
    return brier / p.shape[-1] + rules.brier_penalty(p.shape[-1]) * _beaten(p, xp)


def published_log_loss(p: Array, xp: Any) -> Array:
    """Give `rules.published_log_loss` of each class, had it happened, by the probabilities of all."""
    clipped = xp.clip(p / xp.sum(p, axis=-1, keepdims=True), rules.KERAS_EPSILON, 1 - rules.KERAS_EPSILON)
    return rules.log_penalty(p.shape[-1]) * _beaten(p, xp) - xp.log(clipped)


def _beaten(p: Array, xp: Any) -> Array:
    """Say whether another class has a larger probability: 1 or 0, and 0 for ties."""
    return xp.where(p < xp.max(p, axis=-1, keepdims=True), xp.ones_like(p), xp.zeros_like(p))
