"""Means over rows that are independent, in clusters, or about windows of time that overlap, with their uncertainty."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from .._lib.dataclasses import dataclass
from .._lib.typing import Floats, Ints
from ..forecasts.distributions.pit_rows import PitRows
from ..statistics.intervals import Metric, UncertainMean, UncertainRatio
from ..statistics.means import effective_number
from ..statistics.products import product
from .diagnosis.row_groups import Groups, RowGroups


@dataclass(frozen=True, eq=False)
class RowMeans:
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
