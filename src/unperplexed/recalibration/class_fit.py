"""Penalized maximum-likelihood fits of the linear maps of `class_linear`.

Each fit is Fisher scoring with step halving. The shared slope has a normal prior of standard deviation 2 around 1;
biases and slopes have normal priors whose variances are estimated from the data by the fixed point of empirical Bayes
(MacKay 1992): variance = (sum of squares + trace of the posterior covariance) / C.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._lib.typing import Floats, Ints
from .class_linear import PARTS, SMALLEST, FitRows, LinearMap, Parts, softmax

SHARED_VARIANCES = (4.0, 1.0, 1.0)
"""Prior variances of the shared slope's distance from 1 and of the coefficients of the shared curves."""

BLOCK_ELEMENTS = 1 << 17
"""Rows times classes that are worked on at a time, so that intermediate arrays stay in the cache."""


class Derivatives(NamedTuple):
    """Log-likelihood with its gradient and Fisher information."""

    value: float
    gradient: Floats
    information: Floats


class Curvature(NamedTuple):
    """A block of rows at a fitted map: derivatives of the log-likelihood by the scores t.

    The Fisher information of a row is diag(s) - h q' - q h'.
    """

    value: float
    q: Floats
    """Probabilities before the lapse."""
    mixed: Floats
    """Probabilities after the lapse."""
    at_truth: Floats
    """Probability of the observed class."""
    rest: Floats
    """Gradient."""
    s: Floats
    h: Floats


def curvature(t: Floats, truth: Ints, weights: Floats, e: float) -> Curvature:
    """Return the derivatives of a block of rows with scores t and the lapse e."""
    q, each = softmax(t), np.arange(truth.size)
    mixed = (1 - e) * q + e / q.shape[1] if e else q
    at_truth = np.maximum(mixed[each, truth], SMALLEST)
    pull = weights * (1 - e) * q[each, truth] / at_truth
    rest = -pull[:, None] * q
    rest[each, truth] += pull
    s = weights[:, None] * q
    if e:
        s *= (1 - e) ** 2 * q / mixed
    h = s - 0.5 * s.sum(axis=1, keepdims=True) * q
    return Curvature(float(weights @ np.log(at_truth)), q, mixed, at_truth, rest, s, h)


def fit_linear(name: str, rows: FitRows, start: LinearMap) -> LinearMap:
    """Fit one map from the parameters of another that is near; without a lapse where none improves the fit.

    For a map with a lapse the start is taken as fitted where it has the same other parameters and no lapse.
    """
    parts = PARTS[name]
    start, started = replace(start, name=name, log_floor=rows.log_floor, matrix=None), PARTS.get(start.name)
    if parts.lapse and not start.lapse:
        if started != parts._replace(lapse=False):
            start = _Fit(parts._replace(lapse=False), rows).run(start)
        if lapse_score(rows, start) <= 0:
            return start
    return _Fit(parts, rows).run(start)


def increasing(fitted: LinearMap) -> bool:
    """Whether each class's probability rises with its predicted one while the others keep their proportions.

    With f the curve that all classes share, the scores of classes c and k part where f'(s_c) + f'(s_k) p_c / (1 - p_k)
    is positive at their log-odds s; this looks at all pairs with p_c + p_k of at most 1. With slopes of the classes,
    those of c and k part at all probabilities where both slopes are positive; so the smallest stands for all.
    """
    slope = fitted.slope + (float(fitted.slopes.min()) if fitted.matrix is None else 0.0)
    s = np.linspace(fitted.log_floor, -fitted.log_floor, 101)
    p = 1 / (1 + np.exp(-s))
    rise = slope * (1 - p) - fitted.curves[0] * p + fitted.curves[1] * np.log1p(np.abs(s))
    apart = rise[:, None] + rise * p[:, None] / (1 - p)
    return bool((apart[s[:, None] + s <= 1e-9] > 0).all())


def made_increasing(fitted: LinearMap, simple: LinearMap) -> LinearMap:
    """Return the map if it is increasing, else the first one that is on the way to a simpler map that is."""
    for part in np.linspace(0, 1, 21):
        found = between(fitted, simple, float(part))
        if increasing(found):
            return found
    return replace(simple, name=fitted.name)


