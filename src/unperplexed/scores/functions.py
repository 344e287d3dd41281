"""Scoring rules: one value for each row, and their means.

A rule is a function of a `Block` of rows. Those that need no more of it than the per-row primitives are in `SCORES`,
over which tallies, the command line and reports iterate; the others read the whole row, or take a parameter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from .._lib.errors import InputError, check_choice
from .._lib.typing import Floats
from ..forecasts.forecasts import Block, Forecasts, Notes
from ..forecasts.labels import Label
from ..kernels.rows import row_primitives, row_sums
from ..statistics.means import apply_limit, weighted_sum
from ..theory.coupled import expm1_ratio

RowRule = Callable[[Block], Floats]
Variant = Literal["proper", "published-code"]
T = TypeVar("T")

_KERAS_EPSILON = 1e-7


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
    """Whether it is one, infinite where 0 was given to what happened unless that is raised to a floor."""

    @property
    def better(self) -> str:
        """Which values are better, in a word."""
        return "larger" if self.larger_is_better else "smaller"


def _surprisal(p: Floats, r: float = 0.0) -> Floats:
    """Give -(1+r)/r (p^r - 1), at r = 0 its limit -ln p; infinite at p = 0 unless r > 0."""
    with np.errstate(divide="ignore"):
        log_p = np.log(p)
    return 0.0 - (log_p if r == 0 else (1 + r) * expm1_ratio(r, log_p))  # no negative zero


def _log_loss(block: Block) -> Floats:
    return _surprisal(block.rows.correct)


def _brier_score(block: Block) -> Floats:
    # Never below 0: where (1 - p)^2 is less than the rounding of p^2, 1 - 2p and that rounded square are multiples of
    # 2^-53 that differ by less than one of them.
    return 1 - 2 * block.rows.correct + block.rows.squares


def _spherical_score(block: Block) -> Floats:
    return block.rows.correct / np.sqrt(block.rows.squares)  # never above 1: sqrt of a rounded square gives it back


def _penalized_brier_score(block: Block) -> Floats:
    classes = block.rows.n_classes
    return _brier_score(block) + (classes - 1) / classes * (1 - block.rows.hit)


def _penalized_log_loss(block: Block) -> Floats:
    return _log_loss(block) + math.log(block.rows.n_classes) * (1 - block.rows.hit)


def _published_brier_score(block: Block) -> Floats:
    """Penalized Brier score as its authors' code has it: a mean over classes, and no penalty for ties."""
    classes = block.rows.n_classes
    return _brier_score(block) / classes + (classes - 1) / classes * (block.rows.correct < block.rows.highest)


def _published_log_loss(block: Block) -> Floats:
    """Penalized log loss as its authors' code has it: Keras' cross-entropy, and no penalty for ties."""
    rows = block.rows
    clipped = np.clip(rows.correct / rows.total, _KERAS_EPSILON, 1 - _KERAS_EPSILON)
    return _surprisal(clipped) + math.log(rows.n_classes) * (rows.correct < rows.highest)


def _ranked_probability_score(block: Block) -> Floats:
    # Row by row in memory, so that a row's sum does not depend on the layout in which it came.
    steps = np.cumsum(np.ascontiguousarray(block.probabilities[:, :-1]), axis=1, dtype=np.float64)
    steps -= block.truth[:, None] <= np.arange(steps.shape[1])
    return np.asarray(np.einsum("ij,ij->i", steps, steps))


def _generalized_surprisal(block: Block, r: float, floor: float = 0.0) -> Floats:
    return _surprisal(apply_limit(block.rows.correct, floor), r)


def _power_score(block: Block, r: float) -> Floats:
    # The sum is not divided by r, so its plain form loses nothing near r = 0. What the row's own sum is off by
    # stays in it as it is: it belongs to the rule, which is proper for rows of any sum.
    powers = row_sums(np.power(block.probabilities, 1 + r, dtype=np.float64))
    return np.maximum(_surprisal(block.rows.correct, r) + (powers - 1), 0.0)


