"""What monitoring found: `Monitored`, made by `monitor`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from .._lib.by_value import ByValue
from .._lib.formatting import capital
from .._lib.typing import Floats, ReadOnlyArrays
from .._version import __version__
from ..calibration.diagnosis.result import Diagnosis
from ..forecasts.labels import Label
from ..report.document import Document
from ..report.result import JsonResult, Naming
from ..statistics.intervals import alpha_of
from .alarms import Began
from .control import ControlPoint
from .limits import Kept

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


class Impossible(NamedTuple):
    """Predictions of exactly 0 or 1 that were wrong: calibrated forecasts have none."""

    period: str
    """The first period with one."""
    rows: int
    groups: tuple[str, ...] = ()
    """Groups with such predictions, the most first; () where rows are not grouped."""


@dataclass(frozen=True)
class Over(ByValue):
    """An error that is over: it is refuted by the periods after those in which it was seen."""

    period: str
    """The period after which the evidence that it is over reached the limit of the alarm."""
    log_evidence: float
    """Log evidence of another error at the end of the new watch, which begins then."""
    after: ControlPoint
    """The periods after ``until`` together, up to another alarm's beginning."""


@dataclass(frozen=True)
class OfGroup(ByValue):
    """A group with an alarm of its own, over time."""

    log_evidence: tuple[float, ...]
    control: tuple[ControlPoint, ...]


@dataclass(frozen=True)
class Alarm(Began):
    """Calibration broke, for all rows or for a group."""

    diagnosis: Diagnosis | None
    """What is wrong with the forecasts from ``began`` to ``until``; None where all predictions are exactly 0 or 1."""
    before: ControlPoint
    since: ControlPoint
    """The periods before ``began``, and from it to ``until``, together."""
    trend: str
    """What differs most between both halves of the periods from the alarm to ``until``: "bias" or "slope".
    "" if they do not differ beyond chance."""
    halves: tuple[ControlPoint, ControlPoint] | None
    """Both halves, if they differ: the error grows or falls."""
    over: Over | None
    """Set if the error is over; whether there is an alarm does not depend on it."""

    @property
    def verdict(self) -> str:
        """What is wrong, in words; "" if the rows since then name no error by themselves."""
        return capital(self.in_brief)

    @property
    def in_brief(self) -> str:
        """The verdict inside a sentence."""
        d = self.diagnosis
        return d.in_brief if d is not None and d.findings else ""


_COLUMNS = ("first", "last", "rows", "predicted", "observed", "bias", "slope", "log_loss", "skill", "by")


@dataclass(frozen=True)
class Monitored(ReadOnlyArrays, JsonResult):
    """What became of calibration over time. Made by `monitor`; ``bool(found)`` is whether all is well.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    periods: tuple[str, ...]
    log_evidence: Floats
    """Natural logarithm of the evidence that calibration broke, after each period. Larger is stronger."""
    alarm: Alarm | None
    """The strongest alarm whose error goes on; that of the last one that is over if none does."""
    others: tuple[Alarm, ...]
    """Alarms of other groups, and those of errors that are over."""
    impossible: Impossible | None
    """Predictions of exactly 0 or 1 that were wrong, which the evidence leaves out; None for none."""
    clusters: str
    """Which rows may depend on one another: "none", or those of a "period"."""
    confidence: float
    """1 minus the largest probability of ever a false alarm; the limit of the evidence is 1 / (1 - confidence)."""
    control: tuple[ControlPoint, ...]
    """Bias, calibration slope, log loss and skill over time; with more than two classes bias and slope are of the most
    probable one."""
    groups: dict[str, float]
    """The largest log evidence of each group by itself."""
    named: dict[str, OfGroup]
    """Evidence and control points of the groups that alarms are about."""
    dispersion: tuple[float, float]
    """How many times larger the variance of the bias between successive periods is than independent rows let it be, and
    its p-value (chi-squared), without the changes themselves."""
    rows: tuple[int, ...]
    """Number of forecasts in each period."""
    n_rows: int
    labels: tuple[Label | None, ...]
    kept: tuple[Kept, ...] = ()
    """What became of the requirements."""
    version: str = __version__

    def __bool__(self) -> bool:
        """Whether there is no alarm, no wrong prediction of exactly 0 or 1, and no requirement that failed."""
        return self.alarm is None and self.impossible is None and all(each.passed for each in self.kept)

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms: `alarm` and then the others."""
        return () if self.alarm is None else (self.alarm, *self.others)

    @property
    def log_limit(self) -> float:
        """Natural logarithm of the evidence at which there is an alarm."""
        return -math.log(alpha_of(self.confidence))

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names, and the ``warnings``."""
        from .describe_monitored import monitored_warnings

        return {**super().to_dict(), "warnings": list(monitored_warnings(self))}

    def frame(self) -> pl.DataFrame:
        """Give one row a control point, as a polars DataFrame."""
        import polars as pl

        columns: dict[str, Any] = {name: [getattr(each, name) for each in self.control] for name in _COLUMNS}
        after = dict(zip(self.periods, self.log_evidence.tolist(), strict=True))
        return pl.DataFrame({**columns, "log_evidence": [after[each.last] for each in self.control]})

    def plot(self, figure: Figure | None = None) -> Figure:
        """Draw the control chart: evidence, bias, calibration slope, log loss and skill over time."""
        from .describe_monitored import control_charts
        from .describe_over_time import draw_charts

        return draw_charts(control_charts(self), figure)

    def plot_size(self) -> tuple[float, float]:
        """Width and height, in inches, that suit the picture."""
        from .describe_monitored import control_charts
        from .describe_over_time import charts_size

        return charts_size(control_charts(self))

    def __repr__(self) -> str:
        """Name it in one line."""
        state = "no alarm" if self else "alarm"
        return f"<Monitored over {len(self.periods):,} periods: {state}>"

    def _document(self, naming: Naming, *, brief: bool) -> Document:
        from .describe_monitored import monitored_document

        return monitored_document(self, naming, brief=brief)
