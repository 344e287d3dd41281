"""Confidence intervals of an assessment, bands of the reliability diagram, and where these are too narrow.

Reported figures and scores have standard errors in closed form (delta method), prediction accuracy Wilson's interval.
What is measured has none: its intervals come from samples like the one at hand (`calibration.worlds`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import Frozen, field, replace
from .._lib.formatting import number_of, percent
from .._lib.progress import steps
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats
from ..calibration.clustered_test import independent_share
from ..calibration.curve_band import rising_band
from ..calibration.estimators import measured_of_samples
from ..calibration.resampling import CellCounts, coarse_counts, shown_counts
from ..calibration.world_samples import (
    Influences,
    Logs,
    WorldCells,
    WorldSamples,
    growth,
    influences,
    world_cells,
    world_samples,
)
from ..calibration.worlds import Counts, bias_beyond_chance, hull
from ..kernels.curves import shrunk_isotonic_curve
from ..scores.rules import score_named, score_reach
from ..statistics.intervals import LEAST_WORTH, UNKNOWN, Band, Interval, wilson
from ..statistics.matrices import product
from ..statistics.means import (
    DEFAULT_FLOOR,
    GEOMETRIC,
    HEADLINE_ORDERS,
    ROBUST,
    Limit,
    apply_limit,
    floor_for,
    log_spread,
    means_of_points,
    t_quantile,
)
from ..statistics.tails import normal_cdf
from ..tally.tables import Cells
from ..tally.tally import Tally
from ..theory.coupled import expm1_ratio
from .risk_profile import DivergenceProfile, MeasuredProfile, RiskProfile, profile_of_rows
from .settings import Source

SAMPLED = {
    "measured_decisiveness": 1.0,
    "measured_geometric_accuracy": 1.0,
    "measured_robustness": 1.0,
    "averages_slope": math.inf,
    "divergence_probability": math.inf,
}
"""Figures whose intervals come from samples, and the largest that each can be; a divergence beyond 1 takes a floor."""

_OF_TAILS = ("averages_slope", "measured_robustness")
"""Figures that a few errors among the most extreme predictions decide."""


FEW_ERRORS, FEW_GROUPS = 25, 30
"""With fewer rows whose top class did not happen, or fewer clusters, intervals have been seen to be too narrow."""

_FEW_DEGREES = 40
"""Degrees of freedom of an uncertain standard error, at floors below the default one; at a floor of 0 twice as many."""

_CURVED, _WIDER = 0.7, 1.2
"""Above this share of the isotonic curve, which 2 % of calibrated forecasts have, divergences vary by this factor more
than in the worlds: `benchmarks/coverage.py` then finds 93 % where a curve has jumps, and without it 90 %."""

_ROUNDING = 1e-9
"""Standard error of a share that is 0 but for rounding."""


class Uncertainty(ByValue):
    """Confidence intervals, bands and warnings of an assessment. The same settings give the same numbers."""

    intervals: dict[str, Interval]
    """Lower and upper limit of each metric, by the names of ``Assessment.metrics()``."""
    debiased: dict[str, float]
    """Measured metrics, slope and divergence minus the estimated bias of the estimator, where it is beyond chance. They
    are named in a remark; whatever shows a metric shows the value with its bias."""
    warnings: tuple[str, ...]
    """Why intervals may be too narrow, if they may."""
    confidence: float
    resamples: int
    """Number of bootstrap replicates for the intervals of measured figures and the band around the diagonal."""
    seed: int
    """Random seed of the bootstrap replicates."""
    _curve: Callable[[], Band] = field(repr=False, compare=False)
    _consistent: Callable[[], Band | None] | None = field(repr=False, compare=False)

    @cached_property
    def curve(self) -> Band:
        """Confidence band of the measured probability, each point by itself: where a curve that never falls may lie.

        It is as wide as to hold the estimate, too. Made when first asked for; it takes no replicates.
        """
        return self._curve()

    @cached_property
    def consistent(self) -> Band | None:
        """Band in which the curve of calibrated forecasts would lie; None for clustered and weighted rows.

        Made when first asked for, from replicates of its own.
        """
        return None if self._consistent is None else self._consistent()

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain values."""
        return {**plain_values(self), "curve": plain_values(self.curve), "consistent": plain_values(self.consistent)}

    def __repr__(self) -> str:
        """Name it in one line."""
        how = f"{percent(self.confidence)} intervals, {number_of(self.resamples, 'sample')}, seed {self.seed}"
        return f"<Uncertainty: {how}>"


