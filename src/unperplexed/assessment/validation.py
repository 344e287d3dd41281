"""What medicine reports of a validated risk score: O/E, calibration in the large, slope, ICI and scaled Brier score.

All is read from a tally of two classes. The calibration curve of ICI, E50 and E90 is R's ``loess(y ~ p)``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import field, replace
from .._lib.errors import InputError
from .._lib.typing import Floats
from ..forecasts.group_keys import in_order, key_text
from ..report.result import JsonResult
from ..statistics.empirical_bayes import RandomEffects, random_effects
from ..statistics.intervals import UNKNOWN, Interval, Metric
from ..statistics.matrices import product
from ..statistics.means import t_quantile
from .classes import Bias
from .familiar import Counts, chance_of, counts_of, error_interval, quantile

SPAN, _CELL = 0.75, 0.2
"""Share of the rows in a local regression, and of these the share in a cell of the curve: the defaults of R's loess."""

_EDGE = 0.005
"""By this share of their range the curve reaches beyond the predictions, as in R's loess."""

_FEWEST = 10
"""With fewer distinct predictions, such as those of a score in five classes, no curve is drawn between them."""

_POINTS = 100
"""Points of equal weight in which chance of the curve is drawn."""

_WIDER = 1.3
"""Where few events bend a curve down, its noise is estimated too small: so much makes up for it
(benchmarks/validation.py)."""


class Validation(JsonResult):
    """What a validation of a risk score reports. Made by ``Assessment.validation`` and ``Breakdown.validation``.

    ``print`` it: a paragraph for a paper (TRIPOD), and tables. All metrics have intervals.
    """

    n_rows: int
    events: float
    """Weight of the rows of the positive class."""
    n_clusters: float | None
    """Effective number of clusters of dependent rows; None for independent ones."""
    label: str
    """The positive class."""
    bias: Bias
    """Mean prediction and observed frequency."""
    metrics: dict[str, Metric]
    """"oe": observed divided by expected events; 1 is best, above it the score predicts too few. "intercept":
    calibration in the large; 0 is best. "slope": 1 is best, below it risks are too extreme. "ici": mean distance of the
    predictions from the calibration curve, "e50" its median and "e90" its 90th percentile; smaller is better. "auc":
    c-statistic; larger is better. "brier": mean of (p - y)^2, half of `brier_score`; smaller is better. "scaled_brier":
    1 minus its ratio to the Brier score of the observed frequency (IPA); larger is better."""
    confidence: float
    by: tuple[str, ...] = ()
    """Columns that make the clusters below, such as hospitals."""
    clusters: dict[str, dict[str, Metric]] = field(default_factory=dict)
    """"oe", "slope" and "intercept" of each, by its name, in order."""
    pooled: dict[str, RandomEffects] = field(default_factory=dict)
    """Means over clusters by random effects, of "oe", "slope" and "intercept"; NaN for O/E of few events."""


def validation_of(a: Any) -> Validation:
    """Compute what a validation reports of an assessment of two classes.

    Raises
    ------
    InputError
        For more than two classes, and for a tally that does not know its classes.

    Notes
    -----
    ICI, E50 and E90: Austin and Steyerberg, *Statistics in Medicine* 38 (2019), 4051, by local quadratic regression of
    the outcome on the predicted probability. Their intervals, and that of the ECE, invert a test; as E90 is at least
    E50, neither of its limits is below that of E50. ln O/E and the scaled Brier score have delta-method intervals over
    rows, or over clusters.
    """
    if a.bias is None:
        raise InputError("validation: takes forecasts of two classes, whose tally knows them.")
    counts, confidence = counts_of(a.source.tally), a.source.sampling.confidence
    curve, (brier, scaled) = _Curve.of(counts), _brier(counts, confidence)
    metrics = {"oe": observed_to_expected(counts, confidence), "intercept": a.intercept, "slope": a.slope}
    metrics |= zip(("ici", "e50", "e90"), curve.errors(counts, confidence), strict=True)
    return Validation(
        n_rows=a.n_rows,
        events=float(counts.positive.sum()),
        n_clusters=a.independent_rows if a.clustered else None,
        label=str(a.labels[1]),
        bias=a.bias,
        metrics=metrics | {"auc": a.auc, "brier": brier, "scaled_brier": scaled},
        confidence=confidence,
    )


def observed_to_expected(counts: Counts, confidence: float) -> Metric:
    """Observed divided by expected events (O/E), with an interval on the log scale; NaN without events."""
    observed, expected = float(counts.positive.sum()), float(((counts.positive + counts.negative) * counts.p).sum())
    if not observed or not expected:
        return Metric(observed / expected if expected else math.nan)
    influences = 1 / observed - counts.p / expected, -counts.p / expected
    found = counts.metric(math.log(observed / expected), *influences, confidence)
    value, (low, high) = math.exp(found.value), found.interval
    return Metric(value, value * found.standard_error, Interval(math.exp(low), math.exp(high)))


