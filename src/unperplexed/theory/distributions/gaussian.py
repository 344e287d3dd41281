"""`CoupledGaussian`: Student's t, the normal and the symmetric beta as one family.

Probabilities beyond a point, and their inverse, are right in their relative error. In the deviate y with
y^2 = ln(1 + kappa z^2)/kappa the density of every coupling is nearly normal:
exp(-A y^2/2) k(|kappa| y^2)/Z, with A = 1 + max(-kappa, 0) and k(m) = (m/(1 - e^-m))^(1/2). From |kappa| = 0.01 up
SciPy's incomplete beta function is right to the last digits, and at 0 its normal distribution. Between, where the
arguments of the beta function grow without bound, Gauss-Legendre quadrature of the smooth, positive integrand is.

`MultivariateCoupledGaussian`: the multivariate Student's t, normal and Pearson type II as one family.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, special
from scipy.stats import qmc

from ..._lib.arrays import plain
from ..._lib.errors import InputError, place_text
from ..._lib.typing import Floats, Ints
from ..coupled import expm1_ratio, log1p_ratio
from .elliptical_fit import draw, fit_elliptical, log_average_density, log_normalizer, squared_deviate
from .fitting import CoupledFit, Given, Sample
from .parameters import Seed, coupling_above, finite, generator, real, shape_of
from .series import FAR_OUT
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


_SMALL = 0.01
_NODES, _WEIGHTS = (a / 2 for a in np.polynomial.legendre.leggauss(36))
_NODES = _NODES + 0.5
_CUT = 42.0
"""The integrand is left off where it has fallen by exp(-42)."""

_LAST_STEP = 1e-9
"""Newton's method squares the error: after a relative step this small none is left."""

_CENTRE = 0.1
"""Quantiles this near to 1/2 are found from the probability between them and the median."""


def _log_k(m: Floats) -> Floats:
    safe = np.where(m < 1e-8, 1.0, m)
    return np.where(m < 1e-8, m / 4, np.log(-safe / np.expm1(-safe)) / 2)


def _log_density(y: Floats, k: Floats) -> Floats:
    """ln of the density of the deviate y."""
    return np.asarray(-(1 + np.maximum(-k, 0)) * y * y / 2 + _log_k(np.abs(k) * y * y) - log_normalizer(k))


def _integral(y: Floats, width: Floats, k: Floats) -> Floats:
    """Integral of the density of the deviate from y to y + width, divided by the density at y."""
    a, size, start = 1 + np.maximum(-k, 0), np.abs(k), _log_k(np.abs(k) * y * y)
    total = np.zeros_like(y)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        u = width * node
        total += weight * np.exp(-a * u * (y + u / 2) + _log_k(size * (y + u) ** 2) - start)
    return total * width


def _beta_shape(k: Floats) -> Floats:
    return np.asarray(np.where(k > 0, 0.5, (k - 1) / 2) / k)


def log_tail(y: Floats, k: Floats) -> Floats:
    """ln P(X > z) for z >= 0, given the deviate y of z."""
    result = np.asarray(special.log_ndtr(-y))  # that of the normal; the end of the support, and NaN
    small = (np.abs(k) < _SMALL) & (k != 0) & (y < np.inf)
    if small.any():
        v, c = y[small], k[small]
        a = 1 + np.maximum(-c, 0)
        width = (2 * _CUT / a) / (v + np.sqrt(v * v + 2 * _CUT / a))
        result[small] = _log_density(v, c) + np.log(_integral(v, width, c))
    large = (np.abs(k) >= _SMALL) & (y < np.inf)
    if large.any():
        result[large] = _log_beta_tail(y[large], k[large])
    return result


