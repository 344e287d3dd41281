"""The map of errors of more than two classes, its likelihood over rows, and its fit.

log q_c = (1 + confidence) log p_c + bias_c + tail h(log-odds of p_c) - norm, then (1 - noise) q_c + noise / classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from scipy.special import expit

from .._typing import AnyFloats, Floats, Ints
from .class_rows import Chunk, PreparedRows
from .class_statistics import ClassStatistics, gram

ERRORS = ("confidence", "tail", "noise", "bias")
Errors = tuple[str, ...]
BIAS_SD = 0.5
"""Standard deviation of the prior of class biases, in log-odds."""
SMALL_SD = 0.15
"""The same where the biases of many classes are small."""
FAR = 5.0
"""That of confidence and tail: it only bounds them where the outcomes are separated."""
_NOISE_GRID = expit(np.linspace(-9, 0.5, 20))


@dataclass(frozen=True, eq=False)
class ClassMap:
    """Probabilities that are left after mending these errors."""

    confidence: float = 0.0
    tail: float = 0.0
    noise: float = 0.0
    biases: Floats | None = None

    def logits(self, chunk: Chunk) -> AnyFloats:
        """Unnormalised log-probabilities of a chunk's rows, without the noise."""
        kind = chunk.log_p.dtype.type
        f: AnyFloats = chunk.log_p * kind(1 + self.confidence)
        if self.tail:
            f += kind(self.tail) * chunk.tail()
        if self.biases is not None:
            f += self.biases.astype(kind)
        f -= f.max(axis=1, keepdims=True)
        return f

    def probabilities(self, chunk: Chunk) -> Floats:
        """Mended probabilities, without the noise."""
        q = np.exp(self.logits(chunk).astype(np.float64))
        return np.asarray(q / q.sum(axis=1, keepdims=True))


class Slopes(NamedTuple):
    """Log-likelihood of the rows and its derivatives; that by the noise is by its log-odds."""

    loglik: float
    confidence: float
    tail: float
    noise: float
    bias: Floats

    def of(self, errors: Errors) -> Floats:
        """Derivatives by the parameters of these errors, one vector."""
        return np.concatenate([np.atleast_1d(getattr(self, name)) for name in errors] or [np.empty(0)])


def slopes(chunks: Iterable[Chunk], mapping: ClassMap, classes: int) -> Slopes:
    """Log-likelihood and derivatives over all rows; one pass."""
    sums, bias = np.zeros(4), np.zeros(classes)
    e = mapping.noise
    for chunk in chunks:
        f = mapping.logits(chunk)
        mine, w = chunk.pick(f), chunk.weights
        np.exp(f, out=f)
        total = f.sum(axis=1, dtype=np.float64)
        log_q = mine - np.log(total)
        if e:
            q = np.exp(log_q)
            left = (1 - e) * q + e / classes
            sums[0] += w @ np.log(left)
            sums[3] += w @ (e * (1 - e) * (1 / classes - q) / left)
            w = w * ((1 - e) * q / left)
        else:
            sums[0] += w @ log_q
        share = w / total
        bias += np.bincount(chunk.truth, w, classes) - share.astype(f.dtype) @ f
        sums[1] += w @ chunk.pick(chunk.log_p) - share @ np.einsum("ij,ij->i", f, chunk.log_p)
        if mapping.tail:
            sums[2] += w @ chunk.pick(chunk.tail()) - share @ np.einsum("ij,ij->i", f, chunk.tail())
    return Slopes(float(sums[0]), float(sums[1]), float(sums[2]), float(sums[3]), bias)


def noise_start(chunks: Iterable[Chunk], mapping: ClassMap, classes: int) -> tuple[float, float]:
    """Best noise of a grid with all else as it is, and the information on its log-odds there; one pass."""
    loglik, information = np.zeros(len(_NOISE_GRID)), np.zeros(len(_NOISE_GRID))
    e = _NOISE_GRID[:, None]
    for chunk in chunks:
        f = mapping.logits(chunk)
        q = np.exp(chunk.pick(f) - np.log(np.exp(f).sum(axis=1, dtype=np.float64)))
        left = (1 - e) * q + e / classes
        loglik += np.log(left) @ chunk.weights
        information += (e * (1 - e) * (1 / classes - q) / left) ** 2 @ chunk.weights
    best = int(loglik.argmax())
    return float(_NOISE_GRID[best]), float(information[best])


SCALARS = ("confidence", "tail", "noise")
"""Errors of one parameter, in the order of `information`."""


def information(chunks: Iterable[Chunk], mapping: ClassMap, classes: int, biases: bool = True) -> Floats:
    """Fisher information on confidence, tail, the log-odds of the noise and all class biases; one pass."""
    total, e = np.zeros((3 + classes, 3 + classes)), mapping.noise
    for chunk in chunks:
        q, w = mapping.probabilities(chunk), chunk.weights[:, None]
        left = (1 - e) * q + e / classes
        slope = (1 - e) * q / np.maximum(left, 1e-300)  # of ln left by ln q
        rho = w * slope * slope * left
        by_noise = e * (1 - e) * (1 / classes - q)  # of left, by the log-odds of the noise
        directions = []
        for f in (chunk.log_p, chunk.tail()):
            centred = f - np.einsum("ij,ij->i", q, f)[:, None]
            directions.append(slope * centred)
        directions.append(by_noise / np.maximum(left, 1e-300))
        for at, one in enumerate(directions):
            weighted = w * left * one
            total[at, :3] += [float(np.vdot(weighted, other)) for other in directions]
            moved = weighted * slope
            total[at, 3:] += moved.sum(axis=0) - moved.sum(axis=1) @ q
        if not biases:
            continue
        if e:
            total[3:, 3:] -= (rho - 0.5 * rho.sum(axis=1, keepdims=True) * q).T @ q
        else:
            total[3:, 3:] -= 0.5 * gram(q * np.sqrt(w))
        total[np.arange(3, 3 + classes), np.arange(3, 3 + classes)] += 0.5 * rho.sum(axis=0)
    total[3:, :3] = total[:3, 3:].T
    total[3:, 3:] += total[3:, 3:].T.copy()
    return total


