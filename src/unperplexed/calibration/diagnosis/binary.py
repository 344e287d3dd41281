"""The diagnosis of forecasts of two classes: which calibration error they have, in six steps.

Rows predicted as certain are judged apart. Then a test decides whether anything is wrong; the set of errors that pays
best for its parameters names it; the most surprising rows are left out to see whether they carry it alone; and what the
names leave over is tested once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from ..._lib.elementary import expit, log_expit
from ..._lib.typing import Floats, Ints
from ...forecasts.labels import Label
from ...maps.cells import NO_PRIOR, Cells, fitted_cells, map_of
from ...maps.fit import Prior
from ...maps.parameters import LAPSE
from ...maps.two import BinaryMap, columns
from ...statistics.means import t_quantile
from ...statistics.products import product
from ...statistics.tails import chi2_sf, poisson_sf, squared_normal_isf
from .choice import BOUNDS, LEAST, LEVEL, POWER, Candidate, Errors, as_good, cost, gains, p_value, sets_of, unit_cost
from .class_rows import CERTAIN, MOST_SURPRISING
from .gate import Gate, gate, orthonormal
from .kind import OfTwo, quoted, sizes_tell
from .kinds import KINDS, certainty, shape
from .kinds import rows as few_rows
from .line import CalibrationLine, Coefficient, calibration_line, power_alone
from .result import NOTABLE_BIAS, Detectable, Diagnosis, Finding, MendedProbability
from .scored import (
    FEWEST_CLUSTERS,
    ClusterSums,
    Scored,
    cluster_covariance,
    cluster_shares,
    degrees_of_freedom,
    in_cells,
    information_time,
)
from .words import finding_of_two, in_words, not_made, too_few

_MOST_ERRORS = 3
"""Errors at most that are named together."""

_LEAST_INFORMATION = 0.05
"""Sum of p (1 - p) below which rows can show nothing."""


@dataclass(frozen=True)
class BinaryData:
    """Rows of two classes at distinct log-odds; weights have mean 1."""

    rows: Scored
    counts: Floats
    """How many rows there are at each; of weighted counts, how many of equal weight they are worth."""
    counts_positive: Floats
    n: float
    """All rows, those of weight 0 not among them."""
    labels: tuple[Label | None, ...]
    mean: float
    """Mean prediction of the positive class, and its observed frequency."""
    frequency: float
    event: str = ""
    """What the positive class is called, if not by its label."""
    clusters: Callable[[np.ndarray], ClusterSums] | None = None
    """Given which entries are kept, sums over clusters of dependent rows."""
    by: str = "rows"
    weighted_counts: bool = False
    """Whether weights are known by their sums alone, so that rows cannot be counted."""
    wrong_rows: int | None = None
    """Number of weighted rows that were certain and wrong, where they are known all the same."""
    most_errors: int = _MOST_ERRORS
    """Largest number of errors that are named together."""
    rows_at: Callable[[np.ndarray, bool], tuple[int, ...]] | None = None
    """Numbers of the rows at some entries with one outcome, where they are known."""


def diagnose_binary(data: BinaryData) -> Diagnosis:
    """Find out what is wrong with forecasts of two classes."""
    n_clusters = None
    if data.clusters is not None:
        every = np.ones(data.rows.s.size, dtype=bool)
        n_clusters = len(data.clusters(every).totals(np.ones((1, every.size))))
    line = calibration_line(data.rows, data.clusters)
    power = power_alone(data.rows, data.n, data.clusters)
    return replace(_diagnosed(data, line, power), n_clusters=n_clusters, line=line, power=power)


def _diagnosed(data: BinaryData, line: CalibrationLine, power: Coefficient) -> Diagnosis:
    s, n = data.rows.s, data.n
    certain = np.abs(s) > math.log(n / CERTAIN)
    sure = _certainty(data, certain)
    kept = ~certain
    rows = data.rows.only(kept)
    found: list[Finding] = [] if sure is None else [sure]
    about = Diagnosis((), n_rows=round(n), n_classes=len(data.labels), by=data.by)
    if not kept.any() or rows.information <= _LEAST_INFORMATION:
        return in_words(about, found)
    clusters = None if data.clusters is None else data.clusters(kept)
    if clusters is not None and (n_clusters := len(clusters.totals(np.ones((1, int(kept.sum())))))) < FEWEST_CLUSTERS:
        return not_made(too_few(n_clusters), round(n), data.labels)
    tested = gate(rows, clusters)
    about = replace(about, independent_p_value=math.nan if clusters is None else gate(rows).p_value)
    known = _informations(rows, tested, clusters)
    bias, slope = (POWER / math.sqrt(x) if x > 1e-9 else math.nan for x in known)
    needed = math.nan if clusters is None else n_clusters * (POWER / NOTABLE_BIAS) ** 2 / tested.shared
    seen = Detectable(bias, slope, needed)
    about = replace(about, p_value=tested.p_value, statistic=tested.statistic, detectable=seen)
    if tested.p_value >= LEVEL:
        return in_words(about, found)
    search = Search(rows, tested, data.most_errors)
    best = search.best()
    if not best:
        unnamed = Finding("shape", *shape.said(tested.p_value, two=True), p_value=tested.p_value)
        return in_words(about, [*found, unnamed])
    if (surprising := _surprising(data, rows, kept, tested)) is not None:
        return in_words(about, [*found, surprising])
    whole, mostly_rest = search.found[best], False
    named = _findings(data, line, power, search, best, _uncertain(rows, clusters, tested, whole))
    about = replace(
        about,
        cost=sum(each.cost for each in named),
        alternatives=as_good(search.found, best),
        mended=() if sizes_tell(best) or whole.fit.separated else _mended(whole.mapping),
    )
    if not whole.fit.separated:
        left, p_value = _rest(rows, whole.mapping, tested)
        about, mostly_rest = replace(about, rest_p_value=p_value), left > whole.ratio
    return in_words(about, [*found, *named], mostly_rest)


def _informations(rows: Scored, tested: Gate, clusters: ClusterSums | None) -> tuple[float, float]:
    """Return what is known of a bias, and of a calibration slope: inverse squares of standard errors."""
    bias, slope = (tested.design_effect,) * 2 if clusters is None else effects_alone(rows, clusters)
    return rows.information / bias, float(product(rows.total, rows.variance * rows.s**2)) / slope


def _certainty(data: BinaryData, certain: np.ndarray) -> Finding | None:
    """Return how often rows predicted as certain erred, and how improbable that is; None if they did not."""
    counts, positive, s = data.counts[certain], data.counts_positive[certain], data.rows.s[certain]
    wrong = np.where(s > 0, counts - positive, positive)
    m, expected = float(wrong.sum()), float(counts @ expit(-np.abs(s)))
    if m < 0.5:
        return None
    m = m if data.wrong_rows is None else float(data.wrong_rows)
    rows: tuple[int, ...] = ()
    if data.rows_at is not None:
        erred = np.flatnonzero(certain)[wrong > 0]
        rows = tuple(sorted({row for above in (True, False) for row in
                             data.rows_at(erred[(data.rows.s[erred] > 0) == above], not above)}))  # fmt: skip
    return Finding(
        "certainty",
        *certainty.said(round(m), expected, round(float(counts.sum())), two=True, exact=not data.weighted_counts),
        parameter=m,
        # Rows of a cluster may err together: then the chance is that of at least one error.
        p_value=poisson_sf(0 if data.clusters else m - 1, expected) if expected > 0 else 0.0,
        rows=rows,
    )


def _surprising(data: BinaryData, rows: Scored, kept: np.ndarray, tested: Gate) -> Finding | None:
    """Return the at most three most surprising rows, if without them there is no evidence of any one error."""
    chosen = _most_surprising(rows, data, kept)
    total, positive = rows.total.copy(), rows.positive.copy()
    for k, (at, outcome, _) in enumerate(chosen, 1):
        weight = _mean_weight(rows, at, outcome)
        total[at] -= weight
        positive[at] -= weight * outcome
        left = total > 1e-9 * rows.total
        without = rows._replace(total=total, positive=positive).only(left)
        found = Search(without, tested, 1).found
        if max(each.ratio for each in found.values()) < squared_normal_isf(LEVEL / len(found)):
            said = few_rows.said([math.exp(each.log_p) for each in chosen[:k]])
            numbers: tuple[int, ...] = ()
            if data.rows_at is not None:
                places = np.flatnonzero(kept)
                of = [data.rows_at(places[[each.at]], bool(each.outcome)) for each in chosen[:k]]
                numbers = tuple(some[of[:at].count(some)] for at, some in enumerate(of))
            return Finding("rows", *said, float(k), p_value=tested.p_value, rows=numbers)
    return None


def _findings(
    data: BinaryData,
    line: CalibrationLine,
    power: Coefficient,
    search: Search,
    best: Errors,
    sure: dict[str, Uncertain],
) -> list[Finding]:
    """Say what each error of a set is, costliest first; ``sure`` tells how sure each parameter is."""
    whole, event = search.found[best], data.event or quoted(data.labels[1], "the positive class")
    ordered = gains(search.found, best, search.effect / (2 * data.n))
    findings = []
    for name, gain in ordered.items():
        value, sd = whole.mapping.value(PARAMETERS[name]), sure[PARAMETERS[name]]
        half, p = sd.reach * sd.standard_error, sd.p_value(value)
        if math.isnan(p):
            p = p_value(search.found, best, name)
        # Rows predicted as certain, which the map leaves out, may turn the line round.
        size, separated = line.size_of(name, best), whole.fit.separated
        all_rows = size is not None and not separated and size.value * value > 0
        interval = (value - half, value + half)
        if size is not None and all_rows:
            value, interval = size.value, (size.interval.low, size.interval.high)
        error = OfTwo(
            value,
            interval,
            [KINDS[each] for each in ordered],
            separated,
            event,
            data.mean,
            data.frequency,
            slope=line.slope.value,
            temperature=power.inverse().value,
            all_rows=all_rows,
        )
        findings.append(finding_of_two(name, error, p, gain, data.labels[1]))
    return findings


_SHOWN = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
"""Predicted probabilities that are shown with what they would be."""

_REACH = 1.96
"""Half-width of a 95% interval of a normal estimate, in standard errors."""


def _mended(found: BinaryMap) -> tuple[MendedProbability, ...]:
    """Return where a map takes some probabilities."""
    mended = found.probabilities(np.log(_SHOWN) - np.log1p(-_SHOWN), level=False)[:, 1]
    return tuple(MendedProbability(*pair) for pair in zip(_SHOWN.tolist(), mended.tolist(), strict=True))


def _uncertain(
    rows: Scored, clusters: ClusterSums | None, tested: Gate, whole: Candidate[BinaryMap]
) -> dict[str, Uncertain]:
    """Return how sure each parameter is; p-values are those of likelihood ratios unless rows are dependent."""
    unsure = dict.fromkeys(whole.fit.places, Uncertain(math.nan, _REACH))
    if whole.fit.separated:
        return unsure
    if clusters is not None and whole.mapping.coefficients:
        return unsure | uncertain(rows, clusters, whole.mapping)
    errors = np.sqrt(tested.design_effect * np.diag(whole.fit.covariance)).tolist()
    each = zip(whole.fit.places, errors, strict=True)
    return {name: Uncertain(math.nan if name == LAPSE else error, _REACH) for name, error in each}


def _rest(rows: Scored, found: BinaryMap, tested: Gate) -> tuple[float, float]:
    """Test what the named errors leave over: statistic and p-value."""
    q, t = found.probabilities(rows.s, level=False)[:, 1], found.log_odds(rows.s, level=False)
    v = np.maximum(q * (1 - q), _TINY)
    rise = (1 - found.lapse) * expit(t) * expit(-t) / v
    nuisance = [*(columns(found.coefficients, rows.s) * rise), *([(0.5 - expit(t)) / v] if found.lapse else [])]
    shapes = legendre.legvander(2 * information_time(rows.s, rows.total * v) - 1, 6).T[1:]
    basis = orthonormal(np.stack([*nuisance, *shapes]), rows.total * v)[len(nuisance) :]
    z, freedom = product(basis, rows.positive - rows.total * q), int(basis.any(axis=1).sum())
    statistic = float(z @ z) / tested.design_effect
    return statistic, chi2_sf(freedom, statistic) if freedom else 1.0


def _mean_weight(rows: Scored, at: int, outcome: int) -> float:
    """Return the weight of a row with an outcome at an entry: there they are taken to weigh the same."""
    if outcome:
        return float(rows.squared_positive[at] / rows.positive[at])
    return float((rows.squared[at] - rows.squared_positive[at]) / (rows.total[at] - rows.positive[at]))


class _Surprise(NamedTuple):
    at: int
    outcome: int
    log_p: float


def _most_surprising(rows: Scored, data: BinaryData, kept: np.ndarray) -> list[_Surprise]:
    """Return the at most three rows whose outcomes were assigned the least, each less than 1 / rows."""
    counts, positive = data.counts[kept], data.counts_positive[kept]
    limit = -math.log(max(float(counts.sum()), 1.0))
    found = []
    for outcome, times, log_p in ((1, positive, log_expit(rows.s)), (0, counts - positive, log_expit(-rows.s))):
        some: Ints = np.flatnonzero((times > 0.5) & (log_p <= limit))
        for at in some[np.argsort(log_p[some], kind="stable")][:MOST_SURPRISING].tolist():
            found += [_Surprise(at, outcome, float(log_p[at]))] * min(MOST_SURPRISING, round(float(times[at])))
    return sorted(found, key=lambda each: each.log_p)[:MOST_SURPRISING]


_RIDGE = 1e-9
"""Share of its diagonal that is added to a covariance, so that it can be factored."""

_TINY = 1e-100
"""Variance that may be divided by."""


@dataclass(frozen=True)
class DependentScores:
    """Scores of some directions, one a row of ``model``, were probabilities those of a map."""

    model: Floats
    """Their covariance, were rows independent."""
    sums: Floats
    own: Floats
    """Sums of products over clusters, one a row, and over single rows."""
    shares: Floats

    @staticmethod
    def of(rows: Scored, clusters: ClusterSums, directions: Floats, q: Floats) -> DependentScores:
        """Take scores in directions, one a row, at probabilities.

        Parameters
        ----------
        rows : Scored
            Rows at m log-odds.
        clusters : ClusterSums
            Sums over clusters of these entries.
        directions : array of shape (k, m)
            What the residual of an entry is multiplied by in each score.
        q : array of shape (m,)
            Probabilities under which scores are taken.
        """
        v = q * (1 - q)
        return DependentScores(
            product(directions * (rows.squared * v), directions.T),
            clusters.scores(directions) + clusters.totals(directions * (expit(rows.s) - q)),
            product(directions * rows.own_squares(q), directions.T),
            cluster_shares(clusters.totals(v[None])[:, 0]),
        )

    def covariance(self, at: list[int]) -> Floats:
        """Covariance of some of the scores; the variance of single rows is that of the model."""
        model = self.model[np.ix_(at, at)]
        root = np.linalg.cholesky(model + _RIDGE * np.diag(np.diag(model)))
        back = np.linalg.inv(root)
        inner = cluster_covariance(self.sums[:, at] @ back.T, back @ self.own[np.ix_(at, at)] @ back.T, self.shares)
        return np.asarray(root @ inner @ root.T)


def effects_alone(rows: Scored, clusters: ClusterSums) -> tuple[float, float]:
    """By how much dependence inflates the variance of a bias, and of confidence, each fitted alone."""
    directions = columns(("bias", "slope"), rows.s)
    scores = DependentScores.of(rows, clusters, directions, expit(rows.s))
    informed = product(directions**2, rows.total * rows.variance)
    bias, confidence = (
        max(float(scores.covariance([at])[0, 0] / informed[at]), rows.design_effect) if informed[at] > 0 else 1.0
        for at in (0, 1)
    )
    return bias, confidence


class Uncertain(NamedTuple):
    """How sure a parameter is."""

    standard_error: float
    reach: float
    """Half-width of a 95% interval, in standard errors."""
    freedom: float = math.nan
    """Degrees of freedom, where the standard error is estimated from clusters."""

    def p_value(self, value: float) -> float:
        """Return that of a value of 0; NaN where the standard error is not estimated from clusters."""
        if math.isnan(self.freedom):
            return math.nan
        from scipy.special import stdtr

        return float(2 * stdtr(self.freedom, -abs(value) / self.standard_error))


def uncertain(rows: Scored, clusters: ClusterSums, found: BinaryMap) -> dict[str, Uncertain]:
    """Give standard errors of the coefficients of a map, by a sandwich, and quantiles of Student's distribution."""
    q, t = found.probabilities(rows.s, level=False)[:, 1], found.log_odds(rows.s, level=False)
    v = np.maximum(q * (1 - q), _TINY)
    directions = columns(found.coefficients, rows.s) * ((1 - found.lapse) * expit(t) * expit(-t) / v)
    scores = DependentScores.of(rows, clusters, directions, q)
    inverse = np.linalg.inv(product(directions * (rows.total * v), directions.T))
    robust, model = (inverse @ x @ inverse for x in (scores.covariance(list(range(len(directions)))), scores.model))
    errors = {}
    for at, name in enumerate(found.coefficients):
        variance = max(float(robust[at, at]), float(model[at, at]))
        freedom = degrees_of_freedom(scores.shares, variance / float(model[at, at]))
        errors[name] = Uncertain(math.sqrt(variance), float(t_quantile(0.95, freedom)), freedom)
    return errors


