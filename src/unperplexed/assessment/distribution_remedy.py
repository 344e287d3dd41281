"""What recalibration of miscalibrated predictive distributions brings: the gain, and the score after it."""

from __future__ import annotations

import math

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import ByValue
from ..calibration.distribution_rows import DistributionRows
from ..forecasts.distributions.partitions import Samples
from ..recalibration.distributions import fit_distributions
from ..recalibration.gain import Gain
from ..scores.distributions.rules import distribution_score_named
from ..statistics.intervals import Metric

_SCORED = 20_000
"""Rows at most by which the change of the score is told; of more, so many in even steps."""


class DistributionRemedy(ByValue):
    """Recalibration of predictive distributions, cross-fitted. Made as ``DistributionAssessment.remedy``."""

    words: str
    """What the map does: "shift up by 0.58 spreads and widen 1.29 times, averaged with other maps"."""
    advised: bool
    """Whether the gain is significant, and the average of maps is not mostly none."""
    gain: Gain
    """Log score before and after, and their difference, at the resolution of the forecasts."""
    score: str
    """Name of the score that is told first; "" of PIT values, which have none. Of members the plain CRPS, as these are
    no draws any more once they are moved."""
    after: float
    """This score after recalibration. Smaller is better."""
    saved: Metric
    """By how much recalibration lowers it: its calibration part. Larger is better."""

    @property
    def before(self) -> float:
        """This score before recalibration."""
        return self.after + self.saved.value


def remedy_of_distributions(
    rows: DistributionRows, score: str, before: float, confidence: float
) -> DistributionRemedy | None:
    """Fit the remedy; None of too few rows or clusters.

    Parameters
    ----------
    rows : DistributionRows
        Outcomes and forecasts.
    score : str
        Name of the score that is told first, or "".
    before : float
        Its mean.
    confidence : float
        Confidence level of the interval of its change.
    """
    possible = rows.only(np.flatnonzero(~rows.rows.impossible))
    try:
        found = fit_distributions(possible)
    except InputError:  # a single quantile, or fewer clusters than folds
        return None
    if found.gain is None or found.held_out is None:
        return None
    saved, n = Metric(math.nan), possible.rows.n
    if isinstance(rows.forecast, Samples):
        score = "plain_crps"
        before = rows.means.mean(distribution_score_named(score).rows(rows.y, rows.forecast))
    if score:
        some = np.unique(np.linspace(0, n - 1, min(n, _SCORED)).astype(np.int64))
        part, rule = possible.only(some), distribution_score_named(score).rows
        change = rule(part.y, part.forecast) - found.held_out.scored(rule, possible.y, possible.forecast, some)
        saved = part.means.metric(change, confidence)
    advised = found.gain.significant and found.identity <= 0.5
    return DistributionRemedy(found.words, advised, found.gain, score, before - saved.value, saved)
