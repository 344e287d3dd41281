"""Which paired rows may depend on one another: what a user names, read and checked."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Ints
from ..forecasts.group_keys import distinct_groups, group_columns, group_numbers


class Dependent(TypedDict, total=False):
    """Numbers of each row's group, of its group the other way, and of its unit, as `Dependence` has them."""

    groups: Ints | None
    crossed: Ints | None
    units: Ints | None


def dependent_rows(n_rows: int, groups: Any, clusters: Any, units: Any) -> Dependent:
    """Read groups of rows from arrays: those with equal values in all columns, or that share one of two columns."""
    if groups is not None and clusters is not None:
        raise InputError("groups and clusters: rows of equal values in all columns, or in one of them; leave one out.")
    if clusters is None:
        return {
            "groups": None if groups is None else group_numbers(groups, n_rows),
            "units": None if units is None else group_numbers(units, n_rows),
        }
    ways = [distinct_groups(column)[1] for column in group_columns(clusters)]
    for way in ways:
        if way.size != n_rows:
            raise InputError(f"clusters: expected one for each of the {n_rows:,} rows, got {way.size:,}.")
    return crossed_groups(ways) | {"units": None if units is None else group_numbers(units, n_rows)}


def crossed_groups(ways: list[Ints]) -> Dependent:
    """Take one column or two, each a way in which rows are grouped."""
    if len(ways) > 2:
        raise InputError(
            f"clusters (--cluster): one column or two, such as station and date, not {len(ways)}. Columns whose values"
            " together make a cluster are groups (--groups)."
        )
    return {"groups": ways[0], "crossed": ways[1] if len(ways) > 1 else None}


def check_lag(lag: Any, grouped: bool, units: bool) -> None:
    """Refuse what leaves it open which rows depend on one another."""
    if lag is None:
        if units:
            raise InputError("units (--unit): rows of a unit are places apart; name how many with a lag (--lag).")
        return
    if isinstance(lag, bool) or not isinstance(lag, int | np.integer) or lag < 0:
        raise InputError(f"lag: expected a whole number of at least 0, got {lag!r}.")
    if grouped:
        raise InputError(
            "lag and groups (--lag, --groups, --cluster): rows depend on those before and after them, or on those of"
            " their group; leave one out. For a lag within each station or region name these as units (--unit)."
        )


def dependent_text(clusters: int | None, crossed: int | None, lag: int | None, units: int | None) -> str:
    """State which rows may depend on one another."""
    if clusters is not None:
        other = f", {crossed:,} the other way" if crossed is not None else ""
        return f"{number_of(clusters, 'cluster')} of dependent rows{other}"
    if not lag:
        return "independent rows"
    each = f" in each of {number_of(units, 'unit')}" if units is not None else ""
    return f"rows dependent up to {lag} apart{each}"
