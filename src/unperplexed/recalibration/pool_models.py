"""Pools of forecasters as functions of their parameters, and their maximum-likelihood fits."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import betainc, betaincc, betaln, expit, logsumexp, softmax

from .._lib.dataclasses import Frozen, replace
from .._lib.typing import Floats, Ints
from ..statistics.matrices import product

_NEAR_ZERO = 1e-8
"""Closer to 0 than this an order is that of the geometric mean."""

_LEAST = 1e-300
"""Beta-transformed probabilities are no smaller, so that their logarithms are finite."""

_LARGEST = 6.0
"""Largest absolute parameter: what the rows do not bound ends there."""


class PoolModel(Frozen, eq=False):
    """A pool with its parameters: means of order r, renormalized, raised to a power or sent through a beta map."""

    weights: Floats
    """(members,), summing to 1."""
    order: float = 1.0
    power: float = 1.0
    beta: tuple[float, float] | None = None
    """Parameters of the beta distribution function that the positive class's probability goes through, if it does."""

    def log_means(self, log_p: Floats) -> Floats:
        """Logarithms of the weighted means of order r of (members, n, C) log-probabilities, (n, C)."""
        some = self.weights > 0
        w, x, r = self.weights[some, None, None], log_p[some], self.order
        if abs(r) < _NEAR_ZERO:
            return np.asarray((w * x).sum(axis=0))
        with np.errstate(invalid="ignore"):
            return np.asarray(logsumexp(r * x, axis=0, b=w) / r)

    def log_probabilities(self, log_p: Floats) -> Floats:
        """Logarithms of the pooled probabilities of (members, n, C) log-probabilities, (n, C)."""
        means = self.log_means(log_p)
        if self.beta is not None:
            return _through_beta(means, *self.beta)
        with np.errstate(invalid="ignore"):
            log_q = self.power * means
            return np.asarray(log_q - logsumexp(log_q, axis=1, keepdims=True))

    def probabilities(self, log_p: Floats) -> Floats:
        """Pooled probabilities, whose rows sum to 1."""
        if self.beta is None:
            return np.asarray(softmax(self.power * self.log_means(log_p), axis=1))
        q = np.exp(self.log_probabilities(log_p))
        return np.asarray(q / q.sum(axis=1, keepdims=True))


def _through_beta(log_means: Floats, a: float, b: float) -> Floats:
    """Logarithms of the beta-transformed probabilities; each side from its own, so that neither loses its digits."""
    p = np.exp(log_means)
    p /= p.sum(axis=1, keepdims=True)
    low = p[:, 1] <= 0.5
    second = np.where(low, betainc(a, b, p[:, 1]), betaincc(b, a, p[:, 0]))
    first = np.where(low, betaincc(a, b, p[:, 1]), betainc(b, a, p[:, 0]))
    return np.asarray(np.log(np.maximum(np.stack([first, second], axis=1), _LEAST)))


_NODES = 300
"""Places at which the beta distribution function is computed while a pool is fitted to more rows; a spline joins them.
"""


def _beta_losses(u: Floats, truth: Ints, a: float, b: float) -> Floats:
    """Log loss of each row whose mean has the log-odds u, of a beta-transformed pool: for fits of many rows."""
    nodes = np.linspace(u.min(), u.max(), _NODES) if u.size > _NODES and np.ptp(u) > 0 else u
    found = np.empty(u.size)
    for outcome, q in ((1, betainc(a, b, expit(nodes))), (0, betainc(b, a, expit(-nodes)))):
        some = truth == outcome
        log_q = np.log(np.maximum(q, _LEAST))
        found[some] = log_q[some] if nodes is u else CubicSpline(nodes, log_q)(u[some])
    return -found


class Free(Frozen):
    """Which parameters are fitted; the others stay as they are in the model that a fit starts from."""

    weights: bool
    order: bool
    power: bool
    beta: bool


class PoolRows(Frozen, eq=False):
    """Rows that a pool is fitted to."""

    log_p: Floats
    """(members, n, C), finite."""
    truth: Ints
    weights: Floats
    """Mean 1."""

    def __getitem__(self, keep: np.ndarray) -> PoolRows:
        """Select rows."""
        return PoolRows(self.log_p[:, keep], self.truth[keep], self.weights[keep])

    def losses(self, model: PoolModel) -> Floats:
        """Log loss of each row."""
        return np.asarray(-model.log_probabilities(self.log_p)[np.arange(self.truth.size), self.truth])