def between(fitted: LinearMap, other: LinearMap, part: float) -> LinearMap:
    """Return a map whose parameters lie between those of two."""

    def mean(of_first: Any, of_second: Any) -> Any:
        return of_first + part * (of_second - of_first)

    named = ("slope", "biases", "slopes", "lapse", "curves")
    return replace(fitted, **{name: mean(getattr(fitted, name), getattr(other, name)) for name in named})


def lapse_score(rows: FitRows, fitted: LinearMap) -> float:
    """Return the derivative of the log-likelihood by the lapse at a lapse of 0: a lapse helps where it is positive."""
    q = fitted.probabilities(rows.z)
    return float(rows.weights @ (1 / (q.shape[1] * q[np.arange(rows.truth.size), rows.truth]) - 1))


_FEWEST, _FIRST = 1e-6, 0.25
_STEPS, _ENOUGH = 30, 1e-3
_LOG_ODDS_OF_LAPSE = (-16.0, 0.0)


class _Fit:
    """Fisher scoring of one map; parameters lie in one vector: shared, biases, slopes, log-odds of the lapse."""

    def __init__(self, parts: Parts, rows: FitRows) -> None:
        self.parts, self.rows = parts, rows
        self.C = rows.z.shape[1]
        ends = np.cumsum([parts.shared, self.C * parts.biases, self.C * parts.slopes, parts.lapse]).tolist()
        self.shared, self.a, self.v, self.u = (slice(low, high) for low, high in zip([0, *ends], ends, strict=False))
        self.size = ends[-1]

    def run(self, start: LinearMap) -> LinearMap:
        """Iterate until a step gains little and variances stay."""
        from scipy.linalg import cho_factor, cho_solve

        theta, variances = self._start(start)
        at = self._derivatives(theta)
        for _ in range(_STEPS):
            precision = self._precision(variances)
            penalized = at.information + np.diag(precision)
            factor = cho_factor(penalized, lower=True, check_finite=False)
            step = cho_solve(factor, at.gradient - precision * theta, check_finite=False)
            gain = 0.5 * float(step @ (at.gradient - precision * theta))
            theta, at = self._line_search(theta, step, at, precision)
            before = variances
            variances = self._variances(theta, variances, np.diag(cho_solve(factor, np.eye(self.size))))
            still = all(abs(np.log(variances[key] / before[key])) < 0.1 for key in variances)
            if gain < _ENOUGH and still:
                break
        return self._map(start.name, theta)

    def _start(self, start: LinearMap) -> tuple[Floats, dict[str, float]]:
        theta, variances = np.zeros(self.size), {}
        theta[self.shared] = [start.slope - 1, *start.curves][: self.parts.shared]
        for key, at, values in (("a", self.a, start.biases), ("v", self.v, start.slopes)):
            if at.stop > at.start:
                theta[at] = values
                variances[key] = float(np.mean(values**2)) if values.any() else _FIRST
        lapse = start.lapse or 0.005
        theta[self.u] = np.log(lapse / (1 - lapse))
        return theta, variances

    def _precision(self, variances: dict[str, float]) -> Floats:
        found = np.zeros(self.size)
        found[self.shared] = 1 / np.array(SHARED_VARIANCES[: self.parts.shared])
        for key, variance in variances.items():
            found[getattr(self, key)] = 1 / variance
        found[self.u] = 1e-3
        return found

    def _variances(self, theta: Floats, variances: dict[str, float], covariance: Floats) -> dict[str, float]:
        found = {}
        for key, variance in variances.items():
            at = getattr(self, key)
            determined = self.C - float(covariance[at].sum()) / variance
            squares = float(theta[at] @ theta[at])
            found[key] = max(_FEWEST, squares / max(determined, 1e-3 * self.C))
        return found

    def _line_search(
        self, theta: Floats, step: Floats, at: Derivatives, precision: Floats
    ) -> tuple[Floats, Derivatives]:
        now, size = at.value - 0.5 * float(precision @ theta**2), 1.0
        while size > 1e-3:
            new = theta + size * step
            if self.parts.shared == 1:
                new[0] = max(new[0], 1e-3 - 1)
            new[self.u] = np.clip(new[self.u], *_LOG_ODDS_OF_LAPSE)
            found = self._derivatives(new)
            if found.value - 0.5 * float(precision @ new**2) >= now - 1e-9:
                return new, found
            size /= 4
        return theta, at

    def _map(self, name: str, theta: Floats) -> LinearMap:
        none, parts = np.zeros(self.C), self.parts
        return LinearMap(
            name,
            self.rows.log_floor,
            1.0 + (float(theta[0]) if parts.shared else 0.0),
            theta[self.a].copy() if parts.biases else none,
            theta[self.v].copy() if parts.slopes else none,
            float(1 / (1 + np.exp(-theta[-1]))) if parts.lapse else 0.0,
            theta[1:3].copy() if parts.shared > 1 else np.zeros(2),
        )

    def _derivatives(self, theta: Floats) -> Derivatives:
        fitted = self._map("", theta)
        value, gradient, information = 0.0, np.zeros(self.size), np.zeros((self.size, self.size))
        rows, step = self.rows, max(1, BLOCK_ELEMENTS // self.C)
        for low in range(0, rows.truth.size, step):
            z, truth, weights = rows.block(low, low + step)
            curves = rows.curves[:, low : low + step] if self.parts.shared > 1 else None
            block = curvature(fitted.scores(z, curves), truth, weights, fitted.lapse)
            value += block.value
            shared = [z, *(() if curves is None else curves)][: self.parts.shared]
            self._add(z, shared, block, gradient, information)
            if self.parts.lapse:
                self._add_lapse(z, shared, truth, weights, block, fitted.lapse, gradient, information)
        information += np.tril(information, -1).T - np.triu(information, 1)
        return Derivatives(value, gradient, information)

    def _add(self, z: Floats, shared: list[Floats], block: Curvature, gradient: Floats, info: Floats) -> None:
        """Add a block's gradient and the lower triangle of its information."""
        parts, (q, rest, s, h) = self.parts, (block.q, block.rest, block.s, block.h)
        for row, x in enumerate(shared):
            gradient[row] += float(np.vdot(rest, x))
            turned = s * x - h * np.einsum("ij,ij->i", q, x)[:, None] - q * np.einsum("ij,ij->i", h, x)[:, None]
            info[row, : row + 1] += [float(np.vdot(turned, other)) for other in shared[: row + 1]]
            info[self.a, row] += turned.sum(axis=0)[: self.C * parts.biases]
            info[self.v, row] += np.einsum("ij,ij->j", turned, z)[: self.C * parts.slopes]
        if not parts.biases:
            return
        at, each = slice(self.a.start, self.v.stop), np.arange(self.C)
        gradient[self.a] += rest.sum(axis=0)
        if parts.slopes:
            sz = s * z
            gradient[self.v] += np.einsum("ij,ij->j", rest, z)
            info[self.v, self.a][each, each] += sz.sum(axis=0)
            info[self.v, self.v][each, each] += np.einsum("ij,ij->j", sz, z)
            h, q = np.concatenate([h, h * z], axis=1), np.concatenate([q, q * z], axis=1)
        info[self.a, self.a][each, each] += s.sum(axis=0)
        both = h.T @ q
        info[at, at] -= both + both.T

    def _add_lapse(
        self,
        z: Floats,
        shared: list[Floats],
        truth: Ints,
        weights: Floats,
        block: Curvature,
        e: float,
        gradient: Floats,
        info: Floats,
    ) -> None:
        """Add what concerns the log-odds of the lapse, the last parameter."""
        scale, q, parts = e * (1 - e), block.q, self.parts
        gradient[-1] += scale * float(weights @ ((1 / self.C - q[np.arange(truth.size), truth]) / block.at_truth))
        away = 1 / self.C - q
        ratio = weights[:, None] * away / block.mixed
        info[-1, -1] += scale**2 * float(np.vdot(ratio, away))
        x = (1 - e) * q * ratio
        cross = scale * (x - q * x.sum(axis=1, keepdims=True))
        info[-1, self.shared] += [float(np.vdot(cross, x)) for x in shared]
        info[-1, self.a] += cross.sum(axis=0)[: self.C * parts.biases]
        info[-1, self.v] += np.einsum("ij,ij->j", cross, z)[: self.C * parts.slopes]
