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
from .._lib.typing import Bools, Floats, Ints
from .._version import __version__
from ..assessment.assess import assess
from ..assessment.remedy import PythonLine
from ..assessment.result import Assessment
from ..report.document import listed
from ..report.numbers import between, signed
from ..report.result import JsonResult
from ..statistics.intervals import Sampling, alpha_of, checked_sampling
from .clustered_ratios import Mean, PairedMetric, mean_of, metrics_frame, paired_metric
from .items import (
    UNREAD,
    Answer,
    Missing,
    Outside,
    Question,
    Remarks,
    option_probabilities,
    shown,
    two_logs,
    unlike,
    utf8,
)

Which = Literal["each-option", "top-option"]

ZEROED = "{count}: an option without a log-probability has a probability of 0"
LEFT_OUT = "{count} left out: an option without a log-probability"
UNGRADED = "{count} left out: not graded"
PARTIAL = "{count} left out of the assessment of confidences: neither right nor wrong"


class Events(NamedTuple):
    """Forecasts of yes or no: probability, whether it happened, and the question of each, counted from 0."""

    happened: Bools
    probability: Floats
    question: Ints


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
    top = question_events(kept, "top-option", outside=outside, missing=missing)
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
        overconfidence=paired_metric(top.probability, top.happened, sampling.confidence),
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
    kept = _checked_answers(answers, remarks)
    at = np.unique([each.name for each in kept], return_inverse=True)[1]
    grades, graders = np.array([each.grade for each in kept]), np.array([each.grader for each in kept])

    def means(of: Bools) -> dict[str, Mean]:
        by_grader = {grader: of & (graders == grader) for grader in sorted(set(graders[of].tolist()))}
        named = {_graded_by(grader): some for grader, some in by_grader.items()}
        return {name: mean_of(grades[some], sampling.confidence, True, at[some]) for name, some in named.items()}

    metrics = means(np.ones(len(kept), dtype=np.bool_))
    stated = np.array([math.nan if each.confidence is None else each.confidence for each in kept])
    some = ~np.isnan(stated)
    assessment = gap = None
    if some.any():
        metrics["brier_score"] = mean_of((stated[some] - grades[some]) ** 2, sampling.confidence, False, at[some])
        whole = some & ((grades == 0) | (grades == 1))
        if whole.sum() < some.sum():
            remarks.add(PARTIAL, "answer", int(some.sum() - whole.sum()))
        if whole.any():
            events = Events(grades[whole] == 1, stated[whole], at[whole])
            assessment = _assessment(events, "answer", sampling)
            gap = paired_metric(stated[whole], grades[whole], sampling.confidence, clusters=at[whole])
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
        gap,
    )


def _checked_answers(answers: Iterable[Answer], remarks: Remarks) -> list[Answer]:
    """Leave out answers without a grade, with a remark, and refuse grades and confidences out of range."""
    given = list(answers)
    kept = [each for each in given if not math.isnan(each.grade)]
    if len(kept) < len(given):
        remarks.add(UNGRADED, "answer", len(given) - len(kept))
    if not kept:
        raise InputError("answers: none with a grade.")
    for each in kept:
        name, stated = shown(each.name), each.confidence
        if abs(each.grade) > _LARGEST_GRADE:
            raise InputError(f"answer to {name!r}: a grade of {each.grade:g}; expected one up to {_LARGEST_GRADE:g}.")
        if stated is not None and (stated < 0 or stated > 1):
            raise InputError(
                f"answer to {name!r}: a stated confidence of {stated:g}; expected a"
                " probability from 0 to 1. Divide percentages by 100 in the scorer."
            )
    return kept


