"""Skill of assessed forecasts against a baseline that the user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .._lib.errors import InputError
from .settings import AssessmentSettings

if TYPE_CHECKING:
    from ..pairing.skill_result import Skill

FORECASTS, BASELINE = "forecasts", "the baseline"
"""Names of what is compared."""


def skill_against(
    y_true: Any,
    y_prob: Any,
    baseline: Any,
    climatology: Any,
    settings: AssessmentSettings,
    scores: Sequence[str],
    reading: Mapping[str, Any],
    by: Any = None,
) -> Skill | None:
    """Compare forecasts with a baseline: "base-rate", a climatology, or other probabilities; None without any."""
    if baseline is None and climatology is None:
        return None
    from ..pairing.skill import BASE_RATE, skill, skill_rules  # which most assessments do without

    named = {FORECASTS: y_prob}
    if isinstance(baseline, str) and baseline != BASE_RATE:
        raise InputError(
            f"baseline: expected {BASE_RATE!r} or the probabilities of another forecaster, not {baseline!r}."
        )
    if baseline is not None and not isinstance(baseline, str):
        named[BASELINE], baseline = baseline, BASELINE
    return skill(
        y_true,
        named,
        baseline=BASE_RATE if baseline is None else baseline,
        climatology=climatology,
        by=by,
        floor=settings.floor,
        confidence=settings.confidence,
        scores=skill_rules(scores),
        **reading,
    )
