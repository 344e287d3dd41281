"""Which errors, and which classes: the search over sets of errors of more than two classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from ..._lib.dataclasses import dataclass
from ..._lib.typing import Floats, Ints
from ...maps.classes import ClassMap
from ...maps.fit import Prior, fitted
from ...maps.rows import places_of
from ...statistics.definite import NEW, Factored, definite, in_turn
from ...statistics.products import product
from .choice import BOUNDS, Candidate, Errors, cost, sets_of, unit_cost
from .class_likelihoods import KNOWN, PARAMETERS, Likelihoods, part_of
from .class_statistics import ClassStatistics
from .class_tails import gamma_p_values
from .class_tests import ClassGate, third_moments

BIAS_SD = 0.5
"""Standard deviation of the prior of class biases, in log-odds."""
SMALL_SD = 0.15
"""The same where the biases of many classes are small."""
_NONE, _UNBOUNDED = 1e-6, 1e3
"""That of the bias of a class that is to have none, and of one that the prior is not to draw to 0."""

_NEAR = 30.0
"""Sets of errors that are worth so much less than the best are not looked at for biases of a few classes."""

_SCORE_SLACK = 1.5, 10
"""A likelihood ratio is hardly more than so many times its score test and so much."""


@dataclass(frozen=True, eq=False)
class ClassCandidate(Candidate[ClassMap]):
    """A set of errors of several classes."""

    classes: Ints | None = None
    """Classes with a bias, where not all have one."""
    sd: float = BIAS_SD
    """Standard deviation of the prior of the biases."""


class Search:
    """Fits sets of errors to the same rows and compares them."""

    def __init__(self, of: Likelihoods, statistics: ClassStatistics, gate: ClassGate, alpha: float) -> None:
        """Take likelihoods with the statistics of the same rows and the gate's design effects."""
        self.of, self.statistics, self.gate, self.alpha = of, statistics, gate, alpha
        self._variance = statistics.information / gate.effect
        self.unit = unit_cost(float(self._variance.sum()))
        shape = _beside_biases(statistics.shape_information, of.known)
        possible = [x for x in sets_of([name for name in PARAMETERS if name != "bias"], 2) if _identifiable(x, shape)]
        self._beside = [x for x in possible if all(PARAMETERS[name] in of.together for name in x)]
        """Sets to which biases can be added."""
        self._plain = [x for x in possible if x in self._beside or (len(x) == 1 and PARAMETERS[x[0]] in of.alone)]
        self.named: Callable[[Errors], Ints] = cache(self._forward)
        """Classes that are biased beside these errors."""
        self._information, self._score = cache(self._information_beside), cache(self._score_beside)
        self._precision = cache(self._precision_of)
        base = fitted(of.of((), ClassMap()), Prior({}))
        self._unmended = base.value
        self.found: dict[Errors, ClassCandidate] = {(): ClassCandidate((), base, ClassMap(), 0.0, 0.0, 0.0, 0.0)}

    def run(self) -> Errors:
        """Try all sets of errors; the best one."""
        for errors in self._plain[1:]:
            self._try(errors)
        for errors in sorted(self._beside, key=lambda each: -self.found[each].worth):
            if not self._bias_cannot_pay(errors):
                self._try((*errors, "bias"))
        first, *others = sorted(self._beside, key=self._with_bias)
        self._try_other_biases(first)
        for second in others[:1]:
            if self._with_bias(second) - self._with_bias(first) < _NEAR:
                self._try_other_biases(second)
        return max(self.found, key=lambda each: self.found[each].worth)

    @property
    def widest(self) -> ClassCandidate:
        """The set that explains the most, whatever it costs."""
        return max(self.found.values(), key=lambda each: each.ratio)

    def singles(self) -> dict[Errors, ClassCandidate]:
        """The errors of one parameter, each alone, that were tried."""
        return {errors: each for errors, each in self.found.items() if len(errors) == 1 and errors != ("bias",)}

    def few(self, errors: Errors, classes: Ints) -> ClassCandidate:
        """Biases of these classes only, beside other errors."""
        return self._fitted((*errors, "bias"), self.found[errors].mapping, classes)

    def unbounded(self, candidate: ClassCandidate) -> ClassCandidate:
        """Biases of the same few classes, without a prior that draws them to 0."""
        return self._fitted(candidate.errors, candidate.mapping, candidate.classes, _UNBOUNDED)

    def _with_bias(self, errors: Errors) -> float:
        both = [self.found[each].worth for each in (errors, (*errors, "bias")) if each in self.found]
        return -max(both)

    def _try(self, errors: Errors) -> None:
        less = [tuple(name for name in errors if name != one) for one in errors]
        start = max((self.found[each] for each in less if each in self.found), key=lambda each: each.ratio)
        self.found[errors] = self._fitted(errors, start.mapping)

    def _try_other_biases(self, errors: Errors) -> None:
        """Biases of a few classes only, and small biases of all: in place of large ones of all where they do better."""
        both, tried = (*errors, "bias"), []
        if len(classes := self.named(errors)):
            tried.append(self.few(errors, classes))
        if not self._bias_cannot_pay(errors, SMALL_SD):
            tried.append(self._fitted(both, self.found[errors].mapping, sd=SMALL_SD))
        for candidate in tried:
            if both not in self.found or candidate.worth > self.found[both].worth:
                self.found[both] = candidate

    def _fitted(
        self, errors: Errors, start: ClassMap, classes: Ints | None = None, sd: float = BIAS_SD
    ) -> ClassCandidate:
        """Fit a set of errors from a map of fewer; with biases of some classes only, if given."""
        of, effect = self.of.of([PARAMETERS[name] for name in errors], start), self.gate.effect
        prior = prior_of(self.of.classes, effect, classes, sd)
        fit = fitted(of, prior, of.theta_of(start), self._known(errors))
        ratio = 2 * (fit.value - self._unmended) / effect
        scalars = [name for name in errors if name != "bias"]
        costs = sum(cost(name, self.unit) for name in scalars)
        parameters = float(len(scalars))
        if "bias" in errors:
            variance = self._variance_beside(tuple(scalars))
            costs += _bias_cost(variance, classes, sd)
            used = variance if classes is None else variance[classes]
            share = float((used / (used + sd**-2)).sum())
            parameters += share * (1 if classes is not None else (len(used) - 1) / len(used))
        held = 2 * fit.penalty / effect
        return ClassCandidate(errors, fit, of.map_of(fit.theta), ratio, held, costs, parameters, classes, sd)

    def _known(self, errors: Errors) -> Floats | None:
        """Information to climb with, that of fewer errors; None where there is none."""
        plain = tuple(name for name in errors if name != "bias")
        parameters = [PARAMETERS[name] for name in errors]
        if plain != errors and plain:
            return part_of(self._information(plain), self.of.together, parameters, self.of.classes)
        known = bool(parameters) and {*parameters} <= {*KNOWN}
        return part_of(self.of.known, KNOWN, parameters, self.of.classes) if known else None

    def _variance_beside(self, errors: Errors) -> Floats:
        """Information on the bias of each class beside other errors: more than predicted beside overconfidence."""
        if not errors:
            return self._variance
        biases = part_of(self._information(errors), self.of.together, ["biases"], self.of.classes)
        return np.maximum(np.diag(biases), 0.0) / self.gate.effect

    def _information_beside(self, errors: Errors) -> Floats:
        """Information on all parameters beside errors without biases."""
        mapping = self.found[errors].mapping
        of = self.of.of(self.of.together, mapping)
        return of.information(of.theta_of(mapping))

    def _score_beside(self, errors: Errors) -> Floats:
        """Slope of the log-likelihood by the bias of each class beside errors without biases."""
        mapping = self.found[errors].mapping
        of = self.of.of([*(PARAMETERS[name] for name in errors), "biases"], mapping)
        return of.ascent(of.theta_of(mapping))[1][of.places["biases"]]

    def _bias_cannot_pay(self, errors: Errors, sd: float = BIAS_SD) -> bool:
        """Whether the score test says that a bias of every class would not pay for its cost."""
        score = self._score(errors)
        approximate = float(score @ self._precision(sd).solve(score)) / self.gate.effect
        return _SCORE_SLACK[0] * approximate + _SCORE_SLACK[1] < _bias_cost(self._variance, None, sd)

    def _precision_of(self, sd: float) -> Factored:
        """Information on the bias of every class and precision of their prior, were the forecasts calibrated."""
        known = part_of(self.of.known, KNOWN, ["biases"], self.of.classes)
        return Factored(definite(known + np.eye(len(known)) * self.gate.effect / sd**2))

    def _forward(self, errors: Errors) -> Ints:
        """Name classes one after the other, each by its score conditional on those before."""
        known, places = self._information(errors), places_of(self.of.together, self.of.classes)
        here, biases = [places[PARAMETERS[name]].start for name in errors], places["biases"]
        covariance = known[biases, biases]
        if here:
            across, own = known[here, biases], known[np.ix_(here, here)]
            own[np.diag_indices_from(own)] *= 1 + 1e-9
            covariance = covariance - product(across.T, np.linalg.solve(definite(own), across))
        inflation = np.maximum(self.gate.class_effect, 1.0)
        step = float(self.statistics.equal_weights)
        return forward(self._score(errors), covariance, third_moments(self.statistics), inflation, step, self.alpha)


