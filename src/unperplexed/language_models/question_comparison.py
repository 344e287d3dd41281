"""Two models on the same questions: differences of their metrics, paired by question."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .._lib.dataclasses import dataclass
from .._lib.errors import InputError
from .._lib.formatting import confidence_interval, number_of, p_value_text
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats
from .._version import __version__
from ..report.document import listed
from ..report.numbers import between, signed
from ..report.result import JsonResult
from ..statistics.intervals import Dependence, Interval, checked_sampling, uncertain_mean
from .clustered_ratios import metrics_frame
from .items import Question, Remarks, shown, two_logs, unlike
from .questions import RULES, Missing, Outside, kept_questions, question_metrics


@dataclass(frozen=True)
class PairedMetric(ByValue):
    """Mean of a metric for both models, and their difference."""

    first: float
    second: float
    difference: float
    """First minus second."""
    interval: Interval
    """Confidence interval of ``difference``, by Student's t; NaN where all questions have the same difference."""
    p_value: float
    """Probability of a difference at least as large if the expected difference is 0 (two-sided)."""
    larger_is_better: bool

    @property
    def significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.interval.low > 0 or self.interval.high < 0


@dataclass(frozen=True)
class QuestionComparison(JsonResult):
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
    """What was found in the logs of either model, and which metrics were left out."""
    version: str = __version__

    @property
    def verdict(self) -> str:
        """By which of accuracy, Brier score and log loss one model is better, and by which there is no evidence."""
        first, second = self.names
        level, parts, undecided = confidence_interval(self.confidence), [], []
        for name, called in JUDGED.items():
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
            parts.append(f"no evidence that {first} and {second} differ in {listed(undecided, 'or')}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        return {"verdict": self.verdict, **plain_values(self)}

    def frame(self) -> Any:
        """Give a polars DataFrame with one row for each metric.

        Returns
        -------
        polars.DataFrame
            The columns ``metric``, ``first``, ``second``, ``difference``, ``lower``, ``upper`` and ``p_value``.
        """
        return metrics_frame(self, "first", "second", "difference", "interval", "p_value")

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
    options. A metric that is undefined or infinite for some of the questions is left out, with a remark. The interval
    is that of the paired t-test.

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
    models, of_logs = two_logs(names, remarks)
    logs = zip((first, second), of_logs, models, strict=True)
    tables = [_table(kept_questions(each, missing, found), name) for each, found, name in logs]
    both = _same(tables, models, common)
    if len(both) < 2:
        raise InputError("questions: at least two that both logs have are needed to compare models.")
    values = [question_metrics([table[name] for name in both], outside, missing) for table in tables]
    metrics = {
        name: _paired(values[0][name], values[1][name], confidence, rule.larger_is_better)
        for name, rule in RULES.items()
        if all(name in each and np.isfinite(each[name]).all() for each in values)
    }
    return QuestionComparison(
        models,
        len(both),
        metrics,
        sum(map(len, tables)) - 2 * len(both),
        confidence,
        (
            *(said for found, name in zip(of_logs, models, strict=True) for said in found.of_model(name)),
            *_left_out([[table[name] for name in both] for table in tables], values, models),
        ),
    )


def _left_out(
    questions: Sequence[Sequence[Question]], values: Sequence[dict[str, Floats]], names: Sequence[str]
) -> list[str]:
    """Say why metrics are left out that are undefined or infinite for some questions; none where for all."""
    found = []
    correct = np.array([len(each.correct) for each in questions[0]])
    if several := int((correct > 1).sum()):
        found.append(f"Brier score left out: {_have(several)} several correct options")
    if none := int((correct == 0).sum()):
        found.append(f"Brier score and log loss left out: {_have(none)} no correct option")
    for model, own in zip(names, values, strict=True):
        impossible = int((np.isinf(own["log_loss"]) & (correct > 0)).sum())
        if impossible:
            found.append(
                f"log loss left out: {model} assigned the correct option of {number_of(impossible, 'question')} a"
                " probability of 0, so that it is infinite"
            )
    if empty := sum(not all(each.options) for each in questions[0]):
        found.append(f"acc_norm and acc_bytes left out: {_have(empty)} an empty option")
    pairs = zip(*questions, strict=True)
    unknown = sum(any(each.unconditional is None for each in pair) for pair in pairs)
    if unknown and any("acc_mutual_info" in each for each in values):
        found.append(
            f"acc_mutual_info left out: {_have(unknown)} no log-probabilities of the options without the question"
        )
    return found


def _have(n: int) -> str:
    return f"{number_of(n, 'question')} {'has' if n == 1 else 'have'}"


def _table(questions: Iterable[Question], model: str) -> dict[str, Question]:
    found: dict[str, Question] = {}
    for each in questions:
        if each.name in found:
            raise InputError(f"{model}: the question {shown(each.name)!r} occurs twice; name each once.")
        found[each.name] = each
    return found


def _same(tables: Sequence[dict[str, Question]], names: Sequence[str], common: bool) -> list[str]:
    """Names of the questions of both logs, whose options are the same."""
    one, two = tables
    alone = [name for name in (*one, *two) if (name in one) != (name in two)]
    if alone and not common:
        raise unlike(names, ALONE, alone, "question")
    both = [name for name in one if name in two]
    other = [name for name in both if (one[name].options, one[name].correct) != (two[name].options, two[name].correct)]
    if other:
        raise unlike(names, OTHER, other, "question")
    return both


def _paired(first: Any, second: Any, confidence: float, larger: bool) -> PairedMetric:
    apart = uncertain_mean(first - second, np.ones(first.size), Dependence())
    means = float(first.mean()), float(second.mean())
    return PairedMetric(*means, apart.mean, apart.interval(confidence), apart.p_value(), larger)


ALONE = "{count} occur in one of the logs only, for example {example}. Leave these out with common=True (--common)."
OTHER = (
    "the options or the correct one differ in {count}, for example {example}. Only the same questions are comparable."
)

JUDGED = {"acc": "accuracy", "brier_score": "Brier score", "log_loss": "log loss"}
"""Metrics of which the verdict speaks, and their names in words."""
