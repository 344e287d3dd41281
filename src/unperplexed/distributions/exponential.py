"""`CoupledExponential`: the generalized Pareto distribution, through the exponential at coupling 0."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from ._series import base_of_power, expm1_ratio, log1p_ratio
from ._univariate import Univariate


class CoupledExponential(Univariate):
    """Coupled exponential: the generalized Pareto distribution, heavy-tailed for coupling > 0, exponential at 0.

    Parameters
    ----------
    loc : array_like, default 0
        Location: the lower end of the support and the mode.
    scale : array_like, default 1
        Scale sigma > 0. It is the mean excess over loc at coupling 0 only.
    coupling : array_like, default 0
        Coupling kappa > -1: the shape of the generalized Pareto. For kappa < 0 the support ends at
        loc + scale/|kappa|.

    Raises
    ------
    InputError
        For a scale not above 0, a coupling at or below -1, anything not finite, or shapes that do not broadcast.

    Notes
    -----
    f(x) = (1 + kappa z)_+^(-(1/kappa + 1)) / scale, z = (x - loc)/scale >= 0 ([RP] appendix). The density at
    loc + scale is its generalized average of order r = -kappa/(1 + kappa).

    Examples
    --------
    >>> from unperplexed import CoupledExponential
    >>> pareto = CoupledExponential(coupling=0.5)
    >>> round(pareto.pdf(1.0), 4), round(pareto.generalized_average_density(), 4)
    (0.2963, 0.2963)
    >>> pareto.sf(2.0), pareto.isf(0.25)
    (0.25, 2.0)
    """

    def _logsf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        z = np.maximum((x - loc) / scale, 0.0)
        far = z > 1e100
        with np.errstate(divide="ignore", invalid="ignore"):
            base = np.maximum(base_of_power(k, np.where(far, loc, np.maximum(x, loc)), loc, scale, 1), 0.0)
            inner = np.where(base < 0.75, -np.log(base) / k, -log1p_ratio(k, np.where(far, 1.0, z)))
            # kappa z may overflow where its logarithm does not.
            outer = np.where(k > 0, -np.logaddexp(0, np.log(z) + np.log(np.abs(k))) / k, -np.inf)
            return np.where(far, np.where(k == 0, -z, outer), inner)

    def _logpdf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return np.where(x < loc, -np.inf, (1 + k) * self._logsf(x, loc, scale, k) - np.log(scale))

    def _logcdf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        tail = self._logsf(x, loc, scale, k)
        with np.errstate(divide="ignore"):
            return np.where(tail > -np.log(2), np.log(-np.expm1(tail)), np.log1p(-np.exp(tail)))

    def _isf(self, q: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return self._beyond(-np.log(q), loc, scale, k)

    def _ppf(self, q: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return self._beyond(-np.log1p(-q), loc, scale, k)

    def _beyond(self, surprisal: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        """The x with ln P(X > x) = -surprisal."""
        return np.asarray(loc + scale * expm1_ratio(k, surprisal))

    def _draw(self, rng: np.random.Generator, k: Floats, shape: tuple[int, ...]) -> Floats:
        return expm1_ratio(k, rng.standard_exponential(shape))

    def _mean(self, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return np.where(k < 1, loc + scale / np.where(k < 1, 1 - k, 1.0), np.inf)

    def _var(self, loc: Floats, scale: Floats, k: Floats) -> Floats:
        k, exists = np.where(k < 0.5, k, 0.0), k < 0.5
        return np.where(exists, (scale / (1 - k)) ** 2 / (1 - 2 * k), np.inf)

    def _log_average_density(self, r: float, loc: Floats, scale: Floats, k: Floats) -> Floats:
        diverges = r * (1 + k) >= 1
        inverse = np.where(diverges, -np.inf, log1p_ratio(r, np.where(diverges, 0.0, -(1 + k))))
        return np.asarray(inverse - np.log(scale))
