"""The remedy of predictive distributions: an average of maps of normal scores, weighed by cross-validation.

The weights are ``exp(-L/D - r/2 - 2 [not identity])`` by the held-out log loss L in nats, the design effect D and the
number r of parameters, in five folds. Dependent rows tell less, so that a loss counts by the design effect less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from .._lib.dataclasses import Frozen, field, replace
from .._lib.errors import InputError, check_whole
from .._lib.serialize import plain_values
from .._lib.typing import AnyFloats, Floats, Ints
from ..calibration.diagnosis.pit_search import PitScored, pit_gate
from ..calibration.diagnosis.row_groups import Groups, Windows
from ..calibration.distribution_rows import DistributionRows
from ..forecasts.distributions.arrays import BLOCK, refuse_rows
from ..forecasts.distributions.distribution import Distribution, Mended
from ..forecasts.distributions.ordered import Ordered
from ..forecasts.distributions.partitions import Partition, Quantiles
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.pit_rows import PitRows
from ..forecasts.distributions.predictive import Predictive
from ..maps.pit import (
    BERNSTEIN,
    DEGREE,
    FAMILIES,
    IDENTITY,
    RANKS,
    AnyMap,
    Bernstein,
    PitAverage,
    PitCurve,
    PitFits,
    PitMap,
    log_mass,
)
from ..maps.saved import number, require, whole
from ..report.document import listed
from ..statistics.matrices import product
from ..statistics.normal_scores import normal_scores
from .averaging import CLASS_PENALTY, shares_of
from .folds import contents_of_rows, folds_of_clusters
from .gain import FEWEST_CLUSTERS, FEWEST_ROWS, Gain, gain_of
from .saved import DISTRIBUTIONS, gain_dict, saved_gain
from .state import Candidate, Weighed

FOLDS = 5
"""Folds, unless the user asks for others."""

LEAST = 1e-3
"""Maps that weigh less have no part in the average."""


class Location(Frozen):
    """How level and spread of forecasts are told to the maps: as in the fit, whose range they do not leave."""

    logged: bool
    """Whether the level is that of log(1 + y), as no forecast was negative."""
    level: tuple[float, float]
    """Mean and standard deviation of the level; a deviation of 0 where it did not vary."""
    log_spread: tuple[float, float]
    """Mean of the logarithm of the spread, and whether it varied, 1 or 0."""
    least: float
    """Smallest spread above 0, which spreads of 0 are taken as."""
    low: tuple[float, float]
    """Smallest standardised level and centred log spread of the fit."""
    high: tuple[float, float]
    """Largest ones."""

    @staticmethod
    def of(rows: PitRows, scored: PitScored, *, logged: bool) -> Location:
        """Take mean, deviation and range of the rows of a fit."""
        assert rows.level is not None
        log_spread = np.zeros(rows.n) if rows.log_spread is None else rows.log_spread
        cells = scored.cells
        means = [float(product(scored.total, each)) / scored.n for each in (rows.level, log_spread)]
        deviation = float(np.sqrt(product(scored.total, (rows.level - means[0]) ** 2) / scored.n))
        varied = (deviation if cells.level.any() else 0.0, float(cells.log_spread.any()))
        found = Location(logged, (means[0], varied[0]), (means[1], varied[1]), float(np.exp(log_spread.min())), *_ALL)
        x = found._standard(rows.level, log_spread)
        low, high = ([float(end(each)) for each in x] for end in (np.min, np.max))
        return replace(found, low=(low[0], low[1]), high=(high[0], high[1]))

    def factors(self, forecast: Predictive) -> tuple[Floats, Floats]:
        """Return the standardised level and the centred log spread of forecasts."""
        level, spread = forecast.median(), forecast.spread()
        if self.logged:
            remedy = "The map was fitted to forecasts of which none is negative."
            refuse_rows(level < 0, "forecast", "a median below 0", remedy)
            level = np.log1p(level)
        return self._standard(level, np.log(np.where(spread > 0, spread, self.least)))

    def _standard(self, level: Floats, log_spread: Floats) -> tuple[Floats, Floats]:
        (mean, deviation), (centre, varied) = self.level, self.log_spread
        each = ((level - mean) / (deviation or np.inf), (log_spread - centre) * varied)
        level, log_spread = map(np.clip, each, self.low, self.high)
        return level, log_spread


_ALL = ((-np.inf, -np.inf), (np.inf, np.inf))


class DistributionMap(Weighed, Frozen):
    """A fitted average of maps, which mends predictive distributions in the form in which they come."""

    form: str
    """What the forecasts of the fit were: "23 quantiles"."""
    n_rows: int
    average: PitAverage
    candidates: tuple[Candidate, ...]
    location: Location | None
    """None of PIT values, which have neither level nor spread."""
    not_negative: bool
    """Whether no outcome and no quantile or member of the fit was below 0, so that no mended one is."""
    gain: Gain | None
    """Increase of the log score; None for fewer than 100 rows, or 10 clusters."""
    fitted_to: tuple[int, ...] = field(default=(), repr=False)
    """Hashes of some forecasts of the fit, by which they are known again; () if many were equal."""
    held_out: HeldOutDistributions | None = field(default=None, repr=False, compare=False)
    """Not saved."""

    @property
    def parameters(self) -> dict[str, float]:
        """Parameters of the heaviest map; the weights of a mixture of beta distributions."""
        return self.average.maps[self.heaviest].parameters()

    @property
    def words(self) -> str:
        """What the heaviest map does: "shift up by 0.58 spreads and widen 1.29 times, averaged with other maps"."""
        given = self.parameters
        done = [said(given[name]) for name, said in _DONE.items() if abs(given.get(name, 0)) >= _SHOWN]
        done += ["follow the predicted level and spread"] if "follow" in given else []
        done += ["bend the tails"] if "tail" in given else []
        others = ["averaged with other maps"] if len(self.average.maps) > 1 else []
        return ", ".join([listed(done) if done else _UNNAMED.get(self.heaviest, "change little"), *others])

    def transform(self, forecast: Predictive) -> Predictive:
        """Return mended forecasts, in the form in which they came."""
        return self.mended(forecast)[0]

    def known(self, forecast: Predictive) -> float:
        """Return the share of the fit's forecasts that are among these, about."""
        return float(np.isin(self.fitted_to, _hashes(forecast)).mean()) if self.fitted_to else 0.0

    def gains(self, y: Any, forecast: Predictive) -> Floats:
        """Return by how much the map improves the log score of each outcome, in nats, by what is known of it before."""
        rows = forecast.pit_rows(y)
        return self._curve(forecast).gains(rows.low, rows.high)

    def _curve(self, forecast: Predictive) -> PitCurve:
        located = self.location if self.average.located else None
        return PitCurve(self.average, *((0.0, 0.0) if located is None else located.factors(forecast)))

    def mended(self, forecast: Predictive) -> tuple[Predictive, float]:
        """Return mended forecasts, and the share of their quantiles or members beyond the predicted ones."""
        refuse_rows(~forecast.complete, "forecast", "something missing", "Leave them out with subset(complete).")
        curve = self._curve(forecast)
        if isinstance(forecast, Distribution):
            return Distribution(Mended(forecast, curve)), 0.0
        if isinstance(forecast, PIT):
            low, high = (ndtr(curve.scores(normal_scores(p, 1 - p))) for p in (forecast.low, forecast.high))
            return PIT(low, high), 0.0
        if isinstance(forecast, Ordered):
            return forecast.with_ends(curve.by_column().scores(forecast.ends())), 0.0
        assert isinstance(forecast, Partition)
        order = np.argsort(forecast.numbers, axis=1, kind="stable")
        ordered = np.take_along_axis(forecast.numbers, order, axis=1)
        lowest = 0.0 if self.not_negative else -np.inf
        ordered, beyond = _moved(ordered, ndtri(forecast.edges[1:-1]), curve, lowest)
        numbers = np.empty_like(ordered)
        np.put_along_axis(numbers, order, ordered, axis=1)
        return forecast.at(numbers), beyond


