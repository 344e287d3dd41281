"""assess_ordered(): exceedance probabilities and the PIT histogram of forecasts of ordered classes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._lib.dataclasses import dataclass, fields
from .._lib.errors import InputError
from .._lib.formatting import capital, confidence_interval, number_of, p_value_text
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats, ReadOnlyArrays
from .._version import __version__
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch
from ..calibration.diagnosis.result import Diagnosis
from ..calibration.undeclared import read_rows
from ..forecasts.forecasts import Notes
from ..forecasts.gathered import GatheredRows, gathered
from ..forecasts.labels import Label
from ..forecasts.reading import SEARCHED, SearchedReading, reads
from ..pairing.skill import skill
from ..pairing.skill_result import Skill
from ..report.numbers import between, number
from ..report.result import JsonResult, frame_like_input, frames_as_input, picture
from ..statistics.intervals import Dependence, Interval, checked_sampling, holm, simultaneous, uncertain_mean
from ..statistics.products import product
from .assess import assess
from .result import Assessment

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Threshold(ByValue):
    """The event that the outcome is a class or a higher one."""

    label: Label | None
    """The lowest of these classes."""
    name: str
    """The event in words."""
    mean_prediction: float
    """Mean predicted probability of the event, its exceedance probability."""
    frequency: float
    """Its observed frequency."""
    excess: float
    """Observed frequency minus mean prediction: above 0 the event is underpredicted."""
    excess_interval: Interval
    """Simultaneous for all thresholds."""
    adjusted_p_value: float
    """p-value of the test of miscalibration of this event, adjusted for the number of thresholds (Holm)."""
    assessment: Assessment
    """Assessment of the probabilities of this event."""


@dataclass(frozen=True)
class PitHistogram(ReadOnlyArrays):
    """Where outcomes fall in their forecasts: the verification rank or PIT histogram, flat for calibrated forecasts."""

    edges: Floats
    share: Floats
    """Share of the outcomes in each bin."""
    lower: Floats
    upper: Floats
    """Confidence limits of each share, one bin at a time."""


@dataclass(frozen=True)
class PitMoment(ByValue):
    """A mean of the probability integral transform (PIT), tested against its value for calibrated forecasts."""

    value: float
    interval: Interval
    """Simultaneous for the two moments that are tested."""
    calibrated: float
    """Its value for calibrated forecasts."""
    adjusted_p_value: float
    """p-value against this value, adjusted for the two moments (Bonferroni)."""


@dataclass(frozen=True)
class OrderedAssessment(JsonResult):
    """Calibration of forecasts of ordered classes. Made by `assess_ordered`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    labels: tuple[Label | None, ...]
    """The classes, the lowest first."""
    thresholds: tuple[Threshold, ...]
    """Each class but the lowest, as the event that the outcome is at least this class."""
    pit: PitHistogram
    location: PitMoment
    """Mean of the PIT, .5 for calibrated forecasts: above, outcomes are higher than predicted."""
    spread: PitMoment
    """Twelve times the mean squared distance of the PIT from .5, 1 for calibrated forecasts: above, outcomes lie in the
    tails of the forecasts too often, as for forecasts that are too narrow; below, in the middle."""
    skill: Skill
    """Skill against the base rate by log loss, Brier score and ranked probability score."""
    n_rows: int
    weighted: bool
    n_clusters: int | None
    """Number of clusters of dependent rows; None without them."""
    confidence: float
    notes: Notes
    """What was left out or rescaled on the way in."""
    dependence: DependenceSearch = OF_A_TALLY
    """What was found of dependence that nobody declared."""
    version: str = __version__

    @property
    def verdict(self) -> str:
        """What is wrong with location and spread of the forecasts, and at how many thresholds."""
        return f"{headline_of(self)}. {lead_of(self)}"

    def significant(self, p_value: float) -> bool:
        """Whether an adjusted p-value is below the level of the tests."""
        return p_value < 1 - self.confidence

    def found(self, threshold: Threshold) -> bool:
        """Whether a threshold is miscalibrated after adjustment for their number."""
        return threshold.assessment.diagnosis.miscalibrated and self.significant(threshold.adjusted_p_value)

    def verdict_at(self, threshold: Threshold) -> str:
        """Return the verdict on a threshold after adjustment for their number; its assessment's is not adjusted."""
        if self.found(threshold) or not threshold.assessment.diagnosis.miscalibrated:
            return threshold.assessment.verdict
        return f"No evidence of miscalibration after adjustment for {number_of(len(self.thresholds), 'threshold')}"

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values; of each threshold its figures, not its whole assessment."""
        plain: dict[str, Any] = {"verdict": self.verdict} | {
            each.name: plain_values(getattr(self, each.name)) for each in fields(self) if each.name != "thresholds"
        }
        return plain | {"thresholds": list(self._rows())}

    def _rows(self) -> list[dict[str, Any]]:
        return [
            {
                "threshold": each.label,
                "mean_prediction": each.mean_prediction,
                "frequency": each.frequency,
                "excess": each.excess,
                "lower": each.excess_interval.low,
                "upper": each.excess_interval.high,
                "adjusted_p_value": each.adjusted_p_value,
                "verdict": self.verdict_at(each),
                "unadjusted_verdict": each.assessment.verdict,
            }
            for each in self.thresholds
        ]

    def frame(self) -> Any:
        """Give the thresholds as a data frame (pandas for pandas input, else polars), one row each."""
        import polars as pl

        rows = [{**row, "threshold": str(row["threshold"])} for row in self._rows()]
        return frame_like_input(self, pl.DataFrame(rows, infer_schema_length=None))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the PIT histogram with a confidence interval of each bin.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return picture(self, ax)

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<OrderedAssessment of {number_of(self.n_rows, 'forecast')} of {len(self.labels)} ordered classes>"


def headline_of(o: OrderedAssessment) -> str:
    """Say what is wrong with location and spread, or at how many thresholds."""
    found = [*findings_of(o)]
    if found:
        return capital("; ".join(found))
    few = n_miscalibrated(o)
    if few:
        return f"{few} of {number_of(len(o.thresholds), 'threshold')} {'is' if few == 1 else 'are'} miscalibrated"
    return f"No evidence of miscalibration (n = {o.n_rows:,})"


def findings_of(o: OrderedAssessment) -> Iterator[str]:
    """Give what is wrong with location and spread."""
    biased = o.significant(o.location.adjusted_p_value)
    if biased:
        yield f"outcomes are {'higher' if o.location.value > 0.5 else 'lower'} than predicted"
    if o.significant(o.spread.adjusted_p_value):
        if o.spread.value < 1:
            yield "forecasts are too wide: outcomes lie in their middle too often"
        elif biased:  # which moves outcomes into the tails as well
            yield "outcomes lie in the tails of the forecasts too often"
        else:
            yield "forecasts are too narrow: outcomes lie in their tails too often"


def n_miscalibrated(o: OrderedAssessment) -> int:
    """Count the miscalibrated thresholds."""
    return sum(map(o.found, o.thresholds))


def lead_of(o: OrderedAssessment) -> str:
    """Give location and spread with their intervals."""
    level = confidence_interval(o.confidence, together=2)
    few = n_miscalibrated(o)
    return (
        f"Mean of the PIT: {_moment(o.location, level)} (calibrated: 0.5). Spread of the PIT:"
        f" {_moment(o.spread, level)} (calibrated: 1; larger: forecasts too narrow). Miscalibrated at {few} of"
        f" {number_of(len(o.thresholds), 'threshold')}, p-values Holm-adjusted for their number."
    )


def _moment(m: PitMoment, level: str) -> str:
    limits = between(*m.interval)
    in_brackets = [f"{level} {limits}"] if limits else []
    in_brackets += [p_value_text(m.adjusted_p_value)] if not math.isnan(m.adjusted_p_value) else []
    about = f" ({', '.join(in_brackets)})" if in_brackets else ""
    return f"{number(m.value)}{about}"


_BINS = 10
"""Bins of the PIT histogram."""


@frames_as_input
@reads(SearchedReading, SEARCHED)
def assess_ordered(
    y_true: Any, y_prob: Any, *, confidence: float = 0.95, **reading: Unpack[SearchedReading]
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
        How rows are read, as in `assess`: ``labels``, ``sample_weight``, ``clusters``, ``columns``, ``scale``,
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
    _, options, dependence = read_rows(y_true, y_prob, reading)
    return ordered_of(gathered({"y_prob": y_prob}, y_true, options), confidence, dependence)


def ordered_of(rows: GatheredRows, confidence: float, dependence: DependenceSearch) -> OrderedAssessment:
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
        dependence=dependence,
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
                excess.interval(level),
                p_value,
                of_event,
            )
        )
    return tuple(thresholds)


def _p_value(d: Diagnosis) -> float:
    """p-value of a threshold's test, rows predicted as certain included; NaN where nothing could be tested."""
    return d.overall_p_value if d.findings or not np.isnan(d.p_value) else np.nan


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
    limits = np.array([each.interval(confidence) for each in found])
    share = np.array([each.mean for each in found])
    return PitHistogram(edges, share, np.maximum(limits[:, 0], 0.0), np.minimum(limits[:, 1], 1.0))


def _moments(low: Floats, high: Floats, w: Floats, sample: Dependence, confidence: float) -> list[PitMoment]:
    """Mean of the PIT, and twelve times its mean squared distance from 1/2, over each row's interval."""
    a, b = low - 0.5, high - 0.5
    moments = ((low + high) / 2, 0.5), (4 * (a * a + a * b + b * b), 1.0)
    found = [(uncertain_mean(x, w, sample), uncertain_mean(x - value, w, sample), value) for x, value in moments]
    p, level = simultaneous(np.array([apart.p_value() for _, apart, _ in found]), confidence)
    return [
        PitMoment(each.mean, each.interval(level), value, p_value)
        for (each, _, value), p_value in zip(found, p.tolist(), strict=True)
    ]
