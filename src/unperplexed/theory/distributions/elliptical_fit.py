"""Location and shape matrix of largest likelihood, at a coupling and over couplings, in any dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg

from ..._lib.errors import InputError, rows_text
from ..._lib.typing import Floats
from ..coupled import expm1_ratio, log1p_ratio
from .fitting import CoupledFit, D, Given, Sample, best_coupling, coupling_range, infinite_from, is_regular, minimize
from .series import FAR_OUT, NEAR_END, base_of_power, digamma_step, log_gamma_step

_REACH = 1e70
"""Fourth powers of sizes up to it are floats, and so are those of their inverses."""

_PLANE = (
    "many of the points lie in a plane, and a shape matrix that vanishes across it has infinite likelihood. Set a"
    " smaller coupling, or fix the shape matrix."
)

_ENOUGH = 5000
"""Rows that tell about where the best coupling is."""

_COLLAPSED = 1e3
"""Shapes flatter than the bulk of the data by the square of this are on the way to a plane."""

_SINGULAR = 1e13
"""Condition number of a scatter matrix that counts as infinite."""

_REACHING = 0.9
"""Share of compact support, in squared distances, beyond which the farthest point is moved halfway in."""

_MOST_STEPS, _ROUGHLY = 200, 1e-3
"""Steps to a shape for coordinates, and the relative change at which it is good enough for them."""

_FAR = 1e70
"""Products of four distances up to it are floats."""


def regular_bound(d: int) -> float:
    """Above this coupling the density falls to 0 smoothly enough for standard errors (Smith 1985)."""
    return -1 / (d + 2)


def fit_elliptical(sample: Sample, given: Given, made: Callable[[Floats, Floats, float], D]) -> CoupledFit[D]:
    """Fit what is not given; a distribution is made of location, shape matrix and coupling."""
    (loc, shape, coupling, bounds), d = given, sample.x.shape[1]
    sides = _Sides(sample, loc, shape)
    infinite = np.inf if shape is not None else infinite_from(sample, loc)
    ends = coupling_range(given, d, regular_bound(d), infinite)
    rough = _Sides(sample.some(_ENOUGH), loc, shape).loss if len(sample.x) > 2 * _ENOUGH else None
    k, at_bound = best_coupling(sides.loss, ends, d, rough)
    if coupling is None and sides.collapsed() < np.inf:
        if bounds is not None:
            raise InputError(f"data: no fit at coupling {sides.collapsed():.6g} of coupling_bounds; {_PLANE}")
        for highest in (sides.collapsed() / 2, 0.0):
            k, at_bound = best_coupling(sides.loss, (ends[0], highest), d)
            if k <= 0 or sides.loss(k) < np.inf:
                break
    problem = sides.of(k)
    if isinstance(problem, InputError):
        raise problem
    value = problem.loss(k)
    if not np.isfinite(value):
        why = (
            _PLANE
            if shape is None
            else "with the fixed parameters, points lie outside of its compact support. Fix a larger scale, a larger"
            " coupling, or fix less."
        )
        raise InputError(f"data: no fit at coupling {k:.6g}; {why}")
    if not problem.converged[k]:
        raise InputError(f"data: the search for the largest likelihood at coupling {k:.6g} has not come to an end.")
    found_loc, found_shape = problem.estimates(k)
    free = {"loc": loc is None, "shape_matrix": shape is None, "coupling": coupling is None}
    errors = _errors(found_loc, found_shape, k, sample.effective, free, at_bound)
    found, regular = made(found_loc, found_shape, k), is_regular(k, regular_bound(d))
    return CoupledFit(found, errors, -value * sample.total, len(sample.x), at_bound, regular)


class _Sides:
    """The likelihood on either side of coupling 0, each in coordinates of its own.

    Up to 0 far points have a say, and coordinates are those of mean and covariance; above, of the bulk of the data.
    """

    def __init__(self, sample: Sample, loc: Floats | None, shape: Floats | None) -> None:
        """Nothing is computed before it is asked for."""
        self.arguments = sample, loc, shape
        self.known: dict[bool, _Whitened | InputError] = {}

    def of(self, k: float) -> _Whitened | InputError:
        """The side of a coupling, or why there is none."""
        heavy = k > 0
        if heavy not in self.known:
            try:
                self.known[heavy] = _Whitened(*self.arguments, heavy)
            except InputError as error:
                self.known[heavy] = error
        return self.known[heavy]

    def collapsed(self) -> float:
        """The lowest coupling above 0 that was found to have infinite likelihood, because of points in a plane."""
        heavy = self.known.get(True)
        if isinstance(heavy, InputError):
            return 0.0
        return min(heavy.collapsed, default=np.inf) if heavy else np.inf

    def loss(self, k: float) -> float:
        """Mean negative log-likelihood at the best location and shape; infinite where there is none."""
        side = self.of(k)
        return np.inf if isinstance(side, InputError) else side.loss(k)


class _Whitened:
    """The likelihood in coordinates where the data are round, as a function of z = A x - b, A lower triangular.

    For couplings up to 0 its negative is convex in A and b, so there is one optimum. It is infinite where points
    would lie outside of compact support.
    """

    def __init__(self, sample: Sample, loc: Floats | None, shape: Floats | None, heavy: bool) -> None:
        """Choose the coordinates: those of the fixed parameters, or estimates."""
        self.sample, self.d = sample, sample.x.shape[1]
        self.free_loc, self.free_shape = loc is None, shape is None
        self.heavy = heavy
        self.centre = _centre(sample, heavy) if loc is None else loc
        root_of = _robust_root if heavy else _moment_root
        self.root = root_of(sample, self.centre) if shape is None else np.asarray(np.linalg.cholesky(shape))
        self.x = linalg.solve_triangular(self.root, (sample.x - self.centre).T, lower=True).T
        _check_reach(self.x)
        self.log_root = float(np.log(np.diag(self.root)).sum())
        self.triangle = np.tril_indices(self.d)
        self.solved: dict[float, Floats] = {}
        self.converged: dict[float, bool] = {}
        self.collapsed: set[float] = set()

    def loss(self, coupling: float) -> float:
        """Mean negative log-likelihood at the best location and shape for this coupling."""
        if coupling not in self.solved:
            self.solved[coupling], self.converged[coupling] = self._solve(coupling)
        if self.heavy and self.free_shape:
            a, _ = self._parts(self.solved[coupling])
            if np.linalg.cond(a) > _COLLAPSED:  # on the way to an infinite likelihood
                self.collapsed.add(coupling)
                return np.inf
        return self._value(self.solved[coupling], coupling) + self.log_root + float(log_normalizer(coupling, self.d))

    def estimates(self, coupling: float) -> tuple[Floats, Floats]:
        """Location and shape matrix that `loss` found."""
        a, b = self._parts(self.solved[coupling])
        inner = linalg.solve_triangular(a, np.eye(self.d), lower=True)
        root = self.root @ inner
        return self.centre + root @ b, root @ root.T

    def _solve(self, k: float) -> tuple[Floats, bool]:
        start = min(self.solved, key=lambda other: abs(other - k), default=None)
        theta = self._vector(np.eye(self.d), np.zeros(self.d)) if start is None else self.solved[start]
        theta = self._inside(theta, k)
        if not (self.free_loc or self.free_shape) or not np.isfinite(self._value(theta, k)):
            return theta, True
        return minimize(
            lambda t: self._value(t, k), lambda t: self._gradient(t, k), lambda t, p: self._curvature(t, p, k), theta
        )

    def _inside(self, theta: Floats, k: float) -> Floats:
        """Shrink the data into compact support, if the shape is free to."""
        a, b = self._parts(theta)
        if k < 0 and self.free_shape:
            reach = -k * self._squared(a, b)[0].max()
            if reach > _REACHING:
                theta = self._vector(a * np.sqrt(0.5 / reach), b * np.sqrt(0.5 / reach))
        return theta

    def _vector(self, a: Floats, b: Floats) -> Floats:
        parts = ([a[self.triangle]] if self.free_shape else []) + ([b] if self.free_loc else [])
        return np.concatenate([*parts, np.empty(0)])

    def _parts(self, theta: Floats) -> tuple[Floats, Floats]:
        a, b, used = np.eye(self.d), np.zeros(self.d), 0
        if self.free_shape:
            used = len(self.triangle[0])
            a[self.triangle] = theta[:used]
        if self.free_loc:
            b = theta[used:]
        return a, b

    def _squared(self, a: Floats, b: Floats) -> tuple[Floats, Floats]:
        """Squared distances and the z they are of."""
        z = self._product(a) - b
        return np.asarray((z * z).sum(axis=1)), z

    def _product(self, a: Floats) -> Floats:
        return self.x * a[0, 0] if self.d == 1 else np.asarray(self.x @ a.T)

    def _moment(self, pull: Floats) -> Floats:
        return np.array([[(pull * self.x).sum()]]) if self.d == 1 else np.asarray(pull.T @ self.x)

    def _value(self, theta: Floats, k: float) -> float:
        a, b = self._parts(theta)
        squared, _ = self._squared(a, b)
        if np.any(np.diag(a) <= 0) or (k < 0 and not -k * squared.max() < 1):
            return np.inf
        kernel = (1 + self.d * k) / 2 * log1p_ratio(k, squared)
        return float(self.sample.mean(kernel) - np.log(np.diag(a)).sum())

    def _gradient(self, theta: Floats, k: float) -> Floats:
        a, b = self._parts(theta)
        squared, z = self._squared(a, b)
        pull = (self.sample.w * (1 + self.d * k) / (1 + k * squared))[:, None] * z
        return self._vector(self._moment(pull) - np.diag(1 / np.diag(a)), -pull.sum(axis=0))

    def _curvature(self, theta: Floats, direction: Floats, k: float) -> Floats:
        a, b = self._parts(theta)
        da, db = self._parts(direction)
        if not self.free_shape:
            da = np.zeros_like(a)
        squared, z = self._squared(a, b)
        dz = self._product(da) - db
        base = 1 + k * squared
        u = self.sample.w * (1 + self.d * k) / base
        du = -2 * k * u / base * (z * dz).sum(axis=1)
        pull = du[:, None] * z + u[:, None] * dz
        return self._vector(self._moment(pull) + np.diag(np.diag(da) / np.diag(a) ** 2), -pull.sum(axis=0))


def _centre(sample: Sample, heavy: bool) -> Floats:
    """Median, which heavy tails do not move, or mean."""
    middle = _weighted_median(sample.x, sample.w)  # first, so that a mean far from 0 keeps its digits
    return middle if heavy else middle + np.asarray(sample.mean(sample.x - middle))


def _moment_root(sample: Sample, centre: Floats) -> Floats:
    """Cholesky factor of the covariance."""
    away = sample.x - centre
    size = np.abs(away).max(axis=0)
    _check_size(size)
    z = away / size
    z = z / np.sqrt(sample.mean(z * z))
    scatter = np.einsum("n,ni,nj->ij", sample.w, z, z)
    if not np.linalg.cond(scatter) < _SINGULAR:
        raise InputError(_degenerate(sample.x.shape[1]))
    spread = np.sqrt(sample.mean((away / size) ** 2)) * size
    return np.asarray(spread[:, None] * np.linalg.cholesky(scatter))


def _robust_root(sample: Sample, centre: Floats) -> Floats:
    """Cholesky factor of a shape that a few far points cannot stretch."""
    size = np.array([_middle(column, sample.w) for column in np.abs(sample.x - centre).T])
    _check_size(size)
    x = (sample.x - centre) / size
    _check_reach(x)
    scatter = np.eye(sample.x.shape[1])
    for _ in range(_MOST_STEPS):  # the iteration of the t distribution with two degrees of freedom
        z = linalg.solve_triangular(np.linalg.cholesky(scatter), x.T, lower=True)
        u = sample.w / (2 + (z * z).sum(axis=0))
        last, scatter = scatter, (x.T * (u / u.sum())) @ x
        if not np.linalg.cond(scatter) < _SINGULAR:
            raise InputError(f"data: no fit at couplings above 0; {_PLANE}")
        if np.abs(scatter - last).max() < _ROUGHLY * np.abs(scatter).max():
            break
    return np.asarray(size[:, None] * np.linalg.cholesky(scatter))


def _check_size(size: Floats) -> None:
    if not np.all(size > 0):
        raise InputError(_degenerate(len(size)))
    if not np.all((size > 1 / _REACH) & (size < _REACH)):
        raise InputError(f"data: of size {size.max():.3g}, its squares overflow or vanish; give it in other units.")


def _check_reach(x: Floats) -> None:
    far = np.flatnonzero(~(np.abs(x) < _FAR).all(axis=1))
    if far.size:
        raise InputError(f"data: {rows_text(far)} so far from the others that products overflow; leave them out.")


def _middle(distance: Floats, w: Floats) -> float:
    """Median distance of a point that is not at the centre; 0 if all are."""
    away = distance > 0
    if not away.any():
        return 0.0
    return float(_weighted_median(distance[away, None], w[away] / w[away].sum())[0])


def _degenerate(d: int) -> str:
    if d == 1:
        return "data: all values are equal; no scale can be fitted. Fix it with fscale."
    return (
        "data: the points lie in a plane of fewer dimensions, or a few so far out that beside them the others do; the"
        " shape matrix would be singular. Leave out columns that others determine, or the far points, take more rows"
        " than columns, or fix it with fshape_matrix."
    )


def _weighted_median(x: Floats, w: Floats) -> Floats:
    return np.asarray(np.quantile(x, 0.5, axis=0, weights=w, method="inverted_cdf"))


def _errors(loc: Floats, shape: Floats, k: float, n: float, free: dict[str, bool], at_bound: bool) -> dict[str, Floats]:
    """Standard errors of the free parameters, from the expected information in n rows.

    In coordinates where the shape is the identity, a change of loc by m, of the shape by H and of the coupling by h
    has information c |m|^2 + c/2 |H|^2 + (c - 1)/4 (tr H)^2 + h K tr H + h^2 V, with c = (1 + d k)/(1 + (d + 2) k)
    (Lange, Little and Taylor 1989, for t). So the part of H without trace stands apart from trace and coupling.
    """
    d = len(loc)
    if not is_regular(k, regular_bound(d)):
        c = trace = cross = curvature = np.nan
    else:
        c = (1 + d * k) / (1 + (d + 2) * k)
        trace, (cross, curvature) = c / (2 * d) + (c - 1) / 4, _coupling_information(k, d)
    if free["shape_matrix"] and free["coupling"] and not at_bound:
        both = np.array([[trace, cross / 2], [cross / 2, curvature]])
        var_trace, var_coupling = np.diag(np.linalg.inv(both))
    else:
        var_trace, var_coupling = 1 / trace, np.nan if at_bound else 1 / curvature
    size = np.diag(shape)
    square = shape**2
    var_shape = (np.outer(size, size) + square - 2 / d * square) / c + var_trace / d**2 * square
    variances = {"loc": size / c, "shape_matrix": var_shape, "coupling": var_coupling}
    return {name: np.sqrt(value / n) for name, value in variances.items() if free[name]}


def _coupling_information(k: float, d: int) -> tuple[float, float]:
    """Information of the coupling with the trace of the shape, K, and with itself, V: integrals over the distance.

    In the logarithm of v = ln(1 + kappa delta)/kappa the trapezoidal rule is as good as exact for every coupling. For
    compact support the scores grow as e^(|kappa| v), which is kept with the weights, so that neither overflows.
    """
    v = np.exp(np.linspace(-60.0, np.log(120 / (1.0 if k >= 0 else 1 + (d + 2) * k)), 4000))
    x = abs(k) * v
    part = expm1_ratio(-abs(k), v)  # delta/(1 + kappa delta), over the growth
    bend = v**2 * (_heavy_bend(x) if k >= 0 else _compact_bend(x))
    score, pull = (bend - d * part) / 2, (1 + d * k) * part
    growth = x if k < 0 else 0.0
    log_weight = np.log(v) + (d / 2 - 1) * (max(k, 0.0) * v + np.log(part)) + (k - (1 + d * k) / 2) * v
    log_weight -= np.log(np.exp(log_weight).sum())
    mean = float(np.exp(log_weight + growth) @ score)
    twice = np.exp(log_weight + 2 * growth)
    # What the normalization adds to the score makes it average to 0; the pull averages to d.
    return float(twice @ (score * pull)) / d - mean, float(twice @ score**2) - mean**2


_SERIES = 1e-2
"""Below it the first terms of a series are taken, where the closed forms cancel."""


def _heavy_bend(x: Floats) -> Floats:
    """(x - (1 - e^-x))/x^2, which is 1/2 at 0."""
    near = x < _SERIES
    safe = np.where(near, 1.0, x)
    return np.where(near, 1 / 2 - x * (1 / 6 - x * (1 / 24 - x / 120)), (safe + np.expm1(-safe)) / safe**2)


def _compact_bend(x: Floats) -> Floats:
    """(1 - (1 + x) e^-x)/x^2, which is 1/2 at 0."""
    near = x < _SERIES
    safe = np.where(near, 1.0, x)
    return np.where(near, 1 / 2 - x * (1 / 3 - x * (1 / 8 - x / 30)), (1 - (1 + safe) * np.exp(-safe)) / safe**2)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
"""Gauss' rule of twelve nodes."""


