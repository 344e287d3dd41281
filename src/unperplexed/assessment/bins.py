"""Bins, curve and distribution of the predicted probabilities, and how often some of them were observed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._lib.arrays import distinct, run_starts
from .._lib.dataclasses import fields
from .._lib.formatting import number_of
from .._lib.typing import Floats, Ints, ReadOnlyArrays
from ..calibration.estimators import Estimate
from ..forecasts.labels import Label
from ..statistics.intervals import Interval, wilson
from ..statistics.means import means_of_runs, t_quantile
from ..tally.class_tables import ClassPairs
from ..tally.tables import Points
from ..tally.tally import Tally, View
from .classes import Table, class_of_entries

_INTERVALS = 50
"""Intervals of a distribution."""

_MOST_POINTS, _FEWEST_POINTS = 500, 10
"""Points of a curve: of all classes together at most, and of one class where there are many."""


class BinTable(Table):
    """Reported against measured probability, bin by bin, in increasing order ([N17] eqs. 15 and 16).

    One array entry a bin. The three means are over the correct-class probabilities in the bin, NaN where nothing
    in it happened.
    """

    lowest: Floats
    highest: Floats
    """Smallest and largest reported probability in the bin."""
    mean_reported: Floats
    """Arithmetic mean of all the bin's reported probabilities."""
    decisiveness: Floats
    geometric_accuracy: Floats
    robustness: Floats
    measured: Floats
    """Measured probability: how often what the bin speaks of happened."""
    measured_decisiveness: Floats
    measured_geometric_accuracy: Floats
    measured_robustness: Floats
    """Means of what was measured for the correct-class probabilities, which differ where the curve is smooth."""
    happened: Floats
    total: Floats
    """Weight of the bin's pairs that happened, and of all its pairs."""
    contribution: Floats
    """Share of the events in the bin times ln(geometric accuracy); the bins' sum is that of the whole.

    In the top-label view, among the top classes.
    """
    label: tuple[Label | None, ...] = ()
    """In the each-class view of more than two classes the class of each bin, which go by class and then by probability.

    With two classes the bins are those of the positive class; only ``contribution`` is of both.
    """

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<BinTable of {number_of(len(self), 'bin')}>"


class Curve(ReadOnlyArrays):
    """Measured probability as estimated, for up to some 500 of the reported ones."""

    reported: Floats
    measured: Floats
    label: tuple[Label | None, ...] = ()
    """In the each-class view of more than two classes the class of each point; their curves follow one another.

    With two classes the curve is that of the positive class, of which the other's is the mirror image.
    """

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Curve through {number_of(self.measured.size, 'point')}>"


class Histogram(ReadOnlyArrays):
    """Shares of the total weight between edges, each interval holding its lower edge, the last one both."""

    edges: Floats
    share: Floats


class Observed(NamedTuple):
    """Observed frequency of the classes that were predicted with some probabilities."""

    total: float
    """Weight of the pairs predicted with one of them."""
    lowest: float
    highest: float
    mean_reported: float
    """Mean of the predicted probabilities."""
    happened: float
    """Share of the pairs that happened."""
    interval: Interval
    """Confidence interval of that share alone (Wilson 1927); NaN for weighted or clustered rows."""


