"""Mean scores of forecasts and outcomes, a function for each rule; the formulas are in `rules`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Unpack

from .._lib.errors import InputError, check_choice
from .._lib.typing import Floats
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.labels import Label
from ..forecasts.reading import WeightedReading, is_predictive, reads
from ..kernels.rows import Rows
from ..statistics.means import mean_of_rows
from . import rules
from .rules import SCORES, RowRule, checked_order, score_named

Variant = Literal["proper", "published-code"]


def row_scores(
    y_true: Any,
    y_prob: Any,
    score: str = "log_loss",
    *,
    labels: Sequence[Label] | None = None,
    pos_label: Label | None = None,
) -> Floats:
    """Score of each row, by the name of a rule. Smaller is better, except for the spherical score.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Observed outcomes: labels or one-hot rows; numbers where distributions
        of numbers are predicted.
    y_prob : array_like of shape (n,) or (n, C), or Quantiles, Samples, Distribution or Ordered
        Predicted probabilities of the positive class, or of each class; or
        predictive distributions of numbers.
    score : str, default "log_loss"
        Name of the rule, as in `score_named`. Of predictive distributions
        ``"crps"``, ``"weighted_interval_score"``, ``"log_score"``,
        ``"log1p_crps"``, ``"quantile_loss(level)"`` or
        ``"interval_score(coverage)"``.
    labels, pos_label : optional
        As in `Forecasts`; of class probabilities only.

    Returns
    -------
    ndarray of shape (n,)
        Scores without a floor; infinite where the rule is, never NaN.

    Raises
    ------
    InputError
        As `Forecasts` and `score_named`.

    Examples
    --------
    >>> from unperplexed.scores import row_scores
    >>> row_scores([1, 0], [0.8, 0.5], "brier_score").round(2)
    array([0.08, 0.5 ])
    """
    if is_predictive(y_prob):
        from .distributions.rules import distribution_row_scores, distribution_score_named

        if labels is not None or pos_label is not None:
            raise InputError("labels, pos_label: they belong to class probabilities, not to distributions of numbers.")
        return distribution_row_scores(y_true, y_prob, distribution_score_named(score).rows)
    rule = score_named(score).rows
    return Forecasts(y_true, y_prob, labels=labels, pos_label=pos_label).per_row(rule)[0]


@reads(WeightedReading)
def log_loss(y_true: Any, y_prob: Any, *, floor: float = 0.0, **reading: Unpack[WeightedReading]) -> float:
    """Mean of -ln of the probabilities assigned to the observed classes, in nats (cross-entropy). Smaller is better.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Observed outcomes: labels or one-hot rows.
    y_prob : array_like of shape (n,) or (n, C)
        Predicted probabilities of the positive class, or of each class.
    sample_weight : array_like of shape (n,), optional
        Importance weights, 0 or more; a row of weight 2 counts as two rows.
    labels, pos_label : optional
        As in `Forecasts`.
    floor : float, default 0
        Lower correct-class probabilities are clipped to this value.

    Returns
    -------
    float
        From 0 (certain and right) to inf (probability 0 for an observed class);
        exp of minus it is the geometric accuracy at the same floor. A uniform
        forecast has ln C.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows.

    Notes
    -----
    ``-sum w ln(p_correct) / sum w`` (Good 1952). Strictly proper with floor 0;
    local.

    Examples
    --------
    >>> from unperplexed.scores import log_loss
    >>> round(log_loss([1, 0], [0.8, 0.5]), 6)
    0.458145
    """
    rule = partial(rules.generalized_surprisal, r=0.0, floor=floor)
    return _mean_score(rule, y_true, y_prob, reading)


@reads(WeightedReading)
def brier_score(
    y_true: Any, y_prob: Any, *, normalize: Literal["sum", "half", "mean"] = "sum", **reading: Unpack[WeightedReading]
) -> float:
    """Mean squared distance between the forecast and the outcome, summed over classes. Smaller is better.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    normalize : {"sum", "half", "mean"}, default "sum"
        Scale: the sum over classes, Brier's own definition, from 0 to 2; half
        of the sum; or the sum divided by C. For two classes, the latter two
        equal the squared error of the probability of the positive class.

    Returns
    -------
    float
        From 0 (certain and right) to 2, 1 or 2/C. A uniform forecast has 1 -
        1/C in the sum.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another ``normalize``.

    Notes
    -----
    ``sum_i w_i sum_j (p_ij - y_ij)^2 / sum w`` (Brier 1950). Strictly proper.

    Examples
    --------
    >>> from unperplexed.scores import brier_score
    >>> round(brier_score([1], [[0.33, 0.34, 0.33]]), 4)
    0.6534
    """
    check_choice("normalize", normalize, ("sum", "half", "mean"))

    def rule(block: Block) -> Floats:
        return SCORES["brier_score"].rows(block) / {"sum": 1, "half": 2, "mean": block.rows.n_classes}[normalize]

    return _mean_score(rule, y_true, y_prob, reading)


@reads(WeightedReading)
def spherical_score(y_true: Any, y_prob: Any, **reading: Unpack[WeightedReading]) -> float:
    """Mean cosine of the angle between the forecast and the outcome. Larger is better.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.

    Returns
    -------
    float
        From 0 (probability 0 for every observed class) to 1 (certain and
        right). A uniform forecast has 1/sqrt(C).

    Raises
    ------
    InputError
        As `Forecasts`; for no rows.

    Notes
    -----
    ``sum_i w_i p_i,correct / sqrt(sum_j p_ij^2) / sum w`` (Roby 1965; Gneiting
    and Raftery 2007). Strictly proper.

    Examples
    --------
    >>> from unperplexed.scores import spherical_score
    >>> round(spherical_score([1], [[0.3, 0.4, 0.0, 0.3]]), 6)
    0.685994
    """
    return _mean_score(SCORES["spherical_score"].rows, y_true, y_prob, reading)


@reads(WeightedReading)
def ranked_probability_score(
    y_true: Any, y_prob: Any, *, normalize: Literal["sum", "mean"] = "sum", **reading: Unpack[WeightedReading]
) -> float:
    """Mean squared distance between cumulative probabilities and outcomes, for ordered classes. Smaller is better.

    The penalty grows with the distance from the observed class: with the
    classes low, middle and high, a forecast of low is better than one of middle
    if low is observed, and worse if high is observed.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`. The order of the classes is that of the columns, which
        ``labels`` names.
    normalize : {"sum", "mean"}, default "sum"
        Sum or mean over the C - 1 steps between neighbouring classes.

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
    ``sum_i w_i sum_k (P_ik - Y_ik)^2 / sum w`` over k = 1 ... C - 1, with P_ik
    = p_i1 + ... + p_ik and Y_ik = 1 once the observed class is among the first
    k (Epstein 1969 in the form of Murphy 1971). Strictly proper. For two
    classes it is half the Brier score.

    Examples
    --------
    >>> from unperplexed.scores import ranked_probability_score
    >>> near, far = [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]
    >>> ranked_probability_score([2], [near]), ranked_probability_score([2], [far])
    (1.0, 2.0)
    """
    check_choice("normalize", normalize, ("sum", "mean"))

    def rule(block: Block) -> Floats:
        steps = {"sum": 1, "mean": block.rows.n_classes - 1}[normalize]
        return rules.ranked_probability_score(block) / steps

    return _mean_score(rule, y_true, y_prob, reading)


@reads(WeightedReading)
def generalized_surprisal(
    y_true: Any, y_prob: Any, r: float, *, floor: float = 0.0, **reading: Unpack[WeightedReading]
) -> float:
    """Mean surprisal whose average probability is the generalized mean of order r. Smaller is better.

    It describes a forecaster under a chosen attitude to risk. It is proper only
    at r = 0: at any other order, some other forecast is expected to score
    better than one's belief. `power_score` is the proper counterpart.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    r : float
        Order, above -1. Below 0, observed outcomes with a low probability have
        more weight than in the log loss; above 0, less.
    floor : float, default 0
        Lower correct-class probabilities are clipped to this value.

    Returns
    -------
    float
        From 0 (certain and right) to (1+r)/r for r > 0, else to inf
        (probability 0 for an observed class).

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for an order that is no finite number above
        -1.

    Notes
    -----
    ``S_r = -sum w (1+r)/r (p_correct^r - 1) / sum w``; the log loss at r = 0
    ([RP] appendix). Local. The generalized mean of the correct-class
    probabilities is ``(1 - r S_r / (1+r))^(1/r)``, exp(-S_0) at r = 0.

    Examples
    --------
    >>> from unperplexed.scores import generalized_surprisal
    >>> from unperplexed.statistics import generalized_mean
    >>> surprisal = generalized_surprisal([1, 0], [0.8, 0.5], -0.5)
    >>> round(surprisal, 6), round((1 + surprisal) ** -2, 6)
    (0.266124, 0.623803)
    >>> round(generalized_mean([0.8, 0.5], -0.5), 6)
    0.623803
    """
    rule = partial(rules.generalized_surprisal, r=checked_order(r), floor=floor)
    return _mean_score(rule, y_true, y_prob, reading)


@reads(WeightedReading)
def power_score(y_true: Any, y_prob: Any, r: float, **reading: Unpack[WeightedReading]) -> float:
    """Mean power score of order r, the proper counterpart of the generalized surprisal. Smaller is better.

    As a function of the order it is a proper risk profile: at each order, no
    forecast is expected to score better than one's belief. Order 1 is the Brier
    score, order 0 the log loss.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    r : float
        Order, above -1. At lower orders, observed outcomes with a low
        probability have more weight.

    Returns
    -------
    float
        From 0 (certain and right) to (1+r)/r for r > 0, else to inf
        (probability 0 for an observed class).

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for an order that is no finite number above
        -1.

    Notes
    -----
    The mean over rows of ``-(1+r)/r (p_correct^r - 1) + sum_j p_j^(1+r) - 1``.
    Strictly proper. The power family of scoring rules (Selten 1998; Gneiting
    and Raftery 2007), in the scale of the density power divergence (Basu,
    Harris, Hjort and Jones 1998). At r = 0 it is the log loss plus the excess
    of the row's sum over 1.

    Examples
    --------
    >>> from unperplexed.scores import brier_score, log_loss, power_score
    >>> y, p = [1, 0], [0.8, 0.5]
    >>> [round(power_score(y, p, r), 6) for r in (-0.5, 0, 1)]
    [0.644051, 0.458145, 0.29]
    >>> round(log_loss(y, p), 6), round(brier_score(y, p), 6)
    (0.458145, 0.29)
    """
    rule = partial(rules.power_score, r=checked_order(r))
    return _mean_score(rule, y_true, y_prob, reading)


@reads(WeightedReading)
def penalized_brier_score(
    y_true: Any, y_prob: Any, *, variant: Variant = "proper", **reading: Unpack[WeightedReading]
) -> float:
    """Brier score plus a penalty for each misclassified row. Smaller is better.

    A row with another class at the top scores worse than any row with only the
    observed class at the top.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    variant : {"proper", "published-code"}, default "proper"
        ``"published-code"`` computes the score of the authors' program: the
        mean over classes instead of the sum, and no penalty if the observed
        class ties for the top. It is not proper: ties are rewarded.

    Returns
    -------
    float
        From 0 (certain and right) to 2 + (C-1)/C, or 2/C + (C-1)/C as
        published.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another variant.

    Notes
    -----
    Each row has its Brier score plus ``(C-1)/C * wrong`` (Ahmadian, Ghatee and
    Wahlström 2025). ``wrong`` is 1 if the observed class is not at the top, 1 -
    1/k if it shares the top with k - 1 others, else 0. With this treatment of
    ties the rule is strictly proper. Rows with ties mostly score between
    misclassified and correct ones; not all do.

    The authors' program computes in float32, this function in float64.

    Examples
    --------
    >>> from unperplexed.scores import penalized_brier_score
    >>> right, wrong = [0.33, 0.34, 0.33], [0.51, 0.49, 0.0]
    >>> [round(penalized_brier_score([1], [p]), 4) for p in (right, wrong)]
    [0.6534, 1.1869]
    """
    rule = _variant("penalized_brier_score", rules.published_brier_score, variant)
    return _mean_score(rule, y_true, y_prob, reading)


@reads(WeightedReading)
def penalized_log_loss(
    y_true: Any, y_prob: Any, *, variant: Variant = "proper", **reading: Unpack[WeightedReading]
) -> float:
    """Log loss plus a penalty for each misclassified row. Smaller is better.

    A row with another class at the top scores worse than any row with only the
    observed class at the top.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    variant : {"proper", "published-code"}, default "proper"
        ``"published-code"`` computes the score of the authors' program: Keras'
        cross-entropy, which divides rows by their sum and clips the result to
        [1e-7, 1 - 1e-7], and no penalty if the observed class ties for the top.
        It is not proper: ties are rewarded.

    Returns
    -------
    float
        From 0 (certain and right) to inf (probability 0 for an observed class);
        as published, from 1e-7 to -ln(1e-7) + ln C.

    Raises
    ------
    InputError
        As `Forecasts`; for no rows; for another variant.

    Notes
    -----
    Each row has its log loss in nats plus ``ln(C) * wrong``, with ``wrong`` as
    in `penalized_brier_score` (Ahmadian, Ghatee and Wahlström 2025). Strictly
    proper.

    The authors' program computes in float32, this function in float64.

    Examples
    --------
    >>> from unperplexed.scores import penalized_log_loss
    >>> right, wrong = [0.33, 0.34, 0.33], [0.51, 0.49, 0.0]
    >>> [round(penalized_log_loss([1], [p]), 4) for p in (right, wrong)]
    [1.0788, 1.812]
    """
    rule = _variant("penalized_log_loss", rules.published_log_loss, variant)
    return _mean_score(rule, y_true, y_prob, reading)


@reads(WeightedReading)
def mean_score(name: str, y_true: Any, y_prob: Any, **reading: Unpack[WeightedReading]) -> float:
    """Mean score by the name of a rule, as in `score_named`; `Score` states which direction is better."""
    return _mean_score(score_named(name).rows, y_true, y_prob, reading)


def _variant(proper: str, published: Callable[[Rows], Floats], variant: Variant) -> RowRule:
    """Choose between a penalized rule and what its authors' program computes."""
    check_choice("variant", variant, ("proper", "published-code"))
    return SCORES[proper].rows if variant == "proper" else lambda block: published(block.rows)


def _mean_score(rule: RowRule, y_true: Any, y_prob: Any, reading: WeightedReading) -> float:
    """Weighted mean of a rule over checked forecasts, whose blocks are not kept."""
    values, weights = Forecasts(y_true, y_prob, **reading).per_row(rule)
    if not values.size:
        raise InputError("y_true: no rows to score.")
    return mean_of_rows(values, weights)
