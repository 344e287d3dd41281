"""Calibration of forecasts of ordered classes: a frozen OrderedAssessment. `assess_ordered` makes it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from .._lib.by_value import ByValue
from .._lib.formatting import number_of
from .._lib.serialize import plain_values
from .._lib.typing import Floats, ReadOnlyArrays
from .._version import __version__
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..pairing.skill_result import Skill
from ..report.document import Document
from ..report.frames import frame_like_input
from ..report.result import JsonResult, Naming
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
        from .describe_ordered import ordered_verdict

        return ordered_verdict(self)

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
        from ..report.matplotlib_draw import draw
        from .describe_ordered import pit_chart

        return draw(pit_chart(self), ax)

    def _document(self, naming: Naming, *, brief: bool) -> Document:
        from .describe_ordered import ordered_document

        return ordered_document(self, naming)

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<OrderedAssessment of {number_of(self.n_rows, 'forecast')} of {len(self.labels)} ordered classes>"
