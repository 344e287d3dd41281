"""Metrics of lm-evaluation-harness: log loss and calibration of multiple choice, and clustered errors of bits per byte.

Releases up to 0.4.13 read no entry points and give a registered metric of multiple choice no values. There a task names
`process_results` with ``process_results: !function file.process_results``, where file.py imports it, and
``aggregation: !function`` likewise. Later versions find the metrics by the entry points ``lm_eval.metrics``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._lib.errors import needed
from ..calibration.errors import smooth_calibration_error
from ..language_models.items import Question, option_probabilities

with needed(__name__, "lm-evaluation-harness", "lm-eval"):
    from lm_eval.api.registry import register_aggregation, register_metric

Item = tuple[int, Sequence[float]]
"""The correct option, and the log-probabilities of all options."""


def process_results(doc: Mapping[str, Any], results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Give a document's values to these metrics; its correct option is ``gold``, ``label`` or ``answer``.

    With another name of the correct option call `option_values` in a function of your own.
    """
    key = next((name for name in ("gold", "label", "answer") if isinstance(doc.get(name), int)), None)
    if key is None:
        raise KeyError("process_results: the document has no whole number named gold, label or answer.")
    return option_values(int(doc[key]), results)


def option_values(gold: int, results: Sequence[tuple[float, bool]]) -> dict[str, Any]:
    """Give the values of one question: accuracy, and what the aggregations of this module take."""
    log_probs = [float(each[0]) for each in results]
    item: Item = (gold, log_probs)
    return {"acc": float(int(np.argmax(log_probs)) == gold), "up_log_loss": item, "up_calibration_error": item}


def _probabilities(items: Sequence[Item]) -> list[tuple[int, Any]]:
    found = []
    for gold, log_probs in items:
        options = tuple(map(str, range(len(log_probs))))
        found.append((gold, option_probabilities(Question("", options, np.array(log_probs), (gold,)))))
    return found


@register_aggregation("up_log_loss")
def up_log_loss(items: Sequence[Item]) -> float:
    """Mean of minus the logarithm of the correct option's probability among the options. Smaller is better."""
    with np.errstate(divide="ignore"):
        return float(np.mean([-np.log(p[gold]) for gold, p in _probabilities(items)]))


@register_aggregation("up_calibration_error")
def up_calibration_error(items: Sequence[Item]) -> float:
    """Smooth calibration error of the probability of the most probable option. Smaller is better."""
    pairs = [(int(int(np.argmax(p)) == gold), float(np.max(p))) for gold, p in _probabilities(items)]
    right, p = zip(*pairs, strict=True)
    return float(smooth_calibration_error(right, p, labels=[0, 1], pos_label=1))


@register_metric(metric="up_log_loss", higher_is_better=False, output_type="multiple_choice", aggregation="up_log_loss")
def up_log_loss_values(items: Any) -> Any:
    """Pass the values of one question on."""
    return items


@register_metric(
    metric="up_calibration_error",
    higher_is_better=False,
    output_type="multiple_choice",
    aggregation="up_calibration_error",
)
def up_calibration_error_values(items: Any) -> Any:
    """Pass the values of one question on."""
    return items
