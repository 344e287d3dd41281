"""Predictive distributions and outcomes as an assessment reads them: rows to judge, and which of them depend.

Means over rows that are independent, in clusters, or about windows of time that overlap, with their uncertainty.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import chdtri, ndtr

from .._lib.dataclasses import Frozen, replace
from .._lib.errors import InputError, listed
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.distributions.arrays import BLOCK, questions, refuse_rows
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.pit_rows import PitRows
from ..forecasts.distributions.predictive import Predictive, observed, of_rows
from ..forecasts.group_keys import cluster_numbers
from ..forecasts.reading import AUTO
from ..statistics.intervals import Metric, UncertainMean, UncertainRatio
from ..statistics.matrices import product
from ..statistics.means import effective_number
from .dependence_search import DECLARED, DECLINED, DependenceSearch, alike_words
from .diagnosis.row_groups import Groups, RowGroups, Windows, chosen
from .undeclared import SearchedRows, checked_codes, clusters_of, searched, undeclared_of


class RowMeans(Frozen, eq=False):
    """How means over some rows, or over equal rows that were counted together, are taken."""

    total: Floats
    """Weight of each; of equal rows their sum."""
    squared: Floats
    """Squared weights, likewise."""
    groups: Groups | None = None

    @staticmethod
    def of(rows: PitRows, groups: Groups | None = None) -> RowMeans:
        """Take the weights of rows."""
        count = np.ones(len(rows.low)) if rows.count is None else rows.count
        weight = np.ones(len(rows.low)) if rows.weight is None else rows.weight
        return RowMeans(count * weight, count * weight**2, groups)

    @cached_property
    def _share(self) -> Floats:
        return np.asarray(self.total / self.total.sum())

    @cached_property
    def _squared(self) -> Floats:
        return np.asarray(self.squared / self.total.sum() ** 2)

    @cached_property
    def _of(self) -> RowGroups | None:
        return None if self.groups is None else RowGroups.of(self.groups)

    @cached_property
    def _degrees(self) -> float:
        """Degrees of freedom: how many rows or groups of equal weight would tell as much, less 1."""
        if self._of is None:
            return float(1 / self._squared.sum()) - 1
        if self._of.windows is not None:
            return self._of.degrees - 1
        return effective_number(np.bincount(self._of.number, self.total, self._of.size).astype(np.float64)) - 1

    def mean(self, values: Floats) -> float:
        """Return the weighted mean."""
        return float(product(self._share, values))

    def uncertain(self, values: Floats, at: Ints | None = None) -> UncertainMean:
        """Return the weighted mean with its standard error, which for clusters is the sandwich.

        Parameters
        ----------
        values : array of shape (n,) or (k,)
            Of the rows, or of k cells.
        at : array of int, shape (n,), optional
            Cell of each row.
        """
        share = self._share if at is None else np.bincount(at, self._share, values.size)
        with np.errstate(invalid="ignore"):  # infinity less itself
            mean = float(product(share, values))
        degrees = self._degrees
        if not math.isfinite(mean):
            return UncertainMean(mean, math.nan, degrees, math.nan)
        squared = self._squared if at is None else np.bincount(at, self._squared, values.size)
        with np.errstate(over="ignore", invalid="ignore"):  # of numbers whose squares are infinite
            variance = together = float(product(squared, (values - mean) ** 2))
            if self._of is not None:
                together += float(self._of.between((values - mean)[None], self._share, self._squared, at)[0, 0])
        if self._of is not None:
            variance = max(together, variance) if self._of.windows is not None else max(together, 0.0)
        if degrees > 0 and (self._of is None or self._of.windows is None):
            variance *= (degrees + 1) / degrees
        return UncertainMean(mean, math.sqrt(variance), degrees, degrees + 1, (variance,))

    def metric(self, values: Floats, confidence: float) -> Metric:
        """Return the weighted mean with its standard error and interval."""
        found = self.uncertain(values)
        return Metric(found.mean, found.standard_error, found.interval(confidence))

    def ratio(self, values: Floats, others: Floats) -> UncertainRatio:
        """Return the ratio of two means of the same rows."""
        top, bottom, apart = (self.uncertain(each) for each in (values, others, values - others))
        return UncertainRatio(top, bottom, apart, not (values - others).any())


_OF_CLASSES = ("labels", "pos_label", "ignore_label", "scale")
"""Options of reading that only class probabilities have."""

FEWEST = 2
"""Rows that an assessment takes."""

_HALF = 0.6744897501960817
"""Normal score of the quartiles: half of calibrated outcomes are between them."""


class DistributionRows(Frozen, eq=False):
    """Outcomes and forecasts of the rows that are assessed."""

    y: Floats
    forecast: Predictive
    rows: PitRows
    groups: Groups | None
    windows: Windows | None
    """From issue to target, where these times are given, whatever rows depend by."""
    search: DependenceSearch
    kept: Ints
    """Numbers of the rows among all that were given."""
    n_given: int
    notes: tuple[str, ...]

    def only(self, some: Ints) -> DistributionRows:
        """Return some of the rows."""
        groups = None if self.groups is None else chosen(self.groups, some)
        windows: Any = None if self.windows is None else chosen(self.windows, some)
        kept = replace(self, groups=groups, windows=windows, kept=self.kept[some])
        return replace(kept, y=self.y[some], forecast=self.forecast.subset(some), rows=self.rows.subset(some))

    def widths(self, intervals: Sequence[tuple[float, float]]) -> Floats:
        """Return the mean widths of predicted intervals between two shares each; NaN where these are not known."""
        if not intervals or isinstance(self.forecast, PIT):
            return np.full(len(intervals), np.nan)
        low, high = zip(*intervals, strict=True)
        found = np.zeros(len(intervals))
        for at in range(0, self.rows.n, BLOCK):
            some = np.arange(at, min(at + BLOCK, self.rows.n))
            ends = self.forecast.subset(some).quantile([*low, *high])
            found += product(self.means.total[some], ends[:, len(low) :] - ends[:, : len(low)])
        return np.asarray(found / self.means.total.sum())

    @cached_property
    def means(self) -> RowMeans:
        """How means over these rows are taken."""
        return RowMeans.of(self.rows, self.groups)


def read_distributions(
    y_true: Any, forecast: Predictive, reading: Mapping[str, Any], there: Bools | bool = True
) -> DistributionRows:
    """Check and read rows in the clusters that are declared, or in those that are found where nothing is said of them.

    Of several forecasters, ``there`` are the rows in which all forecasts are complete.

    Raises
    ------
    InputError
        For outcomes or forecasts that cannot be read, and for options of class probabilities.
    """
    options, clusters, columns = undeclared_of(reading)
    for name in _OF_CLASSES:
        if options.get(name) not in (None, "probability"):
            raise InputError(f"{name}: is for class probabilities; predictive distributions have no classes.")
    n, found = len(forecast), observed(y_true, forecast, options, there)
    kept = found.kept
    if len(kept) < FEWEST:
        left = f"{len(kept):,} of {n:,} forecasts are left to assess"
        raise InputError(f"y_true: {left}; there are to be at least {FEWEST}.")
    y = np.full((n, 1), np.nan)
    y[kept, 0] = found.y
    notes = [*forecast.notes, *questions(y, "outcomes")]
    if found.missing:
        notes.append(f"{number_of(found.missing, 'row')} without an outcome: left out.")
    codes = {name: code[kept] for name, code in checked_codes(columns, n).items()}
    searching, windows = isinstance(clusters, str) and clusters == AUTO, _windows(options, n, kept)
    named = None if clusters is None or searching else cluster_numbers(clusters, n)[kept]
    groups: Groups | None = windows if searching else named
    rows = found.forecast.rows_of(found.y, found.censored, found.weight)
    weighted = True if rows.weight is None else rows.weight > 0
    if not (~rows.impossible & weighted).any():
        outside = f"each of the {rows.n:,} outcomes is outside of all that its forecast holds possible"
        raise InputError(f"y_true: {outside}. Check that both have the same unit.")
    search = DependenceSearch(reason=DECLINED if clusters is None else DECLARED)
    if named is not None:
        notes += _beyond(rows, codes, named)
    if searching and groups is None:
        search = _searched(rows, codes)
        if search.found is not None and search.taken:
            groups = clusters_of(search.found, codes, rows.n)
    return DistributionRows(found.y, found.forecast, rows, groups, windows, search, kept, n, tuple(notes))


def check_alike(forecasts: Mapping[str, Any]) -> None:
    """Refuse forecasters of whom one has no predictive distributions, or other rows than others."""
    if others := [name for name, each in forecasts.items() if not isinstance(each, Predictive)]:
        raise InputError(f"forecasts: {others[0]!r} is no predictive distribution, as others are. Give like forms.")
    sizes = sorted({len(each) for each in forecasts.values()})
    if len(sizes) > 1:
        raise InputError(f"forecasts: {listed(sizes)} rows; all forecasters need the same rows in their order.")


_SURELY = 0.0005
"""Level at which clusters depend on one another."""


def _beyond(rows: PitRows, columns: Mapping[str, Ints], named: Ints) -> Iterator[str]:
    """Say which rows err alike also beyond the clusters that are named: larger ones vary more than their sums would."""
    found = _searched(rows, columns).found
    if found is None or not found.taken:
        return
    numbers = [np.unique(of, return_inverse=True)[1] for of in (clusters_of(found, columns, rows.n), named)]
    if np.unique(numbers[0] * named.size + numbers[1]).size == numbers[0].max() + 1:  # they lie within the named ones
        return
    events = [event - event.mean() for event in _events(rows)]
    larger, own = (np.array([np.sum(np.bincount(of, event) ** 2) for event in events]) for of in numbers)
    if (larger > own * chdtri(found.n_clusters, _SURELY) / found.n_clusters).any():
        beyond = f"also beyond the {len(np.unique(named)):,} clusters that are named"
        yield f"{alike_words(found)}, {beyond}: intervals may be too short. Name larger clusters."


def _events(rows: PitRows) -> tuple[Bools, Bools]:
    """Say which outcomes are above the median, and which outside of the central half."""
    return ndtr(rows.low) + ndtr(rows.high) > 1, (rows.low > _HALF) | (rows.high < -_HALF)


def _windows(options: Mapping[str, Any], n: int, kept: Ints) -> Windows | None:
    """Return the windows from issue to target of the rows that are kept; None where these times are not given."""
    issued, target = options.get("issued"), options.get("target_date")
    if (issued is None) != (target is None):
        raise InputError("issued and target_date: windows of time take both.")
    if issued is None:
        return None
    windows = Windows(of_rows(issued, kept, n, "issued"), of_rows(target, kept, n, "target_date"))
    refuse_rows(windows.unknown(), "issued and target_date", "no time", "Leave out these rows.")
    return windows


def _searched(rows: PitRows, columns: Mapping[str, Ints]) -> DependenceSearch:
    """Look for rows of which outcomes are above the median, or outside of the central half, together."""
    weight = np.ones(rows.n) if rows.weight is None else rows.weight
    even, (above, outside) = np.zeros(rows.n), _events(rows)
    found = SearchedRows([(above, even), (outside, even)], weight, above.astype(np.int64), np.arange(rows.n))
    return replace(searched(found, columns), copies=0)
