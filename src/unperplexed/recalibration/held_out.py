"""Folds of gathered rows, each held out in turn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._lib.errors import InputError, check_whole
from .._lib.typing import Bools
from ..forecasts.gathered import GatheredRows
from .folds import contents_of_rows, folds_of_clusters, folds_of_places


def independent_units(rows: GatheredRows) -> int:
    """Count the rows, or their clusters."""
    return rows.n_rows if rows.groups is None else int(rows.groups.max()) + 1


def held_out(rows: GatheredRows, folds: int, seed: int) -> Iterator[Bools]:
    """Yield which rows each fold holds out. Clusters stay together.

    Raises InputError for fewer than two folds, and for fewer rows, or clusters, than folds.
    """
    if check_whole("folds", folds) < 2:
        raise InputError(f"folds: expected a whole number of at least 2, got {folds!r}.")
    units = independent_units(rows)
    if units < folds:
        what = "rows" if rows.groups is None else "clusters"
        raise InputError(f"folds: {folds} folds need as many {what}, and there are {units}.")
    if rows.groups is None:
        fold = folds_of_places(rows.n_rows, folds, seed)
    else:
        logs = np.concatenate([*rows.values.values()], axis=1)
        fold = folds_of_clusters(rows.groups, contents_of_rows(logs, rows.truth, rows.weights), folds, seed)
    for each in range(folds):
        yield fold == each
