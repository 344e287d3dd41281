"""What is measured on the predictions of a period: mean and spread of their log-odds, and how unusual their shares are.

Each is a number that periods have in any order alike, whatever their number of predictions, as long as these do not
change.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, replace
from .._lib.elementary import logit
from .._lib.typing import Floats
from .event_counts import EventCounts

MEASURES = ("mean", "spread", "shares")
"""The last one can become larger only."""
MEASURE_WEIGHTS: Floats = np.array([0.4, 0.3, 0.3])
"""Shares of the bet on them."""

FIRST = 7
"""Periods whose shares are the usual ones: a week of days."""

_MOST_BINS = 12
"""Bins of about equal shares, as far as predictions differ."""


class PredictionSummary(NamedTuple):
    """Predictions of some periods; all but their number without those of exactly 0 or 1."""

    rows: int
    mean: float
    """Mean predicted probability."""
    log_odds: float
    """Mean of the log-odds."""
    spread: float
    """Standard deviation of the log-odds."""


def summary_of(periods: Sequence[EventCounts]) -> PredictionSummary:
    """Summarise some periods together."""
    return summaries([EventCounts.together(periods)])[0]


def summaries(series: Sequence[EventCounts | None]) -> list[PredictionSummary]:
    """Summarise each period; NaN where there are no predictions, or too few."""
    there = [each for each in series if each is not None]
    moments = _Moments.of(there)
    columns = zip(moments.mean.tolist(), moments.log_odds.tolist(), moments.spread.tolist(), strict=True)
    found = iter([PredictionSummary(round(each.rows), *row) for each, row in zip(there, columns, strict=True)])
    return [_NOTHING if each is None else next(found) for each in series]


class _Moments(NamedTuple):
    """Moments of each period's predictions, without those of exactly 0 or 1."""

    rows: Floats
    mean: Floats
    log_odds: Floats
    squares: Floats
    """Sum of squared distances of the log-odds from their mean."""
    fourth: Floats
    """Sum of the fourth powers of these distances."""

    @classmethod
    def of(cls, periods: Sequence[EventCounts]) -> _Moments:
        """Take them of counts."""
        number = np.repeat(np.arange(len(periods)), [each.p.size for each in periods])
        p, total = (np.concatenate([each[at] for each in periods]) for at in (0, 1))
        s = logit(p)

        def sums(values: Floats) -> Floats:
            return np.bincount(number, total * values, len(periods)).astype(np.float64)

        with np.errstate(invalid="ignore", divide="ignore"):
            n = sums(np.ones_like(p))
            mean, log_odds = sums(p) / n, sums(s) / n
            squared = (s - log_odds[number]) ** 2
        return cls(n, mean, log_odds, sums(squared), sums(squared**2))

    @property
    def spread(self) -> Floats:
        """Standard deviation of the log-odds."""
        return np.asarray(np.sqrt(self.squares / np.where(self.rows > 1, self.rows - 1, np.nan)))

    @property
    def noise(self) -> tuple[Floats, Floats]:
        """Variance of the mean and of the standard deviation of log-odds, times rows, by the periods so far."""
        n, squares, fourth = (np.cumsum(each) for each in (self.rows, self.squares, self.fourth))
        with np.errstate(invalid="ignore", divide="ignore"):
            return squares / n, (fourth - squares**2 / n) / (4 * squares)


_NOTHING = PredictionSummary(0, np.nan, np.nan, np.nan)


class BinShare(NamedTuple):
    """Share of the predictions between two probabilities, before and since a change."""

    low: float
    high: float
    """Equal ends stand for predictions of exactly 0 or 1."""
    before: float
    since: float


