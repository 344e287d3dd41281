"""Familiar metrics from counts: AUC, calibration slope and intercept, ECE beside its value by chance, references.

All are read from a tally, never from rows, so that they cost the same for any number of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .._lib.dataclasses import Frozen
from .._lib.elementary import log_gamma, xlogy
from .._lib.errors import InputError
from .._lib.typing import ByValue, Floats, ReadOnlyArrays
from ..calibration.diagnosis.binary_data import line_of_tally
from ..calibration.diagnosis.line import CalibrationLine
from ..calibration.resampling import positive_pairs, shown_counts
from ..kernels.rows import COARSE, COARSE_CELLS
from ..statistics.intervals import LEAST_WORTH, UNKNOWN, Interval, Metric, wilson
from ..statistics.matrices import product
from ..statistics.means import t_quantile
from ..tally.tables import Pairs
from ..tally.tally import Tally
from .classes import Table

ECE_GROUPS = 15
"""As Guo et al. 2017."""

_ROUNDING = 1e-9
"""Of effective numbers of rows."""


class FamiliarMetrics(ByValue):
    """Metrics that every forecaster knows. Made by `familiar_metrics`."""

    auc: Metric | None
    """Area under the ROC curve, two classes only. Larger is better; 0.5 is a random ranking."""
    average_precision: Metric | None
    """Average precision, the area under the precision-recall curve, two classes only. Larger is better; the observed
    frequency of the positive class is a random ranking."""
    slope: Metric
    """Slope of the logistic regression of the outcome on the predicted log-odds. 1 is best."""
    intercept: Metric
    """Intercept of that regression with the slope fixed at 1 (calibration in the large). 0 is best."""
    ece: Metric
    """Expected calibration error in 15 groups of equal size. Smaller is better. No standard error, and for dependent
    rows of more than two classes no interval."""
    ece_by_chance: float
    """Its expected value for calibrated predictions of as many rows; NaN where there is no interval for dependence."""
    reference_scores: dict[str, float]
    """``log_loss``, ``brier_score`` and ``accuracy`` of a constant forecast of the base rate (two classes), or of a
    uniform one (more)."""
    certain_rows: float
    """Weight of the rows predicted as exactly 0 or 1, which slope and intercept leave out."""


class Counts(Frozen):
    """Outcomes at distinct predicted probabilities, with the sums of squared weights."""

    p: Floats
    positive: Floats
    negative: Floats
    squared_positive: Floats
    squared_negative: Floats
    tally: Tally

    def standard_error(self, of_positive: Floats, of_negative: Floats) -> float:
        """Standard error of a sum over the rows, by the influence of a row of either outcome at each probability."""
        alone = float(product(self.squared_positive, of_positive**2) + product(self.squared_negative, of_negative**2))
        if not self.tally.clustered:
            return math.sqrt(alone)
        by_shard = self.over_shards(of_positive, of_negative)
        return math.nan if by_shard is None else math.sqrt(max(alone, float((by_shard**2).sum())))

    @property
    def enough(self) -> bool:
        """Whether there are rows enough for intervals."""
        return self.tally.independent_rows >= LEAST_WORTH

    def acted_on(self) -> tuple[Floats, Floats]:
        """Weights of the events, and of the others, predicted with at least each probability."""
        found, others = (np.cumsum(x[::-1])[::-1] for x in (self.positive, self.negative))
        return np.asarray(found), np.asarray(others)

    def metric(self, value: float, of_positive: Floats, of_negative: Floats, confidence: float) -> Metric:
        """Give a value with its interval, by the influence of a row of either outcome at each probability."""
        error = self.standard_error(of_positive, of_negative)
        if not 0 < error < math.inf or not self.enough:
            return Metric(value)
        half = error * self.reach(confidence)
        return Metric(value, error, Interval(value - half, value + half))

    def reach(self, confidence: float) -> float:
        """Give the half width of an interval in standard errors, which for clusters are estimated from few."""
        return float(t_quantile(confidence, self.tally.independent_rows - 1 if self.tally.clustered else math.inf))

    def over_shards(self, of_positive: Floats, of_negative: Floats) -> Floats | None:
        """Sum of the influences of the rows of each shard of dependent rows, such that their squares add to a variance.

        Influences are averaged in the shards' cells. None where shards have no pairs of the positive class.
        """
        counts = shown_counts(self.tally, "each-class")
        if counts.shards is None or not counts.one_sided or counts.codes is None:
            return None
        cell, scale = COARSE.places(self.p)[0], self.tally.weight / self.tally.weight_squared
        means = []
        for influence, weight in ((of_positive, self.positive), (of_negative, self.negative)):
            of_cell, sums = (
                np.bincount(cell, x, COARSE_CELLS).astype(np.float64) for x in (weight, weight * influence)
            )
            means.append(np.divide(sums, of_cell, out=np.zeros_like(sums), where=of_cell > 0)[counts.codes])
        happened, total = (x / scale for x in counts.shards)
        by_shard = product(happened, means[0]) + product(total - happened, means[1])
        n = by_shard.size
        return np.asarray(math.sqrt(n / max(n - 1, 1)) * (by_shard - by_shard.mean()))


def familiar_metrics(tally: Tally, confidence: float = 0.95, line: CalibrationLine | None = None) -> FamiliarMetrics:
    """Read the familiar metrics from a tally.

    With two classes they are those of the positive class; with more, calibration slope, intercept and ECE are those of
    the most probable class: the outcome is whether it is the observed one.

    Parameters
    ----------
    tally : Tally
        Counts of at least one row.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1).
    line : CalibrationLine, optional
        Slope and intercept of the rows, where these tell more than the tally: that of a diagnosis.

    Returns
    -------
    FamiliarMetrics

    Raises
    ------
    InputError
        For a tally without rows.

    Notes
    -----
    Average precision is the mean over the events of the precision at their probability, as in scikit-learn, with the
    standard error of its influence function and an interval that is symmetric in its logit (Boyd, Eng and Page 2013).
    AUC is the weighted share of pairs of an event and a non-event in which the event has the larger probability, ties
    counting one half; its variance is that of DeLong, DeLong and Clarke-Pearson (1988) from the counts. Slope and
    intercept are those of `unperplexed.calibration.diagnosis.line`. For clusters the variance of the AUC is inflated by
    that of its influence over shards; with more than two classes slope and intercept have no interval then, unless the
    rows are at hand. The ECE has the interval of `error_interval`, for clusters with the covariance
    of the groups' frequencies over shards. The ECE by chance is the sum over groups of their share times the mean
    absolute deviation of a binomial frequency (de Moivre), scaled to the variance of the group's predictions; for
    clusters that of a normal deviate.

    Examples
    --------
    >>> from unperplexed import Tally
    >>> from unperplexed.assessment.familiar import familiar_metrics
    >>> found = familiar_metrics(Tally.of([1, 0, 1, 0, 1], [0.9, 0.2, 0.6, 0.7, 0.8]))
    >>> round(found.auc.value, 3), round(found.reference_scores["brier_score"], 3)
    (0.833, 0.48)
    """
    if not tally.weight > 0:
        raise InputError("familiar_metrics: the tally has no rows with weight; count at least one.")
    counts = counts_of(tally)
    two = tally.n_classes == 2 and positive_pairs(tally, "each-class") is not None
    groups = probability_groups(Pairs(counts.p, counts.positive, counts.positive + counts.negative), ECE_GROUPS)
    line = line_of_tally(tally) if line is None else line
    frequency = counts.positive.sum() / (counts.positive.sum() + counts.negative.sum())
    others = 1 - frequency
    c, certain = tally.n_classes, (counts.p <= 0) | (counts.p >= 1)
    of_row = tally.weight_squared / tally.weight
    noise = _dependent_noise(counts, groups, of_row) if tally.clustered else independent_noise(groups, of_row)
    wider = counts.reach(confidence) / t_quantile(confidence, math.inf)
    share, difference = groups.total / groups.total.sum(), groups.mean - groups.observed
    limits = UNKNOWN if noise is None else error_interval(share, difference, noise * wider, confidence)
    return FamiliarMetrics(
        auc=area_under_roc(counts, confidence) if two else None,
        average_precision=_average_precision(counts, confidence) if two else None,
        slope=line.slope.metric(confidence),
        intercept=line.intercept.metric(confidence),
        ece=Metric(expected_error(groups), interval=limits),
        ece_by_chance=error_of_noise(groups, noise) if tally.clustered else expected_by_chance(groups, of_row),
        reference_scores={
            "log_loss": -float(xlogy(frequency, frequency) + xlogy(others, others)) if two else math.log(c),
            "brier_score": float(2 * frequency * others) if two else (c - 1) / c,
            "accuracy": float(max(frequency, others)) if two else 1 / c,
        },
        certain_rows=float((counts.positive + counts.negative)[certain].sum()),
    )


def counts_of(tally: Tally) -> Counts:
    """Give the outcomes at each probability: of the positive class, or of the most probable of several."""
    columns = tally.positive
    if columns is not None:
        negative, squared = columns.total - columns.positive, columns.squared - columns.squared_positive
        negative, squared = np.maximum(negative, 0.0), np.maximum(squared, 0.0)
        return Counts(columns.p, columns.positive, negative, columns.squared_positive, squared, tally)
    pairs = positive_pairs(tally, "each-class") or tally.pairs("top-label")
    each = tally.weight_squared / tally.weight  # weights of the rows of one class, or of a top class, as of all
    negative = np.maximum(pairs.total - pairs.happened, 0.0)
    return Counts(pairs.reported, pairs.happened, negative, pairs.happened * each, negative * each, tally)


def area_under_roc(counts: Counts, confidence: float) -> Metric:
    """Area under the ROC curve; NaN where one of the outcomes is absent."""
    events, others = float(counts.positive.sum()), float(counts.negative.sum())
    if not events or not others:
        return Metric()
    below = (np.cumsum(counts.negative) - counts.negative / 2) / others
    above = (events - np.cumsum(counts.positive) + counts.positive / 2) / events
    value = float(product(counts.positive, below)) / events
    # DeLong's placements, and the correction for the degrees of freedom of each sample.
    n, m = (total**2 / float(squares.sum()) for total, squares in (
        (events, counts.squared_positive), (others, counts.squared_negative)
    ))  # fmt: skip
    if min(n, m) <= 1 + _ROUNDING:
        return Metric(value)
    of_event = (below - value) / events * math.sqrt(n / (n - 1))
    of_other = (above - value) / others * math.sqrt(m / (m - 1))
    found = counts.metric(value, of_event, of_other, confidence)
    return found._replace(interval=Interval(max(found.interval.low, 0.0), min(found.interval.high, 1.0)))


def _average_precision(counts: Counts, confidence: float) -> Metric:
    """Average precision; NaN without events, and without an interval for a single one or a perfect ranking."""
    found, others = counts.acted_on()
    if not found[0]:
        return Metric()
    acted = found + others
    value = float(product(counts.positive, found / acted) / found[0])
    n = found[0] ** 2 / float(counts.squared_positive.sum())
    if not (0 < value < 1 and n > 1 + _ROUNDING and counts.enough):
        return Metric(value)
    # A row of either outcome changes the precision at its own probability and at all lower ones.
    more, fewer = (np.cumsum(counts.positive * x / acted**2) for x in (others, found))
    of_event = (found / acted - value + more) * math.sqrt(n / (n - 1))
    error = counts.standard_error(of_event / found[0], -fewer / found[0])
    half = error * max(counts.reach(confidence), float(t_quantile(confidence, n - 1))) / (value * (1 - value))
    low, high = (float(1 / (1 + (1 / value - 1) * math.exp(sign * half))) for sign in (1, -1))
    return Metric(value, error, Interval(low, high))


class PrecisionRecall(ReadOnlyArrays):
    """Precision and recall of acting on the rows above thresholds (precision-recall curve), a value each threshold."""

    threshold: Floats
    """Falling: the highest probability from which on acting finds a twentieth of the events, two twentieths, ..."""
    recall: Floats
    """Share of the events that are acted on (sensitivity). Larger is better."""
    precision: Floats
    """Share of events among what is acted on (positive predictive value). Larger is better."""
    low: Floats
    high: Floats
    """Wilson interval of the precision, each threshold by itself, by effective rows or clusters; NaN for too few."""
    acted_on: Floats
    """Share of the rows that are acted on."""
    frequency: float
    """Observed frequency of the events: the precision of acting at random."""


_STEPS = 20
"""Steps of the recall at which precision is shown."""


def precision_recall(tally: Tally, confidence: float = 0.95) -> PrecisionRecall | None:
    """Read the precision-recall curve from a tally of two classes; None without events, and for more classes."""
    counts = counts_of(tally)
    found, others = counts.acted_on()
    if tally.n_classes != 2 or positive_pairs(tally, "each-class") is None or not found[0]:
        return None
    wanted = found[0] * (np.arange(1, _STEPS + 1) / _STEPS) * (1 - _ROUNDING)
    places = np.unique(found.size - 1 - np.searchsorted(found[::-1], wanted))[::-1]
    true, acted = found[places], (found + others)[places]
    squares = np.cumsum((counts.squared_positive + counts.squared_negative)[::-1])[::-1][places]
    rows = acted**2 / squares * (tally.independent_rows * tally.weight_squared / tally.weight**2)
    precision, reach = true / acted, counts.reach(confidence)
    each = zip(precision.tolist(), rows.tolist(), strict=True)
    low, high = np.array([wilson(*pair, reach) if counts.enough else UNKNOWN for pair in each]).T
    whole = float(found[0] + others[0])
    shares = true / found[0], precision, low, high, acted / whole
    return PrecisionRecall(counts.p[places], *shares, frequency=float(found[0]) / whole)


def _dependent_noise(counts: Counts, groups: ProbabilityGroups, of_row: float) -> Floats | None:
    """Chance of the frequencies of groups with rows in clusters, of which shards are made; None without their pairs."""
    inside = np.searchsorted(groups.highest, counts.p) == np.arange(len(groups))[:, None]
    of_group = zip(inside / groups.total[:, None], groups.observed, strict=True)
    influences = (((1 - observed) * each, -observed * each) for each, observed in of_group)
    return chance_of(counts, independent_noise(groups, of_row) ** 2, influences)


def chance_of(counts: Counts, own: Floats, influences: Iterable[tuple[Floats, Floats]]) -> Floats | None:
    """Make the chance of sums over rows from standard normal deviates; None where that of clusters is not known.

    Parameters
    ----------
    counts : Counts
        The rows.
    own : array of shape (k, k)
        Covariance of the sums for independent rows, which is the least that is taken for each.
    influences : iterable of k pairs of arrays
        What a row of either outcome at each probability adds to each sum.

    Returns
    -------
    array of shape (k, k), or None
    """
    if counts.tally.clustered:
        by_shard = [counts.over_shards(*each) for each in influences]
        if any(each is None for each in by_shard):
            return None
        sums = np.stack(by_shard)  # type: ignore[arg-type]
        own = product(sums, sums.T) + np.diag(np.maximum(np.diag(own) - (sums**2).sum(axis=1), 0))
    values, vectors = np.linalg.eigh(own)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


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
    log = (
        np.log(2 * k)
        + log_gamma(n + 1)
        - log_gamma(k + 1)
        - log_gamma(n - k + 1)
        + xlogy(k, p)
        + xlogy(n - k + 1, 1 - p)
    )
    spread = p * (1 - p)
    deviation = np.where(spread > 0, np.exp(log) / n, 0.0)
    deviation *= np.sqrt(np.divide(groups.variance, spread, out=np.zeros_like(spread), where=spread > 0))
    return float(groups.total @ deviation / groups.total.sum())


def error_of_noise(groups: ProbabilityGroups, noise: Floats | None) -> float:
    """Expected calibration error of observed frequencies that differ from the predictions by this chance alone."""
    if noise is None:
        return math.nan
    deviation = np.sqrt((noise**2).sum(axis=1) * 2 / math.pi)
    return float(groups.total @ deviation / groups.total.sum())


_SIZES = 33
"""So many sizes of true differences are tried, to 1.6 times the observed error or to three times what chance adds."""

_DRAWS = 400
"""Normal deviates of each group's frequency; as many more mirror them."""


