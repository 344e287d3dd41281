"""What a diagnosis says: its clauses, the findings of two classes with theirs, and what to look up about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..._lib.formatting import p_value_text
from ...forecasts.labels import Label
from .kind import OfClasses, OfTwo
from .kinds import KINDS, permuted, shape
from .kinds.bias import MISSHAPED
from .kinds.confidence import SWAPPED
from .result import COUNTS, Advice, Clause, Diagnosis, Finding

if TYPE_CHECKING:
    from .permutations import Permutation

REST_LEVEL, _OF_DISTRIBUTIONS = 0.01, 0.001
"""Level at which a further error is reported, of classes and of predictive distributions."""


def leaves_more(d: Diagnosis) -> bool:
    """Whether the findings leave a further error."""
    return d.rest_p_value < (REST_LEVEL if d.n_classes else _OF_DISTRIBUTIONS)


def in_words(
    about: Diagnosis, findings: Sequence[Finding], level: Clause | None = None, mostly_rest: bool = False
) -> Diagnosis:
    """Return what is known with its findings, and the clauses that say them.

    Parameters
    ----------
    about : Diagnosis
        What is known.
    findings : sequence of Finding
    level : Clause, optional
        Says that predictions are too high or too low on average, before all others.
    mostly_rest : bool, default False
        Whether the findings explain the smaller part.
    """
    found = _costliest_first(findings, about.n_rows)
    clauses = _clauses(found, about, mostly_rest)
    if found and level is not None:
        clauses = (level, *(each for each in clauses if each != level))
    told = tuple(each for each in clauses if each.name != MISSHAPED)
    return replace(about, clauses=told if any(x.name for x in told) else clauses, findings=tuple(found))


def practically_calibrated(
    about: Diagnosis, certain: Sequence[Finding], named: Sequence[Finding], off: float
) -> Diagnosis:
    """Return a diagnosis of errors too small to matter: none of them is a finding.

    Parameters
    ----------
    about : Diagnosis
        What is known.
    certain : sequence of Finding
        Findings of rows that were predicted as certain.
    named : sequence of Finding
        The errors that are too small.
    off : float
        Root mean square of their log-odds.
    """
    about, clauses = replace(about, negligible=off), [each.clause for each in named]
    seen = ", ".join(f"{each.short}, {each.detail}" if each.detail else each.words for each in clauses)
    said = f"calibrated for practical purposes: odds off by {100 * math.expm1(off):.2g}%"
    detail = f"sure at n = {about.n_rows:,}: {seen}"
    if not certain:
        return replace(about, clauses=(Clause("calibrated for practical purposes", instead=said, detail=detail),))
    found = in_words(replace(about, p_value=math.nan), certain)
    others = Clause("", instead=f"the other rows are {said}", detail=detail)
    return replace(found, clauses=(*found.clauses, others), p_value=about.p_value)


def _clauses(findings: Sequence[Finding], about: Diagnosis, mostly_rest: bool) -> tuple[Clause, ...]:
    """Give what findings say, and what is known beside them."""
    tested = _tested(about.p_value)
    if not findings:
        return (nothing_found(about.n_rows, about.n_clusters, tested, at_least=about.by == COUNTS),)
    clauses, errors = [finding.clause for finding in findings], [finding.error for finding in findings]
    if leaves_more(about):
        first = next((at for at, error in enumerate(errors) if error != "certainty"), 0)
        clauses.insert(first if mostly_rest else len(clauses), shape.left(about.rest_p_value, mostly_rest))
    if errors == ["certainty"] and not math.isnan(about.p_value):
        clauses.append(Clause("", instead="no evidence of miscalibration in the other rows", detail=tested))
    return tuple(clauses)


def _costliest_first(findings: Sequence[Finding], n: int) -> list[Finding]:
    """Put rows that were certain and wrong behind errors that cost more than those rows do at the least.

    Each was assigned less than 0.01/n, so that it costs more than ln(100 n) nats.
    """
    found = [finding for finding in findings if finding.error != "certainty"]
    for certain in (finding for finding in findings if finding.error == "certainty"):
        least = certain.parameter * math.log(100 * n) / n
        found.insert(next((at for at, other in enumerate(found) if not other.cost >= least), len(found)), certain)
    return found


def named_rightly(
    about: Diagnosis, moved: Permutation, labels: tuple[Label | None, ...], rest: Diagnosis | None
) -> Diagnosis:
    """Say first that columns look permuted, and then what else is wrong once they are named rightly.

    Parameters
    ----------
    about : Diagnosis
        What was tested.
    moved : Permutation
        The columns that look permuted.
    labels : tuple
        Labels that the columns have.
    rest : Diagnosis or None
        That of the columns named rightly; None where this takes rows that are not at hand.
    """
    finding = permuted_finding(moved, labels, alone=rest is None)
    found = about if rest is None else rest
    first, others = found.clauses[:1], found.clauses[1:]
    after = [
        replace(
            each,
            name=each.name if found.findings else "",
            instead=f"once they are named rightly, {each.instead or each.short}",
        )
        for each in first
    ]
    return replace(
        found,
        clauses=(finding.clause, *after, *others),
        findings=(finding, *found.findings),
        cost=moved.gain + found.cost,
        negligible=math.nan,
        p_value=about.p_value,
        statistic=about.statistic,
    )


def permuted_finding(moved: Permutation, labels: tuple[Label | None, ...], *, alone: bool) -> Finding:
    """Return the finding of permuted columns; ``alone`` if other errors are not looked for."""
    said, right = permuted.said(moved, labels, alone=alone), moved.right(labels)
    size = float(len(moved.moved))
    return Finding("permuted", *said, size, p_value=moved.p_value, cost=moved.gain, column_labels=right)


def _tested(p_value: float) -> str:
    """Give a p-value, or say why there is none."""
    return "too few uncertain predictions to test" if math.isnan(p_value) else p_value_text(p_value)


def nothing_found(n: int, clusters: int | None, tested: str, at_least: bool = False) -> Clause:
    """Say that there is no evidence, and from how many rows; of counts, clusters may share a shard.

    Parameters
    ----------
    n : int
        Number of rows.
    clusters : int or None
        Number of clusters; None for independent rows.
    tested : str
        The p-value in words.
    at_least : bool, default False
        Whether there may be more clusters.
    """
    among = "" if clusters is None else f" in {'at least ' if at_least else ''}{clusters:,} clusters"
    return Clause("no evidence of miscalibration", detail=f"n = {n:,}{among}, {tested}")


def nothing_wrong(n: int, p_value: float) -> Diagnosis:
    """Return what a test says of independent rows of two classes if it finds nothing."""
    return Diagnosis((nothing_found(n, None, _tested(p_value)),), p_value=p_value, n_rows=n, n_classes=2)


def not_made(reason: str, n: int, labels: tuple[Label | None, ...]) -> Diagnosis:
    """Return a diagnosis that could not be made, and why."""
    clause = Clause("no verdict", more=f": {reason}")
    return Diagnosis((clause,), n_rows=n, n_classes=len(labels), reason=reason)


def too_few(clusters: int) -> str:
    """Say that there are too few clusters of dependent rows, and what to do."""
    return f"the test and some intervals take six clusters of dependent rows or more, here {clusters}; assess more"


def terms(d: Diagnosis) -> list[str]:
    """Name what to look up about all findings, and about what they leave or about a slope of 0."""
    found = [finding.clause.term for finding in d.findings]
    if found and leaves_more(d):
        found += shape.KIND.terms
    plain = all(KINDS[error].plain for error in d.errors)
    slopes = [each.interval for each in d.findings if each.error == "confidence" and plain]
    return found + ["uninformative"] * any(1 + low <= 0 <= 1 + high for low, high in slopes)


def finding_of_two(error: str, e: OfTwo, p_value: float, cost: float, label: Label | None) -> Finding:
    """Return a finding of two classes with what it says and what mends it.

    Parameters
    ----------
    error : str
        Kind of error.
    e : OfTwo
        What was fitted.
    p_value : float
        Of the error beside the others.
    cost : float
        Nats a row that mending it saves.
    label : str, int, float, bool or None
        The positive class, which a bias is about.
    """
    two = KINDS[error].two
    assert two is not None
    clause, advice = two(e)
    advice = SWAPPED if e.away else advice if e.sizes_tell else _together(e)
    about = label if error == "bias" else None
    return Finding(error, clause, advice, e.value, e.interval, p_value, cost, about)


def finding_of_classes(error: str, e: OfClasses, p_value: float, cost: float) -> Finding:
    """Return a finding of more than two classes with what it says and what mends it.

    Parameters
    ----------
    error : str
        Kind of error.
    e : OfClasses
        What was fitted.
    p_value : float
        Of the error beside the others.
    cost : float
        Nats a row that mending it saves.
    """
    classes = KINDS[error].classes
    assert classes is not None
    about = e.means.labels[e.biased[0]] if len(e.biased) == 1 else None
    return Finding(error, *classes(e), e.value, e.interval, p_value, cost, about)


def _together(e: OfTwo) -> Advice:
    """Return what mends errors of which none is mended alone."""
    needed = [kind.regressor for kind in KINDS.values() if kind.regressor and kind in e.together]
    fit = f"fit a logistic regression with an intercept, {' and '.join(['the log-odds', *needed])}"
    return Advice(f"Mend these errors together: {fit}.", fitted=True)
