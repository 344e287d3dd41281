"""The each-class view: every class measured by its own curve, and a table of classes with the worst first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import fields
from .._lib.typing import ByValue, Floats, Ints, ReadOnlyArrays
from ..calibration.estimators import Estimate
from ..forecasts.forecasts import Block, Forecasts
from ..forecasts.labels import Label
from ..statistics.means import Averages, Limit, apply_limit, divergence_probability, means_of_runs, slope, spread
from ..statistics.tails import skewed_sf
from ..tally.class_tables import ClassPairs
from ..tally.tables import Pairs
from ..tally.tally import Tally

Measure = Callable[[Pairs], Estimate]
"""An estimator with its settings."""


class Table(ReadOnlyArrays):
    """Columns of equal length."""

    def __len__(self) -> int:
        """Count the rows."""
        return len(next(iter(vars(self).values())))


class ClassTable(Table):
    """Each class by itself, measured by its own curve: the most miscalibrated first.

    One array entry a class. The means are over the rows in which the class happened, and NaN where it never did.
    """

    label: tuple[Label | None, ...]
    index: Ints
    """Column of the class among the probabilities, from 0."""
    happened: Floats
    """Weight of the rows in which the class happened."""
    frequency: Floats
    """Share of these rows among all."""
    mean_reported: Floats
    """Mean probability assigned to the class in all rows."""
    gap: Floats
    """mean_reported - frequency: above 0, the class is overpredicted. 0 is best."""
    gap_standard_error: Floats
    """Standard error of the gap, the larger of that of calibrated forecasts and of what rows show. NaN for weighted or
    clustered rows."""
    gap_p_value: Floats
    """How probable a gap at least as large would be of calibrated forecasts, on either side. NaN as above.
    Each class by itself, not adjusted for their number.

    The distribution of the count is taken as a gamma distribution of its mean, variance and skewness (Pearson's type
    III), with a correction for continuity.
    """
    reported_decisiveness: Floats
    reported_geometric_accuracy: Floats
    reported_robustness: Floats
    """Means of the probabilities given to the class where it happened. Larger is better."""
    measured_decisiveness: Floats
    measured_geometric_accuracy: Floats
    measured_robustness: Floats
    """The same means of the measured probability: the observed frequency of the class given the prediction."""
    averages_slope: Floats
    """(measured D - R) / (reported D - R): below 1 the side of overconfidence, above 1 of under-."""
    divergence_probability: Floats
    """Reported / measured geometric accuracy. 1 is best; of one class alone it may well exceed 1."""
    loss: Floats
    """frequency * ln(measured / reported geometric accuracy), 0 where the class never happened.

    It is what the class adds to -ln(divergence probability) of all. Below 0 it is overpredicted, and gains by it.
    """
    miscalibration: Floats
    """loss + gap: what recalibrating the class would save of the log loss, in nats. Smaller is better.

    Never below 0 by isotonic regression at floor 0. Over all classes it adds up as the loss does, if rows sum to 1.
    """
    calibration_error: Floats
    """Mean distance of the measured from the reported probability of the class, over all rows. 0 is best."""


class ClassAverage(ByValue):
    """Plain means over the classes that happened, each counting once however often it did."""

    n_classes: int
    """How many classes happened."""
    reported: Averages
    measured: Averages
    averages_slope: float
    """That of these means."""
    divergence_probability: float
    """That of these means."""
    calibration_error: float


class PredictedTable(Table):
    """The rows that predicted each class, a k-way tie counting 1/k: the largest miscalibration is first.

    One array entry a class; NaN where it was never predicted.
    """

    label: tuple[Label | None, ...]
    index: Ints
    """Column of the class among the probabilities, from 0."""
    predicted: Floats
    """Weight of the rows of which the class was the most probable one."""
    share: Floats
    """Share of these rows among all."""
    mean_confidence: Floats
    """Mean probability assigned to the class in these rows."""
    right: Floats
    """Share of these rows in which it happened. Larger is better."""
    gap: Floats
    """mean_confidence - right: above 0, the side of overconfidence. 0 is best; the largest part of all is first."""
    calibration_error: Floats
    """Mean distance of the measured probability, by a curve of its own, from the confidence. 0 is best."""


class Bias(ByValue):
    """Mean prediction of the second of two classes, the positive one, and its observed frequency."""

    label: Label | None
    mean_reported: float
    """Mean probability assigned to it."""
    frequency: float
    """Share of the rows in which it happened."""
    gap: float
    """mean_reported - frequency: above 0, it is overpredicted. 0 is best."""
    standard_error: float
    """Standard error of the gap if the forecasts are calibrated. NaN for clusters of dependent rows."""


class ClassTables(NamedTuple):
    """Tables of the each-class view."""

    classes: ClassTable | None = None
    class_average: ClassAverage | None = None
    predicted: PredictedTable | None = None


def bias_of(tally: Tally) -> Bias | None:
    """Find the bias of forecasts of two classes; None where the tally does not know."""
    columns = tally.positive
    if columns is None or not tally.weight > 0:
        return None
    mean, frequency = columns.mean, columns.frequency
    error = math.sqrt(float((columns.squared * columns.p * (1 - columns.p)).sum())) / tally.weight
    return Bias(tally.labels[1], mean, frequency, mean - frequency, math.nan if tally.clustered else error)


def measured_each(each: ClassPairs, measure: Measure, mirrored: bool = False) -> Estimate:
    """Measure each group by itself; bins are numbered on from one to the next, and settings are those of all.

    For two groups that mirror one another the second alone is measured.
    """
    if mirrored:
        one = measure(second_of(each).pairs)
        bins = int(one.bin[-1]) + 1
        both = np.concatenate([1 - one.measured[::-1], one.measured])
        return Estimate(both, np.concatenate([bins - 1 - one.bin[::-1], bins + one.bin]), one.settings)
    measured, bin_ = np.zeros(each.pairs.total.size), np.zeros(each.pairs.total.size, dtype=np.int64)
    settings: list[set[tuple[str, float]]] = []
    next_bin = 0
    for start, stop in zip(each.first[:-1].tolist(), each.first[1:].tolist(), strict=True):
        if start == stop:  # a class that was never predicted
            continue
        here = slice(start, stop)
        estimate = measure(Pairs(*(column[here] for column in each.pairs)))
        measured[here], bin_[here] = estimate.measured, estimate.bin + next_bin
        next_bin += int(estimate.bin[-1]) + 1
        settings.append(set(estimate.settings.items()))
    return Estimate(measured, bin_, dict(sorted(set.intersection(*settings))))


def second_of(each: ClassPairs) -> ClassPairs:
    """Return the pairs of the second of two classes alone."""
    pairs = Pairs(*(column[int(each.first[1]) :] for column in each.pairs))
    return ClassPairs(pairs, each.points, np.array([0, pairs.total.size]))


def class_of_entries(each: ClassPairs) -> Ints:
    """Class of each entry of the pairs."""
    return np.repeat(np.arange(each.first.size - 1), np.diff(each.first))


def class_table(
    each: ClassPairs,
    estimate: Estimate,
    labels: tuple[Label | None, ...],
    weight: float,
    floor: float,
    limit: Limit,
    independent: bool,
) -> ClassTable:
    """Gather what is known of each class.

    Parameters
    ----------
    each : ClassPairs
        Pairs of reported probabilities and how often they happened, class by class.
    estimate : Estimate
        Measured probability of each pair.
    labels : tuple of label
        The C classes.
    weight : float
        Total weight of the rows.
    floor, limit : float, {"floor", "both"}
        Floor of the means, and whether there is a ceiling as far from 1.
    independent : bool
        Whether rows are independent and weigh 1, so that gaps have p-values.

    Returns
    -------
    ClassTable
    """
    of_entry, n = class_of_entries(each), len(labels)
    happened, _, forecast_sum, off = _sums(each, estimate, n)
    points, seen = each.points, each.pairs.happened > 0
    reported = _means_by_class(apply_limit(points.p, floor, limit), points.weight, of_entry[points.entry], n)
    limited = apply_limit(estimate.measured[seen], floor, limit)
    measured = _means_by_class(limited, each.pairs.happened[seen], of_entry[seen], n)
    frequency, mean_reported = happened / weight, forecast_sum / weight
    with np.errstate(divide="ignore", invalid="ignore"):
        run = spread(reported[0], reported[2])
        slopes = np.where(run == 0, np.nan, spread(measured[0], measured[2]) / run)
        divergence = reported[1] / measured[1]
        loss = np.where(happened > 0, frequency * np.log(measured[1] / reported[1]), 0.0)
    gap = mean_reported - frequency
    before = (happened, frequency, mean_reported, gap, *_chance(each, gap * weight, independent), *reported, *measured)
    return ClassTable(*_sorted(labels, -(loss + gap), *before, slopes, divergence, loss, loss + gap, off / weight))


def class_average(table: ClassTable) -> ClassAverage:
    """Average over the classes that happened."""
    some = table.happened > 0
    reported, measured = (
        Averages(*(float(getattr(table, f"{kind}_{f.name}")[some].mean()) for f in fields(Averages)))
        for kind in ("reported", "measured")
    )
    return ClassAverage(
        int(some.sum()),
        reported,
        measured,
        slope(reported, measured),
        divergence_probability(reported, measured),
        float(table.calibration_error[some].mean()),
    )


def predicted_table(
    each: ClassPairs, estimate: Estimate, labels: tuple[Label | None, ...], weight: float
) -> PredictedTable:
    """Gather what is known of the rows that predicted each class.

    Parameters
    ----------
    each : ClassPairs
        Largest probabilities of rows and how often their classes happened, by predicted class.
    estimate : Estimate
        Measured probability of each pair.
    labels : tuple of label
        The C classes.
    weight : float
        Total weight of the rows.

    Returns
    -------
    PredictedTable
    """
    hits, predicted, forecast_sum, off = _sums(each, estimate, len(labels))
    with np.errstate(invalid="ignore"):
        confidence, right, error = forecast_sum / predicted, hits / predicted, off / predicted
    share, gap = predicted / weight, confidence - right
    return PredictedTable(*_sorted(labels, -share * np.abs(gap), predicted, share, confidence, right, gap, error))


def _chance(each: ClassPairs, off: Floats, independent: bool) -> tuple[Floats, Floats]:
    """Standard errors and p-values of gaps, which are numbers of rows, where rows are independent and of equal weight.

    Calibrated, the number of rows in which a class happens is a sum of independent coins.
    """
    if not independent:
        return np.full(off.size, np.nan), np.full(off.size, np.nan)
    p, happened, total = each.pairs
    weight = total.sum() / off.size
    v = total * p * (1 - p)
    variance, third, squares = (
        np.bincount(class_of_entries(each), moment, off.size).astype(np.float64)
        for moment in (v, v * (1 - 2 * p), happened * (1 - 2 * p) + total * p**2)
    )
    return np.sqrt(np.maximum(variance, squares - off**2 / weight)) / weight, _p_values(off, variance, third)


def _p_values(off: Floats, variance: Floats, third: Floats) -> Floats:
    """P-values, on both sides, of sums that are off by so much, given their second and third moments."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.maximum(np.abs(off) - 0.5, 0) / np.sqrt(variance)
        tail = skewed_sf(z, -np.sign(off) * third / variance**1.5)
    return np.where(variance > 0, np.minimum(2 * tail, 1), np.where(np.abs(off) > 0.5, 0.0, 1.0))