SCORES: Mapping[str, Score] = MappingProxyType(
    {
        score.name: score
        for score in (
            Score("log_loss", _log_loss, note="nats, no floor", headline=True, surprisal=True),
            Score("brier_score", _brier_score, note="summed over classes", headline=True),
            Score("spherical_score", _spherical_score, larger_is_better=True, note="cosine to the outcome"),
            Score("penalized_brier_score", _penalized_brier_score, note="ties share the penalty"),
            Score("penalized_log_loss", _penalized_log_loss, note="ties share the penalty", surprisal=True),
        )
    }
)
"""Scoring rules by name that are functions of the per-row primitives; every tally holds their sums."""

_OTHERS = {
    "ranked_probability_score": Score("ranked_probability_score", _ranked_probability_score, note="for ordered classes")
}


def _generalized_surprisal_of_order(r: float, name: str) -> Score:
    rule = partial(_generalized_surprisal, r=r)
    return Score(name, rule, proper=r == 0, note="proper only of order 0", surprisal=True)


def _power_score_of_order(r: float, name: str) -> Score:
    return Score(name, partial(_power_score, r=r), note="proper at every order")


_PARAMETRIC: Mapping[str, Callable[[float, str], Score]] = {
    "generalized_surprisal": _generalized_surprisal_of_order,
    "power_score": _power_score_of_order,
}


def score_named(name: str) -> Score:
    """Find a scoring rule by name, an order in brackets where it has one. `Score` says which direction is better.

    Parameters
    ----------
    name : str
        A name in `SCORES`, ``"ranked_probability_score"``, ``"power_score(r)"`` or
        ``"generalized_surprisal(r)"`` with a number r above -1.

    Returns
    -------
    Score
        Its name has the order in its shortest form.

    Raises
    ------
    InputError
        For a name that is no rule's, naming those there are; for an order that is no finite number above -1.

    Examples
    --------
    >>> from unperplexed import score_named
    >>> score_named("power_score(.50)").name
    'power_score(0.5)'
    >>> score_named("spherical_score").larger_is_better
    True
    """
    plain = {**SCORES, **_OTHERS}
    if isinstance(name, str) and name in plain:
        return plain[name]
    parts = re.fullmatch(r"(\w+)\((.*)\)", str(name))
    if parts and parts[1] in _PARAMETRIC:
        r = _checked_order(parts[2])
        return _PARAMETRIC[parts[1]](r, f"{parts[1]}({repr(r).removesuffix('.0')})")
    known = [*plain, *(f"{rule}(r)" for rule in _PARAMETRIC)]
    near = get_close_matches(str(name), known, n=1)
    raise InputError(
        f"score: no scoring rule {name!r}{f'; did you mean {near[0]!r}?' if near else '.'} Known: {', '.join(known)}."
    )


def scores_kept(names: Sequence[str]) -> tuple[Score, ...]:
    """Rules of `SCORES`, and then the others of these names, in an order that does not depend on theirs."""
    if isinstance(names, str):
        raise InputError(f"scores: expected a list of names, got {names!r}.")
    others = {score.name: score for score in map(score_named, names) if score.name not in SCORES}
    return (*SCORES.values(), *(others[name] for name in sorted(others)))


def scores_at_floor(score: Score, block: Block, floor: float) -> Floats:
    """Score of each row; of surprisals with what happened raised to the floor, so that it is finite."""
    if score.surprisal:
        block = replace(block, rows=replace(block.rows, correct=apply_limit(block.rows.correct, floor)))
    return score.rows(block)


def scores_by_outcome(score: Score, block: Block, floor: float = 0.0) -> Floats:
    """What each row scores for each class, had it happened: (rows, classes). Surprisals are at the floor."""
    columns = []
    for code in range(block.rows.n_classes):
        columns.append(scores_at_floor(score, block.had(code), floor))
    return np.stack(columns, axis=1)


def score_reach(score: Score, n_classes: int, floor: float = 0.0) -> tuple[float, float]:
    """Smallest and largest score of a row; surprisals are at the floor.

    Rules have both at forecasts that are certain of the first class: if it happens, and if another does, of ordered
    classes the last.
    """
    certain, truth = np.zeros((2, n_classes)), np.array([0, n_classes - 1])
    certain[:, 0] = 1
    block = Block(certain, truth, None, row_primitives(certain, truth), np.arange(2), Notes())
    values = scores_at_floor(score, block, floor)
    return float(values.min()), float(values.max())


