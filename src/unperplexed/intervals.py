"""How sure we are: intervals for every figure of an assessment, the calibration test and the bands of the picture.

Reported figures and scores have standard errors in closed form (delta method), prediction accuracy Wilson's interval.
What is measured has none: its intervals come from samples like the one at hand (`_resampling`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ._resampling import CellCounts, Sample, coarse_counts, fine_counts
from ._typing import Floats, ReadOnlyArrays
from .coupled import expm1_ratio
from .means import ROBUST, Limit, apply_limit, t_quantile
from .measured import DEFAULT, Estimator, measured_of_samples
from .profile import RiskProfile
from .progress import steps
from .scores import score_named
from .tally import Tally

SAMPLED = (
    "measured_decisiveness",
    "measured_geometric_accuracy",
    "measured_robustness",
    "slope",
    "divergence_probability",
)
"""Figures whose intervals come from samples."""


_TWO_THIRDS = ndtr(np.array([-1.0, 1.0]))

_AT_ONCE = 500
"""Samples that are measured between two steps of the progress bar."""

_OF_BIAS = 50
"""Finely counted samples: so many tell a bias to a sixth of a standard error."""


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


@dataclass(frozen=True)
class CalibrationTest:
    """Whether calibrated forecasts would be measured as far from the diagonal as these."""

    statistic: float
    """Sum of o ln(f/p) - o + p over all pairs: o whether it happened, f measured and p reported probability."""
    p_value: float
    """Share of calibrated samples with a statistic at least as large, the one at hand among them."""


@dataclass(frozen=True)
class Sampling:
    """How sure one wants to be, and how it is found out."""

    confidence: float = 0.95
    resamples: int = 1000
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Sampled:
    """What samples say of the measured figures."""

    intervals: dict[str, Interval]
    curve: Band
    """Where the measured probability may lie."""
    consistent: Band | None = None
    """Where it would be measured if the forecasts were calibrated; None with the test."""
    test: CalibrationTest | None = None
    """None where rows of a group depend on one another: what happens in them cannot be drawn row by row."""


def wilson(share: float, rows: float, confidence: float) -> Interval:
    """Interval of a share of so many rows (Wilson 1927)."""
    z2 = float(t_quantile(confidence, np.inf)) ** 2
    centre = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = math.sqrt(z2 * max(share * (1 - share), 0.0) / rows + (z2 / (2 * rows)) ** 2) / (1 + z2 / rows)
    return Interval(max(centre - half, 0.0), min(centre + half, 1.0))


def closed_intervals(tally: Tally, headline: RiskProfile, confidence: float) -> dict[str, Interval]:
    """Intervals of what needs no samples: the reported averages, prediction accuracy and the scores.

    ``headline`` is the profile at the orders of decisiveness, geometric accuracy and robustness.
    """
    limits = np.transpose(headline.interval(confidence)).tolist()
    names = ("decisiveness", "geometric_accuracy", "robustness")
    found = {f"reported_{name}": Interval(*pair) for name, pair in zip(names, limits, strict=True)}
    accuracy, rows = tally.prediction_accuracy, tally.weight**2 / tally.weight_squared
    if tally.grouped and tally.shards is not None:
        error = float(tally.shards.standard_error(tally.shards.rows.hits))
        rows = min(rows, accuracy * (1 - accuracy) / error**2) if error else tally.independent_rows
    found["prediction_accuracy"] = wilson(accuracy, rows, confidence)
    if tally.independent_rows < 2:  # one row, or one group, says nothing of how much others vary
        return {name: Interval(math.nan, math.nan) for name in (*found, *tally.scores)} | {
            "prediction_accuracy": found["prediction_accuracy"]
        }
    reach = float(t_quantile(confidence, tally.independent_rows - 1))
    for name in tally.scores:
        half = reach * tally.score_standard_error(name)
        low, high = tally.score(name) - half, tally.score(name) + half
        most = 1.0 if score_named(name).larger_is_better else math.inf
        found[name] = Interval(*np.clip([low, high], 0.0, most).tolist())  # no rule gives less, none of these more
    return found


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
    errors = profile.standard_errors * np.where(alone > 0, growth, 1.0)
    return replace(profile, standard_errors=errors, degrees_of_freedom=freedom)


@dataclass(frozen=True)
class _Worlds:
    """Draws samples and measures them."""

    estimator: Estimator
    floor: float
    limit: Limit
    rng: np.random.Generator
    advance: Callable[[int], object]

    def measured(self, counts: CellCounts, sample: Sample) -> Floats:
        """Measured probability of each cell, one sample a row."""
        parts = []
        for at in range(0, len(sample.total), _AT_ONCE):
            happened, total = (column[at : at + _AT_ONCE] for column in sample)
            parts.append(measured_of_samples(self.estimator, counts.reported, happened, total, self.floor))
            self.advance(len(total))
        return np.concatenate(parts)

    def redrawn(self, counts: CellCounts, n: int) -> tuple[Floats, Floats]:
        """Draw what happens anew: how far figures are off the truth, and the measured curves.

        The truth is the curve of the default estimator, which is smooth: of one that has steps down to 0 and up to 1
        nothing else could come.
        """
        one = _one(counts.counted)
        curve = measured_of_samples(DEFAULT, counts.reported, *one, self.floor)
        truth = Sample(one.total * curve, one.total)
        return self._off(counts, truth, curve, counts.redrawn(curve[0], n, self.rng))

    def resampled(self, counts: CellCounts, n: int) -> tuple[Floats, Floats]:
        """Draw shards of the rows: how far figures are off those at hand, and the measured curves."""
        one = _one(counts.counted)
        curve = measured_of_samples(self.estimator, counts.reported, *one, self.floor)
        return self._off(counts, one, curve, counts.resampled(n, self.rng))

    def _off(self, counts: CellCounts, truth: Sample, curve: Floats, sample: Sample) -> tuple[Floats, Floats]:
        curves = self.measured(counts, sample)
        drawn = _log_figures(counts, sample, curves, self.floor, self.limit)
        with np.errstate(invalid="ignore"):
            return drawn - _log_figures(counts, truth, curve, self.floor, self.limit), curves


def sampled(
    tally: Tally, figures: Mapping[str, float], estimator: Estimator, floor: float, limit: Limit, sampling: Sampling
) -> Sampled:
    """Intervals of the measured figures, the bands and the calibration test.

    Samples say by how much a figure exceeds what it is drawn from (their median), which is taken off, and how much it
    varies (half the middle two thirds of them, which is the standard deviation of a normal one): on the log scale.
    Independent rows are redrawn, some of the samples counted as finely as the figures are measured, since the bias
    depends on that. Where shards say more, of rows in groups, of weights, and of more than two classes, these are
    resampled; of both, the larger variation counts.
    """
    counts, n = coarse_counts(tally, floor, limit), sampling.resamples
    redraw = not tally.grouped and not (tally.weighted and tally.shards is not None)
    resample = tally.shards is not None and not (redraw and counts.mirrored)
    with steps((redraw + resample + (not tally.grouped)) * n, "samples") as advance:
        worlds = _Worlds(estimator, floor, limit, np.random.default_rng(sampling.seed), advance)
        drawn = [worlds.redrawn(counts, n)] if redraw else []
        drawn += [worlds.resampled(counts, n)] if resample else []
        bias = worlds.redrawn(fine_counts(tally, floor, limit), _OF_BIAS)[0] if redraw else drawn[0][0]
        tested = (None, None) if tally.grouped else tested_calibration(counts, estimator, floor, sampling, advance)
    off = [figures for figures, _ in drawn]
    intervals = {
        name: _interval(figures[name], bias[:, at], [each[:, at] for each in off], sampling.confidence)
        for at, name in enumerate(SAMPLED)
    }
    for name in SAMPLED[:3]:
        intervals[name] = Interval(*np.minimum(intervals[name], 1.0).tolist())
    return Sampled(intervals, _band(counts, drawn[0][1], sampling.confidence), *tested)


def tested_calibration(
    counts: CellCounts, estimator: Estimator, floor: float, sampling: Sampling, advance: Callable[[int], object]
) -> tuple[Band, CalibrationTest]:
    """Measure calibrated samples: the band that they keep to, and how many are as far off as what was counted."""
    rng = np.random.default_rng((sampling.seed, 1))  # so that the test is the same with and without intervals
    null = counts.calibrated(sampling.resamples, rng)
    curves = _Worlds(estimator, floor, "floor", rng, advance).measured(counts, null)
    found = measured_of_samples(estimator, counts.reported, *_one(counts.counted), floor)
    observed = float(_statistic(counts, _one(counts.counted), found)[0])
    rounding = 1e-9 * abs(observed) if math.isfinite(observed) else 0.0  # so that equal ones count
    as_far = int(np.count_nonzero(_statistic(counts, null, curves) >= observed - rounding))
    test = CalibrationTest(observed, (1 + as_far) / (1 + sampling.resamples))
    return _band(counts, curves, sampling.confidence), test


def _band(counts: CellCounts, curves: Floats, confidence: float) -> Band:
    return Band(counts.reported, *_quantiles(curves, np.array([1 - confidence, 1 + confidence]) / 2))


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


def _interval(figure: float, bias: Floats, off: list[Floats], confidence: float) -> Interval:
    """Interval of a figure, from how far the logarithms of samples are off what they are drawn from."""
    if not 0 <= figure < math.inf:
        return Interval(math.nan, math.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        spread = max(float(np.subtract(*_quantiles(each, _TWO_THIRDS)[::-1])) for each in off) / 2
        half = float(t_quantile(confidence, np.inf)) * spread
        middle = np.log(figure) - _quantiles(bias, np.array([0.5]))[0]
    if math.isfinite(middle) and math.isfinite(half):
        return Interval(*np.exp([middle - half, middle + half]).tolist())
    return Interval(0.0, math.inf)  # in many of the samples it is 0: these say next to nothing


def _quantiles(samples: Floats, shares: Floats) -> Floats:
    """Quantiles along the first axis of samples, some of which may be infinite; NaN is left out."""
    n = np.count_nonzero(~np.isnan(samples), axis=0)
    at = np.maximum(np.ceil(np.multiply.outer(shares, n)).astype(np.int64) - 1, 0)
    return np.take_along_axis(np.sort(samples, axis=0), at, axis=0)  # NaN is sorted to the end


def _statistic(counts: CellCounts, sample: Sample, measured: Floats) -> Floats:
    """Statistic of the calibration test, of each sample."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(sample.happened > 0, sample.happened * np.log(measured / counts.reported), 0.0)
    return np.asarray((gain - sample.happened + sample.total * counts.reported).sum(axis=-1))