def _sums(each: ClassPairs, estimate: Estimate, n: int) -> Floats:
    """Sums over the pairs of each class: those that happened, all, what was reported, and how far off it was."""
    reported, happened, total = each.pairs
    columns = (happened, total, total * reported, total * np.abs(estimate.measured - reported))
    of_entry = class_of_entries(each)
    return np.stack([np.bincount(of_entry, column, n) for column in columns]).astype(np.float64)


def _means_by_class(p: Floats, w: Floats, of_class: Ints, n: int) -> Floats:
    """Three means of the points of each class, which are sorted by it; NaN for a class that has none."""
    means = np.full((3, n), np.nan)
    first = run_starts(of_class)
    means[:, of_class[first]] = means_of_runs(p, w, first)
    return means


def _sorted(labels: tuple[Label | None, ...], key: Floats, *columns: Floats) -> list[Any]:
    """Put the classes in order of the key, NaN last and ties by column."""
    order = np.argsort(key, kind="stable")
    return [tuple(labels[at] for at in order), order, *(column[order] for column in columns)]


MOST_PAIRS = 100
"""Pairs that are kept, those of the largest loss."""


class ConfusionTable(Table):
    """Pairs of a predicted class and another one that was observed, the costliest first."""

    predicted: tuple[Label | None, ...]
    """The most probable class; the first of several."""
    observed: tuple[Label | None, ...]
    weight: Floats
    """Weight of the rows: their number if they have none."""
    probability: Floats
    """Geometric mean of the probability assigned to the observed class, at the floor."""
    loss: Floats
    """Log loss of these rows, in nats for each row of all: the parts of a log loss at the floor."""
    share: Floats
    """Share of the log loss of all rows."""