def row_scores(
    y_true: Any,
    y_prob: Any,
    score: str = "log_loss",
    *,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
) -> Floats:
    """Score of each row by a rule's name. Smaller is better, but for the spherical score.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        What happened: labels or one-hot rows.
    y_prob : array_like of shape (n,) or (n, C)
        Reported probabilities of the positive class, or of each class.
    score : str, default "log_loss"
        A name that `score_named` knows.
    labels, pos_label : optional
        As in `Forecasts`.

    Returns
    -------
    ndarray of shape (n,)
        Without floor; infinite where the rule is, never NaN.

    Raises
    ------
    InputError
        As `Forecasts` and `score_named`.

    Examples
    --------
    >>> from unperplexed import row_scores
    >>> row_scores([1, 0], [0.8, 0.5], "brier_score").round(2)
    array([0.08, 0.5 ])
    """
    rule = score_named(score).rows
    return Forecasts(y_true, y_prob, labels=labels, pos_label=pos_label).per_row(rule)[0]


def log_loss(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    floor: float = 0.0,
) -> float:
    """Mean negative logarithm, in nats, of the probability given to what happened. Smaller is better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        What happened: labels or one-hot rows.
    y_prob : array_like of shape (n,) or (n, C)
        Reported probabilities of the positive class, or of each class.
    sample_weight : array_like of shape (n,), optional
        Non-negative importance weights.
    labels, pos_label : optional
        As in `Forecasts`.
    floor : float, default 0
        Correct-class probabilities below it are raised to it.

    Returns
    -------
    float
        From 0 (certain and right) to inf (0 given to something that happened); exp of minus it is the
        geometric accuracy at the same floor. Uniform forecasts have ln C.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows.

    Notes
    -----
    ``-sum w ln(p_correct) / sum w`` (Good 1952). Strictly proper with floor 0; local.

    Examples
    --------
    >>> from unperplexed import log_loss
    >>> round(log_loss([1, 0], [0.8, 0.5]), 6)
    0.458145
    """
    rule = partial(_generalized_surprisal, r=0.0, floor=floor)
    return _mean_score(rule, y_true, y_prob, sample_weight, labels, pos_label)


def brier_score(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    normalize: Literal["sum", "half", "mean"] = "sum",
) -> float:
    """Mean squared distance between the reported distribution and what happened. Smaller is better.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    normalize : {"sum", "half", "mean"}, default "sum"
        Over the classes: the sum, Brier's own definition, from 0 to 2; half of it; or the sum divided by C. For
        two classes, both of the latter are the squared error of the positive class's probability.

    Returns
    -------
    float
        From 0 (certain and right) to 2, 1 or 2/C. Uniform forecasts have 1 - 1/C in the sum.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another ``normalize``.

    Notes
    -----
    ``sum_i w_i sum_j (p_ij - y_ij)^2 / sum w`` (Brier 1950). Strictly proper.

    Examples
    --------
    >>> from unperplexed import brier_score
    >>> round(brier_score([1], [[0.33, 0.34, 0.33]]), 4)
    0.6534
    """
    check_choice("normalize", normalize, ("sum", "half", "mean"))

    def rule(block: Block) -> Floats:
        return _brier_score(block) / {"sum": 1, "half": 2, "mean": block.rows.n_classes}[normalize]

    return _mean_score(rule, y_true, y_prob, sample_weight, labels, pos_label)


def spherical_score(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
) -> float:
    """Mean cosine of the angle between the reported distribution and what happened. Larger is better.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.

    Returns
    -------
    float
        From 0 (0 given to everything that happened) to 1 (certain and right). Uniform forecasts have 1/sqrt(C).

    Raises
    ------
    InputError
        As `Forecasts`; for no rows.

    Notes
    -----
    ``sum_i w_i p_i,correct / sqrt(sum_j p_ij^2) / sum w`` (Roby 1965; Gneiting and Raftery 2007). Strictly proper.

    Examples
    --------
    >>> from unperplexed import spherical_score
    >>> round(spherical_score([1], [[0.3, 0.4, 0.0, 0.3]]), 6)
    0.685994
    """
    return _mean_score(_spherical_score, y_true, y_prob, sample_weight, labels, pos_label)


