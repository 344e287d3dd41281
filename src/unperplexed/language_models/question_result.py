"""Metrics of questions or answers with the assessment of their probabilities: a frozen GradedAssessment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from .._lib.formatting import confidence_interval, number_of, short_names
from .._lib.serialize import plain_values
from .._version import __version__
from ..assessment.result import Assessment
from ..report.document import Column, Document, Table
from ..report.numbers import between, number
from ..report.result import JsonResult, Naming
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

    def document(self) -> Document:
        """Describe the metrics; the assessment has a document of its own."""
        first, found = next(iter(self.metrics.items()))
        limits = between(*found.interval)
        level = confidence_interval(self.confidence)
        return Document(
            title=f"Language model on {self.what}s",
            facts=number_of(self.n, self.what),
            headline=self._unread()
            or f"The {first} is {number(found.value)}" + (f" ({level} {limits})" if limits else ""),
            lead="",
            calm=True,
            summary=[metric_table(self), *([task_table(self)] if self.tasks else [])],
            warnings=self.remarks,
        )

    def _unread(self) -> str:
        """Say that no answer could be read, where that is so."""
        if not self.n or self.unread < self.n:
            return ""
        return f"No answer could be read from the outputs: all {self.n:,} count as wrong"

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<GradedAssessment of {number_of(self.n, self.what)}>"

    def _document(self, naming: Naming, *, brief: bool) -> Document:
        own = self.document()
        if self.assessment is None:
            return own
        found = self.assessment._document(naming, brief=brief)
        headline = self._unread() or found.headline
        if not self.assessment.diagnosis.made and not self._unread():
            units = number_of(self.n_questions, "question")
            headline = f"Not tested for miscalibration: {units} {'is' if self.n_questions == 1 else 'are'} too few"
        return replace(
            found,
            headline=headline,
            # The accuracy of a threshold of 0.5 is not that of the questions, which is among the metrics below.
            metrics=[each for each in found.metrics if each.name != "Accuracy"],
            title=own.title,
            facts=f"{own.facts}, {self.events}",
            summary=[*own.summary, *found.summary],
            warnings=[*own.warnings, *found.warnings],
        )


def metric_table(found: GradedAssessment) -> Table:
    """Return the metrics with their intervals."""
    larger = [name for name, each in found.metrics.items() if each.larger_is_better]
    smaller = [name for name in found.metrics if name not in larger]
    better = f"Larger is better: {', '.join(larger)}" + (f"; smaller: {', '.join(smaller)}" if smaller else "")
    return Table(
        f"{better}.",
        [
            Column("metric", list(found.metrics)),
            Column(
                "mean",
                [number(each.value) for each in found.metrics.values()],
                [between(*each.interval) for each in found.metrics.values()],
            ),
        ],
        notes=confidence_interval(found.confidence),
    )


def task_table(found: GradedAssessment) -> Table:
    """Return the first metric of each task, and its Brier score where it has one."""
    tasks = list(found.tasks.values())
    common = [name for name in found.metrics if all(name in each for each in tasks)]
    shown = [each[common[0]] if common else next(iter(each.values())) for each in tasks]
    columns = [
        Column("task", short_names(found.tasks, 200)),
        Column(f"{found.what}s", [f"{each.n:,}" for each in shown]),
        Column(
            common[0] if common else "mean",
            [number(each.value) for each in shown],
            [between(*each.interval) for each in shown],
        ),
    ]
    if all("brier_score" in each for each in tasks):
        columns.append(Column("brier_score", [number(each["brier_score"].value) for each in tasks]))
    return Table("By task.", columns, notes=confidence_interval(found.confidence))