def independent_noise(groups: ProbabilityGroups, weight: float = 1.0) -> Floats:
    """Chance of the observed frequencies of groups of independent rows: its covariance, from normal deviates to them.

    ``weight`` is the effective one of a row. One column a deviate.
    """
    n = np.maximum(groups.total / weight, 1.0)
    # The variance of predictions where it is larger: few outcomes that are all alike do not make a frequency certain.
    return np.diag(np.sqrt(np.maximum(groups.variance, groups.observed * (1 - groups.observed)) / n))


def error_interval(
    share: Floats,
    difference: Floats,
    noise: Floats,
    confidence: float = 0.95,
    size_of: Callable[[Floats], Floats] | None = None,
    shapes: Sequence[Floats] = (),
) -> Interval:
    """Confidence interval of the expected calibration error.

    The error of groups is above the true one by chance, and a bootstrap adds chance to chance: its intervals miss an
    error of 0 in most samples. So the test is inverted: true differences are taken to be the observed ones in another
    size, or all the same, since the observed ones have chance in them; outcomes vary about them as normal deviates do,
    and the sizes are kept at which the observed error lies between the quantiles. ``noise`` makes the deviates, as
    `independent_noise` does. An observed error that is smaller than nearly all that chance gives is the upper end.

    Parameters
    ----------
    share : array of shape (k,)
        Shares of the rows, such as of groups.
    difference : array of shape (k,)
        Predicted minus observed frequency of each.
    noise : array of shape (k, m)
        Makes chance of m standard normal deviates.
    confidence : float, default 0.95
        Confidence level.
    size_of : callable, optional
        Size of each row of absolute differences, which grows in proportion to them: by default their mean.
    shapes : sequence of array of shape (k,), default ()
        Further forms of true differences that are tried in each size.
    """
    size_of = (lambda off: product(off, share)) if size_of is None else size_of
    drawn = product(np.random.default_rng(0).standard_normal((_DRAWS, noise.shape[1])), noise.T)
    noise = np.concatenate([drawn, -drawn])
    error = float(size_of(np.abs(difference)[None])[0])
    sizes = np.linspace(0.0, max(1.6 * error, error + 3 * float(np.mean(size_of(np.abs(noise))))), _SIZES)
    limits = []
    for each in (difference, np.ones_like(difference), *shapes):
        size = float(size_of(np.abs(each)[None])[0])
        shape = each / size if size > 0 else np.ones_like(each)
        errors = [size_of(np.abs(size * shape + noise)) for size in sizes.tolist()]
        ordered = np.sort(errors, axis=1)
        low, high = quantile(ordered, (1 - confidence) / 2), quantile(ordered, (1 + confidence) / 2)
        limits += [float(np.interp(error, each, sizes)) for each in (high, low)]
    return Interval(min(*limits, error), max(*limits, error))


def quantile(ordered: Floats, share: float) -> Floats:
    """Quantile of each row, whose values are ordered, as by `numpy.quantile`, which loads `numpy.ma`."""
    part, before = math.modf(share * (ordered.shape[1] - 1))
    low, high = ordered[:, int(before)], ordered[:, int(before) + (part > 0)]
    return np.asarray(low + (high - low) * part if part < 0.5 else high - (high - low) * (1 - part))


class ProbabilityGroups(Table):
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
    share = np.minimum(np.floor(middle * (groups / total.sum()) * (1 + _ROUNDING)), groups - 1)
    first = np.flatnonzero(np.diff(share, prepend=-1.0))
    last = np.append(first[1:], p.size) - 1
    weight, events, mean, variance = (
        np.add.reduceat(x, first) for x in (total, happened, p * total, p * (1 - p) * total)
    )
    return ProbabilityGroups(p[first], p[last], mean / weight, events / weight, weight, variance / weight)
