"""The diagnosis of forecasts of two classes: which calibration error they have, in six steps.

Rows predicted as certain are judged apart. Then a test decides whether anything is wrong; the set of errors that pays
best for its parameters names it; the most surprising rows are left out to see whether they carry it alone; and what the
names leave over is tested once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from ..._lib.dataclasses import Frozen, replace
from ..._lib.elementary import expit, log_expit, logit
from ..._lib.typing import Floats, Ints
from ...forecasts.labels import Label
from ...maps.cells import NO_PRIOR, Cells, fitted_cells, map_of
from ...maps.fit import Prior
from ...maps.parameters import LAPSE
from ...maps.two import BinaryMap, columns
from ...statistics.matrices import product
from ...statistics.tails import chi2_sf, poisson_sf, squared_normal_isf
from .choice import (
    BOUNDS,
    LEAST,
    LEVEL,
    POWER,
    Candidate,
    Errors,
    as_good,
    cost,
    gains,
    odds_off,
    p_value,
    sets_of,
    unit_cost,
)
from .class_rows import CERTAIN, MOST_NAMED, MOST_SURPRISING
from .gate import (
    FEWEST_CLUSTERS,
    ClusterSums,
    Gate,
    Scored,
    cluster_covariance,
    cluster_shares,
    gate,
    in_cells,
    information_time,
    orthonormal,
)
from .kind import OfTwo, quoted, sizes_tell
from .kinds import KINDS, certainty, shape
from .kinds import rows as few_rows
from .kinds.bias import SURE_GAP, means_differ, over_or_under
from .line import ONE_VALUE, CalibrationLine, Coefficient, calibration_line, judged_coefficients, power_alone
from .result import NOTABLE_BIAS, Clause, Detectable, Diagnosis, Finding, MendedProbability
from .words import REST_LEVEL, finding_of_two, in_words, not_made, nothing_wrong, practically_calibrated, too_few

_MOST_ERRORS = 3
"""Errors at most that are named together."""

_LEAST_INFORMATION = 0.05
"""Sum of p (1 - p) below which rows can show nothing."""


class BinaryData(Frozen):
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

    def gap(self, effect: float) -> float:
        """Return mean prediction minus observed frequency, of all rows, in standard errors.

        The variance is the largest of what the predictions promise, times a design effect, and what is seen between
        rows and clusters.
        """
        rows, p, n = self.rows, expit(self.rows.s), float(self.rows.total.sum())
        off = self.mean - self.frequency
        squares = float(product(rows.positive, 1 - 2 * p) + product(rows.total, p**2)) - n * off**2
        weighing = float(rows.squared.sum() / rows.total.sum())
        variance = max(rows.information * effect, squares * weighing, _TINY)
        if self.clusters is not None:
            one, sums = np.ones((1, rows.s.size)), self.clusters(np.ones(rows.s.size, dtype=bool))
            between = sums.scores(one) + off * sums.totals(one)
            variance = max(variance, float((between**2).sum()) * len(between) / (len(between) - 1))
        return off * n / math.sqrt(variance)


def diagnose_binary(data: BinaryData) -> Diagnosis:
    """Find out what is wrong with forecasts of two classes."""
    n_clusters = None
    if data.clusters is not None:
        every = np.ones(data.rows.s.size, dtype=bool)
        n_clusters = len(data.clusters(every).totals(np.ones((1, every.size))))
    line = calibration_line(data.rows, data.clusters)
    power = power_alone(data.rows, data.n, data.clusters)
    return replace(_diagnosed(data, line, power), n_clusters=n_clusters, line=line, power=power)


def p_value_alone(data: BinaryData) -> float:
    """Test forecasts of two classes as `diagnose_binary` does, without naming errors; NaN for too few rows."""
    kept = np.abs(data.rows.s) <= math.log(data.n / CERTAIN)
    rows, clusters = data.rows.only(kept), None if data.clusters is None else data.clusters(kept)
    few = clusters is not None and len(clusters.totals(np.ones((1, rows.s.size)))) < FEWEST_CLUSTERS
    return math.nan if few or rows.information <= _LEAST_INFORMATION else gate(rows, clusters).p_value


def screened(rows: Scored, n: float) -> Diagnosis | None:
    """Diagnose n rows as far as the gate: nothing is wrong, or they are too few to tell.

    None if something may be: for rows that are certain, and where the gate rejects.
    """
    if (np.abs(rows.s) > math.log(n / CERTAIN)).any():
        return None
    p_value = math.nan if rows.information <= _LEAST_INFORMATION else gate(rows).p_value
    return None if p_value < LEVEL else nothing_wrong(round(n), p_value)


def _diagnosed(data: BinaryData, line: CalibrationLine, power: Coefficient) -> Diagnosis:
    s, n, weighing = data.rows.s, data.n, float(data.rows.squared.sum() / data.rows.total.sum())
    certain = np.abs(s) > math.log(n / CERTAIN)
    sure = _certainty(data, certain)
    kept = ~certain
    rows = data.rows.only(kept)
    found: list[Finding] = [] if sure is None else [sure]
    about = Diagnosis((), n_rows=round(n), n_classes=len(data.labels), by=data.by)
    if not kept.any() or rows.information <= _LEAST_INFORMATION:
        return in_words(about, found, None if data.clusters else _level(data, weighing))
    clusters = None if data.clusters is None else data.clusters(kept)
    if clusters is not None and (n_clusters := len(clusters.totals(np.ones((1, int(kept.sum())))))) < FEWEST_CLUSTERS:
        return not_made(too_few(n_clusters), round(n), data.labels)
    tested = gate(rows, clusters)
    about = replace(about, independent_p_value=math.nan if clusters is None else gate(rows).p_value)
    known = _informations(rows, tested, clusters)
    bias, slope = (POWER / math.sqrt(x) if x > _KNOWN else math.nan for x in known)
    needed = math.nan if clusters is None else n_clusters * (POWER / NOTABLE_BIAS) ** 2 / tested.shared
    seen = Detectable(bias, slope, needed)
    about = replace(about, p_value=tested.p_value, statistic=tested.statistic, detectable=seen)
    level = _level(data, tested.design_effect)
    if tested.p_value >= LEVEL:
        return in_words(about, found, level)
    search = Search(rows, tested, data.most_errors)
    away = line.slope.metric().interval[1] < 0 and calibration_line(rows).slope.value < 0
    best = search.best("confidence" if away else "")
    if best and (surprising := _surprising(data, rows, kept, tested)) is not None:
        return in_words(about, [*found, surprising], level)
    whole = search.widest if not best else search.found[best]
    left, rest_p_value = (0.0, math.nan) if whole.fit.separated else _rest(rows, whole.mapping, tested)
    if best:
        named = _findings(data, line, power, search, best, clusters, away)
    else:
        named = [Finding("shape", *shape.said(tested.p_value, two=True), p_value=tested.p_value)]
    seen_ratio = whole.ratio + left * (rest_p_value < REST_LEVEL)
    off = odds_off(seen_ratio, whole.parameters, rows.information / tested.design_effect)
    if off is not None:
        return practically_calibrated(about, found, named, off)
    if not best:
        return in_words(about, [*found, *named], level)
    about = replace(
        about,
        cost=sum(each.cost for each in named),
        alternatives=as_good(search.found, best),
        mended=() if sizes_tell(best) or whole.fit.separated else _mended(whole.mapping),
        rest_p_value=rest_p_value,
    )
    return in_words(about, [*found, *named], level, left > whole.ratio)


def _level(data: BinaryData, effect: float) -> Clause | None:
    """Say that predictions are too high or too low on average, if that is sure."""
    if abs(data.gap(effect)) < SURE_GAP or not means_differ(data.mean, data.frequency):
        return None
    return over_or_under(_event(data), data.mean, data.frequency)


def _event(data: BinaryData) -> str:
    return data.event or quoted(data.labels[1], "the positive class")


_KNOWN = 1e-9
"""Information up to which nothing is known of a coefficient."""


def _informations(rows: Scored, tested: Gate, clusters: ClusterSums | None) -> tuple[float, float]:
    """Return what is known of a bias, and of a slope about its level: inverse squares of standard errors."""
    bias, slope = (tested.design_effect,) * 2 if clusters is None else effects_alone(rows, clusters)
    v = rows.total * rows.variance
    tests_slope = tested.components > 1
    return rows.information / bias, tests_slope * float(product(v, (rows.s - rows.centre) ** 2)) / slope


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
        worst = erred[np.argsort(-np.abs(data.rows.s[erred]), kind="stable")][:MOST_NAMED]
        rows = tuple(row for at in worst for row in data.rows_at(np.array([at]), data.rows.s[at] < 0))[:MOST_NAMED]
    return Finding(
        "certainty",
        *certainty.said(round(m), expected, round(float(counts.sum())), exact=not data.weighted_counts),
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
        found = Search(without, tested, 1).found if left.any() else {}
        if not found or max(each.ratio for each in found.values()) < squared_normal_isf(LEVEL / len(found)):
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
    clusters: ClusterSums | None,
    away: bool,
) -> list[Finding]:
    """Say what each error of a set is, costliest first."""
    whole, gap = search.found[best], data.gap(search.effect)
    separated, mapping = whole.fit.separated, whole.mapping
    ordered = gains(search.found, best, search.effect / (2 * data.n))
    errors = {} if separated else standard_errors(search.rows, clusters, mapping)
    sizes = {name: _size(name, best, mapping, line, errors.get(PARAMETERS[name])) for name in ordered}
    bias, slope = (sizes[name].value if name in sizes else 0.0 for name in ("bias", "confidence"))
    findings = []
    for name, gain in ordered.items():
        size, error = sizes[name], errors.get(PARAMETERS[name])
        dependent = clusters is not None and error is not None and not math.isnan(error.standard_error)
        p = error.p_value(size.fitted) if dependent and error else p_value(search.found, best, name)
        of_two = OfTwo(
            size.value,
            size.interval,
            [KINDS[each] for each in ordered],
            separated,
            _event(data),
            data.mean,
            data.frequency,
            slope=line.slope.value,
            temperature=power.inverse().value,
            all_rows=size.all_rows,
            gap=gap,
            constant=bias - slope * mapping.about,
            away=away,
        )
        if name == "bias" and not size.all_rows and not separated:
            level = _level_added(search.rows, clusters, mapping).metric()
            of_two = replace(of_two, value=level.value, interval=(level.interval.low, level.interval.high))
        findings.append(finding_of_two(name, of_two, p, gain, data.labels[1]))
    return findings


class _Size(NamedTuple):
    """A parameter with its interval, and as its map has it, which leaves out rows predicted as certain."""

    value: float
    interval: tuple[float, float]
    fitted: float
    all_rows: bool


def _size(name: str, best: Errors, mapping: BinaryMap, line: CalibrationLine, error: Coefficient | None) -> _Size:
    """Return how large an error is: over all rows, unless there it is none of its kind; ``error`` None if unbounded."""
    value, of_line = mapping.value(PARAMETERS[name]), line.size_of(name, best)
    if error is not None and of_line is not None and of_line.value * value > 0:
        return _Size(of_line.value, (of_line.interval.low, of_line.interval.high), value, True)
    low, high = (math.nan, math.nan) if error is None else error._replace(value=value).metric().interval
    return _Size(value, (low, high), value, False)


_SHOWN = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
"""Predicted probabilities that are shown with what they would be."""


def _mended(found: BinaryMap) -> tuple[MendedProbability, ...]:
    """Return where a map takes some probabilities."""
    mended = found.probabilities(np.log(_SHOWN) - np.log1p(-_SHOWN), level=False)[:, 1]
    return tuple(MendedProbability(*pair) for pair in zip(_SHOWN.tolist(), mended.tolist(), strict=True))


def _derivatives(rows: Scored, found: BinaryMap) -> tuple[Floats, Floats]:
    """Return mended probabilities q, and their derivatives by each parameter over q (1 - q), a lapse's the last."""
    q, t = found.probabilities(rows.s, level=False)[:, 1], found.log_odds(rows.s, level=False)
    v, e = np.maximum(q * (1 - q), _TINY), found.lapse
    x = columns(found.coefficients, rows.s, found.about) * ((1 - e) * expit(t) * expit(-t) / v)
    return q, np.vstack([x, e * (1 - e) * (0.5 - expit(t)) / v]) if e else x