def _argument(coupling: Any, d: int, q: Any) -> Floats:
    """b, so that b/|kappa| is the argument of the gamma function; not positive where the integral diverges."""
    return np.asarray(q * (1 + d * coupling) / 2 - np.where(coupling > 0, d / 2, 1.0) * coupling)


def log_normalizer(coupling: Any, d: int = 1, q: Any = 1.0) -> Floats:
    """ln of the integral of (1 + kappa |z|^2)^(-q (1/kappa + d)/2) over d dimensions; +inf where it diverges."""
    b = _argument(coupling, d, q)
    safe = np.where(b > 0, b, 1.0)
    value = d / 2 * np.log(np.pi / safe) - log_gamma_step(np.abs(coupling) / safe, d / 2)
    return np.where(b > 0, value, np.inf)


def mean_log_kernel(coupling: Any, d: int = 1, q: Any = 1.0) -> Floats:
    """Mean of (1/kappa + d)/2 ln(1 + kappa |z|^2) under the density proportional to the q-th power."""
    b = _argument(coupling, d, q)
    return np.asarray((1 + d * coupling) / 2 * digamma_step(np.abs(coupling) / b, d / 2) / b)


def log_average_density(coupling: Any, r: Any, d: int = 1) -> Floats:
    """ln (integral f^(1-r))^(-1/r) at unit scale; r = 0: integral f ln f; -inf where the integral diverges."""
    coupling, r = np.broadcast_arrays(np.asarray(coupling, float), np.asarray(r, float))
    whole = (1 + d * coupling) / 2
    # Next to order 0 the difference below cancels. It is a mean of the derivative between 1 - r and 1, by Gauss'
    # rule, which wants to be far from where the integral begins to diverge.
    close = np.abs(r) < 0.1 * np.minimum(1, _argument(coupling, d, 1.0) / whole)
    near, far = np.where(close, r, 0.0), np.where(close, 1.0, r)
    steps = (
        mean_log_kernel(coupling, d, 1 - near * (x + 1) / 2) * w / 2 for x, w in zip(_NODES, _WEIGHTS, strict=True)
    )
    by_derivative = -log_normalizer(coupling, d) - sum(steps)
    directly = -(log_normalizer(coupling, d, 1 - far) - (1 - far) * log_normalizer(coupling, d)) / far
    return np.where(close, by_derivative, directly)


