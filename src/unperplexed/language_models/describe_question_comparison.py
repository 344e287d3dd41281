"""A comparison of two models on the same questions as a document."""

from __future__ import annotations

from .._lib.formatting import (
    capital,
    confidence_interval,
    number_of,
    p_value_cell,
    p_value_text,
    short_names,
)
from ..report.document import Column, Document, Section, Table
from ..report.numbers import between, number, signed
from .question_comparison import QuestionComparison

_JUDGED = {"acc": "accuracy", "brier_score": "Brier score", "log_loss": "log loss"}
"""Metrics of which the verdict speaks, and their names in words."""


def verdict(c: QuestionComparison) -> str:
    """Say by which metrics one model is better, and by which there is no evidence."""
    first, second = c.names
    level, parts, undecided = confidence_interval(c.confidence), [], []
    for name, called in _JUDGED.items():
        if name not in c.metrics:
            continue
        each = c.metrics[name]
        if not each.significant:
            undecided.append(called)
            continue
        way = "better" if (each.difference > 0) == each.larger_is_better else "worse"
        limits = f"difference {signed(each.difference)}, {level} {between(*each.interval)}"
        parts.append(f"{first} is {way} than {second} by {called} ({limits}, {p_value_text(each.p_value)})")
    if undecided:
        *some, last = undecided
        listed = f"{', '.join(some)} or {last}" if some else last
        parts.append(f"no evidence that {first} and {second} differ in {listed}")
    return "; ".join(parts)


def comparison_document(c: QuestionComparison) -> Document:
    """Describe a comparison of two models on the same questions."""
    table = metric_table(c)
    left = [f"{number_of(c.left_out, 'question')} left out: in one of the logs only"] if c.left_out else []
    text = verdict(c)
    return Document(
        title=f"{' and '.join(c.names)} on the same questions",
        facts=number_of(c.n_questions, "question"),
        headline=text if any(c.metrics[name].significant for name in c.metrics if name in _JUDGED) else capital(text),
        lead="",
        first=Section("metrics", "Metrics", [table], "Metrics"),
        summary=[table],
        settings="paired by question; p-values are not adjusted for the number of metrics",
        warnings=[*left, *c.remarks],
    )


def metric_table(c: QuestionComparison) -> Table:
    """Return the metrics of both models and their differences."""
    larger = [name for name, each in c.metrics.items() if each.larger_is_better]
    smaller = [name for name in c.metrics if name not in larger]
    found = list(c.metrics.values())
    first, second = short_names(c.names)
    return Table(
        f"Larger is better: {', '.join(larger)}; smaller: {', '.join(smaller)}.",
        [
            Column("metric", list(c.metrics)),
            Column(first, [number(each.first) for each in found]),
            Column(second, [number(each.second) for each in found]),
            Column(
                "difference",
                [signed(each.difference) for each in found],
                [between(*each.interval) for each in found],
            ),
            Column("p-value", [p_value_cell(each.p_value) for each in found]),
        ],
        notes=confidence_interval(c.confidence),
    )