def ranked_probability_score(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    normalize: Literal["sum", "mean"] = "sum",
) -> float:
    """Mean squared distance of cumulative probabilities, for ordered classes. Smaller is better.

    Probability that misses counts by how far it misses: of the outcomes low, middle and high, a forecast of low
    is better than one of middle when low happens, and worse when high does.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`. The order of the classes is that of the columns, which ``labels`` names.
    normalize : {"sum", "mean"}, default "sum"
        Over the C - 1 steps between neighbouring classes: their sum, or their mean.

    Returns
    -------
    float
        From 0 (certain and right) to C - 1, or 1 for the mean.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another ``normalize``.

    Notes
    -----
    ``sum_i w_i sum_k (P_ik - Y_ik)^2 / sum w`` over k = 1 ... C - 1, with P_ik = p_i1 + ... + p_ik and Y_ik = 1 once
    the class that happened is among the first k (Epstein 1969 in the form of Murphy 1971). Strictly proper. For two
    classes it is half the Brier score.

    Examples
    --------
    >>> from unperplexed import ranked_probability_score
    >>> near, far = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]
    >>> ranked_probability_score([2], [near]), ranked_probability_score([2], [far])
    (1.0, 2.0)
    """
    check_choice("normalize", normalize, ("sum", "mean"))

    def rule(block: Block) -> Floats:
        return _ranked_probability_score(block) / {"sum": 1, "mean": block.rows.n_classes - 1}[normalize]

    return _mean_score(rule, y_true, y_prob, sample_weight, labels, pos_label)


def generalized_surprisal(
    y_true: Any,
    y_prob: Any,
    r: float,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    floor: float = 0.0,
) -> float:
    """Mean surprisal whose average probability is the generalized mean of order r. Smaller is better.

    It shows a forecaster at a chosen attitude to risk, but only at r = 0 is it a rule to be judged by: at any other
    order, another forecast can be expected to score better than one's belief. `power_score` is its proper companion.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    r : float
        Order, above -1. Below 0, improbable outcomes that happen weigh more than in the log loss; above, less.
    floor : float, default 0
        Correct-class probabilities below it are raised to it.

    Returns
    -------
    float
        From 0 (certain and right) to (1+r)/r for r > 0, else to inf (0 given to something that happened).

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for an order that is no finite number above -1.

    Notes
    -----
    ``S_r = -sum w (1+r)/r (p_correct^r - 1) / sum w``; the log loss at r = 0 ([RP] appendix). Local. The generalized
    mean of the correct-class probabilities is ``(1 - r S_r / (1+r))^(1/r)``, exp(-S_0) at r = 0.

    Examples
    --------
    >>> from unperplexed import generalized_mean, generalized_surprisal
    >>> surprisal = generalized_surprisal([1, 0], [0.8, 0.5], -0.5)
    >>> round(surprisal, 6), round((1 + surprisal) ** -2, 6)
    (0.266124, 0.623803)
    >>> round(generalized_mean([0.8, 0.5], -0.5), 6)
    0.623803
    """
    rule = partial(_generalized_surprisal, r=_checked_order(r), floor=floor)
    return _mean_score(rule, y_true, y_prob, sample_weight, labels, pos_label)


def power_score(
    y_true: Any,
    y_prob: Any,
    r: float,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
) -> float:
    """Mean power score of order r: the generalized surprisal made proper. Smaller is better.

    Over the orders it is a risk profile that cannot be gamed: at each, no forecast can be expected to score better
    than one's belief. Order 1 is the Brier score, order 0 the log loss.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    r : float
        Order, above -1. The lower it is, the more improbable outcomes that happen weigh.

    Returns
    -------
    float
        From 0 (certain and right) to (1+r)/r for r > 0, else to inf (0 given to something that happened).

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for an order that is no finite number above -1.

    Notes
    -----
    The mean over rows of ``-(1+r)/r (p_correct^r - 1) + sum_j p_j^(1+r) - 1``. Strictly proper. The power family of
    scoring rules (Selten 1998; Gneiting and Raftery 2007), in the scale of the density power divergence
    (Basu, Harris, Hjort and Jones 1998). At r = 0 it is the log loss plus what the row's sum exceeds 1 by.

    Examples
    --------
    >>> from unperplexed import brier_score, log_loss, power_score
    >>> y, p = [1, 0], [0.8, 0.5]
    >>> [round(power_score(y, p, r), 6) for r in (-0.5, 0, 1)]
    [0.644051, 0.458145, 0.29]
    >>> round(log_loss(y, p), 6), round(brier_score(y, p), 6)
    (0.458145, 0.29)
    """
    rule = partial(_power_score, r=_checked_order(r))
    return _mean_score(rule, y_true, y_prob, sample_weight, labels, pos_label)