def squared_deviate(x: Floats, loc: Floats, scale: Floats, coupling: Floats) -> Floats:
    """ln(1 + kappa z^2)/kappa: z^2 at coupling 0, infinite outside of compact support.

    Parameters
    ----------
    x, loc, scale, coupling : arrays of one shape
        Points, and the location, scale (above 0) and coupling (above -1) at each.
    """
    z = np.abs((x - loc) / scale)
    far = z > FAR_OUT
    near_z = np.where(far, 1.0, z)
    base = np.maximum(base_of_power(coupling, np.where(far, loc, x), loc, scale, 2), 0.0)
    inner = np.where(base < NEAR_END, np.log(base) / coupling, log1p_ratio(coupling, near_z * near_z))
    # z^2 overflows where its logarithm does not.
    outer = np.where(coupling > 0, np.logaddexp(0, 2 * np.log(z) + np.log(np.abs(coupling))) / coupling, np.inf)
    return np.where(far, outer, inner)


def draw(rng: np.random.Generator, coupling: Any, shape: tuple[int, ...], d: int = 1) -> Floats:
    """Standard draws of shape (*shape, d): normal vectors divided by a random length, for every coupling alike.

    Parameters
    ----------
    rng : numpy.random.Generator
        Source of random numbers.
    coupling : float or array
        Couplings above -1/d, which broadcast to ``shape``.
    shape : tuple of int
        Shape of the draws.
    d : int, default 1
        Dimension of each.
    """
    k = np.broadcast_to(np.asarray(coupling, float), shape)
    size, b = np.abs(k), _argument(k, d, 1.0)
    normal = rng.standard_normal((*shape, d))
    with np.errstate(over="ignore", divide="ignore"):
        # A gamma variable of shape b/|kappa|, times |kappa|: 1/2 at coupling 0. Through the next shape up, so that the
        # logarithm of small ones is right where they underflow.
        raised = rng.standard_gamma(np.minimum(b / np.maximum(size, 1e-300), 1e300) + 1)
        log_gamma = np.where(size > 1e-30, np.log(size * raised), np.log(b))
        log_gamma = log_gamma - size / b * rng.standard_exponential(shape)
        heavy = np.exp(-(np.log(2) + log_gamma) / 2)
        compact = (2 * np.exp(log_gamma) + size * (normal**2).sum(axis=-1)) ** -0.5
        return np.asarray(normal * np.where(k < 0, compact, heavy)[..., None])
