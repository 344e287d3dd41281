"""Penalized maximum-likelihood fits of the linear maps of `class_linear`.

The shared slope has a normal prior of standard deviation 2 around 1; biases and slopes of the classes have normal
priors whose variances are estimated (`class_scoring`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._lib.elementary import of_rows
from .._lib.typing import Floats, Ints
from .class_linear import BLOCK_ELEMENTS, PARTS, SMALLEST, FitRows, LinearMap, Parts, softmax
from .class_scoring import FIXED, Ascent, Prior, maximized

SHARED_VARIANCES = (4.0, 1.0, 1.0)
"""Prior variances of the shared slope's distance from 1 and of the coefficients of the shared curves."""


Known = dict[Parts, Floats]
"""Fisher information a row of fits to similar rows, by the parts of the map."""


class Block(NamedTuple):
    """Some rows at a map."""

    z: Floats
    truth: Ints
    weights: Floats
    shared: list[Floats]
    """What coefficients that all classes share multiply."""
    t: Floats
    """Scores."""


class Pull(NamedTuple):
    """First derivatives of the log-likelihood by the scores t: those of a row are pull ([class observed] - q)."""

    q: Floats
    """Probabilities before the lapse."""
    at_truth: Floats
    """Probability of the observed class, after the lapse."""
    pull: Floats


def pulled(t: Floats, truth: Ints, weights: Floats, e: float) -> Pull:
    """Return the first derivatives of rows with scores t and the lapse e."""
    q = softmax(t)
    high = q[np.arange(truth.size), truth]
    at_truth = np.maximum((1 - e) * high + e / q.shape[1], SMALLEST)
    return Pull(q, at_truth, weights * (1 - e) * high / at_truth)


class Curvature(NamedTuple):
    """Second derivatives of the log-likelihood by the scores t: the information of a row is diag(s) - h q' - q h'."""

    q: Floats
    """Probabilities before the lapse."""
    mixed: Floats
    """Probabilities after the lapse."""
    s: Floats
    h: Floats


def curvature(t: Floats, weights: Floats, e: float) -> Curvature:
    """Return the second derivatives of rows with scores t and the lapse e."""
    q = softmax(t)
    mixed = (1 - e) * q + e / q.shape[1] if e else q
    s = weights[:, None] * q
    if e:
        s *= (1 - e) ** 2 * q / mixed
    h = s - 0.5 * of_rows(np.add, s) * q
    return Curvature(q, mixed, s, h)


def fit_linear(name: str, rows: FitRows, start: LinearMap, known: Known | None = None) -> LinearMap:
    """Fit one map from the parameters of another that is near; without a lapse where none improves the fit.

    For a map with a lapse the start is taken as fitted where it has the same other parameters and no lapse.
    """
    parts, known = PARTS[name], {} if known is None else known
    start, started = replace(start, name=name, log_floor=rows.log_floor, matrix=None), PARTS.get(start.name)
    if parts.lapse and not start.lapse:
        if started != parts._replace(lapse=False):
            start = LinearFit(parts._replace(lapse=False), rows).run(start, known)
        if lapse_score(rows, start) <= 0:
            return start
    return LinearFit(parts, rows).run(start, known)


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
    on_the_way = (between(fitted, simple, float(part)) for part in np.linspace(0, 1, 20, endpoint=False))
    return next(filter(increasing, on_the_way), replace(simple, name=fitted.name))


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


_FIRST, _ENOUGH = 0.25, 1e-3
_LOG_ODDS_OF_LAPSE = (-16.0, 0.0)


