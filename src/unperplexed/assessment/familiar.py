"""Familiar metrics from counts: AUC, calibration slope and intercept, ECE beside its value by chance, references.

All are read from a tally, never from rows, so that they cost the same for any number of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln, xlogy

from .._lib.errors import InputError
from .._lib.typing import Floats
from ..calibration.resampling import positive_pairs, shown_counts
from ..kernels.rows import COARSE, COARSE_CELLS
from ..statistics.intervals import Interval
from ..statistics.log_odds_maps import Counted, features, fit
from ..statistics.means import t_quantile
from ..statistics.standard_errors import LEAST_WORTH
from ..tally.tables import Pairs
from ..tally.tally import Tally
from .probability_groups import ProbabilityGroups, probability_groups

ECE_GROUPS = 15
"""As Guo et al. 2017."""


class Metric(NamedTuple):
    """A metric with its standard error and confidence interval; NaN where there is none."""

    value: float
    standard_error: float
    interval: Interval


@dataclass(frozen=True)
class FamiliarMetrics:
    """Metrics that every forecaster knows. Made by `familiar_metrics`."""

    auc: Metric | None
    """Area under the ROC curve, two classes only. Larger is better; 0.5 is a random ranking."""
    calibration_slope: Metric
    """Slope of the logistic regression of the outcome on the predicted log-odds. 1 is best."""
    calibration_intercept: Metric
    """Intercept of that regression with the slope fixed at 1 (calibration in the large). 0 is best."""
    ece: float
    """Expected calibration error in 15 groups of equal size. Smaller is better."""
    ece_interval: Interval
    """Its confidence interval; NaN for dependent rows."""
    ece_by_chance: float
    """Its expected value for calibrated predictions of as many rows; NaN for dependent rows."""
    reference_log_loss: float
    reference_brier_score: float
    """Scores of a constant forecast of the base rate (two classes), or of a uniform one (more). Smaller is better."""
    reference_accuracy: float
    """Accuracy of that forecast. Larger is better."""
    certain_rows: float
    """Weight of the rows predicted as exactly 0 or 1, which slope and intercept leave out."""


@dataclass(frozen=True)
class _Counts:
    """Outcomes at distinct predicted probabilities, with the sums of squared weights."""

    p: Floats
    positive: Floats
    negative: Floats
    squared_positive: Floats
    squared_negative: Floats
    tally: Tally

    def standard_error(self, of_positive: Floats, of_negative: Floats, mean: float = 0.0) -> float:
        """Standard error of a sum over the rows, by the influence of a row of either outcome at each probability.

        ``mean`` is how much of it to expect of independent rows of equal weight, where that is known in closed form.
        """
        alone = mean or float(self.squared_positive @ of_positive**2 + self.squared_negative @ of_negative**2)
        if not self.tally.grouped:
            return math.sqrt(alone)
        clustered = self._clustered(of_positive, of_negative)
        return math.sqrt(max(alone, clustered)) if math.isfinite(clustered) else math.nan

    def _clustered(self, of_positive: Floats, of_negative: Floats) -> float:
        """Variance over the shards of dependent rows, in whose cells influences are averaged."""
        counts = shown_counts(self.tally, "each-class")
        if counts.shards is None or not counts.one_sided or counts.codes is None:
            return math.nan
        cell, scale = COARSE.places(self.p)[0], self.tally.weight / self.tally.weight_squared
        means = []
        for influence, weight in ((of_positive, self.positive), (of_negative, self.negative)):
            of_cell, sums = (
                np.bincount(cell, x, COARSE_CELLS).astype(np.float64) for x in (weight, weight * influence)
            )
            means.append(np.divide(sums, of_cell, out=np.zeros_like(sums), where=of_cell > 0)[counts.codes])
        happened, total = (x / scale for x in counts.shards)
        by_shard = happened @ means[0] + (total - happened) @ means[1]
        n = by_shard.size
        return float(n / max(n - 1, 1) * ((by_shard - by_shard.mean()) ** 2).sum())


def familiar_metrics(tally: Tally, confidence: float = 0.95) -> FamiliarMetrics:
    """Read the familiar metrics from a tally.

    With two classes they are those of the positive class; with more, calibration slope, intercept and ECE are those of
    the most probable class: the outcome is whether it is the observed one.

    Parameters
    ----------
    tally : Tally
        Counts of at least one row.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).

    Returns
    -------
    FamiliarMetrics

    Raises
    ------
    InputError
        For a tally without rows.

    Notes
    -----
    AUC is the weighted share of pairs of an event and a non-event in which the event has the larger probability, ties
    counting one half; its variance is that of DeLong, DeLong and Clarke-Pearson (1988) from the counts. Slope and
    intercept are maximum-likelihood estimates (Cox 1958); their standard errors are those of the Fisher information,
    for weights a sandwich. For clusters all are inflated by the variance of their influence over shards; with more
    than two classes there is none then. The ECE, of independent rows, has that of `error_interval`. The ECE by chance
    is the sum over groups of their share times the mean absolute deviation of a binomial frequency (de Moivre), scaled
    to the variance of the group's predictions.

    Examples
    --------
    >>> from unperplexed import Tally
    >>> from unperplexed.assessment.familiar import familiar_metrics
    >>> found = familiar_metrics(Tally.of([1, 0, 1, 0, 1], [0.9, 0.2, 0.6, 0.7, 0.8]))
    >>> round(found.auc.value, 3), round(found.reference_brier_score, 3)
    (0.833, 0.48)
    """
    if not tally.weight > 0:
        raise InputError("familiar_metrics: the tally has no rows with weight; count at least one.")
    counts = _counts(tally)
    two = _two(tally)
    groups = probability_groups(Pairs(counts.p, counts.positive, counts.positive + counts.negative), ECE_GROUPS)
    slope, intercept = _slope_and_intercept(counts, confidence, two)
    frequency = counts.positive.sum() / (counts.positive.sum() + counts.negative.sum())
    c, certain = tally.n_classes, (counts.p <= 0) | (counts.p >= 1)
    of_row = tally.weight_squared / tally.weight
    return FamiliarMetrics(
        auc=_auc(counts, confidence) if two else None,
        calibration_slope=slope,
        calibration_intercept=intercept,
        ece=expected_error(groups),
        ece_interval=Interval(math.nan, math.nan) if tally.grouped else error_interval(groups, of_row, confidence),
        ece_by_chance=math.nan if tally.grouped else expected_by_chance(groups, of_row),
        reference_log_loss=-_entropy_terms(frequency) if two else math.log(c),
        reference_brier_score=float(2 * frequency * (1 - frequency)) if two else (c - 1) / c,
        reference_accuracy=float(max(frequency, 1 - frequency)) if two else 1 / c,
        certain_rows=float((counts.positive + counts.negative)[certain].sum()),
    )


def _two(tally: Tally) -> bool:
    return tally.n_classes == 2 and positive_pairs(tally, "each-class") is not None


def _entropy_terms(share: float) -> float:
    return float(xlogy(share, share) + xlogy(1 - share, 1 - share))


def _counts(tally: Tally) -> _Counts:
    columns = tally.positive
    if columns is not None:
        negative, squared = columns.total - columns.positive, columns.squared - columns.squared_positive
        negative, squared = np.maximum(negative, 0.0), np.maximum(squared, 0.0)
        return _Counts(columns.p, columns.positive, negative, columns.squared_positive, squared, tally)
    pairs = positive_pairs(tally, "each-class") or tally.pairs("top-label")
    each = tally.weight_squared / tally.weight  # weights of the rows of one class, or of a top class, as of all
    negative = np.maximum(pairs.total - pairs.happened, 0.0)
    return _Counts(pairs.reported, pairs.happened, negative, pairs.happened * each, negative * each, tally)


def _metric(value: float, error: float, tally: Tally, confidence: float, ends: tuple[float, float]) -> Metric:
    """Give a value an interval that stays between the ends it can have."""
    nan = Interval(math.nan, math.nan)
    if not 0 < error < math.inf or tally.independent_rows < LEAST_WORTH:
        return Metric(value, math.nan, nan)
    half = error * float(t_quantile(confidence, tally.independent_rows - 1 if tally.grouped else math.inf))
    return Metric(value, error, Interval(max(value - half, ends[0]), min(value + half, ends[1])))


def _auc(counts: _Counts, confidence: float) -> Metric | None:
    """Area under the ROC curve; NaN where one of the outcomes is absent."""
    events, others = float(counts.positive.sum()), float(counts.negative.sum())
    if not events or not others:
        return Metric(math.nan, math.nan, Interval(math.nan, math.nan))
    below = (np.cumsum(counts.negative) - counts.negative / 2) / others
    above = (events - np.cumsum(counts.positive) + counts.positive / 2) / events
    value = float(counts.positive @ below) / events
    # DeLong's placements, and the correction for the degrees of freedom of each sample.
    n, m = (total**2 / float(squares.sum()) for total, squares in (
        (events, counts.squared_positive), (others, counts.squared_negative)
    ))  # fmt: skip
    if n <= 1 + 1e-9 or m <= 1 + 1e-9:
        return Metric(value, math.nan, Interval(math.nan, math.nan))
    of_event = (below - value) / events * math.sqrt(n / (n - 1))
    of_other = (above - value) / others * math.sqrt(m / (m - 1))
    return _metric(value, counts.standard_error(of_event, of_other), counts.tally, confidence, (0.0, 1.0))


def _slope_and_intercept(counts: _Counts, confidence: float, two: bool) -> tuple[Metric, Metric]:
    """Slope with a free intercept, and intercept with the slope 1, of the rows not predicted as exactly 0 or 1."""
    nan = Metric(math.nan, math.nan, Interval(math.nan, math.nan))
    between = (counts.p > 0) & (counts.p < 1)
    total = counts.positive + counts.negative
    if not counts.positive[between].sum() or not counts.negative[between].sum():
        return nan, nan
    with np.errstate(divide="ignore"):
        s = np.log(counts.p[between]) - np.log1p(-counts.p[between])
    counted = Counted(s, total[between], counts.positive[between])
    found = []
    for names, name, start in ((("bias", "confidence"), "confidence", 1.0), (("bias",), "bias", 0.0)):
        if name == "confidence" and np.ptp(s) < 1e-9:
            found.append(nan)
            continue
        fitted = fit(names, counted)
        if fitted.separated:
            found.append(nan)
            continue
        error = _coefficient_error(counts, between, fitted.names, fitted.coefficients, names.index(name))
        if counts.tally.grouped and not two:
            error = math.nan
        value = start + fitted.parameter(name)
        found.append(_metric(value, error, counts.tally, confidence, (-math.inf, math.inf)))
    return found[0], found[1]


_SINGULAR = 1e15
"""Condition of an information matrix beyond which doubles cannot invert it."""


def _coefficient_error(
    counts: _Counts, between: np.ndarray, names: tuple[str, ...], coefficients: Floats, at: int
) -> float:
    """Standard error of a coefficient: by the information, for weights and clusters by the rows' influences."""
    s = np.log(counts.p[between]) - np.log1p(-counts.p[between])
    x = features(names, s)
    q = expit(s + x @ coefficients)
    total = (counts.positive + counts.negative)[between]
    information = (x * (total * q * (1 - q))[:, None]).T @ x
    if np.linalg.cond(information) > _SINGULAR:  # one row outweighs all others
        return math.nan
    inverse = np.linalg.inv(information)
    direction = x @ inverse[at]
    of_positive, of_negative = np.zeros((2, counts.p.size))
    of_positive[between], of_negative[between] = direction * (1 - q), -direction * q
    known = 0.0 if counts.tally.uneven else float(inverse[at, at]) * counts.tally.weight_squared / counts.tally.weight
    return counts.standard_error(of_positive, of_negative, known)