def standard_errors(rows: Scored, clusters: ClusterSums | None, found: BinaryMap) -> dict[str, Coefficient]:
    """Give the coefficients of a map their standard errors; a lapse has none."""
    q, x = _derivatives(rows, found)
    values = np.array([*found.coefficients.values(), *([found.lapse] if found.lapse else [])])
    judged = judged_coefficients(values, x, q, rows, clusters)
    return dict(zip(found.coefficients, judged, strict=False)) | {LAPSE: Coefficient()}


def _level_added(rows: Scored, clusters: ClusterSums | None, found: BinaryMap) -> Coefficient:
    """Return what a map adds to the log-odds on average, with weights that give it the sign of observed - predicted.

    Its own bias is what it adds where the other errors add nothing, which may be far from most rows.
    """
    q, x = _derivatives(rows, found)
    p = expit(rows.s)
    moved = np.log(q) - np.log1p(-q) - rows.s
    same = np.abs(moved) < ONE_VALUE
    w = rows.total * np.where(same, p * (1 - p), (q - p) / np.where(same, 1.0, moved))
    each = product(x, w) / w.sum()
    bias = [*found.coefficients].index("bias")
    x = x - np.outer(np.where(np.arange(len(x)) == bias, 0.0, each / each[bias]), x[bias])
    values = np.zeros(len(x))
    values[bias] = float(product(w, moved) / w.sum() / each[bias])
    level = judged_coefficients(values, x, q, rows, clusters)[bias]
    step = float(each[bias])
    return level._replace(value=level.value * step, standard_error=level.standard_error * step)


