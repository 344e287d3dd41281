"""Evaluation of language models and token classifiers in Hugging Face's Trainer, label −100 ignored.

`token_log_probs` is a ``preprocess_logits_for_metrics``: of logits (N, T, V) it keeps the log-probability of each
token, so that no logits are gathered. `compute_metrics` makes the metrics of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._lib.errors import needed
from ..language_models.items import Text
from ..language_models.text_comparison import assess_texts
from ..language_models.text_tally import TextTally

with needed(__name__, "PyTorch", "torch"):
    import torch

IGNORED = -100


def token_log_probs(logits: Any, labels: Any) -> Any:
    """Log-probability of each next token, NaN where the label is −100: logits (N, T, V), labels (N, T) to (N, T−1)."""
    x = logits[0] if isinstance(logits, tuple | list) else logits
    x, y = x[:, :-1], labels[:, 1:]
    return label_log_probs(x, y)


def label_log_probs(logits: Any, labels: Any) -> Any:
    """Log-probability of each label, NaN where it is −100, as for token classification: nothing is shifted."""
    x = logits[0] if isinstance(logits, tuple | list) else logits
    kept = labels != IGNORED
    own = torch.gather(x, -1, torch.where(kept, labels, 0).unsqueeze(-1)).squeeze(-1).float()
    found = own - torch.logsumexp(x.float(), -1)
    return torch.where(kept, found, torch.full_like(found, torch.nan))


def compute_metrics(prediction: Any) -> dict[str, float]:
    """Make metrics of log-probabilities, each sequence a document: log loss per token, perplexity and others.

    Pass it to Trainer with ``preprocess_logits_for_metrics=token_log_probs``. Unlike ``eval_loss``, a mean of the
    batches' means, these are of all tokens together.
    """
    given = prediction.predictions
    rows = np.asarray(given[0] if isinstance(given, tuple) else given, dtype=np.float64)
    # Trainer pads the rows of later batches with −100.
    scored = [row[~np.isnan(row) & (row != IGNORED)] for row in rows]
    texts = (Text.of(str(at), None, np.minimum(row, 0.0)) for at, row in enumerate(scored) if row.size)
    rate = assess_texts(TextTally.count(texts)).rates["token"]
    return {
        "log_loss": -rate.log_probability,
        "log_loss_lower": -rate.interval.high,
        "log_loss_upper": -rate.interval.low,
        "perplexity": rate.perplexity,
        "geometric_accuracy": rate.geometric_accuracy,
        "tokens": rate.total,
    }