def uncertainty(source: Source, figures: dict[str, float]) -> Uncertainty:
    """Compute the uncertainty of figures that were read from a tally."""
    intervals, sampling = closed_intervals(source), source.sampling
    found = Sampled()
    if source.samples:
        found = sampled(source, figures)
        low, high = found.intervals["averages_slope"]
        turned = Interval(*(math.degrees(math.atan2(1, end)) for end in (high, low)))  # tan(orientation) = 1 / slope
        intervals |= found.intervals | {"orientation": turned}
    ordered = {name: intervals.get(name, UNKNOWN) for name in figures}
    return Uncertainty(
        intervals=ordered,
        debiased=found.debiased,
        warnings=(*_warnings(source.tally, source.headline), *_warnings_of_samples(found)),
        confidence=sampling.confidence,
        resamples=sampling.resamples if found.intervals else 0,
        seed=sampling.seed,
        _curve=partial(_band_of_curve, source),
        _consistent=found.consistent,
    )


def _few_rows_decide(headline: RiskProfile, n_classes: int) -> bool:
    """Whether few rows decide the averages; at the default floor and above it intervals hold all the same."""
    few = _FEW_DEGREES * (1 if headline.floor else 2)
    return headline.floor < floor_for(DEFAULT_FLOOR, n_classes) and bool((headline.degrees_of_freedom < few).any())


def _lowest_cell(tally: Tally) -> tuple[float, float]:
    """Give the ends of what occurred in the cell next to 0 where it is too wide for averages; else twice 0."""
    table = tally.pairs_table
    if isinstance(table, Cells):
        wide = np.flatnonzero((table.low > 0) & (table.low < table.high / 2))  # others are of one octave at most
        if wide.size:
            return float(table.low[wide[0]]), float(table.high[wide[0]])
    return 0.0, 0.0


def _warnings(tally: Tally, headline: RiskProfile) -> Iterator[str]:
    errors = (1 - tally.prediction_accuracy) * rows_of_hits(tally)
    if errors < FEW_ERRORS - 0.5:
        few = f"only {errors:.0f} prediction{' is' if round(errors) == 1 else 's are'} wrong"
        if tally.clustered:
            few = f"the wrong predictions have an effective sample size of only {errors:.0f}"
        more = "clusters" if tally.clustered else "rows"
        yield f"{few}. With fewer than {FEW_ERRORS}, intervals may be too narrow; assess more {more}"
    elif _few_rows_decide(headline, tally.n_classes):
        yield (
            "a few rows decide the robustness and the slope of the averages, so that the intervals may be too narrow;"
            " assess more rows or choose a larger floor"
        )
    if headline.values[1] == 0:
        yield (
            "an outcome predicted with probability 0 occurred: geometric accuracy, robustness and divergence are 0 and"
            " have no interval; choose a floor above 0"
        )
    low, high = _lowest_cell(tally)
    if headline.floor < high:
        yield (
            f"outcomes with predicted probabilities from {low:.2g} to {high:.2g} occurred and share a cell, so"
            f" averages of the predicted probabilities are wrong; the log loss is not affected; choose a floor above"
            f" {high:.2g}, or"
            " count with a larger exact limit"
        )
    if tally.uneven and tally.shards is None:
        yield (
            "the tally has weights but no shards, so that intervals of calibrated averages are rough; count it with"
            " --parts shards"
        )
    if tally.clustered and tally.independent_rows < FEW_GROUPS - 0.5:
        yield (
            f"there are few clusters (effective number {tally.independent_rows:.0f}). With fewer than {FEW_GROUPS},"
            " intervals may be too narrow; assess more clusters"
        )


