"""How sure we are: intervals for every figure of an assessment, the calibration test and the bands of the picture.

Reported figures and scores have standard errors in closed form (delta method), prediction accuracy Wilson's interval.
What is measured has none: its intervals come from samples like the one at hand (`_resampling`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from ._resampling import CoarseCounts, Sample, coarse_counts
from ._typing import Floats, ReadOnlyArrays
from .coupled import expm1_ratio
from .means import ROBUST, Limit, apply_limit, t_quantile
from .profile import RiskProfile
from .progress import steps
from .tally import Tally

SAMPLED = (
    "measured_decisiveness",
    "measured_geometric_accuracy",
    "measured_robustness",
    "slope",
    "divergence_probability",
)
"""Figures whose intervals come from samples."""

_MIDDLE_TWO_THIRDS = ndtr(np.array([-1.0, 0.0, 1.0]))

Measure = Callable[[Sample], Floats]
"""Measured probability of each cell of samples, one a row."""

Draw = Callable[[int, np.random.Generator], Sample]

_AT_ONCE = 500


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
    if tally.shards is not None and tally.shards.grouped:
        error = float(tally.shards.standard_error(tally.shards.rows.hits))
        rows = min(rows, accuracy * (1 - accuracy) / error**2) if error else tally.independent_rows
    found["prediction_accuracy"] = wilson(accuracy, rows, confidence)
    reach = float(t_quantile(confidence, tally.independent_rows - 1))
    for name in tally.scores:
        half = reach * tally.score_standard_error(name)
        found[name] = Interval(tally.score(name) - half, tally.score(name) + half)
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


def sampled(
    counts: CoarseCounts,
    measure: Measure,
    smooth: Measure,
    figures: dict[str, float],
    independent: bool,
    floor: float,
    limit: Limit,
    confidence: float,
    resamples: int,
    rng: np.random.Generator,
) -> Sampled:
    """Intervals of the measured figures, the bands and the calibration test, each by so many samples.

    What is redrawn is drawn from the smooth curve, since of one that has steps down to 0 and 1 nothing else could come.
    The samples say by how much a figure exceeds what it is drawn from (their median), which is taken off, and how much
    it varies (half the middle two thirds of them, which is the standard deviation of a normal one): on the log scale.
    Independent rows are redrawn. Where shards say more, of rows in groups, of weights, and of more than two classes,
    these are resampled; of both, the larger variation counts.
    """
    found = _one(measure, counts.counted)
    draws: list[tuple[Sample, Floats, Draw]] = []
    if independent or counts.shards is None:
        curve = _one(smooth, counts.counted)
        truth = Sample(counts.counted.total * curve, counts.counted.total)
        draws.append((truth, curve, partial(counts.redrawn, curve)))
    if counts.shards is not None and not (independent and counts.mirrored):
        draws.append((counts.counted, found, counts.resampled))
    with steps((len(draws) + independent) * resamples, "samples") as advance:

        def drawn(draw: Draw) -> tuple[Sample, Floats]:
            sample = draw(resamples, rng)
            parts = []
            for at in range(0, resamples, _AT_ONCE):
                parts.append(measure(Sample(*(x[at : at + _AT_ONCE] for x in sample))))
                advance(len(parts[-1]))
            return sample, np.concatenate(parts)

        worlds = [(truth, curve, *drawn(draw)) for truth, curve, draw in draws]
        null = drawn(counts.calibrated) if independent else None
    logs = []
    for truth, curve, sample, curves in worlds:
        base = _log_figures(counts, Sample(truth.happened[None], truth.total[None]), curve[None], floor, limit)
        logs.append((base[0], _log_figures(counts, sample, curves, floor, limit)))
    intervals = {
        name: _interval(figures[name], [(base[at], x[:, at]) for base, x in logs], confidence)
        for at, name in enumerate(SAMPLED)
    }
    for name in SAMPLED[:3]:
        intervals[name] = Interval(*np.minimum(intervals[name], 1.0).tolist())
    ends = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    band = Band(counts.reported, *_quantiles(worlds[0][3], ends))
    if null is None:
        return Sampled(intervals, band)
    consistent = Band(counts.reported, *_quantiles(null[1], ends))
    return Sampled(intervals, band, consistent, _tested(counts, found, *null))


def _one(measure: Measure, sample: Sample) -> Floats:
    return np.asarray(measure(Sample(sample.happened[None], sample.total[None]))[0])


def _tested(counts: CoarseCounts, found: Floats, null: Sample, curves: Floats) -> CalibrationTest:
    """Compare what was measured with what is measured of calibrated samples."""
    observed, drawn = (
        _statistic(counts, sample, measured) for sample, measured in ((counts.counted, found), (null, curves))
    )
    rounding = 1e-9 * abs(observed) if np.isfinite(observed) else 0.0  # so that equal ones count
    as_far = np.count_nonzero(drawn >= observed - rounding)
    return CalibrationTest(float(observed), float((1 + as_far) / (1 + len(drawn))))


def _log_figures(counts: CoarseCounts, sample: Sample, measured: Floats, floor: float, limit: Limit) -> Floats:
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


def _interval(figure: float, worlds: list[tuple[float, Floats]], confidence: float) -> Interval:
    """Interval of a figure, from the logarithms of what samples are drawn from and of the samples."""
    if not 0 <= figure < math.inf:
        return Interval(math.nan, math.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        off = [_quantiles(logs - base, _MIDDLE_TWO_THIRDS) for base, logs in worlds]
        half = float(t_quantile(confidence, np.inf)) * max(high - low for low, _, high in off) / 2
        middle = np.log(figure) - off[0][1]
        if not np.isfinite(middle) or not np.isfinite(half):  # many samples have a slope of 0
            ends = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
            return Interval(*np.exp(_quantiles(worlds[0][1], ends)).tolist())
        return Interval(*np.exp([middle - half, middle + half]).tolist())


def _quantiles(samples: Floats, shares: Floats) -> Floats:
    """Quantiles along the first axis of samples, some of which may be infinite; NaN is left out."""
    n = np.count_nonzero(~np.isnan(samples), axis=0)
    at = np.maximum(np.ceil(np.multiply.outer(shares, n)).astype(np.int64) - 1, 0)
    return np.take_along_axis(np.sort(samples, axis=0), at, axis=0)  # NaN is sorted to the end


def _statistic(counts: CoarseCounts, sample: Sample, measured: Floats) -> Floats:
    """Statistic of the calibration test, of each sample."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(sample.happened > 0, sample.happened * np.log(measured / counts.reported), 0.0)
    return np.asarray((gain - sample.happened + sample.total * counts.reported).sum(axis=-1))
