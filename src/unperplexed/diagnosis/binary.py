"""The diagnosis of forecasts of two classes: which calibration error they have, in six steps.

Rows predicted as certain are judged apart. Then a test decides whether anything is wrong; the set of errors that pays
best for its parameters names it; the most surprising rows are left out to see whether they carry it alone; and what the
names leave over is tested once more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre
from scipy.special import expit, log_expit, pdtrc
from scipy.stats import chi2

from .._typing import Floats, Ints
from .._wording import p_value_text
from ..labels import Label
from .gate import ClusterSums, Gate, Scored, gate, information_time, orthonormal
from .log_odds_maps import NAMES, NOISE, Counted, FittedMap, features, fit, fit_with_lapse, log_likelihood
from .result import Detectable, Diagnosis, Finding, MendedProbability
from .words import Told, tells_sizes, told, worded

LEVEL = 0.05
"""Of the gate."""

_CERTAIN = 0.01
"""So many errors are expected of all rows predicted as certain together, at most."""

_MOST_ERRORS = 3
_PLAIN = ("bias", "confidence")
_SURCHARGE = 2.0
"""What an error that is not one of these costs more."""

_LEAST_INFORMATION = 0.05
_BOTH_SIDES = 0.05
"""Of the information on either side of even odds, for an asymmetry to be a candidate."""

_AS_GOOD = 4.0
"""Sets of errors within so much of the best cannot be told apart from it."""

_IN_CELLS = 4096
_CELLS = 128
"""More distinct log-odds than the first are fitted in cells of which there are the second a unit."""

_POWER = 3.2
"""Standard errors that a test at 5% sees with 80% power, with the other errors fitted beside it."""


@dataclass(frozen=True)
class BinaryData:
    """Rows of two classes at distinct log-odds; weights have mean 1."""

    rows: Scored
    counts: Floats
    """How many rows there are at each."""
    counts_positive: Floats
    n: float
    """All rows, those of weight 0 not among them."""
    labels: tuple[Label | None, ...]
    mean: float
    """Mean prediction of the positive class, and its observed frequency."""
    frequency: float
    clusters: Callable[[np.ndarray], ClusterSums] | None = None
    """Given which entries are kept, how components are summed over clusters of dependent rows."""
    by: str = "rows"
    rows_at: Callable[[np.ndarray, bool], tuple[int, ...]] | None = None
    """Numbers of the rows at some entries with one outcome, where they are known."""


def diagnose_binary(data: BinaryData) -> Diagnosis:
    """Find out what is wrong with forecasts of two classes."""
    s, n = data.rows.s, data.n
    certain = np.abs(s) > math.log(n / _CERTAIN)
    sure = _certainty(data, certain)
    kept = ~certain
    rows = data.rows.only(kept)
    found: list[Finding] = [] if sure is None else [sure]
    if not kept.any() or rows.information <= _LEAST_INFORMATION:
        return told(data.labels, found, Told(n=n, p_value=math.nan, by=data.by))
    tested = gate(rows, None if data.clusters is None else data.clusters(kept))
    detectable = Detectable(*(_POWER / math.sqrt(max(x, 1e-300)) for x in _informations(rows, tested)))
    if tested.p_value >= LEVEL:
        return told(data.labels, found, Told(n=n, p_value=tested.p_value, statistic=tested.statistic,
                                             detectable=detectable, by=data.by))  # fmt: skip
    named = _Naming(data, rows, kept, tested)
    return told(data.labels, found + named.findings, Told(
        n=n, p_value=tested.p_value, statistic=tested.statistic, detectable=detectable, by=data.by, gain=named.gain,
        alternatives=named.alternatives, rest=named.rest, mostly_rest=named.mostly_rest, mended=named.mended,
    ))  # fmt: skip


def _informations(rows: Scored, tested: Gate) -> tuple[float, float]:
    """Return what is known of a bias, and of a calibration slope: inverse squares of standard errors."""
    return (
        rows.information / tested.effects[0],
        float(rows.total @ (rows.variance * rows.s**2)) / tested.effects[1],
    )


def _certainty(data: BinaryData, certain: np.ndarray) -> Finding | None:
    """Return how often rows predicted as certain erred, and how improbable that is; None if they did not."""
    counts, positive, s = data.counts[certain], data.counts_positive[certain], data.rows.s[certain]
    wrong = np.where(s > 0, counts - positive, positive)
    m, expected = float(wrong.sum()), float(counts @ expit(-np.abs(s)))
    if m < 0.5:
        return None
    rows: tuple[int, ...] = ()
    if data.rows_at is not None:
        erred = np.flatnonzero(certain)[wrong > 0]
        rows = tuple(sorted({row for above in (True, False) for row in
                             data.rows_at(erred[(data.rows.s[erred] > 0) == above], not above)}))  # fmt: skip
    return Finding(
        "certainty",
        f"certain and wrong {_times(m)} ({expected:.2g} expected in {_count(counts.sum())})",
        parameter=m,
        # Rows of a cluster may err together: then the chance is that of at least one error.
        p_value=float(pdtrc(0 if data.clusters else m - 1, expected)) if expected > 0 else 0.0,
        remedy="Look at these rows: each assigned next to nothing to what was observed. If they are no slips of the"
        " data, mix the predictions with a small share of even odds (a lapse).",
        rows=rows,
    )


def _times(m: float) -> str:
    return "once" if round(m) == 1 else f"{round(m):,} times"


def _count(rows: float) -> str:
    n = round(float(rows))
    return f"{n:,} row{'s' if n != 1 else ''} predicted as certain"


class _Fitted(NamedTuple):
    map: FittedMap
    ratio: float
    """Likelihood ratio against the predictions as they are, divided by the design effect."""
    worth: float
    """That less what the errors cost."""


class _Search:
    """Fits every candidate set of errors."""

    def __init__(self, rows: Scored, tested: Gate, most: int) -> None:
        self.counted = in_cells(rows)
        c = self.counted
        v = c.total * expit(c.s) * expit(-c.s)
        base = log_likelihood(c.s, c)
        cost = max(math.log(max(4 * tested.information / tested.design_effect, 1e-300)), 3.84)
        sides = min(float(v[c.s > 0].sum()), float(v[c.s < 0].sum()))
        names = [x for x in NAMES if x != "asymmetry" or sides >= _BOTH_SIDES * v.sum()]
        self.fits: dict[tuple[str, ...], _Fitted] = {}
        for size in range(1, most + 1):
            for names_here in itertools.combinations(names, size):
                plain = [x for x in names_here if x != NOISE]
                if {NOISE, "tail"} <= set(names_here) or not _apart(plain, c.s, v):
                    continue
                found = fit_with_lapse(plain, c) if NOISE in names_here else fit(plain, c)
                ratio = max(0.0, 2 * (found.log_likelihood - base) / tested.design_effect)
                costs = sum(cost + (0 if x in _PLAIN else _SURCHARGE) for x in names_here)
                self.fits[names_here] = _Fitted(found, ratio, ratio - costs)

    def best(self, sizes: range) -> tuple[str, ...]:
        some = [names for names in self.fits if len(names) in sizes]
        return max(some, key=lambda names: self.fits[names].worth)

    def ratio(self, names: tuple[str, ...]) -> float:
        return self.fits[names].ratio if names else 0.0


def _apart(names: list[str], s: Floats, v: Floats) -> bool:
    """Whether the directions of errors are different at these log-odds."""
    return all(column is not None for column in orthonormal(list(features(names, s).T), v))


def in_cells(rows: Scored) -> Counted:
    """Return what is fitted: the rows at their log-odds, or in narrow cells of these where they are many."""
    if rows.s.size <= _IN_CELLS:
        return Counted(rows.s, rows.total, rows.positive)
    _, cell = np.unique(np.round(rows.s * _CELLS), return_inverse=True)
    total, positive, moment = (
        np.bincount(cell, x).astype(np.float64) for x in (rows.total, rows.positive, rows.total * rows.s)
    )
    return Counted(moment / total, total, positive)


class _Naming:
    """Names what the gate has seen."""

    def __init__(self, data: BinaryData, rows: Scored, kept: np.ndarray, tested: Gate) -> None:
        self.data, self.rows, self.kept, self.tested = data, rows, kept, tested
        self.findings: list[Finding] = []
        self.alternatives: tuple[tuple[str, ...], ...] = ()
        self.rest, self.mostly_rest, self.gain = math.nan, False, 0.0
        self.mended: tuple[MendedProbability, ...] = ()
        search = _Search(rows, tested, _MOST_ERRORS)
        best = search.best(range(1, _MOST_ERRORS + 1)) if search.fits else ()
        if best and search.fits[best].worth <= 0:  # no name pays for itself: the best alone, if it is significant
            best = search.best(range(1, 2))
            best = best if search.ratio(best) >= chi2.ppf(1 - LEVEL, 1) else ()
        if not best:
            words = f"miscalibrated in a way that has no name here ({p_value_text(tested.p_value)})"
            self.findings = [Finding("shape", words, p_value=tested.p_value, remedy=_SHAPE)]
            return
        if (surprising := self._surprising()) is not None:
            self.findings = [surprising]
            return
        self._name(search, best)
        if not search.fits[best].map.separated:
            self._rest(search.fits[best])

    def _surprising(self) -> Finding | None:
        """Return the at most three most surprising rows, if without them there is no evidence of any one error."""
        rows, chosen = self.rows, _most_surprising(self.rows, self.data, self.kept)
        total, positive = rows.total.copy(), rows.positive.copy()
        for k, (at, outcome, _) in enumerate(chosen, 1):
            weight = rows.squared[at] / rows.total[at]
            total[at] -= weight
            positive[at] -= weight * outcome
            left = total > 1e-9 * rows.total
            without = rows._replace(total=total, positive=positive).only(left)
            fits = _Search(without, self.tested, 1).fits
            if max(x.ratio for x in fits.values()) < chi2.ppf(1 - LEVEL / len(fits), 1):
                given = ", ".join(f"{math.exp(each.log_p):.2g}" for each in chosen[:k])
                outcomes = "1 surprising outcome" if k == 1 else f"{k} surprising outcomes"
                verb = "carries" if k == 1 else "carry"
                words = f"{outcomes} (assigned probability {given}) {verb} all the evidence of miscalibration"
                numbers: tuple[int, ...] = ()
                if self.data.rows_at is not None:
                    places = np.flatnonzero(self.kept)
                    numbers = tuple(row for each in chosen[:k] for row in
                                    self.data.rows_at(places[[each.at]], bool(each.outcome))[:1])  # fmt: skip
                return Finding("rows", words, float(k), p_value=self.tested.p_value, remedy=_ROWS, rows=numbers)
        return None

    def _name(self, search: _Search, best: tuple[str, ...]) -> None:
        whole, effect, n = search.fits[best], self.tested.design_effect, self.data.n
        order = _costliest_first(search, best)
        gains = _gains(search, order, effect / (2 * n))
        self.gain = sum(gains)
        for name, gain in zip(order, gains, strict=True):
            less = tuple(x for x in best if x != name)
            part = whole.ratio - search.ratio(less)
            value, error = whole.map.parameter(name), whole.map.standard_error(name) * math.sqrt(effect)
            interval = (value - 1.96 * error, value + 1.96 * error)
            finding = Finding(name, "", value, interval, float(chi2.sf(part, 1)), gain)  # type: ignore[arg-type]
            self.findings.append(
                worded(finding, self.data.labels[1], self.data.mean, self.data.frequency, order, whole.map.separated)
            )
        if not (tells_sizes(best) or whole.map.separated):
            p = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
            mended = whole.map.probability(np.log(p) - np.log1p(-p))
            self.mended = tuple(MendedProbability(*pair) for pair in zip(p.tolist(), mended.tolist(), strict=True))
        others = sorted(search.fits, key=lambda names: -search.fits[names].worth)
        self.alternatives = tuple(
            names
            for names in others
            if names != best and search.fits[names].worth > whole.worth - _AS_GOOD and len(names) <= len(best)
        )[:3]

    def _rest(self, whole: _Fitted) -> None:
        """Test what the named errors leave over."""
        rows, found = self.rows, whole.map
        q, t = found.probability(rows.s), found.log_odds(rows.s)
        v = np.maximum(q * (1 - q), 1e-100)
        rise = (1 - found.lapse) * expit(t) * expit(-t) / v
        nuisance = list((features(found.names, rows.s) * rise[:, None]).T)
        if found.lapse:
            nuisance.append((0.5 - expit(t)) / v)
        x = 2 * information_time(rows.s, rows.total * v) - 1
        shapes = [legendre.legval(x, np.eye(7)[k]) for k in range(1, 7)]
        basis = orthonormal(nuisance + shapes, rows.total * v)[len(nuisance) :]
        some = [column for column in basis if column is not None]
        z = np.array([(rows.positive - rows.total * q) @ column for column in some])
        statistic = float(z @ z) / self.tested.design_effect
        self.rest = float(chi2.sf(statistic, len(some))) if some else 1.0
        self.mostly_rest = statistic > whole.ratio


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


def _costliest_first(search: _Search, best: tuple[str, ...]) -> tuple[str, ...]:
    """Order errors so that each adds the most to those before it."""
    order: tuple[str, ...] = ()
    while len(order) < len(best):
        left = [x for x in best if x not in order]
        order += (max(left, key=lambda x: search.ratio(_sorted((*order, x)))),)
    return order


def _sorted(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(x for x in NAMES if x in names)


def _gains(search: _Search, order: tuple[str, ...], scale: float) -> list[float]:
    """Return the gain of each error after those before it, in nats a row, as cross-validation would show it."""
    gains, before = [], 0.0
    for k in range(1, len(order) + 1):
        together = max(before, (search.ratio(_sorted(order[:k])) - 2 * k) * scale)
        gains.append(together - before)
        before = together
    return gains


_SHAPE = "Recalibrate with a flexible curve (isotonic regression) fitted on held-out rows."
_ROWS = "Look at these rows first; the other rows show no error."
