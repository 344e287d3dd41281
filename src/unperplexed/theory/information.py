"""Entropy, divergence and cross-entropy on four scales, escort distributions and averages of probabilities.

All measures are one generalized mean along an axis, `log_mean`, on different scales.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._lib.arrays import check_indexes, floats, one_number, plain
from .._lib.errors import InputError, check_choice, place_text
from .._lib.typing import Floats
from ..statistics.means import checked_points, order_from_coupling, weighted_sum
from .coupled import expm1_ratio, log1p_ratio


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


Scale = Literal["nats", "bits", "perplexity", "probability"]


SUM_TOLERANCE = 1e-6
"""How far from 1 a distribution may sum: float32 rounds to less, and a table of three digits does not slip through."""


SCALES: Mapping[str, Callable[[Floats], Floats]] = {
    "nats": lambda nats: nats,
    "bits": lambda nats: nats / np.log(2),
    "perplexity": np.exp,
    "probability": lambda nats: np.exp(-nats),
}


def on_scale(log_mean: Floats, scale: str) -> float | Floats:
    """Put the logarithm of a mean on a scale."""
    with np.errstate(over="ignore"):
        return plain(SCALES[scale](0.0 - log_mean))  # no negative zero


def log_or_minus_inf(p: Floats) -> Floats:
    """Return logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def log_mean(weights: Floats, x: Floats, r: float) -> Floats:
    """Logarithm of the generalized mean of exp(x) along the last axis: the numerical heart of the module.

    `means.mean_of_points` gives the mean itself, but entropies are its logarithm, and that of a mean near 1 has no
    digits left. The weights may be 0, whatever x is there; x may be -inf.
    """
    kept = (weights > 0) & (x > -np.inf)
    w = np.where(kept, weights, 0.0)
    total = w.sum(axis=-1)
    lost = np.where(kept, 0.0, weights).sum(axis=-1)  # on values of 0
    highest = x.max(axis=-1, where=kept, initial=-np.inf)
    lowest = x.min(axis=-1, where=kept, initial=np.inf)
    with np.errstate(all="ignore"):
        x = np.where(kept, x, lowest[..., None])  # without weight, but finite
        end = highest if r > 0 else lowest
        result = end if np.isinf(r) else _centred(w, x, r, lowest, highest, total)
        # Zeros add nothing to sum w exp(r x) but stay in the total weight: M_r = share^(1/r) * M_r of the rest.
        diluted = -np.inf if r <= 0 else result - np.log1p(lost / total) / r
    return np.asarray(np.where(total == 0, -np.inf, np.where(lost > 0, diluted, result)))


_NEXT_TO_0 = 1e-6
"""Orders at which the mean of logarithms is near enough to begin with."""


def _centred(w: Floats, x: Floats, r: float, lowest: Floats, highest: Floats, total: Floats) -> Floats:
    """Logarithm of the generalized mean, of finite order: a rough one, then what is left from there."""
    if abs(r) < _NEXT_TO_0:
        centre = (w * x).sum(axis=-1) / total
    else:
        largest = highest if r > 0 else lowest  # taken out, so that nothing overflows
        centre = largest + np.log((w * np.exp(r * (x - largest[..., None]))).sum(axis=-1) / total) / r
    if abs(r) > 1:
        return np.asarray(centre)  # its rounding errors are divided by r; below, they would be multiplied
    # From the centre the sums below nearly cancel, so that their rounding errors are relative to the small spread
    # instead of to x or, near r = 0, to 1/r.
    x = x - centre[..., None]
    bent = expm1_ratio(r, x)
    # Where the power overflows its weight is subnormal, and their product is neither.
    terms = np.where(np.isinf(bent), np.exp(np.log(w) + r * x) / r, w * bent)
    return np.asarray(centre + log1p_ratio(r, terms.sum(axis=-1) / total))


def distributions(p: ArrayLike, name: str, axis: int) -> Floats:
    """Read distributions, their outcomes as last axis, and divide out what rounding leaves their sums off 1."""
    array = floats(p, name)
    if array.ndim == 0:
        raise InputError(f"{name}: expected an array of probabilities, got {p!r}.")
    bad = ~((array >= 0) & (array <= 1))
    if bad.any():
        first = tuple(np.argwhere(bad)[0].tolist())
        raise InputError(f"{name}: not a probability in [0, 1]{place_text(first)}: {array[first]:g}.")
    try:
        array = np.moveaxis(array, axis, -1)
    except (TypeError, ValueError):
        raise InputError(f"axis: {name} of shape {array.shape} has no axis {axis!r}.") from None
    total = array.sum(axis=-1, keepdims=True)
    bad = np.abs(total - 1) > SUM_TOLERANCE
    if bad.any():
        row, found = tuple(np.argwhere(bad)[0, :-1].tolist()), total[bad][0]
        raise InputError(
            f"{name}: the probabilities{place_text(row, 'row')} sum to {found:.9g}, not 1. Add the"
            " outcome that is missing, or divide by the sum."
        )
    return np.asarray(array / total)


def distribution_pair(p: ArrayLike, q: ArrayLike, axis: int) -> tuple[Floats, Floats]:
    """Read two distributions, or rows of them, over the same outcomes."""
    check_indexes(p=p, q=q)
    weights, values = distributions(p, "p", axis), distributions(q, "q", axis)
    if weights.shape[-1] != values.shape[-1]:
        raise InputError(
            f"p and q: expected the same outcomes, got {weights.shape[-1]} and {values.shape[-1]} probabilities."
        )
    try:
        weights, values = np.broadcast_arrays(weights, values)
    except ValueError:
        raise InputError(f"p and q: shapes {weights.shape} and {values.shape} do not broadcast.") from None
    return weights, values


def checked_order(r: Any, name: str) -> float:
    """Refuse what is not a number as order."""
    order = one_number(r)
    if np.isnan(order):
        raise InputError(f"{name}: the order must be one number, got {r!r}.")
    return order


def finite_order(r: Any) -> float:
    """Refuse what is not a finite number as order."""
    order = checked_order(r, "r")
    if np.isinf(order):
        raise InputError(f"r: the order must be finite, got {r!r}.")
    return order


def renyi_nats(p: ArrayLike, r: float, axis: int) -> Floats:
    """Renyi's entropy of distributions, in nats."""
    weights = distributions(p, "p", axis)
    return 0.0 - log_mean(weights, log_or_minus_inf(weights), -checked_order(r, "r"))
