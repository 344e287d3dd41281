"""Uncertainty of an assessment: its confidence intervals, and warnings where these are too narrow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._lib.by_value import ByValue
from .._lib.formatting import number_of, percent
from .._lib.serialize import plain_values
from ..statistics.intervals import Band, Interval
from ..tally.tables import Cells
from ..tally.tally import Tally
from .intervals import Sampled, closed_intervals, rows_of_hits, sampled
from .risk_profile import RiskProfile
from .source import Source

FEW_ERRORS, FEW_GROUPS = 50, 30
"""With fewer rows whose top class did not happen, or fewer groups, intervals have been seen to be too narrow."""

_FEW_DEGREES = 20
"""Degrees of freedom of a standard error that is uncertain: it is as uncertain as that of eleven normal values."""

_SMALL_FLOOR = 0.005
"""At smaller floors few rows decide the robustness and the slope; it takes twice as many degrees of freedom."""


@dataclass(frozen=True)
class Uncertainty(ByValue):
    """Confidence intervals, bands and warnings of an assessment. The same settings give the same numbers."""

    intervals: dict[str, Interval]
    """Lower and upper limit of each metric, by the names of ``Assessment.metrics()``."""
    curve: Band | None
    """Confidence band of the measured probability."""
    debiased: dict[str, float]
    """Measured metrics, slope and divergence minus the estimated bias of the estimator, where it is beyond chance. They
    are named in a remark; whatever shows a metric shows the value with its bias."""
    warnings: tuple[str, ...]
    """Why intervals may be too narrow, if they may."""
    confidence: float
    resamples: int
    """Number of bootstrap replicates for the intervals of measured figures, the bands and the test."""
    seed: int
    """Random seed of the bootstrap replicates."""
    _consistent: Callable[[], Band | None] | None = field(repr=False, compare=False)

    @cached_property
    def consistent(self) -> Band | None:
        """Band in which the curve of calibrated forecasts would lie; None for clustered and weighted rows.

        Made when first asked for, from replicates of its own.
        """
        return None if self._consistent is None else self._consistent()

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        plain: dict[str, Any] = plain_values(self)
        del plain["_consistent"]
        return plain | {"consistent": plain_values(self.consistent)}

    def __repr__(self) -> str:
        """Name it in one line."""
        how = f"{percent(self.confidence)} intervals, {number_of(self.resamples, 'sample')}, seed {self.seed}"
        return f"<Uncertainty: {how}>"


def uncertainty(source: Source, figures: dict[str, float]) -> Uncertainty:
    """Compute the uncertainty of figures that were read from a tally."""
    intervals, sampling = closed_intervals(source), source.sampling
    found = Sampled()
    if source.samples:
        found = sampled(source, figures)
        low, high = found.intervals["averages_slope"]
        turned = Interval(*(math.degrees(math.atan2(1, end)) for end in (high, low)))  # tan(orientation) = 1 / slope
        intervals |= found.intervals | {"orientation": turned}
    ordered = {name: intervals.get(name, Interval(math.nan, math.nan)) for name in figures}
    return Uncertainty(
        intervals=ordered,
        curve=found.curve,
        debiased=found.debiased,
        warnings=(*_warnings(source.tally, source.headline), *_warnings_of_samples(found)),
        confidence=sampling.confidence,
        resamples=sampling.resamples if found.intervals else 0,
        seed=sampling.seed,
        _consistent=found.consistent,
    )


def _few_degrees(floor: float) -> int:
    """Degrees of freedom that are few: the lower the floor, the heavier the tail that few rows are from."""
    return _FEW_DEGREES * (1 if floor >= _SMALL_FLOOR else 2 if floor else 4)


def _lowest_cell(tally: Tally) -> tuple[float, float]:
    """Give the ends of what occurred in the cell next to 0 where it is too wide for averages; else twice 0."""
    table = tally.pairs_table
    if isinstance(table, Cells):
        wide = np.flatnonzero((table.low > 0) & (table.low < table.high / 2))  # others are of one octave at most
        if wide.size:
            return float(table.low[wide[0]]), float(table.high[wide[0]])
    return 0.0, 0.0


def _warnings(tally: Tally, headline: RiskProfile) -> Iterator[str]:
    errors = (1 - tally.prediction_accuracy) * rows_of_hits(tally)
    if errors < FEW_ERRORS - 0.5:
        few = f"only {errors:.0f} prediction{' is' if round(errors) == 1 else 's are'} wrong"
        if tally.clustered:
            few = f"the wrong predictions have an effective sample size of only {errors:.0f}"
        more = "clusters" if tally.clustered else "rows"
        yield f"{few}. With fewer than {FEW_ERRORS}, intervals may be too narrow; assess more {more}"
    elif (headline.degrees_of_freedom < _few_degrees(headline.floor)).any():
        and_slope = " and slope" if headline.floor < _SMALL_FLOOR else ""
        yield (
            f"a few rows decide the robustness{and_slope}, so that the intervals may be too narrow; assess more rows or"
            " choose a larger floor"
        )
    if headline.values[1] == 0:
        yield (
            "an outcome predicted with probability 0 occurred: geometric accuracy, robustness and divergence are 0 and"
            " have no interval; choose a floor above 0"
        )
    low, high = _lowest_cell(tally)
    if headline.floor < high:
        yield (
            f"outcomes with predicted probabilities from {low:.2g} to {high:.2g} occurred and share a cell, so"
            f" averages of the predicted probabilities are wrong; the log loss is not affected; choose a floor above"
            f" {high:.2g}, or"
            " count with a larger exact limit"
        )
    if tally.uneven and tally.shards is None:
        yield (
            "the tally has weights but no shards, so that intervals of calibrated averages are rough; count it with"
            " --parts shards"
        )
    if tally.clustered and tally.independent_rows < FEW_GROUPS - 0.5:
        yield (
            f"there are few clusters (effective number {tally.independent_rows:.0f}). With fewer than {FEW_GROUPS},"
            " intervals may be too narrow; assess more clusters"
        )


def _warnings_of_samples(found: Sampled) -> Iterator[str]:
    if found.doubtful:
        names = " and ".join(name.replace("_", " ") for name in found.doubtful)
        plural = len(found.doubtful) > 1
        yield (
            f"no errors were seen among the most extreme predictions, so that their rate is unknown: the"
            f" interval{'s' if plural else ''} of {names} cover{'' if plural else 's'} both none and as many as the"
            " trend suggests"
        )
