"""A scoring rule of logits as a loss, with the options of `torch.nn.functional.cross_entropy`."""

from __future__ import annotations

from typing import Literal, TypedDict

import torch
from torch import Tensor

from .._lib.errors import InputError, check_choice
from ..scores import differentiable as _rules
from ..scores.differentiable import Rule

Reduction = Literal["mean", "sum", "none"]


class Options(TypedDict, total=False):
    """What all losses take; `unperplexed.integrations.torch.brier_loss` describes it."""

    weight: Tensor | None
    ignore_index: int
    label_smoothing: float
    reduction: Reduction


def rule_loss(
    rule: Rule,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    label_smoothing: float,
    reduction: Reduction,
) -> Tensor:
    """Score logits by a rule."""
    check_options(label_smoothing, reduction)
    _check_tensors(input, target, weight)
    classes = input.movedim(min(input.ndim - 1, 1), -1)
    logits = classes if classes.dtype == torch.float64 else classes.float()
    log_p, n_classes = torch.log_softmax(logits, dim=-1), logits.shape[-1]
    bend = _rules.linearize_below(torch.finfo(input.dtype).max)

    def scores(log_c: Tensor, scored: Tensor) -> Tensor:
        found: Tensor = rule.score(log_c, log_p, torch, bend)
        if rule.penalty is not None:
            found = found + rule.penalty(n_classes) * _rules.wrong(scored, logits, torch)
        return found

    weights = None if weight is None else weight.to(log_p.dtype)
    if target.is_floating_point():
        if ignore_index >= 0:
            raise InputError("ignore_index: targets are distributions; none of them is a class to ignore.")
        shares = target.movedim(min(target.ndim - 1, 1), -1).to(log_p.dtype)
        shares = shares * (1 - label_smoothing) + label_smoothing / n_classes
        shares = shares if weights is None else shares * weights
        # What has no share counts nothing, also where its score is infinite.
        losses = torch.where(shares == 0, 0.0, shares * scores(log_p, logits)).sum(dim=-1)
        return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.mean()
    kept = target != ignore_index
    at = torch.where(kept, target, 0).long().unsqueeze(-1)
    if _may_look(target):
        _check_range(at, n_classes)
    losses = scores(log_p.gather(-1, at), logits.gather(-1, at)).squeeze(-1)
    counts = torch.ones_like(losses) if weights is None else weights[at.squeeze(-1)]
    losses = losses * counts
    if label_smoothing:
        each = scores(log_p, logits)
        evenly = (each if weights is None else each * weights).mean(dim=-1)
        losses = (1 - label_smoothing) * losses + label_smoothing * evenly
    losses, counts = torch.where(kept, losses, 0.0), torch.where(kept, counts, 0.0)
    return losses if reduction == "none" else losses.sum() if reduction == "sum" else losses.sum() / counts.sum()


def _may_look(target: Tensor) -> bool:
    """Whether values can be looked at without waiting for a device or breaking a graph that is compiled."""
    return target.device.type == "cpu" and not torch.compiler.is_compiling()


def _check_range(target: Tensor, n_classes: int) -> None:
    if not target.numel():
        return
    try:
        least, most = int(target.min()), int(target.max())
    except RuntimeError:  # under torch.func.vmap values cannot be looked at
        return
    if least < 0 or most >= n_classes:
        wrong = least if least < 0 else most
        raise InputError(f"target: class {wrong} of {n_classes}; they are numbered from 0 to {n_classes - 1}.")


def check_options(label_smoothing: float, reduction: str) -> None:
    """Raise an error for options that no loss can have."""
    check_choice("reduction", reduction, ("mean", "sum", "none"))
    if not 0 <= label_smoothing <= 1:
        raise InputError(f"label_smoothing: expected a share from 0 to 1, got {label_smoothing!r}.")


def _check_tensors(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    shape = tuple(input.shape)
    if not input.is_floating_point() or not shape or shape[min(len(shape) - 1, 1)] < 2:
        raise InputError(f"input: expected logits of two classes or more, got {input.dtype} of shape {shape}.")
    n_classes, places = shape[min(len(shape) - 1, 1)], shape[:1] * (len(shape) > 1) + shape[2:]
    if target.is_floating_point() and tuple(target.shape) != shape:
        raise InputError(f"target: distributions have the shape of the logits, {shape}, got {tuple(target.shape)}.")
    if not target.is_floating_point() and (tuple(target.shape) != places or target.dtype == torch.bool):
        raise InputError(
            f"target: expected numbers of classes of shape {places}, or distributions of shape {shape}, got"
            f" {target.dtype} of shape {tuple(target.shape)}."
        )
    if weight is not None and tuple(weight.shape) != (n_classes,):
        raise InputError(f"weight: expected one for each of {n_classes} classes, got shape {tuple(weight.shape)}.")