def _hashes(forecast: Predictive) -> Ints:
    """Hash forecasts by what they say, each different one once, the smallest hash first."""
    if isinstance(forecast, Quantiles):
        said = np.asarray(forecast.values, dtype=np.float64)
    else:
        ends = [forecast.low, forecast.high] if isinstance(forecast, PIT) else [forecast.median(), forecast.spread()]
        said = np.stack(ends, axis=1)
    n = len(forecast)
    found = contents_of_rows(said, np.zeros(n, dtype=np.int64), np.ones(n))
    return np.unique(found >> np.uint64(12)).astype(np.int64)  # which any reader of JSON keeps


_KEPT = 64
"""Hashes of the fit that are kept."""

_VARIED = 0.5
"""Share of the forecasts that are to be different for them to be known again."""


def _moved(values: AnyFloats, z: Floats, curve: PitCurve, lowest: float) -> tuple[AnyFloats, float]:
    """Return the mended quantiles at these normal scores, and the share of them beyond the outermost ones.

    Between quantiles values are linear in the normal scores of the levels; beyond the outermost the last slope goes on.
    """
    found, beyond = np.empty_like(values), 0
    whole = None if np.ndim(curve.level) else curve.inverse(z)[None]
    for at in range(0, len(values), BLOCK):
        rows = slice(at, at + BLOCK)
        some, part = values[rows].astype(np.float64), curve.subset(rows)
        new = whole if whole is not None else part.by_column().inverse(z)
        right = np.clip(np.searchsorted(z, new), 1, len(z) - 1)
        share = (new - z[right - 1]) / (z[right] - z[right - 1])
        right = np.broadcast_to(right, some.shape)
        below, above = (np.take_along_axis(some, place, axis=1) for place in (right - 1, right))
        moved = np.maximum(below + (above - below) * share, np.minimum(some[:, :1], lowest))
        moved = np.where(np.abs(new - z) < _SAME, some, moved)  # what stays does so to the last bit, also where tied
        found[rows] = np.maximum.accumulate(moved, axis=1)
        outside = (new < z[0] - _SAME) | (new > z[-1] + _SAME)
        beyond += int(np.count_nonzero(np.broadcast_to(outside, some.shape)))
    return found, beyond / values.size