def _log_beta_tail(y: Floats, k: Floats) -> Floats:
    a, m = _beta_shape(k), np.abs(k) * y * y
    w, v = np.exp(-m), -np.expm1(-m)
    result = np.empty_like(y)
    # Half the mass less a little; betaincc loses digits next to 0.
    close = v * np.maximum(a, 1) < 0.05
    result[close] = np.log1p(-special.betainc(0.5, a[close], v[close]))
    # Far out the first terms of the hypergeometric series hold, in logarithms, where the values underflow.
    far = w < 1e-3
    result[far] = _log_beta_series(w[far], m[far], a[far])
    near = ~close & ~far & (v < 0.5)
    result[near] = np.log(special.betaincc(0.5, a[near], v[near]))
    rest = ~close & ~far & ~near
    result[rest] = np.log(special.betainc(a[rest], 0.5, w[rest]))
    return np.asarray(result - np.log(2))


def _log_beta_series(w: Floats, m: Floats, a: Floats) -> Floats:
    """ln of the regularized incomplete beta function I_w(a, 1/2), w = e^-m small."""
    total, term = np.ones_like(w), np.ones_like(w)
    for n in range(1, 8):
        term = term * w * (n - 0.5) / n
        total += term * a / (a + n)
    return np.asarray(-a * m - np.log(a) - special.betaln(a, 0.5) + np.log(total))


def central_mass(y: Floats, k: Floats) -> Floats:
    """P(0 < X < z), given the deviate y of z, which is not far from 0."""
    result = np.empty_like(y)
    small = np.abs(k) < _SMALL
    result[small] = np.exp(-log_normalizer(k[small])) * _integral(np.zeros_like(y[small]), y[small], k[small])
    a, m = _beta_shape(k[~small]), np.abs(k[~small]) * y[~small] ** 2
    mass = np.where(m < 1, special.betainc(0.5, a, -np.expm1(-m)), special.betaincc(a, 0.5, np.exp(-m)))
    result[~small] = mass / 2
    return result


def quantile(q: Floats, k: Floats) -> Floats:
    """z >= 0 with P(X > z) = q, for q <= 1/2."""
    z = np.full(q.shape, np.nan)
    z[q == 0] = _point(np.full_like(k[q == 0], np.inf), k[q == 0])
    central = (q > 0.5 - _CENTRE) & (q <= 0.5)
    z[central] = _central_quantile(0.5 - q[central], k[central])
    outer = (q > 0) & (q <= 0.5 - _CENTRE)
    y = _outer_deviate(np.log(q[outer]), k[outer])
    z[outer] = _point(y, k[outer])
    return z


def _point(y: Floats, k: Floats) -> Floats:
    """The z >= 0 of a deviate, where its square overflows too."""
    t = k * y * y
    return np.where(t > 1, np.exp(t / 2) * np.sqrt(-np.expm1(-t) / k), np.sqrt(expm1_ratio(k, y * y)))


def _outer_deviate(log_q: Floats, k: Floats) -> Floats:
    """The deviate beyond which the mass is q. ln P is concave in it, so Newton's steps cannot leave the way."""
    y = -special.ndtri_exp(log_q)
    large = np.abs(k) >= _SMALL
    w = special.betaincinv(_beta_shape(k[large]), 0.5, 2 * np.exp(log_q[large]))
    usable = (w > 1e-300) & (w < 1)  # else the normal deviate does
    y[large] = np.where(usable, np.sqrt(-np.log(np.where(usable, w, 0.5)) / np.abs(k[large])), y[large])

    def step(at: Floats, left: Ints) -> Floats:
        tail = log_tail(at, k[left])
        return np.asarray((tail - log_q[left]) * np.exp(tail - _log_density(at, k[left])))

    return _newton(y, step)


def _central_quantile(mass: Floats, k: Floats) -> Floats:
    """z with P(0 < X < z) = mass: concave in z, so Newton's steps from 0 rise to it."""
    log_z = log_normalizer(k)

    def step(at: Floats, left: Ints) -> Floats:
        y2 = log1p_ratio(k[left], at * at)
        return (mass[left] - central_mass(np.sqrt(y2), k[left])) * np.exp(log_z[left] + (1 + k[left]) / 2 * y2)

    return _newton(mass * np.exp(log_z), step)


def _newton(x: Floats, step: Callable[[Floats, Ints], Floats]) -> Floats:
    """Take Newton's steps, each place until only its last digits change."""
    left = np.arange(x.size)
    for _ in range(100):
        by = step(x[left], left)
        x[left] = np.maximum(x[left] + by, 0.0)
        left = left[np.abs(by) > _LAST_STEP * x[left]]
        if not left.size:
            break
    return x


