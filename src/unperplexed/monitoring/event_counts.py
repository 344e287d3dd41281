"""An event's forecasts in one period, counted in cells of the predicted probability: what monitoring reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.special import entr

from .._lib.elementary import logit
from .._lib.typing import Floats
from ..kernels.logarithms import log_odds
from ..kernels.rows import COARSE, COARSE_CELLS
from ..tally.tables import Pairs
from ..tally.tally import Tally
from ..tally.views import pairs_by_class
from .nodes import Nodes


class Scores(NamedTuple):
    """Sums over all rows, of all classes: those that `assess` gives the means of."""

    log_loss: float
    brier_score: float
    accuracy: float
    classes: tuple[float, ...]
    """How often each class was observed; () where that is not known."""

    @classmethod
    def of(cls, tally: Tally) -> Scores:
        """Sum the scores of a tally, of which a file of an earlier version may lack some."""
        log_loss, brier = (
            tally.score(name) * tally.n_rows if name in tally.scores else math.nan
            for name in ("log_loss", "brier_score")
        )
        known = pairs_by_class(tally, "each-class") if tally.knows_classes else ()
        observed = [float(each.happened.sum()) for each in known]
        classes = [tally.n_rows - observed[0], *observed] if tally.n_classes == 2 and observed else observed
        return cls(log_loss, brier, tally.prediction_accuracy * tally.n_rows, tuple(classes))

    def plus(self, other: Scores) -> Scores:
        """Add those of other rows."""
        classes = (a + b for a, b in zip(self.classes, other.classes, strict=False))
        log_loss, brier = self.log_loss + other.log_loss, self.brier_score + other.brier_score
        return Scores(log_loss, brier, self.accuracy + other.accuracy, tuple(classes))


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
    nodes: Nodes | None = None
    """All rows at a few log-odds, from which figures are computed; evidence is from cells.

    None where outcomes are not known, and in a history of version 1.
    """
    scores: Scores | None = None

    @classmethod
    def of(cls, pairs: Pairs, scores: Scores | None = None) -> EventCounts:
        """Count pairs in cells of relative width 1/8 in the distance from the nearer of 0 and 1."""
        p, positive, total = (np.asarray(column, dtype=np.float64) for column in pairs)
        sure = (p <= 0) | (p >= 1)
        wrong = float(np.where(p[sure] <= 0, positive[sure], total[sure] - positive[sure]).sum())
        certain = float(total[sure].sum())
        nodes = Nodes.of(log_odds(p[:, None], "probability"), total, positive)
        p, positive, total = p[~sure], positive[~sure], total[~sure]
        code, _ = COARSE.places(p)
        counted = np.bincount(code, total, COARSE_CELLS).astype(np.float64)
        some = counted > 0
        mean = np.bincount(code, total * p, COARSE_CELLS)[some] / counted[some]
        observed = np.bincount(code, positive, COARSE_CELLS)[some].astype(np.float64)
        return cls(mean, counted[some], observed, certain, wrong, nodes, scores)

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
        certain, wrong = sum(each.certain for each in parts), sum(each.certain_and_wrong for each in parts)
        nodes = [each.nodes for each in parts if each.nodes is not None]
        scores = [each.scores for each in parts if each.scores is not None]
        return cls(
            p,
            total,
            positive,
            certain,
            wrong,
            Nodes.together(nodes) if len(nodes) == len(parts) else None,
            reduce(Scores.plus, scores) if len(scores) == len(parts) else None,
        )

    def unobserved(self) -> EventCounts:
        """The same predictions, without outcomes."""
        unknown = np.full_like(self.positive, np.nan)
        return self._replace(positive=unknown, certain_and_wrong=0.0, nodes=None, scores=None)

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
            np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)
            for a, b in zip(self[:5], other[:5], strict=True)
        )

    @property
    def at(self) -> Nodes:
        """All rows at their log-odds, or but for certain ones at those of the cells, where no more is known."""
        return Nodes(self.log_odds, self.total, self.positive) if self.nodes is None else self.nodes

    @property
    def log_loss(self) -> float:
        """Mean log loss in nats; NaN where it is not known."""
        return math.nan if self.scores is None else self.scores.log_loss / self.rows

    @property
    def skill(self) -> float:
        """1 minus the log loss over that of the frequencies of the classes in these rows; NaN where not known."""
        observed = np.array(() if self.scores is None else self.scores.classes)
        reference = float(entr(observed / observed.sum()).sum()) if observed.size else 0.0
        return 1 - self.log_loss / reference if reference > 0 and math.isfinite(self.log_loss) else math.nan