_SAME = 1e-9
"""Normal scores that differ by less are the same."""


_DONE: Mapping[str, Callable[[float], str]] = {
    "bias": lambda a: f"shift {'up' if a > 0 else 'down'} by {abs(a):.2f} spreads",
    "spread": lambda c: f"widen {np.exp(c):.2f} times" if c > 0 else f"narrow to {np.exp(c):.2f} of the width",
}
_SHOWN = 0.005
"""Least parameter that two decimals show."""
_UNNAMED = {IDENTITY: "change nothing", BERNSTEIN: "reshape by a mixture of beta distributions"}
"""What maps do to predictive distributions."""

Score = Callable[[Floats, Predictive], Floats]
"""A score of each row, of outcomes and forecasts."""


class HeldOutDistributions(Frozen, eq=False):
    """Rows of each fold, with the average that was fitted without it (cross-fitted)."""

    without: tuple[DistributionMap, ...]
    fold: Ints
    """Of each row of the fit that was not held impossible."""

    def scored(self, score: Score, y: Floats, forecast: Predictive, rows: Ints) -> Floats:
        """Score mended forecasts of some rows."""
        found = np.empty(len(rows))
        for fold, each in enumerate(self.without):
            here = np.flatnonzero(self.fold[rows] == fold)
            if here.size:
                found[here] = score(y[rows[here]], each.transform(forecast.subset(rows[here])))
        return found


class _Rows:
    """Rows of a fit in cells, dealt into folds."""

    def __init__(self, rows: DistributionRows, folds: int, seed: int) -> None:
        pit, level = rows.rows, None if isinstance(rows.forecast, PIT) else rows.forecast.median()
        if level is not None:
            pit = replace(pit, level=level, log_spread=rows.forecast.spread()).scaled()
        self.scored = PitScored.of(pit)
        self.location = None if level is None else Location.of(pit, self.scored, logged=bool((level >= 0).all()))
        self.cells = self.scored.cells
        self.at = np.arange(pit.n) if self.scored.at is None else self.scored.at
        self.effect = pit_gate(self.scored, rows.groups).design_effect
        told = [self.scored.rows.low, self.scored.rows.high, *self.scored.factors[1:]]
        self.fold = dealt(told, self.scored.total, rows.groups, folds, seed)
        size = self.cells.low.size
        totals = np.bincount(self.fold * size + self.at, self.scored.total, folds * size)
        self.totals: Floats = totals.reshape(folds, size).astype(np.float64)


