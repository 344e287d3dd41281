"""How sure we are: intervals for every figure of an assessment, the calibration test and the bands of the picture.

Reported figures and scores have standard errors in closed form (delta method), prediction accuracy Wilson's interval.
What is measured has none: its intervals come from samples like the one at hand (`_resampling`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtr

from ._calibrated import calibrated
from ._dependence import LEAST_WORTH
from ._resampling import CellCounts, Sample, coarse_counts, fine_counts
from ._shard_sums import independent_share, score_test
from ._typing import Floats, ReadOnlyArrays
from .coupled import expm1_ratio
from .means import ROBUST, Limit, apply_limit, t_quantile
from .measured import DEFAULT, Estimator, measured_of_samples
from .profile import RiskProfile
from .progress import steps
from .scores import score_named, score_reach
from .tally import Tally

SAMPLED = {
    "measured_decisiveness": 1.0,
    "measured_geometric_accuracy": 1.0,
    "measured_robustness": 1.0,
    "slope": math.inf,
    "divergence_probability": math.inf,
}
"""Figures whose intervals come from samples, and the largest that each can be; a divergence beyond 1 takes a floor."""

_TWO_THIRDS = ndtr(np.array([-1.0, 1.0]))

_AT_ONCE = 500
"""Samples that are measured between two steps of the progress bar."""

_OF_BIAS = 40
"""Finely counted samples: so many tell a bias to a fifth of a standard error."""


class Interval(NamedTuple):
    """Lower and upper limit of a figure, NaN where it has none."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Band(ReadOnlyArrays):
    """Limits of a curve of measured over reported probability, each point by itself."""

    reported: Floats
    low: Floats
    high: Floats


TestedBy = Literal["rows", "pairs", "shards"]


@dataclass(frozen=True)
class CalibrationTest:
    """Whether calibrated forecasts would be measured as far from the diagonal as these."""

    statistic: float
    """Sum of o ln(f/p) - o + p over all pairs: o whether it happened, f measured and p reported probability. Of rows in
    groups or with weights, t of the sums of (o - p) logit(p) over shards: their mean over its standard error."""
    p_value: float
    """Share of calibrated samples with a statistic at least as large, the one at hand counted among them; of t, which
    has two sides, twice the share on its own."""
    by: TestedBy
    """What the samples keep to: one class happens in each row; each pair is by itself, in tallies that kept no rows; or
    what is alike in shards of the rows."""

    @property
    def sides(self) -> int:
        """On how many sides the statistic can be far off; the smallest p-value is so many times 1 / (1 + samples)."""
        return 2 if self.by == "shards" else 1


@dataclass(frozen=True)
class Sampling:
    """How sure one wants to be, and how it is found out."""

    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Sampled:
    """What samples say of the measured figures."""

    intervals: dict[str, Interval] = field(default_factory=dict)
    curve: Band | None = None
    """Where the measured probability may lie."""
    consistent: Band | None = None
    """Where it would be measured if the forecasts were calibrated; None of rows in groups or with weights."""
    test: CalibrationTest | None = None
    """None of a tally with weights and without shards."""


def wilson(share: float, rows: float, reach: float) -> Interval:
    """Interval of a share of so many rows that reaches so many standard errors (Wilson 1927)."""
    z2 = reach * reach
    centre = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = math.sqrt(z2 * max(share * (1 - share), 0.0) / rows + (z2 / (2 * rows)) ** 2) / (1 + z2 / rows)
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0))


def rows_of_hits(tally: Tally) -> float:
    """How many independent rows would tell the prediction accuracy as well: of groups, by how much their hits vary."""
    if tally.shards is None or not tally.shards.grouped:
        return tally.effective_rows
    accuracy, error = tally.prediction_accuracy, float(tally.shards.standard_error(tally.shards.rows.hits))
    varies = error > 1e-9 and 0 < accuracy < 1  # by more than rounding
    return min(tally.effective_rows, accuracy * (1 - accuracy) / error**2) if varies else tally.independent_rows


