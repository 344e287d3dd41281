"""A gate: which requirements forecasts meet, as far as chance lets one judge. `check` makes a `Check`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, Unpack
from xml.etree import ElementTree

from .._lib.dataclasses import field, replace
from .._lib.errors import InputError, called, is_number
from .._lib.formatting import capital, confidence_interval, number_of
from .._lib.serialize import plain_values
from .._lib.typing import ByValue
from .._version import __version__
from ..assessment.assess import assess
from ..assessment.distribution_result import DistributionAssessment
from ..assessment.flat import (
    ANY,
    WORST_GROUP,
    NamedMetric,
    NamedMetrics,
    costly,
    flat_metrics,
    named_metrics,
    verdict_words,
    words_of,
)
from ..assessment.result import Assessment
from ..calibration.dependence_search import (
    DECLARED,
    DECLINED,
    OF_A_TALLY,
    DependenceSearch,
    dependence_words,
    looked_at_words,
)
from ..forecasts.reading import SEARCHED, AssessedReading, is_predictive, reads
from ..report.document import Action, Column, Document, Section, Table
from ..report.numbers import between, count, evidence_text, number
from ..report.result import JsonResult, Naming, document, frames_as_input
from ..statistics.intervals import Interval
from ..statistics.means import DEFAULT_FLOOR, Floor
from ..tally.tally import Tally, refuse_rows
from .requirements import VERDICT, Requirement, scoring_rules

Looks = Literal["one", "many"]

Assessed = Assessment | DistributionAssessment


class Outcome(ByValue):
    """What became of one requirement."""

    requirement: str
    passed: bool
    value: float
    """The metric, or the end of its interval that the requirement names; NaN for the verdict."""
    interval: Interval
    """Confidence interval of the metric; NaN where it was not used."""
    judged: Literal["interval", "value", "verdict", "evidence"]
    """By what it was decided: by the interval, by the value as it is, by the diagnosis, or by evidence that stays valid
    at many looks."""
    words: str = ""
    """The verdict, or a count."""
    log_evidence: float = math.nan
    """Natural logarithm of the evidence that the requirement is not met, at many looks; larger is stronger."""

    @property
    def shown(self) -> str:
        """The value in words or as a number."""
        return self.words or number(self.value)


class Check(JsonResult):
    """Which requirements forecasts meet. Made by `check`; ``bool(found)`` is whether they meet all of them.

    ``print`` it, or take it as ``.to_json()``, ``.to_markdown()`` for the summary of a job, or ``.to_junit()``.
    """

    outcomes: tuple[Outcome, ...]
    point: bool
    """Whether metrics were compared with their limits as they are, without confidence intervals."""
    n_rows: int
    confidence: float
    """Confidence level of the intervals; a metric fails if its interval lies beyond the limit altogether."""
    against: str = ""
    """How the change was measured against earlier forecasts; "" without any."""
    looks: Looks = "one"
    """How often the gate is looked at while forecasts are added: "one" time, or "many"."""
    dependence: DependenceSearch = OF_A_TALLY
    """What was found of dependence that nobody declared."""
    min_effect: float = 0.0
    """Smallest cost of an error, in nats a row, that counts in the verdict."""
    version: str = __version__
    _flat: Callable[[], dict[str, float | None]] = field(default=dict, repr=False, compare=False)

    def __bool__(self) -> bool:
        """Whether every requirement is met."""
        return all(each.passed for each in self.outcomes)

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """Requirements that are not met."""
        return tuple(each for each in self.outcomes if not each.passed)

    def to_flat(self) -> dict[str, float | None]:
        """Give all metrics and whether the gate passed, one level deep: numbers or None by name.

        ``design_effect`` is that of dependence which nobody declared: 1 where none was found, None where it was not
        looked for.
        """
        judged = sorted(self._by_evidence, key=lambda each: each.log_evidence)  # the largest of a metric stays
        evidence = {f"{Requirement.parse(each.requirement).name}.log_evidence": each.log_evidence for each in judged}
        passed = {"passed": float(bool(self)), "failed_requirements": float(len(self.failed))}
        effect = 1.0 if self.dependence.found is None else self.dependence.found.design_effect
        seen = None if self.dependence.reason else effect
        return {**passed, **evidence, "design_effect": seen, **self._flat()}

    def to_dict(self) -> dict[str, Any]:
        """Give the requirements with what became of them, and all metrics, as plain Python values."""
        return {**plain_values(self), "passed": bool(self), "metrics": self._flat()}

    def to_markdown(self) -> str:
        """Give the table of requirements as Markdown, for the summary of a job."""
        columns = self._columns()
        lines = [f"**{self._headline()}**", "", f"| {' | '.join(columns)} |", f"{'|---' * len(columns)}|"]
        for requirement, *cells in zip(*columns.values(), strict=True):
            row = (cell.replace("|", "&#124;") for cell in (f"`{requirement}`", *cells))
            lines.append(f"| {' | '.join(row)} |")
        return "\n".join([*lines, "", self._how(), ""])

    def to_junit(self) -> str:
        """Give the requirements as the test cases of a JUnit file."""
        suite = ElementTree.Element(
            "testsuite", name="unperplexed check", tests=str(len(self.outcomes)), failures=str(len(self.failed))
        )
        for each in self.outcomes:
            case = ElementTree.SubElement(suite, "testcase", classname="unperplexed.check", name=each.requirement)
            if not each.passed:
                ElementTree.SubElement(case, "failure", message=self._failure(each))
        ElementTree.indent(suite)
        return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'

    @property
    def _by_evidence(self) -> tuple[Outcome, ...]:
        return tuple(each for each in self.outcomes if each.judged == "evidence")

    @property
    def _level(self) -> str:
        if self.looks == "many":
            return f"{100 * self.confidence:.10g}% confidence sequence"
        return confidence_interval(self.confidence)

    @property
    def _limit(self) -> str:
        """Evidence at which a requirement fails."""
        return f"{2 / (1 - self.confidence):.3g}"

    def _columns(self) -> dict[str, list[str]]:
        """Give the table of requirements."""
        shown = {
            "requirement": [each.requirement for each in self.outcomes],
            "value": [each.shown for each in self.outcomes],
            self._level: [between(*each.interval) for each in self.outcomes],
        }
        if self.looks == "many":
            shown["evidence"] = [self._evidence(each) for each in self.outcomes]
        return {**shown, "result": ["pass" if each.passed else "FAIL" for each in self.outcomes]}

    def _evidence(self, each: Outcome) -> str:
        return f"{evidence_text(each.log_evidence)}, limit {self._limit}" if each.judged == "evidence" else ""

    def _headline(self) -> str:
        failed, all_of = len(self.failed), number_of(len(self.outcomes), "requirement")
        return f"Passed: {all_of}" if not failed else f"Failed: {failed} of {all_of}"

    def _failure(self, each: Outcome) -> str:
        ci, evidence = between(*each.interval), self._evidence(each)
        why = f"evidence {evidence}" if evidence else f"{self._level} {ci}" if ci else ""
        return f"{each.requirement}: {each.shown}" + (f" ({why})" if why else "")

    def _how(self) -> str:
        said = []
        risk = f"{100 * (1 - self.confidence) / 2:.3g}%"
        if any(each.judged == "interval" for each in self.outcomes):
            said.append(
                f"A metric fails if its whole {self._level} lies beyond the limit: one exactly at its limit fails in"
                f" about {risk} of samples, if it is looked at once. A metric that passes need not be within its limit."
                " Without confidence (--confidence none) the metric itself is compared."
            )
        if self._by_evidence:
            said.append(
                f"A change fails at evidence of {self._limit}, where its whole {self._level} lies beyond the limit. One"
                f" exactly at its limit ever fails with a probability of about {risk} at most, however often you look,"
                " if each look takes all forecasts so far. A change that passes need not be within its limit."
            )
        if any(each.judged == "value" for each in self.outcomes):
            said.append(
                "Counts, costs of groups, ends of intervals, and metrics without confidence (--confidence none) are"
                " compared with their limits as they are."
            )
        if any(each.judged == "verdict" for each in self.outcomes):
            said.append("The verdict is that of the diagnosis: calibrated forecasts get one in about 5% of samples.")
        if any(each.requirement.startswith("brier_score") for each in self.outcomes):
            said.append("The Brier score is the sum over the classes: for two, half of it is half_brier_score.")
        if self.min_effect:
            said.append(
                f"Errors that are not shown to cost {self.min_effect:g} nats a row are small, and do not count."
            )
        return " ".join([*said, *self._dependence()])

    def _dependence(self) -> Iterator[str]:
        """Say what was found of dependence that nobody declared, or that nothing was."""
        if words := dependence_words(self.dependence, "calibration"):
            yield words
        elif self.dependence.reason not in (DECLARED, DECLINED):
            yield f"{capital(looked_at_words(self.dependence))}."


@document.register(Check)
def _document(c: Check, naming: Naming, *, brief: bool) -> Document:
    in_words = {"result"} | ({"value"} if any(math.isnan(each.value) for each in c.outcomes) else set())
    table = Table("", [Column(name, cells, words=name in in_words) for name, cells in c._columns().items()])
    named = f"{naming.name}: " if naming.name else ""
    return Document(
        title="Gate",
        facts=f"{named}{number_of(c.n_rows, 'forecast')}",
        headline=c._headline(),
        lead="; ".join(c._failure(each) for each in c.failed),
        calm=bool(c),
        actions=[Action("How it is decided", c._how(), "Rule")],
        summary=[table],
        sections=[] if brief else [Section("requirements", "Requirements", [table], "Requirements")],
        settings=c.against,
    )


_LEVEL = 0.9
"""Confidence level by default: a metric exactly at its limit fails in 5% of samples."""


@frames_as_input
@reads(AssessedReading, SEARCHED)
def check(
    y_true: Any,
    y_prob: Any = None,
    *,
    require: str | Sequence[str],
    earlier: Any = None,
    anytime: bool = False,
    floor: Floor = DEFAULT_FLOOR,
    confidence: float | None = _LEVEL,
    min_effect: float = 0.0,
    **reading: Unpack[AssessedReading],
) -> Check:
    """Test whether forecasts meet requirements: a gate.

    Returns a `Check`, which is true if all requirements are met. ``failed`` has
    the others. A requirement fails only if chance is an unlikely reason.

    Parameters
    ----------
    y_true : array_like (n,) or (n, C), Tally, or result of `assess`
        Outcomes: class labels, one-hot rows, or numbers. The others come
        without ``y_prob``.
    y_prob : array_like (n,) or (n, C), or predictive distributions, optional
        Predicted probabilities of the positive class, or of each class; or
        `Quantiles`, `Samples`, ... of a number.
    require : str or sequence of str
        Each ``"NAME < NUMBER"`` (or ``<=``, ``>``, ``>=``) with a name of
        `Assessment.to_flat`, or ``"verdict not in (WORD, ...)"`` or
        ``"verdict in (none, WORD, ...)"``. ``NAME.lower`` and ``NAME.upper``
        are the ends of the confidence interval: ``"skill.lower > 0"`` requires
        evidence of skill, ``"skill > 0"`` that nothing speaks against it. Of
        predictive distributions names of `DistributionAssessment.to_flat`:
        ``"coverage_80 > 0.75"``, ``"coverage_all_members > 0.7"``,
        ``"width < 1.2"``, ``"crps < 2"``, ``"wis < 30"``,
        ``"verdict not in (too narrow)"``.
    earlier : forecasts of the same rows, Tally, Assessment or DistributionAssessment, optional
        Earlier forecasts: of the same rows, or of others with their outcomes.
        Requirements may then name changes of mean scores, now minus earlier,
        such as ``"change.log_loss <= 0"``: paired, or of two independent
        samples.
    anytime : bool, default False
        Keep the test of changes valid however often one looks while forecasts
        are added: one exactly at its limit ever fails with a probability of (1
        - confidence) / 2 at most. Only changes of mean scores, and counts, are
        tested then.
    floor : float or "auto", default "auto"
        As in `assess`.
    confidence : float or None, default 0.9
        Confidence level of the gate: at 0.9 a metric exactly at its limit fails
        in 5% of samples. None compares the metrics themselves with the limits.
        An `Assessment` has a confidence level of its own.
    min_effect : float, default 0
        Smallest cost of an error, in nats a row, that fails a requirement on
        the verdict. Errors that are not shown to cost so much, by the lower end
        of the cost's interval, do not count.
    **reading
        How rows are read, as in `assess`: ``sample_weight``, ``clusters``,
        ``columns``, ``labels``, ``pos_label``, ...

    Returns
    -------
    Check
        Its truth value is whether all requirements are met.

    Raises
    ------
    InputError
        As `assess`; for text that is no requirement, a metric that there is
        not, or one without a confidence interval; for one that cannot be tested
        at any time.

    Notes
    -----
    With ``anytime=False``, forecasts that are tested again and again, until a
    metric fails, fail more often. At any time the evidence against a limit is e
    = 2 (1 + N/n0)^(-1/2) exp(X^2 / (2 (N + n0))) Phi(X / sqrt(N + n0)), where X
    is the sum of what exceeds the limit over N rows, or clusters of paired
    rows, divided by its standard deviation, and n0 is 1,000 rows or 20
    clusters. For two samples, N is the number of rows whose mean is as precise
    as the change. Paired changes are corrected for their skewness first (Hall
    1992). A requirement fails at evidence of 2 / (1 - confidence). This is a
    one-sided normal mixture (Robbins 1970) with estimated standard deviations;
    each look takes all forecasts so far.

    Examples
    --------
    >>> from unperplexed import check
    >>> y, p = [1, 0, 1, 1] * 50, [0.8, 0.3, 0.6, 0.9] * 50
    >>> found = check(y, p, require=["log_loss < 0.2", "accuracy > 0.5"])
    >>> print(found.to_text().splitlines()[0])
    Failed: 1 of 2 requirements.
    >>> bool(found), [each.requirement for each in found.failed]
    (False, ['log_loss < 0.2'])
    """
    from ..comparison.compare import compare
    from ..comparison.sequential import changes_of_pairs, changes_of_samples  # most gates compare nothing
    from ..pairing.skill import BASE_RATE

    wanted = [require] if isinstance(require, str) else list(require)
    parsed = [Requirement.parse(text) for text in wanted]
    level = _LEVEL if confidence is None else confidence
    gate = partial(checked, point=confidence is None, anytime=anytime, min_effect=min_effect)
    numbers = is_predictive(y_prob) or isinstance(y_true, DistributionAssessment)
    refuse_for_numbers("anytime" if numbers and anytime else "")
    scores, options = scoring_rules(parsed, of_classes=not numbers), dict[str, Any](reading)

    def assessed(counted: Any) -> Any:
        return assess(counted, floor=floor, confidence=level) if isinstance(counted, Tally) else counted

    if numbers:
        now: Assessed = _assessed_numbers(y_true, y_prob, scores, level, reading)
    elif isinstance(y_true, Assessment | Tally):
        refuse_rows({"y_prob": y_prob, **reading})
        now = assessed(y_true)
    else:
        reference = BASE_RATE if any(each.name.endswith("skill") for each in parsed) else None
        now = assess(y_true, y_prob, reference=reference, metrics=scores, floor=floor, confidence=level, **options)
    changes, against = None, ""
    if isinstance(earlier, Assessment | Tally | DistributionAssessment):
        before = assessed(earlier)
        changes = changes_of_samples(now, before)
        against = f"change from {before.n_rows:,} earlier forecasts, as two independent samples"
    elif earlier is not None:
        if y_prob is None:
            raise InputError("earlier: forecasts of the same rows go with y_true and y_prob; of others, assess them.")
        both = {_NOW: y_prob, _EARLIER: earlier}
        pair = compare(y_true, both, metrics=scores, floor=floor, confidence=level, **options)
        changes = changes_of_pairs(pair, _NOW)
        against = f"change from earlier forecasts of the same {pair.n_rows:,} rows"
    return gate(now, wanted, changes=changes, against=against)


_NOW, _EARLIER = "now", "earlier"


def refuse_for_numbers(option: str) -> None:
    """Refuse an option of gates that predictive distributions have no use for; "" is none."""
    if option:
        raise InputError(f"{option}: it is for probabilities of classes, not for predictive distributions.")


def _assessed_numbers(
    y_true: Any, forecast: Any, scores: Sequence[str], confidence: float, reading: Mapping[str, Any]
) -> DistributionAssessment:
    """Assess predictive distributions with the scores that are required, unless that was done."""
    if isinstance(y_true, DistributionAssessment):
        refuse_rows({"y_prob": forecast, **reading})
        return y_true
    from ..assessment.distributions import assess_distributions
    from ..pairing.distribution_skill import DistributionSettings

    return assess_distributions(y_true, forecast, DistributionSettings(reading, None, scores, confidence))


def checked(
    assessment: Assessed,
    requirements: Sequence[str],
    *,
    point: bool = False,
    anytime: bool = False,
    min_effect: float = 0.0,
    changes: Mapping[str, NamedMetric] | None = None,
    against: str = "",
) -> Check:
    """Test requirements of an assessment, and of changes by name; ``against`` says what they are changes from.

    Parameters
    ----------
    assessment : Assessment or DistributionAssessment
        Assessment of the forecasts, whose confidence level is that of the test.
    requirements : sequence of str
        Requirements as they are written, such as ``"log_loss < 0.4"``.
    point : bool, default False
        Whether to compare metrics with their limits as they are, without intervals.
    anytime : bool, default False
        Whether the gate is looked at while forecasts are added, so that evidence must stay valid.
    min_effect : float, default 0
        Smallest cost of an error that fails a requirement on the verdict, in nats a row.
    changes : mapping from str to NamedMetric, optional
        Changes from earlier forecasts, by name.
    against : str, default ""
        What they are changes from, in words.

    Raises
    ------
    InputError
        For no requirements, and for those of metrics that are not known here.
    """
    wanted = [Requirement.parse(text) for text in requirements]
    if not wanted:
        raise InputError("require (--require): none; name at least one requirement, such as 'log_loss < 0.4'.")
    if not is_number(min_effect, 0, 1e99) or (min_effect and VERDICT not in [each.name for each in wanted]):
        raise InputError(
            f"min_effect (--min-effect): expected nats a row, 0 or more, beside a requirement on the verdict, such as"
            f" 'verdict in (none)'; got {min_effect!r}."
        )
    sampling = assessment if isinstance(assessment, DistributionAssessment) else assessment.source.sampling
    confidence = sampling.confidence
    if anytime:
        changes = {name: _at_many_looks(each, confidence) for name, each in (changes or {}).items()}
        _refuse_at_many_looks(wanted, changes, point)
    known = named_metrics(assessment, changes)
    looks: Looks = "many" if anytime else "one"
    outcomes = tuple(
        _verdict(each, assessment, min_effect) if each.name == VERDICT else _outcome(each, known, point, looks)
        for each in wanted
    )
    flat = partial(flat_metrics, assessment, changes)
    made = assessment.diagnosis
    dependence = assessment.dependence.tested(made.p_value, made.independent_p_value)
    return Check(outcomes, point, assessment.n_rows, confidence, against, looks, dependence, min_effect, _flat=flat)


def _at_many_looks(change: NamedMetric, confidence: float) -> NamedMetric:
    """Give a change the interval that stays valid."""
    if change.spread is None:
        return change
    return change._replace(interval=change.spread.interval(change.value, confidence))


def _refuse_at_many_looks(wanted: Iterable[Requirement], changes: Collection[str], point: bool) -> None:
    if point:
        raise InputError(
            "anytime=True (--anytime): confidence=None (--confidence none) ignores chance; leave out one of them."
        )
    for each in wanted:
        if each.name not in {*changes, "rows", "effective_rows"}:
            raise InputError(
                f"{_of(each)} with anytime=True (--anytime) only changes of mean scores"
                " from earlier forecasts, such as 'change.log_loss <= 0', and counts of rows are tested; test limits"
                " and calibration at every look with `unperplexed monitor --require`."
            )


def _outcome(each: Requirement, known: NamedMetrics, point: bool, looks: Looks) -> Outcome:
    if each.name not in known:
        raise InputError(f"{_of(each)} there is no metric {each.name!r} here; {_others(each.name, known)}")
    found = known[each.name]()
    low, high = found.interval
    as_it_is = Outcome(each.text, each.met_by(found.value), found.value, found.interval, "value")
    if each.end or found.counted or found.tested or point:
        value = {"lower": low, "upper": high, "": found.value}[each.end]
        if math.isnan(value):
            raise InputError(_unknown(each, "value" if not each.end else "confidence interval"))
        return replace(as_it_is, passed=each.met_by(value), value=value, words=count(value) if found.counted else "")
    if math.isnan(found.value):
        raise InputError(_unknown(each, "value"))
    if math.isnan(low) or math.isnan(high):
        if math.isinf(found.value):  # an outcome that was assigned probability 0: no chance makes it finite
            return as_it_is
        remedy = (
            "Or wait for more rows or clusters."
            if looks == "many"
            else "confidence=None (--confidence none) compares the metric itself."
        )
        raise InputError(f"{_unknown(each, 'confidence interval')} {remedy}")
    passed = not each.refuted_by(low, high)
    if looks == "one":
        return replace(as_it_is, passed=passed, judged="interval")
    if found.spread is None:  # the same scores in every row: no estimate
        return as_it_is
    spread = found.spread.mirrored() if each.upward else found.spread
    beyond = each.limit - found.value if each.upward else found.value - each.limit
    return replace(as_it_is, passed=passed, judged="evidence", log_evidence=spread.log_evidence(beyond))


def _others(name: str, known: NamedMetrics) -> str:
    """Name the metrics that there are, the similar one first."""
    if name == WORST_GROUP:
        return "groups are found by --among COLUMN."
    if name.endswith("skill"):
        return "skill needs a reference (in Python: assess(..., reference='base-rate')) and rows."
    close = get_close_matches(name.lower(), known, 1)
    meant = called(name).removeprefix("; ")
    skill = "" if "skill" in known else "; with rows and a reference also skill"
    first = f"{meant} Known" if meant else f"did you mean {close[0]}? Known" if close else "known"
    return f"{first}: {', '.join([*known, VERDICT])}{skill}."


def _unknown(each: Requirement, what: str) -> str:
    return f"{_of(each)} {each.name} has no {what} for these forecasts; require another metric."


def _of(each: Requirement) -> str:
    return f"require (--require): {each.text!r}:"


def _verdict(each: Requirement, assessment: Assessed, min_effect: float) -> Outcome:
    d, known = assessment.diagnosis, ("none", *words_of(assessment))
    if not d.made:
        raise InputError(f"{_of(each)} there is no verdict. {d.verdict}")
    if unknown := [word for word in each.words if word not in known]:
        raise InputError(f"{_of(each)} no verdict here is called {unknown[0]!r}; there are {', '.join(known)}.")
    found, words = verdict_words(costly(assessment, min_effect)) or {"none"}, set(each.words)
    named = found - {ANY} or found
    small = verdict_words(d) - found
    ignored = ", ".join(sorted(small - {ANY} or small))
    allowed = named <= words or (ANY in words and "none" not in found)
    passed = not found & words if each.operator == "not in" else allowed
    shown = ", ".join(sorted(named)) + f" (small: {ignored})" * bool(ignored)
    return Outcome(each.text, passed, math.nan, Interval(math.nan, math.nan), "verdict", shown)