def expected_error(groups: ProbabilityGroups) -> float:
    """Expected calibration error of groups (ECE). Smaller is better."""
    return float(groups.total @ np.abs(groups.mean - groups.observed) / groups.total.sum())


def expected_by_chance(groups: ProbabilityGroups, weight: float = 1.0) -> float:
    """Expected calibration error to be expected of calibrated predictions; ``weight`` is the effective one of a row.

    It is exact for groups of equal predictions, by de Moivre's mean absolute deviation of the binomial distribution.
    """
    n = np.maximum(np.rint(groups.total / weight), 1.0)
    p = np.clip(groups.mean, 0.0, 1.0)
    k = np.minimum(np.floor(n * p) + 1, n)
    log = np.log(2 * k) + gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlogy(n - k + 1, 1 - p)
    spread = p * (1 - p)
    deviation = np.where(spread > 0, np.exp(log) / n, 0.0)
    deviation *= np.sqrt(np.divide(groups.variance, spread, out=np.zeros_like(spread), where=spread > 0))
    return float(groups.total @ deviation / groups.total.sum())


_MULTIPLES = np.linspace(0.0, 1.6, 33)
"""Of the observed differences: how large the true ones may be, up to which an interval is looked for."""

_DRAWS = 400


def error_interval(groups: ProbabilityGroups, weight: float = 1.0, confidence: float = 0.95) -> Interval:
    """Confidence interval of the expected calibration error, for independent rows.

    The error of groups is above the true one by chance, and a bootstrap adds chance to chance: its intervals miss an
    error of 0 in most samples. So the test is inverted: true differences are taken to be the observed ones times a
    factor, outcomes vary about them as normal deviates do, and the factors are kept at which the observed error lies
    between the quantiles. ``weight`` is the effective one of a row.
    """
    share, difference = groups.total / groups.total.sum(), groups.mean - groups.observed
    n = np.maximum(groups.total / weight, 1.0)
    # The variance of predictions where it is larger: few outcomes that are all alike do not make a frequency certain.
    spread = np.sqrt(np.maximum(groups.variance, groups.observed * (1 - groups.observed)) / n)
    drawn = np.random.default_rng(0).standard_normal((_DRAWS, n.size))
    noise = np.concatenate([drawn, -drawn]) * spread
    errors = [np.abs(factor * difference + noise) @ share for factor in _MULTIPLES.tolist()]
    low, high = np.quantile(errors, [(1 - confidence) / 2, (1 + confidence) / 2], axis=1)
    error = expected_error(groups)
    ends = (np.interp(error, quantile, _MULTIPLES) * error for quantile in (high, low))
    return Interval(*map(float, ends))
