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
from ...maps.directions import columns
from ...maps.parameters import LAPSE
from ...maps.two import BinaryMap
from ...statistics.tails import chi2_sf, poisson_sf, squared_normal_isf
from .binary_clusters import Uncertain, effects_alone, uncertain
from .binary_search import PARAMETERS, Search
from .choice import Candidate, Errors, as_good, gains, p_value
from .class_rows import CERTAIN
from .clusters import FEWEST_CLUSTERS, ClusterSums
from .gate import Gate, gate, orthonormal
from .kind import OfTwo, quoted, sizes_tell
from .kinds import KINDS, certainty, shape
from .kinds import rows as few_rows
from .line import CalibrationLine, Coefficient, calibration_line, power_alone
from .result import NOTABLE_BIAS, Detectable, Diagnosis, Finding, MendedProbability
from .scored import Scored, information_time
from .words import finding_of_two, in_words, not_made, too_few

LEVEL = 0.05
"""Significance level of the gate."""

_MOST_ERRORS = 3
_LEAST_INFORMATION = 0.05

_POWER = 3.2
"""Standard errors that a test at 5% sees with 80% power, with the other errors fitted beside it."""


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
    known = _informations(rows, tested, clusters)
    bias, slope = (_POWER / math.sqrt(x) if x > 1e-9 else math.nan for x in known)
    needed = math.nan if clusters is None else n_clusters * (_POWER / NOTABLE_BIAS) ** 2 / tested.shared
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
    return rows.information / bias, float(rows.total @ (rows.variance * rows.s**2)) / slope


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


def _mended(found: BinaryMap) -> tuple[MendedProbability, ...]:
    """Return where a map takes some probabilities."""
    p = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    mended = found.probabilities(np.log(p) - np.log1p(-p), level=False)[:, 1]
    return tuple(MendedProbability(*pair) for pair in zip(p.tolist(), mended.tolist(), strict=True))


def _uncertain(
    rows: Scored, clusters: ClusterSums | None, tested: Gate, whole: Candidate[BinaryMap]
) -> dict[str, Uncertain]:
    """Return how sure each parameter is; p-values are those of likelihood ratios unless rows are dependent."""
    unsure = dict.fromkeys(whole.fit.places, Uncertain(math.nan, 1.96))
    if whole.fit.separated:
        return unsure
    if clusters is not None and whole.mapping.coefficients:
        return unsure | uncertain(rows, clusters, whole.mapping)
    errors = np.sqrt(tested.design_effect * np.diag(whole.fit.covariance)).tolist()
    each = zip(whole.fit.places, errors, strict=True)
    return {name: Uncertain(math.nan if name == LAPSE else error, 1.96) for name, error in each}


def _rest(rows: Scored, found: BinaryMap, tested: Gate) -> tuple[float, float]:
    """Test what the named errors leave over: statistic and p-value."""
    q, t = found.probabilities(rows.s, level=False)[:, 1], found.log_odds(rows.s, level=False)
    v = np.maximum(q * (1 - q), 1e-100)
    rise = (1 - found.lapse) * expit(t) * expit(-t) / v
    nuisance = [*(columns(found.coefficients, rows.s) * rise), *([(0.5 - expit(t)) / v] if found.lapse else [])]
    shapes = legendre.legvander(2 * information_time(rows.s, rows.total * v) - 1, 6).T[1:]
    basis = orthonormal(np.stack([*nuisance, *shapes]), rows.total * v)[len(nuisance) :]
    z, freedom = basis @ (rows.positive - rows.total * q), int(basis.any(axis=1).sum())
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
        for at in some[np.argsort(log_p[some], kind="stable")][:3].tolist():
            found += [_Surprise(at, outcome, float(log_p[at]))] * min(3, round(float(times[at])))
    return sorted(found, key=lambda each: each.log_p)[:3]
