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
from ...statistics.tails import chi2_sf, poisson_sf, squared_normal_isf
from .binary_clusters import Uncertain, effects_alone, uncertain
from .binary_search import PARAMETERS, Fitted, Search, costliest_first
from .binary_search import gains as gains_of
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

_AS_GOOD = 4.0
"""Sets of errors within so much of the best cannot be told apart from it."""

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
    named = _Naming(data, line, power, rows, kept, tested, clusters)
    about = replace(
        about, gain=named.gain, alternatives=named.alternatives, rest_p_value=named.rest, mended=named.mended
    )
    return in_words(about, found + named.findings, named.mostly_rest)


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


class _Naming:
    """Names what the gate has seen."""

    def __init__(
        self,
        data: BinaryData,
        line: CalibrationLine,
        power: Coefficient,
        rows: Scored,
        kept: np.ndarray,
        tested: Gate,
        clusters: ClusterSums | None,
    ) -> None:
        self.data, self.line, self.power, self.rows, self.kept = data, line, power, rows, kept
        self.tested, self.clusters = tested, clusters
        self.findings: list[Finding] = []
        self.alternatives: tuple[tuple[str, ...], ...] = ()
        self.rest, self.mostly_rest, self.gain = math.nan, False, 0.0
        self.mended: tuple[MendedProbability, ...] = ()
        search = Search(rows, tested, data.most_errors)
        best = search.best(range(1, data.most_errors + 1)) if search.fits else ()
        if best and search.fits[best].worth <= 0:  # no name pays for itself: the best alone, if it is significant
            best = search.best(range(1, 2))
            best = best if search.ratio(best) >= squared_normal_isf(LEVEL) else ()
        if not best:
            self.findings = [Finding("shape", *shape.said(tested.p_value, two=True), p_value=tested.p_value)]
            return
        if (surprising := self._surprising()) is not None:
            self.findings = [surprising]
            return
        self._name(search, best)
        if not search.fits[best].fit.separated:
            self._rest(search.fits[best])

    def _surprising(self) -> Finding | None:
        """Return the at most three most surprising rows, if without them there is no evidence of any one error."""
        rows, chosen = self.rows, _most_surprising(self.rows, self.data, self.kept)
        total, positive = rows.total.copy(), rows.positive.copy()
        for k, (at, outcome, _) in enumerate(chosen, 1):
            weight = _mean_weight(rows, at, outcome)
            total[at] -= weight
            positive[at] -= weight * outcome
            left = total > 1e-9 * rows.total
            without = rows._replace(total=total, positive=positive).only(left)
            fits = Search(without, self.tested, 1).fits
            if max(x.ratio for x in fits.values()) < squared_normal_isf(LEVEL / len(fits)):
                said = few_rows.said([math.exp(each.log_p) for each in chosen[:k]])
                numbers: tuple[int, ...] = ()
                if self.data.rows_at is not None:
                    places = np.flatnonzero(self.kept)
                    of = [self.data.rows_at(places[[each.at]], bool(each.outcome)) for each in chosen[:k]]
                    numbers = tuple(rows[of[:at].count(rows)] for at, rows in enumerate(of))
                return Finding("rows", *said, float(k), p_value=self.tested.p_value, rows=numbers)
        return None

    def _name(self, search: Search, best: tuple[str, ...]) -> None:
        whole, sure = search.fits[best], self._uncertain(search.fits[best])
        order = costliest_first(search, best)
        gains = gains_of(search, order, self.tested.design_effect / (2 * self.data.n))
        self.gain = sum(gains)
        event = self.data.event or quoted(self.data.labels[1], "the positive class")
        for name, gain in zip(order, gains, strict=True):
            less = tuple(x for x in best if x != name)
            value, sd = whole.map.value(PARAMETERS[name]), sure[name]
            half, p_value = sd.reach * sd.standard_error, sd.p_value(value)
            if math.isnan(p_value):
                p_value = chi2_sf(1, max(whole.ratio - search.ratio(less), 0.0))
            # Rows predicted as certain, which the map leaves out, may turn the line round.
            size, separated = self.line.size_of(name, order), whole.fit.separated
            all_rows = size is not None and not separated and size.value * value > 0
            interval = (value - half, value + half)
            if size is not None and all_rows:
                value, interval = size.value, (size.interval.low, size.interval.high)
            error = OfTwo(
                value,
                interval,
                [KINDS[each] for each in order],
                separated,
                event,
                self.data.mean,
                self.data.frequency,
                slope=self.line.slope.value,
                temperature=self.power.inverse().value,
                all_rows=all_rows,
            )
            self.findings.append(finding_of_two(name, error, p_value, gain, self.data.labels[1]))
        if not (sizes_tell(best) or whole.fit.separated):
            p = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
            mended = whole.map.probabilities(np.log(p) - np.log1p(-p), level=False)
            self.mended = tuple(MendedProbability(*pair) for pair in zip(p.tolist(), mended.tolist(), strict=True))
        others = sorted(search.fits, key=lambda names: -search.fits[names].worth)
        self.alternatives = tuple(
            names
            for names in others
            if names != best and search.fits[names].worth > whole.worth - _AS_GOOD and len(names) <= len(best)
        )[:3]

    def _uncertain(self, whole: Fitted) -> dict[str, Uncertain]:
        """Return how sure each parameter is; p-values are those of likelihood ratios unless rows are dependent."""
        if self.clusters is not None and whole.map.coefficients and not whole.fit.separated:
            sure = uncertain(self.rows, self.clusters, whole.map)
        else:
            scale = math.nan if whole.fit.separated else math.sqrt(self.tested.design_effect)
            errors = (scale * np.sqrt(np.diag(whole.fit.covariance))).tolist()
            sure = {name: Uncertain(error, 1.96) for name, error in zip(whole.fit.places, errors, strict=True)}
            sure.pop(LAPSE, None)
        return {name: sure.get(parameter, Uncertain(math.nan, 1.96)) for name, parameter in PARAMETERS.items()}

    def _rest(self, whole: Fitted) -> None:
        """Test what the named errors leave over."""
        rows, found = self.rows, whole.map
        q, t = found.probabilities(rows.s, level=False), found.log_odds(rows.s, level=False)
        v = np.maximum(q * (1 - q), 1e-100)
        rise = (1 - found.lapse) * expit(t) * expit(-t) / v
        nuisance = list(columns(found.coefficients, rows.s) * rise)
        if found.lapse:
            nuisance.append((0.5 - expit(t)) / v)
        x = 2 * information_time(rows.s, rows.total * v) - 1
        shapes = [legendre.legval(x, np.eye(7)[k]) for k in range(1, 7)]
        basis = orthonormal(nuisance + shapes, rows.total * v)[len(nuisance) :]
        some = [column for column in basis if column is not None]
        z = np.array([(rows.positive - rows.total * q) @ column for column in some])
        statistic = float(z @ z) / self.tested.design_effect
        self.rest = chi2_sf(len(some), statistic) if some else 1.0
        self.mostly_rest = statistic > whole.ratio


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
