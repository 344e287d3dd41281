"""What monitoring found: `Monitored`, made by `monitor`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .._lib.dataclasses import field
from .._lib.formatting import capital, p_value_text
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats
from .._version import __version__
from ..calibration.dependence import Dependence
from ..calibration.dependence_search import EITHER, OF_A_TALLY, DependenceSearch, alike_words
from ..calibration.diagnosis.result import Diagnosis
from ..forecasts.labels import Label
from ..report.numbers import count
from ..report.result import frame_like_input
from ..tally.periods import at
from .alarms import Began, Watched
from .control import ControlPoint
from .event_counts import Kept


class Impossible(NamedTuple):
    """Predictions of exactly 0 or 1 that were wrong: calibrated forecasts have none."""

    period: str
    """The first period with one."""
    rows: int
    groups: tuple[str, ...] = ()
    """Groups with such predictions, the most first; () where rows are not grouped."""


class Over(ByValue):
    """An error that is over: it is refuted by the periods after those in which it was seen."""

    period: str
    """The period after which the evidence that it is over reached the limit of the alarm."""
    log_evidence: float
    """Log evidence of another error at the end of the new watch, which begins then."""
    after: ControlPoint
    """The periods after ``until`` together, up to another alarm's beginning."""


class OfGroup(ByValue):
    """A group with an alarm of its own, over time."""

    log_evidence: tuple[float, ...]
    control: tuple[Any, ...]


class Alarm(Began):
    """Calibration broke, for all rows or for a group."""

    diagnosis: Diagnosis | None
    """What is wrong with the forecasts from ``began`` to ``until``; None where all predictions are exactly 0 or 1."""
    before: Any
    since: Any
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
_OF_NUMBERS = ("first", "last", "rows", "held", "bias", "width")


