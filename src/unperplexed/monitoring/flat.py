"""Every figure of an assessment by a short name, flat: what dashboards and experiment trackers read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ..assessment.result import Assessment
from ..calibration.diagnosis.result import Diagnosis
from ..pairing.skill_result import SkillScore
from ..statistics.intervals import Interval
from .requirements import WORDS

NOWHERE = Interval(math.nan, math.nan)


class Figure(NamedTuple):
    """A figure with its confidence interval; one that is counted has no chance in it."""

    value: float
    interval: Interval = NOWHERE
    counted: bool = False


def figures(assessment: Assessment, changes: Mapping[str, Figure] | None = None) -> dict[str, float | None]:
    """Give all figures of an assessment flat: numbers or None by name, with the ends of their confidence intervals.

    Parameters
    ----------
    assessment : Assessment
        From `assess`.
    changes : mapping from name to Figure, optional
        Further figures by name, such as differences from earlier forecasts.

    Returns
    -------
    dict of str to float or None
        ``log_loss``, ``log_loss.lower``, ``log_loss.upper`` and so on; ``miscalibrated``, ``biased``,
        ``overconfident`` and the other words of the verdict are 1 or 0. None stands for a figure that does not exist
        here, such as the AUC of three classes, or that is not finite.

    Examples
    --------
    >>> from unperplexed import assess
    >>> from unperplexed.monitoring import figures
    >>> found = figures(assess([1, 0, 1, 1], [0.8, 0.3, 0.6, 0.9]))
    >>> found["rows"], round(found["log_loss"], 3), found["log_loss.lower"] < found["log_loss"]
    (4.0, 0.299, True)
    """
    flat: dict[str, float | None] = {}
    for name, each in NamedFigures(assessment, changes or {}).items():
        flat[name] = _finite(each.value)
        if not each.counted:
            flat |= {f"{name}.lower": _finite(each.interval.low), f"{name}.upper": _finite(each.interval.high)}
    if assessment.diagnosis.made:
        found = verdict_words(assessment.diagnosis)
        flat |= {word: float(word in found) for word in WORDS}
    return flat


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


class NamedFigures(Mapping[str, Figure]):
    """The figures of an assessment by name, each computed when it is asked for."""

    def __init__(self, assessment: Assessment, changes: Mapping[str, Figure]) -> None:
        """Name the figures that there are, and changes beside them."""
        a = self._assessment = assessment
        self._changes = changes
        of_classes = () if a.n_classes == 2 else ("auc", "calibration_intercept")
        skill = () if a.skill is None else (_skill_name(rule) for rule in _skills(a))
        names = ["rows", "effective_rows", *a.scores, *(each for each in _METRICS if each not in of_classes), *_OTHERS]
        self._names = [*names, *skill, *changes]

    def __len__(self) -> int:
        """Count them."""
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        return iter(self._names)

    def __getitem__(self, name: str) -> Figure:
        """Compute a figure."""
        a = self._assessment
        if name not in self._names:
            raise KeyError(name)
        if name in self._changes:
            return self._changes[name]
        if name == "rows":
            return Figure(float(a.n_rows), counted=True)
        if name == "effective_rows":
            return Figure(a.effective_rows, counted=True)
        if name == "calibration_error":
            return Figure(a.metrics.ece, a.metrics.ece_interval)
        if name in _METRICS:
            metric = getattr(a.metrics, name)
            return Figure(metric.value, metric.interval)
        if a.skill is not None and name.endswith("skill"):
            found = {_skill_name(rule): each for rule, each in _skills(a).items()}[name]
            return Figure(found.skill, found.interval)
        value, named = _OTHERS[name](a) if name in _OTHERS else (a.scores[name], name)
        return Figure(value, a.intervals.get(named, NOWHERE))


_METRICS = ("calibration_error", "auc", "calibration_slope", "calibration_intercept")
_OTHERS: dict[str, Callable[[Assessment], tuple[float, str]]] = {
    "accuracy": lambda a: (a.prediction_accuracy, "prediction_accuracy"),
    "geometric_accuracy": lambda a: (a.reported.geometric_accuracy, "reported_geometric_accuracy"),
    "decisiveness": lambda a: (a.reported.decisiveness, "reported_decisiveness"),
    "robustness": lambda a: (a.reported.robustness, "reported_robustness"),
    "slope": lambda a: (a.slope, "slope"),
    "divergence_probability": lambda a: (a.divergence_probability, "divergence_probability"),
}
"""Value of a figure, and the name of its interval."""


def _skills(a: Assessment) -> Mapping[str, SkillScore]:
    assert a.skill is not None
    [scores] = a.skill.whole.scores.values()
    return scores


def _skill_name(rule: str) -> str:
    return "skill" if rule == "log_loss" else f"{rule}_skill"


def verdict_words(d: Diagnosis) -> frozenset[str]:
    """Name the errors that a diagnosis found, in words of `WORDS`; none where nothing was found."""
    words = {"miscalibrated"} if d.findings else set()
    for finding in d.findings:
        if finding.error == "confidence":
            words.add("overconfident" if finding.parameter < 0 else "underconfident")
        elif finding.error == "tail":
            words.add("extremes-understated" if finding.parameter > 0 else "extremes-overstated")
        elif finding.error in _WORD_OF:
            words.add(_WORD_OF[finding.error])
    return frozenset(words)


_WORD_OF = {
    "bias": "biased",
    "noise": "extremes-overstated",
    "asymmetry": "asymmetric",
    "certainty": "certain-and-wrong",
}
