"""The diagnosis of predictive distributions of a number: which calibration error they have.

Outcomes that were held impossible are judged apart. Then a test decides whether anything is wrong; the set of errors
that pays best for its parameters names it, with overlapping horizons also that of the shortest; the most surprising
outcomes are left out to see whether they carry it alone; and what the names leave over is tested once more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from ..._lib.dataclasses import Frozen, replace
from ..._lib.typing import Floats, Ints
from ...forecasts.distributions.pit_rows import PitRows
from ...report.document import listed
from ...statistics.matrices import product
from .choice import LEVEL, POWER, Errors, as_good, gains, p_value
from .class_rows import MOST_SURPRISING
from .gate import FEWEST_CLUSTERS, Gate
from .kind import OfDistributions, sizes_tell
from .kinds import KINDS, certainty, shape
from .kinds import rows as few_rows
from .pit_search import MOST_ERRORS, PitScored, PitSearch, pit_gate, shortest_gate
from .result import Clause, Detectable, Diagnosis, Finding, MendedProbability
from .row_groups import Groups, RowGroups, Windows, chosen, shortest
from .words import in_words, leaves_more, not_made, too_few

FEWEST_ROWS = 10
"""With fewer rows nothing is tested."""

_ENDS = (10, 90)
"""Percentiles of the predicted level at which its bias is told."""

_OUTER = 0.98
"""Probability between the points beyond which outcomes are extreme."""

_SHOWN = np.array([0.01, 0.1, 0.5, 0.9, 0.99])
"""Points of the predictive distributions that are shown with what they would be."""

_LEAST_INFORMATION = 0.5
"""Rows known exactly that would tell as much of a bias: with less nothing is tested."""

_FEWEST_FOR_REST = 500
"""With fewer rows no further error is looked for."""


class Tested(Frozen, eq=False):
    """Rows that are possible, and the test whether anything is wrong with them."""

    rows: PitScored
    gate: Gate
    groups: Groups | None

    @staticmethod
    def of(rows: PitRows, groups: Groups | None = None) -> Tested:
        """Test rows without the outcomes that were held impossible."""
        possible = ~rows.impossible
        groups = None if groups is None else chosen(groups, possible)
        scored = PitScored.of(rows.subset(possible))
        return Tested(scored, pit_gate(scored, groups), groups)

    def search(self, most: int = MOST_ERRORS) -> PitSearch:
        """Fit all sets of so many errors to all rows."""
        of = None if self.groups is None else RowGroups.of(self.groups)
        return PitSearch(self.rows, self.gate.design_effect, of, most)

    def shortest(self) -> tuple[PitSearch, Errors] | None:
        """Search the shortest horizon alone; None where there is one horizon, or no evidence in the shortest."""
        if not isinstance(self.groups, Windows):
            return None
        here, issued = shortest(self.groups)
        tested = shortest_gate(self.rows, self.groups)
        if here.all() or 2 * tested.p_value >= LEVEL:
            return None
        search = PitSearch(self.rows.only(here), tested.design_effect, RowGroups.of(issued))
        return search, search.joined(search.best())


def diagnose_distributions(rows: PitRows, groups: Groups | None = None, tested: Tested | None = None) -> Diagnosis:
    """Find out what is wrong with predictive distributions of a number.

    Parameters
    ----------
    rows : PitRows
        Where the outcomes fell.
    groups : array of int, shape (n,), or Windows, optional
        Clusters of dependent rows, or the windows from issue to target, where forecasts depend if these overlap.
    tested : Tested, optional
        The test of these rows, if it was made before.

    Returns
    -------
    Diagnosis
    """
    n, possible = _count(rows), ~rows.impossible
    about = Diagnosis((), n_rows=n, by="rows", n_clusters=None if groups is None else _number_of(groups))
    kept, found = rows.subset(possible), []
    if (impossible := n - _count(kept)) > 0:
        which = tuple(np.flatnonzero(rows.impossible).tolist()) if rows.count is None else ()
        said = certainty.impossible(impossible, n)
        found.append(Finding("certainty", *said, float(impossible), p_value=0.0, rows=which))
    if reason := _too_few(kept, None if groups is None else chosen(groups, possible)):
        return in_words(about, found) if found else replace(not_made(reason, n, ()), n_clusters=about.n_clusters)
    tested = Tested.of(rows, groups) if tested is None else tested
    if tested.rows.information[0, 0, 0, 0] < _LEAST_INFORMATION:
        return in_words(about, found) if found else not_made("too little is known of the outcomes", n, ())
    alone = math.nan if groups is None else pit_gate(tested.rows).p_value
    gate = tested.gate
    about = replace(about, p_value=gate.p_value, statistic=gate.statistic, independent_p_value=alone,
                    detectable=_detectable(tested.rows, gate.design_effect))  # fmt: skip
    return in_words(about, found) if gate.p_value >= LEVEL else _named(about, found, tested, np.flatnonzero(possible))


def held_by(rows: PitScored, share: float) -> Floats:
    """Return which part of what is known of each outcome is in a central interval."""
    return held_between(rows.rows, (1 - share) / 2, (1 + share) / 2)


def held_between(rows: PitRows, least: float, most: float) -> Floats:
    """Return which part of what is known of each outcome is between two quantiles."""
    low, high = ndtr(rows.low), ndtr(rows.high)
    inside = np.minimum(high, most) - np.maximum(low, least)
    within = (low >= least) & (low <= most)
    return np.asarray(np.where(high > low, np.maximum(inside, 0) / np.maximum(high - low, 1e-300), within))


def _count(rows: PitRows) -> int:
    return rows.n if rows.count is None else round(float(rows.count.sum()))


def _number_of(groups: Groups) -> int:
    """Count clusters, or the times at which forecasts were issued."""
    return len(np.unique(groups.issued if isinstance(groups, Windows) else groups))


def _too_few(rows: PitRows, groups: Groups | None) -> str:
    if _count(rows) < FEWEST_ROWS:
        return f"the test takes {FEWEST_ROWS} rows or more, here {_count(rows)}"
    if groups is not None and (clusters := _number_of(groups)) < FEWEST_CLUSTERS:
        return too_few(clusters)
    return ""


def _detectable(rows: PitScored, effect: float) -> Detectable:
    """Return the bias, in spreads, and how much too narrow distributions may be before this many rows show it."""
    bias, scale = np.diag(rows.information[0, 0])[:2] / rows.design_effect
    with np.errstate(over="ignore"):
        wider = float(np.expm1(POWER * np.sqrt(effect / (2 * scale))))
    return Detectable(POWER * math.sqrt(effect / bias), wider)


def _named(about: Diagnosis, found: list[Finding], of: Tested, numbers: Ints) -> Diagnosis:
    """Name what is wrong, and what is left over."""
    search, alone = of.search(), of.shortest()
    first = search.best()
    best = search.joined(first, () if alone is None else alone[1])
    if not best:
        named = [Finding("shape", *shape.said(about.p_value, two=False), p_value=about.p_value)]
        return in_words(about, [*found, *named])
    if surprising := _surprising(search, about.p_value, numbers):
        return in_words(about, [*found, surprising])
    named = _findings(search, best)
    left, rest_p_value = search.rest(best) if search.rows.n >= _FEWEST_FOR_REST else (0.0, math.nan)
    alternatives = as_good(search.found, best) if best == first else ()
    mended = () if sizes_tell(best) else _mended(search, best)
    about = replace(about, cost=sum(each.cost for each in named), rest_p_value=rest_p_value)
    about = replace(about, alternatives=alternatives, mended=mended)
    said = in_words(about, [*found, *named], mostly_rest=leaves_more(about) and left > search.found[best].ratio)
    more = [_points(about.mended)] if about.mended else []
    more += [_apart(*alone)] if alone is not None and alone[1] else []
    return replace(said, clauses=(*said.clauses, *more))


def _points(mended: Sequence[MendedProbability]) -> Clause:
    """Say what points of the predictive distributions are, where sizes of single errors would mislead."""
    called, found = (listed([f"{x:.0%}" for x in each]) for each in zip(*(
        (one.predicted, one.mended) for one in mended[1:-1]), strict=True))  # fmt: skip
    return Clause("", instead=f"the points at {called} are on average those at {found}")


def _apart(search: PitSearch, best: Errors) -> Clause:
    """Say what the shortest horizon alone shows."""
    said = "; ".join(each.clause.words for each in _findings(search, best))
    return Clause("", instead=f"the shortest horizon alone: {said}")


def _findings(search: PitSearch, best: Errors) -> list[Finding]:
    """Say what each error of a set is, costliest first."""
    rows, mapping = search.rows, search.found[best].mapping
    values, known = mapping.coefficients, search.estimates(best)
    outer = rows.n - float(product(rows.total, held_by(rows, _OUTER)))
    level = [values.get("bias", 0.0) + values.get("level", 0.0) * x for x in _percentiles(rows, _ENDS)]
    held = float(product(rows.total, held_by(rows, 0.8))) / rows.n
    determined, found = all(each.judged for each in known.values()), []
    for name, gain in gains(search.found, best, search.effect / (2 * rows.n)).items():
        value, interval = values[name], known[name].interval(0.95)
        e = OfDistributions(value, interval, best, determined, held,
                            (outer, (1 - _OUTER) * rows.n), (level[0], level[1]))  # fmt: skip
        said = KINDS[name].distributions
        assert said is not None
        p = p_value(search.found, best, name) if search.groups is None else known[name].p_value()
        found.append(Finding(name, *said(e), value, interval, p, gain))
    return found


def _percentiles(rows: PitScored, of: Sequence[float]) -> Floats:
    """Return percentiles of the predicted level over the rows."""
    level, count = rows.factors[1], rows.rows.count
    if count is None:
        return np.asarray(np.percentile(level, of))
    order = np.argsort(level)
    up_to = np.cumsum(count[order])
    return np.asarray(level[order][np.searchsorted(up_to, np.array(of) / 100 * up_to[-1])])


def _mended(search: PitSearch, best: Errors) -> tuple[MendedProbability, ...]:
    """Return the probability that an outcome is below points of the predictive distributions."""
    mended = ndtr(search.found[best].mapping.scores(ndtri(_SHOWN)))
    return tuple(MendedProbability(*pair) for pair in zip(_SHOWN.tolist(), mended.tolist(), strict=True))


def _surprising(search: PitSearch, gate_p_value: float, numbers: Ints) -> Finding | None:
    """Return the at most three most surprising rows, if without them there is no evidence of any one error.

    Among so many calibrated rows one of them would be as surprising in a case of 20.
    """
    rows = search.rows
    p = 2 * np.minimum(ndtr(rows.rows.high), ndtr(-rows.rows.low))
    most = np.argsort(p, kind="stable")[:MOST_SURPRISING]
    most = most[p[most] * rows.n < LEVEL]
    count = rows.rows.count
    if count is not None:  # of like rows all are taken, or none
        most = np.repeat(most, np.minimum(count[most], MOST_SURPRISING + 1).astype(np.int64))
    for k in range(1, min(len(most), MOST_SURPRISING) + 1):
        if k < len(most) and most[k] == most[k - 1]:
            continue
        if search.carried_by(most[:k].tolist()):
            which = tuple(numbers[most[:k]].tolist()) if count is None else ()
            said = few_rows.said(p[most[:k]].tolist())
            return Finding("rows", *said, float(k), p_value=gate_p_value, rows=which)
    return None
