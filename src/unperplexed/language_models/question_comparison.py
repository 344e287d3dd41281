"""Two models on the same questions: differences of their metrics, paired by question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import confidence_interval, number_of, p_value_text, short_name
from .._lib.serialize import json_text, plain_values
from .._version import __version__
from ..report.document import Column, Document, Section, Table
from ..report.numbers import between, number, signed
from ..report.result import Naming, Result
from ..statistics.intervals import Interval, checked_sampling
from ..statistics.standard_errors import Dependence, uncertain_mean
from .items import Question, Remarks
from .questions import RULES, Missing, Outside, kept_questions, question_metrics

_JUDGED = {"acc": "accuracy", "brier_score": "Brier score", "log_loss": "log loss"}
"""Metrics of which the verdict speaks, and their names in words."""


@dataclass(frozen=True)
class PairedMetric:
    """Mean of a metric for both models, and their difference."""

    first: float
    second: float
    difference: float
    """First minus second."""
    interval: Interval
    """Of ``difference``, by Student's t; NaN where all questions have the same difference."""
    p_value: float
    """Probability of a difference at least as large if the expected difference is 0 (two-sided)."""
    larger_is_better: bool

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval.low > 0 or self.interval.high < 0


@dataclass(frozen=True)
class QuestionComparison(Result):
    """Differences between two models on the same questions, paired by question.

    ``print`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``. Made by
    `compare_questions`; all fields are final.
    """

    names: tuple[str, str]
    n_questions: int
    metrics: dict[str, PairedMetric]
    left_out: int
    """Questions that only one of the logs has, with ``common``."""
    confidence: float
    remarks: tuple[str, ...]
    version: str = __version__

    @property
    def verdict(self) -> str:
        """By which of accuracy, Brier score and log loss one model is better, and by which there is no evidence."""
        first, second = self.names
        level, parts, undecided = confidence_interval(self.confidence), [], []
        for name, called in _JUDGED.items():
            if name not in self.metrics:
                continue
            each = self.metrics[name]
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

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        return {"verdict": self.verdict, **plain_values(self)}

    def to_json(self, indent: int | None = 2) -> str:
        """Give `to_dict` as JSON; non-finite figures are the strings "NaN", "Infinity" and "-Infinity"."""
        return json_text(self.to_dict(), indent)

    def frame(self) -> Any:
        """Give a polars DataFrame with one row for each metric.

        Returns
        -------
        polars.DataFrame
            The columns ``metric``, ``first``, ``second``, ``difference``, ``lower``, ``upper`` and ``p_value``.
        """
        import polars as pl

        return pl.DataFrame(
            [
                {
                    "metric": name,
                    "first": each.first,
                    "second": each.second,
                    "difference": each.difference,
                    "lower": each.interval.low,
                    "upper": each.interval.high,
                    "p_value": each.p_value,
                }
                for name, each in self.metrics.items()
            ]
        )

    def _document(self, naming: Naming, *, brief: bool) -> Document:
        """Describe the comparison."""
        larger = [name for name, each in self.metrics.items() if each.larger_is_better]
        smaller = [name for name in self.metrics if name not in larger]
        found = list(self.metrics.values())
        table = Table(
            f"Larger is better: {', '.join(larger)}; smaller: {', '.join(smaller)}.",
            [
                Column("metric", list(self.metrics)),
                Column(short_name(self.names[0], 20), [number(each.first) for each in found]),
                Column(short_name(self.names[1], 20), [number(each.second) for each in found]),
                Column(
                    "difference",
                    [signed(each.difference) for each in found],
                    [between(*each.interval) for each in found],
                ),
                Column("p-value", [p_value_text(each.p_value).removeprefix("p = ") for each in found]),
            ],
            notes=confidence_interval(self.confidence),
        )
        left = [f"{number_of(self.left_out, 'question')} left out: in one of the logs only"] if self.left_out else []
        verdict = self.verdict
        return Document(
            title=f"{' and '.join(self.names)} on the same questions",
            facts=number_of(self.n_questions, "question"),
            headline=verdict[0].upper() + verdict[1:] if verdict.startswith("no ") else verdict,
            lead="",
            first=Section("metrics", "Metrics", [table], "Metrics"),
            summary=[table],
            settings="paired by question; p-values are not adjusted for the number of metrics",
            warnings=[*left, *self.remarks],
        )

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<QuestionComparison of {' and '.join(self.names)} in {number_of(self.n_questions, 'question')}>"


