"""A gate: which requirements forecasts meet, as far as chance lets one judge. `check` makes a `Check`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Any, Literal, get_args
from xml.etree import ElementTree

from .._lib.by_value import ByValue
from .._lib.errors import InputError, check_choice
from .._lib.formatting import confidence_interval, number_of
from .._lib.serialize import plain_values
from .._version import __version__
from ..assessment.flat import ANY, Figure, NamedFigures, figures, verdict_words
from ..assessment.result import Assessment
from ..report.document import Action, Column, Document, Section, Table
from ..report.numbers import between, count, evidence_text, number
from ..report.result import JsonResult, Naming
from ..statistics.intervals import Interval
from .requirements import VERDICT, Requirement

Looks = Literal["one", "many"]


@dataclass(frozen=True)
class Outcome(ByValue):
    """What became of one requirement."""

    requirement: str
    passed: bool
    value: float
    """The figure, or the end of its interval that the requirement names; NaN for the verdict."""
    interval: Interval
    """Confidence interval of the figure; NaN where it was not used."""
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


@dataclass(frozen=True)
class Check(JsonResult):
    """Which requirements forecasts meet. Made by `check`; ``bool(found)`` is whether they meet all of them.

    ``print`` it, or take it as ``.to_json()``, ``.to_markdown()`` for the summary of a job, or ``.to_junit()``.
    """

    outcomes: tuple[Outcome, ...]
    point: bool
    """Whether metrics were compared with their limits as they are, without confidence intervals."""
    n_rows: int
    confidence: float
    """Confidence level of the intervals; a figure fails if its interval lies beyond the limit altogether."""
    against: str = ""
    """How the change was measured against earlier forecasts; "" without any."""
    looks: Looks = "one"
    """How often the gate is looked at while forecasts are added: "one" time, or "many"."""
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
        """Give all figures and whether the gate passed, one level deep: numbers or None by name."""
        judged = sorted(self._by_evidence, key=lambda each: each.log_evidence)  # the largest of a figure stays
        evidence = {f"{Requirement.parse(each.requirement).name}.log_evidence": each.log_evidence for each in judged}
        passed = {"passed": float(bool(self)), "failed_requirements": float(len(self.failed))}
        return {**passed, **evidence, **self._flat()}

    def to_dict(self) -> dict[str, Any]:
        """Give the requirements with what became of them, and all figures, as plain Python values."""
        plain: dict[str, Any] = plain_values(replace(self, _flat=dict))
        del plain["_flat"]
        return {**plain, "passed": bool(self), "figures": self._flat()}

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
            )
        if self._by_evidence:
            said.append(
                f"A change fails at evidence of {self._limit}, where its whole {self._level} lies beyond the limit. One"
                f" exactly at its limit ever fails with a probability of about {risk} at most, however often you look,"
                " if each look takes all forecasts so far. A change that passes need not be within its limit."
            )
        if any(each.judged == "value" for each in self.outcomes):
            said.append(
                "Counts, ends of intervals, and metrics with point=True (--confidence none), are compared with their"
                " limits as they are."
            )
        if any(each.judged == "verdict" for each in self.outcomes):
            said.append("The verdict is that of the diagnosis: calibrated forecasts get one in about 5% of samples.")
        return " ".join(said)

    def _document(self, naming: Naming, *, brief: bool) -> Document:
        in_words = {"result"} | ({"value"} if any(math.isnan(each.value) for each in self.outcomes) else set())
        table = Table("", [Column(name, cells, words=name in in_words) for name, cells in self._columns().items()])
        named = f"{naming.name}: " if naming.name else ""
        return Document(
            title="Gate",
            facts=f"{named}{number_of(self.n_rows, 'forecast')}",
            headline=self._headline(),
            lead="; ".join(self._failure(each) for each in self.failed),
            calm=bool(self),
            actions=[Action("How it is decided", self._how(), "Rule")],
            summary=[table],
            sections=[] if brief else [Section("requirements", "Requirements", [table], "Requirements")],
            settings=self.against,
        )


def check(
    assessment: Assessment,
    requirements: str | Sequence[str],
    *,
    point: bool = False,
    looks: Looks = "one",
    changes: Mapping[str, Figure] | None = None,
    against: str = "",
) -> Check:
    """Test whether forecasts meet requirements. Requirements fail beyond chance only.

    Parameters
    ----------
    assessment : Assessment
        From `assess`. Its confidence level is that of the gate: at 0.9 a figure exactly at its limit fails in 5% of
        samples.
    requirements : str or sequence of str
        Each ``"NAME < NUMBER"`` (or ``<=``, ``>``, ``>=``) with a name of `figures`, or ``"verdict not in (WORD,
        ...)"`` or ``"verdict in (none, WORD, ...)"``. ``NAME.lower`` and ``NAME.upper`` are the ends of the confidence
        interval: ``"skill.lower > 0"`` requires evidence of skill, ``"skill > 0"`` that nothing speaks against it.
    point : bool, default False
        Compare the metrics themselves with the limits, without confidence intervals.
    looks : {"one", "many"}, default "one"
        "many" keeps the test of changes valid however often one looks while forecasts are added: one exactly at its
        limit ever fails with a probability of 5% at most. Only changes of mean scores, and counts, are tested then.
    changes : mapping from name to Figure, optional
        Further figures by name: differences from earlier forecasts, by `changes_of_pairs` or `changes_of_samples`.
    against : str, optional
        Words for what they are differences from.

    Returns
    -------
    Check
        Its truth value is whether all requirements are met.

    Raises
    ------
    InputError
        For text that is no requirement, a figure that there is not, or one without a confidence interval; for one that
        cannot be tested at many looks.

    Notes
    -----
    With ``looks="one"``, forecasts that are tested again and again, until a figure fails, fail more often. At many
    looks the evidence against a limit is e = 2 (1 + N/n0)^(-1/2) exp(X^2 / (2 (N + n0))) Phi(X / sqrt(N + n0)), where X
    is the sum of what exceeds the limit over N rows, or clusters of paired rows, divided by its standard deviation,
    and n0 is 1,000 rows or 20 clusters. For two samples, N is the number of rows whose mean is as precise as the
    change. Paired changes are corrected for their skewness first (Hall 1992). A requirement fails at evidence of
    2 / (1 - confidence). This is a one-sided normal mixture (Robbins 1970) with estimated standard deviations; each
    look takes all forecasts so far.

    Examples
    --------
    >>> from unperplexed import assess
    >>> from unperplexed.monitoring import check
    >>> found = check(assess([1, 0, 1, 1] * 50, [0.8, 0.3, 0.6, 0.9] * 50), ["log_loss < 0.2", "accuracy > 0.5"])
    >>> bool(found), [each.requirement for each in found.failed]
    (False, ['log_loss < 0.2'])
    """
    texts = [requirements] if isinstance(requirements, str) else list(requirements)
    wanted = [Requirement.parse(text) for text in texts]
    if not wanted:
        raise InputError("requirements: none; name at least one, such as 'log_loss < 0.4'.")
    check_choice("looks", looks, get_args(Looks))
    confidence = assessment.source.sampling.confidence
    if looks == "many":
        changes = {name: _at_many_looks(each, confidence) for name, each in (changes or {}).items()}
        _refuse_at_many_looks(wanted, changes, point)
    known = NamedFigures(assessment, changes or {})
    outcomes = tuple(
        _verdict(each, assessment) if each.name == VERDICT else _outcome(each, known, point, looks) for each in wanted
    )
    flat = partial(figures, assessment, changes)
    return Check(outcomes, point, assessment.n_rows, confidence, against, looks, _flat=flat)


def _at_many_looks(change: Figure, confidence: float) -> Figure:
    """Give a change the interval that stays valid."""
    if change.spread is None:
        return change
    return change._replace(interval=change.spread.interval(change.value, confidence))


def _refuse_at_many_looks(wanted: Iterable[Requirement], changes: Collection[str], point: bool) -> None:
    if point:
        raise InputError(
            "looks='many' (--anytime): point=True (--confidence none) leaves chance out; leave out one of them."
        )
    for each in wanted:
        if each.name not in {*changes, "rows", "effective_rows"}:
            raise InputError(
                f"requirements (--require): {each.text!r}: with looks='many' (--anytime) only changes of mean scores"
                " from earlier forecasts, such as 'change.log_loss <= 0', and counts of rows are tested; test limits"
                " and calibration at every look with `unperplexed monitor --require`."
            )


def _outcome(each: Requirement, known: Mapping[str, Figure], point: bool, looks: Looks) -> Outcome:
    if each.name not in known:
        raise InputError(
            f"requirements (--require): {each.text!r}: there is no metric {each.name!r} here;"
            f" {_others(each.name, known)}"
        )
    found = known[each.name]
    low, high = found.interval
    if each.end or found.counted or point:
        value = {"lower": low, "upper": high, "": found.value}[each.end]
        if math.isnan(value):
            raise InputError(_unknown(each, "value" if not each.end else "confidence interval"))
        words = count(value) if found.counted else ""
        return Outcome(each.text, each.met_by(value), value, found.interval, "value", words)
    if math.isnan(found.value):
        raise InputError(_unknown(each, "value"))
    if math.isnan(low) or math.isnan(high):
        if math.isinf(found.value):  # an outcome that was assigned probability 0: no chance makes it finite
            return Outcome(each.text, each.met_by(found.value), found.value, found.interval, "value")
        remedy = (
            "Or wait for more rows or clusters."
            if looks == "many"
            else "point=True (--confidence none) compares the metric itself."
        )
        raise InputError(f"{_unknown(each, 'confidence interval')} {remedy}")
    if looks == "many":
        if found.spread is None:  # the same scores in every row: no estimate
            return Outcome(each.text, each.met_by(found.value), found.value, found.interval, "value")
        spread = found.spread.mirrored() if each.upward else found.spread
        beyond = each.limit - found.value if each.upward else found.value - each.limit
        passed, evidence = not each.refuted_by(low, high), spread.log_evidence(beyond)
        return Outcome(each.text, passed, found.value, found.interval, "evidence", log_evidence=evidence)
    return Outcome(each.text, not each.refuted_by(low, high), found.value, found.interval, "interval")


def _others(name: str, known: Mapping[str, Figure]) -> str:
    """Name the figures that there are, the similar one first."""
    if name.endswith("skill"):
        return "skill needs a baseline (in Python: assess(..., baseline='base-rate')) and rows."
    close = get_close_matches(name, known, 1)
    skill = "" if "skill" in known else "; with rows and a baseline also skill"
    return f"{f'did you mean {close[0]}? Known' if close else 'known'}: {', '.join([*known, VERDICT])}{skill}."


def _unknown(each: Requirement, what: str) -> str:
    return (
        f"requirements (--require): {each.text!r}: {each.name} has no {what} for these forecasts; require another"
        " figure."
    )


def _verdict(each: Requirement, assessment: Assessment) -> Outcome:
    d = assessment.diagnosis
    if not d.made:
        raise InputError(f"requirements (--require): {each.text!r}: there is no verdict. {d.verdict}")
    found, words = verdict_words(d) or {"none"}, set(each.words)
    named = found - {ANY} or found
    allowed = named <= words or (ANY in words and "none" not in found)
    passed = not found & words if each.operator == "not in" else allowed
    return Outcome(each.text, passed, math.nan, Interval(math.nan, math.nan), "verdict", ", ".join(sorted(named)))
