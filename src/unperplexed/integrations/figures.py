"""Figures of probabilities by name, as functions of outcomes and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._lib.errors import InputError
from ..assessment import risk_profile as profile
from ..assessment.assess import assess
from ..calibration import errors as calibration
from ..scores import functions as rules

Figure = Callable[..., float]

LARGER: dict[str, Figure] = {
    "geometric_accuracy": profile.geometric_accuracy,
    "decisiveness": profile.decisiveness,
    "robustness": profile.robustness,
    "spherical_score": rules.spherical_score,
}
"""Of which larger is better."""

SMALLER: dict[str, Figure] = {
    "log_loss": rules.log_loss,
    "brier_score": rules.brier_score,
    "penalized_brier_score": rules.penalized_brier_score,
    "penalized_log_loss": rules.penalized_log_loss,
    "ranked_probability_score": rules.ranked_probability_score,
    "power_score": rules.power_score,
    "generalized_surprisal": rules.generalized_surprisal,
    "expected_calibration_error": calibration.expected_calibration_error,
    "smooth_calibration_error": calibration.smooth_calibration_error,
}
"""Of which smaller is better."""

FIGURES = LARGER | SMALLER

HEADLINE = (
    "reported_geometric_accuracy",
    "reported_decisiveness",
    "reported_robustness",
    "measured_geometric_accuracy",
    "prediction_accuracy",
    "slope",
    "divergence_probability",
    "log_loss",
    "brier_score",
)
"""Figures of an assessment that metrics and callbacks give by default, by their names in ``Assessment.figures()``."""


def larger_is_better(figure: str) -> bool | None:
    """Whether larger values are better of a figure in ``Assessment.figures()``; None if neither are, as of slopes."""
    if figure in rules.SCORES:
        return rules.SCORES[figure].larger_is_better
    means = ("decisiveness", "geometric_accuracy", "robustness")
    of_means = [f"{kind}_{mean}" for kind in ("reported", "measured") for mean in means]
    return True if figure in (*of_means, "prediction_accuracy", "divergence_probability") else None


def check_settings(figure: str, **settings: Any) -> None:
    """Call a figure once, so that it refuses settings that it does not have."""
    FIGURES[figure]([0, 1], [0.5, 0.5], **settings)


def check_figures(names: Sequence[str], **settings: Any) -> None:
    """Refuse names that are none in ``Assessment.figures()``, and settings of `assess` that it refuses."""
    known = assess([0, 1], [0.5, 0.5], **{**settings, "resamples": 0}).figures()
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"figures: no figure {unknown[0]!r}. Known: {', '.join(sorted(known))}.")
