"""`CoupledExponential`: the generalized Pareto distribution, through the exponential at coupling 0."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import optimize

from ..._lib.errors import InputError, rows_text
from ..._lib.typing import Floats
from ..coupled import expm1_ratio, log1p_ratio
from .fitting import CoupledFit, Given, Sample, best_coupling, coupling_range, infinite_from, is_regular
from .series import FAR_OUT, NEAR_END, base_of_power
from .univariate import Univariate

REGULAR = -0.5
"""Above this coupling the density falls to 0 smoothly enough for standard errors (Smith 1985)."""


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
        loc - scale/kappa.

    Raises
    ------
    InputError
        For a scale not above 0, a coupling at or below -1, anything not finite, or shapes that do not broadcast.

    Notes
    -----
    ``f(x) = (1 + kappa z)_+^(-(1/kappa + 1)) / scale``, z = (x - loc)/scale >= 0 ([RP] appendix). The density at
    loc + scale is its generalized average of order r = -kappa/(1 + kappa).

    In a `fit`, a free location is the smallest value, which has the largest likelihood; its standard error is scale/n.
    Where values at the location have a share s of the weight, the likelihood is infinite at couplings above 1/s - 1,
    since a scale of 0 beats all. Unless bounds are given, the search ends at half of that.

    Examples
    --------
    >>> from unperplexed.theory import CoupledExponential
    >>> pareto = CoupledExponential(coupling=0.5)
    >>> round(pareto.pdf(1.0), 4), round(pareto.generalized_average_density(), 4)
    (0.2963, 0.2963)
    >>> pareto.sf(2.0), pareto.isf(0.25)
    (0.25, 2.0)
    """

    _alpha = 1.0

    def _logsf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        z = np.maximum((x - loc) / scale, 0.0)
        far = z > FAR_OUT
        base = np.maximum(base_of_power(k, np.where(far, loc, np.maximum(x, loc)), loc, scale, 1), 0.0)
        inner = np.where(base < NEAR_END, -np.log(base) / k, -log1p_ratio(k, np.where(far, 1.0, z)))
        # kappa z may overflow where its logarithm does not.
        outer = np.where(k > 0, -np.logaddexp(0, np.log(z) + np.log(np.abs(k))) / k, -np.inf)
        return np.where(far, np.where(k == 0, -z, outer), inner)

    def _logpdf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return np.where(x < loc, -np.inf, (1 + k) * self._logsf(x, loc, scale, k) - np.log(scale))

    def _logcdf(self, x: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        tail = self._logsf(x, loc, scale, k)
        return np.where(tail > -np.log(2), np.log(-np.expm1(tail)), np.log1p(-np.exp(tail)))

    def _isf(self, q: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
        return self._beyond(-np.log(q), loc, scale, k)

    def _ppf(self, q: Floats, loc: Floats, scale: Floats, k: Floats) -> Floats:
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

    def _log_average_density(self, r: Any, loc: Floats, scale: Floats, k: Floats) -> Floats:
        diverges = r * (1 + k) >= 1
        inverse = np.where(diverges, -np.inf, log1p_ratio(r, np.where(diverges, 0.0, -(1 + k))))
        return np.asarray(inverse - np.log(scale))

    @classmethod
    def _fit(cls, sample: Sample, given: Given) -> CoupledFit[Self]:
        x, scale = sample.x[:, 0], given.spread
        loc = float(x.min()) if given.loc is None else given.loc
        if x.min() < loc:
            raise InputError(f"floc: {loc:.6g} is above {rows_text(np.flatnonzero(x < loc))} of the data.")
        problem = _Excess(Sample(x - loc, sample.w, sample.total), scale)
        infinite = np.inf if scale is not None else infinite_from(sample, np.array([loc]))
        k, at_bound = best_coupling(problem.loss, coupling_range(given, 1, REGULAR, infinite), 1)
        value = problem.loss(k)
        if not np.isfinite(value):
            raise InputError(
                f"data: values lie beyond the support that fscale gives at coupling {k:.6g}, which ends at loc +"
                " scale/|coupling|. Fix a larger scale or coupling, or fix less."
            )
        found = problem.scale_at(k)
        free = {"scale": scale is None, "coupling": given.coupling is None}
        errors = _errors(found, k, sample.effective, free, at_bound)
        if given.loc is None:
            errors["loc"] = found / len(x)
        return CoupledFit(cls(loc, found, k), errors, -value * sample.total, len(x), at_bound, is_regular(k, REGULAR))


class _Excess:
    """The likelihood of excesses over the location."""

    def __init__(self, sample: Sample, scale: float | None) -> None:
        self.sample, self.fixed, self.top = sample, scale, float(sample.x.max())
        if not self.top > 0 and scale is None:
            raise InputError("data: all values are equal to the location; no scale can be fitted. Fix it with fscale.")
        if scale is None and not 1e-290 < self.top < 1e290:
            raise InputError(f"data: up to {self.top:.3g} beyond the location; give it in other units.")

    def scale_at(self, k: float) -> float:
        """The scale of largest likelihood, where (1 + kappa) times the mean of z/(1 + kappa z) is 1."""
        if self.fixed is not None:
            return self.fixed
        y = self.sample.x / self.top

        def slope(inverse: float) -> float:
            return float((1 + k) * self.sample.mean(inverse * y / (1 + k * inverse * y))) - 1

        # It rises with 1/scale, and is not above 0 where scale is the largest excess. It comes to be, for the share of
        # excesses of 0 is below 1/(1 + kappa).
        end = -1 / k if k < 0 else np.inf
        low, high = 1.0, min(4.0, (1 + end) / 2)
        while slope(high) < 0:
            low, high = high, min(4 * high, (high + end) / 2)
            if not high < min(end * (1 - 1e-15), 1e290):  # weights so uneven that no digit tells
                return self.top / low
        return self.top / float(optimize.brentq(slope, low, high, rtol=1e-13))

    def loss(self, k: float) -> float:
        """Mean negative log-likelihood at the best scale for this coupling."""
        scale = self.scale_at(k)
        z = self.sample.x / scale
        if not -k * z.max() < 1:
            return np.inf
        return float((1 + k) * self.sample.mean(log1p_ratio(k, z)) + np.log(scale))


def _errors(scale: float, k: float, n: float, free: dict[str, bool], at_bound: bool) -> dict[str, float]:
    """Standard errors of the free parameters, from the expected information in n rows (Smith 1985)."""
    narrow = 1 + 2 * k if is_regular(k, REGULAR) else np.nan
    # Information of the logarithm of the scale, of the coupling, and of both together, times narrow.
    of_scale, of_coupling, cross = 1.0, 2 / (1 + k), 1 / (1 + k)
    if all(free.values()) and not at_bound:
        determinant = of_scale * of_coupling - cross**2
        variances = {"scale": of_coupling / determinant, "coupling": of_scale / determinant}
    else:
        variances = {"scale": 1 / of_scale, "coupling": np.nan if at_bound else 1 / of_coupling}
    units = {"scale": scale, "coupling": 1.0}
    return {name: units[name] * float(np.sqrt(v * narrow / n)) for name, v in variances.items() if free[name]}
