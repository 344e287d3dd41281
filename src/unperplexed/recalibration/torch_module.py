"""A fitted recalibration as a PyTorch module, to put behind a network: `Recalibrator.transform` on tensors."""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from .._lib.errors import InputError, check_choice
from ..maps.curves import CurveMap
from ..maps.directions import TWO
from ..maps.families import MapOfTwo
from ..maps.two import BinaryMap, probability_of
from .class_isotonic import BASE_SHARE, IsotonicMap
from .class_linear import LARGEST_BELOW_ONE, SMALLEST, LinearMap
from .class_maps import ClassMap
from .state import State

try:
    import torch
    from torch import Tensor, nn
except ImportError as error:  # pragma: no cover - depends on the installation
    raise ImportError("to_torch needs PyTorch: pip install 'unperplexed[torch]'") from error

Form = Literal["probabilities", "log_probabilities", "logits"]
"""What a module takes."""


class RecalibrationModule(nn.Module):
    """Calibrated probabilities of a network's output: `Recalibrator.transform` as a module.

    All parameters are buffers in float64: they move with ``to(device)``, are part of ``state_dict``, and are not
    trained. Values are computed in float64 and returned in the precision of the input. Gradients flow through.

    Parameters
    ----------
    state : State
        The fitted recalibration.
    form : {"probabilities", "log_probabilities", "logits"}
        What ``forward`` takes.
    """

    weights: Tensor

    def __init__(self, state: State, form: Form = "probabilities") -> None:
        super().__init__()
        check_choice("form", form, get_args(Form))
        self.form, self.n_classes = form, len(state.facts.labels)
        weights = [state.weights[name] for name in state.maps]
        self.register_buffer("weights", _buffer(weights) / sum(weights))
        self.maps = nn.ModuleList(_module_of(each) for each in state.maps.values())

    def forward(self, x: Tensor) -> Tensor:
        """Return calibrated probabilities in the shape of x.

        For two classes x is (n, 2), or any other shape with one value for the positive class in each place. For more
        classes it is (..., C).
        """
        binary = self.n_classes == 2
        one = binary and (x.ndim < 2 or x.shape[-1] != 2)
        if not binary and (x.ndim < 1 or x.shape[-1] != self.n_classes):
            raise InputError(f"x: expected {self.n_classes} classes in the last dimension, got shape {tuple(x.shape)}.")
        rows = x.double().reshape(-1, 1 if one else self.n_classes)
        at = self._positive_log_odds(rows) if binary else self._log_probabilities(rows)
        q = torch.stack([each(at) for each in self.maps], dim=-1) @ self.weights
        if binary and not one:
            q = torch.stack([1 - q, q], dim=-1)
        q, limits = q.reshape(x.shape).to(x.dtype), torch.finfo(x.dtype)
        return q.clamp(limits.tiny, 1 - limits.eps / 2)

    def _positive_log_odds(self, rows: Tensor) -> Tensor:
        """Return log-odds of the positive class for rows of one value or two, as they came."""
        x = rows.log() if self.form == "probabilities" else rows
        if x.shape[1] == 2:
            return x[:, 1] - x[:, 0]
        if self.form == "logits":
            return x[:, 0]
        return x[:, 0] - (torch.log1p(-rows[:, 0]) if self.form == "probabilities" else _log_rest_of(x[:, 0]))

    def _log_probabilities(self, rows: Tensor) -> Tensor:
        if self.form == "logits":
            return torch.log_softmax(rows, dim=-1)
        return rows if self.form == "log_probabilities" else rows.log()


def _buffer(values: object) -> Tensor:
    return torch.tensor(np.asarray(values, dtype=np.float64), dtype=torch.float64)


def _tail(s: Tensor) -> Tensor:
    size = s.abs()
    return s.sign() * ((1 + size) * torch.log1p(size) - size)


class _Additive(nn.Module):
    """`BinaryMap`: log-odds (n,) to the probability of the positive class."""

    coefficients: Tensor
    lapse: Tensor

    def __init__(self, fitted: BinaryMap) -> None:
        super().__init__()
        self.map = fitted
        self.register_buffer("coefficients", _buffer(list(fitted.coefficients.values())))
        self.register_buffer("lapse", _buffer(fitted.lapse))

    def forward(self, s: Tensor) -> Tensor:
        t = s = self.map.within(s, torch)
        for coefficient, name in zip(self.coefficients, self.map.coefficients, strict=True):
            t = t + coefficient * TWO[name](s, torch)
        q: Tensor = probability_of(t, self.lapse, torch)
        return q


