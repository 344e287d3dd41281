"""What the coupled Gaussian is in any dimension d: its normalization, entropy and averages, with no jump at 0.

With q = 1, the integral of (1 + kappa |z|^2)^(-q (1/kappa + d)/2) is the normalization; other q are powers of the
density. Heavy tails (kappa > 0) and compact support (kappa < 0) have gamma functions of different arguments; both are
b/|kappa| with a b that goes to q/2 as kappa goes to 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._lib.typing import Floats
from ..coupled import log1p_ratio
from .series import base_of_power, digamma_step, log_gamma_step

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


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
    """ln(1 + kappa z^2)/kappa: z^2 at coupling 0, infinite outside of compact support."""
    z = np.abs((x - loc) / scale)
    far = z > 1e100
    near_z = np.where(far, 1.0, z)
    base = np.maximum(base_of_power(coupling, np.where(far, loc, x), loc, scale, 2), 0.0)
    inner = np.where(base < 0.75, np.log(base) / coupling, log1p_ratio(coupling, near_z * near_z))
    # z^2 overflows where its logarithm does not.
    outer = np.where(coupling > 0, np.logaddexp(0, 2 * np.log(z) + np.log(np.abs(coupling))) / coupling, np.inf)
    return np.where(far, outer, inner)


def draw(rng: np.random.Generator, coupling: Any, shape: tuple[int, ...], d: int = 1) -> Floats:
    """Standard draws of shape (*shape, d): normal vectors divided by a random length, for every coupling alike."""
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
