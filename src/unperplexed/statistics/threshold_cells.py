"""Rows counted by action and outcome at thresholds: means of the values of the kinds, with their standard errors.

A row is acted on where its probability is at least the threshold. The four kinds of rows are true negatives, false
negatives, false positives and true positives, in this order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.typing import AnyFloats, Floats, Ints
from .intervals import LEAST_WORTH
from .means import effective_number, t_quantile

TRUE_NEGATIVE, FALSE_NEGATIVE, FALSE_POSITIVE, TRUE_POSITIVE = range(4)

_ROUNDING = 2.0**-45
"""Standard errors below this share of the values are those of rows that all have the same value."""


class ThresholdCells(Frozen, eq=False):
    """Weights of the four kinds of rows at each threshold, and what the standard errors of their means need."""

    shares: Floats
    """(thresholds, 4); each row sums to 1."""
    moments: Floats
    """(thresholds, 4, 4): sums over independent units (rows, or clusters) of the products of their shares."""
    units: int
    """Number of independent units."""
    worth: float
    """Effective sample size of the units by their weights (Kish 1965)."""
    clustered: bool = False
    """Whether the units are clusters."""

    def means(self, values: Floats) -> Floats:
        """Mean over the rows of the values of their kinds at each threshold, (thresholds, 4)."""
        return np.asarray((self.shares * values).sum(axis=1))

    def standard_errors(self, values: Floats) -> Floats:
        """Sandwich standard errors of `means`; NaN where all rows have the same value, and for fewer than two units."""
        apart = values - self.means(values)[:, None]
        squares = np.einsum("ti,tij,tj->t", apart, self.moments, apart)
        errors = np.sqrt(np.maximum(squares, 0.0) * self.units / max(self.units - 1, 1))
        known = (errors > _ROUNDING * np.abs(values).max(axis=1)) & (self.worth >= LEAST_WORTH)
        return np.asarray(np.where(known, errors, np.nan))

    def limits(self, kind: int, other: int, price: Floats, confidence: float) -> tuple[Floats, Floats]:
        """Confidence limits of the share of one kind of rows minus ``price`` times that of another, at each threshold.

        Wilson limits of both shares, combined with their correlation (MOVER, Zou and Donner 2008): where one of them is
        0 or rare, as false positives at high thresholds, a standard error would know nothing of it.

        Parameters
        ----------
        kind, other : int
            Two of the four kinds, from 0.
        price : ndarray of shape (thresholds,)
            What a row of the other kind counts, in rows of the first.
        confidence : float
            Such as 0.95.

        Returns
        -------
        (ndarray, ndarray) of shape (thresholds,)
            Lower and upper limits.
        """
        reach = float(t_quantile(confidence, self.worth - 1))
        first, second = self.shares[:, kind], self.shares[:, other]
        apart = np.eye(4)[[kind, other]][:, None, :] - self.shares[:, [kind, other]].T[:, :, None]
        covariance = np.einsum("ati,tij,btj->tab", apart, self.moments, apart) * self._factor()
        sizes = [self._sizes(share, covariance[:, i, i]) for i, share in enumerate((first, second))]
        (low, high), (low2, high2) = (_wilson(x, n, reach) for x, n in zip((first, second), sizes, strict=True))
        scale = np.sqrt(covariance[:, 0, 0] * covariance[:, 1, 1])
        correlation = np.divide(covariance[:, 0, 1], scale, out=np.zeros_like(scale), where=scale > 0)
        below, above = first - low, high - first
        below2, above2 = price * (second - low2), price * (high2 - second)
        mean = first - price * second
        return (
            mean - np.sqrt(np.maximum(below**2 + above2**2 - 2 * correlation * below * above2, 0.0)),
            mean + np.sqrt(np.maximum(above**2 + below2**2 - 2 * correlation * above * below2, 0.0)),
        )

    def _factor(self) -> float:
        """Small-sample factor of variances; of independent rows Wilson's limits need none."""
        return self.units / max(self.units - 1.0, 1.0) if self.clustered else 1.0

    def _sizes(self, share: Floats, variance: Floats) -> Floats:
        """Effective number of rows that shares of all rows are shares of."""
        known = (share > 0) & (share < 1) & (variance > 0)
        kish = 1 / self.moments.sum(axis=(1, 2))
        return np.asarray(np.divide(share * (1 - share), variance, out=kish, where=known))

    def share_of(self, kinds: Sequence[int], among: Sequence[int], threshold: int = 0) -> tuple[float, float]:
        """Share of some kinds of rows among others, and the effective number of rows that it is a share of.

        The number is that of independent rows with the same standard error, so that a Wilson interval may use it.
        """
        one, all_ = np.zeros((2, 4))
        one[list(kinds)], all_[list(among)] = 1.0, 1.0
        moments, total = self.moments[threshold], float(self.shares[threshold] @ all_)
        if not total > 0:
            return math.nan, 0.0
        share = float(self.shares[threshold] @ one) / total
        apart = one - share * all_
        variance = float(apart @ moments @ apart) / total**2 * self._factor()
        if not 0 < share < 1 or not variance > 0:
            return share, total**2 / float(all_ @ moments @ all_)
        return share, share * (1 - share) / variance