def compare_questions(
    first: Iterable[Question],
    second: Iterable[Question],
    *,
    names: Sequence[str] = ("first", "second"),
    common: bool = False,
    outside: Outside = "renormalize",
    missing: Missing = "refuse",
    confidence: float = 0.95,
    remarks: tuple[Remarks, Remarks] | None = None,
) -> QuestionComparison:
    """Compare two models on the same questions by accuracy, Brier score and log loss, paired by question.

    Parameters
    ----------
    first, second : iterable of Question
        The questions of each model's log, as `read_items` reads them.
    names : two str
        What the models are called.
    common : bool, default False
        Leave out questions that only one of the logs has, and count them, instead of refusing them.
    outside, missing
        As in `option_probabilities`.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).
    remarks : two Remarks, optional
        Remarks of logs that were read before.

    Returns
    -------
    QuestionComparison

    Raises
    ------
    InputError
        For questions whose options or correct options differ, that only one log has, or that occur twice.

    Notes
    -----
    Each metric is that of `assess_questions`; ``log_loss`` is minus the logarithm of the probability of the correct
    options, left out where it is infinite. The interval is that of the paired t-test.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.language_models import Question, compare_questions
    >>> def log(p):
    ...     return [Question(str(k), ("A", "B"), np.log([each, 1 - each]), (0,)) for k, each in enumerate(p)]
    >>> found = compare_questions(log([0.6, 0.9, 0.4]), log([0.3, 0.8, 0.2]))
    >>> round(found.metrics["acc"].difference, 3), round(found.metrics["log_loss"].difference, 3)
    (0.333, -0.501)
    """
    confidence = checked_sampling(confidence, 0, 0).confidence
    if len(names) != 2 or names[0] == names[1]:
        raise InputError(f"names: expected two different names, got {names!r}.")
    remarks = remarks or (Remarks(), Remarks())
    tables = [
        _table(kept_questions(each, missing, found), name)
        for each, found, name in zip((first, second), remarks, names, strict=True)
    ]
    both = _same(tables, names, common)
    if len(both) < 2:
        raise InputError("questions: at least two that both logs have are needed to compare models.")
    values = [question_metrics([table[name] for name in both], outside, missing) for table in tables]
    metrics = {
        name: _paired(values[0][name], values[1][name], confidence, rule.larger_is_better)
        for name, rule in RULES.items()
        if all(name in each and np.isfinite(each[name]).all() for each in values)
    }
    return QuestionComparison(
        (names[0], names[1]),
        len(both),
        metrics,
        sum(map(len, tables)) - 2 * len(both),
        confidence,
        tuple(f"{name}: {each}" for name, found in zip(names, remarks, strict=True) for each in found.sentences()),
    )


def _table(questions: Iterable[Question], model: str) -> dict[str, Question]:
    found: dict[str, Question] = {}
    for each in questions:
        if each.name in found:
            raise InputError(f"{model}: the question {short_name(each.name, 60)!r} occurs twice; name each once.")
        found[each.name] = each
    return found


def _same(tables: Sequence[dict[str, Question]], names: Sequence[str], common: bool) -> list[str]:
    """Names of the questions of both logs, whose options are the same."""
    one, two = tables
    alone = [name for name in (*one, *two) if (name in one) != (name in two)]
    if alone and not common:
        raise InputError(
            f"{names[0]} and {names[1]}: {number_of(len(alone), 'question')} occur in one of the logs only, for example"
            f" {short_name(alone[0], 60)!r}. Leave these out with common=True (--common)."
        )
    both = [name for name in one if name in two]
    other = [name for name in both if (one[name].options, one[name].correct) != (two[name].options, two[name].correct)]
    if other:
        raise InputError(
            f"{names[0]} and {names[1]}: the options or the correct one differ in {number_of(len(other), 'question')},"
            f" for example {short_name(other[0], 60)!r}. Only the same questions are comparable."
        )
    return both


def _paired(first: Any, second: Any, confidence: float, larger: bool) -> PairedMetric:
    apart = uncertain_mean(first - second, np.ones(first.size), Dependence())
    half = apart.half_width(confidence)
    interval = Interval(apart.mean - half, apart.mean + half)
    return PairedMetric(float(first.mean()), float(second.mean()), apart.mean, interval, apart.p_value(), larger)
