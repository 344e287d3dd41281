"""An event's forecasts in one period, counted in cells of the predicted probability: what monitoring reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._lib.elementary import logit
from .._lib.typing import Floats
from ..kernels.rows import COARSE, COARSE_CELLS
from ..tally.tables import Pairs


class EventCounts(NamedTuple):
    """Forecasts of one event in cells. Those of exactly 0 or 1 are apart: any error refutes them."""

    p: Floats
    """Mean predicted probability in each cell: a mean, so that evidence is valid at any width of the cells."""
    total: Floats
    """How many forecasts there are."""
    positive: Floats
    """How often the event was observed; NaN where outcomes are not known."""
    certain: float = 0.0
    """How many forecasts of exactly 0 or 1 there are, and how many of them were wrong."""
    certain_and_wrong: float = 0.0

    @classmethod
    def of(cls, pairs: Pairs) -> EventCounts:
        """Count pairs in cells of relative width 1/8 in the distance from the nearer of 0 and 1."""
        p, positive, total = (np.asarray(column, dtype=np.float64) for column in pairs)
        sure = (p <= 0) | (p >= 1)
        wrong = float(np.where(p[sure] <= 0, positive[sure], total[sure] - positive[sure]).sum())
        certain = float(total[sure].sum())
        p, positive, total = p[~sure], positive[~sure], total[~sure]
        code, _ = COARSE.places(p)
        counted = np.bincount(code, total, COARSE_CELLS).astype(np.float64)
        some = counted > 0
        mean = np.bincount(code, total * p, COARSE_CELLS)[some] / counted[some]
        return cls(
            mean, counted[some], np.bincount(code, positive, COARSE_CELLS)[some].astype(np.float64), certain, wrong
        )

    @property
    def rows(self) -> float:
        """How many forecasts there are, certain ones among them."""
        return float(self.total.sum()) + self.certain

    @property
    def log_odds(self) -> Floats:
        """Predicted log-odds of each cell."""
        return np.asarray(logit(self.p))

    @classmethod
    def together(cls, parts: Sequence[EventCounts]) -> EventCounts:
        """Put several counts together; cells stay apart."""
        if len(parts) == 1:
            return parts[0]
        p, total, positive = (np.concatenate([each[at] for each in parts]) for at in (0, 1, 2))
        certain, wrong = (sum(float(each[at]) for each in parts) for at in (3, 4))
        return cls(p, total, positive, certain, wrong)

    def merged(self) -> EventCounts:
        """Count equal cells together."""
        apart = self._replace(certain=0.0, certain_and_wrong=0.0)
        once = EventCounts.of(Pairs(apart.p, apart.positive, apart.total))
        return once._replace(certain=self.certain, certain_and_wrong=self.certain_and_wrong)

    def unobserved(self) -> EventCounts:
        """The same predictions, without outcomes."""
        return self._replace(positive=np.full_like(self.positive, np.nan), certain_and_wrong=0.0)

    def log_chance_of_same(self) -> float:
        """Bound the logarithm of the probability that outcomes of the same predictions are counted the same again.

        For binomial counts of variance v it is at most 1 / sqrt(1 + 4 v) in a cell; 0 for unknown outcomes.
        """
        if np.isnan(self.positive).any():
            return 0.0
        return -0.5 * float(np.log1p(4 * self.total * self.p * (1 - self.p)).sum())

    def same(self, other: EventCounts) -> bool:
        """Whether both counted the same."""
        return self.p.size == other.p.size and all(
            np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True) for a, b in zip(self, other, strict=True)
        )

    @property
    def mean(self) -> float:
        """Mean prediction, without forecasts of exactly 0 or 1."""
        return float(self.total @ self.p / self.total.sum())

    @property
    def frequency(self) -> float:
        """Observed frequency, without forecasts of exactly 0 or 1."""
        return float(self.positive.sum() / self.total.sum())

    @property
    def log_loss(self) -> float:
        """Mean log loss in nats of the event, without forecasts of exactly 0 or 1."""
        lost = self.positive @ np.log(self.p) + (self.total - self.positive) @ np.log1p(-self.p)
        return float(-lost / self.total.sum())
