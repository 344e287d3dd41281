"""Outcomes beside predictive distributions: the rows of which both are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._lib.dataclasses import Frozen, replace
from ..._lib.errors import InputError, check_choice
from ..._lib.typing import Bools, Floats, Ints
from .predictive import Predictive


class Observed(Frozen, eq=False):
    """Outcomes and forecasts of the rows of which both are known."""

    y: Floats
    forecast: Predictive
    weight: Any
    censored: Any
    """As `Predictive.pit_rows` takes them, of these rows."""
    kept: Ints
    """Numbers of the rows among all that were given."""
    there: Bools
    """Whether each of all rows is kept."""
    missing: int
    """Number of rows without an outcome."""

    def only(self, rows: Ints) -> Observed:
        """Return some of the rows."""
        n, limits = len(self.y), self.censored
        if isinstance(limits, Mapping):
            limits = {side: of_rows(each, rows, n, f"censored {side}") for side, each in limits.items()}
        weight = of_rows(self.weight, rows, n, "sample_weight")
        return replace(
            self,
            y=self.y[rows],
            forecast=self.forecast.subset(rows),
            weight=weight,
            censored=limits,
            kept=self.kept[rows],
        )


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
    n, y = len(forecast), forecast.outcomes(y_true, missing=invalid == "drop")
    known = ~np.isnan(y)
    there = known & forecast.complete & there
    kept = np.flatnonzero(there)
    weight, censored = reading.get("sample_weight"), reading.get("censored")
    if isinstance(censored, Mapping):
        censored = {side: of_rows(each, kept, n, f"censored {side}") for side, each in censored.items()}
    some = forecast if len(kept) == n else forecast.subset(kept)
    weight = of_rows(weight, kept, n, "sample_weight")
    return Observed(y[kept], some, weight, censored, kept, there, int(np.count_nonzero(~known)))


def of_rows(values: Any, kept: Ints, n: int, name: str) -> Any:
    """Take the values of the rows that are kept, from one for each of all rows, or one for all together."""
    array = np.asarray(values)
    if array.ndim and len(array) != n:
        raise InputError(f"{name}: expected a value for each of {n:,} rows, got {len(array):,}.")
    return array[kept] if array.ndim else values
