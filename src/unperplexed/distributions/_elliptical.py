"""What the coupled Gaussian is in any dimension d: its normalization, entropy and averages, with no jump at 0.

With q = 1, the integral of (1 + kappa |z|^2)^(-q (1/kappa + d)/2) is the normalization; other q are powers of the
density. Heavy tails (kappa > 0) and compact support (kappa < 0) have gamma functions of different arguments; both are
b/|kappa| with a b that goes to q/2 as kappa goes to 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats
from ..coupled import log1p_ratio
from ._series import base_of_power, digamma_step, log_gamma_step

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
    """ln (integral f^(1-r))^(-1/r) at unit scale; r = 0: integral f ln f; infinite where the integral diverges."""
    coupling, r = np.broadcast_arrays(np.asarray(coupling, float), np.asarray(r, float))
    near = np.where(np.abs(r) < 0.1, r, 0.0)
    # Next to order 0 the difference below cancels. It is a mean of the derivative between 1 - r and 1.
    steps = (
        mean_log_kernel(coupling, d, 1 - near * (x + 1) / 2) * w / 2 for x, w in zip(_NODES, _WEIGHTS, strict=True)
    )
    close = -log_normalizer(coupling, d) - sum(steps)
    far = np.where(np.abs(r) < 0.1, 1.0, r)
    wide = -(log_normalizer(coupling, d, 1 - far) - (1 - far) * log_normalizer(coupling, d)) / far
    return np.where(np.abs(r) < 0.1, close, wide)


def squared_deviate(x: Floats, loc: Floats, scale: Floats, coupling: Floats) -> Floats:
    """ln(1 + kappa z^2)/kappa: z^2 at coupling 0, infinite outside of compact support."""
    z = np.abs((x - loc) / scale)
    far = z > 1e100
    near_z = np.where(far, 1.0, z)
    with np.errstate(divide="ignore", invalid="ignore"):
        base = np.maximum(base_of_power(coupling, np.where(far, loc, x), loc, scale, 2), 0.0)
        inner = np.where(base < 0.75, np.log(base) / coupling, log1p_ratio(coupling, near_z * near_z))
        # z^2 overflows where its logarithm does not.
        outer = np.where(coupling > 0, np.logaddexp(0, 2 * np.log(z) + np.log(np.abs(coupling))) / coupling, np.inf)
    return np.where(far, outer, inner)


def draw(rng: np.random.Generator, coupling: Any, shape: tuple[int, ...], d: int = 1) -> Floats:
    """Standard draws of shape (*shape, d): normal vectors divided by a random length, for every coupling alike."""
    k = np.broadcast_to(np.asarray(coupling, float), shape)
    size = np.abs(k)
    normal = rng.standard_normal((*shape, d))
    # Gamma variables of shape b/|kappa|, times |kappa|: 1/2 at coupling 0.
    b = _argument(k, d, 1.0)
    shapes = np.minimum(b / np.maximum(size, 1e-300), 1e300)
    draws = np.where(size > 1e-30, size * rng.standard_gamma(shapes), b)
    length = 2 * draws + np.where(k < 0, size * (normal**2).sum(axis=-1), 0.0)
    return np.asarray(normal / np.sqrt(length)[..., None])