def prior_of(n_classes: int, effect: float, classes: Ints | None = None, sd: float = BIAS_SD) -> Prior:
    """Prior of a map with a bias of all classes or of some.

    Parameters
    ----------
    n_classes : int
    effect : float
        Design effect.
    classes : array of int, optional
        Numbers of the classes that have a bias; by default all.
    sd : float
        Standard deviation of their biases, in log-odds.
    """
    deviations = np.full(n_classes, sd if classes is None else _NONE)
    deviations[slice(0) if classes is None else classes] = sd
    return Prior(BOUNDS | {"biases": deviations}, effect)


def _bias_cost(variance: Floats, classes: Ints | None, sd: float) -> float:
    """Cost of class biases: the gain in precision over their prior, and for a few classes the choice of them.

    It is never so low that calibrated classes would exceed it in one of a hundred cases.
    """
    each, n = np.log1p(variance * sd**2), len(variance)
    if classes is None:
        kept = variance / (variance + sd**-2) * (n - 1) / n
        by_chance = float(kept.sum()) + 3 * math.sqrt(2 * float((kept**2).sum()))
        return max(float(each.sum()) * (n - 1) / n, by_chance)
    k = len(classes)
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return float(each[classes].sum() + 2 * (1 + ways))


def _beside_biases(shape: Floats, information: Floats) -> Floats:
    """Information on confidence and tail, none where class biases explain them: where all rows predict the same."""
    known, across = information[2:, 2:], information[:2, 2:]
    scale = 1e-9 * float(np.trace(known)) / len(known)
    if not scale > 0:
        return shape
    explained = np.linalg.solve(definite(known + scale * np.eye(len(known))), across.T)
    left = 1 - np.einsum("ij,ji->i", across, explained) / np.maximum(np.diag(information)[:2], 1e-300)
    return shape if (left > NEW**2).any() else np.zeros_like(shape)


