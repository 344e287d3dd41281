"""Bounds of figures of next tokens where only the most probable tokens have a probability."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from .._lib.dataclasses import Frozen
from .._lib.errors import InputError, check_whole, rows_text
from .._lib.typing import Floats, Ints
from ..statistics.intervals import Interval
from ..statistics.means import DECISIVE, GEOMETRIC, ROBUST, mean_of_points

_ROUNDING = 1e-3
"""By how much probabilities, which servers round, may sum to more than 1."""


class TokenBounds(Frozen):
    """Bounds that contain figures of next tokens, whatever the probabilities outside the most probable tokens.

    They are no confidence intervals. Made by `top_k_bounds`.
    """

    n_tokens: int
    unknown: int
    """Number of observed tokens without a probability."""
    outside: float
    """Mean probability of all tokens but the most probable ones."""
    geometric_accuracy: Interval
    """Larger is better."""
    log_loss: Interval
    """In nats. Smaller is better."""
    decisiveness: Interval
    """Larger is better."""
    robustness: Interval
    """Larger is better."""
    brier_score: Interval
    """Mean over tokens of the squared errors of all tokens of the vocabulary, from 0 to 2. Smaller is better."""
    entropy: Interval
    """Mean entropy of the distributions in nats; its upper bound is infinite without the size of the vocabulary."""
    top_accuracy: float
    """Share of places at which the most probable token was observed. Larger is better."""
    top_probability: float
    """Mean probability of the most probable token: calibrated forecasts have the same as ``top_accuracy``."""


def top_k_bounds(
    top_log_probs: ArrayLike,
    observed: ArrayLike,
    observed_log_probs: ArrayLike | None = None,
    *,
    vocabulary: int | None = None,
) -> TokenBounds:
    """Bound figures of next tokens from the log-probabilities of the most probable ones.

    Parameters
    ----------
    top_log_probs : array_like of shape (n, k)
        Natural logarithms of the probabilities of the k most probable tokens at each place, in any order; NaN where
        there are fewer.
    observed : array_like of shape (n,)
        Column of the observed token, -1 where it is none of them.
    observed_log_probs : array_like of shape (n,), optional
        Log-probability of the observed token, NaN where unknown, for those that are none of the k.
    vocabulary : int, optional
        Number of tokens of the vocabulary: bounds are narrower with it.

    Returns
    -------
    TokenBounds

    Raises
    ------
    InputError
        For shapes that do not fit, columns that are none, log-probabilities above 0, and probabilities that sum to more
        than 1.

    Notes
    -----
    Outside the k tokens each probability is at most the least of the k, and together they are what is left of 1. An
    observed token among them has from nothing up to that least, or all of what is left. The sum of squares and the
    entropy lie between those of what is left spread over the vocabulary and concentrated on as few tokens as possible.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.language_models import top_k_bounds
    >>> found = top_k_bounds(np.log([[0.6, 0.3], [0.5, 0.1]]), [1, -1])
    >>> [round(each, 3) for each in (*found.geometric_accuracy, *found.decisiveness)]
    [0.0, 0.173, 0.15, 0.2]
    """
    p, at, own = _checked(top_log_probs, observed, observed_log_probs)
    known = ~np.isnan(own)
    outside_known = known & (at < 0)
    left = np.clip(1 - p.sum(axis=1) - np.where(outside_known, own, 0.0), 0.0, None)
    least = np.where(p > 0, p, np.inf).min(axis=1)
    n_outside = None
    if vocabulary is not None:
        kept = (p > 0).sum(axis=1) + outside_known
        n_outside = check_whole("vocabulary", vocabulary) - kept
        if (n_outside < 0).any():
            raise InputError(f"vocabulary: {vocabulary} tokens are fewer than the {int(kept.max())} of a row.")
    # What is left is known up to the rounding of a sum of k probabilities; an upper bound counts it in.
    rounding = 4 * (p.shape[1] + 1) * np.finfo(np.float64).eps
    low, high = np.where(known, own, 0.0), np.where(known, own, np.minimum(left + rounding, least))
    squares = (p * p).sum(axis=1) + np.where(outside_known, own * own, 0.0)
    entropy = entr(p).sum(axis=1) + np.where(outside_known, entr(own), 0.0)
    # The observed token takes as much as it may, and the rest is spread: the lower bound of the Brier score.
    rest = np.maximum(left - np.where(known, 0.0, high), 0.0)
    spread = np.zeros_like(rest) if n_outside is None else rest**2 / np.maximum(n_outside - ~known, 1)
    brier_low = 1 - 2 * high + squares + np.where(known, 0.0, high * high) + spread
    brier_high = 1 - 2 * low + squares + _concentrated(left, least, np.square)
    top = p.max(axis=1)
    return TokenBounds(
        p.shape[0],
        int((~known).sum()),
        float(np.mean(1 - np.minimum(p.sum(axis=1), 1))),
        _bounded(low, high, GEOMETRIC),
        Interval(_log_loss(high), _log_loss(low)),
        _bounded(low, high, DECISIVE),
        _bounded(low, high, ROBUST),
        Interval(float(np.clip(brier_low, 0, 2).mean()), float(np.clip(brier_high, 0, 2).mean())),
        Interval(
            float((entropy + _concentrated(left, least, entr)).mean()),
            float((entropy + _entropy_spread(left, n_outside)).mean()),
        ),
        float(((at >= 0) & (np.take_along_axis(p, np.maximum(at, 0)[:, None], 1)[:, 0] == top)).mean()),
        float(top.mean()),
    )


def _checked(top: Any, observed: Any, observed_log_probs: Any) -> tuple[Floats, Ints, Floats]:
    """Return probabilities of the top tokens, 0 for none, the observed column, and the observed probability or NaN."""
    x, at = np.asarray(top, dtype=np.float64), np.asarray(observed)
    if x.ndim != 2 or not x.size or at.shape != x.shape[:1] or at.dtype.kind not in "iu":
        raise InputError(
            f"top_log_probs, observed: expected shapes (n, k) and (n,), whole numbers, got {x.shape} and {at.shape}."
        )
    p = np.exp(np.where(np.isnan(x), -np.inf, x))
    bad = np.flatnonzero((at < -1) | (at >= x.shape[1]))
    if bad.size:
        raise InputError(f"observed: not a column from 0 to {x.shape[1] - 1}, or -1, in {rows_text(bad)}.")
    own = np.where(at >= 0, np.take_along_axis(p, np.maximum(at, 0)[:, None], 1)[:, 0], np.nan)
    if observed_log_probs is not None:
        given = np.asarray(observed_log_probs, dtype=np.float64)
        if given.shape != at.shape:
            raise InputError(f"observed_log_probs: expected shape {at.shape}, got {given.shape}.")
        own = np.where(at >= 0, own, np.exp(given))
    total = p.sum(axis=1) + np.where((at < 0) & ~np.isnan(own), own, 0.0)
    bad = np.flatnonzero((total > 1 + _ROUNDING) | ~(p > 0).any(axis=1))
    if bad.size:
        raise InputError(
            f"top_log_probs: probabilities that sum to more than 1, or none, in {rows_text(bad)}, for example"
            f" {total[bad[0]]:g}. Expected natural logarithms of the model's probabilities."
        )
    return p, at.astype(np.int64), own


def _log_loss(p: Floats) -> float:
    with np.errstate(divide="ignore"):
        return float(-np.log(np.minimum(p, 1.0)).mean()) + 0.0


def _bounded(low: Floats, high: Floats, order: float) -> Interval:
    w = np.ones(low.size)
    return Interval(*(mean_of_points(np.minimum(each, 1.0), w, order) for each in (low, high)))


def _entropy_spread(left: Floats, n: Ints | None) -> Floats:
    if n is None:
        return np.where(left > 0, np.inf, 0.0)
    return np.asarray(entr(left) + left * np.log(np.maximum(n, 1)))


def _concentrated(left: Floats, least: Floats, of: Callable[[Floats], Floats]) -> Floats:
    """Sum of a function over as few tokens as possible: some that have the most that one may have, and the rest."""
    whole = np.floor(left / least)
    return np.asarray(whole * of(least) + of(np.clip(left - whole * least, 0.0, least)))
