"""DistributionAssessment: what is known of predictive distributions of a number, as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._lib.dataclasses import field
from .._lib.errors import InputError, listed
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Floats, ReadOnlyArrays
from .._version import __version__
from ..calibration.dependence_search import OF_A_TALLY, DependenceSearch
from ..calibration.diagnosis.result import Diagnosis
from ..forecasts.group_keys import Key, Value, key_text, key_texts
from ..forecasts.labels import Label
from ..recalibration.gain import Gain
from ..report.result import DrawnResult
from ..statistics.intervals import Interval, Metric, alpha_of
from .flat import flat_metrics

if TYPE_CHECKING:
    from ..pairing.distribution_skill import ScoreSkill
    from .groups_found import Groups

_USUAL, _TOLD = (0.5, 0.8, 0.95), 0.8
"""Probabilities of intervals that are shown first, and of the one that is told in words."""


class Coverage(ByValue):
    """How many outcomes a central interval of the forecasts held."""

    name: str
    """The interval: "80% intervals", "all 8 members"."""
    expected: float
    """Its probability: the share that calibrated forecasts hold."""
    held: Metric
    """The observed share. An outcome on an end, or in a cell that has one, counts in part."""
    of_level: bool = True
    """Whether the name tells the probability; else it counts members."""
    mean_width: float = math.nan
    """Its mean width, in the unit of the outcomes: smaller is better if it holds as many; NaN for PIT values."""

    @property
    def subject(self) -> str:
        """The intervals as the subject of a sentence."""
        return f"the {self.name}" if self.of_level else self.name


class Beyond(ByValue):
    """Outcomes beyond a quantile, or outside an interval, that miscalibration makes most numerous."""

    where: str
    """The place: "above the 95% quantile"."""
    count: float
    expected: float


class Threshold(ByValue):
    """The event that the outcome is a class or a higher one, of ordered classes."""

    label: Label
    """The lowest of these classes."""
    name: str
    """The event in words: "heavy or above"."""
    mean_prediction: float
    """Mean predicted probability of the event, its exceedance probability."""
    frequency: float
    """Its observed frequency."""
    excess: float
    """Observed frequency minus mean prediction: above 0 the event is underpredicted."""
    interval: Interval
    """Of the excess; simultaneous for all thresholds."""
    adjusted_p_value: float
    """p-value of the excess, adjusted for the number of thresholds (Holm)."""


class PitBars(ReadOnlyArrays):
    """Shares of the outcomes by their place in the forecasts (PIT histogram), with what calibrated forecasts have."""

    edges: Floats
    """Probabilities that bound the bars: those that the forecasts give, where they give few."""
    share: Floats
    low: Floats
    high: Floats
    """Band of calibrated forecasts with this dependence, which holds for all bars together."""
    fitted: Floats
    """Shares that the named errors lead to; those of calibrated forecasts without any, and of ordered classes."""

    @property
    def expected(self) -> Floats:
        """Shares of calibrated forecasts."""
        return self.edges[1:] - self.edges[:-1]

    @property
    def outside(self) -> Any:
        """Which shares are outside of the band."""
        return (self.share < self.low) | (self.share > self.high)


class QuantileReliability(ReadOnlyArrays):
    """Share of the outcomes at or below each predicted quantile: its level, if forecasts are calibrated."""

    level: Floats
    share: Floats
    low: Floats
    high: Floats
    """Confidence limits of each share."""


class SurprisingForecasts(ReadOnlyArrays):
    """The rows with the largest losses: their outcomes, and median and 80% interval of their forecasts."""

    score: str
    """Name of the score that is the loss."""
    row: Any
    """Numbers of the rows, from 0."""
    outcome: Any
    """Numbers; of ordered classes their labels, also of the quantiles."""
    median: Any
    low: Any
    high: Any
    loss: Floats
    beside: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else is known of them, such as date and location, by column of the file."""


