"""Which errors, and which classes: the search over sets of errors of more than two classes.

Findings of a search over the errors of more than two classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ..._lib.dataclasses import Frozen, replace
from ..._lib.elementary import expit
from ..._lib.typing import AnyFloats, Floats, Ints
from ...maps.classes import ClassMap
from ...maps.fit import Fit, Prior, fitted
from ...maps.parameters import LAPSE
from ...maps.rows import Rows, derivatives, places_of
from ...statistics.matrices import NEW, Factored, definite, in_turn, product
from ...statistics.means import effective_number
from ...statistics.tails import chi2_sf
from ...tally.class_sums import CELLS
from .choice import BOUNDS, LEAST, Candidate, Errors, cost, gains, p_value, sets_of, unit_cost
from .class_rows import Chunk, PreparedRows, RowCounts
from .class_scores import KNOWN, PARAMETERS, Likelihoods, part_of
from .class_statistics import ClassStatistics
from .class_tails import gamma_p_values
from .class_tests import ClassGate, third_moments
from .kind import ClassMeans, OfClasses
from .kinds import shape
from .line import Coefficient, jackknifed, judged
from .result import Finding
from .words import finding_of_classes

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


class ClassCandidate(Candidate[ClassMap], eq=False):
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


_NO_CLASSES = np.empty(0, np.int64)


def named(
    search: Search, means: ClassMeans, rows: int, prepared: PreparedRows | None, beside: Errors = ()
) -> tuple[tuple[Finding, ...], Errors, Power | None]:
    """The best set of errors as findings, and the power of confidence; where none pays for itself, what the gate saw.

    The finding has the power of all rows, where ``prepared`` ones are at hand; ``beside`` are errors of rows left out.

    Parameters
    ----------
    search : Search
        Of the rows that are not certain.
    means : ClassMeans
        Mean predictions and observed frequencies over all rows.
    rows : int
        Number of rows.
    prepared : PreparedRows or None
        The rows, where they are at hand.
    beside : tuple of str, default ()
        Errors of rows left out.
    """
    opened = search.gate
    best = search.run() or _single(search)
    if not best:
        return (Finding("shape", *shape.said(opened.p_value, two=False), p_value=opened.p_value),), (), None
    candidate = search.found[best]
    simple = search.found.get(tuple(each for each in best if each != "tail"), candidate)
    classes = candidate.classes
    if classes is None:
        classes = search.named(tuple(name for name in best if name != "bias")) if "bias" in best else _NO_CLASSES
    shown = {name: simple if name == "confidence" else candidate for name in best}  # the slope beside a tail misleads
    found = []
    asked = prepared is not None and "confidence" in best and simple.mapping.slope > 0
    of_rows = _power(search, prepared) if asked and prepared is not None else None
    for name, gain in gains(search.found, best, opened.effect / (2 * rows)).items():
        value, interval = _estimate(name, shown[name], classes, search, prepared)
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
        best = max(singles, key=lambda each: singles[each].ratio - cost(each[0], LEAST), default=())
        return best if best and singles[best].ratio > LEAST else ()
    classes = search.named(())
    if not len(classes):
        return ()
    search.found[("bias",)] = search.few((), classes)
    return ("bias",)


def _estimate(
    name: str, candidate: ClassCandidate, classes: Ints, search: Search, prepared: PreparedRows | None
) -> tuple[float, tuple[float, float]]:
    """Return the parameter of an error with its interval; NaN for the biases of several classes.

    The bias of a single class has an interval where no others are fitted with it. The standard error is that of the
    rows; without them that of the model, times the design effect.
    """
    if name == "bias" and (len(classes) != 1 or candidate.classes is None):
        return math.nan, (math.nan, math.nan)
    fit = candidate.fit.at_maximum
    at = fit.places[PARAMETERS[name]].start + (int(classes[0]) if name == "bias" else 0)
    if name == "bias":
        bounded, candidate = float(fit.theta[at]), search.unbounded(candidate)
        fit = candidate.fit.at_maximum
        if fit.information[at, at] < _ONE_OUTCOME:  # the class never occurs
            return bounded, (math.nan, math.nan)
    found = Coefficient(float(fit.theta[at]), math.sqrt(search.gate.effect * fit.covariance[at, at]))
    if prepared is not None:
        [found] = _judged(prepared, prepared.counts, candidate.mapping, fit, fit.covariance[[at]], [at])
    low, high = found.metric().interval
    # The standard error of a lapse is that of its log-odds.
    return (share(found.value), (share(low), share(high))) if name == "noise" else (found.value, (low, high))


_ONE_OUTCOME = 0.5
"""Sum of q (1 - q) below which a class occurs in no row, since that of q is how often it does."""

_DEGREES = 5
"""Degree of the last of the shapes that what is left is tested by."""

_LEAST_PROBABILITY = 1e-15
"""Probabilities are taken to be this far from 0 and 1 at least, so that log-odds are finite."""


def rest(
    chunks: Iterable[Chunk], statistics: ClassStatistics, found: Candidate[ClassMap], effect: float
) -> tuple[float, float]:
    """Statistic and p-value of shapes of the log-odds beside the fitted errors, the same for all classes.

    The shapes are Legendre polynomials of degree 1 to 5 in the share of the information below each log-odds.

    Parameters
    ----------
    chunks : iterable of Chunk
        The rows that are not certain.
    statistics : ClassStatistics
        Of the same rows.
    found : Candidate
        The errors that were named, with their map.
    effect : float
        Design effect, by which the statistic is divided.
    """
    at, share = information_share(statistics)
    fitted = [PARAMETERS[name] for name in found.errors if name != "bias"]
    size = len(fitted) + _DEGREES
    score, covariance = np.zeros(size), np.zeros((size, size))
    for chunk in chunks:
        directions, left = derivatives(chunk, found.mapping, fitted, _shapes(chunk, at, share))
        score += [product(chunk.weights, chunk.pick(one)) for one in directions]
        flat = np.stack(directions).reshape(size, -1)
        covariance += product(flat * (left * chunk.weights[:, None]).ravel(), flat.T)
    beside = in_turn(covariance, 1e-9)[len(fitted) :]
    z, freedom = beside @ score, int(beside.any(axis=1).sum())
    statistic = float(z @ z) / effect
    return statistic, chi2_sf(freedom, statistic) if freedom else 1.0


def information_share(statistics: ClassStatistics) -> tuple[Floats, Floats]:
    """Log-odds of the cells, ascending, and the share of the sum of p (1 - p) below each, half its own included."""
    n, total = statistics.cells.sum(axis=0), statistics.cell_sums.sum(axis=0)
    half = CELLS // 2
    order = np.concatenate([np.arange(half)[::-1], np.arange(half, CELLS)])  # below 1/2 the first cell is the nearest
    n, total = n[order], total[order]
    p = np.clip(total / np.maximum(n, 1), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    information = n * p * (1 - p)
    used = information > 0
    below = np.cumsum(information) - information / 2
    return np.log(p[used]) - np.log1p(-p[used]), below[used] / information.sum()


def _shapes(chunk: Chunk, at: Floats, share: Floats) -> Floats:
    p = np.clip(chunk.p.astype(np.float64), _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    time = 2 * np.interp(np.log(p) - np.log1p(-p), at, share) - 1
    return np.moveaxis(np.polynomial.legendre.legvander(time, _DEGREES), -1, 0)[1:]


class Power(NamedTuple):
    """Power of all probabilities, of which the temperature is the inverse; NaN where none above 0 fits best."""

    slope: Coefficient = Coefficient()
    lapse_odds: Coefficient = Coefficient(-math.inf)
    """Log-odds of the lapse that is fitted with it; minus infinity where it is fitted alone."""

    @property
    def lapse(self) -> float:
        """The share of a uniform forecast that is fitted with it; 0 where it is fitted alone."""
        return share(self.lapse_odds.value)


_NO_MAP = ClassMap()


def share(odds: float) -> float:
    """Return the lapse of some log-odds."""
    return float(expit(np.array(odds)))


def power_of_rows(
    rows: PreparedRows, alone: ClassMap = _NO_MAP, beside: ClassMap = _NO_MAP, lapse_cost: float = math.inf
) -> Power:
    """Estimate the power of all probabilities that fits best: alone, or with a lapse where that pays for its cost.

    Parameters
    ----------
    rows : PreparedRows
        Nothing of it is left out; probabilities of exactly 0 count as `zero_of` says.
    alone, beside : ClassMap
        Maps to start from: of a slope above 0 alone, and of one with a lapse.
    lapse_cost : float
        What a lapse is to add to the log-likelihood, in nats; by default none is looked for.

    Returns
    -------
    Power
        By maximum likelihood, with the larger variance of model and sandwich, as `line.calibration_line`.
    """
    found = _fitted(rows, ("slope",), alone)
    if lapse_cost < math.inf:
        both = _fitted(rows, ("slope", LAPSE), beside if beside.lapse else found[0])
        found = both if both[1].value - found[1].value > lapse_cost else found
    mapping, fit = found
    if fit.separated or mapping.slope <= 0:
        return Power()
    slope, *lapses = _judged(_Everything(rows), rows.counts, mapping, fit, np.linalg.inv(fit.information))
    return Power(slope._replace(value=1 + slope.value), *lapses)


def _fitted(rows: PreparedRows, parameters: Sequence[str], start: ClassMap) -> tuple[ClassMap, Fit]:
    of = Rows(_Everything(rows), rows.counts.classes, parameters)
    fit = fitted(of, Prior(dict.fromkeys(parameters, math.inf)), of.theta_of(start))
    return of.map_of(fit.theta), fit


class _Everything(Frozen, eq=False):
    """All rows, each time from the beginning."""

    rows: PreparedRows

    def __iter__(self) -> Iterator[Chunk]:
        """Chunk by chunk."""
        return self.rows.everything()


def _judged(
    chunks: Iterable[Chunk], counts: RowCounts, mapping: ClassMap, fit: Fit, inverse: AnyFloats, at: Sequence[int] = ()
) -> list[Coefficient]:
    """Give coefficients of a fit standard errors: the larger of model and sandwich.

    Parameters
    ----------
    chunks : iterable of Chunk
        The rows that were fitted to.
    counts : RowCounts
        Of all rows.
    mapping : ClassMap
        The map with the coefficients.
    fit : Fit
    inverse : array of shape (k, m)
        Those rows of the inverse of the information that concern the k coefficients.
    at : sequence of int, default ()
        Their places; by default all.
    """
    at, clusters = list(at) or list(range(fit.theta.size)), counts.clusters
    names = [name for name in fit.places if name != "biases"]
    wide = inverse[:, fit.places["biases"]] if "biases" in fit.places else np.zeros((len(at), 0))
    own, single = inverse[range(len(at)), at], inverse[:, [fit.places[name].start for name in names]]
    squares, (model, robust) = 0.0, np.zeros((2, len(at)))
    sizes = np.zeros(0 if clusters is None else len(clusters))
    sums, shares = np.zeros((2, len(at), sizes.size))
    for chunk in chunks:
        w = chunk.weights
        further = [np.broadcast_to(row, chunk.log_p.shape) for row in wide if row.size]
        scores, q = derivatives(chunk, mapping, names, further)
        moved = np.tensordot(single, np.array(scores[: len(names)]).reshape(len(names), *q.shape), 1)
        moved += np.array(scores[len(names) :]) if further else 0.0
        u = w * np.array([chunk.pick(x) for x in moved])  # what each row adds to each value
        v = w * np.einsum("ij,kij->ki", q, moved**2)  # its variance by the model, over the weight
        model += product(v, w)
        squares += float(product(w, w))
        if chunk.cluster is None:
            robust += (u * u / np.maximum(1 - v / own[:, None], 1e-6)).sum(axis=1)
        else:
            sums += [np.bincount(chunk.cluster, each, sizes.size) for each in u]
            shares += [np.bincount(chunk.cluster, each, sizes.size) for each in v / own[:, None]]
            sizes += np.bincount(chunk.cluster, w, sizes.size)
    independent, degrees = counts.rows**2 / squares, math.inf
    if clusters is not None:
        robust = jackknifed(sums.T, shares.T)
        independent = effective_number(sizes)
        degrees = independent - 1
    variances = np.maximum(model, robust).tolist()
    return [judged(*each, independent, degrees) for each in zip(fit.theta[at].tolist(), variances, strict=True)]
