"""What is measured on the predictions of a period: mean and spread of their log-odds, and how unusual their shares are.

Each is a number that periods have in any order alike as long as the predictions do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from .event_counts import EventCounts

MEASURES = ("mean", "spread", "shares")
"""The last one can become larger only."""
MEASURE_WEIGHTS: Floats = np.array([0.4, 0.3, 0.3])
"""Shares of the bet on them."""

FIRST = 7
"""Periods whose shares are the usual ones: a week of days."""

_MOST_BINS = 12


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
    number = np.repeat(np.arange(len(there)), [each.p.size for each in there])
    p, total = (np.concatenate([each[at] for each in there]) for at in (0, 1))
    s = np.log(p) - np.log1p(-p)

    def sums(values: Floats) -> Floats:
        return np.bincount(number, total * values, len(there)).astype(np.float64)

    with np.errstate(invalid="ignore", divide="ignore"):
        n = sums(np.ones_like(p))
        mean, log_odds = sums(p) / n, sums(s) / n
        spread = np.sqrt(sums((s - log_odds[number]) ** 2) / np.where(n > 1, n - 1, np.nan))
    columns = zip(mean.tolist(), log_odds.tolist(), spread.tolist(), strict=True)
    found = iter([PredictionSummary(round(each.rows), *row) for each, row in zip(there, columns, strict=True)])
    return [_NOTHING if each is None else next(found) for each in series]


_NOTHING = PredictionSummary(0, np.nan, np.nan, np.nan)


class BinShare(NamedTuple):
    """Share of the predictions between two probabilities, before and since a change."""

    low: float
    high: float
    """Equal ends stand for predictions of exactly 0 or 1."""
    before: float
    since: float


@dataclass(frozen=True)
class Shares:
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

    def distance(self, counts: EventCounts) -> float:
        """Pearson's chi-squared as a multiple of what is usual with so many predictions: about 1 at any number."""
        own = 1 + counts.rows / self.rows  # the usual shares are estimates too
        return self._squared(counts) / (self._expected * own + counts.rows * self.vary)

    def moved(self, before: Sequence[EventCounts], since: Sequence[EventCounts]) -> BinShare:
        """Find the bin whose share changed most, in standard deviations."""
        then, now = (self._share(each) for each in (before, since))
        at = int(np.argmax(np.abs(now - then) / np.sqrt(self.usual)))
        ends = np.concatenate([[0.0], self.edges, [1.0, 1.0]])
        return BinShare(float(ends[at]), float(ends[at + 1]), float(then[at]), float(now[at]))

    def _share(self, periods: Sequence[EventCounts]) -> Floats:
        counts = EventCounts.together(periods)
        return _counted(self.edges, counts) / counts.rows


def _counted(edges: Floats, counts: EventCounts) -> Floats:
    """Count by bin; a bin ends with its upper edge."""
    found = np.bincount(np.searchsorted(edges, counts.p), counts.total, edges.size + 1)
    return np.append(found, counts.certain)


def usual_shares(series: Sequence[EventCounts | None]) -> tuple[Shares, int]:
    """Make bins of the first periods that have predictions; also say how many periods are over by then."""
    there = [at for at, each in enumerate(series) if each is not None and each.rows][:FIRST]
    return Shares.of([each for at in there if (each := series[at]) is not None]), there[-1] + 1


def measured(series: Sequence[EventCounts | None]) -> Floats:
    """Measure each period, of shape (3, periods) in the order of `MEASURES`; NaN where there is nothing to measure."""
    shares, begin = usual_shares(series)
    distances = [
        np.nan if counts is None or at < begin or not counts.rows else shares.distance(counts)
        for at, counts in enumerate(series)
    ]
    found = summaries(series)
    return np.array([[each.log_odds for each in found], [each.spread for each in found], distances])
