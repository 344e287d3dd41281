"""Findings of a search over the errors of more than two classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ..._lib.dataclasses import dataclass, replace
from ..._lib.elementary import expit
from ..._lib.typing import AnyFloats, Floats, Ints
from ...maps.classes import ClassMap
from ...maps.fit import Fit, Prior, fitted
from ...maps.parameters import LAPSE
from ...maps.rows import Rows, derivatives
from ...statistics.definite import in_turn
from ...statistics.means import effective_number
from ...statistics.products import product
from ...statistics.tails import chi2_sf
from ...tally.class_sums import CELLS
from .choice import LEAST, Candidate, Errors, cost, gains, p_value
from .class_likelihoods import PARAMETERS
from .class_rows import Chunk, PreparedRows, RowCounts
from .class_search import ClassCandidate, Search
from .class_statistics import ClassStatistics
from .kind import ClassMeans, OfClasses
from .kinds import shape
from .line import Coefficient, jackknifed, judged
from .result import Finding
from .words import finding_of_classes

_NONE = np.empty(0, np.int64)


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
        classes = search.named(tuple(name for name in best if name != "bias")) if "bias" in best else _NONE
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


@dataclass(frozen=True, eq=False)
class _Everything:
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
