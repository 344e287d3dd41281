"""Columns among which groups are searched: read, and what is to be said of those that tell too little or too much."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._lib.errors import InputError
from .._lib.typing import Bools, Ints
from ..calibration.where.conditions import Column
from ..calibration.where.rules import LEAST_ROWS, LEAST_SHARE
from ..forecasts.forecasts import Forecasts, Notes
from ..forecasts.group_keys import columns_of
from ..forecasts.labels import label_array
from ..recalibration.group_rows import GroupRows, gathered_groups

MOST_COLUMNS = 60
"""More make millions of rules, among which a group has to stand out."""

_TELLS = 0.99
"""AUC of a column alone from which on it looks like another form of the outcome."""


def gathered_among(stream: Iterable[tuple[Forecasts, Any]]) -> tuple[GroupRows, dict[str, NDArray[Any]], Notes]:
    """Read rows of positive weight, all of one group, and the columns among which groups are searched."""
    columns: dict[str, list[NDArray[Any]]] = {}
    notes = [Notes()]

    def without_columns() -> Iterator[tuple[Forecasts, Any]]:
        for forecasts, among in stream:
            given = _checked(among, forecasts.n_rows)
            for block in forecasts.blocks():
                notes.append(block.notes)
                places = np.searchsorted(forecasts.index, block.weighing.index)
                for name, values in given.items():
                    columns.setdefault(name, []).append(values[places])
            yield forecasts, np.zeros(forecasts.n_rows, np.int64)

    rows = gathered_groups(without_columns())
    return rows, {name: np.concatenate(parts) for name, parts in columns.items()}, sum(notes, start=Notes())


def _checked(among: Any, n_rows: int) -> Mapping[str, NDArray[Any]]:
    """Return columns as arrays, by name: each has a value for every row."""
    columns = {name: label_array(values) for name, values in columns_of(among, "among").items()}
    for name, values in columns.items():
        if values.shape != (n_rows,):
            raise InputError(f"among: column {name!r} has shape {values.shape}, the forecasts {n_rows:,} rows.")
    if len(columns) > MOST_COLUMNS:
        raise InputError(
            f"among: {len(columns)} columns; at most {MOST_COLUMNS} are searched, as a group has to stand out among"
            " all rules. Choose those by which you could act."
        )
    return columns


def remark_on(column: Column, truth: Ints) -> str:
    """Say what is to be known of a column: that no rule asks for it, or that it tells the outcome; "" for nothing.

    Parameters
    ----------
    column : Column
    truth : array of int, shape (n,)
        Class of each row.

    Raises
    ------
    InputError
        For a column that holds the outcomes.
    """
    there = ~np.isnan(column.values)
    values, observed = column.values[there], truth[there]
    distinct, number, counts = np.unique(values, return_inverse=True, return_counts=True)
    if not distinct.size:
        return "is missing in all rows, so that no rule asks for it"
    both = np.unique(number * (int(truth.max()) + 1) + observed).size
    if both == distinct.size == np.unique(truth).size > 1:
        raise InputError(f"among: column {column.name!r} holds the outcomes. Leave it out.")
    numbers = column.categories is None
    if not numbers and counts.max() < max(LEAST_ROWS, LEAST_SHARE * truth.size):
        return (
            f"holds {distinct.size:,} different texts, none of them in 1% of the rows, so that no rule asks for one."
            " Make groups of them, such as by a word that they hold"
        )
    happened = observed == truth.max()
    if (numbers or distinct.size * LEAST_ROWS < truth.size) and _auc(number, happened, ordered=numbers) > _TELLS:
        return (
            "alone orders the outcomes (AUC above 0.99). It may be known only afterwards, and then a group that it"
            " describes is of no use"
        )
    if numbers and not column.date and distinct.size == truth.size and (distinct == np.floor(distinct)).all():
        return "has another number in each row, as identifiers have; a rule can only ask for ranges of them"
    return "has the same value in all rows, so that no rule asks for it" if distinct.size == 1 and there.all() else ""


def _auc(number: Ints, happened: Bools, *, ordered: bool) -> float:
    """Return the AUC of numbered values, in their order or, unless they are ordered, by how often it happened."""
    positive = np.bincount(number, happened)
    negative = np.bincount(number) - positive
    order = np.arange(positive.size) if ordered else np.argsort(positive / (positive + negative))
    below = np.cumsum(negative[order]) - negative[order] / 2
    auc = float(positive[order] @ below) / max(float(positive.sum() * negative.sum()), 1.0)
    return max(auc, 1 - auc) if positive.any() and negative.any() else 0.0
