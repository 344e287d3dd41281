"""Calibration of forecasts of ordered classes: a frozen OrderedAssessment. `assess_ordered` makes it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .._lib.by_value import ByValue
from .._lib.formatting import capital, confidence_interval, number_of, p_value_text
from .._lib.serialize import plain_values
from .._lib.typing import Floats, ReadOnlyArrays
from .._version import __version__
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..pairing.skill_result import Skill
from ..report.numbers import between, number
from ..report.result import JsonResult, frame_like_input, picture
from ..statistics.intervals import Interval
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
