"""Skill of assessed forecasts against a reference that the user names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._lib.errors import InputError
from .settings import AssessmentSettings

if TYPE_CHECKING:
    from ..pairing.skill_result import Skill


def skill_against(
    y_true: Any, y_prob: Any, reference: Any, settings: AssessmentSettings, reading: Mapping[str, Any], by: Any = None
) -> Skill | None:
    """Compare forecasts with a reference: "base-rate", a climatology, or other probabilities; None without any."""
    if reference is None:
        return None
    from ..pairing.skill import BASE_RATE, REFERENCES, skill, skill_rules  # which most assessments do without

    if isinstance(reference, str) and reference != BASE_RATE:
        raise InputError(f"reference: {reference!r}: {REFERENCES}.")
    return skill(
        y_true,
        {"forecasts": y_prob},
        reference=reference,
        by=by,
        floor=settings.limits[0],
        confidence=settings.confidence,
        metrics=skill_rules(settings.asked),
        **reading,
    )
