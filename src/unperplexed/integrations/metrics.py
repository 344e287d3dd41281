"""Metrics of probabilities by name, as functions of outcomes and probabilities."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from inspect import signature
from typing import Any, Literal, get_args

from .._lib.errors import InputError, check_choice, refuse_unknown
from ..assessment import risk_profile as profile
from ..assessment.assess import assess
from ..assessment.result import Assessment
from ..calibration import errors as calibration
from ..recalibration.refinement import refinement_loss
from ..scores import functions as scores
from ..scores.rules import SCORES

Function = Callable[..., float]

Scale = Literal["probability", "logits"]
"""What a model's predictions are."""

_MEANS: dict[str, Function] = {
    "geometric_accuracy": profile.geometric_accuracy,
    "decisiveness": profile.decisiveness,
    "robustness": profile.robustness,
}
_CALIBRATION: dict[str, Function] = {
    "expected_calibration_error": calibration.expected_calibration_error,
    "smooth_calibration_error": calibration.smooth_calibration_error,
}
REFINEMENT = "refinement_loss"
"""The metric that is not made from the counts of an assessment."""
_OTHER_RULES = ("ranked_probability_score", "power_score", "generalized_surprisal")


def _of_rule(name: str) -> Function:
    """Find the function of a rule, or for one that has none make the plain mean of its rows."""
    return getattr(scores, name, None) or partial(scores.mean_score, name)


LARGER: dict[str, Function] = {
    **_MEANS,
    **{name: _of_rule(name) for name, rule in SCORES.items() if rule.larger_is_better},
}
"""Metrics of which larger is better."""

SMALLER: dict[str, Function] = {
    **{name: _of_rule(name) for name, rule in SCORES.items() if not rule.larger_is_better},
    **{name: _of_rule(name) for name in _OTHER_RULES},
    **_CALIBRATION,
    REFINEMENT: refinement_loss,
}
"""Metrics of which smaller is better."""

METRICS = LARGER | SMALLER

HEADLINE = (
    "reported_geometric_accuracy",
    "reported_decisiveness",
    "reported_robustness",
    "measured_geometric_accuracy",
    "prediction_accuracy",
    "averages_slope",
    "divergence_probability",
    "log_loss",
    "brier_score",
)
"""Metrics of an assessment that metrics and callbacks give by default, by their names in ``Assessment.metrics()``."""


CALIBRATION = ("slope", "intercept", "ece", "auc")
"""Further metrics of an assessment, which have intervals and are its attributes."""


def named(assessment: Assessment, names: Sequence[str]) -> dict[str, float]:
    """Give metrics of an assessment by name; those of `CALIBRATION` where they are asked for, as they take a fit."""
    asked = {name: getattr(assessment, name) for name in names if name in CALIBRATION}
    return assessment.metrics() | {name: math.nan if each is None else each.value for name, each in asked.items()}


def larger_is_better(metric: str) -> bool | None:
    """Whether larger values are better of a metric of an assessment; None if neither are, as of slopes."""
    if metric in (REFINEMENT, "ece"):
        return False
    if metric in SCORES:
        return SCORES[metric].larger_is_better
    of_mean = metric.removeprefix("reported_").removeprefix("measured_") in _MEANS
    return True if of_mean or metric in ("prediction_accuracy", "divergence_probability", "auc") else None


def check_scale(scale: Scale) -> Scale:
    """Refuse a scale that predictions in a training loop do not have."""
    check_choice("scale", scale, get_args(Scale))
    return scale


def check_settings(metric: str, **settings: Any) -> None:
    """Refuse settings that a metric does not have, and call it once, so that it refuses their values."""
    refuse_unknown(metric, settings, [*signature(METRICS[metric]).parameters, "scale"])
    METRICS[metric]([0, 1], [0.5, 0.5], **settings)


def check_metrics(names: Sequence[str], **settings: Any) -> None:
    """Refuse names of no metric of an assessment nor `REFINEMENT`, and settings that `assess` refuses."""
    known = [*assess([0, 1], [0.5, 0.5], **{**settings, "resamples": 0}).metrics(), *CALIBRATION, REFINEMENT]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"metrics: no metric {unknown[0]!r}. Known: {', '.join(sorted(known))}.")