class DistributionRemedy(ByValue):
    """Recalibration of predictive distributions, cross-fitted. Made as ``DistributionAssessment.remedy``."""

    words: str
    """What the map does: "shift up by 0.58 spreads and widen 1.29 times, averaged with other maps"."""
    advised: bool
    """Whether the gain is significant, and the average of maps is not mostly none."""
    gain: Gain
    """Log score before and after, and their difference, at the resolution of the forecasts."""
    score: str
    """Name of the score that is told first; "" of PIT values, which have none. Of members the plain CRPS, as these are
    no draws any more once they are moved."""
    after: float
    """This score after recalibration. Smaller is better."""
    saved: Metric
    """By how much recalibration lowers it: its calibration part. Larger is better."""

    @property
    def before(self) -> float:
        """This score before recalibration."""
        return self.after + self.saved.value


class DistributionAssessment(DrawnResult, kw_only=True):
    """Assessment of predictive distributions of a number. Made by `assess`; all fields are final.

    ``print`` it, ``.plot()`` it, ``.report()`` it, take it as ``.to_dict()`` or ``.to_json()``.
    """

    diagnosis: Diagnosis
    """What is wrong, with its cost in nats a row at the resolution of the forecasts."""
    form: str
    """What the forecasts are: "23 quantiles", "8 members", "normal distributions"."""
    above_median: Metric
    """Share of the outcomes above the predicted median, 1/2 for calibrated forecasts."""
    coverage: tuple[Coverage, ...]
    beyond: Beyond
    scores: Mapping[str, Metric]
    """Mean scores by name, smaller ones better; none of PIT values."""
    skill: ScoreSkill | None = None
    """Against the other rows' outcomes, or the reference that was given."""
    density_ratio: Metric | None = None
    """Geometric mean of the forecasts' density at the outcomes, divided by climatology's: exp of the mean difference of
    log scores; 1 is no better, larger is better. Of quantiles and classes by the probabilities of their cells; None of
    members and PIT values, and if outcomes are censored."""
    bias: Metric
    """By how many spreads forecasts are too low, fitted beside the width; 0 is best."""
    width: Metric
    """How many times as wide intervals should be; 1 is best."""
    median_spread: float
    """Median predicted spread (interquartile range / 1.349), in the unit of the outcomes; NaN if unknown."""
    cost_interval: Interval
    """Confidence interval of the cost; where no error is named, that of a bias and a width that may be there."""
    pit: PitBars
    quantiles: QuantileReliability
    surprises: SurprisingForecasts | None = None
    thresholds: tuple[Threshold, ...] = ()
    """Of ordered classes each but the lowest, as the event that the outcome is at least this class; else empty."""
    n_rows: int
    n_clusters: int | None
    effective_rows: float
    """Independent rows that would tell as much of calibration."""
    confidence: float
    weighted: bool = False
    windows: bool = False
    """Whether clusters are times of issue, and forecasts depend where the windows up to their targets overlap."""
    notes: tuple[str, ...] = ()
    """What was seen on the way in, such as crossing quantiles."""
    dependence: DependenceSearch = OF_A_TALLY
    """What was found of dependence that nobody declared."""
    groups_found: Groups | None = None
    """Groups of rows in which they are wrong, where these were searched."""
    version: str = __version__
    _remedy: Callable[[], DistributionRemedy | None] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def remedy(self) -> DistributionRemedy | None:
        """Recalibration with what it is expected to bring; made when first asked for.

        None where nothing was found, under 100 rows or 10 clusters, and of groups.
        """
        return None if self._remedy is None else self._remedy()

    def __getstate__(self) -> dict[str, Any]:
        """Find the remedy before the rows are left behind."""
        return {**vars(self), "remedy": self.remedy, "_remedy": None}

    @property
    def verdict(self) -> str:
        """What is wrong, in a sentence."""
        return self.diagnosis.verdict

    @property
    def headline(self) -> str:
        """The verdict in a few words."""
        return self.diagnosis.headline

    @property
    def usual_intervals(self) -> tuple[Coverage, ...]:
        """Coverage of the intervals nearest to those of 50%, 80% and 95%."""
        nearest = [min(self.coverage, key=lambda each: abs(each.expected - usual)) for usual in _USUAL if self.coverage]
        return tuple(dict.fromkeys(nearest))

    @property
    def told(self) -> Coverage | None:
        """Coverage of the interval that is told first: of 80%, or the nearest to it."""
        return min(self.coverage, key=lambda each: abs(each.expected - _TOLD), default=None)

    @property
    def cost(self) -> float:
        """Nats a row that miscalibration loses, at the resolution of the forecasts."""
        return self.diagnosis.cost

    @property
    def divergence_probability(self) -> float:
        """Exp of minus the cost: 1 for calibrated forecasts."""
        return math.exp(-self.cost)

    def to_flat(self) -> dict[str, float | None]:
        """Give every metric one level deep, with the ends of its confidence interval, and the words of the verdict.

        Returns
        -------
        dict of str to float or None
            ``coverage_80`` (of an ensemble ``coverage_all_members`` too), ``coverage_80.lower``, ``coverage_80.upper``,
            ``crps``, ``bias``, ``width``, ``cost`` and so on; ``too-narrow`` and the other words are 1 or 0. None
            stands for what is not known.

        Examples
        --------
        >>> from unperplexed import Distribution, assess
        >>> found = assess([0.3, -0.8, 1.1, 0.2] * 5, Distribution("normal", mean=[0] * 20, sd=1)).to_flat()
        >>> round(found["coverage_80"], 2), found["too-narrow"]
        (1.0, 0.0)
        """
        return flat_metrics(self)

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        plain = {"verdict": self.verdict, **plain_values(self), "remedy": plain_values(self.remedy)}
        return plain | {"cost": self.cost, "divergence_probability": self.divergence_probability}


