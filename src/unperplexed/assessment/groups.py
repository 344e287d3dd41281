"""Groups of rows: the assessment of each, which the cost comes from and which a remedy would help, of so many."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from .._lib.dataclasses import dataclass, field, replace
from .._lib.formatting import number_of, printable, short_name
from .._lib.serialize import plain_values
from .._lib.typing import ByValue
from ..calibration.diagnosis.result import Diagnosis
from ..calibration.diagnosis.words import calm_verdict
from ..forecasts.group_keys import Key, key_text
from ..report.numbers import share
from ..report.result import frames_alike
from ..statistics.intervals import holm, simultaneous
from .remedy import Remedy
from .result import Assessment

REMEDIED = 50
"""Groups up to which text and JSON have remedies unasked: a fit takes a tenth of a second or more."""

MOST_DIAGNOSED = 1000
"""Groups up to which each is diagnosed unasked: a group takes a millisecond, and thirty where something is wrong."""

LEVEL = 0.05
"""Largest adjusted p-value of what is significant among groups."""

_ROUNDING = 1e-9
"""Relative rounding of sums of weights."""

FEW = 100
"""A group is small with fewer rows than this whose top class happened, or fewer in which it did not."""

_COMMON = 0.8
"""Groups of whose cost all rows together have less have different errors, which cancel."""
_NAMED = 3
"""Groups that the sentence names."""
_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
_SPREAD = 1.5
"""Groups that carry less than so many times their share of the rows do not stand out."""


@dataclass(frozen=True)
class ShrunkenAccuracy(ByValue):
    """Geometric accuracy of a group, shrunk. Larger is better."""

    geometric_accuracy: float
    low: float
    high: float
    """Limits of its interval."""
    own_share: float
    """Weight of the group's own rows in it, from 0 to 1; the rest is that of all groups."""


def unscreened() -> None:
    """Say that there may be something wrong with a group."""


