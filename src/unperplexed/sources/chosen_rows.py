"""Which rows of a batch are wanted, and which groups they are in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from .._lib.typing import Ints
from .derived_columns import Derived, Quantiles
from .readers import Batch, Column
from .row_filter import key_column


def standing_in(batch: Batch, places: Ints | None, made: Mapping[str, Column]) -> Batch:
    """Put the last wanted row in place of those after it that are not, and nothing in place of those before the first.

    Nothing of these is read then, and rows keep their numbers. Columns made of the wanted rows are added.
    """
    if places is None:
        return replace(batch, raw={**batch.raw, **made})
    first = int(places[0])
    at = np.zeros(batch.n_rows - first, dtype=np.int64)
    at[places - first] = places
    at = np.maximum.accumulate(at)
    return replace(
        batch,
        first_row=batch.first_row + first,
        n_rows=at.size,
        probabilities=[columns[at] for columns in batch.probabilities],
        numbers={name: column[at] for name, column in batch.numbers.items()},
        raw={name: column[at] for name, column in batch.raw.items()}
        | {name: column[np.searchsorted(places, at)] for name, column in made.items()},
        unreadable=None if batch.unreadable is None else batch.unreadable[at],
    )


def group_columns(
    batch: Batch, keys: Sequence[Derived], quantiles: Mapping[str, Quantiles], places: Ints | None
) -> dict[str, Column]:
    """Give the columns that make the groups of the wanted rows."""
    rows = slice(None) if places is None else places
    found: dict[str, Column] = {}
    for key in keys:
        column = batch.raw[key.column][rows]
        if key.how:
            numbers = batch.first_row + (np.arange(batch.n_rows) if places is None else places)
            column = key.groups(key_column(column, key.column), numbers, quantiles.get(key.name))
        found[key.name] = column
    return found


def quantiles_of(keys: Sequence[Derived], batches: Iterable[tuple[Batch, Ints | None]]) -> dict[str, Quantiles]:
    """Find the quantiles of whole columns, in eight bytes a row."""
    read: dict[str, list[Any]] = {key.name: [] for key in keys}
    for batch, places in batches:
        numbers = batch.first_row + (np.arange(batch.n_rows) if places is None else places)
        for key in keys:
            column = key_column(batch.raw[key.column][slice(None) if places is None else places], key.column)
            read[key.name].append(key.numbers(column, numbers))
    return {key.name: key.quantiles(pl.concat(read[key.name]).to_numpy()) for key in keys}
