"""Metrics of questions or answers with the assessment of their probabilities: a frozen GradedAssessment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._lib.formatting import number_of
from .._lib.serialize import plain_values
from .._version import __version__
from ..assessment.result import Assessment
from ..report.result import JsonResult
from .metric_means import Mean


@dataclass(frozen=True)
class GradedAssessment(JsonResult):
    """Metrics of questions or graded answers, and the assessment of their probabilities.

    ``print`` it, ``.report()`` it, take it as ``.to_dict()`` or ``.to_json()``. Made by `assess_questions` and
    `assess_answers`; all fields are final.
    """

    what: str
    """``"question"`` or ``"answer"``."""
    n: int
    metrics: dict[str, Mean]
    assessment: Assessment | None
    """Assessment of the forecasts of yes or no; None without probabilities."""
    events: str
    """What these forecasts are, in words."""
    confidence: float
    remarks: tuple[str, ...]
    tasks: dict[str, dict[str, Mean]]
    """The metrics of each task, where the logs are of several."""
    n_questions: int = 0
    """Questions with options or stated confidences, the clusters of the assessment."""
    unread: int = 0
    """Answers that could not be read from the outputs, and count as wrong."""
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        own = {name: plain_values(value) for name, value in vars(self).items() if name != "assessment"}
        return own | {"assessment": None if self.assessment is None else self.assessment.to_dict()}

    def frame(self) -> Any:
        """Give a polars DataFrame with one row for each metric.

        Returns
        -------
        polars.DataFrame
            The columns ``metric``, ``value``, ``standard_error``, ``lower``, ``upper`` and ``n``.
        """
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "metric": name,
                    "value": each.value,
                    "standard_error": each.standard_error,
                    "lower": each.interval.low,
                    "upper": each.interval.high,
                    "n": each.n,
                }
                for name, each in self.metrics.items()
            ]
        )

    def unread_text(self) -> str:
        """Say that no answer could be read, where that is so."""
        if not self.n or self.unread < self.n:
            return ""
        return f"No answer could be read from the outputs: all {self.n:,} count as wrong"

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<GradedAssessment of {number_of(self.n, self.what)}>"
