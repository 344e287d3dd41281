"""The formulas of scoring rules: one each, on arrays of any library.

Most are functions of the per-row primitives (`Primitives`) and of the library's functions ``xp`` (``numpy``, ``torch``,
``keras.ops`` or ``jax.numpy``): blocks of rows, tensors of a metric and training losses call the same one. Those that
read the whole row, or take an order, come after them and take NumPy arrays. To add a rule of the first kind, write its
formula here and name it in `RULES`: tallies, metrics, scorers, the command line and reports then have it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._lib.typing import Floats
from ..forecasts.forecasts import Block
from ..kernels.rows import Rows
from ..kernels.softmax import row_sums
from ..statistics.means import apply_limit
from ..theory.coupled import expm1_ratio

KERAS_EPSILON = 1e-7
"""Least probability of Keras' cross-entropy, by its default."""

Array = Any
"""An array of the library at hand."""


class Primitives(Protocol):
    """What a rule may know of rows."""

    @property
    def correct(self) -> Array:
        """Probability of the observed class."""

    @property
    def squares(self) -> Array:
        """Sum of the squared probabilities."""

    @property
    def hit(self) -> Array:
        """1 where the observed class is alone on top, 1/k where it is one of k on top, else 0."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""


class PrimitiveArrays(NamedTuple):
    """Primitives of rows in arrays of any library; `Rows` has those of NumPy."""

    correct: Array
    squares: Array
    hit: Array
    n_classes: int


Formula = Callable[[Primitives, Any], Array]


def log_loss(rows: Primitives, xp: Any) -> Array:
    """Return -ln p of the observed class; smaller is better (Good 1952)."""
    return 0.0 - xp.log(rows.correct)  # no negative zero


def brier_score(rows: Primitives, xp: Any) -> Array:
    """Return the squared distance to the outcome, summed over classes; smaller is better (Brier 1950)."""
    # Never below 0: where (1 - p)^2 is less than the rounding of p^2, 1 - 2p and that rounded square are multiples of
    # 2^-53 that differ by less than one of them.
    return 1 - 2 * rows.correct + rows.squares


def spherical_score(rows: Primitives, xp: Any) -> Array:
    """Return the cosine of the angle to the outcome; larger is better (Roby 1965)."""
    return rows.correct / xp.sqrt(rows.squares)  # never above 1: sqrt of a rounded square gives it back


def brier_penalty(n_classes: int) -> float:
    """Return what a wrong top class adds to the Brier score: as much as a uniform forecast has."""
    return (n_classes - 1) / n_classes


def log_penalty(n_classes: int) -> float:
    """Return what a wrong top class adds to the log loss: as much as a uniform forecast has."""
    return math.log(n_classes)


def penalized_brier_score(rows: Primitives, xp: Any) -> Array:
    """Return the Brier score plus (C - 1)/C for a wrong top class; smaller is better (Ahmadian et al. 2025)."""
    return brier_score(rows, xp) + brier_penalty(rows.n_classes) * (1 - rows.hit)


def penalized_log_loss(rows: Primitives, xp: Any) -> Array:
    """Return the log loss plus ln C for a wrong top class; smaller is better (Ahmadian et al. 2025)."""
    return log_loss(rows, xp) + log_penalty(rows.n_classes) * (1 - rows.hit)


def published_brier_score(rows: Rows) -> Floats:
    """Return the penalized Brier score as its authors' code has it: a mean over classes, no penalty for ties."""
    brier: Floats = brier_score(rows, np)
    return brier / rows.n_classes + brier_penalty(rows.n_classes) * (rows.correct < rows.highest)


def published_log_loss(rows: Rows) -> Floats:
    """Return the penalized log loss as its authors' code has it: Keras' cross-entropy, no penalty for ties."""
    clipped = np.clip(rows.correct / rows.total, KERAS_EPSILON, 1 - KERAS_EPSILON)
    return surprisal(clipped) + log_penalty(rows.n_classes) * (rows.correct < rows.highest)


def surprisal(p: Floats, r: float = 0.0) -> Floats:
    """Return -(1+r)/r (p^r - 1), at r = 0 its limit -ln p; infinite at p = 0 unless r > 0; smaller is better."""
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    return 0.0 - (log_p if r == 0 else (1 + r) * expm1_ratio(r, log_p))  # no negative zero


def generalized_surprisal(block: Block, r: float, floor: float = 0.0) -> Floats:
    """Return the surprisal of order r of each row, of a probability that is at least the floor."""
    return surprisal(apply_limit(block.rows.correct, floor), r)


def power_score(block: Block, r: float) -> Floats:
    """Return the surprisal of order r made proper; smaller is better (Selten 1998)."""
    # The sum is not divided by r, so its plain form loses nothing near r = 0. What the row's own sum is off by
    # stays in it as it is: it belongs to the rule, which is proper for rows of any sum.
    powers = row_sums(np.power(block.probabilities, 1 + r, dtype=np.float64))
    return np.maximum(surprisal(block.rows.correct, r) + (powers - 1), 0.0)


def ranked_probability_score(block: Block) -> Floats:
    """Return the squared distance of cumulative probabilities, for ordered classes; smaller is better (Murphy 1971)."""
    # Row by row in memory, so that a row's sum does not depend on the layout in which it came.
    steps = np.cumsum(np.ascontiguousarray(block.probabilities[:, :-1]), axis=1, dtype=np.float64)
    steps -= block.truth[:, None] <= np.arange(steps.shape[1])
    return np.asarray(np.einsum("ij,ij->i", steps, steps))


RowRule = Callable[[Block], Floats]


@dataclass(frozen=True)
class Score:
    """A scoring rule: one value for each row, and what is to be known about it."""

    name: str
    rows: RowRule
    """Unfloored values of a block's rows: never NaN, and infinite where the rule is."""
    larger_is_better: bool = False
    proper: bool = True
    """Whether no forecast can be expected to score better than one's belief."""
    note: str = ""
    """A few words for tables."""
    headline: bool = False
    """Whether the printed assessment shows it."""
    surprisal: bool = False
    """Whether it is infinite where the observed class had probability 0, unless that is raised to a floor."""
    formula: Formula | None = None
    """The same of the per-row primitives in any array library; None where these do not suffice."""

    @property
    def better(self) -> str:
        """Which values are better, in a word."""
        return "larger" if self.larger_is_better else "smaller"


def _of_primitives(formula: Formula, **facts: Any) -> Score:
    return Score(formula.__name__, partial(_of_block, formula), formula=formula, **facts)


def _of_block(formula: Formula, block: Block) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(formula(block.rows, np))


RULES = (
    _of_primitives(log_loss, note="nats, no floor", headline=True, surprisal=True),
    _of_primitives(brier_score, note="summed over classes", headline=True),
    _of_primitives(spherical_score, larger_is_better=True, note="cosine to the outcome"),
    _of_primitives(penalized_brier_score, note="ties share the penalty"),
    _of_primitives(penalized_log_loss, note="ties share the penalty", surprisal=True),
)
"""Rules whose sums every tally keeps, in this order."""
