"""Groups of rows: what is counted of each, and its assessment, which is made when somebody asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._lib.arrays import run_starts
from .._lib.dataclasses import field, replace
from .._lib.serialize import plain_values
from .._lib.typing import ByValue, Codes, Floats
from ..calibration.dependence_search import DependenceSearch
from ..calibration.diagnosis.binary import screened
from ..calibration.diagnosis.binary_data import data_of_tally, rows_of_values
from ..calibration.diagnosis.diagnose import diagnosis_of_tally
from ..calibration.diagnosis.result import Diagnosis
from ..forecasts.forecasts import Forecasts
from ..forecasts.group_keys import Key
from ..report.result import frames_alike
from ..statistics.intervals import LEAST_WORTH
from ..statistics.means import HEADLINE_ORDERS, Limit, apply_limit, floor_for, means_of_runs
from ..tally.tallies import GroupedRows, Tallies
from ..tally.tally import Tally
from .assess import assess_tally
from .intervals import profile_of_tally
from .result import Assessment
from .settings import AssessmentSettings

MOST_DIAGNOSED = 1000
"""Groups up to which each is diagnosed unasked: a group takes a millisecond, and thirty where something is wrong."""

_ROUNDING = 1e-9
"""Relative rounding of sums of weights."""

FEW = 100
"""A group is small with fewer rows than this whose top class happened, or fewer in which it did not."""


class ShrunkenAccuracy(ByValue):
    """Geometric accuracy of a group, shrunk. Larger is better."""

    geometric_accuracy: float
    low: float
    high: float
    """Limits of its interval."""
    own_share: float
    """Weight of the group's own rows in it, from 0 to 1; the rest is that of all groups."""


class AssessedGroups(NamedTuple):
    """Groups whose assessments are there."""

    assessments: Mapping[Key, Assessment]

    def assessment(self, key: Key) -> Assessment:
        """Assessment of a group."""
        return self.assessments[key]

    def tally(self, key: Key) -> Tally:
        """Tally of a group."""
        return self.assessments[key].source.tally

    def diagnosis(self, key: Key) -> Diagnosis:
        """Diagnosis of a group."""
        return self.assessments[key].diagnosis

    def tested(self, key: Key) -> Diagnosis:
        """Diagnosis of a group."""
        return self.diagnosis(key)


class RowsOfGroups(NamedTuple):
    """Rows at hand, which tell a diagnosis and a remedy what counts do not."""

    of: Callable[[Key], Forecasts]
    """Gives the rows of a group; of the key () all rows."""
    diagnose: Callable[[Forecasts, Tally], Diagnosis]


class CountedGroups:
    """What groups are assessed from: their tallies, and rows where these are at hand. The key () is all rows."""

    def __init__(
        self,
        tallies: Tallies,
        settings: AssessmentSettings,
        dependence: DependenceSearch,
        rows: RowsOfGroups | None = None,
        waiting: GroupedRows | None = None,
    ) -> None:
        self.tallies, self.settings, self.dependence, self.rows = tallies, settings, dependence, rows
        self._waiting = {} if waiting is None or rows is not None else _values(waiting, list(tallies))
        self.diagnosis, self.tested = cache(self._diagnosis), cache(self._tested)

    @cached_property
    def whole(self) -> Tally:
        """Tally of all rows."""
        return self.tallies.whole()

    def tally(self, key: Key) -> Tally:
        """Tally of a group, which is not kept."""
        return self.tallies.counted(key) if key else self.whole

    def assessment(self, key: Key) -> Assessment:
        """Assess a group."""
        found, rows = assess_tally(self.tally(key), self.settings), self.rows
        chunks = None if rows is None else lambda: [rows.of(key)]
        return replace(found, dependence=self.dependence).diagnosed_by(partial(self.diagnosis, key), chunks)

    def _diagnosis(self, key: Key) -> Diagnosis:
        """Diagnose a group."""
        tally = self.tally(key)
        return diagnosis_of_tally(tally) if self.rows is None else self.rows.diagnose(self.rows.of(key), tally)

    def _tested(self, key: Key) -> Diagnosis:
        """Diagnose a group; where a test of its counts finds nothing, the calibration line is not estimated."""
        closely = self.rows is not None or self.whole.n_classes > 2 or self.whole.weighted or self.whole.clustered
        return (None if closely else self._screened(key)) or self.diagnosis(key)

    def _screened(self, key: Key) -> Diagnosis | None:
        if key in self._waiting:
            p, happened = self._waiting[key]
            return screened(rows_of_values(p, happened), float(p.size))
        data = data_of_tally(self.tally(key))
        return None if data is None else screened(data.rows, data.n)

    def __deepcopy__(self, memo: object) -> CountedGroups:
        """Give itself: nothing in it changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the rows behind; where a diagnosis takes them, it is made before, of as many groups as unasked."""
        if self.rows is None or len(self.tallies) > MOST_DIAGNOSED:
            return CountedGroups, (self.tallies, self.settings, self.dependence)
        return AssessedGroups, ({key: self.assessment(key) for key in self.tallies if self.tally(key).weight > 0},)