class _Curve(nn.Module):
    """`CurveMap`: log-odds (n,) to the probability of the positive class."""

    s: Tensor
    t: Tensor

    def __init__(self, fitted: CurveMap) -> None:
        super().__init__()
        self.register_buffer("s", _buffer(fitted.s)[None])
        self.register_buffer("t", _buffer(fitted.t)[None])

    def forward(self, s: Tensor) -> Tensor:
        return torch.sigmoid(_interpolated(s[None], self.s, self.t)[0])


class _Linear(nn.Module):
    """`LinearMap`: log-probabilities (n, C) to probabilities."""

    slopes: Tensor
    biases: Tensor
    lapse: Tensor
    curves: Tensor
    matrix: Tensor | None

    def __init__(self, fitted: LinearMap) -> None:
        super().__init__()
        self.log_floor, self.curved = fitted.log_floor, bool(fitted.curves.any())
        self.register_buffer("slopes", _buffer(fitted.slope + fitted.slopes))
        self.register_buffer("biases", _buffer(fitted.biases))
        self.register_buffer("lapse", _buffer(fitted.lapse))
        self.register_buffer("curves", _buffer(fitted.curves))
        self.register_buffer("matrix", None if fitted.matrix is None else _buffer(fitted.matrix))

    def forward(self, log_p: Tensor) -> Tensor:
        z = log_p.clamp(min=self.log_floor)
        t = z * self.slopes + self.biases
        if self.curved:
            rest = _log_rest(z)
            t = t + self.curves[0] * rest + self.curves[1] * _tail(z - rest)
        if self.matrix is not None:
            t = t + z @ self.matrix.T
        q = (1 - self.lapse) * torch.softmax(t, dim=-1) + self.lapse / t.shape[-1]
        return q.clamp(SMALLEST, LARGEST_BELOW_ONE)


class _Isotonic(nn.Module):
    """`IsotonicMap`: log-probabilities (n, C) to probabilities."""

    x: Tensor
    y: Tensor

    def __init__(self, fitted: IsotonicMap) -> None:
        super().__init__()
        self.base = _Linear(fitted.base)
        most = max(x.size for x, _ in fitted.knots)
        # Classes with fewer knots repeat their last one.
        padded = [[np.pad(each, (0, most - each.size), mode="edge") for each in pair] for pair in fitted.knots]
        self.register_buffer("x", _buffer([x for x, _ in padded]))
        self.register_buffer("y", _buffer([y for _, y in padded]))

    def forward(self, log_p: Tensor) -> Tensor:
        q: Tensor = self.base(log_p)
        q = BASE_SHARE * q + (1 - BASE_SHARE) * _interpolated(q.T.contiguous(), self.x, self.y).T
        return (q / q.sum(dim=-1, keepdim=True)).clamp(SMALLEST, LARGEST_BELOW_ONE)


def _log_rest_of(log_p: Tensor) -> Tensor:
    """Return ln(1 - p), exact for p next to 0 and to 1."""
    near = log_p > -math.log(2)
    return torch.where(near, (-log_p.clamp(min=-1).expm1()).log(), torch.log1p(-log_p.clamp(max=-0.5).exp()))


def _log_rest(z: Tensor) -> Tensor:
    """Return ln(1 - p) for p = exp(z); for the largest of each row from the sum of the others."""
    p = z.exp()
    top = torch.nn.functional.one_hot(z.argmax(dim=-1), z.shape[-1]).bool()
    others = p.masked_fill(top, 0.0).sum(dim=-1, keepdim=True)
    return torch.where(top, others.log(), torch.log1p(-p.clamp(max=0.9)))


def _interpolated(at: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Interpolate linearly at (k, n) between knots (k, m) of k curves, constant beyond their ends."""
    above = torch.searchsorted(x, at, right=True)
    low, high = (above - 1).clamp(min=0), above.clamp(max=x.shape[1] - 1)
    x_low, x_high, y_low, y_high = x.gather(1, low), x.gather(1, high), y.gather(1, low), y.gather(1, high)
    width = x_high - x_low
    share = torch.where(width > 0, (at - x_low) / width.where(width > 0, torch.ones_like(width)), 0.0)
    return y_low + share * (y_high - y_low)


def _module_of(fitted: MapOfTwo | ClassMap) -> nn.Module:
    if isinstance(fitted, BinaryMap):
        return _Additive(fitted)
    if isinstance(fitted, CurveMap):
        return _Curve(fitted)
    return _Isotonic(fitted) if isinstance(fitted, IsotonicMap) else _Linear(fitted)
