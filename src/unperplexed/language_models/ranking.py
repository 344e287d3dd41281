"""Models and kinds of confidences on graded answers: a frozen Leaderboard. `leaderboard` makes it.

Abstaining: the share of wrong answers among those kept, when answers of low confidence are withheld.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.typing import ByValue, Floats, Ints
from .._version import __version__
from ..assessment.assess import assess
from ..assessment.risk_coverage import Ranked, RiskCoverage, risk_coverage
from ..calibration.diagnosis.words import terms
from ..forecasts.forecasts import Forecasts
from ..recalibration.recalibrator import Recalibrator
from ..recalibration.state import conclusion
from ..report.numbers import share
from ..report.result import JsonResult, frame_like_input
from ..statistics.intervals import Dependence, Interval, Metric, checked_sampling, uncertain_mean
from .clustered_ratios import Mean, PairedMetric, columns_of, mean_of, paired_metric
from .graded import GradedAnswers, Judged, decided, grader_agreement
from .items import Remarks

AGREEMENT = "agreement"
"""Confidence by repeated samples."""
FEWEST = 100
"""Answers below which confidences are not recalibrated."""
_DIGITS = 12
"""Decimals of confidences that are compared: 0.95 and 95 / 100 of a text are the same."""
_FOLDS = 5
"""Questions below which kinds of confidences are not compared, as many as the folds of a recalibration."""


class Entry(ByValue):
    """One model's answers, with one kind of confidence in them."""

    model: str
    confidence: str
    """Name of the confidence."""
    n: int
    accuracy: Mean
    """Share of right answers. Larger is better."""
    mean_confidence: float
    overconfidence: PairedMetric
    """Mean confidence, share of right answers, and their difference with its interval; 0 is best."""
    auc: float
    """Probability that a right answer has a higher confidence than a wrong one. Larger is better; 0.5 is chance."""
    auc_interval: Interval
    log_loss: float
    """Of the confidences as they are; infinite where one was certain and wrong. Smaller is better."""
    base_rate: float
    """Log loss of the model's share of right answers, on held-out answers. Smaller is better."""
    recalibrated: float
    """Log loss of the recalibrated confidences, on held-out answers. Smaller is better."""
    gain: float
    """Log loss of the base rate minus that of the recalibrated confidences, held out. Above 0 they beat it."""
    gain_interval: Interval
    risk_coverage: RiskCoverage
    finding: str
    """What is wrong with the confidences."""
    terms: tuple[str, ...]
    """What to look up about the finding, by `explain`."""
    remedy: str
    """Averaged map that the recalibrated log loss is of, or what to do instead where none helps; "" for fewer than 100
    answers."""

    @property
    def beats(self) -> bool:
        """Whether recalibrated confidences beat the base rate on held-out answers."""
        return self.gain_interval.low > 0

    @property
    def ranks(self) -> bool:
        """Whether right answers have higher confidences than wrong ones, as far as the interval of the AUC says."""
        return not (self.auc <= 0.5 or self.auc_interval.low <= 0.5)


class ConfidenceDifference(ByValue):
    """Difference between two kinds of confidences in the same answers, the first minus the second."""

    model: str
    first: str
    second: str
    n: int
    log_loss: float
    """Of recalibrated log losses, held out. Below 0 the first is better."""
    log_loss_interval: Interval
    area: float
    """Of the areas under the risk-coverage curves. Below 0 the first is better."""
    area_interval: Interval