class Shares(Frozen):
    """Shares of predictions in bins of about equal shares in the first periods; the last bin is for exact 0 and 1."""

    edges: Floats
    """Between the bins."""
    usual: Floats
    """Shares in the first periods, none of them 0."""
    rows: float
    """Number of predictions in the first periods."""
    vary: float
    """Mean squared distance of the first periods from these, beyond what their numbers of predictions account for."""

    @classmethod
    def of(cls, first: Sequence[EventCounts]) -> Shares:
        """Make bins of the first periods."""
        counts = EventCounts.together(first)
        order = np.argsort(counts.p, kind="stable")
        p, below = counts.p[order], np.cumsum(counts.total[order])
        at = np.searchsorted(below, below[-1] * np.arange(1, _MOST_BINS) / _MOST_BINS) if p.size else []
        edges = np.unique(p[at]) if p.size else np.empty(0)
        number = _counted(edges, counts) + 0.5
        found = cls(edges, number / number.sum(), counts.rows, 0.0)
        beyond = [
            (found._squared(each) / each.rows - found._expected * (1 / each.rows - 1 / counts.rows)) for each in first
        ]
        return replace(found, vary=max(0.0, float(np.mean(beyond))))

    @property
    def _expected(self) -> int:
        return self.usual.size - 1

    def _squared(self, counts: EventCounts) -> float:
        """Pearson's chi-squared of a period's shares."""
        expected = counts.rows * self.usual
        return float(((_counted(self.edges, counts) - expected) ** 2 / expected).sum())

    def distances(self, periods: Sequence[EventCounts]) -> Floats:
        """Pearson's chi-squared of each period, as it would be with as many predictions as the first of them has.

        Beyond chance it grows with the number of predictions: the usual shares are estimates, and periods vary. How
        much it grows is learned from the periods so far; in doubt, by a standard error, the number is taken as smaller.
        """
        rows, squared = (np.array(each) for each in ([x.rows for x in periods], [self._squared(x) for x in periods]))
        chance, beyond = self._expected, self._expected / self.rows + self.vary
        sizes = np.concatenate([np.full(FIRST, self.rows / FIRST), rows])
        known = np.concatenate([np.full(FIRST, beyond), (squared - chance) / rows])
        found = squared.copy()
        for at in np.flatnonzero(rows != rows[:1]):
            seen = slice(FIRST + at + 1)
            weight = (sizes[seen] / (chance + sizes[seen] * beyond)) ** 2
            beyond = max(0.0, float(weight @ known[seen] / weight.sum()))
            error = math.sqrt(2 / (chance * weight.sum()))
            doubted = max(0.0, beyond + math.copysign(error, rows[at] - rows[0]))
            found[at] *= (chance + rows[0] * doubted) / (chance + rows[at] * doubted)
        return found

    def moved(self, before: Sequence[EventCounts], since: Sequence[EventCounts]) -> BinShare:
        """Find the bin whose share changed most, in standard deviations."""
        counts = [EventCounts.together(each) for each in (before, since)]
        then, now = (_counted(self.edges, each) / each.rows for each in counts)
        at = int(np.argmax(np.abs(now - then) / np.sqrt(self.usual)))
        ends = np.concatenate([[0.0], self.edges, [1.0, 1.0]])
        return BinShare(float(ends[at]), float(ends[at + 1]), float(then[at]), float(now[at]))


def _counted(edges: Floats, counts: EventCounts) -> Floats:
    """Count by bin; a bin ends with its upper edge."""
    found = np.bincount(np.searchsorted(edges, counts.p), counts.total, edges.size + 1)
    return np.append(found, counts.certain)


def usual_shares(series: Sequence[EventCounts | None]) -> tuple[Shares, int]:
    """Make bins of the first periods that have predictions; also say how many periods are over by then."""
    there = [at for at, each in enumerate(series) if each is not None and each.rows][:FIRST]
    return Shares.of([each for at in there if (each := series[at]) is not None]), there[-1] + 1


def measured(series: Sequence[EventCounts | None]) -> Floats:
    """Measure each period, of shape (3, periods) in the order of `MEASURES`; NaN where there is nothing to measure.

    Each number is as it would be with as many predictions as the first period has, so that periods with more or fewer
    are exchangeable too.
    """
    shares, begin = usual_shares(series)
    found = np.full((3, len(series)), np.nan)
    at = [number for number, each in enumerate(series) if each is not None]
    moments = _Moments.of([each for each in series if each is not None])
    for measure, values, noise in zip((0, 1), (moments.log_odds, moments.spread), moments.noise, strict=True):
        found[measure, at] = as_of_first_size(values, noise, moments.rows)
    later = [number for number in at if number >= begin and (each := series[number]) is not None and each.rows]
    found[2, later] = shares.distances([each for number in later if (each := series[number]) is not None])
    return found


def as_of_first_size(values: Floats, noise: Floats, rows: Floats) -> Floats:
    """Give a number of each period the variance that it would have with as many rows as the first period has.

    The variance is noise / rows, and on top of it what periods vary by (Paule & Mandel 1982; one step a period). Both,
    and the centre, are those of the periods so far. Numbers of periods with as many rows as the first stay as they are.
    """
    found, beyond = values.copy(), 0.0
    there = np.flatnonzero(~np.isnan(values))
    if not there.size or (rows[there] == rows[there[0]]).all():
        return found
    first = rows[there[0]]
    for number, at in enumerate(there):
        if not noise[at] > 0:
            continue
        some = there[: number + 1]
        x, own = values[some], noise[at] / rows[some]
        weight = 1 / (beyond + own)
        whole = weight.sum()
        centre = weight @ x / whole
        if number:
            left = weight - weight**2 / whole
            beyond = max(0.0, float((weight @ (x - centre) ** 2 - left @ own) / left.sum()))
        found[at] += (x[-1] - centre) * (np.sqrt((beyond + noise[at] / first) / (beyond + own[-1])) - 1)
    return found