def dealt(columns: Sequence[Floats], weight: Floats, groups: Groups | None, folds: int, seed: int = 0) -> Ints:
    """Deal rows into folds: stretches of time of issue where these are known, else clusters, or rows, at random.

    Parameters
    ----------
    columns : sequence of arrays of shape (n,)
        What tells rows apart, whose order does not matter then.
    weight : array of shape (n,)
        Weights.
    groups : clusters or Windows, optional
        Rows that may depend, which share a fold.
    folds : int
        Number of folds.
    seed : int
        Random seed.
    """
    n, timed = weight.size, isinstance(groups, Windows)
    label = np.arange(n) if groups is None else groups.numbers()[0] if isinstance(groups, Windows) else groups
    known, number = np.unique(label, return_inverse=True)
    units = len(known)
    if units < folds:
        what = "rows" if groups is None else "times of issue" if timed else "clusters"
        raise InputError(f"folds: {folds} folds need as many {what}, and there are {units}.")
    if timed:
        return np.asarray(number * folds // units)
    contents = contents_of_rows(np.stack(columns, axis=1), np.zeros(n, dtype=np.int64), weight)
    return folds_of_clusters(number, contents, folds, seed)


def fit_distributions(rows: DistributionRows, folds: int | None = None, seed: int = 0) -> DistributionMap:
    """Fit maps of normal scores, and weigh them by their log scores on held-out rows.

    Parameters
    ----------
    rows : DistributionRows
        Outcomes and forecasts. Outcomes that were held impossible have no part: no map mends them.
    folds : int, optional
        Number of folds, by default 5.
    seed : int
        Random seed of the folds.

    Raises
    ------
    InputError
        For fewer rows, clusters or times of issue than folds, and for a single quantile.
    """
    folds = FOLDS if folds is None else check_whole("folds", folds, 2, 100)
    rows = rows.only(np.flatnonzero(~rows.rows.impossible))
    if isinstance(rows.forecast, Quantiles) and len(rows.forecast.levels) < 2:
        raise InputError("forecast: one quantile does not tell how wide a distribution is. Give two or more.")
    of = _Rows(rows, folds, seed)
    fits, n = PitFits(of.cells), of.scored.n
    names = fits.names
    maps = {name: fits.fit(name, of.cells.total) for name in names}
    without = [{name: fits.fit(name, of.cells.total - part) for name in names} for part in of.totals]
    gains = (np.stack([found.gains(of.cells) for found in each.values()]) for each in without)
    held = np.stack([product(each, part) for each, part in zip(gains, of.totals, strict=True)])

    def averaged(of_maps: Mapping[str, AnyMap], gains: Floats) -> PitAverage:
        shares = shares_of(names, _weights(names, gains / of.effect), LEAST)
        return PitAverage({name: of_maps[name] for name in shares}, shares)

    every = held.sum(axis=0)
    before = rows.means.mean(_losses(rows))
    weights, losses = _weights(names, every / of.effect), before - every / n
    forecast, ranks, hashes = rows.forecast, [RANKS[name] for name in names], _hashes(rows.forecast)
    found = DistributionMap(
        form=forecast.form,
        n_rows=rows.rows.n,
        average=averaged(maps, every),
        candidates=tuple(map(Candidate, names, weights.tolist(), losses.tolist(), ranks)),
        location=of.location,
        not_negative=isinstance(forecast, Partition) and bool(min(rows.y.min(), forecast.numbers.min()) >= 0),
        gain=None,
        fitted_to=tuple(hashes[:_KEPT].tolist()) if hashes.size > _VARIED * rows.rows.n else (),
    )
    parts = [replace(found, average=averaged(each, every - part)) for each, part in zip(without, held, strict=True)]
    pooled = np.stack([each.average.gains(of.cells) for each in parts])[of.fold, of.at]
    in_sample = float(product(of.cells.total, found.average.gains(of.cells))) / n
    held_out = HeldOutDistributions(tuple(parts), of.fold)
    return replace(found, gain=_gain(rows, before, pooled, in_sample), held_out=held_out)


def _weights(names: Sequence[str], gains: Floats) -> Floats:
    cost = CLASS_PENALTY.costs(-gains, [RANKS[name] for name in names], names)
    weights = np.exp(cost.min() - cost)
    return np.asarray(weights / weights.sum())


def _gain(rows: DistributionRows, before: float, gains: Floats, in_sample: float) -> Gain | None:
    """Give the increase of the log score; None of too few rows or clusters."""
    mean = rows.means.uncertain(gains)
    clusters = None if rows.groups is None else round(mean.degrees) + 1
    if rows.rows.n < FEWEST_ROWS or (clusters is not None and clusters < FEWEST_CLUSTERS):
        return None
    return gain_of(before, mean.mean, mean.standard_error, in_sample, rows.rows.n, clusters)


def _losses(rows: DistributionRows) -> Floats:
    """Return minus the log score of each row: of what is known exactly by its density, of PIT values by theirs."""
    low, high = rows.rows.low, rows.rows.high
    exact = -rows.forecast.logpdf(rows.y) if isinstance(rows.forecast, Distribution) else np.zeros(rows.rows.n)
    wide = low < high
    exact[wide] = -log_mass(low[wide], high[wide])
    return exact


def distributions_dict(found: DistributionMap, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give a fitted map of predictive distributions as plain values."""
    return {
        **DISTRIBUTIONS.head,
        "form": found.form,
        "rows": found.n_rows,
        "settings": dict(settings),
        "candidates": plain_values(found.candidates),
        "maps": [{"name": name, **plain_values(each.parameters())} for name, each in found.average.maps.items()],
        "location": plain_values(found.location),
        "not_negative": found.not_negative,
        "gain": gain_dict(found.gain),
        "fitted_to": list(found.fitted_to),
    }


_KEYS = {"form", "rows", "settings", "candidates", "maps", "location", "not_negative", "gain", "fitted_to"}


def distributions_of(data: Any) -> tuple[DistributionMap, dict[str, Any]]:
    """Read what `distributions_dict` gave: what would not be written as it was read is refused."""
    DISTRIBUTIONS.check(data, _KEYS, {"fitted_to"})
    try:
        found, settings = _read(data), dict(data["settings"])
        again = distributions_dict(found, settings)
    except (AttributeError, KeyError, TypeError, ValueError):
        again = {}
    wrong = next((name for name in data if again.get(name) != data[name]), "")
    require(not wrong, wrong if again else "something")
    require(set(settings) == {"folds", "seed"}, "settings")
    return found, settings


def _read(data: Mapping[str, Any]) -> DistributionMap:
    candidates = tuple(Candidate(**each) for each in data["candidates"])
    names, weights = [each.name for each in candidates], [number(each.weight, "weight", 0, 1) for each in candidates]
    require(IDENTITY in names and {*names} <= {*RANKS} and abs(sum(weights) - 1) < 1e-6, "candidates")
    shares = shares_of(names, np.array(weights), LEAST)
    maps = {each["name"]: _map(**each) for each in data["maps"]}
    require([*maps] == [*shares], "maps, which differ from the candidates that weigh,")
    average, place, rows = PitAverage(maps, shares), data["location"], int(data["rows"])
    parts: Any = {k: tuple(v) if isinstance(v, list) else v for k, v in (place or {}).items()}
    location = None if place is None else Location(**parts)
    require(rows > 0 and (location is not None or not average.located), "location")
    gain, not_negative = saved_gain(data["gain"]), bool(data["not_negative"])
    fitted_to = tuple(whole(each, "fitted_to") for each in data.get("fitted_to", ()))  # which earlier maps lack
    return DistributionMap(str(data["form"]), rows, average, candidates, location, not_negative, gain, fitted_to)


def _map(name: str, **parameters: Any) -> AnyMap:
    if name == BERNSTEIN:
        weights = tuple(number(each, name, 0, 1) for each in parameters["weights"])
        require(len(weights) == DEGREE, name)
        return Bernstein(weights)
    require({*parameters} == {*FAMILIES[name]}, f"map {name}")
    return PitMap({key: number(value, f"map {name}", -50, 50) for key, value in parameters.items()})
