"""Metrics of Inspect: Brier score, log loss and area under the risk-coverage curve of stated confidences.

Inspect finds them by the entry point ``unperplexed``: name them as ``unperplexed/stated_brier``, or import them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .._lib.errors import needed
from ..assessment.risk_coverage import risk_coverage
from ..language_models.graded import stated_confidence

with needed(__name__, "Inspect", "inspect"):
    from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, accuracy, metric, scorer, stderr
    from inspect_ai.solver import TaskState


def _metric(key: str, of: Callable[[Any, Any], float]) -> Metric:
    """Make a metric of the grades and the confidences of the samples that have both."""

    def value(scores: list[SampleScore]) -> float:
        pairs = [(each.score.as_float(), (each.score.metadata or {}).get(key)) for each in scores]
        kept = [(grade, float(p)) for grade, p in pairs if p is not None and not math.isnan(grade)]
        return float(of(*np.array(kept, dtype=np.float64).T)) if kept else math.nan

    return value


@metric
def stated_brier(key: str = "confidence") -> Metric:
    """Mean squared difference of the stated confidence from the grade; smaller is better.

    Inspect gives metrics the samples reduced over epochs, with the metadata of the first epoch: for several epochs use
    ``unperplexed lm LOG``.
    """
    return _metric(key, lambda grades, p: ((p - grades) ** 2).mean())


@metric
def stated_overconfidence(key: str = "confidence") -> Metric:
    """Mean stated confidence minus the mean grade; 0 is best."""
    return _metric(key, lambda grades, p: p.mean() - grades.mean())


@metric
def stated_aurc(key: str = "confidence") -> Metric:
    """Area under the risk-coverage curve of the stated confidence; smaller is better."""
    return _metric(key, lambda grades, p: risk_coverage(grades, p).area)


@scorer(metrics=[accuracy(), stderr(), stated_brier(), stated_overconfidence(), stated_aurc()])
def stated(scale: float | None = None) -> Scorer:
    """Grade whether the target stands in the output, and keep the confidence that the output states."""

    async def score(state: TaskState, target: Target) -> Score:
        text = state.output.completion
        right = any(each.casefold() in text.casefold() for each in target)
        found = stated_confidence(text, scale=scale)
        return Score(value="C" if right else "I", answer=text, metadata={"confidence": found})

    return score
