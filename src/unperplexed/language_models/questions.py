"""Questions with options and graded answers: the hosts' metrics with intervals, and the ordinary assessment.

Two models on the same questions: differences of their metrics, paired by question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from .._lib.errors import InputError, check_choice
from .._lib.formatting import confidence_interval, number_of, p_value_text
from .._lib.serialize import plain_values
from .._lib.typing import Bools, ByValue, Floats, Ints
from .._version import __version__
from ..assessment.assess import assess
from ..assessment.remedy import PythonLine
from ..assessment.result import Assessment
from ..report.document import listed
from ..report.numbers import between, signed
from ..report.result import JsonResult
from ..statistics.intervals import Dependence, Interval, Sampling, checked_sampling, uncertain_mean
from .clustered_ratios import Mean, mean_of, metrics_frame
from .items import UNREAD, Answer, Question, Remarks, shown, two_logs, unlike, utf8

Outside = Literal["renormalize", "none-of-these"]
Missing = Literal["refuse", "zero", "leave-out"]
Which = Literal["each-option", "top-option"]

_ROUNDING = 1e-3
"""By how much probabilities, which tools round, may sum to more than 1."""

ZEROED = "{count}: an option without a log-probability has a probability of 0"
LEFT_OUT = "{count} left out: an option without a log-probability"
UNGRADED = "{count} left out: not graded"
PARTIAL = "{count} left out of the assessment of confidences: neither right nor wrong"


class Events(NamedTuple):
    """Forecasts of yes or no: probability, whether it happened, and the question of each, counted from 0."""

    happened: Bools
    probability: Floats
    question: Ints


def option_probabilities(
    question: Question, outside: Outside = "renormalize", missing: Missing = "refuse"
) -> Floats | None:
    """Give the probabilities of a question's options; None for one to be left out.

    Parameters
    ----------
    question : Question
        A question with the log-probability of each option.
    outside : {"renormalize", "none-of-these"}, default "renormalize"
        ``"renormalize"`` divides by the sum over the options: the probability that an option is chosen if one of them
        is. ``"none-of-these"`` takes the probabilities as they are; the rest belongs to none of the options.
    missing : {"refuse", "zero", "leave-out"}, default "refuse"
        How to treat an option without a log-probability: as an error, as a probability of 0, or by leaving its question
        out.

    Returns
    -------
    array of shape (options,) or None

    Raises
    ------
    InputError
        For a missing log-probability, with ``missing="refuse"``, one above 0 with ``outside="none-of-these"``, and a
        question whose options all have a probability of 0.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.language_models import Question, option_probabilities
    >>> option_probabilities(Question("capital", ("Paris", "Rome"), np.log([0.6, 0.2]), (0,))).round(2)
    array([0.75, 0.25])
    """
    check_choice("outside", outside, ("renormalize", "none-of-these"))
    check_choice("missing", missing, ("refuse", "zero", "leave-out"))
    x = np.asarray(question.log_probs, dtype=np.float64)
    name = shown(question.name)
    if np.isnan(x).any():
        if missing == "leave-out":
            return None
        if missing == "refuse":
            raise InputError(
                f"question {name!r}: option {int(np.isnan(x).argmax())} (counted from 0) has no log-probability. Take"
                " it for a probability of 0 with missing='zero' (--invalid zero), or leave such questions out with"
                " missing='leave-out' (--invalid drop)."
            )
        x = np.where(np.isnan(x), -np.inf, x)
    if x.max() == -np.inf:
        raise InputError(f"question {name!r}: all options have a probability of 0.")
    if outside == "none-of-these":
        p = np.exp(x)
        if x.max() > 0 or p.sum() > 1 + _ROUNDING:
            raise InputError(
                f"question {name!r}: the options' probabilities sum to {p.sum():g}, so these are no log-probabilities"
                " of different answers; divide them by their sum with outside='renormalize' (--outside renormalize)."
            )
        return np.asarray(p)
    p = np.exp(x - x.max())
    return np.asarray(p / p.sum())


def question_events(
    questions: Iterable[Question],
    events: Which = "each-option",
    *,
    outside: Outside = "renormalize",
    missing: Missing = "refuse",
) -> Events:
    """Turn questions into forecasts of yes or no: that an option is correct, or that the most probable one is.

    Parameters
    ----------
    questions : iterable of Question
        The questions.
    events : {"each-option", "top-option"}, default "each-option"
        ``"each-option"`` has one forecast for each option of each question, ``"top-option"`` one for each question.
    outside, missing
        As in `option_probabilities`.

    Returns
    -------
    Events
        With ``happened``, ``probability`` and ``question``, the cluster of each.

    Raises
    ------
    InputError
        As `option_probabilities`, and without questions.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.language_models import Question, question_events
    >>> question = Question("capital", ("Paris", "Rome"), np.log([0.6, 0.2]), (0,))
    >>> question_events([question]).probability.round(2)
    array([0.75, 0.25])
    >>> question_events([question], "top-option", outside="none-of-these").probability.round(2)
    array([0.6])
    """
    check_choice("events", events, ("each-option", "top-option"))
    happened: list[Bools] = []
    probability: list[Floats] = []
    for question in questions:
        p = option_probabilities(question, outside, missing)
        if p is None:
            continue
        correct = np.isin(np.arange(p.size), question.correct)
        best = int(p.argmax())
        kept = slice(None) if events == "each-option" else slice(best, best + 1)
        happened.append(correct[kept])
        probability.append(p[kept])
    if not happened:
        raise InputError("questions: none with a log-probability for each option.")
    sizes = [each.size for each in happened]
    return Events(np.concatenate(happened), np.concatenate(probability), np.repeat(np.arange(len(sizes)), sizes))


def assess_questions(
    questions: Iterable[Question],
    *,
    events: Which = "each-option",
    outside: Outside = "renormalize",
    missing: Missing = "refuse",
    confidence: float = 0.95,
    resamples: int = 400,
    seed: int = 0,
    remarks: Remarks | None = None,
) -> GradedAssessment:
    """Assess the probabilities that a model assigns to the options of questions.

    Parameters
    ----------
    questions : iterable of Question
        The questions, as `read_items` reads them from logs.
    events : {"each-option", "top-option"}, default "each-option"
        Forecasts to assess, as in `question_events`.
    outside, missing
        As in `option_probabilities`.
    confidence, resamples, seed
        As in `assess`.
    remarks : Remarks, optional
        Remarks of logs that were read before.

    Returns
    -------
    GradedAssessment
        The metrics of the evaluation tools with intervals, larger accuracies and smaller scores being better, and the
        ordinary assessment of the forecasts with questions as clusters.

    Raises
    ------
    InputError
        As `option_probabilities`, and without questions.

    Notes
    -----
    ``acc`` takes the option of the largest log-probability, ``acc_norm`` of the largest per character, ``acc_bytes``
    per UTF-8 byte; ``acc_mutual_info`` subtracts the log-probability without the question. ``brier_score`` sums the
    squared errors of all options. These are the definitions of lm-evaluation-harness.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.language_models import Question, assess_questions
    >>> first = Question("France", ("Paris", "Rome"), np.log([0.6, 0.2]), (0,))
    >>> second = Question("Italy", ("Paris", "Rome"), np.log([0.3, 0.1]), (1,))
    >>> found = assess_questions([first, second], resamples=0)
    >>> found.metrics["acc"].value, round(found.metrics["brier_score"].value, 3)
    (0.5, 0.625)
    """
    sampling = checked_sampling(confidence, resamples, seed)
    remarks = Remarks() if remarks is None else remarks
    kept = kept_questions(questions, missing, remarks)
    if not kept:
        raise InputError("questions: none with a log-probability for each option.")
    values = question_metrics(kept, outside, missing)

    def means(some: Bools) -> dict[str, Mean]:
        return {
            name: mean_of(each[some], sampling.confidence, RULES[name].larger_is_better, None, RULES[name].most)
            for name, each in values.items()
            if name != "log_loss" and not np.isnan(each[some]).all()
        }

    metrics = means(np.ones(len(kept), dtype=np.bool_))
    forecasts = question_events(kept, events, outside=outside, missing=missing)
    return GradedAssessment(
        "question",
        len(kept),
        metrics,
        _assessment(forecasts, "option" if events == "each-option" else "top option", sampling),
        f"{events.replace('-', ' ')}, " + ("divided by their sum" if outside == "renormalize" else "the rest to none"),
        sampling.confidence,
        remarks.sentences(),
        {task: means(some) for task, some in _by_task(kept).items()},
        len(kept),
    )


def _by_task(items: Sequence[Question | Answer]) -> dict[str, Bools]:
    """Find the tasks, which names begin with, and which belong to each; none where there are fewer than two."""
    of_each = np.array([each.name.rpartition("/")[0] for each in items])
    tasks = sorted(set(of_each.tolist()))
    return {task: of_each == task for task in tasks} if len(tasks) > 1 else {}


def kept_questions(questions: Iterable[Question], missing: Missing, remarks: Remarks) -> list[Question]:
    """Leave out questions as told, with a remark."""
    found = []
    for question in questions:
        if np.isnan(question.log_probs).any() and missing != "refuse":
            remarks.add(ZEROED if missing == "zero" else LEFT_OUT, "question")
            if missing == "leave-out":
                continue
        found.append(question)
    return found


def question_metrics(questions: Sequence[Question], outside: Outside, missing: Missing) -> dict[str, Floats]:
    """Return each metric of each question, NaN where it is undefined, without those that are defined for none."""
    probabilities = [option_probabilities(each, outside, missing) for each in questions]
    found = {
        name: np.array([rule.of(q, p) for q, p in zip(questions, probabilities, strict=True)])
        for name, rule in RULES.items()
    }
    return {name: each for name, each in found.items() if not np.isnan(each).all()}


def _chosen(q: Question, x: Floats) -> float:
    return float(int(np.argmax(np.where(np.isnan(x), -np.inf, x))) in q.correct)


def _per(q: Question, size: Callable[[str], int]) -> float:
    sizes = [size(each) for each in q.options]
    return _chosen(q, q.log_probs / np.array(sizes)) if all(sizes) else math.nan


def _brier(q: Question, p: Floats) -> float:
    if len(q.correct) != 1:
        return math.nan
    return float(((p - np.isin(np.arange(p.size), q.correct)) ** 2).sum() + max(1 - p.sum(), 0.0) ** 2)


def _log_loss(q: Question, p: Floats) -> float:
    own = float(p[list(q.correct)].sum())
    return -math.log(own) if own > 0 else math.inf


class Rule(NamedTuple):
    """A metric of a question."""

    of: Callable[[Question, Any], float]
    """Computes it from a question and the probabilities of its options."""
    larger_is_better: bool = True
    most: float = 1.0


RULES = {
    "acc": Rule(lambda q, _: _chosen(q, q.log_probs)),
    "acc_norm": Rule(lambda q, _: _per(q, len)),
    "acc_bytes": Rule(lambda q, _: _per(q, lambda text: len(utf8(text)))),
    "acc_mutual_info": Rule(
        lambda q, _: math.nan if q.unconditional is None else _chosen(q, q.log_probs - q.unconditional)
    ),
    "brier_score": Rule(_brier, False, 2.0),
    "log_loss": Rule(_log_loss, False, math.inf),
    "probability_of_correct": Rule(lambda q, p: float(p[list(q.correct)].sum())),
}


def assess_answers(
    answers: Iterable[Answer],
    *,
    confidence: float = 0.95,
    resamples: int = 400,
    seed: int = 0,
    remarks: Remarks | None = None,
) -> GradedAssessment:
    """Assess graded answers and the confidences stated with them.

    Parameters
    ----------
    answers : iterable of Answer
        The answers, as `read_items` reads them from logs. Several answers to one question are a cluster.
    confidence, resamples, seed
        As in `assess`.
    remarks : Remarks, optional
        Remarks of logs that were read before.

    Returns
    -------
    GradedAssessment
        The mean grade by grader, and where confidences are stated, their Brier score (the mean squared difference from
        the grade; smaller is better) and the ordinary assessment.

    Raises
    ------
    InputError
        Without graded answers, for a confidence outside [0, 1], and for a grade beyond 1e100.

    Examples
    --------
    >>> from unperplexed.language_models import Answer, assess_answers
    >>> answers = [Answer("water", 1.0, 0.9), Answer("fire", 0.0, 0.6), Answer("rain", 1.0, 0.75)]
    >>> found = assess_answers(answers)
    >>> round(found.metrics["mean grade"].value, 3), round(found.metrics["brier_score"].value, 4)
    (0.667, 0.1442)
    """
    sampling = checked_sampling(confidence, resamples, seed)
    remarks = Remarks() if remarks is None else remarks
    given = list(answers)
    kept = [each for each in given if not math.isnan(each.grade)]
    if len(kept) < len(given):
        remarks.add(UNGRADED, "answer", len(given) - len(kept))
    if not kept:
        raise InputError("answers: none with a grade.")
    at = np.unique([each.name for each in kept], return_inverse=True)[1]
    grades, graders = np.array([each.grade for each in kept]), np.array([each.grader for each in kept])
    _check_grades(kept, grades)

    def means(of: Bools) -> dict[str, Mean]:
        by_grader = {grader: of & (graders == grader) for grader in sorted(set(graders[of].tolist()))}
        named = {f"mean grade ({grader})" if grader else "mean grade": some for grader, some in by_grader.items()}
        return {name: mean_of(grades[some], sampling.confidence, True, at[some]) for name, some in named.items()}

    metrics = means(np.ones(len(kept), dtype=np.bool_))
    stated = np.array([math.nan if each.confidence is None else each.confidence for each in kept])
    _check_confidences(kept, stated)
    some = ~np.isnan(stated)
    assessment = None
    if some.any():
        metrics["brier_score"] = mean_of((stated[some] - grades[some]) ** 2, sampling.confidence, False, at[some])
        whole = some & ((grades == 0) | (grades == 1))
        if whole.sum() < some.sum():
            remarks.add(PARTIAL, "answer", int(some.sum() - whole.sum()))
        if whole.any():
            events = Events(grades[whole] == 1, stated[whole], at[whole])
            assessment = _assessment(events, "answer", sampling)
    return GradedAssessment(
        "answer",
        len(kept),
        metrics,
        assessment,
        "stated confidence",
        sampling.confidence,
        remarks.sentences(),
        {task: means(some) for task, some in _by_task(kept).items()},
        len(set(at[some].tolist())),
        remarks.counts[UNREAD, "answer"],
    )


def _check_grades(answers: Sequence[Answer], grades: Floats) -> None:
    bad = np.flatnonzero(~(np.abs(grades) <= _LARGEST_GRADE))
    if bad.size:
        name, grade = shown(answers[bad[0]].name), grades[bad[0]]
        raise InputError(f"answer to {name!r}: a grade of {grade:g}; expected one up to {_LARGEST_GRADE:g}.")


_LARGEST_GRADE = 1e100
"""Squares of larger ones may be infinite."""


def _check_confidences(answers: Sequence[Answer], stated: Floats) -> None:
    bad = np.flatnonzero((stated < 0) | (stated > 1))
    if bad.size:
        each = answers[bad[0]]
        raise InputError(
            f"answer to {shown(each.name)!r}: a stated confidence of {stated[bad[0]]:g}; expected a"
            " probability from 0 to 1. Divide percentages by 100 in the scorer."
        )


def _assessment(events: Events, event: str, sampling: Sampling) -> Any:
    """Assess events, such as that an option is correct, by clusters of questions."""
    labels = [f"{event} is wrong", f"{event} is correct"]
    y = np.array(labels)[events.happened.astype(np.int64)]
    found = assess(y, events.probability, labels=labels, clusters=events.question, **vars(sampling))
    return found.advising(PythonLine({"clusters": "clusters"}))


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
        return metrics_frame(self, "value", "standard_error", "interval", "n")

    def unread_text(self) -> str:
        """Say that no answer could be read, where that is so."""
        if not self.n or self.unread < self.n:
            return ""
        return f"No answer could be read from the outputs: all {self.n:,} count as wrong"

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<GradedAssessment of {number_of(self.n, self.what)}>"


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