class Leaderboard(JsonResult):
    """Models and their confidences on graded answers. Made by `leaderboard`; all fields are final."""

    entries: tuple[Entry, ...]
    """The models with the most right answers first; those that are numbers in their order."""
    differences: tuple[ConfidenceDifference, ...]
    graders: tuple[tuple[str, str, float, float, int], ...]
    """Of each two graders: names, share of equal grades, Cohen's kappa, and answers that both graded."""
    agreement: tuple[tuple[str, float, float, float], ...]
    """Of each model with repeated samples: samples a question, reliability, mean standard error of an agreement."""
    confidence: float
    remarks: tuple[str, ...]
    by: str = "model"
    """What models are called, as in `GradedAnswers`; numbers stand in their order."""
    code: str = ""
    """Lines of Python that fit the map of the first confidence; "" where they are not known."""
    version: str = __version__

    def frame(self) -> Any:
        """Give a polars DataFrame with one row for each model and kind of confidence.

        Returns
        -------
        polars.DataFrame
        """
        figures = ("mean_confidence", "auc", "log_loss", "base_rate", "recalibrated", "gain")
        return frame_like_input(
            self,
            [
                {"model": each.model, "confidence": each.confidence, "n": each.n, "accuracy": each.accuracy.value}
                | {"accuracy_lower": each.accuracy.interval.low, "accuracy_upper": each.accuracy.interval.high}
                | columns_of(each, *figures, "auc_interval", "gain_interval")
                | {"area": each.risk_coverage.area, "finding": each.finding, "remedy": each.remedy}
                for each in self.entries
            ],
        )

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Leaderboard of {len({each.model for each in self.entries})} models>"


def leaderboard(
    answers: GradedAnswers, *, confidence: float = 0.95, seed: int = 0, remarks: Remarks | None = None
) -> Leaderboard:
    """Rank models by their graded answers, and judge each kind of confidence in them.

    Parameters
    ----------
    answers : GradedAnswers
        Graded answers with at least one kind of confidence, or with the answers themselves, whose agreement is one.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1). Questions are the clusters.
    seed : int, default 0
        Random seed of the folds.
    remarks : Remarks, optional
        Remarks of the reading.

    Returns
    -------
    Leaderboard

    Raises
    ------
    InputError
        Without confidences, and without answers that are right or wrong.

    Notes
    -----
    Log losses after recalibration, and those of the base rate, are of answers held out of the fit, questions in one
    fold. Kinds of confidences are compared on the answers that have all of them, paired by answer.

    Examples
    --------
    >>> import numpy as np
    >>> from unperplexed.language_models import GradedAnswers, leaderboard
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=600)
    >>> grades = (rng.uniform(size=600) < p).astype(float)
    >>> found = leaderboard(GradedAnswers({"judge": grades}, {"stated": p**0.3}, np.arange(600), ["m"] * 600))
    >>> found.entries[0].recalibrated < found.entries[0].base_rate
    True
    """
    level = checked_sampling(confidence, 0, seed).confidence
    remarks = Remarks() if remarks is None else remarks
    grade = answers.grade
    if not decided(grade, remarks, len(answers.grades)).any():
        raise InputError("answers: none is right or wrong.")
    models = np.array(answers.model, dtype=object)
    entries: list[Entry] = []
    differences: list[ConfidenceDifference] = []
    repeated: list[tuple[str, float, float, float]] = []
    numbers = answers.by != "model"
    for model in sorted(set(answers.model), key=float if numbers else str):
        own = models == model
        kinds = {name: each[own] for name, each in answers.confidences.items()}
        if answers.answer is not None:
            found = answer_agreement(answers.question[own], np.array(answers.answer, dtype=object)[own])
            kinds[AGREEMENT] = found.probability
            samples, error = float(found.samples.mean()), float(np.nanmean(found.standard_error))
            repeated.append((model, samples, found.reliability, error))
        if not kinds:
            raise InputError("answers: no confidence; name a column with --stated, or the answers with --answer.")
        of = _Model(model, grade[own], answers.question[own], level, seed)
        entries += [each for name, p in kinds.items() if (each := of.entry(name, p)) is not None]
        differences += of.differences(kinds)
    if not entries:
        raise InputError("; ".join(["answers: none that is right or wrong has a confidence", *remarks.sentences()]))
    if not numbers:
        entries.sort(key=lambda each: (-each.accuracy.value, each.model))
    graders, said = tuple(grader_agreement(answers.grades)), remarks.sentences()
    return Leaderboard(tuple(entries), tuple(differences), graders, tuple(repeated), level, said, answers.by)


