"""What the one-dimensional distributions share: parameters, broadcasting, and the methods that follow from a few."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..._lib.arrays import plain
from ..._lib.errors import InputError
from ..._lib.typing import Floats
from .fitting import CoupledFit, Given, Sample, fixed
from .parameters import Seed, coupling_above, finite, generator, positive, real, shape_of, unit_interval


class Univariate(ABC):
    """A distribution of loc, scale and coupling, each a number or an array; arrays broadcast against the argument."""

    _alpha: float
    """The order of the average that is the density at loc + scale is -alpha kappa/(1 + kappa)."""

    # What each distribution has: functions of points or probabilities and of loc, scale and coupling, all of one shape.
    _logpdf: Callable[[Floats, Floats, Floats, Floats], Floats]
    _logcdf: Callable[[Floats, Floats, Floats, Floats], Floats]
    _logsf: Callable[[Floats, Floats, Floats, Floats], Floats]
    _ppf: Callable[[Floats, Floats, Floats, Floats], Floats]
    _isf: Callable[[Floats, Floats, Floats, Floats], Floats]
    _draw: Callable[[np.random.Generator, Floats, tuple[int, ...]], Floats]
    _mean: Callable[[Floats, Floats, Floats], Floats]
    _var: Callable[[Floats, Floats, Floats], Floats]
    _log_average_density: Callable[[Any, Floats, Floats, Floats], Floats]

    def __init__(self, loc: ArrayLike = 0.0, scale: ArrayLike = 1.0, coupling: ArrayLike = 0.0) -> None:
        """Check the parameters."""
        self._loc, self._scale = finite("loc", loc), positive("scale", scale)
        self._coupling = coupling_above(-1.0, coupling)
        try:
            self._shape = np.broadcast_shapes(self._loc.shape, self._scale.shape, self._coupling.shape)
        except ValueError:
            shapes = ", ".join(str(a.shape) for a in (self._loc, self._scale, self._coupling))
            raise InputError(f"loc, scale, coupling: shapes {shapes} do not broadcast.") from None

    @property
    def loc(self) -> Any:
        """Location."""
        return plain(self._loc)

    @property
    def scale(self) -> Any:
        """Scale, above 0."""
        return plain(self._scale)

    @property
    def coupling(self) -> Any:
        """Coupling kappa, above -1: 0 the exponential family, above it heavy tails, below it compact support."""
        return plain(self._coupling)

    def __repr__(self) -> str:
        """Name the parameters."""
        return f"{type(self).__name__}(loc={self.loc!r}, scale={self.scale!r}, coupling={self.coupling!r})"

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x; 0 outside of the support.

        Parameters
        ----------
        x : array_like
            Points; broadcast against the parameters.

        Returns
        -------
        float or ndarray
            Densities.
        """
        return plain(np.exp(self._at(self._logpdf, x)))

    def logpdf(self, x: ArrayLike) -> Any:
        """Natural logarithm of the density at x; -inf outside of the support. Arguments as `pdf`."""
        return plain(self._at(self._logpdf, x))

    def cdf(self, x: ArrayLike) -> Any:
        """P(X <= x), right in its relative error also in the lower tail. Arguments as `pdf`."""
        return plain(np.exp(self._at(self._logcdf, x)))

    def logcdf(self, x: ArrayLike) -> Any:
        """Natural logarithm of P(X <= x), finite where that underflows. Arguments as `pdf`."""
        return plain(self._at(self._logcdf, x))

    def sf(self, x: ArrayLike) -> Any:
        """P(X > x), right in its relative error also in the upper tail. Arguments as `pdf`."""
        return plain(np.exp(self._at(self._logsf, x)))

    def logsf(self, x: ArrayLike) -> Any:
        """Natural logarithm of P(X > x), finite where that underflows. Arguments as `pdf`."""
        return plain(self._at(self._logsf, x))

    def ppf(self, q: ArrayLike) -> Any:
        """Quantile: the x with P(X <= x) = q.

        Parameters
        ----------
        q : array_like
            Probabilities in [0, 1]; broadcast against the parameters.

        Returns
        -------
        float or ndarray
            Quantiles; the ends of the support at 0 and 1.

        Raises
        ------
        InputError
            For q outside [0, 1].
        """
        return plain(self._at(self._ppf, unit_interval("q", q)))

    def isf(self, q: ArrayLike) -> Any:
        """Upper quantile: the x with P(X > x) = q, also for q too small for 1 - q. Arguments as `ppf`."""
        return plain(self._at(self._isf, unit_interval("q", q)))

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: Seed = None) -> Any:
        """Random draws.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the draws, which the parameters must broadcast to; the parameters' own shape by default.
        random_state : int, numpy.random.Generator or None
            Seed or generator; the same seed gives the same draws.

        Returns
        -------
        float or ndarray
            Draws.

        Raises
        ------
        InputError
            For a size that the parameters do not broadcast to, or another seed.
        """
        shape = self._shape if size is None else shape_of(size)
        try:
            loc, scale, coupling = (np.broadcast_to(a, shape) for a in (self._loc, self._scale, self._coupling))
        except ValueError:
            raise InputError(
                f"size: parameters of shape {self._shape} do not broadcast to {shape}; their shape comes last."
            ) from None
        return plain(loc + scale * self._draw(generator(random_state), coupling, shape))

    def median(self) -> Any:
        """Point with half of the mass on either side."""
        return self.ppf(0.5)

    def interval(self, confidence: ArrayLike) -> tuple[Any, Any]:
        """Ends of the interval that leaves half of 1 - confidence on either side."""
        tail = (1 - unit_interval("confidence", confidence)) / 2
        return self.ppf(tail), self.isf(tail)

    def support(self) -> tuple[Any, Any]:
        """Ends of where the density is positive."""
        return self.ppf(0.0), self.isf(0.0)

    def std(self) -> Any:
        """Square root of the variance: not the scale, but for the normal and the exponential."""
        return plain(np.sqrt(self.var()))

    def mean(self) -> Any:
        """Mean; NaN or inf where it does not exist (coupling >= 1)."""
        return plain(self._of_parameters(self._mean))

    def var(self) -> Any:
        """Variance; inf or NaN where it does not exist (coupling >= 1/2)."""
        return plain(self._of_parameters(self._var))

    def entropy(self) -> Any:
        """Differential Shannon entropy in nats: -integral f ln f."""
        return plain(-self._of_parameters(lambda *parameters: self._log_average_density(0.0, *parameters)))

    def generalized_average_density(self, r: float | None = None) -> Any:
        """Average of the density over itself: (integral f^(1-r))^(-1/r), at r = 0 exp(integral f ln f).

        Parameters
        ----------
        r : float, optional
            Order; by default the one that belongs to the coupling, at which the average is the density at
            loc + scale ([RP] eq. 2.9).

        Returns
        -------
        float or ndarray
            Average density; 0 where the integral diverges, as heavy tails make it at larger r.

        Raises
        ------
        InputError
            For an order that is not finite.
        """
        if r is None:
            order = -self._alpha * self._coupling / (1 + self._coupling)
        else:
            order = finite("r", r)
            if order.ndim:
                raise InputError(f"r: expected one number, got an array of shape {order.shape}.")
        return plain(np.exp(self._of_parameters(lambda *parameters: self._log_average_density(order, *parameters))))

    @classmethod
    def fit(
        cls,
        data: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        floc: float | None = None,
        fscale: float | None = None,
        fcoupling: float | None = None,
        coupling_bounds: tuple[float, float] | None = None,
    ) -> CoupledFit[Self]:
        """Maximum likelihood.

        Parameters
        ----------
        data : array_like of shape (n,)
            Values.
        sample_weight : array_like of shape (n,), optional
            Weights; weight 2 is the row twice, but for the standard errors.
        floc, fscale, fcoupling : float, optional
            Parameters that are known, and kept.
        coupling_bounds : (float, float), optional
            Where to look for the coupling; from -1/3 (the Gaussian) or -1/2 (the exponential), below which standard
            errors fail, to 10 by default.

        Returns
        -------
        CoupledFit
            With ``distribution``, ``standard_errors`` of the free parameters by name, and more.

        Raises
        ------
        InputError
            For data that are not finite or all equal, bad weights or parameters, or fixed parameters whose support
            does not hold the data.

        Examples
        --------
        >>> from unperplexed.theory import CoupledExponential, CoupledGaussian
        >>> for family, known in ((CoupledGaussian, {}), (CoupledExponential, {"floc": 3})):
        ...     data = family(loc=3, scale=2, coupling=0.25).rvs(4000, random_state=1)
        ...     fit = family.fit(data, **known)
        ...     print(bool(abs(fit.distribution.coupling - 0.25) < 2 * fit.standard_errors["coupling"]))
        True
        True
        """
        sample = Sample.of(data, sample_weight, 1)
        loc, scale = fixed("floc", floc, finite), fixed("fscale", fscale, positive)
        return cls._fit(sample, Given(loc, scale, fcoupling, coupling_bounds))

    def _at(self, function: Callable[..., Floats], x: ArrayLike) -> Floats:
        """A function of points and parameters, all made one shape; NaN stays NaN."""
        points = real("x", x)
        try:
            full = np.broadcast_arrays(points, self._loc, self._scale, self._coupling)
        except ValueError:
            raise InputError(
                f"x: shape {points.shape} does not broadcast against parameters of shape {self._shape}."
            ) from None
        shape = full[0].shape
        with np.errstate(all="ignore"):  # infinite points, and branches that are not taken
            return np.asarray(function(*(a.ravel() for a in full))).reshape(shape)

    def _of_parameters(self, function: Callable[..., Floats]) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(function(*np.broadcast_arrays(self._loc, self._scale, self._coupling)))

    @classmethod
    @abstractmethod
    def _fit(cls, sample: Sample, given: Given) -> CoupledFit[Self]: ...
