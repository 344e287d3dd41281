"""assess_ordered(): exceedance probabilities and the PIT histogram of forecasts of ordered classes."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from .._lib.errors import InputError
from .._lib.typing import Floats
from ..calibration.diagnosis.result import Diagnosis
from ..forecasts.gathered import GatheredRows, gathered
from ..forecasts.reading import RowReading, reads
from ..pairing.skill import skill
from ..report.result import frames_as_input
from ..statistics.intervals import Interval, checked_sampling
from ..statistics.products import product
from ..statistics.standard_errors import Dependence, UncertainMean, holm, simultaneous, uncertain_mean
from .assess import assess
from .ordered_result import OrderedAssessment, PitHistogram, PitMoment, Threshold

_BINS = 10
"""Bins of the PIT histogram."""


@frames_as_input
@reads(RowReading)
def assess_ordered(
    y_true: Any, y_prob: Any, *, confidence: float = 0.95, **reading: Unpack[RowReading]
) -> OrderedAssessment:
    """Assess forecasts of ordered classes: each threshold as an event, the PIT histogram, and the rank skill.

    Parameters
    ----------
    y_true : array_like of shape (n,) or (n, C)
        Outcomes: class labels or one-hot rows.
    y_prob : array_like of shape (n, C), or a data frame
        Predicted probabilities of at least three classes, the lowest first: counts, bins of a quantity, grades.
    confidence : float, default 0.95
        Confidence level of the intervals, in (0, 1). p-values below 1 minus it are significant.
    **reading
        How rows are read, as in `assess`: ``labels``, ``sample_weight``, ``clusters`` (clusters), ``scale``,
        ``invalid`` and others.

    Returns
    -------
    OrderedAssessment
        Its ``verdict`` names what is wrong with location and spread, and at how many thresholds.

    Raises
    ------
    InputError
        For invalid input, with the rows (counted from 0) and the remedy, and for fewer than three classes.

    Notes
    -----
    The exceedance probability of a class is the sum of the probabilities from this class on. The histogram is that of
    Czado, Gneiting and Held (2009), without random numbers: an outcome counts in each bin by the share of its
    probability interval, from the cumulative probability below its class to that of its class, that lies in the bin.
    For calibrated forecasts each bin has the same expected share, the mean of the transform is 1/2 and its mean squared
    distance from 1/2 is 1/12; both are tested by Student's t, with sums over clusters where there are any.

    Examples
    --------
    >>> from unperplexed import assess_ordered
    >>> p = [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.3, 0.6], [0.3, 0.4, 0.3]]
    >>> result = assess_ordered(["near", "below", "above", "near"], p, labels=["below", "near", "above"])
    >>> [(each.name, round(each.mean_prediction, 3), each.frequency) for each in result.thresholds]
    [('near or above', 0.7, 0.75), ('above', 0.325, 0.25)]
    """
    rows = gathered({"y_prob": y_prob}, y_true, reading)
    return ordered_of(rows, confidence)


def ordered_of(rows: GatheredRows, confidence: float) -> OrderedAssessment:
    """Assess the rows of one forecaster."""
    checked_sampling(confidence, 0, 0)
    if rows.n_classes < 3:
        raise InputError(
            f"ordered classes are at least three, here {rows.n_classes}; two are one event, which assess assesses."
        )
    [p] = (np.asarray(each, dtype=np.float64) for each in rows.values.values())
    p = p / p.sum(axis=1, keepdims=True)
    sample = Dependence(rows.clusters)
    below = np.hstack([np.zeros((p.shape[0], 1)), np.cumsum(p, axis=1)])
    row = np.arange(p.shape[0])
    low, high = np.minimum(below[row, rows.truth], 1.0), np.minimum(below[row, rows.truth + 1], 1.0)
    known: dict[str, Any] = {"sample_weight": rows.weights if rows.weighted else None, "clusters": rows.clusters}
    moments = _moments(low, high, rows.weights, sample, confidence)
    [notes] = rows.notes.values()
    return OrderedAssessment(
        labels=rows.labels,
        thresholds=_thresholds(rows, below, known, sample, confidence),
        pit=_pit(low, high, rows.weights, sample, confidence),
        location=moments[0],
        spread=moments[1],
        skill=skill(
            rows.truth,
            {"forecasts": p},
            labels=range(rows.n_classes),
            metrics=["ranked_probability_score"],
            confidence=confidence,
            **known,
        ),
        n_rows=rows.n_rows,
        weighted=rows.weighted,
        n_clusters=None if rows.clusters is None else sample.independent_units(rows.n_rows),
        confidence=confidence,
        notes=notes,
    )


def _thresholds(
    rows: GatheredRows, below: Floats, known: dict[str, Any], sample: Dependence, confidence: float
) -> tuple[Threshold, ...]:
    found = []
    for k in range(1, rows.n_classes):
        event, q = rows.truth >= k, np.clip(1 - below[:, k], 0.0, 1.0)
        of_event = assess(event, q, labels=[False, True], resamples=0, confidence=confidence, **known)
        found.append((k, event, q, of_event))
    adjusted = holm(np.array([_p_value(of_event.diagnosis) for *_, of_event in found]))
    weight = float(rows.weights.sum())
    thresholds, (_, level) = [], simultaneous(np.ones(len(found)), confidence)
    for (k, event, q, of_event), p_value in zip(found, adjusted.tolist(), strict=True):
        excess = uncertain_mean(event - q, rows.weights, sample)
        thresholds.append(
            Threshold(
                rows.labels[k],
                f"{rows.labels[k]}{' or above' if k < rows.n_classes - 1 else ''}",
                float(product(rows.weights, q)) / weight,
                float(rows.weights[event].sum()) / weight,  # exactly 1 where all rows exceed it
                excess.mean,
                _interval(excess, level),
                p_value,
                of_event,
            )
        )
    return tuple(thresholds)


def _p_value(d: Diagnosis) -> float:
    """p-value of a threshold's test, rows predicted as certain included; NaN where nothing could be tested."""
    return d.overall_p_value if d.findings or not np.isnan(d.p_value) else np.nan