def _warnings_of_samples(found: Sampled) -> Iterator[str]:
    if found.doubtful:
        names = " and ".join(name.replace("_", " ") for name in found.doubtful)
        plural = len(found.doubtful) > 1
        yield (
            f"no errors were seen among the most extreme predictions, so that their rate is unknown: the"
            f" interval{'s' if plural else ''} of {names} cover{'' if plural else 's'} both none and as many as the"
            " trend suggests"
        )


class Sampled(Frozen, eq=False):
    """What samples say of the measured figures."""

    intervals: dict[str, Interval] = field(default_factory=dict)
    consistent: Callable[[], Band | None] | None = None
    """Finds where it would be measured if the forecasts were calibrated; None of rows in groups or with weights."""
    debiased: dict[str, float] = field(default_factory=dict)
    """Measured figures minus the bias of the estimator, where it is beyond chance in both worlds."""
    doubtful: tuple[str, ...] = ()
    """Figures that depend on how rare the errors are that were not seen."""


def rows_of_hits(tally: Tally) -> float:
    """How many independent rows would tell the prediction accuracy as well: of groups, by how much their hits vary."""
    if tally.shards is None or not tally.shards.clustered:
        return tally.effective_rows
    accuracy, error = tally.prediction_accuracy, float(tally.shards.standard_error(tally.shards.rows.hits))
    varies = error > _ROUNDING and 0 < accuracy < 1
    return min(tally.effective_rows, accuracy * (1 - accuracy) / error**2) if varies else tally.independent_rows


def closed_intervals(source: Source) -> dict[str, Interval]:
    """Intervals of what needs no samples: the reported averages, prediction accuracy and the scores."""
    tally, confidence = source.tally, source.sampling.confidence
    limits = np.transpose(source.headline.interval(confidence)).tolist()
    names = ("decisiveness", "geometric_accuracy", "robustness")
    found = {f"reported_{name}": Interval(*pair) for name, pair in zip(names, limits, strict=True)}
    accuracy, rows, units = tally.prediction_accuracy, rows_of_hits(tally), tally.independent_rows
    reach = float(t_quantile(confidence, max(units - 1, 1)))
    of_rows = float(t_quantile(confidence, math.inf))
    found["prediction_accuracy"] = wilson(accuracy, rows, reach if tally.clustered else of_rows)
    for name in tally.scores:
        half = reach * tally.score_standard_error(name)
        low, high = tally.score(name) - half, tally.score(name) + half
        found[name] = Interval(*np.clip([low, high], *score_reach(score_named(name), tally.n_classes)).tolist())
    # One unit, or units that are all alike, say nothing of how much others vary; of rows Wilson's interval does.
    none = {name for name, (low, high) in found.items() if units < LEAST_WORTH or low == high}
    if not tally.clustered:
        none.discard("prediction_accuracy")
    return {name: UNKNOWN if name in none else interval for name, interval in found.items()}


def profile_of_tally(tally: Tally, orders: Floats, floor: float, limit: Limit) -> RiskProfile:
    """Find the generalized means of the probabilities assigned to the outcomes, with their standard errors.

    Parameters
    ----------
    tally : Tally
        Counts of the forecasts.
    orders : ndarray of shape (k,)
        Orders of the means.
    floor, limit : float, {"floor", "both"}
        Floor of the probabilities, and whether there is a ceiling as far from 1.

    Returns
    -------
    RiskProfile
    """
    return _of_groups(profile_of_rows(tally, orders, floor, limit), tally)


