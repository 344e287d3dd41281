"""A comparison of two models on the same questions as a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .._lib.formatting import capital, confidence_interval, number_of, p_value_cell, short_names
from ..language_models.clustered_ratios import with_gap
from ..language_models.questions import GradedAssessment, QuestionComparison
from ..report.document import LONGEST_NAME, Column, Document, Section, Table
from ..report.numbers import number, signed
from ..report.result import Naming, document
from ..report.tables import aside, ci, estimates
from .assessment_words import TITLES


@document.register(QuestionComparison)
def comparison_document(c: QuestionComparison, naming: Naming, *, brief: bool) -> Document:
    """Describe a comparison of two models on the same questions."""
    table = metric_table(c)
    left = [f"{number_of(c.left_out, 'question')} left out: in one of the logs only"] if c.left_out else []
    text, decided = c.verdict, any(c.metrics[name].significant for name in c.judged)
    return Document(
        title=f"{' and '.join(c.names)} on the same questions",
        facts=number_of(c.n_questions, "question"),
        headline=text if decided or c.differ_in_calibration else capital(text),
        first=Section("metrics", "Metrics", [table], "Metrics"),
        summary=[table],
        settings="paired by question; p-values are not adjusted for the number of metrics",
        warnings=[*left, *c.remarks],
    )


def metric_table(c: QuestionComparison) -> Table:
    """Return the metrics of both models and their differences."""
    found = list(c.metrics.values())
    first, second = short_names(c.names)
    return Table.of(
        _better(c.metrics),
        Column("metric", list(c.metrics)),
        Column(first, [number(each.first) for each in found]),
        Column(second, [number(each.second) for each in found]),
        estimates("difference", ((each.difference, each.interval) for each in found), signed),
        Column("p-value", [p_value_cell(each.p_value) for each in found]),
        notes=confidence_interval(c.confidence),
    )


def metrics_table(found: GradedAssessment) -> Table:
    """Return the metrics with their intervals."""
    return Table.of(
        _better(found.metrics),
        Column("metric", list(found.metrics)),
        estimates("mean", ((each.value, each.interval) for each in found.metrics.values())),
        notes=confidence_interval(found.confidence),
    )


def _better(metrics: Mapping[str, Any]) -> str:
    larger = [name for name, each in metrics.items() if each.larger_is_better]
    smaller = [name for name in metrics if name not in larger]
    return f"Larger is better: {', '.join(larger)}" + (f"; smaller: {', '.join(smaller)}." if smaller else ".")


def task_table(found: GradedAssessment) -> Table:
    """Return the first metric of each task, and its Brier score where it has one."""
    tasks = list(found.tasks.values())
    common = [name for name in found.metrics if all(name in each for each in tasks)]
    shown = [each[common[0]] if common else next(iter(each.values())) for each in tasks]
    columns = [
        Column("task", short_names(found.tasks, LONGEST_NAME)),
        Column(f"{found.what}s", [f"{each.n:,}" for each in shown]),
        estimates(common[0] if common else "mean", ((each.value, each.interval) for each in shown)),
    ]
    if all("brier_score" in each for each in tasks):
        columns.append(Column("brier_score", [number(each["brier_score"].value) for each in tasks]))
    return Table("By task.", columns, notes=confidence_interval(found.confidence))


@document.register(GradedAssessment)
def graded_document(found: GradedAssessment, naming: Naming, *, brief: bool) -> Document:
    """Describe the metrics, and the assessment of the probabilities."""
    own = _of_metrics(found)
    if found.assessment is None:
        return own
    whole: Document = document(found.assessment, naming, brief=brief)
    headline = found.unread_text() or whole.headline
    if not found.assessment.diagnosis.made and not found.unread_text():
        units = number_of(found.n_questions, "question")
        headline = f"Not tested for miscalibration: {units} {'is' if found.n_questions == 1 else 'are'} too few"
    headline, remarks = with_gap(found.overconfidence, headline, found.assessment.diagnosis.miscalibrated)
    return replace(
        whole,
        headline=headline,
        # The accuracy of a threshold of 0.5 is not that of the questions, which is among the metrics below.
        metrics=[each for each in whole.metrics if each.name != TITLES["accuracy"]],
        title=own.title,
        facts=f"{own.facts}, {found.events}",
        summary=[*own.summary, *whole.summary],
        warnings=[*own.warnings, *whole.warnings, *remarks],
    )


def _of_metrics(found: GradedAssessment) -> Document:
    """Describe the metrics alone."""
    first, mean = next(iter(found.metrics.items()))
    limits = aside(ci(confidence_interval(found.confidence), mean.interval))
    return Document(
        title=f"Language model on {found.what}s",
        facts=number_of(found.n, found.what),
        headline=found.unread_text() or f"The {first} is {number(mean.value)}{limits}",
        calm=True,
        summary=[metrics_table(found), *([task_table(found)] if found.tasks else [])],
        warnings=found.remarks,
    )
