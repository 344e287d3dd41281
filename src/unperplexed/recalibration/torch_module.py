"""A fitted recalibration as a PyTorch module, to put behind a network: `Recalibrator.transform` on tensors.

The numbers of its maps are buffers, and what they compute is what the maps compute.
"""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Literal, Self, get_args

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
    """`BinaryMap`: log-odds (n,) to the probabilities of both classes (n, 2)."""

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
        for coefficient, name in zip(self.coefficients.unbind(), self.map.coefficients, strict=True):
            t = t + coefficient * TWO[name](s, torch)
        q: Tensor = probability_of(torch.stack([-t, t], dim=-1), self.lapse, torch)
        return q


class CurveModule(nn.Module):
    """`CurveMap`: log-odds (n,) to the probabilities of both classes (n, 2)."""

    s: Tensor
    t: Tensor

    def __init__(self, fitted: CurveMap) -> None:
        super().__init__()
        self.knots = len(fitted.s)
        self.register_buffer("s", buffer(fitted.s)[None])
        self.register_buffer("t", buffer(fitted.t)[None])

    def forward(self, s: Tensor) -> Tensor:
        """Return calibrated probabilities."""
        t = interpolated(s[None], self.s, self.t, self.knots)[0]
        return torch.sigmoid(torch.stack([-t, t], dim=-1))


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
        shared = dict(zip(self.fitted.shared, self.shared.unbind(), strict=True))
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
        self.knots = max(x.size for x, _ in fitted.knots)
        # Classes with fewer knots repeat their last one.
        padded = [[np.pad(each, (0, self.knots - each.size), mode="edge") for each in pair] for pair in fitted.knots]
        self.register_buffer("x", buffer([x for x, _ in padded]))
        self.register_buffer("y", buffer([y for _, y in padded]))

    def forward(self, log_p: Tensor) -> Tensor:
        """Return calibrated probabilities."""
        q: Tensor = self.base(log_p)
        q = BASE_SHARE * q + (1 - BASE_SHARE) * interpolated(q.T.contiguous(), self.x, self.y, self.knots).T
        found: Tensor = inside(q / q.sum(dim=-1, keepdim=True), torch)
        return found


def interpolated(at: Tensor, x: Tensor, y: Tensor, m: int) -> Tensor:
    """Interpolate linearly at (k, n) between m knots (k, m) of k curves, constant beyond their ends."""
    above = _count_up_to(at, x, m)
    low, high = (above - 1).clamp(min=0), above.clamp(max=m - 1)
    x_low, x_high, y_low, y_high = x.gather(1, low), x.gather(1, high), y.gather(1, low), y.gather(1, high)
    width = x_high - x_low
    share = torch.where(width > 0, (at - x_low) / width.where(width > 0, torch.ones_like(width)), 0.0)
    return y_low + share * (y_high - y_low)


def _count_up_to(at: Tensor, x: Tensor, m: int) -> Tensor:
    """Count the knots (k, m) up to each place (k, n), by halves, as ONNX has no ``torch.searchsorted``."""
    found = torch.zeros_like(at, dtype=torch.int64)
    for bit in reversed(range(m.bit_length())):
        further = found + (1 << bit)
        fits = (further <= m) & (x.gather(1, further.clamp(max=m) - 1) <= at)
        found = torch.where(fits, further, found)
    return found


def module_of(fitted: BinaryMap | CurveMap | ClassMap | IsotonicMap) -> nn.Module:
    """Return the module of a map."""
    if isinstance(fitted, BinaryMap):
        return BinaryModule(fitted)
    if isinstance(fitted, CurveMap):
        return CurveModule(fitted)
    return IsotonicModule(fitted) if isinstance(fitted, IsotonicMap) else ClassModule(fitted)


Form = Literal["probabilities", "log_probabilities", "logits"]
"""What a module takes."""

Output = Literal["probabilities", "logits"]
"""What a module returns."""


