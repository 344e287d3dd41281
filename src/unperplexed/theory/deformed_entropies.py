"""Renyi, Tsallis and coupled entropies: one entropy, deformed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from numpy.typing import ArrayLike

from .._lib.arrays import plain
from .._lib.errors import check_choice
from .._lib.typing import Floats
from ..statistics.means import order_from_coupling
from .coupled import expm1_ratio
from .log_mean import (
    finite_order,
    on_scale,
    renyi_nats,
)

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
    p: ArrayLike,
    coupling: float,
    d: int = 1,
    alpha: float = 2.0,
    *,
    scale: EntropyScale = "entropy",
    axis: int = -1,
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