PARAMETERS = {kind.error: kind.parameter for kind in KINDS.values() if kind.two is not None}
"""The parameter of a map that mends each error."""

_BOTH_SIDES = 0.05
"""Least share of the information on either side of even odds, for an asymmetry to be a candidate."""

_ROUNDING = 1e-5
"""Rounding error of a likelihood ratio, found by iterations."""


class Search:
    """Fits every candidate set of errors."""

    def __init__(self, rows: Scored, tested: Gate, most: int) -> None:
        """Fit all sets of at most so many errors.

        A line beside a lapse has a prior, of which one in five has its maximum at infinity for 100 rows, and so have
        errors that separate the outcomes. All others are fitted by maximum likelihood.
        """
        self.counted, self.effect = in_cells(rows), tested.design_effect
        c, effect = self.counted, self.effect
        v = c.total * expit(c.s) * expit(-c.s)
        base = float(c.positive @ log_expit(c.s) + (c.total - c.positive) @ log_expit(-c.s))
        bounds, unit = Prior(BOUNDS, effect), unit_cost(2 * rows.information / effect)
        sides = min(float(v[c.s > 0].sum()), float(v[c.s < 0].sum()))
        names = [x for x in PARAMETERS if x != "asymmetry" or sides >= _BOTH_SIDES * v.sum()]
        self.found: dict[Errors, Candidate[BinaryMap]] = {}
        for errors in sets_of(names, most):
            parameters = [PARAMETERS[each] for each in errors]
            if not errors or not _apart(parameters, c.s, v):
                continue
            of = Cells(c, parameters)
            fit = fitted_cells(of, bounds if LAPSE in parameters else NO_PRIOR)
            if LAPSE not in parameters and fit.separated:
                fit = fitted_cells(of, bounds)
            ratio = max(0.0, 2 * (fit.value - base) / effect)
            held = -2 * fit.value / effect if fit.separated else 0.0
            costs = sum(cost(each, unit) for each in errors)
            self.found[errors] = Candidate(errors, fit, map_of(fit), ratio + held, held, costs, len(errors))

    def best(self) -> Errors:
        """Return the set worth most; where none pays for itself the best error alone, and none without evidence."""
        if not self.found:
            return ()
        best = self._plainest(list(self.found))
        if self.found[best].worth > 0:
            return best
        best = self._plainest([errors for errors in self.found if len(errors) == 1])
        return best if self.found[best].ratio >= LEAST else ()

    def _plainest(self, some: list[Errors]) -> Errors:
        """Return the set worth most; of equal ones the plainest.

        Errors that mean the same here, such as all of a constant forecast or where there are no events, differ by
        rounding and by their priors.
        """
        most = max(self.found[errors].worth for errors in some)
        return next(x for x in some if self.found[x].ratio - self.found[x].cost >= most - _ROUNDING)


def _apart(parameters: list[str], s: Floats, v: Floats) -> bool:
    """Whether the directions of parameters, but for a lapse, are different at these log-odds."""
    directions = columns([name for name in parameters if name != LAPSE], s)
    return bool(orthonormal(directions, v).any(axis=1).all())
