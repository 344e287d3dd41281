"""Findings of a search over the errors of more than two classes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..._lib.typing import Ints
from .choice import LEAST, Errors, cost, gains, p_value
from .class_likelihoods import PARAMETERS
from .class_power import Power, power_of_rows, share
from .class_rows import PreparedRows
from .class_search import ClassCandidate, Search
from .kind import ClassMeans, OfClasses
from .kinds import shape
from .result import Finding
from .words import finding_of_classes

_NONE = np.empty(0, np.int64)


def named(
    search: Search, means: ClassMeans, rows: int, prepared: PreparedRows | None, beside: Errors = ()
) -> tuple[tuple[Finding, ...], Errors, Power | None]:
    """The best set of errors as findings, and the power of confidence; where none pays for itself, what the gate saw.

    The finding has the power of all rows, where ``prepared`` ones are at hand; ``beside`` are errors of rows left out.
    """
    opened = search.gate
    best = search.run() or _single(search)
    if not best:
        return (Finding("shape", *shape.said(opened.p_value, two=False), p_value=opened.p_value),), (), None
    candidate = search.found[best]
    simple = search.found.get(tuple(each for each in best if each != "tail"), candidate)
    classes = candidate.classes
    if classes is None:
        classes = search.named(tuple(name for name in best if name != "bias")) if "bias" in best else _NONE
    shown = {name: simple if name == "confidence" else candidate for name in best}  # the slope beside a tail misleads
    found = []
    asked = prepared is not None and "confidence" in best and simple.mapping.slope > 0
    of_rows = _power(search, prepared) if asked and prepared is not None else None
    for name, gain in gains(search.found, best, opened.effect / (2 * rows)).items():
        value, interval = _estimate(name, shown[name], classes, opened.effect)
        error = OfClasses(value, interval, (*best, *beside), means, classes.tolist() if name == "bias" else ())
        if of_rows is not None:
            error = _of_all_rows(name, error, of_rows)
        found.append(finding_of_classes(name, error, p_value(search.found, best, name), gain))
    return tuple(found), best, of_rows


def _power(search: Search, rows: PreparedRows) -> Power:
    """Estimate the power of all rows; no lapse is looked for where the search has found among the same that none pays.

    Its priors change the likelihood of the same rows by far less than the margin.
    """
    alone, both = (search.found[errors] for errors in (("confidence",), ("confidence", "noise")))
    lapse_cost = cost("noise", search.unit) * search.gate.effect / 2
    if not (rows.certain.rows or rows.zeros) and both.fit.value - alone.fit.value < lapse_cost - 0.1:
        lapse_cost = math.inf
    return power_of_rows(rows, alone.mapping, both.mapping, lapse_cost)


def _of_all_rows(name: str, error: OfClasses, power: Power) -> OfClasses:
    """Give over- or underconfidence the size of all rows, unless there it is the opposite, and a lapse that of both."""
    if name == "noise" and power.lapse:
        low, high = power.lapse_odds.metric().interval
        return replace(error, value=power.lapse, interval=(share(low), share(high)))
    if name != "confidence" or math.isnan(power.slope.value):  # the outcomes are separated
        return error
    value, (low, high) = power.slope.value - 1, power.slope.metric().interval
    if not value * error.value > 0:
        return replace(error, fitted="opposed")
    return replace(error, value=value, interval=(low - 1, high - 1), fitted="all rows", lapse=power.lapse)


def _single(search: Search) -> Errors:
    """Where no set of errors pays for itself, the single one that the gate saw; none, if it is not significant."""
    if search.gate.shape <= min(search.gate.spread, search.gate.single):
        singles = search.singles()
        best = max(singles, key=lambda each: singles[each].ratio, default=())
        return best if best and singles[best].ratio > LEAST else ()
    classes = search.named(())
    if not len(classes):
        return ()
    search.found[("bias",)] = search.few((), classes)
    return ("bias",)


def _estimate(name: str, candidate: ClassCandidate, classes: Ints, effect: float) -> tuple[float, tuple[float, float]]:
    """Return the parameter of an error with its interval; NaN for the biases of several classes.

    The bias of a single class has an interval where no others are fitted with it.
    """
    if name == "bias" and len(classes) != 1:
        return math.nan, (math.nan, math.nan)
    fit = candidate.fit.at_maximum
    at = fit.places[PARAMETERS[name]].start + (int(classes[0]) if name == "bias" else 0)
    error = math.sqrt(effect * fit.covariance[at, at]) if name != "bias" or candidate.classes is not None else math.nan
    value = float(fit.theta[at])
    low, high = value - 1.96 * error, value + 1.96 * error
    # The standard error of a lapse is that of its log-odds.
    return (share(value), (share(low), share(high))) if name == "noise" else (value, (low, high))