class LinearFit:
    """Likelihood of one map; parameters lie in one vector: shared, biases, slopes, log-odds of the lapse."""

    def __init__(self, parts: Parts, rows: FitRows) -> None:
        self.parts, self.rows = parts, rows
        self.C = rows.z.shape[1]
        ends = np.cumsum([parts.shared, self.C * parts.biases, self.C * parts.slopes, parts.lapse]).tolist()
        self.shared, self.a, self.v, self.u = (slice(low, high) for low, high in zip([0, *ends], ends, strict=False))
        self.size = ends[-1]

    def run(self, start: LinearMap, known: Known) -> LinearMap:
        """Fit from a start."""
        theta, kind, fixed = np.zeros(self.size), np.full(self.size, FIXED), np.full(self.size, 1e-3)
        theta[self.shared] = [start.slope - 1, *start.curves][: self.parts.shared]
        fixed[self.shared] = 1 / np.array(SHARED_VARIANCES[: self.parts.shared])
        variances: list[float] = []
        for at, values in ((self.a, start.biases), (self.v, start.slopes)):
            if at.stop > at.start:
                theta[at], kind[at] = values, len(variances)
                variances.append(float(np.mean(values**2)) if values.any() else _FIRST)
        lapse = start.lapse or 0.005
        theta[self.u] = np.log(lapse / (1 - lapse))
        whole, information = float(self.rows.weights.sum()), known.get(self.parts)
        prior = Prior(kind, fixed, np.array(variances))
        theta, found = maximized(self, theta, prior, _ENOUGH, None if information is None else information * whole)
        known.setdefault(self.parts, found / whole)
        return self._map(start.name, theta)

    def within(self, theta: Floats) -> Floats:
        """Return the coefficients moved to where they may be."""
        if self.parts.shared == 1:
            theta[0] = max(theta[0], 1e-3 - 1)
        theta[self.u] = np.clip(theta[self.u], *_LOG_ODDS_OF_LAPSE)
        return theta

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

    def _blocks(self, fitted: LinearMap, low: int, high: int) -> Iterator[Block]:
        """Yield rows with their scores, as many at a time as stay in the cache."""
        rows, step = self.rows, max(1, BLOCK_ELEMENTS // self.C)
        for at in range(low, high, step):
            to = min(at + step, high)
            z, truth, weights = rows.block(at, to)
            curves = rows.curves[:, at:to] if self.parts.shared > 1 else None
            shared = [z, *(() if curves is None else curves)][: self.parts.shared]
            yield Block(z, truth, weights, shared, fitted.scores(z, curves))

    def ascent(self, theta: Floats) -> Ascent:
        """Return the log-likelihood and its gradient."""
        fitted = self._map("", theta)
        value, gradient, e, C = 0.0, np.zeros(self.size), fitted.lapse, self.C
        for z, truth, weights, shared, t in self._blocks(fitted, 0, self.rows.truth.size):
            (q, at_truth, pull), each = pulled(t, truth, weights, e), np.arange(truth.size)
            value += float(weights @ np.log(at_truth))
            for row, x in enumerate(shared):
                gradient[row] += float(pull @ (x[each, truth] - np.einsum("ij,ij->i", q, x)))
            if self.parts.biases:
                gradient[self.a] += np.bincount(truth, pull, C) - pull @ q
            if self.parts.slopes:
                gradient[self.v] += np.bincount(truth, pull * z[each, truth], C) - pull @ (q * z)
            if self.parts.lapse:
                gradient[-1] += e * (1 - e) * float(weights @ ((1 / C - q[each, truth]) / at_truth))
        return Ascent(value, gradient)

    def information(self, theta: Floats) -> Floats:
        """Return the Fisher information."""
        fitted, found = self._map("", theta), np.zeros((self.size, self.size))
        # Products of matrices are made for many rows at a time: each is added to C^2 sums.
        n, wide, at = self.rows.truth.size, max(self.C, BLOCK_ELEMENTS // self.C), slice(self.a.start, self.v.stop)
        for low in range(0, n, wide):
            pairs = []
            for block in self._blocks(fitted, low, min(low + wide, n)):
                bent = curvature(block.t, block.weights, fitted.lapse)
                pairs.append(self._add(block, bent, found))
                if self.parts.lapse:
                    self._add_lapse(block, bent, fitted.lapse, found)
            if self.parts.biases:
                h, q = (np.concatenate(each) for each in zip(*pairs, strict=True))
                both = h.T @ q
                found[at, at] -= both + both.T
        found += np.tril(found, -1).T - np.triu(found, 1)
        return found

    def _add(self, block: Block, bent: Curvature, info: Floats) -> tuple[Floats, Floats]:
        """Add to the lower triangle of the information; return what its products of classes are made of."""
        parts, z, (q, _, s, h) = self.parts, block.z, bent
        for row, x in enumerate(block.shared):
            turned = s * x - h * np.einsum("ij,ij->i", q, x)[:, None] - q * np.einsum("ij,ij->i", h, x)[:, None]
            info[row, : row + 1] += [float(np.vdot(turned, other)) for other in block.shared[: row + 1]]
            info[self.a, row] += turned.sum(axis=0)[: self.C * parts.biases]
            info[self.v, row] += np.einsum("ij,ij->j", turned, z)[: self.C * parts.slopes]
        if not parts.biases:
            return h, q
        each = np.arange(self.C)
        info[self.a, self.a][each, each] += s.sum(axis=0)
        if not parts.slopes:
            return h, q
        sz = s * z
        info[self.v, self.a][each, each] += sz.sum(axis=0)
        info[self.v, self.v][each, each] += np.einsum("ij,ij->j", sz, z)
        return np.concatenate([h, h * z], axis=1), np.concatenate([q, q * z], axis=1)

    def _add_lapse(self, block: Block, bent: Curvature, e: float, info: Floats) -> None:
        """Add what concerns the log-odds of the lapse, the last parameter."""
        scale, q, parts = e * (1 - e), bent.q, self.parts
        away = 1 / self.C - q
        ratio = block.weights[:, None] * away / bent.mixed
        info[-1, -1] += scale**2 * float(np.vdot(ratio, away))
        x = (1 - e) * q * ratio
        cross = scale * (x - q * of_rows(np.add, x))
        info[-1, self.shared] += [float(np.vdot(cross, x)) for x in block.shared]
        info[-1, self.a] += cross.sum(axis=0)[: self.C * parts.biases]
        info[-1, self.v] += np.einsum("ij,ij->j", cross, block.z)[: self.C * parts.slopes]
