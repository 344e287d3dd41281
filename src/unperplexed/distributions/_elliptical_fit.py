"""Location and shape matrix of largest likelihood, at a coupling and over couplings, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from .._typing import Floats
from ..errors import InputError
from ._elliptical import log_normalizer
from ._newton import minimize
from ._series import log1p_ratio
from .fitting import Sample, best_coupling, log_curvature, sandwich


def regular_bound(d: int) -> float:
    """Above this coupling the density falls to 0 smoothly enough for standard errors (Smith 1985)."""
    return -1 / (d + 2)


@dataclass(frozen=True)
class EllipticalFit:
    """Estimates, and the covariance matrix of the free ones in the order loc, lower triangle of the shape, coupling."""

    loc: Floats
    shape: Floats
    coupling: float
    log_likelihood: float
    at_bound: bool
    errors: dict[str, Floats]


def fit_elliptical(
    sample: Sample, loc: Floats | None, shape: Floats | None, coupling: float | None, bounds: tuple[float, float]
) -> EllipticalFit:
    """Fit what is None."""
    problem = _Whitened(sample, loc, shape)
    at_bound = False
    if coupling is None:
        coupling, at_bound = best_coupling(problem.loss, bounds, sample.x.shape[1])
        coupling_free = not at_bound
    else:
        coupling_free = False
    value = problem.loss(coupling)
    if not np.isfinite(value):
        raise InputError(
            f"data: no fit at coupling {coupling:.6g}; with the fixed parameters, points lie outside of its compact"
            " support. Fix a larger scale, a larger coupling, or fix less."
        )
    found_loc, found_shape = problem.estimates(coupling)
    errors = _errors(sample, found_loc, found_shape, coupling, loc is None, shape is None, coupling_free)
    return EllipticalFit(found_loc, found_shape, coupling, -value * sample.total, at_bound, errors)


class _Whitened:
    """The likelihood in coordinates where the data are round, as a function of z = A x - b, A lower triangular.

    For couplings up to 0 its negative is convex in A and b, so there is one optimum. It is infinite where points
    would lie outside of compact support.
    """

    def __init__(self, sample: Sample, loc: Floats | None, shape: Floats | None) -> None:
        """Choose the coordinates: those of the fixed parameters, or robust estimates."""
        self.sample, self.d = sample, sample.x.shape[1]
        self.free_loc, self.free_shape = loc is None, shape is None
        centre, root = _robust_coordinates(sample, loc, shape)
        self.centre, self.root = centre, root
        self.x = linalg.solve_triangular(root, (sample.x - centre).T, lower=True).T
        self.log_root = float(np.log(np.diag(root)).sum())
        self.triangle = np.tril_indices(self.d)
        self.solved: dict[float, Floats] = {}

    def loss(self, coupling: float) -> float:
        """Mean negative log-likelihood at the best location and shape for this coupling."""
        if coupling not in self.solved:
            self.solved[coupling] = self._solve(coupling)
        return self._value(self.solved[coupling], coupling) + self.log_root + float(log_normalizer(coupling, self.d))

    def estimates(self, coupling: float) -> tuple[Floats, Floats]:
        """Location and shape matrix that `loss` found."""
        a, b = self._parts(self.solved[coupling])
        inner = linalg.solve_triangular(a, np.eye(self.d), lower=True)
        root = self.root @ inner
        return self.centre + root @ b, root @ root.T

    def _solve(self, k: float) -> Floats:
        start = min(self.solved, key=lambda other: abs(other - k), default=None)
        theta = self._start() if start is None else self.solved[start]
        theta = self._inside(theta, k)
        if not (self.free_loc or self.free_shape) or not np.isfinite(self._value(theta, k)):
            return theta
        return minimize(
            lambda t: self._value(t, k), lambda t: self._gradient(t, k), lambda t, p: self._curvature(t, p, k), theta
        )

    def _start(self) -> Floats:
        return self._vector(np.eye(self.d), np.zeros(self.d))

    def _inside(self, theta: Floats, k: float) -> Floats:
        """Shrink the data into compact support, if the shape is free to."""
        a, b = self._parts(theta)
        if k < 0 and self.free_shape:
            reach = -k * self._squared(a, b)[0].max()
            if reach > 0.9:
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
        return (z * z).sum(axis=1), z

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


def _robust_coordinates(sample: Sample, loc: Floats | None, shape: Floats | None) -> tuple[Floats, Floats]:
    """Centre and Cholesky factor of a shape that a few far points cannot stretch."""
    d = sample.x.shape[1]
    centre = _weighted_median(sample.x, sample.w) if loc is None else loc
    if shape is not None:
        return centre, np.linalg.cholesky(shape)
    spread = np.sqrt(sample.mean((sample.x - centre) ** 2))
    middle = _weighted_median(np.abs(sample.x - centre), sample.w)
    size = np.where(middle > 1e-6 * spread, middle, spread)
    if not np.all(size > 0):
        raise InputError(_degenerate(d))
    x = (sample.x - centre) / size
    scatter = np.eye(d)
    for _ in range(20):  # the iteration of the t distribution with two degrees of freedom
        try:
            z = linalg.solve_triangular(np.linalg.cholesky(scatter), x.T, lower=True)
        except np.linalg.LinAlgError:
            raise InputError(_degenerate(d)) from None
        u = sample.w / (2 + (z * z).sum(axis=0))
        scatter = (x.T * (u / u.sum())) @ x
        if not np.linalg.cond(scatter) < 1e13:
            raise InputError(_degenerate(d))
    return centre, np.asarray(size[:, None] * np.linalg.cholesky(scatter))


def _degenerate(d: int) -> str:
    if d == 1:
        return "data: all values are equal; no scale can be fitted. Fix it with fscale."
    return (
        "data: the points lie in a plane of fewer dimensions, so the shape matrix would be singular. Leave out the"
        " columns that others determine, take more rows than columns, or fix it with fshape_matrix."
    )


def _weighted_median(x: Floats, w: Floats) -> Floats:
    order = np.argsort(x, axis=0, kind="stable")
    half = np.argmax(np.cumsum(w[order], axis=0) >= 0.5, axis=0)
    return np.asarray(np.take_along_axis(np.take_along_axis(x, order, axis=0), half[None, :], axis=0)[0])


def _errors(
    sample: Sample, loc: Floats, shape: Floats, k: float, free_loc: bool, free_shape: bool, free_coupling: bool
) -> dict[str, Floats]:
    """Standard errors of the free parameters, from the scores of the rows."""
    d = len(loc)
    inverse = np.linalg.inv(shape)
    pull = (sample.x - loc) @ inverse
    squared = (pull * (sample.x - loc)).sum(axis=1)
    base = 1 + k * squared
    u = (1 + d * k) / base
    parts = []
    rows, columns = np.tril_indices(d)
    if free_loc:
        parts.append(u[:, None] * pull)
    if free_shape:
        twice = np.where(rows == columns, 0.5, 1.0)  # entries off the diagonal stand twice in the matrix
        parts.append(twice * (u[:, None] * pull[:, rows] * pull[:, columns] - inverse[rows, columns]))
    if free_coupling:
        score = (squared**2 * log_curvature(k * squared) - d * squared / base) / 2
        parts.append((score - sample.mean(score))[:, None])  # the normalization's part: scores average to 0
    if not parts:
        return {}
    error = np.sqrt(np.diag(sandwich(np.hstack(parts), sample)))
    ends = np.cumsum([part.shape[1] for part in parts])
    pieces = iter(np.split(error, ends[:-1]))
    found: dict[str, Floats] = {}
    if free_loc:
        found["loc"] = next(pieces)
    if free_shape:
        full = np.empty((d, d))
        full[rows, columns] = full[columns, rows] = next(pieces)
        found["shape_matrix"] = full
    if free_coupling:
        found["coupling"] = next(pieces)[0]
    return found