def _identifiable(errors: Errors, shape: Floats) -> bool:
    """Whether forecasts with this information on confidence and tail can show these errors beside each other."""
    used = [at for at, name in enumerate(("confidence", "tail")) if name in errors]
    told = in_turn(shape[np.ix_(used, used)]).any(axis=1).all()
    return not errors or bool(shape[0, 0] > 1e-6 and told)


def forward(score: Floats, covariance: Floats, third: Floats, inflation: Floats, step: float, alpha: float) -> Ints:
    """Name biased classes one after the other, the clearest first: by scores conditional on those already named.

    Parameters
    ----------
    score : array of shape (C,)
        Slope of the log-likelihood by the bias of each class.
    covariance : array of shape (C, C)
        That of the scores, were the forecasts calibrated and the rows independent.
    third : array of shape (C,)
        Third central moment of each class's count.
    inflation : array of shape (C,)
        Design effect of each class, at least 1.
    step : float
        Distance between possible scores: 1 for rows of equal weight, else 0.
    alpha : float
        Level, divided among the classes that are left (Bonferroni).

    Returns
    -------
    array of int
        Numbers of the classes, in the order in which they were named; never of all.
    """
    score, covariance = score.copy(), covariance.copy()
    whole = np.diag(covariance).copy()
    left = whole > 1e-9
    named: list[int] = []
    while left.any() and len(named) < len(score) - 1:
        variance = np.diag(covariance) * inflation
        usable = left & (np.diag(covariance) > 1e-6 * whole)
        p = np.where(usable, gamma_p_values(score, variance, third * inflation**1.5, step), 1.0)
        z = np.where(usable, np.abs(score) / np.sqrt(np.maximum(variance, 1e-300)), 0.0)
        best = int(np.lexsort((-z, p))[0])
        if not (usable[best] and p[best] * int(usable.sum()) < alpha):
            break
        named.append(best)
        left[best] = False
        column = covariance[:, best] / covariance[best, best]
        score = score - column * score[best]
        covariance = covariance - np.outer(column, covariance[best])
    return np.array(named, dtype=np.int64)
