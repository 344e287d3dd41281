"""A fitted recalibration as a PyTorch module, to put behind a network: `Recalibrator.transform` on tensors.

The numbers of its maps are buffers, and what they compute is what the maps compute.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from .._lib.errors import InputError, check_choice, needed
from ..maps.class_families import BASE_SHARE, IsotonicMap
from ..maps.classes import ARRAYS, ClassMap, inside
from ..maps.families import CurveMap
from ..maps.two import TWO, BinaryMap, probability_of
from .state import State

with needed("to_torch", "PyTorch", "torch"):
    import torch
    from torch import Tensor, nn


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


Form = Literal["probabilities", "log_probabilities", "logits"]
"""What a module takes."""


class RecalibrationModule(nn.Module):
    """Calibrated probabilities of a network's output: `Recalibrator.transform` as a module.

    What goes in is ``form``, what comes out are probabilities. Values are not checked: of what is not in that form,
    such as logits in place of probabilities, come NaN or wrong probabilities.

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
        self.register_buffer("weights", buffer([*state.average.shares.values()]))
        self.limits = state.limits if state.raised_to else None
        self.odds_ratio = state.odds_ratio
        self.maps = nn.ModuleList(module_of(each) for each in state.maps.values())

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
        if self.limits is not None:
            at = at.clamp(*self.limits)
        q = torch.stack([each(at) for each in self.maps], dim=-1) @ self.weights
        if self.odds_ratio != 1:
            q = q * self.odds_ratio / (1 - q + q * self.odds_ratio)
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


def _log_rest_of(log_p: Tensor) -> Tensor:
    """Return ln(1 - p), exact for p next to 0 and to 1."""
    near = log_p > -math.log(2)
    return torch.where(near, (-log_p.clamp(min=-1).expm1()).log(), torch.log1p(-log_p.clamp(max=-0.5).exp()))