class _Model(Frozen):
    """The answers of one model."""

    name: str
    grade: Floats
    question: Any
    level: float
    seed: int

    def entry(self, kind: str, p: Floats) -> Entry | None:
        """Judge one kind of confidence; None where no answer has it."""
        judged = Judged.of(self.grade, p, self.question)
        _, y, p, cluster = judged
        if not y.size:
            return None
        labels = ["answer is wrong", "answer is correct"]
        found = assess(
            np.array(labels)[y], p, labels=labels, clusters=judged.clusters, resamples=0, confidence=self.level
        )
        fit = judged.recalibrator(self.seed) if y.size >= FEWEST else None
        gain, baseline = (None, None) if fit is None else (fit.gain_, fit.baseline)
        base, held, limits = math.nan, math.nan, Interval(math.nan, math.nan)
        if gain is not None and baseline is not None:
            base, held, limits = baseline.log_loss, gain.after, Interval(*baseline.interval)
        auc = found.auc or Metric()
        entry = Entry(
            self.name,
            kind,
            int(y.size),
            mean_of(y.astype(np.float64), self.level, True, cluster),
            float(p.mean()),
            paired_metric(p, y, self.level, clusters=cluster),
            auc.value,
            auc.interval,
            found.scores["log_loss"],
            base,
            held,
            base - held,
            limits,
            risk_coverage(y, p, cluster, level=self.level),
            found.diagnosis.headline,
            tuple(terms(found.diagnosis)),
            "" if fit is None else conclusion(fit.state),
        )
        return entry if entry.ranks else _ranks_nothing(entry)

    def differences(self, kinds: dict[str, Floats]) -> Iterator[ConfidenceDifference]:
        """Compare each two kinds of confidences on the answers that have all of them."""
        if len(kinds) < 2:
            return
        all_of = np.stack([*kinds.values()]).sum(0)  # NaN where one is
        some, y, _, cluster = Judged.of(self.grade, all_of, self.question)
        if y.size < FEWEST or cluster.max() + 1 < _FOLDS:
            return
        losses, areas = {}, {}
        for name, p in kinds.items():
            read: dict[str, Any] = {"clusters": cluster, "labels": [0, 1]}
            held_out = Recalibrator("logistic", seed=self.seed).fit(y, p[some], **read).held_out
            assert held_out is not None  # of all rows
            q, _ = held_out.recalibrated(Forecasts(y, p[some], **read).blocks())
            losses[name] = -np.log(np.where(y == 1, q[:, 1], q[:, 0]))
            areas[name] = Ranked.of((y == 0).astype(np.float64), p[some].round(_DIGITS)).area_influence()
        w, by = np.ones(y.size), Dependence(cluster)
        for one, two in combinations(kinds, 2):
            loss = uncertain_mean(losses[one] - losses[two], w, by)
            spread = uncertain_mean(areas[one][1] - areas[two][1], w, by)
            area = spread._replace(mean=areas[one][0] - areas[two][0])
            limits = [each.interval(self.level) for each in (loss, area)]
            yield ConfidenceDifference(self.name, one, two, int(y.size), loss.mean, limits[0], area.mean, limits[1])


def _ranks_nothing(entry: Entry) -> Entry:
    """Say what confidences are for that do not rank right answers above wrong ones: no map of them mends this."""
    if entry.auc < 0.5 and not entry.auc_interval.high >= 0.5:
        return replace(
            entry,
            finding="Right answers have lower confidences than wrong ones",
            terms=("pointing-away",),
            remedy="Check that the column is a confidence and no uncertainty, and that its rows belong to the grades",
        )
    if entry.beats or math.isnan(entry.gain):
        return entry
    return replace(
        entry,
        finding="No evidence that right answers have higher confidences than wrong ones",
        terms=("uninformative",),
        remedy="No recalibration that keeps the order of the confidences can help. Forecast the share of right answers,"
        f" {share(entry.accuracy.value)}, or obtain another confidence",
    )


_LARGEST = 12.0
"""Logarithm of the largest parameter of the beta distribution that is fitted."""


