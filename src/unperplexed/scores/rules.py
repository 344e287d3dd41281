"""The formulas of scoring rules: one each, on arrays of any library.

Most are functions of the per-row primitives (`Primitives`) and of the library's functions ``xp`` (``numpy``, ``torch``,
``keras.ops`` or ``jax.numpy``): blocks of rows, tensors of a metric and training losses call the same one. Those that
read the whole row, or take an order, come after them and take blocks. To add a rule of the first kind, write its
formula here and name it in `RULES`: tallies, metrics, scorers, the command line and reports then have it.

Rules by name are below, one value for each row of a block. `SCORES` has those that need only the per-row primitives;
tallies, metrics, the command line and reports compute them. The others read the whole row, or take a parameter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._lib.arrays import one_number
from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError
from .._lib.formatting import at_floor_text, rule_text
from .._lib.typing import AnyFloats, Codes, Floats
from ..forecasts.forecasts import Block, Forecasts
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


def half_brier_score(rows: Primitives, xp: Any) -> Array:
    """Return the Brier score of two classes as one term, (p - y)^2: half of `brier_score`; smaller is better."""
    if rows.n_classes != 2:
        raise InputError("metrics (--metric): 'half_brier_score' is of two classes; take brier_score.")
    return brier_score(rows, xp) / 2


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
    return ranked_distances(block.probabilities, block.truth)


def ranked_distances(p: AnyFloats, truth: Codes | Floats) -> Floats:
    """Return the same of probabilities of shape (n, C) and the numbers of the observed classes."""
    # Row by row in memory, so that a row's sum does not depend on the layout in which it came.
    steps = np.cumsum(np.ascontiguousarray(p[:, :-1]), axis=1, dtype=np.float64)
    steps -= truth[:, None] <= np.arange(steps.shape[1])
    return np.asarray(np.einsum("ij,ij->i", steps, steps))


RowRule = Callable[[Block], Floats]


class Score(Frozen):
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


SCORES: Mapping[str, Score] = MappingProxyType({score.name: score for score in RULES})
"""Scoring rules by name that are functions of the per-row primitives; every tally keeps their sums."""

LOG_LOSS, BRIER_SCORE = "log_loss", "brier_score"
"""Rules that every verdict on differences goes by; both proper, and better when smaller."""


_RANKED = Score("ranked_probability_score", ranked_probability_score, note="for ordered classes")

_HALF = _of_primitives(half_brier_score, note="two classes, of the event alone")

_PARAMETRIC: Mapping[str, Callable[[float, str], Score]] = {
    "generalized_surprisal": lambda r, name: Score(
        name, partial(generalized_surprisal, r=r), proper=r == 0, note="proper only of order 0", surprisal=True
    ),
    "power_score": lambda r, name: Score(name, partial(power_score, r=r), note="proper at every order"),
}


_PRINTED = {
    "accuracy": "accuracy > 0.8",
    "auc": "auc > 0.8",
    "averages_slope": "averages_slope > 0.5",
    "bias": "bias < 0.01",
    "cost": "cost < 0.01",
    "ece": "ece < 0.02",
    "intercept": "intercept < 0.1",
    "slope": "slope > 0.8",
}
"""Metrics that are no means of scores over rows, each with a requirement."""


def score_named(name: str) -> Score:
    """Find a scoring rule by its name, with an order in brackets if it has one. `Score` states the better direction.

    Parameters
    ----------
    name : str
        A name in `SCORES`, ``"ranked_probability_score"``,
        ``"half_brier_score"``, ``"power_score(r)"`` or
        ``"generalized_surprisal(r)"`` with a number r above -1.

    Returns
    -------
    Score
        The rule; its name has the order in its shortest form.

    Raises
    ------
    InputError
        For an unknown name, with the list of names; for an order that is not a
        finite number above -1.

    Examples
    --------
    >>> from unperplexed.scores import score_named
    >>> score_named("power_score(.50)").name
    'power_score(0.5)'
    >>> score_named("spherical_score").larger_is_better
    True
    """
    plain = {**SCORES, _RANKED.name: _RANKED, _HALF.name: _HALF}
    if isinstance(name, str) and name in plain:
        return plain[name]
    parts = re.fullmatch(r"(\w+)\((.*)\)", str(name))
    if parts and parts[1] in _PARAMETRIC:
        r = checked_order(parts[2])
        return _PARAMETRIC[parts[1]](r, f"{parts[1]}({repr(r).removesuffix('.0')})")
    if isinstance(name, str) and name in _PRINTED:
        raise InputError(
            f"metrics (--metric): {name!r} is no scoring rule: assessments print it where it is known, and a gate"
            f" takes it, such as check --require '{_PRINTED[name]}'."
        )
    known = [*plain, *(f"{rule}(r)" for rule in _PARAMETRIC)]
    near = get_close_matches(str(name), known, n=1)
    raise InputError(
        f"metrics: no scoring rule {name!r}{f'; did you mean {near[0]!r}?' if near else '.'} Known: {', '.join(known)}."
    )


def is_printed(rule: str, asked: Sequence[str]) -> bool:
    """Whether text has a rule: one that it has unasked, or that was asked for by name."""
    return rule not in SCORES or SCORES[rule].headline or rule in asked


def scores_kept(names: Sequence[str]) -> tuple[Score, ...]:
    """Rules of `SCORES`, followed by the other named ones, in an order that does not depend on that of the names."""
    if isinstance(names, str):
        raise InputError(f"metrics: expected a list of names, got {names!r}; one is [{names!r}].")
    others = {score.name: score for score in map(score_named, names) if score.name not in SCORES}
    return (*SCORES.values(), *(others[name] for name in sorted(others)))


def scores_at_floor(score: Score, block: Block, floor: float) -> Floats:
    """Score of each row; surprisals clip the correct-class probability to the floor, so that they are finite."""
    if score.surprisal:
        block = replace(block, rows=replace(block.rows, correct=apply_limit(block.rows.correct, floor)))
    return score.rows(block)


def rule_at_floor(rule: str, floor: float) -> str:
    """Name a scoring rule in words, a surprisal with its floor: "log loss at the floor 0.005"; 0 for none."""
    return f"{rule_text(rule)} {at_floor_text(floor)}" if floor and score_named(rule).surprisal else rule_text(rule)


def scores_by_outcome(score: Score, block: Block, floor: float = 0.0) -> Floats:
    """Score that each row would have for each possible outcome: (rows, classes). Surprisals are at the floor."""
    classes = range(block.rows.n_classes)
    return np.stack([scores_at_floor(score, block.if_true(code), floor) for code in classes], axis=1)


def score_reach(score: Score, n_classes: int, floor: float = 0.0) -> tuple[float, float]:
    """Smallest and largest score of a row; surprisals are at the floor.

    Both occur for a forecast that is certain of the first class: if it is observed, and if another class (for ordered
    classes the last) is.
    """
    certain, truth = np.zeros((2, n_classes)), np.array([0, n_classes - 1])
    certain[:, 0] = 1
    block = next(Forecasts(truth, certain, known_labels=tuple(range(n_classes))).blocks())
    values = scores_at_floor(score, block, floor)
    return float(values.min()), float(values.max())


def checked_order(r: Any) -> float:
    """Raise an error for an order that is not a finite number above -1."""
    order = one_number(r)
    if not -1 < order < np.inf:
        raise InputError(f"r: the order must be a finite number above -1, got {r!r}.")
    return order + 0.0  # no negative zero
