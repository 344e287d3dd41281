"""What is measured on the predictions of a period: mean and spread of their log-odds, and how unusual their shares are.

Each is a number that periods have in any order alike as long as the predictions do not change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._lib.typing import Floats
from .event_counts import EventCounts

MEASURES = ("mean", "spread", "shares")
MEASURE_WEIGHTS: Floats = np.array([0.4, 0.3, 0.3])
"""Shares of the bet on them."""

_FIRST = 7
"""Periods whose shares are the usual ones: a week of days."""

_MOST_BINS = 12


class PredictionSummary(NamedTuple):
    """Predictions of some periods, without those of exactly 0 or 1."""

    rows: int
    """How many there are, with those of exactly 0 or 1."""
    mean: float
    """Mean predicted probability."""
    log_odds: float
    """Mean of the log-odds."""
    spread: float
    """Standard deviation of the log-odds."""

    @classmethod
    def of(cls, periods: Sequence[EventCounts]) -> PredictionSummary:
        """Take it of counts; NaN where there are none."""
        counts = EventCounts.together(periods) if periods else None
        n = 0.0 if counts is None else float(counts.total.sum())
        if counts is None or not n:
            return cls(0 if counts is None else round(counts.rows), np.nan, np.nan, np.nan)
        s = counts.log_odds
        mean = float(counts.total @ s / n)
        variance = float(counts.total @ (s - mean) ** 2) / (n - 1) if n > 1 else np.nan
        return cls(round(counts.rows), counts.mean, mean, float(np.sqrt(variance)))


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

    @classmethod
    def of(cls, first: Sequence[EventCounts]) -> Shares:
        """Make bins of the first periods."""
        counts = EventCounts.together(first)
        order = np.argsort(counts.p, kind="stable")
        p, below = counts.p[order], np.cumsum(counts.total[order])
        at = np.searchsorted(below, below[-1] * np.arange(1, _MOST_BINS) / _MOST_BINS) if p.size else []
        edges = np.unique(p[at]) if p.size else np.empty(0)
        number = _counted(edges, counts) + 0.5
        return cls(edges, number / number.sum())

    def counted(self, counts: EventCounts) -> Floats:
        """Count predictions by bin."""
        return _counted(self.edges, counts)

    def distance(self, counts: EventCounts) -> float:
        """Pearson's distance of a period's shares from the usual ones, without what its number of rows adds."""
        share, n = self.counted(counts) / counts.rows, counts.rows
        return float(((share - self.usual) ** 2 / self.usual).sum() - (self.usual.size - 1) / n)

    def moved(self, before: Sequence[EventCounts], since: Sequence[EventCounts]) -> BinShare:
        """Find the bin whose share changed most, in standard deviations."""
        then, now = (self._share(each) for each in (before, since))
        at = int(np.argmax(np.abs(now - then) / np.sqrt(self.usual)))
        ends = np.concatenate([[0.0], self.edges, [1.0, 1.0]])
        return BinShare(float(ends[at]), float(ends[at + 1]), float(then[at]), float(now[at]))

    def _share(self, periods: Sequence[EventCounts]) -> Floats:
        counts = EventCounts.together(periods)
        return self.counted(counts) / counts.rows


def _counted(edges: Floats, counts: EventCounts) -> Floats:
    """Count by bin; a bin ends with its upper edge."""
    found = np.bincount(np.searchsorted(edges, counts.p), counts.total, edges.size + 1)
    return np.append(found, counts.certain)


def usual_shares(series: Sequence[EventCounts | None]) -> tuple[Shares, int]:
    """Make bins of the first periods that have predictions; also say how many periods are over by then."""
    there = [at for at, each in enumerate(series) if each is not None and each.rows][:_FIRST]
    return Shares.of([each for at in there if (each := series[at]) is not None]), there[-1] + 1


def measured(series: Sequence[EventCounts | None]) -> Floats:
    """Measure each period, of shape (periods, 3) in the order of `MEASURES`; NaN where there is nothing to measure."""
    found = np.full((len(series), len(MEASURES)), np.nan)
    shares, begin = usual_shares(series)
    for at, counts in enumerate(series):
        if counts is not None and counts.rows:
            summary = PredictionSummary.of([counts])
            found[at] = summary.log_odds, summary.spread, shares.distance(counts) if at >= begin else np.nan
    return found
