"""Metrics of next tokens from logits in PyTorch, on whatever device they are, without a copy of all probabilities."""

from __future__ import annotations

import math
from typing import NamedTuple

from .._lib.errors import InputError, needed

with needed(__name__, "PyTorch", "torch"):
    import torch
    from torch import Tensor

_ON_HOST, _ON_DEVICE = 1 << 18, 1 << 25
"""Logits in a block: what stays in the cache of a processor, and what keeps a device busy."""
_LOWEST = -110.0
"""exp of it is 0 in single precision."""


class NextTokens(NamedTuple):
    """Metrics of each next token, in float32, on the device of the logits; NaN where the label is ignored."""

    log_prob: Tensor
    """Log-probability of the observed token. Larger is better."""
    entropy: Tensor
    """Entropy of the predicted distribution in nats: the log loss that the model expects of itself."""
    top_probability: Tensor
    """Probability of the most probable token."""
    hit: Tensor
    """1 where the most probable token was observed, else 0; 1 divided by their number where several are."""


def next_tokens(logits: Tensor, labels: Tensor, *, ignore_index: int = -100) -> NextTokens:
    """Compute log-probability, entropy and top label of each token from logits, block by block.

    Parameters
    ----------
    logits : Tensor of shape (..., V)
        Logits of the V tokens of the vocabulary, in any precision; half precision is computed in float32. Labels are
        not shifted: pass ``logits[:, :-1]`` and ``labels[:, 1:]`` of a causal model.
    labels : Tensor of shape (...)
        Observed tokens.
    ignore_index : int, default -100
        Labels of this number are left out.

    Returns
    -------
    NextTokens
        Tensors of the shape of ``labels``.

    Raises
    ------
    InputError
        For shapes that do not fit, labels outside the vocabulary, and logits that are NaN or infinite (minus infinity
        is a probability of 0).

    Notes
    -----
    Each block is read from memory once; the softmax is that of the logits that came, before any temperature of
    sampling. For a calibrated model the mean entropy equals the mean log loss; a smaller one is overconfidence in nats.

    Examples
    --------
    >>> import torch
    >>> from unperplexed.integrations.next_tokens import next_tokens
    >>> found = next_tokens(torch.tensor([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3]]).log(), torch.tensor([0, 2]))
    >>> [[round(x, 3) for x in each.tolist()] for each in (found.log_prob.exp(), found.top_probability, found.hit)]
    [[0.7, 0.3], [0.7, 0.5], [1.0, 0.0]]
    """
    if logits.ndim < 1 or logits.shape[:-1] != labels.shape or not logits.shape[-1]:
        raise InputError(
            f"logits, labels: expected shapes (..., V) and (...), got {tuple(logits.shape)} and {tuple(labels.shape)}."
        )
    size = logits.shape[-1]
    x, y = logits.reshape(-1, size), labels.reshape(-1).to(logits.device, torch.int64)
    kept = y != ignore_index
    outside = kept & ((y < 0) | (y >= size))
    if bool(outside.any()):
        at = int(outside.nonzero()[0, 0])
        raise InputError(f"labels: {int(y[at])} in row {at} (counted from 0) is no token of a vocabulary of {size}.")
    y = torch.where(kept, y, 0)
    step = max(1, (_ON_HOST if logits.device.type == "cpu" else _ON_DEVICE) // size)
    found = torch.empty((4, len(y)), dtype=torch.float32, device=logits.device)
    with torch.no_grad():
        for start in range(0, len(y), step):
            rows = slice(start, start + step)
            found[:, rows] = _block(x[rows], y[rows])
    found[:, ~kept] = math.nan
    bad = kept & ~(found[1].isfinite())
    if bool(bad.any()):
        raise InputError(f"logits: NaN or infinite in row {int(bad.nonzero()[0, 0])} (counted from 0).")
    return NextTokens(*found.reshape(4, *labels.shape))


def _block(given: Tensor, labels: Tensor) -> Tensor:
    """Compute the metrics of some rows."""
    wide = torch.promote_types(given.dtype, torch.float32)
    highest = given.amax(-1, keepdim=True).to(wide)
    x = torch.sub(given, highest).clamp_(min=_LOWEST)
    p = torch.softmax(x, -1)
    top = p.amax(-1)
    own = given.gather(-1, labels[:, None]) - highest
    return torch.stack([own[:, 0] + top.log(), -top.log() - torch.linalg.vecdot(p, x), top, _hit(x, own)])


def _hit(x: Tensor, own: Tensor) -> Tensor:
    """1 divided by the number of the most probable tokens where the observed one is among them, else 0."""
    hit = (own[:, 0] == 0).to(own.dtype)
    first = hit.nonzero()[:, 0]
    if len(first):
        hit[first] /= (x[first] == 0).sum(-1)
    return hit
