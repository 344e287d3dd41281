"""A fitted recalibration as a PyTorch module, to put behind a network: `Recalibrator.transform` on tensors."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from .._lib.errors import InputError, check_choice
from ..maps.torch_modules import buffer, module_of
from .binary_rows import largest_log_odds
from .state import CLOSEST, State

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
        self.register_buffer("weights", buffer(weights) / sum(weights))
        self.limit = largest_log_odds(state.facts.floor) if self.n_classes == 2 else 0.0
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
        q = torch.stack([each(at) for each in self.maps], dim=-1) @ self.weights
        if binary:
            q = q.clamp(CLOSEST, 1 - CLOSEST)
            q = q if one else torch.stack([1 - q, q], dim=-1)
        q, limits = q.reshape(x.shape).to(x.dtype), torch.finfo(x.dtype)
        return q.clamp(limits.tiny, 1 - limits.eps / 2)

    def _positive_log_odds(self, rows: Tensor) -> Tensor:
        """Return clipped log-odds of the positive class for rows of one value or two."""
        if self.form == "logits":
            s = rows[:, -1] - (rows[:, 0] if rows.shape[1] == 2 else 0)
        else:
            log_p = rows[:, -1] if self.form == "log_probabilities" else rows[:, -1].log()
            p = log_p.exp() if self.form == "log_probabilities" else rows[:, -1]
            s = log_p - torch.log1p(-p)
        return s.clamp(-self.limit, self.limit)

    def _log_probabilities(self, rows: Tensor) -> Tensor:
        if self.form == "logits":
            return torch.log_softmax(rows, dim=-1)
        return rows if self.form == "log_probabilities" else rows.log()


def _tail(s: Tensor) -> Tensor:
    size = s.abs()
    return s.sign() * ((1 + size) * torch.log1p(size) - size)