class DistributionGroup(ByValue):
    """A group of forecasts, such as those of a horizon."""

    key: Key
    """What it has in each of the columns."""
    assessment: DistributionAssessment
    adjusted_p_value: float
    """p-value of its test of miscalibration, adjusted for the number of groups (Holm)."""


class DistributionBreakdown(DrawnResult):
    """Predictive distributions assessed by group. Made by `assess_by`; all fields are final."""

    whole: DistributionAssessment
    """All rows together."""
    by: tuple[str, ...]
    """Names of the columns of groups."""
    groups: tuple[DistributionGroup, ...]
    """The groups of two rows or more."""
    sort: str = "group"
    """What they are sorted by, as in `assess_by`."""

    @property
    def verdict(self) -> str:
        """What is wrong with all rows together, in a sentence."""
        return self.whole.verdict

    @property
    def worst(self) -> DistributionGroup | None:
        """The costliest group, if any is miscalibrated by the adjusted p-values; None without any."""
        known = any(each.adjusted_p_value < alpha_of(self.whole.confidence) for each in self.groups)
        return max(self.groups, key=lambda each: (each.assessment.cost, -each.adjusted_p_value)) if known else None

    def __getitem__(self, key: Value | Key) -> DistributionAssessment:
        """Return the assessment of a group by its value, or by a tuple of its values."""
        wanted = key if isinstance(key, tuple) else (key,)
        found = {each.key: each.assessment for each in self.groups}
        if wanted not in found:
            raise InputError(f"no group {key_text(wanted)!r}; there are {listed(key_texts(found))}.")
        return found[wanted]

    def to_dict(self) -> dict[str, Any]:
        """Give everything as plain Python values, under the attributes' names."""
        groups = [
            {"key": list(each.key), "adjusted_p_value": each.adjusted_p_value, **each.assessment.to_dict()}
            for each in self.groups
        ]
        named = {"by": list(self.by), "sort": self.sort, "worst": self.worst and list(self.worst.key)}
        return {"verdict": self.verdict, "whole": self.whole.to_dict(), **named, "groups": groups}