def _wilson(share: Floats, rows: Floats, reach: float) -> tuple[Floats, Floats]:
    """Wilson limits of shares."""
    z2 = reach * reach
    centre = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = np.sqrt(z2 * share * (1 - share) / rows + (z2 / (2 * rows)) ** 2) / (1 + z2 / rows)
    return np.where(share > 0, np.maximum(centre - half, 0.0), 0.0), np.where(share < 1, centre + half, 1.0)


def threshold_cells(
    p: AnyFloats,
    positive: Ints,
    weights: Floats,
    thresholds: Floats,
    groups: Ints | None = None,
    counted: tuple[Floats, int] | None = None,
) -> ThresholdCells:
    """Count rows by action and outcome at ascending thresholds.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probabilities of the positive class. Thresholds are compared in their precision.
    positive : ndarray of shape (n,)
        Outcomes, 0 or 1.
    weights : ndarray of shape (n,)
        Positive weights.
    thresholds : ndarray of shape (t,)
        Ascending.
    groups : ndarray of shape (n,), optional
        Number of each row's cluster, from 0.
    counted : tuple of ndarray of shape (n,) and int, optional
        Where each element stands for several independent rows: the sums of their squared weights, and the number of
        all rows.
    """
    place = np.searchsorted(thresholds.astype(p.dtype), p, side="right")  # thresholds at which the row is acted on
    whole = float(weights.sum())
    w = weights / whole
    shares = _by_kind(place, positive, weights, thresholds.size) / whole  # sums of whole numbers are exact
    if groups is not None:
        of_unit = np.bincount(groups, w).astype(np.float64)
        moments = np.stack([_moments(place > t, positive, w, groups) for t in range(thresholds.size)])
        return ThresholdCells(shares, moments, of_unit.size, effective_number(of_unit), clustered=True)
    squared, units = (w * w, w.size) if counted is None else (counted[0] / whole**2, counted[1])
    moments = _by_kind(place, positive, squared, thresholds.size)[:, :, None] * np.eye(4)
    return ThresholdCells(shares, moments, units, 1 / float(squared.sum()))


def _by_kind(place: Ints, positive: Ints, x: Floats, n: int) -> Floats:
    """Sum x over the rows of each kind at each of n thresholds."""
    sums = np.bincount(2 * place + positive, x, 2 * (n + 1)).reshape(n + 1, 2)
    idle = np.cumsum(sums, axis=0)[:n]
    acted = np.cumsum(sums[::-1], axis=0)[::-1][1:]
    return np.concatenate([idle, acted], axis=1)


def _moments(acted: np.ndarray, positive: Ints, w: Floats, groups: Ints) -> Floats:
    """Sum over clusters the products of their shares of each kind, at one threshold."""
    units = int(groups.max()) + 1
    sums = np.bincount(4 * groups + 2 * acted + positive, w, 4 * units).reshape(units, 4)
    return np.asarray(sums.T @ sums)