_LARGEST_GRADE = 1e100
"""Squares of larger ones may be infinite."""


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
    overconfidence: PairedMetric | None = None
    """Mean confidence, stated or of the top option, the share of right answers, and their difference. 0 is best."""
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
    overconfidence: PairedMetric | None = None
    """Mean confidence minus the share of right answers, of both models; None without confidences. 0 is best."""
    calibration_p_value: float = math.nan
    """Of the test that both models are calibrated alike: have the same overconfidence, on average and as it grows with
    the confidence."""
    version: str = __version__

    @property
    def judged(self) -> dict[str, str]:
        """Metrics of which the verdict speaks, and their names in words."""
        return {name: JUDGED.get(name, name) for name in self.metrics if name in JUDGED or name.startswith(GRADE)}

    @property
    def differ_in_calibration(self) -> bool:
        """Whether the test of equal calibration rejects at 1 minus the confidence level."""
        return self.calibration_p_value < alpha_of(self.confidence)

    @property
    def verdict(self) -> str:
        """By which of accuracy, Brier score and log loss one model is better, and whether their calibration differs."""
        first, second = self.names
        level, parts, undecided = confidence_interval(self.confidence), [], []
        for name, called in self.judged.items():
            each = self.metrics[name]
            if not each.significant:
                undecided.append(called)
                continue
            way = "better" if (each.difference > 0) == each.larger_is_better else "worse"
            limits = f"difference {signed(each.difference)}, {level} {between(*each.interval)}"
            parts.append(f"{first} is {way} than {second} by {called} ({limits}, {p_value_text(each.p_value)})")
        gap, p = self.overconfidence, self.calibration_p_value
        if gap is not None and self.differ_in_calibration:
            gaps = f"mean confidence minus accuracy {signed(gap.first)} and {signed(gap.second)}, {p_value_text(p)}"
            parts.append(f"{first} and {second} differ in calibration ({gaps})")
        elif not math.isnan(p):
            undecided.append("calibration")
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
    first: Iterable[Question | Answer],
    second: Iterable[Question | Answer],
    *,
    names: Sequence[str] = ("first", "second"),
    common: bool = False,
    outside: Outside = "renormalize",
    missing: Missing = "refuse",
    confidence: float = 0.95,
    remarks: tuple[Remarks, Remarks] | None = None,
) -> QuestionComparison:
    """Compare two models on the same questions by accuracy, proper scores and calibration, paired by question.

    Parameters
    ----------
    first, second : iterable of Question, or of Answer
        The questions with options, or the graded answers, of each model's log, as `read_items` reads them. Several
        answers to a question are averaged.
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
    options. A metric that is undefined or infinite for some of the questions is left out, with a remark; grades and
    confidences of answers are compared on the questions for which both models have them. The interval
    is that of the paired t-test. Whether the models differ in calibration is tested with e = p - y, where p is the
    probability of the top option and y whether it is correct: paired t-tests of the differences in e and in e (p -
    mean p), with the smaller p-value doubled (Bonferroni).

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
    level = checked_sampling(confidence, 0, 0).confidence
    models, of_logs = two_logs(names, remarks)
    logs: list[list[Any]] = [list(each) for each in (first, second)]
    graded = any(isinstance(each, Answer) for log in logs for each in log)
    if graded and any(isinstance(each, Question) for log in logs for each in log):
        raise InputError("questions: expected questions with options or graded answers, not both.")
    tables: list[dict[str, Any]] = [
        _by_question(_checked_answers(log, found)) if graded else _table(kept_questions(log, missing, found), model)
        for log, found, model in zip(logs, of_logs, models, strict=True)
    ]
    both = [name for name in tables[0] if name in tables[1]]
    alone = [name for name in (*tables[0], *tables[1]) if (name in tables[0]) != (name in tables[1])]
    if alone and not common:
        raise unlike(models, ALONE, alone, "question")
    if len(both) < 2:
        raise InputError("questions: at least two that both logs have are needed to compare models.")
    pairs = [[table[name] for name in both] for table in tables]
    values = [_answer_metrics(each) if graded else _option_metrics(each, outside, missing) for each in pairs]
    said = [each for log, name in zip(of_logs, models, strict=True) for each in log.of_model(name)]
    alone_metrics = sorted(values[0].keys() ^ values[1].keys()) if graded else []
    said += [f"{name} left out: of one model only" for name in alone_metrics]
    said += _narrowed(values) if graded else _left_out(pairs, values, models)
    (p, right), (q, other) = ((each.pop("confidence"), each.pop("right")) for each in values)
    middle = np.mean([p, q])
    growth = paired_metric((p - right) * (p - middle), (q - other) * (q - middle), level)
    gap = paired_metric(p - right, q - other, level)
    metrics = {
        name: paired_metric(own, values[1][name], level, name not in RULES or RULES[name].larger_is_better)
        for name, own in values[0].items()
        if name in values[1] and np.isfinite([own, values[1][name]]).all()
    }
    return QuestionComparison(
        models,
        len(both),
        metrics,
        len(alone),
        level,
        tuple(said),
        None if math.isnan(gap.difference) else gap,
        min(2 * float(np.fmin(gap.p_value, growth.p_value)), 1.0),  # one of them may be NaN
    )


def _by_question(answers: Iterable[Answer]) -> dict[str, list[Answer]]:
    found: dict[str, list[Answer]] = {}
    for each in answers:
        found.setdefault(each.name, []).append(each)
    return found


def _option_metrics(questions: Sequence[Question], outside: Outside, missing: Missing) -> dict[str, Any]:
    top = question_events(questions, "top-option", outside=outside, missing=missing)
    return {"confidence": top.probability, "right": top.happened, **question_metrics(questions, outside, missing)}


def _answer_metrics(questions: Sequence[Sequence[Answer]]) -> dict[str, Floats]:
    """Average grades and confidences over the answers to each question; NaN where there are none."""
    found: dict[str, Floats] = {}
    for at, answers in enumerate(questions):
        values: dict[str, list[float]] = {"brier_score": [], "confidence": [], "right": []}
        for each in answers:
            values.setdefault(_graded_by(each.grader), []).append(each.grade)
            if each.confidence is not None:
                values["brier_score"].append((each.confidence - each.grade) ** 2)
                values["confidence"].append(each.confidence)
                values["right"].append(each.grade)
        for name, some in values.items():
            found.setdefault(name, np.full(len(questions), math.nan))[at] = np.mean(some) if some else math.nan
    return found


def _narrowed(values: Sequence[dict[str, Floats]]) -> list[str]:
    """Keep of each metric of answers the questions for which both models have it, and say how many these are."""
    said = []
    for name in [each for each in values[0] if each in values[1]]:
        pair = [each[name] for each in values]
        known = ~np.isnan(pair).any(axis=0)
        n = int(known.sum())
        if n < known.size and not np.isnan(pair).all() and name not in ("confidence", "right"):
            called = "Brier score and calibration" if name == "brier_score" else name
            said.append(f"{called}: {known.size - n} of {known.size} questions left out, of which a model has none")
        for each in values if n > 1 else ():
            each[name] = each[name][known]
    return said


def _graded_by(grader: str) -> str:
    return f"{GRADE} ({grader})" if grader else GRADE


def _left_out(
    questions: Sequence[Sequence[Question]], values: Sequence[dict[str, Floats]], names: Sequence[str]
) -> list[str]:
    """Say why metrics are left out that are undefined or infinite for some questions; refuse other options."""
    pairs = [*zip(*questions, strict=True)]
    other = [one.name for one, two in pairs if (one.options, one.correct) != (two.options, two.correct)]
    if other:
        raise unlike(names, OTHER, other, "question")
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


ALONE = "{count} occur in one of the logs only, for example {example}. Leave these out with common=True (--common)."
OTHER = (
    "the options or the correct one differ in {count}, for example {example}. Only the same questions are comparable."
)

GRADE = "mean grade"
JUDGED = {"acc": "accuracy", "brier_score": "Brier score", "log_loss": "log loss"}
"""Metrics of which the verdict speaks, and their names in words."""