def _brier(counts: Counts, confidence: float) -> tuple[Metric, Metric]:
    """Brier score of the positive class, and scaled: 1 minus its ratio to that of the observed frequency."""
    n, p = float((counts.positive + counts.negative).sum()), counts.p
    brier = float((counts.positive * (1 - p) ** 2 + counts.negative * p**2).sum()) / n
    frequency = float(counts.positive.sum()) / n
    plain = ((1 - p) ** 2 - brier) / n, (p**2 - brier) / n
    found = counts.metric(brier, *plain, confidence)
    if not 0 < frequency < 1:
        return found, Metric()
    reference = frequency * (1 - frequency)
    ratio, turn = brier / reference, (1 - 2 * frequency) * brier / reference / n
    scaled = (turn * (1 - frequency) - plain[0]) / reference, (-turn * frequency - plain[1]) / reference
    return found, counts.metric(1 - ratio, *scaled, confidence)


class _Curve(NamedTuple):
    """A local quadratic regression of outcomes on predictions: cubic between some points, whose values it determines.

    As in R's loess, of Cleveland and Devlin (1988).
    """

    at: Floats
    """Points, in increasing order."""
    made: Floats
    """Of shape (2 v, k): makes value and derivative at each of v points of the observed frequency at each p."""
    theta: Floats
    """Values, then derivatives."""

    @classmethod
    def of(cls, counts: Counts) -> _Curve:
        """Fit it."""
        n, p = counts.positive + counts.negative, counts.p
        if p.size < _FEWEST:  # the frequency of each is its own curve
            at, made = np.append(p, 2.0), np.eye(2 * p.size + 2, p.size)
        else:
            rows = n * (counts.tally.n_rows / n.sum())
            at = _points(p, rows)
            made = np.stack([_local(p, rows, point) for point in at.tolist()], axis=1).reshape(2 * at.size, -1)
        return cls(at, made, product(made, counts.positive / n))

    def design(self, p: Floats) -> Floats:
        """Make the curve at p of values and derivatives: an array of shape (p, 2 v)."""
        cell = np.clip(np.searchsorted(self.at, p, side="right") - 1, 0, max(self.at.size - 2, 0))
        found, rows, v = np.zeros((p.size, 2 * self.at.size)), np.arange(p.size), self.at.size
        width = self.at[cell + 1] - self.at[cell]
        h = (p - self.at[cell]) / width
        found[rows, cell], found[rows, cell + 1] = (1 - h) ** 2 * (1 + 2 * h), h**2 * (3 - 2 * h)
        found[rows, v + cell], found[rows, v + cell + 1] = h * (1 - h) ** 2 * width, -(h**2) * (1 - h) * width
        return found

    def value(self, p: Floats) -> Floats:
        """Give the curve at p."""
        return product(self.design(p), self.theta)

    def errors(self, counts: Counts, confidence: float) -> list[Metric]:
        """Give ICI, E50 and E90 with intervals."""
        n = counts.positive + counts.negative
        reach = np.cumsum(n)
        grid = counts.p[np.searchsorted(reach, (np.arange(_POINTS) + 0.5) / _POINTS * reach[-1])]
        here, off = self.value(grid) - grid, np.abs(self.value(counts.p) - counts.p)
        noise = self._noise(counts)
        drawn = None
        if noise is not None and counts.enough and counts.positive.any() and counts.negative.any():
            drawn = product(
                self.design(grid), noise * _WIDER * counts.reach(confidence) / t_quantile(confidence, math.inf)
            )
        found = []
        equal, v = np.full(_POINTS, 1 / _POINTS), grid * (1 - grid)
        logit = np.log(np.clip(grid, 1e-9, 1)) - np.log(np.clip(1 - grid, 1e-9, 1))
        shapes = [v, v * (logit - float(v @ logit / max(v.sum(), 1e-300)))]
        for level in (None, 0.5, 0.9):
            value = float(product(n, off) / reach[-1]) if level is None else _of_rows(off, n, level)
            size_of = None if level is None else lambda off, level=level: quantile(np.sort(off, axis=1), level)
            limits = UNKNOWN if drawn is None else error_interval(equal, here, drawn, confidence, size_of, shapes)
            found.append(Metric(value, interval=Interval(min(limits.low, value), max(limits.high, value))))
        ici, e50, e90 = found
        # The noise of the curve's ends may make up all of E90, though the median of errors is not noise.
        low, high = max(e50.interval.low, e90.interval.low), min(e50.interval.high, e90.interval.high)
        return [
            ici,
            e50._replace(interval=e50.interval._replace(high=high)),
            e90._replace(interval=e90.interval._replace(low=low)),
        ]

    def _noise(self, counts: Counts) -> Floats | None:
        """Make chance of values and derivatives of standard normal deviates; None where chance is not known."""
        n = counts.positive + counts.negative
        q = np.clip(self.value(counts.p), 0, 1)
        squared = counts.squared_positive + counts.squared_negative
        # The variance of predictions where it is larger, as in `independent_noise`.
        own = product(self.made * (np.maximum(q * (1 - q), counts.p * (1 - counts.p)) * squared / n**2), self.made.T)
        return chance_of(counts, own, ((each * (1 - q) / n, -each * q / n) for each in self.made))