def penalized_brier_score(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    variant: Variant = "proper",
) -> float:
    """Brier score plus a penalty for rows whose top class did not happen. Smaller is better.

    A row with another class on top scores worse than any row with the class that happened alone on top.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    variant : {"proper", "published-code"}, default "proper"
        ``"published-code"`` is what the authors' program computes: the mean over classes instead of the sum, and no
        penalty where the class that happened ties for the top. It is not proper: ties are rewarded.

    Returns
    -------
    float
        From 0 (certain and right) to 2 + (C-1)/C, or 2/C + (C-1)/C as published.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another variant.

    Notes
    -----
    Each row has its Brier score plus ``(C-1)/C * wrong`` (Ahmadian, Ghatee and Wahlström 2025). ``wrong`` is 1 when
    the class that happened is not on top, 1 - 1/k when it shares the top with k - 1 others, else 0; with ties so
    shared the rule is strictly proper. Rows with such ties mostly lie between wrong and right ones; not all do.

    The authors' program computes in float32; here it is float64.

    Examples
    --------
    >>> from unperplexed import penalized_brier_score
    >>> right, wrong = [0.33, 0.34, 0.33], [0.51, 0.49, 0.0]
    >>> [round(penalized_brier_score([1], [p]), 4) for p in (right, wrong)]
    [0.6534, 1.1869]
    """
    check_choice("variant", variant, ("proper", "published-code"))
    rule = _penalized_brier_score if variant == "proper" else _published_brier_score
    return _mean_score(rule, y_true, y_prob, sample_weight, labels, pos_label)


def penalized_log_loss(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
    variant: Variant = "proper",
) -> float:
    """Log loss plus a penalty for rows whose top class did not happen. Smaller is better.

    A row with another class on top scores worse than any row with the class that happened alone on top.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    variant : {"proper", "published-code"}, default "proper"
        ``"published-code"`` is what the authors' program computes: Keras' cross-entropy, which divides rows by their
        sum and limits the result to [1e-7, 1 - 1e-7], and no penalty where the class that happened ties for the
        top. It is not proper: ties are rewarded.

    Returns
    -------
    float
        From 0 (certain and right) to inf (0 given to something that happened); as published, from 1e-7 to
        -ln(1e-7) + ln C.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another variant.

    Notes
    -----
    Each row has its log loss in nats plus ``ln(C) * wrong``, with ``wrong`` as in `penalized_brier_score`
    (Ahmadian, Ghatee and Wahlström 2025). Strictly proper.

    The authors' program computes in float32; here it is float64.

    Examples
    --------
    >>> from unperplexed import penalized_log_loss
    >>> right, wrong = [0.33, 0.34, 0.33], [0.51, 0.49, 0.0]
    >>> [round(penalized_log_loss([1], [p]), 4) for p in (right, wrong)]
    [1.0788, 1.812]
    """
    check_choice("variant", variant, ("proper", "published-code"))
    rule = _penalized_log_loss if variant == "proper" else _published_log_loss
    return _mean_score(rule, y_true, y_prob, sample_weight, labels, pos_label)


def _checked_order(r: Any) -> float:
    try:
        order = float(r)
    except (TypeError, ValueError):
        order = np.nan
    if not -1 < order < np.inf:
        raise InputError(f"r: the order must be a finite number above -1, got {r!r}.")
    return order + 0.0  # no negative zero


def _mean_score(
    rule: RowRule,
    y_true: Any,
    y_prob: Any,
    sample_weight: ArrayLike | None,
    labels: Sequence[Label] | None,
    pos_label: Label | None,
) -> float:
    """Weighted mean of a rule over checked forecasts, whose blocks are not kept."""
    forecasts = Forecasts(y_true, y_prob, sample_weight=sample_weight, labels=labels, pos_label=pos_label)
    values, weights = forecasts.per_row(rule)
    if not values.size:
        raise InputError("y_true: no rows to score.")
    if weights is None:
        return float(values.mean())
    positive = weights > 0  # a row of weight 0 is as if absent, even where its score is infinite
    return weighted_sum(values[positive], weights[positive]) / float(weights[positive].sum())