@dataclass(frozen=True, eq=False)
class Fit:
    """A set of errors, fitted."""

    errors: Errors
    mapping: ClassMap
    slopes: Slopes
    penalty: float
    """Of the prior, in nats of the log-likelihood."""


class Fitter:
    """Fits sets of errors to the same rows."""

    def __init__(self, chunks: PreparedRows, statistics: ClassStatistics, effect: float) -> None:
        """Take the rows, their statistics and the design effect, by which the data count less against the prior."""
        self.chunks, self.effect = chunks, effect
        self.classes = len(statistics.observed)
        variance = float(np.trace(statistics.covariance))
        ratio = float(statistics.information.sum()) / variance if variance > 0 else 1.0
        self._information = np.block(
            [
                [ratio * statistics.shape_covariance, ratio * statistics.shape_classes],
                [ratio * statistics.shape_classes.T, ratio * statistics.covariance],
            ]
        )
        self.bias_information: Floats = self._information[2:, 2:]
        self.none = Fit((), ClassMap(), slopes(chunks, ClassMap(tail=1e-300), self.classes), 0.0)

    def fit(self, errors: Errors, start: ClassMap, only: Ints | None = None, sd: float = BIAS_SD) -> Fit:
        """Maximise the likelihood with the prior, from a map of fewer errors; biases of some classes only, if given."""
        scale = 1.0
        if "noise" in errors:
            noise, scale = noise_start(self.chunks, start, self.classes)
            start = ClassMap(start.confidence, start.tail, noise, start.biases)
        origin, prior = self._vector(start, errors), self._prior(errors, only, sd)
        root = self._root(errors, prior, scale)
        reference = self.none.slopes.loglik
        last: tuple[ClassMap, Slopes, float] | None = None

        def objective(u: Floats) -> tuple[float, Floats]:
            nonlocal last
            theta = origin + solve_triangular(root, u, trans="T", lower=True)
            mapping = self._map(theta, errors)
            found = slopes(self.chunks, mapping, self.classes)
            penalty = 0.5 * float(prior @ theta**2)
            last = mapping, found, penalty
            slope = found.of(errors) - prior * theta
            return reference - found.loglik + penalty, -solve_triangular(root, slope, lower=True)

        options = {"maxiter": 60, "ftol": 1e-7, "gtol": 0.01}
        best = minimize(objective, np.zeros(len(origin)), jac=True, method="L-BFGS-B", options=options)
        theta = origin + solve_triangular(root, best.x, trans="T", lower=True)
        mapping = self._map(theta, errors)
        if last is None or not np.array_equal(self._vector(last[0], errors), self._vector(mapping, errors)):
            objective(best.x)
        assert last is not None
        return Fit(errors, *last)

    def _prior(self, errors: Errors, only: Ints | None, sd: float) -> Floats:
        """Precision of each parameter's prior; a class that is to have no bias is held at 0."""
        each = {"confidence": FAR, "tail": FAR, "noise": 3 * FAR}
        biases = np.full(self.classes, sd if only is None else 1e-6)
        biases[slice(0) if only is None else only] = sd
        parts = [biases if name == "bias" else np.array([each[name]]) for name in errors]
        return np.asarray(self.effect / np.concatenate(parts) ** 2)

    def _root(self, errors: Errors, prior: Floats, noise: float) -> Floats:
        """Cholesky factor of the information: in its coordinates all directions are about equally curved."""
        places = {"confidence": [0], "tail": [1], "noise": [0], "bias": list(range(2, 2 + self.classes))}
        at = np.array([place for name in errors for place in places[name]])
        information = self._information[np.ix_(at, at)]
        if "noise" in errors:
            one = errors.index("noise")
            information[one], information[:, one] = 0.0, 0.0
            information[one, one] = max(noise, 0.1)
        information[np.diag_indices_from(information)] *= 1 + 1e-6
        return np.asarray(np.linalg.cholesky(information + np.diag(prior)))

    def _vector(self, mapping: ClassMap, errors: Errors) -> Floats:
        parts: list[Floats] = []
        for name in errors:
            if name == "bias":
                parts.append(np.zeros(self.classes) if mapping.biases is None else mapping.biases)
            elif name == "noise":
                parts.append(np.array([np.log(mapping.noise) - np.log1p(-mapping.noise)]))
            else:
                parts.append(np.array([getattr(mapping, name)]))
        return np.concatenate(parts) if parts else np.empty(0)

    def _map(self, theta: Floats, errors: Errors) -> ClassMap:
        values: dict[str, float] = {name: float(theta[at]) for at, name in enumerate(errors) if name != "bias"}
        if "noise" in values:
            values["noise"] = float(expit(np.clip(values["noise"], -30, 10)))
        if "tail" in values:
            values["tail"] = values["tail"] or 1e-300  # so that its derivative is computed
        return ClassMap(**values, biases=theta[-self.classes :] if "bias" in errors else None)