def _of_groups(profile: RiskProfile, tally: Tally) -> RiskProfile:
    """Give a profile the standard errors that it has if only rows of different groups are independent.

    They grow by as much as sums over shards vary more than those over as many independent rows, both taken in cells.
    """
    if tally.shards is None or not tally.shards.clustered:
        return profile
    counts = coarse_counts(tally)
    assert counts.shards is not None
    p = apply_limit(counts.reported, profile.floor, profile.limit)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = expm1_ratio(profile.orders, np.log(p[:, None] / profile.values))
        terms = np.where(np.isfinite(terms), terms, 0.0)
        happened = counts.counted.happened
        alone = product(happened, terms**2) - product(happened, terms) ** 2 / happened.sum()
        sums = product(counts.shards.happened, terms)
        together = tally.shards.standard_error(sums) * tally.shards.rows.weight.sum()
        skewness = (sums**3).sum(axis=0) / (sums**2).sum(axis=0) ** 1.5
        growth = np.sqrt(np.maximum(together**2 / alone, 1.0))
    freedom = np.minimum(profile.degrees_of_freedom, tally.independent_rows - 1)
    known = np.where(alone > 0, growth, 1.0) if tally.independent_rows >= LEAST_WORTH else math.nan
    errors = profile.standard_errors * known
    return replace(profile, standard_errors=errors, degrees_of_freedom=freedom, skewness=skewness)


def sampled(source: Source, figures: Mapping[str, float]) -> Sampled:
    """Intervals of the measured figures.

    Samples are drawn from two worlds (`worlds`), of rows in groups as many as are independent. Where shards say that
    figures vary more than in independent rows, of rows in groups and of weights, they vary by as much more.
    """
    draws, counts = draw(source, HEADLINE_ORDERS)
    logs = [_log_figures(world.logs) for world in draws.worlds]
    off = [world.deviation(_log_figures) for world in draws.worlds]
    point = np.array([figures[name] for name in SAMPLED])
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(point)
        grown = _growth_of_figures(draws)
        low, high = np.exp(hull(log, off, draws.reach, grown))
        bias = bias_beyond_chance(off, draws.reach, grown)
        without = np.exp(log - bias)
    highest = np.exp([_quantiles(each, np.array([normal_cdf(draws.reach)]))[0] for each in logs]).max(axis=0)
    if not point[-1] > 0:  # what was predicted with probability 0 occurred: no other sample tells more
        highest[-1] = math.nan
    intervals = {
        name: _interval(float(point[at]), float(low[at]), float(high[at]), float(highest[at]), most)
        for at, (name, most) in enumerate(SAMPLED.items())
    }
    debiased = {
        name: min(float(without[at]), most)
        for at, (name, most) in enumerate(SAMPLED.items())
        if bias[at] and math.isfinite(without[at]) and not math.isnan(intervals[name].low)
    }
    consistent = partial(_consistent, source, draws.cells, counts)
    apart = np.abs(off[0].bias - off[1].bias) > off[0].spread
    doubtful = tuple(name for name, is_ in zip(SAMPLED, apart, strict=True) if is_ and name in _OF_TAILS)
    return Sampled(intervals, consistent, debiased, doubtful)


class Draws(NamedTuple):
    """Samples from both worlds, and how far the interval of a figure reaches."""

    worlds: list[WorldSamples]
    cells: WorldCells
    reach: float
    """In standard deviations."""
    influences: Influences | None
    """Influences of pairs on the means, where rows are in groups or have weights."""
    growth: Callable[[Floats, Floats], Floats]
    """By how much more figures vary than in the samples, by the influence of pairs that occurred and did not."""
    of_divergence: float
    """By how much more divergences vary than either tells."""


