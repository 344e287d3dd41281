"""Rows in groups of about equal size by predicted probability: what a reliability diagram shows as points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._lib.typing import Floats, ReadOnlyArrays
from ..statistics.intervals import Interval, wilson
from ..tally.tables import Pairs


@dataclass(frozen=True)
class ProbabilityGroups(ReadOnlyArrays):
    """Groups in increasing order of predicted probability; one array entry a group."""

    lowest: Floats
    highest: Floats
    """Smallest and largest predicted probability."""
    mean: Floats
    """Mean predicted probability."""
    observed: Floats
    """Observed frequency."""
    total: Floats
    """Weight of the rows."""
    variance: Floats
    """Mean of p (1 - p): variance of one outcome, were the predictions calibrated."""

    def __len__(self) -> int:
        """Count the groups."""
        return self.total.size

    def intervals(self, reach: float) -> list[Interval]:
        """Wilson's interval of each observed frequency, so many standard errors wide; for independent rows."""
        return [wilson(*pair, reach) for pair in zip(self.observed.tolist(), self.total.tolist(), strict=True)]


def probability_groups(pairs: Pairs, groups: int) -> ProbabilityGroups:
    """Group pairs by predicted probability into at most so many groups of about equal weight.

    Equal probabilities stay together: all go to the group in which the middle one of them lies.

    Parameters
    ----------
    pairs : Pairs
        Predicted probabilities in increasing order, weights of events and of all rows.
    groups : int
        Number of groups, at most.

    Returns
    -------
    ProbabilityGroups

    Examples
    --------
    >>> from unperplexed import Tally
    >>> pairs = Tally.of([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8]).positive_pairs()
    >>> probability_groups(pairs, 2).observed.tolist()
    [0.5, 0.5]
    """
    p, happened, total = pairs
    middle = np.cumsum(total) - total / 2
    share = np.minimum(np.floor(middle * (groups / total.sum()) * (1 + 1e-9)), groups - 1)
    first = np.flatnonzero(np.diff(share, prepend=-1.0))
    last = np.append(first[1:], p.size) - 1
    weight, events, mean, variance = (
        np.add.reduceat(x, first) for x in (total, happened, p * total, p * (1 - p) * total)
    )
    return ProbabilityGroups(p[first], p[last], mean / weight, events / weight, weight, variance / weight)
