"""Which paired rows may depend on one another: what a user names, read and checked."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from .._lib.errors import InputError
from .._lib.formatting import number_of
from .._lib.typing import Ints
from ..forecasts.group_keys import distinct_groups, group_columns, group_numbers
from ..forecasts.shards import hashes_of_groups


class Dependent(TypedDict, total=False):
    """Numbers of each row's group, of its group the other way, and of its unit.

    That of a group is its hash, as a tally takes it, unless rows are grouped in two ways.
    """

    groups: Ints | None
    crossed: Ints | None
    units: Ints | None


def dependent_rows(n_rows: int, groups: Any, clusters: Any, units: Any) -> Dependent:
    """Read groups of rows from arrays: those with equal values in all columns, or that share one of two columns."""
    if groups is not None and clusters is not None:
        raise InputError("groups and clusters: rows of equal values in all columns, or in one of them; leave one out.")
    found: Dependent = {"units": None if units is None else group_numbers(units, n_rows)}
    if groups is None and clusters is None:
        return found
    ways = group_columns(clusters if groups is None else groups)
    for way in ways:
        if way.size != n_rows:
            what = "groups: expected one group" if clusters is None else "clusters: expected one"
            raise InputError(f"{what} for each of the {n_rows:,} rows, got {way.size:,}.")
    if groups is not None or len(ways) == 1:
        return found | {"groups": hashes_of_groups(clusters if groups is None else groups).view(np.int64)}
    if len(ways) > 2:
        raise InputError(
            f"clusters (--clusters): one column or two, such as station and date, not {len(ways)}. Columns whose values"
            " together make a cluster are groups (--clusters A,B)."
        )
    one, other = (distinct_groups(way)[1] for way in ways)
    return found | {"groups": one, "crossed": other}


def check_lag(lag: Any, grouped: bool, units: bool) -> None:
    """Refuse what leaves it open which rows depend on one another."""
    if lag is None:
        if units:
            raise InputError("units: rows of a unit are places apart; name how many with a lag (--lag 14:station).")
        return
    if isinstance(lag, bool) or not isinstance(lag, int | np.integer) or lag < 0:
        raise InputError(f"lag: expected a whole number of at least 0, got {lag!r}.")
    if grouped:
        raise InputError(
            "lag and groups (--lag, --clusters): rows depend on those before and after them, or on those of"
            " their group; leave one out. For a lag within each station or region name these as units (--lag L:COLUMN)."
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
