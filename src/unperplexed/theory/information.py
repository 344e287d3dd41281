"""Entropy, divergence and cross-entropy on four scales, escort distributions and averages of probabilities.

All measures are one generalized mean along an axis, `log_mean`, on different scales.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._lib.arrays import plain
from .._lib.errors import check_choice
from .._lib.typing import Floats
from ..statistics.means import checked_points, order_from_coupling, weighted_sum
from .coupled import expm1_ratio
from .log_mean import (
    SCALES,
    Scale,
    checked_order,
    distribution_pair,
    distributions,
    finite_order,
    log_mean,
    log_or_minus_inf,
    on_scale,
    renyi_nats,
)


def entropy(p: ArrayLike, *, order: float = 0.0, scale: Scale = "nats", axis: int = -1) -> float | Floats:
    """Entropy of a distribution, or the average of its probabilities that it is the logarithm of.

    The probability scale has the mean of the probabilities, each weighted by itself: ``prod p^p`` at order 0, from 1/C
    for a uniform distribution to 1 for a certain outcome. Maximum entropy is minimum mean; at orders above -1, both
    are those of the uniform distribution.

    Parameters
    ----------
    p : array_like
        Probabilities that sum to 1 along ``axis``.
    order : float, default 0
        Order of the mean, from -inf to inf; it grows with the order, and the entropy falls. **Not** the r of `escort`
        and `renyi_entropy`, whose sign is the opposite one.
    scale : {"nats", "bits", "perplexity", "probability"}, default "nats"
        Scale of the average probability P: -ln P, -log2 P, 1/P or P.
    axis : int, default -1
        The axis of the outcomes.

    Returns
    -------
    float or ndarray
        A float for one distribution, else an array of p's shape without ``axis``.

    Raises
    ------
    InputError
        For NaN, a probability outside [0, 1], a sum off 1 by more than 1e-6, an axis that is not there, an
        order that is NaN or another scale.

    Notes
    -----
    ``P = (sum p p^order)^(1/order)``, at order 0 ``prod p^p`` ([RP] eq. 2.1 and Table 1). The entropy at another order
    is Renyi's of order 1 + order: collision entropy at 1, Hartley's at -1, min-entropy at inf.

    Outcomes of probability 0 count for nothing. What is left of rounding in the sums is divided out, here and in all
    functions of distributions.

    Examples
    --------
    >>> from unperplexed.theory import entropy
    >>> p = [0.5, 0.25, 0.25]
    >>> [round(entropy(p, scale=scale), 6) for scale in ("nats", "bits", "perplexity", "probability")]
    [1.039721, 1.5, 2.828427, 0.353553]
    >>> round(entropy(p, order=1, scale="probability"), 6)
    0.375
    """
    check_choice("scale", scale, SCALES)
    weights = distributions(p, "p", axis)
    return on_scale(log_mean(weights, log_or_minus_inf(weights), checked_order(order, "order")), scale)


def divergence(
    p: ArrayLike, q: ArrayLike, *, order: float = 0.0, scale: Scale = "nats", axis: int = -1
) -> float | Floats:
    """Divergence of q from p, or the average probability ratio that it is the logarithm of. Smaller is closer.

    The probability scale, where *larger* is closer, has the mean of q/p weighted by p: ``prod (q/p)^p`` at order 0. It
    is the factor by which a forecast q of outcomes from p falls short of the forecast p.

    Parameters
    ----------
    p : array_like
        Source probabilities, which are the weights; they sum to 1 along ``axis``.
    q : array_like
        Reported probabilities, likewise. The other axes broadcast.
    order : float, default 0
        Order of the mean, below 1 for a divergence (see Notes).
    scale, axis
        As in `entropy`.

    Returns
    -------
    float or ndarray
        At orders below 1, in nats: 0 if p and q are equal, else positive. At orders up to 0 it is inf (probability 0)
        where q is 0 and p is not.

    Raises
    ------
    InputError
        As `entropy`; for p and q with different numbers of outcomes.

    Notes
    -----
    ``P = (sum p (q/p)^order)^(1/order)`` over p > 0, at order 0 ``prod (q/p)^p``, the divergence being that of Kullback
    and Leibler ([RP] eq. 2.5 and Table 1). At other orders it is Renyi's of order 1 - order: -2 ln of the Bhattacharyya
    coefficient at 1/2, ln(1 + chi squared) at -1. At order 1 only the mass counts that q has where p is 0, and above
    the sign turns: Renyi's divergence of negative order.

    The rounding error is about 1e-16 nats, and more where ln(q/p) is large; a divergence no larger than that means
    nothing.

    Examples
    --------
    >>> from unperplexed.theory import divergence
    >>> p, q = [0.7, 0.3], [0.5, 0.5]
    >>> [round(divergence(p, q, scale=scale), 6) for scale in ("nats", "bits", "perplexity", "probability")]
    [0.082283, 0.118709, 1.085763, 0.921011]
    >>> divergence(p, [1, 0]), divergence(p, p)
    (inf, 0.0)
    """
    check_choice("scale", scale, SCALES)
    order = checked_order(order, "order")
    weights, values = distribution_pair(p, q, axis)
    with np.errstate(invalid="ignore"):  # both 0: outcomes without weight
        mean = log_mean(weights, log_or_minus_inf(values) - log_or_minus_inf(weights), order)
    # By Jensen's inequality the mean ratio is at most 1 at orders up to 1; what exceeds it is rounding.
    return on_scale(np.minimum(mean, 0.0) if order <= 1 else mean, scale)


def cross_entropy(
    p: ArrayLike, q: ArrayLike, *, order: float = 0.0, scale: Scale = "nats", axis: int = -1
) -> float | Floats:
    """Cross-entropy of forecasts q when outcomes come from p, or their average probability. Smaller is better.

    The probability scale, where *larger* is better, has the mean of q weighted by p: ``prod q^p`` at order 0. It is
    what the risk profile of the forecast q has at that order after very many outcomes.

    Parameters
    ----------
    p : array_like
        Source probabilities, which are the weights; they sum to 1 along ``axis``.
    q : array_like
        Reported probabilities, likewise. The other axes broadcast.
    order : float, default 0
        Order of the mean. Only order 0 is a proper score: there, no q is better than q = p.
    scale, axis
        As in `entropy`.

    Returns
    -------
    float or ndarray
        At orders up to 0 it is inf (probability 0) where q is 0 and p is not.

    Raises
    ------
    InputError
        As `entropy`; for p and q with different numbers of outcomes.

    Notes
    -----
    ``P = (sum p q^order)^(1/order)``, at order 0 ``prod q^p``. At order 0 alone it is the product of the probabilities
    of `entropy` and `divergence`, and the nats add up ([RP] eq. 2.5).

    Examples
    --------
    >>> from unperplexed.statistics import generalized_mean
    >>> from unperplexed.theory import cross_entropy
    >>> p, q = [0.7, 0.3], [0.5, 0.5]
    >>> [round(cross_entropy(p, q, scale=scale), 6) for scale in ("nats", "bits", "perplexity", "probability")]
    [0.693147, 1.0, 2.0, 0.5]
    >>> round(cross_entropy(p, [0.6, 0.4], order=-2 / 3, scale="probability"), 6)
    0.524994
    >>> outcomes = [0.6] * 7 + [0.4] * 3
    >>> round(generalized_mean(outcomes, -2 / 3), 6)
    0.524994
    """
    check_choice("scale", scale, SCALES)
    weights, values = distribution_pair(p, q, axis)
    return on_scale(log_mean(weights, log_or_minus_inf(values), checked_order(order, "order")), scale)


def total_probability(p: ArrayLike, *, sample_weight: ArrayLike | None = None, log: bool = False) -> float:
    """Probability of all of several independent events together: their product. Larger is better.

    For the probabilities of the observed classes, it is the likelihood of the forecaster. Its N-th root, the average
    probability, is their geometric mean.

    Parameters
    ----------
    p : array_like of shape (n,)
        Probabilities of the events; they need not sum to 1.
    sample_weight : array_like of shape (n,), optional
        How often each event counts: N is their sum.
    log : bool, default False
        Whether to return the logarithm, which does not underflow.

    Returns
    -------
    float
        In [0, 1], or its natural logarithm; 0 or -inf when an event that counts was impossible.

    Raises
    ------
    InputError
        As `generalized_mean`.

    Notes
    -----
    ``prod p^w``: [N17] Theorem 1.

    Examples
    --------
    >>> from unperplexed.statistics import generalized_mean
    >>> from unperplexed.theory import total_probability
    >>> p = [0.9, 0.8, 0.3]
    >>> round(total_probability(p), 6), round(total_probability(p) ** (1 / 3), 6), round(generalized_mean(p, 0), 6)
    (0.216, 0.6, 0.6)
    >>> round(total_probability([0.5] * 10_000, log=True), 3)
    -6931.472
    """
    values, weights = checked_points(p, sample_weight)
    total = weighted_sum(weights, log_or_minus_inf(values))
    return total if log else float(np.exp(total))


def escort(p: ArrayLike, r: float, *, axis: int = -1) -> Floats:
    """Escort distribution ``p^(1-r)/sum p^(1-r)``: p at r = 0, flatter above it, uniform at 1, reversed beyond.

    **The sign of r.** Weighting by the escort turns the order of a mean round: the mean of order r of the
    probabilities, weighted by their escort, is the mean of order **-r** weighted by p itself.

    Parameters
    ----------
    p : array_like
        Probabilities that sum to 1 along ``axis``.
    r : float
        Order, finite. Below 0, probable outcomes gain.
    axis : int, default -1
        The axis of the outcomes.

    Returns
    -------
    ndarray
        Array of p's shape; outcomes of probability 0 keep it.

    Raises
    ------
    InputError
        As `entropy`; for an order that is not finite.

    Notes
    -----
    [RP] eqs. 2.7, 2.8 and A.1, with 1 - r = q of Tsallis.

    Examples
    --------
    >>> from unperplexed.statistics import generalized_mean
    >>> from unperplexed.theory import escort
    >>> p = [0.8, 0.2]
    >>> escort(p, 0.5).round(6), escort(p, 2).round(6)
    (array([0.666667, 0.333333]), array([0.2, 0.8]))
    >>> by_escort, by_p = generalized_mean(p, 0.5, escort(p, 0.5)), generalized_mean(p, -0.5, p)
    >>> round(by_escort, 6), round(by_p, 6)
    (0.555556, 0.555556)
    """
    r = finite_order(r)
    weights = distributions(p, "p", axis)
    possible = weights > 0
    highest = weights.max(axis=-1, keepdims=True)
    lowest = weights.min(axis=-1, keepdims=True, where=possible, initial=1.0)
    # Ratios of at most 1 to the outcome that counts most: a positive power of them cannot overflow.
    with np.errstate(divide="ignore", over="ignore"):
        powers = (weights / highest if r < 1 else lowest / weights) ** abs(1 - r)
    powers = np.where(possible, powers, 0.0)
    return np.moveaxis(powers / powers.sum(axis=-1, keepdims=True), -1, axis)


def average_probability(p: ArrayLike, r: float = 0.0, *, axis: int = -1) -> float | Floats:
    """Average probability ``(sum p^(1-r))^(-1/r)`` of a distribution: what all generalized entropies map back to.

    **The sign of r** is that of the generalized entropies: this is the generalized mean of order **-r**, weighted by p,
    which is also the mean of order r weighted by the `escort`. It falls as r grows.

    Parameters
    ----------
    p : array_like
        Probabilities that sum to 1 along ``axis``.
    r : float, default 0
        Order, from -inf (the highest probability) to inf (the lowest positive one). At 1 it is one over the number
        of possible outcomes, at 0 the geometric mean ``prod p^p``.
    axis : int, default -1
        The axis of the outcomes.

    Returns
    -------
    float or ndarray
        A float for one distribution, else an array of p's shape without ``axis``.

    Raises
    ------
    InputError
        As `entropy`.

    Notes
    -----
    [RP] eqs. 2.8 and A.6. One over it is the Hill number of order 1 - r, the effective number of outcomes. It is
    ``entropy(p, order=-r, scale="probability")``.

    Examples
    --------
    >>> from unperplexed.theory import average_probability
    >>> p = [0.5, 0.25, 0.25, 0]
    >>> [round(average_probability(p, r), 6) for r in (-1, 0, 1)]
    [0.375, 0.353553, 0.333333]
    """
    return on_scale(-renyi_nats(p, r, axis), "probability")


EntropyScale = Literal["entropy", "perplexity", "probability"]


def renyi_entropy(p: ArrayLike, r: float, *, scale: EntropyScale = "entropy", axis: int = -1) -> float | Floats:
    """Renyi entropy ``ln(sum p^(1-r))/r``, minus the logarithm of the average probability; Shannon's at r = 0.

    **The sign of r** is the opposite of the order of the mean it is the logarithm of: see `average_probability`.
    It grows with r.

    Parameters
    ----------
    p : array_like
        Probabilities that sum to 1 along ``axis``.
    r : float
        Order, from -inf to inf; in the usual notation, alpha or q is 1 - r.
    scale : {"entropy", "perplexity", "probability"}, default "entropy"
        The entropy, or what it maps back to by its own inverse, here exp: the average probability
        ``(sum p^(1-r))^(-1/r)``, or one over it. These two are the same for all generalized entropies.
    axis : int, default -1
        The axis of the outcomes.

    Returns
    -------
    float or ndarray
        From 0 for a certain outcome; for r < 1 to ln C for a uniform distribution, which has the most.

    Raises
    ------
    InputError
        As `entropy`.

    Notes
    -----
    Renyi (1961). It is the only one of the family that is additive for independent systems at every order.

    Examples
    --------
    >>> from unperplexed.theory import renyi_entropy
    >>> p = [0.5, 0.25, 0.25]
    >>> [round(renyi_entropy(p, r), 6) for r in (-1, 0, 1)]
    [0.980829, 1.039721, 1.098612]
    """
    return _generalized(p, r, scale, axis, lambda nats: nats)


def tsallis_entropy(p: ArrayLike, r: float, *, scale: EntropyScale = "entropy", axis: int = -1) -> float | Floats:
    """Tsallis entropy ``(sum p^(1-r) - 1)/r`` with q = 1 - r; Shannon's at r = 0.

    **The sign of r** is the opposite of the order of the mean it maps back to: see `average_probability`.

    Parameters
    ----------
    p : array_like
        Probabilities that sum to 1 along ``axis``.
    r : float
        Order, finite.
    scale : {"entropy", "perplexity", "probability"}, default "entropy"
        As in `renyi_entropy`. The inverse is ``(1 + r*H)^(-1/r)``.
    axis : int, default -1
        The axis of the outcomes.

    Returns
    -------
    float or ndarray
        From 0 for a certain outcome; for r < 1 to (C^r - 1)/r for a uniform distribution, which has the most.

    Raises
    ------
    InputError
        As `entropy`; for an order that is not finite.

    Notes
    -----
    Tsallis (1988). For independent systems ``H(A, B) = H(A) + H(B) + r H(A) H(B)``. At r = -1 it is the Gini-Simpson
    index, the expected Brier score of a forecaster who reports p.

    Examples
    --------
    >>> from unperplexed.theory import tsallis_entropy
    >>> p = [0.5, 0.25, 0.25]
    >>> [round(tsallis_entropy(p, r), 6) for r in (-1, 0, 1)]
    [0.625, 1.039721, 2.0]
    """
    r = finite_order(r)
    return _generalized(p, r, scale, axis, lambda nats: expm1_ratio(r, nats))


def normalized_tsallis_entropy(
    p: ArrayLike, r: float, *, scale: EntropyScale = "entropy", axis: int = -1
) -> float | Floats:
    """Tsallis entropy divided by ``sum p^(1-r)``: ``(1 - 1/sum p^(1-r))/r``; Shannon's at r = 0.

    **The sign of r** is the opposite of the order of the mean it maps back to: see `average_probability`.

    Parameters
    ----------
    p : array_like
        Probabilities that sum to 1 along ``axis``.
    r : float
        Order, finite.
    scale : {"entropy", "perplexity", "probability"}, default "entropy"
        As in `renyi_entropy`. The inverse is ``(1 - r*H)^(1/r)``.
    axis : int, default -1
        The axis of the outcomes.

    Returns
    -------
    float or ndarray
        From 0 for a certain outcome; for r < 1 to (1 - C^-r)/r for a uniform distribution, which has the most.

    Raises
    ------
    InputError
        As `entropy`; for an order that is not finite.

    Notes
    -----
    Landsberg and Vedral (1998), Rajagopal and Abe (1999). For independent systems
    ``H(A, B) = H(A) + H(B) - r H(A) H(B)``.

    Examples
    --------
    >>> from unperplexed.theory import normalized_tsallis_entropy
    >>> p = [0.5, 0.25, 0.25]
    >>> [round(normalized_tsallis_entropy(p, r), 6) for r in (-1, 0, 1)]
    [1.666667, 1.039721, 0.666667]
    """
    r = finite_order(r)
    return _generalized(p, r, scale, axis, lambda nats: expm1_ratio(-r, nats))


def coupled_entropy(
    p: ArrayLike, coupling: float, d: int = 1, alpha: float = 2.0, *, scale: EntropyScale = "entropy", axis: int = -1
) -> float | Floats:
    """Coupled entropy ``(1/sum p^(1-r) - 1)/kappa`` with r = -alpha*kappa/(1 + d*kappa); alpha times Shannon's at 0.

    **The sign of r** is the opposite of the order of the mean it maps back to: positive coupling has negative r, and
    so a mean of positive order; see `average_probability`.

    Parameters
    ----------
    p : array_like
        Probabilities that sum to 1 along ``axis``.
    coupling : float
        Coupling kappa, finite and above -1/d.
    d : int, default 1
        Dimension.
    alpha : float, default 2
        2 for the Gaussian family, 1 for the exponential.
    scale : {"entropy", "perplexity", "probability"}, default "entropy"
        As in `renyi_entropy`. The inverse is ``coupled_exp(H, kappa, d)^(-1/alpha)``.
    axis : int, default -1
        The axis of the outcomes.

    Returns
    -------
    float or ndarray
        From 0 for a certain outcome; for r < 1, that is kappa > -1/(alpha + d), to ``coupled_log(C^alpha, kappa, d)``
        for a uniform distribution, which has the most.

    Raises
    ------
    InputError
        As `entropy`; for a coupling at or below -1/d, d below 1 or alpha not positive.

    Notes
    -----
    The mean of ``coupled_log(p^-alpha, kappa, d)`` weighted by the escort of order r ([RP] appendix). For independent
    systems ``H(A, B) = H(A) + H(B) + kappa H(A) H(B)`` ([RP] eq. A.2).

    Examples
    --------
    >>> from unperplexed.theory import coupled_entropy, entropy
    >>> p = [0.5, 0.25, 0.25]
    >>> [round(coupled_entropy(p, kappa), 6) for kappa in (-1 / 3, 0, 1)]
    [2.0, 2.079442, 1.666667]
    >>> round(2 * entropy(p), 6)
    2.079442
    """
    r = order_from_coupling(coupling, d=d, alpha=alpha)
    share = alpha / (1 + d * coupling)
    return _generalized(p, r, scale, axis, lambda nats: expm1_ratio(coupling, share * nats))


def _generalized(p: ArrayLike, r: float, scale: str, axis: int, deform: Callable[[Floats], Floats]) -> float | Floats:
    """Deform Renyi's entropy into another; on the scales of its own inverse all are the same."""
    check_choice("scale", scale, ("entropy", "perplexity", "probability"))
    nats = renyi_nats(p, r, axis)
    if scale != "entropy":
        return on_scale(-nats, scale)
    return plain(deform(nats))