def _band_of_curve(source: Source) -> Band:
    """Where the curve may lie if it never falls, and where it was estimated.

    Rows in groups count as as many as are independent.
    """
    share = _independent_counts(source)[1]
    cells = world_cells(source.tally, source.view, source.headline.floor, source.headline.limit, share)
    reported, happened, total = cells.unfolded(cells.counted)
    once = 0.5 if cells.kind == "folded" else 1.0  # what is unfolded has each row twice
    low, high = rising_band(once * happened, once * total, _reach(source))
    (curve,) = cells.curves(source.estimator, Counts(*(x[None] for x in cells.counted)))
    return Band(reported, np.minimum(low, curve), np.maximum(high, curve))


def draw(source: Source, orders: Floats) -> tuple[Draws, CellCounts]:
    """Draw what intervals are made from: the same rows whatever the orders."""
    tally, sampling, floor, limit = source.tally, source.sampling, source.headline.floor, source.headline.limit
    counts, share = _independent_counts(source)
    cells = world_cells(tally, source.view, floor, limit, share)
    rng = np.random.default_rng(sampling.seed)
    with steps(2 * sampling.resamples, "drawing samples") as advance:
        worlds = world_samples(tally, cells, source.estimator, orders, sampling.resamples, rng, advance)
    found = None if tally.exchangeable or counts.shards is None else influences(counts, orders, floor, limit)

    def of(happened: Floats, missed: Floats) -> Floats:
        return growth(tally, counts, happened, missed, share)

    share_of_isotonic = shrunk_isotonic_curve(*cells.unfolded(cells.counted))[2]
    wider = _WIDER if share_of_isotonic > _CURVED else 1.0
    return Draws(worlds, cells, _reach(source), found, of, wider), counts


def _independent_counts(source: Source) -> tuple[CellCounts, float]:
    """What is shown, in cells, and the share of the rows that would tell as much if they were independent."""
    counts = shown_counts(source.tally, source.view)
    return counts, independent_share(counts) if source.tally.clustered and counts.shards is not None else 1.0


def _reach(source: Source) -> float:
    """Half-width of an interval, in standard deviations."""
    tally = source.tally
    freedom = math.inf if tally.exchangeable else max(tally.independent_rows - 1, 1)
    return float(t_quantile(source.sampling.confidence, freedom))


def _growth_of_figures(draws: Draws) -> Floats:
    """By how much more each of `SAMPLED` varies than in the samples."""
    more = np.array([1, 1, 1, 1, draws.of_divergence])
    if draws.influences is None:
        return more
    reported, measured, logs = draws.influences
    (d, _, r), (p, _, s) = np.exp(logs.measured), np.exp(logs.reported)
    d, r = (d / (d - r), r / (d - r)) if d > r else (0.0, 0.0)
    p, s = (p / (p - s), s / (p - s)) if p > s else (0.0, 0.0)
    of_measured = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [d, 0, -r], [0, -1, 0]], dtype=np.float64)
    of_reported = np.array([[0, 0, 0], [0, 0, 0], [0, 0, 0], [-p, 0, s], [0, 1, 0]], dtype=np.float64)
    return more * draws.growth(*(of_reported @ x + of_measured @ y for x, y in zip(reported, measured, strict=True)))


def _consistent(source: Source, cells: WorldCells, counts: CellCounts) -> Band | None:
    """Where calibrated forecasts would be measured: of the positive class alone where that is what is measured."""
    tally, estimator, sampling = source.tally, source.estimator, source.sampling
    if not tally.exchangeable:
        return None
    rng = np.random.default_rng((sampling.seed, 1))
    if cells.kind != "one-sided":
        from ..calibration.null_samples import calibrated

        null, _ = calibrated(tally, counts, sampling.resamples, rng)
        curves = measured_of_samples(estimator, counts.reported, *null, source.headline.floor)
        return _band(counts.reported, curves, sampling.confidence)
    total = np.rint(cells.total).astype(np.int64)
    happened = rng.binomial(total, cells.reported, size=(sampling.resamples, total.size)).astype(np.float64)
    return _band(cells.reported, cells.curves(estimator, Counts(happened, total - happened)), sampling.confidence)


