"""A fitted recalibration as a PyTorch module, to put behind a network: `Recalibrator.transform` on tensors."""

from __future__ import annotations

import math
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from .._lib.errors import InputError, check_choice
from ..maps.torch_modules import buffer, module_of
from .state import State

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
