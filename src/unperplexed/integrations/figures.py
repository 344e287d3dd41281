"""Figures of probabilities by name, as functions of outcomes and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .._lib.errors import InputError
from ..assessment import risk_profile as profile
from ..assessment.assess import assess
from ..calibration import errors as calibration
from ..recalibration.refinement import refinement_loss
from ..scores import functions as scores
from ..scores.registry import SCORES

Figure = Callable[..., float]

_MEANS: dict[str, Figure] = {
    "geometric_accuracy": profile.geometric_accuracy,
    "decisiveness": profile.decisiveness,
    "robustness": profile.robustness,
}
_CALIBRATION: dict[str, Figure] = {
    "expected_calibration_error": calibration.expected_calibration_error,
    "smooth_calibration_error": calibration.smooth_calibration_error,
}
REFINEMENT = "refinement_loss"
"""The figure that is not made from the counts of an assessment."""
_OTHER_RULES = ("ranked_probability_score", "power_score", "generalized_surprisal")


def _of_rule(name: str) -> Figure:
    """Find the function of a rule, or for one that has none make the plain mean of its rows."""
    return getattr(scores, name, None) or partial(scores.mean_score, name)


LARGER: dict[str, Figure] = {
    **_MEANS,
    **{name: _of_rule(name) for name, rule in SCORES.items() if rule.larger_is_better},
}
"""Metrics of which larger is better."""

SMALLER: dict[str, Figure] = {
    **{name: _of_rule(name) for name, rule in SCORES.items() if not rule.larger_is_better},
    **{name: _of_rule(name) for name in _OTHER_RULES},
    **_CALIBRATION,
    REFINEMENT: refinement_loss,
}
"""Metrics of which smaller is better."""

FIGURES = LARGER | SMALLER

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
"""Figures of an assessment that metrics and callbacks give by default, by their names in ``Assessment.figures()``."""


def larger_is_better(figure: str) -> bool | None:
    """Whether larger values are better of a figure in ``Assessment.figures()``; None if neither are, as of slopes."""
    if figure == REFINEMENT:
        return False
    if figure in SCORES:
        return SCORES[figure].larger_is_better
    means = ("decisiveness", "geometric_accuracy", "robustness")
    of_means = [f"{kind}_{mean}" for kind in ("reported", "measured") for mean in means]
    return True if figure in (*of_means, "prediction_accuracy", "divergence_probability") else None


def check_settings(figure: str, **settings: Any) -> None:
    """Call a figure once, so that it refuses settings that it does not have."""
    FIGURES[figure]([0, 1], [0.5, 0.5], **settings)


def check_figures(names: Sequence[str], **settings: Any) -> None:
    """Refuse names that are none in ``Assessment.figures()`` nor `REFINEMENT`, and settings that `assess` refuses."""
    known = [*assess([0, 1], [0.5, 0.5], **{**settings, "resamples": 0}).figures(), REFINEMENT]
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"figures: no figure {unknown[0]!r}. Known: {', '.join(sorted(known))}.")
