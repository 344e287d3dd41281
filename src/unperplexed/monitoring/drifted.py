"""The result of `drift`: whether, when and how the predictions changed."""

from __future__ import annotations

from typing import Any, NamedTuple

from .._lib.typing import Floats
from .._version import __version__
from ..forecasts.labels import Label
from ..report.result import frame_like_input
from .alarms import Began, Watched
from .measures import BinShare, PredictionSummary


class DriftPoint(NamedTuple):
    """Predictions of one period; with more than two classes, of the most probable class."""

    period: str
    rows: int
    mean: float
    """Mean predicted probability, without predictions of exactly 0 or 1."""
    log_odds: float
    """Mean of the log-odds."""
    spread: float
    """Standard deviation of the log-odds."""


class Shift(Began):
    """A change of the predictions: when it began, and what changed. Made by `drift`, as ``Drift.alarm``."""

    measure: str
    """What changed most clearly: the "mean" or the "spread" of the log-odds, or the "shares" in bins."""
    before: PredictionSummary
    since: PredictionSummary
    """Mean and spread over the periods before ``began``, and from it to ``until``."""
    moved: BinShare
    """The bin whose share changed most."""


class Drift(Watched):
    """Whether the predictions changed. Made by `drift`; ``bool(found)`` is whether there is no alarm.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    periods: tuple[str, ...]
    log_evidence: Floats
    """Natural logarithm of the evidence that the predictions changed, after each period. Larger is stronger."""
    alarm: Shift | None
    confidence: float
    """1 minus the largest probability of ever a false alarm; the limit of the evidence is 1 / (1 - confidence)."""
    points: tuple[DriftPoint, ...]
    """Mean and spread of each period."""
    groups: dict[str, float]
    """The largest log evidence of each group by itself."""
    resemblance: tuple[float, float]
    """Rank correlation of the mean log-odds of successive periods, without the change itself, and its p-value; if it is
    clearly above 0, periods are not exchangeable and alarms may be false."""
    enough_periods: int
    """From so many periods on a clear change halfway is seen."""
    too_few: bool
    """Whether there are fewer periods and no alarm: then that there is none says nothing."""
    n_rows: int
    labels: tuple[Label | None, ...]
    version: str = __version__

    def __bool__(self) -> bool:
        """Whether there is no alarm."""
        return self.alarm is None

    def frame(self) -> Any:
        """Give one row a period, as a polars DataFrame."""
        columns: dict[str, Any] = {name: [getattr(e, name) for e in self.points] for name in DriftPoint._fields}
        return frame_like_input(self, {**columns, "log_evidence": self.log_evidence})

    def __repr__(self) -> str:
        """Name it in one line."""
        return f"<Drift over {len(self.periods):,} periods: {'no alarm' if self else 'alarm'}>"