class RecalibrationModule(nn.Module):
    """Calibrated probabilities, or their logits, of a network's output: `Recalibrator.transform` as a module.

    What goes in is ``form``, what comes out ``output``. Values are not checked: of what is not in that form, such as
    logits in place of probabilities, come NaN or wrong probabilities.

    All parameters are buffers in float64: they move with ``to(device)`` and keep their precision with ``half()``, are
    part of ``state_dict``, and are not trained. Values are computed in float64 and returned in the precision of the
    input. Gradients flow through.

    Parameters
    ----------
    state : State
        The fitted recalibration.
    form : {"probabilities", "log_probabilities", "logits"}
        What ``forward`` takes.
    output : {"probabilities", "logits"}
        What it returns.
    """

    weights: Tensor
    odds: Tensor

    def __init__(self, state: State, form: Form = "probabilities", output: Output = "probabilities") -> None:
        super().__init__()
        check_choice("form", form, get_args(Form))
        check_choice("output", output, get_args(Output))
        self.form, self.output, self.n_classes = form, output, len(state.facts.labels)
        self.register_buffer("weights", buffer([*state.average.shares.values()]))
        self.low, self.high = state.limits if state.raised_to else (-math.inf, math.inf)
        self.shifted = state.odds_ratio != 1
        self.register_buffer("odds", buffer([1.0, state.odds_ratio]))
        self.maps = nn.ModuleList(module_of(each) for each in state.maps.values())

    def __prepare_scriptable__(self) -> nn.Module:
        """Give what ``torch.jit.script`` takes: maps as traces, since nothing in them depends on the rows."""
        found, shape = copy(self), (3,) if self.n_classes == 2 else (3, self.n_classes)
        example = self.weights.new_full(shape, -1.0)
        maps = [torch.jit.trace(each, example) for each in self.maps]  # type: ignore[no-untyped-call]
        found._modules = {"maps": nn.ModuleList(maps)}
        return found

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move buffers as a network moves, but keep their precision."""
        super()._apply(lambda each: each.to(fn(each).device), recurse)  # type: ignore[no-untyped-call]
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Return calibrated probabilities, or logits of them, in the shape of x.

        For two classes x is (n, 2), or any other shape with one value for the positive class in each place. For more
        classes it is (..., C).
        """
        binary = self.n_classes == 2
        one = binary and (x.ndim < 2 or x.shape[-1] != 2)
        if not binary and (x.ndim < 1 or x.shape[-1] != self.n_classes):
            raise InputError(f"x: expected {self.n_classes} classes in the last dimension, got shape {list(x.shape)}.")
        rows = x.double().reshape(-1, 1 if one else self.n_classes)
        at = self._positive_log_odds(rows) if binary else self._log_probabilities(rows)
        at = at.clamp(self.low, self.high)
        q = torch.stack([each(at) for each in self.maps], dim=-1) @ self.weights
        if self.shifted:
            q = q * self.odds
            q = q / q.sum(dim=-1, keepdim=True)
        if self.output == "logits":
            log_q = q.log()
            return (log_q[:, 1] - log_q[:, 0] if one else log_q).reshape(x.shape).to(x.dtype)
        smallest, largest = ends_of(x.dtype)
        return (q[:, 1] if one else q).reshape(x.shape).to(x.dtype).clamp(smallest, largest)

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


def ends_of(precision: torch.dtype) -> tuple[float, float]:
    """Return the smallest normal number and the largest below 1; ``torch.jit.script`` knows no ``torch.finfo``."""
    if precision == torch.float16:
        return 2.0**-14, 1 - 2.0**-11
    if precision == torch.float64:
        return 2.0**-1022, 1 - 2.0**-53
    return 2.0**-126, 1 - (2.0**-8 if precision == torch.bfloat16 else 2.0**-24)


def _log_rest_of(log_p: Tensor) -> Tensor:
    """Return ln(1 - p), exact for p next to 0 and to 1."""
    near = log_p > -math.log(2)
    return torch.where(near, (-log_p.clamp(min=-1).expm1()).log(), torch.log1p(-log_p.clamp(max=-0.5).exp()))
