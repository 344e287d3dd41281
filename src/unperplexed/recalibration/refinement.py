"""Refinement loss: the log loss after the best temperature, by which to stop training and to choose models."""

from __future__ import annotations

import math
from typing import Any, Literal, Unpack

import numpy as np
from scipy.special import logsumexp

from .._lib.errors import InputError
from .._lib.typing import Floats, Ints
from ..forecasts.gathered import LOG_PROBABILITIES, gathered
from ..forecasts.reading import RowReading, reads
from ..maps.fit import Prior, fitted
from ..maps.rows import Rows, chunks_of
from ..maps.two import zero_of
from .folds import held_out

LARGEST_POWER = 100.0
"""Largest power of the probabilities, 1 / temperature. Where the outcomes are separated it would be infinite."""

POWERS: Floats = np.exp(np.linspace(-3.0, 3.0, 41))
"""Powers at which the log loss is added up where rows are seen once, and a spline joins them."""
POWERS.setflags(write=False)

GRID_FLOOR = 1e-8
"""Divided by the number of classes, what 0 counts as where the number of rows is not known."""


@reads(RowReading)
def refinement_loss(
    y_true: Any,
    y_prob: Any,
    *,
    folds: int | None = None,
    seed: int = 0,
    floor: float | Literal["auto"] = "auto",
    **reading: Unpack[RowReading],
) -> float:
    """Log loss after the best temperature, in nats (refinement after recalibration). Smaller is better.

    The log loss of a model is refinement plus miscalibration. Temperature
    scaling mends most of the second after training, so that the first is the
    better score to stop training by and to choose models by.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: class labels or one-hot rows.
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities of the positive class, or of each class.
    folds : int, optional
        Fit each row's temperature on the other of so many folds. By default one
        temperature is fitted on the rows themselves, which makes the loss too
        small by about 1 / (2n).
    seed : int, default 0
        Random seed of the folds.
    floor : float or "auto", default "auto"
        What a probability of exactly 0 counts as, so that logarithms stay
        finite; "auto" is 0.01 / (C n), or the smallest other probability if
        that is smaller.
    **reading
        How rows are read, as in `Forecasts`: ``sample_weight``, ``labels``,
        ``scale`` ..., and ``clusters``, the clusters that share a fold.

    Returns
    -------
    float
        At most ln C, the log loss of a uniform forecast, if one temperature is
        fitted to all rows.

    Raises
    ------
    InputError
        As `Forecasts`; for fewer rows, or clusters, than folds.

    Notes
    -----
    The least of ``mean(-ln q_y)`` with ``q_c ~ p_c^(1/T)`` over T > 0 (Berta,
    Holzmueller, Jordan and Bach 2025). It is convex in 1/T, which is bounded by
    100.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed import refinement_loss
    >>> from unperplexed.scores import log_loss
    >>> rng = np.random.default_rng(0)
    >>> log_odds = rng.normal(0, 2, 5000)
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-log_odds))
    >>> overconfident = 1 / (1 + np.exp(-3 * log_odds))
    >>> round(log_loss(y, overconfident), 3), round(refinement_loss(y, overconfident), 3)
    (0.676, 0.458)
    """
    rows = gathered({"y_prob": y_prob}, y_true, reading, of=LOG_PROBABILITIES)
    log_p, w = _finite_logarithms(np.asarray(rows.values["y_prob"], dtype=np.float64), floor), rows.weights
    if folds is None:
        losses = row_losses(log_p, rows.truth, best_power(log_p, rows.truth, w))
    else:
        losses = np.empty(rows.n_rows)
        for out in held_out(rows, folds, seed):
            power = best_power(log_p[~out], rows.truth[~out], w[~out])
            losses[out] = row_losses(log_p[out], rows.truth[out], power)
    return float(w @ losses / w.sum())


def _finite_logarithms(log_p: Floats, floor: float | Literal["auto"]) -> Floats:
    """Log-probabilities, where zeros count as the floor."""
    n, classes = log_p.shape
    if isinstance(floor, str) and floor == "auto":
        zero = zero_of(log_p, classes, n)
    elif isinstance(floor, int | float | np.number) and 0 < floor < 1 / classes:
        zero = float(floor)
    else:
        raise InputError(f"floor: expected 'auto', or a probability above 0 and below 1 / C, got {floor!r}.")
    return np.where(np.isneginf(log_p), math.log(zero), log_p)


def row_losses(log_p: Floats, truth: Ints, power: float) -> Floats:
    """Log loss of each row with its probabilities raised to a power and renormalized."""
    log_q = power * log_p
    return np.asarray(logsumexp(log_q, axis=1) - log_q[np.arange(truth.size), truth])


def best_power(log_p: Floats, truth: Ints, weights: Floats) -> float:
    """Return the power, 1 / temperature, from 0 to the largest, with the smallest log loss."""
    rows = Rows(chunks_of(log_p, truth, weights), log_p.shape[1], ("slope",))
    # The log loss is convex in the power: beyond a limit the best is at the limit.
    return min(max(0.0, 1 + float(fitted(rows, Prior({"slope": math.inf})).theta[0])), LARGEST_POWER)


def least_of_grid(losses: Floats) -> float:
    """Return the least of mean log losses that were added up at `POWERS`, by a cubic spline through them."""
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(np.log(POWERS), losses)
    turns = spline.derivative().roots(extrapolate=False)
    return float(min(*losses[[0, -1]], *spline(turns[np.isfinite(turns)])))