class Agreement(Frozen, eq=False):
    """How often other samples give the same answer. Made by `answer_agreement`."""

    raw: Floats
    """Share of the other samples of the question with the same answer; NaN where there is no other."""
    probability: Floats
    """The same, moved towards the mean as far as chance makes it vary: mean of the beta-binomial posterior."""
    standard_error: Floats
    """Standard deviation of that posterior: what so few samples leave unknown."""
    samples: Ints
    """Number of samples of the question."""
    a: float
    b: float
    """Parameters of the beta distribution of the probability that another sample gives the same answer."""

    @property
    def reliability(self) -> float:
        """Share of the variance of ``raw`` that is not chance, at the mean number of other samples."""
        n = float((self.samples[self.samples > 1] - 1).mean())
        return n / (n + self.a + self.b)


def answer_agreement(question: Any, answer: Any) -> Agreement:
    """Turn repeated samples into a confidence: the probability that another sample gives the same answer.

    Parameters
    ----------
    question : array_like of shape (n,)
        Question of each sample.
    answer : array_like of shape (n,)
        Its answer, as text or number; None and "" agree with nothing.

    Returns
    -------
    Agreement

    Raises
    ------
    InputError
        For arrays of unequal length, and where no question has two samples.

    Notes
    -----
    Of k samples m of the *other* k - 1 agree with an answer. Counting the answer itself, or that of the majority, would
    overstate the agreement. Over all answers m has a beta-binomial distribution with parameters a and b, which are
    fitted by maximum likelihood. The posterior mean ``(m + a) / (k - 1 + a + b)`` is the probability, its variance
    ``p (1 - p) / (k + a + b)`` the error of so few samples. It is never 0 or 1.

    Examples
    --------
    >>> from unperplexed.language_models import answer_agreement
    >>> found = answer_agreement([1, 1, 1, 2, 2, 2], ["Paris", "Paris", "Rome", "5", "5", "5"])
    >>> found.raw
    array([0.5, 0.5, 0. , 1. , 1. , 1. ])
    """
    of = np.unique(np.asarray(question).astype(str), return_inverse=True)[1].reshape(-1)
    texts = ["" if each is None else str(each).strip() for each in np.asarray(answer, dtype=object).reshape(-1)]
    if len(texts) != of.size:
        raise InputError(f"question, answer: expected one of each for every sample, got {of.size} and {len(texts)}.")
    said = np.unique(np.array(texts, dtype=object), return_inverse=True)[1].reshape(-1)
    samples = np.bincount(of)[of] if of.size else of
    if not (samples > 1).any():
        raise InputError("question, answer: no question has two samples, so that there is no agreement.")
    both = np.unique(of * (int(said.max()) + 1) + said, return_inverse=True)[1].reshape(-1)
    empty = np.array([not each for each in texts])
    alike = np.where(empty, 0, np.bincount(both)[both] - 1)
    others = samples - 1
    some = others > 0
    a, b = beta_binomial(alike[some], others[some])
    with np.errstate(invalid="ignore"):
        raw = np.where(some, alike / np.maximum(others, 1), np.nan)
    p = np.where(some, (alike + a) / (others + a + b), np.nan)
    return Agreement(raw, p, np.sqrt(p * (1 - p) / (others + a + b + 1)), samples, a, b)


def beta_binomial(m: Ints, n: Ints) -> tuple[float, float]:
    """Fit the parameters of a beta-binomial distribution of m of n by maximum likelihood."""
    from scipy.optimize import minimize
    from scipy.special import betaln

    (m, n), times = np.unique(np.stack([m, n]), axis=1, return_counts=True)

    def loss(x: Floats) -> float:
        a, b = np.exp(x)
        return -float((times * (betaln(m + a, n - m + b) - betaln(a, b))).sum()) / float(times.sum())

    mean = min(max(float((times * m).sum() / (times * n).sum()), 0.01), 0.99)
    start = np.log([2 * mean, 2 * (1 - mean)])
    found = minimize(loss, start, method="L-BFGS-B", bounds=[(-_LARGEST / 2, _LARGEST)] * 2)
    a, b = (math.exp(float(each)) for each in found.x)
    return a, b
