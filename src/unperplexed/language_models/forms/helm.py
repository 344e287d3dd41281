"""Runs of HELM: ``per_instance_stats.json``, with grades and confidence, or the log-probability, of each instance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ..items import Answer, Item, Text
from . import Form, Log, Record

GRADES = (
    "exact_match",
    "quasi_exact_match",
    "prefix_exact_match",
    "quasi_prefix_exact_match",
    "math_equiv",
    "math_equiv_chain_of_thought",
    "chain_of_thought_correctness",
)
"""Metrics from 0 to 1 that grade an answer; the confidence belongs to the first."""

PERTURBED = "{count} left out: a perturbed copy of the input"
NO_LOG_PROB = "{count} without a confidence: log-probabilities are 0, which HELM writes where the server returned none"


def _recognizes(record: Record) -> bool:
    return "instance_id" in record and isinstance(record.get("stats"), list)


def _items(record: Record, place: str, log: Log) -> Iterator[Item]:
    name, trial = str(record["instance_id"]), int(record.get("train_trial_index", 0)) + 1
    if record.get("perturbation"):
        log.remarks.add(PERTURBED, "answer")
        return
    means = {each["name"]["name"]: float(each["mean"]) for each in record["stats"] if each.get("mean") is not None}
    log_prob, grades = means.get("logprob", math.nan), [each for each in GRADES if each in means]
    unknown = log_prob == 0 and means.get("num_perplexity_tokens", 1.0) > 0
    if unknown:
        log.remarks.add(NO_LOG_PROB, "instance")
    for grade in grades:
        confidence = means.get("max_prob") if grade == grades[0] and not unknown else None
        yield Answer(name, means[grade], confidence, grade, trial)
    if not grades and not unknown and not math.isnan(log_prob):
        yield Text(name, log_prob, _whole(means, "num_perplexity_tokens"), _whole(means, "num_bytes"))


def _whole(means: dict[str, float], name: str) -> Any:
    return round(means[name]) if name in means else None


FORMS = (Form("helm", "per-instance statistics of HELM", _recognizes, _items),)