def _rest(rows: Scored, found: BinaryMap, tested: Gate) -> tuple[float, float]:
    """Test what the named errors leave over: statistic and p-value."""
    q, nuisance = _derivatives(rows, found)
    v = np.maximum(q * (1 - q), _TINY)
    shapes = legendre.legvander(2 * information_time(rows.s, rows.total * v) - 1, 6).T[1:]
    basis = orthonormal(np.vstack([nuisance, shapes]), rows.total * v)[len(nuisance) :]
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


class DependentScores(Frozen):
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
    """By how much dependence inflates the variance of a bias, and of a slope about its level, each fitted alone."""
    directions = columns(("bias", "slope"), rows.s, rows.centre)
    scores = DependentScores.of(rows, clusters, directions, expit(rows.s))
    informed = product(directions**2, rows.total * rows.variance)
    bias, confidence = (
        max(float(scores.covariance([at])[0, 0] / informed[at]), rows.design_effect) if informed[at] > _KNOWN else 1.0
        for at in (0, 1)
    )
    return bias, confidence


_OF_MAPS = sorted((kind for kind in KINDS.values() if kind.two), key=lambda kind: kind.parameter == LAPSE)

PARAMETERS = {kind.error: kind.parameter for kind in _OF_MAPS}
"""The parameter of a map that mends each error; a lapse is the last of a map's."""

