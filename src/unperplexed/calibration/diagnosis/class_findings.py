"""Findings of a search over the errors of more than two classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..._lib.formatting import p_value_text
from ..._lib.typing import Floats, Ints
from ...forecasts.labels import Label
from ...statistics.definite import definite
from ...statistics.tails import chi2_sf
from . import class_words as say
from .class_maps import SCALARS, Errors
from .class_search import LEAST, Candidate, Search
from .class_tests import ClassGate
from .line import Coefficient
from .result import Finding

_CLOSE = 4.0
"""Sets of errors whose criterion is at most so much below the best are not told apart from it."""


def named(
    search: Search, opened: ClassGate, means: say.ClassMeans, rows: int, power: Callable[[float], Coefficient] | None
) -> tuple[tuple[Finding, ...], Errors, Coefficient | None]:
    """The best set of errors as findings, and the power of confidence; where none pays for itself, what the gate saw.

    ``power``, given where to start, fits that of all rows alone, which the finding then has; None where rows are not
    at hand.
    """
    best = search.run() or _single(search, opened)
    if not best:
        return (shape(opened),), (), None
    order, gains = _sequence(search, best, rows)
    candidate = search.found[best]
    simple = search.found.get(tuple(each for each in best if each != "tail"), candidate)
    shown = {name: simple if name == "confidence" else candidate for name in best}  # the slope beside a tail misleads
    spread = {id(each): _standard_errors(search, each) for each in shown.values()}
    found = []
    slope = 1 + simple.fit.mapping.confidence if "confidence" in best else 0.0
    alone = power(slope) if power is not None and slope > 0 else None
    for name, gain in zip(order, gains, strict=True):
        less = search.found.get(tuple(each for each in best if each != name))
        ratio = candidate.ratio - (less.ratio if less else 0.0)
        parameters = candidate.parameters - (less.parameters if less else 0.0) if name == "bias" else 1.0
        p_value = chi2_sf(max(parameters, 1.0), max(ratio, 0.0))
        classes = _biased_classes(search, best) if name == "bias" else np.empty(0, np.int64)
        finding = _finding(name, shown[name], spread[id(shown[name])], classes, means, p_value, gain)
        if name == "confidence" and alone is not None:
            finding = _alone(finding, alone)
        beside = name == "tail" and "confidence" in best
        found.append(replace(finding, words=finding.words + " after correcting the slope") if beside else finding)
    return tuple(found), best, alone


def _alone(finding: Finding, power: Coefficient) -> Finding:
    """Give over- or underconfidence the temperature of all rows, unless beside the other errors it is the opposite."""
    low, high = power.metric().interval
    value = power.value - 1
    if not value * finding.parameter > 0:
        words = f"{'over' if finding.parameter < 0 else 'under'}confident (beside the other errors)"
        return replace(finding, words=words, remedy=say.TOGETHER)
    words, remedy = say.confidence_words(power.value, low, high, alone=True), say.remedy("confidence", value)
    return replace(finding, words=words, parameter=value, interval=(low - 1, high - 1), remedy=remedy)


def _single(search: Search, opened: ClassGate) -> Errors:
    """Where no set of errors pays for itself, the single one that the gate saw; none, if it is not significant."""
    if opened.shape <= min(opened.spread, opened.single):
        singles = search.singles()
        best = max(singles, key=lambda each: singles[each].ratio, default=())
        return best if best and singles[best].ratio > LEAST else ()
    classes = search.named(())
    if not len(classes):
        return ()
    search.found[("bias",)] = search.few((), classes)
    return ("bias",)


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
    classes = search.fitter.classes
    known = search.fitter.information(fit.mapping, biases="bias" in fit.errors) / effect
    scalars = [name for name in SCALARS if name in fit.errors]
    at = [SCALARS.index(name) for name in scalars]
    if "bias" in fit.errors:
        at += [3 + c for c in (range(classes) if candidate.classes is None else candidate.classes)]
    known = known[np.ix_(at, at)]
    known[np.diag_indices_from(known)] += np.array(
        [1e-9] * len(scalars) + [candidate.sd**-2] * (len(at) - len(scalars))
    )
    root = np.sqrt(np.diag(np.linalg.inv(definite(known))))
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
    return Finding(errors, words, value, interval, p_value, gain, label, say.remedy(name, value))


def close_sets(search: Search, best: Errors) -> tuple[tuple[str, ...], ...]:
    """Other sets of no more errors whose criterion is close to the best one's, the closest first."""
    least = search.found[best].criterion - _CLOSE
    others = [
        errors
        for errors, each in search.found.items()
        if errors and errors != best and each.criterion > least and len(errors) <= len(best)
    ]
    return tuple(sorted(others, key=lambda errors: -search.found[errors].criterion)[:3])


def shape(opened: ClassGate) -> Finding:
    """The finding where the gate rejects and no error is significant."""
    words = f"miscalibrated in a way that has no name here ({p_value_text(opened.p_value)})"
    return Finding("shape", words, p_value=opened.p_value, remedy=say.remedy("shape", math.nan))
