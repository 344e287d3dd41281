"""Outcomes beside predictive distributions: the rows of which both are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._lib.dataclasses import dataclass
from ..._lib.errors import InputError, check_choice
from ..._lib.typing import Bools, Floats, Ints
from .predictive import Predictive


@dataclass(frozen=True, eq=False)
class Observed:
    """Outcomes and forecasts of the rows of which both are known."""

    y: Floats
    forecast: Predictive
    weight: Any
    censored: Any
    """As `Predictive.pit_rows` takes them, of these rows."""
    kept: Ints
    """Numbers of the rows among all that were given."""
    missing: int
    """Number of rows without an outcome."""

    def only(self, rows: Ints) -> Observed:
        """Return some of the rows, in their order."""
        n, limits = len(self.y), self.censored
        if isinstance(limits, Mapping):
            limits = {side: of_rows(each, rows, n, f"censored {side}") for side, each in limits.items()}
        forecast = self.forecast if len(rows) == n else self.forecast.subset(rows)
        weight = of_rows(self.weight, rows, n, "sample_weight")
        return Observed(self.y[rows], forecast, weight, limits, self.kept[rows], self.missing)


def observed(y_true: Any, forecast: Predictive, reading: Mapping[str, Any], there: Bools | bool = True) -> Observed:
    """Check outcomes, and leave out incomplete forecasts and, if ``invalid`` is "drop", rows without an outcome.

    Of several forecasters, ``there`` are the rows in which all forecasts are complete.

    Raises
    ------
    InputError
        For outcomes, weights or limits that cannot be read.
    """
    invalid = reading.get("invalid", "refuse")
    check_choice("invalid", invalid, ("refuse", "drop"))
    y = forecast.outcomes(y_true, missing=invalid == "drop")
    known = ~np.isnan(y)
    beside = reading.get("sample_weight"), reading.get("censored")
    every = Observed(y, forecast, *beside, np.arange(len(y)), int(np.count_nonzero(~known)))
    return every.only(np.flatnonzero(known & forecast.complete & there))


def of_rows(values: Any, kept: Ints, n: int, name: str) -> Any:
    """Take the values of the rows that are kept, from one for each of all rows, or one for all together."""
    array = np.asarray(values)
    if array.ndim and len(array) != n:
        raise InputError(f"{name}: expected a value for each of {n:,} rows, got {len(array):,}.")
    return array[kept] if array.ndim else values
