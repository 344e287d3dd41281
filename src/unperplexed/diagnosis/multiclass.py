"""Diagnosis of forecasts of more than two classes."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from operator import sub
from typing import Any

import numpy as np
from scipy.special import ndtri
from scipy.stats import chi2, poisson

from .._typing import Floats, Ints
from ..labels import Label
from . import class_words as say
from .class_maps import SCALARS, Errors, Fitter, information
from .class_rest import rest
from .class_rows import Certain, PreparedRows, Rows, count
from .class_search import LEAST, Candidate, Search
from .class_statistics import ClassStatistics, statistics_of
from .class_tests import Gate, gate
from .result import Detectable, Diagnosis, Finding

_SEEN = 0.05
"""Rows whose outcomes vary less than this in all can show nothing."""
_CLOSE = 4.0
"""Sets of errors whose criterion is at most so much below the best are not told apart from it."""


def diagnose_classes(rows: Rows, labels: tuple[Label | None, ...], *, alpha: float = 0.05) -> Diagnosis:
    """Find what is wrong with forecasts of several classes, and say so; nothing in it is random.

    Parameters
    ----------
    rows : callable
        Each call reads all rows from the beginning, in blocks of any size. Small data are kept in memory; large data
        are read once for each pass, some thirty to a hundred times if anything is wrong, else four times.
    labels : tuple
        Labels of the classes in the order of the columns; None for a class without a label.
    alpha : float, default 0.05
        Level of the test whether anything is wrong, and of the naming of single classes.
    """
    with np.errstate(under="ignore"):
        return _diagnose(rows, labels, alpha)


def _diagnose(rows: Rows, labels: tuple[Label | None, ...], alpha: float) -> Diagnosis:
    counts = count(rows)
    if not counts.rows:
        return Diagnosis("No rows to diagnose.", "No rows", n_classes=len(labels), by="rows", made=False)
    prepared = PreparedRows(rows, counts)
    statistics = statistics_of(prepared)
    findings = _certainty(prepared.certain, counts.clusters is not None)
    common: dict[str, Any] = {"n_rows": counts.rows, "n_classes": len(labels), "by": "rows"}
    if not float(statistics.information.sum()) > _SEEN:
        verdict, headline = _words(findings, counts.rows, math.nan)
        return Diagnosis(verdict, headline, findings, **common)
    opened = gate(statistics)
    common |= {"p_value": opened.p_value, "statistic": opened.statistic, "detectable": _detectable(statistics, opened)}
    if not opened.p_value < alpha:
        verdict, headline = _words(findings, counts.rows, opened.p_value)
        return Diagnosis(verdict, headline, findings, **common)
    surprising = _surprising(prepared, statistics, alpha)
    alternatives: tuple[tuple[str, ...], ...] = ()
    if surprising:
        more: tuple[Finding, ...] = (surprising,)
    else:
        search = Search(Fitter(prepared, statistics, opened.effect), statistics, opened, alpha)
        means = _means(statistics, prepared.certain, labels)
        more, best = _named(search, opened, means, counts.rows)
        alternatives = _alternatives(search, best) if best else ()
        if best:
            more, common["rest_p_value"] = _with_rest(more, search, best)
    verdict, headline = _words((*findings, *more), counts.rows, opened.p_value, alternatives)
    gain = sum(finding.gain for finding in more if not math.isnan(finding.gain))
    return Diagnosis(verdict, headline, (*findings, *more), alternatives, gain=gain, **common)


def _certainty(certain: Certain, clustered: bool) -> tuple[Finding, ...]:
    """Outcomes that the forecasts held for certain not to occur; rows of a cluster may err together."""
    wrong = len(certain.wrong)
    if not wrong:
        return ()
    p_value = float(poisson.sf(0 if clustered else wrong - 1, certain.expected)) if certain.expected > 0 else 0.0
    words = say.certainty_words(wrong, certain.expected)
    return (
        Finding(
            "certainty", words, float(wrong), p_value=p_value, remedy=say.REMEDIES["certainty"], rows=certain.wrong
        ),
    )


def _shape(opened: Gate) -> Finding:
    words = f"miscalibrated in a way that has no name here ({say.p_words(opened.p_value)})"
    return Finding("shape", words, p_value=opened.p_value, remedy=say.REMEDIES["shape"])


def _means(statistics: ClassStatistics, certain: Certain, labels: tuple[Label | None, ...]) -> say.ClassMeans:
    predicted, observed = statistics.predicted + certain.predicted, statistics.observed + certain.observed
    return say.ClassMeans(labels, predicted / predicted.sum(), observed / observed.sum())


def _detectable(statistics: ClassStatistics, opened: Gate) -> Detectable:
    """Bias of a class of median information, and calibration slope, that the gate finds with 80% power."""
    used = statistics.information[statistics.information > 0] / opened.effect
    single = -float(ndtri(0.05 / (6 * len(used)))) + 0.84
    slope = float(statistics.shape_information[0, 0]) / opened.effect
    return Detectable(single / math.sqrt(float(np.median(used))), 3.2 / math.sqrt(slope) if slope > 0 else math.nan)


# ---- names


def _named(search: Search, opened: Gate, means: say.ClassMeans, rows: int) -> tuple[tuple[Finding, ...], Errors]:
    """The best set of errors as findings; where none pays for itself, what the gate saw."""
    best = search.run() or _single(search, opened)
    if not best:
        return (_shape(opened),), ()
    order, gains = _sequence(search, best, rows)
    candidate = search.found[best]
    simple = search.found.get(tuple(each for each in best if each != "tail"), candidate)
    shown = {name: simple if name == "confidence" else candidate for name in best}  # the slope beside a tail misleads
    spread = {id(each): _standard_errors(search, each) for each in shown.values()}
    found = []
    for name, gain in zip(order, gains, strict=True):
        less = search.found.get(tuple(each for each in best if each != name))
        ratio = candidate.ratio - (less.ratio if less else 0.0)
        parameters = candidate.parameters - (less.parameters if less else 0.0) if name == "bias" else 1.0
        p_value = float(chi2.sf(max(ratio, 0.0), max(parameters, 1.0)))
        classes = _biased_classes(search, best) if name == "bias" else np.empty(0, np.int64)
        finding = _finding(name, shown[name], spread[id(shown[name])], classes, means, p_value, gain)
        beside = name == "tail" and "confidence" in best
        found.append(replace(finding, words=finding.words + " after correcting the slope") if beside else finding)
    return tuple(found), best


def _single(search: Search, opened: Gate) -> Errors:
    """Where no set of errors pays for itself, the single one that the gate saw; none, if it is not significant."""
    if opened.shape <= min(opened.spread, opened.holm):
        singles = search.singles()
        best = max(singles, key=lambda each: singles[each].ratio, default=())
        return best if best and singles[best].ratio > LEAST else ()
    classes = search.named(())
    if not len(classes):
        return ()
    search.found[("bias",)] = search.few((), classes)
    return ("bias",)


def _with_rest(findings: tuple[Finding, ...], search: Search, best: Errors) -> tuple[tuple[Finding, ...], float]:
    """Add what the findings leave, where it is significant: last, or first where it is the larger part."""
    candidate = search.found[best]
    chunks, effect = search.fitter.chunks, search.gate.effect
    statistic, p_value = rest(chunks, search.statistics, candidate.fit.mapping, best, effect)
    if not p_value < 0.01:
        return findings, p_value
    mainly = statistic > candidate.ratio
    words = "miscalibrated mainly in a way that has no name here" if mainly else "miscalibrated in a further way"
    words += f" ({say.p_words(p_value)})"
    further = Finding("shape", words, p_value=p_value, remedy=say.REMEDIES["shape"])
    return ((further, *findings) if mainly else (*findings, further)), p_value


def _biased_classes(search: Search, best: Errors) -> Ints:
    classes = search.found[best].classes
    return search.named(tuple(name for name in best if name != "bias")) if classes is None else classes


def _sequence(search: Search, best: Errors, rows: int) -> tuple[list[str], list[float]]:
    """The errors in the order of what they add to the gain, each after those before it; the gains add up."""
    effect, before = search.gate.effect, 0.0
    order: list[str] = []
    gains: list[float] = []
    whole = search.found[best].gain(effect, rows)

    def reached(name: str) -> float:
        errors = tuple(each for each in best if each in (*order, name))
        return search.found[errors].gain(effect, rows) if errors in search.found else 0.0

    left = list(best)
    while left:
        name = max(left, key=reached)
        now = whole if len(left) == 1 else min(max(reached(name), before), whole)
        order.append(name)
        gains.append(now - before)
        left.remove(name)
        before = now
    return order, gains


def _standard_errors(search: Search, candidate: Candidate) -> dict[str, float]:
    """Standard errors of the errors of one parameter, and of the bias of a single class."""
    fit, effect = candidate.fit, search.gate.effect
    chunks, classes = search.fitter.chunks.wide(), search.fitter.classes
    known = information(chunks, fit.mapping, classes, biases="bias" in fit.errors) / effect
    scalars = [name for name in SCALARS if name in fit.errors]
    at = [SCALARS.index(name) for name in scalars]
    if "bias" in fit.errors:
        at += [3 + c for c in (range(classes) if candidate.classes is None else candidate.classes)]
    known = known[np.ix_(at, at)]
    known[np.diag_indices_from(known)] += np.array(
        [1e-9] * len(scalars) + [candidate.sd**-2] * (len(at) - len(scalars))
    )
    root = np.sqrt(np.diag(np.linalg.inv(known)))
    spread = dict(zip(scalars, root.tolist(), strict=False))
    if candidate.classes is not None and len(candidate.classes) == 1:
        spread["bias"] = float(root[-1])
    return spread


def _finding(
    name: str,
    candidate: Candidate,
    spread: dict[str, float],
    classes: Ints,
    means: say.ClassMeans,
    p_value: float,
    gain: float,
) -> Finding:
    mapping, half = candidate.fit.mapping, 1.96 * spread.get(name, math.nan)
    label: Label | None = None
    if name == "bias":
        biases: Floats = mapping.biases if mapping.biases is not None else np.zeros(len(means.labels))
        one = len(classes) == 1
        value = float(biases[classes[0]]) if one else math.nan
        label = means.labels[int(classes[0])] if one else None
        words = say.bias_words(means, classes.tolist())
    else:
        value = float(getattr(mapping, name))
        words = {
            "confidence": lambda: say.confidence_words(1 + value, 1 + value - half, 1 + value + half),
            "tail": lambda: say.tail_words(value),
            "noise": lambda: say.noise_words(value),
        }[name]()
    interval = (value - half, value + half)
    if name == "noise":  # its standard error is that of its log-odds
        odds = value / (1 - value) * np.exp(np.clip(np.array([-half, half]), -700, 700))
        interval = (float(odds[0] / (1 + odds[0])), float(odds[1] / (1 + odds[1])))
    errors: Any = name
    return Finding(errors, words, value, interval, p_value, gain, label, say.REMEDIES[name])


def _alternatives(search: Search, best: Errors) -> tuple[tuple[str, ...], ...]:
    """Other sets of no more errors whose criterion is close to the best one's, the closest first."""
    least = search.found[best].criterion - _CLOSE
    others = [
        errors
        for errors, each in search.found.items()
        if errors and errors != best and each.criterion > least and len(errors) <= len(best)
    ]
    return tuple(sorted(others, key=lambda errors: -search.found[errors].criterion)[:3])