def closed_intervals(tally: Tally, headline: RiskProfile, confidence: float) -> dict[str, Interval]:
    """Intervals of what needs no samples: the reported averages, prediction accuracy and the scores.

    ``headline`` is the profile at the orders of decisiveness, geometric accuracy and robustness.
    """
    limits = np.transpose(headline.interval(confidence)).tolist()
    names = ("decisiveness", "geometric_accuracy", "robustness")
    found = {f"reported_{name}": Interval(*pair) for name, pair in zip(names, limits, strict=True)}
    accuracy, rows, units = tally.prediction_accuracy, rows_of_hits(tally), tally.independent_rows
    reach = float(t_quantile(confidence, max(units - 1, 1)))
    of_rows = float(t_quantile(confidence, math.inf))
    found["prediction_accuracy"] = wilson(accuracy, rows, reach if tally.grouped else of_rows)
    for name in tally.scores:
        half = reach * tally.score_standard_error(name)
        low, high = tally.score(name) - half, tally.score(name) + half
        found[name] = Interval(*np.clip([low, high], *score_reach(score_named(name), tally.n_classes)).tolist())
    # One unit, or units that are all alike, say nothing of how much others vary; of rows Wilson's interval does.
    none = {name for name, (low, high) in found.items() if units < LEAST_WORTH or low == high}
    if not tally.grouped:
        none.discard("prediction_accuracy")
    return {name: Interval(math.nan, math.nan) if name in none else interval for name, interval in found.items()}


