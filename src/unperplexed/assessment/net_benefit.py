"""Net benefit of acting at thresholds, with what follows from it, and their pointwise confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._lib.typing import Bools, Floats, ReadOnlyArrays
from ..statistics.threshold_cells import (
    FALSE_NEGATIVE,
    FALSE_POSITIVE,
    TRUE_NEGATIVE,
    TRUE_POSITIVE,
    ThresholdCells,
)


@dataclass(frozen=True)
class NetBenefit(ReadOnlyArrays):
    """Net benefit of one rule for acting. Each array has one value a threshold."""

    net_benefit: Floats
    """Share of true positives minus share of false positives times t / (1 - t). Larger is better."""
    low: Floats
    high: Floats
    """Pointwise confidence interval."""
    standardized: Floats
    """Net benefit divided by the observed frequency: 1 for perfect decisions. Larger is better."""
    standardized_low: Floats
    standardized_high: Floats
    avoided: Floats
    """Net interventions avoided a row, compared with acting on all rows, at no loss in true positives. Larger is
    better."""
    avoided_low: Floats
    avoided_high: Floats
    acted_on: Floats
    """Share of the rows that are acted on."""
    true_positives: Floats
    """Share of all rows that are acted on and positive."""
    false_positives: Floats
    """Share of all rows that are acted on and negative."""

    @property
    def useful(self) -> Bools:
        """Where the net benefit is significantly above both that of acting on all rows and that of acting on none."""
        with np.errstate(invalid="ignore"):
            return np.asarray((self.low > 0) & (self.avoided_low > 0))


def net_benefit(cells: ThresholdCells, at: Floats, confidence: float) -> NetBenefit:
    """Return the net benefit of counted decisions."""
    odds = at / (1 - at)
    worth, spared, positive = np.zeros((3, at.size, 4))
    worth[:, TRUE_POSITIVE], worth[:, FALSE_POSITIVE] = 1.0, -odds
    spared[:, TRUE_NEGATIVE], spared[:, FALSE_NEGATIVE] = 1.0, -1 / odds
    positive[:, [FALSE_NEGATIVE, TRUE_POSITIVE]] = 1.0
    mean, avoided, frequency = (cells.means(values) for values in (worth, spared, positive))
    limits = cells.limits(TRUE_POSITIVE, FALSE_POSITIVE, odds, confidence)
    avoided_limits = cells.limits(TRUE_NEGATIVE, FALSE_NEGATIVE, 1 / odds, confidence)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(frequency > 0, mean / frequency, np.nan)
        # A ratio of two means varies as the mean of (numerator - ratio * denominator) / mean denominator.
        errors = cells.standard_errors(worth - ratio[:, None] * positive)
        wider = np.where(errors > 0, errors / cells.standard_errors(worth), 1.0)
        low, high = (ratio + wider * (limit - mean) / frequency for limit in limits)
    return NetBenefit(
        net_benefit=mean,
        low=limits[0],
        high=limits[1],
        standardized=ratio,
        standardized_low=low,
        standardized_high=high,
        avoided=avoided,
        avoided_low=avoided_limits[0],
        avoided_high=avoided_limits[1],
        acted_on=cells.shares[:, [FALSE_POSITIVE, TRUE_POSITIVE]].sum(axis=1),
        true_positives=cells.shares[:, TRUE_POSITIVE].copy(),
        false_positives=cells.shares[:, FALSE_POSITIVE].copy(),
    )


def exactly_zero(rule: NetBenefit, *fields: str) -> NetBenefit:
    """Return a rule with limits of 0 where its definition says 0."""
    return replace(rule, **{field: np.zeros_like(rule.low) for field in fields})