def _band(reported: Floats, curves: Floats, confidence: float) -> Band:
    return Band(reported, *_quantiles(curves, np.array([1 - confidence, 1 + confidence]) / 2))


def _log_figures(logs: Logs) -> Floats:
    """Logarithms of the figures in `SAMPLED`, from those of the means of `HEADLINE_ORDERS`."""
    d, a, r = logs.measured.T
    with np.errstate(divide="ignore", invalid="ignore"):
        reported, lowest = logs.reported[:, 0], logs.reported[:, 2]
        return np.stack(
            [d, a, r, log_spread(d, r) - reported - np.log(-np.expm1(lowest - reported)), logs.reported[:, 1] - a],
            axis=1,
        )


def _interval(figure: float, low: float, high: float, highest: float, most: float) -> Interval:
    """Interval of a figure within its possible values; ``highest`` is its upper end where it has no logarithm."""
    if not 0 <= figure < math.inf:
        return UNKNOWN
    if figure == 0:
        return Interval(0.0, min(highest, most)) if math.isfinite(highest) else UNKNOWN
    if not (math.isfinite(high) and low < high):  # nothing tells how much others vary
        return UNKNOWN
    return Interval(min(low, figure), max(min(high, most), figure))  # but for the rounding of logarithms


def _quantiles(samples: Floats, shares: Floats) -> Floats:
    """Quantiles along the first axis of samples, some of which may be infinite; NaN is left out."""
    n = np.count_nonzero(~np.isnan(samples), axis=0)
    at = np.maximum(np.ceil(np.multiply.outer(shares, n)).astype(np.int64) - 1, 0)
    return np.take_along_axis(np.sort(samples, axis=0), at, axis=0)  # NaN is sorted to the end


def profiles_of(source: Source, reported: RiskProfile) -> tuple[MeasuredProfile, DivergenceProfile]:
    """Give both profiles, at the orders of the reported one."""
    orders = reported.orders
    none = np.full(orders.size, np.nan)
    if source.measured is None:
        return MeasuredProfile(orders, none, none, none), DivergenceProfile(orders, none, none, none)
    values = means_of_points(*source.measured, orders)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.stack([values, reported.values / values]))
    limits = np.full((4, orders.size), np.nan)
    some = np.isfinite(orders) & (orders >= ROBUST)  # what decides lower ones may be missing
    if source.samples and some.any():
        draws, _ = draw(source, orders[some])
        limits[:, some] = _limits(draws, logs[:, some])
        limits[2:, orders < GEOMETRIC] = np.nan  # "steps" and clusters of `benchmarks/coverage.py`
    low, high = np.exp(limits[0]), np.minimum(np.exp(limits[1]), 1.0)
    return MeasuredProfile(orders, values, low, high), DivergenceProfile(orders, logs[1], *limits[2:])


_PROFILES: Sequence[Callable[[Logs], Floats]] = (lambda of: of.measured, lambda of: of.reported - of.measured)
"""Logarithms of the measured profile, and of the divergence profile."""


def _limits(draws: Draws, logs: Floats) -> Floats:
    """Lower and upper limits of the logarithms of measured means, then of reported over measured ones."""
    pairs = []
    for at, figures in enumerate(_PROFILES):
        with np.errstate(invalid="ignore"):
            off = [world.deviation(figures) for world in draws.worlds]
            low, high = hull(logs[at], off, draws.reach, _growth(draws, at == 1))
        none = ~np.isfinite(logs[at]) | ~np.isfinite(high)
        pairs += [np.where(none, np.nan, low), np.where(none, np.nan, high)]
    return np.array(pairs)


def _growth(draws: Draws, divergence: bool) -> Floats:
    more = np.array([draws.of_divergence if divergence else 1.0])
    if draws.influences is None:
        return more
    reported, measured, _ = draws.influences
    return more * draws.growth(*((x - y if divergence else y) for x, y in zip(reported, measured, strict=True)))