def _interval(found: UncertainMean, confidence: float) -> Interval:
    half = found.half_width(confidence)
    return Interval(found.mean - half, found.mean + half)


def _pit(low: Floats, high: Floats, w: Floats, sample: Dependence, confidence: float) -> PitHistogram:
    """Share of each row's probability interval in each bin; a row whose outcome was assigned 0 is at one place."""
    edges = np.arange(_BINS + 1) / _BINS
    width = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = np.clip((edges - low[:, None]) / width[:, None], 0.0, 1.0)
    point = width <= 0
    inside[point] = edges > np.clip(low[point, None], 0.0, np.nextafter(1.0, 0.0))
    mass = np.diff(inside, axis=1)
    found = [uncertain_mean(mass[:, at], w, sample) for at in range(_BINS)]
    limits = np.array([_interval(each, confidence) for each in found])
    share = np.array([each.mean for each in found])
    return PitHistogram(edges, share, np.maximum(limits[:, 0], 0.0), np.minimum(limits[:, 1], 1.0))


def _moments(low: Floats, high: Floats, w: Floats, sample: Dependence, confidence: float) -> list[PitMoment]:
    """Mean of the PIT, and twelve times its mean squared distance from 1/2, over each row's interval."""
    a, b = low - 0.5, high - 0.5
    moments = ((low + high) / 2, 0.5), (4 * (a * a + a * b + b * b), 1.0)
    found = [(uncertain_mean(x, w, sample), uncertain_mean(x - value, w, sample), value) for x, value in moments]
    p, level = simultaneous(np.array([apart.p_value() for _, apart, _ in found]), confidence)
    return [
        PitMoment(each.mean, _interval(each, level), value, p_value)
        for (each, _, value), p_value in zip(found, p.tolist(), strict=True)
    ]