# ---- influence


def _surprising(prepared: PreparedRows, statistics: ClassStatistics, alpha: float) -> Finding | None:
    """One to three surprising outcomes without which the gate does not reject."""
    found = prepared.most_surprising()
    numbers = np.array([number for _, number, _ in found], dtype=np.int64)
    few = [chunk.only(numbers) for chunk in prepared] if found else []
    for drop in range(1, len(found) + 1):
        out = (ClassStatistics.of(chunk.only(numbers[:drop])) for chunk in few if len(chunk.truth))
        if not gate(reduce(sub, out, statistics)).p_value < alpha:
            words = say.rows_words([p for _, _, p in found[:drop]])
            rows = tuple(number for _, number, _ in found[:drop])
            return Finding("rows", words, float(drop), remedy=say.REMEDIES["rows"], rows=rows)
    return None


# ---- words


def _words(
    findings: tuple[Finding, ...], rows: int, p_value: float, alternatives: tuple[tuple[str, ...], ...] = ()
) -> tuple[str, str]:
    """The verdict and the headline."""
    if not findings:
        if math.isnan(p_value):
            return f"No evidence of miscalibration (n = {rows:,}; no row leaves an outcome open).", "No evidence"
        return f"No evidence of miscalibration (n = {rows:,}, {say.p_words(p_value)}).", "No evidence of miscalibration"
    headline = say.joined([say.headline_words(each.error, each.parameter) for each in findings])
    verdict = say.joined([each.words for each in findings], between="; ", last="; ")
    if alternatives:
        others = " or ".join(" with ".join(errors) for errors in alternatives)
        verdict += f"; the data do not distinguish this from {others}"
    return verdict + ".", headline