def of_groups(profile: RiskProfile, tally: Tally) -> RiskProfile:
    """Give a profile the standard errors that it has if only rows of different groups are independent.

    They grow by as much as sums over shards vary more than those over as many independent rows, both taken in cells.
    """
    if tally.shards is None or not tally.shards.grouped:
        return profile
    counts = coarse_counts(tally, profile.floor, profile.limit)
    assert counts.shards is not None
    p = apply_limit(counts.reported, profile.floor, profile.limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = expm1_ratio(profile.orders, np.log(p[:, None] / profile.values))
        terms = np.where(np.isfinite(terms), terms, 0.0)
        happened = counts.counted.happened
        alone = happened @ terms**2 - (happened @ terms) ** 2 / happened.sum()
        together = tally.shards.standard_error(counts.shards.happened @ terms) * tally.shards.rows.weight.sum()
        growth = np.sqrt(np.maximum(together**2 / alone, 1.0))
    freedom = np.minimum(profile.degrees_of_freedom, tally.independent_rows - 1)
    known = np.where(alone > 0, growth, 1.0) if tally.independent_rows >= LEAST_WORTH else math.nan
    errors = profile.standard_errors * known
    return replace(profile, standard_errors=errors, degrees_of_freedom=freedom)


@dataclass(frozen=True)
class _Worlds:
    """Draws samples and measures them."""

    estimator: Estimator
    floor: float
    limit: Limit
    rng: np.random.Generator
    advance: Callable[[int], object]

    def redrawn(self, counts: CellCounts, n: int, independent: float = 1.0) -> _Drawn:
        """Draw what happens anew: how far figures are off the truth, and the measured curves.

        The truth is the curve of the default estimator, which is smooth: of one that has steps down to 0 and up to 1
        nothing else could come.
        """
        one = _one(counts.counted)
        curve = measured_of_samples(DEFAULT, counts.reported, *one, self.floor)
        truth = Sample(one.total * curve, one.total)
        return self._drawn(counts, truth, curve, counts.redrawn(curve[0], n, self.rng, independent))

    def resampled(self, counts: CellCounts, n: int) -> _Drawn:
        """Draw shards of the rows: how far figures are off those at hand, and the measured curves."""
        one = _one(counts.counted)
        curve = measured_of_samples(self.estimator, counts.reported, *one, self.floor)
        return self._drawn(counts, one, curve, counts.resampled(n, self.rng))

    def _drawn(self, counts: CellCounts, truth: Sample, curve: Floats, sample: Sample) -> _Drawn:
        curves = _measured(self.estimator, counts, sample, self.floor, self.advance)
        logs = _log_figures(counts, sample, curves, self.floor, self.limit)
        return _Drawn(logs, _log_figures(counts, truth, curve, self.floor, self.limit)[0], curves)


class _Drawn(NamedTuple):
    """Samples of one kind."""

    logs: Floats
    """Logarithms of the figures in `SAMPLED`, one sample a row."""
    truth: Floats
    """Those of what they are drawn from."""
    curves: Floats
    """Measured probability of each cell, one sample a row."""


def sampled(
    tally: Tally, figures: Mapping[str, float], estimator: Estimator, floor: float, limit: Limit, sampling: Sampling
) -> Sampled:
    """Intervals of the measured figures, the bands and the calibration test.

    Samples say by how much a figure exceeds what it is drawn from (their median), which is taken off, and how much it
    varies (half the middle two thirds of them, which is the standard deviation of a normal one): on the log scale.
    Rows are redrawn, of those in groups as many as are independent; some of the samples are counted as finely as the
    figures are measured, since the bias depends on that. Where shards say more, of rows in groups, of weights, and of
    more than two classes, these are resampled too; of both, the larger variation counts.
    """
    counts, n = coarse_counts(tally, floor, limit), sampling.resamples
    alike = not tally.grouped and not tally.uneven
    resample = tally.shards is not None and not (alike and counts.mirrored)
    share = independent_share(counts) if tally.grouped else 1.0
    with steps((1 + alike + resample) * n + _OF_BIAS, "samples") as advance:
        worlds = _Worlds(estimator, floor, limit, np.random.default_rng(sampling.seed), advance)
        drawn = [worlds.redrawn(counts, n, share)]
        drawn += [worlds.resampled(counts, n)] if resample else []
        of_bias = worlds.redrawn(fine_counts(tally, floor, limit), _OF_BIAS, share)
        tested: tuple[Band | None, CalibrationTest | None] = None, None
        if alike:
            tested = tested_calibration(tally, counts, estimator, floor, sampling, advance)
        elif tally.shards is not None:
            tested = None, tested_shards(counts, tally.grouped, sampling)
    reach = float(t_quantile(sampling.confidence, math.inf if alike else tally.independent_rows - 1))
    intervals = {
        name: _interval(figures[name], [(each.logs[:, at], each.truth[at]) for each in (of_bias, *drawn)], reach, most)
        for at, (name, most) in enumerate(SAMPLED.items())
    }
    bands = [_band(counts, each.curves, sampling.confidence) for each in drawn]
    low, high = np.min([each.low for each in bands], axis=0), np.max([each.high for each in bands], axis=0)
    return Sampled(intervals, Band(counts.reported, low, high), *tested)


def tested_calibration(
    tally: Tally,
    counts: CellCounts,
    estimator: Estimator,
    floor: float,
    sampling: Sampling,
    advance: Callable[[int], object],
) -> tuple[Band, CalibrationTest]:
    """Measure calibrated samples: the band that they keep to, and how many are as far off as what was counted."""
    rng = np.random.default_rng((sampling.seed, 1))  # so that the test is the same with and without intervals
    null, by_row = calibrated(tally, counts, sampling.resamples, rng)
    curves = _measured(estimator, counts, null, floor, advance)
    found = measured_of_samples(estimator, counts.reported, *_one(counts.counted), floor)
    observed = float(_statistic(counts, _one(counts.counted), found)[0])
    # So that equal ones count, and where nothing can vary all are equal.
    rounding = 1e-9 * abs(observed) + 1e-12 * counts.rows if math.isfinite(observed) else 0.0
    as_far = int(np.count_nonzero(_statistic(counts, null, curves) >= observed - rounding))
    test = CalibrationTest(observed, (1 + as_far) / (1 + sampling.resamples), "rows" if by_row else "pairs")
    return _band(counts, curves, sampling.confidence), test


def _band(counts: CellCounts, curves: Floats, confidence: float) -> Band:
    return Band(counts.reported, *_quantiles(curves, np.array([1 - confidence, 1 + confidence]) / 2))


def _measured(
    estimator: Estimator, counts: CellCounts, sample: Sample, floor: float, advance: Callable[[int], object]
) -> Floats:
    """Measured probability of each cell, one sample a row."""
    parts = []
    for at in range(0, len(sample.total), _AT_ONCE):
        happened, total = (column[at : at + _AT_ONCE] for column in sample)
        parts.append(measured_of_samples(estimator, counts.reported, happened, total, floor))
        advance(len(total))
    return np.concatenate(parts)


def _one(sample: Sample) -> Sample:
    return Sample(sample.happened[None], sample.total[None])


def _log_figures(counts: CellCounts, sample: Sample, measured: Floats, floor: float, limit: Limit) -> Floats:
    """Logarithms of the figures in `SAMPLED` of each sample, one a row."""
    share = sample.happened / sample.happened.sum(axis=-1, keepdims=True)
    f = apply_limit(np.where(share > 0, measured, 1.0), floor, limit)
    # Infinite powers, of probabilities of 0, are kept finite: where nothing happened they count 0 times.
    powers = np.nan_to_num(counts.powers, posinf=1e300, neginf=-1e300) @ share.T
    with np.errstate(divide="ignore", invalid="ignore"):
        log_a = np.where(share > 0, share * np.log(f), 0.0).sum(axis=1)
        d, r = (share * f).sum(axis=1), (share * f**ROBUST).sum(axis=1) ** (1 / ROBUST)
        apart = np.where(d - r < 1e-14 * d, 0.0, d - r)  # as in `Averages`
        spread = apart / (powers[0] - powers[2] ** (1 / ROBUST))
        return np.stack([np.log(d), log_a, np.log(r), np.log(spread), powers[1] - log_a], axis=1)


def _interval(figure: float, drawn: list[tuple[Floats, float]], reach: float, most: float) -> Interval:
    """Interval of a figure, from the logarithms of samples and of what they are drawn from; the first tell the bias.

    It holds the figure: with few rows the bias that is taken off can be more than half its width.
    """
    if not 0 <= figure < math.inf:
        return Interval(math.nan, math.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bias, *off = (logs - truth for logs, truth in drawn)
        spread = max(float(np.subtract(*_quantiles(each, _TWO_THIRDS)[::-1])) for each in off) / 2
        if spread == 0:  # nothing tells how much others vary
            return Interval(math.nan, math.nan)
        middle = np.log(figure) - _quantiles(bias, np.array([0.5]))[0]
        low, high = np.exp([middle - reach * spread, middle + reach * spread]).tolist()
        if not math.isfinite(high):  # in many of the samples it is 0, which has no logarithm
            low, high = 0.0, float(np.exp(_quantiles(drawn[1][0], ndtr(np.array([reach])))[0]))
    return Interval(min(low, figure), max(min(high, most), figure))


def tested_shards(counts: CellCounts, grouped: bool, sampling: Sampling) -> CalibrationTest:
    """Test over- against underconfidence where rows of a shard depend on one another, or have weights."""
    rng = np.random.default_rng((sampling.seed, 1))
    return CalibrationTest(*score_test(counts, grouped, sampling.resamples, rng), "shards")


def _quantiles(samples: Floats, shares: Floats) -> Floats:
    """Quantiles along the first axis of samples, some of which may be infinite; NaN is left out."""
    n = np.count_nonzero(~np.isnan(samples), axis=0)
    at = np.maximum(np.ceil(np.multiply.outer(shares, n)).astype(np.int64) - 1, 0)
    return np.take_along_axis(np.sort(samples, axis=0), at, axis=0)  # NaN is sorted to the end


def _statistic(counts: CellCounts, sample: Sample, measured: Floats) -> Floats:
    """Statistic of the calibration test, of each sample."""
    with np.errstate(divide="ignore", invalid="ignore"):
        surplus = np.log(measured) - np.log(counts.reported)
        gain = np.where(sample.happened > 0, sample.happened * surplus, 0.0)
    return np.asarray((gain - sample.happened + sample.total * counts.reported).sum(axis=-1))