def _of_rows(values: Floats, n: Floats, level: float) -> float:
    """Quantile of values that occur n times each, between order statistics as R's default has it."""
    order = np.argsort(values)
    reach = np.cumsum(n[order])
    place = level * (reach[-1] - 1)
    at = np.searchsorted(reach, [math.floor(place), math.floor(place) + 1], side="right")
    low, high = values[order][np.minimum(at, values.size - 1)]
    return float(low + (place % 1) * (high - low))


def _points(p: Floats, n: Floats) -> Floats:
    """Points at which the regression is fitted: the ends, and cuts between halves of the rows, down to small cells."""
    reach = np.concatenate([[0.0], np.cumsum(n)])
    margin = _EDGE * max(float(p[-1] - p[0]), 1e-10 * float(p[-1]) + 1e-30)
    most, cuts, cells = math.floor(reach[-1] * SPAN * _CELL), [p[0] - margin, p[-1] + margin], [(0, p.size)]
    while cells:
        first, last = cells.pop()
        if reach[last] - reach[first] <= most or last - first < 2:
            continue
        middle = (math.floor(reach[first] + 1.5) + math.floor(reach[last] + 0.5)) // 2
        cut = first + 1 + int(np.argmin(np.abs(reach[first + 1 : last] - middle - 0.25)))
        cuts.append(p[cut - 1])
        cells += [(first, cut), (cut, last)]
    return np.sort(cuts)


def _local(p: Floats, n: Floats, at: float) -> Floats:
    """Make value and derivative of the regression at a point of the observed frequencies: an array of shape (2, k)."""
    off = p - at
    order = np.argsort(np.abs(off))
    nearest = int(np.searchsorted(np.cumsum(n[order]), math.floor(n.sum() * SPAN + 1e-5) - 1e-9))
    width = float(np.abs(off)[order[min(nearest, p.size - 1)]]) or 1.0
    u = off / width
    w = n * np.clip(1 - np.abs(u) ** 3, 0, None) ** 3
    x = np.stack([np.ones_like(u), u, u**2])
    made = product(np.linalg.pinv(product(x * w, x.T), hermitian=True)[:2], x * w)
    return np.asarray(made / np.array([[1.0], [width]]))


def validated_clusters(b: Any) -> Validation:
    """Compute what a validation reports of all rows, of each group, and over groups by random effects.

    Parameters
    ----------
    b : Breakdown
        The groups, such as hospitals.

    Notes
    -----
    As Riley et al., *BMJ* 353 (2016), i3140, advise: O/E is pooled on the log scale. One half is added to the observed
    events, so that groups without events count. ln((O + 1/2) / E) is given the variance 1 / m - 1 / (n + 1)
    for n effective rows, where m is E times the ratio of all events to all expected ones: with a group's own events,
    groups that happen to have many would weigh more. O/E of groups with few events is biased all the same; it is not
    pooled where fewer than 10 are expected a group on average.
    """
    whole, of = validation_of(b.whole), {group.key: group.assessment for group in b.groups}
    clusters, counted = {}, []
    for key in in_order([*of]):
        a, name = of[key], key_text(key, b.by)
        counted.append(counts_of(a.source.tally))
        oe = observed_to_expected(counted[-1], whole.confidence)
        clusters[str(key) if name in clusters else name] = {"oe": oe, "slope": a.slope, "intercept": a.intercept}
    pooled = {"oe": _pooled_ratio(counted, whole.confidence)}
    for name in POOLED[1:]:
        values, errors = np.array([each[name][:2] for each in clusters.values()], dtype=np.float64).T
        pooled[name] = random_effects(values, errors, whole.confidence)
    return replace(whole, by=b.by, clusters=clusters, pooled=pooled)


POOLED = ("oe", "slope", "intercept")
"""Metrics that are pooled over clusters."""

FEWEST_EVENTS = 10
"""Events that are to be expected a cluster, on average, for O/E to be pooled."""


def _pooled_ratio(clusters: list[Counts], confidence: float) -> RandomEffects:
    """Pool O/E of clusters on the log scale, on which its standard error and spread stay."""
    n = np.array([each.tally.independent_rows for each in clusters])
    shares = [(each.positive.sum(), product(each.positive + each.negative, each.p)) for each in clusters]
    weight = np.array([(each.positive + each.negative).sum() for each in clusters])
    observed, expected = np.array(shares, dtype=np.float64).T * n / weight
    if expected.mean() < FEWEST_EVENTS:
        return RandomEffects(n_clusters=n.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.sqrt(1 / np.minimum(expected * observed.sum() / expected.sum(), n) - 1 / (n + 1))
        found = random_effects(np.log((observed + 0.5) / expected), errors, confidence)
    limits = [Interval(*np.exp(each).tolist()) for each in (found.interval, found.prediction)]
    return replace(found, mean=math.exp(found.mean), interval=limits[0], prediction=limits[1])