def confusion_table(chunks: Iterable[Forecasts], floor: float) -> ConfusionTable:
    """Read all rows once; a probability below the floor counts as the floor."""
    labels: tuple[Label | None, ...] = ()
    codes, sums = np.empty(0, np.int64), np.empty((0, 2))
    for forecasts in chunks:
        labels = forecasts.labels
        for block in forecasts.blocks():
            codes, sums = _added(codes, sums, *_pairs(block, floor))
    total, loss = sums.sum(axis=0) if codes.size else (1.0, 0.0)
    predicted, observed = np.divmod(codes, max(len(labels), 1))
    some = np.flatnonzero((predicted != observed) & (sums[:, 0] > 0))
    some = some[np.argsort(-sums[some, 1], kind="stable")[:MOST_PAIRS]]
    weight, cost = sums[some].T
    return ConfusionTable(
        tuple(labels[at] for at in predicted[some].tolist()),
        tuple(labels[at] for at in observed[some].tolist()),
        weight,
        np.exp(-cost / weight),
        cost / total,
        cost / loss if loss else np.zeros(some.size),
    )


def _pairs(block: Block, floor: float) -> tuple[np.ndarray, np.ndarray]:
    """Give each row's pair of classes, and its weight and weighted loss."""
    w = np.ones(len(block)) if block.weights is None else block.weights
    with np.errstate(divide="ignore"):
        loss = -np.log(np.maximum(np.asarray(block.rows.correct, dtype=np.float64), floor))
    code = np.argmax(block.probabilities, axis=1) * block.rows.n_classes + block.truth.astype(np.int64)
    return code, np.stack([w, np.where(w > 0, w * loss, 0.0)], axis=1)


def _added(codes: np.ndarray, sums: np.ndarray, code: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found, place = np.unique(np.concatenate([codes, code]), return_inverse=True)
    both = np.concatenate([sums, values])
    return found, np.stack([np.bincount(place, column, minlength=found.size) for column in both.T], axis=1)