def fit_pool(start: PoolModel, free: Free, rows: PoolRows, near: Floats | None = None) -> tuple[PoolModel, Floats]:
    """Fit the free parameters of a pool by penalized maximum likelihood; returns the pool and where its parameters are.

    Weights are a softmax; their logits, the logarithms of power and beta parameters, and the order's distance from its
    start have a N(0, 1) prior, which matters in small or separated samples alone. `L-BFGS-B` minimizes the penalized
    log loss from ``start``, or from the place of an earlier fit (``near``). The gradient is exact, but for the beta
    parameters, whose derivative is a difference.

    Parameters
    ----------
    start : PoolModel
        Where the fit starts; parameters that are not free stay.
    free : Free
    rows : PoolRows
    near : array of shape (k,), optional
        Place of the free parameters in an earlier fit.

    Returns
    -------
    tuple of PoolModel and array of shape (k,)
    """
    from scipy.optimize import minimize

    shape = _Shape(start, free)

    def loss(x: Floats) -> tuple[float, Floats]:
        model = shape.model(x)
        value, slope = _beta_slope(model, shape, rows) if model.beta else _slope(model, shape, rows)
        return value + float(x @ x) / 2, slope + x

    if not shape.size:
        return start, np.zeros(0)
    first = np.zeros(shape.size) if near is None else near
    bounds = [(-_LARGEST, _LARGEST)] * shape.size
    found = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-10})
    return shape.model(found.x), np.asarray(found.x, dtype=np.float64)


class _Shape:
    """Places of the free parameters in a vector of numbers that are 0 at the start."""

    def __init__(self, start: PoolModel, free: Free) -> None:
        self.start, self.free = start, free
        k = start.weights.size
        sizes = {"weights": k if free.weights and k > 1 else 0, "order": free.order, "power": free.power}
        sizes["beta"] = 2 * (free.beta and start.beta is not None)
        ends = np.cumsum([0, *map(int, sizes.values())]).tolist()
        self.at = {name: slice(low, high) for name, low, high in zip(sizes, ends[:-1], ends[1:], strict=True)}
        self.size = ends[-1]

    def model(self, x: Floats) -> PoolModel:
        """Pool with these parameters."""
        model = self.start
        if (v := x[self.at["weights"]]).size:
            with np.errstate(divide="ignore"):
                model = replace(model, weights=softmax(np.log(model.weights) + v))
        if (r := x[self.at["order"]]).size:
            model = replace(model, order=model.order + float(r[0]))
        if (a := x[self.at["power"]]).size:
            model = replace(model, power=model.power * math.exp(a[0]))
        if (ab := x[self.at["beta"]]).size and model.beta is not None:
            model = replace(model, beta=(model.beta[0] * math.exp(ab[0]), model.beta[1] * math.exp(ab[1])))
        return model


def _slope(model: PoolModel, shape: _Shape, rows: PoolRows) -> tuple[float, Floats]:
    """Log loss of a pool without beta map, summed over the rows, and its gradient."""
    x, w, r, at = rows.log_p, model.weights, model.order, np.arange(rows.truth.size)
    means = model.log_means(x)
    log_q = model.power * means
    log_q -= logsumexp(log_q, axis=1, keepdims=True)
    value = -float(product(rows.weights, log_q[at, rows.truth]))
    apart = np.exp(log_q)
    apart[at, rows.truth] -= 1
    apart *= rows.weights[:, None]
    gradient = np.zeros(shape.size)
    gradient[shape.at["power"]] = model.power * float((apart * means).sum())
    if not (shape.free.weights or shape.free.order):
        return value, gradient
    geometric = abs(r) < _NEAR_ZERO
    share = np.broadcast_to(w[:, None, None], x.shape) if geometric else w[:, None, None] * np.exp(r * (x - means))
    # Terms that are the same for all classes add nothing, since each row of ``apart`` sums to 0.
    by_weight = share * x if geometric else (share - w[:, None, None]) / r
    by_weight = model.power * np.einsum("nc,knc->k", apart, by_weight)
    gradient[shape.at["weights"]] = (by_weight - w * by_weight.sum())[: shape.at["weights"].stop]
    inner = (share * x).sum(axis=0)
    by_order = ((w[:, None, None] * (x - inner) ** 2).sum(axis=0) / 2) if geometric else (inner - means) / r
    gradient[shape.at["order"]] = model.power * float((apart * by_order).sum())
    return value, gradient


def _beta_slope(model: PoolModel, shape: _Shape, rows: PoolRows) -> tuple[float, Floats]:
    """Log loss of a beta-transformed linear pool, summed over the rows, and its gradient."""
    assert model.beta is not None
    a, b = model.beta
    means = model.log_means(rows.log_p)
    u = means[:, 1] - means[:, 0]
    losses = _beta_losses(u, rows.truth, a, b)
    gradient = np.zeros(shape.size)
    if shape.at["weights"].stop:
        log_density = (a - 1) * means[:, 1] + (b - 1) * means[:, 0] - betaln(a, b)
        of_row = rows.weights * np.where(rows.truth == 1, -1.0, 1.0) * np.exp(log_density + losses)
        by_weight = model.weights * product(np.exp(rows.log_p[:, :, 1]), of_row)
        gradient[shape.at["weights"]] = by_weight - model.weights * by_weight.sum()

    def loss(a: float, b: float) -> float:
        return float(product(rows.weights, _beta_losses(u, rows.truth, a, b)))

    up, down = math.exp(_STEP), math.exp(-_STEP)
    by_beta = [loss(a * up, b) - loss(a * down, b), loss(a, b * up) - loss(a, b * down)]
    gradient[shape.at["beta"]] = np.array(by_beta) / (2 * _STEP)
    return float(product(rows.weights, losses)), gradient


_STEP = 1e-4
"""Half the distance, in the logarithm of a beta parameter, over which differences are taken."""