_BOTH_SIDES = 0.05
"""Least share of the information on either side of 50%. With less, a slope without a bias turns about the mean
prediction, since one about 50% would be a bias."""

_OF_BOTH_SIDES = ("asymmetry", "tail")
"""Errors that only predictions on both sides tell."""

_ROUNDING = 1e-5
"""Rounding error of a likelihood ratio, found by iterations."""


class Search:
    """Fits every candidate set of errors."""

    def __init__(self, rows: Scored, tested: Gate, most: int) -> None:
        """Fit all sets of at most so many errors.

        A line beside a lapse has a prior, of which one in five has its maximum at infinity for 100 rows, and so have
        errors that separate the outcomes. All others are fitted by maximum likelihood.
        """
        self.rows, self.counted, self.effect = rows, in_cells(rows), tested.design_effect
        c, effect = self.counted, self.effect
        v = c.total * expit(c.s) * expit(-c.s)
        base = float(c.positive @ log_expit(c.s) + (c.total - c.positive) @ log_expit(-c.s))
        bounds, unit = Prior(BOUNDS, effect), unit_cost(2 * rows.information / effect)
        one_sided = min(float(v[c.s > 0].sum()), float(v[c.s < 0].sum())) < _BOTH_SIDES * v.sum()
        names = ["bias"]
        if np.ptp(c.s) > ONE_VALUE:
            names = [x for x in PARAMETERS if not (one_sided and x in _OF_BOTH_SIDES)]
        turn = float(logit(product(c.total, expit(c.s)) / c.total.sum())) if one_sided else 0.0
        self.found: dict[Errors, Candidate[BinaryMap]] = {}
        for errors in sets_of(names, most):
            about = rows.centre if "bias" in errors else turn
            parameters = [PARAMETERS[each] for each in errors]
            if not errors or not _apart(parameters, c.s, v, about):
                continue
            of = Cells(c, parameters, about)
            line = self.found[errors[:-1]].fit.theta if errors[:-1] in self.found else None
            fit = fitted_cells(of, bounds if LAPSE in parameters else NO_PRIOR, line=line)
            if LAPSE not in parameters and fit.separated:
                fit = fitted_cells(of, bounds)
            ratio = max(0.0, 2 * (fit.value - base) / effect)
            held = -2 * fit.value / effect if fit.separated else 0.0
            costs = sum(cost(each, unit) for each in errors)
            found = map_of(fit, about=about)
            self.found[errors] = Candidate(errors, fit, found, ratio + held, held, costs, len(errors))

    def best(self, error: str = "") -> Errors:
        """Return the set worth most; where none pays for itself, the best simple one if it is significant.

        Simple are single errors, and bias with confidence, at the cost that a test at 5% asks.

        An ``error`` that is sure is in every set: forecasts that point away from the outcomes are said to do so.
        """
        found = {errors: each for errors, each in self.found.items() if not error or error in errors}
        if not found:
            return ()
        best = self._plainest(found)
        if self.found[best].worth > 0:
            return best
        simple: dict[Errors, Candidate[BinaryMap]] = {
            errors: replace(each, cost=sum(cost(name, LEAST) for name in errors))
            for errors, each in found.items()
            if len(errors) == 1 or errors == ("bias", "confidence")
        }
        best = self._plainest(simple)
        return best if simple[best].ratio > LEAST * len(best) else ()

    @property
    def widest(self) -> Candidate[BinaryMap]:
        """The set that explains the most, whatever it costs."""
        return max(self.found.values(), key=lambda each: each.ratio)

    def _plainest(self, some: Mapping[Errors, Candidate[BinaryMap]]) -> Errors:
        """Return the set worth most; of equal ones the plainest.

        Errors that mean the same here, such as where there are no events, differ by rounding and by their priors.
        """
        most = max(each.worth for each in some.values())
        return next(x for x, each in some.items() if each.ratio - each.cost >= most - _ROUNDING)


def _apart(parameters: list[str], s: Floats, v: Floats, about: float) -> bool:
    """Whether the directions of parameters, but for a lapse, are different at these log-odds."""
    directions = columns([name for name in parameters if name != LAPSE], s, about)
    return bool(orthonormal(directions, v).any(axis=1).all())
