"""An event's forecasts in one period, counted in cells of the predicted probability: what monitoring reads."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from scipy.special import entr, logsumexp

from .._lib.elementary import logit
from .._lib.errors import InputError
from .._lib.typing import Floats
from ..kernels.logarithms import log_odds
from ..kernels.rows import COARSE, COARSE_CELLS
from ..tally.tables import Pairs
from ..tally.tally import Tally, pairs_by_class
from .nodes import Nodes
from .requirements import Requirement


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
        return log_chance_of_same(self.total, self.p)

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


def log_chance_of_same(total: Floats | float, p: Floats) -> float:
    """Bound the logarithm of the probability that binomial counts are the same again."""
    return -0.5 * float(np.log1p(4 * total * p * (1 - p)).sum())


_RATES: Floats = np.asarray(0.9 * 2.0 ** -np.arange(13), dtype=np.float64)
"""Shares of the most that can be bet: with more a loss of 0 would take all."""


class _Score(NamedTuple):
    """A score as a loss from 0 up: that of an event predicted with p that occurs; a right 0 or 1 costs nothing."""

    loss: Callable[[Floats], Floats]
    of_cell: Callable[[Floats], Floats]
    """Largest excess of the loss of a cell's mean over the mean of its losses, by the distance u of that mean from the
    nearer of 0 and 1, if forecasts are calibrated. In a cell from a <= u to 9/8 a they have a variance of at most
    (a/16)^2, and the second derivative of the expected loss is at most 1/(a (1 - a)), or 4 for the Brier score."""
    of_wrong: float
    """Loss of a prediction of exactly 0 or 1 that is wrong."""


_SCORES = {
    "log_loss": _Score(lambda p: -np.log(p), lambda u: u / (512 * (1 - u)), math.inf),
    "brier_score": _Score(lambda p: 2 * (1 - p) ** 2, lambda u: u * u / 128, 2.0),
    "accuracy": _Score(lambda p: np.where(p == 0.5, 0.5, p < 0.5), np.zeros_like, 1.0),
}


class Kept(NamedTuple):
    """Whether a requirement was kept. Larger evidence is stronger evidence that it was not."""

    requirement: str
    passed: bool
    value: float
    """The mean score over all periods, as `assess` gives it; NaN with periods of a history of version 1."""
    log_evidence: float
    """Natural logarithm of the evidence that the limit is not kept, after all periods."""
    failed: str | None
    """The period after which the evidence reached the limit of the alarm."""


def kept(text: str, names: Sequence[str], series: Sequence[EventCounts], n_classes: int, log_limit: float) -> Kept:
    """Test a requirement on the mean of a score, from cells of the event: "log_loss < 0.4".

    The means of all bets' factors are at most 1 if the expected score of each row is within the limit. Scores of a
    cell are those of its mean prediction, reduced by what calibrated forecasts may at most lose by being counted in it.

    Parameters
    ----------
    text : str
        The requirement, such as ``"log_loss < 0.4"``.
    names : sequence of str
        Names of the periods.
    series : sequence of EventCounts
        Counts of each period: of the positive class, or of the most probable one.
    n_classes : int
        Number of classes.
    log_limit : float
        Natural logarithm of the evidence at which the requirement has failed.
    """
    wanted = Requirement.parse(text)
    score, limit = _checked(wanted, n_classes)
    top = wanted.name == "accuracy" and n_classes > 2
    factors = []
    for counts in series:
        losses, of_cells, weights = _losses(counts, score, top)
        factors.append(np.log1p(np.outer(_RATES, (losses - of_cells) / limit - 1)) @ weights)
    evidence = logsumexp(np.cumsum(factors, axis=0), axis=1) - math.log(_RATES.size)
    above = np.flatnonzero(evidence >= log_limit)
    counts = EventCounts.together(series)
    value = math.nan if counts.scores is None else float(getattr(counts.scores, wanted.name)) / counts.rows
    return Kept(wanted.text, not above.size, value, float(evidence[-1]), names[above[0]] if above.size else None)


def _losses(counts: EventCounts, score: _Score, top: bool) -> tuple[Floats, Floats, Floats]:
    """Give the losses that occurred, what may be due to cells, and how often each occurred.

    For the most probable class any that is missed costs 1.
    """
    right, wrong = counts.certain - counts.certain_and_wrong, counts.certain_and_wrong
    if_true, if_false = score.loss(counts.p), score.loss(1 - counts.p)
    if top:
        if_true, if_false = np.zeros_like(counts.p), np.ones_like(counts.p)
    of_cell = score.of_cell(np.minimum(counts.p, 1 - counts.p))
    losses = np.concatenate([if_true, if_false, [0.0, score.of_wrong]])
    of_cells = np.concatenate([of_cell, of_cell, [0.0, 0.0]])
    weights = np.concatenate([counts.positive, counts.total - counts.positive, [right, wrong]])
    there = weights > 0
    return losses[there], of_cells[there], weights[there]


def _checked(wanted: Requirement, n_classes: int) -> tuple[_Score, float]:
    allowed = _SCORES if n_classes == 2 else {"accuracy": _SCORES["accuracy"]}
    if wanted.name not in allowed or wanted.end:
        raise InputError(
            f"require (--require): {wanted.text!r}: over time, requirements are on {', '.join(allowed)}"
            f"{' for two classes' if n_classes == 2 else ' for more than two classes'}."
        )
    if wanted.upward != (wanted.name == "accuracy"):
        raise InputError(f"require (--require): {wanted.text!r}: the better side of the limit is the other one.")
    limit = 1 - wanted.limit if wanted.name == "accuracy" else wanted.limit
    if not limit > 0:
        raise InputError(f"require (--require): {wanted.text!r}: only perfect forecasts are within this limit.")
    return _SCORES[wanted.name], limit
