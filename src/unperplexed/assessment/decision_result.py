"""Decision: the threshold of least expected cost and what decisions there cost. `decide` makes it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._lib.by_value import ByValue
from .._lib.formatting import confidence_interval, short_name
from .._lib.serialize import plain_values
from .._lib.typing import Floats
from .._version import __version__
from ..forecasts.forecasts import Notes
from ..forecasts.labels import Label
from ..report.numbers import between, number
from ..report.result import JsonResult
from ..statistics.intervals import Interval


@dataclass(frozen=True)
class Costs(ByValue):
    """What each kind of row costs, in units of the user's own; benefits are negative costs."""

    false_positive: float
    false_negative: float
    true_positive: float = 0.0
    true_negative: float = 0.0

    @property
    def threshold(self) -> float:
        """Probability from which on acting has the smaller expected cost."""
        needless = self.false_positive - self.true_negative
        return needless / (needless + self.false_negative - self.true_positive)

    @property
    def by_kind(self) -> Floats:
        """Costs of true negatives, false negatives, false positives and true positives, as cells have them."""
        return np.array([self.true_negative, self.false_negative, self.false_positive, self.true_positive], np.float64)


@dataclass(frozen=True)
class MeanCost(ByValue):
    """A mean cost a row. Smaller is better."""

    value: float
    interval: Interval
    """Confidence interval; NaN where all rows cost the same, or are too few."""


@dataclass(frozen=True)
class Share(ByValue):
    """A share of rows."""

    value: float
    interval: Interval
    """Wilson (1927), with the effective number of rows where these have weights or are in clusters."""


@dataclass(frozen=True)
class Confusion(ByValue):
    """Rows by decision and outcome, as sums of their weights (numbers of rows where these have none)."""

    true_positives: float
    false_positives: float
    false_negatives: float
    true_negatives: float
    acted_on: Share
    """Share of the rows that are acted on."""
    sensitivity: Share
    """Share of the positive rows that are acted on (recall). Larger is better."""
    specificity: Share
    """Share of the negative rows that are not acted on. Larger is better."""
    positive_predictive_value: Share
    """Share of the rows acted on that are positive (precision). Larger is better."""
    negative_predictive_value: Share
    """Share of the rows not acted on that are negative. Larger is better."""

    def shares(self) -> dict[str, Share]:
        """Return the shares by their names in words."""
        return {name.replace("_", " "): each for name, each in vars(self).items() if isinstance(each, Share)}


@dataclass(frozen=True)
class Decision(JsonResult):
    """Decisions by a forecast at the threshold of least expected cost. Made by `decide`; all fields are final."""

    costs: Costs
    threshold: float
    """From this probability on one acts."""
    cost: MeanCost
    """Cost a row of deciding by the predicted probabilities at the threshold."""
    cost_all: MeanCost
    """Cost a row of acting on all rows."""
    cost_none: MeanCost
    """Cost a row of acting on none."""
    confusion: Confusion
    best_threshold: float
    """Threshold with the smallest cost on these very rows; above 1 where acting on none is cheapest."""
    best_cost: float
    """Its cost a row: too optimistic, since the threshold was chosen on the same rows."""
    best_cost_cross_fitted: MeanCost | None
    """Cost a row with each row's threshold chosen on the other folds; None for too few rows."""
    recalibrated: MeanCost | None
    """Cost a row of deciding by recalibrated probabilities at the threshold; None without any."""
    miscalibration: MeanCost | None
    """What miscalibration costs a row at the threshold: cost by the predicted minus cost by the recalibrated
    probabilities, with the interval of the paired difference."""
    frequency: float
    """Observed frequency of the positive class."""
    n_rows: int
    labels: tuple[Label | None, ...]
    """The negative and the positive class."""
    confidence: float
    n_clusters: int | None
    """Number of clusters; None for independent rows."""
    weighted: bool
    notes: dict[str, Notes]
    """What was left out or rescaled on the way in."""
    bound: float = 0.0
    """By at most how much the cost at the threshold differs from that of the rows, where a tally counts in cells."""
    warnings: tuple[str, ...] = ()
    version: str = __version__
    _code: str = field(default="", repr=False, compare=False)
    """Commands or lines of Python that recalibrate and decide again."""

    @property
    def optimism(self) -> float:
        """By how much the best threshold's cost on its own rows is below its cross-fitted cost; NaN without one."""
        return math.nan if self.best_cost_cross_fitted is None else self.best_cost_cross_fitted.value - self.best_cost

    @property
    def verdict(self) -> str:
        """What to do, in words."""
        return "{}. {}".format(*conclusion(self))

    def advising(self, code: str) -> Decision:
        """Return the same decision with these commands that recalibrate and decide again."""
        return replace(self, _code=code)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python values."""
        plain: dict[str, Any] = plain_values(self)
        del plain["_code"]
        return {"verdict": self.verdict, **plain, "optimism": self.optimism}


def conclusion(d: Decision) -> tuple[str, str]:
    """Say from which probability on to act, then what that costs and what miscalibration adds."""
    positive = short_name(str(d.labels[1]))
    where = f"where the probability of {positive!r} is at least {d.threshold:.3g}"
    m = d.miscalibration
    words = (
        f"By the predicted probabilities the cost is {number(d.cost.value)} a row"
        f" ({number(d.cost_all.value)} for acting on all rows and"
        f" {number(d.cost_none.value)} for never acting)."
    )
    cheaper = min(("acting on all rows", d.cost_all), ("never acting", d.cost_none), key=lambda each: each[1].value)
    if cheaper[1].value <= d.cost.value:
        words += f" On these rows {cheaper[0]} costs no more."
    if m is None:
        return f"Act {where}", words
    limits = between(*m.interval)
    interval = f" ({confidence_interval(d.confidence)} {limits})" * bool(limits)
    if d.recalibrated is not None and m.interval.low > 0:
        costs = f"cost {number(d.recalibrated.value)} a row instead of {number(d.cost.value)}"
        first = f"Recalibrate, then act {where} ({costs})"
        return first, f"{words} Miscalibration costs {number(m.value)} of it{interval}."
    words += f" No evidence that recalibration would lower it: difference {number(m.value)}{interval}."
    return f"Act {where}", words