@dataclass(frozen=True)
class GroupAssessment(ByValue):
    """Rows with the same values in the columns that were grouped by."""

    key: Key
    """These values."""
    n_rows: int
    weight: float
    """Total weight of its rows."""
    effective_rows: float
    """Effective sample size."""
    geometric_accuracy: float
    """As predicted. Larger is better."""
    prediction_accuracy: float
    """Share of rows whose top class happened. Larger is better."""
    _error: float | None = field(repr=False)
    _assess: Callable[[], Assessment] = field(repr=False)
    _screen: Callable[[], float | None] = field(repr=False, default=unscreened)
    """Gives the p-value of a diagnosis that finds nothing; None if something may be wrong."""
    _diagnose: Callable[[], Diagnosis] | None = field(repr=False, default=None)
    """Makes the diagnosis alone; None if it takes the assessment."""
    shrunken: ShrunkenAccuracy | None = None
    frames_of: ClassVar[str] = Assessment.frames_of

    @classmethod
    def of(cls, key: Key, a: Assessment, weight: float) -> GroupAssessment:
        """Take an assessment that is there."""
        figures = a.n_rows, weight, a.effective_rows, a.reported.geometric_accuracy, a.prediction_accuracy
        return cls(key, *figures, a.geometric_accuracy_standard_error, partial(_given, a))

    @cached_property
    def assessment(self) -> Assessment:
        """The assessment of these rows; made when first asked for."""
        return frames_alike(self._made(), self)

    def _made(self) -> Assessment:
        """Make the assessment, with its diagnosis if that has been made."""
        found = vars(self).get("assessment") or self._assess()
        vars(found).update((name, made) for name, made in vars(self).items() if name == "diagnosis")
        return found

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What is wrong with these rows, made without keeping the rest of the assessment."""
        if self._diagnose is None or "assessment" in vars(self):
            return self._made().diagnosis
        return self._diagnose()

    def changed(self, change: Callable[[Assessment], Assessment]) -> GroupAssessment:
        """Return it with another assessment, which is made when first asked for and has a diagnosis of its own."""
        return replace(self, _assess=lambda: change(self.assessment), _screen=unscreened, _diagnose=None)

    def with_shrunken(self, shrunken: ShrunkenAccuracy) -> GroupAssessment:
        """Return it with its shrunken accuracy, and with what has been made of it."""
        found = replace(self, shrunken=shrunken)
        vars(found).update((name, made) for name, made in vars(self).items() if name not in vars(found))
        return found

    @property
    def standard_error(self) -> float:
        """Standard error of the predicted geometric accuracy; NaN for an effective sample size below two."""
        return self._made().geometric_accuracy_standard_error if self._error is None else self._error

    @property
    def small(self) -> bool:
        """Whether the rows are too few to assess calibration: less than 100 whose top class happened, or did not.

        A slope of such a group says next to nothing.
        """
        return self.rarer < FEW * (1 - _ROUNDING)

    @property
    def rarer(self) -> float:
        """Number of rows whose top class happened, or did not if those are fewer."""
        hits = self.prediction_accuracy
        return min(hits, 1 - hits) * self.effective_rows

    @cached_property
    def _screened(self) -> float | None:
        return self._screen()

    @property
    def cost(self) -> float:
        """What the errors found cost, in nats a row (`Diagnosis.cost`). Smaller is better; NaN without a diagnosis."""
        if self._screened is not None:
            return 0.0
        return self.diagnosis.cost if self.diagnosis.made else math.nan

    @property
    def p_value(self) -> float:
        """p-value of the group's diagnosis, which is to be compared with a small part of 5%; NaN without a diagnosis.

        The test is asymptotic: at 5% it keeps its level in a hundred rows, but far below it rejects too often in so
        few. So its p-value, as one of chi2 with 2 degrees of freedom, is replaced by that of F with so many degrees of
        freedom below as there are rows whose top class was wrong (or right, if these are fewer).
        benchmarks/cost_shares.py has the levels.
        """
        p, certain = self._screened, list[float]()
        if p is None:
            d = self.diagnosis
            if not d.made:
                return math.nan
            p, certain = d.p_value, [finding.p_value for finding in d.findings if finding.error == "certainty"]
        tested = [p for p in (_with_few(p, self.rarer), *certain) if not math.isnan(p)]
        return min(1.0, len(tested) * min(tested)) if tested else 1.0

    def headline(self) -> dict[str, Any]:
        """Give the figures that are known without an assessment, by their names in the frame.

        Standard errors with clusters of dependent rows take the assessment: here they are NaN.
        """
        return {
            "n_rows": self.n_rows,
            "effective_rows": self.effective_rows,
            "small": self.small,
            "geometric_accuracy_standard_error": math.nan if self._error is None else self._error,
            **self._shrunken(),
            "reported_geometric_accuracy": self.geometric_accuracy,
            "prediction_accuracy": self.prediction_accuracy,
        }

    def _shrunken(self) -> dict[str, Any]:
        found = {} if self.shrunken is None else plain_values(self.shrunken)
        return {f"shrunken_{name}": value for name, value in found.items()}

    def metrics(self, shares: Mapping[str, float]) -> dict[str, Any]:
        """Give the group's metrics by name, in the order of the frame; its shares of the cost are given."""
        a = self._made()
        errors = {f"{name}_standard_error": error for name, error in a.score_standard_errors.items()}
        return {
            "n_rows": a.n_rows,
            "verdict": self.diagnosis.verdict if self._screened is None else calm_verdict(a.n_rows, self._screened),
            "effective_rows": a.effective_rows,
            "small": self.small,
            "geometric_accuracy_standard_error": a.geometric_accuracy_standard_error,
            **self._shrunken(),
            "cost": self.cost,
            **shares,
            **a.metrics(),
            **errors,
        }

    def _values(self) -> Any:
        """Compare assessments, not how they are made."""
        return self.key, self.weight, self.assessment, self.shrunken

    def __getstate__(self) -> dict[str, Any]:
        """Assess and test before the rows are left behind."""
        given = {"_assess": partial(_given, self.assessment), "_screen": unscreened, "_diagnose": None}
        return {**vars(self), **given, "_screened": self._screened}


def _given(a: Assessment) -> Assessment:
    return a


@dataclass(frozen=True)
class GroupRemedy:
    """Recalibration of one group of rows, and whether its gain is significant among those of all groups."""

    key: Key
    """Values of the group in the columns that were grouped by."""
    remedy: Remedy = field(repr=False)
    """As ``Assessment.remedy`` of the group; the interval of its gain is of the group alone."""
    interval: tuple[float, float]
    """Simultaneous 95% confidence interval of the gain, for all groups that were diagnosed (Bonferroni)."""
    adjusted_p_value: float
    """p-value of the gain, adjusted in the same way: it is below 0.05 just where the interval excludes 0 below."""

    @property
    def p_value(self) -> float:
        """p-value of the gain, cross-fitted (two-sided)."""
        return self.remedy.gain.p_value

    @property
    def significant(self) -> bool:
        """Whether the remedy is advised and its adjusted p-value below 0.05."""
        return self.remedy.significant and self.adjusted_p_value < LEVEL

    def to_dict(self) -> dict[str, Any]:
        """Give map, gain, its simultaneous interval and its p-values as plain Python values."""
        return {
            "map": self.remedy.map,
            "gain": plain_values(self.remedy.gain),
            "interval": list(self.interval),
            "p_value": self.p_value,
            "adjusted_p_value": self.adjusted_p_value,
            "significant": self.significant,
        }


