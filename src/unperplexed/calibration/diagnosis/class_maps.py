"""The map of errors of more than two classes and its likelihood over rows.

log q_c = (1 + confidence) log p_c + bias_c + tail h(log-odds of p_c) - norm, then (1 - noise) q_c + noise / classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._lib.elementary import expit, of_rows
from ..._lib.typing import AnyFloats, Floats
from .class_rows import Chunk

Errors = tuple[str, ...]
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
        f -= of_rows(np.maximum, f)
        return f

    def probabilities(self, chunk: Chunk) -> Floats:
        """Mended probabilities, without the noise."""
        q = np.exp(self.logits(chunk).astype(np.float64))
        return np.asarray(q / of_rows(np.add, q))


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


def slopes(chunks: Iterable[Chunk], mapping: ClassMap, classes: int, *, tail: bool = True) -> Slopes:
    """Log-likelihood and derivatives over all rows; one pass. That by the tail costs most and may be left out."""
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
        if tail:
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
            total[3:, 3:] -= (rho - 0.5 * of_rows(np.add, rho) * q).T @ q
        else:
            root = q * np.sqrt(w)
            total[3:, 3:] -= 0.5 * (root.T @ root)
        total[np.arange(3, 3 + classes), np.arange(3, 3 + classes)] += 0.5 * rho.sum(axis=0)
    total[3:, :3] = total[:3, 3:].T
    total[3:, 3:] += total[3:, 3:].T.copy()
    return total