def _values(rows: GroupedRows, keys: Sequence[Key]) -> dict[Key, tuple[Floats, Codes]]:
    """Probabilities of the second class, and outcomes, by group."""
    first = run_starts(rows.key)
    columns = (np.split(column, first[1:]) for column in (rows.second, rows.truth))
    return {keys[number]: each for number, *each in zip(rows.key[first].tolist(), *columns, strict=True)}


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
    _groups: CountedGroups | AssessedGroups = field(repr=False)
    shrunken: ShrunkenAccuracy | None = None
    frames_of: ClassVar[str] = Assessment.frames_of

    @classmethod
    def of(
        cls, key: Key, tally: Tally, floor: float, limit: Limit, groups: CountedGroups | AssessedGroups
    ) -> GroupAssessment:
        """Read the figures off a tally."""
        profile = profile_of_tally(tally, HEADLINE_ORDERS, floor, limit)
        (_, accuracy, _), (_, error, _) = profile.values.tolist(), profile.standard_errors.tolist()
        error = error if tally.independent_rows >= LEAST_WORTH else math.nan
        counts = tally.n_rows, tally.weight, tally.effective_rows
        return cls(key, *counts, accuracy, tally.prediction_accuracy, error, groups)

    @cached_property
    def assessment(self) -> Assessment:
        """The assessment of these rows; made when first asked for."""
        return frames_alike(self._groups.assessment(self.key), self)

    @property
    def diagnosis(self) -> Diagnosis:
        """What is wrong with these rows; made when first asked for."""
        return self._groups.diagnosis(self.key)

    @property
    def standard_error(self) -> float:
        """Standard error of the predicted geometric accuracy; NaN for an effective sample size below two."""
        if self._error is not None:
            return self._error
        return self._groups.assessment(self.key).geometric_accuracy_standard_error

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

    @property
    def cost(self) -> float:
        """What the errors found cost, in nats a row (`Diagnosis.cost`). Smaller is better; NaN without a diagnosis."""
        found = self._groups.tested(self.key)
        return found.cost if found.made else math.nan

    @property
    def p_value(self) -> float:
        """p-value of the group's diagnosis, which is to be compared with a small part of 5%; NaN without a diagnosis.

        The test is asymptotic: at 5% it keeps its level in a hundred rows, but far below it rejects too often in so
        few. So its p-value, as one of chi2 with 2 degrees of freedom, is replaced by that of F with so many degrees of
        freedom below as there are rows whose top class was wrong (or right, if these are fewer).
        benchmarks/cost_shares.py has the levels.
        """
        found = self._groups.tested(self.key)
        if not found.made:
            return math.nan
        certain = [finding.p_value for finding in found.findings if finding.error == "certainty"]
        tested = [p for p in (_with_few(found.p_value, self.rarer), *certain) if not math.isnan(p)]
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
        a = self._groups.assessment(self.key)
        errors = {f"{name}_standard_error": error for name, error in a.score_standard_errors.items()}
        return {
            "n_rows": a.n_rows,
            "verdict": self._groups.tested(self.key).verdict,
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
        """Compare what is counted, not assessments."""
        return self.key, self._groups.tally(self.key), self.shrunken

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what is made when asked for."""
        return {name: value for name, value in vars(self).items() if name != "assessment"}


def _with_few(p: float, few: float) -> float:
    if not 0 < p < 1:
        return p
    return (1 - 2 * math.log(p) / few) ** (-few / 2) if few > 0 else 1.0


def counted_groups(groups: CountedGroups, rows: GroupedRows | None) -> list[GroupAssessment]:
    """Count groups with any weight, in the order of their keys; those whose rows wait are counted at once."""
    low, limit = groups.settings.limits
    floor, keys = floor_for(low, groups.whole.n_classes), list(groups.tallies)
    found = {} if rows is None else {each.key: each for each in _counted_at_once(groups, rows, floor, limit)}
    for key in keys:
        if key not in found and (tally := groups.tallies[key]).weight > 0:
            found[key] = GroupAssessment.of(key, tally, floor, limit, groups)
    return [found[key] for key in keys if key in found]


def _counted_at_once(groups: CountedGroups, rows: GroupedRows, floor: float, limit: Limit) -> list[GroupAssessment]:
    """Compute the figures of groups from their rows, each of positive weight."""
    first = run_starts(rows.key)
    n = np.diff(first, append=rows.key.size)
    p, w = apply_limit(rows.correct, floor, limit), rows.weight
    mean = means_of_runs(p, w, first)[1]
    weight, hits = (np.add.reduceat(x, first) for x in (w, w * rows.hit))
    effective = weight**2 / np.add.reduceat(w * w, first)
    with np.errstate(divide="ignore", invalid="ignore"):
        distances = w / np.repeat(weight, n) * np.log(p / np.repeat(mean, n))
        error = mean * np.sqrt(np.add.reduceat(distances**2, first) * effective / (effective - 1))
    error[(effective < LEAST_WORTH) | (mean == 0)] = math.nan

    keys = list(groups.tallies)
    columns: list[Sequence[Any]] = [[keys[number] for number in rows.key[first].tolist()]]
    columns += (x.tolist() for x in (n, weight, effective, mean, hits / weight))
    columns += [[None] * n.size if groups.whole.clustered else error.tolist(), [groups] * n.size]
    return list(map(GroupAssessment, *columns))
