"""Predictive distributions and outcomes as an assessment reads them: rows to judge, and which of them depend."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from .._lib.arrays import as_array, at_hand, numbers
from .._lib.dataclasses import dataclass, replace
from .._lib.errors import InputError, check_choice
from .._lib.formatting import number_of
from .._lib.typing import Bools, Floats, Ints
from ..forecasts.distributions.arrays import vector
from ..forecasts.distributions.pit import PIT
from ..forecasts.distributions.pit_rows import PitRows
from ..forecasts.distributions.predictive import Predictive
from ..forecasts.group_keys import cluster_numbers
from ..forecasts.reading import AUTO
from .dependence_search import DECLARED, DECLINED, DependenceSearch
from .dependent_means import RowMeans
from .diagnosis.row_groups import Groups, Windows, chosen
from .undeclared import SearchedRows, checked_codes, clusters_of, searched, undeclared_of

_OF_CLASSES = ("labels", "pos_label", "ignore_label", "scale")
"""Options of reading that only class probabilities have."""

FEWEST = 2
"""Rows that an assessment takes."""

_HALF = 0.6744897501960817
"""Normal score of the quartiles: half of calibrated outcomes are between them."""


@dataclass(frozen=True, eq=False)
class DistributionRows:
    """Outcomes and forecasts of the rows that are assessed."""

    y: Floats
    forecast: Predictive
    rows: PitRows
    groups: Groups | None
    search: DependenceSearch
    kept: Ints
    """Numbers of the rows among all that were given."""
    notes: tuple[str, ...]

    def only(self, some: Ints) -> DistributionRows:
        """Return some of the rows."""
        groups = None if self.groups is None else chosen(self.groups, some)
        rows = self.rows.subset(some)
        return replace(
            self, y=self.y[some], forecast=self.forecast.subset(some), rows=rows, groups=groups, kept=self.kept[some]
        )

    @cached_property
    def means(self) -> RowMeans:
        """How means over these rows are taken."""
        return RowMeans.of(self.rows, self.groups)


def read_distributions(y_true: Any, forecast: Predictive, reading: Mapping[str, Any]) -> DistributionRows:
    """Check and read rows in the clusters that are declared, or in those that are found where nothing is said of them.

    Raises
    ------
    InputError
        For outcomes or forecasts that cannot be read, and for options of class probabilities.
    """
    options, clusters, columns = undeclared_of(reading)
    for name in _OF_CLASSES:
        if options.get(name) not in (None, "probability"):
            raise InputError(f"{name}: is for class probabilities; predictive distributions have no classes.")
    invalid = options.get("invalid", "refuse")
    check_choice("invalid", invalid, ("refuse", "drop"))
    n = len(forecast)
    y, known = _outcomes(y_true, forecast, leave_out=invalid == "drop")
    there = known & forecast.complete
    kept = np.flatnonzero(there)
    if len(kept) < FEWEST:
        raise InputError(
            f"y_true: {len(kept):,} of {n:,} forecasts are left to assess; there are to be at least {FEWEST}."
        )
    notes = [sentence for _, sentence in forecast.notes]
    if missing := int(np.count_nonzero(~known)):
        notes.append(f"{number_of(missing, 'row')} without an outcome: left out.")
    codes = {name: code[kept] for name, code in checked_codes(columns, n).items()}
    declared = _declared(options, clusters, n)
    weight, censored = options.get("sample_weight"), options.get("censored")
    some = forecast if len(kept) == n else forecast.subset(kept)
    if isinstance(censored, Mapping):
        censored = {side: _of_rows(each, kept, n, f"censored {side}") for side, each in censored.items()}
    rows = some.pit_rows(y[kept], censored=censored, sample_weight=_of_rows(weight, kept, n, "sample_weight"))
    if rows.impossible.all():
        raise InputError(
            f"y_true: each of the {rows.n:,} outcomes is outside of all that its forecast holds possible. Check that"
            " both have the same unit."
        )
    groups, search = None if declared is None else chosen(declared, there), DependenceSearch(reason=DECLARED)
    if declared is None and clusters is None:
        search = DependenceSearch(reason=DECLINED)
    elif declared is None:
        search = _searched(rows, codes)
        if search.found is not None and search.taken:
            groups = clusters_of(search.found, codes, rows.n)
    return DistributionRows(y[kept], some, rows, groups, search, kept, tuple(notes))


def _outcomes(y_true: Any, forecast: Predictive, *, leave_out: bool) -> tuple[Floats, Bools]:
    """Read the outcomes, and which of them are known: all, unless rows without one are to be left out."""
    n = len(forecast)
    if y_true is None and isinstance(forecast, PIT):
        return forecast.outcomes(None), np.ones(n, dtype=bool)
    if not leave_out:
        return vector(y_true, "y_true", "outcome", n), np.ones(n, dtype=bool)
    found = np.asarray(numbers(as_array(at_hand(y_true)), "y_true"), dtype=np.float64)
    missing = np.isnan(found)
    return vector(np.where(missing, 0.0, found), "y_true", "outcome", n), ~missing.reshape(-1)


def _of_rows(values: Any, kept: Ints, n: int, name: str) -> Any:
    """Take the values of the rows that are assessed, from one for each of all rows, or one for all together."""
    array = np.asarray(values)
    if array.ndim and len(array) != n:
        raise InputError(f"{name}: expected a value for each of {n:,} rows, got {len(array):,}.")
    return array[kept] if array.ndim else values


def _declared(options: Mapping[str, Any], clusters: Any, n: int) -> Groups | None:
    """Return the clusters that were declared, or windows from issue to target that overlap."""
    issued, target = options.get("issued"), options.get("target_date")
    if (issued is None) != (target is None):
        raise InputError("issued and target_date: windows of time take both.")
    if clusters is not None and not (isinstance(clusters, str) and clusters == AUTO):
        return cluster_numbers(clusters, n)
    if issued is None or clusters is None:
        return None
    every = np.arange(n)
    return Windows(_of_rows(issued, every, n, "issued"), _of_rows(target, every, n, "target_date"))


def _searched(rows: PitRows, columns: Mapping[str, Ints]) -> DependenceSearch:
    """Look for rows of which outcomes are above the median, or outside of the central half, together."""
    weight = np.ones(rows.n) if rows.weight is None else rows.weight
    even = np.zeros(rows.n)
    above, outside = ndtr(rows.low) + ndtr(rows.high) > 1, (rows.low > _HALF) | (rows.high < -_HALF)
    found = SearchedRows([(above, even), (outside, even)], weight, above.astype(np.int64), np.arange(rows.n))
    return replace(searched(found, columns), copies=0)
