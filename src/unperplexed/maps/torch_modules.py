"""Maps as PyTorch modules: their numbers are buffers, and what they compute is what the maps compute."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .class_families import BASE_SHARE, IsotonicMap
from .classes import ARRAYS, ClassMap, inside
from .curves import CurveMap
from .two import TWO, BinaryMap, probability_of

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError("to_torch needs PyTorch: pip install 'unperplexed[torch]'") from error


def buffer(values: object) -> Tensor:
    """Return numbers in double precision."""
    return torch.tensor(np.asarray(values, dtype=np.float64), dtype=torch.float64)


class BinaryModule(nn.Module):
    """`BinaryMap`: log-odds (n,) to the probability of the positive class."""

    coefficients: Tensor
    lapse: Tensor

    def __init__(self, fitted: BinaryMap) -> None:
        super().__init__()
        self.map = fitted
        self.register_buffer("coefficients", buffer(list(fitted.coefficients.values())))
        self.register_buffer("lapse", buffer(fitted.lapse))

    def forward(self, s: Tensor) -> Tensor:
        """Return calibrated probabilities."""
        t = s = self.map.within(s, torch)
        for coefficient, name in zip(self.coefficients, self.map.coefficients, strict=True):
            t = t + coefficient * TWO[name](s, torch)
        q: Tensor = probability_of(t, self.lapse, torch)
        return q


class CurveModule(nn.Module):
    """`CurveMap`: log-odds (n,) to the probability of the positive class."""

    s: Tensor
    t: Tensor

    def __init__(self, fitted: CurveMap) -> None:
        super().__init__()
        self.register_buffer("s", buffer(fitted.s)[None])
        self.register_buffer("t", buffer(fitted.t)[None])

    def forward(self, s: Tensor) -> Tensor:
        """Return calibrated probabilities."""
        return torch.sigmoid(interpolated(s[None], self.s, self.t)[0])


class ClassModule(nn.Module):
    """`ClassMap`: log-probabilities (n, C) to probabilities."""

    shared: Tensor
    lapse: Tensor

    def __init__(self, fitted: ClassMap) -> None:
        super().__init__()
        self.fitted = replace(fitted, biases=None, slopes=None, matrix=None)
        self.register_buffer("shared", buffer(list(fitted.shared.values())))
        self.register_buffer("lapse", buffer(fitted.lapse))
        for name, value in fitted.arrays.items():
            self.register_buffer(name, None if value is None else buffer(value))

    def forward(self, log_p: Tensor) -> Tensor:
        """Return calibrated probabilities."""
        shared = dict(zip(self.fitted.shared, self.shared, strict=True))
        wide: dict[str, Any] = {name: getattr(self, name) for name in ARRAYS}
        found: Tensor = replace(self.fitted, shared=shared, lapse=self.lapse, **wide).probabilities(log_p, xp=torch)
        return found


class IsotonicModule(nn.Module):
    """`IsotonicMap`: log-probabilities (n, C) to probabilities."""

    x: Tensor
    y: Tensor

    def __init__(self, fitted: IsotonicMap) -> None:
        super().__init__()
        self.base = ClassModule(fitted.base)
        most = max(x.size for x, _ in fitted.knots)
        # Classes with fewer knots repeat their last one.
        padded = [[np.pad(each, (0, most - each.size), mode="edge") for each in pair] for pair in fitted.knots]
        self.register_buffer("x", buffer([x for x, _ in padded]))
        self.register_buffer("y", buffer([y for _, y in padded]))

    def forward(self, log_p: Tensor) -> Tensor:
        """Return calibrated probabilities."""
        q: Tensor = self.base(log_p)
        q = BASE_SHARE * q + (1 - BASE_SHARE) * interpolated(q.T.contiguous(), self.x, self.y).T
        found: Tensor = inside(q / q.sum(dim=-1, keepdim=True), torch)
        return found


def interpolated(at: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Interpolate linearly at (k, n) between knots (k, m) of k curves, constant beyond their ends."""
    above = torch.searchsorted(x, at, right=True)
    low, high = (above - 1).clamp(min=0), above.clamp(max=x.shape[1] - 1)
    x_low, x_high, y_low, y_high = x.gather(1, low), x.gather(1, high), y.gather(1, low), y.gather(1, high)
    width = x_high - x_low
    share = torch.where(width > 0, (at - x_low) / width.where(width > 0, torch.ones_like(width)), 0.0)
    return y_low + share * (y_high - y_low)


def module_of(fitted: BinaryMap | CurveMap | ClassMap | IsotonicMap) -> nn.Module:
    """Return the module of a map."""
    if isinstance(fitted, BinaryMap):
        return BinaryModule(fitted)
    if isinstance(fitted, CurveMap):
        return CurveModule(fitted)
    return IsotonicModule(fitted) if isinstance(fitted, IsotonicMap) else ClassModule(fitted)