class Monitored(Watched):
    """What became of calibration over time. Made by `monitor`; ``bool(found)`` is whether all is well.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()``, ``.to_json()`` or ``.frame()``.
    """

    periods: tuple[str, ...]
    log_evidence: Floats
    """Natural logarithm of the evidence that calibration broke, after each period. Larger is stronger."""
    alarm: Alarm | None
    """The strongest alarm whose error goes on. If all errors are over, that of the last one. None without alarms."""
    others: tuple[Alarm, ...]
    """Alarms of other groups, and those of errors that are over."""
    impossible: Impossible | None
    """Predictions of exactly 0 or 1 that were wrong, which the evidence leaves out; None for none."""
    clusters: str
    """Which rows may depend on one another: "none", or those of a "period"."""
    confidence: float
    """1 minus the largest probability of ever a false alarm; the limit of the evidence is 1 / (1 - confidence)."""
    _control: Callable[[], tuple[Any, ...]] = field(repr=False, compare=False)
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
    phases: int = 1
    """Periods that predictive distributions reach ahead: each of as many phases has an equal part of the bet."""
    whole: Any = None
    """All periods together, of predictive distributions: the figures of `assess`, as a `PitPoint`."""
    earliest: int = 0
    """After about how many periods even a gross error raises an alarm, where periods of distributions are the units."""
    by: tuple[str, ...] = field(default=(), compare=False)
    """Columns of the groups, as far as they are known: a history does not keep them."""
    dependence: DependenceSearch = OF_A_TALLY
    """Whether rows that nobody declared dependent err alike: what was looked at, and what was found."""
    version: str = __version__

    def __bool__(self) -> bool:
        """Whether there is no alarm, no wrong prediction of exactly 0 or 1, and no requirement that failed."""
        return self.alarm is None and self.impossible is None and all(each.passed for each in self.kept)

    @cached_property
    def control(self) -> tuple[Any, ...]:
        """Bias, calibration slope, log loss and skill over time, a `ControlPoint` each; with more than two classes bias
        and slope are of the most probable one. Of predictive distributions a `PitPoint` each: coverage, bias and width.
        """
        return self._control()

    @property
    def in_phases(self) -> bool:
        """Whether forecasts of several steps ahead are watched together, in phases."""
        return self.phases > 1 and not self.groups

    @property
    def sees_little(self) -> bool:
        """Whether even a gross error takes so many of the periods that no alarm means little."""
        return len(self.periods) < 2 * self.earliest

    @property
    def alarms(self) -> tuple[Alarm, ...]:
        """All alarms: `alarm` and then the others."""
        return () if self.alarm is None else (self.alarm, *self.others)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names, and the ``warnings``."""
        found = {"control": plain_values(self.control), "warnings": list(monitored_warnings(self))}
        return {**super().to_dict(), **found}

    def frame(self) -> Any:
        """Give one row a control point, as a polars DataFrame."""
        names = _COLUMNS if self.labels else _OF_NUMBERS
        columns: dict[str, Any] = {name: [getattr(each, name) for each in self.control] for name in names}
        after = dict(zip(self.periods, self.log_evidence.tolist(), strict=True))
        return frame_like_input(self, {**columns, "log_evidence": [after[each.last] for each in self.control]})

    def __repr__(self) -> str:
        """Name it in one line."""
        state = "no alarm" if self else "alarm"
        return f"<Monitored over {len(self.periods):,} periods: {state}>"


def dispersed(m: Monitored) -> bool:
    """Whether periods vary more than independent rows let them, which were taken as the units."""
    ratio, p = m.dispersion
    least, level = _DISPERSED
    return m.clusters == "none" and ratio > least and p < level


def usual_rows(m: Monitored) -> float:
    """Give the median number of forecasts, if those of the last periods are fewer than before; 0 if not."""
    earlier, latest = np.array(m.rows[:-LATEST]), max(m.rows[-LATEST:])
    if earlier.size < 2 * LATEST:
        return 0.0
    lowest = np.lib.stride_tricks.sliding_window_view(earlier, LATEST).max(axis=1).min()
    usual = float(np.median(m.rows))
    return usual if latest < min(lowest, _FEWER * usual) else 0.0


def monitored_warnings(m: Monitored) -> Iterator[str]:
    """Say what makes an alarm or figures doubtful."""
    ratio, p = m.dispersion
    alarms = "the alarm may be false" if m.alarm is not None else "an alarm may be false"
    if m.phases > 1:
        each = " Watch each horizon too, with --by horizon: those of the next period depend least." * m.in_phases
        yield f"forecasts reach {m.phases} periods ahead and depend, so that alarms come late.{each}"
    if m.dependence.found is not None:
        yield _dependence(m, m.dependence.found, alarms)
    elif dispersed(m):
        yield (
            f"successive periods differ more than independent rows do (the variance of their bias is {ratio:.1f} times"
            f" as large, {p_value_text(p)}), so that {alarms}. If the rows of a period share a shock, such as the"
            " weather of a day, take periods as the units: --clusters period."
        )
    if any(getattr(each, "by", "") == "cells" for each in m.control):
        yield (
            "the history has periods of an earlier version of unperplexed, which kept cells alone: their figures are"
            " from cells, approximate and without predictions of exactly 0 or 1, and their log loss and skill are not"
            " known. For those of the rows, count these periods into a new history."
        )
    usual = usual_rows(m)
    if usual:
        yield (
            f"the last {LATEST} periods have fewer forecasts than others ({count(m.rows[-1])} {at(m.periods[-1])}; the"
            f" median is {count(usual)}). Are they complete? If outcomes come late, and sooner for events than for"
            " others, first outcomes look miscalibrated: count outcomes into the period in which they came, or leave"
            " out periods that are not complete (--where)."
        )


def _dependence(m: Monitored, found: Dependence, alarms: str) -> str:
    """Say which rows err alike, and what the watch makes of it."""
    alike = alike_words(found)
    if m.clusters == "period" and found.taken:
        return f"{alike}, so periods are taken as the units, as --clusters period does; --clusters none declines."
    return f"{alike}. {EITHER} If its rows depend on one another, {alarms}: take --clusters period."


_DISPERSED = 1.5, 0.001
"""Periods vary more than independent rows let them: by this ratio of variances at least, at this p-value."""


LATEST, _FEWER = 3, 0.7
"""The last periods may not be complete if they have fewer rows than any others, and less than this share of the median.
"""