def bin_table(each: ClassPairs, estimate: Estimate, p: Floats, labels: tuple[Label | None, ...]) -> BinTable:
    """Bins of an estimate.

    Parameters
    ----------
    each : ClassPairs
        Pairs of n reported probabilities and how often they happened, class by class.
    estimate : Estimate
        Measured probability and bin of each pair.
    p : ndarray
        Reported probabilities of what happened, floored, one for each point of `each`.
    labels : tuple of label
        The classes in the each-class view, else ().

    Returns
    -------
    BinTable
        Of two classes the bins of the second.
    """
    pairs, points = each.pairs, each.points
    first: Ints = run_starts(estimate.bin)
    last = np.append(first[1:], estimate.bin.size) - 1
    happened = np.add.reduceat(pairs.happened, first)
    total = np.add.reduceat(pairs.total, first)
    means, measured = np.full((2, 3, first.size), np.nan)
    bin_of_point = estimate.bin[points.entry]
    starts = run_starts(bin_of_point)
    means[:, bin_of_point[starts]] = means_of_runs(p, points.weight, starts)
    measured[:, bin_of_point[starts]] = means_of_runs(estimate.measured[points.entry], points.weight, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        contribution = np.where(happened > 0, happened / happened.sum() * np.log(means[1]), 0.0)
    table = BinTable(
        lowest=pairs.reported[first],
        highest=pairs.reported[last],
        mean_reported=np.add.reduceat(pairs.reported * pairs.total, first) / total,
        decisiveness=means[0],
        geometric_accuracy=means[1],
        robustness=means[2],
        measured=happened / total,
        measured_decisiveness=measured[0],
        measured_geometric_accuracy=measured[1],
        measured_robustness=measured[2],
        happened=happened,
        total=total,
        contribution=contribution,
        label=tuple(labels[at] for at in class_of_entries(each)[first]) if labels else (),
    )
    return _bins_of_two(table) if len(labels) == 2 else table


def _bins_of_two(table: BinTable) -> BinTable:
    """Return the bins of the second of two classes, with the contributions of both; the first's mirror them."""
    half = len(table) // 2
    columns = {f.name: getattr(table, f.name)[half:] for f in fields(BinTable) if f.name != "label"}
    columns["contribution"] = columns["contribution"] + table.contribution[:half][::-1]
    return BinTable(**columns)


def curve_of(each: ClassPairs, estimate: Estimate, labels: tuple[Label | None, ...]) -> Curve:
    """Thin an estimate out to what a picture can show, each class's by itself; of two that of the second alone."""
    runs = [np.arange(*ends) for ends in zip(each.first[:-1], each.first[1:], strict=True)]
    if len(labels) == 2:
        runs, labels = runs[1:], ()
    most = max(_MOST_POINTS // len(runs), _FEWEST_POINTS)
    for at, run in enumerate(runs):
        if run.size > most:
            reported = each.pairs.reported[run]
            steps = np.minimum(np.linspace(0, reported[-1], most), reported[-1])  # rounding goes beyond it below 1e-308
            runs[at] = run[distinct(np.searchsorted(reported, steps))]
    shown = np.concatenate(runs)
    label = tuple(label for label, run in zip(labels, runs, strict=False) for _ in run)
    return Curve(each.pairs.reported[shown], estimate.measured[shown], label)


def distribution(points: Points) -> Histogram:
    """Spread the probabilities of what was observed over equal intervals."""
    edges = np.arange(_INTERVALS + 1) / _INTERVALS
    interval = np.minimum(np.searchsorted(edges, points.p, side="right") - 1, _INTERVALS - 1)
    weight = np.bincount(interval, points.weight, minlength=_INTERVALS)
    return Histogram(edges, weight / weight.sum())


def observed_between(tally: Tally, low: float, high: float, view: View, confidence: float) -> Observed:
    """Find out how often the outcome was observed where it was assigned some probability.

    Parameters
    ----------
    tally : Tally
        Counts of the forecasts.
    low, high : float
        Limits of the probability, included.
    view : {"all-classes", "top-label", "each-class"}
        Which pairs are looked at; "each-class" is the positive class of two.
    confidence : float
        Confidence level of the interval, in (0, 1).

    Returns
    -------
    Observed
        NaN but for the total where no pair lies between the limits.
    """
    pairs = tally.pairs("all-classes" if view == "each-class" else view)
    if view == "each-class" and tally.positive is not None:
        pairs = tally.positive.pairs()
    reported, happened, total = (x[(low <= pairs.reported) & (pairs.reported <= high)] for x in pairs)
    weight, nan = float(total.sum()), math.nan
    if not weight:
        return Observed(0.0, nan, nan, nan, nan, Interval(nan, nan))
    share = float(happened.sum()) / weight
    sure = not tally.weighted and not tally.clustered
    interval = wilson(share, weight, float(t_quantile(confidence, math.inf))) if sure else Interval(nan, nan)
    mean = float((reported * total).sum()) / weight
    return Observed(weight, float(reported[0]), float(reported[-1]), mean, share, interval)