class MultivariateCoupledGaussian:
    """Coupled Gaussian in d dimensions: multivariate t for coupling > 0, normal at 0, compact support below 0.

    Parameters
    ----------
    loc : array_like of shape (d,)
        Location: centre and mode.
    shape_matrix : array_like of shape (d, d)
        Symmetric positive definite shape matrix Sigma: the covariance at coupling 0 only.
    coupling : float, default 0
        Coupling kappa > -1/d. For kappa > 0, 1/kappa is the degrees of freedom; for kappa < 0 the support is the
        ellipsoid of squared Mahalanobis distance -1/kappa.

    Raises
    ------
    InputError
        For a shape matrix that is not symmetric positive definite, a coupling at or below -1/d, anything not
        finite, or dimensions that do not fit.

    Notes
    -----
    ``f(x) = (1 + kappa delta)_+^(-(1/kappa + d)/2) / Z``, delta the squared Mahalanobis distance ([N17] eq. 14). Its
    generalized average density of order r = -2 kappa/(1 + d kappa) is the density at distance sqrt(d). Marginal and
    conditional distributions are of the same family.

    Examples
    --------
    >>> from unperplexed.theory import MultivariateCoupledGaussian
    >>> g = MultivariateCoupledGaussian([0, 0, 0], np.eye(3), coupling=0.162)
    >>> round(g.pdf([1, 1, 1]), 5), round(g.generalized_average_density(), 5)
    (0.01152, 0.01152)
    """

    def __init__(self, loc: ArrayLike, shape_matrix: ArrayLike, coupling: float = 0.0) -> None:
        """Check the parameters."""
        self._loc = _location(loc)
        self._shape_matrix, self._root = _with_root(shape_matrix, self.d)
        if np.ndim(coupling) != 0:
            raise InputError(f"coupling: expected one number, got an array of shape {np.shape(coupling)}.")
        self._coupling = float(coupling_above(-1 / self.d, coupling))
        self._log_root = float(np.log(np.diag(self._root)).sum())

    @property
    def d(self) -> int:
        """Dimension."""
        return len(self._loc)

    @property
    def loc(self) -> Floats:
        """Location, of shape (d,)."""
        return self._loc

    @property
    def shape_matrix(self) -> Floats:
        """Shape matrix, of shape (d, d)."""
        return self._shape_matrix

    @property
    def coupling(self) -> float:
        """Coupling kappa, above -1/d."""
        return self._coupling

    def __repr__(self) -> str:
        """Name the parameters."""
        loc, shape = self.loc.tolist(), self.shape_matrix.tolist()
        return f"MultivariateCoupledGaussian(loc={loc}, shape_matrix={shape}, coupling={self.coupling!r})"

    def squared_distance(self, x: ArrayLike) -> Any:
        """Squared Mahalanobis distance from loc: (x - loc)^T Sigma^-1 (x - loc).

        Parameters
        ----------
        x : array_like of shape (..., d)
            Points.

        Returns
        -------
        float or ndarray of shape (...)
            Squared distances.

        Raises
        ------
        InputError
            For points of another dimension.
        """
        with np.errstate(all="ignore"):
            unit, squared = self._distance(x)
            return plain(unit * unit * squared)

    def pdf(self, x: ArrayLike) -> Any:
        """Density at x; 0 outside of the support. Arguments as `squared_distance`."""
        return plain(np.exp(self.logpdf(x)))

    def logpdf(self, x: ArrayLike) -> Any:
        """Natural logarithm of the density at x; -inf outside of the support. Arguments as `squared_distance`."""
        k = self.coupling
        with np.errstate(all="ignore"):
            unit, in_units = self._distance(x)
            squared = unit * unit * in_units
            kernel = log1p_ratio(k, np.where(k * squared <= -1, 0.0, squared))
            if k > 0:  # squared distances overflow where their logarithms do not
                far = np.logaddexp(0, 2 * np.log(unit) + np.log(k * in_units)) / k
                kernel = np.where(unit > FAR_OUT, far, kernel)
            value = -(1 + self.d * k) / 2 * kernel - float(log_normalizer(k, self.d)) - self._log_root
            return plain(np.where(k * squared <= -1, -np.inf, value))

    def cdf(self, x: ArrayLike, lower_limit: ArrayLike | None = None, random_state: Seed = 0) -> Any:
        """P(X <= x in every dimension), or of the box from lower_limit to x, to about five decimals.

        Parameters
        ----------
        x : array_like of shape (..., d)
            Upper corners; inf leaves a dimension open.
        lower_limit : array_like, optional
            Lower corners, broadcast against x; -inf by default.
        random_state : int, numpy.random.Generator or None, default 0
            Seed of the random shifts of 8 times 4096 points of quasi-random integration.

        Returns
        -------
        float or ndarray of shape (...)
            Probabilities; NaN where a corner has one.

        Raises
        ------
        InputError
            For points of another dimension, a lower corner above the upper, or another seed.

        Examples
        --------
        >>> from unperplexed.theory import MultivariateCoupledGaussian
        >>> round(MultivariateCoupledGaussian([0, 0], [[1, 0.5], [0.5, 1]], coupling=0.5).cdf([0, 0]), 4)
        0.3333
        """
        upper = self._points(x)
        lower = np.full(self.d, -np.inf) if lower_limit is None else self._points(lower_limit, "lower_limit")
        try:
            lower, upper = np.broadcast_arrays(lower - self.loc, upper - self.loc)
        except ValueError:
            raise InputError(f"lower_limit: shape {lower.shape} does not broadcast against x {upper.shape}.") from None
        above = lower > upper
        if above.any():
            at = tuple(np.argwhere(above)[0].tolist())
            raise InputError(f"x: below lower_limit{place_text(at)}.")
        rng = generator(random_state)
        corners = zip(lower.reshape(-1, self.d), upper.reshape(-1, self.d), strict=True)
        found = [box_probability(a, b, self._root, self.coupling, rng) for a, b in corners]
        return plain(np.array(found).reshape(upper.shape[:-1]))

    def rvs(self, size: int | tuple[int, ...] | None = None, random_state: Seed = None) -> Floats:
        """Random draws, as many as size says, each of shape (d,).

        Parameters
        ----------
        size : int or tuple of int, optional
            How many, in which shape; one draw of shape (d,) by default.
        random_state : int, numpy.random.Generator or None
            Seed or generator; the same seed gives the same draws.

        Returns
        -------
        ndarray of shape size + (d,)
            Draws.

        Raises
        ------
        InputError
            For another size or seed.
        """
        standard = draw(generator(random_state), self.coupling, () if size is None else shape_of(size), self.d)
        return np.asarray(self.loc + standard @ self._root.T)

    def mean(self) -> Floats:
        """Mean of shape (d,): loc, or NaN where it does not exist (coupling >= 1)."""
        return self.loc if self.coupling < 1 else np.full(self.d, np.nan)

    def cov(self) -> Floats:
        """Covariance matrix: Sigma/(1 - 2 kappa). From coupling 1/2 on NaN, with variances of inf below coupling 1."""
        if self.coupling < 0.5:
            return np.asarray(self.shape_matrix / (1 - 2 * self.coupling))
        missing = np.full((self.d, self.d), np.nan)
        np.fill_diagonal(missing, np.inf if self.coupling < 1 else np.nan)
        return missing

    def entropy(self) -> float:
        """Differential Shannon entropy in nats: -integral f ln f."""
        return self._log_root - float(log_average_density(self.coupling, 0.0, self.d))

    def generalized_average_density(self, r: float | None = None) -> float:
        """Average of the density over itself: (integral f^(1-r))^(-1/r), at r = 0 exp(integral f ln f).

        Parameters
        ----------
        r : float, optional
            Order; by default -2 kappa/(1 + d kappa), at which the average is the density at Mahalanobis distance
            sqrt(d).

        Returns
        -------
        float
            Average density; 0 where the integral diverges, as heavy tails make it at larger r.

        Raises
        ------
        InputError
            For an order that is not finite.
        """
        order = -2 * self.coupling / (1 + self.d * self.coupling) if r is None else float(finite("r", r))
        return float(np.exp(log_average_density(self.coupling, order, self.d) - self._log_root))

    def marginal(self, dimensions: Sequence[int] | int) -> MultivariateCoupledGaussian:
        """Distribution of some of the dimensions: of the same coupling, with their part of loc and shape matrix.

        Parameters
        ----------
        dimensions : int or sequence of int
            Which, counted from 0.

        Returns
        -------
        MultivariateCoupledGaussian
            In as many dimensions.

        Raises
        ------
        InputError
            For dimensions that are not there, or twice.
        """
        kept = self._dimensions(dimensions)
        return MultivariateCoupledGaussian(self.loc[kept], self.shape_matrix[np.ix_(kept, kept)], self.coupling)

    def conditional(self, dimensions: Sequence[int] | int, values: ArrayLike) -> MultivariateCoupledGaussian:
        """Distribution of the other dimensions, given the values of some.

        Parameters
        ----------
        dimensions : int or sequence of int
            Which are given, counted from 0.
        values : array_like of shape (k,)
            Their values, in the same order.

        Returns
        -------
        MultivariateCoupledGaussian
            In the d - k dimensions that remain, with coupling kappa/(1 + k kappa): the further out the values, the
            larger its shape matrix for heavy tails, and the smaller for compact support.

        Raises
        ------
        InputError
            For dimensions that are not there, or all of them, or values that are not finite or outside of the support.
        """
        given = self._dimensions(dimensions)
        rest = [i for i in range(self.d) if i not in given]
        if not rest:
            raise InputError("dimensions: all are given; nothing is left to have a distribution.")
        known, k = self.marginal(given), self.coupling
        at = np.atleast_1d(finite("values", values))
        if at.shape != (known.d,):
            raise InputError(f"values: expected {known.d}, one for each of the dimensions, got shape {at.shape}.")
        base = 1 + k * float(known.squared_distance(at))
        if not base > 0:
            raise InputError("values: outside of the support, where the density is 0.")
        if not base < np.inf:
            raise InputError("values: so far out that squared distances overflow.")
        slope = linalg.cho_solve((known._root, True), self.shape_matrix[np.ix_(given, rest)]).T
        loc = self.loc[rest] + slope @ (at - known.loc)
        shape = self.shape_matrix[np.ix_(rest, rest)] - slope @ self.shape_matrix[np.ix_(given, rest)]
        narrowing = 1 + len(given) * k
        return MultivariateCoupledGaussian(loc, (shape + shape.T) / 2 * base / narrowing, k / narrowing)

    @classmethod
    def fit(
        cls,
        data: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        floc: ArrayLike | None = None,
        fshape_matrix: ArrayLike | None = None,
        fcoupling: float | None = None,
        coupling_bounds: tuple[float, float] | None = None,
    ) -> CoupledFit[MultivariateCoupledGaussian]:
        """Maximum likelihood.

        Parameters
        ----------
        data : array_like of shape (n, d)
            Points.
        sample_weight : array_like of shape (n,), optional
            Weights; weight 2 is the row twice, but for the standard errors.
        floc, fshape_matrix, fcoupling : array_like, array_like, float, optional
            Parameters that are known, and kept.
        coupling_bounds : (float, float), optional
            Where to look for the coupling; from -1/(d + 2), below which standard errors fail, to 10 by default.

        Returns
        -------
        CoupledFit
            With ``distribution``, ``standard_errors`` of "loc", "shape_matrix" and "coupling", and more.

        Raises
        ------
        InputError
            For data that are not finite or lie in fewer dimensions, bad weights or parameters, or a fixed shape
            matrix and coupling whose support does not hold the data.

        Notes
        -----
        Where any m + 1 points have a share s of the weight, the likelihood is infinite at couplings above
        (1 - s)/(s d - m), for a shape matrix that vanishes across the plane through them. Unless bounds are given, the
        search ends at half of the smallest of these. Heavy-tailed likelihoods can have several maxima; the one found
        is reached from the centre of the data.

        Examples
        --------
        >>> from unperplexed.theory import MultivariateCoupledGaussian
        >>> truth = MultivariateCoupledGaussian([1, -1], [[2, 0.5], [0.5, 1]], coupling=0.25)
        >>> fit = MultivariateCoupledGaussian.fit(truth.rvs(4000, random_state=1))
        >>> bool(abs(fit.distribution.coupling - 0.25) < 2 * fit.standard_errors["coupling"])
        True
        """
        sample = Sample.of(data, sample_weight, 2)
        d = sample.x.shape[1]
        loc = None if floc is None else _location(floc, "floc")
        if loc is not None and len(loc) != d:
            raise InputError(f"floc: has {len(loc)} dimensions, the data {d}.")
        shape = None if fshape_matrix is None else _with_root(fshape_matrix, d, "fshape_matrix")[0]
        given = Given(loc, shape, fcoupling, coupling_bounds)
        return fit_elliptical(
            sample, given, lambda of_loc, of_shape, k: cls(of_loc, of_shape if shape is None else shape, k)
        )

    def _points(self, x: ArrayLike, name: str = "x") -> Floats:
        points = real(name, x)
        if points.ndim == 0 or points.shape[-1] != self.d:
            raise InputError(
                f"{name}: expected points of {self.d} dimensions, shape (..., {self.d}), got {points.shape}."
            )
        return points

    def _distance(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Largest coordinate of the standardized points, and their squared length in units of it."""
        points = self._points(x)
        flat = (points - self.loc).reshape(-1, self.d)
        z = np.abs(linalg.solve_triangular(self._root, flat.T, lower=True, check_finite=False))
        z[:, np.isinf(flat).any(axis=1) & ~np.isnan(flat).any(axis=1)] = np.inf
        largest = z.max(axis=0)
        unit = np.where((largest > 0) & (largest < np.inf), largest, 1.0)
        squared = ((z / unit) ** 2).sum(axis=0)
        return unit.reshape(points.shape[:-1]), squared.reshape(points.shape[:-1])

    def _dimensions(self, dimensions: Sequence[int] | int) -> list[int]:
        chosen = np.atleast_1d(np.asarray(dimensions))
        valid = chosen.dtype.kind in "iu" and chosen.ndim == 1 and chosen.size
        if not valid or chosen.min() < 0 or chosen.max() >= self.d or len(set(chosen.tolist())) < chosen.size:
            raise InputError(f"dimensions: expected different integers from 0 to {self.d - 1}, got {dimensions!r}.")
        return [int(i) for i in chosen]


def _location(value: ArrayLike, name: str = "loc") -> Floats:
    loc = np.atleast_1d(finite(name, value))
    if loc.ndim != 1 or loc.size == 0:
        raise InputError(f"{name}: expected a vector of shape (d,), got shape {loc.shape}.")
    return loc


_SKEW = 1e-8
"""Relative difference of two elements across the diagonal that counts as rounding."""


def _with_root(value: ArrayLike, d: int, name: str = "shape_matrix") -> tuple[Floats, Floats]:
    """A symmetric positive definite matrix of d dimensions and its Cholesky factor, or an InputError."""
    matrix = finite(name, value)
    if matrix.ndim == 0 and d == 1:
        matrix = matrix.reshape(1, 1)
    if matrix.shape != (d, d):
        raise InputError(f"{name}: expected shape ({d}, {d}) for {d} dimensions, got {matrix.shape}.")
    sizes = np.sqrt(np.abs(np.diag(matrix)))
    skew = np.abs(matrix - matrix.T) > _SKEW * np.outer(sizes, sizes)
    if skew.any():
        i, j = np.argwhere(skew)[0]
        raise InputError(f"{name}: not symmetric: {matrix[i, j]:.6g} at ({i}, {j}), {matrix[j, i]:.6g} at ({j}, {i}).")
    try:
        return matrix, np.asarray(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        raise InputError(
            f"{name}: not positive definite: its smallest eigenvalue is {lowest:.3g}. Estimates from few rows become so"
            " by shrinkage towards the diagonal."
        ) from None
