"""`CoupledGaussian`: Student's t, the normal and the symmetric beta as one family."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy.stats import qmc

from ..._lib.errors import InputError
from ..._lib.typing import Floats
from .elliptical_fit import draw, fit_elliptical, log_average_density, log_normalizer, squared_deviate
from .fitting import CoupledFit, Given, Sample
from .tail import log_tail, quantile
from .univariate import Univariate


class CoupledGaussian(Univariate):
    """Coupled Gaussian: Student's t for coupling > 0, normal at 0, a symmetric beta on a bounded interval below 0.

    A heavy tail (coupling > 0) keeps a model's probabilities from running to 0 and 1 faster than its few data
    warrant. All methods are continuous through coupling 0 and hold far into the tails.

    Parameters
    ----------
    loc : array_like, default 0
        Location: the centre and the mode.
    scale : array_like, default 1
        Scale sigma > 0. It is the standard deviation at coupling 0 only.
    coupling : array_like, default 0
        Coupling kappa > -1. For kappa > 0, 1/kappa is the degrees of freedom; for kappa < 0 the support is loc
        +- scale/sqrt(-kappa), and the shapes of the beta are (1 - 1/kappa)/2.

    Raises
    ------
    InputError
        For a scale not above 0, a coupling at or below -1, anything not finite, or shapes that do not broadcast.

    Notes
    -----
    ``f(x) = (1 + kappa z^2)_+^(-(1/kappa + 1)/2) / (Z scale)``, z = (x - loc)/scale ([RP] appendix; [N17] eq. 14). The
    density at loc + scale is its generalized average of order r = -2 kappa/(1 + kappa). Against 50-digit
    arithmetic, the relative error of pdf, cdf, sf, ppf and isf is below 1e-12.

    In a `fit`, where one value has a share s of the weight, the likelihood is infinite at couplings above 1/s - 1,
    since a scale of 0 there beats all. Unless bounds are given, the search ends at half of that. Heavy-tailed
    likelihoods can have several maxima; the one found is reached from the centre of the data.

    Examples
    --------
    >>> from unperplexed.theory import CoupledGaussian
    >>> t = CoupledGaussian(coupling=0.5)
    >>> round(t.pdf(1.0), 8), round(t.generalized_average_density(), 8)
    (0.19245009, 0.19245009)
    >>> CoupledGaussian(loc=[0, 2], coupling=[0.5, -0.5]).sf([[2.0], [3.0]]).round(4)
    array([[0.0918, 0.5   ],
           [0.0477, 0.0908]])
    """

    _alpha = 2.0

    def _logpdf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return np.asarray(-(1 + k) / 2 * squared_deviate(x, loc, scale, k) - log_normalizer(k) - np.log(scale))

    def _logsf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        tail = log_tail(np.sqrt(squared_deviate(x, loc, scale, k)), k)
        return np.where(x < loc, np.log1p(-np.exp(tail)), tail)

    def _logcdf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return self._logsf(-x, -loc, scale, k)

    def _isf(self, q: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        z = quantile(np.minimum(q, 1 - q), k)
        return np.asarray(loc + scale * np.where(q > 0.5, -z, z))

    def _ppf(self, q: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return 0.0 - self._isf(q, -loc, scale, k)  # no negative zero

    def _draw(self, rng: np.random.Generator, k: Floats, shape: tuple[int, ...]) -> Floats:
        return draw(rng, k, shape)[..., 0]

    def _mean(self, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return np.where(k < 1, loc, np.nan)

    def _var(self, loc: Floats, scale: Floats, k: Floats) -> Floats:
        variance = scale * scale / np.where(k < 0.5, 1 - 2 * k, 1.0)
        return np.where(k < 0.5, variance, np.where(k < 1, np.inf, np.nan))

    def _log_average_density(self, r: Any, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return log_average_density(k, r) - np.log(scale)

    @classmethod
    def _fit(cls, sample: Sample, given: Given) -> CoupledFit[Self]:
        loc, scale = given.loc, given.spread
        if scale is not None and not 1e-70 < scale < 1e70:
            raise InputError(f"fscale: {scale:.3g} is too small or too large to square twice; give other units.")
        square = None if scale is None else np.array([[scale**2]])
        as_arrays = given._replace(loc=None if loc is None else np.array([loc]), spread=square)
        found = fit_elliptical(
            sample,
            as_arrays,
            lambda of_loc, shape, k: cls(float(of_loc[0]), float(np.sqrt(shape[0, 0])) if scale is None else scale, k),
        )
        errors = {name: float(np.ravel(error)[0]) for name, error in found.standard_errors.items()}
        if "shape_matrix" in errors:
            errors["scale"] = errors.pop("shape_matrix") / (2 * found.distribution.scale)
        return replace(found, standard_errors=errors)


_REPLICATES, _POINTS = 8, 12
"""Scrambled sets of 2^12 points each, for about five decimals."""

_FAR = 1e150
"""Its square, and the sum of some, is a float."""


def box_probability(low: Floats, high: Floats, root: Floats, coupling: float, rng: np.random.Generator) -> float:
    """P(low <= L z <= high) for standard z and Cholesky factor L.

    Given those before it, each coordinate is a coupled Gaussian again, of coupling kappa/(1 + i kappa). So the box is a
    product of one-dimensional probabilities, averaged over where the earlier coordinates fall within it (Genz 1992,
    for the normal), by scrambled Sobol points.

    Parameters
    ----------
    low, high : arrays of shape (d,)
        Ends of the box, relative to the location; may be infinite.
    root : array of shape (d, d)
        Lower triangular Cholesky factor of the shape matrix.
    coupling : float
        Coupling above -1/d.
    rng : numpy.random.Generator
        Scrambles the points; unused in one dimension.
    """
    d = len(low)
    if np.isnan(low).any() or np.isnan(high).any():
        return np.nan
    middle = np.clip(low, -_FAR, _FAR) + np.clip(high, -_FAR, _FAR)
    means = []
    for _ in range(_REPLICATES if d > 1 else 1):  # in one dimension nothing is left to chance
        u = qmc.Sobol(d - 1, seed=rng).random_base2(_POINTS) if d > 1 else np.zeros((1, 0))
        z = np.zeros((len(u), d))
        squared, product = np.zeros(len(u)), np.ones(len(u))
        for i in range(d):
            narrowing = 1 + i * coupling
            scale = root[i, i] * np.sqrt(np.maximum(1 + coupling * squared, 1e-300) / narrowing)
            one = CoupledGaussian(0.0, scale, coupling / narrowing)
            offset = z[:, :i] @ root[i, :i]
            # Both ends on the side of the smaller tail, where differences keep their digits.
            side = np.where(middle[i] > 2 * offset, -1.0, 1.0)
            a, b = np.sort([side * (low[i] - offset), side * (high[i] - offset)], axis=0)
            below, above = one.cdf(a), one.cdf(b)
            product *= above - below
            if i < d - 1:
                drawn = side * one.ppf(np.clip(below + u[:, i] * (above - below), 0, 1))
                z[:, i] = np.where(product > 0, np.clip(drawn / root[i, i], -_FAR, _FAR), 0.0)
                squared += z[:, i] ** 2
        means.append(product.mean())
    return float(np.mean(means))