def group_remedies(groups: Sequence[GroupAssessment]) -> dict[Key, GroupRemedy]:
    """Find the remedies of groups; one that was diagnosed and has none counts as looked at, with a p-value of 1."""
    diagnosed = [group for group in groups if group.diagnosis.made]
    remedies = [group.assessment.remedy for group in diagnosed]
    p = np.array([1.0 if remedy is None else remedy.gain.p_value for remedy in remedies])
    adjusted, level = simultaneous(p, 1 - LEVEL)
    return {
        group.key: GroupRemedy(group.key, remedy, remedy.gain.interval_at(level), each)
        for group, remedy, each in zip(diagnosed, remedies, adjusted.tolist(), strict=True)
        if remedy is not None
    }


@dataclass(frozen=True)
class CostShare:
    """Part of the total cost of miscalibration that one group carries."""

    share: float
    """The group's cost times its rows' weight, divided by the sum over all groups; the shares add up to 1. NaN where
    there is no diagnosis, and where nothing costs anything."""
    row_share: float
    """The group's share of the weight of all rows: what ``share`` would be if all rows cost the same."""
    p_value: float
    """p-value of the group's test of miscalibration, certain rows included, with an allowance for few rows; NaN where
    no diagnosis could be made."""
    adjusted_p_value: float
    """Adjusted for the number of groups that were tested (Holm)."""

    @property
    def significant(self) -> bool:
        """Whether the group is miscalibrated beyond what the best of so many calibrated groups may seem to be."""
        return self.adjusted_p_value < LEVEL


def cost_shares(groups: Sequence[GroupAssessment]) -> dict[Key, CostShare]:
    """Share the total cost among the groups, and adjust the p-values of their tests."""
    weight = np.array([group.weight for group in groups], dtype=np.float64)
    cost = weight * np.array([group.cost for group in groups])
    total = float(np.nansum(cost))
    shares = cost / total if total > 0 else np.full(weight.size, math.nan)
    p = np.array([group.p_value for group in groups], dtype=np.float64)
    columns = shares, weight / weight.sum(), p, holm(p)
    return {
        group.key: CostShare(*map(float, values))
        for group, values in zip(groups, zip(*columns, strict=True), strict=True)
    }


def _with_few(p: float, few: float) -> float:
    if not 0 < p < 1:
        return p
    return (1 - 2 * math.log(p) / few) ** (-few / 2) if few > 0 else 1.0


def _common_share(whole: GroupAssessment, groups: Sequence[GroupAssessment]) -> float:
    """Cost of all rows together as a share of the sum of the groups' costs: small where their errors differ."""
    total = float(np.nansum([group.weight * group.cost for group in groups]))
    return whole.weight * whole.cost / total if total > 0 else math.nan


def drivers_text(
    found: dict[Key, CostShare], whole: GroupAssessment, groups: Sequence[GroupAssessment], by: Sequence[str]
) -> str:
    """Say which groups the cost comes from, beyond chance, and what to do; "" where there is nothing to compare.

    Parameters
    ----------
    found : dict of tuple to CostShare
        Share of each group, by key.
    whole : GroupAssessment
        All rows.
    groups : sequence of GroupAssessment
        The groups.
    by : sequence of str
        Names of the columns that they are grouped by.
    """
    tested = sum(not math.isnan(each.p_value) for each in found.values())
    if len(found) < 2 or not tested:
        return ""
    all_of_them = number_of(tested, "group")
    named = sorted((key for key, each in found.items() if each.significant), key=lambda key: -found[key].share)
    if any(math.isnan(found[key].share) for key in named):  # errors that no map mends
        return ""
    adjusted = f"p-values Holm-adjusted for {all_of_them}"
    if not named:
        return f"No group drives the cost: in none is there evidence of miscalibration ({adjusted})."
    cost, rows = (sum(getattr(found[key], name) for key in named) for name in ("share", "row_share"))
    all_named, alone, columns = len(named) == tested, len(named) == 1, ", ".join(map(printable, by))
    first = [short_name(key_text(key)) + f" ({share(found[key].share)})" * (not alone) for key in named[:_NAMED]]
    listed = ", ".join(first) + (f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else "")
    many = _WORDS[len(named)] if len(named) < len(_WORDS) else f"{len(named):,}"
    carried = (
        f"All {all_of_them} by {columns} are miscalibrated; their shares of the groups' cost: {listed} ({adjusted})."
        if all_named
        else f"{many} of {all_of_them} by {columns} {'carries' if alone else 'carry'} {share(cost)} of the"
        f" groups' cost, with {share(rows)} of all rows: {listed} ({adjusted})."
    )
    if cost < _SPREAD * rows and _common_share(whole, groups) > _COMMON:
        return f"{carried} Their rows explain about as much: recalibrate all rows together first."
    if all_named:
        return f"{carried} Their errors differ: recalibrate each group by itself."
    one = "this group by itself" if alone else "these groups by themselves"
    return f"{carried} Recalibrate {one} first; in the others there is no such evidence."
