"""Training losses for PyTorch: scoring rules of the probabilities that logits stand for. Smaller is better.

Each is a function and a module with the options of `torch.nn.functional.cross_entropy`: classes or distributions of
them as targets, class weights, ``ignore_index``, ``label_smoothing`` and ``reduction``.
"""

from __future__ import annotations

from typing import Literal, TypedDict, Unpack

from .._lib.errors import InputError, check_choice, needed
from ..forecasts.reading import reads
from ..scores import differentiable as _rules
from ..scores.differentiable import Rule

with needed(__name__, "PyTorch", "torch"):
    import torch
    from torch import Tensor, nn


Reduction = Literal["mean", "sum", "none"]


class Options(TypedDict, total=False):
    """What all losses take; `unperplexed.integrations.torch.brier_loss` describes it."""

    weight: Tensor | None
    ignore_index: int
    label_smoothing: float
    reduction: Reduction


_DEFAULTS = {"ignore_index": -100, "label_smoothing": 0.0, "reduction": "mean"}


@reads(Options, _DEFAULTS)
def brier_loss(input: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """Brier score of logits, summed over classes. Smaller is better; strictly proper.

    Parameters
    ----------
    input : Tensor of shape (C,), (N, C) or (N, C, d1, ...)
        Logits: what softmax makes probabilities of. Logarithms of probabilities are such. Half precision is computed
        in float32.
    target : Tensor
        Numbers of the classes that happened, of the shape of ``input`` without its classes; or of its shape, what
        probability each class has.
    weight : Tensor of shape (C,), optional
        By how much each class counts.
    ignore_index : int, default -100
        Targets of this number count nothing and have no gradient.
    label_smoothing : float, default 0
        Share of each target that is dealt evenly to all classes.
    reduction : {"mean", "sum", "none"}, default "mean"
        The mean over targets, weighted by their classes if these have weights; over rows if targets are distributions.

    Returns
    -------
    Tensor
        A scalar, or with ``reduction="none"`` a value for each target. From 0 (certain and right) to 2.

    Raises
    ------
    InputError
        For shapes, data types and options that do not go together, and classes that are out of range.

    Notes
    -----
    ``1 - 2 p_c + sum_j p_j^2`` with p the softmax of the logits and c the observed class (Brier 1950); of distributions
    its expectation, which differs from the squared distance to them by what no forecast changes.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import brier_loss
    >>> p = torch.tensor([[0.33, 0.34, 0.33], [0.51, 0.49, 0.0]])
    >>> brier_loss(p.log(), torch.tensor([1, 1]), reduction="none")
    tensor([0.6534, 0.5202])
    """
    return rule_loss(_rules.BRIER, input, target, **options)


@reads(Options, _DEFAULTS)
def penalized_brier_loss(input: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """Brier score of logits plus a penalty for a wrong top class. Smaller is better; strictly proper.

    The penalty is constant wherever it is smooth: the gradient is that of the Brier score. What differs is which of two
    models is the better one, so it is for stopping and choosing more than for descending.

    Parameters
    ----------
    input, target, weight, ignore_index, label_smoothing, reduction
        As in `brier_loss`.

    Returns
    -------
    Tensor
        As `brier_loss`, from 0 (certain and right) to 2 + (C-1)/C.

    Raises
    ------
    InputError
        As `brier_loss`.

    Notes
    -----
    The Brier score plus ``(C-1)/C * wrong`` (Ahmadian, Ghatee and Wahlström 2025), with ``wrong`` 1 if another class is
    on top, 1 - 1/k if the one that happened is one of k on top, else 0: `unperplexed.scores.penalized_brier_score`.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import penalized_brier_loss
    >>> p = torch.tensor([[0.33, 0.34, 0.33], [0.51, 0.49, 0.0]])
    >>> penalized_brier_loss(p.log(), torch.tensor([1, 1]), reduction="none")
    tensor([0.6534, 1.1869])
    """
    return rule_loss(_rules.PENALIZED_BRIER, input, target, **options)


@reads(Options, _DEFAULTS)
def penalized_log_loss(input: Tensor, target: Tensor, **options: Unpack[Options]) -> Tensor:
    """Cross-entropy of logits plus a penalty for a wrong top class. Smaller is better; strictly proper.

    As of `penalized_brier_loss`, the gradient is that without the penalty.

    Parameters
    ----------
    input, target, weight, ignore_index, label_smoothing, reduction
        As in `brier_loss`.

    Returns
    -------
    Tensor
        As `brier_loss`, from 0 (certain and right) on.

    Raises
    ------
    InputError
        As `brier_loss`.

    Notes
    -----
    ``-ln p_c + ln(C) * wrong`` with ``wrong`` as in `penalized_brier_loss`: `unperplexed.scores.penalized_log_loss`.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import penalized_log_loss
    >>> p = torch.tensor([[0.33, 0.34, 0.33], [0.51, 0.49, 0.0]])
    >>> penalized_log_loss(p.log(), torch.tensor([1, 1]), reduction="none")
    tensor([1.0788, 1.8120])
    """
    return rule_loss(_rules.PENALIZED_LOG, input, target, **options)


@reads(Options, _DEFAULTS)
def generalized_surprisal_loss(input: Tensor, target: Tensor, r: float, **options: Unpack[Options]) -> Tensor:
    """Generalized surprisal of logits: risk-averse of orders below 0, risk-seeking above. Smaller is better.

    Only of order 0, which is cross-entropy, is it proper: of others the logits that it is least for are not those of
    the true probabilities. `power_loss` is its proper companion.

    Parameters
    ----------
    input, target
        As in `brier_loss`.
    r : float
        Order, above -1.
    weight, ignore_index, label_smoothing, reduction
        As in `brier_loss`.

    Returns
    -------
    Tensor
        As `brier_loss`, from 0 (certain and right) to (1+r)/r for r > 0, else on without end.

    Raises
    ------
    InputError
        As `brier_loss`; for an order that is no finite number above -1.

    Notes
    -----
    ``-(1+r)/r (p_c^r - 1)``, at r = 0 ``-ln p_c``: `unperplexed.scores.generalized_surprisal`. Below order 0 it goes on
    in a straight line over ln p_c where the power exceeds the cube root of the largest number: in float32 at order -2/3
    below p_c = 5e-20, of logits in float16 below 3e-7. So it and its gradient are finite.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import generalized_surprisal_loss
    >>> p = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    >>> generalized_surprisal_loss(p.log(), torch.tensor([1, 0]), -0.5)
    tensor(0.2661)
    """
    return rule_loss(_rules.surprisal_rule(r), input, target, **options)


@reads(Options, _DEFAULTS)
def power_loss(input: Tensor, target: Tensor, r: float, **options: Unpack[Options]) -> Tensor:
    """Power score of logits: the generalized surprisal made proper. Smaller is better; strictly proper.

    Order 0 is cross-entropy, order 1 the Brier score. The lower the order, the more improbable classes that happen
    weigh in the gradient; the higher, the less, as of labels that are not to be trusted.

    Parameters
    ----------
    input, target
        As in `brier_loss`.
    r : float
        Order, above -1.
    weight, ignore_index, label_smoothing, reduction
        As in `brier_loss`.

    Returns
    -------
    Tensor
        As `brier_loss`, from 0 (certain and right) to (1+r)/r for r > 0, else on without end.

    Raises
    ------
    InputError
        As `generalized_surprisal_loss`.

    Notes
    -----
    ``-(1+r)/r (p_c^r - 1) + sum_j p_j^(1+r) - 1``: `unperplexed.scores.power_score`. Straight as
    `generalized_surprisal_loss` where it would overflow.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import power_loss
    >>> p = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    >>> torch.stack([power_loss(p.log(), torch.tensor([1, 0]), r) for r in (-0.5, 0, 1)])
    tensor([0.6441, 0.4581, 0.2900])
    """
    return rule_loss(_rules.power_rule(r), input, target, **options)


@reads(Options, _DEFAULTS)
def risk_loss(
    input: Tensor,
    target: Tensor,
    *,
    decisiveness: float = 1.0,
    accuracy: float = 1.0,
    robustness: float = 1.0,
    proper: bool = True,
    **options: Unpack[Options],
) -> Tensor:
    """Weigh decisiveness, geometric accuracy and robustness in one loss of logits. Smaller is better.

    Parameters
    ----------
    input, target
        As in `brier_loss`.
    decisiveness, accuracy, robustness : float, default 1
        Weights, of which their sum does not matter: of the rules of order 1, 0 and -2/3.
    proper : bool, default True
        Power scores, of which every mixture is strictly proper; else generalized surprisals, whose averages
        decisiveness, geometric accuracy and robustness are, and which only geometric accuracy alone is proper of.
    weight, ignore_index, label_smoothing, reduction
        As in `brier_loss`.

    Returns
    -------
    Tensor
        As `brier_loss`.

    Raises
    ------
    InputError
        As `brier_loss`; for weights below 0 or all 0.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import risk_loss
    >>> p = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    >>> risk_loss(p.log(), torch.tensor([1, 0]), robustness=0)
    tensor(0.3741)
    """
    rule = _rules.risk_rule(decisiveness, accuracy, robustness, proper)
    return rule_loss(rule, input, target, **options)


class _RuleLoss(nn.Module):
    """A rule, and the options that all have in common."""

    weight: Tensor | None

    def __init__(
        self,
        rule: Rule,
        *,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        label_smoothing: float = 0.0,
        reduction: Reduction = "mean",
    ) -> None:
        super().__init__()
        check_options(label_smoothing, reduction)
        self._rule = rule
        self.register_buffer("weight", weight)
        self.ignore_index, self.label_smoothing, self.reduction = ignore_index, label_smoothing, reduction

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Score logits."""
        return rule_loss(self._rule, input, target, **{name: getattr(self, name) for name in Options.__annotations__})

    def extra_repr(self) -> str:
        """Name the settings, but for those that stand by default."""
        hidden = ("training",)
        given = {name: value for name, value in vars(self).items() if not name.startswith("_") and name not in hidden}
        return ", ".join(f"{name}={value!r}" for name, value in given.items() if value != _DEFAULTS.get(name))


class BrierLoss(_RuleLoss):
    """`brier_loss` as a module, with its options as keywords. Smaller is better; strictly proper.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import BrierLoss
    >>> BrierLoss(label_smoothing=0.1)
    BrierLoss(label_smoothing=0.1)
    >>> BrierLoss()(torch.tensor([[0.33, 0.34, 0.33]]).log(), torch.tensor([1]))
    tensor(0.6534)
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(_rules.BRIER, **options)


class PenalizedBrierLoss(_RuleLoss):
    """`penalized_brier_loss` as a module, with its options as keywords. Smaller is better; strictly proper.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import PenalizedBrierLoss
    >>> PenalizedBrierLoss()(torch.tensor([[0.51, 0.49, 0.0]]).log(), torch.tensor([1]))
    tensor(1.1869)
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(_rules.PENALIZED_BRIER, **options)


class PenalizedLogLoss(_RuleLoss):
    """`penalized_log_loss` as a module, with its options as keywords. Smaller is better; strictly proper.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.torch import PenalizedLogLoss
    >>> PenalizedLogLoss()(torch.tensor([[0.51, 0.49, 0.0]]).log(), torch.tensor([1]))
    tensor(1.8120)
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(_rules.PENALIZED_LOG, **options)


class GeneralizedSurprisalLoss(_RuleLoss):
    """`generalized_surprisal_loss` of order r as a module. Smaller is better; proper only at r = 0.

    Examples
    --------
    >>> from unperplexed.integrations.torch import GeneralizedSurprisalLoss
    >>> GeneralizedSurprisalLoss(-0.5)
    GeneralizedSurprisalLoss(r=-0.5)
    """

    def __init__(self, r: float, **options: Unpack[Options]) -> None:
        super().__init__(_rules.surprisal_rule(r), **options)
        self.r = float(r)


class PowerLoss(_RuleLoss):
    """`power_loss` of order r as a module. Smaller is better; strictly proper.

    Examples
    --------
    >>> from unperplexed.integrations.torch import PowerLoss
    >>> PowerLoss(0.5, reduction="sum")
    PowerLoss(reduction='sum', r=0.5)
    """

    def __init__(self, r: float, **options: Unpack[Options]) -> None:
        super().__init__(_rules.power_rule(r), **options)
        self.r = float(r)


class RiskLoss(_RuleLoss):
    """`risk_loss` as a module, with its weights and options. Smaller is better; strictly proper by default.

    Examples
    --------
    >>> from unperplexed.integrations.torch import RiskLoss
    >>> RiskLoss(robustness=2)
    RiskLoss(decisiveness=1.0, accuracy=1.0, robustness=2, proper=True)
    """

    def __init__(
        self,
        *,
        decisiveness: float = 1.0,
        accuracy: float = 1.0,
        robustness: float = 1.0,
        proper: bool = True,
        **options: Unpack[Options],
    ) -> None:
        super().__init__(_rules.risk_rule(decisiveness, accuracy, robustness, proper), **options)
        self.decisiveness, self.accuracy, self.robustness = decisiveness, accuracy, robustness
        self.proper = proper


def rule_loss(
    rule: Rule,
    input: Tensor,
    target: Tensor,
    *,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """Score logits by a rule.

    Parameters
    ----------
    rule : Rule
        The scoring rule.
    input, target, weight, ignore_index, label_smoothing, reduction
        As in `brier_loss`.
    """
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
    if target.device.type == "cpu" and not torch.compiler.is_compiling():  # or else to look waits, or breaks a graph
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
